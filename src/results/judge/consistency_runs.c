#include "results/judge/consistency_runs.h"
#include "results/judge/identical.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/value.h"
#include "results/judge/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES_LEAST = 5, NEIGHBOURS = 4 };
static const double overlap_s = 5;

static size_t samples_of(const struct dataset_experiment *experiment)
{
    return experiment->trace ? experiment->trace->power.samples : 0;
}

/* ---- Copies of whole runs. */

/* No two runs end at one microsecond and take one time; without a fraction they might. */
static char *record_key(const struct dataset_experiment *experiment)
{
    double duration_s = experiment->duration_s.value;
    bool fine = experiment->end_local_ns % NS_PER_S != 0 && floor(duration_s) < duration_s;
    if (!experiment->has_end || !experiment->duration_s.valid || !fine)
        return NULL;
    return mem_printf("%lld %.17g", (long long)experiment->end_local_ns, duration_s);
}

static char *samples_key(const struct dataset_experiment *experiment)
{
    if (samples_of(experiment) == 0 || experiment->trace->power.changes < CHANGES_LEAST)
        return NULL;
    return mem_printf("%zu %llx", samples_of(experiment),
                      (unsigned long long)experiment->trace->power.stamped);
}

static void find_copies_by(struct dataset *dataset,
                           char *(*key_of)(const struct dataset_experiment *), const char *what)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    AUTO_FREE size_t *items = mem_array(dataset->count + 1, sizeof *items);
    AUTO_FREE size_t *order = NULL, *groups = NULL;
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        char *key = key_of(&dataset->items[i]);
        if (!key)
            continue;
        if (dataset->items[i].consistency[CONSISTENCY_COPIED_RUN] == CHECK_NOT_MADE)
            dataset->items[i].consistency[CONSISTENCY_COPIED_RUN] = CHECK_PASSED;
        keys[n] = key;
        items[n++] = i;
    }
    size_t count = audit_group_by(keys, n, &order, &groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = groups[g]; groups[g + 1] - groups[g] > 1 && i < groups[g + 1]; i++) {
            struct dataset_experiment *experiment = &dataset->items[items[order[i]]];
            bool first = i == groups[g];
            const struct dataset_experiment *other =
                &dataset->items[items[order[first ? i + 1 : groups[g]]]];
            if (dataset_has_evidence(experiment, "copied_run"))
                continue;
            dataset_evidence(experiment, "copied_run",
                             "%s are those of %.200s: one of them is a copy%s", what, other->id,
                             first ? "" : ", and this one is not counted");
            experiment->is_copy = !first;
            experiment->consistency[CONSISTENCY_COPIED_RUN] = CHECK_FAILED;
        }
}

void consistency_find_copies(struct dataset *dataset)
{
    EACH (experiment, dataset->items, dataset->count)
        experiment->consistency[CONSISTENCY_COPIED_RUN] = CHECK_NOT_MADE;
    find_copies_by(dataset, samples_key, "its power samples and their times");
    find_copies_by(dataset, record_key, "its end and its duration");
}

/* ---- Power samples of another experiment. */

struct hashed {
    uint64_t hash;
    size_t index;
};

static int compare_hashed(const void *a, const void *b)
{
    const struct hashed *left = a, *right = b;
    int order = ORDER(left->hash, right->hash);
    return order ? order : ORDER(left->index, right->index);
}

/* The monitor reads all sensors at one time: where only one of two has equal times in its files,
 * the other's power samples are the copy. */
static bool has_own_times(const struct dataset_experiment *experiment)
{
    return experiment->trace->utilisation_times == experiment->trace->power.times;
}

static void add_copied_trace(struct dataset_experiment *experiment,
                             const struct dataset_experiment *other)
{
    if (dataset_has_evidence(experiment, "copied_trace"))
        return;
    dataset_evidence(experiment, "copied_trace",
                     "its power samples are those of %.200s, with other times", other->id);
    experiment->consistency[CONSISTENCY_COPIED_TRACE] = CHECK_FAILED;
}

static void compare_traces(struct dataset_experiment *a, struct dataset_experiment *b)
{
    bool copies = dataset_has_evidence(a, "copied_run") && dataset_has_evidence(b, "copied_run");
    if (copies || !trace_sketch_shares(&a->trace->power, &b->trace->power))
        return;
    if (has_own_times(a) <= has_own_times(b))
        add_copied_trace(a, b);
    if (has_own_times(b) <= has_own_times(a))
        add_copied_trace(b, a);
}

void consistency_find_copied_traces(struct dataset *dataset)
{
    AUTO_FREE struct hashed *hashes =
        mem_array(dataset->count * TRACE_SKETCH_HASHES + 1, sizeof *hashes);
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        experiment->consistency[CONSISTENCY_COPIED_TRACE] =
            consistency_of_samples(dataset, experiment, samples_of(experiment) > 0);
        if (samples_of(experiment) == 0)
            continue;
        for (size_t h = 0; h < experiment->trace->power.hash_count; h++)
            hashes[n++] = (struct hashed){experiment->trace->power.hashes[h], i};
    }
    if (n > 1)
        qsort(hashes, n, sizeof *hashes, compare_hashed);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && k <= i + NEIGHBOURS && hashes[k].hash == hashes[i].hash;
             k++)
            if (hashes[k].index != hashes[i].index)
                compare_traces(&dataset->items[hashes[i].index], &dataset->items[hashes[k].index]);
}

