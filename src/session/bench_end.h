/* bench_end: what is said and written when a bench has run. */
#ifndef TARE_SESSION_BENCH_END_H
#define TARE_SESSION_BENCH_END_H

#include "session/bench_input.h"

#include <stdbool.h>

struct bench_end {
    const struct bench_input_options *options;
    const struct bench_input *input;
    const char *dir;
    const char *reference, *verdicts; /* as their options have them */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
    const char *json_file, *csv_file, *markdown_file; /* NULL: none */
    bool json, quiet;
};

/* Where the files of --export-* go must be there before anything runs. */
bool bench_end_may_write(const char *file, struct err *err);

/* Reads the folder, prints, writes. An exit code: CLI_OK, or why that could not be done. */
int bench_end(const struct bench_end *end);

#endif
