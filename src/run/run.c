#include "run/run.h"
#include "base/fs_path.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "plan/plan_json.h"
#include "results/store/results.h"
#include "run/attempt_json.h"
#include "run/experiment.h"
#include "run/meters.h"
#include "run/observers/budget.h"
#include "run/observers/energy_split.h"
#include "run/runner_guardian.h"

#include "base/mem.h"
#include "base/shell_words.h"
#include "machine/sensors/time_scale.h"
#include "machine/state/state.h"
#include "run/again.h"
#include "run/environment/fingerprint.h"
#include "run/environment/other_code.h"
#include "tare_build.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <time.h>

#define RECOVER_TIMEOUT_S 10

static bool end_old_job(struct runner *runner, size_t number, const struct store_attempt *attempt,
                        const char *role, struct err *err)
{
    const struct store_job *job =
        strcmp(role, "background") == 0 ? &attempt->background : &attempt->job;
    struct job_identity identity = {.pid = (pid_t)job->pid,
                                    .start_time = job->start_time,
                                    .cgroup = job->cgroup,
                                    .tag = job->tag};
    size_t killed = 0;
    enum experiment_state after;
    snprintf(identity.boot_id, sizeof identity.boot_id, "%s", job->boot_id ? job->boot_id : "");
    /* The journal may name a job of another run. */
    AUTO(state_live_fini) struct state_live live = {0};
    if (runner->request->state)
        state_live_read(runner->request->state, &live);
    bool lives = identity.tag && strv_has(&live.tags, identity.tag);
    struct job_member unproven;
    if (!lives && !job_recover(&identity, &live.runners, RECOVER_TIMEOUT_S, &killed, err))
        return err_wrap(err, "%s: its job of an earlier session",
                        runner->plan->experiments[number - 1].id);
    if (job_is_unproven(&identity, &unproven))
        runner_note(runner,
                    "pid %d (%s), which the journal names, was left alone: nothing proves that it "
                    "is of the job",
                    (int)unproven.pid, unproven.command);
    /* The experiment is done: only its processes were left. */
    if (!state_next(store_experiment(runner->request->store, number)->state, EVENT_JOB_PROVEN,
                    &after))
        return true;
    json_t *data = json_pack("{s:s, s:[], s:[], s:I, s:n}", "role", role, "leftovers", "survivors",
                             "recovered", (json_int_t)killed, "seconds");
    runner_record(runner, EVENT_JOB_PROVEN, (int64_t)number, attempt->number, data);
    return true;
}

static void close_attempt(struct runner *runner, size_t number, const struct store_attempt *attempt)
{
    json_t *data = json_pack("{s:s, s:n, s:n, s:n, s:n, s:s, s:s, s:{}, s:n, s:n}", "outcome",
                             outcome_name(OUTCOME_INTERRUPTED), "duration_s", "end_ns", "exit_code",
                             "signal", "reason", "interrupted", "error", "the session died",
                             "metrics", "log", "failure");
    runner_record(runner, EVENT_ATTEMPT_ENDED, (int64_t)number, attempt->number, data);
}

/* The session died between the last attempt and this event. */
static void close_experiment(struct runner *runner, size_t number, enum outcome outcome)
{
    const struct store_history *before = &store_experiment(runner->request->store, number)->history;
    int64_t retries = outcome == OUTCOME_FAILED ? before->failed - 1 : before->failed;
    runner_record(runner, EVENT_EXPERIMENT_ENDED, (int64_t)number, 0,
                  experiment_ended_json(outcome, retries > 0 ? retries : 0, before->last_ended));
    runner_write_results(runner, number, NULL, NULL);
}

