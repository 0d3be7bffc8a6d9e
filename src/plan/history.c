/* Reads the durations in an earlier summary.csv, to estimate those of planned experiments. */
#include "base/fs_path.h"
#include "base/json_place.h"
#include "plan/expected.h"

#include "base/csv.h"
#include "base/mem.h"
#include "plan/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 30)
#define NO_COLUMN  SIZE_MAX

static const char parallel_end[] = "_parallel";

struct table {
    struct strv header;
    size_t id, repository, model, mode, success, duration;
};

/* Where it goes. */
struct sink {
    struct seen *seen; /* each may be NULL */
    struct expected *expected;
};

/* The columns of one repository's hyperparameters, so that they are not looked up for every row. */
struct columns {
    size_t *of_param; /* NULL until needed; owned */
};

static size_t find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->header.count; i++)
        if (strcmp(table->header.items[i], name) == 0)
            return i;
    return NO_COLUMN;
}

static bool read_history_header(struct csv_reader *reader, struct table *table, struct err *err)
{
    int got = csv_next(reader, &table->header, err);
    if (got < 0)
        return false;
    if (got == 0)
        return err_set(err, "it is empty: a header was expected");
    table->id = find_column(table, "experiment_id");
    table->repository = find_column(table, "repository");
    table->model = find_column(table, "model");
    table->mode = find_column(table, "mode");
    table->success = find_column(table, "training_success");
    table->duration = find_column(table, "duration_seconds");
    const char *absent = table->repository == NO_COLUMN                       ? "repository"
                         : table->model == NO_COLUMN                          ? "model"
                         : table->id == NO_COLUMN && table->mode == NO_COLUMN ? "experiment_id"
                                                                              : NULL;
    return absent ? err_set(err, "line %zu: there is no column '%s'", reader->line, absent) : true;
}

static bool is_parallel(const struct table *table, const struct strv *row)
{
    if (table->mode != NO_COLUMN && *row->items[table->mode])
        return strcmp(row->items[table->mode], "parallel") == 0;
    if (table->id == NO_COLUMN)
        return false;
    const char *id = row->items[table->id];
    size_t length = strlen(id), end = sizeof parallel_end - 1;
    return length >= end && strcmp(id + length - end, parallel_end) == 0;
}

static const size_t *param_columns(const struct table *table, const struct repo *repo,
                                   struct columns *columns)
{
    if (columns->of_param)
        return columns->of_param;
    columns->of_param = mem_array(repo->param_count, sizeof *columns->of_param);
    for (size_t i = 0; i < repo->param_count; i++) {
        AUTO_FREE char *name = mem_printf("hyperparam_%s", repo->params[i].name);
        columns->of_param[i] = find_column(table, name);
    }
    return columns->of_param;
}

/* Failed experiments do not predict durations. */
static void add_expected_duration(const struct table *table, const struct strv *row,
                                  const struct repo *repo, const struct value *values,
                                  const char *context, struct expected *expected)
{
    double duration_s = 0;
    struct reading epochs = {0};
    if (table->success == NO_COLUMN || table->duration == NO_COLUMN ||
        strcmp(row->items[table->success], "True") != 0 ||
        !number_parse(row->items[table->duration], &duration_s) || !(duration_s > 0))
        return;
    for (size_t i = 0; i < repo->param_count; i++)
        if (strcmp(repo->params[i].name, "epochs") == 0)
            epochs = expected_epochs(&values[i]);
    expected_add(expected, context, duration_s, epochs);
}

static void add_history_row(const struct table *table, const struct strv *row,
                            const struct repo *repo, struct columns *columns,
                            const struct sink *sink)
{
    const size_t *of_param = param_columns(table, repo, columns);
    struct value *values = mem_array(repo->param_count, sizeof *values);
    for (size_t i = 0; i < repo->param_count; i++) {
        const char *cell = of_param[i] == NO_COLUMN ? "" : row->items[of_param[i]];
        values[i] = *cell ? value_parse(cell) : value_copy(&repo->params[i].default_value);
    }
    AUTO_FREE char *context =
        space_context(repo->name, row->items[table->model], is_parallel(table, row));
    AUTO_FREE char *key = mutate_key(context, values, repo->param_count);
    if (sink->seen)
        seen_add(sink->seen, key);
    if (sink->expected)
        add_expected_duration(table, row, repo, values, context, sink->expected);
    EACH (item, values, repo->param_count)
        value_fini(item);
    free(values);
}

