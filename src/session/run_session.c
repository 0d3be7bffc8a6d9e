#include "machine/contain/probe.h"
#include "plan/plan_json.h"
#include "results/store/results.h"
#include "session/run_session_private.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/contain/guardian.h"
#include "machine/state/census.h"
#include "run/environment/machine.h"
#include "run/run.h"
#include "session/calibrating.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/gpu_hold.h"
#include "session/gpus.h"
#include "session/measuring.h"
#include "session/message.h"
#include "session/on_event.h"
#include "session/run_folder.h"
#include "session/run_resources.h"
#include "session/run_session.h"
#include "slurm/tasks.h"
#include "tare_build.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_MAX = 64 << 20 };

static bool open_new(struct session *session, struct err *err)
{
    const struct run_input *input = session->options->input;
    const struct json_doc *registry = &input->registry.doc;
    struct store_head head = {
        .plan = &input->plan,
        .settings_text = input->settings_text,
        .settings_length = strlen(input->settings_text),
        .registry_text = registry->text,
        .registry_length = registry->length,
    };
    session->dir = run_folder_new(session->options->output,
                                  session->options->kind ? session->options->kind : "run",
                                  clock_realtime_ns(), &session->dir_path, err);
    if (session->dir < 0)
        return false;
    session->store = store_create(session->dir, session->dir_path, &head, err);
    if (session->options->spent_plan)
        plan_fini(session->options->spent_plan);
    return session->store || err_wrap(err, "%s", session->dir_path);
}

/* Before anything is repeated: what ran other code is unverified from now on, and repeated where
 * that is asked for. */
static bool find_other_code(struct session *session, struct err *err)
{
    AUTO(results_fini) struct results results = {0};
    if (!results_from_store(session->store, &results, err))
        return false;
    bool any = false;
    for (size_t i = 0; i < results.count && !any; i++)
        any = results.items[i].session > 0;
    json_t *now = any ? machine_software_json(store_plan(session->store), &session->containment,
                                              &session->environment)
                      : NULL;
    if (now)
        other_code_find(session->dir, &results, now, &session->other_code);
    json_decref(now);
    return !session->options->rerun || again_choose(&results, session->options->rerun_which,
                                                    &session->other_code, &session->again, err);
}

static void print_other_code(const struct session *session)
{
    size_t left = 0;
    for (size_t i = 0; i < session->other_code.size; i++)
        left += session->other_code.items[i].text &&
                !(session->options->rerun && session->again.items[i]);
    if (session->other_code.count == 0 || session->options->quiet || session->options->json)
        return;
    AUTO_FREE char *text = other_code_text(&session->other_code);
    if (left == 0)
        cli_note("%s; all of them are repeated", text);
    else
        cli_warning("%s; %zu of them %s not repeated now: '%s run --rerun unverified RUN' does it",
                    text, left, left == 1 ? "is" : "are", TARE_NAME);
}

static bool open_earlier(struct session *session, struct err *err)
{
    session->dir = run_folder_open_named(session->options->resume_dir, &session->dir_path, err);
    if (session->dir < 0)
        return false;
    if (tasks_are_in(session->dir))
        return err_set(err,
                       "%s: this run was submitted: its experiments are tasks, which '%s submit "
                       "--resume%s' starts",
                       session->dir_path, TARE_NAME,
                       session->options->rerun ? " ... --rerun-contaminated" : "");
    struct stat status;
    if (geteuid() == 0 && fstat(session->dir, &status) == 0 && status.st_uid != 0)
        cli_warning("%s belongs to user %u: what it says is run as root", session->dir_path,
                    (unsigned)status.st_uid);
    session->store = store_open(session->dir, session->dir_path, err);
    if (!session->store)
        return false;
    if (find_other_code(session, err)) {
        print_other_code(session);
        return true;
    }
    store_close(session->store, NULL);
    return err_wrap(err, "%s", session->dir_path);
}

/* Some training of it says so of its GPU memory. */
static bool plan_says_of_gpu_memory(const struct plan *plan, enum setting_switch said)
{
    EACH (experiment, plan->experiments, plan->count)
        if (experiment->foreground.track_gpu_memory == said ||
            (experiment->parallel && experiment->background->track_gpu_memory == said))
            return true;
    return false;
}

