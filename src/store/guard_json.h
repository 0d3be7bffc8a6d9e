/* guard_json: what the guard wrote into the journal, for experiment.json. Private to store/. */
#ifndef TARE_STORE_GUARD_JSON_H
#define TARE_STORE_GUARD_JSON_H

#include "store/db.h"

#include <jansson.h>

/* Its events of this experiment in their order, each with its attempt, appended to out. */
bool guard_json_add(sqlite3 *db, int64_t number, json_t *out, struct err *err);

/* Puts the energy net of the bare idle of this attempt (0: the experiment's last) into the sums and devices of its energy, where
 * there is one. energy: may be NULL. */
bool guard_json_net(sqlite3 *db, int64_t number, int64_t attempt, json_t *energy, struct err *err);

#endif
