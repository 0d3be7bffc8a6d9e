#include "run/log/match.h"
#include "run/log/metric_history.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "run/log/rank.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define ACCOUNT_BYTES 4096 /* between two readings of the clock */

/* One pattern on one batch. */
struct pass {
    struct matcher *matcher;
    struct matcher_item *item;
    const struct line *lines;
    size_t count;
    size_t tried_bytes;     /* since then */
    size_t accounted_bytes; /* accounted for */
    int64_t clock_ns;
    const struct line *last;
    size_t marks_passed; /* marks of the batch before the line */
    struct metric_epoch epoch;
    struct pattern_match last_match;
};

static void account(struct pass *pass, size_t bytes)
{
    int64_t now = clock_thread_cpu_ns();
    pattern_account(pass->item->pattern, bytes, now - pass->clock_ns);
    pass->clock_ns = now;
    pass->accounted_bytes += bytes;
    pass->tried_bytes = 0;
}

static bool is_mark(enum joblog_role role)
{
    return role == JOBLOG_MARK_START || role == JOBLOG_MARK_END;
}

static struct mark make_log_mark(const struct matcher *matcher, const struct matcher_mark *found,
                                 const struct line *lines, int64_t now_ns)
{
    const struct matcher_item *item = &matcher->items[found->item];
    const char *text = lines[found->line].start + found->match.start;
    struct mark mark = {
        .is_end = item->result.role == JOBLOG_MARK_END, .source = MARK_LOG, .t_ns = now_ns};
    snprintf(mark.name, sizeof mark.name, "%s", item->name);
    /* Without a group all such lines are alike. */
    if (found->match.grouped)
        utf8_copy_legible(text, found->match.end - found->match.start, mark.label,
                          sizeof mark.label);
    return mark;
}

/* The last mark on or before the line decides. */
static void note_number(struct pass *pass, const struct line *line, double number)
{
    const struct matcher *matcher = pass->matcher;
    for (; pass->marks_passed < matcher->mark_count; pass->marks_passed++) {
        const struct matcher_mark *found = &matcher->marks[pass->marks_passed];
        if (found->line > (size_t)(line - pass->lines))
            break;
        struct mark mark = make_log_mark(matcher, found, pass->lines, matcher->now_ns);
        metric_epoch_update(&pass->epoch, &mark);
    }
    metric_history_add(&pass->item->history, (struct metric_point){.t_ns = matcher->now_ns,
                                                                   .epoch = pass->epoch.number,
                                                                   .has_epoch = pass->epoch.known,
                                                                   .value = number});
}

static bool has_digit(const char *text, size_t length)
{
    EACH (item, text, length)
        if (*item >= '0' && *item <= '9')
            return true;
    return false;
}

static void note_match(struct pass *pass, const struct line *line, struct pattern_match match)
{
    struct matcher *matcher = pass->matcher;
    struct joblog_result *result = &pass->item->result;
    if (result->role == JOBLOG_SIGN && matcher->holds &&
        !matcher->holds(result->name, line->start, line->length))
        return;
    result->matches++;
    pass->last = line;
    pass->last_match = match;
    double number = 0;
    if (is_mark(result->role) && matcher->mark)
        MEM_ADD(matcher->marks, matcher->mark_count) =
            (struct matcher_mark){.line = (size_t)(line - pass->lines),
                                  .item = (size_t)(pass->item - matcher->items),
                                  .match = match};
    if (result->role != JOBLOG_METRIC)
        return;
    const char *text = line->start + match.start;
    size_t length = match.end - match.start;
    bool is_cut = line->is_cut && match.end == line->length; /* may lack digits */
    if (is_cut || !number_read(text, length, matcher->c_locale, &number)) {
        /* Drops a stale number, unless this is a word like "none". */
        result->has_number &= !has_digit(text, length);
        return;
    }
    result->has_number = true;
    result->number = number;
    note_number(pass, line, number);
    if (matcher->metric)
        matcher->metric(matcher->context, result->name, number);
}

static void try_line(struct pass *pass, struct line *line)
{
    if (pass->item->result.role == JOBLOG_METRIC && rank_is_other(line->start, line->length))
        return;
    struct pattern_match match = pattern_find(pass->item->pattern, line->start, line->length);
    if (match.limited)
        line->limited = true;
    if (match.matched)
        note_match(pass, line, match);
    pass->tried_bytes += line->length;
    if (pass->tried_bytes >= ACCOUNT_BYTES)
        account(pass, pass->tried_bytes);
}

static void keep_matched_text(struct joblog_result *result, const struct line *line,
                              struct pattern_match match)
{
    if (result->role == JOBLOG_METRIC || is_mark(result->role))
        utf8_copy_legible(line->start + match.start, match.end - match.start, result->text,
                          sizeof result->text);
    else {
        /* After a long progress bar the match is what people want. */
        size_t from = match.end < sizeof result->text ? 0 : match.start;
        utf8_copy_legible(line->start + from, line->length - from, result->text,
                          sizeof result->text);
    }
}

