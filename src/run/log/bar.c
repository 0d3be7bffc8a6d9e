#include "run/log/bar.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* Longer lines are not bars: tqdm fits them to a terminal. */
enum { LINE_MAX_BYTES = 2048, DIGITS_MAX = 15 };

/* Percents are whole, and scaled counts ("4.50k") have three digits. */
static const double PERCENT_SLACK = 1.5;

struct span {
    const char *start, *end;
};

/* The end of a control sequence (ECMA-48, 5.4) after the escape character. */
static const char *skip_sequence(const char *at, const char *end)
{
    if (at == end || *at != '[')
        return at;
    at++;
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at <= 0x3F)
        at++;
    return at < end ? at + 1 : end;
}

static size_t strip(const char *line, size_t length, char *out)
{
    size_t used = 0;
    for (const char *at = line, *end = line + length; at < end;) {
        if (*at == '\033')
            at = skip_sequence(at + 1, end);
        else
            out[used++] = *at++;
    }
    return used;
}

/* As tqdm counts: "45", "4.5", "12.3k". False: no digits. */
static bool read_count(struct span *text, double *out)
{
    static const char prefixes[] = "kMGTPEZY";
    double value = 0, place = 1;
    size_t digits = 0;
    for (; text->start < text->end && ascii_is_digit(*text->start); text->start++, digits++)
        value = value * 10 + (*text->start - '0');
    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    if (text->start + 1 < text->end && text->start[0] == '.' && ascii_is_digit(text->start[1]))
        for (text->start++;
             text->start < text->end && ascii_is_digit(*text->start) && digits < DIGITS_MAX;
             text->start++, digits++)
            value += (*text->start - '0') * (place /= 10);
    const char *prefix =
        text->start < text->end && *text->start ? strchr(prefixes, *text->start) : NULL;
    if (prefix) {
        value *= pow(1000, (double)(prefix - prefixes + 1));
        text->start++;
    }
    *out = value;
    return true;
}

/* "00:10" or "1:02:03"; returns the next character, or 0. */
static char skip_clock(const char *at, const char *end)
{
    size_t parts = 0;
    for (;;) {
        const char *from = at;
        while (at < end && ascii_is_digit(*at))
            at++;
        if (at == from || at == end || (parts > 0 && at - from != 2))
            return 0;
        parts++;
        if (*at != ':')
            return parts >= 2 && parts <= 3 ? *at : 0;
        at++;
    }
}

static void trim_end(struct span *text)
{
    while (text->end > text->start && text->end[-1] == ' ')
        text->end--;
}

/* The text before the counts: "Epoch 3: ". */
static void set_name(struct span text, struct bar *out)
{
    trim_end(&text);
    if (text.end > text.start && text.end[-1] == ':')
        text.end--;
    trim_end(&text);
    while (text.start < text.end && *text.start == ' ')
        text.start++;
    utf8_copy_legible(text.start, (size_t)(text.end - text.start), out->name, sizeof out->name);
    for (char *tab = out->name; (tab = strchr(tab, '\t'));)
        *tab = ' ';
}

/* Cuts " 45%" off the end of text. */
static bool parse_percent(struct span *text, double *out)
{
    if (text->end == text->start || text->end[-1] != '%')
        return false;
    const char *end = text->end - 1, *at = end;
    while (at > text->start && end - at < 3 && ascii_is_digit(at[-1]))
        at--;
    struct span number = {at, end};
    text->end = at;
    return read_count(&number, out) && number.start == end;
}

/* "desc:  45%|####      | 45/100 ". */
static bool read_total(struct span head, struct span counts, struct bar *out)
{
    double total, percent;
    if (!read_count(&counts, &out->done) || counts.start == counts.end || *counts.start++ != '/' ||
        !read_count(&counts, &total) || counts.start != counts.end || total <= 0 ||
        out->done > total)
        return false;
    trim_end(&head);
    if (head.end > head.start && head.end[-1] == '|') {
        const char *open = head.end - 1;
        while (open > head.start && !(*--open == '|' && open > head.start && open[-1] == '%'))
            ;
        head.end = open;
    }
    if (!parse_percent(&head, &percent) || fabs(100 * out->done / total - percent) > PERCENT_SLACK)
        return false;
    out->total = (struct reading){total, true};
    set_name(head, out);
    return true;
}

/* "desc: 45it ", with a rate after the time. */
static bool read_open(struct span head, struct span counts, struct span times, struct bar *out)
{
    if (!read_count(&counts, &out->done) || counts.start == counts.end ||
        !memchr(times.start, '/', (size_t)(times.end - times.start)))
        return false;
    set_name(head, out);
    return true;
}

/* bracket: '[' of the times. */
static bool read_bar(struct span line, const char *bracket, struct bar *out)
{
    const char *close = memchr(bracket, ']', (size_t)(line.end - bracket));
    char behind = skip_clock(bracket + 1, line.end);
    struct span head = {line.start, bracket};
    trim_end(&head);
    if (!close || (behind != '<' && behind != ',') || head.end == bracket || head.end == head.start)
        return false;
    struct span counts = {head.end, head.end};
    while (counts.start > line.start && counts.start[-1] != ' ' && counts.start[-1] != '|')
        counts.start--;
    head.end = counts.start;
    *out = (struct bar){0};
    return behind == '<' ? read_total(head, counts, out)
                         : read_open(head, counts, (struct span){bracket, close}, out);
}

bool bar_parse(const char *line, size_t length, struct bar *out)
{
    char text[LINE_MAX_BYTES];
    if (length > sizeof text || !memchr(line, '[', length))
        return false;
    struct span all = {text, text + strip(line, length, text)};
    for (const char *at = all.start; (at = memchr(at, '[', (size_t)(all.end - at))); at++)
        if (read_bar(all, at, out))
            return true;
    return false;
}

/* Ignores digits. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (ascii_is_digit(*a))
            a++;
        while (ascii_is_digit(*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

static bool same_bar(const struct bar *a, const struct bar *b)
{
    return a->total.valid == b->total.valid &&
           (!a->total.valid || a->total.value == b->total.value) && same_name(a->name, b->name);
}

static size_t find_bar_place(struct bars *bars, const struct bar *bar)
{
    size_t oldest = 0;
    for (size_t i = 0; i < bars->count; i++) {
        if (same_bar(&bars->items[i], bar))
            return i;
        if (bars->drawn[i] < bars->drawn[oldest])
            oldest = i;
    }
    if (bars->count < BARS_MAX)
        return bars->count++;
    /* Keeps the order of appearance. */
    for (size_t i = oldest; i + 1 < BARS_MAX; i++) {
        bars->items[i] = bars->items[i + 1];
        memcpy(bars->first[i], bars->first[i + 1], sizeof bars->first[i]);
        bars->restarts[i] = bars->restarts[i + 1];
        bars->drawn[i] = bars->drawn[i + 1];
    }
    bars->drawn[BARS_MAX - 1] = 0;
    return BARS_MAX - 1;
}

void bars_update(struct bars *bars, const char *line, size_t length)
{
    struct bar bar;
    if (!bar_parse(line, length, &bar))
        return;
    size_t place = find_bar_place(bars, &bar);
    struct bar *item = &bars->items[place];
    bool is_new = bars->drawn[place] == 0;
    if (!is_new && item->done == bar.done && strcmp(item->name, bar.name) == 0)
        return;
    bars->restarts[place] = is_new ? 0 : bars->restarts[place] + (bar.done < item->done);
    if (is_new)
        memcpy(bars->first[place], bar.name, sizeof bar.name);
    *item = bar;
    bars->latest = place;
    bars->drawn[place] = ++bars->changes;
}