static bool settle_experiment(struct runner *runner, size_t number, struct err *err)
{
    const struct store_experiment *experiment = store_experiment(runner->request->store, number);
    const struct store_attempt *last = &experiment->last;
    const struct plan_experiment *planned = &runner->plan->experiments[number - 1];
    if (last->number == 0)
        return true;
    if (last->job.born && !last->job.proven &&
        !end_old_job(runner, number, last, "foreground", err))
        return false;
    if (last->background.born && !last->background.proven &&
        !end_old_job(runner, number, last, "background", err))
        return false;
    if (experiment->state == STATE_DONE)
        return true;
    const struct store_history *history = &experiment->history;
    bool over = history->failed > planned->max_retries || ladder_gave_up(history->ladder);
    /* A repetition without an attempt: the last attempt is that of the current result. */
    if (last->outcome != OUTCOME_NONE && !history->last_ended)
        return true;
    if (last->outcome == OUTCOME_NONE)
        close_attempt(runner, number, last);
    else if (last->outcome == OUTCOME_SUCCEEDED)
        close_experiment(runner, number, OUTCOME_SUCCEEDED);
    else if (last->outcome == OUTCOME_FAILED && over)
        close_experiment(runner, number, OUTCOME_FAILED);
    return true;
}

/* Ends jobs of dead sessions, closes their attempts, writes missing results and waits for the
 * journal. */
static bool recover_sessions(struct runner *runner, struct err *err)
{
    for (size_t number = 1; number <= runner->plan->count; number++)
        if (!settle_experiment(runner, number, err))
            return false;
    if (store_flush(runner->request->store, err))
        return true;
    /* The runner's error includes how to go on. */
    if (runner->broken)
        *err = runner->err;
    return false;
}

enum { DESCRIPTORS = 128, DESCRIPTORS_OF_LANE = 26 };

enum { TICK_ACCURACY_US = 100000 };

/* A later tick means that this process was stopped or starved. */
static const int64_t STALL_NS = NS_PER_S;

static void record_stall(struct lane *lane, int64_t from_ns, int64_t to_ns)
{
    struct attempt *attempt = &lane->attempt;
    if (lane->phase != PHASE_RUNNING)
        return;
    attempt_read_exit(attempt);
    if (attempt->end_ns)
        attempt->log_until_ns = attempt->end_ns;
    int64_t end_ns = attempt->end_ns && attempt->end_ns < to_ns ? attempt->end_ns : to_ns;
    if (from_ns < attempt->start_ns)
        from_ns = attempt->start_ns;
    if (end_ns <= from_ns)
        return;
    lane_add_evidence_span(lane, "runner_stopped", lane_seconds_since_start(lane, from_ns),
                           lane_seconds_since_start(lane, end_ns),
                           "this program was stopped, or got no processor, for up to %.1f s",
                           ns_to_s(to_ns - from_ns));
}

/* due_ns: of the tick. A stop may have begun after the previous one. */
static void check_for_stall(struct runner *runner, int64_t due_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; now_ns - due_ns > STALL_NS && i < runner->lane_count; i++)
        record_stall(&runner->lanes[i], runner->ticked_ns, now_ns);
    runner->ticked_ns = now_ns;
}

static int on_tick(sd_event_source *source, uint64_t us, void *context)
{
    struct runner *runner = context;
    const struct run_listener *listener = &runner->request->listener;
    bool soon = false;
    check_for_stall(runner, (int64_t)us * 1000);
    runner_guardian_check(runner);
    EACH (lane, runner->lanes, runner->lane_count) {
        OBSERVE(lane, tick);
        soon = soon || lane_has_job(lane);
    }
    if (listener->tick)
        soon = listener->tick(listener->context) || soon;
    int code =
        sd_event_source_set_time_relative(source, soon ? RUNNER_TICK_US : RUNNER_CALM_TICK_US);
    return code < 0 ? code : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_store(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)fd;
    (void)events;
    struct runner *runner = context;
    store_dispatch(runner->request->store);
    return 0;
}

/* Handled by the loop while a run lives. */
struct signals {
    sigset_t before;
    struct sigaction pipe_before, size_before;
};

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};

enum { WATCHED = sizeof watched / sizeof *watched };

static void watched_set(sigset_t *out)
{
    sigemptyset(out);
    EACH (item, watched, WATCHED)
        sigaddset(out, *item);
}

static void drop_signal(int signal_number)
{
    (void)signal_number;
}

