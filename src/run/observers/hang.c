/* A training without a sign of life: writes its stack to hang_stack.txt and stops it
 * (docs/reference/running.md). */
#include "machine/contain/enter.h"
#include "machine/contain/prove.h"
#include "plan/command.h"
#include "run/lane.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* A polling loop uses less. */
static const double CPU_SHARE = 0.05;

/* A GPU that drives a screen uses less. */
static const double GPU_PERCENT = 1;

/* This program was stopped: output may be unread. */
static const int64_t LATE_NS = 5 * NS_PER_S;

enum {
    DUMP_US = 10000000,
    DUMPS_MAX = 8,
    THREADS_MAX = 256,
    TEXT_MAX = 1 << 20,
    LINES_BYTES = 16384
};

struct hang {
    int64_t quiet_ns, ticked_ns; /* 0: not watched */
    uint64_t bytes;
    double cpu_s;
    bool gpu_known;
    bool blind_reported;
    bool dumping;
    int out;
    struct job_member members[ATTEMPT_MEMBERS_MAX];
    size_t count, next, dumped;
    char *py_spy; /* NULL: not found */
    pid_t pid;
    int pidfd;
    struct step_source source, deadline;
};

LANE_STATE(hang_of, struct hang, hang_observer);

static void init_hang(struct lane *lane)
{
    hang_of(lane)->out = hang_of(lane)->pidfd = -1;
}

