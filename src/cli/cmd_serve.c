/* serve: runs as live pages in the browser. */
#include "serve/serve.h"
#include "session/command.h"
#include "session/message.h"
#include "session/report_page.h"
#include "session/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_PORT,
    OPTION_LISTEN,
    OPTION_SOCKET,
    OPTION_CERT,
    OPTION_KEY,
    OPTION_INSECURE,
    OPTION_TOKEN,
    OPTION_LANG,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const char *const languages[] = {"en", "zh", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_PORT] = VALUE_ROW("-p", "--port", "PORT", CLI_INT,
                              "where it listens; 0: a free one. Without it 8273, or a free one where that is taken",
                              .low = 0, .high = 65535),
    [OPTION_LISTEN] = VALUE_ROW(NULL, "--listen", "ADDRESS", CLI_TEXT,
                                "listen there instead of on 127.0.0.1 (0.0.0.0: on all addresses); asks for a token"),
    [OPTION_SOCKET] =
        VALUE_ROW(NULL, "--socket", "PATH", CLI_FILE, "listen at a Unix socket that only its owner may use"),
    [OPTION_CERT] = VALUE_ROW(NULL, "--tls-cert", "FILE", CLI_FILE, "certificate for TLS, PEM; with --tls-key"),
    [OPTION_KEY] = VALUE_ROW(NULL, "--tls-key", "FILE", CLI_FILE, "its key, PEM"),
    [OPTION_INSECURE] =
        FLAG_ROW(NULL, "--insecure", "with --listen: without TLS all the same; others on the network can read along"),
    [OPTION_TOKEN] = FLAG_ROW(NULL, "--token", "ask for a token on this machine, too: other users can reach 127.0.0.1"),
    [OPTION_LANG] = VALUE_ROW(NULL, "--lang", "LANGUAGE", CLI_CHOICE,
                              "of the pages: en or zh, instead of what LANG asks for", .choices = languages),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

/* What does not go together; NULL: all does. */
static const char *mistake_in(const struct cli_value *values)
{
    bool socket = values[OPTION_SOCKET].given;
    if (values[OPTION_CERT].given != values[OPTION_KEY].given)
        return "--tls-cert goes with --tls-key";
    if (socket && (values[OPTION_PORT].given || values[OPTION_LISTEN].given))
        return "--socket goes without --port and --listen";
    if (socket && values[OPTION_CERT].given)
        return "--socket goes without TLS";
    if (values[OPTION_INSECURE].given && (!values[OPTION_LISTEN].given || values[OPTION_CERT].given))
        return "--insecure goes with --listen, and without TLS";
    return NULL;
}

/* The folders, as they are named; what is none is a mistake now, not an empty page later. */
static bool name_folders(const struct cli_call *call, struct strv *out, struct err *err)
{
    struct stat st;
    for (size_t i = 0; i < call->operands.count; i++) {
        char *named = run_folder_named(call->operands.items[i], err);
        if (!named)
            return false;
        strv_add_owned(out, named);
    }
    if (out->count == 0)
        strv_add(out, RUN_FOLDER_RESULTS);
    for (size_t i = 0; i < out->count; i++) {
        if (stat(out->items[i], &st) != 0)
            return err_sys(err, "%s", out->items[i]);
        if (!S_ISDIR(st.st_mode))
            return err_set(err, "%s is no folder", out->items[i]);
        if (access(out->items[i], R_OK | X_OK) != 0)
            return err_sys(err, "%s", out->items[i]);
    }
    return true;
}

static bool say_where(const struct serve *serve, const struct cli_value *values)
{
    const struct strv *urls = serve_urls(serve);
    AUTO_TEXT struct text text = {0};
    for (size_t i = 0; i < urls->count; i++)
        text_addf(&text, "%s\n", urls->items[i]);
    /* A telephone reaches what is not this machine alone. */
    if (values[OPTION_LISTEN].given && isatty(STDOUT_FILENO))
        serve_qr(urls->items[0], &text);
    if (values[OPTION_INSECURE].given)
        cli_warning("without TLS: whoever can read along on the network learns the token and sees the pages");
    cli_note("Ctrl-C ends it");
    return message_print(&text);
}

static int run(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    AUTO_STRV struct strv folders = {0};
    const char *mistake = mistake_in(values);
    if (mistake)
        return cli_usage_error(call->command, "%s", mistake);
    if (!name_folders(call, &folders, &err))
        return cli_failed(CLI_BROKEN, &err);
    const struct serve_options how = {
        .paths = folders.items,
        .count = folders.count,
        .address = values[OPTION_LISTEN].text,
        .port = values[OPTION_PORT].given ? values[OPTION_PORT].integer : -1,
        .socket = values[OPTION_SOCKET].text,
        .cert = values[OPTION_CERT].text,
        .key = values[OPTION_KEY].text,
        .language = values[OPTION_LANG].given ? values[OPTION_LANG].text : report_page_language(),
        .insecure = values[OPTION_INSECURE].given,
        .token = values[OPTION_TOKEN].given,
    };
    struct serve *serve = serve_start(&how, &err);
    if (!serve)
        return cli_failed(CLI_BROKEN, &err);
    /* Where nobody learns the address, nobody comes. */
    int code = say_where(serve, values) ? 128 + serve_until_signal(serve) : CLI_BROKEN;
    serve_stop(serve);
    return code;
}

static const char *const usage[] = {"serve [RUN | DIR]... [options]", NULL};

static const char *const description[] = {
    "Shows runs as live pages in a browser: an overview of all runs in DIR (results, unless told otherwise), and for "
    "each run its GPU slots, power, experiments, sensor curves, events and the ends of logs, as they come. It prints "
    "the address to open. The pages work on a telephone. Also at hand: /api/runs and "
    "/api/run/NAME.",
    "It listens on 127.0.0.1 alone, or at a Unix socket (--socket). From another machine: ssh -L 8273:localhost:8273 "
    "HOST. With --listen it can be reached from the network: then whoever has the token can look, and the address that "
    "is printed holds it, as text and on a terminal as a QR code. Without TLS that is refused, unless --insecure is "
    "given.",
    "It only reads, follows no link in the folders, and shows nothing of a run but these pages and its report.html. "
    "'watch' can pause a run, skip an experiment and stop the run.",
    NULL};

static const char *const exits[] = {
    "2",   "a mistake on the command line",
    "3",   "a folder is not there or cannot be read, it cannot listen, or the certificate is not good",
    "130", "ended by Ctrl-C (143: by TERM)",
    NULL};

static const char *const examples[] = {
    "serve",
    "show the runs in results at http://127.0.0.1:8273/",
    "serve latest --port 0",
    "show the newest run on a free port",
    "serve --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem",
    "let a telephone look, by the QR code that is printed",
    NULL,
};

const struct cli_command cmd_serve = {
    .name = "serve",
    .group = CLI_GROUP_RUN,
    .summary = "show runs live in the browser",
    .operand_max = SIZE_MAX,
    .operand_name = "DIR",
    COMMAND_TABLES,
};
