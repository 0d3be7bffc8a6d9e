/* sources: scripts and modules that are read from memory. */
#ifndef TARE_TESTS_SOURCES_H
#define TARE_TESTS_SOURCES_H

#include "base/mem.h"
#include "base/strv.h"
#include "plan/script_epochs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct source {
    const char *path, *text;
};

static inline bool read_source(void *context, const char *root, const char *path, struct text *out,
                               bool *cut)
{
    (void)cut;
    AUTO_FREE char *whole = mem_printf("%s/%s", root, path);
    for (const struct source *source = context; source->path; source++)
        if (strcmp(source->path, whole) == 0) {
            text_add(out, source->text);
            return true;
        }
    return false;
}

static inline bool walk(const struct source *sources, const char *script, struct script_files *out)
{
    AUTO_STRV struct strv roots = {0};
    strv_add(&roots, "/r");
    strv_add(&roots, "/lib");
    return script_files_walk(&roots, script, read_source, (void *)sources, out);
}

#endif
