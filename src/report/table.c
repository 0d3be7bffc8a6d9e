#include "report/table.h"
#include "gpu_memory/oom/size.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/columns.h"
#include "report/html.h"

#include <libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct column {
    char *title;
    bool right, shown;
};

struct cell {
    char *text;         /* may be NULL */
    const char *colour; /* borrowed; NULL: none */
};

struct table {
    bool colour;
    struct column *columns;
    struct cell *cells; /* of all columns, row by row */
    size_t count, rows, cell_count;
    size_t filled; /* cells of the last row */
};

struct table *table_new(bool colour)
{
    struct table *table = mem_alloc(sizeof *table);
    table->colour = colour;
    return table;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    EACH (column, table->columns, table->count)
        free(column->title);
    EACH (cell, table->cells, table->cell_count)
        free(cell->text);
    free(table->columns);
    free(table->cells);
    free(table);
}

/* title NULL: left out. */
static void add_titled_column(struct table *table, const char *title, bool right)
{
    table->columns = mem_room(table->columns, table->count, sizeof *table->columns);
    table->columns[table->count++] =
        (struct column){mem_strdup(title ? title : ""), right, title != NULL};
}

void table_add_column(struct table *table, const char *title, bool right)
{
    add_titled_column(table, title, right);
}

static struct cell *table_cell_at(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->count + column];
}

/* Takes text. */
static void add_owned_cell(struct table *table, char *text, const char *colour)
{
    if (table->filled == table->count)
        abort();
    *table_cell_at(table, table->rows - 1, table->filled++) = (struct cell){text, colour};
}

void table_add_row(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        table->cells = mem_room(table->cells, table->cell_count, sizeof *table->cells);
        table->cells[table->cell_count++] = (struct cell){0};
    }
    table->rows++;
    table->filled = 0;
}

void table_add_cell(struct table *table, const char *text, const char *colour)
{
    add_owned_cell(table, text ? mem_strdup(text) : NULL, colour);
}

struct table *table_with(bool colour, const char *const *titles, size_t count)
{
    struct table *table = table_new(colour);
    EACH (title, titles, count) {
        bool right = *title && **title == '>';
        add_titled_column(table, *title ? *title + right : NULL, right);
    }
    return table;
}

void table_take_row(struct table *table, char *const *texts, size_t count)
{
    if (count != table->count)
        abort();
    table_add_row(table);
    EACH (text, texts, count)
        add_owned_cell(table, *text, NULL);
}

void table_tint(struct table *table, size_t column, const char *colour)
{
    table_cell_at(table, table->rows - 1, column)->colour = colour;
}

size_t table_rows(const struct table *table)
{
    return table->rows;
}

void table_end(struct table *table, struct text *out)
{
    table_print(table, out);
    table_free(table);
}

static void *must(void *made)
{
    if (!made)
        abort();
    return made;
}

