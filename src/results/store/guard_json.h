/* guard_json: what the guard wrote into the journal, for experiment.json. Private to store/. */
#ifndef TARE_RESULTS_STORE_GUARD_JSON_H
#define TARE_RESULTS_STORE_GUARD_JSON_H

#include "plan/event.h"
#include "results/store/db.h"

#include <jansson.h>

/* Its events of this experiment in their order, each with its attempt, appended to out. */
bool guard_json_add(sqlite3 *db, int64_t number, json_t *out, struct err *err);

/* Of EVENT_GUARD: an energy net of the bare idle, which is known some time after its attempt has ended, goes into the
 * sums and devices of that attempt's energy. */
bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err);

#endif
