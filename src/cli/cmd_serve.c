/* serve: runs as live pages in the browser. */
#include "base/mem.h"
#include "serve/serve.h"
#include "session/command.h"
#include "session/message.h"
#include "session/report_page.h"
#include "session/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_PORT, OPTION_SOCKET, OPTION_NEW_TOKEN, OPTION_LANG, OPTION_AS_ROOT, OPTION_COUNT };

static const char *const languages[] = {"en", "zh", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_PORT] = VALUE_ROW(
        "-p", "--port", "PORT", CLI_INT,
        "where it listens; 0: a free one. Without it 8273, or a free one where that is taken",
        .low = 0, .high = 65535),
    [OPTION_SOCKET] = VALUE_ROW(NULL, "--socket", "PATH", CLI_FILE,
                                "listen at a Unix socket that only its owner may use"),
    [OPTION_NEW_TOKEN] = FLAG_ROW(NULL, "--new-token",
                                  "replace the token of the addresses, which else stays the same"),
    [OPTION_LANG] =
        VALUE_ROW(NULL, "--lang", "LANGUAGE", CLI_CHOICE,
                  "of the pages: en or zh, instead of what LANG asks for", .choices = languages),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

/* The folders, as they are named; what is none is a mistake now, not an empty page later. */
static bool name_folders(const struct cli_call *call, struct strv *out, struct err *err)
{
    struct stat st;
    EACH (item, call->operands.items, call->operands.count) {
        char *named = run_folder_named(*item, err);
        if (!named)
            return false;
        strv_add_owned(out, named);
    }
    if (out->count == 0)
        strv_add(out, RUN_FOLDER_RESULTS);
    EACH (entry, out->items, out->count) {
        if (stat(*entry, &st) != 0)
            return err_sys(err, "%s", *entry);
        if (!S_ISDIR(st.st_mode))
            return err_set(err, "%s is not a folder", *entry);
        if (access(*entry, R_OK | X_OK) != 0)
            return err_sys(err, "%s", *entry);
    }
    return true;
}

static int run_serve(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    AUTO_STRV struct strv folders = {0};
    AUTO_TEXT struct text url = {0};
    if (values[OPTION_SOCKET].given &&
        (values[OPTION_PORT].given || values[OPTION_NEW_TOKEN].given))
        return cli_usage_error(call->command, "--socket goes without --port and --new-token");
    if (!name_folders(call, &folders, &err))
        return cli_failed(CLI_BROKEN, &err);
    const struct serve_options how = {
        .paths = folders.items,
        .count = folders.count,
        .port = values[OPTION_PORT].given ? values[OPTION_PORT].integer : -1,
        .socket = values[OPTION_SOCKET].text,
        .language = values[OPTION_LANG].given ? values[OPTION_LANG].text : report_page_language(),
        .new_token = values[OPTION_NEW_TOKEN].given,
    };
    struct serve *serve = serve_start(&how, &err);
    if (!serve)
        return cli_failed(CLI_BROKEN, &err);
    cli_note("Ctrl-C ends it");
    text_addf(&url, "%s\n", serve_url(serve));
    /* An address that could not be printed is unknown to the user. */
    int code = message_print(&url) ? 128 + serve_until_signal(serve) : CLI_BROKEN;
    serve_stop(serve);
    return code;
}

static const char *const usage[] = {"serve [RUN | DIR]... [options]", NULL};

static const char *const description[] = {
    "Shows runs as live pages in a browser: an overview of all runs in DIR (results, unless told "
    "otherwise), and for "
    "each run its GPU slots, power, experiments, sensor curves, events and the ends of logs, as "
    "they come. It prints "
    "the address to open. The pages work on a telephone. Also at hand: /api/runs and "
    "/api/run/NAME.",
    "It listens on 127.0.0.1. Every address holds a token, for other users of this machine reach "
    "the port as well; the "
    "next start has the same token. A Unix socket (--socket) has mode 0600 and needs none. From "
    "another machine: "
    "ssh -L 8273:localhost:8273 HOST, then open the address that is printed.",
    "It only reads, follows no link in the folders, and shows nothing of a run but these pages and "
    "its report.html.",
    NULL};

static const char *const exits[] = {
    "2",   "a mistake on the command line",
    "3",   "a folder is not there or cannot be read, or it cannot listen",
    "130", "ended by Ctrl-C (143: by TERM)",
    NULL};

static const char *const examples[] = {
    "serve",
    "show the runs in results at http://127.0.0.1:8273/",
    "serve latest --port 0",
    "show the newest run on a free port",
    NULL,
};

const struct cli_command cmd_serve = {
    .name = "serve",
    .group = CLI_GROUP_RUN,
    .summary = "show runs live in the browser",
    .operand_max = SIZE_MAX,
    .operand_name = "DIR",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_serve,
};