/* Fresh; NULL where no training asks for it. False: it is asked for, and cannot be had. */
static bool find_preload(const struct strv *environment, const struct plan *plan, char **out,
                         struct err *err)
{
    *out = NULL;
    if (!plan_says_of_gpu_memory(plan, SWITCH_ON))
        return true;
    if (gpus_run_cuda(environment, plan, err))
        *out = gpus_preload_library(err);
    return *out || err_wrap(err, "the settings ask for GPU memory to be followed or limited");
}

static bool run_it(struct session *session, struct run_summary *summary, struct err *err)
{
    AUTO_FREE char *preload = NULL;
    if (!find_preload(&session->environment, store_plan(session->store), &preload, err))
        return false;
    struct listeners listeners;
    listeners_begin(session, &listeners);
    meters_find(&session->environment, store_plan(session->store), session->options->host,
                &session->meters);
    if (!preload && session->meters.options.gpu_count > 0 &&
        plan_says_of_gpu_memory(store_plan(session->store), SWITCH_UNSAID))
        preload =
            gpus_preload_library(&(struct err){0}); /* without it the driver's samples stand */
    meters_distrust_jobs(&session->meters, session->containment.pidns);
    meters_say_refused(&session->meters);
    session_say_meters(session);
    listeners_begin_live(session, &listeners);
    governing_settle(session->options->governing, store_plan(session->store));
    /* The GPUs of a machine that is played have no device files. */
    AUTO_FREE char *dev = mem_printf("%s/dev", gpus_root());
    const struct census_roots roots = {.proc = "/proc", .dev = dev};
    json_t *software = machine_software_json(store_plan(session->store), &session->containment,
                                             &session->environment);
    const struct machine_facts facts = {&session->pool.cpu_sets, &session->meters.options, software,
                                        store_next_session(session->store)};
    struct run_request request = {
        .store = session->store,
        .dir = session->dir,
        .dir_path = session->dir_path,
        .is_task = session->options->task,
        .containment = &session->containment,
        .guardian = session->guardian,
        .state = session->state,
        .environment = &session->environment,
        .roots = &roots,
        .energy_meters = &session->meters.options,
        .lanes = session->pool.lanes,
        .lane_count = session->pool.lane_count,
        .governor = &session->options->governing->of_run,
        .gpu_locks = gpu_hold_of_run(session->gpus),
        .listener = listeners_of_run(&listeners),
        .preload = preload,
        .resumed = session->options->resume_dir != NULL,
        .again = session->options->rerun ? &session->again : NULL,
        .other_code = session->other_code.count ? &session->other_code : NULL,
        .budget = run_budget_is_set(&session->budget) ? &session->budget : NULL,
        .software = software,
        .stop_at_failure = session->options->stop_at_failure,
        .calibrates = !session->options->no_calibrate &&
                      calibrating_is_allowed(store_plan(session->store)->guard.calibrate,
                                             &session->environment, NULL),
    };
    AUTO(expected_fini) struct expected earlier = {0};
    if (request.calibrates && session->options->input &&
        session->meters.options.gpu_count > session->meters.options.calibration_count)
        run_input_expect(session->options->input, session->options->output, &earlier);
    request.earlier = &earlier;
    bool ok = machine_write(session->dir, store_plan(session->store), &session->containment, &facts,
                            err) &&
              run_plan(&request, summary, err);
    json_decref(software);
    if (!session->options->part)
        governing_end(session->options->governing);
    listeners_end(session, &listeners);
    return ok;
}

static int refuse_run(const struct err *err)
{
    cli_error("%s; nothing was run", err->text);
    return CLI_USAGE;
}

static int session_exit_code(const struct run_summary *summary, const struct results *results,
                             bool enough)
{
    if (summary->outcome == RUN_INTERRUPTED)
        return 128 + summary->signal_number;
    if (summary->outcome == RUN_BROKEN)
        return CLI_BROKEN;
    if (summary->outcome == RUN_BUDGET)
        return CLI_BUDGET;
    EACH (item, results->items, results->count)
        if (item->outcome != OUTCOME_SUCCEEDED && !(enough && item->outcome == OUTCOME_NONE))
            return CLI_SOME_FAILED;
    return CLI_OK;
}

