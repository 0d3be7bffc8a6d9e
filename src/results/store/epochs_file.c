#include "results/store/epochs_file.h"
#include "measure/marks/epochs.h"
#include "results/store/db.h"
#include "results/store/energy.h"
#include "results/store/journal.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The marks of one attempt, and what they make of it. */
struct cut {
    struct mark *marks;
    size_t mark_count;
    struct epoch *epochs; /* names and labels borrowed from marks */
    size_t epoch_count;
    struct energy_epoch *energy; /* as many; all absent where nothing was measured */
    int64_t start_ns;
};

static void cut_fini(struct cut *cut)
{
    free(cut->marks);
    free(cut->epochs);
    free(cut->energy);
    *cut = (struct cut){0};
}

static bool load_marks(sqlite3 *db, int64_t experiment, int64_t attempt, struct cut *out,
                       struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT name, label, at, t_ns, source FROM marks "
                                              "WHERE experiment=? AND attempt=? ORDER BY number",
                                              "ii", experiment, attempt);
    while (db_next(&query, err)) {
        const char *name = db_text(query, 0), *label = db_text(query, 1), *at = db_text(query, 2);
        const char *source = db_text(query, 4);
        struct mark mark = {.t_ns = sqlite3_column_int64(query, 3),
                            .is_end = at && strcmp(at, "end") == 0};
        if (!name || !source || !mark_source_parse(source, &mark.source))
            continue;
        snprintf(mark.name, sizeof mark.name, "%s", name);
        snprintf(mark.label, sizeof mark.label, "%s", label ? label : "");
        MEM_ADD(out->marks, out->mark_count) = mark;
    }
    return query != NULL;
}

static bool is_row_of(sqlite3_stmt *row, const struct epoch *epoch)
{
    const char *name = db_text(row, 0);
    return name && strcmp(name, epoch->name) == 0 &&
           sqlite3_column_int64(row, 1) == epoch->start_ns &&
           sqlite3_column_int64(row, 2) == epoch->end_ns;
}

/* What was measured stands in the order of the cut that it was measured for: this one. */
static bool load_energy(sqlite3 *db, int64_t experiment, int64_t attempt, struct cut *cut,
                        struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT " ENERGY_EPOCH_COLUMNS
                 " FROM epoch_energy WHERE experiment=? AND attempt=? ORDER BY number",
                 "ii", experiment, attempt);
    int step = 0;
    cut->energy = mem_array(cut->epoch_count + 1, sizeof *cut->energy);
    for (size_t i = 0; (step = db_step(query, err)) > 0 && i < cut->epoch_count; i++)
        if (is_row_of(query, &cut->epochs[i]))
            energy_epoch_read(query, 3, &cut->energy[i]);
    return step >= 0;
}

/* Nothing where the attempt never started. */
static bool load(sqlite3 *db, int64_t experiment, int64_t attempt, struct cut *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT job_start_ns, job_end_ns FROM attempts WHERE experiment=? AND number=?",
        "ii", experiment, attempt);
    int step = db_step(query, err);
    *out = (struct cut){0};
    if (step <= 0 || db_is_null(query, 0))
        return step >= 0;
    out->start_ns = sqlite3_column_int64(query, 0);
    bool has_end = !db_is_null(query, 1);
    if (!load_marks(db, experiment, attempt, out, err)) {
        cut_fini(out);
        return false;
    }
    out->epochs = epochs_cut(out->marks, out->mark_count, out->start_ns,
                             sqlite3_column_int64(query, 1), has_end, &out->epoch_count);
    if (load_energy(db, experiment, attempt, out, err))
        return true;
    cut_fini(out);
    return false;
}

static json_t *seconds_json(int64_t ns)
{
    return json_finite((double)ns / (double)NS_PER_S);
}

