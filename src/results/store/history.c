/* What the metrics' patterns matched, match by match: into the table, and out of it. */
#include "results/store/facts.h"
#include "results/store/files.h"
#include "results/store/results.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"
#include "base/value.h"

#include <math.h>
#include <string.h>

static bool write_point(sqlite3 *db, const struct event *event, const char *metric, const json_t *series, size_t at,
                        struct err *err)
{
    const json_t *step = json_array_get(json_get(series, "step"), at);
    const json_t *value = json_array_get(json_get(series, "value"), at);
    double number;
    if (!json_is_integer(step) || !json_to_reading(value, &number))
        return true; /* of another version, or somebody else's */
    return db_run(db, err, "INSERT OR IGNORE INTO history VALUES (?,?,?,?,?,?,?,?)", "iitjjjjj", event->experiment,
                  event->attempt, metric, step, json_array_get(json_get(series, "epoch"), at),
                  json_array_get(json_get(series, "seconds"), at), json_is_number(value) ? value : NULL,
                  json_is_string(value) ? value : NULL);
}

bool history_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *metric;
    json_t *series;
    json_object_foreach((json_t *)json_get(event->data, "history"), metric, series)
    {
        size_t count = json_array_size(json_get(series, "step"));
        for (size_t i = 0; i < count; i++)
            if (!write_point(db, event, metric, series, i, err))
                return false;
    }
    return true;
}

static bool take_row(sqlite3_stmt *row, struct history_point *out)
{
    json_t *value = db_cell(row, 7);
    *out = (struct history_point){.number = (size_t)sqlite3_column_int64(row, 0),
                                  .id = db_text(row, 1),
                                  .attempt = sqlite3_column_int64(row, 2),
                                  .metric = db_text(row, 3),
                                  .step = sqlite3_column_int64(row, 4),
                                  .has_epoch = !db_is_null(row, 5),
                                  .epoch = sqlite3_column_int64(row, 5),
                                  .seconds = {sqlite3_column_double(row, 6), !db_is_null(row, 6)}};
    bool fine = json_to_reading(value, &out->value) && out->id && out->metric;
    json_decref(value);
    return fine;
}

bool history_load(sqlite3 *db, int64_t experiment, history_each_fn *each, void *context, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT h.experiment, p.id, h.attempt, h.metric, h.step, h.epoch, h.seconds, coalesce(h.special, h.value)"
        " FROM history h JOIN plan p ON p.number = h.experiment WHERE h.experiment BETWEEN ?1 AND ?2"
        " ORDER BY h.experiment, h.attempt, h.metric, h.step",
        "ii", experiment ? experiment : 1, experiment ? experiment : INT64_MAX);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        struct history_point point;
        if (take_row(query, &point) && !each(context, &point, err))
            return false;
    }
    return step == 0;
}

bool history_each(const char *run_dir, history_each_fn *each, void *context, struct err *err)
{
    struct snapshot snapshot;
    if (!snapshot_open(run_dir, &snapshot, err))
        return false;
    bool ok = schema_check(snapshot.db, err) && history_load(snapshot.db, 0, each, context, err);
    snapshot_close(&snapshot);
    return ok || err_wrap(err, "%s", run_dir);
}

void history_add_cells(const struct history_point *point, struct text *out)
{
    char cell[32];
    csv_add_cell(out, point->metric);
    text_add_char(out, ',');
    if (point->has_epoch)
        text_addf(out, "%lld", (long long)point->epoch);
    text_addf(out, ",%lld,", (long long)point->step);
    if (point->seconds.valid)
        text_addf(out, "%.6f", point->seconds.value);
    number_shortest(point->value, cell);
    text_addf(out, ",%s\n", cell);
}

static bool add_row(void *context, const struct history_point *point, struct err *err)
{
    struct text *out = context;
    (void)err;
    text_addf(out, "%lld,", (long long)point->attempt);
    history_add_cells(point, out);
    return true;
}

bool history_write_file(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write, struct err *err)
{
    static const char head[] = "attempt,metric,epoch,step,seconds,value\n";
    AUTO_TEXT struct text out = {0};
    text_add(&out, head);
    if (!history_load(db, experiment, add_row, &out, err))
        return false;
    return out.length == strlen(head) || write(folder, "history.csv", text_get(&out), out.length, err) ||
           err_wrap(err, "history.csv");
}
