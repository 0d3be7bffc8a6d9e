#include "results/judge/places.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const of_gpus[] = {"gpu_energy_j", "gpu_power_w", "duration_s", NULL};
static const char *const of_all[] = {"gpu_energy_j", "gpu_power_w", "duration_s", "cpu_energy_j",
                                     NULL};
static const char *const of_hosts[] = {"duration_s", "cpu_energy_j", NULL};

static const struct {
    const char *name;
    enum evidence_weight weight;
    const char *const *figures;
} facts[DATASET_FACTS] = {
    [FACT_NODE] = {"node", EVIDENCE_RECORDED, of_all},
    [FACT_LANE] = {"lane", EVIDENCE_RECORDED, of_gpus},
    [FACT_GPU_MODEL] = {"gpu_model", EVIDENCE_SUSPECT, of_gpus},
    [FACT_POWER_LIMIT] = {"power_limit", EVIDENCE_SUSPECT, of_gpus},
    [FACT_CLOCKS_MAX] = {"clocks_max", EVIDENCE_SUSPECT, of_gpus},
    [FACT_CLOCKS_SET] = {"clocks_set", EVIDENCE_SUSPECT, of_gpus},
    [FACT_CPU] = {"cpu_model", EVIDENCE_SUSPECT, of_hosts},
    [FACT_DRIVER] = {"driver", EVIDENCE_RECORDED, of_gpus},
    [FACT_KERNEL] = {"kernel", EVIDENCE_RECORDED, of_hosts},
};

const char *places_fact_name(enum dataset_fact fact)
{
    return facts[fact].name;
}

enum evidence_weight places_weight(enum dataset_fact fact)
{
    return facts[fact].weight;
}

const char *const *places_figures(enum dataset_fact fact)
{
    return facts[fact].figures;
}

static int compare_groups(const void *a, const void *b)
{
    const struct places_group *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return strverscmp(left->value, right->value);
}

void places_group_by(const struct dataset *dataset, const size_t *items, size_t count,
                     enum dataset_fact fact, struct places_group **groups, size_t *group_count)
{
    size_t found = 0;
    struct places_group *all = NULL;
    EACH (item, items, count) {
        const char *value = dataset->items[*item].facts[fact];
        size_t at = 0;
        if (!value)
            continue;
        while (at < found && strcmp(all[at].value, value) != 0)
            at++;
        if (at == found) {
            MEM_ADD(all, found) = (struct places_group){.value = value};
        }
        struct places_group *group = &all[at];
        MEM_ADD(group->items, group->count) = *item;
    }
    if (found > 1)
        qsort(all, found, sizeof *all, compare_groups);
    *groups = all;
    *group_count = found;
}

void places_groups_fini(struct places_group *groups, size_t count)
{
    EACH (group, groups, count)
        free(group->items);
    free(groups);
}

static void look_at(const struct dataset *dataset, size_t folder, const size_t *items, size_t count,
                    enum dataset_fact fact, struct places *out)
{
    struct places_difference difference = {.folder = folder, .fact = fact, .unknown = count};
    places_group_by(dataset, items, count, fact, &difference.groups, &difference.count);
    EACH (group, difference.groups, difference.count)
        difference.unknown -= group->count;
    if (difference.count < 2) {
        places_groups_fini(difference.groups, difference.count);
        return;
    }
    MEM_ADD(out->items, out->count) = difference;
}

void places_find(const struct dataset *dataset, struct places *out)
{
    AUTO_FREE size_t *items = mem_array(dataset->count + 1, sizeof *items);
    *out = (struct places){0};
    for (size_t folder = 0; folder < dataset->folder_count; folder++) {
        size_t count = 0;
        for (size_t i = 0; i < dataset->count; i++)
            if (dataset->items[i].folder == folder && dataset->items[i].judged)
                items[count++] = i;
        /* The table has the heavier ones first. */
        for (enum dataset_fact fact = FACT_GPU_MODEL; fact < DATASET_FACTS; fact++)
            look_at(dataset, folder, items, count, fact, out);
    }
}

