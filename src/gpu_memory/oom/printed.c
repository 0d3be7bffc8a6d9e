#include "gpu_memory/oom/printed.h"
#include "gpu_memory/oom/line.h"

#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { FIGURES_MAX = 8, NUMBER_MAX = 24, CALL_MAX = 24 };

/* Allocated memory that varies by less is level. */
static const double LEVEL_BYTES = 64.0 * 1048576, LEVEL_SHARE = 0.05;

/* From here on a number without a unit is one of bytes. */
static const double BYTES_LEAST = 1e6;

enum kind { KIND_ALLOCATED, KIND_RESERVED, KIND_PEAK, KIND_IGNORED };

struct figure {
    enum kind kind;
    double number;
    double unit; /* 0: not printed */
};

struct line {
    const char *text;
    size_t length;
    size_t used; /* up to here the figures are read */
};

static bool has_word_at(const struct line *line, size_t at, const char *word)
{
    size_t length = strlen(word);
    return at + length <= line->length && strncasecmp(line->text + at, word, length) == 0;
}

/* The unit at byte at: how long its name is; 0: there is none. */
static size_t read_unit(const struct line *line, size_t at, double *unit)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {
        {"bytes", 1},
        {"kib", 1024},
        {"mib", 1048576},
        {"gib", 1073741824},
        {"tib", 1099511627776},
        {"kb", 1024},
        {"mb", 1048576},
        {"gb", 1073741824},
        {"tb", 1099511627776},
        {"k", 1024},
        {"m", 1048576},
        {"g", 1073741824},
        {"b", 1},
    };
    EACH_OF (row, units) {
        size_t end = at + strlen(row->name);
        if (!has_word_at(line, at, row->name) ||
            (end < line->length && isalpha((unsigned char)line->text[end])))
            continue;
        *unit = row->bytes;
        return strlen(row->name);
    }
    return 0;
}

/* What programs divide bytes by: "/ 1024**2", "/1e9", ">> 20". */
static size_t read_divisor(const struct line *line, size_t at, double *unit)
{
    static const struct {
        const char *text;
        double bytes;
    } divisors[] = {
        {"1024**2", 1048576},
        {"1024**3", 1073741824},
        {"1024 ** 2", 1048576},
        {"1024 ** 3", 1073741824},
        {"1024/1024/1024", 1073741824},
        {"1024/1024", 1048576},
        {"2**20", 1048576},
        {"2**30", 1073741824},
        {"1e6", 1e6},
        {"1e9", 1e9},
        {"20", 1048576},
        {"30", 1073741824},
    };
    size_t i = at + (has_word_at(line, at, "/") ? 1 : has_word_at(line, at, ">>") ? 2 : 0);
    while (i > at && i < line->length && line->text[i] == ' ')
        i++;
    EACH_OF (row, divisors)
        if (i > at && has_word_at(line, i, row->text)) {
            *unit = row->bytes;
            return i - at + strlen(row->text);
        }
    return 0;
}

static size_t read_printed_number(const struct line *line, size_t at, double *number)
{
    double place = 1;
    size_t i = at;
    bool point = false;
    *number = 0;
    for (; i < line->length && i - at < NUMBER_MAX; i++) {
        char c = line->text[i];
        bool inside = i > at && i + 1 < line->length && isdigit((unsigned char)line->text[i + 1]);
        if (isdigit((unsigned char)c)) {
            place /= point ? 10 : 1;
            *number = point ? *number + (c - '0') * place : *number * 10 + (c - '0');
        } else if (c == '.' && !point && inside) {
            point = true;
        } else if (c != ',' || point || !inside) {
            break;
        }
    }
    return i - at;
}

static size_t skip_line_blanks(const struct line *line, size_t i)
{
    while (i < line->length && (line->text[i] == ' ' || line->text[i] == '\t'))
        i++;
    return i;
}

/* What may be between a name and its figure: "memory", "()", "(MB):", "_gb =", " / 1024**2=",
 * "|". */
static size_t skip_to_number(const struct line *line, size_t i, double *unit)
{
    static const char *const words[] = {"memory", "gpu", "\xef\xbc\x9a" /* a wide colon */};
    size_t before = SIZE_MAX;
    while (before != i) {
        before = i;
        while (i < line->length && line->text[i] && strchr(" \t:=|~'\"_[", line->text[i]))
            i++;
        EACH_OF (word, words)
            i += has_word_at(line, i, *word) ? strlen(*word) : 0;
        i += read_divisor(line, i, unit);
        i += read_unit(line, i, unit);
        const char *close = has_word_at(line, i, "(") && line->length - i > 1
                                ? memchr(line->text + i, ')',
                                         line->length - i < CALL_MAX ? line->length - i : CALL_MAX)
                                : NULL;
        if (close) {
            read_unit(line, i + 1, unit);
            i = (size_t)(close - line->text) + 1;
        }
    }
    return i;
}

