/* The page: everything in one file, no script; what a block is shows when the pointer rests on it. */
#include "base/mem.h"
#include "report/memory.h"
#include "report/html.h"

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
    "svg{display:block;width:100%;height:auto}.a{fill:var(--used)}.p{fill:var(--wait)}.s{fill:var(--split)}.w{fill:var("
    "--whole)}.e{fill:none;stroke:var(--dim);stroke-width:.6}rect:hover{opacity:.7}";

static void add_size(struct text *out, uint64_t bytes)
{
    AUTO_FREE char *size = memory_size_text(bytes);
    html_cell(out, "", size);
}

static void add_heading(const struct memory_report *report, struct text *out)
{
    AUTO_FREE char *conf = memory_conf_text(&report->snapshot->settings);
    text_add(out, "<h1>");
    html_text(out, report->question->path);
    text_addf(out, "</h1>\n<p class=dim>PyTorch memory snapshot, GPU %zu, recorded under: ", report->device);
    html_text(out, conf);
    text_add(out, "</p>\n");
    if (!report->has_trace)
        return;
    AUTO_FREE char *check = memory_check_text(report);
    text_add(out, "<p class=dim>Self-check of the replay: ");
    html_text(out, check);
    text_add(out, "</p>\n");
}

static void add_row(struct text *out, const char *name, uint64_t bytes, const char *what)
{
    text_add(out, "<tr>");
    html_cell(out, "l", name);
    add_size(out, bytes);
    html_cell(out, "l dim", what);
    text_add(out, "</tr>\n");
}

static void add_state(const struct memory_report *report, struct text *out)
{
    const struct usage_sum *sum = &report->layout.total;
    text_add(out, "<h2>At the end</h2>\n<table>\n");
    add_row(out, "allocated", sum->allocated, "by tensors");
    if (sum->active != sum->allocated)
        add_row(out, "awaited", sum->active - sum->allocated, "freed, but another stream may still use it");
    add_row(out, "reserved", sum->reserved, "by PyTorch");
    add_row(out, "free, split", sum->inactive_split, "beside tensors: cannot be given back");
    add_row(out, "free, whole", sum->inactive_whole, "torch.cuda.empty_cache() gives it back");
    add_row(out, "largest free", sum->largest_free, "the largest request that fits without more memory");
    if (report->has_trace)
        add_row(out, "peak reserved", report->curve.peak_reserved, "the most at any time");
    text_add(out, "</table>\n");
}

static void add_oom(const struct memory_report *report, struct text *out)
{
    AUTO_FREE char *line = memory_oom_text(report);
    if (!line)
        return;
    text_add(out, "<h2>Out of memory</h2>\n<p>");
    html_text(out, line);
    text_add(out, "</p>\n");
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

static void add_curve(const struct memory_report *report, struct text *out)
{
    const struct curve *curve = &report->curve;
    uint64_t top = curve->peak_reserved > curve->peak_allocated ? curve->peak_reserved : curve->peak_allocated;
    if (curve->count == 0 || top == 0)
        return;
    AUTO_FREE char *size = memory_size_text(top);
    text_addf(out,
              "<h2>Over the trace</h2>\n<p class=key><span style=\"background:var(--used)\"></span>allocated"
              "<span style=\"background:var(--whole)\"></span>reserved beside it, at most %s</p>\n",
              size);
    text_addf(out,
              "<svg viewBox=\"0 0 %.0f %.0f\" role=img aria-label=\"allocated and reserved memory over the trace\">",
              CURVE_WIDTH, CURVE_HEIGHT + 16);
    add_area(curve, true, top, out);
    add_area(curve, false, top, out);
    text_addf(out, "<text x=0 y=%.0f>event 0</text><text x=%.0f y=%.0f text-anchor=end>event %zu</text></svg>\n",
              CURVE_HEIGHT + 13, CURVE_WIDTH, CURVE_HEIGHT + 13, report->snapshot->devices[report->device].count);
}

/* Where the map is drawn next. */
struct pen {
    struct text *out;
    double bytes_a_pixel, x, y;
};

/* A piece of the map of so many pixels, broken at the ends of lines. title: what shows on it. */
static void draw(struct pen *pen, double width, const char *class, const char *title)
{
    while (width > 0) {
        double part = width < MAP_WIDTH - pen->x ? width : MAP_WIDTH - pen->x;
        text_addf(pen->out, "<rect class=%s x=%.2f y=%.1f width=%.2f height=%.0f><title>", class, pen->x, pen->y, part,
                  BAR_HEIGHT);
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
    AUTO_FREE char *size = memory_size_text(block->size_bytes), *whole = memory_size_text(segment->size_bytes);
    AUTO_FREE char *stack = memory_stack_text(report->snapshot, block->stack, 0);
    AUTO_FREE char *others = more ? mem_printf(" and %zu smaller beside it", more) : mem_strdup("");
    static const char *const states[] = {"free", "allocated", "awaited"};
    return mem_printf("%s %s%s%s%s; in a segment of %s, stream %" PRIu64 ", at 0x%" PRIx64, states[block->state], size,
                      others, stack && block->state != BLOCK_INACTIVE ? ", from " : "",
                      stack && block->state != BLOCK_INACTIVE ? stack : "", whole,
                      report->snapshot->streams[segment->stream], block->addr);
}

/* A free block is drawn as what cannot be given back, what can, and what cannot behind it. */
static void draw_block(struct pen *pen, const struct snapshot_segment *segment, const struct snapshot_block *block,
                       uint64_t bytes, const char *title)
{
    uint64_t begin, end;
    usage_releasable(segment, block, &begin, &end);
    if (begin == end) {
        draw(pen, (double)bytes / pen->bytes_a_pixel, class_of(block), title);
        return;
    }
    draw(pen, (double)(begin - block->addr) / pen->bytes_a_pixel, "s", title);
    draw(pen, (double)(end - begin) / pen->bytes_a_pixel, "w", title);
    draw(pen, (double)(block->addr + bytes - end) / pen->bytes_a_pixel, "s", title);
}

/* Blocks too small to be seen are drawn as one, in the class of the first. */
static void draw_segment(struct pen *pen, const struct memory_report *report, const struct snapshot_segment *segment)
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
    struct pen pen = {.out = &drawn, .bytes_a_pixel = (double)report->layout.total.reserved / (MAP_LINES * MAP_WIDTH)};
    for (int small = 0; small < 2; small++)
        for (size_t i = 0; i < report->snapshot->segment_count; i++)
            if (report->snapshot->segments[i].device == report->device &&
                report->snapshot->segments[i].small == (small == 1))
                draw_segment(&pen, report, &report->snapshot->segments[i]);
    AUTO_FREE char *pixel = memory_size_text((uint64_t)(pen.bytes_a_pixel * MAP_WIDTH));
    text_addf(
        out,
        "<h2>Map of the %zu segments</h2>\n<p class=key>by address, large ones first; a line is %s"
        "<span style=\"background:var(--used)\"></span>allocated<span style=\"background:var(--wait)\"></span>awaited"
        "<span style=\"background:var(--split)\"></span>free, cannot be given back"
        "<span style=\"background:var(--whole)\"></span>free, can be given back</p>\n",
        report->layout.total.segments, pixel);
    text_addf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=img aria-label=\"map of the segments\">\n", MAP_WIDTH,
              pen.y + LINE_HEIGHT);
    text_add_bytes(out, text_get(&drawn), drawn.length);
    text_add(out, "</svg>\n");
}

