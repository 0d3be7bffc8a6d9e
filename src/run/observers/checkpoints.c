/* Finds attempts that read an older checkpoint, and so may report another model's metrics. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "run/lane.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* Limits of a scan: data folders have millions of files, network disks are slow. */
enum { FILES_MAX = 256, ENTRIES_MAX = 20000, DEPTH_MAX = 8, NAMED = 3 };
static const int64_t SCAN_NS = 100 * NS_PER_MS;

/* CLOCK_REALTIME_COARSE stamps files up to this much too early. */
static const int64_t FILE_CLOCK_NS = 10 * NS_PER_MS;

struct checkpoint {
    char *path;
    int watch;
    int64_t written_ns;
    bool rewritten, was_read; /* in this attempt; rewritten: the training's own */
};

struct checkpoints {
    int notify;
    struct checkpoint files[FILES_MAX];
    size_t count, entries;
    bool cut_short;
    int64_t start_ns, give_up_ns; /* CLOCK_REALTIME; CLOCK_MONOTONIC */
};

struct old_checkpoints {
    struct checkpoints *checkpoints; /* NULL: not watched */
};

LANE_STATE(old_checkpoints_of, struct old_checkpoints, checkpoints_observer);

static bool has_ending(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && endings[i]; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static bool contains_word(const char *path, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcasestr(path, words[i]))
            return true;
    return false;
}

static const char *const model_words[] = {"model", "checkpoint", "ckpt", "weight", "best",
                                          "last",  "epoch",      "save", NULL};

/* Data shares some endings: then the path must name a model. */
static bool is_checkpoint_path(const char *path)
{
    static const char *const certain[] = {".pt", ".pth", ".ckpt", ".safetensors", NULL};
    static const char *const data_too[] = {".h5", ".hdf5", ".keras", ".pkl", ".bin", ".npz", NULL};
    return has_ending(path, certain) ||
           (has_ending(path, data_too) && contains_word(path, model_words));
}

/* Trained weights, by the path: the first experiment also makes data, caches and downloads. */
static bool is_surely_checkpoint(const char *path)
{
    static const char *const weights[] = {".pth", ".ckpt", ".safetensors", NULL};
    static const char *const others[] = {"data",     "cache", "processed", "feature", "embed",
                                         "vocab",    "token", "stats",     "split",   "pretrain",
                                         "download", "hub",   "imagenet",  NULL};
    static const char *const nets[] = {"net", "cnn", NULL};
    return !contains_word(path, others) &&
           (has_ending(path, weights) || contains_word(path, model_words) ||
            contains_word(path, nets));
}

static void add_checkpoint_file(struct checkpoints *checkpoints, const char *root, const char *path,
                                const struct stat *status)
{
    int64_t written_ns = status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;
    if (written_ns >= checkpoints->start_ns)
        return;
    if (checkpoints->count == FILES_MAX) {
        checkpoints->cut_short = true;
        return;
    }
    AUTO_FREE char *whole = mem_printf("%s/%s", root, path);
    int watch = inotify_add_watch(checkpoints->notify, whole,
                                  IN_CLOSE_NOWRITE | IN_MODIFY | IN_DONT_FOLLOW);
    if (watch >= 0)
        checkpoints->files[checkpoints->count++] =
            (struct checkpoint){.path = mem_strdup(path), .watch = watch, .written_ns = written_ns};
}