static bool read_behind(struct line *line, size_t at, struct figure *out)
{
    size_t i = skip_to_number(line, at, &out->unit);
    size_t digits = read_printed_number(line, i, &out->number);
    if (digits == 0)
        return false;
    i += digits;
    size_t unit = skip_line_blanks(line, i), length = read_unit(line, unit, &out->unit);
    line->used = length > 0 ? unit + length : i;
    return true;
}

/* "1234 MB allocated": only with a unit, and not of the figure before. */
static bool read_before(struct line *line, size_t at, struct figure *out)
{
    size_t end = at, i;
    while (end > line->used && line->text[end - 1] == ' ')
        end--;
    for (i = end; i > line->used && isalpha((unsigned char)line->text[i - 1]);)
        i--;
    if (i == end || read_unit(line, i, &out->unit) != end - i)
        return false;
    while (i > line->used && line->text[i - 1] == ' ')
        i--;
    const size_t number_end = i;
    while (i > line->used &&
           (isdigit((unsigned char)line->text[i - 1]) || line->text[i - 1] == '.'))
        i--;
    bool is_part = i > line->used && line->text[i - 1] == ',';
    return number_end > i && !is_part &&
           read_printed_number(line, i, &out->number) == number_end - i;
}

/* "max_memory_allocated", "Peak GPU memory allocated": nothing but words in between. */
static bool is_peak(const struct line *line, size_t at)
{
    size_t i = at;
    while (i > line->used && (isalpha((unsigned char)line->text[i - 1]) ||
                              strchr("_. \t", line->text[i - 1]) || line->text[i - 1] & 0x80))
        i--;
    for (; i < at; i++)
        if (has_word_at(line, i, "max") || has_word_at(line, i, "peak") ||
            has_word_at(line, i, "\xe5\xb3\xb0\xe5\x80\xbc" /* peak, in Chinese */))
            return true;
    return false;
}

static const struct name {
    const char *text;
    enum kind kind;
} names[] = {
    {"allocated", KIND_ALLOCATED},
    {"alloc", KIND_ALLOCATED},
    {"reserved", KIND_RESERVED},
    {"cached", KIND_RESERVED}, /* memory_cached() of PyTorch before 1.4 */
    {"max mem:", KIND_PEAK},   /* MetricLogger of torchvision's references, in MiB */
    {"\xe5\xb7\xb2\xe5\x88\x86\xe9\x85\x8d", KIND_ALLOCATED}, /* Chinese for allocated */
    {"\xe5\xb7\xb2\xe4\xbf\x9d\xe7\x95\x99", KIND_RESERVED},
    {"\xe5\xb7\xb2\xe9\xa2\x84\xe7\x95\x99", KIND_RESERVED},
    {"\xe5\xb7\xb2\xe7\xbc\x93\xe5\xad\x98", KIND_RESERVED},
};

static const struct name *name_at(const struct line *line, size_t i)
{
    EACH_OF (name, names)
        if (has_word_at(line, i, name->text))
            return name;
    return NULL;
}

static size_t read_figures(struct line *line, struct figure figures[FIGURES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < line->length && count < FIGURES_MAX; i++) {
        const struct name *name = name_at(line, i);
        if (!name)
            continue;
        struct figure figure = {.kind = name->kind, .unit = name->kind == KIND_PEAK ? 1048576 : 0};
        if (name->kind != KIND_PEAK && is_peak(line, i))
            figure.kind = name->kind == KIND_ALLOCATED ? KIND_PEAK : KIND_IGNORED;
        if (!read_before(line, i, &figure) && !read_behind(line, i + strlen(name->text), &figure))
            continue;
        figures[count++] = figure;
        if (line->used < i + strlen(name->text))
            line->used = i + strlen(name->text);
        i = line->used - 1;
    }
    return count;
}

