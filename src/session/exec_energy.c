/* Counts the energy and GPU memory of the command that tare exec runs. */
#include "base/clock.h"
#include "base/fs_output.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "machine/contain/job.h"
#include "machine/contain/usage.h"
#include "machine/gpu/ledger.h"
#include "measure/marks/mark_fifo.h"
#include "plan/config/size.h"
#include "session/command.h"
#include "session/energy_text.h"
#include "session/exec_job.h"
#include "session/gpus.h"
#include "session/message.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool exec_gpu_memory_wanted(const struct exec_gpu_memory *memory)
{
    return memory->limit_text || memory->track || memory->trace;
}

bool exec_gpu_memory_prepare(struct exec_gpu_memory *memory, struct strv *environment,
                             struct err *err)
{
    struct gpu_limit limit = {0};
    if (!exec_gpu_memory_wanted(memory))
        return true;
    if (memory->limit_text && !gpu_limit_parse(memory->limit_text, &limit, err))
        return err_wrap(err, "--gpu-memory-limit");
    if (!gpus_run_cuda(environment, NULL, err))
        return err_wrap(
            err, "%s", memory->limit_text ? "--gpu-memory-limit" : "GPU memory cannot be followed");
    AUTO_FREE char *library = gpus_preload_library(err);
    memory->ledger = library ? ledger_new(library, &limit, err) : NULL;
    if (!memory->ledger)
        return err_wrap(err, "GPU memory cannot be followed");
    char folder[PATH_MAX];
    AUTO_FREE char *trace =
        memory->trace && memory->trace[0] != '/' && getcwd(folder, sizeof folder)
            ? mem_printf("%s/%s", folder, memory->trace)
            : mem_strdup(memory->trace);
    ledger_tell_job(memory->ledger, trace, environment);
    return true;
}

int exec_gpu_memory_fd(const struct exec_gpu_memory *memory)
{
    return memory->ledger ? ledger_fd(memory->ledger) : 0;
}

json_t *exec_gpu_memory_json(const struct exec_gpu_memory *memory)
{
    return memory->ledger ? ledger_json(memory->ledger) : NULL;
}

void exec_gpu_memory_show(const struct exec_gpu_memory *memory)
{
    struct ledger_sum sum;
    if (!memory->ledger)
        return;
    ledger_read(memory->ledger, &sum);
    if (sum.attached == 0) {
        cli_note("GPU memory: no process of the command asked the CUDA driver for any%s",
                 memory->limit_text
                     ? "; one that is linked statically or setuid would not be held to the limit"
                     : "");
        return;
    }
    cli_note("GPU memory: at most %.1f MiB allocated on one GPU by %llu process%s",
             (double)sum.live_peak / 1048576, (unsigned long long)sum.attached,
             sum.attached == 1 ? "" : "es");
    if (memory->limit_text)
        cli_note("GPU memory: limit %s, %llu request%s refused", memory->limit_text,
                 (unsigned long long)sum.refused, sum.refused == 1 ? "" : "s");
    if (memory->limit_text && sum.context_assumed)
        cli_note("GPU memory: the driver did not tell what the CUDA context holds: it was assumed");
}

void exec_gpu_memory_fini(struct exec_gpu_memory *memory)
{
    ledger_free(memory->ledger);
    memory->ledger = NULL;
}

#define VARIABLE  "TARE_MARKS"
#define FIFO_NAME "marks"
#define PREFIX    TARE_NAME "-exec-"

enum { DRAIN_READS_MAX = 16 };

struct exec_marks {
    char *folder;
    int dir;
    struct mark_fifo *fifo;
    struct marks marks;
    struct measuring *measuring; /* while it takes */
};

