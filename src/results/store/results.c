#include "results/store/results.h"
#include "plan/change.h"
#include "results/store/db.h"
#include "results/store/energy.h"
#include "results/store/energy_record.h"
#include "results/store/epochs_file.h"
#include "results/store/evidence.h"
#include "results/store/journal.h"
#include "results/store/schema.h"
#include "results/store/snapshot.h"
#include "results/store/usage.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void result_items_free(struct result *items, size_t count)
{
    for (size_t i = 0; items && i < count; i++) {
        free(items[i].id);
        free(items[i].error);
        free(items[i].changed);
        EACH (metric, items[i].metrics, items[i].metric_count)
            free(metric->name);
        free(items[i].metrics);
        free(items[i].failure);
        EACH (check, items[i].checks, items[i].check_count)
            free(check->text);
        free(items[i].checks);
        EACH (item, items[i].evidence, items[i].evidence_count) {
            free(item->kind);
            free(item->text);
        }
        free(items[i].evidence);
    }
    free(items);
}

#define USE(text, member) RECORD_AS(struct budget_record, text, member)
static const struct record_field energy_budget_fields[] = {USE("budget_j", energy_j.budget),
                                                           USE("used_j", energy_j.used),
                                                           USE("mean_j", energy_j.mean),
                                                           {0}};
static const struct record_field time_budget_fields[] = {
    USE("budget_s", time_s.budget), USE("used_s", time_s.used), USE("mean_s", time_s.mean), {0}};
#define BUDGET(member) RECORD(struct budget_record, member)
static const struct record_field budget_fields[] = {RECORD_GROUP("energy", energy_budget_fields),
                                                    RECORD_GROUP("time", time_budget_fields),
                                                    BUDGET(counted),
                                                    BUDGET(attempts),
                                                    BUDGET(estimated),
                                                    BUDGET(unmeasured),
                                                    BUDGET(reached),
                                                    {0}};

void results_fini(struct results *results)
{
    result_items_free(results->items, results->count);
    plan_fini(&results->plan);
    lane_uses_fini(&results->lanes);
    record_free(budget_fields, &results->budget);
    *results = (struct results){0};
}

static void item_init(struct result *item, const struct plan_experiment *experiment)
{
    const struct plan_job *job = &experiment->foreground;
    item->number = experiment->number;
    item->id = mem_strdup(experiment->id);
    item->metric_count = job->metric_count;
    item->metrics = mem_array(job->metric_count ? job->metric_count : 1, sizeof *item->metrics);
    for (size_t i = 0; i < job->metric_count; i++) {
        item->metrics[i].name = mem_strdup(job->metrics[i].name);
        item->metrics[i].goal = goal_of(job->metrics[i].goal, job->metrics[i].name);
    }
}

static enum experiment_state state_parse(const char *name)
{
    for (int state = 0; name && state < STATE_COUNT; state++)
        if (strcmp(name, state_name((enum experiment_state)state)) == 0)
            return (enum experiment_state)state;
    return STATE_PLANNED;
}

/* Of an experiment with an attempt. */
static void take_checks(sqlite3_stmt *row, struct result *item)
{
    json_t *list = db_json(row, 13), *verdicts = db_json(row, 14);
    if (json_is_array(list) && !item->checks) {
        item->checks = mem_array(CHECKS, sizeof *item->checks);
        item->check_count = evidence_take_checks(list, item->checks);
    }
    item->verdicts.row = item->verdict;
    for (unsigned i = 0; i < QUANTITIES; i++)
        verdict_parse(json_get_text(verdicts, quantity_name((enum quantity)i)),
                      &item->verdicts.of[i]);
    json_decref(list);
    json_decref(verdicts);
}

static void take_experiment(sqlite3_stmt *row, struct result *item)
{
    const char *outcome = db_text(row, 2);
    item->state = state_parse(db_text(row, 1));
    if (!outcome || !outcome_parse(outcome, &item->outcome))
        item->outcome = OUTCOME_NONE;
    item->retries = sqlite3_column_int64(row, 3);
    item->duration_s = sqlite3_column_double(row, 4);
    item->error = mem_strdup(db_text(row, 5));
    item->ended_realtime_ns = sqlite3_column_int64(row, 6);
    item->again = sqlite3_column_int(row, 7) != 0;
    item->verdict = evidence_verdict(db_text(row, 8), outcome);
    json_t *failure = db_json(row, 9), *energy = db_json(row, 11);
    item->failure = mem_strdup(json_get_text(failure, "cause"));
    json_decref(failure);
    item->energy = energy_result(energy);
    json_decref(energy);
    item->has_utc_offset = journal_offset(row, 10, item->ended_realtime_ns, &item->utc_offset_s);
    item->attempt = sqlite3_column_int64(row, 12);
    item->session = sqlite3_column_int64(row, 15);
    if (!db_is_null(row, 12))
        take_checks(row, item);
}

