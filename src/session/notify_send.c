/* The process that delivers one message to one target. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/query.h"
#include "base/utf8.h"
#include "machine/contain/sys.h"
#include "results/judge/export.h"
#include "session/notify.h"
#include "tare_build.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a server answers is of no use; a long answer is as good as a short one. */
static size_t ignore_answer(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    AUTO_FREE char *line = mem_printf("%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(list, line);
    return longer ? longer : list;
}

/* Failures of the name, the connection or the time; a certificate that is not trusted will not be so later. */
static bool may_work_later(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
           code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
           code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE || code == CURLE_SSL_CONNECT_ERROR;
}

static void set_options(CURL *curl, const struct notify_post *post, struct curl_slist *headers)
{
    curl_easy_setopt(curl, CURLOPT_URL, post->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (post->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, post->ca_file);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(post->timeout_s * 1000));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, TARE_NAME "/" TARE_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)post->length);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer);
}

/* 2xx, or why not. */
static bool judge(long status, bool *again, struct err *err)
{
    *again = status == 408 || status == 429 || status >= 500;
    if (status >= 200 && status < 300)
        return true;
    if (status >= 300 && status < 400)
        return err_set(
            err, "the server answered %ld: it redirects, which is not followed; give the URL that it leads to", status);
    return err_set(err, "the server answered %ld%s", status,
                   status == 401 || status == 403 ? " (not allowed: look at the token)"
                   : status == 404                ? " (there is nothing at this URL)"
                                                  : "");
}

static bool notify_http(const struct notify_post *post, bool *again, struct err *err)
{
    *again = false;
    if (!dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL)) /* stays: what follows calls it */
        return err_set(err, "libcurl.so.4 is not installed (Debian: libcurl4)");
    struct curl_slist *headers = add_header(NULL, "Expect:", ""); /* a body of any length is sent at once */
    for (size_t i = 0; i < post->headers.count; i++)
        headers = add_header(headers, "", post->headers.items[i]);
    if (post->token)
        headers = add_header(headers, "Authorization: Bearer ", post->token);
    CURL *curl = curl_easy_init();
    if (!curl) {
        curl_slist_free_all(headers);
        return err_set(err, "libcurl did not start");
    }
    long status = 0;
    set_options(curl, post, headers);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    if (code == CURLE_OK)
        return judge(status, again, err);
    *again = may_work_later(code);
    /* Of a code, without the URL, which may be a secret. */
    return err_set(err, "%s", curl_easy_strerror(code));
}

enum { INPUT_MAX = 16 << 20, TRIES = 5, LINE_MAX_BYTES = 900, NTFY_MAX = 3900, SLACK_MAX = 30000, WORD_BYTES = 45 };

static const unsigned pauses_s[TRIES - 1] = {1, 4, 16, 64};

/* The program that is under way: it ends with this process. */
static volatile pid_t under_way;

static void end_all(int signal_number)
{
    if (under_way > 0)
        kill(-under_way, SIGKILL); /* not reaped */
    _exit(128 + signal_number);
}

/* Its group is killed when it has ended or its time is over: nothing of it stays. */
static bool wait_for(pid_t pid, const char *name, double timeout_s, struct err *err)
{
    int status = 0;
    AUTO_CLOSE int pidfd = sys_pidfd_open(pid);
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int64_t deadline = clock_monotonic_ns() + (int64_t)(timeout_s * (double)NS_PER_S), left;
    int ready = 0;
    while (pidfd >= 0 && ready <= 0 && (left = deadline - clock_monotonic_ns()) > 0)
        ready = poll(&ended, 1, left > NS_PER_S ? 1000 : (int)(left / NS_PER_MS) + 1);
    kill(-pid, SIGKILL); /* not reaped */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (ready <= 0)
        return err_set(err, "%s did not end within %g s", name, timeout_s);
    if (WIFSIGNALED(status))
        return err_set(err, "%s was ended by signal %d", name, WTERMSIG(status));
    return WEXITSTATUS(status) == 0 || err_set(err, "%s: exit code %d", name, WEXITSTATUS(status));
}

static bool run_program(const struct strv *argv, const struct text *input, double timeout_s, struct err *err)
{
    pid_t pid;
    AUTO_CLOSE int fd = query_input(input, err);
    if (fd < 0)
        return false;
    errno = query_spawn(argv->items[0], argv->items, environ, fd, -1, -1, &pid);
    if (errno != 0)
        return err_sys(err, "start %s", argv->items[0]);
    under_way = pid;
    bool ok = wait_for(pid, argv->items[0], timeout_s, err);
    under_way = 0;
    return ok;
}

