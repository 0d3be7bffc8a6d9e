/* Finds the cause of a failure: a signal, a shell's message, a known line of the log. */
#include "gpu_memory/oom/line.h"
#include "results/store/store.h"
#include "run/outcome.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

/* Tracebacks and launchers' messages follow. */
enum { LINES_NEAR = 200 };

/* A shell reports signal N as 128 + N. */
enum { SHELL_SIGNAL = 128, EXIT_MAX = 255 };

static const char *const names[FAILURE_CAUSES] = {
    [FAILURE_NONE] = "none",
    [FAILURE_OUT_OF_MEMORY] = "out_of_memory",
    [FAILURE_OOM_KILLED] = "oom_killed",
    [FAILURE_KILLED_BY_SIGNAL] = "killed_by_signal",
    [FAILURE_TIMEOUT] = "timeout",
    [FAILURE_EXIT_CODE] = "exit_code",
    [FAILURE_PATTERN] = "pattern",
    [FAILURE_DISK_FULL] = "disk_full",
    [FAILURE_LIMIT] = "limit",
    [FAILURE_HUNG] = "hung",
    [FAILURE_NOT_STARTED] = "not_started",
    [FAILURE_NO_METRIC] = FAILURE_WITHOUT_METRIC,
    [FAILURE_LOG_ERROR] = "log_error",
    [FAILURE_UNKNOWN] = "unknown",
};

static const char gpu_memory_sign[] = "out_of_memory", disk_sign[] = "disk_full",
                  shell_sign[] = "shell", usage_sign[] = "usage",
                  argument_error[] = ": error: ", flags_error[] = "Flags parsing error",
                  docopt_usage[] = "Usage:";

const char *failure_cause_name(enum failure_cause cause)
{
    return names[cause];
}

/* Short words that every relevant line contains, so that matching skips most lines
 * (base/pattern/pattern.h). */
void failure_get_sign(size_t index, struct joblog_pattern *out)
{
    static const struct joblog_pattern signs[FAILURE_SIGNS] = {
        {JOBLOG_SIGN, gpu_memory_sign,
         "out of memory|Out of "
         "memory|OUT_OF_MEMORY|OutOfMemory|ErrorMemoryAllocation|ALLOC_FAILED|OOM when|runtime "
         "error \\(2\\)|DEVICE_MEMORY|DeviceMemory|evice memory|video memory|available memory|GPU "
         "memory|memory capacity|Not enough memory|memory on device|allocate memory|out_of_memory"},
        {JOBLOG_SIGN, disk_sign, "No space left on device|Disk quota exceeded"},
        {JOBLOG_SIGN, usage_sign, "usage: |Usage:|Flags parsing error|: error: "},
        {JOBLOG_SIGN, shell_sign,
         "Killed|killed|egmentation fault|Memory fault|Abort|abort|Bus error|bus error"},
    };
    *out = signs[index];
}

struct span {
    const char *at, *end;
};

static bool skip_words(struct span *span, const char *words)
{
    size_t length = strlen(words);
    if ((size_t)(span->end - span->at) < length || memcmp(span->at, words, length) != 0)
        return false;
    span->at += length;
    return true;
}

static size_t skip_spaces(struct span *span)
{
    const char *from = span->at;
    while (span->at < span->end && *span->at == ' ')
        span->at++;
    return (size_t)(span->at - from);
}

/* Cuts the pid off the end: "x: line 3: 12345 ". */
static bool cut_pid(struct span *before, const char *behind)
{
    size_t digits = 0, tail = strlen(behind);
    if ((size_t)(before->end - before->at) < tail || memcmp(before->end - tail, behind, tail) != 0)
        return false;
    for (before->end -= tail; before->end > before->at && isdigit((unsigned char)before->end[-1]);
         digits++)
        before->end--;
    while (before->end > before->at && before->end[-1] == ' ')
        before->end--;
    return digits > 0;
}

/* bash pads the word to 24 columns: "bash: line 1:  9618 Killed python x". Later lines of a pipe
 * begin with the pid; an interactive shell prints none. */
static bool is_of_bash(struct span before, struct span behind, size_t word)
{
    enum { COLUMNS = 24, LEAST = 5 };
    size_t blanks = skip_spaces(&behind);
    bool dumped = skip_words(&behind, "(core dumped) "), none = before.at == before.end;
    if (behind.at == behind.end || blanks < LEAST)
        return false;
    if (none)
        return dumped || blanks + word == COLUMNS;
    if (!cut_pid(&before, " "))
        return false;
    return before.at == before.end ? *behind.at == '|' : before.end[-1] == ':';
}

