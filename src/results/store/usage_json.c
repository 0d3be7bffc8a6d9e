/* The lanes as JSON: docs/reference/files.md. */
#include "results/store/tables.h"

#include "base/clock.h"
#include "base/json.h"

#include <math.h>

enum { SPANS_MAX = 20000 };

static json_t *texts_json(const struct strv *texts)
{
    json_t *out = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(out, json_text_or_null(texts->items[i]));
    return out;
}

/* Of a run with so many spans that none of them could be seen, what is shorter than this takes in what follows. */
static int64_t shortest_ns(const struct usage *usage)
{
    size_t count = 0;
    for (size_t i = 0; i < usage->ways.count; i++)
        count += usage->ways.items[i].count;
    return count > SPANS_MAX ? (int64_t)(usage->seconds * (double)NS_PER_S) / (SPANS_MAX / 2) : 0;
}

/* [from_ms, to_ms, what it did, experiment, attempt]: a thousand experiments have some thousands of them. */
static json_t *spans_json(const struct usage *usage, const struct usage_lane *lane, int64_t least_ns)
{
    json_t *out = json_array();
    for (size_t i = 0; i < lane->way_count; i++) {
        const struct way *way = &usage->ways.items[lane->ways[i]];
        for (size_t k = 0; k < way->count; k++) {
            const struct way_span *span = &way->spans[k];
            int64_t to_ns = span->to_ns;
            /* What is not training is drawn without its steps. */
            while (span->doing != DOING_TRAINING && k + 1 < way->count && way->spans[k + 1].doing == span->doing)
                to_ns = way->spans[++k].to_ns;
            while (to_ns - span->from_ns < least_ns && k + 1 < way->count)
                to_ns = way->spans[++k].to_ns;
            json_array_append_new(
                out, json_pack("[I, I, I, I, I]", (json_int_t)((span->from_ns - usage->from_ns) / NS_PER_MS),
                               (json_int_t)((to_ns - usage->from_ns) / NS_PER_MS), (json_int_t)span->doing,
                               (json_int_t)span->experiment, (json_int_t)span->attempt));
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
    json_object_set_new(json, "gpu_energy_j", lane->energy_j.valid ? json_finite(lane->energy_j.value) : json_null());
    for (enum verdict i = VERDICT_CLEAN; i < VERDICTS; i++)
        json_set_count(json, verdict_name(i), lane->verdicts[i]);
    json_set_count(json, "unjudged", lane->verdicts[VERDICT_NONE]);
    json_object_set_new(json, "busy_s", json_finite(seconds[DOING_TRAINING]));
    json_object_set_new(json, "overhead_s", json_finite(seconds[DOING_GUARD] + seconds[DOING_PAUSE]));
    json_object_set_new(json, "waiting_s", json_finite(seconds[DOING_WAIT]));
    json_object_set_new(json, "nothing_s", json_finite(seconds[DOING_NOTHING]));
    json_object_set_new(json, "utilisation", span_s > 0 ? json_finite(seconds[DOING_TRAINING] / span_s) : json_null());
}

static json_t *lane_json(const struct usage *usage, const struct usage_lane *lane, int64_t least_ns)
{
    const struct way *way = &usage->ways.items[lane->ways[lane->way_count - 1]];
    json_t *json = json_pack("{s:o, s:o, s:o, s:o}", "node", json_text_or_null(lane->node), "name", json_text_or_null(lane->name),
                             "gpus", texts_json(&way->labels), "uuids", texts_json(&way->uuids));
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
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_lane *lane = &usage->items[i];
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

static json_t *all_json(const struct usage *usage, json_t *disturbances)
{
    json_t *list = json_array();
    int64_t least_ns = shortest_ns(usage);
    for (size_t i = 0; i < usage->count; i++)
        json_array_append_new(list, lane_json(usage, &usage->items[i], least_ns));
    return json_pack("{s:I, s:o, s:o, s:O, s:o}", "from_ms", (json_int_t)(usage->from_ns / (NS_PER_MS)), "seconds",
                     json_finite(usage->seconds), "total", total_json(usage), "disturbances", disturbances, "lanes", list);
}

bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err)
{
    struct usage usage;
    json_t *disturbances = json_array();
    bool ok = usage_read(db, plan, &usage, err);
    *out = NULL;
    if (ok && usage.count > 1)
        ok = usage_add_disturbances(db, plan, &usage, disturbances, err);
    if (ok)
        *out = usage.count > 1 ? all_json(&usage, disturbances) : json_null();
    json_decref(disturbances);
    usage_fini(&usage);
    return ok;
}