/* ---- Overlaps. */

/* One experiment on one GPU. */
struct stay {
    const char *gpu; /* UUID; NULL: the one GPU of the folder's scripts */
    size_t folder;
    double begin_s, end_s; /* UTC */
    size_t index;
};

static bool is_same_gpu(const struct stay *a, const struct stay *b)
{
    return a->gpu && b->gpu ? strcmp(a->gpu, b->gpu) == 0
                            : !a->gpu && !b->gpu && a->folder == b->folder;
}

static int compare_stays(const void *a, const void *b)
{
    const struct stay *left = a, *right = b;
    int order = left->gpu && right->gpu ? strcmp(left->gpu, right->gpu)
                                        : ORDER(left->gpu != NULL, right->gpu != NULL);
    if (!order && !left->gpu)
        order = ORDER(left->folder, right->folder);
    if (!order)
        order = ORDER(left->begin_s, right->begin_s);
    return order ? order : ORDER(left->index, right->index);
}

/* By the samples, whose times are UTC; else by the record, whose local times are ambiguous in the
 * hour in which daylight saving ends. False: it is not known. */
static bool find_times(const struct dataset *dataset, const struct dataset_experiment *experiment,
                       struct stay *out)
{
    double duration_s = experiment->duration_s.value;
    bool timed = experiment->duration_s.valid && duration_s > 0 && duration_s < 1e9;
    if (samples_of(experiment) > 1) {
        const struct trace_sketch *power = &experiment->trace->power;
        out->begin_s = (double)(power->origin_s + power->first_s);
        out->end_s = (double)(power->origin_s + power->last_s) + 1;
        if (timed)
            out->end_s = fmin(out->end_s, out->begin_s + duration_s);
        return true;
    }
    if (!experiment->has_end || !timed)
        return false;
    out->end_s = (double)dataset_end_utc_ns(dataset, experiment) / (double)NS_PER_S;
    out->begin_s = out->end_s - duration_s;
    return true;
}

static size_t find_stays(struct dataset *dataset, struct stay **out)
{
    size_t n = 0, room = dataset->count;
    EACH (experiment, dataset->items, dataset->count)
        room += experiment->board_count;
    *out = mem_array(room + 1, sizeof **out);
    for (size_t i = 0; i < dataset->count; i++) {
        struct dataset_experiment *experiment = &dataset->items[i];
        struct stay stay = {.folder = experiment->folder, .index = i};
        bool study = dataset->folders[experiment->folder].layout == DATASET_STUDY;
        bool known = find_times(dataset, experiment, &stay) && (study || experiment->board_count);
        experiment->consistency[CONSISTENCY_TIME] = known   ? CHECK_PASSED
                                                    : study ? CHECK_NOT_MADE
                                                            : CHECK_NOT_NEEDED;
        if (known && study)
            (*out)[n++] = stay;
        for (size_t b = 0; known && b < experiment->board_count; b++) {
            stay.gpu = experiment->boards[b].uuid;
            (*out)[n++] = stay;
        }
    }
    if (n > 1)
        qsort(*out, n, sizeof **out, compare_stays);
    return n;
}

static void add_overlap(struct dataset_experiment *experiment,
                        const struct dataset_experiment *other, double seconds, bool one_gpu)
{
    static const char format[] = "%.200s ran at the same time for %.0f s, by the times of both: %s";
    if (!one_gpu)
        dataset_check(experiment, CHECK_PROCESSES_DURING, CHECK_NOT_MADE, format, other->id,
                      seconds, "whether on another GPU is not recorded");
    else if (!dataset_has_evidence(experiment, "time_overlap"))
        dataset_evidence(experiment, "time_overlap", format, other->id, seconds,
                         "they shared the GPU, or the times are wrong");
    experiment->consistency[CONSISTENCY_TIME] = one_gpu ? CHECK_FAILED : CHECK_NOT_MADE;
}

/* Those on one GPU, in the order of their beginnings. Scripts that run one at a time leave few
 * overlaps; where most overlap, several ran at once, and may have had a GPU each. */
static void find_overlaps(struct dataset *dataset, const struct stay *stays, size_t count)
{
    size_t overlaps = 0, longest = 0;
    for (int add = 0; add < 2; add++) {
        bool one_gpu = stays->gpu || 2 * overlaps <= count;
        longest = 0;
        for (size_t i = 1; i < count; i++) {
            double seconds = fmin(stays[longest].end_s, stays[i].end_s) - stays[i].begin_s;
            struct dataset_experiment *a = &dataset->items[stays[longest].index],
                                      *b = &dataset->items[stays[i].index];
            bool copies =
                dataset_has_evidence(a, "copied_run") && dataset_has_evidence(b, "copied_run");
            if (seconds >= overlap_s && !copies) {
                overlaps += !add;
                if (add) {
                    add_overlap(a, b, seconds, one_gpu);
                    add_overlap(b, a, seconds, one_gpu);
                }
            }
            if (stays[i].end_s > stays[longest].end_s)
                longest = i;
        }
    }
}

void consistency_find_overlaps(struct dataset *dataset)
{
    AUTO_FREE struct stay *stays = NULL;
    size_t n = find_stays(dataset, &stays);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && is_same_gpu(&stays[from], &stays[to]); to++)
            ;
        find_overlaps(dataset, stays + from, to - from);
    }
}
