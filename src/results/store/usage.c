#include "results/store/usage.h"
#include "results/store/db.h"
#include "results/store/evidence.h"
#include "results/store/ways.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* GPUs (or none) of one node. */
struct usage_lane {
    struct lane_use use;
    char *key;
    size_t *ways; /* its parts, by the time of their sessions */
    size_t way_count;
    int64_t to_ns; /* the end of its last session */
    /* what it did; NOTHING: the rest of the run's span, too, when no session had it */
    double seconds[DOING_COUNT];
};

/* How the lanes of a run spent its time, on all its nodes and in all its sessions. */
struct usage {
    struct ways ways;
    struct usage_lane *items; /* by node, then by GPU */
    size_t count;
    size_t *of_way; /* which lane each way belongs to */
    int64_t from_ns;
    double seconds; /* the run's span: at least one session lived */
};

static void lane_use_fini(struct lane_use *use)
{
    free(use->node);
    free(use->name);
    free(use->lost);
    strv_fini(&use->gpus);
    strv_fini(&use->uuids);
}

void lane_uses_fini(struct lane_uses *lanes)
{
    EACH (item, lanes->items, lanes->count)
        lane_use_fini(item);
    free(lanes->items);
}

static void usage_fini(struct usage *usage)
{
    EACH (item, usage->items, usage->count) {
        lane_use_fini(&item->use);
        free(item->key);
        free(item->ways);
    }
    free(usage->items);
    free(usage->of_way);
    ways_fini(&usage->ways);
    *usage = (struct usage){0};
}

static const struct way_session *session_of(const struct usage *usage, size_t way)
{
    return &usage->ways.sessions[usage->ways.items[way].session];
}

/* The node and its GPUs; without GPUs the lane's number. */
static char *key_of(const struct usage *usage, size_t at)
{
    const struct way *way = &usage->ways.items[at];
    AUTO_FREE char *gpus =
        way->uuids.count ? strv_join(&way->uuids, ",") : mem_printf("%lld", (long long)way->number);
    return mem_printf("%s\n%s", session_of(usage, at)->host, gpus);
}

/* The same GPUs are the same lane. Without GPUs several tasks of a node may run at the same time:
 * each has one of its own. */
static size_t lane_of(struct usage *usage, size_t at)
{
    const struct way_session *session = session_of(usage, at);
    AUTO_FREE char *key = key_of(usage, at);
    bool has_gpus = usage->ways.items[at].uuids.count > 0;
    for (size_t i = 0; i < usage->count; i++)
        if (strcmp(usage->items[i].key, key) == 0 &&
            (has_gpus || usage->items[i].to_ns <= session->from_ns))
            return i;
    usage->items = mem_room(usage->items, usage->count, sizeof *usage->items);
    usage->items[usage->count] =
        (struct usage_lane){.use.node = mem_strdup(session->host), .key = steal_ptr(key)};
    return usage->count++;
}

struct order {
    int64_t from_ns;
    size_t way;
};

static int compare_order(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->from_ns != right->from_ns)
        return left->from_ns < right->from_ns ? -1 : 1;
    return (left->way > right->way) - (left->way < right->way);
}

/* Sessions of a collected run stand in the order of the plan, not of time. */
static void merge_ways(struct usage *usage)
{
    size_t count = usage->ways.count;
    AUTO_FREE struct order *order = mem_array(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct order){session_of(usage, i)->from_ns, i};
    qsort(order, count, sizeof *order, compare_order);
    EACH (item, order, count) {
        size_t place = lane_of(usage, item->way); /* which may move the items */
        struct usage_lane *lane = &usage->items[place];
        int64_t to_ns = session_of(usage, item->way)->to_ns;
        MEM_ADD(lane->ways, lane->way_count) = item->way;
        lane->to_ns = to_ns > lane->to_ns ? to_ns : lane->to_ns;
    }
}

static const struct way *first_way(const struct usage *usage, const struct usage_lane *lane)
{
    return &usage->ways.items[lane->ways[0]];
}

static bool any_labels(const struct usage *usage)
{
    EACH (item, usage->ways.items, usage->ways.count)
        if (item->labels.count > 0)
            return true;
    return false;
}

struct named_lane {
    const struct usage_lane *lane;
    /* before: how many of the same node and name come before it; alike: all of them */
    size_t place, before, alike;
};