static void take_evidence(sqlite3_stmt *row, struct result *item)
{
    const char *kind = db_text(row, 1), *text = db_text(row, 2);
    MEM_ADD(item->evidence, item->evidence_count) =
        (struct result_evidence){.kind = mem_strdup(kind ? kind : ""),
                                 .text = mem_strdup(text ? text : ""),
                                 .weight = evidence_weight(kind)};
}

static void take_metric(sqlite3_stmt *row, struct result *item)
{
    const char *name = db_text(row, 1);
    for (size_t i = 0; name && i < item->metric_count; i++) {
        struct result_metric *metric = &item->metrics[i];
        if (strcmp(metric->name, name) != 0)
            continue;
        json_t *value = db_cell(row, 2);
        metric->valid = json_to_reading(value, &metric->value);
        json_decref(value);
    }
}

/* Nothing but finite numbers is the best one. */
static void take_best(sqlite3_stmt *row, struct result *item)
{
    const char *name = db_text(row, 1);
    for (size_t i = 0; name && i < item->metric_count; i++) {
        struct result_metric *metric = &item->metrics[i];
        int column = metric->goal == GOAL_MINIMIZE ? 2 : 3;
        if (strcmp(metric->name, name) == 0 && metric->goal != GOAL_UNKNOWN &&
            !db_is_null(row, column))
            metric->best = (struct reading){sqlite3_column_double(row, column), true};
    }
}

static void take_used(sqlite3_stmt *row, struct result *item)
{
    json_t *block = db_json(row, 2);
    item->used.attempts = sqlite3_column_int64(row, 1);
    if (sqlite3_column_int(row, 3))
        energy_use(&item->used, item->used.attempts, block);
    json_decref(block);
}

static void take_changed(sqlite3_stmt *row, struct result *item)
{
    json_t *changed = db_json(row, 1);
    if (json_array_size(changed) > 0 && !item->changed)
        item->changed = change_text(changed);
    json_decref(changed);
}

/* What an adaptive pause saved against the settings' own. */
static void take_pause(sqlite3_stmt *row, struct result *item)
{
    json_t *data = db_json(row, 1);
    const char *phase = json_get_text(data, "phase");
    struct reading *sum = &item->pause_saved_s;
    double saved_s;
    if (phase && strcmp(phase, "cooldown") == 0 && json_get_number(data, "saved_s", &saved_s))
        *sum = (struct reading){sum->value + saved_s, true};
    json_decref(data);
}

static size_t list_size(sqlite3_stmt *row, int column)
{
    json_t *list = db_json(row, column);
    size_t size = json_array_size(list);
    json_decref(list);
    return size;
}

#define LAYER(member) RECORD(struct result_layers, member)
static const struct record_field layer_fields[] = {
    LAYER(kernel_backed), LAYER(pidns), LAYER(cgroup), LAYER(sweep), {0}};

/* The rows come in the order of the attempts: the last foreground job's layers stay. */
static void take_job(sqlite3_stmt *row, struct result *item)
{
    const char *role = db_text(row, 1);
    item->leftover_count += list_size(row, 3);
    item->survivor_count += list_size(row, 4);
    if (!role || strcmp(role, "background") == 0)
        return;
    json_t *layers = db_json_or_text(row, 2);
    item->layers = (struct result_layers){.known = layers != NULL};
    record_get(layer_fields, layers, &item->layers);
    json_decref(layers);
}

/* What each row gives; its first cell is the experiment it is about. ?1 and ?2: of the first and of
 * the last one that is asked for. */
struct items_query {
    void (*take)(sqlite3_stmt *row, struct result *item);
    const char *sql;
};

