/* on_event: the program that a run starts on its events: the key "on_event" below "tare" in the
 * settings, and at the top of the user's configuration, $XDG_CONFIG_HOME/tare/config.json. Neither
 * may hold a secret: settings are kept with the results, and the list of processes shows
 * arguments. */
#ifndef TARE_PLAN_CONFIG_ON_EVENT_H
#define TARE_PLAN_CONFIG_ON_EVENT_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>

enum on_event_kind {
    ON_EVENT_END,
    ON_EVENT_FIRST_FAILURE,
    ON_EVENT_CONTAMINATED,
    ON_EVENT_OOM_PREDICTED,
    ON_EVENT_STUCK,
    ON_EVENT_TEST /* of doctor --test-event alone */
};
const char *on_event_name(enum on_event_kind kind); /* "first_failure" */

/* Where the key is. */
enum on_event_file {
    ON_EVENT_SETTINGS,     /* below "tare"; other keys are left to settings_parse */
    ON_EVENT_CONFIGURATION /* at the top; any other key is an error */
};

/* Fills argv with the program and its arguments; a file without the key leaves argv empty. False: a
 * mistake in the key (err names its place). */
bool on_event_read(const struct json_doc *doc, enum on_event_file file, struct strv *argv,
                   struct err *err);

#endif
