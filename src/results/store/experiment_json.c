#include "results/store/experiment_json.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "results/store/db.h"
#include "results/store/energy.h"
#include "results/store/epochs_file.h"
#include "results/store/evidence.h"
#include "results/store/history.h"
#include "results/store/journal.h"
#include "results/store/memory.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    if (db_is_null(row, column) ||
        !journal_offset(row, zone_column, sqlite3_column_int64(row, column), &offset_s))
        return json_null();
    clock_format_offset(offset_s, offset);
    return json_string(offset);
}

/* With its offset, where that is known. */
static json_t *time_cell(sqlite3_stmt *row, int column, int zone_column)
{
    json_t *stamp = stamp_cell(row, column, zone_column),
           *offset = offset_cell(row, column, zone_column);
    AUTO_FREE char *time = mem_printf("%s%s", json_is_string(stamp) ? json_string_value(stamp) : "",
                                      json_is_string(offset) ? json_string_value(offset) : "");
    json_decref(stamp);
    json_decref(offset);
    return json_filled_or_null(time);
}

static json_t *params_json(const struct plan_job *job)
{
    json_t *params = json_object();
    EACH (param, job->params, job->param_count)
        json_object_set_new(params, param->name, value_to_json(&param->value));
    return params;
}

static json_t *names_of_mutated(const struct plan_job *job)
{
    json_t *names = json_array();
    EACH (param, job->params, job->param_count)
        if (param->mutated)
            json_array_append_new(names, json_string(param->name));
    return names;
}

/* Every metric that the registry asks for: null where its pattern never matched. */
static bool add_metrics(sqlite3 *db, int64_t number, const struct plan_job *job, json_t *out,
                        struct err *err)
{
    EACH (metric, job->metrics, job->metric_count)
        json_object_set_new(out, metric->name, json_null());
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT name, coalesce(special, value) FROM "
                                              "experiment_metrics WHERE experiment=? ORDER BY name",
                                              "i", number);
    while (db_next(&query, err))
        json_object_set_new(out, db_text(query, 0), db_cell(query, 1));
    return query != NULL;
}

static json_t *verdict_json(sqlite3_stmt *row, int verdict, int outcome)
{
    enum verdict of_end = evidence_verdict(db_text(row, verdict), db_text(row, outcome));
    return of_end == VERDICT_NONE ? json_null() : json_string(verdict_name(of_end));
}

static json_t *attempt_json(sqlite3_stmt *row)
{
    json_t *attempt = json_object(), *usage = json_object(), *marks = json_object();
    db_set_cells(attempt, "number outcome duration_seconds exit_code signal reason error", row, 0);
    db_set_cells(usage, "cpu_seconds peak_memory_bytes processes", row, 9);
    db_set_cells(marks, "taken repeated limited refused", row, 12);
    json_t *rest =
        json_pack("{s:o, s:o, s:o, s:o, s:o?, s:o, s:o}", "started", time_cell(row, 7, 19), "ended",
                  time_cell(row, 8, 19), "usage", usage, "marks", marks, "energy", db_json(row, 16),
                  "verdict", verdict_json(row, 17, 1), "failure", db_json_or_text(row, 18));
    json_object_update(attempt, rest);
    json_decref(rest);
    return attempt;
}

static bool add_attempts(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.number, a.outcome, a.duration_s, a.exit_code, a.signal, "
                 "coalesce(a.reason, a.stop_reason),"
                 " a.error, a.started_realtime_ns, a.ended_realtime_ns, j.cpu_s, "
                 "j.peak_memory_bytes, j.processes,"
                 " a.marks_taken, a.marks_repeated, a.marks_limited, a.marks_refused, a.energy, "
                 "a.verdict, a.failure,"
                 " " JOURNAL_ZONE_OF(
                     "a.session") " FROM attempts a LEFT JOIN jobs j ON j.experiment = "
                                  "a.experiment AND j.attempt = a.number"
                                  " AND j.role = 'foreground' AND j.number = (SELECT max(number) "
                                  "FROM jobs WHERE experiment ="
                                  " a.experiment AND attempt = a.number AND role = 'foreground')"
                                  " WHERE a.experiment=? ORDER BY a.number",
                 "i", number);
    while (db_next(&query, err))
        json_array_append_new(out, attempt_json(query));
    return query != NULL;
}

static void extend(json_t *list, json_t *more)
{
    if (json_is_array(more))
        json_array_extend(list, more);
    json_decref(more);
}

/* The job's own layers say whether the kernel backs them; else what its session found at its
 * start. */
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
                 " JOIN sessions s ON s.number = j.session WHERE j.experiment=? ORDER BY "
                 "j.attempt, j.role, j.number",
                 "i", number);
    while (db_next(&query, err)) {
        extend(leftovers, db_json(query, 3));
        extend(survivors, db_json(query, 4));
        const char *role = db_text(query, 0);
        if (!role || strcmp(role, "background") == 0)
            continue;
        json_t *layers = db_json_or_text(query, 1);
        json_object_set_new(out, "kernel_backed", promise(layers, query));
        json_object_set_new(out, "layers", layers);
    }
    return query != NULL;
}

