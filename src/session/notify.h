/* notify: people and programs are told of a run by processes of its own, one for each message and target ("tare notify --send"),
 * so that nothing of it can hold up the run. What became of each is in RUN/notify.jsonl; a target that is not reached is a warning,
 * never a failure. */
#ifndef TARE_SESSION_NOTIFY_H
#define TARE_SESSION_NOTIFY_H

#include "base/err.h"
#include "plan/config/notify.h"
#include "plan/event.h"
#include "results/store/store.h"

#include <jansson.h>
#include <stdbool.h>

struct notifier;

/* The targets of the user's configuration and of the settings (NULL: none), whose text is JSON. *out: NULL where there are none. False:
 * a file of them is wrong. */
bool notifier_new(const char *settings_text, struct notifier **out, struct err *err);

/* All may be called with NULL. dir is the run's folder, open; both are borrowed until notifier_finish. */
void notifier_begin(struct notifier *notifier, int dir, const char *dir_path);
void notifier_event(struct notifier *notifier, const struct event *event);
void notifier_end(struct notifier *notifier, const struct results *results, const char *error); /* either may be NULL */

/* Waits for what is not delivered yet, at most so long as the settings say, then ends it; frees. */
void notifier_finish(struct notifier *notifier);

/* The same of a test message, one line for each target on standard output: how many were not reached. */
size_t notifier_test(struct notifier *notifier);

/* A warning for each target whose secret cannot be read. Gives how many. */
size_t notifier_check(const struct notifier *notifier);

/* What a message says (notify_text.c): {"program", "version", "event", "host", "run", "title", "text", and of an end "outcome",
 * "counts", "verdicts", "energy"}; of another event "experiment", "cause". New references. */
json_t *notify_message(const char *event, const char *run, const char *title, const char *text);
json_t *notify_message_end(const char *run, const char *outcome, const struct results *results, const char *error);

/* One delivery (notify_send.c). URL and, where it is asked for, token or headers as they are used (NULL: none); each fresh. A secret's file
 * must be the user's own and nobody else's to read. */
struct notify_secrets {
    char *url, *token, *headers;
};
bool notify_secrets_read(const struct notify_target *target, struct notify_secrets *out, struct err *err);
void notify_secrets_fini(struct notify_secrets *secrets);

/* The process that delivers: {"target" or "otlp", "message" or "run"} from the descriptor; writes "TRIES" and, behind a blank, why
 * it failed to standard output. Gives the exit code. */
int notify_send(int fd);

/* One POST of JSON or text, without redirects, TLS verified. *again: it may work later. */
struct notify_post {
    const char *url, *token, *ca_file;
    const char *body;
    size_t length;
    struct strv headers;
    double timeout_s;
};

#endif
