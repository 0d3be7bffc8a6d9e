/* What the journal keeps of an attempt. */
#include "base/mem.h"
#include "base/utf8.h"
#include "run/attempt.h"
#include "run/log/metric_history.h"

#include "base/clock.h"

#include <string.h>

/* json_string refuses what is no UTF-8, and paths may be anything: then each byte that is none becomes '?'. */
static json_t *safe_text(const char *text)
{
    json_t *json = json_string(text);
    if (json)
        return json;
    AUTO_FREE char *printable = mem_strdup(text);
    utf8_make_printable(printable, "\n\t");
    return json_string(printable);
}

static json_t *layers_json(const struct job *job)
{
    const struct containment *layers = job_layers(job);
    json_t *json = json_object();
    json_object_set_new(json, "pidns", json_boolean(layers->pidns));
    json_object_set_new(json, "userns", json_boolean(layers->userns));
    json_object_set_new(json, "cgroup", json_boolean(layers->cgroup));
    json_object_set_new(json, "sweep", json_true());
    json_object_set_new(json, "kernel_backed", json_boolean(containment_kernel_backed(layers)));
    json_object_set_new(json, "run_folder_read_only", json_boolean(job_records_errno(job) == 0));
    return json;
}

/* On which processors the job was kept, and by what. */
static json_t *cpus_json(const struct attempt *attempt)
{
    static const char *const by[] = {[JOB_CPUS_FREE] = "nothing",
                                     [JOB_CPUS_AFFINITY] = "affinity",
                                     [JOB_CPUS_CPUSET] = "cpuset",
                                     [JOB_CPUS_REFUSED] = "nothing"};
    int code = 0;
    enum job_cpus held = job_cpus(attempt->job, &code);
    AUTO_TEXT struct text list = {0};
    json_t *json = json_object();
    cpus_print(attempt->cpus, &list);
    json_object_set_new(json, "cpus", json_string(text_get(&list)));
    json_object_set_new(json, "by", json_string(by[held]));
    json_object_set_new(json, "error", held == JOB_CPUS_REFUSED ? json_string(strerror(code)) : json_null());
    return json;
}

static const char *attempt_role(const struct attempt *attempt)
{
    return attempt->loop ? "background" : "foreground";
}

json_t *attempt_born_json(const struct attempt *attempt)
{
    const struct job_identity *identity = job_identity(attempt->job);
    json_t *json = json_object();
    json_object_set_new(json, "role", json_string(attempt_role(attempt)));
    if (attempt->loop)
        json_object_set_new(json, "number", json_integer(attempt->loop));
    json_object_set_new(json, "pid", json_integer(identity->pid));
    json_object_set_new(json, "start_time", json_integer((json_int_t)identity->start_time));
    json_object_set_new(json, "boot_id", json_string(identity->boot_id));
    json_object_set_new(json, "cgroup", json_text_or_null(identity->cgroup));
    json_object_set_new(json, "tag", json_text_or_null(identity->tag));
    json_t *layers = layers_json(attempt->job);
    if (attempt->cpus)
        json_object_set_new(layers, "cpu_set", cpus_json(attempt));
    json_object_set_new(json, "layers", layers);
    return json;
}

json_t *attempt_started_json(const struct attempt *attempt)
{
    json_t *json = json_object();
    json_object_set_new(json, "start_ns", json_integer(attempt->start_ns));
    return json;
}

void attempt_add_exit(const struct attempt *attempt, json_t *json)
{
    const struct job_exit *exit = &attempt->exit;
    bool code = exit->ended && !exit->signalled;
    bool signal = exit->ended && exit->signalled;
    json_object_set_new(json, "exit_code", code ? json_integer(exit->code) : json_null());
    json_object_set_new(json, "signal", signal ? json_integer(exit->code) : json_null());
}

json_t *attempt_exited_json(const struct attempt *attempt)
{
    const struct job_usage *usage = &attempt->usage;
    json_t *json = json_object();
    json_object_set_new(json, "role", json_string(attempt_role(attempt)));
    attempt_add_exit(attempt, json);
    json_object_set_new(json, "cpu_s", usage->has_cpu ? json_finite(usage->cpu_s) : json_null());
    json_object_set_new(json, "peak_memory_bytes",
                        usage->has_peak_memory ? json_integer((json_int_t)usage->peak_memory_bytes) : json_null());
    json_object_set_new(json, "processes",
                        usage->has_processes ? json_integer((json_int_t)usage->processes) : json_null());
    return json;
}

static json_t *member_json(const struct job_member *member)
{
    json_t *json = json_object();
    char state[2] = {member->state ? member->state : '?', 0};
    json_object_set_new(json, "pid", json_integer(member->pid));
    json_object_set_new(json, "command", safe_text(member->command));
    json_object_set_new(json, "state", safe_text(state));
    if (member->wchan[0])
        json_object_set_new(json, "wchan", safe_text(member->wchan));
    return json;
}

static json_t *members_json(const struct job_member *members, size_t count)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count && i < ATTEMPT_MEMBERS_MAX; i++)
        json_array_append_new(json, member_json(&members[i]));
    return json;
}

json_t *attempt_proven_json(const struct attempt *attempt, double seconds)
{
    json_t *json = json_object();
    json_object_set_new(json, "role", json_string(attempt_role(attempt)));
    json_object_set_new(json, "leftovers", members_json(attempt->leftovers, attempt->leftover_count));
    json_object_set_new(json, "survivors", members_json(attempt->survivors, attempt->survivor_count));
    json_object_set_new(json, "seconds", json_finite(seconds));
    return json;
}

