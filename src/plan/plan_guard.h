/* plan_guard: the guard's settings on their way through run.db. Private to plan/. */
#ifndef TARE_PLAN_PLAN_GUARD_H
#define TARE_PLAN_PLAN_GUARD_H

#include "plan/config/settings.h"

#include <jansson.h>

json_t *plan_guard_to_json(const struct guard_settings *guard);

/* The key "guard" of a plan's head; one made before there was a guard says nothing of it and has the defaults. */
bool plan_guard_from_json(const json_t *head, struct guard_settings *out, struct err *err);

#endif
