/* External format: CSV tables of other programs, and the JSON of hyperfine. */
#include "results/judge/plain_table.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/study_json.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "plan/config/registry.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t file_limit = (size_t)256 << 20;

/* What a column says of an experiment. */
enum role {
    ROLE_PARAM,
    ROLE_METRIC,
    ROLE_TIME,
    ROLE_ENERGY,
    ROLE_SUCCESS,
    ROLE_ID,
    ROLE_MODEL,
    ROLE_REPO,
    ROLES
};

/* Its name in --columns; the names by which a column is known, and those that need a unit to be; a
 * space on either side of each. */
static const struct {
    const char *name, *known, *with_unit;
} roles[ROLES] = {
    [ROLE_PARAM] = {"param", "", ""},
    [ROLE_METRIC] = {"metric", "", ""},
    [ROLE_TIME] = {"time", " time seconds duration runtime ",
                   " time duration runtime run_time elapsed elapsed_time wall wall_time walltime "
                   "wall_clock train_time training_time total_time execution_time "},
    [ROLE_ENERGY] = {"energy", " energy joules ",
                     " energy gpu_energy total_energy energy_total energy_consumed "
                     "consumed_energy "},
    [ROLE_SUCCESS] = {"success", " success training_success succeeded ok ", ""},
    [ROLE_ID] = {"id", " id experiment_id run_id ", ""},
    [ROLE_MODEL] = {"model", " model ", ""},
    [ROLE_REPO] = {"repository", " repository project ", ""},
};

/* A column "train_time_ms" is a time in milliseconds. */
static const struct {
    const char *names;
    enum role role;
    double scale; /* to seconds or joules */
} units[] = {
    {" s sec secs second seconds ", ROLE_TIME, 1},
    {" ms ", ROLE_TIME, 1e-3},
    {" min mins minute minutes ", ROLE_TIME, 60},
    {" h hr hrs hour hours ", ROLE_TIME, 3600},
    {" j joule joules ", ROLE_ENERGY, 1},
    {" kj ", ROLE_ENERGY, 1e3},
    {" wh ", ROLE_ENERGY, 3600},
    {" kwh ", ROLE_ENERGY, 3.6e6},
};

/* The role of a column and the factor for its numbers. */
struct column {
    enum role role;
    bool given; /* by --columns */
    double scale;
};

bool plain_table_check_columns(const struct strv *columns, struct err *err)
{
    for (size_t i = 0; columns && i < columns->count; i++) {
        size_t length = strcspn(columns->items[i], "=");
        bool known = false;
        EACH_OF (role, roles)
            known |=
                strlen(role->name) == length && strncmp(role->name, columns->items[i], length) == 0;
        if (!known || columns->items[i][length] != '=')
            return err_set(err,
                           "--columns: '%s' is not ROLE=COLUMN, with time, energy, metric, param, "
                           "success, id, model or "
                           "repository as ROLE",
                           columns->items[i]);
    }
    return true;
}

static bool is_among(const char *names, const char *name)
{
    AUTO_FREE char *word = mem_printf(" %s ", name);
    return strstr(names, word) != NULL;
}

/* "Train time [s]" as "train_time_s". */
static char *normal_name(const char *column)
{
    AUTO_TEXT struct text out = {0};
    bool apart = false;
    for (; *column; column++) {
        unsigned char byte = (unsigned char)*column;
        if (!isalnum(byte) && byte < 0x80) {
            apart = true;
            continue;
        }
        if (apart && out.length)
            text_add_char(&out, '_');
        text_add_char(&out, (char)tolower(byte));
        apart = false;
    }
    return text_take(&out);
}

/* By its name, with the unit at its end: one that is given keeps its role and takes the unit. */
static void find_unit(char *name, struct column *out)
{
    char *end = strrchr(name, '_');
    for (size_t i = 0; end && i < sizeof units / sizeof *units; i++) {
        if (!is_among(units[i].names, end + 1) || (out->given && out->role != units[i].role))
            continue;
        *end = '\0';
        if (out->given || is_among(roles[units[i].role].with_unit, name)) {
            out->role = units[i].role;
            out->scale = units[i].scale;
        }
        return;
    }
}

static struct column column_of(const char *column, const struct strv *columns)
{
    struct column out = {.role = ROLE_PARAM, .scale = 1};
    for (size_t i = 0; columns && i < columns->count; i++) {
        const char *given = strchr(columns->items[i], '=') + 1;
        for (enum role role = 0; role < ROLES && strcmp(given, column) == 0; role++)
            if (strncmp(columns->items[i], roles[role].name,
                        (size_t)(given - 1 - columns->items[i])) == 0)
                out = (struct column){role, true, 1};
    }
    AUTO_FREE char *name = normal_name(column);
    for (enum role role = 0; !out.given && role < ROLES; role++)
        if (is_among(roles[role].known, name)) {
            out.role = role;
            return out;
        }
    find_unit(name, &out);
    if (!out.given && out.role == ROLE_PARAM && goal_of_name(column) != GOAL_UNKNOWN &&
        !param_name_is_seed(column))
        out.role = ROLE_METRIC;
    return out;
}

