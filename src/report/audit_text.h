/* audit_text: what a person reads of an audit: what can be believed first, then why not, then the
 * counts. */
#ifndef TARE_REPORT_AUDIT_TEXT_H
#define TARE_REPORT_AUDIT_TEXT_H

#include "base/text.h"
#include "results/judge/judge.h"

#include <stdbool.h>
#include <stddef.h>

struct audit_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
    bool verbose; /* all reasons of each experiment */
    bool all;     /* every experiment, however many */
};

/* Without all, at most so many affected experiments and so many rows of a table. */
#define AUDIT_TEXT_ROWS 40

void audit_text(const struct dataset *dataset, const struct account *account,
                const struct audit_text_options *options, struct text *out);

/* For tables of files' contents: at most columns of them (0: all), control characters as '?', "…"
 * for what was left out of the middle. The caller frees it. */
char *audit_text_fit(const char *text, size_t columns);

#endif
