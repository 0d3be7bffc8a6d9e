/* request: what a request names, read from its path and headers. Private to serve/. All of it is
 * bytes of strangers: each function takes text and fills a struct, without looking at anything
 * else. */
#ifndef TARE_SERVE_REQUEST_H
#define TARE_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum route {
    ROUTE_NONE,       /* 404 */
    ROUTE_OVERVIEW,   /* / */
    ROUTE_EVENTS,     /* /events: of the overview */
    ROUTE_RUNS,       /* /api/runs */
    ROUTE_SCRIPT,     /* /assets/page.js */
    ROUTE_STYLE,      /* /assets/page.css */
    ROUTE_RUN,        /* /run/NAME */
    ROUTE_RUN_EVENTS, /* /run/NAME/events */
    ROUTE_RUN_JSON,   /* /api/run/NAME */
    ROUTE_REPORT,     /* /run/NAME/report.html */
    /* /run/NAME/experiment/N: what experiment.json says of it, its sensors' readings and its log's
     * end */
    ROUTE_EXPERIMENT,
    ROUTE_LOG /* /run/NAME/log/N: its log's end */
};

struct request_target {
    enum route route;
    char run[256];     /* a name that fs_check_name takes; "" where the route has none */
    size_t experiment; /* from 1; 0: none */
};

/* path: as libmicrohttpd gives it, without the query and with its escapes undone. */
struct request_target request_target_parse(const char *path);

/* Whether a Host header (NULL: missing) is localhost, 127.0.0.1 or [::1], with any port: a tunnel
 * has another one than the server. */
bool request_host_is_local(const char *host);

/* "NONCE-VERSION", as the events' ids are: the version, where the nonce is this one; else 0. NULL:
 * 0. */
uint64_t request_since_parse(const char *text, const char *nonce);

/* Compares in a time that depends on the length of given alone. given may be NULL. */
bool request_token_equal(const char *given, const char *token);

#endif
