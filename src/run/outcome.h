/* outcome: did the attempt succeed, and if not, why, in words. Pure. Private to run/. */
#ifndef TARE_RUN_OUTCOME_H
#define TARE_RUN_OUTCOME_H

#include "base/text.h"
#include "machine/contain/contain.h"
#include "run/log/joblog.h"
#include "plan/event.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why an attempt was stopped. */
enum stop_reason {
    STOP_NONE,
    STOP_EXITED,      /* the command ended by itself */
    STOP_TIMEOUT,
    STOP_INTERRUPTED, /* a signal to tare, or the run broke elsewhere */
    STOP_LIMIT,
    STOP_LOG_ERROR,   /* its log could not be written */
    STOP_NOT_STARTED, /* the command never began, as its background did not */
    STOP_GPU_LOST,    /* of its lane */
    STOP_MACHINE,     /* none of its own doing: what it takes to start it was not to be had, or its init was killed */
    STOP_HUNG,        /* no sign of life for as long as the settings say */
    STOP_BUDGET,      /* of the run, used up */
    STOP_SKIPPED,     /* its owner asked for it: a resume runs it again */
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
    uint64_t machine_kills; /* processes of anybody that the kernel ended for want of memory while the job ran; 0: none, or it does not tell */
    const struct limits *limits;
};

/* Failed when: stopped by a timeout or a limit; not started; the exit code is required and not 0; an error pattern
 * matched; a success pattern did not; a rule of the registry is broken (outcome_rules). With the exit code ignored, an end by a signal still fails unless success
 * patterns say otherwise. Interrupted when the stop was not the attempt's own doing. error: what to tell (the
 * caller frees), NULL when it succeeded. */
enum outcome outcome_judge(const struct plan_job *job, const struct outcome_facts *facts, char **error);

/* The rule of the registry that a training broke which exited with 0. */
enum outcome_broken { BROKEN_NONE, BROKEN_OOM_KILL, BROKEN_SHELL_MESSAGE, BROKEN_MEMBER_SIGNAL, BROKEN_METRICS };

/* The first, and what to tell of it with what to do. */
enum outcome_broken outcome_rules(const struct plan_job *job, const struct outcome_facts *facts, struct text *why);

/* Whether the way in which a command ended is a failure by itself. */
bool outcome_exit_fails(const struct plan_job *job, const struct outcome_facts *facts);

#endif
