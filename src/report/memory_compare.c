#include "report/memory_compare.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/memory_lines.h"
#include "report/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 2000, CURVE_WIDTH = 480, CURVE_HEIGHT = 160 };

void memory_compare_begin(size_t sides_max, struct memory_comparison *out)
{
    *out = (struct memory_comparison){.sides = mem_array(sides_max, sizeof *out->sides),
                                      .sides_max = sides_max};
}

static struct memory_change *find_change(struct memory_comparison *comparison, enum owner_kind kind,
                                         const char *where)
{
    EACH (change, comparison->changes, comparison->change_count)
        if (change->kind == kind && strcmp(change->where, where) == 0)
            return change;
    struct memory_change *added = &MEM_ADD(comparison->changes, comparison->change_count);
    *added =
        (struct memory_change){.kind = kind,
                               .where = mem_strdup(where),
                               .bytes = mem_array(comparison->sides_max, sizeof *added->bytes)};
    return added;
}

void memory_compare_add(const struct memory_report *report, struct memory_comparison *comparison)
{
    bool traced = report->has_trace;
    const struct owner_row *rows = traced ? report->at_peak : report->at_end;
    size_t count = traced ? report->at_peak_count : report->at_end_count;
    struct memory_side *side = &comparison->sides[comparison->count];
    *side = (struct memory_side){
        .file = mem_strdup(report->question->path),
        .device = report->device,
        .events = report->snapshot->devices[report->device].count,
        .allocated_bytes = !traced               ? report->layout.total.allocated
                           : report->check.exact ? report->check.stats.allocated.peak
                                                 : report->curve.peak_allocated,
        .reserved_bytes = traced ? report->curve.peak_reserved : report->layout.total.reserved,
        .curve = report->curve};
    owners_sum(&report->owners, rows, count, side->sums);
    for (size_t i = 0; i < count && i < PLACES_MAX; i++) {
        const struct owner *owner = &report->owners.items[rows[i].owner];
        AUTO_FREE char *where = memory_owner_text(report->snapshot, owner, 0);
        find_change(comparison, (enum owner_kind)owner->kind, where)->bytes[comparison->count] +=
            rows[i].bytes;
    }
    comparison->count++;
}

/* The least and the most of the sides, by their places. */
struct extent {
    size_t least, most;
    uint64_t spread;
};

static struct extent extent_of(const uint64_t *bytes, size_t count)
{
    struct extent extent = {0};
    for (size_t i = 1; i < count; i++) {
        extent.least = bytes[i] < bytes[extent.least] ? i : extent.least;
        extent.most = bytes[i] > bytes[extent.most] ? i : extent.most;
    }
    extent.spread = count > 0 ? bytes[extent.most] - bytes[extent.least] : 0;
    return extent;
}

struct ordered_change {
    uint64_t spread;
    struct memory_change change;
};

static int compare_spreads(const void *a, const void *b)
{
    const struct ordered_change *one = a, *two = b;
    if (one->spread != two->spread)
        return one->spread < two->spread ? 1 : -1;
    return strcmp(one->change.where, two->change.where);
}

void memory_compare_sort(struct memory_comparison *comparison)
{
    size_t count = comparison->change_count;
    struct ordered_change *order = mem_array(count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ordered_change){
            extent_of(comparison->changes[i].bytes, comparison->count).spread,
            comparison->changes[i]};
    if (count > 0)
        qsort(order, count, sizeof *order, compare_spreads);
    for (size_t i = 0; i < count; i++)
        comparison->changes[i] = order[i].change;
    free(order);
}

void memory_compare_fini(struct memory_comparison *comparison)
{
    EACH (side, comparison->sides, comparison->count)
        free(side->file);
    EACH (change, comparison->changes, comparison->change_count) {
        free(change->where);
        free(change->bytes);
    }
    free(comparison->sides);
    free(comparison->changes);
    *comparison = (struct memory_comparison){0};
}

