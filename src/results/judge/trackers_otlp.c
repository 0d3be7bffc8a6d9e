/* A run as a trace of OpenTelemetry, in OTLP/JSON: ids are hexadecimal, 64-bit integers are strings (opentelemetry.io/docs/specs/otlp,
 * "JSON Protobuf Encoding"). Attributes are those of the semantic conventions where there are such (service.*, host.name,
 * error.type, process.exit.code), else of the name tare.*; energies are in joules. */
#include "results/judge/export.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/store/store.h"
#include "tare_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRACE_HEX = 32, SPAN_HEX = 16, SPANS_MAX = 50000, STATUS_OK = 1, STATUS_ERROR = 2, KIND_INTERNAL = 1 };

struct trace {
    const char *key; /* of the run */
    char id[TRACE_HEX + 1];
    json_t *spans;  /* a list */
    double last_ms; /* the latest end */
    size_t left_out;
};

/* Of what it is, as "repo_net_001/1/epoch/3": the same each time. */
static void span_id(const struct trace *trace, const char *what, char out[SPAN_HEX + 1])
{
    char hex[DIGEST_HEX + 1];
    AUTO_FREE char *both = mem_printf("span/%s/%s", trace->key, what);
    struct digest digest = digest_of(both, strlen(both));
    digest_print(&digest, hex);
    snprintf(out, SPAN_HEX + 1, "%.*s", SPAN_HEX, hex);
}

static void add_value(json_t *attributes, const char *key, const char *kind, json_t *value)
{
    json_array_append_new(attributes, json_pack("{s:s, s:{s:o}}", "key", key, "value", kind, value));
}

static void add_text(json_t *attributes, const char *key, const char *text)
{
    if (text)
        add_value(attributes, key, "stringValue", json_string(text));
}

static void add_integer(json_t *attributes, const char *key, json_int_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_value(attributes, key, "intValue", json_string(text));
}

/* What is null or no plain value is left out: absent is not zero. */
static void add_json(json_t *attributes, const char *key, const json_t *value)
{
    if (json_is_string(value))
        add_text(attributes, key, json_string_value(value));
    else if (json_is_integer(value))
        add_integer(attributes, key, json_integer_value(value));
    else if (json_is_real(value) && isfinite(json_real_value(value)))
        add_value(attributes, key, "doubleValue", json_finite(json_real_value(value)));
    else if (json_is_boolean(value))
        add_value(attributes, key, "boolValue", json_boolean(json_is_true(value)));
}

static void add_double(json_t *attributes, const char *key, const json_t *value)
{
    if (json_is_number(value))
        add_value(attributes, key, "doubleValue", json_finite(json_number_value(value)));
}

static void add_all(json_t *attributes, const char *prefix, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        AUTO_FREE char *key = mem_printf("%s%s", prefix, name);
        add_json(attributes, key, value);
    }
}

static void add_energy(json_t *attributes, const json_t *energy)
{
    static const struct {
        const char *sum, *key, *half_width;
    } rows[] = {{"gpu", "tare.energy.gpu_j", "tare.energy.gpu_half_width_j"},
                {"cpu_package", "tare.energy.cpu_j", "tare.energy.cpu_half_width_j"},
                {"dram", "tare.energy.dram_j", "tare.energy.dram_half_width_j"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *sum = json_get(energy, rows[i].sum);
        add_double(attributes, rows[i].key, json_get(sum, "joules"));
        add_double(attributes, rows[i].half_width, json_get(sum, "half_width_j"));
    }
}

static json_t *time_text(double ms)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, (int64_t)llround(ms * 1e6));
    return json_string(text);
}

/* A span of what, below parent (NULL: none). Gives its attributes, borrowed; NULL: there are too many. outcome: NULL: it has none. */
static json_t *add_span(struct trace *trace, const char *what, const char *parent, const char *name, double from_ms,
                        double to_ms, const char *outcome, const char *error)
{
    to_ms = to_ms < from_ms ? from_ms : to_ms;
    char id[SPAN_HEX + 1], parent_id[SPAN_HEX + 1];
    if (json_array_size(trace->spans) >= SPANS_MAX) {
        trace->left_out++;
        return NULL;
    }
    span_id(trace, what, id);
    json_t *attributes = json_array();
    json_t *span = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "traceId", trace->id, "spanId", id, "name", name,
                             "kind", KIND_INTERNAL, "startTimeUnixNano", time_text(from_ms), "endTimeUnixNano",
                             time_text(to_ms), "attributes", attributes);
    trace->last_ms = to_ms > trace->last_ms ? to_ms : trace->last_ms;
    if (parent) {
        span_id(trace, parent, parent_id);
        json_object_set_new(span, "parentSpanId", json_string(parent_id));
    }
    bool failed = outcome && strcmp(outcome, "failed") == 0;
    json_t *status = json_object();
    if (failed || (outcome && (strcmp(outcome, "succeeded") == 0 || strcmp(outcome, "finished") == 0)))
        json_object_set_new(status, "code", json_integer(failed ? STATUS_ERROR : STATUS_OK));
    if (failed && error)
        json_object_set_new(status, "message", json_string(error));
    json_object_set_new(span, "status", status);
    add_text(attributes, "tare.outcome", outcome);
    json_array_append_new(trace->spans, span);
    return attributes;
}

