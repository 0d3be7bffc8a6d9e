#include "cli/option_rows.h"

#include <stddef.h>

const char *const option_verdicts[] = {"clean", "usable", "all", NULL};
