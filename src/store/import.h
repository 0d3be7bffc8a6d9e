/* import: what another host recorded of an experiment becomes part of this run's journal. Only its events.jsonl is read: no SQLite
 * file is ever opened by two hosts. */
#ifndef TARE_STORE_IMPORT_H
#define TARE_STORE_IMPORT_H

#include "store/store.h"

/* Adds the events of the events.jsonl in dir, whose only experiment is the number-th here, as sessions behind those that the store
 * knows. The other run may still be writing: a torn last line is left out. experiment: 0: what is about an experiment is kept as it
 * is numbered. Waits until all is durable. False: err names the line. */
bool store_import(struct store *store, int dir, int64_t experiment, struct err *err);

#endif
