#include "results/judge/study.h"
#include "base/fs_path.h"
#include "results/judge/contradictions.h"
#include "results/judge/dataset.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/power.h"
#include "results/judge/study_energy.h"
#include "results/judge/study_json.h"
#include "results/store/energy.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/mem.h"
#include "plan/config/settings.h"
#include "stats/describe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DST_S = 3600,
    JSON_LIMIT = 16 << 20,
    MOST_WORKERS = 8,
    FEW = 64,
    ZONE_S = 900,
    ZONES = 64,
    INTERVALS_LEAST = 3
};
static const double second_least = 0.75, second_most = 1.5;
static const size_t summary_limit = (size_t)256 << 20;

/* One experiment's place on the disk. */
struct place {
    bool has_folder;
    bool holds; /* the folder holds an experiment.json or an energy/ */
    int64_t zone_s;
    bool has_zone;
    struct power_energy power;
};

struct study {
    struct dataset *dataset;
    size_t folder;
    size_t first; /* the folder's experiments in the dataset begin here */
    int dir;
    struct place *places;
};

static struct reading number_cell(struct dataset_experiment *experiment, const char *name,
                                  const char *cell)
{
    struct reading out = {0};
    enum numeric_cell_kind kind = numeric_cell_read(cell, cell + strlen(cell), &out.value);
    out.valid = kind == FIGURE_IS;
    if (kind == FIGURE_BAD)
        dataset_evidence(experiment, "value_impossible", "%s in summary.csv is '%.60s'", name,
                         cell);
    return out;
}

/* As Python, C and pandas write them, in any case. In a column of results they are values; in one
 * of what a sensor read they are none. */
static bool not_finite_cell(const char *cell, struct reading *out)
{
    const char *word = cell + (*cell == '-' || *cell == '+');
    bool infinite = strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0;
    *out = (struct reading){infinite ? (*cell == '-' ? -INFINITY : INFINITY) : NAN, true};
    return infinite || strcasecmp(word, "nan") == 0;
}

static bool take_named(struct dataset_experiment *experiment, const char *name, const char *cell)
{
    if (strncmp(name, "hyperparam_", 11) == 0) {
        if (*cell)
            study_param_set(experiment, name + 11, value_parse(cell));
        return true;
    }
    if (strncmp(name, "perf_", 5) == 0) {
        struct reading special;
        if (*cell)
            study_metric_set(experiment, name + 5,
                             not_finite_cell(cell, &special) ? special
                                                             : number_cell(experiment, name, cell));
        return true;
    }
    for (int i = 0; i < RECORDED_COUNT; i++)
        if (strcmp(name, energy_column((size_t)i)) == 0) {
            experiment->recorded[i] = number_cell(experiment, name, cell);
            return true;
        }
    return false;
}

