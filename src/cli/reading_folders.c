#include "cli/reading_folders.h"

#include "audit/judge.h"
#include "base/text.h"
#include "cli/caller.h"

#include <stdio.h>

int reading_folders(char *const *paths, size_t count, bool as_root, struct dataset *out)
{
    struct err err = {0};
    AUTO(caller_fini) struct caller caller = {0};
    *out = (struct dataset){0};
    bool ok = caller_become(as_root, &caller, &err);
    for (size_t i = 0; ok && i < count; i++)
        ok = dataset_read(out, paths[i], &err);
    if (!ok) {
        cli_error("%s", err.text);
        dataset_fini(out);
        return CLI_BROKEN;
    }
    audit_judge(out);
    return CLI_OK;
}

bool reading_print(const struct text *text)
{
    fwrite(text_get(text), 1, text->length, stdout);
    if (fflush(stdout) == 0)
        return true;
    cli_error("cannot write to standard output");
    return false;
}
