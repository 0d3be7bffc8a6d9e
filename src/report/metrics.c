#include "report/metrics.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char label_text[METRICS_LABEL_BYTES + 1];

enum component { COMPONENT_GPU, COMPONENT_CPU, COMPONENTS };
static const char *const component_names[COMPONENTS] = {"gpu", "cpu"};

/* Sums of some experiments. */
struct sums {
    size_t outcomes[OUTCOME_INTERRUPTED + 1];
    double energy_j[COMPONENTS];
    uint64_t measured[COMPONENTS]; /* attempts in energy_j */
};

struct model_sums {
    label_text repository, model;
    struct sums sums;
    bool used;
};

/* A run, counted once for all metrics. */
struct view {
    const struct live_run *run;
    label_text label;
    struct live_counts counts;
    uint64_t attempts;
    struct sums sums;
    size_t without_verdict;
    struct model_sums models[METRICS_MODELS + 1]; /* the first: "other" */
    size_t model_count;
    struct {
        label_text cause;
        size_t count;
    } failures[METRICS_CAUSES + 1]; /* the first: "other" */
    size_t failure_count;
    struct {
        const struct live_slot *of;
        char number[24];
    } slots[LIVE_SLOTS_MAX]; /* whose readings are of now */
    size_t slot_count;
};

struct writer {
    struct text *out;
    const struct metric *metric;
    const struct view *view;
};

enum metric_value {
    VALUE_PAUSED,
    VALUE_SESSION_START,
    VALUE_UPDATE,
    VALUE_ATTEMPTS,
    VALUE_UNREADABLE
};

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_INFO };

struct metric {
    const char *name; /* without "_total" and "_info" */
    enum metric_type type;
    const char *help;
    void (*add)(struct writer *writer, const struct view *view);
    enum metric_value value; /* of add_plain_metric */
    /* of add_slot_reading: the member of struct live_slot, and what makes its unit of it */
    size_t reading;
    double factor;
};

static void make_label(const char *text, label_text out)
{
    utf8_copy_legible(text ? text : "", text ? strlen(text) : 0, out, sizeof(label_text));
}

/* Label values escape backslashes, quotation marks and line ends. */
static void add_escaped_label(struct text *out, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '\n')
            text_add(out, "\\n");
        else if (*c == '\\' || *c == '"')
            text_addf(out, "\\%c", *c);
        else
            text_add_char(out, *c);
}

static void add_metric_name(const struct writer *writer)
{
    static const char *const suffixes[] = {
        [METRIC_GAUGE] = "", [METRIC_COUNTER] = "_total", [METRIC_INFO] = "_info"};
    text_add(writer->out, writer->metric->name);
    text_add(writer->out, suffixes[writer->metric->type]);
}

static void add_head_line(const struct writer *writer, const char *keyword, const char *words)
{
    text_addf(writer->out, "# %s ", keyword);
    add_metric_name(writer);
    text_addf(writer->out, " %s\n", words);
}

/* The format does not have info metrics: they are gauges of 1. */
static void add_metric_head(const struct writer *writer)
{
    add_head_line(writer, "HELP", writer->metric->help);
    add_head_line(writer, "TYPE", writer->metric->type == METRIC_COUNTER ? "counter" : "gauge");
}

/* After value: label names and values in turn, then NULL. Skips values that are not finite. */
static void __attribute__((sentinel)) add_metric_sample(struct writer *writer, double value, ...)
{
    char number[32];
    va_list labels;
    if (!isfinite(value))
        return;
    add_metric_name(writer);
    text_add(writer->out, "{run=\"");
    add_escaped_label(writer->out, writer->view->label);
    va_start(labels, value);
    for (const char *name = va_arg(labels, const char *); name;
         name = va_arg(labels, const char *)) {
        text_addf(writer->out, "\",%s=\"", name);
        add_escaped_label(writer->out, va_arg(labels, const char *));
    }
    va_end(labels);
    number_shortest(value, number);
    text_addf(writer->out, "\"} %s\n", number);
}

static double seconds_of(int64_t realtime_ns)
{
    return realtime_ns > 0 ? (double)(realtime_ns / NS_PER_MS) / 1e3 : NAN;
}

static void add_plain_metric(struct writer *writer, const struct view *view)
{
    const double values[] = {[VALUE_PAUSED] = view->run->paused,
                             [VALUE_SESSION_START] = seconds_of(view->run->session_started_ns),
                             [VALUE_UPDATE] = seconds_of(view->run->live_ns),
                             [VALUE_ATTEMPTS] = (double)view->attempts,
                             [VALUE_UNREADABLE] = (double)view->run->skipped_lines};
    add_metric_sample(writer, values[writer->metric->value], NULL);
}

