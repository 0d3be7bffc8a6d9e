/* failure: what made an attempt fail, in one word, with the line of the log that showed it. Pure. Private to run/. */
#ifndef TARE_RUN_FAILURE_H
#define TARE_RUN_FAILURE_H

#include "run/log/joblog.h"
#include "run/outcome.h"

#include <jansson.h>

enum failure_cause {
    FAILURE_NONE,
    FAILURE_OUT_OF_MEMORY,    /* of the GPU: the log says so */
    FAILURE_OOM_KILLED,       /* the kernel ended it, or a process of it, for want of memory */
    FAILURE_KILLED_BY_SIGNAL, /* by whomever */
    FAILURE_TIMEOUT,
    FAILURE_EXIT_CODE,
    FAILURE_PATTERN,     /* an error pattern of the registry matched, or a success pattern did not */
    FAILURE_DISK_FULL,   /* the log says so, or the log itself could not be written */
    FAILURE_LIMIT,       /* of CPU time */
    FAILURE_HUNG,        /* no sign of life: hang_stack.txt */
    FAILURE_NOT_STARTED,
    FAILURE_NO_METRIC,   /* metrics that the registry asks for are not in the log */
    FAILURE_LOG_ERROR,   /* the log could not be written, for another reason than space */
    FAILURE_UNKNOWN,
    FAILURE_CAUSES
};

struct failure {
    enum failure_cause cause;
    uint64_t line;              /* of the log, from 1; 0: no line shows it */
    char text[JOBLOG_TEXT_MAX]; /* that line, fit to be shown */
    char why[JOBLOG_TEXT_MAX];  /* how it is known, where the line does not say it; "": nothing to add */
};

const char *failure_cause_name(enum failure_cause cause); /* "out_of_memory" */

/* Of an attempt that outcome_judge found to have failed, or whose log could not be written. NONE for every other. A line
 * about memory or space counts only near the end of the log: what was said far above was survived. */
void failure_find(const struct plan_job *job, const struct outcome_facts *facts, enum outcome outcome,
                  struct failure *out);

/* The line in which a shell says that a signal ended a program of the job: bash, dash, busybox, ksh93, mksh and zsh, in
 * English; anywhere in the log. NULL: none. */
const struct joblog_result *failure_shell_message(const struct outcome_facts *facts);

/* The last line near the end of the log that tells of memory or space that ran out; NULL: none. */
const struct joblog_result *failure_sign_shown(const struct outcome_facts *facts);

/* {cause, line, text, why}, or null for none. A new reference. */
json_t *failure_json(const struct failure *failure);

/* What joblog is to look for besides the registry's patterns: FAILURE_SIGNS patterns. */
enum { FAILURE_SIGNS = 3 };
void failure_sign(size_t index, struct joblog_pattern *out);
bool failure_sign_holds(const char *sign, const char *line, size_t length);

#endif
