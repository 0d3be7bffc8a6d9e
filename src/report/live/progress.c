#include "base/json_print.h"
#include "report/live/output.h"
#include "report/live/parts.h"
#include "report/live/progress_line.h"
#include "report/live/training.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END_TIMEOUT_MS = 5000 };

struct progress *progress_new(const struct progress_options *options)
{
    struct progress *progress = mem_alloc(sizeof *progress);
    progress->options = *options;
    progress->output.fd = options->fd;
    estimate_init(&progress->estimate, options->plan);
    progress->lanes = mem_array(1, sizeof *progress->lanes);
    progress->lane_count = 1;
    progress->lane = progress->lanes;
    return progress;
}

static void forget_metrics(struct shown *shown)
{
    EACH (metric, shown->metrics, METRICS_SHOWN)
        free(metric->name);
    memset(shown->metrics, 0, sizeof shown->metrics);
}

static void shown_fini(struct shown *shown)
{
    forget_metrics(shown);
    free(shown->params);
    free(shown->attempt_error);
    free(shown->retried_error);
    free(shown->gpus);
}

int progress_free(struct progress *progress)
{
    if (!progress)
        return 0;
    if (!progress->detached)
        progress_erase(progress);
    output_fini(&progress->output, END_TIMEOUT_MS);
    int code = progress->detached || progress->output.broken == EPIPE ? 0 : progress->output.broken;
    estimate_fini(&progress->estimate);
    EACH (lane, progress->lanes, progress->lane_count)
        shown_fini(lane);
    shown_fini(&progress->other);
    free(progress->lanes);
    free(progress);
    return code;
}

void progress_skip(struct progress *progress, size_t number)
{
    estimate_done(&progress->estimate, number, -1);
    progress->done++;
}

bool progress_detached(const struct progress *progress)
{
    return progress->detached;
}

/* What is so at this moment, of an attempt alone. */
static void forget_now(struct progress *progress)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, (int64_t)progress->lane->current);
    progress->lane->power_w = progress->lane->use_percent = (struct reading){0};
    training_begin(&progress->lane->training,
                   experiment ? estimate_epochs(experiment) : (struct reading){0});
}

/* Pauses that end when the GPUs are cool take as long as others did. */
static void end_pause(struct progress *progress)
{
    if (progress->lane->paused_ns)
        estimate_pause(&progress->estimate, progress->lane->planned_s,
                       progress_seconds_since(progress, progress->lane->paused_ns));
    progress->lane->paused_ns = 0;
}

static void show_experiment_begin(struct progress *progress, const struct event *event)
{
    const struct plan_experiment *experiment = progress_experiment_at(progress, event->experiment);
    if (!experiment)
        return;
    progress->lane->current = experiment->number;
    progress->lane->ended = false;
    progress->lane->attempt = 1;
    progress->lane->experiment_ns = progress->lane->attempt_ns = progress_now_ns(progress);
    progress->lane->pause_end_ns = progress->lane->stop_end_ns = 0;
    progress->lane->from_first = false;
    progress->lane->of_experiment = progress->lane->of_attempt = VERDICT_CLEAN;
    forget_metrics(progress->lane);
    free(steal_ptr(progress->lane->attempt_error));
    free(steal_ptr(progress->lane->retried_error));
    progress->lane->drawn_by = (struct drawn){0};
    forget_now(progress);
    end_pause(progress);
    struct text params = {0};
    if (progress->options.style == PROGRESS_LIVE)
        params_add(progress->options.plan, experiment, &params);
    free(progress->lane->params);
    progress->lane->params = text_take(&params);
    if (progress->options.style != PROGRESS_PLAIN)
        return;
    AUTO_TEXT struct text line = {0};
    progress_add_head(progress, experiment, &line);
    text_add(&line, " started");
    if (progress->lane->gpus)
        text_addf(&line, " on %s", progress->lane->gpus);
    progress_say(progress, &line, NULL, line.length);
}

static void begin_attempt(struct progress *progress, const struct event *event)
{
    progress->lane->attempt = event->attempt;
    progress->lane->from_first = progress->lane->from_first || event->attempt == 1;
    progress->lane->attempt_ns = progress_now_ns(progress);
    progress->lane->pause_end_ns = 0;
    forget_now(progress);
    progress->lane->alone = false;
}

/* The first loop of a background: until the foreground starts, nothing else shows that something
 * happens. */
