/* notify: tries the targets that are told of runs. --send: started by the runner, one for each message (session/notify.h). */
#include "session/command.h"
#include "session/notify.h"

#include <unistd.h>

enum { OPTION_SEND, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_SEND] = FLAG_ROW(NULL, "--send", "deliver the message on standard input", .hidden = true),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

/* The settings as JSON; nothing else of them need be right. NULL: said. */
static char *settings_text(const char *path)
{
    struct err err = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_TEXT struct text text = {0};
    if (!json_doc_read_config(path, 64 << 20, &doc, &err)) {
        cli_error("%s", err.text);
        return NULL;
    }
    json_print(doc.root, &text);
    return text_take(&text);
}

static int run(const struct cli_call *call)
{
    struct err err = {0};
    struct notifier *notifier;
    if (call->values[OPTION_SEND].given)
        return notify_send(STDIN_FILENO);
    AUTO_FREE char *text = call->operands.count ? settings_text(call->operands.items[0]) : NULL;
    if (call->operands.count && !text)
        return CLI_USAGE;
    if (!notifier_new(text, &notifier, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!notifier) {
        cli_error("no target: neither the settings nor the user's configuration have the key notify");
        return CLI_USAGE;
    }
    size_t failed = notifier_test(notifier);
    notifier_finish(notifier);
    return failed ? CLI_SOME_FAILED : CLI_OK;
}

static const char *const usage[] = {"notify [SETTINGS.json]", NULL};

static const char *const description[] = {
    "Sends a test message to each target of the settings (tare.notify) and of the user's configuration "
    "($XDG_CONFIG_HOME/tare/config.json, else ~/.config/tare/config.json), once, and says what came of it. "
    "OpenTelemetry is not "
    "tried: it gets whole runs.",
    "A run tells them by processes of its own, so that none can hold it up: docs/howto/notify.md.", NULL};

static const char *const exits[] = {
    "0", "every target has the message", "1", "some target has not", "2", "a mistake in a file, or there is no target",
    NULL};

static const char *const examples[] = {
    "notify settings.json",
    "try the targets of a settings file, and those of every run",
    "notify",
    "try those of the user's configuration",
    NULL,
};

const struct cli_command cmd_notify = {
    .name = "notify",
    .group = CLI_GROUP_RUN,
    .summary = "try who is told of runs: a test message to each target",
    .operand_max = 1,
    .operand_name = "SETTINGS.json",
    COMMAND_TABLES,
};