/* dash, busybox, mksh: the word alone. */
static bool is_of_dash(struct span before, struct span behind)
{
    skip_words(&behind, " (core dumped)");
    skip_spaces(&behind);
    return before.at == before.end && behind.at == behind.end;
}

/* "x: line 1: 3465: Killed" */
static bool is_of_ksh(struct span before, struct span behind)
{
    skip_words(&behind, "(coredump)");
    return behind.at == behind.end && cut_pid(&before, ": ") && before.end > before.at &&
           before.end[-1] == ':';
}

/* "zsh: killed     python x" */
static bool is_of_zsh(struct span before, struct span behind)
{
    skip_words(&behind, " (core dumped)");
    return skip_words(&before, "zsh: ") && before.at == before.end && skip_spaces(&behind) >= 2 &&
           behind.at < behind.end;
}

/* Matches whole lines, so that a training may print "killed". */
static bool is_shell_message(const char *line, size_t length)
{
    static const struct {
        const char *word;
        bool bash, dash, ksh, zsh;
    } words[] = {
        {"Killed", true, true, true, false},
        {"Segmentation fault", true, true, false, false},
        {"Aborted", true, true, false, false},
        {"Bus error", true, true, true, false},
        {"Memory fault", false, false, true, false},
        {"Abort", false, false, true, false},
        {"killed", false, false, false, true},
        {"segmentation fault", false, false, false, true},
        {"abort", false, false, false, true},
        {"bus error", false, false, false, true},
    };
    EACH_OF (item, words) {
        size_t word = strlen(item->word);
        const char *at = memmem(line, length, item->word, word);
        if (!at)
            continue;
        struct span before = {line, at}, behind = {at + word, line + length};
        if ((item->bash && is_of_bash(before, behind, word)) ||
            (item->dash && is_of_dash(before, behind)) ||
            (item->ksh && is_of_ksh(before, behind)) || (item->zsh && is_of_zsh(before, behind)))
            return true;
    }
    return false;
}

/* argparse, click and Typer print "usage:", argparse "train.py: error: ...", absl an error, docopt
 * "Usage:"; "[rank0]: " may precede. */
static bool is_usage(const char *line, size_t length)
{
    struct span span = {line, line + length};
    if (length == sizeof docopt_usage - 1 && memcmp(line, docopt_usage, length) == 0)
        return true;
    if (memmem(line, length, flags_error, sizeof flags_error - 1))
        return true;
    skip_spaces(&span);
    if (span.at < span.end && *span.at == '[') {
        const char *end = memchr(span.at, ']', (size_t)(span.end - span.at));
        span.at = end ? end + 1 : span.at;
        skip_words(&span, ":");
        skip_spaces(&span);
    }
    if (skip_words(&span, "usage: ") || skip_words(&span, "Usage: "))
        return true;
    while (span.at < span.end && !strchr(": (", *span.at))
        span.at++;
    return skip_words(&span, argument_error);
}

bool failure_sign_matches(const char *sign, const char *line, size_t length)
{
    if (strcmp(sign, usage_sign) == 0)
        return is_usage(line, length);
    if (strcmp(sign, shell_sign) == 0)
        return is_shell_message(line, length);
    return strcmp(sign, gpu_memory_sign) != 0 || oom_line_framework(line, length) != OOM_NONE;
}

static void keep_failure_line(struct failure *failure, uint64_t line, const char *text)
{
    failure->line = line;
    snprintf(failure->text, sizeof failure->text, "%s", text);
}

const struct joblog_result *failure_find_shortage(const struct outcome_facts *facts)
{
    const struct joblog_result *found = NULL;
    EACH (item, facts->results, facts->result_count) {
        const struct joblog_result *result = *item;
        bool is_near = result->line + LINES_NEAR > facts->log_lines;
        bool is_shortage =
            strcmp(result->name, gpu_memory_sign) == 0 || strcmp(result->name, disk_sign) == 0;
        if (result->role == JOBLOG_SIGN && is_shortage && result->matches > 0 && is_near &&
            (!found || result->line > found->line))
            found = result;
    }
    return found;
}

const struct joblog_result *failure_find_shell_message(const struct outcome_facts *facts)
{
    EACH (item, facts->results, facts->result_count) {
        const struct joblog_result *result = *item;
        if (result->role == JOBLOG_SIGN && strcmp(result->name, shell_sign) == 0 &&
            result->matches > 0)
            return result;
    }
    return NULL;
}

/* argparse and click exit with 2, absl and docopt with 1. docopt prints no error, so its usage
 * counts only without an exception. */
