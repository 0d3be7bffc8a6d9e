#include "report/closing_lanes.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/columns.h"
#include "report/table.h"

#include <string.h>

/* So many rows; the page shows them all. */
enum { LANES_SHOWN = 24 };

static char *node_cell(const struct lane_use *lane)
{
    return mem_strdup(lane->node ? lane->node : "");
}

static char *name_cell(const struct lane_use *lane)
{
    return mem_strdup(lane->name ? lane->name : "");
}

static char *done_cell(const struct lane_use *lane)
{
    return mem_printf("%zu", lane->experiments);
}

static char *duration_cell(double seconds)
{
    return amounts_duration((struct reading){seconds, true});
}

static char *busy_cell(const struct lane_use *lane)
{
    return duration_cell(lane->busy_s);
}

static char *overhead_cell(const struct lane_use *lane)
{
    return duration_cell(lane->overhead_s);
}

static char *waiting_cell(const struct lane_use *lane)
{
    return duration_cell(lane->waiting_s);
}

static char *nothing_cell(const struct lane_use *lane)
{
    return duration_cell(lane->nothing_s);
}

static char *utilisation_cell(const struct lane_use *lane)
{
    return mem_printf("%.0f %%", 100 * lane->utilisation.value);
}

static char *gpu_energy_cell(const struct lane_use *lane)
{
    return amount_format(lane->gpu_energy_j, "J");
}

/* "9 clean, 3 contaminated" */
static char *verdicts_cell(const struct lane_use *lane)
{
    struct text text = {0};
    for (unsigned i = 1; i <= VERDICTS; i++) {
        enum verdict verdict = i % VERDICTS; /* those that were not judged come last */
        if (lane->verdicts[verdict])
            text_addf(&text, "%s%zu %s", text.length ? ", " : "", lane->verdicts[verdict],
                      verdict == VERDICT_NONE ? "not judged" : verdict_name(verdict));
    }
    return text_take(&text);
}

/* spared: where there is no room, those with the lowest number go first; 0: never. */
static const struct {
    const char *title;
    char *(*cell)(const struct lane_use *lane);
    unsigned spared;
} columns[] = {
    {"NODE", node_cell, 0},
    {"SLOT", name_cell, 0},
    {">DONE", done_cell, 0},
    {">TRAINING", busy_cell, 0},
    {">OVERHEAD", overhead_cell, 3},
    {">WAITING", waiting_cell, 4},
    {">NO WORK", nothing_cell, 1},
    {">USED", utilisation_cell, 0},
    {">GPU ENERGY", gpu_energy_cell, 2},
    {"VERDICTS", verdicts_cell, 5},
};
enum { COLUMNS = sizeof columns / sizeof *columns, SPARED_MOST = 5 };

static size_t node_count(const struct lane_uses *lanes)
{
    AUTO_STRV struct strv nodes = {0};
    EACH (lane, lanes->items, lanes->count)
        strv_add_once(&nodes, lane->node);
    return nodes.count;
}

static void add_lane_row(struct table *table, const struct lane_use *lane)
{
    char *cells[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        cells[i] = columns[i].cell(lane);
    table_take_row(table, cells, COLUMNS);
}

/* The last row is the whole pool. spared: columns up to this number are left out. */
static void make_lane_table(const struct lane_uses *lanes, unsigned spared, struct text *out)
{
    const char *titles[COLUMNS];
    struct lane_use total = lanes->total;
    bool nodes = node_count(lanes) > 1;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool shown = columns[i].spared == 0 || columns[i].spared > spared;
        shown &= (total.gpu_energy_j.valid || columns[i].cell != gpu_energy_cell) &&
                 (nodes || columns[i].cell != node_cell);
        titles[i] = shown ? columns[i].title : NULL;
    }
    struct table *table = table_with(false, titles, COLUMNS);
    for (size_t i = 0; i < lanes->count && i < LANES_SHOWN; i++)
        add_lane_row(table, &lanes->items[i]);
    AUTO_FREE char *name = mem_printf("all %zu", lanes->count);
    total.name = name;
    add_lane_row(table, &total);
    table_end(table, out);
}

static void add_lane_table(const struct lane_uses *lanes, size_t width, struct text *out)
{
    AUTO_TEXT struct text text = {0};
    make_lane_table(lanes, 0, &text);
    for (unsigned spared = 1;
         width && spared <= SPARED_MOST && table_widest(text_get(&text)) > width; spared++) {
        text_clear(&text);
        make_lane_table(lanes, spared, &text);
    }
    text_add(out, text_get(&text));
    if (lanes->count > LANES_SHOWN)
        text_addf(out, "and %zu more slots (all in report.html)\n", lanes->count - LANES_SHOWN);
}

static void add_lost(const struct lane_uses *lanes, struct text *out)
{
    EACH (lane, lanes->items, lanes->count) {
        AUTO_FREE char *lost = utf8_line(lane->lost ? lane->lost : "");
        if (lane->lost)
            text_addf(out, "  %s\n", lost);
    }
}

static void add_slot_use(const struct lane_uses *lanes, const struct lane_pool *pool,
                         struct text *out)
{
    size_t nodes = node_count(lanes);
    char time[32];
    clock_format_duration(lanes->seconds, time);
    text_addf(out, "%zu slots", lanes->count);
    if (nodes > 1)
        text_addf(out, " on %zu nodes", nodes);
    text_addf(out, ", at work %.0f %% of %s", 100 * lanes->total.utilisation.value, time);
    if (pool->waited_s > 0) {
        clock_format_duration(pool->waited_s, time);
        text_addf(out, "; they waited for each other %s in all", time);
    }
    text_add(out, "\n");
}

static void add_split(const struct lane_pool *pool, struct text *out)
{
    if (pool->cpu_total_mj <= 0)
        return;
    AUTO_FREE char *total = amount_format((struct reading){pool->cpu_total_mj / 1000, true}, "J");
    AUTO_FREE char *rest =
        amount_format((struct reading){pool->cpu_unattributed_mj / 1000, true}, "J");
    text_addf(out,
              "CPU energy is each experiment's share by CPU time, an estimate: of %s that the "
              "packages used in all, %s are "
              "nobody's\n",
              total, rest);
}

void closing_add_lanes(const struct results *results, const struct closing_options *options,
                       struct text *out)
{
    const struct lane_uses *lanes = &results->lanes;
    if (lanes->count < 2)
        return;
    text_add_char(out, '\n');
    add_lane_table(lanes, options->width, out);
    add_slot_use(lanes, &results->pool, out);
    add_lost(lanes, out);
    add_split(&results->pool, out);
    text_add_char(out, '\n');
}
