#include "base/utf8.h"

#include "base/mem.h"

#include <string.h>

static bool continues(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

size_t utf8_length(const char *at, size_t left)
{
    static const struct {
        unsigned char lead_min, lead_max, next_min, next_max;
        size_t length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *bytes = (const unsigned char *)at;
    if (bytes[0] < 0x80)
        return 1;
    EACH_OF (form, forms) {
        if (bytes[0] < form->lead_min || bytes[0] > form->lead_max || form->length > left)
            continue;
        if (bytes[1] < form->next_min || bytes[1] > form->next_max)
            return 0;
        for (size_t k = 2; k < form->length; k++)
            if (!continues(at[k]))
                return 0;
        return form->length;
    }
    return 0;
}

bool utf8_is_valid(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint64_t word;
        if (count - i >= sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof word;
                continue;
            }
        }
        size_t length = utf8_length(bytes + i, count - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t utf8_count(const char *bytes, size_t count)
{
    size_t characters = 0;
    EACH (byte, bytes, count)
        characters += !continues(*byte);
    return characters;
}

size_t utf8_cut(const char *bytes, size_t count, size_t most)
{
    if (count <= most)
        return count;
    while (most > 0 && continues(bytes[most]))
        most--;
    return most;
}

struct range {
    uint32_t first, last;
};

/* Unicode 15: East Asian Width W and F, in coarse blocks; and what is drawn over the character
 * before it. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
static const struct range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x064B, 0x065F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},   {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};
/* C0; DEL and C1; Arabic letter mark; what has no width; marks, line ends and embeddings, isolates
 * of direction; the byte order mark. */
static const struct range never_shown[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C}, {0x200B, 0x200B},
    {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF},
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
    EACH (item, ranges, count)
        if (code >= item->first && code <= item->last)
            return true;
    return false;
}

struct utf8_step utf8_step(const char *at, size_t left)
{
    struct utf8_step step = {.length = utf8_length(at, left)};
    if (step.length == 0)
        return (struct utf8_step){.length = 1};
    unsigned char lead = (unsigned char)*at;
    step.code = step.length == 1 ? lead : lead & (0xFFU >> (step.length + 1));
    for (size_t i = 1; i < step.length; i++)
        step.code = step.code << 6 | ((unsigned char)at[i] & 0x3FU);
    step.shown = !in_ranges(never_shown, sizeof never_shown / sizeof *never_shown, step.code);
    return step;
}

/* step: each in turn, at bytes + i. */
#define EACH_STEP(step, bytes, i, count)                                                 \
    for (size_t i = 0; i < (count) && (step = utf8_step((bytes) + i, (count)-i)).length; \
         i += step.length)

bool utf8_is_printable(const char *bytes, size_t count)
{
    struct utf8_step step;
    EACH_STEP(step, bytes, i, count)
    if (!step.shown)
        return false;
    return true;
}

bool utf8_has_control(const char *s)
{
    struct utf8_step step;
    const size_t count = strlen(s);
    EACH_STEP(step, s, i, count)
    if (step.code > 0 && (step.code < 0x20 || (step.code >= 0x7F && step.code < 0xA0)))
        return true;
    return false;
}

static bool is_kept(struct utf8_step step, const char *kept)
{
    return step.code > 0 && step.code < 0x80 && strchr(kept, (int)step.code);
}

void utf8_add_printable(const char *bytes, size_t count, const char *kept, struct text *out)
{
    struct utf8_step step;
    EACH_STEP(step, bytes, i, count)
    {
        if (step.shown || is_kept(step, kept))
            text_add_bytes(out, bytes + i, step.length);
        else
            text_add_char(out, '?');
    }
}

void utf8_make_printable(char *s, const char *kept)
{
    AUTO_TEXT struct text out = {0};
    utf8_add_printable(s, strlen(s), kept, &out);
    memcpy(s, text_get(&out), out.length + 1);
}

char *utf8_line(const char *s)
{
    struct text out = {0};
    utf8_add_printable(s, strlen(s), "", &out);
    return text_take(&out);
}

void utf8_add_words(const char *bytes, size_t count, struct text *out)
{
    size_t from = out->length;
    utf8_add_printable(bytes, count, "\t\n\v\f\r", out);
    for (size_t i = from; i < out->length; i++)
        if ((unsigned char)out->data[i] < ' ')
            out->data[i] = ' ';
}

char *utf8_quoted(const char *s, size_t most)
{
    struct text out = {0};
    size_t length = utf8_cut(s, strlen(s), most);
    utf8_add_printable(s, length, "", &out);
    if (s[length])
        text_add(&out, "...");
    return text_take(&out);
}

char *utf8_last_line(const char *s, size_t length, size_t most)
{
    const char *end = s + length, *at;
    while (end > s && strchr(" \t\r\n", end[-1]))
        end--;
    for (at = end; at > s && at[-1] != '\n'; at--)
        continue;
    AUTO_TEXT struct text line = {0};
    text_add_bytes(&line, at, (size_t)(end - at));
    return utf8_quoted(text_get(&line), most);
}

void utf8_copy_legible(const char *bytes, size_t count, char *out, size_t size)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t used = 0;
    struct utf8_step step;
    EACH_STEP(step, bytes, i, count)
    {
        bool good = step.shown || is_kept(step, "\t");
        const char *from = good ? bytes + i : replacement;
        size_t adds = good ? step.length : sizeof replacement - 1;
        if (used + adds >= size)
            break;
        memcpy(out + used, from, adds);
        used += adds;
    }
    out[used] = '\0';
}

static size_t step_columns(struct utf8_step step)
{
    if (!step.shown)
        return 1;
    if (in_ranges(combining, sizeof combining / sizeof *combining, step.code))
        return 0;
    return in_ranges(wide, sizeof wide / sizeof *wide, step.code) ? 2 : 1;
}

size_t utf8_columns(const char *s)
{
    size_t columns = 0;
    const size_t count = strlen(s);
    struct utf8_step step;
    EACH_STEP(step, s, i, count)
    columns += step_columns(step);
    return columns;
}

size_t utf8_fit(const char *s, size_t columns, struct text *out)
{
    const size_t count = strlen(s);
    size_t used = 0, end = 0;
    struct utf8_step step;
    EACH_STEP(step, s, i, count)
    {
        if (used + step_columns(step) > columns)
            break;
        used += step_columns(step);
        end = i + step.length;
    }
    utf8_add_printable(s, end, "", out);
    return used;
}
