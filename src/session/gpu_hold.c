#include "session/gpu_hold.h"
#include "base/fs_path.h"
#include "machine/contain/job.h"

#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/time_scale.h"
#include "session/command.h"
#include "session/gpus.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* Runs within runs within runs. */
enum { PASSED_MAX = 16 };

static const char holder_variable[] = "TARE_GPU_HOLDER";

/* Between two looks at a lock that somebody holds. */
static const int64_t POLL_NS = NS_PER_S / 2;

/* How long one holder is waited for: a run, and whatever else has the lock. */
static const double RUN_LIMIT_S = 7.0 * 24 * 3600, STRANGER_LIMIT_S = 600;

const char *const gpu_hold_modes[] = {"wait", "refuse", "off", NULL};

struct gpu_hold {
    struct gpu_lock_folder folder;
    struct gpu_devices devices;
    bool *used;              /* for each device */
    const char *unchosen;    /* the variable that is not set, and there are several GPUs; or NULL */
    struct gpu_locks *locks; /* NULL: none could be taken */
    const char *doubt_kind;  /* of evidence; NULL: the locks are good */
    char *doubt;
    struct gpu_holder self;
    struct gpu_holder passed[PASSED_MAX];
    size_t passed_count;
};

enum gpu_hold_mode gpu_hold_mode_parse(const char *name)
{
    enum gpu_hold_mode mode = GPU_HOLD_WAIT;
    while (mode < GPU_HOLD_OFF && strcmp(name, gpu_hold_modes[mode]) != 0)
        mode++;
    return mode;
}

void gpu_hold_end(struct gpu_hold *hold)
{
    if (!hold)
        return;
    gpu_locks_free(hold->locks);
    free(hold->doubt);
    gpu_lock_folder_fini(&hold->folder);
    gpu_devices_fini(&hold->devices);
    free(hold->used);
    free(hold);
}

void gpu_hold_set_run(struct gpu_hold *hold, const char *run_dir)
{
    if (!hold || !hold->locks)
        return;
    AUTO_FREE char *cwd = get_current_dir_name();
    AUTO_FREE char *absolute = fs_resolve(cwd, run_dir, NULL);
    gpu_holder_set_run(&hold->self, absolute);
    gpu_locks_sign(hold->locks, &hold->self);
}

struct run_gpu_locks gpu_hold_of_run(const struct gpu_hold *hold)
{
    if (!hold)
        return (struct run_gpu_locks){0};
    return (struct run_gpu_locks){
        .locks = hold->locks, .kind = hold->doubt_kind, .text = hold->doubt};
}

void gpu_hold_tell_jobs(const struct gpu_hold *hold, struct strv *environment)
{
    AUTO_TEXT struct text names = {0};
    if (!hold || !hold->locks)
        return;
    gpu_holder_print_names(&hold->self, 1, &names);
    if (hold->passed_count) {
        text_add_char(&names, ',');
        gpu_holder_print_names(hold->passed, hold->passed_count, &names);
    }
    strv_env_set(environment, holder_variable, text_get(&names));
}

static char *name_held_gpu(const struct gpu_hold *hold, const char *label)
{
    for (size_t i = 0; i < hold->devices.count; i++)
        if (strcmp(gpu_lock_label(&hold->devices.items[i]), label) == 0)
            return gpus_name(&hold->devices, i);
    return mem_strdup(label);
}

/* "GPU 0 (...) is held by process 12 ..." */
static char *describe_conflict(const struct gpu_hold *hold,
                               const struct gpu_lock_conflict *conflict)
{
    AUTO_FREE char *name = name_held_gpu(hold, conflict->label);
    AUTO_FREE char *holder =
        gpus_holder_text(conflict, &hold->self, clock_realtime_ns() / NS_PER_S);
    return mem_printf("%s is held by %s%s%s%s", name, holder, hold->unchosen ? " (" : "",
                      hold->unchosen ? hold->unchosen : "",
                      hold->unchosen ? " is not set, so all GPUs are needed)" : "");
}

/* What was last said while waiting. */
struct said {
    int64_t since_ns;
    bool held; /* somebody else had one */
    char *label;
    struct gpu_holder holder;
    /* a holder that has not signed yet was seen: it has until the next look */
    bool unknown;
    /* this run holds it, or something that is no run does; 0: nobody was seen yet */
    int64_t holder_since_ns;
    bool of_run;
};

/* How long it may be waited for, of which so much is over. A lock that goes from one stranger to
 * another is one wait. */