/* Where --columns names the one of a role, others that are known by their names are parameters. Two
 * without it: false. */
static bool find_columns(const struct strv *header, const struct strv *columns, struct column *out,
                         struct err *err)
{
    size_t of[ROLES];
    for (enum role role = 0; role < ROLES; role++)
        of[role] = SIZE_MAX;
    for (size_t i = 0; i < header->count; i++) {
        out[i] = column_of(header->items[i], columns);
        if (out[i].given)
            of[out[i].role] = i;
    }
    for (size_t i = 0; i < header->count; i++) {
        enum role role = out[i].role;
        if (out[i].given || role == ROLE_PARAM || role == ROLE_METRIC)
            continue;
        if (of[role] == SIZE_MAX)
            of[role] = i;
        else if (out[of[role]].given)
            out[i] = (struct column){ROLE_PARAM, false, 1};
        else
            return err_set(err,
                           "its columns %s and %s may both be the %s; --columns %s=COLUMN "
                           "says which is",
                           header->items[of[role]], header->items[i], roles[role].name,
                           roles[role].name);
    }
    return true;
}

static struct reading number(const char *cell, double scale)
{
    struct reading out = {0};
    out.valid = numeric_cell_read(cell, cell + strlen(cell), &out.value) == FIGURE_IS;
    out.value *= scale;
    return out;
}

static struct dataset_experiment *add_experiment(struct dataset *dataset, size_t folder,
                                                 size_t line)
{
    static const enum check unchecked[] = {
        CHECK_PROCESSES_BEFORE, CHECK_PROCESSES_DURING, CHECK_PROCESSES_AFTER, CHECK_IDLE_BEFORE,
        CHECK_OTHER_CPU,        CHECK_THROTTLING,       CHECK_MEMORY_BACK,     CHECK_SAMPLING};
    struct dataset_experiment *experiment = dataset_add(dataset);
    experiment->folder = folder;
    experiment->line = line;
    experiment->repo = mem_strdup("");
    experiment->model = mem_strdup("");
    experiment->judged = experiment->has_success = experiment->success = true;
    EACH_OF (check, unchecked)
        dataset_check(experiment, *check, CHECK_NOT_MADE, DATASET_TABLE_LACKS);
    dataset->folders[folder].summary_rows++;
    return experiment;
}

static void replace(char **text, const char *by)
{
    free(*text);
    *text = mem_strdup(by);
}

static void take_energy(struct dataset_experiment *experiment, struct reading energy)
{
    experiment->gpu.energy_j = experiment->recorded[RECORDED_GPU_TOTAL] = energy;
    if (energy.valid)
        experiment->gpu.source = experiment->gpu.window_from = "table";
}

static void take_cell(struct dataset_experiment *experiment, const struct column *is,
                      const char *column, const char *cell)
{
    if (*cell == '\0')
        return;
    switch (is->role) {
    case ROLE_PARAM:
        study_param_set(experiment, column, value_parse(cell));
        break;
    case ROLE_METRIC:
        study_metric_set(experiment, column, number(cell, 1));
        break;
    case ROLE_TIME:
        experiment->duration_s = number(cell, is->scale);
        break;
    case ROLE_ENERGY:
        take_energy(experiment, number(cell, is->scale));
        break;
    case ROLE_SUCCESS:
        experiment->success =
            strcasecmp(cell, "true") == 0 || strcmp(cell, "1") == 0 || strcasecmp(cell, "yes") == 0;
        break;
    case ROLE_ID:
        replace(&experiment->id, cell);
        break;
    case ROLE_MODEL:
        replace(&experiment->model, cell);
        break;
    case ROLE_REPO:
        replace(&experiment->repo, cell);
        break;
    case ROLES:
        break;
    }
}

/* Once for the table: how it was read, and what it lacks. */
static void note(struct dataset *dataset, size_t folder, const char *file,
                 const struct strv names[ROLES])
{
    AUTO_TEXT struct text read = {0}, lacking = {0};
    for (enum role role = 0; role < ROLES; role++) {
        AUTO_FREE char *list = strv_join(&names[role], ", ");
        if (*list)
            text_addf(&read, "%s%s %s", read.length ? "; " : "", roles[role].name, list);
        else if (role == ROLE_TIME || role == ROLE_ENERGY || role == ROLE_METRIC ||
                 role == ROLE_SUCCESS)
            text_addf(&lacking, "%s%s", lacking.length ? ", " : "", roles[role].name);
    }
    dataset->folders[folder].note =
        mem_printf("%s: read by its columns: %s%s%s (--columns ROLE=COLUMN,... says otherwise)",
                   file, text_get(&read), lacking.length ? "; without " : "", text_get(&lacking));
}