static void add_run_metric(struct writer *writer, const struct view *view)
{
    label_text name, outcome;
    make_label(view->run->plan.name, name);
    make_label(view->run->outcome, outcome);
    add_metric_sample(writer, 1, "experiment_name", name, "outcome", outcome, NULL);
}

static void add_state_metric(struct writer *writer, const struct view *view)
{
    for (enum live_state state = LIVE_UNDER_WAY; state <= LIVE_ENDED; state++)
        add_metric_sample(writer, view->run->state == state, "state", live_state_name(state), NULL);
}

static void add_experiments_metric(struct writer *writer, const struct view *view)
{
    const struct live_counts *counts = &view->counts;
    add_metric_sample(writer, (double)counts->planned, "state", "planned", NULL);
    add_metric_sample(writer, (double)counts->running, "state", "running", NULL);
    add_metric_sample(writer, (double)counts->succeeded, "state", "succeeded", NULL);
    add_metric_sample(writer, (double)counts->failed, "state", "failed", NULL);
    add_metric_sample(writer, (double)counts->interrupted, "state", "interrupted", NULL);
}

static void add_verdicts_metric(struct writer *writer, const struct view *view)
{
    const struct live_counts *counts = &view->counts;
    add_metric_sample(writer, (double)counts->clean, "verdict", verdict_name(VERDICT_CLEAN), NULL);
    add_metric_sample(writer, (double)counts->unverified, "verdict",
                      verdict_name(VERDICT_UNVERIFIED), NULL);
    add_metric_sample(writer, (double)counts->suspect, "verdict", verdict_name(VERDICT_SUSPECT),
                      NULL);
    add_metric_sample(writer, (double)counts->contaminated, "verdict",
                      verdict_name(VERDICT_CONTAMINATED), NULL);
    add_metric_sample(writer, (double)view->without_verdict, "verdict", verdict_name(VERDICT_NONE),
                      NULL);
}

static void add_failures(struct writer *writer, const struct view *view)
{
    for (size_t i = 0; i < view->failure_count; i++)
        if (view->failures[i].count > 0)
            add_metric_sample(writer, (double)view->failures[i].count, "cause",
                              view->failures[i].cause, NULL);
}

static void add_measured_metric(struct writer *writer, const struct view *view)
{
    for (size_t i = 0; i < COMPONENTS; i++)
        add_metric_sample(writer, (double)view->sums.measured[i], "component", component_names[i],
                          NULL);
}

static void add_energy_metric(struct writer *writer, const struct view *view)
{
    for (size_t i = 0; i < COMPONENTS; i++)
        if (view->sums.measured[i] > 0)
            add_metric_sample(writer, view->sums.energy_j[i], "component", component_names[i],
                              NULL);
}

static void add_model_experiments(struct writer *writer, const struct view *view)
{
    EACH (model, view->models, view->model_count) {
        for (enum outcome outcome = OUTCOME_SUCCEEDED;
             model->used && outcome <= OUTCOME_INTERRUPTED; outcome++)
            add_metric_sample(writer, (double)model->sums.outcomes[outcome], "repository",
                              model->repository, "model", model->model, "outcome",
                              outcome_name(outcome), NULL);
    }
}

static void add_model_energy(struct writer *writer, const struct view *view)
{
    EACH (model, view->models, view->model_count) {
        for (size_t c = 0; c < COMPONENTS; c++)
            if (model->sums.measured[c] > 0)
                add_metric_sample(writer, model->sums.energy_j[c], "repository", model->repository,
                                  "model", model->model, "component", component_names[c], NULL);
    }
}

static void add_slots(struct writer *writer, const struct view *view)
{
    EACH (item, view->slots, view->slot_count) {
        const struct live_slot *slot = item->of;
        AUTO_TEXT struct text names = {0};
        label_text gpus;
        for (size_t i = 0; i < json_array_size(slot->gpus); i++) {
            const char *gpu = json_string_value(json_array_get(slot->gpus, i));
            text_addf(&names, "%s%s", i ? "," : "", gpu ? gpu : "");
        }
        make_label(text_get(&names), gpus);
        add_metric_sample(writer, 1, "slot", item->number, "gpus", gpus, NULL);
    }
}

static void add_slot_experiment(struct writer *writer, const struct view *view)
{
    EACH (item, view->slots, view->slot_count) {
        const struct live_slot *slot = item->of;
        if (slot->experiment == 0 || slot->experiment > view->run->plan.count)
            continue;
        const struct plan_experiment *experiment =
            &view->run->plan.experiments[slot->experiment - 1];
        label_text id, repository, model;
        make_label(experiment->id, id);
        make_label(experiment->foreground.repo, repository);
        make_label(experiment->foreground.model, model);
        add_metric_sample(writer, 1, "slot", item->number, "experiment", id, "repository",
                          repository, "model", model, NULL);
    }
}

