/* Writes live.json about once a second: the phase, progress and last readings of each GPU slot. */
#include "base/json.h"
#include "base/json_print.h"
#include "plan/event_facts.h"
#include "report/live/training.h"
#include "session/run_session_private.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "report/live/estimate.h"
#include "results/store/live.h"

#include <string.h>
#include <unistd.h>

static const int64_t EVERY_NS = NS_PER_S * 9 / 10;

/* Of a training that tells more metrics than that the first ones have points. */
enum { METRICS_KEPT = 8 };

struct slot {
    json_t *json; /* as in the file, without gpus, metrics and points */
    json_t *gpus;
    json_t *values; /* of the metrics, by their names; empty: none yet */
    json_t *power, *metrics;
    struct training training;
    int64_t experiment;
};

struct live_file {
    int dir;
    const struct plan *plan;
    struct slot *slots;
    size_t count;
    bool paused, changed;
    int64_t written_ns; /* CLOCK_MONOTONIC */
};

static void clear(struct slot *slot)
{
    json_decref(slot->json);
    slot->json = json_pack("{s:s}", "phase", "idle");
    json_object_clear(slot->values);
    json_object_clear(slot->metrics);
    slot->experiment = 0;
}

struct live_file *live_file_new(int dir, const struct plan *plan, size_t slots)
{
    struct live_file *file = mem_alloc(sizeof *file);
    *file = (struct live_file){.dir = dir, .plan = plan, .count = slots, .changed = true};
    file->slots = mem_array(slots, sizeof *file->slots);
    EACH (item, file->slots, slots) {
        *item = (struct slot){.gpus = json_array(),
                              .values = json_object(),
                              .power = json_array(),
                              .metrics = json_object()};
        clear(item);
    }
    return file;
}

void live_file_add_gpu(struct live_file *file, size_t slot, const char *label)
{
    json_array_append_new(file->slots[slot - 1].gpus, json_string(label));
}

/* The slot that an event is about: it names it where there are several, or its experiment has one
 * already. NULL: none. */
static struct slot *slot_of(struct live_file *file, const struct event_facts *facts)
{
    const struct event *event = facts->event;
    int64_t number = facts->lane ? facts->lane : 1;
    for (size_t i = 0; event->experiment && i < file->count; i++)
        if (file->slots[i].experiment == event->experiment)
            return &file->slots[i];
    if (event->type != EVENT_EXPERIMENT_STARTED && event->type != EVENT_PAUSE)
        return NULL;
    return number >= 1 && (size_t)number <= file->count ? &file->slots[number - 1] : NULL;
}

static void add_live_point(json_t *list, const struct event *event, double value)
{
    json_array_append_new(list, json_pack("[f, o]", (double)event->realtime_ns / (double)NS_PER_S,
                                          json_finite(value)));
    if (json_array_size(list) > LIVE_POINTS)
        json_array_remove(list, 0);
}

/* How far the training is, by its marks and its bars, as the display of the run has it. */
static void set_training(struct slot *slot)
{
    json_t *json = training_json(&slot->training);
    json_object_set_new(slot->json, "training", json ? json : json_null());
}

static void update_slot_sensor(struct slot *slot, const struct event_facts *facts)
{
    const char *sensor = facts->sensor;
    const struct event *event = facts->event;
    if (strcmp(sensor, "bars") == 0) {
        json_object_set_new(slot->json, sensor, event_bars_json(facts));
        training_bars(&slot->training, facts, event->monotonic_ns);
        set_training(slot);
        return;
    }
    if (strncmp(sensor, "gpu_", 4) == 0)
        json_set_reading(slot->json, sensor + 4, facts->value);
    if (facts->value.valid && strcmp(sensor, "gpu_power_w") == 0)
        add_live_point(slot->power, event, facts->value.value);
}

static void update_slot_metric(struct slot *slot, const struct event_facts *facts)
{
    const char *name = facts->name;
    if (facts->sensor)
        update_slot_sensor(slot, facts);
    if (facts->sensor || !name || !facts->value.valid)
        return;
    json_t *points = json_object_get(slot->metrics, name);
    json_object_set_new(slot->values, name, json_finite(facts->value.value));
    if (!points && json_object_size(slot->metrics) < METRICS_KEPT)
        json_object_set_new(slot->metrics, name, points = json_array());
    if (points)
        add_live_point(points, facts->event, facts->value.value);
}

