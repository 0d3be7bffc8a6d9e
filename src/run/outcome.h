/* outcome: did the attempt succeed, and if not, why, in words. Pure. Private to run/. */
#ifndef TARE_RUN_OUTCOME_H
#define TARE_RUN_OUTCOME_H

#include "machine/contain/contain.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "run/log/joblog.h"

/* Why an attempt was stopped. */
enum stop_reason {
    STOP_NONE,
    STOP_EXITED, /* the command ended by itself */
    STOP_TIMEOUT,
    STOP_INTERRUPTED, /* a signal to tare, or the run broke elsewhere */
    STOP_LIMIT,
    STOP_LOG_ERROR,   /* its log could not be written */
    STOP_NOT_STARTED, /* the command never began, as its background did not */
    STOP_GPU_LOST,    /* of its lane */
    /* none of its own doing: what it takes to start it was not to be had, or its init was killed */
    STOP_MACHINE,
    STOP_HUNG,    /* no sign of life for as long as the settings say */
    STOP_BUDGET,  /* of the run, used up */
    STOP_SKIPPED, /* its owner asked for it: a resume runs it again */
    STOP_REASONS
};

const char *stop_reason_name(enum stop_reason reason); /* "exited", as the journal has it */

/* What is known of an attempt that is over. */
struct outcome_facts {
    enum stop_reason reason;
    const char *detail; /* which limit, or why it could not start; may be NULL */
    double timeout_s;
    struct job_exit exit;
    const struct joblog_result *const *results; /* of every pattern */
    size_t result_count;
    const struct joblog_words *words; /* what the log says at its end; NULL: there is no log */
    uint64_t log_lines;
    int log_errno; /* of a log that could not be written */
    struct job_usage usage;
    /* processes of anybody that the kernel ended for want of memory while the job ran; 0: none, or
     * it does not tell */
    uint64_t machine_kills;
    const struct limits *limits;
};

/* Failed when: stopped by a timeout or a limit; not started; the exit code is required and not 0;
 * an error pattern matched; a success pattern did not; a rule of the registry is broken
 * (outcome_check_rules). With the exit code ignored, an end by a signal still fails unless success
 * patterns say otherwise. Interrupted when the stop was not the attempt's own doing. error: what to
 * tell (the caller frees), NULL when it succeeded. */
enum outcome outcome_judge(const struct plan_job *job, const struct outcome_facts *facts,
                           char **error);

/* The rule of the registry that a training broke which exited with 0. */
enum outcome_broken {
    BROKEN_NONE,
    BROKEN_OOM_KILL,
    BROKEN_SHELL_MESSAGE,
    BROKEN_MEMBER_SIGNAL,
    BROKEN_METRICS
};

/* The first, and what to tell of it with what to do. */
enum outcome_broken outcome_check_rules(const struct plan_job *job,
                                        const struct outcome_facts *facts, struct text *why);

/* Whether the way in which a command ended is a failure by itself. */
bool outcome_exit_fails(const struct plan_job *job, const struct outcome_facts *facts);

/* failure: what made an attempt fail, in one word, with the line of the log that showed it. Pure.
 * Private to run/. */

enum failure_cause {
    FAILURE_NONE,
    FAILURE_OUT_OF_MEMORY,    /* of the GPU: the log says so */
    FAILURE_OOM_KILLED,       /* the kernel ended it, or a process of it, for want of memory */
    FAILURE_KILLED_BY_SIGNAL, /* by whomever */
    FAILURE_TIMEOUT,
    FAILURE_EXIT_CODE,
    /* an error pattern of the registry matched, or a success pattern did not */
    FAILURE_PATTERN,
    FAILURE_DISK_FULL, /* the log says so, or the log itself could not be written */
    FAILURE_LIMIT,     /* of CPU time */
    FAILURE_HUNG,      /* no sign of life: hang_stack.txt */
    FAILURE_NOT_STARTED,
    FAILURE_NO_METRIC, /* metrics that the registry asks for are not in the log */
    FAILURE_LOG_ERROR, /* the log could not be written, for another reason than space */
    FAILURE_UNKNOWN,
    FAILURE_CAUSES
};

struct failure {
    enum failure_cause cause;
    uint64_t line;              /* of the log, from 1; 0: no line shows it */
    char text[JOBLOG_TEXT_MAX]; /* that line, fit to be shown */
    /* how it is known, where the line does not say it; "": nothing to add */
    char why[JOBLOG_TEXT_MAX];
    /* it would end the same way again: usage and an error were printed, or a module could not be
     * loaded */
    bool refused;
};

const char *failure_cause_name(enum failure_cause cause); /* "out_of_memory" */

/* Of an attempt that outcome_judge found to have failed, or whose log could not be written. NONE
 * for every other. A line about memory or space counts only near the end of the log: what was said
 * far above was survived. */
void failure_find(const struct plan_job *job, const struct outcome_facts *facts,
                  enum outcome outcome, struct failure *out);

/* The line in which a shell says that a signal ended a program of the job: bash, dash, busybox,
 * ksh93, mksh and zsh, in English; anywhere in the log. NULL: none. */
const struct joblog_result *failure_find_shell_message(const struct outcome_facts *facts);

/* The last line near the end of the log that tells of memory or space that ran out; NULL: none. */
const struct joblog_result *failure_find_shortage(const struct outcome_facts *facts);

/* {cause, line, text, why}, or null for none. A new reference. */
json_t *failure_json(const struct failure *failure);

/* What joblog is to look for besides the registry's patterns: FAILURE_SIGNS patterns. */
enum { FAILURE_SIGNS = 4 };
void failure_get_sign(size_t index, struct joblog_pattern *out);
bool failure_sign_matches(const char *sign, const char *line, size_t length);

#endif
