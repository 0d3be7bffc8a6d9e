#include "run/outcome.h"

#include "base/mem.h"
#include "tare_build.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Exit codes of shells. */
enum { EXIT_NOT_RUNNABLE = 126, EXIT_NOT_FOUND = 127 };

static const char *const reason_names[STOP_REASONS] = {
    [STOP_NONE] = "none",
    [STOP_EXITED] = "exited",
    [STOP_TIMEOUT] = "timeout",
    [STOP_INTERRUPTED] = "interrupted",
    [STOP_LIMIT] = "limit",
    [STOP_LOG_ERROR] = "log_error",
    [STOP_NOT_STARTED] = "not_started",
    [STOP_GPU_LOST] = "gpu_lost",
    [STOP_MACHINE] = "machine",
    [STOP_HUNG] = "hung",
    [STOP_BUDGET] = "budget",
    [STOP_SKIPPED] = "skipped",
};

const char *stop_reason_name(enum stop_reason reason)
{
    return reason_names[reason];
}

static void begin_reason(struct text *why)
{
    if (why->length > 0)
        text_add(why, "; ");
}

static void add_exec_failure(const struct plan_job *job, const struct job_exit *exit,
                             struct text *why)
{
    const char *program = job->argv.count > 0 ? job->argv.items[0] : "the command";
    text_addf(why, "cannot run %s: %s", program, strerror(exit->exec_errno));
    /* The kernel reports ENOENT for both. */
    if (exit->exec_errno == ENOENT)
        text_add(why, " (the file, or the interpreter that its first line names, is missing)");
    else if (exit->exec_errno == ENOEXEC)
        text_add(why, " (is its first line '#!interpreter' missing?)");
}

static void add_kill_reason(const struct outcome_facts *facts, struct text *why)
{
    bool limited = facts->limits->job.memory_bytes > 0;
    if (facts->usage.oom_kills > 0)
        text_addf(why, ": the kernel ended it for want of memory%s",
                  limited ? " (the memory limit of the settings)" : "");
    else if (limited)
        text_add(why, ": probably by the memory limit");
    else if (facts->machine_kills > 0)
        text_add(why,
                 ": probably by the kernel, which ended processes for want of memory meanwhile");
    else
        text_add(why, ": " TARE_NAME " did not send it; out of memory?");
}

static void add_signal_reason(const struct outcome_facts *facts, struct text *why)
{
    const struct job_exit *exit = &facts->exit;
    const struct limits *limits = facts->limits;
    const char *name = sigabbrev_np(exit->code);
    text_addf(why, "ended by signal %d", exit->code);
    if (name)
        text_addf(why, " (SIG%s)", name);
    if (exit->code == SIGXCPU && limits->job.cpu_time_s > 0)
        text_addf(why, ": the limit of %g s of CPU time", limits->job.cpu_time_s);
    else if (exit->code == SIGKILL)
        add_kill_reason(facts, why);
}

static void add_exit_reason(const struct outcome_facts *facts, struct text *why)
{
    const struct job_exit *exit = &facts->exit;
    if (exit->signalled) {
        add_signal_reason(facts, why);
        return;
    }
    text_addf(why, "exit code %d", exit->code);
    if (exit->code == EXIT_NOT_FOUND)
        text_add(why, ": what a shell gives for a command that it does not find");
    else if (exit->code == EXIT_NOT_RUNNABLE)
        text_add(why, ": what a shell gives for a command that it may not run");
}

/* At least one pattern, and all matched. */
static bool success_is_shown(const struct outcome_facts *facts)
{
    size_t shown = 0;
    EACH (result, facts->results, facts->result_count) {
        if ((*result)->role != JOBLOG_SUCCESS)
            continue;
        if ((*result)->matches == 0)
            return false;
        shown++;
    }
    return shown > 0;
}

bool outcome_exit_fails(const struct plan_job *job, const struct outcome_facts *facts)
{
    const struct job_exit *exit = &facts->exit;
    if (!exit->ended)
        return job->exit_code_required;
    if (job->exit_code_required)
        return exit->signalled || exit->code != 0;
    return exit->signalled && !success_is_shown(facts);
}

