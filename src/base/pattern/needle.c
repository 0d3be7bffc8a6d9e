#include "base/pattern/pattern.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

/* A reader of the part of PCRE2's syntax that log patterns use. It looks for consumed literals only: assertions,
 * classes and optional parts are passed over, since leaving a condition out keeps "every match holds one of these"
 * true. */
struct reader {
    const char *at;
    bool lost; /* met what it does not know: no needles at all */
};

enum item_kind { ITEM_LITERAL, ITEM_GROUP, ITEM_OTHER };

struct item {
    enum item_kind kind;
    const char *bytes; /* of a literal: one character */
    size_t length;
    struct needles needles; /* of a group */
};

static void read_alternatives(struct reader *reader, struct needles *out);

static size_t shortest(const struct needles *needles)
{
    size_t length = 0;
    for (size_t i = 0; i < needles->count; i++)
        if (i == 0 || needles->items[i].length < length)
            length = needles->items[i].length;
    return length;
}

static void keep_better(struct needles *best, const struct needles *other)
{
    size_t had = shortest(best), has = shortest(other);
    if (has > had || (has == had && other->count < best->count))
        *best = *other;
}

/* The run of literals ends here: it is one candidate. */
static void close_run(struct needle *run, struct needles *best)
{
    if (run->length) {
        struct needles one = {.count = 1, .items = {*run}};
        keep_better(best, &one);
    }
    run->length = 0;
}

