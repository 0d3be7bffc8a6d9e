#include "report/memory_page.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/memory_data.h"
#include "report/memory_help.h"
#include "report/memory_lines.h"
#include "report/memory_text.h"
#include "report/table.h"

#include <inttypes.h>
#include <string.h>

#define MAP_WIDTH   1000.0 /* pixels of a line of the map */
#define MAP_LINES   24     /* about so many; more where there are many small segments */
#define LINE_HEIGHT 26.0
#define BAR_HEIGHT  20.0
#define GAP         3.0
#define BLOCK_LEAST 0.4 /* pixels: what is smaller is drawn together with its neighbours */

static const char style[] =
    ".a{fill:var(--power);background:var(--power)}.p{fill:var(--suspect);background:var(--suspect)}"
    ".s{fill:var(--contaminated);background:var(--contaminated);opacity:.5}"
    ".w{fill:var(--clean);background:var(--clean);opacity:.35}rect:hover{opacity:.7}"
    ".canvas{position:relative}.timeline{width:100%;height:420px;display:block;cursor:crosshair}"
    ".tip{position:absolute;z-index:3;max-width:min(640px,90%);background:var(--paper);"
    "border:1px solid var(--line);border-radius:8px;padding:8px 12px;pointer-events:none;"
    "font-size:.85rem;box-shadow:0 2px 10px #0004}.tip pre{max-height:260px;overflow:hidden;"
    "margin-top:4px}.soft{color:var(--soft)}.free{fill:var(--unjudged-soft)}"
    ".side{display:flex;flex-wrap:wrap;gap:0 28px}.side>*{min-width:0}"
    ".flame{position:relative;overflow:hidden}.flame button{position:absolute;height:17px;"
    "border:0;border-right:1px solid var(--paper);padding:0 4px;font:11px/17px system-ui;"
    "color:#fff;text-align:left;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}"
    ".flame button:first-child{color:var(--ink)}.help li{margin:2px 0}";

static void add_tile(struct text *out, const char *value, const char *name)
{
    text_add(out, "<div class=tile><b>");
    html_text(out, value);
    text_add(out, "</b><span>");
    html_text(out, name);
    text_add(out, "</span></div>\n");
}

static void add_snapshot_heading(const struct memory_report *report, struct text *out)
{
    AUTO_FREE char *conf = memory_conf_text(&report->snapshot->settings);
    AUTO_FREE char *line =
        mem_printf("PyTorch memory snapshot, GPU %zu, recorded under: %s", report->device, conf);
    html_line(out, "hint", line);
    if (!report->has_trace)
        return;
    AUTO_FREE char *check = memory_check_text(report);
    AUTO_FREE char *told = mem_printf("Self-check of the replay: %s", check);
    html_line(out, "hint", told);
}

static void add_bytes_row(struct table *table, const char *name, uint64_t bytes, const char *what)
{
    table_row(table, mem_strdup(name), memory_size_text(bytes), mem_strdup(what));
}

static void add_end_state_table(const struct memory_report *report, struct text *out)
{
    const struct usage_sum *sum = &report->layout.total;
    struct table *table = table_of(false, "", ">", "");
    html_heading(out, "At the end");
    add_bytes_row(table, "allocated", sum->allocated, "by tensors");
    if (sum->active != sum->allocated)
        add_bytes_row(table, "awaited", sum->active - sum->allocated,
                      "freed, but another stream may still use it");
    add_bytes_row(table, "reserved", sum->reserved, "by PyTorch");
    add_bytes_row(table, "free, split", sum->inactive_split,
                  "beside tensors: cannot be given back");
    add_bytes_row(table, "free, whole", sum->inactive_whole,
                  "torch.cuda.empty_cache() gives it back");
    add_bytes_row(table, "largest free", sum->largest_free,
                  "the largest request that fits without more memory");
    if (report->has_trace)
        add_bytes_row(table, "peak reserved", report->curve.peak_reserved, "the most at any time");
    table_end_page(table, out);
}

static void add_oom_section(const struct memory_report *report, struct text *out)
{
    AUTO_FREE char *line = memory_oom_text(report);
    if (!line)
        return;
    html_heading(out, "Out of memory");
    html_line(out, NULL, line);
}

/* Where the map is drawn next. */
struct pen {
    struct text *out;
    double bytes_a_pixel, x, y;
};

/* A piece of the map, width pixels long, wrapped at the ends of lines. title: its tooltip. */
static void draw_map_piece(struct pen *pen, double width, const char *class, const char *title)
{
    while (width > 0) {
        double part = width < MAP_WIDTH - pen->x ? width : MAP_WIDTH - pen->x;
        text_addf(pen->out, "<rect class=%s x=%.2f y=%.1f width=%.2f height=%.0f><title>", class,
                  pen->x, pen->y, part, BAR_HEIGHT);
        html_text(pen->out, title);
        text_add(pen->out, "</title></rect>\n");
        width -= part;
        pen->x += part;
        if (pen->x >= MAP_WIDTH - 0.01) {
            pen->x = 0;
            pen->y += LINE_HEIGHT;
        }
    }
}

