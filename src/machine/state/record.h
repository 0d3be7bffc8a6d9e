/* Reads and writes the record of a run: its runner and its jobs, one JSON line each. */
#ifndef TARE_MACHINE_STATE_RECORD_H
#define TARE_MACHINE_STATE_RECORD_H

#include "machine/state/state_private.h"

/* Of this process. */
bool record_header_own(enum state_kind kind, const char *run_dir, struct record_header *out,
                       struct err *err);
void record_header_fini(struct record_header *header);

/* Each adds one line. */
void record_add_header(struct text *out, const struct record_header *header);
void record_add_born(struct text *out, const struct job_identity *identity);
void record_add_gone(struct text *out, const struct job_identity *identity);

void record_parse(const char *bytes, size_t count, struct record *out);
void record_fini(struct record *record);

#endif
