#include "run/attempt_json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/usage.h"

#include <string.h>

/* json_string rejects invalid UTF-8, which paths may contain: replace each invalid byte by '?'. */
static json_t *safe_text(const char *text)
{
    json_t *json = json_string(text);
    if (json)
        return json;
    AUTO_FREE char *printable = mem_strdup(text);
    utf8_make_printable(printable, "\n\t");
    return json_string(printable);
}

static json_t *integer_or_null(bool known, json_int_t value)
{
    return known ? json_integer(value) : json_null();
}

static json_t *cpus_json(const struct attempt *attempt)
{
    static const char *const by[] = {[JOB_CPUS_FREE] = "nothing",
                                     [JOB_CPUS_AFFINITY] = "affinity",
                                     [JOB_CPUS_CPUSET] = "cpuset",
                                     [JOB_CPUS_REFUSED] = "nothing"};
    int code = 0;
    enum job_cpus held = job_cpus(attempt->job, &code);
    AUTO_TEXT struct text list = {0};
    cpus_print(attempt->cpus, &list);
    return json_pack("{s:s, s:s, s:o*}", "cpus", text_get(&list), "by", by[held], "error",
                     held == JOB_CPUS_REFUSED ? json_string(strerror(code)) : json_null());
}

static const char *attempt_role(const struct attempt *attempt)
{
    return attempt->loop ? "background" : "foreground";
}

static json_t *layers_json(const struct attempt *attempt)
{
    const struct job *job = attempt->job;
    const struct containment *layers = job_layers(job);
    return json_pack("{s:b, s:b, s:b, s:b, s:b, s:b, s:o*}", "pidns", layers->pidns, "userns",
                     layers->userns, "cgroup", layers->cgroup, "sweep", true, "kernel_backed",
                     containment_kernel_backed(layers), "run_folder_read_only",
                     job_records_errno(job) == 0, "cpu_set",
                     attempt->cpus ? cpus_json(attempt) : NULL);
}

json_t *attempt_born_json(const struct attempt *attempt)
{
    const struct job_identity *identity = job_identity(attempt->job);
    return json_pack("{s:s, s:o*, s:i, s:I, s:s, s:o, s:o, s:o}", "role", attempt_role(attempt),
                     "number", attempt->loop ? json_integer(attempt->loop) : NULL, "pid",
                     (int)identity->pid, "start_time", (json_int_t)identity->start_time, "boot_id",
                     identity->boot_id, "cgroup", json_text_or_null(identity->cgroup), "tag",
                     json_text_or_null(identity->tag), "layers", layers_json(attempt));
}

json_t *attempt_exit_json(const struct attempt *attempt, bool signalled)
{
    const struct job_exit *exit = &attempt->exit;
    return integer_or_null(exit->ended && exit->signalled == signalled, exit->code);
}

json_t *attempt_exited_json(const struct attempt *attempt)
{
    const struct job_usage *usage = &attempt->usage;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o}", "role", attempt_role(attempt), "exit_code",
        attempt_exit_json(attempt, false), "signal", attempt_exit_json(attempt, true), "cpu_s",
        usage->has_cpu ? json_finite(usage->cpu_s) : json_null(), "peak_memory_bytes",
        integer_or_null(usage->has_peak_memory, (json_int_t)usage->peak_memory_bytes), "processes",
        integer_or_null(usage->has_processes, (json_int_t)usage->processes));
}

static json_t *members_json(const struct job_member *members, size_t count)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count && i < ATTEMPT_MEMBERS_MAX; i++) {
        char state[2] = {members[i].state ? members[i].state : '?', 0};
        json_t *member =
            json_pack("{s:i, s:o, s:o, s:o*}", "pid", (int)members[i].pid, "command",
                      safe_text(members[i].command), "state", safe_text(state), "wchan",
                      members[i].wchan[0] ? safe_text(members[i].wchan) : NULL);
        json_array_append_new(json, member);
    }
    return json;
}

json_t *attempt_proven_json(const struct attempt *attempt, double seconds)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "role", attempt_role(attempt), "leftovers",
                     members_json(attempt->leftovers, attempt->leftover_count), "survivors",
                     members_json(attempt->survivors, attempt->survivor_count), "seconds",
                     json_finite(seconds));
}

json_t *attempt_loop_json(const struct attempt *loop, enum outcome outcome, const char *error)
{
    json_t *json = attempt_exited_json(loop);
    bool stopped = outcome == OUTCOME_INTERRUPTED, valid;
    double duration_s = attempt_duration_s(loop, &valid);
    json_object_update_new(
        json, json_pack("{s:I, s:s, s:o, s:o, s:o}", "number", (json_int_t)loop->loop, "outcome",
                        stopped ? "stopped" : outcome_name(outcome), "error",
                        error && !stopped ? safe_text(error) : json_null(), "duration_s",
                        valid ? json_finite(duration_s) : json_null(), "leftovers",
                        members_json(loop->leftovers, loop->leftover_count)));
    return json;
}

