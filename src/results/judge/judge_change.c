#include "results/judge/judge_change.h"
#include "results/judge/identical.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all experiments on either side, and of one kind at least on both. */
enum {
    SIDE_LEAST = 3,
    KIND_LEAST = 2,
    MODELS_LEAST = 2,
    SERIES = 2,
    SERIES_PEAK = 2,
    MOMENTS_MOST = 1000
};

/* How much it takes to find a change. */
enum demand {
    DEMAND_ALL,     /* several models show it */
    DEMAND_ONE,     /* one kind shows it, in power and time: what runs beside it raises both */
    DEMAND_MISSING, /* any kind shows it: the others lack files and may have shown it too */
    DEMANDS
};
static const size_t side_least[DEMANDS] = {SIDE_LEAST, KIND_LEAST, 1};

static const double prior_df = 4, doubt = 0.05, slower_share = 0.05;

/* One success, by its kind and in the order in which they began. */
struct point {
    size_t index, kind;
    double value, time;
};

/* The figures of one kind on the sides of a moment. */
struct sides {
    const struct dataset_experiment *like;
    double *values[2];
    size_t count[2];
    double time[2]; /* sums */
    double apart;   /* of the medians: after less before */
};

struct change {
    bool found;
    double p, apart;
    size_t first, earliest; /* of the points after it; moments in between fit as well */
    int series;
};

static const char *const series_names[SERIES] = {"time", "power"};

/* How far time, mean or highest power are from what the others of its kind let expect, as a
 * logarithm. */
static struct reading value_of(const struct judge_state *state, int series)
{
    const struct stats_prediction *time = &state->like[LIKE_TIME].prediction,
                                  *energy = &state->like[LIKE_GPU_ENERGY].prediction,
                                  *peak = &state->like[LIKE_POWER_MAX].prediction;
    if (series == SERIES_PEAK)
        return (struct reading){peak->excess, peak->valid};
    if (!time->valid || (series && !energy->valid))
        return (struct reading){0};
    return (struct reading){series ? energy->excess - time->excess : time->excess, true};
}

static void split_at(const struct point *points, size_t count, size_t first, struct sides *kinds,
                     size_t kind_count)
{
    for (size_t k = 0; k < kind_count; k++)
        for (int side = 0; side < 2; side++) {
            kinds[k].count[side] = 0;
            kinds[k].time[side] = 0;
        }
    for (size_t i = 0; i < count; i++) {
        struct sides *kind = &kinds[points[i].kind];
        int side = i >= first;
        kind->values[side][kind->count[side]++] = points[i].value;
        kind->time[side] += points[i].time;
    }
}

/* Whether all values of one side are above all of the other's, and the medians far apart. */
static bool is_apart(struct sides *kind)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int side = 0; side < 2; side++)
        EACH (value, kind->values[side], kind->count[side]) {
            low[side] = fmin(low[side], *value);
            high[side] = fmax(high[side], *value);
        }
    kind->apart = stats_median(kind->values[1], kind->count[1]).value -
                  stats_median(kind->values[0], kind->count[0]).value;
    return fabs(kind->apart) >= LIMIT_UNLIKE && (low[1] > high[0] || low[0] > high[1]);
}

/* Whether the time changed, too, and the other way than the power. */
static bool is_opposed(const struct sides *kind)
{
    double apart = kind->time[1] / (double)kind->count[1] - kind->time[0] / (double)kind->count[0];
    return fabs(apart) >= slower_share && apart * kind->apart < 0;
}

static double squares_of(const struct sides *kind)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        double median = stats_median(kind->values[side], kind->count[side]).value;
        EACH (value, kind->values[side], kind->count[side])
            sum += (*value - median) * (*value - median);
    }
    return sum;
}

/* The change at one moment: of all kinds on both sides at least half must show it, in one
 * direction. */
static struct change judge_moment(struct sides *kinds, size_t kind_count, enum demand demand)
{
    size_t both = 0, shown = 0, models = 0, total[2] = {0}, largest = 0;
    double weights = 0, sum = 0, squares = LIMIT_NOISE * LIMIT_NOISE * prior_df, df = prior_df;
    const struct dataset_experiment *model = NULL;
    for (size_t k = 0; k < kind_count; k++) {
        struct sides *kind = &kinds[k];
        size_t before = kind->count[0], after = kind->count[1];
        if (before == 0 || after == 0)
            continue;
        both++;
        if (!is_apart(kind) || sum * kind->apart < 0 || (demand == DEMAND_ONE && !is_opposed(kind)))
            continue;
        double weight = 1 / (1 / (double)before + 1 / (double)after);
        bool same = model && strcmp(model->repo, kind->like->repo) == 0 &&
                    strcmp(model->model, kind->like->model) == 0;
        models += !same;
        model = kind->like;
        shown++;
        weights += weight;
        sum += weight * kind->apart;
        squares += squares_of(kind);
        df += (double)(before + after) - 2;
        total[0] += before;
        total[1] += after;
        size_t smaller = before < after ? before : after;
        largest = smaller > largest ? smaller : largest;
    }
    bool enough = models >= (demand == DEMAND_ALL ? MODELS_LEAST : 1) && 2 * shown >= both &&
                  total[0] >= side_least[demand] && total[1] >= side_least[demand] &&
                  largest >= KIND_LEAST;
    if (demand == DEMAND_MISSING ? shown == 0 : !enough)
        return (struct change){0};
    double error = sqrt(squares / df / weights);
    return (struct change){.found = true,
                           .p = 2 * special_t_cdf(-fabs(sum / weights) / error, df),
                           .apart = sum / weights};
}

