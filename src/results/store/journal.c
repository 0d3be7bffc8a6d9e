#include "results/store/journal.h"
#include "base/json_print.h"
#include "plan/plan_json.h"
#include "results/store/db.h"
#include "results/store/energy.h"
#include "results/store/evidence.h"
#include "results/store/experiment_json.h"
#include "results/store/history.h"
#include "results/store/memory.h"
#include "results/store/replay.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const json_t *get(const struct event *event, const char *key)
{
    return json_object_get(event->data, key);
}

static bool write_session(sqlite3 *db, const struct event *event, struct err *err)
{
    if (event->type == EVENT_SESSION_ENDED)
        return db_run(db, err,
                      "UPDATE sessions SET ended_monotonic_ns=?, ended_realtime_ns=?, outcome=?, "
                      "error=? WHERE number=?",
                      "iiki", event->monotonic_ns, event->realtime_ns, event->data, "outcome error",
                      event->session);
    AUTO_TEXT struct text zone = {0};
    AUTO_FREE char *key = mem_printf(JOURNAL_ZONE "%lld", (long long)event->session);
    if (get(event, "zone"))
        json_print(get(event, "zone"), &zone);
    if (zone.length && !db_run(db, err, "INSERT OR REPLACE INTO meta (key, value) VALUES (?,?)",
                               "tt", key, text_get(&zone)))
        return false;
    return db_run(
        db, err,
        "INSERT INTO sessions (number, pid, start_time, host, boot_id, version, containment, "
        "kernel_backed,"
        " resumed, started_monotonic_ns, started_realtime_ns) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        "ikii", event->session, event->data,
        "pid start_time host boot_id version containment kernel_backed resumed",
        event->monotonic_ns, event->realtime_ns);
}

static bool write_attempt_start(sqlite3 *db, const struct event *event, struct err *err)
{
    switch (event->type) {
    case EVENT_ATTEMPT_PREPARED:
        return db_run(db, err,
                      "INSERT INTO attempts (experiment, number, session, folder, "
                      "prepared_realtime_ns)"
                      " VALUES (?,?,?,?,?)",
                      "iiiji", event->experiment, event->attempt, event->session,
                      get(event, "folder"), event->realtime_ns) &&
               db_run(db, err, "UPDATE experiments SET attempts=? WHERE number=?", "ii",
                      event->attempt, event->experiment) &&
               memory_write(db, event, err);
    case EVENT_ATTEMPT_STARTED:
        return db_run(db, err,
                      "UPDATE attempts SET started_monotonic_ns=?, started_realtime_ns=?, "
                      "job_start_ns=? WHERE experiment=? AND"
                      " number=?",
                      "iijii", event->monotonic_ns, event->realtime_ns, get(event, "start_ns"),
                      event->experiment, event->attempt);
    default:
        return db_run(db, err, "UPDATE attempts SET stop_reason=? WHERE experiment=? AND number=?",
                      "jii", get(event, "reason"), event->experiment, event->attempt);
    }
}

/* What is said of a job's end is about the one of that role born last. */
#define LAST_JOB                                                  \
    " WHERE experiment=?1 AND attempt=?2 AND role=?3 AND number=" \
    "(SELECT max(number) FROM jobs WHERE experiment=?1 AND attempt=?2 AND role=?3)"

static bool write_job(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *role = event_role(event);
    switch (event->type) {
    case EVENT_JOB_BORN:
        return db_run(db, err,
                      "INSERT INTO jobs (experiment, attempt, role, number, session, pid, "
                      "start_time, boot_id, cgroup,"
                      " tag, layers, born_realtime_ns) VALUES (?1,?2,?3,"
                      "(SELECT coalesce(max(number),0)+1 FROM jobs WHERE experiment=?1 AND "
                      "attempt=?2 AND role=?3),"
                      "?4,?5,?6,?7,?8,?9,?10,?11)",
                      "iitiki", event->experiment, event->attempt, role, event->session,
                      event->data, "pid start_time boot_id cgroup tag layers", event->realtime_ns);
    case EVENT_JOB_EXITED:
        return db_run(db, err,
                      "UPDATE jobs SET exit_code=?4, signal=?5, cpu_s=?6, peak_memory_bytes=?7, "
                      "processes=?8, "
                      "leftovers=?9" LAST_JOB,
                      "iitk", event->experiment, event->attempt, role, event->data,
                      "exit_code signal cpu_s peak_memory_bytes processes leftovers");
    default:
        return db_run(
            db, err,
            "UPDATE jobs SET leftovers=coalesce(?4,leftovers), survivors=?5, proof_s=?6" LAST_JOB,
            "iitk", event->experiment, event->attempt, role, event->data,
            "leftovers survivors seconds");
    }
}