static json_t *epoch_json(const struct epoch *epoch, const struct energy_epoch *energy,
                          int64_t origin_ns)
{
    bool itself = epoch->part == EPOCH_ITSELF;
    json_t *json = json_pack(
        "{s:o*, s:s, s:o*, s:o, s:o, s:o, s:s?}", "name", json_string(epoch->name), "part",
        epoch_part_name(epoch->part), "label",
        epoch->label ? json_string(epoch->label) : json_null(), "start_s",
        seconds_json(epoch->start_ns - origin_ns), "end_s",
        epoch->has_end ? seconds_json(epoch->end_ns - origin_ns) : json_null(), "duration_s",
        epoch->has_end ? seconds_json(epoch->end_ns - epoch->start_ns) : json_null(), "source",
        itself ? mark_source_name(epoch->source) : NULL);
    energy_epoch_json(energy, json);
    return json;
}

bool epochs_add_last(sqlite3 *db, int64_t experiment, json_t *out, struct err *err)
{
    int64_t attempt;
    AUTO(cut_fini) struct cut cut = {0};
    if (!journal_result_attempt(db, experiment, &attempt, err) ||
        !load(db, experiment, attempt, &cut, err))
        return false;
    for (size_t i = 0; i < cut.epoch_count; i++)
        json_array_append_new(out, epoch_json(&cut.epochs[i], &cut.energy[i], cut.start_ns));
    return true;
}

/* Nanoseconds as seconds, exactly: sums over the file come out even. */
static void add_seconds(struct text *out, int64_t ns)
{
    text_addf(out, ",%lld.%09lld", (long long)(ns / NS_PER_S), (long long)(ns % NS_PER_S));
}

static void add_row(struct text *out, const struct epoch *epoch, const struct energy_epoch *energy,
                    int64_t origin_ns)
{
    csv_add_cell(out, epoch->name);
    text_addf(out, ",%s,", epoch_part_name(epoch->part));
    csv_add_cell(out, epoch->label ? epoch->label : "");
    add_seconds(out, epoch->start_ns - origin_ns);
    if (epoch->has_end) {
        add_seconds(out, epoch->end_ns - origin_ns);
        add_seconds(out, epoch->end_ns - epoch->start_ns);
    } else {
        text_add(out, ",,");
    }
    text_addf(out, ",%s", epoch->part == EPOCH_ITSELF ? mark_source_name(epoch->source) : "");
    energy_epoch_cells(energy, out);
    text_add_char(out, '\n');
}

static bool write_file(int folder, const struct cut *cut, fs_write_fn *write, struct err *err)
{
    AUTO_TEXT struct text out = {0};
    text_add(&out, "name,part,label,start_s,end_s,duration_s,source");
    energy_epoch_head(&out);
    text_add_char(&out, '\n');
    for (size_t i = 0; i < cut->epoch_count; i++)
        add_row(&out, &cut->epochs[i], &cut->energy[i], cut->start_ns);
    AUTO_CLOSE int energy = fs_make_dir_at(folder, "energy", 0777, err);
    return energy >= 0 && write(energy, "marks.csv", text_get(&out), out.length, err);
}

static bool write_attempt(int folder, sqlite3 *db, int64_t experiment, int64_t attempt, bool last,
                          fs_write_fn *write, struct err *err)
{
    AUTO(cut_fini) struct cut cut = {0};
    if (!load(db, experiment, attempt, &cut, err))
        return false;
    if (cut.epoch_count == 0)
        return true;
    if (last)
        return write_file(folder, &cut, write, err);
    AUTO_FREE char *name = mem_printf("attempt_%lld", (long long)attempt);
    AUTO_CLOSE int earlier = fs_make_dir_at(folder, name, 0777, err);
    return earlier >= 0 && write_file(earlier, &cut, write, err);
}

bool epochs_write_files(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.number, a.number = e.attempts FROM attempts a JOIN experiments e ON "
                 "e.number = a.experiment"
                 " WHERE a.experiment=? ORDER BY a.number",
                 "i", experiment);
    while (db_next(&query, err))
        if (!write_attempt(folder, db, experiment, sqlite3_column_int64(query, 0),
                           sqlite3_column_int(query, 1) != 0, write, err))
            return err_wrap(err, "energy/marks.csv");
    return query != NULL;
}
