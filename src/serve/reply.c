/* Answers, each with the headers that keep a browser from doing more with it than it should. */
#include "serve/serve_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "report/metrics.h"
#include "report/page.h"
#include "tare_build.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_BYTES = 256 << 20 };

static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

/* report.html is a file of the run: whoever may write there chose what is in it. It runs in an origin of its own. */
static const char report_policy[] =
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char *const types[] = {"text/plain; charset=utf-8", "text/html; charset=utf-8", "application/json"};

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                                     const char *type, const char *policy, const char *cache)
{
    const char *const headers[][2] = {{"Content-Type", type},
                                      {"Content-Security-Policy", policy},
                                      {"Cache-Control", cache},
                                      {"X-Content-Type-Options", "nosniff"},
                                      {"Referrer-Policy", "no-referrer"},
                                      {"Cross-Origin-Resource-Policy", "same-origin"},
                                      {"Cross-Origin-Opener-Policy", "same-origin"}};
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static struct MHD_Response *body_response(struct text *body)
{
    size_t length = body->length;
    return MHD_create_response_from_buffer(length, text_take(body), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result reply_typed(struct MHD_Connection *connection, unsigned status, const char *type,
                                   struct text *body)
{
    return send_response(connection, status, body_response(body), type, page_policy, "no-store");
}

enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, int type, struct text *body)
{
    return reply_typed(connection, status, types[type], body);
}

enum MHD_Result reply_json(struct MHD_Connection *connection, unsigned status, json_t *json)
{
    struct text body = {0};
    json_print(json, &body);
    text_add(&body, "\n");
    json_decref(json);
    return reply(connection, status, REPLY_JSON, &body);
}

enum MHD_Result reply_error(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return reply_json(connection, status, json_pack("{s:o}", "error", json_text_or_null(text)));
}

enum MHD_Result reply_metrics(struct serve *serve, struct MHD_Connection *connection)
{
    const struct live_run *runs[METRICS_RUNS];
    struct text body = {0};
    metrics_text(runs, serve_runs_live(&serve->runs, runs, METRICS_RUNS), &body);
    return reply_typed(connection, MHD_HTTP_OK, METRICS_CONTENT_TYPE, &body);
}

enum MHD_Result reply_page(const struct serve *serve, struct MHD_Connection *connection, const struct serve_run *run)
{
    struct text body = {0};
    int64_t now_ns = clock_realtime_ns();
    json_t *head =
        json_pack("{s:s, s:s, s:s, s:s?, s:s, s:b, s:[[i, I]], s:n, s:[]}", "program", TARE_NAME, "version",
                  TARE_VERSION, "language", serve->language, "run", run ? run->name : NULL, "state", "under_way",
                  "control", serve->control, "offsets", 0, (json_int_t)clock_local_offset_s(now_ns), "way", "sessions");
    page_live_write(head, serve->language, serve->script_tag, serve->style_tag, &body);
    json_decref(head);
    return reply(connection, MHD_HTTP_OK, REPLY_HTML, &body);
}

enum MHD_Result reply_cookie(const struct serve *serve, struct MHD_Connection *connection, const char *path)
{
    struct text body = {0};
    AUTO_TEXT struct text cookie = {0};
    /* A redirect would carry over who sent the visitor here, and a browser keeps a strict cookie back from another site's. The path
     * is one of the program's own routes, without characters of HTML. */
    text_addf(&body,
              "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
              "<title>%s</title>\n<p><a href=\"%s\">%s</a></p>\n",
              path, TARE_NAME, path, TARE_NAME);
    text_addf(&cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", serve->cookie, serve->token,
              serve->place.tls ? "; Secure" : "");
    struct MHD_Response *response = body_response(&body);
    if (response)
        MHD_add_response_header(response, "Set-Cookie", text_get(&cookie));
    return send_response(connection, MHD_HTTP_OK, response, types[REPLY_HTML], page_policy, "no-store");
}

void assets_tag(char script[17], char style[17])
{
    SHA2_CTX state;
    char hex[DIGEST_HEX + 1];
    size_t i, count;
    for (int kind = 0; kind < 2; kind++) {
        const struct page_part *const *parts = page_live_parts(kind == 1, &count);
        SHA256Init(&state);
        for (i = 0; i < count; i++)
            digest_add(&state, parts[i]->bytes, parts[i]->length);
        struct digest digest = digest_end(&state);
        digest_print(&digest, hex);
        snprintf(kind == 1 ? style : script, 17, "%.16s", hex);
    }
}

enum MHD_Result reply_asset(struct MHD_Connection *connection, enum route route)
{
    struct text body = {0};
    size_t count;
    bool style = route == ROUTE_STYLE;
    const struct page_part *const *parts = page_live_parts(style, &count);
    for (size_t i = 0; i < count; i++)
        text_add_bytes(&body, parts[i]->bytes, parts[i]->length);
    return send_response(connection, MHD_HTTP_OK, body_response(&body),
                         style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8", page_policy,
                         "private, max-age=86400, immutable");
}

enum MHD_Result reply_report(struct MHD_Connection *connection, const struct serve_run *run)
{
    struct stat st;
    AUTO_CLOSE int dir = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int fd = dir < 0 ? -1 : fs_open_at(dir, "report.html", NULL);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size > REPORT_BYTES)
        return reply_error(connection, MHD_HTTP_NOT_FOUND, "the run has no report.html");
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
    if (response)
        steal_fd(&fd);
    return send_response(connection, MHD_HTTP_OK, response, types[REPLY_HTML], report_policy, "no-store");
}

enum MHD_Result reply_stream(struct MHD_Connection *connection, struct channel *channel, struct text *first,
                             uint64_t version)
{
    struct MHD_Response *response = channel_stream(channel, connection, first, version);
    if (response)
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx before it keeps nothing back */
    return send_response(connection, MHD_HTTP_OK, response, "text/event-stream", page_policy, "no-store");
}