static void begin_background(struct progress *progress, const struct event_facts *facts)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, facts->event->experiment);
    bool first = facts->role && strcmp(facts->role, "background") == 0 && facts->number == 1;
    if (!experiment || !first)
        return;
    progress->lane->alone = true;
    progress->lane->attempt_ns = progress_now_ns(progress);
    if (progress->options.style != PROGRESS_PLAIN)
        return;
    AUTO_TEXT struct text line = {0};
    progress_add_head(progress, experiment, &line);
    text_addf(&line, " background started (%s %s); the foreground follows ",
              experiment->background->repo, experiment->background->model);
    if (experiment->start_after_s.valid)
        text_addf(&line, "after %g s", experiment->start_after_s.value);
    else
        text_addf(&line, "after %g s at the earliest, when its load has held",
                  progress->options.plan->parallel.wait_s);
    progress_say(progress, &line, NULL, line.length);
}

/* A job that has ended by itself is gone at once, most often. */
static void begin_stop(struct progress *progress, const struct event_facts *facts)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, facts->event->experiment);
    const char *reason = facts->reason;
    if (!experiment || !reason || strcmp(reason, "exited") == 0)
        return;
    double grace_s = progress->options.plan->timing.stop_grace_s;
    progress->lane->stop_end_ns = progress_now_ns(progress) + (int64_t)(grace_s * (double)NS_PER_S);
    progress->lane->interrupted = strcmp(reason, "interrupted") == 0;
    if (progress->options.style != PROGRESS_PLAIN || !progress->lane->interrupted)
        return;
    AUTO_TEXT struct text line = {0};
    progress_add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    text_add(&line, " is being stopped, which may take ");
    progress_add_seconds(&line, ceil(grace_s));
    progress_say(progress, &line, PROGRESS_YELLOW, coloured_from);
}

static bool is_interrupted(const struct event_facts *facts)
{
    return !facts->outcome || strcmp(facts->outcome, outcome_name(OUTCOME_INTERRUPTED)) == 0;
}

static void begin_pause(struct progress *progress, const struct event_facts *facts, bool retry)
{
    double seconds = facts->seconds.value;
    progress->lane->pause_end_ns =
        progress_now_ns(progress) + (int64_t)(seconds * (double)NS_PER_S);
    progress->lane->pause_is_retry = retry;
    progress->lane->planned_s = seconds;
    progress->lane->paused_ns = retry ? 0 : progress_now_ns(progress);
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, facts->event->experiment);
    if (!retry || !experiment)
        return;
    AUTO_TEXT struct text line = {0};
    progress_add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    text_addf(&line, " attempt %lld %s", (long long)progress->lane->attempt,
              progress->lane->attempt_interrupted ? "was interrupted" : "failed");
    if (progress->lane->attempt_error)
        text_addf(&line, ": %s", progress->lane->attempt_error);
    free(progress->lane->retried_error);
    progress->lane->retried_error = mem_strdup(progress->lane->attempt_error);
    text_add(&line, "; retry in ");
    progress_add_seconds(&line, ceil(seconds));
    progress_say(progress, &line, PROGRESS_YELLOW, coloured_from);
}

static void add_bad_verdict(const struct progress *progress, struct text *out)
{
    enum verdict verdict = progress->lane->of_attempt > progress->lane->of_experiment
                               ? progress->lane->of_attempt
                               : progress->lane->of_experiment;
    if (verdict > VERDICT_CLEAN)
        text_addf(out, ", %s", verdict_name(verdict));
}

/* Optional metrics that were not found are left out if others were. */
static void add_result_metrics(const struct plan_experiment *experiment, struct text *out,
                               const struct event_facts *facts)
{
    bool optional = experiment->foreground.rules.metrics == METRICS_OPTIONAL, none = true;
    EACH (metric, facts->metrics, facts->metric_count)
        none &= !metric->value.valid;
    EACH (metric, facts->metrics, facts->metric_count) {
        if (!metric->value.valid && optional && !none)
            continue;
        text_addf(out, ", %s ", metric->name);
        if (metric->value.valid)
            progress_add_number(out, metric->value.value);
        else
            text_add(out, "not found");
    }
}

static const char same_error[] = "the same error";