/* SIGPIPE and SIGXFSZ get a handler, which jobs do not inherit, unlike SIG_IGN: the write then
 * fails. */
static void signals_block(struct signals *signals)
{
    sigset_t set;
    struct sigaction quiet = {.sa_handler = drop_signal, .sa_flags = SA_RESTART};
    *signals = (struct signals){0};
    watched_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, &signals->before);
    sigaction(SIGPIPE, &quiet, &signals->pipe_before);
    sigaction(SIGXFSZ, &quiet, &signals->size_before);
}

static int on_watched(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    (void)source;
    if (info->ssi_signo == SIGHUP)
        runner_note(context, "detached");
    else if (info->ssi_signo == SIGTSTP)
        runner_note(
            context,
            "Ctrl-Z does not pause a run: its training would go on unmeasured. Ctrl-C ends it, and "
            "--resume goes on later; to leave it alone, start it in tmux or with nohup");
    else
        runner_stop(context, (int)info->ssi_signo);
    return 0;
}

static int signals_watch(struct runner *runner)
{
    int code = 0;
    for (size_t i = 0; i < WATCHED && code >= 0; i++) {
        sd_event_source *source = NULL;
        code = sd_event_add_signal(runner->loop, &source, watched[i], on_watched, runner);
        if (code < 0)
            break;
        /* Before a log that never pauses. */
        code = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
        if (code >= 0)
            code = sd_event_source_set_floating(source, 1);
        sd_event_source_unref(source);
    }
    return code;
}

