#include "measure/marks/marks.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>

void marks_fini(struct marks *marks)
{
    free(marks->pending);
    *marks = (struct marks){0};
}

/* The entry of this name, or the next free one. NULL: all are in use. */
static struct marks_name *find_or_next_name(struct marks *marks, const char *name)
{
    EACH (item, marks->names, marks->name_count)
        if (strcmp(item->last.name, name) == 0)
            return item;
    return marks->name_count < MARKS_NAMES_MAX ? &marks->names[marks->name_count] : NULL;
}

static bool repeats(const struct marks_name *name, const struct mark *mark)
{
    const struct mark *last = &name->last;
    return name->taken > 0 && mark->label[0] && last->is_end == mark->is_end &&
           strcmp(last->label, mark->label) == 0;
}

static bool spend(struct marks_source *source, int64_t now_ns)
{
    if (source->credit_ns == 0)
        source->credit = MARKS_BURST;
    else if (now_ns > source->credit_ns)
        source->credit += ns_to_s(now_ns - source->credit_ns) * MARKS_RATE;
    source->credit_ns = now_ns;
    if (source->credit > MARKS_BURST)
        source->credit = MARKS_BURST;
    if (source->credit < 1 || source->taken >= MARKS_MOST)
        return false;
    source->credit -= 1;
    source->taken++;
    return true;
}

static void note_mark(struct marks *marks, struct marks_name *name, const struct mark *mark)
{
    bool log_start = mark->source == MARK_LOG && !mark->is_end;
    if (name->taken == 0) {
        *name = (struct marks_name){.first_ns = mark->t_ns, .only_log_starts = true};
        marks->name_count++;
    }
    name->last = *mark;
    name->taken++;
    name->only_log_starts = name->only_log_starts && log_start;
}

enum mark_task_status marks_take(struct marks *marks, const struct mark *mark, int64_t now_ns)
{
    struct marks_name *name = find_or_next_name(marks, mark->name);
    if (name && repeats(name, mark)) {
        marks->counts.repeated++;
        return MARK_REPEATED;
    }
    if (!name || !spend(&marks->sources[mark->source], now_ns)) {
        marks->counts.limited++;
        return MARK_LIMITED;
    }
    note_mark(marks, name, mark);
    MEM_ADD(marks->pending, marks->pending_count) = *mark;
    marks->counts.taken++;
    return MARK_TAKEN;
}

void marks_clear(struct marks *marks)
{
    marks->pending_count = 0;
}

bool marks_look_like_ends(const struct marks *marks, size_t name, int64_t start_ns, int64_t end_ns)
{
    const struct marks_name *known = &marks->names[name];
    if (known->taken < 3 || !known->only_log_starts)
        return false;
    double usual_ns = (double)(known->last.t_ns - known->first_ns) / (double)(known->taken - 1);
    double before_ns = (double)(known->first_ns - start_ns),
           after_ns = (double)(end_ns - known->last.t_ns);
    return before_ns >= usual_ns / 2 && after_ns <= usual_ns / 10;
}

#define CLOCK_DIGITS_MAX 19

static bool is_mark_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim_mark(const char **at, const char **end)
{
    while (*at < *end && is_mark_blank(**at))
        ++*at;
    while (*at < *end && is_mark_blank((*end)[-1]))
        --*end;
}

bool mark_label_is_valid(const char *label, size_t length)
{
    return length <= MARK_LABEL_MAX && utf8_is_printable(label, length);
}

static bool parse_mark_name(const char **at, const char *end, struct mark *out)
{
    const char *start = *at;
    while (*at < end && !is_mark_blank(**at))
        ++*at;
    size_t length = (size_t)(*at - start);
    if (length > MARK_NAME_MAX || memchr(start, '\0', length))
        return false;
    memcpy(out->name, start, length);
    out->name[length] = '\0';
    return mark_name_is_valid(out->name);
}

/* The last word, when it is "@" and digits, is no part of the label. */
static bool parse_mark_clock(const char *at, const char **end, int64_t *out)
{
    const char *digits = *end;
    uint64_t number = 0;
    while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    size_t count = (size_t)(*end - digits);
    if (count == 0 || digits == at || digits[-1] != '@' ||
        (digits - 1 > at && !is_mark_blank(digits[-2])))
        return false;
    for (size_t i = 0; i < count && count <= CLOCK_DIGITS_MAX; i++)
        number = number * 10 + (uint64_t)(digits[i] - '0');
    *end = digits - 1;
    *out = count <= CLOCK_DIGITS_MAX && number <= INT64_MAX ? (int64_t)number : -1;
    return true;
}

bool mark_line_parse(const char *line, size_t length, int64_t now_ns, struct mark *out)
{
    const char *at = line, *end = line + length;
    int64_t clock_ns;
    *out = (struct mark){.source = MARK_FIFO, .t_ns = now_ns};
    trim_mark(&at, &end);
    if (at < end && *at == '/') {
        out->is_end = true;
        at++;
    }
    if (!parse_mark_name(&at, end, out))
        return false;
    trim_mark(&at, &end);
    if (parse_mark_clock(at, &end, &clock_ns) && clock_ns <= now_ns &&
        clock_ns >= now_ns - MARK_CLOCK_BACK_NS)
        out->t_ns = clock_ns;
    trim_mark(&at, &end);
    if (!mark_label_is_valid(at, (size_t)(end - at)))
        return false;
    memcpy(out->label, at, (size_t)(end - at));
    return true;
}
