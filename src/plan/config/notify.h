/* notify: who is told of a run, and how: the keys "notify", "notify_wait" and "otlp", below "tare" in settings and at the top of
 * the user's configuration, $XDG_CONFIG_HOME/tare/config.json. No secret is in them: a settings file is kept with the results. */
#ifndef TARE_PLAN_CONFIG_NOTIFY_H
#define TARE_PLAN_CONFIG_NOTIFY_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum notify_type { NOTIFY_COMMAND, NOTIFY_WEBHOOK, NOTIFY_NTFY, NOTIFY_SLACK, NOTIFY_MAIL, NOTIFY_OTLP };
extern const char *const notify_types[]; /* by enum notify_type: "command", ...; NULL-terminated */

enum notify_event {
    NOTIFY_END,
    NOTIFY_FIRST_FAILURE,
    NOTIFY_CONTAMINATED,
    NOTIFY_OOM_PREDICTED,
    NOTIFY_STUCK,
    NOTIFY_TEST, /* of the command notify alone */
    NOTIFY_EVENTS
};
extern const char *const notify_events[]; /* "end", ...; NULL-terminated */

enum { NOTIFY_TARGETS_MAX = 16 };

/* Texts are NULL and lists empty where nothing is said. */
struct notify_target {
    int type;    /* enum notify_type */
    unsigned on; /* a mask of 1 << enum notify_event */
    struct strv command, to;
    char *url, *url_file, *url_env; /* one of them; of OTLP url is the endpoint, which /v1/traces comes behind */
    char *token_file, *token_env;
    char *headers_file, *headers_env; /* OTLP */
    bool environment;                 /* OTLP: as the variables OTEL_EXPORTER_OTLP_* say */
    char *ca_file, *sendmail;
    double timeout_s; /* of each try */
    json_t *json;     /* what was read */
    char *name;       /* "target 1 (ntfy)", "target 1 (mail) of ~/.config/tare/config.json" */
};

struct notify_settings {
    struct notify_target *targets; /* an OTLP one last */
    size_t count;
    double wait_s; /* at the end of a run, for all; below 0: not said */
};

/* JSON; tare: it is a settings file's text, whose key "tare" holds the keys; else they are at the top, and nothing else is
 * there. of: what the names of the targets end with, or "". Adds to out. */
bool notify_parse(const char *file, const char *text, size_t length, bool tare, const char *of,
                  struct notify_settings *out, struct err *err);
void notify_settings_fini(struct notify_settings *settings);

/* Whether a URL can be sent to; literal: it is written in a settings file, so it may hold no secret. reason: what is wrong. */
bool notify_check_url(const char *url, bool literal, const char **reason);

#endif
