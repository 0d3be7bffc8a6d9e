/* trace: reads the traces of power, utilisation and temperature of the study's layout. */
#ifndef TARE_RESULTS_JUDGE_TRACE_H
#define TARE_RESULTS_JUDGE_TRACE_H

#include "results/judge/read.h"

/* The file of that name in a folder (never through a link); columns: how many stand behind the
 * time-stamp. buffer: TRACE_BUFFER bytes of the caller's. False: it could not be read (err); what
 * is wrong with its contents is in out. */
bool trace_read(int dir, const char *name, size_t columns, char *buffer, trace_each_fn *each,
                void *context, struct trace_file *out, struct err *err);

/* The same from bytes in memory (tests, fuzzing). */
void trace_parse(const char *bytes, size_t count, size_t columns, trace_each_fn *each,
                 void *context, struct trace_file *out);

#endif
