/* run_session: a session while it lives, and what it tells those who look on. Private to
 * run_session*.c. */
#ifndef TARE_SESSION_RUN_SESSION_PRIVATE_H
#define TARE_SESSION_RUN_SESSION_PRIVATE_H

#include "machine/contain/contain.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "results/store/store.h"
#include "run/again.h"
#include "run/environment/other_code.h"
#include "run/request.h"
#include "session/gpus.h"
#include "session/measuring.h"
#include "session/run_session.h"

struct live_file;
struct on_event;
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
    struct run_budget budget;     /* of this session */
    struct again again;           /* what is repeated; empty: this session repeats nothing */
    struct other_code other_code; /* of earlier sessions' results; empty in a new run */
    int dir;
    char *dir_path;
    bool detached;             /* the terminal is gone */
    struct on_event *on_event; /* NULL: there is none */
};

/* Who hears of a session's events: the display, live.json, whoever started it, and the program of
 * on_event. */
struct listeners {
    struct progress *progress;
    struct live_file *live;
    const struct run_listener *watch; /* or NULL */
    struct on_event *on_event;        /* or NULL */
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

/* The closing table. */
void session_print_closing(const struct session *session, const struct results *results);

/* Instead of the closing of a large run that was stopped: no results are read for it. */
void session_print_stopped(const struct session *session, const struct run_summary *summary);

/* The page is for people: where it cannot be written, the results stand all the same. */
void session_write_page(const struct session *session);

/* live.json of a run under way (results/store/live.h), replaced about once a second from the events
 * that a session tells. A file that cannot be written is no reason to end a run: nobody can watch
 * it then. (live_file.c) */

/* Of so many slots (at least one). dir: the run's folder, open; it and plan stay the caller's. */
struct live_file *live_file_new(int dir, const struct plan *plan, size_t slots);

/* The label of a GPU of a slot (from 1). */
void live_file_add_gpu(struct live_file *file, size_t slot, const char *label);

/* Fit struct run_listener. */
void live_file_event(struct live_file *file, const struct event *event);
void live_file_tick(struct live_file *file);

/* The session has ended: the file is removed. */
void live_file_free(struct live_file *file);

#endif
