/* What an attempt tells of itself while it runs. */
#include "report/live/progress_private.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What sensors tell now, and progress bars: told beside the metrics, as it moves as they do. */
const char *progress_sensor(const struct event *event)
{
    return event->type == EVENT_METRIC ? json_get_text(event->data, "sensor") : NULL;
}

static void take_sensor(struct progress *progress, const char *sensor, const json_t *data)
{
    struct shown *lane = progress->lane;
    if (strcmp(sensor, "gpu_power_w") == 0)
        lane->power_w.valid = json_get_number(data, "value", &lane->power_w.value);
    else if (strcmp(sensor, "gpu_utilisation_percent") == 0)
        lane->use_percent.valid = json_get_number(data, "value", &lane->use_percent.value);
    else if (strcmp(sensor, "bars") == 0)
        training_bars(&lane->training, data, progress_now_ns(progress));
}

/* The place of a metric: its own, else an empty one, else that of the one that was seen least lately. */
static struct shown_metric *metric_at(struct shown *lane, const char *name)
{
    struct shown_metric *oldest = lane->metrics;
    for (size_t i = 0; i < METRICS_SHOWN; i++)
        if (lane->metrics[i].name && strcmp(lane->metrics[i].name, name) == 0)
            return &lane->metrics[i];
    for (size_t i = 1; i < METRICS_SHOWN; i++)
        if (lane->metrics[i].seen < oldest->seen)
            oldest = &lane->metrics[i];
    free(oldest->name);
    *oldest = (struct shown_metric){.name = mem_strdup(name)};
    return oldest;
}

void progress_take_metric(struct progress *progress, const struct event *event)
{
    const char *name = json_get_text(event->data, "name");
    double value;
    if (progress_sensor(event)) {
        take_sensor(progress, progress_sensor(event), event->data);
        return;
    }
    if (!name || !json_to_reading(json_object_get(event->data, "value"), &value))
        return;
    struct shown_metric *metric = metric_at(progress->lane, name);
    if (metric->seen)
        metric->trend = (value > metric->value) - (value < metric->value);
    metric->value = value;
    metric->seen = ++progress->lane->metrics_seen;
}

/* A check takes a moment; more is a GPU that was not free. */
static const double WAITED_S = 1;

/* That a GPU was free, or came back as it was: the first time shows that it is looked for. A terminal is spared the rest. */
bool progress_told_already(struct progress *progress, const struct event *event)
{
    const char *phase = json_get_text(event->data, "phase");
    const json_t *device;
    double waited_s;
    size_t i;
    if (!phase || progress->options.style != PROGRESS_LIVE || progress->options.verbose)
        return false;
    enum normal kind = NORMAL_KINDS;
    if (strcmp(phase, "preflight") == 0)
        kind = json_get_number(event->data, "waited_s", &waited_s) && waited_s >= WAITED_S ? NORMAL_KINDS : NORMAL_FREE;
    else if (strcmp(phase, "cooldown") == 0)
        kind = json_is_true(json_object_get(event->data, "settled")) ? NORMAL_COOL : NORMAL_KINDS;
    else if (strcmp(phase, "postflight") == 0)
        kind = NORMAL_BACK;
    json_array_foreach(json_object_get(event->data, "devices"), i, device)
    {
        const char *state = json_get_text(device, "state");
        if (kind == NORMAL_BACK && (!state || strcmp(state, "back") != 0))
            kind = NORMAL_KINDS;
    }
    bool told = kind != NORMAL_KINDS && progress->said[kind];
    if (kind != NORMAL_KINDS)
        progress->said[kind] = true;
    return told;
}
