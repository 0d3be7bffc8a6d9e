/* The lines that a person sees: what they say, and how they come and go on a terminal. */
#include "report/live/progress_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/live/width.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERASE_LINE   "\r\033[K"
#define UP_AND_ERASE "\033[A\033[K"
#define PLAIN        "\033[0m"

enum { LANES_SHOWN = 16, METRIC_DIGITS = 6 };

int64_t progress_now_ns(const struct progress *progress)
{
    return progress->options.now ? progress->options.now() : clock_monotonic_ns();
}

double progress_seconds_since(const struct progress *progress, int64_t start_ns)
{
    return (double)(progress_now_ns(progress) - start_ns) / (double)NS_PER_S;
}

void progress_erase(struct progress *progress)
{
    for (size_t i = 0; i < progress->rows; i++) {
        const char *step = i == 0 ? ERASE_LINE : UP_AND_ERASE;
        output_add(&progress->output, step, strlen(step));
    }
    progress->rows = 0;
}

const struct plan_experiment *progress_experiment_at(const struct progress *progress, int64_t number)
{
    const struct plan *plan = progress->options.plan;
    return number >= 1 && (uint64_t)number <= plan->count ? &plan->experiments[number - 1] : NULL;
}

void progress_add_head(const struct progress *progress, const struct plan_experiment *experiment, struct text *out)
{
    text_addf(out, "[%zu/%zu] %s", experiment->number, progress->options.plan->count, experiment->id);
}

void progress_add_number(struct text *out, double number)
{
    char digits[32];
    number_shortest(number_round(number, METRIC_DIGITS), digits);
    text_add(out, digits);
}

/* Whole seconds: tenths that change each second only flicker. */
void progress_add_seconds(struct text *out, double seconds)
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
    progress_add_seconds(out, ceil(-progress_seconds_since(progress, progress->lane->pause_end_ns)));
}

static void add_stopping(const struct progress *progress, struct text *out)
{
    text_add(out, "  stopping, at most ");
    progress_add_seconds(out, ceil(-progress_seconds_since(progress, progress->lane->stop_end_ns)));
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
    const struct plan_experiment *experiment = progress_experiment_at(progress, (int64_t)progress->lane->current);
    if (!experiment)
        return;
    bool paused = progress->lane->pause_end_ns != 0;
    progress_add_head(progress, experiment, out);
    add_attempt(progress, experiment, out);
    if (progress->lane->stop_end_ns != 0) {
        add_stopping(progress, out);
        return;
    }
    if (paused) {
        add_pause(progress, out);
    } else {
        text_add(out, progress->lane->alone ? "  background alone " : "  ");
        progress_add_seconds(out, floor(progress_seconds_since(progress, progress->lane->attempt_ns)));
        if (progress->lane->power_w.valid)
            text_addf(out, "  %.0f W", progress->lane->power_w.value);
    }
    double elapsed_s = progress_seconds_since(progress, progress->lane->experiment_ns);
    double left_s;
    if (progress->lane_count == 1 && estimate_left(&progress->estimate, progress->lane->current, elapsed_s, &left_s)) {
        text_add(out, "  about ");
        progress_add_seconds(out, ceil(left_s));
        text_add(out, " left");
    }
    if (progress->lane->metric_name && !paused) {
        text_addf(out, "  %s ", progress->lane->metric_name);
        progress_add_number(out, progress->lane->metric_value);
    }
}

static void draw_row(struct progress *progress, size_t width, const char *line)
{
    AUTO_TEXT struct text cut = {0};
    text_add(&cut, progress->rows > 0 ? "\n" : "");
    text_add(&cut, ERASE_LINE);
    /* One column stays free: a full line would wrap on some terminals. */
    utf8_fit(line, width - 1, &cut);
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
        running[i] =
            (struct estimate_running){runs ? lane->current : 0, progress_seconds_since(progress, lane->experiment_ns)};
    }
    text_addf(out, "%zu of %zu done", progress->done, progress->options.plan->count);
    if (estimate_left_of(&progress->estimate, running, progress->lane_count, &left_s)) {
        text_add(out, ", about ");
        progress_add_seconds(out, ceil(left_s));
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

void progress_draw(struct progress *progress)
{
    if (progress->options.style != PROGRESS_LIVE || progress->detached || !output_push(&progress->output))
        return;
    size_t width = progress->options.width ? progress->options.width : width_of_terminal(progress->options.fd);
    size_t rows = progress->lane_count > 1 ? progress->lane_count : 0;
    if (rows)
        progress_erase(progress);
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
void progress_say(struct progress *progress, const struct text *line, const char *colour, size_t coloured_from)
{
    if (progress->options.style == PROGRESS_JSON || progress->options.style == PROGRESS_QUIET)
        return;
    progress_erase(progress);
    AUTO_TEXT struct text safe = {0};
    AUTO_TEXT struct text head = {0};
    text_add_bytes(&head, text_get(line), coloured_from);
    utf8_fit(text_get(&head), SIZE_MAX, &safe);
    if (colour && progress->options.colour)
        text_add(&safe, colour);
    utf8_fit(text_get(line) + coloured_from, SIZE_MAX, &safe);
    if (colour && progress->options.colour)
        text_add(&safe, PLAIN);
    text_add_char(&safe, '\n');
    output_add(&progress->output, text_get(&safe), safe.length);
}
