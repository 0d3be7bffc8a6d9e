/* settings_tare: reads the `tare` section of the settings. */
#ifndef TARE_PLAN_CONFIG_SETTINGS_TARE_H
#define TARE_PLAN_CONFIG_SETTINGS_TARE_H

#include "plan/config/settings_entry.h"

/* The key "tare" of the settings, what the study's format does not have. */

/* Settings that say nothing. */
void settings_set_defaults(struct settings *settings);

/* root: the settings' object, with the key "tare" or without. */
void settings_read_tare(const struct source *source, const json_t *root, struct settings *settings);

#endif