/* SQL has no number that is none, and its sums are spoilt by infinities: those stand beside, as
 * text. */
static bool write_metrics(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)get(event, "metrics"), name, value)
    {
        const json_t *number = json_is_number(value) ? value : NULL;
        const json_t *special = json_is_string(value) ? value : NULL;
        bool written =
            event->type == EVENT_ATTEMPT_ENDED
                ? db_run(db, err, "INSERT OR REPLACE INTO attempt_metrics VALUES (?,?,?,?,?)",
                         "iitjj", event->experiment, event->attempt, name, number, special)
                : db_run(db, err, "INSERT OR REPLACE INTO experiment_metrics VALUES (?,?,?,?)",
                         "itjj", event->experiment, name, number, special);
        if (!written)
            return false;
    }
    return true;
}

static bool write_attempt_end(sqlite3 *db, const struct event *event, struct err *err)
{
    /* What a later session closes ended at no moment of that clock, which may be another boot's. */
    if (!db_run(db, err,
                "UPDATE attempts SET outcome=?, ended_monotonic_ns=CASE WHEN session=? THEN ? END, "
                "ended_realtime_ns=?,"
                " duration_s=?, exit_code=?, signal=?, reason=?, error=?, log_bytes=?, "
                "log_lines=?, failure=?, checks=?,"
                " job_end_ns=?, marks_taken=?, marks_repeated=?, marks_limited=?, marks_refused=?"
                " WHERE experiment=? AND number=?",
                "jiiikkkjkii", get(event, "outcome"), event->session, event->monotonic_ns,
                event->realtime_ns, event->data, "duration_s exit_code signal reason error",
                get(event, "log"), "bytes lines", event->data, "failure checks",
                get(event, "end_ns"), get(event, "marks"), "taken repeated limited refused",
                event->experiment, event->attempt))
        return false;
    return energy_write(db, event, err) && memory_write(db, event, err) &&
           write_metrics(db, event, err) && history_write(db, event, err) &&
           evidence_judge_attempt(db, event->experiment, event->attempt, err);
}

/* A result that is to be replaced stands until the new one has come. */
static bool write_experiment_start(sqlite3 *db, const struct event *event, struct err *err)
{
    if (event->type == EVENT_EXPERIMENT_AGAIN)
        return db_run(db, err, "UPDATE experiments SET again=1, pass=pass+1 WHERE number=?", "i",
                      event->experiment);
    return db_run(db, err,
                  "DELETE FROM experiment_metrics WHERE experiment=?1 AND (SELECT again FROM "
                  "experiments WHERE"
                  " number=?1)=0",
                  "i", event->experiment) &&
           db_run(db, err,
                  "UPDATE experiments SET outcome=NULL, retries=NULL, duration_s=NULL, error=NULL, "
                  "verdict=NULL, "
                  "verdicts=NULL,"
                  " failure=NULL, result_attempt=NULL, started_realtime_ns=?, "
                  "ended_realtime_ns=NULL, files_written=0"
                  " WHERE number=? AND again=0",
                  "ii", event->realtime_ns, event->experiment);
}

static bool write_experiment_end(sqlite3 *db, const struct event *event, struct err *err)
{
    int64_t again;
    if (!db_number(db, &again, err, "SELECT again FROM experiments WHERE number=?", "i",
                   event->experiment))
        return false;
    /* A result stands that an interruption does not replace; and what was not begun has none. */
    if ((again && event_outcome(event) == OUTCOME_INTERRUPTED) || !event_begun(event))
        return db_run(db, err, "UPDATE experiments SET files_written=0 WHERE number=?", "i",
                      event->experiment);
    return db_run(
               db, err,
               "UPDATE experiments SET outcome=?, retries=?, duration_s=?, error=?, "
               "ended_realtime_ns=?, again=0,"
               " result_attempt=nullif(attempts,0), files_written=0, failure=(SELECT a.failure "
               "FROM attempts a WHERE"
               " a.experiment=experiments.number AND a.number=experiments.attempts) WHERE number=?",
               "kii", event->data, "outcome retries duration_s error", event->realtime_ns,
               event->experiment) &&
           db_run(db, err, "DELETE FROM experiment_metrics WHERE experiment=?", "i",
                  event->experiment) &&
           write_metrics(db, event, err) && evidence_judge_experiment(db, event->experiment, err);
}