static int compare_names(const void *a, const void *b)
{
    const struct named_lane *left = a, *right = b;
    int order = strcmp(left->lane->use.node, right->lane->use.node);
    if (!order)
        order = strcmp(left->lane->use.name, right->lane->use.name);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

/* By node and name, with the counts of those that are alike: each task of a run may have a lane of
 * its own. */
static struct named_lane *sort_by_name(const struct usage *usage)
{
    struct named_lane *names = mem_array(usage->count + 1, sizeof *names);
    for (size_t i = 0; i < usage->count; i++)
        names[i] = (struct named_lane){.lane = &usage->items[i], .place = i};
    qsort(names, usage->count, sizeof *names, compare_names);
    for (size_t first = 0, end; first < usage->count; first = end) {
        const struct lane_use *lane = &names[first].lane->use;
        for (end = first;
             end < usage->count && strcmp(names[end].lane->use.node, lane->node) == 0 &&
             strcmp(names[end].lane->use.name, lane->name) == 0;
             end++)
            names[end].before = end - first;
        for (size_t i = first; i < end; i++)
            names[i].alike = end - first;
    }
    return names;
}

/* Where a driver counts from 0 in each task, labels are alike: then a UUID's beginning tells them
 * apart; without GPUs, a number. */
static void name_lanes(struct usage *usage)
{
    const char *unlabelled = any_labels(usage) ? "GPU not known" : "no GPU";
    for (size_t i = 0; i < usage->count; i++) {
        const struct strv *labels = &first_way(usage, &usage->items[i])->labels;
        usage->items[i].use.name =
            labels->count > 0 ? strv_join(labels, ", ") : mem_strdup(unlabelled);
    }
    AUTO_FREE struct named_lane *names = sort_by_name(usage);
    for (size_t i = 0; i < usage->count; i++) {
        struct usage_lane *lane = &usage->items[names[i].place];
        const struct strv *uuids = &first_way(usage, lane)->uuids;
        if (names[i].alike < 2)
            continue;
        char *name = uuids->count ? mem_printf("%s (%.12s)", lane->use.name, uuids->items[0])
                                  : mem_printf("%s, %zu", lane->use.name, names[i].before + 1);
        free(lane->use.name);
        lane->use.name = name;
    }
}

static int compare_lanes(const void *a, const void *b)
{
    const struct usage_lane *left = a, *right = b;
    int order = strverscmp(left->use.node, right->use.node);
    if (!order)
        order = strverscmp(left->use.name, right->use.name);
    return order ? order : strcmp(left->key, right->key);
}

static int compare_sessions(const void *a, const void *b)
{
    const struct way_session *const *left = a, *const *right = b;
    return ((*left)->from_ns > (*right)->from_ns) - ((*left)->from_ns < (*right)->from_ns);
}

/* How long at least one session lived: what lies between a run and its resume is none of its
 * time. */
static void measure_span(struct usage *usage)
{
    size_t count = usage->ways.session_count;
    int64_t until_ns = INT64_MIN, sum_ns = 0;
    AUTO_FREE const struct way_session **order = mem_array(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = &usage->ways.sessions[i];
    qsort(order, count, sizeof *order, compare_sessions);
    EACH (item, order, count) {
        int64_t from_ns = (*item)->from_ns > until_ns ? (*item)->from_ns : until_ns;
        if ((*item)->to_ns > from_ns)
            sum_ns += (*item)->to_ns - from_ns;
        until_ns = (*item)->to_ns > until_ns ? (*item)->to_ns : until_ns;
    }
    usage->from_ns = count ? order[0]->from_ns : 0;
    usage->seconds = (double)sum_ns / (double)NS_PER_S;
}

static void add_times(const struct usage *usage, struct usage_lane *lane)
{
    double known = 0;
    EACH (item, lane->ways, lane->way_count) {
        const struct way *way = &usage->ways.items[*item];
        EACH (span, way->spans, way->count)
            lane->seconds[span->doing] += (double)(span->to_ns - span->from_ns) / (double)NS_PER_S;
    }
    for (enum lane_doing i = 0; i < DOING_NOTHING; i++)
        known += lane->seconds[i];
    lane->seconds[DOING_NOTHING] = usage->seconds > known ? usage->seconds - known : 0;
}

static void sum_up(struct usage *usage)
{
    usage->of_way = mem_array(usage->ways.count + 1, sizeof *usage->of_way);
    for (size_t i = 0; i < usage->count; i++) {
        EACH (item, usage->items[i].ways, usage->items[i].way_count)
            usage->of_way[*item] = i;
        add_times(usage, &usage->items[i]);
    }
    EACH (try, usage->ways.tries, usage->ways.try_count)
        usage->items[usage->of_way[try->way]].use.attempts++;
}

/* Of each result, by the lane that gave it. */
static bool add_results(sqlite3 *db, struct usage *usage, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT e.number, coalesce(e.result_attempt, e.attempts), e.verdict,"
                 " e.outcome, (SELECT CASE count(*) WHEN count(g.energy_j) THEN sum(g.energy_j) "
                 "END FROM energy g WHERE"
                 "  g.experiment = e.number AND g.attempt = coalesce(e.result_attempt, e.attempts)"
                 "  AND g.scope = 'GPU board')"
                 " FROM experiments e WHERE e.outcome IN ('succeeded', 'failed') ORDER BY e.number",
                 "");
    while (db_next(&query, err)) {
        size_t way = ways_of_attempt(&usage->ways, sqlite3_column_int64(query, 0),
                                     sqlite3_column_int64(query, 1));
        if (way == SIZE_MAX)
            continue;
        struct lane_use *lane = &usage->items[usage->of_way[way]].use;
        lane->experiments++;
        lane->verdicts[evidence_verdict(db_text(query, 2), db_text(query, 3))]++;
        if (!db_is_null(query, 4))
            lane->gpu_energy_j =
                (struct reading){lane->gpu_energy_j.value + sqlite3_column_double(query, 4), true};
    }
    return query != NULL;
}

/* The times of a lane over a span of seconds. */
static void set_times(struct lane_use *use, const double *seconds, double span_s)
{
    use->busy_s = seconds[DOING_TRAINING];
    use->overhead_s = seconds[DOING_GUARD] + seconds[DOING_PAUSE];
    use->waiting_s = seconds[DOING_WAIT];
    use->nothing_s = seconds[DOING_NOTHING];
    use->utilisation = (struct reading){span_s > 0 ? use->busy_s / span_s : 0, span_s > 0};
}

static void describe_lane(const struct usage *usage, struct usage_lane *lane)
{
    const struct way *way = &usage->ways.items[lane->ways[lane->way_count - 1]];
    strv_add_all(&lane->use.gpus, &way->labels);
    strv_add_all(&lane->use.uuids, &way->uuids);
    for (size_t i = lane->way_count; i-- > 0 && !lane->use.lost;)
        lane->use.lost = mem_strdup(usage->ways.items[lane->ways[i]].lost);
    set_times(&lane->use, lane->seconds, usage->seconds);
}

static bool usage_make(sqlite3 *db, const struct plan *plan, struct usage *out, struct err *err)
{
    *out = (struct usage){0};
    if (!ways_read(db, plan, &out->ways, err))
        return false;
    merge_ways(out);
    name_lanes(out);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, compare_lanes);
    measure_span(out);
    sum_up(out);
    EACH (lane, out->items, out->count)
        describe_lane(out, lane);
    return add_results(db, out, err);
}

