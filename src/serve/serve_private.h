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

void serve_runs_init(struct serve_runs *runs, const struct serve_options *options);
void serve_runs_fini(struct serve_runs *runs);

/* Looks for runs that came or went, at most once in two seconds, and reads some of those that
 * nobody has read yet. */
void serve_runs_look(struct serve_runs *runs);

/* Whether there are runs that nobody has read yet; reads the next one. */
bool serve_runs_read_next(struct serve_runs *runs);

/* Reads what is new for those who watch, and publishes it. */
void serve_runs_tick(struct serve_runs *runs);

/* For all viewers: that the server is there. */
void serve_runs_beat(struct serve_runs *runs);

/* By its name, open and as it is now; NULL: there is none, or (err not empty) it cannot be read. */
struct serve_run *serve_runs_get(struct serve_runs *runs, const char *name, struct err *err);

/* {"runs": [...], "left_out": n, "now_ms": ...}; a new reference. */
json_t *serve_runs_json(struct serve_runs *runs);

/* An event of the stream: all of it, or what is behind the version. */
void serve_run_event(const struct serve_run *run, uint64_t since, struct text *out);
void serve_runs_event(struct serve_runs *runs, uint64_t since, struct text *out);

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

/* For libmicrohttpd: answers a request; context: the struct serve. (handle.c) */
enum MHD_Result serve_handle(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state);

/* An answer (handle.c). The body is taken, and empty afterwards. */
enum { REPLY_TEXT, REPLY_HTML, REPLY_JSON };
enum MHD_Result serve_reply(struct MHD_Connection *connection, unsigned status, int type,
                            struct text *body);
/* The pages' script and style, as they were built in, and a tag that changes with them. */
void serve_assets_tag(char script[SERVE_TAG + 1], char style[SERVE_TAG + 1]);

/* Loads the web server's library. To be called before any other of its functions. False: err says
 * what is missing. (microhttpd.c) */
bool microhttpd_load(struct err *err);

/* The token of the user's servers: the one of the state folder's file, or a new one, which replaces
 * it. False: err says why there is none. (token.c) */
bool serve_token_get(bool new, char token[SERVE_TOKEN + 1], struct err *err);

/* The token of the address of a run's report.html. Whoever can write to the run's folder chose what
 * its scripts do, and a script can read its own address: this token opens nothing else.
 * (token.c) */
void serve_token_of_report(const char *token, const char *run, char out[SERVE_TOKEN + 1]);

/* Random digits, at most SERVE_TOKEN and an even number, with a NUL after them. (token.c) */
bool serve_random_hex(char *out, size_t digits, struct err *err);

#endif
