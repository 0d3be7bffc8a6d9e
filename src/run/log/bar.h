/* bar: progress bars in a job's output, as tqdm writes them ("desc:  45%|####      | 45/100 [00:10<00:12, 4.5it/s, loss=0.3]"; without
 * a total "desc: 45it [00:10, 4.5it/s]"), with or without colours and the moves of nested bars. Untrusted text; constant memory. */
#ifndef TARE_RUN_LOG_BAR_H
#define TARE_RUN_LOG_BAR_H

#include "base/reading.h"

#include <stddef.h>
#include <stdint.h>

#define BAR_NAME_MAX 64 /* bytes, with the NUL */
#define BARS_MAX     4

struct bar {
    char name[BAR_NAME_MAX]; /* "Epoch 3", fit to be shown; "": it has none */
    double done;
    struct reading total; /* above 0 where it is valid; done is at most it */
};

/* One line (without its end), or what of it has arrived. False: there is no whole bar in it. */
bool bar_parse(const char *line, size_t length, struct bar *out);

/* The bars that a job has drawn lately. Two are the same one when their totals are equal, and their names but for the digits in them. */
struct bars {
    struct bar items[BARS_MAX]; /* in the order in which they appeared; a fifth takes the place of the one that was drawn least lately */
    char first[BARS_MAX][BAR_NAME_MAX]; /* its name when it appeared: epochs may be counted from 0 */
    uint64_t restarts[BARS_MAX]; /* how often it has begun again */
    uint64_t drawn[BARS_MAX];
    size_t count, latest; /* latest: place of the one that changed last */
    uint64_t changes;     /* grows whenever something is new */
};

void bars_take(struct bars *bars, const char *line, size_t length);

#endif