static json_t *attempt_metrics_json(const struct attempt *attempt)
{
    json_t *json = json_object();
    const struct plan_job *job = attempt->plan;
    EACH (metric, job->metrics, job->metric_count)
        json_object_set_new(json, metric->name, json_null());
    size_t count = attempt->log ? joblog_result_count(attempt->log) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        if (result->role == JOBLOG_METRIC && result->has_number)
            json_object_set_new(json, result->name, json_from_reading(result->number));
    }
    return json;
}

/* Lists of equal length; "epoch" only if a point has one; "seconds" since the attempt's start. */
static json_t *points_json(const struct metric_history *history, int64_t start_ns)
{
    json_t *steps = json_array(), *epochs = json_array(), *seconds = json_array(),
           *values = json_array();
    bool any_epoch = false;
    EACH (point, history->points, history->count) {
        int64_t us = (point->t_ns - start_ns) / 1000;
        any_epoch = any_epoch || point->has_epoch;
        json_array_append_new(steps, json_integer((json_int_t)point->step));
        json_array_append_new(epochs, point->has_epoch ? json_integer(point->epoch) : json_null());
        json_array_append_new(seconds, json_finite((double)us / 1e6));
        json_array_append_new(values, json_from_reading(point->value));
    }
    json_t *json =
        json_pack("{s:I, s:o, s:O*, s:o, s:o}", "matches", (json_int_t)history->matches, "step",
                  steps, "epoch", any_epoch ? epochs : NULL, "seconds", seconds, "value", values);
    json_decref(epochs);
    return json;
}

static json_t *history_json(const struct attempt *attempt)
{
    json_t *json = json_object();
    size_t count = attempt->log ? joblog_result_count(attempt->log) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        const struct metric_history *history = joblog_history(attempt->log, i);
        if (result->role == JOBLOG_METRIC && history->count > 0)
            json_object_set_new(json, result->name, points_json(history, attempt->start_ns));
    }
    return json;
}

static json_t *mark_counts_json(const struct attempt *attempt)
{
    const struct marks_counts *counts = &attempt->marks.counts;
    return json_pack("{s:I, s:I, s:I, s:I}", "taken", (json_int_t)counts->taken, "repeated",
                     (json_int_t)counts->repeated, "limited", (json_int_t)counts->limited,
                     "refused", (json_int_t)attempt->marks_refused);
}

static json_t *log_totals_json(const struct joblog *log)
{
    struct joblog_totals totals = joblog_totals(log);
    return json_pack("{s:I, s:I, s:I, s:I, s:b}", "bytes", (json_int_t)totals.bytes, "kept",
                     (json_int_t)totals.kept, "lines", (json_int_t)totals.lines, "limited_lines",
                     (json_int_t)totals.limited_lines, "capped", totals.capped);
}

json_t *attempt_ended_json(const struct attempt *attempt, enum outcome outcome, const char *error)
{
    bool valid;
    double duration_s = attempt_duration_s(attempt, &valid);
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "outcome", outcome_name(outcome),
        "duration_s", valid ? json_finite(duration_s) : json_null(), "end_ns",
        integer_or_null(valid, attempt->end_ns), "exit_code", attempt_exit_json(attempt, false),
        "signal", attempt_exit_json(attempt, true), "reason", stop_reason_name(attempt->reason),
        "error", error ? safe_text(error) : json_null(), "metrics", attempt_metrics_json(attempt),
        "history", history_json(attempt), "marks", mark_counts_json(attempt), "log",
        attempt->log ? log_totals_json(attempt->log) : json_null());
}

json_t *experiment_ended_json(enum outcome outcome, int64_t retries, const json_t *last_attempt)
{
    return json_pack("{s:s, s:I, s:O?, s:O?, s:O?}", "outcome", outcome_name(outcome), "retries",
                     (json_int_t)retries, "duration_s", json_object_get(last_attempt, "duration_s"),
                     "metrics", json_object_get(last_attempt, "metrics"), "error",
                     json_object_get(last_attempt, "error"));
}

char *attempt_members_text(const struct job_member *members, size_t count)
{
    struct text text = {0};
    for (size_t i = 0; i < count && i < ATTEMPT_MEMBERS_MAX; i++) {
        text_addf(&text, "%s%ld %s", i ? ", " : "", (long)members[i].pid, members[i].command);
        if (members[i].wchan[0] || members[i].state == 'D')
            text_addf(&text, " (state %c%s%s)", members[i].state,
                      members[i].wchan[0] ? ", in " : "", members[i].wchan);
    }
    if (count > ATTEMPT_MEMBERS_MAX)
        text_addf(&text, ", and %zu more", count - ATTEMPT_MEMBERS_MAX);
    return text_take(&text);
}
