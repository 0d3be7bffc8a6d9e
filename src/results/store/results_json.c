#include "results/store/results_json.h"
#include "results/store/db.h"
#include "results/store/experiment_json.h"
#include "results/store/history.h"
#include "results/store/journal.h"
#include "results/store/results.h"
#include "results/store/schema.h"
#include "results/store/snapshot.h"
#include "results/store/usage.h"

#include "base/json.h"
#include "base/mem.h"

#include <fcntl.h>

/* To wall time in milliseconds since 1970, as pages and spreadsheets take it. */
static const double MS_PER_NS = 1e-6;

static bool add_sessions(sqlite3 *db, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT number, host, version, started_realtime_ns * ?1, ended_realtime_ns * ?1, outcome, "
        "error, " JOURNAL_ZONE_OF("number") " FROM sessions ORDER BY number",
        "r", MS_PER_NS);
    while (db_next(&query, err)) {
        json_t *session = json_object(), *zone = db_json(query, 7);
        db_set_cells(session, "number host version started_ms ended_ms outcome error", query, 0);
        json_object_set_new(session, "zone", zone ? zone : json_null());
        json_array_append_new(out, session);
    }
    return query != NULL;
}

/* Waiting between experiments and between attempts. */
static bool add_pauses(sqlite3 *db, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT realtime_ns * ?, data FROM events WHERE type "
                                              "IN ('pause', 'retry_pause') ORDER BY seq",
                                              "r", MS_PER_NS);
    while (db_next(&query, err)) {
        json_t *data = db_json(query, 1);
        const char *why = json_get_text(data, "why");
        json_array_append_new(out, json_pack("{s:o, s:O*, s:s}", "from_ms", db_cell(query, 0),
                                             "seconds", json_object_get(data, "seconds"), "why",
                                             why ? why : "before_retry"));
        json_decref(data);
    }
    return query != NULL;
}

/* A page that holds more can be neither sent nor read; of what is left out it tells the counts. */
enum { SHOWN_MAX = 2000 };

/* What needs a look is shown before the rest, of that the latest before the others; what has not
 * begun comes last. */
static bool choose(sqlite3 *db, const struct plan *plan, bool *shown, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT number FROM experiments ORDER BY CASE WHEN outcome IS NULL THEN 2 * (state = "
        "'planned')"
        " WHEN outcome = 'succeeded' AND verdict = 'clean' THEN 1 ELSE 0 END, number DESC LIMIT ?",
        "i", (int64_t)SHOWN_MAX);
    while (db_next(&query, err)) {
        int64_t number = sqlite3_column_int64(query, 0);
        if (number >= 1 && (size_t)number <= plan->count)
            shown[number] = true;
    }
    return query != NULL;
}

/* Of the whole plan: {"experiments", and how many are "succeeded", "failed", "clean", "unverified",
 * "suspect", "contaminated", "unjudged"}; clean is only a success, and a failure that is not judged
 * counts as failed alone. */
static bool add_counts(sqlite3 *db, json_t *out, struct err *err)
{
    static const char *const keys[] = {"experiments", "succeeded", "failed",       "clean",
                                       "unverified",  "suspect",   "contaminated", "unjudged"};
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT count(*), sum(outcome='succeeded'), sum(outcome='failed'), "
                 "sum(outcome='succeeded' AND "
                 "verdict='clean'),"
                 " sum(ended AND verdict='unverified'), sum(ended AND verdict='suspect'), "
                 "sum(ended AND verdict='contaminated'),"
                 " sum(outcome='succeeded' AND verdict IS NULL)"
                 " FROM (SELECT outcome, verdict, outcome IN ('succeeded', 'failed') AS ended FROM "
                 "experiments)",
                 "");
    int step = db_step(query, err);
    for (int i = 0; step > 0 && i < (int)(sizeof keys / sizeof *keys); i++)
        json_object_set_new(out, keys[i], json_integer(sqlite3_column_int64(query, i)));
    return step > 0;
}

/* So many points of all curves together keep a page to some megabytes. */
enum { CURVE_POINTS_ALL = 100000, CURVE_POINTS_MAX = 400, CURVE_POINTS_MIN = 12 };

static size_t points_each(const struct plan *plan, const bool *shown)
{
    size_t curves = 0;
    for (size_t i = 0; i < plan->count; i++)
        curves += shown[i + 1] ? plan->experiments[i].foreground.metric_count : 0;
    size_t each = CURVE_POINTS_ALL / (curves ? curves : 1);
    return each < CURVE_POINTS_MIN   ? CURVE_POINTS_MIN
           : each > CURVE_POINTS_MAX ? CURVE_POINTS_MAX
                                     : each;
}

