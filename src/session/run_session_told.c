/* What a session tells: its display, live.json, messages, its first words and its closing. */
#include "session/run_session_private.h"

#include "base/clock.h"
#include "base/shell_words.h"
#include "report/closing.h"
#include "report/live/estimate.h"
#include "report/live/progress.h"
#include "report/live/width.h"
#include "session/command.h"
#include "session/message.h"
#include "session/on_event.h"
#include "session/report_page.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static struct progress *make_progress(const struct session *session)
{
    struct progress_options options = {
        .style = PROGRESS_PLAIN,
        .fd = STDOUT_FILENO,
        .colour = message_colour(STDOUT_FILENO),
        .ascii = !width_is_utf8(),
        .verbose = session->options->verbose,
        .plan = store_plan(session->store),
    };
    if (session->options->json)
        options.style = PROGRESS_JSON;
    else if (session->options->quiet)
        options.style = PROGRESS_QUIET;
    else if (is_terminal(STDOUT_FILENO))
        options.style = PROGRESS_LIVE;
    return progress_new(&options);
}

/* Interrupted experiments are run again. */
static bool has_finished(const struct store_experiment *experiment)
{
    return !experiment->again && experiment->state == STATE_DONE &&
           (experiment->outcome == OUTCOME_SUCCEEDED || experiment->outcome == OUTCOME_FAILED);
}

static bool is_left_to_do(const struct session *session, size_t number)
{
    if (session->options->rerun)
        return session->again.items[number - 1];
    return !has_finished(store_experiment(session->store, number));
}

/* Tells the progress what earlier sessions did; gives how many experiments are left. */
static size_t skip_done(const struct session *session, struct progress *progress)
{
    const struct plan *plan = store_plan(session->store);
    size_t left = 0;
    for (size_t number = 1; number <= plan->count; number++) {
        if (is_left_to_do(session, number))
            left++;
        else
            progress_skip(progress, number);
    }
    return left;
}

/* Whoever repeats the study may prefer shorter pauses. Parts of another command lack the option. */
static void add_adaptive_saves(const struct session *session, struct text *out)
{
    const struct run_input *input = session->options->input;
    const struct plan *plan = store_plan(session->store);
    bool asked = input && !input->settings.has_tare && !session->options->part;
    double saves_s = asked ? estimate_adaptive_saves(plan) : 0;
    if (saves_s <= 0)
        return;
    char saves[32];
    clock_format_duration(saves_s, saves);
    text_addf(out,
              "pauses of %g s, as in the study; --cooldown adaptive ends each when the GPUs are "
              "idle and cool: up to "
              "%s less\n",
              plan->timing.between_runs_s, saves);
}

static void print_session_start(const struct session *session, size_t left)
{
    const struct plan *plan = store_plan(session->store);
    char pauses[32];
    if (session->options->quiet || session->options->json)
        return;
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%zu experiment%s", plan->count, plan->count == 1 ? "" : "s");
    if (session->options->rerun) {
        AUTO_FREE char *why = again_reasons_text(&session->again);
        text_addf(&text, ", %zu to repeat (%s); results in %s\n", left, why, session->dir_path);
    } else if (session->options->resume_dir) {
        text_addf(&text, ", %zu left; results in %s\n", left, session->dir_path);
    } else {
        double pauses_s = estimate_pauses(plan, NULL);
        clock_format_duration(pauses_s, pauses);
        bool adaptive = plan->guard.cooldown.mode == COOLDOWN_ADAPTIVE && pauses_s > 0;
        text_addf(&text, "%s, pauses %s%s; results in %s\n",
                  session->options->watch ? " at most" : "",
                  adaptive ? "until the GPUs are idle and cool" : pauses, adaptive ? "" : " in all",
                  session->dir_path);
        add_adaptive_saves(session, &text);
    }
    AUTO_FREE char *lanes = pool_text(&session->pool);
    if (lanes)
        text_addf(&text, "%s\n", lanes);
    message_print(&text);
    if (*session->pool.cpu_sets.why.text)
        cli_note("the slots share all CPUs: %s", session->pool.cpu_sets.why.text);
}

void session_say_meters(const struct session *session)
{
    AUTO_FREE char *missing = energy_meters_missing_text(&session->meters.options);
    if (missing && !session->options->quiet && !session->options->json)
        cli_note("%s", missing);
}