/* Of an attempt that began from_ms: its parts, by their marks. */
/* to_ms: no span ends behind its parent, though the last mark may have been read when the command had ended. */
static void add_epochs(struct trace *trace, const json_t *epochs, const char *attempt, double from_ms, double to_ms)
{
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        const json_t *epoch = json_array_get(epochs, i);
        double start_s = 0, end_s = 0;
        const char *part = json_get_text(epoch, "part"), *mark = json_get_text(epoch, "name"),
                   *label = json_get_text(epoch, "label");
        if (!part || !mark || !json_get_number(epoch, "start_s", &start_s) || !json_get_number(epoch, "end_s", &end_s))
            continue;
        AUTO_FREE char *what = mem_printf("%s/part/%zu", attempt, i + 1);
        AUTO_FREE char *name =
            strcmp(part, "epoch") == 0 && label ? mem_printf("%s %s", mark, label) : mem_strdup(part);
        json_t *attributes = add_span(trace, what, attempt, name, fmin(from_ms + 1000 * start_s, to_ms),
                                      fmin(from_ms + 1000 * end_s, to_ms), NULL, NULL);
        if (!attributes)
            continue;
        add_text(attributes, "tare.mark.name", mark);
        add_text(attributes, "tare.mark.part", part);
        add_text(attributes, "tare.mark.label", label);
        add_double(attributes, "tare.energy.gpu_j", json_get(epoch, "gpu_energy_j"));
        add_double(attributes, "tare.energy.gpu_half_width_j", json_get(epoch, "gpu_half_width_j"));
        add_double(attributes, "tare.energy.cpu_j", json_get(epoch, "cpu_energy_j"));
        add_double(attributes, "tare.energy.cpu_half_width_j", json_get(epoch, "cpu_half_width_j"));
    }
}

static const json_t *attempt_numbered(const json_t *own, json_int_t number)
{
    const json_t *attempts = json_get(own, "attempts");
    for (size_t i = 0; i < json_array_size(attempts); i++) {
        json_int_t its;
        if (json_get_int(json_array_get(attempts, i), "number", &its) && its == number)
            return json_array_get(attempts, i);
    }
    return NULL;
}

static void add_attempt(struct trace *trace, const json_t *own, const json_t *span, const char *experiment)
{
    double from_ms, to_ms;
    json_int_t number = 0, counts = 0;
    const char *outcome = json_get_text(span, "outcome");
    if (!json_get_int(span, "attempt", &number) || !json_get_number(span, "from_ms", &from_ms))
        return;
    bool ended = json_get_number(span, "to_ms", &to_ms);
    const json_t *attempt = attempt_numbered(own, number), *failure = json_get(attempt, "failure");
    AUTO_FREE char *what = mem_printf("%s/%lld", experiment, (long long)number),
                   *name = mem_printf("attempt %lld", (long long)number);
    json_t *attributes = add_span(trace, what, experiment, name, from_ms, ended ? to_ms : from_ms, outcome,
                                  json_get_text(attempt, "error"));
    if (!attributes)
        return;
    add_integer(attributes, "tare.attempt", number);
    add_text(attributes, "tare.verdict", json_get_text(attempt, "verdict"));
    add_text(attributes, "error.type", json_get_text(failure, "cause"));
    add_json(attributes, "process.exit.code", json_get(attempt, "exit_code"));
    add_text(attributes, "tare.stop_reason", json_get_text(attempt, "reason"));
    add_energy(attributes, json_get(attempt, "energy"));
    if (!ended)
        add_value(attributes, "tare.incomplete", "boolValue", json_true());
    if (json_get_int(own, "result_attempt", &counts) && counts == number)
        add_epochs(trace, json_get(own, "epochs"), what, from_ms, ended ? to_ms : INFINITY);
}

static void add_facts(json_t *attributes, const json_t *experiment, const json_t *own, const char *id)
{
    add_text(attributes, "tare.experiment.id", id);
    add_text(attributes, "tare.repository", json_get_text(experiment, "repository"));
    add_text(attributes, "tare.model", json_get_text(experiment, "model"));
    add_text(attributes, "tare.verdict", json_get_text(own, "verdict"));
    add_text(attributes, "error.type", json_get_text(json_get(own, "failure"), "cause"));
    add_json(attributes, "tare.retries", json_get(experiment, "retries"));
    add_energy(attributes, json_get(own, "energy"));
    add_all(attributes, "tare.hyperparameter.", json_get(experiment, "hyperparameters"));
    add_all(attributes, "tare.metric.", json_get(experiment, "performance_metrics"));
}

