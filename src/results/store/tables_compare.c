#include "results/store/tables_compare.h"
#include "base/mem.h"
#include "results/store/db.h"

#include <stdio.h>
#include <string.h>

static const struct table {
    const char *name, *select;
    int experiment; /* its column; -1: none */
} tables[] = {
    {"meta", "SELECT * FROM meta WHERE key <> 'created_by' ORDER BY key", -1},
    {"plan", "SELECT * FROM plan ORDER BY number", 0},
    {"sessions", "SELECT * FROM sessions ORDER BY number", -1},
    {"events", "SELECT experiment, * FROM events ORDER BY seq", 0},
    {"experiments", "SELECT * FROM experiments ORDER BY number", 0},
    {"experiment_metrics", "SELECT * FROM experiment_metrics ORDER BY experiment, name", 0},
    {"attempts", "SELECT * FROM attempts ORDER BY experiment, number", 0},
    {"attempt_metrics", "SELECT * FROM attempt_metrics ORDER BY experiment, attempt, name", 0},
    {"attempt_memory", "SELECT * FROM attempt_memory ORDER BY experiment, attempt", 0},
    {"jobs", "SELECT * FROM jobs ORDER BY experiment, attempt, role, number", 0},
    {"marks", "SELECT * FROM marks ORDER BY experiment, attempt, number", 0},
    {"energy", "SELECT * FROM energy ORDER BY experiment, attempt, device", 0},
    {"epoch_energy", "SELECT * FROM epoch_energy ORDER BY experiment, attempt, number", 0},
    {"evidence", "SELECT experiment, * FROM evidence ORDER BY seq", 0},
    {"history", "SELECT * FROM history ORDER BY experiment, attempt, metric, step", 0},
};

static bool is_same_cell(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    if (sqlite3_column_type(a, column) != sqlite3_column_type(b, column))
        return false;
    const unsigned char *of_a = sqlite3_column_text(a, column),
                        *of_b = sqlite3_column_text(b, column);
    int length = sqlite3_column_bytes(a, column);
    return length == sqlite3_column_bytes(b, column) &&
           (length == 0 || memcmp(of_a, of_b, (size_t)length) == 0);
}

/* skipped: a column that is not compared, or -1. */
static bool is_same_row(sqlite3_stmt *a, sqlite3_stmt *b, int skipped)
{
    int count = sqlite3_column_count(a);
    bool same = count == sqlite3_column_count(b);
    for (int i = 0; same && i < count; i++)
        same = i == skipped || is_same_cell(a, b, i);
    return same;
}

/* files_written says how far the writing of files has come, and is not a result. */
static int column_to_skip(sqlite3_stmt *query)
{
    int column = sqlite3_column_count(query) - 1;
    while (column >= 0 && strcmp(sqlite3_column_name(query, column), "files_written") != 0)
        column--;
    return column;
}

/* 1: the same, 0: they differ, and it was added; -1: an error. */
static int compare_table(sqlite3 *a, sqlite3 *b, const struct table *table, struct text *out,
                         struct err *err)
{
    AUTO_QUERY sqlite3_stmt *of_a = db_query(a, err, table->select, "");
    AUTO_QUERY sqlite3_stmt *of_b = of_a ? db_query(b, err, table->select, "") : NULL;
    int skipped = of_a ? column_to_skip(of_a) : -1;
    for (;;) {
        int more_a = of_a ? db_step(of_a, err) : -1,
            more_b = of_b && more_a >= 0 ? db_step(of_b, err) : -1;
        if (more_a < 0 || more_b < 0)
            return -1;
        if (!more_a && !more_b)
            return 1;
        if (more_a && more_b && is_same_row(of_a, of_b, skipped))
            continue;
        int64_t number = table->experiment < 0
                             ? 0
                             : sqlite3_column_int64(more_a ? of_a : of_b, table->experiment);
        text_addf(out, "%stable %s", out->length ? ", " : "", table->name);
        if (number > 0)
            text_addf(out, " from experiment %lld on", (long long)number);
        return 0;
    }
}

bool tables_compare(sqlite3 *a, sqlite3 *b, struct text *out, struct err *err)
{
    EACH_OF (table, tables)
        if (compare_table(a, b, table, out, err) < 0)
            return false;
    return true;
}
