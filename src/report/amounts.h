/* amounts: sizes, times and energies as a person reads them in a table. */
#ifndef TARE_REPORT_AMOUNTS_H
#define TARE_REPORT_AMOUNTS_H

#include "base/reading.h"
#include "report/table.h"

/* "5.47 GiB", "2 min 01 s", "1.49 kJ"; "-" for what is not valid. The caller frees them. */
char *amounts_size(struct reading bytes);
char *amounts_duration(struct reading seconds);
char *amounts_joules(struct reading joules);

/* A cell of such a text, which is taken. */
void amounts_add(struct table *table, char *text, const char *colour);

#endif