/* Its last line, the exception, explains more. */
static bool is_traceback(const struct outcome_facts *facts, const struct joblog_result *result)
{
    return facts->words && facts->words->kind == JOBLOG_WORDS_EXCEPTION &&
           strstr(result->text, "Traceback (most recent call last)");
}

/* True: a log line was added. */
static bool add_pattern_reasons(const struct outcome_facts *facts, struct text *why)
{
    bool told = false;
    EACH (item, facts->results, facts->result_count) {
        const struct joblog_result *result = *item;
        if (result->role == JOBLOG_ERROR && result->matches > 0) {
            unsigned long long line = result->line;
            begin_reason(why);
            told = true;
            if (is_traceback(facts, result))
                text_addf(why, "traceback at log line %llu: %s", line, facts->words->text);
            else
                text_addf(why, "log line %llu matches the error pattern '%s': %s", line,
                          result->name, result->text);
        } else if (result->role == JOBLOG_SUCCESS && result->matches == 0) {
            begin_reason(why);
            text_addf(why, "no log line matches the success pattern '%s'", result->name);
        }
    }
    return told;
}

/* More useful than a launcher's "Training command failed with exit code 0". */
static bool add_shortage(const struct outcome_facts *facts, struct text *why)
{
    const struct joblog_result *sign = failure_find_shortage(facts);
    if (!sign || why->length == 0)
        return false;
    if (!strstr(text_get(why), sign->text))
        text_addf(why, "; the log says: %s", sign->text);
    return true;
}

static void add_last_words(const struct outcome_facts *facts, struct text *why)
{
    static const char *const heads[] = {[JOBLOG_WORDS_NONE] = "; it printed nothing",
                                        [JOBLOG_WORDS_LINE] = "; last log line: ",
                                        [JOBLOG_WORDS_COMPLAINT] = "; the log says: ",
                                        [JOBLOG_WORDS_EXCEPTION] = "; the log says: "};
    if (add_shortage(facts, why) || !facts->words || why->length == 0)
        return;
    text_addf(why, "%s%s", heads[facts->words->kind], facts->words->text);
}

/* False: enough metrics matched. */
static bool metrics_miss(enum metrics_rule rule, const struct outcome_facts *facts,
                         struct text *names)
{
    size_t found = 0, missing = 0;
    EACH (result, facts->results, facts->result_count) {
        if ((*result)->role != JOBLOG_METRIC)
            continue;
        found += (*result)->matches > 0;
        if ((*result)->matches == 0)
            text_addf(names, "%s%s", missing++ ? ", " : "", (*result)->name);
    }
    return missing > 0 && (rule == METRICS_REQUIRED || (rule == METRICS_ANY && found == 0));
}

enum outcome_broken outcome_check_rules(const struct plan_job *job,
                                        const struct outcome_facts *facts, struct text *why)
{
    const struct success_rules *rules = &job->rules;
    const struct joblog_result *message = failure_find_shell_message(facts);
    const struct job_exit *exit = &facts->exit;
    uint64_t kills = facts->usage.oom_kills;
    AUTO_TEXT struct text names = {0};
    if ((rules->fail_on & FAIL_ON_OOM_KILL) && kills > 0) {
        text_addf(
            why,
            "the kernel ended %llu of its processes for want of memory, though the command exited "
            "with %d: give it more memory or fewer workers (\"fail_on\" of the registry)",
            (unsigned long long)kills, exit->code);
        return BROKEN_OOM_KILL;
    }
    if ((rules->fail_on & FAIL_ON_SHELL_MESSAGE) && message) {
        text_addf(why,
                  "a shell says at log line %llu that a signal ended a program, though the command "
                  "exited with %d: %s; begin the script with '#!/bin/bash' and 'set -e -o "
                  "pipefail', so that its exit code tells (\"fail_on\" of the registry)",
                  (unsigned long long)message->line, exit->code, message->text);
        return BROKEN_SHELL_MESSAGE;
    }
    if ((rules->fail_on & FAIL_ON_MEMBER_SIGNAL) && exit->orphans > 0) {
        const char *name = sigabbrev_np(exit->orphan_signal);
        text_addf(why,
                  "signal %d (SIG%s) ended %s that the job had left in the background, though the "
                  "command exited with %d: let the script wait for what it starts (\"fail_on\" of "
                  "the registry)",
                  exit->orphan_signal, name ? name : "?",
                  exit->orphans == 1 ? "a process" : "processes", exit->code);
        return BROKEN_MEMBER_SIGNAL;
    }
    if (metrics_miss(rules->metrics, facts, &names)) {
        text_addf(why,
                  "%s found in the log (%s), though the command exited with %d: see in the log "
                  "whether it trained, and correct log_patterns, or \"metrics\" of the registry if "
                  "it prints none",
                  rules->metrics == METRICS_ANY ? "no metric was" : "not every metric was",
                  text_get(&names), exit->code);
        return BROKEN_METRICS;
    }
    return BROKEN_NONE;
}