static void add_slot_phase(struct writer *writer, const struct view *view)
{
    static const char *const phases[] = {"idle",     "preparing", "running",
                                         "stopping", "verifying", "pause"};
    EACH (slot, view->slots, view->slot_count)
        EACH_OF (item, phases)
            add_metric_sample(writer, strcmp(slot->of->phase, *item) == 0, "slot", slot->number,
                              "phase", *item, NULL);
}

static void add_slot_pause(struct writer *writer, const struct view *view)
{
    EACH (slot, view->slots, view->slot_count)
        if (slot->of->pause_s > 0)
            add_metric_sample(writer, slot->of->pause_s, "slot", slot->number, NULL);
}

static void add_slot_reading(struct writer *writer, const struct view *view)
{
    for (size_t k = 0; k < view->slot_count; k++) {
        const void *at = (const char *)view->slots[k].of + writer->metric->reading;
        const struct reading *reading = at;
        if (reading->valid)
            add_metric_sample(writer, reading->value * writer->metric->factor, "slot",
                              view->slots[k].number, NULL);
    }
}

#define SLOT_READING(member, times) \
    .add = add_slot_reading, .reading = offsetof(struct live_slot, member), .factor = (times)

static const struct metric metrics[] = {
    {"tare_run", METRIC_INFO,
     "A run: the name in its settings, and how its last session ended, if one did.",
     .add = add_run_metric},
    {"tare_run_state", METRIC_GAUGE, "1 for the state that the run is in.",
     .add = add_state_metric},
    {"tare_run_paused", METRIC_GAUGE,
     "1 while no experiment begins because somebody paused the run.", .add = add_plain_metric,
     .value = VALUE_PAUSED},
    {"tare_run_session_start_timestamp_seconds", METRIC_GAUGE, "When the run's last session began.",
     .add = add_plain_metric, .value = VALUE_SESSION_START},
    {"tare_run_update_timestamp_seconds", METRIC_GAUGE,
     "When the runner last wrote its readings; its age is time() minus this.",
     .add = add_plain_metric, .value = VALUE_UPDATE},
    {"tare_run_experiments", METRIC_GAUGE, "Experiments of the plan by their state or outcome.",
     .add = add_experiments_metric},
    {"tare_run_verdicts", METRIC_GAUGE,
     "Experiments that ended, by the verdict on their figures; none: no result that could be "
     "judged.",
     .add = add_verdicts_metric},
    {"tare_run_failures", METRIC_GAUGE, "Experiments whose result is a failure, by its cause.",
     .add = add_failures},
    {"tare_run_attempts", METRIC_COUNTER, "Attempts begun, with retries and repetitions.",
     .add = add_plain_metric, .value = VALUE_ATTEMPTS},
    {"tare_run_measured_attempts", METRIC_COUNTER,
     "Attempts that ended and whose energy was measured.", .add = add_measured_metric},
    {"tare_run_energy_joules", METRIC_COUNTER,
     "Energy of all measured attempts that ended, gross, with retries and repetitions.",
     .add = add_energy_metric},
    {"tare_run_unreadable_lines", METRIC_COUNTER,
     "Lines of events.jsonl that are not events, since the session began.", .add = add_plain_metric,
     .value = VALUE_UNREADABLE},
    {"tare_model_experiments", METRIC_GAUGE, "Experiments that ended, by model and outcome.",
     .add = add_model_experiments},
    {"tare_model_energy_joules", METRIC_COUNTER,
     "As tare_run_energy_joules_total, by the model of the foreground.", .add = add_model_energy},
    {"tare_slot", METRIC_INFO, "A GPU slot of a run under way, and its GPUs.", .add = add_slots},
    {"tare_slot_experiment", METRIC_INFO, "The experiment under way in a slot.",
     .add = add_slot_experiment},
    {"tare_slot_phase", METRIC_GAUGE, "1 for the phase that the slot is in.",
     .add = add_slot_phase},
    {"tare_slot_pause_seconds", METRIC_GAUGE, "How long the pause that a slot is in takes at most.",
     .add = add_slot_pause},
    {"tare_slot_power_watts", METRIC_GAUGE, "Power of the slot's GPUs.", SLOT_READING(power_w, 1)},
    {"tare_slot_utilisation_ratio", METRIC_GAUGE, "Utilisation of the slot's GPUs, from 0 to 1.",
     SLOT_READING(utilisation_percent, 0.01)},
    {"tare_slot_memory_bytes", METRIC_GAUGE, "Memory in use on the slot's GPUs.",
     SLOT_READING(memory_bytes, 1)},
    {"tare_slot_memory_size_bytes", METRIC_GAUGE, "Memory that the slot's GPUs have.",
     SLOT_READING(memory_total_bytes, 1)},
    {"tare_slot_temperature_celsius", METRIC_GAUGE, "Temperature of the slot's GPUs.",
     SLOT_READING(temperature_c, 1)},
};