/* Drops late signals, so that they do not end the program before the journal is closed. */
static void signals_unblock(struct signals *signals)
{
    sigset_t set;
    struct timespec now = {0};
    watched_set(&set);
    /* Leaves signals that the caller had blocked. */
    EACH (item, watched, WATCHED)
        if (sigismember(&signals->before, *item) == 1)
            sigdelset(&set, *item);
    while (sigtimedwait(&set, NULL, &now) > 0 || errno == EINTR)
        continue;
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    sigaction(SIGXFSZ, &signals->size_before, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

static bool start_event_sources(struct runner *runner, struct err *err)
{
    int code = sd_event_new(&runner->loop);
    runner->ticked_ns = clock_monotonic_ns(); /* a stop may come before the first tick */
    if (code >= 0)
        code = sd_event_add_io(runner->loop, NULL, store_fd(runner->request->store), EPOLLIN,
                               on_store, runner);
    if (code >= 0)
        code = sd_event_add_time_relative(runner->loop, &runner->tick_source, CLOCK_MONOTONIC,
                                          RUNNER_TICK_US, TICK_ACCURACY_US, on_tick, runner);
    /* First after a stop of this process: later handlers depend on its time. */
    if (code >= 0)
        code = sd_event_source_set_priority(runner->tick_source, SD_EVENT_PRIORITY_IMPORTANT);
    if (code >= 0)
        runner_guardian_watch(runner);
    if (code >= 0)
        code = runner_watch_control(runner);
    if (code >= 0)
        code = signals_watch(runner);
    return code >= 0 || err_set(err, "cannot set up the event loop: %s", strerror(-code));
}

static bool read_time_scale(const struct run_request *request, double *out, struct err *err)
{
    const struct energy_meters_options *energy_meters = request->energy_meters;
    if (!time_scale_read(strv_env_get(request->environment, TIME_SCALE_VARIABLE), out, err))
        return false;
    for (size_t i = 0; energy_meters && i < energy_meters->gpu_count; i++)
        if (!time_scale_permitted(*out, energy_meters->gpus[i].vendor->backend,
                                  energy_meters->gpus[i].library, err))
            return false;
    return true;
}

static json_t *session_json(const struct run_request *request)
{
    struct utsname host = {0};
    uint64_t start_time = 0;
    char boot_id[40] = "";
    struct clock_zone zone;
    AUTO_FREE char *containment = containment_describe(request->containment);
    uname(&host);
    bool has_start = process_start_time(getpid(), &start_time);
    bool has_boot = boot_id_read(boot_id, NULL);
    clock_zone_here(clock_realtime_ns(), &zone);
    return json_pack("{s:I, s:o, s:o*, s:s?, s:s, s:o*, s:b, s:b, s:o, s:o*}", "pid",
                     (json_int_t)getpid(), "start_time",
                     has_start ? json_integer((json_int_t)start_time) : json_null(), "host",
                     json_string(host.nodename), "boot_id", has_boot ? boot_id : NULL, "version",
                     TARE_VERSION, "containment", json_string(containment), "kernel_backed",
                     containment_kernel_backed(request->containment), "resumed", request->resumed,
                     "zone", json_from_zone(&zone), "budget",
                     request->budget ? run_budget_to_json(request->budget) : NULL);
}

/* Owns pool. */
static void record_session_end(struct runner *runner, json_t *pool)
{
    struct err err = {0};
    const char *outcome = runner->broken              ? "failed"
                          : runner->signal_number     ? "interrupted"
                          : budget_is_reached(runner) ? "budget"
                                                      : "finished";
    json_t *data = json_object(), *budget = budget_json(runner);
    if (budget)
        json_object_set_new(data, "budget", budget);
    json_object_set_new(data, "outcome", json_string(outcome));
    json_object_set_new(data, "error",
                        runner->broken ? json_string(runner->err.text) : json_null());
    if (json_is_object(pool))
        json_object_set(data, "pool", pool);
    json_decref(pool);
    runner_record(runner, EVENT_SESSION_ENDED, 0, 0, data);
    if (!store_flush(runner->request->store, &err) && !runner->broken)
        runner_break(runner, &err);
}

static void record_other_code(struct runner *runner, const struct other_code *code)
{
    for (size_t i = 0; code && i < runner->plan->count && i < code->size; i++) {
        const struct other_code_item *item = &code->items[i];
        if (item->text && !item->recorded)
            runner_record(runner, EVENT_EVIDENCE, (int64_t)i + 1, item->attempt,
                          json_pack("{s:s, s:o*, s:[], s:[], s:n, s:n, s:n}", "kind",
                                    OTHER_CODE_KIND, "text", json_string(item->text), "experiments",
                                    "pids", "device", "from_s", "to_s"));
    }
}

/* A script that changes during the run is other code for later experiments. */
static void check_code(struct runner *runner)
{
    struct err ignored = {0};
    const json_t *began = json_object_get(runner->request->software, "code");
    json_t *code = began ? fingerprint_code_json(runner->plan, runner->request->environment) : NULL;
    if (code && !json_equal(began, code)) {
        AUTO(results_fini) struct results results = {0};
        AUTO(other_code_fini) struct other_code found = {0};
        json_t *now = json_pack("{s:O}", "code", code);
        if (results_from_store(runner->request->store, &results, &ignored))
            other_code_find_later(&results, runner->session, runner->request->software, now,
                                  &found);
        record_other_code(runner, &found);
        json_decref(now);
    }
    json_decref(code);
}

/* Before the first repetition, so that a resume knows them. */
static bool record_planned_again(struct runner *runner, struct err *err)
{
    const struct again *again = runner->request->again;
    for (size_t number = 1; again && number <= runner->plan->count; number++) {
        if (!again->items[number - 1] || !runner_is_experiment_ended(runner, number))
            continue;
        json_t *data = json_pack("{s:s}", "verdict", verdict_name(again->verdicts[number - 1]));
        runner_record(runner, EVENT_EXPERIMENT_AGAIN, (int64_t)number, 0, data);
    }
    return store_flush(runner->request->store, err);
}

/* The result is in runner->broken and signal_number. */
static void execute_session(struct runner *runner, struct err *err)
{
    size_t count = runner->request->lane_count ? runner->request->lane_count : 1;
    runner_record(runner, EVENT_SESSION_STARTED, 0, 0, session_json(runner->request));
    budget_begin(runner);
    bool recovered = recover_sessions(runner, err);
    /* before they are planned again */
    if (recovered)
        record_other_code(runner, runner->request->other_code);
    if (!recovered || !record_planned_again(runner, err)) {
        runner_break(runner, err);
        record_session_end(runner, NULL);
        return;
    }
    struct lane *lanes = mem_array(count, sizeof *lanes);
    runner->assigned = mem_array(runner->plan->count + 1, sizeof *runner->assigned);
    runner->lanes = lanes;
    runner->lane_count = count;
    for (size_t i = 0; i < count; i++)
        lane_init(&lanes[i], runner, i + 1);
    meters_start(runner);
    energy_split_begin(runner);
    EACH (item, lanes, count)
        lane_enter(item, PHASE_METERS);
    int code = runner_is_finished(runner) ? 0 : sd_event_loop(runner->loop);
    if (code < 0) {
        struct err loop_err;
        err_set(&loop_err, "the event loop failed: %s", strerror(-code));
        runner_break(runner, &loop_err);
    }
    json_t *pool = energy_split_json(runner);
    cpu_split_fini(&runner->split);
    meters_stop(runner);
    step_cancel(&runner->governor.answer);
    runner->lanes = NULL;
    runner->lane_count = 0;
    if (!runner->broken)
        check_code(runner);
    record_session_end(runner, pool);
    EACH (entry, lanes, count)
        lane_fini(entry);
    free(lanes);
}

static void count_outcomes(const struct runner *runner, struct run_summary *out)
{
    for (size_t number = 1; number <= runner->plan->count; number++) {
        const struct store_experiment *experiment =
            store_experiment(runner->request->store, number);
        bool done = experiment->state == STATE_DONE;
        if (done && experiment->outcome == OUTCOME_SUCCEEDED)
            out->succeeded++;
        else if (done && experiment->outcome == OUTCOME_FAILED)
            out->failed++;
        else if (done || experiment->attempts > 0)
            out->interrupted++;
        else
            out->not_run++;
    }
}

/* A lane needs about twenty descriptors; the usual soft limit is meant for select. */
static void make_descriptor_room(const struct run_request *request)
{
    struct rlimit limit;
    rlim_t wanted = DESCRIPTORS + DESCRIPTORS_OF_LANE * (rlim_t)request->lane_count;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    /* A missing descriptor is reported where it is needed. */
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool prepare_run(struct runner *runner, struct err *err)
{
    AUTO_FREE char *cwd = get_current_dir_name();
    const struct run_request *request = runner->request;
    runner->run_dir = fs_resolve(cwd, request->dir_path, NULL);
    runner->typed_dir = shell_words_path(runner->run_dir);
    make_descriptor_room(request);
    return read_time_scale(request, &runner->time_scale, err) && start_event_sources(runner, err);
}

bool run_plan(const struct run_request *request, struct run_summary *out, struct err *err)
{
    struct runner runner = {
        .request = request, .plan = store_plan(request->store), .time_scale = 1};
    struct signals signals;
    runner.session = store_next_session(request->store);
    *out = (struct run_summary){.outcome = RUN_FINISHED};
    signals_block(&signals);
    if (prepare_run(&runner, &runner.err))
        execute_session(&runner, &runner.err);
    else
        runner.broken = true;
    signals_unblock(&signals);
    count_outcomes(&runner, out);
    out->signal_number = runner.signal_number;
    out->refused_by = runner.refused_by;
    if (runner.broken)
        out->outcome = RUN_BROKEN;
    else if (runner.signal_number != 0)
        out->outcome = RUN_INTERRUPTED;
    else if (budget_is_reached(&runner))
        out->outcome = RUN_BUDGET;
    if (runner.broken && err)
        *err = runner.err;
    free(runner.budget.reached);
    free(runner.assigned);
    free(runner.run_dir);
    free(runner.typed_dir);
    sd_event_source_disable_unref(runner.tick_source);
    sd_event_source_disable_unref(runner.guardian_source);
    sd_event_source_disable_unref(runner.control_source);
    sd_event_unref(runner.loop);
    return !runner.broken;
}
