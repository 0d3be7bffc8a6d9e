#include "doctor/clean_end.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/value.h"
#include "doctor/clean_caller.h"
#include "doctor/clean_table.h"
#include "machine/contain/sys.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_resources.h"
#include "tare_build.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What there is at one moment, and the same for programs. */

const struct census_roots clean_roots = {"/proc", "/dev"};

/* On a machine whose GPUs sleep while nobody uses them, the driver first wakes all of them. */
static const double DRIVER_S = 10;

/* The library is asked only where the driver has its device. */
static void ask_driver(const struct clean *clean, struct clean_view *view)
{
    const struct gpu_vendor *vendor = NULL;
    while ((vendor = gpu_vendor_loaded(clean->roots.dev, vendor))) {
        bool told = gpu_memory_users_read(vendor, NULL, DRIVER_S, &view->memory, &view->memory_err);
        view->has_memory = told && (view->has_memory || !view->has_driver);
        view->has_driver = true;
    }
}

bool clean_look(const struct clean *clean, struct clean_view *out, struct err *err)
{
    *out = (struct clean_view){0};
    ask_driver(clean, out);
    if (!leftovers_find_holding(clean->state, &clean->roots, out->has_memory ? &out->memory : NULL,
                                &out->leftovers, err)) {
        gpu_memory_users_fini(&out->memory);
        return false;
    }
    clean_caller_claims(clean->caller, out);
    if (clean->state)
        out->governor = governing_leftover_text(state_folder(clean->state));
    return true;
}

void clean_view_fini(struct clean_view *view)
{
    leftovers_fini(&view->leftovers);
    gpu_memory_users_fini(&view->memory);
    free(view->governor);
}

static json_t *age_json(double seconds)
{
    return seconds < 0 ? json_null() : json_finite(number_round(seconds, 6));
}

static json_t *list_json(const struct strv *list)
{
    json_t *json = json_array();
    EACH (item, list->items, list->count)
        json_array_append_new(json, json_string(*item));
    return json;
}

/* One entry for each GPU on which the driver names the process. */
static json_t *leftover_gpus_json(const struct clean_view *view, const struct leftover *leftover)
{
    json_t *gpus = json_array();
    const struct census_process *process = leftover->process;
    if (process->looked_into && process->devices.count == 0)
        return gpus;
    EACH (use, view->memory.items, view->memory.count) {
        if (use->pid != process->stat.pid)
            continue;
        AUTO_FREE char *device =
            use->minor >= 0 ? gpu_vendor_device_path(use->vendor, "/dev", use->minor) : NULL;
        json_array_append_new(
            gpus, json_pack("{s:o, s:o, s:o}", "uuid", json_filled_or_null(use->uuid), "device",
                            json_filled_or_null(device), "memory_bytes",
                            use->has_bytes ? json_integer((json_int_t)use->bytes) : json_null()));
    }
    return gpus;
}

/* What each list of processes begins with. A command may be no UTF-8: then it is not told. */
static json_t *who_json(const struct census_process *process)
{
    AUTO_FREE char *user = clean_user_name(process->uid);
    return json_pack("{s:i, s:I, s:I, s:o*, s:o*}", "pid", (int)process->stat.pid, "start_time",
                     (json_int_t)process->stat.start_time, "uid", (json_int_t)process->uid, "user",
                     json_string(user), "command", json_string(process->command));
}

/* For ours, which run left it; for others, whether a live run owns it. */
static json_t *leftover_json(const struct clean_view *view, const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    const struct census_process *parent = census_find(&view->leftovers.census, process->stat.ppid);
    bool known = leftover->kind == LEFTOVER_OF_DEAD_RUN;
    json_t *json = who_json(process);
    json_object_update_new(
        json, json_pack("{s:o, s:i, s:o*, s:b, s:o, s:o, s:o}", "age_s", age_json(process->age_s),
                        "parent", (int)process->stat.ppid, "parent_command",
                        json_string(parent ? parent->stat.comm : ""), "orphan", process->orphan,
                        "devices", list_json(&process->devices), "memory_bytes",
                        leftover->has_memory ? json_integer((json_int_t)leftover->memory_bytes)
                                             : json_null(),
                        "gpus", leftover_gpus_json(view, leftover)));
    json_object_update_new(
        json,
        !leftover_is_ours(leftover)
            ? json_pack("{s:b}", "live_run", leftover->kind == LEFTOVER_LIVE_GPU)
            : json_pack("{s:o, s:o, s:o, s:o}", "tag", json_filled_or_null(process->tag), "left_by",
                        known ? json_string(leftover->run == STATE_EXEC ? "exec" : "run")
                              : json_null(),
                        "run_dir", json_filled_or_null(leftover->run_dir), "run_age_s",
                        known ? age_json(leftover->run_age_s) : json_null()));
    return json;
}

