/* figures_text: the figures of a dataset as a person reads them. */
#ifndef TARE_REPORT_FIGURES_TEXT_H
#define TARE_REPORT_FIGURES_TEXT_H

#include "results/judge/figures.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct figures_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
    double precision; /* what repeats are counted for */
};

void figures_text(const struct dataset *dataset, const struct figures *figures,
                  const struct figures_text_options *options, struct text *out);

/* Hyperparameters whose names differ by case alone: what became of them. */
void figures_text_spellings(const struct dataset *dataset, struct text *out);

/* "200 (198 to 203)"; without an interval "200". The caller frees it. */
char *figures_text_interval(double value, const struct stats_interval *interval);

#endif