static const struct items_query items_queries[] = {
    {take_experiment,
     "SELECT e.number, e.state, e.outcome, e.retries, e.duration_s, e.error, e.ended_realtime_ns, "
     "e.again, e.verdict,"
     " e.failure, " JOURNAL_ZONE_OF(
         "a.session") ", a.energy, a.number, a.checks, e.verdicts, a.session FROM experiments e"
                      " LEFT JOIN attempts a ON a.experiment = e.number AND a.number = "
                      "coalesce(e.result_attempt, e.attempts)"
                      " WHERE e.number BETWEEN ?1 AND ?2"},
    {take_metric, "SELECT experiment, name, coalesce(special, value) FROM experiment_metrics"
                  " WHERE experiment BETWEEN ?1 AND ?2"},
    {take_best, "SELECT e.number, h.metric, min(h.value), max(h.value) FROM experiments e JOIN "
                "history h ON h.experiment ="
                " e.number AND h.attempt = coalesce(e.result_attempt, e.attempts) WHERE e.number "
                "BETWEEN ?1 AND ?2"
                " GROUP BY e.number, h.metric"},
    {take_used, "SELECT experiment, number, energy, outcome IS NOT NULL FROM attempts WHERE "
                "experiment BETWEEN ?1 AND ?2"
                " ORDER BY experiment, number"},
    {take_changed, "SELECT e.number, m.changed FROM experiments e JOIN attempt_memory m ON "
                   "m.experiment = e.number"
                   " AND m.attempt = coalesce(e.result_attempt, e.attempts)"
                   " WHERE e.number BETWEEN ?1 AND ?2 AND m.changed IS NOT NULL"},
    {take_pause,
     "SELECT experiment, data FROM events WHERE type='guard' AND experiment BETWEEN ?1 AND ?2"
     " AND data LIKE '%cooldown%' ORDER BY seq"},
    {take_evidence, "SELECT e.number, v.kind, v.text FROM evidence v, experiments e"
                    " WHERE e.number BETWEEN ?1 AND ?2 AND " EVIDENCE_COUNTS " ORDER BY v.seq"},
    {take_job, "SELECT experiment, role, layers, leftovers, survivors FROM jobs WHERE experiment "
               "BETWEEN ?1 AND ?2"
               " ORDER BY experiment, attempt, role, number"},
};

static bool each_row(sqlite3 *db, const struct items_query *what, struct result *items,
                     size_t first, size_t count, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, what->sql, "ii", (int64_t)first, (int64_t)first + (int64_t)count - 1);
    while (db_next(&query, err)) {
        int64_t place = sqlite3_column_int64(query, 0) - (int64_t)first;
        if (place >= 0 && (uint64_t)place < count)
            what->take(query, &items[place]);
    }
    return query != NULL;
}

bool result_items_load(sqlite3 *db, const struct plan *plan, size_t first, size_t count,
                       struct result **out, struct err *err)
{
    struct result *items = mem_array(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++)
        item_init(&items[i], &plan->experiments[first - 1 + i]);
    EACH_OF (items_query, items_queries)
        if (!each_row(db, items_query, items, first, count, err)) {
            result_items_free(items, count);
            return false;
        }
    *out = items;
    return true;
}

/* The value under key in the data of the last of these events, or NULL. */
static bool load_last(sqlite3 *db, const char *types, const char *key, json_t **out,
                      struct err *err)
{
    AUTO_FREE char *sql =
        mem_printf("SELECT data FROM events WHERE type IN (%s) ORDER BY seq DESC LIMIT 1", types);
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, sql, "");
    int step = db_step(query, err);
    json_t *data = step > 0 ? db_json(query, 0) : NULL;
    *out = json_incref(json_object_get(data, key));
    json_decref(data);
    return step >= 0;
}

/* Lanes and budget, from the end of the last session. */
static bool load_session_end(sqlite3 *db, struct results *out, struct err *err)
{
    json_auto_t *pool = NULL, *budget = NULL;
    if (!load_last(db, "'session_ended'", "pool", &pool, err) ||
        !load_last(db, "'session_ended', 'budget'", "budget", &budget, err))
        return false;
    const json_t *lanes = json_get(pool, "lanes"), *cpu = json_get(pool, "cpu_package");
    for (size_t i = 0; i < json_array_size(lanes); i++)
        out->pool.waited_s += json_get_reading(json_array_get(lanes, i), "waited_s").value;
    out->pool.cpu_total_mj = json_get_reading(cpu, "total_mj").value;
    out->pool.cpu_unattributed_mj = json_get_reading(cpu, "unattributed_mj").value;
    record_get(budget_fields, budget, &out->budget);
    return true;
}