/* Kills and reaps the dump and its children. -1: it took too long. */
static int end_dump(struct hang *hang)
{
    siginfo_t info = {0};
    step_cancel(&hang->source);
    step_cancel(&hang->deadline);
    if (hang->pid <= 0)
        return -1;
    bool ended = waitid(P_PID, (id_t)hang->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                 info.si_pid == hang->pid;
    kill(-hang->pid, SIGKILL); /* not reaped: the number is still valid */
    kill(hang->pid, SIGKILL);  /* not reaped; its group may not exist yet */
    while (waitid(P_PID, (id_t)hang->pid, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    attempt_close_fd(&hang->pidfd);
    hang->pid = 0;
    return ended && info.si_code == CLD_EXITED ? info.si_status : -1;
}

static void drop_dump(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    end_dump(hang);
    attempt_close_fd(&hang->out);
    free(steal_ptr(hang->py_spy));
    hang->dumping = false;
    hang->quiet_ns = 0;
}

/* A partial dump is better than none. */
static void write_dump(const struct hang *hang, const char *bytes, size_t count)
{
    if (hang->out >= 0)
        fs_write_all(hang->out, bytes, count, NULL);
}

static void add_kernel_file(struct text *text, const char *path, const char *label)
{
    AUTO_TEXT struct text content = {0};
    struct err err = {0};
    bool got = fs_read_kernel(AT_FDCWD, path, LINES_BYTES, &content, &err);
    size_t length = content.length;
    const char *bytes = text_get(&content);
    while (length > 0 && bytes[length - 1] == '\n')
        length--;
    text_addf(text, "    %s: ", label);
    if (!got)
        text_addf(text, "not to be read (%s)", strerror(err.code ? err.code : EACCES));
    for (size_t i = 0; got && i < length; i++) {
        text_add_char(text, bytes[i]);
        if (bytes[i] == '\n')
            text_add(text, "      ");
    }
    text_add_char(text, '\n');
}

static void add_thread(struct text *text, pid_t pid, pid_t thread)
{
    static const char *const names[] = {"comm", "wchan", "syscall", "stack"};
    text_addf(text, "  thread %d\n", (int)thread);
    EACH_OF (name, names) {
        AUTO_FREE char *path = mem_printf("/proc/%d/task/%d/%s", (int)pid, (int)thread, *name);
        add_kernel_file(text, path, *name);
    }
}

static void add_threads(struct text *text, const struct job_member *member)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/task", (int)member->pid);
    AUTO_DIR DIR *dir = fs_list(AT_FDCWD, path);
    pid_t thread;
    size_t count = 0;
    text_addf(text, "process %d %s (state %c)\n", (int)member->pid, member->command, member->state);
    while (dir && count < THREADS_MAX && text->length < TEXT_MAX &&
           (thread = proc_next_pid(dir)) > 0) {
        add_thread(text, member->pid, thread);
        count++;
    }
}

static char *find_py_spy(const struct lane *lane)
{
    const struct plan_job *job = lane->attempt.plan;
    const char *path = strv_env_get(lane->runner->request->environment, "PATH");
    const char *slash = job->argv.count ? strrchr(job->argv.items[0], '/') : NULL;
    AUTO_STRV struct strv folders = {0};
    if (slash && job->argv.items[0][0] == '/')
        strv_add_owned(&folders,
                       mem_strndup(job->argv.items[0], (size_t)(slash - job->argv.items[0])));
    strv_add_all(&folders, &job->path_prepend);
    for (const char *at = path; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL)
        strv_add_owned(&folders, mem_strndup(at, strcspn(at, ":")));
    EACH (item, folders.items, folders.count) {
        AUTO_FREE char *file = mem_printf("%s/py-spy", *item);
        if (file[0] == '/' && access(file, X_OK) == 0)
            return steal_ptr(file);
    }
    return NULL;
}

static bool runs_python(const struct job_member *member)
{
    char target[4096];
    AUTO_FREE char *path = mem_printf("/proc/%d/exe", (int)member->pid);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(target, '/');
    return name && strncmp(name + 1, "python", 6) == 0;
}

/* In the job's pid namespace. */
static pid_t inner_pid(pid_t pid)
{
    char bytes[4096];
    size_t depth;
    pid_t inner;
    AUTO_FREE char *path = mem_printf("/proc/%d/status", (int)pid);
    ssize_t count = proc_read_at(AT_FDCWD, path, bytes, sizeof bytes);
    return count > 0 && proc_status_nspid(bytes, (size_t)count, &depth, &inner) ? inner : pid;
}

static void finish_dump(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    struct attempt *attempt = &lane->attempt;
    struct text text = {0};
    char duration[32];
    if (!hang->py_spy)
        text_add(&text, "py-spy was not found beside the training's interpreter nor in PATH: no "
                        "Python stack.\n");
    text_add(&text, "\nWhat the kernel tells of each thread (/proc/PID/task/TID):\n");
    for (size_t i = 0; i < hang->count && i < ATTEMPT_MEMBERS_MAX && text.length < TEXT_MAX; i++)
        add_threads(&text, &hang->members[i]);
    write_dump(hang, text_get(&text), text.length);
    text_fini(&text);
    bool kept = hang->out >= 0, gpu_known = hang->gpu_known;
    drop_dump(lane);
    clock_format_duration(lane->runner->plan->limits.hang_s, duration);
    attempt_set_detail(attempt,
                       mem_printf("hung: no log line%sless than %g %% of a CPU for %s%s; %s",
                                  gpu_known ? ", no GPU use and " : " and ", 100 * CPU_SHARE,
                                  duration, gpu_known ? "" : " (GPU use is not measured here)",
                                  kept ? "its stack is in " HANG_STACK_NAME
                                       : HANG_STACK_NAME " could not be written"));
    lane_stop_attempt(lane, STOP_HUNG);
}

static void next_dump(struct lane *lane);

static void handle_dump_end(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    int code = end_dump(hang);
    AUTO_FREE char *said =
        code == 0
            ? NULL
            : mem_printf(
                  "py-spy ended with %d (kernel.yama.ptrace_scope above 0 forbids it to look)\n",
                  code);
    if (said)
        write_dump(hang, said, strlen(said));
    next_dump(lane);
}

static void stop_late_dump(struct lane *lane)
{
    static const char said[] = "py-spy was ended after 10 s\n";
    end_dump(hang_of(lane));
    write_dump(hang_of(lane), said, sizeof said - 1);
    next_dump(lane);
}

static bool start_dump(struct lane *lane, const struct job_member *member, struct err *err)
{
    struct hang *hang = hang_of(lane);
    AUTO_STRV struct strv argv = {0};
    strv_add(&argv, hang->py_spy);
    strv_add(&argv, "dump");
    strv_add(&argv, "--pid");
    strv_add_owned(&argv, mem_printf("%d", (int)inner_pid(member->pid)));
    struct job_look look = {
        .argv = &argv, .env = lane->runner->request->environment, .cwd = "/", .out = hang->out};
    hang->pid = job_enter(lane->attempt.job, &look, &hang->pidfd, err);
    if (hang->pid <= 0)
        return false;
    int code = step_on_input(lane, &hang->source, hang->pidfd, handle_dump_end);
    if (code >= 0)
        code = step_on_time(lane, &hang->deadline, DUMP_US, stop_late_dump);
    if (code >= 0)
        return true;
    end_dump(hang);
    return err_set(err, "cannot watch it (error %d)", -code);
}

static void next_dump(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    while (hang->py_spy && hang->out >= 0 && hang->next < hang->count &&
           hang->next < ATTEMPT_MEMBERS_MAX && hang->dumped < DUMPS_MAX) {
        const struct job_member *member = &hang->members[hang->next++];
        struct err err = {0};
        if (!runs_python(member))
            continue;
        hang->dumped++;
        AUTO_FREE char *head = mem_printf("\n%s dump of process %d %s:\n", hang->py_spy,
                                          (int)member->pid, member->command);
        write_dump(hang, head, strlen(head));
        if (start_dump(lane, member, &err))
            return;
        AUTO_FREE char *why = mem_printf("not started: %s\n", err.text);
        write_dump(hang, why, strlen(why));
    }
    finish_dump(lane);
}

static void dump_stack(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    struct attempt *attempt = &lane->attempt;
    struct err err = {0};
    hang->dumping = true;
    hang->next = hang->dumped = 0;
    hang->count = job_members(attempt->job, hang->members, ATTEMPT_MEMBERS_MAX);
    hang->py_spy = find_py_spy(lane);
    hang->out = fs_create_at(attempt->folder, HANG_STACK_NAME, &err);
    if (hang->out < 0)
        lane_note(lane, "%s", err.text);
    const struct placeholder_place place = attempt_place(attempt);
    AUTO_FREE char *command = plan_job_shell(attempt->plan, &place);
    AUTO_FREE char *head =
        mem_printf("%s, attempt %lld: no sign of life for %g s\n%s\n", lane->experiment->id,
                   (long long)attempt->number, lane->runner->plan->limits.hang_s, command);
    write_dump(hang, head, strlen(head));
    next_dump(lane);
}

static void note_life(struct hang *hang, int64_t now_ns)
{
    hang->quiet_ns = now_ns;
    hang->gpu_known = false;
}

static void check_for_hang(struct lane *lane)
{
    struct hang *hang = hang_of(lane);
    struct attempt *attempt = &lane->attempt;
    double limit_s = lane->runner->plan->limits.hang_s;
    int64_t now_ns = clock_monotonic_ns();
    if (limit_s <= 0 || lane->phase != PHASE_RUNNING || hang->dumping || !attempt->log)
        return;
    attempt_update_usage(attempt);
    if (!attempt->usage.has_cpu) {
        if (!hang->blind_reported)
            lane_note(lane, "hang_after cannot be checked: the CPU time of the job is not known");
        hang->blind_reported = true;
        return;
    }
    uint64_t bytes = joblog_totals(attempt->log).bytes;
    double quiet_s = ns_to_s(now_ns - hang->quiet_ns);
    bool late = now_ns - hang->ticked_ns > LATE_NS;
    hang->ticked_ns = now_ns;
    if (hang->quiet_ns == 0 || late || bytes != hang->bytes ||
        attempt->usage.cpu_s - hang->cpu_s > CPU_SHARE * quiet_s) {
        hang->bytes = bytes;
        hang->cpu_s = attempt->usage.cpu_s;
        note_life(hang, now_ns);
    } else if (quiet_s >= limit_s) {
        dump_stack(lane);
    }
}

/* Ignores samples from before the last sign of life. */
static void note_gpu_activity(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct hang *hang = hang_of(lane);
    struct reading busy = sample->readings.of[GPU_UTILISATION_PERCENT];
    (void)label;
    if (hang->quiet_ns == 0 || hang->dumping || !busy.valid || sample->t_ns < hang->quiet_ns)
        return;
    if (busy.value > GPU_PERCENT)
        note_life(hang, clock_monotonic_ns());
    hang->gpu_known = true;
}

static void note_mark_activity(struct lane *lane, const struct mark *mark)
{
    (void)mark;
    if (hang_of(lane)->quiet_ns && !hang_of(lane)->dumping)
        note_life(hang_of(lane), clock_monotonic_ns());
}

const struct observer hang_observer = {
    .size = sizeof(struct hang),
    .init = init_hang,
    .fini = drop_dump,
    .begin = drop_dump,
    .tick = check_for_hang,
    .stop = drop_dump,
    .mark = note_mark_activity,
    .sample = note_gpu_activity,
};
