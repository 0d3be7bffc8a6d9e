/* expectations: the criteria of --expect, as audit and stats check them. */
#ifndef TARE_CLI_EXPECTATIONS_H
#define TARE_CLI_EXPECTATIONS_H

#include "results/judge/judge.h"

#include <jansson.h>

/* Says the outcome of each criterion, and appends it to list: {"criterion", "held", "value",
 * "why"}. The exit code. */
int expectations_check(const struct criteria *criteria, const struct dataset *dataset,
                       json_t *list);

#endif
