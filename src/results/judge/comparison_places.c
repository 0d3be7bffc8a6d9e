#include "results/judge/comparison.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares that differ by less are what chance makes of a few experiments on a few lanes. */
static const double apart_least = 0.5, rounding = 1e-9;

static void take_side(const struct comparison *comparison, size_t which, enum dataset_fact fact, struct comparison_place *out)
{
    const struct comparison_side *side = &comparison->sides[which];
    AUTO_FREE size_t *items = mem_array(side->count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; i < side->count; i++)
        if (side->stratum[i] != SIZE_MAX)
            items[count++] = side->items[i];
    places_group_by(&comparison->dataset, items, count, fact, &out->groups[which], &out->counts[which]);
}

static double share_of(const struct comparison_place *place, size_t side, const char *value)
{
    double all = 0, mine = 0;
    for (size_t i = 0; i < place->counts[side]; i++) {
        const struct places_group *group = &place->groups[side][i];
        all += (double)group->count;
        mine += strcmp(group->value, value) == 0 ? (double)group->count : 0;
    }
    return all > 0 ? mine / all : 0;
}

/* Half of the sum of how far the shares are from each other (total variation). */
static double apart(const struct comparison_place *place)
{
    double sum = 0;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < place->counts[side]; i++) {
            const char *value = place->groups[side][i].value;
            double here = share_of(place, side, value), there = share_of(place, 1 - side, value);
            /* What both have is met twice. */
            sum += there > 0 ? fabs(here - there) / 2 : here;
        }
    return sum / 2;
}

static void free_groups(struct comparison_place *place)
{
    for (size_t side = 0; side < 2; side++)
        places_groups_fini(place->groups[side], place->counts[side]);
}

static void look_at(const struct comparison *comparison, enum dataset_fact fact, struct comparison_places *out)
{
    struct comparison_place place = {.fact = fact};
    take_side(comparison, 0, fact, &place);
    take_side(comparison, 1, fact, &place);
    place.apart = place.counts[0] && place.counts[1] ? apart(&place) : 0;
    place.confounded = place.apart > 1 - rounding;
    if (place.apart < apart_least - rounding)
        free_groups(&place);
    else
        out->items[out->count++] = place;
}

void comparison_places_find(const struct comparison *comparison, struct comparison_places *out)
{
    *out = (struct comparison_places){0};
    for (enum dataset_fact fact = FACT_GPU_MODEL; fact < DATASET_FACTS; fact++)
        look_at(comparison, fact, out);
    /* Two folders are two runs, which may have been alone on a lane each; within one the lanes tell. */
    look_at(comparison, FACT_NODE, out);
    if (out->count == 0 || out->items[out->count - 1].fact != FACT_NODE)
        look_at(comparison, FACT_LANE, out);
}

void comparison_places_fini(struct comparison_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free_groups(&places->items[i]);
    *places = (struct comparison_places){0};
}

static json_t *side_json(const struct comparison_place *place, size_t side)
{
    json_t *out = json_array();
    for (size_t i = 0; i < place->counts[side]; i++) {
        const struct places_group *group = &place->groups[side][i];
        json_array_append_new(out, json_pack("{s:o, s:I}", "value", json_text_or_null(group->value), "n", (json_int_t)group->count));
    }
    return out;
}

json_t *comparison_places_json(const struct comparison *comparison)
{
    struct comparison_places places;
    json_t *out = json_array();
    comparison_places_find(comparison, &places);
    for (size_t i = 0; i < places.count; i++) {
        const struct comparison_place *place = &places.items[i];
        json_array_append_new(
            out, json_pack("{s:s, s:s, s:o, s:b, s:o, s:o}", "fact", places_fact_name(place->fact), "weight",
                           evidence_weight_name(places_weight(place->fact)), "apart", json_finite(place->apart), "confounded",
                           place->confounded, "a", side_json(place, 0), "b", side_json(place, 1)));
    }
    comparison_places_fini(&places);
    return out;
}
