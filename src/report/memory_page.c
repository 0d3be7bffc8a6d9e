#include "report/memory_page.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/memory_lines.h"
#include "report/table.h"

#include <inttypes.h>
#include <string.h>

#define MAP_WIDTH    1000.0 /* pixels of a line of the map */
#define MAP_LINES    24     /* about so many; more where there are many small segments */
#define LINE_HEIGHT  26.0
#define BAR_HEIGHT   20.0
#define GAP          3.0
#define BLOCK_LEAST  0.4 /* pixels: what is smaller is drawn together with its neighbours */
#define CURVE_WIDTH  1000.0
#define CURVE_HEIGHT 180.0

static const char style[] =
    ".a{fill:var(--power);background:var(--power)}.p{fill:var(--suspect);background:var(--suspect)}"
    ".s{fill:var(--contaminated);background:var(--contaminated);opacity:.5}"
    ".w{fill:var(--clean);background:var(--clean);opacity:.35}rect:hover{opacity:.7}";

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

/* A closed shape under one of the curve's two lines. */
static void add_area(const struct curve *curve, bool reserved, uint64_t top, struct text *out)
{
    text_addf(out, "<path class=%s d=\"M0 %.1f", reserved ? "w" : "a", CURVE_HEIGHT);
    for (size_t i = 0; i < curve->count; i++) {
        uint64_t value = reserved ? curve->points[i].reserved : curve->points[i].allocated;
        double y = CURVE_HEIGHT * (1 - (double)value / (double)top);
        text_addf(out, "L%.1f %.1fH%.1f", CURVE_WIDTH * (double)i / (double)curve->count, y,
                  CURVE_WIDTH * (double)(i + 1) / (double)curve->count);
    }
    text_addf(out, "V%.1fZ\"/>", CURVE_HEIGHT);
}

static void add_curve_section(const struct memory_report *report, struct text *out)
{
    const struct curve *curve = &report->curve;
    uint64_t top =
        curve->peak_reserved > curve->peak_allocated ? curve->peak_reserved : curve->peak_allocated;
    if (curve->count == 0 || top == 0)
        return;
    AUTO_FREE char *size = memory_size_text(top);
    AUTO_FREE char *reserved = mem_printf("reserved beside it, at most %s", size);
    html_heading(out, "Over the trace");
    html_legend(out, "", (struct html_mark[]){{"a", "allocated"}, {"w", reserved}, {0}});
    html_figure(out, "allocated and reserved memory over the trace", 0, CURVE_WIDTH,
                CURVE_HEIGHT + 16);
    add_area(curve, true, top, out);
    add_area(curve, false, top, out);
    text_addf(out,
              "<text x=0 y=%.0f>event 0</text><text x=%.0f y=%.0f text-anchor=end>event "
              "%zu</text></svg>\n",
              CURVE_HEIGHT + 13, CURVE_WIDTH, CURVE_HEIGHT + 13,
              report->snapshot->devices[report->device].count);
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

static void add_owners_table(const struct memory_report *report, const char *title,
                             const struct owner_row *rows, size_t count, struct text *out)
{
    struct table *table = table_of(false, ">bytes", ">count", "kind", "where");
    for (size_t i = 0; i < count && i < report->question->rows; i++) {
        const struct owner *owner = &report->owners.items[rows[i].owner];
        table_row(table, memory_size_text(rows[i].bytes), mem_printf("%zu", rows[i].count),
                  mem_strdup(owner_kind_text((enum owner_kind)owner->kind)),
                  memory_owner_text(report->snapshot, owner, 0));
    }
    html_heading(out, title);
    table_end_page(table, out);
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
    const struct html_page page = {.title = report->question->path, .style = style};
    html_begin(out, &page);
    add_snapshot_heading(report, out);
    add_end_state_table(report, out);
    add_oom_section(report, out);
    add_curve_section(report, out);
    add_map(report, out);
    add_pools_table(report, out);
    if (report->has_trace) {
        add_owners_table(report, "Alive at the peak", report->at_peak, report->at_peak_count, out);
        add_owners_table(report, "Alive at the end", report->at_end, report->at_end_count, out);
    }
    add_replays(report, out);
    html_end(out, &page);
}
