/* Tables of other programs: a CSV with a row for each experiment, whatever its columns, and
 * hyperfine's JSON (https://github.com/sharkdp/hyperfine, --export-json). They say nothing of what
 * else ran on the machine: their rows are never more than unverified. */
#ifndef TARE_RESULTS_JUDGE_PLAIN_TABLE_H
#define TARE_RESULTS_JUDGE_PLAIN_TABLE_H

#include "results/judge/dataset.h"
#include "results/judge/read.h"

/* Of --columns. False: one is not ROLE=COLUMN (err). */
bool plain_table_check_columns(const struct strv *columns, struct err *err);

/* A table of another program, CSV or hyperfine's JSON, which is file in dir. */
bool read_plain_table(struct dataset *dataset, size_t folder, int dir, const char *file,
                      struct err *err);
/* The same of its bytes; file: its name, for messages. */
bool plain_table_parse(struct dataset *dataset, size_t folder, const char *file,
                       const struct text *text, struct err *err);

/* Whether it is a CSV without the study's column experiment_id. */
bool plain_table_is(int dir, const char *file);

#endif
