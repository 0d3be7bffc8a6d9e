/* serve_private: what the parts of the server share. */
#ifndef TARE_SERVE_PRIVATE_H
#define TARE_SERVE_PRIVATE_H

#include "base/text.h"
#include "results/store/live.h"
#include "serve/channel.h"
#include "serve/connections.h"
#include "serve/request.h"
#include "serve/serve.h"

#include <microhttpd.h>
#include <sys/stat.h>

/* Hexadecimal digits. */
enum { SERVE_NONCE = 16, SERVE_TOKEN = 40, SERVE_TAG = 16 };

/* A run that can be watched. (runs.c) */
struct serve_run {
    /* the folder, open since it was found: whatever has its path later is not read */
    int dir;
    char *path, *name; /* path: where it was found; name: of its addresses; no other run has it */
    bool named;        /* a person named it; not: it was found in a folder */
    bool found;        /* in the last look */
    bool open, readable;
    struct live_run live;        /* while it is open */
    char nonce[SERVE_NONCE + 1]; /* of this opening: versions of another one mean nothing */
    struct channel channel;
    struct timespec changed;       /* of events.jsonl, when it was last read */
    int64_t updated_ns, wanted_ns; /* CLOCK_MONOTONIC; when somebody last asked for it */
    double sent_s;                 /* points up to here were published */
    json_t *summary;               /* its row of the overview; NULL: it was not read yet */
    uint64_t summary_version;      /* of the overview's, when the row changed last */
};

struct serve_runs {
    struct strv paths;
    struct serve_run **items;
    size_t count, left_out;
    int64_t scanned_ns;
    struct channel channel; /* of the overview */
    uint64_t version, published;
    json_t *gone; /* names, since the overview was published last */
};

/* The server. */
struct serve {
    int fd;
    char *socket; /* the path of the Unix socket, which is removed at the end; NULL: none */
    ino_t socket_ino;
    char *url;
    struct serve_runs runs;
    struct MHD_Daemon *daemon;
    struct connections connections;
    const char *language;
    char token[SERVE_TOKEN + 1]; /* "": none is needed */
    char script_tag[SERVE_TAG + 1], style_tag[SERVE_TAG + 1];
    struct err log; /* what libmicrohttpd said last */
};

/* An answer (handle.c). The body is taken, and empty afterwards. */
enum { REPLY_TEXT, REPLY_HTML, REPLY_JSON };

#endif
