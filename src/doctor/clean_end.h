/* clean_end: lists the leftover processes that tare clean found, and ends those that it may end. */
#ifndef TARE_DOCTOR_CLEAN_END_H
#define TARE_DOCTOR_CLEAN_END_H

#include "doctor/clean.h"

/* Under sudo what the caller's own dead runs left is in it as well. */
bool clean_look(const struct clean *clean, struct clean_view *out, struct err *err);
void clean_view_fini(struct clean_view *view);

/* The same for programs. */
void clean_json(const struct clean_view *view, struct text *out);

/* Ends what is tare's own, and says what it ended. False: it could not look (err). */
bool clean_end_own(const struct clean *clean, struct err *err);

/* One process that a person named: shown, asked about unless yes is true, then TERM, and KILL when
 * that does not help. start_time: it must have this one, 0: any. Gives the exit code: CLI_OK when
 * it is gone. */
int clean_end_one(const struct clean *clean, pid_t pid, uint64_t start_time, bool yes);

#endif