static json_t *tagged_json(const struct leftover_foreign *foreign)
{
    json_t *json = who_json(foreign->process);
    json_object_set_new(json, "tag", json_filled_or_null(foreign->process->tag));
    json_object_set_new(json, "belongs_to", json_string(foreign->owner));
    return json;
}

/* Numbers of the driver that are no process of ours to see. */
static json_t *unseen_json(const struct leftovers *leftovers)
{
    return json_pack("{s:I, s:I, s:o*}", "count", (json_int_t)leftovers->unseen, "memory_bytes",
                     (json_int_t)leftovers->unseen_bytes, "driver_pids",
                     json_string(text_get(&leftovers->unseen_pids)));
}

void clean_json(const struct clean_view *view, struct text *out)
{
    const struct leftovers *leftovers = &view->leftovers;
    json_t *ours = json_array(), *others = json_array(), *tagged = json_array();
    EACH (item, leftovers->items, leftovers->count)
        json_array_append_new(leftover_is_ours(item) ? ours : others, leftover_json(view, item));
    EACH (entry, leftovers->foreign, leftovers->foreign_count)
        json_array_append_new(tagged, tagged_json(entry));
    json_print_taken(
        json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:I}", "leftovers", ours,
                  "tagged_left_alone", tagged, "gpu_processes", others, "gpu_processes_unseen",
                  view->has_memory ? unseen_json(leftovers) : json_null(), "gpu_memory_known",
                  view->has_memory, "gpu_memory_error", json_filled_or_null(view->memory_err.text),
                  "governor_left", json_text_or_null(view->governor), "files_left_alone",
                  list_json(&leftovers->kept), "not_looked_into",
                  (json_int_t)leftovers->census.closed),
        out);
}

/* What is killed may take a while to be gone on a machine that is busy; what is stuck in the kernel
 * never goes. */
static const double RECOVERY_S = 10;
static const int64_t TAGGED_NS = 10 * NS_PER_S;
enum { NAMES_SHOWN = 3, PASS_MS = 20, GRACE_MS = 10000, KILL_MS = 10000 };

static bool was_there(const struct leftovers *before, const struct census_process *process)
{
    const struct census_process *old = census_find(&before->census, process->stat.pid);
    return old && old->stat.start_time == process->stat.start_time;
}

/* What the passes did. */
struct sweep {
    const struct clean *clean;
    struct leftovers before; /* what the last pass saw */
    size_t killed, others;   /* others: of other users, left alone */
    struct text names;
};

/* One pass: how many are left. What was not there before is counted and named. */
static size_t kill_tagged(struct sweep *sweep, const struct leftovers *now)
{
    size_t left = 0;
    sweep->others = 0;
    EACH (item, now->items, now->count) {
        const struct census_process *process = item->process;
        if (item->kind != LEFTOVER_TAGGED)
            continue;
        uid_t caller;
        if (!(sweep->clean->all_users || process->uid == geteuid() ||
              (clean_caller_known(&caller) && process->uid == caller))) {
            sweep->others++;
            continue;
        }
        left++;
        if (!leftover_kill(&sweep->clean->roots, item) || was_there(&sweep->before, process))
            continue;
        if (sweep->killed++ < NAMES_SHOWN)
            text_addf(&sweep->names, "%s%s (pid %d)", sweep->killed > 1 ? ", " : "",
                      process->stat.comm, (int)process->stat.pid);
    }
    return left;
}

static void print_swept(const struct sweep *sweep)
{
    if (sweep->killed > 0)
        cli_note("ended %zu process%s that a dead run left, which one is not known: %s%s",
                 sweep->killed, sweep->killed == 1 ? "" : "es", text_get(&sweep->names),
                 sweep->killed > NAMES_SHOWN ? ", ..." : "");
    if (sweep->others > 0)
        cli_note("left alone %zu process%s of other users: --all-users ends what their dead runs "
                 "left, too",
                 sweep->others, sweep->others == 1 ? "" : "es");
}

