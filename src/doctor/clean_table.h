/* clean_table: prints leftover and foreign processes as a table. */
#ifndef TARE_DOCTOR_CLEAN_TABLE_H
#define TARE_DOCTOR_CLEAN_TABLE_H

#include "doctor/clean.h"

/* A table for each dead run, and one for those who have a GPU open, as wide as width columns (0: as
 * they are); a sentence where there is nothing. */
void clean_table(const struct clean_view *view, size_t width, struct text *out);

/* The caller frees. */
char *clean_user_name(uid_t uid);

/* "process 123 (python train.py) of user ada, 2 h 03 min old, with /dev/nvidia0 open": fresh. */
char *clean_describe(const struct leftover *leftover);

#endif
