#include "run/log/words.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>
#include <strings.h>

/* The program survived earlier errors. */
#define LINES_HEEDED 32

static const char traceback[] = "Traceback (most recent call last)";

/* Case-insensitive, also inside words (ValueError). A following number makes it a measurement
 * ("error: 0.02"). */
static const char *const complaints[] = {
    "error",     "exception", "out of memory",      "fatal",   "panic",
    "abort",     "killed",    "assertion",          "cannot ", "can't ",
    "could not", "unable to", "invalid ",           "failed",  "not found",
    "no such",   "denied",    "segmentation fault", NULL,
};

struct line_span {
    const char *start;
    size_t length;
};

void tail_add(struct tail *tail, const char *bytes, size_t count)
{
    if (count > WORDS_TAIL) {
        bytes += count - WORDS_TAIL;
        count = WORDS_TAIL;
    }
    size_t first = count < WORDS_TAIL - tail->at ? count : WORDS_TAIL - tail->at;
    memcpy(tail->bytes + tail->at, bytes, first);
    memcpy(tail->bytes, bytes + first, count - first);
    tail->at = (tail->at + count) % WORDS_TAIL;
    tail->used = tail->used + count < WORDS_TAIL ? tail->used + count : WORDS_TAIL;
}

/* Counted by \n. */
static uint64_t lines_before(const char *text, const char *place)
{
    uint64_t lines = place > text && place[-1] != '\n';
    for (const char *at = text; at < place && (at = memchr(at, '\n', (size_t)(place - at))); at++)
        lines++;
    return lines;
}

void tail_words(const struct tail *tail, uint64_t lines, struct joblog_words *out)
{
    AUTO_FREE char *text = mem_alloc(WORDS_TAIL);
    size_t oldest = tail->used < WORDS_TAIL ? 0 : tail->at;
    memcpy(text, tail->bytes + oldest, tail->used - oldest);
    memcpy(text + tail->used - oldest, tail->bytes, oldest);
    words_pick(text, tail->used, out);
    if (out->kind != JOBLOG_WORDS_NONE)
        out->line += lines - lines_before(text, text + tail->used);
}

static bool is_line_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\0';
}

static struct line_span trimmed(struct line_span line)
{
    while (line.length && is_line_blank(line.start[line.length - 1]))
        line.length--;
    for (; line.length && is_line_blank(*line.start); line.length--)
        line.start++;
    return line;
}

/* Moves *end to the previous line. False: none left. */
static bool find_line_before(const char *text, size_t *end, struct line_span *out)
{
    size_t start = *end;
    if (start == 0)
        return false;
    while (start > 0 && text[start - 1] != '\n' && text[start - 1] != '\r')
        start--;
    *out = (struct line_span){text + start, *end - start};
    *end = start > 0 ? start - 1 : 0;
    return true;
}

static bool is_measured(const char *after, const char *end)
{
    while (after < end && strchr("s:=( \t-+", *after) && *after)
        after++;
    return after < end && ((*after >= '0' && *after <= '9') || *after == '.');
}

static bool complains(struct line_span line)
{
    const char *end = line.start + line.length;
    for (size_t i = 0; complaints[i]; i++) {
        size_t length = strlen(complaints[i]);
        for (const char *at = line.start; at + length <= end; at++)
            if (strncasecmp(at, complaints[i], length) == 0 && !is_measured(at + length, end))
                return true;
    }
    return false;
}

/* \r\n is one. */
static size_t end_length(const char *at, const char *end)
{
    if (at[0] == '\r')
        return at + 1 < end && at[1] == '\n' ? 2 : 1;
    return at[0] == '\n';
}

/* The first line after at with the prefix and no blank after it. repeated: some line has the
 * prefix. */
static bool find_unindented(const char *at, const char *end, struct line_span prefix,
                            bool *repeated, struct line_span *out)
{
    *repeated = false;
    while (at < end) {
        at += end_length(at, end);
        size_t length = 0;
        while (at + length < end && at[length] != '\n' && at[length] != '\r')
            length++;
        bool same = length > prefix.length && memcmp(at, prefix.start, prefix.length) == 0;
        *repeated |= same;
        if (same && !is_line_blank(at[prefix.length])) {
            *out = trimmed((struct line_span){at + prefix.length, length - prefix.length});
            return true;
        }
        at += length;
    }
    return false;
}

/* A traceback's head, indented lines, then the exception. Launchers prefix each line; the rest of a
 * progress bar is before the head only. */
static bool find_exception(struct line_span head, const char *end, struct line_span *out)
{
    const char *mark = memmem(head.start, head.length, traceback, sizeof traceback - 1);
    if (!mark)
        return false;
    const char *behind = head.start + head.length;
    struct line_span prefix = {head.start, (size_t)(mark - head.start)}, none = {head.start, 0};
    bool repeated;
    return find_unindented(behind, end, prefix, &repeated, out) ||
           (!repeated && find_unindented(behind, end, none, &repeated, out));
}

static void keep_error_line(const char *text, struct line_span line, enum joblog_words_kind kind,
                            struct joblog_words *out)
{
    out->kind = kind;
    out->line = lines_before(text, line.start + line.length);
    utf8_copy_legible(line.start, line.length, out->text, sizeof out->text);
}

void words_pick(const char *text, size_t length, struct joblog_words *out)
{
    struct line_span line, exception;
    size_t end = length, seen = 0;
    *out = (struct joblog_words){.kind = JOBLOG_WORDS_NONE};
    while (find_line_before(text, &end, &line)) {
        struct line_span words = trimmed(line);
        if (words.length == 0)
            continue;
        bool heeded = seen++ < LINES_HEEDED;
        if (out->kind == JOBLOG_WORDS_NONE)
            keep_error_line(text, words, JOBLOG_WORDS_LINE, out);
        if (heeded && out->kind == JOBLOG_WORDS_LINE && complains(words))
            keep_error_line(text, words, JOBLOG_WORDS_COMPLAINT, out);
        /* Only its end must be near. */
        if (!find_exception(line, text + length, &exception))
            continue;
        size_t behind = 0, at = length;
        while (find_line_before(text, &at, &line) && line.start > exception.start)
            behind += trimmed(line).length > 0;
        if (behind < LINES_HEEDED)
            keep_error_line(text, exception, JOBLOG_WORDS_EXCEPTION, out);
        return;
    }
}
