#include "results/store/files.h"
#include "results/store/journal.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/store/energy.h"
#include "results/store/evidence.h"

#include <fcntl.h>
#include <string.h>

/* Local time as the study writes it, in the zone of the session that recorded it. */
static json_t *stamp_cell(sqlite3_stmt *row, int column, int zone_column)
{
    char time[40];
    int64_t realtime_ns = sqlite3_column_int64(row, column), offset_s;
    if (db_is_null(row, column))
        return json_null();
    if (!journal_offset(row, zone_column, realtime_ns, &offset_s))
        offset_s = clock_local_offset_s(realtime_ns);
    clock_format_iso_at(realtime_ns, offset_s, time);
    return json_string(time);
}

static json_t *offset_cell(sqlite3_stmt *row, int column, int zone_column)
{
    char offset[16];
    int64_t offset_s;
    if (db_is_null(row, column) || !journal_offset(row, zone_column, sqlite3_column_int64(row, column), &offset_s))
        return json_null();
    clock_format_offset(offset_s, offset);
    return json_string(offset);
}

/* With its offset, where that is known. */
static json_t *time_cell(sqlite3_stmt *row, int column, int zone_column)
{
    json_t *stamp = stamp_cell(row, column, zone_column), *offset = offset_cell(row, column, zone_column);
    AUTO_FREE char *time = mem_printf("%s%s", json_is_string(stamp) ? json_string_value(stamp) : "",
                                      json_is_string(offset) ? json_string_value(offset) : "");
    json_decref(stamp);
    json_decref(offset);
    return json_filled_or_null(time);
}

static json_t *params_json(const struct plan_job *job)
{
    json_t *params = json_object();
    for (size_t i = 0; i < job->param_count; i++)
        json_object_set_new(params, job->params[i].name, value_to_json(&job->params[i].value));
    return params;
}

static json_t *names_of_mutated(const struct plan_job *job)
{
    json_t *names = json_array();
    for (size_t i = 0; i < job->param_count; i++)
        if (job->params[i].mutated)
            json_array_append_new(names, json_string(job->params[i].name));
    return names;
}

static json_t *strv_json(const struct strv *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_string(list->items[i]));
    return array;
}

/* Every metric that the registry asks for: null where its pattern never matched. */
static bool add_metrics(sqlite3 *db, int64_t number, const struct plan_job *job, json_t *out, struct err *err)
{
    for (size_t i = 0; i < job->metric_count; i++)
        json_object_set_new(out, job->metrics[i].name, json_null());
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT name, coalesce(special, value) FROM experiment_metrics WHERE experiment=? ORDER BY name", "i",
        number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0)
        json_object_set_new(out, db_text(query, 0), db_cell(query, 1));
    return step == 0;
}

/* Of the last attempt; NULL: nothing was measured. */
static bool load_energy(sqlite3 *db, int64_t number, json_t **out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.energy FROM experiments e JOIN attempts a ON a.experiment = e.number AND a.number ="
                 " coalesce(e.result_attempt, e.attempts) WHERE e.number=?",
                 "i", number);
    int step = query ? db_step(query, err) : -1;
    *out = step > 0 ? db_json(query, 0) : NULL;
    return step >= 0;
}

static json_t *verdict_json(sqlite3_stmt *row, int verdict, int outcome)
{
    enum verdict of_end = evidence_verdict(db_text(row, verdict), db_text(row, outcome));
    return of_end == VERDICT_NONE ? json_null() : json_string(verdict_name(of_end));
}

static json_t *attempt_json(sqlite3_stmt *row)
{
    static const char *const keys[] = {"number", "outcome", "duration_seconds", "exit_code", "signal", "reason", "error"};
    static const char *const of_usage[] = {"cpu_seconds", "peak_memory_bytes", "processes"};
    static const char *const of_marks[] = {"taken", "repeated", "limited", "refused"};
    json_t *attempt = json_object(), *usage = json_object(), *marks = json_object(), *rest;
    db_set_cells(attempt, keys, 7, row, 0);
    db_set_cells(usage, of_usage, 3, row, 9);
    db_set_cells(marks, of_marks, 4, row, 12);
    rest = json_pack("{s:o, s:o, s:o, s:o, s:o?, s:o, s:o}", "started", time_cell(row, 7, 19), "ended", time_cell(row, 8, 19),
                     "usage", usage, "marks", marks, "energy", db_json(row, 16), "verdict", verdict_json(row, 17, 1),
                     "failure", db_json_or_text(row, 18));
    json_object_update(attempt, rest);
    json_decref(rest);
    return attempt;
}

