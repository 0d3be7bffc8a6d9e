#include "results/store/history.h"
#include "results/store/db.h"
#include "results/store/journal.h"
#include "results/store/schema.h"
#include "results/store/snapshot.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/value.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool write_point(sqlite3 *db, const struct event *event, const char *metric,
                        const json_t *series, size_t at, struct err *err)
{
    const json_t *step = json_array_get(json_get(series, "step"), at);
    const json_t *epoch = json_array_get(json_get(series, "epoch"), at);
    const json_t *seconds = json_array_get(json_get(series, "seconds"), at);
    const json_t *value = json_array_get(json_get(series, "value"), at);
    double number;
    /* The line may be of another version, or somebody else's. */
    if (!json_is_integer(step) || !json_to_reading(value, &number))
        return true;
    return db_run(db, err, "INSERT OR IGNORE INTO history VALUES (?,?,?,?,?,?,?,?)", "iitjjjjj",
                  event->experiment, event->attempt, metric, step,
                  json_is_integer(epoch) ? epoch : NULL, json_is_number(seconds) ? seconds : NULL,
                  json_is_number(value) ? value : NULL, json_is_string(value) ? value : NULL);
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

/* As history_each; experiment 0: of all. */
static bool load(sqlite3 *db, int64_t experiment, history_each_fn *each, void *context,
                 struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT h.experiment, p.id, h.attempt, h.metric, h.step, h.epoch, h.seconds, "
                 "coalesce(h.special, h.value)"
                 " FROM history h JOIN plan p ON p.number = h.experiment WHERE h.experiment "
                 "BETWEEN ?1 AND ?2"
                 " ORDER BY h.experiment, h.attempt, h.metric, h.step",
                 "ii", experiment ? experiment : 1, experiment ? experiment : INT64_MAX);
    int step;
    while ((step = db_step(query, err)) > 0) {
        struct history_point point;
        if (take_row(query, &point) && !each(context, &point, err))
            return false;
    }
    return step == 0;
}

bool history_each(const char *run_dir, history_each_fn *each, void *context, struct err *err)
{
    struct snapshot snapshot;
    if (!snapshot_open(AT_FDCWD, run_dir, &snapshot, err))
        return false;
    bool ok = schema_check(snapshot.db, err) && load(snapshot.db, 0, each, context, err);
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

bool history_write_file(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err)
{
    static const char head[] = "attempt,metric,epoch,step,seconds,value\n";
    AUTO_TEXT struct text out = {0};
    text_add(&out, head);
    if (!load(db, experiment, add_row, &out, err))
        return false;
    return out.length == strlen(head) ||
           write(folder, "history.csv", text_get(&out), out.length, err) ||
           err_wrap(err, "history.csv");
}

bool history_add_best(sqlite3 *db, const struct plan_experiment *experiment, json_t *out,
                      struct err *err)
{
    static const char sql[] = "SELECT h.value, h.epoch, h.step, h.seconds FROM experiments e JOIN "
                              "history h ON h.experiment = e.number"
                              " AND h.attempt = coalesce(e.result_attempt, e.attempts) WHERE "
                              "e.number=? AND h.metric=? AND"
                              " h.value IS NOT NULL ORDER BY h.value * ?, h.step LIMIT 1";
    const struct plan_job *job = &experiment->foreground;
    EACH (metric, job->metrics, job->metric_count) {
        enum goal goal = goal_of(metric->goal, metric->name);
        int64_t sign = goal == GOAL_MINIMIZE ? 1 : -1;
        if (goal == GOAL_UNKNOWN)
            continue;
        AUTO_QUERY sqlite3_stmt *query =
            db_query(db, err, sql, "iti", (int64_t)experiment->number, metric->name, sign);
        int step = db_step(query, err);
        if (step < 0)
            return false;
        json_t *best =
            step > 0 ? json_pack("{s:o, s:s}", "value", db_cell(query, 0), "goal", goal_name(goal))
                     : json_null();
        if (step > 0)
            db_set_cells(best, "epoch step seconds", query, 1);
        json_object_set_new(out, metric->name, best);
    }
    return true;
}

/* More points than this no run has of a metric. */
enum { CURVE_MAX = 4096 };

/* The points of one metric on their way into lists. */
struct curve {
    struct history_point *points; /* without texts */
    size_t count;
    char *metric;
    bool any_epoch;
};

struct curves {
    int64_t attempt;
    size_t points;
    json_t *out;
    bool thinned;
    struct curve now;
};

/* Which of them stay, as flags: of each stretch the lowest, the highest and the first that is no
 * finite number. */
static void choose(const struct curve *curve, size_t most, bool *stays)
{
    size_t stretch = curve->count > most ? (2 * curve->count + most - 1) / most : 1;
    for (size_t first = 0; first < curve->count; first += stretch) {
        size_t end = first + stretch < curve->count ? first + stretch : curve->count;
        size_t low = end, high = end, special = end;
        for (size_t i = first; i < end; i++) {
            double value = curve->points[i].value;
            if (!isfinite(value)) {
                special = special == end ? i : special;
                continue;
            }
            low = low == end || value < curve->points[low].value ? i : low;
            high = high == end || value > curve->points[high].value ? i : high;
        }
        for (size_t i = first; i < end; i++)
            stays[i] = i == low || i == high || i == special;
    }
    stays[0] = stays[curve->count - 1] = true;
}

static void end_curve(struct curves *curves)
{
    struct curve *curve = &curves->now;
    if (curve->count > 0) {
        AUTO_FREE bool *stays = mem_array(curve->count, sizeof *stays);
        json_t *steps = json_array(), *epochs = json_array(), *seconds = json_array(),
               *values = json_array();
        choose(curve, curves->points, stays);
        for (size_t i = 0; i < curve->count; i++) {
            const struct history_point *point = &curve->points[i];
            if (!stays[i])
                continue;
            json_array_append_new(steps, json_integer(point->step));
            json_array_append_new(epochs,
                                  point->has_epoch ? json_integer(point->epoch) : json_null());
            json_array_append_new(seconds, json_reading_or_null(point->seconds));
            json_array_append_new(values, json_from_reading(point->value));
        }
        curves->thinned = curves->thinned ||
                          json_array_size(steps) < (size_t)curve->points[curve->count - 1].step;
        json_t *json =
            json_pack("{s:o, s:o, s:o}", "step", steps, "seconds", seconds, "value", values);
        if (curve->any_epoch)
            json_object_set(json, "epoch", epochs);
        json_decref(epochs);
        json_object_set_new(curves->out, curve->metric, json);
    }
    free(curve->points);
    free(curve->metric);
    *curve = (struct curve){0};
}

static bool take_point(void *context, const struct history_point *point, struct err *err)
{
    struct curves *curves = context;
    struct curve *curve = &curves->now;
    (void)err;
    if (point->attempt != curves->attempt)
        return true;
    if (!curve->metric || strcmp(curve->metric, point->metric) != 0) {
        end_curve(curves);
        curve->metric = mem_strdup(point->metric);
    }
    if (curve->count == CURVE_MAX)
        return true;
    MEM_ADD(curve->points, curve->count) = *point;
    curve->any_epoch = curve->any_epoch || point->has_epoch;
    return true;
}

bool history_add_curves(sqlite3 *db, int64_t experiment, size_t points, json_t *out, bool *thinned,
                        struct err *err)
{
    struct curves curves = {.points = points, .out = out};
    bool ok = journal_result_attempt(db, experiment, &curves.attempt, err) &&
              load(db, experiment, take_point, &curves, err);
    end_curve(&curves);
    *thinned = *thinned || curves.thinned;
    return ok;
}