/* Of the pool: all lanes over the whole span. */
static struct lane_use total_of(const struct usage *usage)
{
    struct lane_use all = {0};
    double seconds[DOING_COUNT] = {0};
    EACH (lane, usage->items, usage->count) {
        const struct lane_use *use = &lane->use;
        for (enum lane_doing k = 0; k < DOING_COUNT; k++)
            seconds[k] += lane->seconds[k];
        for (enum verdict k = VERDICT_NONE; k < VERDICTS; k++)
            all.verdicts[k] += use->verdicts[k];
        all.experiments += use->experiments;
        all.attempts += use->attempts;
        if (use->gpu_energy_j.valid)
            all.gpu_energy_j =
                (struct reading){all.gpu_energy_j.value + use->gpu_energy_j.value, true};
    }
    set_times(&all, seconds, usage->seconds * (double)usage->count);
    return all;
}

/* Leaves the lanes without what their uses own. */
static void move_uses(struct usage *usage, struct lane_uses *out)
{
    *out = (struct lane_uses){.from_ms = usage->from_ns / NS_PER_MS,
                              .seconds = usage->seconds,
                              .total = total_of(usage),
                              .items = mem_array(usage->count + 1, sizeof *out->items)};
    EACH (lane, usage->items, usage->count) {
        out->items[out->count++] = lane->use;
        lane->use = (struct lane_use){0};
    }
}

