/* comparison_places: whether the two sides of a comparison ran on places of other kinds, or on other lanes: then a difference between
 * them may be the places'. */
#ifndef TARE_RESULTS_JUDGE_COMPARISON_PLACES_H
#define TARE_RESULTS_JUDGE_COMPARISON_PLACES_H

#include "results/judge/places.h"
#include "results/judge/comparison.h"

/* One fact in which the sides are not alike. */
struct comparison_place {
    enum dataset_fact fact;
    struct places_group *groups[2]; /* of each side */
    size_t counts[2];
    double apart;    /* 0: the same shares on both sides; 1: no value in common */
    bool confounded; /* apart is 1: what the fact does and what the sides do looks the same */
};

struct comparison_places {
    struct comparison_place items[DATASET_FACTS];
    size_t count;
};

/* Those that are half apart or more, the heavier first. Of node and lane, where something heavier says it, nothing. */
void comparison_places_find(const struct comparison *comparison, struct comparison_places *out);
void comparison_places_fini(struct comparison_places *places);
json_t *comparison_places_json(const struct comparison *comparison);

#endif