static void add_to_sums(struct sums *sums, const struct live_experiment *experiment)
{
    const struct result_used *used = &experiment->used;
    if (experiment->state == STATE_DONE && (unsigned)experiment->outcome <= OUTCOME_INTERRUPTED)
        sums->outcomes[experiment->outcome]++;
    sums->energy_j[COMPONENT_GPU] += used->gpu_j;
    sums->measured[COMPONENT_GPU] += used->gpu_attempts;
    sums->energy_j[COMPONENT_CPU] += used->cpu_j;
    sums->measured[COMPONENT_CPU] += used->cpu_attempts;
}

/* Compares labels: names that differ only in characters that labels cannot hold are one model. */
static struct model_sums *find_or_add_model_sums(struct view *view,
                                                 const struct plan_experiment *experiment)
{
    label_text repository, model;
    make_label(experiment->foreground.repo, repository);
    make_label(experiment->foreground.model, model);
    for (size_t i = view->model_count; i-- > 0;)
        if (strcmp(view->models[i].model, model) == 0 &&
            strcmp(view->models[i].repository, repository) == 0)
            return &view->models[i];
    if (view->model_count == sizeof view->models / sizeof *view->models)
        return &view->models[0];
    struct model_sums *made = &view->models[view->model_count++];
    memcpy(made->repository, repository, sizeof repository);
    memcpy(made->model, model, sizeof model);
    return made;
}

static void count_failure(struct view *view, const char *failure)
{
    label_text cause;
    size_t i = 0;
    make_label(failure ? failure : "unknown", cause);
    while (i < view->failure_count && strcmp(view->failures[i].cause, cause) != 0)
        i++;
    if (i == sizeof view->failures / sizeof *view->failures)
        i = 0;
    else if (i == view->failure_count)
        memcpy(view->failures[view->failure_count++].cause, cause, sizeof cause);
    view->failures[i].count++;
}

static void count_experiment(struct view *view, size_t place)
{
    const struct live_experiment *experiment = &view->run->experiments[place];
    struct model_sums *model = find_or_add_model_sums(view, &view->run->plan.experiments[place]);
    model->used = true;
    add_to_sums(&model->sums, experiment);
    add_to_sums(&view->sums, experiment);
    view->attempts += experiment->attempts > 0 ? (uint64_t)experiment->attempts : 0;
    view->without_verdict += experiment->state == STATE_DONE && experiment->verdict == VERDICT_NONE;
    if (experiment->state == STATE_DONE && experiment->outcome == OUTCOME_FAILED)
        count_failure(view, experiment->failure);
}

/* The first that has a number keeps it: two series with the same labels would spoil all. */
static void find_slots(struct view *view)
{
    for (size_t i = 0; i < view->run->slot_count && i < LIVE_SLOTS_MAX; i++) {
        const struct live_slot *slot = &view->run->slots[i];
        size_t at = 0;
        while (at < view->slot_count && view->slots[at].of->number != slot->number)
            at++;
        if (at < view->slot_count)
            continue;
        view->slots[at].of = slot;
        snprintf(view->slots[at].number, sizeof view->slots[at].number, "%zu", slot->number);
        view->slot_count++;
    }
}

static struct view *make_view(const struct live_run *run)
{
    struct view *view = mem_alloc(sizeof *view);
    view->run = run;
    view->counts = live_run_counts(run);
    make_label(run->name, view->label);
    make_label("other", view->models[0].repository);
    make_label("other", view->models[0].model);
    make_label("other", view->failures[0].cause);
    view->model_count = view->failure_count = 1;
    for (size_t i = 0; i < run->plan.count; i++)
        count_experiment(view, i);
    if (run->state == LIVE_UNDER_WAY && run->live_ns > 0 &&
        clock_realtime_ns() - run->live_ns < METRICS_FRESH_S * NS_PER_S)
        find_slots(view);
    return view;
}

void metrics_textfile(const struct live_run *run, struct text *out)
{
    struct view *view = make_view(run);
    struct writer writer = {.out = out, .view = view};
    EACH_OF (item, metrics) {
        writer.metric = item;
        add_metric_head(&writer);
        item->add(&writer, view);
    }
    free(view);
}