static bool read_history_rows(struct csv_reader *reader, const struct table *table,
                              const struct registry *registry, struct columns *columns,
                              const struct sink *sink, struct err *err)
{
    AUTO_STRV struct strv row = {0};
    int got;
    while ((got = csv_next(reader, &row, err)) > 0) {
        if (row.count != table->header.count)
            return err_set(err, "line %zu: %zu cells, but the header has %zu", reader->line,
                           row.count, table->header.count);
        const struct repo *repo = registry_find(registry, row.items[table->repository]);
        if (repo && strv_has(&repo->models, row.items[table->model]))
            add_history_row(table, &row, repo, &columns[repo - registry->repos], sink);
    }
    return got == 0;
}

static bool read_table(const char *bytes, size_t count, const struct registry *registry,
                       const struct sink *sink, struct err *err)
{
    struct csv_reader reader;
    csv_start(&reader, bytes, count);
    struct table table = {0};
    struct columns *columns = mem_array(registry->repo_count, sizeof *columns);
    bool ok = read_history_header(&reader, &table, err) &&
              read_history_rows(&reader, &table, registry, columns, sink, err);
    EACH (column, columns, registry->repo_count)
        free(column->of_param);
    free(columns);
    strv_fini(&table.header);
    return ok;
}

/* Relative to the settings file, then to the working folder. NULL: in neither place. */
static char *find_file(const struct settings *settings, const struct plan_options *options,
                       const char *given)
{
    if (settings->file) {
        AUTO_FREE char *folder = fs_dirname(settings->file);
        AUTO_FREE char *base = fs_resolve(options->cwd, folder, NULL);
        AUTO_FREE char *beside = fs_resolve(base, given, options->home);
        if (access(beside, F_OK) == 0)
            return steal_ptr(beside);
    }
    AUTO_FREE char *here = fs_resolve(options->cwd, given, options->home);
    return access(here, F_OK) == 0 ? steal_ptr(here) : NULL;
}

void history_read(const struct settings *settings, const struct registry *registry,
                  const struct plan_options *options, struct seen *seen, struct expected *expected,
                  struct problems *problems)
{
    const struct sink sink = {seen, expected};
    for (size_t i = 0; i < settings->historical_csvs.count; i++) {
        const char *given = settings->historical_csvs.items[i];
        AUTO_FREE char *place = json_path_index("$.historical_csvs", i);
        AUTO_FREE char *path = find_file(settings, options, given);
        if (!path) {
            problems_add(problems, SEVERITY_WARNING, &settings->doc, place,
                         "the history '%s' is not there: nothing of it can be avoided", given);
            continue;
        }
        AUTO_TEXT struct text bytes = {0};
        struct err err = {0};
        if (!fs_read(path, MOST_BYTES, &bytes, &err))
            problems_add(problems, SEVERITY_ERROR, &settings->doc, place,
                         "the history cannot be read: %s", err.text);
        else if (!read_table(text_get(&bytes), bytes.length, registry, &sink, &err))
            problems_add(problems, SEVERITY_ERROR, &settings->doc, place,
                         "the history %s is broken: %s", path, err.text);
    }
}

/* ---- How long experiments may be expected to take. */

void expected_fini(struct expected *expected)
{
    EACH (group, expected->groups, expected->count)
        free(group->context);
    free(expected->groups);
    *expected = (struct expected){0};
}

static struct expected_group *find_expected_group(const struct expected *expected,
                                                  const char *context)
{
    EACH (group, expected->groups, expected->count)
        if (strcmp(group->context, context) == 0)
            return group;
    return NULL;
}

void expected_add(struct expected *expected, const char *context, double duration_s,
                  struct reading epochs)
{
    struct expected_group *group = find_expected_group(expected, context);
    if (!group) {
        expected->groups = mem_room(expected->groups, expected->count, sizeof *expected->groups);
        group = &expected->groups[expected->count++];
        *group = (struct expected_group){.context = mem_strdup(context)};
    }
    group->sum_s += duration_s;
    group->count++;
    if (!epochs.valid)
        return;
    group->sum_epoch_s += duration_s / epochs.value;
    group->epoch_count++;
}

struct reading expected_of(const struct expected *expected, const char *context,
                           struct reading epochs)
{
    const struct expected_group *group = find_expected_group(expected, context);
    if (!group)
        return (struct reading){0};
    if (epochs.valid && group->epoch_count > 0)
        return (struct reading){group->sum_epoch_s / (double)group->epoch_count * epochs.value,
                                true};
    return (struct reading){group->sum_s / (double)group->count, true};
}

struct reading expected_epochs(const struct value *value)
{
    double number = value->kind == VALUE_INT     ? (double)value->integer
                    : value->kind == VALUE_FLOAT ? value->real
                                                 : 0;
    return (struct reading){number > 0 ? number : 0, number > 0};
}