static bool take_csv(struct dataset *dataset, size_t folder, const char *file,
                     const struct text *text, struct err *err)
{
    struct csv_reader reader;
    AUTO_STRV struct strv header = {0}, row = {0};
    struct strv names[ROLES] = {0};
    csv_start(&reader, text_get(text), text->length);
    int step = csv_next(&reader, &header, err);
    if (step <= 0)
        return step < 0 ? false : err_set(err, "it is empty");
    AUTO_FREE struct column *are = mem_array(header.count + 1, sizeof *are);
    bool known = find_columns(&header, dataset->columns, are, err);
    for (size_t i = 0; known && i < header.count; i++)
        strv_add(&names[are[i].role], header.items[i]);
    for (size_t i = 0; known && dataset->columns && i < dataset->columns->count; i++)
        if (!strv_has(&header, strchr(dataset->columns->items[i], '=') + 1))
            known = err_set(err, "it has no column for --columns %s", dataset->columns->items[i]);
    if (known && !names[ROLE_TIME].count && !names[ROLE_ENERGY].count && !names[ROLE_METRIC].count)
        known = err_set(err, "no column of it is known to be a time, an energy or a metric; "
                             "--columns time=COLUMN says "
                             "which is");
    while (known && (step = csv_next(&reader, &row, err)) > 0) {
        struct dataset_experiment *experiment = add_experiment(dataset, folder, reader.line);
        experiment->id = mem_printf("line %zu", reader.line);
        for (size_t i = 0; i < header.count && i < row.count; i++)
            take_cell(experiment, &are[i], header.items[i], row.items[i]);
        if (row.count != header.count)
            dataset_evidence(experiment, "file_damaged", "line %zu of %s has %zu cells of %zu",
                             reader.line, file, row.count, header.count);
    }
    if (known && step < 0)
        dataset_problem(dataset, folder, "%s is damaged from %s on", file, err->text);
    if (known)
        note(dataset, folder, file, names);
    EACH_OF (list, names)
        strv_fini(list);
    return known;
}

/* One command of hyperfine: each of its times is a run. */
static void take_command(struct dataset *dataset, size_t folder, json_t *result)
{
    const char *command = json_string_value(json_object_get(result, "command"));
    json_t *times = json_object_get(result, "times"),
           *codes = json_object_get(result, "exit_codes");
    for (size_t i = 0; i < json_array_size(times); i++) {
        struct dataset_experiment *experiment = add_experiment(dataset, folder, 0);
        const json_t *code = json_array_get(codes, i);
        const char *name;
        json_t *value;
        replace(&experiment->repo, command ? command : "");
        experiment->id = mem_printf("%s run %zu", command ? command : "", i + 1);
        experiment->duration_s = (struct reading){json_number_value(json_array_get(times, i)),
                                                  json_is_number(json_array_get(times, i))};
        experiment->success = !json_is_integer(code) || json_integer_value(code) == 0;
        json_object_foreach(json_object_get(result, "parameters"), name,
                            value) if (json_is_string(value))
            study_param_set(experiment, name, value_parse(json_string_value(value)));
    }
}

static bool take_hyperfine(struct dataset *dataset, size_t folder, const char *file,
                           const struct text *text, struct err *err)
{
    json_error_t where;
    json_auto_t *whole = json_load_bounded(text_get(text), text->length, 0, &where);
    json_t *results = json_object_get(whole, "results"), *result;
    size_t i;
    if (!json_is_array(results) ||
        !json_is_array(json_object_get(json_array_get(results, 0), "times")))
        return err_set(err, "it is not hyperfine's JSON: there are no times of results");
    json_array_foreach(results, i, result) take_command(dataset, folder, result);
    dataset->folders[folder].note =
        mem_printf("%s: times of hyperfine; without energy, metric", file);
    return true;
}

bool plain_table_parse(struct dataset *dataset, size_t folder, const char *file,
                       const struct text *text, struct err *err)
{
    const char *at = text_get(text) + strspn(text_get(text), " \t\r\n");
    return *at == '{' ? take_hyperfine(dataset, folder, file, text, err)
                      : take_csv(dataset, folder, file, text, err);
}

bool read_plain_table(struct dataset *dataset, size_t folder, int dir, const char *file,
                      struct err *err)
{
    AUTO_TEXT struct text text = {0};
    if (!fs_read_at(dir, file, file_limit, &text, err))
        return false;
    return plain_table_parse(dataset, folder, file, &text, err) ||
           err_wrap(err, "%s", dataset->folders[folder].path);
}

bool plain_table_is(int dir, const char *file)
{
    AUTO_TEXT struct text text = {0};
    AUTO_STRV struct strv header = {0};
    struct csv_reader reader;
    struct err ignored;
    if (!fs_read_at(dir, file, file_limit, &text, &ignored))
        return false;
    csv_start(&reader, text_get(&text), text.length);
    return csv_next(&reader, &header, &ignored) > 0 && !strv_has(&header, "experiment_id");
}