static bool add_experiments(sqlite3 *db, const struct plan *plan, json_t *out, bool *thinned,
                            struct err *err)
{
    AUTO_FREE bool *shown = mem_array(plan->count + 1, sizeof *shown);
    if (!choose(db, plan, shown, err))
        return false;
    size_t points = points_each(plan, shown);
    for (size_t number = 1; number <= plan->count; number++) {
        if (!shown[number])
            continue;
        const struct plan_experiment *experiment = &plan->experiments[number - 1];
        json_t *item = files_experiment_json(db, plan, number, err);
        json_t *spans = json_array(), *curves = json_object();
        json_array_append_new(out, item ? item : json_null());
        json_set_count(item, "number", number);
        json_set_text(
            item, "mode",
            mode_name(experiment->parallel ? MODE_PARALLEL : experiment->foreground.mode));
        json_object_set_new(item, "spans", spans);
        json_object_set_new(item, "curves", curves);
        if (!item ||
            !db_add_list(db, spans, "attempt from_ms to_ms outcome", err,
                         "SELECT number, started_realtime_ns * ?1, ended_realtime_ns * ?1, outcome "
                         "FROM attempts"
                         " WHERE experiment=?2 AND started_realtime_ns IS NOT NULL ORDER BY number",
                         "ri", MS_PER_NS, (int64_t)number) ||
            !history_add_curves(db, (int64_t)number, points, curves, thinned, err))
            return false;
    }
    return true;
}

/* Of each metric: as the registry said it or its name does; null: neither, or two repositories
 * contradict each other. */
static json_t *goals_json(const struct plan *plan)
{
    json_t *out = json_object();
    EACH (experiment, plan->experiments, plan->count)
        EACH (metric, experiment->foreground.metrics, experiment->foreground.metric_count) {
            json_t *goal = json_text_or_null(goal_name(goal_of(metric->goal, metric->name)));
            json_t *before = json_object_get(out, metric->name);
            if (before && !json_equal(before, goal)) {
                json_decref(goal);
                goal = json_null();
            }
            json_object_set_new(out, metric->name, goal);
        }
    return out;
}

static bool fill(sqlite3 *db, const struct plan *plan, json_t *out, struct err *err)
{
    json_t *sessions = json_array(), *pauses = json_array(), *experiments = json_array(),
           *counts = json_object();
    json_t *lanes = NULL;
    bool thinned = false;
    json_object_set_new(out, "goals", goals_json(plan));
    json_set_text(out, "name", plan->name);
    json_set_count(out, "seed", plan->seed);
    json_object_set_new(out, "sessions", sessions);
    json_object_set_new(out, "pauses", pauses);
    json_object_set_new(out, "experiments", experiments);
    json_object_set_new(out, "counts", counts);
    bool ok = add_counts(db, counts, err) && add_sessions(db, sessions, err) &&
              add_pauses(db, pauses, err) && usage_json(db, plan, &lanes, err) &&
              add_experiments(db, plan, experiments, &thinned, err);
    json_object_set_new(out, "lanes", lanes ? lanes : json_null());
    json_object_set_new(out, "curves_thinned", json_boolean(thinned));
    return ok;
}

bool results_load_json(sqlite3 *db, json_t **out, struct err *err)
{
    struct plan plan = {0};
    *out = NULL;
    /* One transaction, so that all tables are of the same moment. */
    if (!db_run(db, err, "BEGIN", ""))
        return false;
    json_t *json = json_object();
    bool ok = journal_read_plan(db, &plan, err) && fill(db, &plan, json, err);
    db_rollback(db);
    plan_fini(&plan);
    if (ok)
        *out = json;
    else
        json_decref(json);
    return ok;
}

json_t *results_read_json(const char *run_dir, struct err *err)
{
    struct snapshot snapshot;
    json_t *out = NULL;
    if (!snapshot_open(AT_FDCWD, run_dir, &snapshot, err))
        return NULL;
    if (schema_check(snapshot.db, err))
        results_load_json(snapshot.db, &out, err);
    snapshot_close(&snapshot);
    if (!out)
        err_wrap(err, "%s", run_dir);
    return out;
}

bool results_json_has_ended(const json_t *run)
{
    const json_t *sessions = json_get(run, "sessions"),
                 *last = json_array_get(sessions, json_array_size(sessions) - 1);
    return !last || json_get(last, "ended_ms");
}

void results_json_leave_out(json_t *run, const struct strv *ids, const char *why)
{
    json_t *experiments = json_object_get(run, "experiments");
    for (size_t i = json_array_size(experiments); i-- > 0;) {
        const char *id = json_get_text(json_array_get(experiments, i), "experiment_id");
        if (id && strv_has(ids, id))
            json_array_remove(experiments, i);
    }
    json_object_set_new(run, "problems", json_pack("[s]", why));
}
