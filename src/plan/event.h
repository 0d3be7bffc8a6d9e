/* event: what happens in a run. Each is journaled (store/) before it is acted on, appended to
 * events.jsonl, and told to whoever listens (ui/). data is a JSON object; the keys of each type
 * stand beside it. */
#ifndef TARE_PLAN_EVENT_H
#define TARE_PLAN_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum event_type {
    /* pid, start_time, host, boot_id, version, containment, kernel_backed, resumed; budget of this
     * session, if any */
    EVENT_SESSION_STARTED,
    /* id; of several lanes lane (from 1) and gpus [labels]: planned -> preparing */
    EVENT_EXPERIMENT_STARTED,
    /* folder; after an out-of-memory failure changed (plan/plan.h) and ladder (run/ladder.c):
     * preparing; no process yet */
    EVENT_ATTEMPT_PREPARED,
    /* role, pid, start_time, boot_id, cgroup, tag, layers: the init waits at its gate */
    EVENT_JOB_BORN,
    EVENT_ATTEMPT_STARTED, /* start_ns (CLOCK_MONOTONIC, when the gate was opened): running */
    /* name, value: told, not journaled; or, about once a second, sensor ("gpu_power_w",
     * "gpu_utilisation_percent", "gpu_memory_bytes", "gpu_memory_total_bytes", "gpu_temperature_c")
     * and value, or sensor "bars" and bars [{name, first, done, total, restarts, latest}]: progress
     * bars (run/log/joblog.h) */
    EVENT_METRIC,
    /* name, label (null: none), at (start, end), t_ns (CLOCK_MONOTONIC), source (log, fifo):
     * written about once a second */
    EVENT_MARK,
    /* reason: exited, timeout, interrupted, limit, log_error, gpu_lost, machine, hung, budget,
     * skipped */
    EVENT_ATTEMPT_STOPPING,
    /* role, exit_code or signal, cpu_s, peak_memory_bytes, processes; of a background's loop number
     * (in JOB_BORN too), outcome (succeeded, failed, stopped), error, duration_s, leftovers */
    EVENT_JOB_EXITED,
    /* role, leftovers [{pid, command}], survivors [{pid, state, wchan}], seconds: verifying */
    EVENT_JOB_PROVEN,
    /* outcome, duration_s, end_ns (CLOCK_MONOTONIC, of the command), exit_code, signal, reason,
     * parallel (of a parallel experiment: docs/reference/running.md), error, metrics {name: value},
     * history {name: {matches, step, epoch, seconds, value: lists}}, marks {taken, repeated,
     * limited, refused}, log {bytes, lines}, energy (measure/energy_meters.h; null: nothing was
     * measured), failure {cause, line, text, why} (null: it did not fail), memory, snapshot {file,
     * bytes}; after an out-of-memory failure oom, ladder: docs/reference/memory.md */
    EVENT_ATTEMPT_ENDED,
    EVENT_RETRY_PAUSE, /* seconds */
    /* outcome, retries, duration_s, metrics, error: done; begun (false: interrupted before its
     * first attempt: planned) */
    EVENT_EXPERIMENT_ENDED,
    /* seconds, why: between_runs, between_configurations; lane and gpus as above */
    EVENT_PAUSE,
    /* kind (measure/guard/evidence.h), text, experiments (of other lanes) and pids (on a GPU):
     * lists of their numbers, device (null: none), from_s, to_s (from the attempt's start, below 0
     * before it; null: not known, or no span) */
    EVENT_EVIDENCE,
    /* phase (preflight, postflight, cooldown, net), devices [...], more by phase:
     * docs/reference/files.md */
    EVENT_GUARD,
    /* text: told, not journaled; paused (true, false): the run was asked to begin nothing more, or
     * to go on */
    EVENT_NOTE,
    /* of an attempt under way, about once a minute where the run has a budget: energy_j (used so
     * far; null: not known), budget (docs/reference/files.md) */
    EVENT_BUDGET,
    /* outcome: finished, interrupted, failed, budget; error; budget, if any; of several lanes pool
     * (docs/reference/files.md) */
    EVENT_SESSION_ENDED,
    /* verdict: an experiment that is done is to be done again; until it is, its result stands */
    EVENT_EXPERIMENT_AGAIN,
    /* of a GPU of this run, about the run: device, outcome (made, refused, interrupted, failed),
     * reason, text, seconds, energy_j, memory_bytes, calibration (with its sha256; null: none is
     * kept); lane and gpus as above */
    EVENT_CALIBRATION,
    /* "experiment.json": SHA-256 of what the store wrote there; by the store itself */
    EVENT_FILES_WRITTEN,
    EVENT_TYPES
};

enum outcome { OUTCOME_NONE, OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_INTERRUPTED };

/* States of an experiment, and the events that lead from one to the next. */
enum experiment_state {
    STATE_PLANNED,
    STATE_PREPARING,
    STATE_RUNNING,
    STATE_STOPPING,
    STATE_VERIFYING,
    STATE_DONE,
    STATE_COUNT
};

struct event {
    enum event_type type;
    int64_t monotonic_ns;
    int64_t realtime_ns;
    int64_t session;    /* from 1 */
    int64_t experiment; /* its number in the plan, from 1; 0: about the run */
    int64_t attempt;    /* from 1; 0: none */
    json_t *data;       /* owned; an object */
};

void event_fini(struct event *event);

const char *event_type_name(enum event_type type); /* "attempt_started" */
bool event_type_parse(const char *name, enum event_type *out);
bool event_is_journaled(enum event_type type);

const char *outcome_name(enum outcome outcome); /* "succeeded"; "none" */
bool outcome_parse(const char *name, enum outcome *out);
const char *state_name(enum experiment_state state);

/* The state after the event, or false when the table has no such arrow (the store then refuses the
 * event). The table is in event.c. An attempt that has a job ends only after its JOB_PROVEN; one
 * without a job may end while preparing; an experiment that a session left undone, or that was
 * interrupted, may be started again by a resume. Events that move nothing (pause, evidence, note,
 * session) leave every state as it is. */
bool state_next(enum experiment_state state, enum event_type type, enum experiment_state *out);

/* {"type": ..., "time": ISO local time, "realtime_ns": ..., "monotonic_ns": ..., "session": ...,
 * "experiment": ..., "attempt": ..., "data": {...}}; "time" is for people, reading back takes
 * realtime_ns. */
json_t *event_to_json(const struct event *event);
bool event_from_json(const json_t *json, struct event *out);

#endif