static void match_item(struct matcher *matcher, struct matcher_item *item, struct line *lines,
                       size_t count)
{
    const char *end = lines[count - 1].start + lines[count - 1].length;
    struct pass pass = {.matcher = matcher,
                        .item = item,
                        .lines = lines,
                        .count = count,
                        .clock_ns = clock_thread_cpu_ns(),
                        .epoch = matcher->epoch};
    EACH (entry, lines, count)
        try_line(&pass, entry);
    size_t all = (size_t)(end - lines[0].start);
    account(&pass, all > pass.accounted_bytes ? all - pass.accounted_bytes : 0);
    if (pass.last) {
        item->result.line = pass.last->number;
        keep_matched_text(&item->result, pass.last, pass.last_match);
    }
}

static void note_named(struct matcher *matcher, struct matcher_item *item, const struct line *lines,
                       const struct line *line)
{
    struct pass pass = {.matcher = matcher, .item = item, .lines = lines, .epoch = matcher->epoch};
    struct joblog_result *result = &item->result;
    struct named_number number;
    if (!named_get(matcher->named, item->named, &number))
        return;
    result->matches++;
    result->has_number = number.has_number;
    result->is_ambiguous = !number.has_number;
    result->number = number.number;
    if (number.is_better)
        metric_history_clear(&item->history);
    if (!number.is_new)
        return;
    result->line = line->number;
    snprintf(result->text, sizeof result->text, "%s", number.text);
    if (!number.has_number)
        return;
    note_number(&pass, line, number.number);
    if (matcher->metric)
        matcher->metric(matcher->context, result->name, number.number);
}

/* Reads each line once for all names. */
static void match_named(struct matcher *matcher, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count && matcher->named; i++) {
        if (rank_is_other(lines[i].start, lines[i].length) ||
            !named_read_line(matcher->named, lines[i].start, lines[i].length))
            continue;
        for (size_t k = 0; k < matcher->count; k++)
            if (!matcher->items[k].pattern)
                note_named(matcher, &matcher->items[k], lines, &lines[i]);
    }
}

static int compare_marks(const void *a, const void *b)
{
    const struct matcher_mark *one = a, *other = b;
    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return one->item < other->item ? -1 : one->item > other->item;
}

static void report_marks(struct matcher *matcher, const struct line *lines, int64_t now_ns)
{
    for (size_t i = 0; i < matcher->mark_count; i++) {
        struct mark mark = make_log_mark(matcher, &matcher->marks[i], lines, now_ns);
        metric_epoch_update(&matcher->epoch, &mark);
        matcher->mark(matcher->context, &mark);
    }
    matcher->mark_count = 0;
}

void matcher_match_lines(struct matcher *matcher, struct line *lines, size_t count, int64_t now_ns)
{
    if (count == 0)
        return;
    matcher->now_ns = now_ns;
    /* Marks first: they set the epoch of the metrics. */
    for (size_t i = 0; i < matcher->count; i++)
        if (is_mark(matcher->items[i].result.role))
            match_item(matcher, &matcher->items[i], lines, count);
    if (matcher->mark_count > 1)
        qsort(matcher->marks, matcher->mark_count, sizeof *matcher->marks, compare_marks);
    for (size_t i = 0; i < matcher->count; i++)
        if (!is_mark(matcher->items[i].result.role) && matcher->items[i].pattern)
            match_item(matcher, &matcher->items[i], lines, count);
    match_named(matcher, lines, count);
    report_marks(matcher, lines, now_ns);
}

static bool make_item(struct matcher *matcher, const struct joblog_pattern *wanted,
                      struct matcher_item *item, struct err *err)
{
    if (wanted->role != JOBLOG_METRIC || !named_is(wanted->source)) {
        item->pattern = pattern_new(wanted->source, err);
        return item->pattern != NULL;
    }
    if (!matcher->named)
        matcher->named = named_new(matcher->c_locale, matcher->has_ranks);
    item->named = matcher->named_count++;
    return named_add(matcher->named, wanted->source, err);
}

bool matcher_init(struct matcher *matcher, const struct joblog_options *options, struct err *err)
{
    matcher->metric = options->metric;
    matcher->mark = options->mark;
    matcher->holds = options->holds;
    matcher->context = options->context;
    matcher->has_ranks = options->has_ranks;
    matcher->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (matcher->c_locale == (locale_t)0)
        return err_sys(err, "make the C locale");
    size_t metrics = 0;
    matcher->items = mem_array(options->pattern_count, sizeof *matcher->items);
    for (size_t i = 0; i < options->pattern_count; i++) {
        const struct joblog_pattern *wanted = &options->patterns[i];
        struct matcher_item *item = &matcher->items[i];
        if (!make_item(matcher, wanted, item, err))
            return err_wrap(err, "pattern %s", wanted->name ? wanted->name : wanted->source);
        item->name = mem_strdup(wanted->name ? wanted->name : wanted->source);
        item->result = (struct joblog_result){.role = wanted->role, .name = item->name};
        matcher->count++;
        metrics += wanted->role == JOBLOG_METRIC;
    }
    EACH (entry, matcher->items, matcher->count)
        metric_history_init(&entry->history, metrics);
    return true;
}

void matcher_fini(struct matcher *matcher)
{
    EACH (item, matcher->items, matcher->count) {
        pattern_free(item->pattern);
        metric_history_fini(&item->history);
        free(item->name);
    }
    free(matcher->items);
    named_free(matcher->named);
    free(matcher->marks);
    if (matcher->c_locale != (locale_t)0)
        freelocale(matcher->c_locale);
    *matcher = (struct matcher){0};
}
