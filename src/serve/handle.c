/* Who may ask, and which answer a request gets. */
#include "serve/serve_private.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "report/page.h"

#include <fcntl.h>
#include <string.h>

struct call {
    struct serve *serve;
    struct MHD_Connection *connection;
    struct request_target target;
    const char *method;
    bool bearer; /* the token came in a header that no browser adds by itself */
};

static const char *header(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

static const char *argument(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result refuse(const struct call *call, unsigned status, const char *text)
{
    return reply_error(call->connection, status, text);
}

static bool is_get(const struct call *call)
{
    return strcmp(call->method, MHD_HTTP_METHOD_GET) == 0 || strcmp(call->method, MHD_HTTP_METHOD_HEAD) == 0;
}

static bool may_see(struct call *call)
{
    const struct serve *serve = call->serve;
    if (!*serve->token)
        return true;
    call->bearer = request_token_equal(request_bearer(header(call, "Authorization")), serve->token);
    return call->bearer ||
           request_token_equal(MHD_lookup_connection_value(call->connection, MHD_COOKIE_KIND, serve->cookie),
                               serve->token);
}

static enum MHD_Result give_events(const struct call *call, struct channel *channel, struct text *first,
                                   uint64_t version)
{
    if (strcmp(call->method, MHD_HTTP_METHOD_HEAD) != 0)
        return reply_stream(call->connection, channel, first, version);
    text_clear(first);
    return reply(call->connection, MHD_HTTP_OK, REPLY_TEXT, first);
}

static bool too_many(const struct call *call)
{
    return call->target.route == ROUTE_EVENTS || call->target.route == ROUTE_RUN_EVENTS
               ? channel_streams() >= SERVE_STREAMS
               : false;
}

/* What the run's files say of one experiment. */
static enum MHD_Result give_experiment(const struct call *call, const struct serve_run *run)
{
    size_t number = call->target.experiment;
    AUTO_CLOSE int dir = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (number > run->live.plan.count || dir < 0)
        return refuse(call, MHD_HTTP_NOT_FOUND, "the run has no such experiment");
    const char *id = run->live.plan.experiments[number - 1].id;
    json_t *json = call->target.route == ROUTE_LOG ? page_log_json(dir, id) : page_experiment_json(dir, id);
    json_object_set_new(json, "number", json_integer((json_int_t)number));
    return reply_json(call->connection, MHD_HTTP_OK, json);
}

static enum MHD_Result ask(const struct call *call, const struct serve_run *run)
{
    struct err err = {0};
    if (!live_ask(&run->live, call->target.ask, call->target.experiment, &err))
        return refuse(call, MHD_HTTP_CONFLICT, err.text);
    return reply_json(call->connection, MHD_HTTP_ACCEPTED,
                      json_pack("{s:s}", "asked", live_request_name(call->target.ask)));
}

static enum MHD_Result give_run_events(const struct call *call, struct serve_run *run)
{
    struct text text = {0};
    uint64_t version = run->live.version, since = request_since_parse(argument(call, "since"), run->nonce);
    bool whole = since == 0 || since > version;
    if (!whole || !channel_has_whole(&run->channel, version))
        serve_run_event(run, since, &text);
    return give_events(call, &run->channel, &text, whole ? version : 0);
}

static enum MHD_Result give_of_run(const struct call *call)
{
    struct err err = {0};
    struct serve_run *run = serve_runs_get(&call->serve->runs, call->target.run, &err);
    if (!run)
        return refuse(call, *err.text ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_NOT_FOUND,
                      *err.text ? err.text : "no such run");
    switch (call->target.route) {
    case ROUTE_RUN:
        return reply_page(call->serve, call->connection, run);
    case ROUTE_RUN_JSON:
        return reply_json(call->connection, MHD_HTTP_OK,
                          live_run_json(&run->live, request_since_parse(argument(call, "since"), run->nonce)));
    case ROUTE_RUN_EVENTS:
        return give_run_events(call, run);
    case ROUTE_REPORT:
        return reply_report(call->connection, run);
    case ROUTE_ASK:
        return ask(call, run);
    default:
        return give_experiment(call, run);
    }
}

static enum MHD_Result give(const struct call *call)
{
    struct text text = {0};
    struct serve *serve = call->serve;
    switch (call->target.route) {
    case ROUTE_NONE:
        return refuse(call, MHD_HTTP_NOT_FOUND, "no such page");
    case ROUTE_OVERVIEW:
        return reply_page(serve, call->connection, NULL);
    case ROUTE_EVENTS:
        serve_runs_look(&serve->runs);
        serve_runs_event(&serve->runs, 0, &text);
        return give_events(call, &serve->runs.channel, &text, serve->runs.version);
    case ROUTE_RUNS:
        return reply_json(call->connection, MHD_HTTP_OK, serve_runs_json(&serve->runs));
    case ROUTE_METRICS:
        return reply_metrics(serve, call->connection);
    case ROUTE_SCRIPT:
    case ROUTE_STYLE:
        return reply_asset(call->connection, call->target.route);
    default:
        return give_of_run(call);
    }
}

/* The token in the address: the browser gets it as a cookie, and goes on without it. Only to a page, and never beyond: what is behind
 * the address would stay in its history. */
static enum MHD_Result take_token(const struct call *call)
{
    AUTO_FREE char *path = NULL;
    if (call->target.route == ROUTE_RUN &&
        call->target.run[strspn(call->target.run, "abcdefghijklmnopqrstuvwxyz"
                                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~")] == '\0')
        path = mem_printf("/run/%s", call->target.run);
    return reply_cookie(call->serve, call->connection, path ? path : "/");
}

/* A request to a run changes something: only with the token, and from a page of this server or by a program that sent the token itself. */
static enum MHD_Result take_ask(const struct call *call)
{
    if (!call->serve->control)
        return refuse(call, MHD_HTTP_FORBIDDEN, "this server only shows: start it with --control");
    if (!call->bearer &&
        !request_is_same_origin(header(call, "Sec-Fetch-Site"), header(call, "Origin"), header(call, "Host")))
        return refuse(call, MHD_HTTP_FORBIDDEN, "the request comes from another site's page");
    return give(call);
}

static enum MHD_Result answer(struct call *call)
{
    const struct serve *serve = call->serve;
    const char *given = argument(call, "token");
    bool asks = call->target.route == ROUTE_ASK;
    if (serve->place.loopback && !request_host_is_local(header(call, "Host"), serve->place.own_host))
        return refuse(call, MHD_HTTP_FORBIDDEN, "the Host header is not this machine's loopback address");
    if (*serve->token && given && is_get(call) && !asks && request_token_equal(given, serve->token))
        return take_token(call);
    if (!may_see(call))
        return refuse(call, MHD_HTTP_UNAUTHORIZED,
                      "the token is missing or wrong: open the address that the server printed when it started");
    if (asks ? strcmp(call->method, MHD_HTTP_METHOD_POST) != 0 : !is_get(call))
        return refuse(call, MHD_HTTP_METHOD_NOT_ALLOWED, asks ? "a request to a run is a POST" : "only GET and HEAD");
    if (too_many(call))
        return refuse(call, MHD_HTTP_SERVICE_UNAVAILABLE, "too many pages are open: close one");
    return asks ? take_ask(call) : give(call);
}

enum MHD_Result serve_handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, const char *upload, size_t *upload_size, void **state)
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
    struct call call = {
        .serve = context, .connection = connection, .method = method, .target = request_target_parse(url)};
    return answer(&call);
}