static bool end_tagged(const struct clean *clean, struct err *err)
{
    int64_t deadline = clock_monotonic_ns() + TAGGED_NS;
    struct sweep sweep = {.clean = clean};
    bool looked;
    for (;;) {
        struct leftovers now;
        looked = leftovers_find(clean->state, &clean->roots, &now, err);
        if (!looked)
            break;
        size_t left = kill_tagged(&sweep, &now);
        leftovers_fini(&sweep.before);
        sweep.before = now;
        if (left == 0 || clock_monotonic_ns() >= deadline)
            break;
        poll(NULL, 0, PASS_MS);
    }
    print_swept(&sweep);
    leftovers_fini(&sweep.before);
    text_fini(&sweep.names);
    return looked;
}

bool clean_end_own(const struct clean *clean, struct err *err)
{
    clean_caller_recover(clean->caller);
    struct err governor_err = {0};
    if (clean->state && !governing_recover(state_folder(clean->state), &governor_err))
        cli_warning("%s", governor_err.text);
    return (!clean->state ||
            state_recover(clean->state, RECOVERY_S, registration_say, NULL, err)) &&
           end_tagged(clean, err);
}

static bool confirmed(void)
{
    char answer[16];
    return message_ask("End it? Type yes: ", answer, sizeof answer) && strcmp(answer, "yes") == 0;
}

static bool gone_within(int pidfd, int timeout_ms)
{
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    int64_t deadline = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    for (;;) {
        int64_t left_ms = (deadline - clock_monotonic_ns()) / NS_PER_MS;
        int ready = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready == 1 || left_ms <= 0)
            return ready == 1;
    }
}

static int end_held(int pidfd, pid_t pid)
{
    if (!sys_pidfd_signal(pidfd, SIGTERM) && errno != ESRCH) {
        cli_error("process %d: %s", (int)pid, strerror(errno));
        return CLI_SOME_FAILED;
    }
    sys_pidfd_signal(pidfd, SIGCONT); /* a stopped one hears it too */
    if (!gone_within(pidfd, GRACE_MS)) {
        cli_note("process %d does not heed TERM: KILL", (int)pid);
        sys_pidfd_signal(pidfd, SIGKILL);
        if (!gone_within(pidfd, KILL_MS)) {
            cli_error("process %d cannot be ended", (int)pid);
            return CLI_SOME_FAILED;
        }
    }
    cli_note("process %d is gone", (int)pid);
    return CLI_OK;
}

static int end_shown(const struct clean *clean, const struct leftover *leftover, bool yes)
{
    struct err err = {0};
    pid_t pid = leftover->process->stat.pid;
    AUTO_FREE char *text = clean_describe(leftover);
    /* From here on it cannot be mistaken for another, however long the answer takes. */
    AUTO_CLOSE int pidfd = census_hold(&clean->roots, leftover->process, &err);
    if (pidfd < 0)
        return cli_failed(CLI_SOME_FAILED, &err);
    cli_note("%s", text);
    if (!yes && !confirmed()) {
        cli_note("nothing was ended");
        return CLI_SOME_FAILED;
    }
    return end_held(pidfd, pid);
}

int clean_end_one(const struct clean *clean, pid_t pid, uint64_t start_time, bool yes)
{
    struct err err = {0};
    AUTO(clean_view_fini) struct clean_view view = {0};
    int code = CLI_USAGE;
    if (!yes && !isatty(STDIN_FILENO)) {
        cli_error("--pid asks before it ends a process, and standard input is no terminal; --yes "
                  "goes without");
        return CLI_USAGE;
    }
    if (!clean_look(clean, &view, &err))
        return cli_failed(CLI_BROKEN, &err);
    const struct leftover *leftover = leftovers_by_pid(&view.leftovers, pid);
    if (!leftover)
        cli_error(
            "process %d is none that is listed here: no leftover, and no GPU open that can be seen",
            (int)pid);
    else if (start_time && leftover->process->stat.start_time != start_time)
        cli_error("process %d is another one: its start time is %llu", (int)pid,
                  (unsigned long long)leftover->process->stat.start_time);
    else if (leftover->kind == LEFTOVER_LIVE_GPU)
        cli_error("process %d belongs to a live run of %s: stop that run", (int)pid, TARE_NAME);
    else
        code = end_shown(clean, leftover, yes);
    return code;
}
