/* feasibility_text: which trainings fit together, as a person reads it. */
#ifndef TARE_REPORT_FEASIBILITY_TEXT_H
#define TARE_REPORT_FEASIBILITY_TEXT_H

#include "base/text.h"
#include "report/table.h"
#include "sharing/feasibility.h"
#include "sharing/schedule.h"

#include <stdbool.h>
#include <stddef.h>

struct feasibility_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
};

/* The models alone, every pair as foretold and as it was, the matrix, what failed and why, the
 * criteria. */
void feasibility_text(const struct feasibility *study,
                      const struct feasibility_text_options *options, struct text *out);

/* Success per tier of memory beside what the study expected. */
struct table *feasibility_tiers(const struct feasibility *study, bool colour);

/* "Estimated time with pauses: 12 models alone 42 min 10 s, 12 pairs 1 h 33 min, ..."; the caller
 * frees it. */
char *forecast_text(const struct forecast *forecast);

void schedule_text(const struct feasibility *study, const struct schedule *schedule,
                   const struct feasibility_text_options *options, struct text *out);

#endif