static int broken(const struct session *session, const struct err *err)
{
    cli_error("%s", err->text);
    if (session->dir_path && session->store && !fs_is_deleted(session->dir))
        cli_note("what was recorded until then is in %s", session->dir_path);
    return CLI_BROKEN;
}

/* Why nothing began after the first experiment, with the script's own message. */
static void print_refused(const struct session *session, const struct results *results,
                          size_t number)
{
    const struct result *result = &results->items[number - 1];
    AUTO_FREE char *log = mem_printf("%s/%s/training.log", session->dir_path, result->id);
    cli_error(
        "%s: %s; the others would fail in the same way, so none was begun; its output is in %s",
        result->id, result->error ? result->error : "failed", log);
}

/* Who stops a run, such as a service manager or Slurm, kills it after a while. With on_event the
 * results are needed. */
static bool must_close_soon(const struct session *session, const struct run_summary *summary)
{
    return summary->outcome == RUN_INTERRUPTED && !session->on_event &&
           store_is_large(session->store);
}

static int run_and_close(struct session *session)
{
    struct err err = {0}, later = {0};
    struct run_summary summary = {0};
    AUTO(results_fini) struct results results = {0};
    int code = CLI_OK;
    if (!run_it(session, &summary, &err) || summary.outcome == RUN_BROKEN)
        code = broken(session, &err);
    if (must_close_soon(session, &summary)) {
        store_finish_stopped(session->store);
        session_print_stopped(session, &summary);
        return session_exit_code(&summary, &results, false);
    }
    store_finish(session->store);
    /* With a full disk the results can still be read, and a person wants to see them. */
    bool is_deleted = fs_is_deleted(session->dir);
    bool read = is_deleted
                    ? err_set(&later, "%s was deleted while the run wrote to it", session->dir_path)
                    : results_from_store(session->store, &results, &later);
    if (read && !session->options->json && !session->options->leaves_closing && !session->detached)
        session_print_closing(session, &results);
    if (summary.refused_by && summary.refused_by <= results.count)
        print_refused(session, &results, summary.refused_by);
    if (read)
        session_write_page(session);
    on_event_end(session->on_event, read ? &results : NULL, code == CLI_OK ? NULL : err.text);
    if (!read && code == CLI_OK)
        code = broken(session, &later);
    if (code == CLI_OK)
        code = session_exit_code(&summary, &results, session_has_enough(session));
    return code;
}

/* 0, or the exit code. */
static int hold_session_gpus(struct session *session, const struct plan *plan)
{
    sigset_t ends;
    bool waited;
    struct err err = {0};
    if (!pool_make(session->options->gpus, plan, &session->environment, &session->pool, &err))
        return refuse_run(&err);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    struct gpu_hold_options options = {
        .mode = session->options->gpu_lock,
        .asked = session->options->gpu_lock_asked,
        .environment = &session->environment,
        .plan = plan,
        .ends = &ends,
        .keeps_on_hangup = true,
        .failed = CLI_BROKEN,
    };
    int code = gpu_hold_take(&options, &session->gpus, &waited);
    if (waited && code == 0)
        registration_recover(session->state);
    gpu_hold_tell_jobs(session->gpus, &session->environment);
    return code;
}

/* What the options say goes over what the run has. */
static void settle_budget(struct session *session, const struct run_budget *of_run)
{
    const struct run_budget *said = &session->options->budget;
    struct run_budget *out = &session->budget;
    *out = *of_run;
    out->energy_j = said->energy_j > 0 ? said->energy_j : out->energy_j;
    out->time_s = said->time_s > 0 ? said->time_s : out->time_s;
}

