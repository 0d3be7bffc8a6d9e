#include "results/store/tables.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

bool journal_last_seq(sqlite3 *db, int64_t *out, struct err *err)
{
    return db_number(db, out, err, "SELECT coalesce(max(seq), 0) FROM events", "");
}

bool journal_result_attempt(sqlite3 *db, int64_t experiment, int64_t *out, struct err *err)
{
    return db_number(db, out, err, "SELECT coalesce(result_attempt, attempts) FROM experiments WHERE number=?", "i",
                     experiment);
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
        return err_set(err, "run.db: event %lld is of the unknown type '%s'", (long long)seq, type ? type : "");
    out->data = db_json(row, 7);
    if (!json_is_object(out->data)) {
        json_decref(out->data);
        out->data = NULL;
        return err_set(err, "run.db: the data of event %lld is no JSON object", (long long)seq);
    }
    return true;
}

bool journal_each(sqlite3 *db, int64_t behind, journal_each_fn *each, void *context, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT seq, session, experiment, attempt, type, monotonic_ns, realtime_ns, data FROM events"
                 " WHERE seq > ? ORDER BY seq",
                 "i", behind);
    int step;
    while ((step = db_step(query, err)) > 0) {
        struct event event;
        bool ok = event_from_row(query, &event, err) && each(context, sqlite3_column_int64(query, 0), &event, err);
        event_fini(&event);
        if (!ok)
            return false;
    }
    return step == 0;
}

static bool load_one(void *context, int64_t seq, const struct event *event, struct err *err)
{
    enum experiment_state after;
    return journal_replay_take(context, event, &after, err) || err_wrap(err, "run.db: event %lld", (long long)seq);
}

bool journal_replay_all(sqlite3 *db, struct journal_replay *replay, struct err *err)
{
    return journal_each(db, 0, load_one, replay, err);
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
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "SELECT value FROM meta WHERE key='plan'", "");
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

static bool read_experiment(sqlite3_stmt *row, struct plan_experiment *out, struct err *err)
{
    json_t *json = db_json_needed(row, 1, err);
    bool ok = json && plan_experiment_from_json(json, out, err);
    json_decref(json);
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
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "SELECT number, json FROM plan ORDER BY number", "");
    size_t capacity = 0;
    int step;
    while ((step = db_step(query, err)) > 0) {
        out->experiments = mem_room(out->experiments, out->count, &capacity, sizeof *out->experiments);
        struct plan_experiment *next = &out->experiments[out->count];
        *next = (struct plan_experiment){0};
        bool in_order = sqlite3_column_int64(query, 0) == (int64_t)out->count + 1;
        if (!in_order)
            err_set(err, "run.db: the plan has gaps");
        if (!in_order || !read_experiment(query, next, err)) {
            step = -1;
            break;
        }
        out->count++;
    }
    if (step == 0)
        return true;
    plan_fini(out);
    return false;
}
