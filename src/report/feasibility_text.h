/* feasibility_text: which trainings fit together, as a person reads it. */
#ifndef TARE_REPORT_FEASIBILITY_TEXT_H
#define TARE_REPORT_FEASIBILITY_TEXT_H

#include "base/text.h"
#include "sharing/feasibility.h"
#include "sharing/schedule.h"

#include <stdbool.h>
#include <stddef.h>

struct feasibility_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
};

/* The models alone, every pair as foretold and as it was, the matrix, what failed and why, the criteria. */
void feasibility_text(const struct feasibility *study, const struct feasibility_text_options *options,
                      struct text *out);

/* "Pairs: 3 proven, 2 not proven, ..."; for the page, too. The caller frees it. */
char *feasibility_counts_text(const struct feasibility *study);

/* Why the energy cannot be divided between the two, in figures; NULL: it can be, or was not measured. The caller frees
 * it. */
char *feasibility_attribution_text(const struct pairs_attribution *attribution);

void schedule_text(const struct feasibility *study, const struct schedule *schedule,
                   const struct feasibility_text_options *options, struct text *out);

/* Which trainings fit together, as one HTML file without a script. */

void feasibility_page(const struct feasibility *study, struct text *out);

#endif