void places_fini(struct places *places)
{
    EACH (item, places->items, places->count)
        places_groups_fini(item->groups, item->count);
    free(places->items);
    *places = (struct places){0};
}

static json_t *group_json(const struct dataset *dataset, const struct places_group *group)
{
    json_t *ids = json_array();
    EACH (item, group->items, group->count)
        json_array_append_new(ids, json_text_or_null(dataset->items[*item].id));
    return json_pack("{s:o, s:I, s:o}", "value", json_text_or_null(group->value), "n",
                     (json_int_t)group->count, "experiments", ids);
}

json_t *places_json(const struct dataset *dataset, const struct places *places)
{
    json_t *out = json_array();
    EACH (difference, places->items, places->count) {
        json_t *figures = json_array(), *groups = json_array();
        for (const char *const *figure = places_figures(difference->fact); *figure; figure++)
            json_array_append_new(figures, json_string(*figure));
        EACH (group, difference->groups, difference->count)
            json_array_append_new(groups, group_json(dataset, group));
        json_array_append_new(
            out,
            json_pack("{s:o, s:s, s:s, s:o, s:o, s:I}", "folder",
                      json_text_or_null(dataset->folders[difference->folder].path), "fact",
                      places_fact_name(difference->fact), "weight",
                      evidence_weight_name(places_weight(difference->fact)), "figures", figures,
                      "groups", groups, "not_known", (json_int_t)difference->unknown));
    }
    return out;
}

json_t *places_of_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    for (enum dataset_fact fact = 0; fact < DATASET_FACTS; fact++)
        json_set_text(out, places_fact_name(fact), experiment->facts[fact]);
    return out;
}

/* Where the two sides of a comparison ran. */

/* Shares that differ by less are what chance makes of a few experiments on a few lanes. */
static const double apart_least = 0.5, rounding = 1e-9;

static void take_side(const struct comparison *comparison, size_t which, enum dataset_fact fact,
                      struct comparison_place *out)
{
    const struct comparison_side *side = &comparison->sides[which];
    AUTO_FREE size_t *items = mem_array(side->count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; i < side->count; i++)
        if (side->stratum[i] != SIZE_MAX)
            items[count++] = side->items[i];
    places_group_by(&comparison->dataset, items, count, fact, &out->groups[which],
                    &out->counts[which]);
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

static void look_at_sides(const struct comparison *comparison, enum dataset_fact fact,
                          struct comparison_places *out)
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
        look_at_sides(comparison, fact, out);
    /* Two folders are two runs, which may have been alone on a lane each; within one the lanes
     * tell. */
    look_at_sides(comparison, FACT_NODE, out);
    if (out->count == 0 || out->items[out->count - 1].fact != FACT_NODE)
        look_at_sides(comparison, FACT_LANE, out);
}

void comparison_places_fini(struct comparison_places *places)
{
    EACH (item, places->items, places->count)
        free_groups(item);
    *places = (struct comparison_places){0};
}

static json_t *side_json(const struct comparison_place *place, size_t side)
{
    json_t *out = json_array();
    for (size_t i = 0; i < place->counts[side]; i++) {
        const struct places_group *group = &place->groups[side][i];
        json_array_append_new(out, json_pack("{s:o, s:I}", "value", json_text_or_null(group->value),
                                             "n", (json_int_t)group->count));
    }
    return out;
}

json_t *comparison_places_json(const struct comparison *comparison)
{
    struct comparison_places places;
    json_t *out = json_array();
    comparison_places_find(comparison, &places);
    EACH (place, places.items, places.count)
        json_array_append_new(
            out, json_pack("{s:s, s:s, s:o, s:b, s:o, s:o}", "fact", places_fact_name(place->fact),
                           "weight", evidence_weight_name(places_weight(place->fact)), "apart",
                           json_finite(place->apart), "confounded", place->confounded, "a",
                           side_json(place, 0), "b", side_json(place, 1)));
    comparison_places_fini(&places);
    return out;
}