static struct table *make_sides_table(const struct memory_comparison *comparison)
{
    struct table *table =
        table_of(false, ">#", ">GPU", ">EVENTS", ">ALLOCATED", ">RESERVED", "SNAPSHOT");
    for (size_t i = 0; i < comparison->count; i++) {
        const struct memory_side *side = &comparison->sides[i];
        table_row(table, mem_printf("%zu", i + 1), mem_printf("%zu", side->device),
                  mem_printf("%zu", side->events), memory_size_text(side->allocated_bytes),
                  memory_size_text(side->reserved_bytes), mem_strdup(side->file));
    }
    return table;
}

/* "+1.50 GiB", "-3.0 MiB", "0 B". */
static char *change_text(uint64_t from, uint64_t to)
{
    AUTO_FREE char *size = memory_size_text(from < to ? to - from : from - to);
    return mem_printf("%s%s", from < to ? "+" : from > to ? "-" : "", size);
}

/* Two: from the first to the second. More: the least and the most, and in which. where NULL: that
 * column is left out. */
static void add_change_row(const struct memory_comparison *comparison, const uint64_t *bytes,
                           enum owner_kind kind, const char *where, struct table *table)
{
    struct extent extent = extent_of(bytes, comparison->count);
    bool two = comparison->count == 2;
    size_t first = two ? 0 : extent.least, last = two ? 1 : extent.most;
    table_row(table, two ? change_text(bytes[0], bytes[1]) : memory_size_text(extent.spread),
              memory_size_text(bytes[first]), two ? NULL : mem_printf("%zu", extent.least + 1),
              memory_size_text(bytes[last]), two ? NULL : mem_printf("%zu", extent.most + 1),
              mem_strdup(owner_kind_text(kind)), where ? mem_strdup(where) : NULL);
}

static struct table *make_change_table(const struct memory_comparison *comparison, bool places)
{
    bool two = comparison->count == 2;
    return table_of(false, two ? ">CHANGE" : ">SPREAD", two ? ">FIRST" : ">LEAST",
                    two ? NULL : ">IN", two ? ">SECOND" : ">MOST", two ? NULL : ">IN", "KIND",
                    places ? "WHERE" : NULL);
}

static struct table *make_kinds_table(const struct memory_comparison *comparison)
{
    struct table *table = make_change_table(comparison, false);
    uint64_t *bytes = mem_array(comparison->count, sizeof *bytes);
    for (size_t kind = 0; kind < OWNER_KINDS; kind++) {
        uint64_t most = 0;
        for (size_t i = 0; i < comparison->count; i++) {
            bytes[i] = comparison->sides[i].sums[kind].bytes;
            most = bytes[i] > most ? bytes[i] : most;
        }
        if (most > 0)
            add_change_row(comparison, bytes, (enum owner_kind)kind, NULL, table);
    }
    free(bytes);
    return table;
}

static struct table *make_places_table(const struct memory_comparison *comparison, size_t rows)
{
    struct table *table = make_change_table(comparison, true);
    for (size_t i = 0; i < comparison->change_count && i < rows; i++) {
        const struct memory_change *change = &comparison->changes[i];
        if (extent_of(change->bytes, comparison->count).spread > 0)
            add_change_row(comparison, change->bytes, change->kind, change->where, table);
    }
    return table;
}

static const char *changes_title(const struct memory_comparison *comparison)
{
    return comparison->count == 2 ? "Changes of places, the largest first"
                                  : "Differences of places, the largest first";
}