static double limit_s(const struct gpu_lock_conflict *conflict, struct said *said, double *waited_s)
{
    double scale = 1;
    int64_t now_ns = clock_monotonic_ns();
    bool same = said->held && said->of_run == conflict->has_holder &&
                (!said->of_run || (said->holder.pid == conflict->holder.pid &&
                                   said->holder.start_time == conflict->holder.start_time));
    if (!same)
        said->holder_since_ns = now_ns;
    said->of_run = conflict->has_holder;
    time_scale_read(getenv(TIME_SCALE_VARIABLE), &scale, NULL);
    *waited_s = (double)(now_ns - said->holder_since_ns) / 1e9;
    return (said->of_run ? RUN_LIMIT_S : STRANGER_LIMIT_S) * scale;
}

static void print_conflict_once(const struct gpu_hold *hold,
                                const struct gpu_lock_conflict *conflict, struct said *said)
{
    said->held = true;
    bool same_gpu = said->label && strcmp(said->label, conflict->label) == 0;
    const struct gpu_holder *before = &said->holder, *now = &conflict->holder;
    if (same_gpu && before->pid == now->pid && before->start_time == now->start_time)
        return;
    bool unsigned_before = said->unknown;
    said->unknown = !conflict->has_holder;
    if (said->unknown && !unsigned_before)
        return;
    AUTO_FREE char *text = describe_conflict(hold, conflict);
    cli_note("%s; waiting for it", text);
    free(said->label);
    said->label = mem_strdup(conflict->label);
    said->holder = conflict->holder;
}

static int next_signal(const sigset_t *set, int64_t timeout_ns)
{
    struct timespec wait = {.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S};
    int signal_number = sigtimedwait(set, NULL, &wait);
    return signal_number > 0 ? signal_number : 0;
}

/* The first that ends the waiting, or 0. */
static int ending_signal(const struct gpu_hold_options *options, const sigset_t *blocked,
                         int64_t timeout_ns)
{
    int signal_number = next_signal(blocked, timeout_ns);
    return signal_number == SIGHUP && options->keeps_on_hangup ? 0 : signal_number;
}

/* unshared: there is just no place where users meet; else somebody has put something in the way. */
static void doubt(struct gpu_hold *hold, bool unshared, const char *text)
{
    hold->doubt_kind = unshared ? "gpu_lock_unshared" : "gpu_lock_untrusted";
    free(hold->doubt);
    hold->doubt = mem_strdup(text);
}

static int not_had(struct gpu_hold *hold, const struct gpu_hold_options *options, bool unshared,
                   const struct err *err)
{
    if (options->asked) {
        cli_error("the GPU cannot be locked: %s%s", err->text,
                  unshared ? "" : " ('sudo " TARE_NAME " doctor' sets the locks up)");
        return options->failed;
    }
    cli_warning("the GPU is not locked, another run may use it meanwhile: %s%s", err->text,
                unshared ? "" : " ('sudo " TARE_NAME " doctor' sets the locks up)");
    AUTO_FREE char *text = mem_printf("the GPU is not locked: %s", err->text);
    doubt(hold, unshared, text);
    return 0;
}

/* The waiting has come to its limit. */
static int waited_enough(const struct gpu_hold *hold, const struct gpu_hold_options *options,
                         const struct gpu_lock_conflict *conflict, double waited_s)
{
    char waited[32];
    AUTO_FREE char *text = describe_conflict(hold, conflict);
    clock_format_duration(waited_s, waited);
    cli_error(
        "%s, %s; waited for it for %s, and nothing was run (--gpu-lock off runs without the lock)",
        text, conflict->has_holder ? "still" : "which is no run of " TARE_NAME, waited);
    return options->failed;
}

static void print_hold_begin(const struct said *said)
{
    char waited[32];
    clock_format_duration((double)(clock_monotonic_ns() - said->since_ns) / 1e9, waited);
    if (said->label)
        cli_note("the GPU is free now, after %s", waited);
}

static int lock_gpus_waiting(struct gpu_hold *hold, const struct gpu_hold_options *options,
                             const sigset_t *blocked, bool *taken, struct said *said)
{
    struct err err = {0};
    struct gpu_lock_conflict conflict;
    for (;;) {
        enum gpu_lock_answer answer = gpu_locks_try(hold->locks, &hold->self, hold->passed,
                                                    hold->passed_count, &conflict, &err);
        int signal_number = ending_signal(options, blocked, 0);
        if (signal_number)
            return 128 + signal_number;
        *taken = answer == GPU_LOCKS_TAKEN;
        if (*taken)
            return 0;
        if (answer == GPU_LOCKS_FAILED)
            return not_had(hold, options, false, &err);
        if (options->mode == GPU_HOLD_REFUSE) {
            AUTO_FREE char *text = describe_conflict(hold, &conflict);
            cli_error("%s; nothing was run", text);
            return options->failed;
        }
        double waited_s, most_s = limit_s(&conflict, said, &waited_s);
        if (waited_s >= most_s)
            return waited_enough(hold, options, &conflict, waited_s);
        print_conflict_once(hold, &conflict, said);
        signal_number = ending_signal(options, blocked, POLL_NS);
        if (signal_number)
            return 128 + signal_number;
    }
}