/* Energy that nothing measures cannot be limited: that is said before anything runs. */
static bool check_sensors(const struct session *session, const struct plan *plan, struct err *err)
{
    struct meters meters;
    const struct host_meter *host = session->options->host;
    const struct rapl *rapl = host ? host_meter_rapl(host) : NULL;
    bool packages = false;
    if (session->budget.energy_j <= 0)
        return true;
    meters_find(&session->environment, plan, session->options->host, &meters);
    bool gpus = meters.options.gpu_count > 0;
    meters_fini(&meters);
    for (size_t i = 0; rapl && i < rapl->count; i++)
        packages =
            packages || (rapl->domains[i].scope == RAPL_PACKAGE && rapl->domains[i].available);
    if (!gpus && !packages)
        return err_set(
            err,
            "an energy budget cannot be checked here: the trainings see no GPU with a meter, and "
            "no CPU package's "
            "energy can be read (%s); '%s doctor' tells what is missing; a time budget needs no "
            "meter",
            rapl && rapl->reason ? rapl->reason : "there is no counter", TARE_NAME);
    if (!session->options->quiet && !session->options->json && !packages)
        cli_note(
            "the budget counts the GPU boards alone: no CPU package's energy can be read here");
    if (!session->options->quiet && !session->options->json && !gpus)
        cli_note("the budget counts the CPU packages alone: the trainings see no GPU");
    return true;
}

static bool prepare_budget(struct session *session, const struct plan *plan,
                           const struct run_budget *of_run)
{
    struct err err = {0};
    settle_budget(session, of_run);
    return check_sensors(session, plan, &err) || !refuse_run(&err);
}

/* A new run's folder is made only when it may begin; an earlier run is opened first, because its
 * plan says which GPUs it needs. Exit code 2: nothing was run; 3: see what was. */
static int open_session_run(struct session *session)
{
    struct err err = {0};
    const struct session_options *options = session->options;
    int code = options->resume_dir ? 0 : hold_session_gpus(session, &options->input->plan);
    if (code != 0)
        return code;
    if (!options->resume_dir &&
        !prepare_budget(session, &options->input->plan, &options->input->plan.budget))
        return CLI_USAGE;
    bool opened = options->resume_dir ? open_earlier(session, &err) : open_new(session, &err);
    if (!opened)
        return cli_failed(options->resume_dir ? CLI_USAGE : CLI_BROKEN, &err);
    if (options->rerun && session->again.count == 0)
        return 0;
    if (options->resume_dir)
        code = hold_session_gpus(session, store_plan(session->store));
    if (code == 0 && options->resume_dir &&
        !prepare_budget(session, store_plan(session->store), store_budget(session->store)))
        code = CLI_USAGE;
    if (code != 0)
        store_close(session->store, NULL);
    else
        gpu_hold_set_run(session->gpus, session->dir_path);
    return code;
}

static void print_nothing_to_repeat(const struct session *session)
{
    AUTO_TEXT struct text words = {0};
    for (const char *at = session->options->rerun_which; at && *at; at++)
        if (*at == ',')
            text_add(&words, " or ");
        else
            text_add_char(&words, *at);
    message_printf("nothing to repeat: no result in %s %s%s\n", session->dir_path,
                   words.length ? "is " : "has a verdict that is not clean", text_get(&words));
}

/* No session begins, and nothing is written. */
static int nothing_to_repeat(struct session *session)
{
    const char *which = session->options->rerun_which;
    struct err err = {0};
    if (!session->options->quiet && !session->options->json)
        print_nothing_to_repeat(session);
    if (!which && session->again.unjudged > 0)
        cli_note("%zu experiment%s ended before verdicts were given, and %s left as %s",
                 session->again.unjudged, session->again.unjudged == 1 ? "" : "s",
                 session->again.unjudged == 1 ? "is" : "are",
                 session->again.unjudged == 1 ? "it is" : "they are");
    return store_close(session->store, &err) ? CLI_OK : cli_failed(CLI_BROKEN, &err);
}

/* A part of another run, as a task of Slurm, has no events. False: the mistake was printed. */
static bool open_on_event(struct session *session)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    const struct session_options *options = session->options;
    if (options->task || options->part)
        return true;
    if (!options->input && !fs_read_at(session->dir, "settings.json", SETTINGS_MAX, &text, &err))
        return true; /* its records say what is wrong with it */
    const char *settings = options->input ? options->input->settings_text : text_get(&text);
    return (json_doc_parse("settings.json", settings, strlen(settings), &doc, &err) &&
            on_event_new(&doc, &session->environment, &session->on_event, &err)) ||
           !refuse_run(&err);
}