static const char *class_of(const struct snapshot_block *block)
{
    return block->state == BLOCK_ALLOCATED ? "a" : block->state == BLOCK_PENDING ? "p" : "s";
}

static char *block_title(const struct memory_report *report, const struct snapshot_segment *segment,
                         const struct snapshot_block *block, size_t more)
{
    AUTO_FREE char *size = memory_size_text(block->size_bytes),
                   *whole = memory_size_text(segment->size_bytes);
    AUTO_FREE char *stack = memory_stack_text(report->snapshot, block->stack, 0);
    AUTO_FREE char *others = more ? mem_printf(" and %zu smaller beside it", more) : mem_strdup("");
    static const char *const states[] = {"free", "allocated", "awaited"};
    return mem_printf("%s %s%s%s%s; in a segment of %s, stream %" PRIu64 ", at 0x%" PRIx64,
                      states[block->state], size, others,
                      stack && block->state != BLOCK_INACTIVE ? ", from " : "",
                      stack && block->state != BLOCK_INACTIVE ? stack : "", whole,
                      report->snapshot->streams[segment->stream], block->addr);
}

/* A free block is drawn as what cannot be given back, what can, and what cannot behind it. */
static void draw_block(struct pen *pen, const struct snapshot_segment *segment,
                       const struct snapshot_block *block, uint64_t bytes, const char *title)
{
    uint64_t begin, end;
    usage_releasable(segment, block, &begin, &end);
    if (begin == end) {
        draw_map_piece(pen, (double)bytes / pen->bytes_a_pixel, class_of(block), title);
        return;
    }
    draw_map_piece(pen, (double)(begin - block->addr) / pen->bytes_a_pixel, "s", title);
    draw_map_piece(pen, (double)(end - begin) / pen->bytes_a_pixel, "w", title);
    draw_map_piece(pen, (double)(block->addr + bytes - end) / pen->bytes_a_pixel, "s", title);
}

/* Blocks too small to be seen are drawn as one, in the class of the first. */
static void draw_segment(struct pen *pen, const struct memory_report *report,
                         const struct snapshot_segment *segment)
{
    const struct snapshot_block *blocks = &report->snapshot->blocks[segment->first_block];
    for (size_t i = 0; i < segment->block_count;) {
        size_t first = i;
        uint64_t bytes = blocks[i++].size_bytes;
        while (i < segment->block_count && (double)bytes / pen->bytes_a_pixel < BLOCK_LEAST)
            bytes += blocks[i++].size_bytes;
        AUTO_FREE char *title = block_title(report, segment, &blocks[first], i - first - 1);
        draw_block(pen, segment, &blocks[first], bytes, title);
    }
    if (pen->x > 0)
        pen->x += GAP;
    if (pen->x >= MAP_WIDTH - 1) {
        pen->x = 0;
        pen->y += LINE_HEIGHT;
    }
}

static void add_map(const struct memory_report *report, struct text *out)
{
    AUTO_TEXT struct text drawn = {0};
    if (report->layout.total.reserved == 0)
        return;
    struct pen pen = {.out = &drawn,
                      .bytes_a_pixel =
                          (double)report->layout.total.reserved / (MAP_LINES * MAP_WIDTH)};
    for (int small = 0; small < 2; small++)
        EACH (segment, report->snapshot->segments, report->snapshot->segment_count)
            if (segment->device == report->device && segment->small == (small == 1))
                draw_segment(&pen, report, segment);
    AUTO_FREE char *pixel = memory_size_text((uint64_t)(pen.bytes_a_pixel * MAP_WIDTH));
    AUTO_FREE char *title = mem_printf("Map of the %zu segments", report->layout.total.segments);
    AUTO_FREE char *lead = mem_printf("by address, large ones first; a line is %s", pixel);
    html_heading(out, title);
    html_legend(out, lead,
                (struct html_mark[]){{"a", "allocated"},
                                     {"p", "awaited"},
                                     {"s", "free, cannot be given back"},
                                     {"w", "free, can be given back"},
                                     {0}});
    html_figure(out, "map of the segments", 0, MAP_WIDTH, pen.y + LINE_HEIGHT);
    text_add_bytes(out, text_get(&drawn), drawn.length);
    text_add(out, "</svg>\n");
}