static int open_marks_folder(int parent, const char *path)
{
    return openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Of an exec that was killed: whoever lives holds the lock. Only this user's own are checked. */
static void remove_stale(int parent, const char *name)
{
    AUTO_CLOSE int dir = open_marks_folder(parent, name);
    struct stat status;
    if (dir < 0 || fstat(dir, &status) != 0 || status.st_uid != geteuid() ||
        (status.st_mode & 0077) != 0 || flock(dir, LOCK_EX | LOCK_NB) != 0)
        return;
    mark_fifo_remove(dir, FIFO_NAME);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_all_stale(const char *path)
{
    AUTO_CLOSE int parent = open_marks_folder(AT_FDCWD, path);
    AUTO_DIR DIR *listing = parent >= 0 ? fs_list(parent, ".") : NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            remove_stale(parent, entry->d_name);
}

/* Another exec may take a folder that is not locked yet for a stale one: then it is made anew. */
static bool make_locked(struct exec_marks *marks, const char *parent)
{
    for (int tries = 0; tries < 10; tries++) {
        AUTO_FREE char *path = mem_printf("%s/" PREFIX "XXXXXX", parent);
        struct stat status;
        if (!mkdtemp(path))
            return false;
        AUTO_CLOSE int dir = open_marks_folder(AT_FDCWD, path);
        if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) != 0 || fstat(dir, &status) != 0 ||
            status.st_nlink == 0)
            continue;
        marks->folder = steal_ptr(path);
        marks->dir = steal_fd(&dir);
        return true;
    }
    errno = EAGAIN;
    return false;
}

/* No other user may be able to rename what we make there, or a job that writes marks would write to
 * a file of their choice: su keeps XDG_RUNTIME_DIR and TMPDIR of the previous user. */
static bool is_safe_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0) &&
           (!(status.st_mode & (S_IWGRP | S_IWOTH)) || (status.st_mode & S_ISVTX));
}

/* The user's own folder of this login, else beside other temporary files. */
static bool make_folder(struct exec_marks *marks, const struct strv *environment, struct err *err)
{
    static const char *const names[] = {"XDG_RUNTIME_DIR", "TMPDIR", NULL};
    for (size_t i = 0;; i++) {
        const char *parent = names[i] ? strv_env_get(environment, names[i]) : "/tmp";
        if (parent && parent[0] == '/' && (!names[i] || is_safe_folder(parent))) {
            remove_all_stale(parent);
            if (make_locked(marks, parent))
                return true;
        }
        if (!names[i])
            return err_sys(err, "make a folder for marks in %s", parent);
    }
}

/* Removes FIFO and folder; NULL: nothing. */
static void exec_marks_free(struct exec_marks *marks)
{
    if (!marks)
        return;
    mark_fifo_free(marks->fifo);
    if (marks->dir >= 0)
        close(marks->dir);
    if (marks->folder)
        rmdir(marks->folder);
    marks_fini(&marks->marks);
    free(marks->folder);
    free(marks);
}

/* Makes it in a folder of its own and names it in environment. NULL with an empty err: the
 * environment names one already, of the run that this is a part of, and marks are that one's. */
static struct exec_marks *exec_marks_new(struct strv *environment, struct err *err)
{
    const char *other = strv_env_get(environment, VARIABLE);
    if (other && *other)
        return NULL;
    struct exec_marks *marks = mem_alloc(sizeof *marks);
    *marks = (struct exec_marks){.dir = -1};
    if (make_folder(marks, environment, err))
        marks->fifo = mark_fifo_new(marks->dir, FIFO_NAME, (uid_t)-1, err);
    if (!marks->fifo) {
        exec_marks_free(marks);
        return NULL;
    }
    AUTO_FREE char *path = mem_printf("%s/" FIFO_NAME, marks->folder);
    strv_env_set(environment, VARIABLE, path);
    return marks;
}

int exec_marks_fd(const struct exec_marks *marks)
{
    return marks ? mark_fifo_fd(marks->fifo) : -1;
}

static void add_exec_mark(void *context, const struct mark *mark)
{
    struct exec_marks *marks = context;
    if (!measuring_mark_step(marks->measuring, mark) &&
        marks_take(&marks->marks, mark, clock_monotonic_ns()) == MARK_TAKEN)
        measuring_mark(marks->measuring, mark);
}

