/* mark: says, from inside of a run, where an epoch begins or ends. */
#include "base/clock.h"
#include "measure/marks/marks.h"
#include "session/command.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_END, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_END] = FLAG_ROW("-e", "--end", "it ends now; without this it begins"),
};

static int nobody(const char *path, const char *why)
{
    cli_error("nobody reads marks at %s (TARE_MARKS): %s", path, why);
    return CLI_USAGE;
}

static int write_mark_line(int fd, const char *path, const char *line)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))
        return nobody(path, "it is no FIFO");
    ssize_t written = write(fd, line, strlen(line));
    if (written < 0 && errno == EPIPE)
        return nobody(path, "the run has ended");
    if (written < 0) {
        cli_error("the mark was not written to %s: %s", path,
                  errno == EAGAIN ? "it is full, the run reads too slowly" : strerror(errno));
        return CLI_BROKEN;
    }
    return CLI_OK;
}

/* Without a reader opening fails at once instead of waiting for one. */
static int send_line(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && (errno == ENXIO || errno == ENOENT))
        return nobody(path, errno == ENXIO ? "the run has ended" : strerror(errno));
    if (fd < 0) {
        cli_error("open %s (TARE_MARKS): %s", path, strerror(errno));
        return CLI_BROKEN;
    }
    int code = write_mark_line(fd, path, line);
    close(fd);
    return code;
}

static int run_mark(const struct cli_call *call)
{
    int64_t now_ns = clock_monotonic_ns();
    const char *name = call->operands.items[0];
    const char *label = call->operands.count > 1 ? call->operands.items[1] : "";
    const char *path = getenv("TARE_MARKS");
    char line[MARK_LINE_MAX];
    if (!mark_name_is_valid(name))
        return cli_usage_error(call->command, "'%s' is no name of a mark: expected " MARK_NAME_RULE,
                               name);
    if (!mark_label_is_valid(label, strlen(label)))
        return cli_usage_error(call->command,
                               "a label is at most %d bytes of UTF-8 without control characters",
                               MARK_LABEL_MAX);
    if (!path || !*path) {
        cli_error("TARE_MARKS is not set: marks are for what '%s run' runs, and are made from "
                  "inside of it",
                  TARE_NAME);
        return CLI_USAGE;
    }
    snprintf(line, sizeof line, "%s%s %s @%lld\n", call->values[OPTION_END].given ? "/" : "", name,
             label, (long long)now_ns);
    return send_line(path, line);
}

static const char *const usage[] = {"mark [--end] NAME [LABEL]", NULL};

static const char *const description[] = {
    "Called by a training that is being run: what NAME says begins now, such as 'mark epoch 3', "
    "and ends when the next "
    "one of that name begins, or with 'mark --end epoch 3'. The epochs are in experiment.json and "
    "energy/marks.csv. "
    "Never waits.",
    "A shell can do the same with: echo epoch 3 > \"$TARE_MARKS\".", NULL};

static const char *const exits[] = {"0", "marked",
                                    "2", "not inside of a run, or a wrong name or label",
                                    "3", "it could not be written",
                                    NULL};

static const char *const examples[] = {
    "mark epoch 3",
    "epoch 3 begins now; the epoch before it ends",
    "mark --end epoch 3",
    "epoch 3 ends, and none begins",
    NULL,
};

const struct cli_command cmd_mark = {
    .name = "mark",
    .group = CLI_GROUP_RUN,
    .summary = "say, from inside of a run, where an epoch begins",
    .operand_min = 1,
    .operand_max = 2,
    .operand_name = "NAME",
    COMMAND_TABLES,
    .run = run_mark,
};
