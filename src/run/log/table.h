/* table: columns of a log ("epoch  train_loss  valid_loss", "epoch,loss", "| epoch | loss |") and
 * the rows under them. */
#ifndef TARE_RUN_LOG_TABLE_H
#define TARE_RUN_LOG_TABLE_H

#include "run/log/printed.h"

enum { TABLE_COLUMNS_MAX = 64 };

struct table_column {
    uint32_t begin, end; /* in the header */
    bool is_known;
    struct printed_value name;
};

struct log_table {
    char delimiter; /* ' ': at least two */
    size_t count;   /* 0: no header */
    struct table_column columns[TABLE_COLUMNS_MAX];
};

/* Keeps a header, or adds the numbers of a row to the line. */
void log_table_read_line(struct log_table *table, struct printed_line *line,
                         const struct printed_name *vocabulary, size_t count, locale_t c_locale);

#endif