static void set_phase(struct slot *slot, const struct event_facts *facts, const char *phase)
{
    json_object_set_new(slot->json, "phase", json_string(phase));
    json_object_set_new(slot->json, "since_ns", json_integer(facts->event->realtime_ns));
    json_object_del(slot->json, "pause_s");
    if (strcmp(phase, "pause") == 0 && facts->seconds.valid)
        json_set_reading(slot->json, "pause_s", facts->seconds);
}

/* What it is called in the file; NULL: the phase stays. */
static const char *phase_of(const struct event *event)
{
    switch (event->type) {
    case EVENT_EXPERIMENT_STARTED:
    case EVENT_ATTEMPT_PREPARED:
        return "preparing";
    case EVENT_ATTEMPT_STARTED:
        return "running";
    case EVENT_ATTEMPT_STOPPING:
        return "stopping";
    case EVENT_ATTEMPT_ENDED:
        return "verifying";
    case EVENT_PAUSE:
    case EVENT_RETRY_PAUSE:
        return "pause";
    default:
        return NULL;
    }
}

static void update_slot(const struct live_file *file, struct slot *slot,
                        const struct event_facts *facts)
{
    const struct event *event = facts->event;
    const char *phase = phase_of(event);
    if (event->type == EVENT_EXPERIMENT_STARTED || event->type == EVENT_EXPERIMENT_ENDED ||
        event->type == EVENT_PAUSE)
        clear(slot);
    if (event->type == EVENT_EXPERIMENT_STARTED)
        slot->experiment = event->experiment;
    if (event->type == EVENT_ATTEMPT_PREPARED) {
        json_object_set_new(slot->json, "attempt", json_integer(event->attempt));
        json_object_del(slot->json, "started_ns");
        json_object_del(slot->json, "bars");
        json_object_clear(slot->values);
        json_object_clear(slot->metrics);
        bool known = slot->experiment > 0 && (uint64_t)slot->experiment <= file->plan->count;
        training_begin(&slot->training,
                       known ? estimate_epochs(&file->plan->experiments[slot->experiment - 1])
                             : (struct reading){0});
        json_object_del(slot->json, "training");
    }
    if (event->type == EVENT_MARK) {
        training_mark(&slot->training, facts, event->monotonic_ns);
        set_training(slot);
    }
    if (event->type == EVENT_ATTEMPT_STARTED)
        json_object_set_new(slot->json, "started_ns", json_integer(event->realtime_ns));
    if (event->type == EVENT_METRIC)
        update_slot_metric(slot, facts);
    if (slot->experiment)
        json_object_set_new(slot->json, "experiment", json_integer(slot->experiment));
    if (phase)
        set_phase(slot, facts, phase);
}

static void write_live_file(struct live_file *file)
{
    AUTO_TEXT struct text text = {0};
    json_t *slots = json_array();
    EACH (slot, file->slots, file->count) {
        json_t *json = json_copy(slot->json);
        json_object_set(json, "gpus", slot->gpus);
        if (json_object_size(slot->values))
            json_object_set(json, "metrics", slot->values);
        json_object_set_new(
            json, "points",
            json_pack("{s:O, s:O}", "power_w", slot->power, "metrics", slot->metrics));
        json_array_append_new(slots, json);
    }
    json_auto_t *json =
        json_pack("{s:i, s:I, s:b, s:o}", "format", 1, "written_ns",
                  (json_int_t)clock_realtime_ns(), "paused", file->paused, "slots", slots);
    json_print(json, &text);
    fs_write_unsynced(file->dir, LIVE_FILE, text_get(&text), text.length, NULL);
    file->written_ns = clock_monotonic_ns();
    file->changed = false;
}

void live_file_event(struct live_file *file, const struct event *event)
{
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(event, &facts);
    struct slot *slot = slot_of(file, &facts);
    if (event->type == EVENT_NOTE && facts.paused.valid)
        file->paused = facts.paused.value > 0;
    if (slot)
        update_slot(file, slot, &facts);
    file->changed = true;
    bool moves = phase_of(event) || event->type == EVENT_EXPERIMENT_ENDED || facts.paused.valid;
    if (moves || clock_monotonic_ns() - file->written_ns >= EVERY_NS)
        write_live_file(file);
}

void live_file_tick(struct live_file *file)
{
    if (file->changed && clock_monotonic_ns() - file->written_ns >= EVERY_NS)
        write_live_file(file);
}

void live_file_free(struct live_file *file)
{
    unlinkat(file->dir, LIVE_FILE, 0);
    EACH (slot, file->slots, file->count) {
        json_decref(slot->json);
        json_decref(slot->gpus);
        json_decref(slot->values);
        json_decref(slot->power);
        json_decref(slot->metrics);
    }
    free(file->slots);
    free(file);
}
