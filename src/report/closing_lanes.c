#include "report/closing_lanes.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/columns.h"
#include "report/table.h"

#include <stdint.h>
#include <string.h>

/* So many rows; the page shows them all. */
enum { LANES_SHOWN = 24 };

static double json_number_or_zero(const json_t *json, const char *key)
{
    double number;
    return json_get_number(json, key, &number) ? number : 0;
}

static long long json_count_or_zero(const json_t *json, const char *key)
{
    json_int_t count;
    return json_get_int(json, key, &count) ? (long long)count : 0;
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_get_text(json, key);
    return text ? text : "";
}

static char *text_cell(const json_t *lane, const char *key)
{
    return mem_strdup(text_of(lane, key));
}

static char *lane_count_cell(const json_t *lane, const char *key)
{
    return mem_printf("%lld", json_count_or_zero(lane, key));
}

static char *duration_cell(const json_t *lane, const char *key)
{
    return amounts_duration((struct reading){json_number_or_zero(lane, key), true});
}

static char *lane_share_cell(const json_t *lane, const char *key)
{
    return mem_printf("%.0f %%", 100 * json_number_or_zero(lane, key));
}

static char *lane_energy_cell(const json_t *lane, const char *key)
{
    struct reading energy = {0};
    energy.valid = json_get_number(lane, key, &energy.value);
    return amount_format(energy, "J");
}

/* "9 clean, 3 contaminated" */
static char *verdicts_cell(const json_t *lane, const char *key)
{
    const char *const keys[] = {"clean", "unverified", "suspect", "contaminated", key};
    struct text text = {0};
    EACH_OF (item, keys)
        if (json_count_or_zero(lane, *item) > 0)
            text_addf(&text, "%s%lld %s", text.length ? ", " : "", json_count_or_zero(lane, *item),
                      *item == key ? "not judged" : *item);
    return text_take(&text);
}

/* spared: where there is no room, those with the lowest number go first; 0: never. */
static const struct {
    const char *title;
    char *(*cell)(const json_t *lane, const char *key);
    const char *key;
    unsigned spared;
} columns[] = {
    {"NODE", text_cell, "node", 0},
    {"SLOT", text_cell, "name", 0},
    {">DONE", lane_count_cell, "experiments", 0},
    {">TRAINING", duration_cell, "busy_s", 0},
    {">OVERHEAD", duration_cell, "overhead_s", 3},
    {">WAITING", duration_cell, "waiting_s", 4},
    {">NO WORK", duration_cell, "nothing_s", 1},
    {">USED", lane_share_cell, "utilisation", 0},
    {">GPU ENERGY", lane_energy_cell, "gpu_energy_j", 2},
    {"VERDICTS", verdicts_cell, "unjudged", 5},
};
enum { COLUMNS = sizeof columns / sizeof *columns, SPARED_MOST = 5 };

static size_t node_count(const json_t *lanes)
{
    AUTO_STRV struct strv nodes = {0};
    size_t at;
    json_t *lane;
    json_array_foreach(lanes, at, lane) strv_add_once(&nodes, text_of(lane, "node"));
    return nodes.count;
}

static void add_lane_row(struct table *table, const json_t *lane)
{
    char *cells[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        cells[i] = columns[i].cell(lane, columns[i].key);
    table_take_row(table, cells, COLUMNS);
}

/* The last row is the whole pool. spared: columns up to this number are left out. */
static void make_lane_table(const json_t *usage, unsigned spared, struct text *out)
{
    const json_t *lanes = json_object_get(usage, "lanes");
    const char *titles[COLUMNS];
    double joules;
    size_t at;
    json_t *lane, *total = json_copy(json_object_get(usage, "total"));
    bool energy = json_get_number(total, "gpu_energy_j", &joules), nodes = node_count(lanes) > 1;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool shown = columns[i].spared == 0 || columns[i].spared > spared;
        shown &= (energy || columns[i].cell != lane_energy_cell) &&
                 (nodes || strcmp(columns[i].key, "node") != 0);
        titles[i] = shown ? columns[i].title : NULL;
    }
    struct table *table = table_with(false, titles, COLUMNS);
    json_array_foreach(lanes, at, lane) if (at < LANES_SHOWN) add_lane_row(table, lane);
    AUTO_FREE char *name = mem_printf("all %zu", json_array_size(lanes));
    json_object_set_new(total, "name", json_string(name));
    add_lane_row(table, total);
    json_decref(total);
    table_end(table, out);
}

static void add_lane_table(const json_t *usage, size_t width, struct text *out)
{
    size_t lanes = json_array_size(json_object_get(usage, "lanes"));
    AUTO_TEXT struct text text = {0};
    make_lane_table(usage, 0, &text);
    for (unsigned spared = 1;
         width && spared <= SPARED_MOST && table_widest(text_get(&text)) > width; spared++) {
        text_clear(&text);
        make_lane_table(usage, spared, &text);
    }
    text_add(out, text_get(&text));
    if (lanes > LANES_SHOWN)
        text_addf(out, "and %zu more slots (all in report.html)\n", lanes - LANES_SHOWN);
}

static void add_lost(const json_t *usage, struct text *out)
{
    size_t at;
    json_t *lane;
    json_array_foreach(json_object_get(usage, "lanes"), at, lane)
    {
        AUTO_FREE char *lost = utf8_line(text_of(lane, "lost"));
        if (json_get_text(lane, "lost"))
            text_addf(out, "  %s\n", lost);
    }
}

/* How the lanes waited for each other, where one must be alone. */
static double waited_for_others_s(const json_t *pool)
{
    double waited_s = 0;
    size_t at;
    json_t *lane;
    json_array_foreach(json_object_get(pool, "lanes"), at, lane) waited_s +=
        json_number_or_zero(lane, "waited_s");
    return waited_s;
}

static void add_slot_use(const struct results *results, struct text *out)
{
    const json_t *usage = results->lanes, *lanes = json_object_get(usage, "lanes");
    double waited_s = waited_for_others_s(results->pool);
    size_t nodes = node_count(lanes);
    char time[32];
    clock_format_duration(json_number_or_zero(usage, "seconds"), time);
    text_addf(out, "%zu slots", json_array_size(lanes));
    if (nodes > 1)
        text_addf(out, " on %zu nodes", nodes);
    text_addf(out, ", at work %.0f %% of %s",
              100 * json_number_or_zero(json_object_get(usage, "total"), "utilisation"), time);
    if (waited_s > 0) {
        clock_format_duration(waited_s, time);
        text_addf(out, "; they waited for each other %s in all", time);
    }
    text_add(out, "\n");
}

static void add_split(const json_t *split, struct text *out)
{
    double total_mj = json_number_or_zero(split, "total_mj"),
           rest_mj = json_number_or_zero(split, "unattributed_mj");
    if (total_mj <= 0)
        return;
    AUTO_FREE char *total = amount_format((struct reading){total_mj / 1000, true}, "J");
    AUTO_FREE char *rest = amount_format((struct reading){rest_mj / 1000, true}, "J");
    text_addf(out,
              "CPU energy is each experiment's share by CPU time, an estimate: of %s that the "
              "packages used in all, %s are "
              "nobody's\n",
              total, rest);
}

void closing_add_lanes(const struct results *results, const struct closing_options *options,
                       struct text *out)
{
    if (json_array_size(json_object_get(results->lanes, "lanes")) < 2)
        return;
    text_add_char(out, '\n');
    add_lane_table(results->lanes, options->width, out);
    add_slot_use(results, out);
    add_lost(results->lanes, out);
    add_split(json_object_get(results->pool, "cpu_package"), out);
    text_add_char(out, '\n');
}
