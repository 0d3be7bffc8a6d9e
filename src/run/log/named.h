/* named: finds metrics by the names that trainings print, "named: val_loss, eval_loss". The number
 * of the last epoch or summary precedes that of a batch; an ambiguous log gives none. */
#ifndef TARE_RUN_LOG_NAMED_H
#define TARE_RUN_LOG_NAMED_H

#include "base/err.h"
#include "run/log/printed.h"

struct named;

bool named_is(const char *source);
/* has_ranks: several processes print, perhaps without labels. */
struct named *named_new(locale_t c_locale, bool has_ranks);
void named_free(struct named *named);

/* The metric's index is the number of earlier ones. */
bool named_add(struct named *named, const char *source, struct err *err);

/* False: no number of any metric. */
bool named_read_line(struct named *named, const char *line, size_t length);

struct named_number {
    /* false: unreadable or ambiguous */
    bool has_number;
    double number;
    bool is_new;    /* of this line */
    bool is_better; /* from a better kind of line: forget earlier numbers */
    char text[64];
};

/* After named_read_line; false: not on this line. */
bool named_get(struct named *named, size_t metric, struct named_number *out);

#endif