static bool add_attempts(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT a.number, a.outcome, a.duration_s, a.exit_code, a.signal, coalesce(a.reason, a.stop_reason),"
        " a.error, a.started_realtime_ns, a.ended_realtime_ns, j.cpu_s, j.peak_memory_bytes, j.processes,"
        " a.marks_taken, a.marks_repeated, a.marks_limited, a.marks_refused, a.energy, a.verdict, a.failure,"
        " " JOURNAL_ZONE_OF(
            "a.session") " FROM attempts a LEFT JOIN jobs j ON j.experiment = a.experiment AND j.attempt = a.number"
                         " AND j.role = 'foreground' AND j.number = (SELECT max(number) FROM jobs WHERE experiment ="
                         " a.experiment AND attempt = a.number AND role = 'foreground')"
                         " WHERE a.experiment=? ORDER BY a.number",
        "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0)
        json_array_append_new(out, attempt_json(query));
    return step == 0;
}

static void extend(json_t *list, json_t *more)
{
    if (json_is_array(more))
        json_array_extend(list, more);
    json_decref(more);
}

/* The job's own layers say whether the kernel backs them; else what its session found at its start. */
static json_t *promise(const json_t *layers, sqlite3_stmt *row)
{
    json_t *own = json_object_get(layers, "kernel_backed");
    if (json_is_boolean(own))
        return json_incref(own);
    return db_is_null(row, 2) ? json_null() : json_boolean(sqlite3_column_int(row, 2));
}

/* What was found and what was left, of all jobs; layers and promise, of the last foreground job. */
static bool add_containment(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    json_t *leftovers = json_array(), *survivors = json_array();
    json_object_set_new(out, "layers", json_null());
    json_object_set_new(out, "kernel_backed", json_null());
    json_object_set_new(out, "leftovers", leftovers);
    json_object_set_new(out, "survivors", survivors);
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT j.role, j.layers, s.kernel_backed, j.leftovers, j.survivors FROM jobs j"
                 " JOIN sessions s ON s.number = j.session WHERE j.experiment=? ORDER BY j.attempt, j.role, j.number",
                 "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        extend(leftovers, db_json(query, 3));
        extend(survivors, db_json(query, 4));
        const char *role = db_text(query, 0);
        if (!role || strcmp(role, "background") == 0)
            continue;
        json_t *layers = db_json_or_text(query, 1);
        json_object_set_new(out, "kernel_backed", promise(layers, query));
        json_object_set_new(out, "layers", layers);
    }
    return step == 0;
}

/* What is said of the result as a whole. */
static bool add_verdict(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *row =
        db_query(db, err, "SELECT verdict, failure, result_attempt, again, outcome FROM experiments WHERE number=?",
                 "i", number);
    int step = row ? db_step(row, err) : -1;
    if (step <= 0)
        return step == 0;
    json_object_set_new(out, "verdict", verdict_json(row, 0, 4));
    json_object_set_new(out, "failure", db_json_or_text(row, 1));
    json_object_set_new(out, "result_attempt", db_cell(row, 2));
    json_object_set_new(out, "planned_again", json_boolean(sqlite3_column_int(row, 3)));
    return true;
}

/* null: an older version did not record them. Of an experiment that is done again: what the result says that stands. */
static bool add_checks(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *row = db_query(
        db, err,
        "SELECT a.checks, e.verdicts FROM experiments e LEFT JOIN attempts a ON a.experiment = e.number AND a.number ="
        " coalesce(e.result_attempt, e.attempts) WHERE e.number=?",
        "i", number);
    int step = row ? db_step(row, err) : -1;
    json_t *checks = step > 0 ? db_json(row, 0) : NULL, *verdicts = step > 0 ? db_json(row, 1) : NULL;
    json_object_set_new(out, "verdicts", verdicts ? verdicts : json_null());
    json_object_set_new(out, "checks", checks ? checks : json_null());
    return step >= 0;
}

