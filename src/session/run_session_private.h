/* run_session: a session while it lives, and what it tells those who look on. Private to run_session*.c. */
#ifndef TARE_SESSION_RUN_SESSION_PRIVATE_H
#define TARE_SESSION_RUN_SESSION_PRIVATE_H

#include "machine/contain/contain.h"
#include "results/store/store.h"
#include "run/again.h"
#include "run/request.h"
#include "session/gpus.h"
#include "session/meters.h"
#include "session/run_session.h"

struct live_file;
struct notifier;
struct progress;

struct session {
    const struct session_options *options;
    struct containment containment;
    struct guardian *guardian; /* NULL: there is none */
    struct state *state;       /* NULL: there is none */
    struct gpu_hold *gpus;     /* NULL: none is held */
    struct pool pool;
    struct meters meters;
    struct strv environment; /* what jobs inherit */
    struct store *store;
    struct run_budget budget; /* of this session; its source is borrowed */
    struct again again;       /* what is repeated; empty: this session repeats nothing */
    int dir;
    char *dir_path;
    bool detached;             /* the terminal is gone */
    struct notifier *notifier; /* NULL: nobody is told */
};

/* Who hears of a session's events: the display, live.json, whoever started it, and who is told by messages. */
struct listeners {
    struct progress *progress;
    struct live_file *live;
    const struct run_listener *watch; /* or NULL */
    struct notifier *notifier;        /* or NULL */
};

/* The display, and how many experiments there are. live: when the meters are known. */
void listeners_begin(struct session *session, struct listeners *out);
void listeners_begin_live(struct session *session, struct listeners *listeners);
struct run_listener listeners_of_run(struct listeners *listeners);
void listeners_end(struct session *session, struct listeners *listeners);

/* Whoever started it needs no more. */
bool session_has_enough(const struct session *session);

/* Once a session, and only where a meter is missing. */
void session_say_meters(const struct session *session);

/* The closing table. last_hash: of its records; NULL: they could not be closed. */
void session_print_closing(const struct session *session, const struct results *results, const char *last_hash);

/* The page is for people: where it cannot be written, the results stand all the same. */
void session_write_page(const struct session *session);

#endif