bool results_load(sqlite3 *db, struct results *out, struct err *err)
{
    *out = (struct results){0};
    /* One transaction, so that all tables are of the same moment. */
    if (!db_run(db, err, "BEGIN", ""))
        return false;
    bool ok = journal_read_plan(db, &out->plan, err);
    if (ok) {
        ok = result_items_load(db, &out->plan, 1, out->plan.count, &out->items, err) &&
             load_session_end(db, out, err) && usage_read(db, &out->plan, &out->lanes, err);
        out->count = ok ? out->plan.count : 0;
        if (!ok)
            results_fini(out);
    }
    db_rollback(db);
    return ok;
}

bool results_read(const char *run_dir, struct results *out, struct err *err)
{
    return results_read_at(AT_FDCWD, run_dir, out, err);
}

bool results_read_at(int dir, const char *run_dir, struct results *out, struct err *err)
{
    *out = (struct results){0};
    struct snapshot snapshot;
    if (!snapshot_open(dir, run_dir, &snapshot, err))
        return false;
    bool ok = schema_check(snapshot.db, err) && results_load(snapshot.db, out, err);
    snapshot_close(&snapshot);
    return ok || err_wrap(err, "%s", run_dir);
}

/* What audit and export need beyond that. */

void facts_fini(struct facts *facts)
{
    for (size_t i = 0; facts->items && i < facts->results.count; i++) {
        free(facts->items[i].host);
        free(facts->items[i].boot_id);
        if (facts->items[i].energy)
            energy_record_fini(facts->items[i].energy);
        free(facts->items[i].energy);
        json_decref(facts->items[i].all_attempts);
        json_decref(facts->items[i].epochs);
        EACH (item, facts->items[i].evidence, facts->items[i].evidence_count) {
            free(item->kind);
            free(item->text);
        }
        free(facts->items[i].evidence);
    }
    free(facts->items);
    strv_fini(&facts->hosts);
    strv_fini(&facts->versions);
    results_fini(&facts->results);
    *facts = (struct facts){0};
}

json_t *facts_verdicts_json(const struct verdicts *verdicts)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < QUANTITIES; i++)
        if (verdicts->of[i] != VERDICT_NONE)
            json_set_text(out, quantity_name((enum quantity)i), verdict_name(verdicts->of[i]));
    return out;
}

static struct facts_item *item_of(struct facts *facts, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    return number >= 1 && (size_t)number <= facts->results.count ? &facts->items[number - 1] : NULL;
}

static bool read_attempts(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT e.number, coalesce(e.result_attempt, e.attempts), e.duration_s, a.energy, s.host,"
        " s.boot_id, a.started_realtime_ns - (a.started_monotonic_ns - a.job_start_ns), "
        "e.files_written, "
        "a.log_bytes FROM experiments e "
        "LEFT JOIN attempts a ON a.experiment = e.number AND a.number ="
        " coalesce(e.result_attempt, e.attempts) LEFT JOIN sessions s ON s.number = a.session",
        "");
    while (db_next(&query, err)) {
        struct facts_item *item = item_of(facts, query);
        if (!item)
            continue;
        item->attempt = sqlite3_column_int64(query, 1);
        item->has_duration = !db_is_null(query, 2);
        if (!item->energy && !db_is_null(query, 3)) {
            json_t *energy = db_json(query, 3);
            item->energy = mem_alloc(sizeof *item->energy);
            energy_record_read(energy, item->energy);
            json_decref(energy);
        }
        free(item->host);
        free(item->boot_id);
        item->host = mem_strdup(db_text(query, 4));
        item->boot_id = mem_strdup(db_text(query, 5));
        item->has_start = !db_is_null(query, 6);
        item->start_realtime_ns = sqlite3_column_int64(query, 6);
        item->files_written = sqlite3_column_int64(query, 7) == 1;
        item->log_bytes = db_is_null(query, 8) ? -1 : sqlite3_column_int64(query, 8);
    }
    return query != NULL;
}

