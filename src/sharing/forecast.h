/* forecast: how long a study of pairs will take, before it starts: from what was measured before,
 * from 'expected_duration' of the settings, and from earlier runs. */
#ifndef TARE_SHARING_FORECAST_H
#define TARE_SHARING_FORECAST_H

#include "base/reading.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct expected;
struct feasibility;

struct forecast_options {
    const struct expected *earlier; /* how long earlier runs took (plan/expected.h) */
    int repeats;                    /* of each model alone; 0: that part is over */
    bool all_pairs;                 /* of the models, instead of the study's */
    double pause_s;                 /* between two experiments */
};

struct forecast_part {
    size_t count; /* experiments; each pair once */
    size_t known; /* those whose own duration is known; others count as the mean of these */
    struct reading seconds; /* with the pauses between them; not valid: none is known */
};

struct forecast {
    struct forecast_part alone, pairs;
    struct reading seconds; /* of both; not valid: one of them is not known */
};

/* A pair takes as long as its foreground alone and the time that its background runs alone. */
void forecast_make(const struct feasibility *study, const struct forecast_options *options,
                   struct forecast *out);

/* As feasibility.json has it; a new reference. What is missing or damaged is absent when it is
 * read. */
json_t *forecast_json(const struct forecast *forecast);
void forecast_from_json(const json_t *json, struct forecast *out);

#endif
