#include "report/live/progress_line.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/live/layout.h"
#include "report/live/output.h"
#include "report/live/training.h"
#include "report/live/width.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERASE_LINE   "\r\033[K"
#define UP_AND_ERASE "\033[A\033[K"
#define PLAIN        "\033[0m"

enum { METRIC_DIGITS = 6, ROWS_OF_ONE = 5, WIDTH_OF_ROWS = 40, WIDTH_OF_LONG_BARS = 100 };

/* Behind a blank part, or at the beginning, none is needed. */
static void begin_part(struct text *out, const char *separator)
{
    text_add(out, out->length ? separator : "");
}

int64_t progress_now_ns(const struct progress *progress)
{
    return progress->options.now ? progress->options.now() : clock_monotonic_ns();
}

double progress_seconds_since(const struct progress *progress, int64_t start_ns)
{
    return (double)(progress_now_ns(progress) - start_ns) / (double)NS_PER_S;
}

/* Terminals that have become narrower since have broken the rows (xterm alone cuts them). */
static size_t rows_on_screen(const struct progress *progress, size_t width)
{
    size_t rows = 0;
    EACH (column, progress->columns, progress->rows)
        rows += *column > width ? (*column + width - 1) / width : 1;
    return rows;
}

static size_t width_now(const struct progress *progress)
{
    return progress->options.width ? progress->options.width
                                   : width_of_terminal(progress->options.fd);
}

static void add_erasure(struct progress *progress, size_t width, struct text *out)
{
    size_t rows = rows_on_screen(progress, width);
    for (size_t i = 0; i < rows; i++)
        text_add(out, i == 0 ? ERASE_LINE : UP_AND_ERASE);
    progress->rows = 0;
}

void progress_erase(struct progress *progress)
{
    AUTO_TEXT struct text erasure = {0};
    add_erasure(progress, width_now(progress), &erasure);
    output_add(&progress->output, text_get(&erasure), erasure.length);
}

const struct plan_experiment *progress_experiment_at(const struct progress *progress,
                                                     int64_t number)
{
    const struct plan *plan = progress->options.plan;
    return number >= 1 && (uint64_t)number <= plan->count ? &plan->experiments[number - 1] : NULL;
}

