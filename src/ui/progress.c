#include "ui/progress.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "guard/evidence.h"
#include "ui/drawn.h"
#include "ui/estimate.h"
#include "ui/output.h"
#include "ui/width.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERASE_LINE   "\r\033[K"
#define UP_AND_ERASE "\033[A\033[K"
#define GREEN        "\033[32m"
#define RED          "\033[31m"
#define YELLOW       "\033[33m"
#define PLAIN        "\033[0m"

enum { LANES_SHOWN = 16, END_TIMEOUT_MS = 5000, METRIC_DIGITS = 6 };

/* What is known of one lane's experiment. */
struct shown {
    size_t current; /* experiment, from 1; 0: none yet */
    bool ended;     /* it is over, and nothing follows it yet */
    int64_t attempt;
    int64_t experiment_ns, attempt_ns; /* when it began */
    int64_t pause_end_ns;              /* 0: no pause */
    bool pause_is_retry;
    int64_t stop_end_ns; /* when the grace of the attempt that is being stopped is over; 0: none is */
    bool interrupted;    /* it is stopped because a person said so */
    bool alone;          /* the background of a parallel experiment runs, its foreground not yet */
    bool from_first;     /* the attempts of this experiment all belong to this session */
    char *metric_name;   /* the last one seen */
    double metric_value;
    char *attempt_error;                    /* of the attempt that ended last */
    enum verdict of_experiment, of_attempt; /* what was seen so far makes of it */
    struct reading power_w;                 /* now */
    struct drawn drawn_by;                  /* by the attempt that ended last */
    char *gpus;                             /* of the lane; NULL: there is one lane */
};

struct progress {
    struct progress_options options;
    struct output output;
    struct estimate estimate;
    struct shown *lanes; /* at least one */
    size_t lane_count;
    struct shown *lane; /* whose event it is */
    struct shown other; /* what comes of an experiment that no lane has any more */
    size_t done;        /* experiments that have ended, in earlier sessions too */
    size_t rows;        /* live lines that stand there */
    bool detached;
};

static int64_t now_ns(const struct progress *progress)
{
    return progress->options.now ? progress->options.now() : clock_monotonic_ns();
}

static double seconds_since(const struct progress *progress, int64_t start_ns)
{
    return (double)(now_ns(progress) - start_ns) / (double)NS_PER_S;
}

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

static void erase(struct progress *progress)
{
    for (size_t i = 0; i < progress->rows; i++) {
        const char *step = i == 0 ? ERASE_LINE : UP_AND_ERASE;
        output_add(&progress->output, step, strlen(step));
    }
    progress->rows = 0;
}

static void shown_fini(struct shown *shown)
{
    free(shown->metric_name);
    free(shown->attempt_error);
    free(shown->gpus);
}