/* What the guard wrote into the journal, each with its attempt. */
static bool add_guard(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT attempt, data FROM events WHERE experiment=? AND type='guard' AND attempt "
                 "IS NOT NULL ORDER BY seq",
                 "i", number);
    while (db_next(&query, err)) {
        json_t *data = db_json(query, 1), *item = json_object();
        json_object_set_new(item, "attempt", db_cell(query, 0));
        if (data)
            json_object_update_missing(item, data);
        json_object_del(item, "text");
        json_array_append_new(out, item);
        json_decref(data);
    }
    return query != NULL;
}

/* The columns of an experiment's row: with the attempt that its result is of. */
enum {
    COLUMN_OUTCOME,
    COLUMN_DURATION,
    COLUMN_RETRIES,
    COLUMN_ERROR,
    COLUMN_ENDED,
    COLUMN_ZONE,
    COLUMN_VERDICT,
    COLUMN_FAILURE,
    COLUMN_RESULT_ATTEMPT,
    COLUMN_AGAIN,
    COLUMN_VERDICTS,
    COLUMN_CHECKS,
    COLUMN_ENERGY,
    COLUMN_MEMORY
};

static json_t *peak_cell(sqlite3_stmt *row, bool parallel)
{
    json_t *memory = db_json(row, COLUMN_MEMORY), *energy = db_json(row, COLUMN_ENERGY);
    struct memory_peak peak = memory_peak(memory, energy, parallel);
    json_decref(memory);
    json_decref(energy);
    return memory_peak_json(&peak);
}

/* {dir} stays: the folder of a run may be moved, and its records are the same then. */
static json_t *command_json(const struct plan_job *job, const char *experiment_id, bool background)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_FREE char *id = placeholder_id(experiment_id, background);
    placeholder_fill_argv(job, &(struct placeholder_place){.id = id}, &argv);
    return json_texts((const char *const *)argv.items);
}

static bool add_tare(sqlite3 *db, sqlite3_stmt *row, const struct plan *plan,
                     const struct plan_experiment *experiment, json_t *out, struct err *err)
{
    const struct plan_job *job = &experiment->foreground;
    int64_t number = (int64_t)experiment->number;
    json_t *attempts = json_array(), *epochs = json_array(), *evidence = json_array(),
           *guard = json_array();
    json_t *containment = json_object(), *best = json_object();
    json_t *own = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:b, s:o?, s:o?, s:o, s:o?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "utc_offset", offset_cell(row, COLUMN_ENDED, COLUMN_ZONE), "outcome",
        db_cell(row, COLUMN_OUTCOME), "verdict", verdict_json(row, COLUMN_VERDICT, COLUMN_OUTCOME),
        "failure", db_json_or_text(row, COLUMN_FAILURE), "result_attempt",
        db_cell(row, COLUMN_RESULT_ATTEMPT), "planned_again",
        sqlite3_column_int(row, COLUMN_AGAIN) != 0, "verdicts", db_json(row, COLUMN_VERDICTS),
        "checks", db_json(row, COLUMN_CHECKS), "best", best, "energy", db_json(row, COLUMN_ENERGY),
        "attempts", attempts, "epochs", epochs, "containment", containment, "evidence", evidence,
        "guard", guard, "mutated", names_of_mutated(job), "command",
        command_json(job, experiment->id, false), "cwd", json_text_or_null(job->cwd));
    json_object_set_new(out, "tare", own);
    if (experiment->parallel) {
        json_object_set_new(own, "background_command",
                            command_json(experiment->background, experiment->id, true));
        json_set_text(own, "background_cwd", experiment->background->cwd);
    }
    json_set_count(own, "seed", plan->seed);
    json_object_set_new(own, "gpu_memory_peak", peak_cell(row, experiment->parallel));
    return history_add_best(db, experiment, best, err) && add_attempts(db, number, attempts, err) &&
           memory_add(db, number, attempts, err) && memory_add_ended(db, experiment, own, err) &&
           epochs_add_last(db, number, epochs, err) &&
           add_containment(db, number, containment, err) &&
           evidence_add(db, number, evidence, err) && add_guard(db, number, guard, err);
}

/* What the study says of the job that is measured. */
static bool add_measured(sqlite3 *db, sqlite3_stmt *row, const struct plan_experiment *experiment,
                         json_t *out, struct err *err)
{
    const struct plan_job *job = &experiment->foreground;
    const char *outcome = db_text(row, COLUMN_OUTCOME);
    json_t *metrics = json_object(), *energy = db_json(row, COLUMN_ENERGY);
    json_set_text(out, "repository", job->repo);
    json_set_text(out, "model", job->model);
    json_object_set_new(out, "hyperparameters", params_json(job));
    json_object_set_new(out, "duration_seconds", db_cell(row, COLUMN_DURATION));
    json_object_set_new(out, "energy_metrics", energy_metrics(energy));
    json_decref(energy);
    json_object_set_new(out, "performance_metrics", metrics);
    json_object_set_new(
        out, "training_success",
        json_boolean(outcome && strcmp(outcome, outcome_name(OUTCOME_SUCCEEDED)) == 0));
    db_set_cells(out, "retries error_message", row, COLUMN_RETRIES);
    return add_metrics(db, (int64_t)experiment->number, job, metrics, err);
}

