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

/* The models alone, every pair as foretold and as it was, the matrix, what failed and why, the criteria. */
void feasibility_text(const struct feasibility *study, const struct feasibility_text_options *options,
                      struct text *out);

/* "Pairs: 3 proven, 2 not proven, ..."; for the page, too. The caller frees it. */
char *feasibility_counts_text(const struct feasibility *study);

/* What terminal and page say of a pair in the same words: how it went; NULL: it is none of the study's pairs. */
const char *feasibility_real_text(const struct pairs_outcome *real);
const struct pairs_pair *feasibility_pair(const struct feasibility *study, size_t foreground, size_t background);

/* What was found of single models and pairs, under the titles of lists: pairs not proven, evidence, energy that cannot be attributed, what
 * failed. text: "a beside b: ..."; proposal: what to try, or NULL. */
typedef void feasibility_finding(const char *title, const char *text, const char *proposal, void *context);
void feasibility_findings(const struct feasibility *study, feasibility_finding *take, void *context);

/* Success per tier of memory beside what the study expected. low: how a rate below it is tinted. */
struct table *feasibility_tiers(const struct feasibility *study, bool colour, const char *low);

/* "Estimated time with pauses: 12 models alone 42 min 10 s, 12 pairs 1 h 33 min, ..."; the caller frees it. */
char *forecast_text(const struct forecast *forecast);

void schedule_text(const struct feasibility *study, const struct schedule *schedule,
                   const struct feasibility_text_options *options, struct text *out);

/* Which trainings fit together, as one HTML file without a script. */

void feasibility_page(const struct feasibility *study, struct text *out);

#endif