static int open_and_run(struct session *session)
{
    struct err err = {0};
    if (session->options->input && !open_on_event(session))
        return CLI_USAGE;
    session->state = registration_open();
    if (!containment_probe(session->options->containment, &session->containment, &err))
        return cli_failed(CLI_USAGE, &err);
    caller_hide_folders(&session->environment, &session->containment);
    /* Before the store starts its thread: the guardian is a plain fork. */
    session->guardian = guardian_start(&err);
    if (!session->guardian)
        cli_warning("no guardian, so jobs that hide may outlive a killed %s: %s", TARE_NAME,
                    err.text);
    int code = open_session_run(session);
    if (code != 0)
        return code;
    if (session->options->rerun && session->again.count == 0)
        return nothing_to_repeat(session);
    if (!session->options->input && !open_on_event(session)) {
        store_close(session->store, NULL);
        return CLI_USAGE;
    }
    malloc_trim(0); /* each fork for a job copies what is mapped */
    on_event_begin(session->on_event, session->dir_path);
    session->state = registration_begin(session->state, STATE_RUN, session->dir_path);
    struct metrics_file *metrics =
        metrics_file_start(session->options->metrics_textfile, session->dir_path);
    code = run_and_close(session);
    bool closed = store_close(session->store, &err);
    metrics_file_end(metrics);
    bool was_reported = code == CLI_BROKEN && fs_is_deleted(session->dir);
    return closed || was_reported ? code : cli_failed(CLI_BROKEN, &err);
}

static int first_code(int before, int code)
{
    return before != 0 ? before : code;
}

/* As a run takes them; what is taken is given back at once. */
static int check_gpus(struct session *session, const struct plan *plan)
{
    struct err err = {0};
    struct session_options options = *session->options;
    if (options.gpu_lock == GPU_HOLD_REFUSE) {
        int code = hold_session_gpus(session, plan);
        gpu_hold_end(steal_ptr(session->gpus));
        return code;
    }
    return pool_make(options.gpus, plan, &session->environment, &session->pool, &err)
               ? 0
               : refuse_run(&err);
}

int run_session_check(const struct session_options *options)
{
    int code = 0;
    struct err err = {0};
    const struct plan *plan = &options->input->plan;
    struct session session = {.options = options, .dir = -1};
    strv_add_all(&session.environment, &options->caller->environment);
    if (!containment_probe(options->containment, &session.containment, &err))
        code = first_code(code, cli_failed(CLI_USAGE, &err));
    code = first_code(code, check_gpus(&session, plan));
    if (!prepare_budget(&session, plan, &plan->budget))
        code = first_code(code, CLI_USAGE);
    if (!open_on_event(&session))
        code = first_code(code, CLI_USAGE);
    on_event_finish(session.on_event);
    if (!fs_can_make_path(options->output, &err))
        code = first_code(code, cli_failed(CLI_BROKEN, &err));
    AUTO_FREE char *preload = NULL;
    if (!find_preload(&session.environment, plan, &preload, &err))
        code = first_code(code, cli_failed(CLI_BROKEN, &err));
    pool_fini(&session.pool);
    containment_fini(&session.containment);
    strv_fini(&session.environment);
    return code;
}

void run_session_take_options(struct session_options *options, const struct cli_value *containment,
                              const struct cli_value *gpu_lock)
{
    containment_mode_parse(containment->text, &options->containment);
    options->gpu_lock = gpu_hold_mode_parse(gpu_lock->text);
    options->gpu_lock_asked = gpu_lock->given;
}

int run_session(const struct session_options *options)
{
    struct session session = {.options = options, .dir = -1};
    strv_add_all(&session.environment, &options->caller->environment);
    int code = open_and_run(&session);
    meters_fini(&session.meters);
    pool_fini(&session.pool);
    again_fini(&session.again);
    other_code_fini(&session.other_code);
    gpu_hold_end(session.gpus);
    guardian_stop(session.guardian);
    registration_end(session.state);
    containment_fini(&session.containment);
    on_event_finish(session.on_event); /* last: nothing of the machine is held meanwhile */
    if (session.dir >= 0)
        close(session.dir);
    if (options->run_dir)
        *options->run_dir = steal_ptr(session.dir_path);
    free(session.dir_path);
    strv_fini(&session.environment);
    return code;
}