static bool write_tables(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    switch (event->type) {
    case EVENT_EXPERIMENT_STARTED:
    case EVENT_EXPERIMENT_AGAIN:
        return write_experiment_start(db, event, err);
    case EVENT_EXPERIMENT_ENDED:
        return write_experiment_end(db, event, err);
    case EVENT_EVIDENCE:
        return evidence_write(db, seq, event, err);
    case EVENT_ATTEMPT_PREPARED:
    case EVENT_ATTEMPT_STARTED:
    case EVENT_ATTEMPT_STOPPING:
        return write_attempt_start(db, event, err);
    case EVENT_JOB_BORN:
    case EVENT_JOB_EXITED:
    case EVENT_JOB_PROVEN:
        return write_job(db, event, err);
    case EVENT_MARK:
        return db_run(db, err,
                      "INSERT INTO marks (experiment, attempt, number, name, label, at, t_ns, "
                      "source) VALUES (?1,?2,"
                      "(SELECT coalesce(max(number),0)+1 FROM marks WHERE experiment=?1 AND "
                      "attempt=?2),?3,?4,?5,?6,?7)",
                      "iik", event->experiment, event->attempt, event->data,
                      "name label at t_ns source");
    case EVENT_GUARD:
        return guard_json_net_write(db, event, err) &&
               evidence_outdate_files(db, event->experiment, err);
    case EVENT_ATTEMPT_ENDED:
        return write_attempt_end(db, event, err);
    case EVENT_SESSION_ENDED:
        return write_session(db, event, err);
    case EVENT_FILES_WRITTEN:
        return db_run(db, err, "UPDATE experiments SET files_written=1 WHERE number=?", "i",
                      event->experiment);
    default:
        return true;
    }
}

static bool write_event(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    AUTO_TEXT struct text data = {0};
    if (event->data)
        json_print(event->data, &data);
    return db_run(db, err,
                  "INSERT INTO events (seq, session, experiment, attempt, type, monotonic_ns, "
                  "realtime_ns, data)"
                  " VALUES (?, ?, nullif(?,0), nullif(?,0), ?, ?, ?, ?)",
                  "iiiitiit", seq, event->session, event->experiment, event->attempt,
                  event_type_name(event->type), event->monotonic_ns, event->realtime_ns,
                  data.length ? data.data : "{}");
}

bool journal_write(sqlite3 *db, int64_t seq, const struct event *event, enum experiment_state after,
                   struct err *err)
{
    /* A session's row stands before the event that refers to it. */
    if (event->type == EVENT_SESSION_STARTED && !write_session(db, event, err))
        return false;
    if (!write_event(db, seq, event, err) || !write_tables(db, seq, event, err))
        return false;
    if (event->experiment == 0 || event->type == EVENT_FILES_WRITTEN)
        return true;
    return db_run(db, err, "UPDATE experiments SET state=? WHERE number=? AND state<>?1", "ti",
                  state_name(after), event->experiment);
}

/* Out of the tables: events, one after another, and the plan. */

bool journal_last_seq(sqlite3 *db, int64_t *out, struct err *err)
{
    return db_number(db, out, err, "SELECT coalesce(max(seq), 0) FROM events", "");
}

bool journal_result_attempt(sqlite3 *db, int64_t experiment, int64_t *out, struct err *err)
{
    return db_number(db, out, err,
                     "SELECT coalesce(result_attempt, attempts) FROM experiments WHERE number=?",
                     "i", experiment);
}

static bool event_from_row(sqlite3_stmt *row, struct event *out, struct err *err)
{
    int64_t seq = sqlite3_column_int64(row, 0);
    const char *type = db_text(row, 4);
    *out = (struct event){.session = sqlite3_column_int64(row, 1),
                          .experiment = sqlite3_column_int64(row, 2),
                          .attempt = sqlite3_column_int64(row, 3),
                          .monotonic_ns = sqlite3_column_int64(row, 5),
                          .realtime_ns = sqlite3_column_int64(row, 6)};
    if (!type || !event_type_parse(type, &out->type))
        return err_set(err, "run.db: event %lld is of the unknown type '%s'", (long long)seq,
                       type ? type : "");
    out->data = db_json(row, 7);
    if (!json_is_object(out->data)) {
        json_decref(out->data);
        out->data = NULL;
        return err_set(err, "run.db: the data of event %lld is no JSON object", (long long)seq);
    }
    return true;
}