static void show_experiment_end(struct progress *progress, const struct event_facts *facts)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, facts->event->experiment);
    if (!experiment)
        return;
    const char *outcome = facts->outcome, *error = facts->error;
    bool succeeded = outcome && strcmp(outcome, outcome_name(OUTCOME_SUCCEEDED)) == 0;
    char duration[32];
    clock_format_duration(facts->duration_s.value, duration);
    progress->lane->ended = true;
    /* What was interrupted because its GPU was lost is still to be done. */
    if (!outcome || !is_interrupted(facts)) {
        estimate_done(&progress->estimate, experiment->number,
                      progress_seconds_since(progress, progress->lane->experiment_ns));
        progress->done++;
    }

    AUTO_TEXT struct text line = {0};
    progress_add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    if (!facts->begun)
        text_add(&line, " not begun");
    else
        text_addf(&line, " %s %s %s", outcome ? outcome : "ended", succeeded ? "in" : "after",
                  duration);
    if (facts->retries > 0)
        text_addf(&line, ", %lld %s", (long long)facts->retries,
                  facts->retries > 1 ? "retries" : "retry");
    drawn_add(&progress->lane->drawn_by, &line);
    add_bad_verdict(progress, &line);
    if (succeeded)
        add_result_metrics(experiment, &line, facts);
    else if (error && strlen(error) > strlen(same_error) && progress->lane->retried_error &&
             strcmp(error, progress->lane->retried_error) == 0)
        text_addf(&line, ": %s", same_error);
    else if (error && !(outcome && strcmp(error, outcome) == 0))
        text_addf(&line, ": %s", error);
    progress_say(progress, &line, succeeded ? PROGRESS_GREEN : PROGRESS_RED, coloured_from);
}

static bool says_detached(const struct event_facts *facts)
{
    return facts->event->type == EVENT_NOTE && facts->text && strcmp(facts->text, "detached") == 0;
}

/* A text that begins with the experiment's name, which stands in the head already. */
static const char *without_id(const char *text, const char *id)
{
    size_t length = strlen(id);
    bool named = text && strncmp(text, id, length) == 0 && strncmp(text + length, ": ", 2) == 0;
    return named ? text + length + 2 : text;
}

static void print_event_text(struct progress *progress, const struct event_facts *facts,
                             const char *kind)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, facts->event->experiment);
    const char *text = says_detached(facts) ? "the terminal is gone; the run goes on" : facts->text;
    AUTO_TEXT struct text line = {0};
    if (experiment) {
        progress_add_head(progress, experiment, &line);
        text_add_char(&line, ' ');
        text = without_id(text, experiment->id);
    }
    size_t coloured_from = line.length;
    text_addf(&line, "%s%s", kind, text ? text : "");
    progress_say(progress, &line, *kind ? PROGRESS_YELLOW : NULL, coloured_from);
}

/* What a busy machine does to one experiment it does to the next: a kind is shown once, the end
 * counts them. */
static bool is_told_of_machine(struct progress *progress, const char *kind)
{
    static const char *const kinds[MACHINE_KINDS] = {"cpu_shared", "cpu_unchecked",
                                                     "host_pressure"};
    for (size_t i = 0; kind && i < MACHINE_KINDS; i++)
        if (strcmp(kind, kinds[i]) == 0) {
            bool told = progress->told_of_machine[i];
            progress->told_of_machine[i] = true;
            return told;
        }
    return false;
}

/* Shows its weight: a leftover that was ended is not an alarm. */
static void show_evidence(struct progress *progress, const struct event_facts *facts)
{
    const char *kind = facts->kind;
    enum verdict *verdict =
        facts->event->attempt > 0 ? &progress->lane->of_attempt : &progress->lane->of_experiment;
    AUTO_FREE char *head =
        mem_printf("evidence (%s): ", evidence_weight_name(evidence_weight(kind)));
    *verdict = verdict_with(*verdict, kind);
    if (is_told_of_machine(progress, kind))
        return;
    /* That the machine has none is so for every experiment: the note before the first says it
     * once. */
    if (!kind || (strcmp(kind, "governor_not_set") != 0 && strcmp(kind, "gpu_lock_unshared") != 0))
        print_event_text(progress, facts, head);
}

static void begin_session(struct progress *progress, const struct event_facts *facts)
{
    if (facts->kernel_backed)
        return;
    AUTO_TEXT struct text line = {0};
    text_add(&line, "containment: best effort on this machine: a process that hides may outlive "
                    "its experiment, "
                    "and one experiment may write to the results of another");
    progress_say(progress, &line, PROGRESS_YELLOW, 0);
}

static void print_event_json(struct progress *progress, const struct event *event)
{
    AUTO_TEXT struct text line = {0};
    json_t *json = event_to_json(event);
    json_print(json, &line);
    json_decref(json);
    text_add_char(&line, '\n');
    output_add(&progress->output, text_get(&line), line.length);
}

