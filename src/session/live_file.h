/* live_file: live.json of a run under way (results/store/live.h), replaced about once a second from the events that a session tells. A file that
 * cannot be written is no reason to end a run: nobody can watch it then. */
#ifndef TARE_SESSION_LIVE_FILE_H
#define TARE_SESSION_LIVE_FILE_H

#include "plan/event.h"
#include "plan/plan.h"

#include <stddef.h>

struct live_file;

/* Of so many slots (at least one). dir: the run's folder, open; it and plan stay the caller's. */
struct live_file *live_file_new(int dir, const struct plan *plan, size_t slots);

/* The label of a GPU of a slot (from 1). */
void live_file_add_gpu(struct live_file *file, size_t slot, const char *label);

/* Fit struct run_listener. */
void live_file_event(struct live_file *file, const struct event *event);
void live_file_tick(struct live_file *file);

/* The session has ended: the file is removed. */
void live_file_free(struct live_file *file);

#endif
