#include "serve/handle.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "report/page.h"
#include "serve/runs.h"
#include "serve/token.h"
#include "tare_build.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Answers, each with the headers that keep a browser from doing more with it than it should. */

enum { REPORT_BYTES = 256 << 20 };

static const char page_policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                                  "connect-src 'self'; img-src data:; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'";

/* report.html is a file of the run: whoever may write there chose what is in it. It runs in an
 * origin of its own. */
static const char report_policy[] =
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char *const types[] = {"text/plain; charset=utf-8", "text/html; charset=utf-8",
                                    "application/json"};

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response, const char *type,
                                     const char *policy, const char *cache)
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
    EACH_OF (header, headers)
        MHD_add_response_header(response, (*header)[0], (*header)[1]);
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static struct MHD_Response *body_response(struct text *body)
{
    size_t length = body->length;
    return MHD_create_response_from_buffer(length, text_take(body), MHD_RESPMEM_MUST_FREE);
}

enum MHD_Result serve_reply(struct MHD_Connection *connection, unsigned status, int type,
                            struct text *body)
{
    return send_response(connection, status, body_response(body), types[type], page_policy,
                         "no-store");
}

static enum MHD_Result reply_json(struct MHD_Connection *connection, unsigned status, json_t *json)
{
    struct text body = {0};
    json_print(json, &body);
    text_add(&body, "\n");
    json_decref(json);
    return serve_reply(connection, status, REPLY_JSON, &body);
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    return reply_json(connection, status, json_pack("{s:o}", "error", json_text_or_null(text)));
}

static enum MHD_Result reply_page(const struct serve *serve, struct MHD_Connection *connection,
                                  const struct serve_run *run)
{
    struct text body = {0};
    char of_report[SERVE_TOKEN + 1];
    const char *token = *serve->token ? serve->token : NULL;
    serve_token_of_report(serve->token, run ? run->name : "", of_report);
    AUTO_FREE char *query = token ? mem_printf("&amp;token=%s", token) : mem_strdup("");
    AUTO_FREE char *script = mem_printf("%s%s", serve->script_tag, query);
    AUTO_FREE char *style = mem_printf("%s%s", serve->style_tag, query);
    json_t *head = json_pack(
        "{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s, s:[[i, I]], s:n, s:[]}", "program", TARE_NAME,
        "version", TARE_VERSION, "language", serve->language, "run", run ? run->name : NULL,
        "token", token, "report_token", token ? of_report : NULL, "state", "under_way", "offsets",
        0, (json_int_t)clock_local_offset_s(clock_realtime_ns()), "way", "sessions");
    page_live_write(head, serve->language, script, style, &body);
    json_decref(head);
    return serve_reply(connection, MHD_HTTP_OK, REPLY_HTML, &body);
}

void serve_assets_tag(char script[SERVE_TAG + 1], char style[SERVE_TAG + 1])
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
        snprintf(kind == 1 ? style : script, SERVE_TAG + 1, "%.*s", SERVE_TAG, hex);
    }
}

static enum MHD_Result reply_asset(struct MHD_Connection *connection, enum route route)
{
    struct text body = {0};
    size_t count;
    bool style = route == ROUTE_STYLE;
    const struct page_part *const *parts = page_live_parts(style, &count);
    EACH (part, parts, count)
        text_add_bytes(&body, (*part)->bytes, (*part)->length);
    return send_response(connection, MHD_HTTP_OK, body_response(&body),
                         style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
                         page_policy, "private, max-age=86400, immutable");
}

static enum MHD_Result reply_report(struct MHD_Connection *connection, const struct serve_run *run)
{
    struct stat st;
    AUTO_CLOSE int fd = fs_open_at(run->dir, "report.html", NULL);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size > REPORT_BYTES)
        return reply_error(connection, MHD_HTTP_NOT_FOUND, "the run has no report.html");
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
    if (response)
        steal_fd(&fd);
    return send_response(connection, MHD_HTTP_OK, response, types[REPLY_HTML], report_policy,
                         "no-store");
}

struct call {
    struct serve *serve;
    struct MHD_Connection *connection;
    struct request_target target;
    const char *method;
};