static struct printed_epoch *epoch_of(struct printed *printed, int64_t number)
{
    struct printed_epoch *last = printed->count ? &printed->epochs[printed->count - 1] : NULL;
    if (last && last->number == number)
        return last;
    if (last && number < last->number)
        printed->count = 0;
    if (printed->count == GROWTH_POINTS_MAX)
        memmove(printed->epochs, printed->epochs + 1, --printed->count * sizeof *printed->epochs);
    printed->epochs[printed->count] = (struct printed_epoch){.number = number};
    return &printed->epochs[printed->count++];
}

void printed_read(struct printed *printed, int64_t epoch, const char *text, size_t length)
{
    static const char *const words[] = {
        "lloc", "LLOC", "max mem:", "eserved", "ached", "\xe5\xb7\xb2"};
    static const char *const messages[] = {
        "PyTorch",          "nallocated",         "already allocated",
        "ried to allocate", "urrently allocated", "rivate pools"};
    struct line line = {.text = text, .length = length};
    struct figure figures[FIGURES_MAX];
    if (epoch < 0 || !phrase_may_hold(text, length, words, sizeof words / sizeof *words) ||
        phrase_may_hold(text, length, messages, sizeof messages / sizeof *messages))
        return;
    size_t count = read_figures(&line, figures);
    double unit = 0, bytes[KIND_IGNORED + 1] = {0};
    for (size_t i = count; i-- > 0;) {
        unit = figures[i].unit > 0 ? figures[i].unit : unit;
        bool is_bytes = figures[i].unit <= 0 && figures[i].number >= BYTES_LEAST;
        double *value = &bytes[figures[i].kind];
        *value = fmax(*value, round(figures[i].number * (is_bytes ? 1 : unit)));
    }
    bool counts = bytes[KIND_ALLOCATED] > 0 || bytes[KIND_PEAK] > 0;
    bool is_known = printed->count > 0 && printed->epochs[printed->count - 1].number == epoch;
    /* What is reserved may be in a line of its own. */
    if (!counts && !is_known)
        return;
    struct printed_epoch *of = epoch_of(printed, epoch);
    of->prints += counts;
    of->allocated = fmax(of->allocated, bytes[KIND_ALLOCATED]);
    of->reserved = fmax(of->reserved, bytes[KIND_RESERVED]);
    of->peak = fmax(of->peak, bytes[KIND_PEAK]);
}

const char *printed_trend_name(enum printed_trend trend)
{
    static const char *const texts[] = {"short", "rising", "level", "unclear"};
    return texts[trend];
}

/* The first epoch of several is warm-up, as in growth_of. */
static bool is_level(const double *values, size_t count)
{
    size_t from = count > GROWTH_EPOCHS_LEAST;
    double least = values[from], most = values[from];
    for (size_t i = from; i < count; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return most - least <= fmax(LEVEL_BYTES, LEVEL_SHARE * most);
}

struct printed_memory printed_summary(const struct printed *printed)
{
    struct printed_memory out = {0};
    double allocated[GROWTH_POINTS_MAX], peaks[GROWTH_POINTS_MAX];
    size_t count = printed->count, with_allocated = 0, with_peak = 0;
    const struct printed_epoch *epochs = printed->epochs;
    if (count > 1 && epochs[count - 1].prints < epochs[count - 2].prints)
        count--;
    for (size_t i = 0; i < count; i++) {
        allocated[i] = epochs[i].allocated;
        peaks[i] = epochs[i].peak;
        with_allocated += allocated[i] > 0;
        with_peak += peaks[i] > 0;
    }
    out.of_peaks = with_allocated < count;
    if (count == 0 || (out.of_peaks && with_peak < count))
        return out;
    const double *values = out.of_peaks ? peaks : allocated;
    const struct printed_epoch *first = &epochs[0], *last = &epochs[count - 1];
    out.epochs = count;
    out.first_epoch = first->number;
    out.last_epoch = last->number;
    out.growth = growth_of(values, count, 0);
    if (out.growth.grows)
        out.growth.bytes_per_epoch *=
            (double)(count - 1) / (double)(out.last_epoch - out.first_epoch);
    out.allocated_first = values[0];
    out.allocated_last = values[count - 1];
    out.reserved_first = last->reserved > 0 ? first->reserved : 0;
    out.reserved_last = last->reserved;
    out.unused_last = fmax(0, last->reserved - fmax(last->allocated, last->peak));
    out.trend = count < GROWTH_EPOCHS_LEAST ? PRINTED_SHORT
                : out.growth.grows          ? PRINTED_RISING
                : is_level(values, count)   ? PRINTED_LEVEL
                                            : PRINTED_UNCLEAR;
    return out;
}