void memory_compare_text(const struct memory_comparison *comparison, size_t rows, size_t columns,
                         struct text *out)
{
    AUTO_TEXT struct text whole = {0};
    struct table *places = make_places_table(comparison, rows);
    text_addf(&whole, "%zu snapshots, each at its peak\n", comparison->count);
    table_end(make_sides_table(comparison), &whole);
    text_add(&whole, "\nBy kind\n");
    table_end(make_kinds_table(comparison), &whole);
    text_addf(&whole, "\n%s%s\n", changes_title(comparison),
              table_rows(places) > 0 ? "" : ": none");
    table_end(places, &whole);
    for (const char *line = text_get(&whole); *line;) {
        size_t length = strcspn(line, "\n");
        AUTO_FREE char *shown = mem_strndup(line, length);
        AUTO_FREE char *fitting = memory_shorten(shown, columns);
        text_addf(out, "%s\n", fitting);
        line += length + (line[length] == '\n');
    }
}

static void add_side_curve(const struct memory_side *side, uint64_t top, struct text *out)
{
    AUTO_FREE char *size = memory_size_text(side->curve.peak_allocated);
    AUTO_FREE char *label = mem_printf("%s: allocated memory, at most %s", side->file, size);
    text_add(out, "<div>");
    html_line(out, "hint", label);
    html_figure(out, label, 0, CURVE_WIDTH, CURVE_HEIGHT);
    text_addf(out, "<path class=a d=\"M0 %d", CURVE_HEIGHT);
    for (size_t i = 0; i < side->curve.count; i++)
        text_addf(out, "L%.1f %.1fH%.1f", CURVE_WIDTH * (double)i / (double)side->curve.count,
                  CURVE_HEIGHT * (1 - (double)side->curve.points[i].allocated / (double)top),
                  CURVE_WIDTH * (double)(i + 1) / (double)side->curve.count);
    text_addf(out, "V%dZ\"/></svg></div>\n", CURVE_HEIGHT);
}

void memory_compare_page(const struct memory_comparison *comparison, size_t rows, struct text *out)
{
    const struct html_page page = {.title = "PyTorch memory snapshots",
                                   .style = ".a{fill:var(--power)}"};
    uint64_t top = 1;
    html_begin(out, &page);
    table_end_page(make_sides_table(comparison), out);
    html_heading(out, "By kind");
    table_end_page(make_kinds_table(comparison), out);
    html_heading(out, changes_title(comparison));
    table_end_page(make_places_table(comparison, rows), out);
    html_heading(out, "Over the records, on one scale");
    EACH (side, comparison->sides, comparison->count)
        top = side->curve.peak_allocated > top ? side->curve.peak_allocated : top;
    text_add(out, "<div class=columns>\n");
    EACH (side, comparison->sides, comparison->count)
        if (side->curve.count > 0)
            add_side_curve(side, top, out);
    text_add(out, "</div>\n");
    html_end(out, &page);
}

json_t *memory_compare_json(const struct memory_comparison *comparison, size_t rows)
{
    json_t *sides = json_array(), *changes = json_array();
    EACH (side, comparison->sides, comparison->count) {
        json_t *kinds = json_object();
        for (size_t kind = 0; kind < OWNER_KINDS; kind++)
            json_object_set_new(kinds, owner_kind_name((enum owner_kind)kind),
                                json_integer((json_int_t)side->sums[kind].bytes));
        json_array_append_new(sides, json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "file",
                                               json_text_or_null(side->file), "device",
                                               (json_int_t)side->device, "events",
                                               (json_int_t)side->events, "allocated_bytes",
                                               (json_int_t)side->allocated_bytes, "reserved_bytes",
                                               (json_int_t)side->reserved_bytes, "kinds", kinds));
    }
    for (size_t i = 0; i < comparison->change_count && i < rows; i++) {
        const struct memory_change *change = &comparison->changes[i];
        json_t *bytes = json_array();
        for (size_t k = 0; k < comparison->count; k++)
            json_array_append_new(bytes, json_integer((json_int_t)change->bytes[k]));
        json_array_append_new(changes,
                              json_pack("{s:s, s:o, s:o}", "kind", owner_kind_name(change->kind),
                                        "where", json_text_or_null(change->where), "bytes", bytes));
    }
    return json_pack("{s:o, s:o}", "snapshots", sides, "places", changes);
}