static bool prints_usage(const struct outcome_facts *facts)
{
    enum { LINES_OF_USAGE = 60 };
    bool has_exception = facts->words && facts->words->kind == JOBLOG_WORDS_EXCEPTION;
    EACH (item, facts->results, facts->result_count) {
        const struct joblog_result *result = *item;
        bool is_near = result->line + LINES_OF_USAGE > facts->log_lines;
        if (result->role == JOBLOG_SIGN && strcmp(result->name, usage_sign) == 0 &&
            result->matches > 0 && is_near)
            return facts->exit.code == 2 || strstr(result->text, flags_error) ||
                   (!has_exception && strcmp(result->text, docopt_usage) == 0) ||
                   (result->matches > 1 && strstr(result->text, argument_error));
    }
    return false;
}

static bool is_refused(const struct outcome_facts *facts)
{
    static const char *const exceptions[] = {"ModuleNotFoundError", "ImportError", "SyntaxError",
                                             "IndentationError", "TabError"};
    if (!facts->exit.ended || facts->exit.signalled || facts->exit.code == 0)
        return false;
    for (size_t i = 0; facts->words && i < sizeof exceptions / sizeof *exceptions; i++)
        if (strncmp(facts->words->text, exceptions[i], strlen(exceptions[i])) == 0)
            return true;
    return prints_usage(facts);
}

static bool explain_by_sign(const struct outcome_facts *facts, struct failure *out)
{
    const struct joblog_result *sign = failure_find_shortage(facts);
    if (!sign)
        return false;
    out->cause = strcmp(sign->name, disk_sign) == 0 ? FAILURE_DISK_FULL : FAILURE_OUT_OF_MEMORY;
    keep_failure_line(out, sign->line, sign->text);
    return true;
}

static bool ended_by(const struct job_exit *exit, int number)
{
    return exit->ended && exit->code == (exit->signalled ? number : SHELL_SIGNAL + number);
}

/* memory.events of the job is certain. The machine's counter is not, so the command must have died
 * of SIGKILL. */
static bool explain_by_oom_kill(const struct outcome_facts *facts, struct failure *out)
{
    unsigned long long own = facts->usage.oom_kills;
    unsigned long long count = own > 0 ? own : facts->machine_kills;
    if (own == 0 && (count == 0 || !ended_by(&facts->exit, SIGKILL)))
        return false;
    out->cause = FAILURE_OOM_KILLED;
    snprintf(out->why, sizeof out->why, "the kernel ended %llu process%s for want of memory: %s",
             count, count == 1 ? "" : "es",
             own > 0 ? "memory.events of its cgroup"
                     : "/proc/vmstat of the machine, and SIGKILL ended the command");
    return true;
}

static void keep_error_words(const struct outcome_facts *facts, struct failure *out)
{
    if (facts->words && facts->words->kind != JOBLOG_WORDS_NONE)
        keep_failure_line(out, facts->words->line, facts->words->text);
}

static const struct joblog_result *find_error(const struct outcome_facts *facts)
{
    EACH (result, facts->results, facts->result_count)
        if ((*result)->role == JOBLOG_ERROR && (*result)->matches > 0)
            return *result;
    return NULL;
}

static void explain_exit_code(const struct outcome_facts *facts, struct failure *out)
{
    const struct job_exit *exit = &facts->exit;
    const struct joblog_result *error = find_error(facts);
    const char *name = exit->signalled ? sigabbrev_np(exit->code) : NULL;
    if (exit->signalled && exit->code == SIGXCPU && facts->limits->job.cpu_time_s > 0)
        out->cause = FAILURE_LIMIT;
    else
        out->cause = exit->signalled ? FAILURE_KILLED_BY_SIGNAL : FAILURE_EXIT_CODE;
    if (exit->signalled)
        snprintf(out->why, sizeof out->why, "signal %d%s%s%s", exit->code, name ? " (SIG" : "",
                 name ? name : "", name ? ")" : "");
    else if (exit->code > SHELL_SIGNAL && exit->code < EXIT_MAX &&
             sigabbrev_np(exit->code - SHELL_SIGNAL))
        snprintf(out->why, sizeof out->why,
                 "exit code %d: what a shell gives when SIG%s ended its command", exit->code,
                 sigabbrev_np(exit->code - SHELL_SIGNAL));
    else
        snprintf(out->why, sizeof out->why, "exit code %d", exit->code);
    /* The exception at the end of a traceback explains more than its head. */
    bool has_exception = facts->words && facts->words->kind == JOBLOG_WORDS_EXCEPTION;
    if (error && !has_exception)
        keep_failure_line(out, error->line, error->text);
    else
        keep_error_words(facts, out);
}