/* Owns folder. Skips hidden folders (.git, .venv) and runs of this program. */
static void find_checkpoints_in(struct checkpoints *checkpoints, const char *root,
                                const char *below, int folder, int depth)
{
    AUTO_CLOSE int own = folder;
    if (depth > 0 && faccessat(own, "run.lock", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    AUTO_DIR DIR *dir = fs_list(own, ".");
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        if (checkpoints->entries++ >= ENTRIES_MAX ||
            clock_monotonic_ns() > checkpoints->give_up_ns) {
            checkpoints->cut_short = true;
            break;
        }
        bool folder_maybe = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        AUTO_FREE char *path = mem_printf("%s%s%s", below, *below ? "/" : "", entry->d_name);
        if (entry->d_name[0] == '.' || (!folder_maybe && !is_checkpoint_path(path)) ||
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
            find_checkpoints_in(
                checkpoints, root, path,
                openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                depth + 1);
        else if (S_ISREG(status.st_mode) && is_checkpoint_path(path))
            add_checkpoint_file(checkpoints, root, path, &status);
    }
}

static void free_checkpoints(struct lane *lane)
{
    struct checkpoints *checkpoints = old_checkpoints_of(lane)->checkpoints;
    if (!checkpoints)
        return;
    EACH (file, checkpoints->files, checkpoints->count)
        free(file->path);
    close(checkpoints->notify);
    free(steal_ptr(old_checkpoints_of(lane)->checkpoints));
}

/* Before the job is born, because it takes time. */
static void watch_checkpoints(struct lane *lane)
{
    struct old_checkpoints *old = old_checkpoints_of(lane);
    const struct plan_job *job = lane->attempt.plan;
    int notify = job->rules.reads_checkpoints ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    free_checkpoints(lane);
    if (notify < 0)
        return;
    old->checkpoints = mem_alloc(sizeof *old->checkpoints);
    *old->checkpoints = (struct checkpoints){.notify = notify,
                                             .start_ns = clock_realtime_ns(),
                                             .give_up_ns = clock_monotonic_ns() + SCAN_NS};
    find_checkpoints_in(old->checkpoints, job->cwd, "",
                        open(job->cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
}

static void handle_file_event(struct checkpoints *checkpoints, const struct inotify_event *event)
{
    EACH (file, checkpoints->files, checkpoints->count) {
        if (file->watch != event->wd)
            continue;
        file->rewritten = file->rewritten || (event->mask & IN_MODIFY);
        file->was_read = file->was_read || ((event->mask & IN_CLOSE_NOWRITE) && !file->rewritten);
    }
}

static void read_file_events(struct checkpoints *checkpoints)
{
    _Alignas(struct inotify_event) char buffer[4096];
    ssize_t got;
    while ((got = read(checkpoints->notify, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            handle_file_event(checkpoints, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
}

/* Files that were read before they were rewritten; the caller frees. NULL: none. */
static char *read_since(struct checkpoints *checkpoints)
{
    struct text text = {0};
    size_t count = 0;
    if (!checkpoints)
        return NULL;
    read_file_events(checkpoints);
    EACH (file, checkpoints->files, checkpoints->count) {
        if (!file->was_read || count++ >= NAMED)
            continue;
        char age[32];
        AUTO_FREE char *path = utf8_line(file->path);
        clock_format_duration(ns_to_s(checkpoints->start_ns - file->written_ns), age);
        text_addf(&text, "%s%s, written %s before the attempt",
                  count > 1 ? "; " : "read while it ran: ", path, age);
    }
    if (count > NAMED)
        text_addf(&text, "; and %zu more", count - NAMED);
    return count ? text_take(&text) : NULL;
}

static bool has_job_in(const struct plan_experiment *experiment, const char *folder)
{
    return strcmp(experiment->foreground.cwd, folder) == 0 ||
           (experiment->parallel && strcmp(experiment->background->cwd, folder) == 0);
}

/* The experiment whose last attempt ran here when the file was written. It must have ended: one
 * that runs may be the reader. NULL: none. */
static const struct plan_experiment *find_writer(const struct lane *lane, int64_t written_ns)
{
    const struct runner *runner = lane->runner;
    for (size_t i = 0; i < runner->plan->count; i++) {
        const struct plan_experiment *experiment = &runner->plan->experiments[i];
        const struct store_attempt *last = &store_experiment(runner->request->store, i + 1)->last;
        bool before = last->started && last->ended_realtime_ns > 0 &&
                      last->ended_realtime_ns <= old_checkpoints_of(lane)->checkpoints->start_ns;
        if (before && i + 1 != lane->experiment->number && written_ns <= last->ended_realtime_ns &&
            written_ns >= last->started_realtime_ns - FILE_CLOCK_NS &&
            has_job_in(experiment, lane->attempt.plan->cwd))
            return experiment;
    }
    return NULL;
}

static void record_shared(struct lane *lane)
{
    const struct checkpoints *checkpoints = old_checkpoints_of(lane)->checkpoints;
    EACH (file, checkpoints->files, checkpoints->count) {
        const struct plan_experiment *writer = file->was_read && is_surely_checkpoint(file->path)
                                                   ? find_writer(lane, file->written_ns)
                                                   : NULL;
        if (!writer)
            continue;
        AUTO_FREE char *path = utf8_line(file->path);
        lane_add_evidence(lane, "shared_checkpoint", "%s was read, which %s wrote", path,
                          writer->id);
        return;
    }
}

static json_t *report_old_checkpoints(struct lane *lane)
{
    bool *said = &lane->runner->checkpoints_reported;
    struct checkpoints *checkpoints = old_checkpoints_of(lane)->checkpoints;
    if (checkpoints && checkpoints->cut_short && !*said) {
        *said = true;
        lane_add_evidence(lane, "checkpoints_not_checked",
                          "more than %d files below the working folder, or a slow disk",
                          ENTRIES_MAX);
    }
    AUTO_FREE char *old = lane->outcome == OUTCOME_SUCCEEDED ? read_since(checkpoints) : NULL;
    if (old)
        lane_add_evidence(lane, "old_checkpoint", "%s", old);
    if (old)
        record_shared(lane);
    return NULL;
}

const struct observer checkpoints_observer = {
    .size = sizeof(struct old_checkpoints),
    .fini = free_checkpoints,
    .prepare = watch_checkpoints,
    .end = report_old_checkpoints,
    .recorded = free_checkpoints,
};
