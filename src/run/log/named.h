/* named: metrics that are searched by the names under which trainings print them, "named: val_loss,
 * eval_loss", instead of by a regular expression. Of all lines the number of the last epoch or
 * summary counts before a batch's. Where the log leaves open which number is meant, there is
 * none. */
#ifndef TARE_RUN_LOG_NAMED_H
#define TARE_RUN_LOG_NAMED_H

#include "base/err.h"
#include "run/log/printed.h"

struct named; /* all of a log */

bool named_is(const char *source);
/* has_ranks: several processes print into the log, and perhaps none of their lines says of which it
 * is. */
struct named *named_new(locale_t c_locale, bool has_ranks);
void named_free(struct named *named);

/* Adds a metric; its place is the number of those before it. */
bool named_add(struct named *named, const char *source, struct err *err);

/* Reads a line. False: it has no number of any of the metrics. */
bool named_take(struct named *named, const char *line, size_t length);

struct named_number {
    /* false: a number was there and cannot be read, or several ones can be meant */
    bool has_number;
    double number;
    bool is_new;    /* it is of this line */
    bool is_better; /* it is of a better kind of line than those before: forget these */
    char text[64];
};

/* The number of a metric after the line that named_take read. False: this line has none of it. */
bool named_get(struct named *named, size_t metric, struct named_number *out);

#endif
