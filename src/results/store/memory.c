#include "results/store/memory.h"
#include "base/mem.h"
#include "results/store/db.h"
#include "results/store/energy.h"

#include "base/json.h"
#include "measure/memory_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const keys[] = {"changed", "oom", "memory", "snapshot"};

static bool has_any(const struct event *event)
{
    EACH_OF (key, keys)
        if (json_get(event->data, *key))
            return true;
    return false;
}

/* What one event says of an attempt stays when another says more. */
bool memory_write(sqlite3 *db, const struct event *event, struct err *err)
{
    if (!has_any(event))
        return true;
    return db_run(db, err,
                  "INSERT OR IGNORE INTO attempt_memory (experiment, attempt) VALUES (?,?)", "ii",
                  event->experiment, event->attempt) &&
           db_run(db, err,
                  "UPDATE attempt_memory SET changed=coalesce(?, changed), oom=coalesce(?, oom),"
                  " memory=coalesce(?, memory), snapshot=coalesce(?, snapshot) WHERE experiment=? "
                  "AND attempt=?",
                  "kii", event->data, "changed oom memory snapshot", event->experiment,
                  event->attempt);
}

static json_t *attempt_of(json_t *attempts, int64_t number)
{
    for (size_t i = 0; i < json_array_size(attempts); i++) {
        json_int_t own = 0;
        if (json_get_int(json_array_get(attempts, i), "number", &own) && own == number)
            return json_array_get(attempts, i);
    }
    return NULL;
}

bool memory_add(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT attempt, changed, oom, memory, snapshot FROM attempt_memory WHERE experiment=?",
        "i", experiment);
    while (db_next(&query, err)) {
        json_t *attempt = attempt_of(attempts, sqlite3_column_int64(query, 0));
        for (int k = 0; attempt && k < 4; k++)
            json_object_set_new(attempt, keys[k],
                                db_is_null(query, k + 1) ? json_null()
                                                         : db_json_or_text(query, k + 1));
    }
    return query != NULL;
}

/* Both are in the events alone: nothing is asked of them but to be shown. */
bool memory_add_ended(sqlite3 *db, const struct plan_experiment *experiment, json_t *tare,
                      struct err *err)
{
    json_t *attempts = json_object_get(tare, "attempts");
    if (experiment->parallel)
        json_object_set_new(tare, "parallel", json_null());
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT attempt, data FROM events WHERE experiment=? AND"
                 " type='attempt_ended' AND (? OR data LIKE '%\"gpu_memory\"%') ORDER BY seq",
                 "ii", (int64_t)experiment->number, (int64_t)experiment->parallel);
    while (db_next(&query, err)) {
        json_t *data = db_json(query, 1),
               *attempt = attempt_of(attempts, sqlite3_column_int64(query, 0));
        json_t *counted = json_object_get(data, "gpu_memory"),
               *parallel = json_object_get(data, "parallel");
        if (attempt && json_is_object(counted))
            json_object_set(attempt, "gpu_memory", counted);
        if (experiment->parallel) {
            parallel = parallel ? json_incref(parallel) : json_null();
            json_object_set(tare, "parallel", parallel);
            json_object_set_new(attempt, "parallel", parallel);
        }
        json_decref(data);
    }
    return query != NULL;
}

/* Where it is the whole device's on one of the GPUs, the job's is unknown. */
static void find_job_peak(const json_t *memory, struct memory_peak *out)
{
    const json_t *gpus = json_get(memory, "gpus");
    struct memory_peak peak = {0};
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        const char *of = json_get_text(gpu, "of");
        double bytes = 0;
        if (!of || strcmp(of, "job") != 0 ||
            !json_get_number(json_get(gpu, "curve"), "peak_bytes", &bytes))
            return;
        /* What was counted misses nothing; the driver's figure may hold what no program asked
         * for. */
        double exact = 0, every_ms = 1000;
        bool counted =
            json_get_number(json_get(gpu, "counted"), "peak_bytes", &exact) && exact >= bytes;
        json_get_number(gpu, "sampled_ms", &every_ms);
        bytes = counted ? exact : bytes;
        if (peak.bytes.valid && bytes <= peak.bytes.value)
            continue;
        peak.bytes = (struct reading){bytes, true};
        if (counted)
            snprintf(peak.how, sizeof peak.how, "counted");
        else
            snprintf(peak.how, sizeof peak.how, "sampled every %.0f ms", every_ms);
    }
    *out = peak;
}

/* Never less than the foreground's own, which may be counted where the pair's is sampled. */
static struct reading find_pair_peak(const json_t *memory, const struct memory_peak *foreground)
{
    const json_t *gpus = json_get(memory, "gpus");
    struct reading peak = {0};
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        double bytes = 0;
        if (json_get_number(json_array_get(gpus, i), "pair_peak_bytes", &bytes))
            peak = (struct reading){fmax(peak.value, bytes), true};
    }
    if (peak.valid && foreground->bytes.valid)
        peak.value = fmax(peak.value, foreground->bytes.value);
    return peak;
}

struct memory_peak memory_peak(const json_t *memory, const json_t *energy, bool parallel)
{
    struct memory_peak peak = {0};
    find_job_peak(memory, &peak);
    peak.pair_bytes = find_pair_peak(memory, &peak);
    peak.of = parallel ? "foreground" : "job";
    if (peak.bytes.valid)
        return peak;
    peak.bytes = energy_number(energy, "gpu", "memory_peak_bytes");
    peak.of = peak.bytes.valid ? "gpu" : NULL;
    if (peak.bytes.valid)
        snprintf(peak.how, sizeof peak.how, "sampled, of the whole GPU");
    return peak;
}

json_t *memory_peak_json(const struct memory_peak *peak)
{
    if (!peak->bytes.valid)
        return json_null();
    json_t *json = json_pack("{s:s, s:s}", "of", peak->of, "how", peak->how);
    json_object_set_new(json, "bytes", bytes_json(true, peak->bytes.value));
    struct reading pair = peak->pair_bytes;
    json_object_set_new(json, "pair_bytes", bytes_json(pair.valid, pair.value));
    return json;
}