void progress_add_head(const struct progress *progress, const struct plan_experiment *experiment,
                       struct text *out)
{
    text_addf(out, "[%zu/%zu] %s", experiment->number, progress->options.plan->count,
              experiment->id);
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

/* As preflight's default: a GPU this busy counts as idle. */
static const double IDLE_PERCENT = 5;

static void add_pause(const struct progress *progress, struct text *out)
{
    begin_part(out, LAYOUT_PART);
    text_addf(out, "%s in ", progress->lane->pause_is_retry ? "retry" : "next");
    progress_add_seconds(out,
                         ceil(-progress_seconds_since(progress, progress->lane->pause_end_ns)));
    struct reading use = progress->lane->use_percent;
    if (progress->lane_count == 1 && (!use.valid || use.value <= IDLE_PERCENT)) {
        begin_part(out, LAYOUT_PART);
        text_add(out, "nothing trains");
    }
    if (use.valid) {
        begin_part(out, LAYOUT_PART);
        text_addf(out, "GPU %.0f %%", use.value);
    }
}

static void add_stopping(const struct progress *progress, struct text *out)
{
    begin_part(out, LAYOUT_PART);
    text_add(out, "stopping, at most ");
    progress_add_seconds(out, ceil(-progress_seconds_since(progress, progress->lane->stop_end_ns)));
    if (progress->lane->interrupted)
        text_add(out, "; Ctrl-C again: at once");
}

/* How many attempts there may be is known only of an experiment that no earlier session
 * interrupted. */
static void add_attempt(const struct progress *progress, const struct plan_experiment *experiment,
                        struct text *out)
{
    if (progress->lane->attempt <= 1)
        return;
    begin_part(out, LAYOUT_PART);
    text_addf(out, "attempt %lld", (long long)progress->lane->attempt);
    if (progress->lane->from_first)
        text_addf(out, "/%lld", (long long)experiment->max_retries + 1);
}

/* Fives from 20 on, halves of hours and days. */
static double round_for_people(double value, bool halves)
{
    double step = value >= 20 ? 5 : halves && value < 10 ? 0.5 : 1;
    return round(value / step) * step;
}

void progress_add_left(struct text *out, const struct estimate_left *left)
{
    static const struct {
        double below_s, of_s;
        const char *name;
    } units[] = {{120, 1, "s"}, {7200, 60, "min"}, {172800, 3600, "h"}, {INFINITY, 86400, "days"}};
    double span_s = left->high_s - left->low_s;
    size_t unit = 0;
    while (left->high_s >= units[unit].below_s && unit + 1 < sizeof units / sizeof *units)
        unit++;
    double low = round_for_people(left->low_s / units[unit].of_s, unit >= 2),
           high = round_for_people(left->high_s / units[unit].of_s, unit >= 2);
    if (span_s < 10 || span_s < 0.15 * left->expected_s || low >= high) {
        text_add(out, "about ");
        progress_add_seconds(out, ceil(left->expected_s));
    } else if (low > 0) {
        text_addf(out, "about %g to %g %s", low, high, units[unit].name);
    } else {
        text_addf(out, "up to about %g %s", high, units[unit].name);
    }
    text_add(out, " left");
}

/* One that failed is tried again from its beginning. */
static struct estimate_running running_of(const struct progress *progress, const struct shown *lane)
{
    bool runs = lane->current && !lane->ended, pauses = lane->pause_end_ns != 0;
    struct estimate_running running = {.number = runs ? lane->current : 0};
    if (pauses)
        running.pause_s = fmax(0, -progress_seconds_since(progress, lane->pause_end_ns));
    else
        running.elapsed_s = progress_seconds_since(
            progress, lane->attempt > 1 ? lane->attempt_ns : lane->experiment_ns);
    running.left_s.valid =
        runs && !pauses && lane->stop_end_ns == 0 &&
        training_left(&lane->training, progress_now_ns(progress), &running.left_s.value);
    running.share = lane->training.state.share.value;
    return running;
}

/* Nothing where nothing can be told yet. */
static void add_left(const struct progress *progress, const char *separator, struct text *out)
{
    struct estimate_left left;
    AUTO_FREE struct estimate_running *running = mem_array(progress->lane_count, sizeof *running);
    for (size_t i = 0; i < progress->lane_count; i++)
        running[i] = running_of(progress, &progress->lanes[i]);
    if (!estimate_left(&progress->estimate, running, progress->lane_count, &left))
        return;
    begin_part(out, separator);
    progress_add_left(out, &left);
}

static void add_now(const struct progress *progress, struct text *out)
{
    const struct shown *lane = progress->lane;
    if (lane->power_w.valid || lane->use_percent.valid)
        begin_part(out, LAYOUT_GROUP);
    if (lane->power_w.valid)
        text_addf(out, "%.0f W%s", lane->power_w.value, lane->use_percent.valid ? ", " : "");
    if (lane->use_percent.valid)
        text_addf(out, "GPU %.0f %%", lane->use_percent.value);
}

/* A metric that the registry names first comes first. */
static size_t order_of(const struct plan_job *job, const char *name)
{
    size_t i = 0;
    while (i < job->metric_count && strcmp(job->metrics[i].name, name) != 0)
        i++;
    return i;
}

static void add_live_metrics(const struct progress *progress, const struct plan_job *job,
                             struct text *out)
{
    const struct shown_metric *metrics[METRICS_SHOWN];
    size_t count = 0;
    EACH (metric, progress->lane->metrics, METRICS_SHOWN) {
        size_t at = count;
        if (!metric->name)
            continue;
        for (; at > 0 && order_of(job, metrics[at - 1]->name) > order_of(job, metric->name); at--)
            metrics[at] = metrics[at - 1];
        metrics[at] = metric;
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        begin_part(out, i == 0 ? LAYOUT_GROUP : LAYOUT_PART);
        text_addf(out, "%s ", metrics[i]->name);
        progress_add_number(out, metrics[i]->value);
        if (metrics[i]->trend && !progress->options.ascii)
            text_add(out, metrics[i]->trend > 0 ? " ↑" : " ↓");
    }
}

void progress_line(const struct progress *progress, size_t width, struct text *out)
{
    const struct plan_experiment *experiment =
        progress_experiment_at(progress, (int64_t)progress->lane->current);
    const struct shown *lane = progress->lane;
    if (!experiment)
        return;
    progress_add_head(progress, experiment, out);
    add_attempt(progress, experiment, out);
    if (lane->stop_end_ns != 0) {
        add_stopping(progress, out);
        return;
    }
    if (lane->pause_end_ns != 0) {
        add_pause(progress, out);
    } else {
        AUTO_TEXT struct text training = {0};
        training_add(&lane->training, width >= WIDTH_OF_LONG_BARS ? 20 : 10,
                     progress->options.ascii, &training);
        if (training.length) {
            begin_part(out, LAYOUT_PART);
            text_add(out, text_get(&training));
        }
        begin_part(out, LAYOUT_PART);
        text_add(out, lane->alone ? "background alone " : "");
        progress_add_seconds(out, floor(progress_seconds_since(progress, lane->attempt_ns)));
        add_now(progress, out);
    }
    if (progress->lane_count == 1)
        add_left(progress, LAYOUT_GROUP, out);
    if (lane->pause_end_ns != 0)
        return;
    add_live_metrics(progress, &experiment->foreground, out);
    if (lane->params && *lane->params) {
        begin_part(out, LAYOUT_GROUP);
        text_add(out, lane->params);
    }
}

/* Of all lanes together. */
static void add_whole(const struct progress *progress, struct text *out)
{
    text_addf(out, "%zu of %zu done", progress->done, progress->options.plan->count);
    add_left(progress, ", ", out);
}

void progress_line_of(struct progress *progress, size_t number, size_t width, struct text *out)
{
    if (number == 0) {
        add_whole(progress, out);
        return;
    }
    progress->lane = &progress->lanes[number - 1];
    text_add(out, progress->lane->gpus ? progress->lane->gpus : "");
    AUTO_TEXT struct text parts = {0};
    if (progress->lane->current == 0 ||
        (progress->lane->ended && progress->lane->pause_end_ns == 0))
        text_add(&parts, "idle");
    else
        progress_line(progress, width, &parts);
    begin_part(out, LAYOUT_PART);
    text_add(out, text_get(&parts));
}

/* Keeps separators and removes what steers a terminal. */
static void make_parts_printable(struct text *parts, bool ascii)
{
    struct text safe = {0};
    utf8_add_printable(text_get(parts), parts->length, LAYOUT_PART LAYOUT_GROUP, &safe);
    text_clear(parts);
    if (ascii)
        layout_ascii(text_get(&safe), parts);
    else
        text_add(parts, text_get(&safe));
    text_fini(&safe);
}

static void draw_rows(struct progress *progress, const char *rows, struct text *out)
{
    while (*rows && progress->rows < ROWS_MAX) {
        size_t length = strcspn(rows, "\n");
        AUTO_FREE char *row = mem_strndup(rows, length);
        text_addf(out, "%s" ERASE_LINE "%s", progress->rows > 0 ? "\n" : "", row);
        progress->columns[progress->rows++] = utf8_columns(row);
        rows += length + (rows[length] == '\n');
    }
}

/* One column stays free: a full line would wrap on some terminals. */
static void add_one_lane(struct progress *progress, size_t width, size_t height, struct text *out)
{
    AUTO_TEXT struct text parts = {0};
    AUTO_TEXT struct text rows = {0};
    size_t most = width < WIDTH_OF_ROWS ? 1 : ROWS_OF_ONE;
    progress_line(progress, width, &parts);
    make_parts_printable(&parts, progress->options.ascii);
    layout_rows(text_get(&parts), width - 1, most < height - 1 ? most : height - 1,
                progress->options.ascii, &rows);
    draw_rows(progress, rows.length ? text_get(&rows) : " ", out);
}

/* A row each. Where there is no room for all, the last says how many more there are. */
static void add_lanes(struct progress *progress, size_t width, size_t height, struct text *out)
{
    size_t room = height - 1 < ROWS_MAX ? height - 1 : ROWS_MAX;
    size_t shown = progress->lane_count + 1 <= room ? progress->lane_count
                   : room > 2                       ? room - 2
                                                    : 0;
    for (size_t i = 0; i <= shown; i++) {
        AUTO_TEXT struct text parts = {0};
        AUTO_TEXT struct text row = {0};
        progress_line_of(progress, i, width, &parts);
        make_parts_printable(&parts, progress->options.ascii);
        layout_rows(text_get(&parts), width - 1, 1, progress->options.ascii, &row);
        draw_rows(progress, text_get(&row), out);
    }
    AUTO_TEXT struct text more = {0};
    text_addf(&more, "%zu more slots", progress->lane_count - shown);
    if (shown < progress->lane_count && progress->rows < room)
        draw_rows(progress, text_get(&more), out);
}

void progress_draw(struct progress *progress)
{
    if (progress->options.style != PROGRESS_LIVE || progress->detached ||
        !output_push(&progress->output))
        return;
    size_t width = width_now(progress), height = progress->options.height
                                                     ? progress->options.height
                                                     : height_of_terminal(progress->options.fd);
    AUTO_TEXT struct text frame = {0};
    width = width < 2 ? 2 : width;
    height = height < 2 ? 2 : height;
    /* One row is drawn over as it is. */
    if (rows_on_screen(progress, width) > 1)
        add_erasure(progress, width, &frame);
    progress->rows = 0;
    (progress->lane_count > 1 ? add_lanes : add_one_lane)(progress, width, height, &frame);
    output_add(&progress->output, text_get(&frame), frame.length);
}

/* Words that go on in column *used of a row, broken between them; width 0: nowhere. */
static void add_wrapped(const char *words, size_t width, size_t *used, struct text *out)
{
    while (*words) {
        size_t blanks = strspn(words, " "), length = strcspn(words + blanks, " ");
        AUTO_FREE char *word = mem_strndup(words + blanks, length);
        size_t columns = utf8_columns(word);
        if (width && blanks && *used > 0 && *used + blanks + columns > width) {
            text_addf(out, "\n  %s", word);
            *used = 2 + columns;
        } else {
            text_add_bytes(out, words, blanks + length);
            *used += blanks + columns;
        }
        words += blanks + length;
    }
}

/* A line that stays. colour: of its last part, from byte coloured_from on. */
void progress_say(struct progress *progress, const struct text *line, const char *colour,
                  size_t coloured_from)
{
    if (progress->options.style == PROGRESS_JSON || progress->options.style == PROGRESS_QUIET)
        return;
    AUTO_TEXT struct text head = {0};
    AUTO_TEXT struct text tail = {0};
    AUTO_TEXT struct text said = {0};
    bool live = progress->options.style == PROGRESS_LIVE;
    size_t width = live ? width_now(progress) : 0, used = 0;
    add_erasure(progress, live ? width : SIZE_MAX, &said);
    text_add_bytes(&head, text_get(line), coloured_from);
    text_add(&tail, text_get(line) + coloured_from);
    make_parts_printable(&head, live && progress->options.ascii);
    make_parts_printable(&tail, live && progress->options.ascii);
    add_wrapped(text_get(&head), width, &used, &said);
    text_add(&said, colour && progress->options.colour ? colour : "");
    add_wrapped(text_get(&tail), width, &used, &said);
    text_add(&said, colour && progress->options.colour ? PLAIN : "");
    text_add_char(&said, '\n');
    output_add(&progress->output, text_get(&said), said.length);
}

/* What an attempt tells of itself while it runs. */

/* What sensors tell now, and progress bars: told beside the metrics, as it moves as they do. */
const char *progress_sensor(const struct event_facts *facts)
{
    return facts->event->type == EVENT_METRIC ? facts->sensor : NULL;
}

static void update_sensor(struct progress *progress, const struct event_facts *facts)
{
    struct shown *lane = progress->lane;
    if (strcmp(facts->sensor, "gpu_power_w") == 0)
        lane->power_w = facts->value;
    else if (strcmp(facts->sensor, "gpu_utilisation_percent") == 0)
        lane->use_percent = facts->value;
    else if (strcmp(facts->sensor, "bars") == 0)
        training_bars(&lane->training, facts, progress_now_ns(progress));
}

/* The metric's place, else an empty one, else that of the metric seen least recently. */
static struct shown_metric *find_metric_place(struct shown *lane, const char *name)
{
    struct shown_metric *oldest = lane->metrics;
    EACH (metric, lane->metrics, METRICS_SHOWN)
        if (metric->name && strcmp(metric->name, name) == 0)
            return metric;
    for (size_t i = 1; i < METRICS_SHOWN; i++)
        if (lane->metrics[i].seen < oldest->seen)
            oldest = &lane->metrics[i];
    free(oldest->name);
    *oldest = (struct shown_metric){.name = mem_strdup(name)};
    return oldest;
}

void progress_take_metric(struct progress *progress, const struct event_facts *facts)
{
    const char *name = facts->name;
    double value = facts->value.value;
    if (progress_sensor(facts)) {
        update_sensor(progress, facts);
        return;
    }
    if (!name || !facts->value.valid)
        return;
    struct shown_metric *metric = find_metric_place(progress->lane, name);
    if (metric->seen)
        metric->trend = (value > metric->value) - (value < metric->value);
    metric->value = value;
    metric->seen = ++progress->lane->metrics_seen;
}

/* A check takes a moment; more is a GPU that was not free. */
static const double WAITED_S = 1;

/* That a GPU was free, or came back as it was: the first time shows that it is looked for. A
 * terminal is spared the rest. */
bool progress_told_already(struct progress *progress, const struct event_facts *facts)
{
    const char *phase = facts->phase;
    if (!phase || progress->options.style != PROGRESS_LIVE || progress->options.verbose)
        return false;
    enum normal kind = NORMAL_KINDS;
    if (strcmp(phase, "preflight") == 0)
        kind = facts->waited_s.value >= WAITED_S ? NORMAL_KINDS : NORMAL_FREE;
    else if (strcmp(phase, "cooldown") == 0)
        kind = facts->settled ? NORMAL_COOL : NORMAL_KINDS;
    else if (strcmp(phase, "postflight") == 0)
        kind = NORMAL_BACK;
    EACH (device, facts->devices, facts->device_count)
        if (kind == NORMAL_BACK && (!device->state || strcmp(device->state, "back") != 0))
            kind = NORMAL_KINDS;
    bool told = kind != NORMAL_KINDS && progress->said[kind];
    if (kind != NORMAL_KINDS)
        progress->said[kind] = true;
    return told;
}