static void copy_failure_reason(const char *why, struct failure *out)
{
    if (why)
        utf8_copy_legible(why, strlen(why), out->why, sizeof out->why);
}

static void format_pattern_reason(const char *words, const char *pattern, struct failure *out)
{
    AUTO_FREE char *text = mem_printf("%s '%s'", words, pattern);
    copy_failure_reason(text, out);
}

static void explain_by_patterns(const struct outcome_facts *facts, struct failure *out)
{
    const struct joblog_result *error = find_error(facts);
    out->cause = FAILURE_PATTERN;
    if (error) {
        keep_failure_line(out, error->line, error->text);
        format_pattern_reason("the line matches the error pattern", error->name, out);
        return;
    }
    EACH (result, facts->results, facts->result_count)
        if ((*result)->role == JOBLOG_SUCCESS && (*result)->matches == 0) {
            format_pattern_reason("no line matches the success pattern", (*result)->name, out);
            return;
        }
    out->cause = FAILURE_UNKNOWN;
}

/* It exited with 0, and no pattern objects. */
static void explain_by_rules(const struct plan_job *job, const struct outcome_facts *facts,
                             struct failure *out)
{
    AUTO_TEXT struct text why = {0};
    const struct joblog_result *message = failure_find_shell_message(facts);
    enum outcome_broken broken = outcome_check_rules(job, facts, &why);
    out->cause = broken == BROKEN_METRICS ? FAILURE_NO_METRIC : FAILURE_KILLED_BY_SIGNAL;
    copy_failure_reason(text_get(&why), out);
    if (broken == BROKEN_SHELL_MESSAGE && message)
        keep_failure_line(out, message->line, message->text);
    else
        keep_error_words(facts, out);
}

/* A process that SIGKILL ended could not write a message. */
static bool explain_by_shortage(const struct outcome_facts *facts, struct failure *out)
{
    return (ended_by(&facts->exit, SIGKILL) && explain_by_oom_kill(facts, out)) ||
           explain_by_sign(facts, out) || explain_by_oom_kill(facts, out);
}

static void explain_exit(const struct plan_job *job, const struct outcome_facts *facts,
                         struct failure *out)
{
    if (facts->exit.exec_failed) {
        out->cause = FAILURE_NOT_STARTED;
        snprintf(out->why, sizeof out->why, "%s", strerror(facts->exit.exec_errno));
    } else if (explain_by_shortage(facts, out)) {
        return;
    } else if (facts->exit.ended && outcome_exit_fails(job, facts)) {
        explain_exit_code(facts, out);
        out->refused = is_refused(facts);
    } else if (facts->exit.ended) {
        explain_by_patterns(facts, out);
        if (out->cause == FAILURE_UNKNOWN)
            explain_by_rules(job, facts, out);
    } else {
        out->cause = FAILURE_UNKNOWN;
        snprintf(out->why, sizeof out->why, "how it ended is not known");
    }
}

void failure_find(const struct plan_job *job, const struct outcome_facts *facts,
                  enum outcome outcome, struct failure *out)
{
    static const enum failure_cause causes[STOP_REASONS] = {[STOP_TIMEOUT] = FAILURE_TIMEOUT,
                                                            [STOP_LIMIT] = FAILURE_LIMIT,
                                                            [STOP_HUNG] = FAILURE_HUNG,
                                                            [STOP_NOT_STARTED] =
                                                                FAILURE_NOT_STARTED};
    *out = (struct failure){.cause = FAILURE_NONE};
    if (facts->reason == STOP_LOG_ERROR) {
        bool full =
            facts->log_errno == ENOSPC || facts->log_errno == EDQUOT || facts->log_errno == EFBIG;
        out->cause = full ? FAILURE_DISK_FULL : FAILURE_LOG_ERROR;
        copy_failure_reason(facts->detail, out);
    } else if (outcome == OUTCOME_FAILED && causes[facts->reason] != FAILURE_NONE) {
        out->cause = causes[facts->reason];
        if (facts->reason != STOP_TIMEOUT)
            copy_failure_reason(facts->detail, out);
    } else if (outcome == OUTCOME_FAILED) {
        explain_exit(job, facts, out);
    }
}

json_t *failure_json(const struct failure *failure)
{
    if (failure->cause == FAILURE_NONE)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o}", "cause", failure_cause_name(failure->cause), "line",
                     failure->line ? json_integer((json_int_t)failure->line) : json_null(), "text",
                     json_filled_or_null(failure->text), "why", json_filled_or_null(failure->why));
}