static void add_pools(const struct memory_report *report, struct text *out)
{
    text_add(
        out,
        "<h2>By pool and stream</h2>\n<div class=scroll><table>\n<tr><th class=l>pool<th>stream<th>segments<th>reserved"
        "<th>allocated<th>free, split<th>free, whole<th>largest free</tr>\n");
    for (size_t i = 0; i < report->layout.pool_count; i++) {
        const struct usage_pool *pool = &report->layout.pools[i];
        text_addf(out, "<tr><td class=l>%s%s</td><td>%" PRIu64 "</td><td>%zu</td>", pool->small ? "small" : "large",
                  pool->expandable ? ", expandable" : "", report->snapshot->streams[pool->stream], pool->sum.segments);
        add_size(out, pool->sum.reserved);
        add_size(out, pool->sum.allocated);
        add_size(out, pool->sum.inactive_split);
        add_size(out, pool->sum.inactive_whole);
        add_size(out, pool->sum.largest_free);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

static void add_groups(const struct memory_report *report, const char *title, const struct usage_group *groups,
                       size_t count, struct text *out)
{
    text_addf(out, "<h2>%s</h2>\n<div class=scroll><table>\n<tr><th>bytes<th>count<th>each<th class=l>from</tr>\n",
              title);
    for (size_t i = 0; i < count && i < report->question->rows; i++) {
        AUTO_FREE char *stack = memory_stack_text(report->snapshot, groups[i].stack, 0);
        text_add(out, "<tr>");
        add_size(out, groups[i].bytes);
        text_addf(out, "<td>%zu</td>", groups[i].count);
        add_size(out, groups[i].size_bytes);
        html_cell(out, "l", stack ? stack : "not recorded");
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

static void add_replays(const struct memory_report *report, struct text *out)
{
    AUTO_TEXT struct text tries = {0};
    memory_text_tries(report, &tries);
    memory_text_advice(report, &tries);
    if (tries.length == 0)
        return;
    text_add(out, "<h2>Replayed</h2>\n<div class=scroll><pre>");
    html_text(out, text_get(&tries));
    text_add(out, "</pre></div>\n");
}

void memory_page(const struct memory_report *report, struct text *out)
{
    html_begin(out, report->question->path, style);
    add_heading(report, out);
    add_state(report, out);
    add_oom(report, out);
    add_curve(report, out);
    add_map(report, out);
    add_pools(report, out);
    if (report->has_trace) {
        add_groups(report, "Alive at the peak", report->at_peak, report->at_peak_count, out);
        add_groups(report, "Alive at the end", report->at_end, report->at_end_count, out);
    }
    add_replays(report, out);
    html_end(out);
}