static bool add_tare(sqlite3 *db, const struct plan *plan, const struct plan_experiment *experiment, json_t *outcome,
                     json_t *out, struct err *err)
{
    const struct plan_job *job = &experiment->foreground;
    int64_t number = (int64_t)experiment->number;
    json_t *attempts = json_array(), *epochs = json_array(), *evidence = json_array(), *guard = json_array();
    json_t *containment = json_object(), *best = json_object(), *energy = NULL;
    bool loaded = load_energy(db, number, &energy, err);
    json_object_set_new(out, "outcome", outcome);
    loaded = add_verdict(db, number, out, err) && add_checks(db, number, out, err) &&
             history_add_best(db, experiment, best, err) && loaded;
    json_object_set_new(out, "best", best);
    json_object_set_new(out, "energy", energy ? energy : json_null());
    json_object_set_new(out, "attempts", attempts);
    json_object_set_new(out, "epochs", epochs);
    json_object_set_new(out, "containment", containment);
    json_object_set_new(out, "evidence", evidence);
    json_object_set_new(out, "guard", guard);
    json_object_set_new(out, "mutated", names_of_mutated(job));
    json_object_set_new(out, "command", strv_json(&job->argv));
    json_object_set_new(out, "cwd", json_text_or_null(job->cwd));
    if (experiment->parallel) {
        json_object_set_new(out, "background_command", strv_json(&experiment->background.argv));
        json_object_set_new(out, "background_cwd", json_text_or_null(experiment->background.cwd));
    }
    json_object_set_new(out, "seed", json_integer((json_int_t)plan->seed));
    return loaded && add_attempts(db, number, attempts, err) && memory_add(db, number, attempts, err) &&
           memory_add_counted(db, number, attempts, err) && epochs_add_last(db, number, epochs, err) &&
           add_containment(db, number, containment, err) && evidence_add(db, number, evidence, err) &&
           guard_json_add(db, number, guard, err);
}

/* What the study says of the job that is measured. */
static bool add_measured(sqlite3 *db, sqlite3_stmt *row, const struct plan_experiment *experiment, json_t *out,
                         struct err *err)
{
    const struct plan_job *job = &experiment->foreground;
    const char *outcome = db_text(row, 0);
    json_t *metrics = json_object(), *energy = NULL;
    bool loaded = load_energy(db, (int64_t)experiment->number, &energy, err);
    json_object_set_new(out, "repository", json_text_or_null(job->repo));
    json_object_set_new(out, "model", json_text_or_null(job->model));
    json_object_set_new(out, "hyperparameters", params_json(job));
    json_object_set_new(out, "duration_seconds", db_cell(row, 1));
    json_object_set_new(out, "energy_metrics", energy_metrics(energy));
    json_decref(energy);
    json_object_set_new(out, "performance_metrics", metrics);
    json_object_set_new(out, "training_success",
                        json_boolean(outcome && strcmp(outcome, outcome_name(OUTCOME_SUCCEEDED)) == 0));
    json_object_set_new(out, "retries", db_cell(row, 2));
    json_object_set_new(out, "error_message", db_cell(row, 3));
    return loaded && add_metrics(db, (int64_t)experiment->number, job, metrics, err);
}

static json_t *background_json(const struct plan_experiment *experiment)
{
    const struct plan_job *job = &experiment->background;
    AUTO_FREE char *logs = mem_printf("%s/background_logs", experiment->id);
    return json_pack("{s:o, s:o, s:o, s:o*, s:s}", "repository", json_text_or_null(job->repo), "model",
                     json_text_or_null(job->model), "hyperparameters", params_json(job), "log_directory", json_string(logs),
                     "note",
                     "The background training is load on the GPU only. Energies are those of the "
                     "devices, so of both trainings; tare.parallel holds estimates of their parts");
}

static bool fill(sqlite3 *db, const struct plan *plan, const struct plan_experiment *experiment, json_t *out,
                 struct err *err)
{
    AUTO_QUERY sqlite3_stmt *row =
        db_query(db, err,
                 "SELECT outcome, duration_s, retries, error, ended_realtime_ns, " JOURNAL_ZONE_OF(
                     "(SELECT session FROM attempts WHERE experiment = e.number AND number = "
                     "coalesce(e.result_attempt, e.attempts))") " FROM experiments e WHERE number=?",
                 "i", (int64_t)experiment->number);
    int step = row ? db_step(row, err) : -1;
    if (step <= 0)
        return step < 0 ? false : err_set(err, "run.db: experiment %zu is missing", experiment->number);
    json_object_set_new(out, "experiment_id", json_text_or_null(experiment->id));
    json_object_set_new(out, "timestamp", stamp_cell(row, 4, 5));
    json_t *measured = out;
    if (experiment->parallel) {
        measured = json_object();
        json_object_set_new(out, "mode", json_string(mode_name(MODE_PARALLEL)));
        json_object_set_new(out, "foreground", measured);
        json_object_set_new(out, "background", background_json(experiment));
    }
    json_t *own = json_object();
    bool ok = add_measured(db, row, experiment, measured, err);
    json_object_set_new(out, "tare", own);
    json_object_set_new(own, "utc_offset", offset_cell(row, 4, 5));
    return ok && add_tare(db, plan, experiment, db_cell(row, 0), own, err) &&
           (!experiment->parallel || files_add_parallel(db, (int64_t)experiment->number, own, err));
}