static int lock_or_wait(struct gpu_hold *hold, const struct gpu_hold_options *options, bool *taken,
                        bool *waited)
{
    struct said said = {.since_ns = clock_monotonic_ns()};
    sigset_t blocked = *options->ends, before;
    if (options->keeps_on_hangup)
        sigaddset(&blocked, SIGHUP);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    int code = lock_gpus_waiting(hold, options, &blocked, taken, &said);
    /* Whoever presses twice means it once: the way out is to be walked to its end. */
    while (code > 128 && next_signal(&blocked, 0) != 0)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (*taken) {
        /* Locks are signed anew when all are there: then the time is that of the last. */
        hold->self.since_s = clock_realtime_ns() / NS_PER_S;
        gpu_locks_sign(hold->locks, &hold->self);
        print_hold_begin(&said);
    }
    *waited = said.held;
    free(said.label);
    return code;
}

/* False: there is nothing to lock. */
static bool find_gpus(struct gpu_hold *hold, const struct gpu_hold_options *options)
{
    struct err err = {0};
    if (!gpu_devices_read(gpus_root(), &hold->devices, &err))
        cli_warning("not every GPU can be seen, and is locked: %s", err.text);
    gpus_fence(options->environment, &hold->devices);
    hold->used = mem_array(hold->devices.count + 1, sizeof *hold->used);
    if (hold->devices.count == 0)
        return false;
    size_t count =
        gpus_select(&hold->devices, options->environment, options->plan, true, hold->used);
    hold->unchosen =
        count > 1 ? gpus_unchosen(&hold->devices, options->environment, options->plan) : NULL;
    return count > 0;
}

static void introduce(struct gpu_hold *hold, const struct gpu_hold_options *options)
{
    const char *passed = strv_env_get(options->environment, holder_variable);
    gpu_holder_self(&hold->self);
    process_start_time(getpid(), &hold->self.start_time);
    if (passed)
        hold->passed_count = gpu_holder_parse_names(passed, hold->passed, PASSED_MAX);
}

static bool make_locks(struct gpu_hold *hold, struct err *err)
{
    if (!gpus_lock_folder(&hold->folder, err))
        return false;
    const struct gpu_device **chosen = mem_array(hold->devices.count, sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; i < hold->devices.count; i++)
        if (hold->used[i])
            chosen[count++] = &hold->devices.items[i];
    hold->locks = gpu_locks_new(&hold->folder, chosen, count);
    free(chosen);
    return true;
}

static int hold_gpus(struct gpu_hold *hold, const struct gpu_hold_options *options, bool *taken,
                     bool *waited)
{
    struct err err = {0};
    if (!find_gpus(hold, options))
        return 0;
    introduce(hold, options);
    if (!make_locks(hold, &err))
        return not_had(hold, options, err.code != 0, &err);
    if (hold->folder.doubt) {
        cli_warning("the GPU's lock proves nothing: %s ('sudo " TARE_NAME
                    " doctor' sets the locks up)",
                    hold->folder.doubt);
        doubt(hold, false, hold->folder.doubt);
    } else if (!hold->folder.shared) {
        cli_note("the GPU's lock is seen by your own runs only: %s", hold->folder.reason);
        doubt(hold, true, hold->folder.reason);
    }
    return lock_or_wait(hold, options, taken, waited);
}

int gpu_hold_take(const struct gpu_hold_options *options, struct gpu_hold **out, bool *waited)
{
    bool taken = false, had_to_wait = false;
    *out = NULL;
    int code = 0;
    if (options->mode != GPU_HOLD_OFF) {
        struct gpu_hold *hold = mem_alloc(sizeof *hold);
        hold->folder.fd = -1;
        code = hold_gpus(hold, options, &taken, &had_to_wait);
        if (!taken) {
            gpu_locks_free(hold->locks);
            hold->locks = NULL;
        }
        if (taken || (code == 0 && hold->doubt))
            *out = hold;
        else
            gpu_hold_end(hold);
    }
    if (waited)
        *waited = had_to_wait;
    return code;
}
