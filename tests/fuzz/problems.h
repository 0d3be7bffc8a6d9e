/* problems: what holds of every problem that a file was found to have. */
#ifndef TARE_FUZZ_PROBLEMS_H
#define TARE_FUZZ_PROBLEMS_H

#include "base/cleanup.h"
#include "fuzz.h"
#include "plan/config/problem.h"

/* Each is one line that can be printed; good: what reading the file gave. */
static inline void check_problems(const struct problems *problems, bool good)
{
    check(good == (problems->errors == 0));
    for (size_t i = 0; i < problems->count; i++) {
        AUTO_FREE char *line = problem_format(&problems->items[i]);
        check(!strpbrk(line, "\r\n\x1b"));
        check(!problems->items[i].path || problems->items[i].place.line);
    }
}

#endif