static json_t *background_json(const struct plan_experiment *experiment)
{
    const struct plan_job *job = experiment->background;
    AUTO_FREE char *logs = mem_printf("%s/background_logs", experiment->id);
    return json_pack("{s:o, s:o, s:o, s:o*, s:s}", "repository", json_text_or_null(job->repo),
                     "model", json_text_or_null(job->model), "hyperparameters", params_json(job),
                     "log_directory", json_string(logs), "note",
                     "The background training is load on the GPU only. Energies are those of the "
                     "devices, so of both trainings; tare.parallel holds estimates of their parts");
}

static bool fill(sqlite3 *db, const struct plan *plan, const struct plan_experiment *experiment,
                 json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *row = db_query(
        db, err,
        "SELECT e.outcome, e.duration_s, e.retries, e.error, e.ended_realtime_ns, " JOURNAL_ZONE_OF(
            "a.session") ","
                         " e.verdict, e.failure, e.result_attempt, e.again, e.verdicts, a.checks, "
                         "a.energy,"
                         " m.memory FROM experiments e"
                         " LEFT JOIN attempts a ON a.experiment = e.number AND a.number = "
                         "coalesce(e.result_attempt, e.attempts)"
                         " LEFT JOIN attempt_memory m ON m.experiment = e.number AND m.attempt = "
                         "a.number"
                         " WHERE e.number=?",
        "i", (int64_t)experiment->number);
    int step = db_step(row, err);
    if (step <= 0)
        return step < 0 ? false
                        : err_set(err, "run.db: experiment %zu is missing", experiment->number);
    json_set_text(out, "experiment_id", experiment->id);
    json_object_set_new(out, "timestamp", stamp_cell(row, COLUMN_ENDED, COLUMN_ZONE));
    json_t *measured = out;
    if (experiment->parallel) {
        measured = json_object();
        json_set_text(out, "mode", mode_name(MODE_PARALLEL));
        json_object_set_new(out, "foreground", measured);
        json_object_set_new(out, "background", background_json(experiment));
    }
    return add_measured(db, row, experiment, measured, err) &&
           add_tare(db, row, plan, experiment, out, err);
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

bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number,
                            fs_write_fn *write, struct digest *written, struct err *err)
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

bool files_same_bytes(int a, int b, off_t length)
{
    char of_a[65536], of_b[65536];
    for (off_t at = 0; at < length;) {
        ssize_t count = pread(a, of_a, sizeof of_a, at);
        if (count <= 0 || pread(b, of_b, (size_t)count, at) != count ||
            memcmp(of_a, of_b, (size_t)count) != 0)
            return false;
        at += count;
    }
    return true;
}

static void set_net(json_t *figures, const json_t *net)
{
    json_t *joules = json_object_get(net, "net_of_bare_idle_j"),
           *half_width = json_object_get(net, "half_width_j");
    if (!json_is_object(figures) || !json_is_number(joules))
        return;
    json_object_set(figures, "net_of_bare_idle_j", joules);
    json_object_set(figures, "net_half_width_j", half_width ? half_width : json_null());
    /* Of the gross energy, of the idle windows and of the devices (idle_net_of): in squares. */
    json_set_text(figures, "net_combined", "independent");
}

static void set_all(json_t *energy, const json_t *net)
{
    const json_t *parts = json_object_get(net, "devices"),
                 *devices = json_object_get(energy, "devices");
    set_net(json_object_get(energy, "gpu"), net);
    for (size_t i = 0; i < json_array_size(parts); i++)
        for (size_t k = 0; k < json_array_size(devices); k++) {
            json_t *device = json_array_get(devices, k);
            const char *a = json_get_text(json_array_get(parts, i), "device"),
                       *b = json_get_text(device, "device");
            if (a && b && strcmp(a, b) == 0)
                set_net(device, json_array_get(parts, i));
        }
}

static bool load_energy(sqlite3 *db, const struct event *event, json_t **out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT energy FROM attempts WHERE experiment=? AND number=?", "ii",
                 event->experiment, event->attempt);
    int step = db_step(query, err);
    *out = step > 0 ? db_json(query, 0) : NULL;
    return step >= 0;
}

bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *phase = json_get_text(event->data, "phase");
    json_t *energy;
    if (!phase || strcmp(phase, "net") != 0)
        return true;
    if (!load_energy(db, event, &energy, err))
        return false;
    set_all(energy, event->data);
    bool ok =
        !energy || db_run(db, err, "UPDATE attempts SET energy=? WHERE experiment=? AND number=?",
                          "jii", energy, event->experiment, event->attempt);
    json_decref(energy);
    return ok;
}
