#include "cli/option_rows.h"

#include <stddef.h>

const char *option_given(const struct cli_call *call, const int *which, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (call->values[which[i]].given)
            return call->command->options[which[i]].long_name;
    return NULL;
}

const char *const option_verdicts[] = {"clean", "usable", "all", NULL};
