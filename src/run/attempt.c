#include "base/fs_path.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"
#include "machine/contain/usage.h"
#include "measure/marks/mark_fifo.h"
#include "run/observers/gpu_memory.h"

#include "base/mem.h"
#include "machine/contain/guardian.h"
#include "machine/state/state.h"
#include "run/aftermath.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { DRAIN_READS_MAX = 16, PIPE_BYTES = 1 << 20 };

static const char log_name[] = "training.log";
static const char times_name[] = "training.times.csv";
static const char fifo_name[] = "marks.fifo";
static const char loops_name[] = "background_logs";
#define LOOP_LOG_FORMAT "training_%lld.log" /* as the study named it */

static const char *const attempt_files[] = {log_name,      times_name,      "energy", loops_name,
                                            SNAPSHOT_NAME, HANG_STACK_NAME, NULL};

void attempt_init(struct attempt *attempt, const struct plan_experiment *experiment, int64_t number)
{
    *attempt = (struct attempt){.experiment = experiment,
                                .number = number,
                                .folder = -1,
                                .pipe = -1,
                                .log_fd = -1,
                                .times_fd = -1};
    attempt->plan = experiment ? &experiment->foreground : NULL;
}

void attempt_init_loop(struct attempt *attempt, const struct plan_experiment *experiment,
                       int64_t number, int64_t loop)
{
    attempt_init(attempt, experiment, number);
    attempt->plan = experiment->background;
    attempt->loop = loop;
}

void attempt_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void attempt_fini(struct attempt *attempt)
{
    job_free(attempt->job);
    ledger_free(attempt->ledger);
    joblog_free(attempt->log);
    mark_fifo_free(attempt->fifo);
    marks_fini(&attempt->marks);
    attempt_close_fd(&attempt->pipe);
    attempt_close_fd(&attempt->log_fd);
    attempt_close_fd(&attempt->times_fd);
    attempt_close_fd(&attempt->folder);
    free(attempt->detail);
    free(attempt->log_held);
    free(attempt->place_id);
    free(attempt->place_dir);
    attempt_init(attempt, NULL, 0);
}

void attempt_set_detail(struct attempt *attempt, char *detail)
{
    free(attempt->detail);
    attempt->detail = detail;
}

void attempt_forget_job(const struct run_request *request, const struct job *job)
{
    if (request->guardian)
        guardian_release(request->guardian, job_identity(job));
    if (request->state)
        state_job_gone(request->state, job_identity(job));
}