enum { LANES_MAX = 1024 };

/* The lane that the event names, or that has its experiment. */
static struct shown *find_event_lane(struct progress *progress, const struct event_facts *facts)
{
    if (facts->lane >= 1 && facts->lane <= LANES_MAX) {
        size_t place = (size_t)facts->lane - 1, count = progress->lane_count;
        if (place >= count) {
            progress->lanes = mem_resize(progress->lanes, place + 1, sizeof *progress->lanes);
            memset(progress->lanes + count, 0, (place + 1 - count) * sizeof *progress->lanes);
            progress->lane_count = place + 1;
        }
        if (!progress->lanes[place].gpus)
            progress->lanes[place].gpus = strv_join(&facts->gpus, ", ");
        return &progress->lanes[place];
    }
    if (progress->lane_count == 1)
        return progress->lanes;
    for (size_t i = 0; i < progress->lane_count; i++)
        if (progress->lanes[i].current > 0 &&
            (int64_t)progress->lanes[i].current == facts->event->experiment)
            return &progress->lanes[i];
    return &progress->other;
}

static void show_event(struct progress *progress, const struct event_facts *facts)
{
    const struct event *event = facts->event;
    progress->lane = find_event_lane(progress, facts);
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        begin_session(progress, facts);
        break;
    case EVENT_EXPERIMENT_STARTED:
        show_experiment_begin(progress, event);
        break;
    case EVENT_ATTEMPT_PREPARED:
        progress->lane->of_attempt = VERDICT_CLEAN;
        begin_attempt(progress, event);
        break;
    case EVENT_ATTEMPT_STARTED:
        begin_attempt(progress, event);
        break;
    case EVENT_METRIC:
        progress_take_metric(progress, facts);
        break;
    case EVENT_ATTEMPT_STOPPING:
        begin_stop(progress, facts);
        break;
    case EVENT_ATTEMPT_ENDED:
        progress->lane->stop_end_ns = 0;
        progress->lane->alone = false;
        free(progress->lane->attempt_error);
        progress->lane->attempt_error = mem_strdup(facts->error);
        progress->lane->attempt_interrupted = is_interrupted(facts);
        progress->lane->drawn_by = (struct drawn){facts->gpu_j, facts->gpu_half_width_j,
                                                  facts->cpu_j, facts->cpu_half_width_j};
        forget_now(progress);
        break;
    case EVENT_RETRY_PAUSE:
        begin_pause(progress, facts, true);
        break;
    case EVENT_PAUSE:
        begin_pause(progress, facts, false);
        break;
    case EVENT_EXPERIMENT_ENDED:
        show_experiment_end(progress, facts);
        break;
    case EVENT_EVIDENCE:
        show_evidence(progress, facts);
        break;
    case EVENT_GUARD:
        if (facts->text && !progress_told_already(progress, facts))
            print_event_text(progress, facts, "");
        break;
    case EVENT_CALIBRATION:
        print_event_text(progress, facts, "");
        break;
    case EVENT_NOTE:
        /* That a metric was not found stands in the line of the experiment's end. */
        if (!facts->metric)
            print_event_text(progress, facts, "");
        break;
    case EVENT_JOB_BORN:
        begin_background(progress, facts);
        break;
    case EVENT_MARK:
        training_mark(&progress->lane->training, facts, progress_now_ns(progress));
        break;
    case EVENT_BUDGET:
    case EVENT_JOB_EXITED:
    case EVENT_JOB_PROVEN:
    case EVENT_SESSION_ENDED:
    case EVENT_EXPERIMENT_AGAIN:
    case EVENT_FILES_WRITTEN:
    case EVENT_TYPES:
        break;
    }
}

void progress_event(void *context, const struct event *event)
{
    struct progress *progress = context;
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(event, &facts);
    if (says_detached(&facts) && progress->options.style == PROGRESS_LIVE)
        progress->detached = true, progress->output.broken = EPIPE;
    if (progress->detached)
        return;
    if (progress->options.style == PROGRESS_JSON) {
        if (!progress_sensor(&facts)) /* the readings are in energy/gpu.csv */
            print_event_json(progress, event);
        return;
    }
    show_event(progress, &facts);
    if (event->type != EVENT_METRIC)
        progress_draw(progress);
}

bool progress_tick(void *context)
{
    struct progress *progress = context;
    bool live = progress->options.style == PROGRESS_LIVE && !progress->detached;
    if (live)
        progress_draw(progress);
    return !output_push(&progress->output) || live;
}
