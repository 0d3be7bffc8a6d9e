/* serve: runs as live pages for browsers, over HTTP (libmicrohttpd) with server-sent events. It reads the runs' folders only, follows no
 * link in them, and shows the files of a run that are meant to be shown.
 *
 * Who may look: on a loopback address or a Unix socket whoever can reach it, and only under a Host that is this machine's (against DNS
 * rebinding); elsewhere whoever has the token. One thread and one event loop serve everybody: each run has one
 * reader, and what is new of it is made into text once for all who watch it. */
#ifndef TARE_SERVE_SERVE_H
#define TARE_SERVE_SERVE_H

#include "base/err.h"
#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* So many streams at once; each further one is refused with 503. Of connections there may be as many again. */
enum { SERVE_STREAMS = 256, SERVE_PORT = 8273 };

struct serve_options {
    char *const *paths; /* runs, or folders of runs */
    size_t count;
    const char *address;    /* an address or a name to listen on; NULL: 127.0.0.1 */
    int64_t port;           /* 0: a free one; -1: SERVE_PORT, or a free one where that is taken */
    const char *socket;     /* a Unix socket instead; NULL: none */
    const char *cert, *key; /* PEM files for TLS; both or NULL */
    const char *language;   /* of the pages: "en" or "zh" */
    bool insecure;          /* beyond loopback without TLS all the same */
    bool token;             /* asks for the token everywhere */
};

struct serve;

/* Listens. False (NULL): err says why not; also beyond loopback without TLS, unless insecure. */
struct serve *serve_start(const struct serve_options *options, struct err *err);

/* Where it can be reached, with the token where one is needed; the first one is the best for another machine. For a Unix socket its path. */
const struct strv *serve_urls(const struct serve *serve);

/* Answers until SIGINT or SIGTERM comes, which is given back. */
int serve_until_signal(struct serve *serve);

/* Ends all streams at once. */
void serve_stop(struct serve *serve);

/* A QR code of at most 512 bytes of text for a terminal, of half blocks on a quiet zone; nothing is added where it does not fit. */
void serve_qr(const char *text, struct text *out);

#endif
