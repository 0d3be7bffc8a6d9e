#include "plan/event_facts.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"

static bool read_value(const json_t *json, void *item, struct err *err)
{
    struct reading *value = item;
    (void)err;
    return value->valid = json_to_reading(json, &value->value);
}

static bool read_paused(const json_t *json, void *item, struct err *err)
{
    (void)err;
    *(struct reading *)item = (struct reading){json_is_true(json), json_is_boolean(json)};
    return true;
}

#define BAR(member) RECORD(struct event_bar, member)
static const struct record_field bar_fields[] = {BAR(name),     BAR(first),  BAR(done), BAR(total),
                                                 BAR(restarts), BAR(latest), {0}};

static const struct record_field device_fields[] = {RECORD(struct event_device, state), {0}};

#define FACT(member)         RECORD(struct event_facts, member)
#define FACT_AS(key, member) RECORD_AS(struct event_facts, key, member)
static const struct record_field failure_fields[] = {FACT(cause), {0}};
static const struct record_field gpu_fields[] = {
    FACT_AS("joules", gpu_j), FACT_AS("half_width_j", gpu_half_width_j), {0}};
static const struct record_field cpu_fields[] = {
    FACT_AS("joules", cpu_j), FACT_AS("half_width_j", cpu_half_width_j), {0}};
static const struct record_field energy_fields[] = {
    RECORD_GROUP("gpu", gpu_fields), RECORD_GROUP("cpu_package", cpu_fields), {0}};
static const struct record_field fields[] = {
    FACT(id),
    FACT(role),
    FACT(reason),
    FACT(outcome),
    FACT(error),
    FACT(kind),
    FACT(text),
    FACT(phase),
    FACT(name),
    FACT(label),
    FACT(at),
    FACT(sensor),
    FACT(metric),
    FACT(lane),
    FACT(number),
    FACT(retries),
    RECORD_STRUCT(struct event_facts, "value", value, NULL, .from = read_value),
    FACT(seconds),
    FACT(waited_s),
    FACT(duration_s),
    FACT(kernel_backed),
    FACT(begun),
    FACT(settled),
    RECORD_STRUCT(struct event_facts, "paused", paused, NULL, .from = read_paused),
    FACT(gpus),
    RECORD_GROUP("failure", failure_fields),
    RECORD_GROUP("energy", energy_fields),
    RECORD_STRUCTS(struct event_facts, "bars", bars, bar_count, bar_fields),
    RECORD_STRUCTS(struct event_facts, "devices", devices, device_count, device_fields),
    {0}};

void event_facts_read(const struct event *event, struct event_facts *out)
{
    const char *name;
    json_t *value;
    *out =
        (struct event_facts){.event = event, .kernel_backed = true, .begun = true, .settled = true};
    record_get(fields, event->data, out);
    json_object_foreach(json_object_get(event->data, "metrics"), name, value)
    {
        struct event_metric *metric = &MEM_ADD(out->metrics, out->metric_count);
        *metric = (struct event_metric){.name = name};
        read_value(value, &metric->value, NULL);
    }
}

void event_facts_fini(struct event_facts *facts)
{
    record_free(fields, facts);
    free(facts->metrics);
}

json_t *event_bars_json(const struct event_facts *facts)
{
    return record_list_json(bar_fields, facts->bars, facts->bar_count, sizeof *facts->bars);
}