json_t *attempt_loop_json(const struct attempt *loop, enum outcome outcome, const char *error)
{
    json_t *json = attempt_exited_json(loop);
    bool stopped = outcome == OUTCOME_INTERRUPTED, valid;
    double duration_s = attempt_duration_s(loop, &valid);
    json_object_set_new(json, "number", json_integer(loop->loop));
    json_object_set_new(json, "outcome", json_string(stopped ? "stopped" : outcome_name(outcome)));
    json_object_set_new(json, "error", error && !stopped ? safe_text(error) : json_null());
    json_object_set_new(json, "duration_s", valid ? json_finite(duration_s) : json_null());
    json_object_set_new(json, "leftovers", members_json(loop->leftovers, loop->leftover_count));
    return json;
}

static json_t *metrics_json(const struct attempt *attempt)
{
    json_t *json = json_object();
    const struct plan_job *job = attempt->plan;
    for (size_t i = 0; i < job->metric_count; i++)
        json_object_set_new(json, job->metrics[i].name, json_null());
    size_t count = attempt->log ? joblog_result_count(attempt->log) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        if (result->role == JOBLOG_METRIC && result->has_number)
            json_object_set_new(json, result->name, json_from_reading(result->number));
    }
    return json;
}

/* {"matches", "step", "epoch" (no key: no point has one), "seconds" since the attempt's start, "value"}: lists of the same length. */
static json_t *points_json(const struct metric_history *history, int64_t start_ns)
{
    json_t *steps = json_array(), *epochs = json_array(), *seconds = json_array(), *values = json_array();
    bool any_epoch = false;
    for (size_t i = 0; i < history->count; i++) {
        const struct metric_point *point = &history->points[i];
        int64_t us = (point->t_ns - start_ns) / 1000;
        any_epoch = any_epoch || point->has_epoch;
        json_array_append_new(steps, json_integer((json_int_t)point->step));
        json_array_append_new(epochs, point->has_epoch ? json_integer(point->epoch) : json_null());
        json_array_append_new(seconds, json_finite((double)us / 1e6));
        json_array_append_new(values, json_from_reading(point->value));
    }
    json_t *json = json_object();
    json_object_set_new(json, "matches", json_integer((json_int_t)history->matches));
    json_object_set_new(json, "step", steps);
    if (any_epoch)
        json_object_set(json, "epoch", epochs);
    json_object_set_new(json, "seconds", seconds);
    json_object_set_new(json, "value", values);
    json_decref(epochs);
    return json;
}

/* Of each metric that was matched. */
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

static json_t *marks_json(const struct attempt *attempt)
{
    const struct marks_counts *counts = &attempt->marks.counts;
    json_t *json = json_object();
    json_object_set_new(json, "taken", json_integer((json_int_t)counts->taken));
    json_object_set_new(json, "repeated", json_integer((json_int_t)counts->repeated));
    json_object_set_new(json, "limited", json_integer((json_int_t)counts->limited));
    json_object_set_new(json, "refused", json_integer((json_int_t)attempt->marks_refused));
    return json;
}

static json_t *log_json(const struct joblog *log)
{
    struct joblog_totals totals = joblog_totals(log);
    json_t *json = json_object();
    json_object_set_new(json, "bytes", json_integer((json_int_t)totals.bytes));
    json_object_set_new(json, "kept", json_integer((json_int_t)totals.kept));
    json_object_set_new(json, "lines", json_integer((json_int_t)totals.lines));
    json_object_set_new(json, "limited_lines", json_integer((json_int_t)totals.limited_lines));
    json_object_set_new(json, "capped", json_boolean(totals.capped));
    return json;
}

json_t *attempt_ended_json(const struct attempt *attempt, enum outcome outcome, const char *error)
{
    bool valid;
    double duration_s = attempt_duration_s(attempt, &valid);
    json_t *json = json_object();
    json_object_set_new(json, "outcome", json_string(outcome_name(outcome)));
    json_object_set_new(json, "duration_s", valid ? json_finite(duration_s) : json_null());
    json_object_set_new(json, "end_ns", valid ? json_integer(attempt->end_ns) : json_null());
    attempt_add_exit(attempt, json);
    json_object_set_new(json, "reason", json_string(stop_reason_name(attempt->reason)));
    json_object_set_new(json, "error", error ? safe_text(error) : json_null());
    json_object_set_new(json, "metrics", metrics_json(attempt));
    json_object_set_new(json, "history", history_json(attempt));
    json_object_set_new(json, "marks", marks_json(attempt));
    json_object_set_new(json, "log", attempt->log ? log_json(attempt->log) : json_null());
    return json;
}

static void copy_key(const json_t *from, const char *key, json_t *to)
{
    json_t *value = json_object_get(from, key);
    json_object_set_new(to, key, value ? json_incref(value) : json_null());
}

json_t *experiment_ended_json(enum outcome outcome, int64_t retries, const json_t *last_attempt)
{
    json_t *json = json_object();
    json_object_set_new(json, "outcome", json_string(outcome_name(outcome)));
    json_object_set_new(json, "retries", json_integer(retries));
    copy_key(last_attempt, "duration_s", json);
    copy_key(last_attempt, "metrics", json);
    copy_key(last_attempt, "error", json);
    return json;
}

char *attempt_members_text(const struct job_member *members, size_t count)
{
    struct text text = {0};
    for (size_t i = 0; i < count && i < ATTEMPT_MEMBERS_MAX; i++) {
        text_addf(&text, "%s%ld %s", i ? ", " : "", (long)members[i].pid, members[i].command);
        if (members[i].wchan[0] || members[i].state == 'D')
            text_addf(&text, " (state %c%s%s)", members[i].state, members[i].wchan[0] ? ", in " : "", members[i].wchan);
    }
    if (count > ATTEMPT_MEMBERS_MAX)
        text_addf(&text, ", and %zu more", count - ATTEMPT_MEMBERS_MAX);
    return text_take(&text);
}
