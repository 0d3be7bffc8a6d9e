/* What a joblog must find, computed the slow and obvious way: the whole log in memory, one byte
 * after the other into lines, every line against every pattern by PCRE2's interpreter. Shares no
 * code with joblog/ and pattern/. */
#ifndef TARE_TESTS_JOBLOG_REFERENCE_H
#define TARE_TESTS_JOBLOG_REFERENCE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reference {
    pcre2_code *code;
    pcre2_match_data *data;
    uint64_t matches, line;
    bool has_number;
    double number;
    bool error; /* PCRE2 gave up: nothing can be said */
};

/* A line also begins behind \r; its number is one more than the \n before it. */
struct reference_lines {
    uint64_t count;
    uint64_t *offsets, *numbers; /* where each begins */
    uint64_t newlines;
    bool open; /* the log does not end with \n */
};

static inline void reference_lines_fini(struct reference_lines *lines)
{
    free(lines->offsets);
    free(lines->numbers);
}

static inline bool reference_init(struct reference *reference, const char *source)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    memset(reference, 0, sizeof *reference);
    reference->code = pcre2_compile((PCRE2_SPTR)source, PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &offset, NULL);
    reference->data =
        reference->code ? pcre2_match_data_create_from_pattern(reference->code, NULL) : NULL;
    return reference->data != NULL;
}

static inline void reference_fini(struct reference *reference)
{
    pcre2_match_data_free(reference->data);
    pcre2_code_free(reference->code);
}

static inline bool reference_number(const char *text, size_t length, double *out)
{
    char copy[513];
    while (length && strchr(" \t\n\v\f\r", text[length - 1]) && text[length - 1])
        length--;
    for (; length && strchr(" \t\n\v\f\r", *text) && *text; length--)
        text++;
    if (length == 0 || length > 512)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    const char *word = copy + (*copy == '-' || *copy == '+');
    bool is_word =
        !strcasecmp(word, "nan") || !strcasecmp(word, "inf") || !strcasecmp(word, "infinity");
    if (!is_word && strspn(copy, "0123456789.eE+-") != length)
        return false;
    char *end = NULL;
    *out = strtod(copy, &end); /* tests never set a locale */
    return end == copy + length;
}

static inline void reference_line(struct reference *reference, const char *start, size_t length,
                                  uint64_t line)
{
    bool is_long = length > 65536;
    if (is_long)
        length = 65536;
    int result = pcre2_match(reference->code, (PCRE2_SPTR)start, length, 0, PCRE2_NO_JIT,
                             reference->data, NULL);
    if (result < 0) {
        reference->error |= result != PCRE2_ERROR_NOMATCH;
        return;
    }
    reference->matches++;
    reference->line = line;
    const PCRE2_SIZE *places = pcre2_get_ovector_pointer(reference->data);
    uint32_t group = 0;
    for (uint32_t i = 1; i < pcre2_get_ovector_count(reference->data) && group == 0; i++)
        if (places[2 * i] != PCRE2_UNSET)
            group = i;
    double number;
    bool is_cut = is_long && places[2 * group + 1] == length;
    if (places[2 * group] > places[2 * group + 1])
        return;
    const char *text = start + places[2 * group];
    size_t text_length = places[2 * group + 1] - places[2 * group];
    if (!is_cut && reference_number(text, text_length, &number)) {
        reference->has_number = true;
        reference->number = number;
        return;
    }
    for (size_t i = 0; i < text_length; i++)
        if (strchr("0123456789", text[i]) && text[i])
            reference->has_number = false;
}

static inline void reference_take_line(struct reference *references, size_t count,
                                       struct reference_lines *lines, const char *bytes,
                                       size_t start, size_t end)
{
    if ((lines->count & (lines->count + 1)) == 0) { /* room runs out at 0, 1, 3, 7 ... */
        lines->offsets = realloc(lines->offsets, (2 * lines->count + 1) * sizeof *lines->offsets);
        lines->numbers = realloc(lines->numbers, (2 * lines->count + 1) * sizeof *lines->numbers);
    }
    if (!lines->offsets || !lines->numbers)
        abort();
    lines->offsets[lines->count] = start;
    lines->numbers[lines->count++] = lines->newlines + 1;
    for (size_t i = 0; i < count; i++)
        reference_line(&references[i], bytes + start, end - start, lines->newlines + 1);
}

/* The caller calls reference_lines_fini. */
static inline struct reference_lines reference_run(struct reference *references, size_t count,
                                                   const char *bytes, size_t size)
{
    struct reference_lines lines = {0};
    size_t start = 0;
    for (size_t i = 0; i < count; i++)
        references[i] = (struct reference){.code = references[i].code, .data = references[i].data};
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r')
            continue;
        reference_take_line(references, count, &lines, bytes, start, i);
        if (bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n')
            i++;
        start = i + 1;
        lines.newlines += bytes[i] == '\n';
    }
    if (start < size)
        reference_take_line(references, count, &lines, bytes, start, size);
    lines.open = size > 0 && bytes[size - 1] != '\n';
    return lines;
}

static inline bool reference_same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

#endif