static bool move_to_earlier(const struct attempt *attempt, const char *name, int *earlier,
                            struct err *err)
{
    char folder[40];
    struct stat status;
    snprintf(folder, sizeof folder, "attempt_%lld", (long long)(attempt->number - 1));
    if (fstatat(attempt->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (*earlier < 0)
        *earlier = fs_make_dir_at(attempt->folder, folder, 0777, err);
    if (*earlier < 0)
        return false;
    return renameat(attempt->folder, name, *earlier, name) == 0 ||
           err_sys(err, "move %s to %s", name, folder);
}

static bool move_earlier_files(const struct attempt *attempt, struct err *err)
{
    AUTO_CLOSE int earlier = -1;
    for (size_t i = 0; attempt_files[i]; i++)
        if (!move_to_earlier(attempt, attempt_files[i], &earlier, err))
            return false;
    return move_to_earlier(attempt, placeholder_folder(false), &earlier, err) &&
           move_to_earlier(attempt, placeholder_folder(true), &earlier, err);
}

bool attempt_make_folder(struct attempt *attempt, int run_dir, struct err *err)
{
    const char *id = attempt->experiment->id;
    attempt->folder = fs_check_name(id, err) ? fs_make_dir_at(run_dir, id, 0777, err) : -1;
    if (attempt->folder < 0)
        return false;
    if (attempt->number > 1 && !move_earlier_files(attempt, err))
        return err_wrap(err, "%s", id);
    return true;
}

/* Appends, so that a job that truncates the log does not hide it. */
static int create_log(const struct attempt *attempt, const char *name, ino_t *inode,
                      struct err *err)
{
    struct stat status = {0};
    AUTO_CLOSE int fd = fs_create_at(attempt->folder, name, err);
    if (fd < 0 || ((fcntl(fd, F_SETFL, O_APPEND) != 0 || fstat(fd, &status) != 0) &&
                   !err_sys(err, "%s", name))) {
        err_wrap(err, "%s", attempt->experiment->id);
        return -1;
    }
    *inode = status.st_ino;
    return steal_fd(&fd);
}

bool attempt_open_files(struct attempt *attempt, struct err *err)
{
    attempt->log_fd = create_log(attempt, log_name, &attempt->log_inode, err);
    attempt->times_fd =
        attempt->log_fd < 0 ? -1 : create_log(attempt, times_name, &attempt->times_inode, err);
    return attempt->times_fd >= 0;
}

static void add_file_change(const struct attempt *attempt, const char *name, ino_t inode,
                            int64_t bytes, struct text *out)
{
    struct stat status;
    bool there = fstatat(attempt->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    const char *separator = out->length ? "; " : "";
    if (!there)
        text_addf(out, "%s%s was removed", separator, name);
    else if (status.st_ino != inode)
        text_addf(out, "%s%s was replaced", separator, name);
    else if (bytes >= 0 && status.st_size != bytes)
        text_addf(out, "%s%s has %lld bytes, %lld were written", separator, name,
                  (long long)status.st_size, (long long)bytes);
}

char *attempt_log_changes(const struct attempt *attempt)
{
    AUTO_TEXT struct text text = {0};
    if (!attempt->log || attempt->log_failed)
        return NULL;
    add_file_change(attempt, log_name, attempt->log_inode,
                    (int64_t)joblog_totals(attempt->log).kept, &text);
    add_file_change(attempt, times_name, attempt->times_inode, -1, &text);
    return text.length ? text_take(&text) : NULL;
}

char *attempt_log_name(const struct attempt *attempt)
{
    if (attempt->loop == 0)
        return mem_strdup(log_name);
    return mem_printf("%s/" LOOP_LOG_FORMAT, loops_name, (long long)attempt->loop);
}

bool attempt_open_loop(struct attempt *attempt, int experiment_folder, struct err *err)
{
    char name[40];
    attempt->folder = fs_make_dir_at(experiment_folder, loops_name, 0777, err);
    snprintf(name, sizeof name, LOOP_LOG_FORMAT, (long long)attempt->loop);
    if (attempt->folder >= 0)
        attempt->log_fd = fs_create_at(attempt->folder, name, err);
    return attempt->log_fd >= 0 || err_wrap(err, "%s", attempt->experiment->id);
}

bool attempt_make_fifo(struct attempt *attempt, const struct run_request *request, struct err *err)
{
    attempt->fifo = mark_fifo_new(attempt->folder, fifo_name,
                                  request->change_user ? request->uid : (uid_t)-1, err);
    return attempt->fifo != NULL;
}

static void add_path(struct strv *env, const struct strv *prepend)
{
    if (prepend->count == 0)
        return;
    AUTO_TEXT struct text path = {0};
    const char *old = strv_env_get(env, "PATH");
    AUTO_FREE char *front = strv_join(prepend, ":");
    text_add(&path, front);
    if (old && *old)
        text_addf(&path, ":%s", old);
    strv_env_set(env, "PATH", text_get(&path));
}

struct placeholder_place attempt_place(const struct attempt *attempt)
{
    return (struct placeholder_place){.id = attempt->place_id, .dir = attempt->place_dir};
}

/* Empty for an attempt; a background loop keeps the files of earlier loops. own: the experiment's
 * folder. */
static bool make_output_folder(struct attempt *attempt, const struct run_request *request, int own,
                               const char *run_dir, struct err *err)
{
    const char *id = attempt->experiment->id, *name = placeholder_folder(attempt->loop > 0);
    AUTO_CLOSE int folder = fs_make_dir_at(own, name, 0777, err);
    if (folder < 0)
        return err_wrap(err, "%s", id);
    if (request->change_user && fchown(folder, request->uid, request->gid) != 0)
        return err_sys(err, "%s: give %s to the job's user", id, name);
    attempt->place_id = placeholder_id(id, attempt->loop > 0);
    attempt->place_dir = mem_printf("%s/%s/%s", run_dir, id, name);
    return true;
}

void attempt_remove_empty_output(const struct attempt *attempt)
{
    AUTO_CLOSE int own = attempt->folder < 0 ? -1
                                             : openat(attempt->folder, attempt->loop ? ".." : ".",
                                                      O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* fails where it holds files */
    if (own >= 0)
        (void)unlinkat(own, placeholder_folder(attempt->loop > 0), AT_REMOVEDIR);
}

static void make_job_environment(const struct attempt *attempt, const struct run_request *request,
                                 const char *run_dir, struct strv *env)
{
    const struct plan_job *job = attempt->plan;
    char number[24];
    strv_add_all(env, request->environment);
    /* Python buffers output that is not a terminal, which would delay the time stamps. */
    if (!strv_env_get(env, "PYTHONUNBUFFERED"))
        strv_env_set(env, "PYTHONUNBUFFERED", "1");
    AUTO_STRV struct strv own = {0};
    const struct placeholder_place place = attempt_place(attempt);
    placeholder_fill_env(job, &place, &own);
    strv_env_set_all(env, &own);
    if (attempt->environment)
        strv_env_set_all(env, attempt->environment);
    add_path(env, &job->path_prepend);
    snprintf(number, sizeof number, "%lld", (long long)attempt->number);
    strv_env_set(env, "TARE_RUN_DIR", run_dir);
    AUTO_FREE char *fifo = mem_printf("%s/%s/%s", run_dir, attempt->experiment->id, fifo_name);
    /* Hide the FIFO of a surrounding run, too. */
    if (attempt->fifo || strv_env_get(env, "TARE_MARKS"))
        strv_env_set(env, "TARE_MARKS", attempt->fifo ? fifo : "");
    AUTO_FREE char *snapshot =
        mem_printf("%s/%s/%s", run_dir, attempt->experiment->id, SNAPSHOT_NAME);
    if (attempt->experiment->foreground.memory_snapshot)
        strv_env_set(env, "TARE_MEMORY_SNAPSHOT", snapshot);
    strv_env_set(env, "TARE_EXPERIMENT", attempt->experiment->id);
    strv_env_set(env, "TARE_ATTEMPT", number);
    strv_env_set(env, "TARE_DIR", attempt->place_dir);
    if (attempt->ledger)
        ledger_tell_job(attempt->ledger, NULL, env);
}

bool attempt_start_job(struct attempt *attempt, const struct run_request *request,
                       const struct limits *limits, const char *run_dir, struct err *err)
{
    const struct plan_job *job = attempt->plan;
    AUTO_STRV struct strv env = {0};
    AUTO_STRV struct strv argv = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "make the log's pipe");
    attempt->pipe = ends[0];
    AUTO_CLOSE int write_end = ends[1];
    /* Only our end: programs expect theirs to block. The larger size is best effort. */
    if (fcntl(attempt->pipe, F_SETFL, O_NONBLOCK) != 0)
        return err_sys(err, "set up the log's pipe");
    (void)fcntl(attempt->pipe, F_SETPIPE_SZ, PIPE_BYTES);
    if (!gpu_memory_prepare(attempt, request, err))
        return false;
    AUTO_CLOSE int records =
        openat(request->dir, request->is_task ? "../../.." : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int own =
        openat(attempt->folder, attempt->loop ? ".." : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (records < 0 || own < 0)
        return err_sys(err, "open the run's folder");
    if (!make_output_folder(attempt, request, own, run_dir, err))
        return false;
    const struct placeholder_place place = attempt_place(attempt);
    placeholder_fill_argv(job, &place, &argv);
    make_job_environment(attempt, request, run_dir, &env);
    struct job_request start = {
        .containment = request->containment,
        .argv = &argv,
        .env = &env,
        .cwd = job->cwd,
        .stdin_fd = -1,
        .stdout_fd = write_end,
        .stderr_fd = write_end,
        .shared_fd = attempt->ledger ? ledger_fd(attempt->ledger) : 0,
        .records_fd = records,
        .own_fd = own,
        .uid = request->uid,
        .gid = request->gid,
        .change_user = request->change_user,
        .limits = limits->job,
        .own = limits->own,
        .cpus = attempt->cpus,
    };
    attempt->job = job_start(&start, err);
    return attempt->job != NULL;
}

static struct joblog_pattern *make_patterns(const struct plan_job *job, size_t *count)
{
    *count = job->metric_count + job->success.count + job->errors.count + 2 * job->mark_count +
             FAILURE_SIGNS;
    struct joblog_pattern *patterns = mem_array(*count + 1, sizeof *patterns);
    struct joblog_pattern *at = patterns;
    EACH (metric, job->metrics, job->metric_count)
        *at++ = (struct joblog_pattern){JOBLOG_METRIC, metric->name, metric->pattern};
    EACH (item, job->success.items, job->success.count)
        *at++ = (struct joblog_pattern){JOBLOG_SUCCESS, *item, *item};
    EACH (entry, job->errors.items, job->errors.count)
        *at++ = (struct joblog_pattern){JOBLOG_ERROR, *entry, *entry};
    EACH (mark, job->marks, job->mark_count) {
        if (mark->end) /* first: one line may end a mark and begin the next */
            *at++ = (struct joblog_pattern){JOBLOG_MARK_END, mark->name, mark->end};
        if (mark->start)
            *at++ = (struct joblog_pattern){JOBLOG_MARK_START, mark->name, mark->start};
    }
    for (size_t i = 0; i < FAILURE_SIGNS; i++)
        failure_get_sign(i, at++);
    *count = (size_t)(at - patterns);
    return patterns;
}

/* The command starts with a launcher of several processes. */
static bool has_launcher(const struct strv *argv)
{
    static const char *const launchers[] = {"torchrun",
                                            "mpirun",
                                            "mpiexec",
                                            "mpiexec.hydra",
                                            "srun",
                                            "accelerate",
                                            "deepspeed",
                                            "horovodrun",
                                            "torch.distributed.run",
                                            "torch.distributed.launch",
                                            "accelerate.commands.launch",
                                            NULL};
    enum { WORDS = 8 }; /* skips env, uv run, python3 -m */
    for (size_t i = 0; i < argv->count && i < WORDS; i++) {
        const char *slash = strrchr(argv->items[i], '/'),
                   *word = slash ? slash + 1 : argv->items[i];
        for (size_t k = 0; launchers[k]; k++)
            if (strcmp(word, launchers[k]) == 0)
                return true;
    }
    return false;
}

bool attempt_open_gate(struct attempt *attempt, const struct limits *limits,
                       joblog_metric_fn *metric, joblog_mark_fn *mark, void *context,
                       struct err *err)
{
    size_t count;
    AUTO_FREE struct joblog_pattern *patterns = make_patterns(attempt->plan, &count);
    attempt->start_ns = clock_monotonic_ns();
    struct joblog_options options = {
        .log_fd = attempt->log_fd,
        .times_fd = attempt->times_fd,
        .start_ns = attempt->start_ns,
        .cap_bytes = limits->log_bytes,
        .patterns = patterns,
        .pattern_count = count,
        .has_ranks = has_launcher(&attempt->plan->argv),
        .metric = metric,
        .mark = mark,
        .holds = failure_sign_matches,
        .context = context,
    };
    attempt->log = joblog_new(&options, err);
    if (!attempt->log)
        return false;
    attempt->log_fd = attempt->times_fd = -1;
    attempt->kills_known = machine_oom_kills("/proc/vmstat", &attempt->kills_before);
    attempt->gate_open = job_open_gate(attempt->job, err);
    return attempt->gate_open;
}

void attempt_read_exit(struct attempt *attempt)
{
    if (attempt->exit.ended || !attempt->job)
        return;
    attempt->exit = job_take_exit(attempt->job);
    if (!attempt->exit.ended || attempt->end_ns != 0)
        return;
    /* Prefer the init's time: this process may have been stopped since. */
    bool told = attempt->exit.end_ns >= attempt->start_ns && attempt->exit.end_ns > 0;
    attempt->end_ns = told ? attempt->exit.end_ns : clock_monotonic_ns();
}

int64_t attempt_log_now_ns(const struct attempt *attempt)
{
    return attempt->log_until_ns ? attempt->log_until_ns : clock_monotonic_ns();
}

void attempt_update_usage(struct attempt *attempt)
{
    if (!attempt->job)
        return;
    struct job_usage now = job_usage(attempt->job);
    struct job_usage *known = &attempt->usage;
    if (now.has_cpu && (!known->has_cpu || now.cpu_s > known->cpu_s)) {
        known->cpu_s = now.cpu_s;
        known->has_cpu = true;
    }
    if (now.has_thread) {
        known->command_cpu_s = now.command_cpu_s;
        known->thread_run_s = now.thread_run_s;
        known->thread_waited_s = now.thread_waited_s;
        known->has_thread = true;
    }
    if (now.has_peak_memory &&
        (!known->has_peak_memory || now.peak_memory_bytes > known->peak_memory_bytes)) {
        known->peak_memory_bytes = now.peak_memory_bytes;
        known->has_peak_memory = true;
    }
    if (now.has_processes && (!known->has_processes || now.processes > known->processes)) {
        known->processes = now.processes;
        known->has_processes = true;
    }
    if (now.oom_kills > known->oom_kills)
        known->oom_kills = now.oom_kills;
}

bool attempt_is_over_cpu_limit(struct attempt *attempt, double limit_s)
{
    if (limit_s <= 0)
        return false;
    attempt_update_usage(attempt);
    if (!attempt->usage.has_cpu || attempt->usage.cpu_s <= limit_s)
        return false;
    attempt_set_detail(attempt,
                       mem_printf("used more than its limit of %g s of CPU time", limit_s));
    return true;
}

bool attempt_is_quiet(struct attempt *attempt)
{
    struct job_member members[1];
    attempt_read_exit(attempt);
    return !attempt->job || !attempt->gate_open ||
           (attempt->exit.ended && job_members(attempt->job, members, 1) == 0);
}

void attempt_kill(struct attempt *attempt)
{
    attempt_read_exit(attempt);
    attempt_update_usage(attempt);
    if (attempt->job)
        job_kill(attempt->job);
}

bool attempt_prove(struct attempt *attempt)
{
    size_t count = 0;
    bool gone = !attempt->job ||
                job_prove_step(attempt->job, attempt->survivors, ATTEMPT_MEMBERS_MAX, &count);
    attempt->survivor_count = gone ? 0 : count;
    attempt->unproven = !gone && count == 0;
    return gone;
}

bool attempt_close_log(struct attempt *attempt)
{
    struct err err = {0};
    int64_t now_ns = attempt_log_now_ns(attempt);
    bool kept = true, at_end = !attempt->log || attempt->pipe < 0;
    /* Bounded: a foreign process may hold the pipe and write forever. */
    for (int i = 0; attempt->log && attempt->pipe >= 0 && i < DRAIN_READS_MAX; i++) {
        int got = joblog_read(attempt->log, attempt->pipe, now_ns, &err);
        at_end = got == -1;
        if (got == -2)
            kept = false;
        else if (got != 1)
            break;
    }
    /* Survivors hold it, too. */
    if (!at_end && attempt->survivor_count == 0 && !attempt->log_held)
        attempt->log_held = aftermath_log_holders(attempt->pipe);
    attempt_close_fd(&attempt->pipe);
    if (attempt->log && !joblog_end(attempt->log, now_ns, &err))
        kept = false;
    if (kept || attempt->log_failed)
        return true;
    attempt->log_failed = true;
    attempt->log_err = err;
    return false;
}

const char *attempt_setuid_hint(const struct attempt *attempt)
{
    if (!attempt->job || attempt->folder < 0 ||
        !aftermath_has_setuid_refusal(attempt->folder, log_name))
        return NULL;
    return setuid_hint(job_layers(attempt->job));
}

double attempt_duration_s(const struct attempt *attempt, bool *valid)
{
    *valid = attempt->gate_open && attempt->end_ns > 0;
    return *valid ? ns_to_s(attempt->end_ns - attempt->start_ns) : 0;
}

/* Processes that the kernel killed for lack of memory meanwhile, on the whole machine. */
static uint64_t machine_kills(const struct attempt *attempt)
{
    uint64_t now = 0;
    bool more = attempt->kills_known && machine_oom_kills("/proc/vmstat", &now) &&
                now > attempt->kills_before;
    return more ? now - attempt->kills_before : 0;
}

void attempt_blame_machine(struct attempt *attempt)
{
    const struct job_exit *exit = &attempt->exit;
    AUTO_TEXT struct text why = {0};
    if (attempt->reason != STOP_EXITED)
        return;
    if (exit->init_killed) {
        text_addf(&why, "the job's init (pid %d) was killed, and the job with it",
                  (int)job_identity(attempt->job)->pid);
        if (machine_kills(attempt) > 0)
            text_add(
                &why,
                ": probably by the kernel, which ended processes for want of memory meanwhile");
    } else if (exit->exec_failed && err_is_shortage(exit->exec_errno)) {
        text_addf(&why, "cannot run %s: %s", attempt->plan->argv.items[0],
                  strerror(exit->exec_errno));
    } else {
        return;
    }
    attempt->reason = STOP_MACHINE;
    attempt_set_detail(attempt, text_take(&why));
}

enum outcome attempt_judge(const struct attempt *attempt, const struct limits *limits, char **error,
                           struct failure *failure)
{
    size_t count = attempt->log ? joblog_result_count(attempt->log) : 0;
    AUTO_FREE const struct joblog_result **results = mem_array(count + 1, sizeof *results);
    for (size_t i = 0; i < count; i++)
        results[i] = joblog_result(attempt->log, i);
    struct joblog_words words;
    if (attempt->log)
        joblog_last_words(attempt->log, &words);
    /* An incomplete log cannot prove success. */
    bool lost = attempt->log_failed && attempt->reason == STOP_EXITED;
    struct outcome_facts facts = {
        .reason = lost ? STOP_LOG_ERROR : attempt->reason,
        .detail = attempt->log_failed ? attempt->log_err.text : attempt->detail,
        .timeout_s = attempt->experiment->timeout_s,
        .exit = attempt->exit,
        .results = results,
        .result_count = count,
        .words = attempt->log ? &words : NULL,
        .log_lines = attempt->log ? joblog_totals(attempt->log).lines : 0,
        .log_errno = attempt->log_err.code,
        .usage = attempt->usage,
        .machine_kills = machine_kills(attempt),
        .limits = limits,
    };
    enum outcome outcome = outcome_judge(attempt->plan, &facts, error);
    failure_find(attempt->plan, &facts, outcome, failure);
    return outcome;
}
