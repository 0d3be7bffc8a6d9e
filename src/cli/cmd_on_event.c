/* on-event: runs the program of the key on_event, contained and for a limited time. A run starts it
 * for each event (session/on_event.h), so it is not in the help. It prints why the program
 * failed. */
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "machine/contain/probe.h"
#include "machine/contain/query.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { OPTION_SECONDS, OPTION_COUNT };
enum { ERRORS_MAX = 1 << 20, LINE_BYTES = 300 };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_SECONDS] = VALUE_ROW(NULL, "--seconds", "TIME", CLI_DURATION, "how long it may run",
                                 .low = 0.001, .high = 60, .default_text = "60"),
};

static void explain_program_end(enum job_answer how, const struct job_exit *exit, double seconds,
                                struct text *out)
{
    if (how == JOB_ANSWER_LATE)
        text_addf(out, "still running after %.3g s, so it was ended", seconds);
    else if (how == JOB_ANSWER_LONG)
        text_addf(out, "more than %d MiB on standard error, so it was ended", ERRORS_MAX >> 20);
    else if (how == JOB_ANSWER_ALIVE)
        text_add(out, "something that it started is still alive after SIGKILL");
    else if (how != JOB_ANSWER_FAILED)
        text_addf(out, "it could not be started%s%s", exit->exec_errno ? ": " : "",
                  exit->exec_errno ? strerror(exit->exec_errno) : "");
    else
        text_addf(out, exit->signalled ? "ended by signal %d" : "exit status %d", exit->code);
}

/* Without a pid namespace: an ordinary user gets one only with a user namespace, in which setuid
 * and setgid programs, such as sendmail(8), do not work. */
static int run_on_event(const struct cli_call *call)
{
    AUTO_TEXT struct text errors = {0};
    AUTO_TEXT struct text out = {0};
    AUTO(containment_fini) struct containment containment = {0};
    struct job_exit exit = {0};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    AUTO_CLOSE int stop = signalfd(-1, &ends, SFD_CLOEXEC);
    AUTO_CLOSE int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    containment_assume(CONTAINMENT_SWEEP, &containment);
    int64_t start_ns = clock_monotonic_ns();
    struct job_question question = {.containment = &containment,
                                    .argv = &call->operands,
                                    .env = &call->caller->environment,
                                    .input = input,
                                    .only_errors = true,
                                    .limit = ERRORS_MAX,
                                    .timeout_s = call->values[OPTION_SECONDS].seconds,
                                    .stop_fd = stop,
                                    .exit = &exit};
    enum job_answer how = job_ask(&question, &errors);
    if (how == JOB_ANSWER_GOOD)
        return CLI_OK;
    AUTO_FREE char *line = utf8_last_line(text_get(&errors), errors.length, LINE_BYTES);
    explain_program_end(how, &exit, (double)(clock_monotonic_ns() - start_ns) / NS_PER_S, &out);
    text_addf(&out, "%s%s", *line ? ": " : "", line);
    message_print(&out);
    return CLI_SOME_FAILED;
}

static const char *const usage_lines[] = {"on-event [--seconds TIME] -- PROGRAM [ARGUMENT...]",
                                          NULL};

const struct cli_command cmd_on_event = {
    .name = "on-event",
    .summary = "run the program of the key on_event",
    .usage = usage_lines,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_min = 1,
    .operand_max = SIZE_MAX,
    .operand_name = "PROGRAM",
    .stops_at_operand = true,
    .run = run_on_event,
};