static void append(struct needle *run, const char *bytes, size_t length, struct needles *best)
{
    if (run->length + length > sizeof run->bytes)
        close_run(run, best);
    memcpy(run->bytes + run->length, bytes, length);
    run->length += length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_class(struct reader *reader)
{
    const char *at = reader->at + 1;
    if (*at == '^')
        at++;
    if (*at == ']')
        at++;
    while (*at && *at != ']') {
        if (*at == '[' && at[1] && strchr(":.=", at[1]))
            break;
        if (*at == '\\' && (!at[1] || strchr("QEc", at[1])))
            break;
        at += *at == '\\' ? 2 : 1;
    }
    reader->lost = *at != ']';
    reader->at = at + 1;
}

static void read_escape(struct reader *reader, struct item *item)
{
    char c = reader->at[1];
    if (c && (unsigned char)c < 0x80 && !isalnum((unsigned char)c)) {
        *item = (struct item){.kind = ITEM_LITERAL, .bytes = reader->at + 1, .length = 1};
    } else {
        /* classes, single control characters and assertions; the rest takes operands or refers to groups */
        reader->lost = !c || !strchr("dDwWsShHvVRXNbBAZzGKtnrfea", c) || (c == 'N' && reader->at[2] == '{');
        item->kind = ITEM_OTHER;
    }
    reader->at += 2;
}

/* What follows "(?": how much of it opens a group, 0 when unknown. */
static size_t group_opening(const char *at, bool *consumes, bool *only_flags)
{
    *consumes = true;
    *only_flags = false;
    if (*at == ':' || *at == '>')
        return 1;
    *consumes = false;
    if (*at == '=' || *at == '!')
        return 1;
    if (*at == '<' && (at[1] == '=' || at[1] == '!'))
        return 2;
    *consumes = true;
    size_t name = *at == 'P' && at[1] == '<' ? 2 : *at == '<' || *at == '\'' ? 1 : 0;
    if (name) {
        char close = at[name - 1] == '\'' ? '\'' : '>';
        const char *end = strchr(at + name, close);
        return end ? (size_t)(end - at) + 1 : 0;
    }
    size_t flags = strspn(at, "sm-"); /* neither changes what a literal is */
    *only_flags = flags && at[flags] == ')';
    return flags && (at[flags] == ')' || at[flags] == ':') ? flags + 1 : 0;
}

static void read_group(struct reader *reader, struct item *item)
{
    bool consumes = true, only_flags = false;
    reader->at++;
    if (*reader->at == '*') {
        reader->lost = true;
        return;
    }
    if (*reader->at == '?') {
        size_t opening = group_opening(reader->at + 1, &consumes, &only_flags);
        reader->lost = opening == 0;
        reader->at += 1 + opening;
    }
    item->kind = ITEM_OTHER;
    if (reader->lost || only_flags)
        return;
    read_alternatives(reader, &item->needles);
    if (*reader->at != ')')
        reader->lost = true;
    else
        reader->at++;
    if (consumes)
        item->kind = ITEM_GROUP;
}

static void read_item(struct reader *reader, struct item *item)
{
    memset(item, 0, sizeof *item);
    item->kind = ITEM_OTHER;
    switch (*reader->at) {
    case '(':
        read_group(reader, item);
        break;
    case '[':
        skip_class(reader);
        break;
    case '\\':
        read_escape(reader, item);
        break;
    case '.':
    case '^':
    case '$':
        reader->at++;
        break;
    case '*':
    case '+':
    case '?':
    case '{': /* as a literal or as a quantifier: versions of PCRE2 differ */
        reader->lost = true;
        break;
    default:
        *item = (struct item){.kind = ITEM_LITERAL, .bytes = reader->at, .length = utf8_length(reader->at, 4)};
        item->length += item->length == 0; /* of bytes that are no UTF-8, which no pattern has */
        reader->at += item->length;
    }
}

/* {n}, {n,} or {n,m} */
static void read_braces(struct reader *reader, bool *optional)
{
    const char *at = reader->at + 1;
    const char *digits = at;
    *optional = true;
    for (; is_digit(*at); at++)
        if (*at != '0')
            *optional = false;
    if (at == digits)
        reader->lost = true;
    if (*at == ',')
        for (at++; is_digit(*at); at++)
            ;
    if (*at != '}')
        reader->lost = true;
    else
        at++;
    reader->at = at;
}

/* True when there is a quantifier; optional: it allows none at all. */
static bool read_quantifier(struct reader *reader, bool *optional)
{
    char c = *reader->at;
    *optional = c == '*' || c == '?';
    if (c == '{')
        read_braces(reader, optional);
    else if (c && strchr("*+?", c))
        reader->at++;
    else
        return false;
    if (*reader->at == '?' || *reader->at == '+')
        reader->at++;
    if (*reader->at && strchr("*+?{", *reader->at))
        reader->lost = true;
    return true;
}

static void read_sequence(struct reader *reader, struct needles *best)
{
    struct needle run = {0};
    best->count = 0;
    while (!reader->lost && *reader->at && *reader->at != '|' && *reader->at != ')') {
        struct item item;
        read_item(reader, &item);
        if (reader->lost)
            return;
        bool optional, quantified = read_quantifier(reader, &optional);
        if (item.kind == ITEM_LITERAL && !optional)
            append(&run, item.bytes, item.length, best);
        if (item.kind != ITEM_LITERAL || quantified)
            close_run(&run, best);
        if (item.kind == ITEM_GROUP && !optional && item.needles.count)
            keep_better(best, &item.needles);
    }
    close_run(&run, best);
}

static void read_alternatives(struct reader *reader, struct needles *out)
{
    read_sequence(reader, out);
    while (!reader->lost && *reader->at == '|') {
        reader->at++;
        struct needles branch;
        read_sequence(reader, &branch);
        if (!out->count || !branch.count || out->count + branch.count > NEEDLE_MAX) {
            out->count = 0;
            continue;
        }
        memcpy(out->items + out->count, branch.items, branch.count * sizeof *branch.items);
        out->count += branch.count;
    }
}

void needles_read(const char *source, struct needles *out)
{
    struct reader reader = {.at = source};
    read_alternatives(&reader, out);
    if (reader.lost || *reader.at || shortest(out) < NEEDLE_LENGTH_MIN)
        out->count = 0;
}