/* Nothing of one that has not begun. */
static void add_experiment(struct trace *trace, const json_t *experiment)
{
    const json_t *own = json_get(experiment, "tare"), *spans = json_get(experiment, "spans");
    const char *id = json_get_text(experiment, "experiment_id");
    size_t count = json_array_size(spans);
    double from_ms, to_ms = 0;
    json_int_t number = 0;
    if (!id || !json_get_int(experiment, "number", &number) ||
        !json_get_number(json_array_get(spans, 0), "from_ms", &from_ms))
        return;
    for (size_t i = 0; i < count; i++) {
        double end_ms;
        if (json_get_number(json_array_get(spans, i), "to_ms", &end_ms) && end_ms > to_ms)
            to_ms = end_ms;
    }
    /* An id may be there twice in a folder that was changed: the number in the plan is not. */
    AUTO_FREE char *what = mem_printf("experiment/%lld", (long long)number);
    json_t *attributes = add_span(trace, what, "run", id, from_ms, to_ms, json_get_text(own, "outcome"),
                                  json_get_text(experiment, "error_message"));
    if (attributes)
        add_facts(attributes, experiment, own, id);
    for (size_t i = 0; i < count; i++)
        add_attempt(trace, own, json_array_get(spans, i), what);
}

/* From the beginning of the first session to the end of the last one, as far as that is known. */
static void add_run(struct trace *trace, const json_t *run, const char *name)
{
    const json_t *sessions = json_get(run, "sessions"), *last = json_array_get(sessions, json_array_size(sessions) - 1);
    double from_ms = 0, to_ms = 0, ms;
    json_get_number(json_array_get(sessions, 0), "started_ms", &from_ms);
    for (size_t i = 0; i < json_array_size(sessions); i++)
        if (json_get_number(json_array_get(sessions, i), "ended_ms", &ms) && ms > to_ms)
            to_ms = ms;
    json_t *attributes = add_span(trace, "run", NULL, name, from_ms, to_ms, json_get_text(last, "outcome"),
                                  json_get_text(last, "error"));
    if (!json_get_number(last, "ended_ms", &ms))
        add_value(attributes, "tare.incomplete", "boolValue", json_true()); /* it is under way, or broke off */
    add_text(attributes, "tare.run", name);
    add_text(attributes, "tare.name", json_get_text(run, "name"));
    add_integer(attributes, "tare.sessions", (json_int_t)json_array_size(sessions));
    add_all(attributes, "tare.count.", json_get(run, "counts"));
}

static json_t *request_of(const json_t *run, const char *name, json_t *spans)
{
    const json_t *sessions = json_get(run, "sessions"), *last = json_array_get(sessions, json_array_size(sessions) - 1);
    json_t *resource = json_array();
    add_text(resource, "service.name", TARE_NAME);
    add_text(resource, "service.version", json_get_text(last, "version"));
    add_text(resource, "service.instance.id", name);
    add_text(resource, "host.name", json_get_text(last, "host"));
    return json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceSpans", "resource", "attributes", resource,
                     "scopeSpans", "scope", "name", TARE_NAME, "version", TARE_VERSION, "spans", spans);
}

json_t *trackers_otlp(const char *run_dir, struct err *err)
{
    char key[DIGEST_HEX + 1];
    struct trace trace = {.key = key};
    json_t *run = results_read_json(run_dir, err);
    if (!run)
        return NULL;
    AUTO_FREE char *real = realpath(run_dir, NULL), *base = fs_basename(real ? real : run_dir),
                   *name = tracker_name(base);
    tracker_run_key(run_dir, true, key);
    snprintf(trace.id, sizeof trace.id, "%.*s", TRACE_HEX, key);
    trace.spans = json_array();
    add_run(&trace, run, name);
    const json_t *experiments = json_get(run, "experiments");
    for (size_t i = 0; i < json_array_size(experiments); i++)
        add_experiment(&trace, json_array_get(experiments, i));
    json_int_t all = 0;
    /* A run that broke off has no end of its own. */
    json_object_set_new(json_array_get(trace.spans, 0), "endTimeUnixNano", time_text(trace.last_ms));
    json_get_int(json_get(run, "counts"), "experiments", &all);
    json_t *attributes = json_object_get(json_array_get(trace.spans, 0), "attributes");
    if (trace.left_out > 0)
        add_integer(attributes, "tare.spans_left_out", (json_int_t)trace.left_out);
    if ((size_t)all > json_array_size(experiments))
        add_integer(attributes, "tare.experiments_left_out", all - (json_int_t)json_array_size(experiments));
    json_t *request = request_of(run, name, trace.spans);
    json_decref(run);
    return request;
}