static void add_pools_table(const struct memory_report *report, struct text *out)
{
    struct table *table = table_of(false, "pool", ">stream", ">segments", ">reserved", ">allocated",
                                   ">free, split", ">free, whole", ">largest free");
    EACH (pool, report->layout.pools, report->layout.pool_count) {
        const struct usage_sum *sum = &pool->sum;
        table_row(table,
                  mem_printf("%s%s", pool->small ? "small" : "large",
                             pool->expandable ? ", expandable" : ""),
                  mem_printf("%" PRIu64, report->snapshot->streams[pool->stream]),
                  mem_printf("%zu", sum->segments), memory_size_text(sum->reserved),
                  memory_size_text(sum->allocated), memory_size_text(sum->inactive_split),
                  memory_size_text(sum->inactive_whole), memory_size_text(sum->largest_free));
    }
    html_heading(out, "By pool and stream");
    table_end_page(table, out);
}

static char *share_text(uint64_t bytes, uint64_t all)
{
    return mem_printf("%.1f %%", all ? 100 * (double)bytes / (double)all : 0);
}

static void add_owners_table(const struct memory_report *report, const char *title,
                             const struct owner_row *rows, size_t count, struct text *out)
{
    enum { PLACES_LEAST = 10 };
    struct table *table = table_of(false, ">share", ">bytes", ">count", "kind", "where");
    size_t most = report->question->rows > PLACES_LEAST ? report->question->rows : PLACES_LEAST;
    uint64_t all = 0;
    EACH (row, rows, count)
        all += row->bytes;
    for (size_t i = 0; i < count && i < most; i++) {
        const struct owner *owner = &report->owners.items[rows[i].owner];
        table_row(table, share_text(rows[i].bytes, all), memory_size_text(rows[i].bytes),
                  mem_printf("%zu", rows[i].count),
                  mem_strdup(owner_kind_text((enum owner_kind)owner->kind)),
                  memory_owner_text(report->snapshot, owner, 0));
    }
    html_heading(out, title);
    table_end_page(table, out);
}

/* The peak by kind, its places, and what would lower it. */
static void add_answer(const struct memory_report *report, struct text *out)
{
    uint64_t all = report->peak_sums[OWNER_KINDS].bytes;
    AUTO_FREE char *allocated = memory_size_text(
        report->check.exact ? report->check.stats.allocated.peak : report->curve.peak_allocated);
    AUTO_FREE char *reserved = memory_size_text(report->curve.peak_reserved);
    AUTO_FREE char *event = mem_printf("peak allocated, event %" PRIu32, report->curve.peak_event);
    text_add(out, "<div class=tiles>\n");
    add_tile(out, allocated, event);
    add_tile(out, reserved, "peak reserved");
    for (size_t kind = 0; kind < OWNER_KINDS; kind++) {
        if (report->peak_sums[kind].count == 0)
            continue;
        AUTO_FREE char *size = memory_size_text(report->peak_sums[kind].bytes),
                       *share = share_text(report->peak_sums[kind].bytes, all);
        AUTO_FREE char *name = mem_printf("%s, %s", owner_kind_text((enum owner_kind)kind), share);
        add_tile(out, size, name);
    }
    text_add(out, "</div>\n");
    add_owners_table(report, "Who holds the peak", report->at_peak, report->at_peak_count, out);
    AUTO(strv_fini) struct strv lines = {0};
    memory_help(report, &lines);
    if (lines.count > 0) {
        html_heading(out, "Would lower the peak");
        text_add(out, "<ul class=help>\n");
        EACH (line, lines.items, lines.count) {
            text_add(out, "<li>");
            html_text(out, *line);
            text_add(out, "</li>\n");
        }
        text_add(out, "</ul>\n");
    }
}

static void add_replays(const struct memory_report *report, struct text *out)
{
    AUTO_TEXT struct text tries = {0};
    memory_text_tries(report, &tries);
    memory_text_advice(report, &tries);
    if (tries.length == 0)
        return;
    html_heading(out, "Replayed");
    html_set_out(out, text_get(&tries));
}

void memory_page(const struct memory_report *report, struct text *out)
{
    const struct html_page page = {
        .title = report->question->path, .style = style, .memory_script = report->has_trace};
    html_begin(out, &page);
    add_snapshot_heading(report, out);
    if (report->has_trace)
        add_answer(report, out);
    add_oom_section(report, out);
    if (report->has_trace) {
        AUTO_TEXT struct text growth = {0};
        memory_text_growth(report, 0, &growth);
        html_heading(out, "Growth");
        html_set_out(out, text_get(&growth));
        text_add(out, "<section id=timeline></section>\n<section id=state></section>\n");
    }
    add_end_state_table(report, out);
    add_owners_table(report, "Alive at the end", report->at_end, report->at_end_count, out);
    add_pools_table(report, out);
    add_map(report, out);
    add_replays(report, out);
    if (report->has_trace) {
        json_t *head = json_pack("{s:s}", "language", "en"), *data = memory_data_json(report);
        html_data(out, "head", head);
        html_data(out, "memory", data);
        json_decref(head);
        json_decref(data);
    }
    html_end(out, &page);
}