static struct change find_change(struct point *points, size_t count, struct sides *kinds,
                                 size_t kind_count, const struct judge_state *states,
                                 enum demand demand)
{
    struct change best = {
        .p = demand == DEMAND_MISSING ? doubt : LIMIT_FALSE / (double)(SERIES * count + 1)};
    int first_series = demand == DEMAND_ONE ? SERIES_PEAK : 0;
    for (int series = first_series; series < SERIES || series == first_series; series++) {
        for (size_t i = 0; i < count; i++) {
            points[i].value = value_of(&states[points[i].index], series).value;
            points[i].time = states[points[i].index].like[LIKE_TIME].plain;
        }
        /* Of very many moments some are enough: each costs as much as there are experiments. */
        size_t stride = 1 + count / MOMENTS_MOST;
        size_t least = side_least[demand];
        for (size_t first = least; first + least <= count; first += stride) {
            split_at(points, count, first, kinds, kind_count);
            struct change change = judge_moment(kinds, kind_count, demand);
            if (!change.found || change.p > best.p)
                continue;
            bool same = best.found && best.series == series && !(change.p < best.p);
            change.earliest = same ? best.earliest : first;
            change.first = first;
            change.series = series;
            best = change;
        }
    }
    return best;
}

/* Both sides, and what ran on one side only; but not kinds on both sides that did not change. */
static void mark_changed(struct judge_state *states, const struct point *points, size_t count,
                         const struct change *change, struct sides *kinds, size_t kind_count)
{
    AUTO_FREE bool *before = mem_array(kind_count + 1, sizeof *before);
    for (size_t i = 0; i < change->earliest; i++)
        before[points[i].kind] = true;
    split_at(points, count, change->first, kinds, kind_count);
    for (size_t i = 0; i < count; i++) {
        struct sides *kind = &kinds[points[i].kind];
        bool both = before[points[i].kind] && kind->count[1];
        states[points[i].index].changed |= !both || is_apart(kind);
    }
}

static void add_change(struct dataset *dataset, struct judge_state *states,
                       const struct point *points, size_t count, const struct change *change,
                       struct sides *kinds, size_t kind_count)
{
    char at[40];
    const struct dataset_experiment *after = &dataset->items[points[change->first].index];
    double duration_s = after->duration_s.valid ? after->duration_s.value : 0;
    dataset_format_time(after->end_local_ns - (int64_t)(duration_s * (double)NS_PER_S), at);
    at[10] = ' ';
    at[16] = '\0';
    mark_changed(states, points, count, change, kinds, kind_count);
    for (size_t i = 0; i < count; i++) {
        if (!states[points[i].index].changed)
            continue;
        dataset_evidence(&dataset->items[points[i].index], "machine_changed",
                         "the machine changed at %s: from then on %s of several models is %.3g %% "
                         "%s, and which side is right is not known",
                         at, series_names[change->series], 100 * fabs(expm1(change->apart)),
                         change->apart > 0 ? "higher" : "lower");
    }
}

static int compare_points(const void *a, const void *b)
{
    const struct point *left = a, *right = b;
    int order = ORDER(left->value, right->value); /* the rank, until there are figures */
    return order ? order : ORDER(left->index, right->index);
}

static void find_changes(struct dataset *dataset, struct judge_state *states, bool doubted)
{
    AUTO_FREE struct point *points = mem_array(dataset->count + 1, sizeof *points);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t kind_count = audit_group(dataset, &order, &groups);
    AUTO_FREE struct sides *kinds = mem_array(kind_count + 1, sizeof *kinds);
    AUTO_FREE double *room = mem_array(2 * dataset->count + 1, sizeof *room);
    for (size_t k = 0; k < kind_count; k++) {
        kinds[k].like = &dataset->items[order[groups[k]]];
        kinds[k].values[0] = room + 2 * groups[k];
        kinds[k].values[1] = kinds[k].values[0] + (groups[k + 1] - groups[k]);
    }
    for (size_t f = 0; f < dataset->folder_count; f++) {
        size_t count = 0;
        for (size_t k = 0; k < kind_count; k++)
            for (size_t i = groups[k]; i < groups[k + 1]; i++) {
                const struct dataset_experiment *experiment = &dataset->items[order[i]];
                if (experiment->folder == f && experiment->success && experiment->has_end &&
                    value_of(&states[order[i]], doubted ? SERIES_PEAK : 0).valid)
                    points[count++] = (struct point){order[i], k, (double)states[order[i]].rank, 0};
            }
        if (dataset->folders[f].layout != DATASET_STUDY || count < 2)
            continue;
        bool missing = false;
        for (size_t i = 0; i < dataset->count; i++)
            missing |= dataset->items[i].folder == f && states[i].lacking;
        qsort(points, count, sizeof *points, compare_points);
        enum demand demand = doubted ? DEMAND_ONE : missing ? DEMAND_MISSING : DEMAND_ALL;
        struct change change = find_change(points, count, kinds, kind_count, states, demand);
        if (change.found && demand == DEMAND_ALL)
            add_change(dataset, states, points, count, &change, kinds, kind_count);
        else if (change.found && demand == DEMAND_ONE)
            mark_changed(states, points, count, &change, kinds, kind_count);
        for (size_t i = 0; change.found && demand == DEMAND_MISSING && i < count; i++)
            states[points[i].index].changed = true;
    }
}

void judge_change(struct dataset *dataset, struct judge_state *states)
{
    find_changes(dataset, states, false);
}

void judge_change_doubt(struct dataset *dataset, struct judge_state *states)
{
    find_changes(dataset, states, true);
}