static bool read_all_attempts(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT experiment, number, outcome, reason, duration_s, exit_code, signal,"
                 " error, started_realtime_ns IS NOT NULL FROM attempts ORDER BY experiment, "
                 "number",
                 "");
    while (db_next(&query, err)) {
        struct facts_item *item = item_of(facts, query);
        json_t *row = json_object();
        db_set_cells(row, "attempt outcome reason duration_s exit_code signal error", query, 1);
        if (item) {
            json_array_append(item->all_attempts, row);
            item->started += sqlite3_column_int(query, 8) != 0;
        }
        json_decref(row);
    }
    return query != NULL;
}

static void add_evidence(struct facts_item *item, int64_t attempt, const json_t *data)
{
    const char *kind = json_get_text(data, "kind"), *text = json_get_text(data, "text");
    if (!kind)
        return;
    MEM_ADD(item->evidence, item->evidence_count) =
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
static void add_preflight(struct facts_item *item, int64_t attempt, const json_t *data)
{
    const json_t *devices = json_get(data, "devices");
    if (attempt == 0 || !json_says(data, "phase", "preflight"))
        return;
    item->preflights++;
    item->preflights_free += json_is_true(json_object_get(data, "clear"));
    item->preflight_waited_s =
        fmax(item->preflight_waited_s, json_get_reading(data, "waited_s").value);
    if (attempt == item->attempt)
        item->start =
            (struct facts_start){.temperature_c = mean_of(devices, "temperature_c"),
                                 .sm_clock_mhz = mean_of(devices, "sm_clock_mhz"),
                                 .memory_clock_mhz = mean_of(devices, "memory_clock_mhz")};
}

static bool read_events(sqlite3 *db, const char *type, struct facts *facts,
                        void (*take)(struct facts_item *item, int64_t attempt, const json_t *data),
                        struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT experiment, attempt, data FROM events WHERE "
                                              "type=? AND experiment IS NOT NULL ORDER BY seq",
                                              "t", type);
    while (db_next(&query, err)) {
        struct facts_item *item = item_of(facts, query);
        json_t *data = db_json(query, 2);
        if (item)
            take(item, sqlite3_column_int64(query, 1), data);
        json_decref(data);
    }
    return query != NULL;
}

static bool read_facts_sessions(sqlite3 *db, struct facts *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT host, version, ended_realtime_ns IS NOT NULL FROM sessions ORDER BY "
                 "number",
                 "");
    out->ended = true;
    while (db_next(&query, err)) {
        if (db_text(query, 0))
            strv_add_once(&out->hosts, db_text(query, 0));
        if (db_text(query, 1))
            strv_add_once(&out->versions, db_text(query, 1));
        out->ended = sqlite3_column_int(query, 2) != 0;
    }
    return query != NULL;
}

static bool read_pauses(sqlite3 *db, struct facts *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT data FROM events WHERE type IN ('pause', 'retry_pause') ORDER BY seq", "");
    while (db_next(&query, err)) {
        json_t *data = db_json(query, 0);
        struct reading seconds = json_get_reading(data, "seconds");
        out->pauses += seconds.valid;
        out->pause_s += seconds.value;
        json_decref(data);
    }
    return query != NULL;
}

static bool read_all(sqlite3 *db, struct facts *out, struct err *err)
{
    if (!schema_check(db, err) || !results_load(db, &out->results, err))
        return false;
    out->items = mem_array(out->results.count + 1, sizeof *out->items);
    EACH (item, out->items, out->results.count) {
        item->all_attempts = json_array();
        item->epochs = json_array();
    }
    bool ok = read_attempts(db, out, err) && read_all_attempts(db, out, err);
    for (size_t i = 0; ok && i < out->results.count; i++)
        ok = epochs_add_last(db, (int64_t)i + 1, out->items[i].epochs, err);
    return ok && read_events(db, "evidence", out, add_evidence, err) &&
           read_events(db, "guard", out, add_preflight, err) && read_facts_sessions(db, out, err) &&
           read_pauses(db, out, err);
}

bool facts_read(const char *run_dir, struct facts *out, struct err *err)
{
    *out = (struct facts){0};
    struct snapshot snapshot;
    if (!snapshot_open(AT_FDCWD, run_dir, &snapshot, err))
        return false;
    bool ok = read_all(snapshot.db, out, err);
    snapshot_close(&snapshot);
    if (!ok)
        facts_fini(out);
    return ok || err_wrap(err, "%s", run_dir);
}
