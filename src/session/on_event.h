/* on_event: starts the program of the key "on_event" (plan/config/on_event.h) on events of a run,
 * each kind once a session, one program at a time, with the event as JSON on standard input
 * (docs/howto/notify.md, share/schema/on_event.json). A process of its own, "tare on-event"
 * (cli/cmd_on_event.c), contains the program and ends it in time, so the run waits for it only at
 * its end. A program that fails is a warning when the session ends. */
#ifndef TARE_SESSION_ON_EVENT_H
#define TARE_SESSION_ON_EVENT_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "plan/event.h"
#include "results/store/store.h"

#include <stdbool.h>

struct on_event;

/* The folder of the user's configuration; fresh, NULL where the environment names none. */
char *on_event_folder(const struct strv *environment);

/* Takes the key from the settings (NULL: there are none), else from the user's configuration.
 * environment: of the program, and where it is searched for; borrowed until on_event_finish.
 * *out is NULL where neither has the key. False: a mistake in a file, or there is no such
 * program. */
bool on_event_new(const struct json_doc *settings, const struct strv *environment,
                  struct on_event **out, struct err *err);

/* The functions below may be called with NULL. */

/* dir_path: the run's folder. */
void on_event_begin(struct on_event *on_event, const char *dir_path);

void on_event_take(struct on_event *on_event, const struct event *event);

/* Starts the next program when the one before has ended. True: call again in about a second. */
bool on_event_tick(struct on_event *on_event);

/* The session has ended. results, error: may be NULL. */
void on_event_end(struct on_event *on_event, const struct results *results, const char *error);

/* Waits for programs for a limited time, then ends the rest; warns of each that failed; frees. */
void on_event_finish(struct on_event *on_event);

/* Sends the event "test" and prints how that went. False: the program failed. */
bool on_event_test(struct on_event *on_event);

/* The documents that the program gets (on_event_text.c); new references. run: absolute, or NULL. */
json_t *on_event_json(const char *event, const char *run, const char *title, const char *text);
json_t *on_event_end_json(const char *run, const char *outcome, const struct results *results,
                          const char *error);

#endif
