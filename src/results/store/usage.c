#include "results/store/usage.h"
#include "results/store/db.h"
#include "results/store/evidence.h"
#include "results/store/ways.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void usage_fini(struct usage *usage)
{
    EACH (item, usage->items, usage->count) {
        free(item->key);
        free(item->name);
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
    usage->items[usage->count] = (struct usage_lane){.node = session->host, .key = steal_ptr(key)};
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
    int order = strcmp(left->lane->node, right->lane->node);
    if (!order)
        order = strcmp(left->lane->name, right->lane->name);
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
        const struct usage_lane *lane = names[first].lane;
        for (end = first; end < usage->count && strcmp(names[end].lane->node, lane->node) == 0 &&
                          strcmp(names[end].lane->name, lane->name) == 0;
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
        usage->items[i].name = labels->count > 0 ? strv_join(labels, ", ") : mem_strdup(unlabelled);
    }
    AUTO_FREE struct named_lane *names = sort_by_name(usage);
    for (size_t i = 0; i < usage->count; i++) {
        struct usage_lane *lane = &usage->items[names[i].place];
        const struct strv *uuids = &first_way(usage, lane)->uuids;
        if (names[i].alike < 2)
            continue;
        char *name = uuids->count ? mem_printf("%s (%.12s)", lane->name, uuids->items[0])
                                  : mem_printf("%s, %zu", lane->name, names[i].before + 1);
        free(lane->name);
        lane->name = name;
    }
}

static int compare_lanes(const void *a, const void *b)
{
    const struct usage_lane *left = a, *right = b;
    int order = strverscmp(left->node, right->node);
    if (!order)
        order = strverscmp(left->name, right->name);
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
        usage->items[usage->of_way[try->way]].attempts++;
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
        struct usage_lane *lane = &usage->items[usage->of_way[way]];
        lane->experiments++;
        lane->verdicts[evidence_verdict(db_text(query, 2), db_text(query, 3))]++;
        if (!db_is_null(query, 4))
            lane->energy_j =
                (struct reading){lane->energy_j.value + sqlite3_column_double(query, 4), true};
    }
    return query != NULL;
}

static bool usage_read(sqlite3 *db, const struct plan *plan, struct usage *out, struct err *err)
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
    return add_results(db, out, err);
}

/* The lanes as JSON: docs/reference/files.md. */

enum { SPANS_MAX = 20000 };

static json_t *texts_json(const struct strv *texts)
{
    json_t *out = json_array();
    EACH (item, texts->items, texts->count)
        json_array_append_new(out, json_text_or_null(*item));
    return out;
}

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

static json_t *lost_json(const struct usage *usage, const struct usage_lane *lane)
{
    for (size_t i = lane->way_count; i-- > 0;)
        if (usage->ways.items[lane->ways[i]].lost)
            return json_text_or_null(usage->ways.items[lane->ways[i]].lost);
    return json_null();
}

/* Of a lane, or of all of them. */
static void set_figures(json_t *json, const struct usage_lane *lane, double span_s)
{
    const double *seconds = lane->seconds;
    json_set_count(json, "experiments", lane->experiments);
    json_object_set_new(json, "attempts", json_integer(lane->attempts));
    json_object_set_new(json, "gpu_energy_j",
                        lane->energy_j.valid ? json_finite(lane->energy_j.value) : json_null());
    for (enum verdict i = VERDICT_CLEAN; i < VERDICTS; i++)
        json_set_count(json, verdict_name(i), lane->verdicts[i]);
    json_set_count(json, "unjudged", lane->verdicts[VERDICT_NONE]);
    json_object_set_new(json, "busy_s", json_finite(seconds[DOING_TRAINING]));
    json_object_set_new(json, "overhead_s",
                        json_finite(seconds[DOING_GUARD] + seconds[DOING_PAUSE]));
    json_object_set_new(json, "waiting_s", json_finite(seconds[DOING_WAIT]));
    json_object_set_new(json, "nothing_s", json_finite(seconds[DOING_NOTHING]));
    json_object_set_new(json, "utilisation",
                        span_s > 0 ? json_finite(seconds[DOING_TRAINING] / span_s) : json_null());
}

static json_t *lane_json(const struct usage *usage, const struct usage_lane *lane, int64_t least_ns)
{
    const struct way *way = &usage->ways.items[lane->ways[lane->way_count - 1]];
    json_t *json = json_pack("{s:o, s:o, s:o, s:o}", "node", json_text_or_null(lane->node), "name",
                             json_text_or_null(lane->name), "gpus", texts_json(&way->labels),
                             "uuids", texts_json(&way->uuids));
    set_figures(json, lane, usage->seconds);
    json_object_set_new(json, "lost", lost_json(usage, lane));
    json_object_set_new(json, "spans", spans_json(usage, lane, least_ns));
    return json;
}

/* Of the pool: all lanes over the whole span. */
static json_t *total_json(const struct usage *usage)
{
    struct usage_lane all = {0};
    json_t *json = json_object();
    EACH (lane, usage->items, usage->count) {
        for (enum lane_doing k = 0; k < DOING_COUNT; k++)
            all.seconds[k] += lane->seconds[k];
        for (enum verdict k = VERDICT_NONE; k < VERDICTS; k++)
            all.verdicts[k] += lane->verdicts[k];
        all.experiments += lane->experiments;
        all.attempts += lane->attempts;
        if (lane->energy_j.valid)
            all.energy_j = (struct reading){all.energy_j.value + lane->energy_j.value, true};
    }
    set_figures(json, &all, usage->seconds * (double)usage->count);
    return json;
}

static json_t *all_json(const struct usage *usage)
{
    json_t *list = json_array();
    int64_t least_ns = shortest_ns(usage);
    EACH (item, usage->items, usage->count)
        json_array_append_new(list, lane_json(usage, item, least_ns));
    return json_pack("{s:I, s:o, s:o, s:o}", "from_ms", (json_int_t)(usage->from_ns / (NS_PER_MS)),
                     "seconds", json_finite(usage->seconds), "total", total_json(usage), "lanes",
                     list);
}

bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err)
{
    struct usage usage;
    bool ok = usage_read(db, plan, &usage, err);
    *out = !ok ? NULL : usage.count > 1 ? all_json(&usage) : json_null();
    usage_fini(&usage);
    return ok;
}
