/* serve: runs as live pages for browsers, over HTTP (libmicrohttpd) with server-sent events. It
 * reads the runs' folders only, follows no link in them, and shows the files of a run that are
 * meant to be shown.
 *
 * It listens on 127.0.0.1 or a Unix socket alone, and answers only under a Host of the loopback
 * (against DNS rebinding). On 127.0.0.1, which other users of the machine reach as well, every
 * address needs the user's token. One thread and one event loop serve all viewers: each run has one
 * reader, and what is new of it is made into text once for all who watch it. */
#ifndef TARE_SERVE_SERVE_H
#define TARE_SERVE_SERVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many streams at once; each further one is refused with 503. */
enum { SERVE_STREAMS = 256, SERVE_PORT = 8273 };

struct serve_options {
    char *const *paths; /* runs, or folders of runs */
    size_t count;
    int64_t port;         /* 0: a free one; -1: SERVE_PORT, or a free one where that is taken */
    const char *socket;   /* a Unix socket instead; NULL: none */
    const char *language; /* of the pages: "en" or "zh" */
    bool new_token;       /* replaces the token of earlier starts */
};

struct serve;

/* Listens on 127.0.0.1 or the Unix socket. NULL: err says why not. */
struct serve *serve_start(const struct serve_options *options, struct err *err);

/* Its address, with the token where there is one; for a Unix socket its path. */
const char *serve_url(const struct serve *serve);

/* Answers until SIGINT or SIGTERM comes, which is given back. */
int serve_until_signal(struct serve *serve);

/* Ends all streams at once. */
void serve_stop(struct serve *serve);

#endif
