#include "cli/option_rows.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const char *option_given(const struct cli_call *call, const int *which, size_t count)
{
    EACH (item, which, count)
        if (call->values[*item].given)
            return call->command->options[*item].long_name;
    return NULL;
}

const char *const option_verdicts[] = {"clean", "usable", "all", NULL};

void option_names(const char *text, struct strv *out)
{
    AUTO_FREE char *copy = mem_strdup(text ? text : "");
    char *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        strv_add_once(out, name);
}