void progress_free(struct progress *progress)
{
    if (!progress)
        return;
    if (!progress->detached)
        erase(progress);
    output_fini(&progress->output, END_TIMEOUT_MS);
    estimate_fini(&progress->estimate);
    for (size_t i = 0; i < progress->lane_count; i++)
        shown_fini(&progress->lanes[i]);
    shown_fini(&progress->other);
    free(progress->lanes);
    free(progress);
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

static const struct plan_experiment *experiment_at(const struct progress *progress, int64_t number)
{
    const struct plan *plan = progress->options.plan;
    return number >= 1 && (uint64_t)number <= plan->count ? &plan->experiments[number - 1] : NULL;
}

static void add_head(const struct progress *progress, const struct plan_experiment *experiment, struct text *out)
{
    text_addf(out, "[%zu/%zu] %s", experiment->number, progress->options.plan->count, experiment->id);
}

static void add_number(struct text *out, double number)
{
    char digits[32];
    number_shortest(number_round(number, METRIC_DIGITS), digits);
    text_add(out, digits);
}

/* Whole seconds: tenths that change each second only flicker. */
static void add_seconds(struct text *out, double seconds)
{
    char duration[32];
    if (seconds < 59.5)
        snprintf(duration, sizeof duration, "%.0f s", seconds > 0 ? seconds : 0);
    else
        clock_format_duration(seconds, duration);
    text_add(out, duration);
}

static void add_pause(const struct progress *progress, struct text *out)
{
    text_addf(out, "  %s in ", progress->lane->pause_is_retry ? "retry" : "next");
    add_seconds(out, ceil(-seconds_since(progress, progress->lane->pause_end_ns)));
}

static void add_stopping(const struct progress *progress, struct text *out)
{
    text_add(out, "  stopping, at most ");
    add_seconds(out, ceil(-seconds_since(progress, progress->lane->stop_end_ns)));
    if (progress->lane->interrupted)
        text_add(out, "; Ctrl-C again: at once");
}

/* How many attempts there may be is known only of an experiment that no earlier session interrupted. */
static void add_attempt(const struct progress *progress, const struct plan_experiment *experiment, struct text *out)
{
    if (progress->lane->attempt <= 1)
        return;
    text_addf(out, "  attempt %lld", (long long)progress->lane->attempt);
    if (progress->lane->from_first)
        text_addf(out, "/%lld", (long long)experiment->max_retries + 1);
}

void progress_line(const struct progress *progress, struct text *out)
{
    const struct plan_experiment *experiment = experiment_at(progress, (int64_t)progress->lane->current);
    if (!experiment)
        return;
    bool paused = progress->lane->pause_end_ns != 0;
    add_head(progress, experiment, out);
    add_attempt(progress, experiment, out);
    if (progress->lane->stop_end_ns != 0) {
        add_stopping(progress, out);
        return;
    }
    if (paused) {
        add_pause(progress, out);
    } else {
        text_add(out, progress->lane->alone ? "  background alone " : "  ");
        add_seconds(out, floor(seconds_since(progress, progress->lane->attempt_ns)));
        if (progress->lane->power_w.valid)
            text_addf(out, "  %.0f W", progress->lane->power_w.value);
    }
    double elapsed_s = seconds_since(progress, progress->lane->experiment_ns);
    double left_s;
    if (progress->lane_count == 1 && estimate_left(&progress->estimate, progress->lane->current, elapsed_s, &left_s)) {
        text_add(out, "  about ");
        add_seconds(out, ceil(left_s));
        text_add(out, " left");
    }
    if (progress->lane->metric_name && !paused) {
        text_addf(out, "  %s ", progress->lane->metric_name);
        add_number(out, progress->lane->metric_value);
    }
}

static void draw_row(struct progress *progress, size_t width, const char *line)
{
    AUTO_TEXT struct text cut = {0};
    text_add(&cut, progress->rows > 0 ? "\n" : "");
    text_add(&cut, ERASE_LINE);
    /* One column stays free: a full line would wrap on some terminals. */
    width_fit(line, width - 1, &cut);
    output_add(&progress->output, text_get(&cut), cut.length);
    progress->rows++;
}

/* Of all lanes together. */
static void add_whole(const struct progress *progress, struct text *out)
{
    double left_s;
    struct estimate_running *running = mem_array(progress->lane_count, sizeof *running);
    for (size_t i = 0; i < progress->lane_count; i++) {
        const struct shown *lane = &progress->lanes[i];
        bool runs = lane->current && !lane->ended;
        running[i] = (struct estimate_running){runs ? lane->current : 0, seconds_since(progress, lane->experiment_ns)};
    }
    text_addf(out, "%zu of %zu done", progress->done, progress->options.plan->count);
    if (estimate_left_of(&progress->estimate, running, progress->lane_count, &left_s)) {
        text_add(out, ", about ");
        add_seconds(out, ceil(left_s));
        text_add(out, " left");
    }
    free(running);
}

void progress_line_of(struct progress *progress, size_t number, struct text *out)
{
    if (number == 0) {
        add_whole(progress, out);
        return;
    }
    progress->lane = &progress->lanes[number - 1];
    text_addf(out, "%s  ", progress->lane->gpus ? progress->lane->gpus : "");
    if (progress->lane->current == 0 || (progress->lane->ended && progress->lane->pause_end_ns == 0))
        text_add(out, "idle");
    else
        progress_line(progress, out);
}

static void draw(struct progress *progress)
{
    if (progress->options.style != PROGRESS_LIVE || progress->detached || !output_push(&progress->output))
        return;
    size_t width = progress->options.width ? progress->options.width : width_of_terminal(progress->options.fd);
    size_t rows = progress->lane_count > 1 ? progress->lane_count : 0;
    if (rows)
        erase(progress);
    progress->rows = 0;
    for (size_t i = 0; i <= rows && i <= LANES_SHOWN; i++) {
        AUTO_TEXT struct text line = {0};
        if (rows)
            progress_line_of(progress, i, &line);
        else
            progress_line(progress, &line);
        draw_row(progress, width, text_get(&line));
    }
}

/* A line that stays. colour: of its last part, from byte coloured_from on. */
static void say(struct progress *progress, const struct text *line, const char *colour, size_t coloured_from)
{
    if (progress->options.style == PROGRESS_JSON || progress->options.style == PROGRESS_QUIET)
        return;
    erase(progress);
    AUTO_TEXT struct text safe = {0};
    AUTO_TEXT struct text head = {0};
    text_add_bytes(&head, text_get(line), coloured_from);
    width_fit(text_get(&head), SIZE_MAX, &safe);
    if (colour && progress->options.colour)
        text_add(&safe, colour);
    width_fit(text_get(line) + coloured_from, SIZE_MAX, &safe);
    if (colour && progress->options.colour)
        text_add(&safe, PLAIN);
    text_add_char(&safe, '\n');
    output_add(&progress->output, text_get(&safe), safe.length);
}

static double number_of(const struct event *event, const char *key, double absent)
{
    double number;
    return json_get_number(event->data, key, &number) ? number : absent;
}

static void begin_experiment(struct progress *progress, const struct event *event)
{
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    if (!experiment)
        return;
    progress->lane->current = experiment->number;
    progress->lane->ended = false;
    progress->lane->attempt = 1;
    progress->lane->experiment_ns = progress->lane->attempt_ns = now_ns(progress);
    progress->lane->pause_end_ns = progress->lane->stop_end_ns = 0;
    progress->lane->from_first = false;
    progress->lane->of_experiment = progress->lane->of_attempt = VERDICT_CLEAN;
    free(steal_ptr(progress->lane->metric_name));
    free(steal_ptr(progress->lane->attempt_error));
    progress->lane->drawn_by = (struct drawn){0};
    progress->lane->power_w = (struct reading){0};
    if (progress->options.style != PROGRESS_PLAIN)
        return;
    AUTO_TEXT struct text line = {0};
    add_head(progress, experiment, &line);
    text_add(&line, " started");
    if (progress->lane->gpus)
        text_addf(&line, " on %s", progress->lane->gpus);
    say(progress, &line, NULL, line.length);
}

static void begin_attempt(struct progress *progress, const struct event *event)
{
    progress->lane->attempt = event->attempt;
    progress->lane->from_first = progress->lane->from_first || event->attempt == 1;
    progress->lane->attempt_ns = now_ns(progress);
    progress->lane->pause_end_ns = 0;
    progress->lane->power_w = (struct reading){0};
    progress->lane->alone = false;
}

/* The first loop of a background: until the foreground starts, nothing else shows that something happens. */
static void begin_background(struct progress *progress, const struct event *event)
{
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    const char *role = json_get_text(event->data, "role");
    json_int_t number;
    bool first = role && strcmp(role, "background") == 0 && json_get_int(event->data, "number", &number) && number == 1;
    if (!experiment || !first)
        return;
    progress->lane->alone = true;
    progress->lane->attempt_ns = now_ns(progress);
    if (progress->options.style != PROGRESS_PLAIN)
        return;
    AUTO_TEXT struct text line = {0};
    add_head(progress, experiment, &line);
    text_addf(&line, " background started (%s %s); the foreground follows when its load has held",
              experiment->background.repo, experiment->background.model);
    say(progress, &line, NULL, line.length);
}

/* A job that has ended by itself is gone at once, most often. */
static void begin_stop(struct progress *progress, const struct event *event)
{
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    const char *reason = json_get_text(event->data, "reason");
    if (!experiment || !reason || strcmp(reason, "exited") == 0)
        return;
    double grace_s = progress->options.plan->timing.stop_grace_s;
    progress->lane->stop_end_ns = now_ns(progress) + (int64_t)(grace_s * (double)NS_PER_S);
    progress->lane->interrupted = strcmp(reason, "interrupted") == 0;
    if (progress->options.style != PROGRESS_PLAIN || !progress->lane->interrupted)
        return;
    AUTO_TEXT struct text line = {0};
    add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    text_add(&line, " is being stopped, which may take ");
    add_seconds(&line, ceil(grace_s));
    say(progress, &line, YELLOW, coloured_from);
}

static void begin_pause(struct progress *progress, const struct event *event, bool retry)
{
    double seconds = number_of(event, "seconds", 0);
    progress->lane->pause_end_ns = now_ns(progress) + (int64_t)(seconds * (double)NS_PER_S);
    progress->lane->pause_is_retry = retry;
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    if (!retry || !experiment)
        return;
    AUTO_TEXT struct text line = {0};
    add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    text_addf(&line, " attempt %lld failed", (long long)progress->lane->attempt);
    if (progress->lane->attempt_error)
        text_addf(&line, ": %s", progress->lane->attempt_error);
    text_add(&line, "; retry in ");
    add_seconds(&line, ceil(seconds));
    say(progress, &line, YELLOW, coloured_from);
}

/* What makes a person look at a row twice. */
static void add_verdict(const struct progress *progress, struct text *out)
{
    enum verdict verdict = progress->lane->of_attempt > progress->lane->of_experiment ? progress->lane->of_attempt
                                                                                      : progress->lane->of_experiment;
    if (verdict > VERDICT_CLEAN)
        text_addf(out, ", %s", verdict_name(verdict));
}

static void add_metrics(struct text *out, const json_t *metrics)
{
    void *at;
    for (at = json_object_iter((json_t *)(uintptr_t)metrics); at;
         at = json_object_iter_next((json_t *)(uintptr_t)metrics, at)) {
        double value;
        text_addf(out, ", %s ", json_object_iter_key(at));
        if (json_to_reading(json_object_iter_value(at), &value))
            add_number(out, value);
        else
            text_add(out, "not found");
    }
}

static void end_experiment(struct progress *progress, const struct event *event)
{
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    if (!experiment)
        return;
    const char *outcome = json_get_text(event->data, "outcome");
    const char *error = json_get_text(event->data, "error");
    bool succeeded = outcome && strcmp(outcome, outcome_name(OUTCOME_SUCCEEDED)) == 0;
    double retries = number_of(event, "retries", 0);
    char duration[32];
    clock_format_duration(number_of(event, "duration_s", 0), duration);
    progress->lane->ended = true;
    /* What was interrupted because its GPU was lost is still to be done. */
    if (!outcome || strcmp(outcome, outcome_name(OUTCOME_INTERRUPTED)) != 0) {
        estimate_done(&progress->estimate, experiment->number, seconds_since(progress, progress->lane->experiment_ns));
        progress->done++;
    }

    AUTO_TEXT struct text line = {0};
    add_head(progress, experiment, &line);
    size_t coloured_from = line.length;
    text_addf(&line, " %s %s %s", outcome ? outcome : "ended", succeeded ? "in" : "after", duration);
    if (retries > 0)
        text_addf(&line, ", %.0f %s", retries, retries > 1 ? "retries" : "retry");
    drawn_add(&progress->lane->drawn_by, &line);
    add_verdict(progress, &line);
    if (succeeded)
        add_metrics(&line, json_object_get(event->data, "metrics"));
    else if (error && !(outcome && strcmp(error, outcome) == 0))
        text_addf(&line, ": %s", error);
    say(progress, &line, succeeded ? GREEN : RED, coloured_from);
}

static bool says_detached(const struct event *event)
{
    const char *text = event->type == EVENT_NOTE ? json_get_text(event->data, "text") : NULL;
    return text && strcmp(text, "detached") == 0;
}

/* A text that begins with the experiment's name, which stands in the head already. */
static const char *without_id(const char *text, const char *id)
{
    size_t length = strlen(id);
    bool named = text && strncmp(text, id, length) == 0 && strncmp(text + length, ": ", 2) == 0;
    return named ? text + length + 2 : text;
}

static void say_text(struct progress *progress, const struct event *event, const char *kind)
{
    const struct plan_experiment *experiment = experiment_at(progress, event->experiment);
    const char *text =
        says_detached(event) ? "the terminal is gone; the run goes on" : json_get_text(event->data, "text");
    AUTO_TEXT struct text line = {0};
    if (experiment) {
        add_head(progress, experiment, &line);
        text_add_char(&line, ' ');
        text = without_id(text, experiment->id);
    }
    size_t coloured_from = line.length;
    text_addf(&line, "%s%s", kind, text ? text : "");
    say(progress, &line, *kind ? YELLOW : NULL, coloured_from);
}

/* Said with what it weighs: a leftover that was ended is no reason to get up at night. */
static void take_evidence(struct progress *progress, const struct event *event)
{
    const char *kind = json_get_text(event->data, "kind");
    enum verdict *verdict = event->attempt > 0 ? &progress->lane->of_attempt : &progress->lane->of_experiment;
    AUTO_FREE char *head = mem_printf("evidence (%s): ", evidence_weight_name(evidence_weight(kind)));
    *verdict = verdict_with(*verdict, kind);
    /* That the machine has none is so for every experiment: the note before the first says it once. */
    if (!kind || strcmp(kind, "governor_not_set") != 0)
        say_text(progress, event, head);
}

/* What the GPUs draw now: told beside the metrics, as it moves as they do. */
static bool is_power(const struct event *event)
{
    return event->type == EVENT_METRIC && json_get_text(event->data, "sensor") != NULL;
}

static void take_metric(struct progress *progress, const struct event *event)
{
    const char *name = json_get_text(event->data, "name");
    double value;
    if (is_power(event)) {
        progress->lane->power_w.valid = json_get_number(event->data, "value", &progress->lane->power_w.value);
        return;
    }
    if (!name || !json_to_reading(json_object_get(event->data, "value"), &value))
        return;
    free(progress->lane->metric_name);
    progress->lane->metric_name = mem_strdup(name);
    progress->lane->metric_value = value;
}

static void begin_session(struct progress *progress, const struct event *event)
{
    if (!json_is_false(json_object_get(event->data, "kernel_backed")))
        return;
    AUTO_TEXT struct text line = {0};
    text_add(&line, "containment: best effort on this machine: a process that hides may outlive its experiment");
    say(progress, &line, YELLOW, 0);
}

static void print_json(struct progress *progress, const struct event *event)
{
    AUTO_TEXT struct text line = {0};
    json_t *json = event_to_json(event);
    json_print(json, &line);
    json_decref(json);
    text_add_char(&line, '\n');
    output_add(&progress->output, text_get(&line), line.length);
}

/* "GPU 2", or "GPU 2, GPU 3" */
static char *gpus_of(const struct event *event)
{
    struct text text = {0};
    size_t at;
    json_t *label;
    json_array_foreach(json_object_get(event->data, "gpus"), at, label)
        text_addf(&text, "%s%s", text.length ? ", " : "", json_string_value(label) ? json_string_value(label) : "");
    return text_take(&text);
}

enum { LANES_MAX = 1024 };

/* The lane that says so, or that has the experiment. */
static struct shown *lane_of(struct progress *progress, const struct event *event)
{
    json_int_t number = 0;
    if (json_get_int(event->data, "lane", &number) && number >= 1 && number <= LANES_MAX) {
        size_t place = (size_t)number - 1, count = progress->lane_count;
        if (place >= count) {
            progress->lanes = mem_resize(progress->lanes, place + 1, sizeof *progress->lanes);
            memset(progress->lanes + count, 0, (place + 1 - count) * sizeof *progress->lanes);
            progress->lane_count = place + 1;
        }
        if (!progress->lanes[place].gpus)
            progress->lanes[place].gpus = gpus_of(event);
        return &progress->lanes[place];
    }
    if (progress->lane_count == 1)
        return progress->lanes;
    for (size_t i = 0; i < progress->lane_count; i++)
        if (progress->lanes[i].current > 0 && (int64_t)progress->lanes[i].current == event->experiment)
            return &progress->lanes[i];
    return &progress->other;
}

static void take_event(struct progress *progress, const struct event *event)
{
    progress->lane = lane_of(progress, event);
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        begin_session(progress, event);
        break;
    case EVENT_EXPERIMENT_STARTED:
        begin_experiment(progress, event);
        break;
    case EVENT_ATTEMPT_PREPARED:
        progress->lane->of_attempt = VERDICT_CLEAN;
        begin_attempt(progress, event);
        break;
    case EVENT_ATTEMPT_STARTED:
        begin_attempt(progress, event);
        break;
    case EVENT_METRIC:
        take_metric(progress, event);
        break;
    case EVENT_ATTEMPT_STOPPING:
        begin_stop(progress, event);
        break;
    case EVENT_ATTEMPT_ENDED:
        progress->lane->stop_end_ns = 0;
        progress->lane->alone = false;
        free(progress->lane->attempt_error);
        progress->lane->attempt_error = mem_strdup(json_get_text(event->data, "error"));
        progress->lane->drawn_by = drawn_read(json_object_get(event->data, "energy"));
        progress->lane->power_w = (struct reading){0};
        break;
    case EVENT_RETRY_PAUSE:
        begin_pause(progress, event, true);
        break;
    case EVENT_PAUSE:
        begin_pause(progress, event, false);
        break;
    case EVENT_EXPERIMENT_ENDED:
        end_experiment(progress, event);
        break;
    case EVENT_EVIDENCE:
        take_evidence(progress, event);
        break;
    case EVENT_GUARD:
        if (json_get_text(event->data, "text"))
            say_text(progress, event, "");
        break;
    case EVENT_NOTE:
        /* That a metric was not found stands in the line of the experiment's end. */
        if (!json_get_text(event->data, "metric"))
            say_text(progress, event, "");
        break;
    case EVENT_JOB_BORN:
        begin_background(progress, event);
        break;
    case EVENT_MARK:
    case EVENT_JOB_EXITED:
    case EVENT_JOB_PROVEN:
    case EVENT_SESSION_ENDED:
    case EVENT_EXPERIMENT_AGAIN:
    case EVENT_TYPES:
        break;
    }
}

void progress_event(void *context, const struct event *event)
{
    struct progress *progress = context;
    if (says_detached(event) && progress->options.style == PROGRESS_LIVE)
        progress->detached = progress->output.broken = true;
    if (progress->detached)
        return;
    if (progress->options.style == PROGRESS_JSON) {
        if (!is_power(event)) /* the readings are in energy/gpu.csv */
            print_json(progress, event);
        return;
    }
    take_event(progress, event);
    if (event->type != EVENT_METRIC)
        draw(progress);
}

bool progress_tick(void *context)
{
    struct progress *progress = context;
    bool live = progress->options.style == PROGRESS_LIVE && !progress->detached;
    if (live)
        draw(progress);
    return !output_push(&progress->output) || live;
}