/* Hands on what has come. last: no more will. */
static void exec_marks_take(struct exec_marks *marks, struct measuring *measuring, bool last)
{
    if (!marks || !measuring)
        return;
    int64_t now_ns = clock_monotonic_ns();
    marks->measuring = measuring;
    bool all = mark_fifo_read(marks->fifo, now_ns, add_exec_mark, marks);
    /* Bounded: a process that is none of the command's may write for ever. */
    for (int i = 0; last && !all && i < DRAIN_READS_MAX; i++)
        all = mark_fifo_read(marks->fifo, now_ns, add_exec_mark, marks);
    if (last)
        mark_fifo_end(marks->fifo, add_exec_mark, marks);
    marks_clear(&marks->marks);
}

/* What was left out, in words, or NULL; fresh. */
static char *exec_marks_doubt(const struct exec_marks *marks)
{
    uint64_t refused = marks ? mark_fifo_refused(marks->fifo) : 0,
             limited = marks ? marks->marks.counts.limited : 0;
    if (refused == 0 && limited == 0)
        return NULL;
    if (limited == 0)
        return mem_printf("%llu lines in $" VARIABLE " were no marks", (unsigned long long)refused);
    return mem_printf("%llu marks too many were left out, and %llu lines in $" VARIABLE
                      " were none",
                      (unsigned long long)limited, (unsigned long long)refused);
}

void exec_energy_prepare(struct exec_energy *energy, struct strv *environment)
{
    struct err err = {0};
    if (!energy->energy_meters)
        return;
    energy->marks = exec_marks_new(environment, &err);
    if (err.text[0])
        cli_warning("no $TARE_MARKS, so nothing can be marked: %s", err.text);
}

void exec_energy_begin(struct exec_energy *energy, struct job *job)
{
    struct err err = {0};
    if (!energy->energy_meters)
        return;
    energy->measuring = measuring_new(energy->energy_meters, &err);
    if (energy->measuring)
        measuring_begin(energy->measuring, &(struct measuring_subject){.job = job_identity(job)});
    else
        cli_warning("energy is not measured: %s", err.text);
}

void exec_energy_step(struct exec_energy *energy)
{
    if (!energy->measuring)
        return;
    exec_marks_take(energy->marks, energy->measuring, false);
    measuring_step(energy->measuring);
}

void exec_energy_end(struct exec_energy *energy, struct job *job, int64_t end_ns)
{
    if (!energy->measuring)
        return;
    struct job_usage usage = job_usage(job);
    exec_marks_take(energy->marks, energy->measuring, true);
    measuring_end(energy->measuring, &usage, end_ns);
}

static bool write_figures_json(const char *path, json_t *json)
{
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    json_print_taken(json, &text);
    bool written = fs_write_output(path, text_get(&text), text.length, &err);
    if (!written)
        cli_warning("the figures are not kept: %s", err.text);
    return written;
}

static json_t *with_section(json_t *json, json_t *gpu_memory)
{
    if (gpu_memory)
        json_object_set_new(json, "gpu_memory", gpu_memory);
    return json;
}

void exec_energy_show(struct exec_energy *energy, json_t *gpu_memory)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *doubt = exec_marks_doubt(energy->marks);
    AUTO(measured_fini) struct measured measured = {0};
    /* A command that could not be started has drawn nothing. */
    if (!(energy->measuring && measuring_has_ended(energy->measuring))) {
        if (energy->json_path && gpu_memory)
            write_figures_json(energy->json_path, with_section(json_object(), gpu_memory));
        else
            json_decref(gpu_memory);
        return;
    }
    measuring_finish(energy->measuring, &measured);
    struct energy_page page = {.measured = &measured,
                               .options = energy->energy_meters,
                               .until = "until the command ended"};
    if (doubt)
        strv_add(&measured.notes, doubt);
    if (!energy->json_path)
        json_decref(gpu_memory);
    /* A disk that is full by now does not take with it what was measured. */
    if (!energy->json_path ||
        !write_figures_json(energy->json_path, with_section(energy_text_json(&page), gpu_memory))) {
        text_add_char(&text, '\n');
        energy_text(&page, &text);
        message_print_aside(&text);
    }
}

void exec_energy_fini(struct exec_energy *energy)
{
    measuring_free(energy->measuring);
    exec_marks_free(energy->marks);
    energy->measuring = NULL;
    energy->marks = NULL;
}
