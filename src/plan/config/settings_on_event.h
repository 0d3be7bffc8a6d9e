/* settings_on_event: checks the program of `on_event`, and warns about secrets in its arguments. */
#ifndef TARE_PLAN_CONFIG_SETTINGS_ON_EVENT_H
#define TARE_PLAN_CONFIG_SETTINGS_ON_EVENT_H

#include "plan/config/settings_entry.h"

/* Reports mistakes in the key "on_event", which a run reads later (on_event.h). */
void settings_check_on_event(const struct source *source, const json_t *tare);

#endif