static void judge_exit(const struct plan_job *job, const struct outcome_facts *facts,
                       struct text *why)
{
    if (facts->exit.exec_failed) {
        add_exec_failure(job, &facts->exit, why);
        return;
    }
    if (outcome_exit_fails(job, facts)) {
        if (facts->exit.ended)
            add_exit_reason(facts, why);
        else
            text_add(why, "how it ended is not known");
    }
    if (add_pattern_reasons(facts, why))
        add_shortage(facts, why);
    else if (why->length > 0 || !facts->exit.ended ||
             outcome_check_rules(job, facts, why) != BROKEN_SHELL_MESSAGE)
        add_last_words(facts, why);
}

/* Other ends. detailed: report detail, if there is one; else words. */
static const struct {
    enum outcome outcome;
    bool detailed;
    const char *words;
} ends[STOP_REASONS] = {
    [STOP_NONE] = {OUTCOME_INTERRUPTED, false, "interrupted"},
    [STOP_INTERRUPTED] = {OUTCOME_INTERRUPTED, false, "interrupted"},
    [STOP_LIMIT] = {OUTCOME_FAILED, true, "limit"},
    [STOP_NOT_STARTED] = {OUTCOME_FAILED, true, "not_started"},
    [STOP_HUNG] = {OUTCOME_FAILED, true, "hung"},
    [STOP_LOG_ERROR] = {OUTCOME_INTERRUPTED, true, "its log could not be written"},
    [STOP_GPU_LOST] = {OUTCOME_INTERRUPTED, true, "its GPU was lost"},
    [STOP_MACHINE] = {OUTCOME_INTERRUPTED, true, "the machine failed it"},
    [STOP_BUDGET] = {OUTCOME_INTERRUPTED, true, "a budget of the run is used up"},
    [STOP_SKIPPED] = {OUTCOME_INTERRUPTED, false, "skipped on request: --resume runs it"},
};

enum outcome outcome_judge(const struct plan_job *job, const struct outcome_facts *facts,
                           char **error)
{
    AUTO_TEXT struct text why = {0};
    enum outcome outcome = ends[facts->reason].outcome;
    char duration[32];
    if (facts->reason == STOP_TIMEOUT) {
        outcome = OUTCOME_FAILED;
        clock_format_duration(facts->timeout_s, duration);
        text_addf(&why, "timed out after %s", duration);
        add_last_words(facts, &why);
    } else if (facts->reason == STOP_EXITED) {
        judge_exit(job, facts, &why);
        outcome = why.length > 0 ? OUTCOME_FAILED : OUTCOME_SUCCEEDED;
    } else {
        bool told = ends[facts->reason].detailed && facts->detail;
        text_add(&why, told ? facts->detail : ends[facts->reason].words);
    }
    *error = outcome == OUTCOME_SUCCEEDED ? NULL : text_take(&why);
    return outcome;
}