json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err)
{
    const struct plan_experiment *experiment = &plan->experiments[number - 1];
    json_t *json = json_object();
    if (fill(db, plan, experiment, json, err))
        return json;
    json_decref(json);
    err_wrap(err, "experiment.json of %s", experiment->id);
    return NULL;
}

bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number, fs_write_fn *write,
                            struct digest *written, struct err *err)
{
    const struct plan_experiment *experiment = &plan->experiments[number - 1];
    AUTO_TEXT struct text out = {0};
    json_t *json = files_experiment_json(db, plan, number, err);
    if (!json)
        return false;
    json_print_pretty(json, &out);
    json_decref(json);
    *written = digest_of(text_get(&out), out.length);
    AUTO_CLOSE int folder = fs_make_dir_at(dir, experiment->id, 0777, err);
    return folder >= 0 && ((epochs_write_files(folder, db, (int64_t)number, write, err) &&
                            history_write_file(folder, db, (int64_t)number, write, err) &&
                            write(folder, "experiment.json", text_get(&out), out.length, err)) ||
                           err_wrap(err, "%s", experiment->id));
}

bool guard_json_add(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT attempt, data FROM events WHERE experiment=? AND type='guard' ORDER BY seq", "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        json_t *data = db_json(query, 1), *item = json_object();
        json_object_set_new(item, "attempt", db_cell(query, 0));
        if (data)
            json_object_update_missing(item, data);
        json_object_del(item, "text");
        json_array_append_new(out, item);
        json_decref(data);
    }
    return step == 0;
}

static void set_net(json_t *figures, const json_t *net)
{
    json_t *joules = json_object_get(net, "net_of_bare_idle_j"), *half_width = json_object_get(net, "half_width_j");
    if (!json_is_object(figures) || !json_is_number(joules))
        return;
    json_object_set(figures, "net_of_bare_idle_j", joules);
    json_object_set(figures, "net_half_width_j", half_width ? half_width : json_null());
}

static void set_all(json_t *energy, const json_t *net)
{
    const json_t *parts = json_object_get(net, "devices"), *devices = json_object_get(energy, "devices");
    set_net(json_object_get(energy, "gpu"), net);
    for (size_t i = 0; i < json_array_size(parts); i++)
        for (size_t k = 0; k < json_array_size(devices); k++) {
            json_t *device = json_array_get(devices, k);
            const char *a = json_get_text(json_array_get(parts, i), "device"), *b = json_get_text(device, "device");
            if (a && b && strcmp(a, b) == 0)
                set_net(device, json_array_get(parts, i));
        }
}

static json_t *energy_of(sqlite3 *db, const struct event *event, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "SELECT energy FROM attempts WHERE experiment=? AND number=?",
                                              "ii", event->experiment, event->attempt);
    return query && db_step(query, err) > 0 ? db_json(query, 0) : NULL;
}

bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *phase = json_get_text(event->data, "phase");
    struct err why = {0};
    if (!phase || strcmp(phase, "net") != 0)
        return true;
    json_t *energy = energy_of(db, event, &why);
    if (!energy && err)
        *err = why;
    if (!energy)
        return !why.text[0];
    set_all(energy, event->data);
    bool ok = db_run(db, err, "UPDATE attempts SET energy=? WHERE experiment=? AND number=?", "jii", energy,
                     event->experiment, event->attempt);
    json_decref(energy);
    return ok;
}

/* What the end of each attempt said of its two jobs. */
bool files_add_parallel(sqlite3 *db, int64_t number, json_t *tare, struct err *err)
{
    json_t *attempts = json_object_get(tare, "attempts");
    json_object_set_new(tare, "parallel", json_null());
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT attempt, data FROM events WHERE experiment=? AND type='attempt_ended' ORDER BY seq",
                 "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        int64_t attempt = sqlite3_column_int64(query, 0);
        json_t *data = db_json(query, 1);
        json_t *parallel = json_object_get(data, "parallel");
        json_t *place = attempt > 0 ? json_array_get(attempts, (size_t)attempt - 1) : NULL;
        if (place)
            json_object_set(place, "parallel", parallel ? parallel : json_null());
        json_object_set(tare, "parallel", parallel ? parallel : json_null());
        json_decref(data);
    }
    return step == 0;
}