static void pass_event_on(void *context, const struct event *event)
{
    const struct listeners *listeners = context;
    progress_event(listeners->progress, event);
    live_file_event(listeners->live, event);
    if (listeners->watch)
        listeners->watch->event(listeners->watch->context, event);
    on_event_take(listeners->on_event, event);
}

static bool pass_tick_on(void *context)
{
    const struct listeners *listeners = context;
    live_file_tick(listeners->live);
    bool waits = on_event_tick(listeners->on_event);
    return progress_tick(listeners->progress) || waits;
}

bool session_has_enough(const struct session *session)
{
    const struct run_listener *watch = session->options->watch;
    return watch && watch->enough(watch->context);
}

static bool ask_enough(void *context)
{
    const struct listeners *listeners = context;
    return listeners->watch && listeners->watch->enough(listeners->watch->context);
}

void listeners_begin_live(struct session *session, struct listeners *listeners)
{
    const struct pool *pool = &session->pool;
    const struct energy_meters_options *meters = &session->meters.options;
    size_t count = pool->lane_count ? pool->lane_count : 1;
    listeners->live = live_file_new(session->dir, store_plan(session->store), count);
    for (size_t i = 0; i < count; i++) {
        size_t first = pool->lane_count ? pool->lanes[i].gpu_first : 0;
        size_t gpus = pool->lane_count ? pool->lanes[i].gpu_count : meters->gpu_count;
        for (size_t gpu = first; gpu < first + gpus && gpu < meters->gpu_count; gpu++)
            live_file_add_gpu(listeners->live, i + 1, meters->gpus[gpu].label);
    }
}

void listeners_begin(struct session *session, struct listeners *out)
{
    *out = (struct listeners){.progress = make_progress(session),
                              .watch = session->options->watch,
                              .on_event = session->on_event};
    print_session_start(session, skip_done(session, out->progress));
}

struct run_listener listeners_of_run(struct listeners *listeners)
{
    return (struct run_listener){pass_event_on, pass_tick_on, listeners, ask_enough};
}

void listeners_end(struct session *session, struct listeners *listeners)
{
    live_file_free(listeners->live);
    session->detached = progress_detached(listeners->progress);
    int failed = progress_free(listeners->progress);
    if (failed)
        message_output_failed(failed);
}

void session_print_closing(const struct session *session, const struct results *results)
{
    struct closing_options options = {
        .program = TARE_NAME,
        .run_dir = session->dir_path,
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO),
    };
    AUTO_TEXT struct text text = {0};
    if (!session->options->quiet)
        text_add_char(&text, '\n');
    closing_text(results, &options, &text);
    message_print(&text);
}

static void add_count(struct text *out, size_t count, const char *what)
{
    if (count > 0)
        text_addf(out, "%s%zu %s", out->length > 0 ? ", " : "", count, what);
}

void session_print_stopped(const struct session *session, const struct run_summary *summary)
{
    AUTO_TEXT struct text text = {0};
    if (session->options->json || session->options->leaves_closing || session->detached)
        return;
    add_count(&text, summary->succeeded, "succeeded");
    add_count(&text, summary->failed, "failed");
    add_count(&text, summary->interrupted, "interrupted");
    add_count(&text, summary->not_run, "not run");
    AUTO_FREE char *typed = shell_words_path(session->dir_path);
    text_addf(&text, "\nresults: %s\nto run what is left: %s run --resume %s\n", session->dir_path,
              TARE_NAME, typed);
    text_addf(&text,
              "to close soon, it wrote no report.html ('%s report %s' does), and left most of its "
              "records to be compared "
              "by --resume\n",
              TARE_NAME, typed);
    message_print(&text);
}

void session_write_page(const struct session *session)
{
    struct err err = {0};
    json_auto_t *run = results_json_from_store(session->store, &err);
    struct report_options options = {.dir = &session->dir,
                                     .language = report_page_language(),
                                     .rows = AUDIT_ROWS_CONSISTENT,
                                     .fills_summary = true};
    bool written = run && report_page_write(run, session->dir_path, &options, &err);
    if (!written)
        cli_warning("there is no report.html: %s", err.text);
    else if (!session->options->json && !session->options->quiet &&
             !session->options->leaves_closing && !session->detached)
        message_printf("report: %s/report.html\n", session->dir_path);
}
