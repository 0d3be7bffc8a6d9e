/* expected: how long experiments may be expected to take, from those of earlier runs. Pure. */
#ifndef TARE_PLAN_EXPECTED_H
#define TARE_PLAN_EXPECTED_H

#include "base/reading.h"
#include "base/value.h"
#include "plan/plan.h"

#include <stddef.h>

/* Experiments that train the same repository and model in the same way. */
struct expected_group {
    char *context; /* space_context */
    double sum_s;
    size_t count;
    double sum_epoch_s; /* of those whose number of epochs is known: seconds an epoch */
    size_t epoch_count;
};

struct expected {
    struct expected_group *groups;
    size_t count;
};

void expected_fini(struct expected *expected);

/* One that succeeded took so long. epochs: its hyperparameter of that name. */
void expected_add(struct expected *expected, const char *context, double duration_s,
                  struct reading epochs);

/* The mean of the same training: for each epoch where the number of epochs is known of both, else
 * as a whole. Absent: none was seen. */
struct reading expected_of(const struct expected *expected, const char *context,
                           struct reading epochs);

/* A number of epochs: whole or not, above 0; else absent. */
struct reading expected_epochs(const struct value *value);

/* The combinations that earlier runs had, and how long they took, from their summary.csv.
 * (history.c) */

/* Adds to seen the key of every row of the settings' historical CSVs whose repository and model the
 * registry has. An empty or absent cell counts as the default: the study wrote only what it had
 * set. A row is of a parallel experiment when its column "mode" says so, or (without one) when its
 * id ends in _parallel. A file that is missing is a warning, a broken one an error. seen, expected:
 * each may be NULL. */
void history_read(const struct settings *settings, const struct registry *registry,
                  const struct plan_options *options, struct seen *seen, struct expected *expected,
                  struct problems *problems);

#endif