/* Words that a header takes (RFC 2047, 2 and 4.1); plain ones stay. between: what stands between two of them. */
static void add_header_words(const char *words, const char *between, struct text *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    AUTO_FREE char *line = utf8_line(words);
    size_t length = strlen(line), at = 0;
    bool plain = !strstr(line, "=?");
    for (size_t i = 0; i < length; i++)
        plain = plain && line[i] >= ' ' && line[i] <= '~';
    while (!plain && at < length) {
        const unsigned char *bytes = (const unsigned char *)line + at;
        size_t count = utf8_cut(line + at, length - at, WORD_BYTES);
        text_addf(out, "%s=?UTF-8?B?", at ? between : "");
        for (size_t i = 0; i < count; i += 3) {
            size_t left = count - i;
            unsigned block =
                (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
            text_add_char(out, digits[block >> 18]);
            text_add_char(out, digits[block >> 12 & 63]);
            text_add_char(out, left > 1 ? digits[block >> 6 & 63] : '=');
            text_add_char(out, left > 2 ? digits[block & 63] : '=');
        }
        text_add(out, "?=");
        at += count;
    }
    if (plain)
        text_add(out, line);
}

/* RFC 5322, 2.1.1: no line is longer than 998 bytes. */
static void add_short_lines(const char *text, struct text *out)
{
    while (*text) {
        size_t line = strcspn(text, "\n"), cut = utf8_cut(text, line, LINE_MAX_BYTES);
        text_add_bytes(out, text, cut);
        text_add_char(out, '\n');
        text += cut + (cut == line && text[cut] == '\n');
    }
}

static bool send_mail(const struct notify_target *target, const json_t *message, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text mail = {0};
    AUTO_FREE char *program =
        fs_resolve(NULL, target->sendmail ? target->sendmail : "/usr/sbin/sendmail", getenv("HOME"));
    AUTO_FREE char *to = strv_join(&target->to, ", ");
    strv_add(&argv, program);
    strv_add(&argv, "-i");
    strv_add(&argv, "--");
    strv_add_all(&argv, &target->to);
    text_addf(&mail, "To: %s\nSubject: ", to);
    add_header_words(json_get_text(message, "title"), "\n ", &mail);
    text_add(&mail, "\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
                    "Auto-Submitted: auto-generated\n\n");
    add_short_lines(json_get_text(message, "text"), &mail);
    return run_program(&argv, &mail, target->timeout_s, err);
}

static bool send_to_command(const struct notify_target *target, const json_t *message, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text input = {0};
    strv_add_all(&argv, &target->command);
    if (strncmp(argv.items[0], "~/", 2) == 0) {
        char *program = fs_resolve(NULL, argv.items[0], getenv("HOME"));
        free(argv.items[0]);
        argv.items[0] = program;
    }
    json_print_pretty(message, &input);
    return run_program(&argv, &input, target->timeout_s, err);
}

/* api.slack.com/reference/surfaces/formatting, "Escaping text". */
static void add_slack_text(const char *text, struct text *out)
{
    for (; *text; text++)
        if (*text == '&' || *text == '<' || *text == '>')
            text_add(out, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else
            text_add_char(out, *text);
}

static void make_body(int type, const json_t *message, struct notify_post *post, struct text *body)
{
    const char *title = json_get_text(message, "title"), *text = json_get_text(message, "text");
    size_t length = strlen(text);
    AUTO_TEXT struct text header = {0};
    AUTO_TEXT struct text slack = {0};
    if (type == NOTIFY_NTFY) {
        text_add(&header, "Title: ");
        add_header_words(title, " ", &header);
        strv_add(&post->headers, text_get(&header));
        strv_add(&post->headers, "Content-Type: text/plain; charset=utf-8");
        text_add_bytes(body, text, utf8_cut(text, length, NTFY_MAX));
        return;
    }
    strv_add(&post->headers, "Content-Type: application/json");
    if (type == NOTIFY_SLACK) {
        AUTO_FREE char *cut = mem_strndup(text, utf8_cut(text, length, SLACK_MAX));
        text_add_char(&slack, '*');
        add_slack_text(title, &slack);
        text_add(&slack, "*\n");
        add_slack_text(cut, &slack);
        json_auto_t *json = json_pack("{s:s}", "text", text_get(&slack));
        json_print(json, body);
        return;
    }
    json_print(message, body);
}

/* Names and values of OTEL_EXPORTER_OTLP_HEADERS: a=b,c=d, the values with %XX (the OTLP exporter's specification). */
static bool add_otlp_headers(const char *headers, struct strv *out, struct err *err)
{
    while (*headers) {
        size_t length = strcspn(headers, ","), name = strcspn(headers, "=,");
        AUTO_TEXT struct text line = {0};
        if (name == length && length > 0)
            return err_set(err, "a header is not name=value");
        for (size_t i = strspn(headers, " "); i < length; i++) {
            unsigned code;
            if (i == name)
                text_add(&line, ": ");
            else if (i > name && headers[i] == '%' && sscanf(headers + i + 1, "%2x", &code) == 1 && code >= ' ' &&
                     code < 127)
                text_add_char(&line, (char)code), i += 2;
            else
                text_add_char(&line, headers[i]);
        }
        if (line.length > 0)
            strv_add(out, text_get(&line));
        headers += length + (headers[length] == ',');
    }
    return true;
}

static bool post_it(const struct notify_target *target, const json_t *message, const struct text *trace, bool *again,
                    struct err *err)
{
    AUTO(notify_secrets_fini) struct notify_secrets secrets = {0};
    AUTO_TEXT struct text body = {0};
    struct notify_post post = {.timeout_s = target->timeout_s};
    AUTO_FREE char *ca_file = target->ca_file ? fs_resolve(NULL, target->ca_file, getenv("HOME")) : NULL;
    bool ok = notify_secrets_read(target, &secrets, err);
    if (ok && target->type == NOTIFY_OTLP) {
        text_add(&body, text_get(trace));
        strv_add(&post.headers, "Content-Type: application/json");
        ok = !secrets.headers || add_otlp_headers(secrets.headers, &post.headers, err);
    } else if (ok) {
        make_body(target->type, message, &post, &body);
    }
    post.url = secrets.url;
    post.token = secrets.token;
    post.ca_file = ca_file;
    post.body = text_get(&body);
    post.length = body.length;
    ok = ok && notify_http(&post, again, err);
    strv_fini(&post.headers);
    return ok;
}

static bool deliver(const struct notify_target *target, const json_t *message, const struct text *trace, bool *again,
                    struct err *err)
{
    *again = true;
    if (target->type == NOTIFY_COMMAND)
        return send_to_command(target, message, err);
    if (target->type == NOTIFY_MAIL)
        return send_mail(target, message, err);
    *again = false;
    return post_it(target, message, trace, again, err);
}

/* As the first try is made, the run may go on: nothing waits for this process. */
static bool deliver_with_tries(const struct notify_target *target, const json_t *message, const struct text *trace,
                               int tries_max, int *tries, struct err *err)
{
    bool again = true;
    for (*tries = 1;; ++*tries) {
        if (deliver(target, message, trace, &again, err))
            return true;
        if (!again || *tries >= tries_max)
            return false;
        sleep(pauses_s[*tries - 1]);
    }
}

static bool read_all(int fd, struct text *out, struct err *err)
{
    char bytes[1 << 16];
    ssize_t count;
    while ((count = read(fd, bytes, sizeof bytes)) > 0 && out->length < INPUT_MAX)
        text_add_bytes(out, bytes, (size_t)count);
    return count == 0 || err_set(err, "the message cannot be read");
}

static bool make_trace(const json_t *input, struct text *out, struct err *err)
{
    const char *run = json_get_text(input, "run");
    json_auto_t *trace = run ? trackers_otlp(run, err) : NULL;
    json_print(trace, out);
    return trace || err_wrap(err, "make the trace");
}

static bool send_input(const json_t *input, int *tries, struct err *err)
{
    AUTO(notify_settings_fini) struct notify_settings settings = {0};
    AUTO_TEXT struct text keys = {0};
    AUTO_TEXT struct text trace = {0};
    const json_t *message = json_get(input, "message");
    json_int_t tries_max = TRIES;
    json_print(json_get(input, "settings"), &keys);
    json_get_int(input, "tries", &tries_max);
    if (!notify_parse("message", text_get(&keys), keys.length, false, "", &settings, err))
        return false;
    if (settings.count != 1)
        return err_set(err, "one target is expected");
    bool is_trace = settings.targets[0].type == NOTIFY_OTLP;
    if (is_trace ? !make_trace(input, &trace, err)
                 : !json_get_text(message, "title") || !json_get_text(message, "text"))
        return is_trace ? false : err_set(err, "there is no message");
    alarm((unsigned)(TRIES * settings.targets[0].timeout_s) + 100); /* whatever happens, it is not there for ever */
    return deliver_with_tries(&settings.targets[0], message, &trace, (int)tries_max, tries, err);
}

int notify_send(int fd)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    AUTO_TEXT struct text answer = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    int tries = 0;
    struct sigaction action = {.sa_handler = end_all};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    bool ok = read_all(fd, &text, &err) && json_doc_parse("message", text_get(&text), text.length, &doc, &err) &&
              send_input(doc.root, &tries, &err);
    text_addf(&answer, "%d %s", tries, ok ? "" : err.text);
    fs_write_all(STDOUT_FILENO, text_get(&answer), answer.length, NULL);
    return ok ? 0 : 1;
}
