/* Writes the file of --metrics-textfile from a thread, so that a slow disk delays only it. */
#include "base/fs_path.h"
#include "session/run_session.h"

#include "base/mem.h"
#include "report/metrics.h"
#include "results/store/live.h"
#include "session/command.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* At most so long the run waits for the first writing, and for the last. */
enum { EVERY_S = 15, START_S = 2, END_S = 5 };

struct metrics_file {
    char *folder, *name, *run_dir;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t change;
    bool ending, ended; /* asked of the thread; its last writing is over */
    bool tried;         /* the first writing is over */
    struct err failure; /* of the first writing that failed; "": none did */
    bool said;          /* on standard error; of the caller's thread alone */
};

bool metrics_file_check_name(const char *path, struct err *err)
{
    AUTO_FREE char *name = fs_basename(path);
    return (text_ends_with(path, ".prom") && text_ends_with(name, ".prom")) ||
           err_set(err, "the name has to end in .prom, as node_exporter reads no other files: %s",
                   path);
}

static bool publish_metrics(const struct metrics_file *file, const struct text *text,
                            struct err *err)
{
    AUTO(fs_unfinished_drop) struct fs_unfinished made = {.dir = -1, .fd = -1};
    AUTO_CLOSE int folder = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return err_sys(err, "open %s", file->folder);
    return (fs_unfinished_begin(folder, &made, err) &&
            fs_write_all(made.fd, text_get(text), text->length, err) &&
            (fchmod(made.fd, 0644) == 0 || err_sys(err, "set its mode")) &&
            fs_unfinished_publish(&made, file->name, false, err)) ||
           err_wrap(err, "write %s/%s", file->folder, file->name);
}

/* open: whether run has been read from the start. */
static bool update_metrics_file(const struct metrics_file *file, struct live_run *run, bool *open,
                                struct err *err)
{
    AUTO_TEXT struct text text = {0};
    if (*open && !live_run_update(run, NULL, err)) {
        live_run_close(run);
        return *open = false;
    }
    *open = *open || live_run_open(file->run_dir, run, err);
    if (!*open)
        return false;
    metrics_textfile(run, &text);
    return publish_metrics(file, &text, err);
}

static void wait_until(struct metrics_file *file, int seconds, const bool *until)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    while (!*until && pthread_cond_timedwait(&file->change, &file->mutex, &end) != ETIMEDOUT)
        ;
}

static void *run_thread(void *context)
{
    struct metrics_file *file = context;
    struct live_run run = {0};
    bool open = false, last;
    pthread_mutex_lock(&file->mutex);
    do {
        last = file->ending;
        pthread_mutex_unlock(&file->mutex);
        struct err err = {0};
        bool written = update_metrics_file(file, &run, &open, &err);
        pthread_mutex_lock(&file->mutex);
        if (!written && !*file->failure.text)
            file->failure = err;
        file->tried = true;
        pthread_cond_broadcast(&file->change);
        if (!last)
            wait_until(file, EVERY_S, &file->ending);
    } while (!last);
    file->ended = true;
    pthread_cond_broadcast(&file->change);
    pthread_mutex_unlock(&file->mutex);
    if (open)
        live_run_close(&run);
    return NULL;
}

static void report_metrics_failure(struct metrics_file *file)
{
    if (*file->failure.text && !file->said)
        cli_warning("the metrics file could not be written: %s", file->failure.text);
    file->said = file->said || *file->failure.text;
}

/* Without signals: those are the loop's. */
static int start_thread(struct metrics_file *file)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&file->thread, NULL, run_thread, file);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void free_file(struct metrics_file *file)
{
    pthread_cond_destroy(&file->change);
    pthread_mutex_destroy(&file->mutex);
    free(file->folder);
    free(file->name);
    free(file->run_dir);
    free(file);
}

struct metrics_file *metrics_file_start(const char *path, const char *run_dir)
{
    pthread_condattr_t clock;
    if (!path)
        return NULL;
    struct metrics_file *file = mem_alloc(sizeof *file);
    file->folder = fs_dirname(path);
    file->name = fs_basename(path);
    file->run_dir = mem_strdup(run_dir);
    pthread_mutex_init(&file->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&file->change, &clock);
    pthread_condattr_destroy(&clock);
    int code = start_thread(file);
    if (code != 0) {
        cli_warning("there is no metrics file: start its thread: %s", strerror(code));
        free_file(file);
        return NULL;
    }
    pthread_mutex_lock(&file->mutex);
    wait_until(file, START_S, &file->tried);
    report_metrics_failure(file);
    pthread_mutex_unlock(&file->mutex);
    return file;
}

void metrics_file_end(struct metrics_file *file)
{
    if (!file)
        return;
    pthread_mutex_lock(&file->mutex);
    file->ending = true;
    pthread_cond_broadcast(&file->change);
    wait_until(file, END_S, &file->ended);
    bool ended = file->ended;
    report_metrics_failure(file);
    pthread_mutex_unlock(&file->mutex);
    if (ended) {
        pthread_join(file->thread, NULL);
        free_file(file);
    } else {
        /* It may go on with all of this: nothing is freed. */
        cli_warning("the metrics file is not of the run's end: %s/%s is not written after %d s",
                    file->folder, file->name, END_S);
        pthread_detach(file->thread);
    }
}
