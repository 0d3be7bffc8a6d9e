#include "results/judge/mlflow.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "results/store/history.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "results/judge/mlflow_item.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Says that a folder was made by an export, and of which runs: {"kind": "mlflow", "runs": {name:
 * key}}. */
#define RECORD ".tare-export.json"
#define KIND   "mlflow"

enum { RECORD_MAX_BYTES = 16 << 20, EVENT_MAX_BYTES = 16 << 20 };

/* Identifies the run in a folder: a run of this program (own) by its first event, wherever the
 * folder is, any other by its path. */
static void find_run_key(const char *path, bool own, char out[DIGEST_HEX + 1])
{
    AUTO_TEXT struct text line = {0};
    AUTO_FREE char *real = realpath(path, NULL);
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = dir < 0 || !own ? -1 : fs_open_at(dir, "events.jsonl", NULL);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file) {
        steal_fd(&fd);
        if (fs_read_line(file, EVENT_MAX_BYTES, &line) <= 0)
            text_clear(&line);
        fclose(file);
    }
    if (line.length == 0)
        text_add(&line, real ? real : path);
    struct digest digest = digest_of(text_get(&line), line.length);
    digest_print(&digest, out);
}

static bool is_empty(int dir)
{
    AUTO_DIR DIR *stream = fs_list(dir, ".");
    bool empty = stream != NULL;
    for (struct dirent *entry; empty && (entry = readdir(stream));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

/* What the folder says of itself; NULL: it is not what this export wrote. */
static json_t *read_record(int dir)
{
    struct err ignored;
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    if (!fs_read_at(dir, RECORD, RECORD_MAX_BYTES, &text, &ignored) ||
        !json_doc_parse(RECORD, text_get(&text), text.length, &doc, &ignored))
        return NULL;
    const char *said = json_get_text(doc.root, "kind");
    bool ours =
        said && strcmp(said, KIND) == 0 && json_is_object(json_object_get(doc.root, "runs"));
    return ours ? json_incref(doc.root) : NULL;
}

/* Each run's name once: it is the name of a folder or an experiment there. */
static bool note_runs(const struct dataset *dataset, const char *folder,
                      const struct mlflow_source *runs, bool force, json_t *record, struct err *err)
{
    json_t *known = json_object_get(record, "runs"), *now = json_object();
    bool ok = true;
    for (size_t i = 0; i < dataset->folder_count && ok; i++) {
        const char *name = runs[i].name, *before = json_string_value(json_object_get(known, name));
        if (json_object_get(now, name))
            ok = err_set(err,
                         "two of the folders are called %s: export each into a folder of its own",
                         name);
        else if (before && strcmp(before, runs[i].key) != 0 && !force)
            ok = err_set(err,
                         "%s has another run called %s already: nothing was written; export this "
                         "one into another "
                         "folder, or replace that one with --force",
                         folder, name);
        json_object_set_new(now, name, json_string(runs[i].key));
    }
    json_object_update(known, now);
    json_decref(now);
    return ok;
}

/* The folder, open, when it may be written: -1, and err. */
static int open_place(const struct dataset *dataset, const char *folder,
                      const struct mlflow_source *runs, bool force, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_CLOSE int dir = fs_make_path(folder, 0777, err);
    if (dir < 0)
        return -1;
    json_t *record = read_record(dir);
    if (!record && !force && !is_empty(dir)) {
        err_set(err,
                "%s is there already and is not what --mlflow wrote: nothing was written; name a "
                "new folder, or add to it "
                "with --force",
                folder);
        return -1;
    }
    if (!record)
        record =
            json_pack("{s:s, s:s, s:{}}", "comment",
                      "what the export of tare wrote here and may replace: runs, and who they are",
                      "kind", KIND, "runs");
    bool ok = note_runs(dataset, folder, runs, force, record, err);
    json_print_pretty(record, &text);
    json_decref(record);
    /* First of all, so that what an interrupted export wrote is known as its own. */
    ok = ok && (fs_write_atomic(dir, RECORD, text_get(&text), text.length, err) ||
                err_wrap(err, "%s", folder));
    return ok ? steal_fd(&dir) : -1;
}

static void find_times(struct mlflow_item *item)
{
    const struct dataset_experiment *experiment = item->experiment;
    item->end_ns = experiment->has_end ? dataset_end_utc_ns(item->dataset, experiment) : 0;
    bool counts = experiment->duration_s.valid && experiment->duration_s.value >= 0 &&
                  experiment->duration_s.value < 1e9;
    item->start_ns = experiment->has_start ? experiment->start_utc_ns : item->end_ns;
    if (!experiment->has_start && counts && item->end_ns)
        item->start_ns -= (int64_t)(experiment->duration_s.value * (double)NS_PER_S);
}

/* Its id; "ID_2" for the second that a folder has. seen: how often each was there. */
static char *own_id(const struct dataset_experiment *experiment, json_t *seen)
{
    AUTO_FREE char *name = mlflow_name(experiment->id),
                   *key = mem_printf("%zu/%s", experiment->folder, name);
    json_int_t before = json_integer_value(json_object_get(seen, key));
    json_object_set_new(seen, key, json_integer(before + 1));
    return before ? mem_printf("%s_%lld", name, (long long)before + 1) : steal_ptr(name);
}

static struct mlflow_source *find_runs(const struct dataset *dataset)
{
    struct mlflow_source *runs = mem_array(dataset->folder_count + 1, sizeof *runs);
    for (size_t i = 0; i < dataset->folder_count; i++) {
        AUTO_FREE char *base = fs_basename(dataset->folders[i].path);
        runs[i].name = mlflow_name(base);
        find_run_key(dataset->folders[i].path, dataset->folders[i].layout == DATASET_TARE,
                     runs[i].key);
    }
    EACH (experiment, dataset->items, dataset->count) {
        struct mlflow_source *run = &runs[experiment->folder];
        int64_t end_ns = experiment->has_end ? dataset_end_utc_ns(dataset, experiment) : 0;
        if (end_ns && (!run->first_ns || end_ns < run->first_ns))
            run->first_ns = end_ns;
        if (end_ns > run->last_ns)
            run->last_ns = end_ns;
    }
    return runs;
}

/* What is written where, and the curve of the experiment that is read. */
struct writing {
    const struct dataset *dataset;
    const struct mlflow_source *runs;
    int dir;
    json_t *seen;
    bool *done; /* each experiment's */
    size_t written;
    size_t first; /* experiment of the folder */
    size_t index; /* of the experiment that the points are of; the dataset's count: of none */
    struct mlflow_point *points;
    size_t point_count;
};

static bool write_one(struct writing *writing, size_t index, struct err *err)
{
    const struct dataset_experiment *experiment = &writing->dataset->items[index];
    if (writing->done[index] || (!experiment->judged && !experiment->has_end))
        return true; /* not that, or it is planned, or runs */
    struct mlflow_item item = {.dataset = writing->dataset,
                               .experiment = experiment,
                               .run = &writing->runs[experiment->folder],
                               .id = own_id(experiment, writing->seen),
                               .points = writing->points,
                               .point_count = writing->point_count};
    find_times(&item);
    bool ok = mlflow_item_write(writing->dir, &item, err);
    writing->done[index] = true;
    writing->written += ok;
    free(item.id);
    return ok;
}

/* They come by experiment, attempt, metric and step: when the next experiment's begin, one is
 * complete. */
static bool flush_points(struct writing *writing, struct err *err)
{
    bool ok = writing->index == writing->dataset->count || write_one(writing, writing->index, err);
    writing->index = writing->dataset->count;
    writing->point_count = 0;
    return ok;
}

static void add_point(struct writing *writing, const struct dataset_experiment *experiment,
                      const struct history_point *point)
{
    size_t metric = 0;
    while (metric < experiment->metric_count &&
           strcmp(experiment->metrics[metric].name, point->metric) != 0)
        metric++;
    if (metric == experiment->metric_count || point->attempt != experiment->attempt)
        return; /* of an earlier attempt, whose figures are nobody's */
    bool timed = point->seconds.valid && fabs(point->seconds.value) < 1e9 && experiment->has_start;
    int64_t since_ns = timed ? (int64_t)(point->seconds.value * (double)NS_PER_S) : 0;
    MEM_ADD(writing->points, writing->point_count) =
        (struct mlflow_point){metric, point->step,
                              timed ? experiment->start_utc_ns + since_ns
                                    : dataset_end_utc_ns(writing->dataset, experiment),
                              point->value};
}

static bool take_point(void *context, const struct history_point *point, struct err *err)
{
    struct writing *writing = context;
    const struct dataset *dataset = writing->dataset;
    size_t index = writing->first + point->number - 1;
    /* Rows that were left out were before it, or its run went on since the dataset was read. */
    for (size_t left = dataset->left_out;
         index >= dataset->count ||
         dataset->items[index].folder != dataset->items[writing->first].folder ||
         strcmp(dataset->items[index].id, point->id) != 0;
         index--, left--)
        if (left == 0 || index == writing->first)
            return true;
    if (index != writing->index && !flush_points(writing, err))
        return false;
    writing->index = index;
    add_point(writing, &dataset->items[index], point);
    return true;
}

/* The experiments of a folder, which begin at first: those with curves as these are read, then the
 * others. */
static bool write_folder(struct writing *writing, size_t folder, size_t first, size_t end,
                         struct err *err)
{
    const struct dataset *dataset = writing->dataset;
    writing->first = first;
    writing->index = dataset->count;
    if (dataset->folders[folder].layout == DATASET_TARE && end > first &&
        (!history_each(dataset->folders[folder].path, take_point, writing, err) ||
         !flush_points(writing, err)))
        return false;
    for (size_t i = first; i < end; i++)
        if (!write_one(writing, i, err))
            return false;
    return true;
}

static bool write_folders(struct writing *writing, struct err *err)
{
    const struct dataset *dataset = writing->dataset;
    for (size_t folder = 0, first = 0, end; folder < dataset->folder_count; folder++, first = end) {
        for (end = first; end < dataset->count && dataset->items[end].folder == folder;)
            end++;
        if (!write_folder(writing, folder, first, end, err))
            return false;
    }
    return true;
}

bool mlflow_write(const struct dataset *dataset, const char *folder, bool force, size_t *written,
                  struct err *err)
{
    struct mlflow_source *runs = find_runs(dataset);
    AUTO_CLOSE int dir = open_place(dataset, folder, runs, force, err);
    struct writing writing = {.dataset = dataset, .runs = runs, .dir = dir};
    writing.seen = json_object();
    writing.done = mem_array(dataset->count + 1, sizeof *writing.done);
    bool ok = dir >= 0 && (write_folders(&writing, err) || err_wrap(err, "%s", folder));
    *written = writing.written;
    json_decref(writing.seen);
    free(writing.done);
    free(writing.points);
    EACH (run, runs, dataset->folder_count)
        free(run->name);
    free(runs);
    return ok;
}