static const char *header(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

static const char *argument(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result refuse_call(const struct call *call, unsigned status, const char *text)
{
    return reply_error(call->connection, status, text);
}

static bool is_get(const struct call *call)
{
    return strcmp(call->method, MHD_HTTP_METHOD_GET) == 0 ||
           strcmp(call->method, MHD_HTTP_METHOD_HEAD) == 0;
}

static bool has_token(const struct call *call)
{
    const char *wanted = call->serve->token;
    char of_report[SERVE_TOKEN + 1];
    if (call->target.route == ROUTE_REPORT) {
        serve_token_of_report(wanted, call->target.run, of_report);
        wanted = of_report;
    }
    return !*call->serve->token || request_token_equal(argument(call, "token"), wanted);
}

static enum MHD_Result reply_events(const struct call *call, struct channel *channel,
                                    struct text *first, uint64_t version)
{
    if (strcmp(call->method, MHD_HTTP_METHOD_HEAD) != 0) {
        struct MHD_Response *response = channel_stream(channel, call->connection, first, version);
        /* nginx before it keeps nothing back */
        if (response)
            MHD_add_response_header(response, "X-Accel-Buffering", "no");
        return send_response(call->connection, MHD_HTTP_OK, response, "text/event-stream",
                             page_policy, "no-store");
    }
    text_clear(first);
    return serve_reply(call->connection, MHD_HTTP_OK, REPLY_TEXT, first);
}

/* What the run's files say of one experiment. */
static enum MHD_Result reply_experiment(const struct call *call, const struct serve_run *run)
{
    size_t number = call->target.experiment;
    if (number > run->live.plan.count)
        return refuse_call(call, MHD_HTTP_NOT_FOUND, "the run has no such experiment");
    const char *id = run->live.plan.experiments[number - 1].id;
    json_t *json = call->target.route == ROUTE_LOG ? page_log_json(run->dir, id)
                                                   : page_experiment_json(run->dir, id);
    json_set_count(json, "number", number);
    return reply_json(call->connection, MHD_HTTP_OK, json);
}

static enum MHD_Result reply_run_events(const struct call *call, struct serve_run *run)
{
    struct text text = {0};
    uint64_t version = run->live.version,
             since = request_since_parse(argument(call, "since"), run->nonce);
    bool whole = since == 0 || since > version;
    if (!whole || !channel_has_whole(&run->channel, version))
        serve_run_event(run, since, &text);
    return reply_events(call, &run->channel, &text, whole ? version : 0);
}

static enum MHD_Result reply_run_route(const struct call *call)
{
    struct err err = {0};
    struct serve_run *run = serve_runs_get(&call->serve->runs, call->target.run, &err);
    if (!run)
        return refuse_call(call, *err.text ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_NOT_FOUND,
                           *err.text ? err.text : "no such run");
    switch (call->target.route) {
    case ROUTE_RUN:
        return reply_page(call->serve, call->connection, run);
    case ROUTE_RUN_JSON:
        return reply_json(
            call->connection, MHD_HTTP_OK,
            live_run_json(&run->live, request_since_parse(argument(call, "since"), run->nonce)));
    case ROUTE_RUN_EVENTS:
        return reply_run_events(call, run);
    case ROUTE_REPORT:
        return reply_report(call->connection, run);
    default:
        return reply_experiment(call, run);
    }
}

static enum MHD_Result reply_route(const struct call *call)
{
    struct text text = {0};
    struct serve *serve = call->serve;
    switch (call->target.route) {
    case ROUTE_NONE:
        return refuse_call(call, MHD_HTTP_NOT_FOUND, "no such page");
    case ROUTE_OVERVIEW:
        return reply_page(serve, call->connection, NULL);
    case ROUTE_EVENTS:
        serve_runs_look(&serve->runs);
        serve_runs_event(&serve->runs, 0, &text);
        return reply_events(call, &serve->runs.channel, &text, serve->runs.version);
    case ROUTE_RUNS:
        return reply_json(call->connection, MHD_HTTP_OK, serve_runs_json(&serve->runs));
    case ROUTE_SCRIPT:
    case ROUTE_STYLE:
        return reply_asset(call->connection, call->target.route);
    default:
        return reply_run_route(call);
    }
}

static enum MHD_Result answer_call(const struct call *call)
{
    if (!request_host_is_local(header(call, "Host")))
        return refuse_call(call, MHD_HTTP_FORBIDDEN,
                           "the Host header is not localhost, 127.0.0.1 or [::1]");
    if (!has_token(call))
        return refuse_call(
            call, MHD_HTTP_UNAUTHORIZED,
            "the token in the address is missing or wrong: open the address that '" TARE_NAME
            " serve' printed, or follow a link of its pages");
    connections_trust(&call->serve->connections, call->connection);
    if (!is_get(call))
        return refuse_call(call, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    if ((call->target.route == ROUTE_EVENTS || call->target.route == ROUTE_RUN_EVENTS) &&
        channel_streams() >= SERVE_STREAMS)
        return refuse_call(call, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "too many pages are open: close one");
    return reply_route(call);
}

enum MHD_Result serve_handle(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state)
{
    static char seen;
    (void)version;
    (void)upload;
    if (!*state) { /* the headers are there; libmicrohttpd wants the answer in the next call */
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size) /* no request has a body */
        return MHD_NO;
    const struct call call = {.serve = context,
                              .connection = connection,
                              .method = method,
                              .target = request_target_parse(url)};
    return answer_call(&call);
}
