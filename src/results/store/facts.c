#include "results/store/store.h"

#include "base/json.h"
#include "base/mem.h"
#include "results/store/tables.h"

#include <stdlib.h>
#include <string.h>

void facts_fini(struct facts *facts)
{
    for (size_t i = 0; facts->items && i < facts->results.count; i++) {
        free(facts->items[i].host);
        free(facts->items[i].boot_id);
        free(facts->items[i].energy);
        json_decref(facts->items[i].all_attempts);
        json_decref(facts->items[i].epochs);
        for (size_t k = 0; k < facts->items[i].evidence_count; k++) {
            free(facts->items[i].evidence[k].kind);
            free(facts->items[i].evidence[k].text);
        }
        free(facts->items[i].evidence);
    }
    free(facts->items);
    results_fini(&facts->results);
    *facts = (struct facts){0};
}

json_t *facts_verdicts_json(const struct verdicts *verdicts)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < QUANTITIES; i++)
        if (verdicts->of[i] != VERDICT_NONE)
            json_object_set_new(out, quantity_name((enum quantity)i), json_string(verdict_name(verdicts->of[i])));
    return out;
}

static struct facts_item *item_of(struct facts *facts, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    return number >= 1 && (size_t)number <= facts->results.count ? &facts->items[number - 1] : NULL;
}

static bool read_attempts(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT e.number, coalesce(e.result_attempt, e.attempts), e.duration_s, a.energy, s.host,"
                 " s.boot_id, a.started_realtime_ns - (a.started_monotonic_ns - a.job_start_ns) FROM experiments e "
                 "LEFT JOIN attempts a ON a.experiment = e.number AND a.number ="
                 " coalesce(e.result_attempt, e.attempts) LEFT JOIN sessions s ON s.number = a.session",
                 "");
    int step;
    while ((step = db_step(query, err)) > 0) {
        struct facts_item *item = item_of(facts, query);
        if (!item)
            continue;
        item->attempt = sqlite3_column_int64(query, 1);
        item->has_duration = !db_is_null(query, 2);
        free(item->energy);
        item->energy = mem_strdup(db_text(query, 3));
        free(item->host);
        free(item->boot_id);
        item->host = mem_strdup(db_text(query, 4));
        item->boot_id = mem_strdup(db_text(query, 5));
        item->has_start = !db_is_null(query, 6);
        item->start_realtime_ns = sqlite3_column_int64(query, 6);
    }
    return step == 0;
}

static bool read_all_attempts(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT experiment, number, outcome, reason, duration_s, exit_code, signal,"
                 " error FROM attempts ORDER BY experiment, number",
                 "");
    int step;
    while ((step = db_step(query, err)) > 0) {
        struct facts_item *item = item_of(facts, query);
        json_t *row = json_object();
        db_set_cells(row, "attempt outcome reason duration_s exit_code signal error", query, 1);
        if (item)
            json_array_append(item->all_attempts, row);
        json_decref(row);
    }
    return step == 0;
}

static bool read_epochs(sqlite3 *db, struct facts *facts, struct err *err)
{
    for (size_t i = 0; i < facts->results.count; i++)
        if (!epochs_add_last(db, (int64_t)i + 1, facts->items[i].epochs, err))
            return false;
    return true;
}

static void add_evidence(struct facts_item *item, int64_t attempt, const json_t *data)
{
    const char *kind = json_get_text(data, "kind"), *text = json_get_text(data, "text");
    if (!kind)
        return;
    item->evidence = mem_resize(item->evidence, item->evidence_count + 1, sizeof *item->evidence);
    item->evidence[item->evidence_count++] =
        (struct facts_evidence){attempt, mem_strdup(kind), mem_strdup(text ? text : "")};
}

static struct reading mean_of(const json_t *devices, const char *key)
{
    struct reading mean = {0};
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        double value;
        if (!json_get_number(json_array_get(devices, i), key, &value))
            continue;
        mean.value += value;
        count++;
    }
    if (count)
        mean = (struct reading){mean.value / (double)count, true};
    return mean;
}

/* What the guard saw last before the attempt began stands. */
static void take_start(struct facts_item *item, int64_t attempt, const json_t *data)
{
    const char *phase = json_get_text(data, "phase");
    const json_t *devices = json_get(data, "devices");
    if (phase && strcmp(phase, "preflight") == 0 && attempt == item->attempt)
        item->start = (struct facts_start){.temperature_c = mean_of(devices, "temperature_c"),
                                           .sm_clock_mhz = mean_of(devices, "sm_clock_mhz"),
                                           .memory_clock_mhz = mean_of(devices, "memory_clock_mhz")};
}

static bool read_events(sqlite3 *db, const char *type, struct facts *facts,
                        void (*take)(struct facts_item *item, int64_t attempt, const json_t *data), struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT experiment, attempt, data FROM events WHERE type=? AND experiment IS NOT NULL ORDER BY seq",
        "t", type);
    int step;
    while ((step = db_step(query, err)) > 0) {
        struct facts_item *item = item_of(facts, query);
        json_t *data = db_json(query, 2);
        if (item)
            take(item, sqlite3_column_int64(query, 1), data);
        json_decref(data);
    }
    return step == 0;
}

static bool read_all(sqlite3 *db, struct facts *out, struct err *err)
{
    if (!schema_check(db, err) || !results_load(db, &out->results, err))
        return false;
    out->items = mem_array(out->results.count + 1, sizeof *out->items);
    for (size_t i = 0; i < out->results.count; i++) {
        out->items[i].all_attempts = json_array();
        out->items[i].epochs = json_array();
    }
    return read_attempts(db, out, err) && read_all_attempts(db, out, err) && read_epochs(db, out, err) &&
           read_events(db, "evidence", out, add_evidence, err) && read_events(db, "guard", out, take_start, err);
}

bool facts_read(const char *run_dir, struct facts *out, struct err *err)
{
    *out = (struct facts){0};
    struct snapshot snapshot;
    if (!snapshot_open(run_dir, &snapshot, err))
        return false;
    bool ok = read_all(snapshot.db, out, err);
    snapshot_close(&snapshot);
    if (!ok)
        facts_fini(out);
    return ok || err_wrap(err, "%s", run_dir);
}