bool usage_read(sqlite3 *db, const struct plan *plan, struct lane_uses *out, struct err *err)
{
    struct usage usage;
    *out = (struct lane_uses){0};
    bool ok = usage_make(db, plan, &usage, err);
    if (ok && usage.count > 1)
        move_uses(&usage, out);
    usage_fini(&usage);
    return ok;
}

/* The lanes as JSON: docs/reference/files.md. */

enum { SPANS_MAX = 20000 };

/* Of a run with so many spans that none of them could be seen, what is shorter than this takes in
 * what follows. */
static int64_t shortest_ns(const struct usage *usage)
{
    size_t count = 0;
    EACH (item, usage->ways.items, usage->ways.count)
        count += item->count;
    return count > SPANS_MAX ? (int64_t)(usage->seconds * (double)NS_PER_S) / (SPANS_MAX / 2) : 0;
}

/* [from_ms, to_ms, what it did, experiment, attempt]: a thousand experiments have some thousands of
 * them. */
static json_t *spans_json(const struct usage *usage, const struct usage_lane *lane,
                          int64_t least_ns)
{
    json_t *out = json_array();
    EACH (item, lane->ways, lane->way_count) {
        const struct way *way = &usage->ways.items[*item];
        for (size_t k = 0; k < way->count; k++) {
            const struct way_span *span = &way->spans[k];
            int64_t to_ns = span->to_ns;
            /* What is not training is drawn without its steps. */
            while (span->doing != DOING_TRAINING && k + 1 < way->count &&
                   way->spans[k + 1].doing == span->doing)
                to_ns = way->spans[++k].to_ns;
            while (to_ns - span->from_ns < least_ns && k + 1 < way->count)
                to_ns = way->spans[++k].to_ns;
            json_array_append_new(
                out, json_pack("[I, I, I, I, I]",
                               (json_int_t)((span->from_ns - usage->from_ns) / NS_PER_MS),
                               (json_int_t)((to_ns - usage->from_ns) / NS_PER_MS),
                               (json_int_t)span->doing, (json_int_t)span->experiment,
                               (json_int_t)span->attempt));
        }
    }
    return out;
}

#define USE(member)           RECORD(struct lane_use, member)
#define VERDICT(key, verdict) RECORD_AS(struct lane_use, key, verdicts[verdict])
#define FIGURES                                                                           \
    USE(experiments), USE(attempts), USE(gpu_energy_j), VERDICT("clean", VERDICT_CLEAN),  \
        VERDICT("unverified", VERDICT_UNVERIFIED), VERDICT("suspect", VERDICT_SUSPECT),   \
        VERDICT("contaminated", VERDICT_CONTAMINATED), VERDICT("unjudged", VERDICT_NONE), \
        USE(busy_s), USE(overhead_s), USE(waiting_s), USE(nothing_s), USE(utilisation)
static const struct record_field total_fields[] = {FIGURES, {0}};
static const struct record_field lane_fields[] = {USE(node), USE(name), USE(gpus), USE(uuids),
                                                  FIGURES,   USE(lost), {0}};
static const struct record_field uses_fields[] = {
    RECORD(struct lane_uses, from_ms),
    RECORD(struct lane_uses, seconds),
    RECORD_STRUCT(struct lane_uses, "total", total, total_fields),
    RECORD_STRUCTS(struct lane_uses, "lanes", items, count, lane_fields),
    {0}};

json_t *lane_uses_json(const struct lane_uses *lanes)
{
    return lanes->count > 1 ? record_json(uses_fields, lanes) : json_null();
}

bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err)
{
    struct usage usage;
    AUTO(lane_uses_fini) struct lane_uses uses = {0};
    bool ok = usage_make(db, plan, &usage, err);
    if (ok)
        move_uses(&usage, &uses);
    *out = ok ? lane_uses_json(&uses) : NULL;
    int64_t least_ns = shortest_ns(&usage);
    json_t *list = json_object_get(*out, "lanes");
    for (size_t i = 0; i < json_array_size(list); i++)
        json_object_set_new(json_array_get(list, i), "spans",
                            spans_json(&usage, &usage.items[i], least_ns));
    usage_fini(&usage);
    return ok;
}