bool journal_each(sqlite3 *db, journal_each_fn *each, void *context, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT seq, session, experiment, attempt, type, "
                                              "monotonic_ns, realtime_ns, data FROM events"
                                              " ORDER BY seq",
                                              "");
    while (db_next(&query, err)) {
        struct event event;
        bool ok = event_from_row(query, &event, err) &&
                  each(context, sqlite3_column_int64(query, 0), &event, err);
        event_fini(&event);
        if (!ok)
            return false;
    }
    return query != NULL;
}

static bool load_one(void *context, int64_t seq, const struct event *event, struct err *err)
{
    enum experiment_state after;
    return journal_replay_take(context, event, &after, err) ||
           err_wrap(err, "run.db: event %lld", (long long)seq);
}

bool journal_replay_all(sqlite3 *db, struct journal_replay *replay, struct err *err)
{
    return journal_each(db, load_one, replay, err);
}

static char *print_and_release(json_t *json)
{
    struct text text = {0};
    json_print(json, &text);
    json_decref(json);
    return text_take(&text);
}

bool journal_write_plan(sqlite3 *db, const struct plan *plan, struct err *err)
{
    AUTO_FREE char *head = print_and_release(plan_head_to_json(plan));
    if (!db_run(db, err, "INSERT INTO meta (key, value) VALUES ('plan', ?)", "t", head))
        return false;
    for (size_t i = 0; i < plan->count; i++) {
        int64_t number = (int64_t)i + 1;
        AUTO_FREE char *text = print_and_release(plan_experiment_to_json(&plan->experiments[i]));
        if (!db_run(db, err, "INSERT INTO plan (number, id, json) VALUES (?,?,?)", "itt", number,
                    plan->experiments[i].id, text) ||
            !db_run(db, err, "INSERT INTO experiments (number, state) VALUES (?,?)", "it", number,
                    state_name(STATE_PLANNED)))
            return false;
    }
    return true;
}

static bool read_head(sqlite3 *db, struct plan *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT value FROM meta WHERE key='plan'", "");
    int step = db_step(query, err);
    if (step < 0)
        return false;
    if (step == 0)
        return err_set(err, "run.db: the plan is missing");
    json_t *json = db_json_needed(query, 0, err);
    bool ok = json && plan_head_from_json(json, out, err);
    json_decref(json);
    return ok || err_wrap(err, "run.db: the plan");
}

/* before: of the experiment before it, if there is one; then that of this one. */
static bool read_experiment(sqlite3_stmt *row, struct plan_experiment *out, json_t **before,
                            struct err *err)
{
    json_t *json = db_json_needed(row, 1, err);
    bool ok = json && plan_experiment_from_json(json, out, err);
    if (ok && *before)
        plan_experiment_share(out, json, out - 1, *before);
    json_decref(*before);
    *before = json;
    return ok || err_wrap(err, "run.db: experiment %lld of the plan", sqlite3_column_int64(row, 0));
}

bool journal_offset(sqlite3_stmt *row, int column, int64_t realtime_ns, int64_t *offset_s)
{
    struct clock_zone zone;
    json_t *json = db_json(row, column);
    json_to_zone(json, &zone);
    json_decref(json);
    *offset_s = clock_zone_offset_s(&zone, realtime_ns);
    return zone.count > 0;
}

bool journal_read_plan(sqlite3 *db, struct plan *out, struct err *err)
{
    *out = (struct plan){0};
    if (!read_head(db, out, err)) {
        plan_fini(out);
        return false;
    }
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT number, json FROM plan ORDER BY number", "");
    int step;
    json_t *before = NULL;
    while ((step = db_step(query, err)) > 0) {
        out->experiments = mem_room(out->experiments, out->count, sizeof *out->experiments);
        struct plan_experiment *next = &out->experiments[out->count];
        *next = (struct plan_experiment){0};
        bool in_order = sqlite3_column_int64(query, 0) == (int64_t)out->count + 1;
        if (!in_order)
            err_set(err, "run.db: the plan has gaps");
        if (!in_order || !read_experiment(query, next, &before, err)) {
            step = -1;
            break;
        }
        out->count++;
    }
    json_decref(before);
    if (step == 0)
        return true;
    plan_fini(out);
    return false;
}