static void take_cell(struct dataset_experiment *experiment, const char *name, const char *cell)
{
    if (take_named(experiment, name, cell))
        return;
    char **text = strcmp(name, "experiment_id") == 0 ? &experiment->id
                  : strcmp(name, "repository") == 0  ? &experiment->repo
                  : strcmp(name, "model") == 0       ? &experiment->model
                                                     : NULL;
    if (text) {
        free(*text);
        *text = mem_strdup(cell);
    } else if (strcmp(name, "timestamp") == 0 && *cell) {
        experiment->has_end = dataset_parse_time(cell, &experiment->end_local_ns);
        if (!experiment->has_end)
            dataset_evidence(experiment, "value_impossible", "timestamp in summary.csv is '%.60s'",
                             cell);
    } else if (strcmp(name, "training_success") == 0) {
        experiment->success = strcasecmp(cell, "true") == 0;
        experiment->has_success = experiment->success || strcasecmp(cell, "false") == 0;
        if (!experiment->has_success && *cell)
            dataset_evidence(experiment, "value_impossible",
                             "training_success in summary.csv is '%.60s'", cell);
    } else if (strcmp(name, "duration_seconds") == 0) {
        experiment->duration_s = number_cell(experiment, name, cell);
    } else if (strcmp(name, "retries") == 0) {
        double number; /* no training is begun anew a thousand times */
        bool counts =
            number_parse(cell, &number) && number >= 0 && number < 1000 && floor(number) == number;
        experiment->retries = counts ? (int64_t)number : 0;
        if (!counts && *cell)
            dataset_evidence(experiment, "value_impossible", "retries in summary.csv is '%.60s'",
                             cell);
    } else if (strcmp(name, "mode") == 0) {
        experiment->parallel |= strcmp(cell, "parallel") == 0;
        enum mode mode;
        experiment->mode = mode_from_name(cell, &mode) ? mode_name(mode) : NULL;
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static struct dataset_experiment *add_experiment(struct study *study)
{
    struct dataset_experiment *experiment = dataset_add(study->dataset);
    experiment->folder = study->folder;
    experiment->id = mem_strdup("");
    experiment->repo = mem_strdup("");
    experiment->model = mem_strdup("");
    return experiment;
}

static void take_row(struct study *study, const struct strv *header, const struct strv *row,
                     size_t line)
{
    struct dataset_experiment *experiment = add_experiment(study);
    experiment->line = line;
    for (size_t i = 0; i < header->count && i < row->count; i++)
        take_cell(experiment, header->items[i], row->items[i]);
    experiment->parallel |= ends_with(experiment->id, "_parallel");
    if (row->count != header->count)
        dataset_evidence(experiment, "file_damaged", "line %zu of summary.csv has %zu cells of %zu",
                         line, row->count, header->count);
}

static void read_summary_rows(struct study *study, const struct text *text)
{
    struct err err;
    struct csv_reader reader;
    AUTO_STRV struct strv header = {0}, row = {0};
    struct dataset_folder *folder = &study->dataset->folders[study->folder];
    csv_start(&reader, text_get(text), text->length);
    if (csv_next(&reader, &header, &err) <= 0) {
        folder->summary_damaged = true;
        dataset_problem(study->dataset, study->folder, "summary.csv is empty or damaged");
        return;
    }
    if (!strv_has(&header, "experiment_id"))
        dataset_problem(study->dataset, study->folder, "summary.csv has no column experiment_id");
    int step;
    while ((step = csv_next(&reader, &row, &err)) > 0) {
        folder->summary_rows++;
        take_row(study, &header, &row, reader.line);
    }
    folder->summary_damaged =
        step < 0 || (text->length && text_get(text)[text->length - 1] != '\n');
    if (step < 0)
        dataset_problem(study->dataset, study->folder, "summary.csv is damaged from %s on",
                        err.text);
    else if (folder->summary_damaged)
        dataset_problem(study->dataset, study->folder,
                        "summary.csv is cut off: its last line has no end");
}

static bool read_summary(struct study *study, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct err reason = {0};
    if (fs_read_at(study->dir, "summary.csv", summary_limit, &text, &reason)) {
        study->dataset->folders[study->folder].has_summary = true;
        read_summary_rows(study, &text);
        return true;
    }
    if (reason.code == ENOENT)
        return true;
    return err_set(err, "%s: %s", study->dataset->folders[study->folder].path, reason.text);
}

bool study_read_rows(struct dataset *dataset, int dir, const char *path, struct err *err)
{
    struct study study = {.dataset = dataset, .folder = 0, .dir = dir};
    dataset->folders = mem_array(1, sizeof *dataset->folders);
    dataset->folders[dataset->folder_count++] = (struct dataset_folder){.path = mem_strdup(path)};
    return read_summary(&study, err);
}

static bool is_folder(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* All folders but hidden ones, in the order of their names. */
static void list_folders(int dir, struct strv *out)
{
    AUTO_DIR DIR *list = fs_list(dir, ".");
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.' && is_folder(dir, entry))
            strv_add(out, entry->d_name);
    strv_sort(out);
}

static bool holds_experiment(int folder)
{
    return faccessat(folder, "experiment.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           faccessat(folder, "energy", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct named {
    const char *id;
    size_t index; /* of the experiment, counted from the folder's first */
};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->id, ((const struct named *)b)->id);
}

/* Folders that hold an experiment and that no row names become experiments of their own. Gives an
 * experiment for each folder that a row names: whether those hold one is seen when they are read.
 * The caller frees it. */
static size_t *match_folders(struct study *study, const struct strv *folders, size_t *count)
{
    struct dataset *dataset = study->dataset;
    size_t rows = dataset->count - study->first;
    AUTO_FREE struct named *ids = mem_array(rows + 1, sizeof *ids);
    size_t *with_row = mem_array(folders->count + 1, sizeof *with_row);
    for (size_t i = 0; i < rows; i++)
        ids[i] = (struct named){dataset->items[study->first + i].id, i};
    qsort(ids, rows, sizeof *ids, compare_ids);
    *count = 0;
    EACH (item, folders->items, folders->count) {
        const struct named name = {.id = *item};
        const struct named *row = rows ? bsearch(&name, ids, rows, sizeof *ids, compare_ids) : NULL;
        if (row) {
            with_row[(*count)++] = row->index;
            continue;
        }
        AUTO_CLOSE int inside = fs_open_folder_beneath(study->dir, name.id);
        if (inside < 0 || !holds_experiment(inside))
            continue;
        struct dataset_experiment *experiment = add_experiment(study);
        free(experiment->id);
        experiment->id = mem_strdup(name.id);
        experiment->parallel = ends_with(name.id, "_parallel");
        dataset->folders[study->folder].without_row++;
    }
    return with_row;
}

static bool read_json(struct dataset_experiment *experiment, int dir)
{
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    if (!fs_read_at(dir, "experiment.json", JSON_LIMIT, &text, &err)) {
        dataset_evidence(experiment, "file_damaged", "%s",
                         err.code == ENOENT ? "there is no experiment.json" : err.text);
        experiment->gpu.missing |= MISSING_RECORD;
        return false;
    }
    if (!study_json_take(experiment, text_get(&text), text.length, &err))
        dataset_evidence(experiment, "file_damaged", "experiment.json: %s", err.text);
    return true;
}

static void read_experiment(struct study *study, size_t index, char *buffer)
{
    struct dataset_experiment *experiment = &study->dataset->items[study->first + index];
    struct place *place = &study->places[index];
    struct err err;
    if (*experiment->id == '\0')
        return; /* a row that names no folder */
    if (!fs_check_name(experiment->id, &err)) {
        dataset_evidence(experiment, "file_damaged", "experiment_id in summary.csv: %s", err.text);
        return;
    }
    AUTO_CLOSE int dir = fs_open_folder_beneath(study->dir, experiment->id);
    place->has_folder = dir >= 0;
    if (dir < 0)
        return;
    place->holds = read_json(experiment, dir) || holds_experiment(dir);
    if (experiment->line && !experiment->recorded_finer)
        contradictions_in_log(experiment, dir, "training.log", -1, "summary.csv");
    study_energy_read(experiment, dir, buffer, &place->zone_s, &place->has_zone, &place->power);
}

/* Each worker takes the next experiment that nobody has taken. */
struct work {
    struct study *study;
    size_t count;
    atomic_size_t next;
};

static void *work_on(void *at)
{
    struct work *work = at;
    AUTO_FREE char *buffer = mem_alloc(TRACE_BUFFER);
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->count;)
        read_experiment(work->study, i, buffer);
    return NULL;
}

/* The experiments stand still while their folders are read: no worker adds one, each writes to its
 * own. */
static void read_all(struct study *study, size_t count)
{
    pthread_t threads[MOST_WORKERS];
    struct work work = {.study = study, .count = count};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > MOST_WORKERS ? MOST_WORKERS
                    : processors > 1          ? (size_t)processors
                                              : 1,
           begun = 0;
    if (count < FEW)
        wanted = 1;
    while (begun + 1 < wanted && pthread_create(&threads[begun], NULL, work_on, &work) == 0)
        begun++;
    work_on(&work);
    EACH (thread, threads, begun)
        pthread_join(*thread, NULL);
}

/* The median of its traces' intervals; of very few traces none is learned. A monitor of a second
 * also takes the time of its query. */
static double find_interval(const struct study *study, size_t count)
{
    AUTO_FREE double *intervals = mem_array(count + 1, sizeof *intervals);
    size_t n = 0;
    EACH (place, study->places, count)
        if (place->power.interval_s.valid)
            intervals[n++] = place->power.interval_s.value;
    double interval_s = n >= INTERVALS_LEAST ? stats_median(intervals, n).value : 1;
    return interval_s > second_least && interval_s < second_most ? 1 : interval_s;
}

/* One rule for all rows of a folder: the sum of the samples, as the study recorded it, unless more
 * rows are power times seconds. At about a second both are close, and a sum that was changed may
 * look like the other. */
static void find_energy_rule(struct study *study, size_t count)
{
    struct dataset_folder *folder = &study->dataset->folders[study->folder];
    size_t sums = 0, integrals = 0;
    EACH (experiment, study->dataset->items + study->first, count) {
        sums += study_energy_is_sum(experiment);
        integrals += study_energy_is_integral(experiment);
    }
    if (integrals < INTERVALS_LEAST || integrals <= 2 * sums)
        return;
    folder->energy_integrated = true;
    folder->note = mem_printf("GPU energy is recorded as power times seconds, by a monitor of "
                              "%.3g s: its rows are checked so, not by the sum of the samples",
                              folder->interval_s);
}

/* A folder is of one machine: all its traces show which kind of sensor they are of. */
static void settle_energies(struct study *study, size_t count)
{
    struct power_rises rises = {0};
    EACH (place, study->places, count) {
        rises.sharp += place->power.rises.sharp;
        rises.gradual += place->power.rises.gradual;
    }
    enum power_sensor sensor = power_sensor_find(&rises);
    double interval_s = find_interval(study, count);
    study->dataset->folders[study->folder].interval_s = interval_s;
    for (size_t i = 0; i < count; i++)
        study_energy_settle(&study->dataset->items[study->first + i], study->places[i].power,
                            sensor, interval_s);
    find_energy_rule(study, count);
}

/* The zone that most experiments agree on. */
static void find_zone(struct study *study, size_t count)
{
    struct dataset_folder *folder = &study->dataset->folders[study->folder];
    size_t agree[2 * ZONES + 1] = {0}, most = 0;
    EACH (place, study->places, count)
        if (place->has_zone)
            agree[place->zone_s / ZONE_S + ZONES]++;
    for (size_t i = 0; i < 2 * ZONES + 1; i++)
        if (agree[i] > most) {
            most = agree[i];
            folder->zone_s = ((int64_t)i - ZONES) * ZONE_S;
            folder->has_zone = true;
        }
}

/* Samples whose times fit no other experiment's zone are not this experiment's; an hour is daylight
 * saving's. */
static void check_zones(struct study *study, size_t count)
{
    const struct dataset_folder *folder = &study->dataset->folders[study->folder];
    for (size_t i = 0; i < count; i++) {
        const struct place *place = &study->places[i];
        struct dataset_experiment *experiment = &study->dataset->items[study->first + i];
        int64_t apart_s = place->zone_s - folder->zone_s;
        if (place->has_zone && folder->has_zone && apart_s != 0 && llabs(apart_s) != DST_S)
            dataset_evidence(experiment, "duration_differs",
                             "its samples were taken about %lld minutes %s it ran, if the others' "
                             "clocks are right",
                             llabs(apart_s) / 60, apart_s > 0 ? "before" : "after");
        if (place->has_folder && !place->has_zone && experiment->gpu.samples > 0 &&
            experiment->has_end)
            dataset_evidence(experiment, "duration_differs",
                             "its samples were taken at another time than it ran");
    }
}

static void check_folders(struct study *study, size_t count)
{
    struct dataset_folder *folder = &study->dataset->folders[study->folder];
    for (size_t i = 0; i < count; i++) {
        struct dataset_experiment *experiment = &study->dataset->items[study->first + i];
        experiment->judged = true;
        if (study->places[i].has_folder)
            continue;
        folder->without_folder++;
        dataset_evidence(experiment, "value_missing", "its folder is not there");
        experiment->gpu.missing |= MISSING_ALL;
    }
}

bool read_study(struct dataset *dataset, size_t folder, int dir, struct err *err)
{
    struct study study = {
        .dataset = dataset, .folder = folder, .first = dataset->count, .dir = dir};
    AUTO_STRV struct strv folders = {0};
    size_t with_row_count;
    if (!read_summary(&study, err))
        return false;
    list_folders(dir, &folders);
    AUTO_FREE size_t *with_row = match_folders(&study, &folders, &with_row_count);
    if (!dataset->folders[folder].has_summary) {
        if (dataset->folders[folder].without_row == 0)
            return read_no_results(dataset->folders[folder].path, dir, err);
        dataset_problem(dataset, folder,
                        "there is no summary.csv: the experiments come from their folders alone");
    }
    size_t count = dataset->count - study.first;
    study.places = mem_array(count + 1, sizeof *study.places);
    read_all(&study, count);
    dataset->folders[folder].folders = dataset->folders[folder].without_row;
    EACH (item, with_row, with_row_count)
        dataset->folders[folder].folders += study.places[*item].holds;
    settle_energies(&study, count);
    find_zone(&study, count);
    check_zones(&study, count);
    check_folders(&study, count);
    free(study.places);
    return true;
}