static struct libscols_table *scols_of(const struct table *table)
{
    struct libscols_table *scols = must(scols_new_table());
    scols_table_enable_colors(scols, table->colour);
    scols_table_set_termforce(scols, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(scols, "  ");
    EACH (column, table->columns, table->count)
        if (column->shown)
            must(scols_table_new_column(scols, column->title, 0,
                                        column->right ? SCOLS_FL_RIGHT : 0));
    for (size_t row = 0; row < table->rows; row++) {
        struct libscols_line *line = must(scols_table_new_line(scols, NULL));
        for (size_t i = 0, shown = 0; i < table->count; i++) {
            if (!table->columns[i].shown)
                continue;
            const struct cell *cell = table_cell_at(table, row, i);
            struct libscols_cell *to = must(scols_line_get_cell(line, shown++));
            AUTO_FREE char *safe = cell->text ? utf8_line(cell->text) : NULL;
            if (scols_cell_set_data(to, safe) != 0)
                abort();
            if (cell->colour && scols_table_colors_wanted(scols))
                scols_cell_set_color(to, cell->colour);
        }
    }
    return scols;
}

void table_print(const struct table *table, struct text *out)
{
    AUTO_FREE char *printed = NULL;
    struct libscols_table *scols = scols_of(table);
    if (scols_print_table_to_string(scols, &printed) != 0)
        abort();
    scols_unref_table(scols);
    for (const char *at = printed; at && *at;) {
        size_t length = strcspn(at, "\n");
        /* The last column's padding is of no use, and in the way of whoever copies the table. */
        size_t kept = length;
        while (kept > 0 && at[kept - 1] == ' ')
            kept--;
        text_add_bytes(out, at, kept);
        text_add_char(out, '\n');
        at += length + (at[length] == '\n');
    }
}

size_t table_widest(const char *printed)
{
    size_t widest = 0;
    AUTO_TEXT struct text line = {0};
    while (*printed) {
        size_t length = strcspn(printed, "\n\x1b"), columns;
        text_add_bytes(&line, printed, length);
        printed += length;
        if (*printed == '\x1b') {
            printed += strcspn(printed, "m");
            printed += *printed == 'm';
            continue;
        }
        columns = utf8_columns(text_get(&line));
        widest = columns > widest ? columns : widest;
        text_clear(&line);
        printed += *printed == '\n';
    }
    return widest;
}

static void begin_cell(const char *tag, const struct column *column, const char *class,
                       struct text *out)
{
    const char *number = column->right ? "number" : "", *also = class ? class : "";
    bool any = *number || *also;
    text_addf(out, "<%s%s%s%s%s%s>", tag, any ? " class=\"" : "", number,
              *number && *also ? " " : "", also, any ? "\"" : "");
}

static void add_titles(const struct table *table, struct text *out)
{
    text_add(out, "<thead><tr>");
    EACH (column, table->columns, table->count)
        if (column->shown) {
            begin_cell("th", column, NULL, out);
            html_text(out, column->title);
            text_add(out, "</th>");
        }
    text_add(out, "</tr></thead>\n");
}

void table_end_page(struct table *table, struct text *out)
{
    bool titled = false;
    EACH (column, table->columns, table->count)
        titled = titled || (column->shown && *column->title);
    text_add(out, "<div class=\"scroll\"><table>\n");
    if (titled)
        add_titles(table, out);
    for (size_t row = 0; row < table->rows; row++) {
        text_add(out, "<tr>");
        for (size_t i = 0; i < table->count; i++) {
            const struct cell *cell = table_cell_at(table, row, i);
            if (!table->columns[i].shown)
                continue;
            begin_cell("td", &table->columns[i], cell->colour, out);
            html_text(out, cell->text ? cell->text : "");
            text_add(out, "</td>");
        }
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
    table_free(table);
}

enum { METRIC_DIGITS = 6 };

static bool same_value(const struct plan_param *a, const struct plan_param *b)
{
    AUTO_FREE char *left = value_key(&a->value);
    AUTO_FREE char *right = value_key(&b->value);
    return strcmp(left, right) == 0;
}

/* like: the plan's first experiment of the same model. */
static void add_varied_of(const struct plan_experiment *experiment,
                          const struct plan_experiment *like, struct strv *out)
{
    EACH (param, experiment->foreground.params, experiment->foreground.param_count) {
        const struct plan_param *first = plan_job_param(&like->foreground, param->name);
        if (param->mutated || (first && !same_value(param, first)))
            strv_add_once(out, param->name);
    }
}

void columns_varied(const struct plan *plan, struct strv *out)
{
    const struct plan_experiment **models = mem_array(plan->count + 1, sizeof(void *));
    size_t count = 0;
    EACH (experiment, plan->experiments, plan->count) {
        size_t at = 0;
        while (at < count &&
               !(strcmp(models[at]->foreground.repo, experiment->foreground.repo) == 0 &&
                 strcmp(models[at]->foreground.model, experiment->foreground.model) == 0))
            at++;
        if (at == count)
            models[count++] = experiment;
        add_varied_of(experiment, models[at], out);
    }
    free(models);
}

void columns_metrics(const struct results *results, struct strv *out)
{
    EACH (item, results->items, results->count)
        EACH (metric, item->metrics, item->metric_count)
            strv_add_once(out, metric->name);
}

char *columns_param_cell(const struct plan_experiment *experiment, const char *name)
{
    const struct plan_param *param = plan_job_param(&experiment->foreground, name);
    return param ? value_format(&param->value) : mem_strdup("");
}

char *columns_metric_cell(const struct result *result, const char *name)
{
    EACH (metric, result->metrics, result->metric_count) {
        if (strcmp(metric->name, name) != 0 || !metric->valid)
            continue;
        char digits[32];
        number_shortest(number_round(metric->value, METRIC_DIGITS), digits);
        return mem_strdup(digits);
    }
    return mem_strdup("");
}

char *amounts_size(struct reading bytes)
{
    if (!bytes.valid)
        return mem_strdup("-");
    struct text text = {0};
    oom_size_add_text(oom_size_of((uint64_t)bytes.value), &text);
    return text_take(&text);
}

char *amounts_duration(struct reading seconds)
{
    char text[32] = "-";
    if (seconds.valid)
        clock_format_duration(seconds.value, text);
    return mem_strdup(text);
}

char *amounts_joules(struct reading joules)
{
    return joules.valid ? amount_format(joules, "J") : mem_strdup("-");
}
