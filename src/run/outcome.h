/* outcome: whether an attempt succeeded, and why not. Pure. */
#ifndef TARE_RUN_OUTCOME_H
#define TARE_RUN_OUTCOME_H

#include "machine/contain/contain.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "run/log/joblog.h"

enum stop_reason {
    STOP_NONE,
    STOP_EXITED,
    STOP_TIMEOUT,
    STOP_INTERRUPTED, /* by a signal to tare, or the run broke */
    STOP_LIMIT,
    STOP_LOG_ERROR,
    STOP_NOT_STARTED, /* the background did not run */
    STOP_GPU_LOST,
    /* the machine could not start it, or killed its init */
    STOP_MACHINE,
    STOP_HUNG,
    STOP_BUDGET,
    STOP_SKIPPED, /* on request: a resume runs it again */
    STOP_REASONS
};

const char *stop_reason_name(enum stop_reason reason); /* as in the journal */

struct outcome_facts {
    enum stop_reason reason;
    const char *detail; /* which limit, or why it could not start; may be NULL */
    double timeout_s;
    struct job_exit exit;
    const struct joblog_result *const *results;
    size_t result_count;
    const struct joblog_words *words; /* the log's last words; NULL: no log */
    uint64_t log_lines;
    int log_errno; /* of a failed write */
    struct job_usage usage;
    /* killed by the kernel on this machine for lack of memory; 0: unknown, too */
    uint64_t machine_kills;
    const struct limits *limits;
};

/* A signal fails even if the exit code is ignored, unless success patterns match. error: the caller
 * frees; NULL on success. */
enum outcome outcome_judge(const struct plan_job *job, const struct outcome_facts *facts,
                           char **error);

/* A rule of the registry that a training with exit code 0 broke. */
enum outcome_broken {
    BROKEN_NONE,
    BROKEN_OOM_KILL,
    BROKEN_SHELL_MESSAGE,
    BROKEN_MEMBER_SIGNAL,
    BROKEN_METRICS
};

/* The first broken rule; adds reason and fix. */
enum outcome_broken outcome_check_rules(const struct plan_job *job,
                                        const struct outcome_facts *facts, struct text *why);

/* The exit code or signal alone is a failure. */
bool outcome_exit_fails(const struct plan_job *job, const struct outcome_facts *facts);

/* failure: the cause of a failure, with the log line that shows it. Pure. */

enum failure_cause {
    FAILURE_NONE,
    FAILURE_OUT_OF_MEMORY, /* of the GPU, by the log */
    FAILURE_OOM_KILLED,    /* by the kernel, for lack of memory */
    FAILURE_KILLED_BY_SIGNAL,
    FAILURE_TIMEOUT,
    FAILURE_EXIT_CODE,
    /* an error pattern matched, or a success pattern did not */
    FAILURE_PATTERN,
    FAILURE_DISK_FULL, /* by the log, or its write failed */
    FAILURE_LIMIT,
    FAILURE_HUNG, /* see hang_stack.txt */
    FAILURE_NOT_STARTED,
    FAILURE_NO_METRIC, /* required metrics are missing */
    FAILURE_LOG_ERROR, /* for another reason than space */
    FAILURE_UNKNOWN,
    FAILURE_CAUSES
};

struct failure {
    enum failure_cause cause;
    uint64_t line;              /* of the log, from 1; 0: none */
    char text[JOBLOG_TEXT_MAX]; /* printable */
    /* how it is known, if the line does not show it */
    char why[JOBLOG_TEXT_MAX];
    /* another attempt would fail alike: wrong arguments, a missing module */
    bool refused;
};

const char *failure_cause_name(enum failure_cause cause);

/* For outcome FAILED or a log error; else NONE. Lines about memory or space count only near the
 * log's end: the training survived earlier ones. */
void failure_find(const struct plan_job *job, const struct outcome_facts *facts,
                  enum outcome outcome, struct failure *out);

/* The line in which a shell (bash, dash, busybox, ksh93, mksh, zsh, in English) reports that a
 * signal ended a program. NULL: none. */
const struct joblog_result *failure_find_shell_message(const struct outcome_facts *facts);

/* The last line near the log's end about memory or space that ran out. NULL: none. */
const struct joblog_result *failure_find_shortage(const struct outcome_facts *facts);

/* {cause, line, text, why}, or null for none. A new reference. */
json_t *failure_json(const struct failure *failure);

/* Patterns that joblog matches besides the registry's. */
enum { FAILURE_SIGNS = 4 };
void failure_get_sign(size_t index, struct joblog_pattern *out);
bool failure_sign_matches(const char *sign, const char *line, size_t length);

#endif
