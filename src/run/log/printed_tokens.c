#include "run/log/printed_tokens.h"

#include "base/ascii.h"

#include <string.h>
#include <strings.h>

/* Letters outside ASCII count. */
static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* ---- The text that a terminal would show, in ASCII where possible. */

static const struct {
    const char *sign, *plain;
} signs[] = {
    {"\u2212", "-"}, {"\u2192", "->"}, {"\u00b1", "~"}, {"\uff1a", ":"},
    {"\u2502", "|"}, {"\u2503", "|"},  {"\u2551", "|"},
};

/* Group digits in many languages. */
static const char *const narrow_blanks[] = {"\u00a0", "\u202f", "\u2009"};

static size_t find_sign(const char *at, size_t left, char plain[3])
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i].sign);
        if (left >= length && memcmp(at, signs[i].sign, length) == 0) {
            strcpy(plain, signs[i].plain);
            return length;
        }
    }
    for (size_t i = 0; i < sizeof narrow_blanks / sizeof *narrow_blanks; i++) {
        size_t length = strlen(narrow_blanks[i]);
        if (left >= length && memcmp(at, narrow_blanks[i], length) == 0) {
            strcpy(plain, left > length && ascii_is_digit(at[length]) ? "_" : " ");
            return length;
        }
    }
    /* Bars, bullets, arrows and emoji are not letters. */
    unsigned char lead = (unsigned char)*at;
    size_t length = lead == 0xC2 ? 2 : lead == 0xE2 ? 3 : lead >= 0xF0 ? 4 : 0;
    strcpy(plain, "~");
    return length <= left ? length : 0;
}

/* Drops control sequences (ECMA-48, 5.4); a backspace restarts the line. */
static void copy_shown_text(struct printed_line *out, const char *line, size_t length)
{
    size_t used = 0, at = 0;
    while (at < length && used + 2 < PRINTED_LINE_MAX) {
        char plain[3] = "";
        size_t sign =
            (unsigned char)line[at] >= 0x80 ? find_sign(line + at, length - at, plain) : 0;
        if (line[at] == '\033') {
            if (++at < length && line[at] == '[')
                for (at++; at < length && (line[at] < 0x40 || line[at] > 0x7E); at++)
                    ;
            at += at < length;
        } else if (line[at] == '\b') {
            used = 0;
            at++;
        } else if (sign) {
            if (*plain == '_' && (used == 0 || !ascii_is_digit(out->text[used - 1])))
                *plain = ' ';
            memcpy(out->text + used, plain, strlen(plain));
            used += strlen(plain);
            at += sign;
        } else {
            out->text[used++] = line[at] ? line[at] : ' ';
            at++;
        }
    }
    out->text[used] = '\0';
    out->length = used;
    out->is_cut |= at < length;
}

static struct printed_token *add_token(struct printed_line *line, enum printed_kind kind, size_t at,
                                       size_t length)
{
    if (line->token_count == PRINTED_TOKENS_MAX) {
        line->is_cut = true;
        return NULL;
    }
    struct printed_token *token = &line->tokens[line->token_count++];
    *token = (struct printed_token){.kind = kind, .at = (uint32_t)at, .length = (uint32_t)length};
    return token;
}

static bool is_named_number(const char *at, size_t length)
{
    return (length == 3 && (strncasecmp(at, "nan", 3) == 0 || strncasecmp(at, "inf", 3) == 0)) ||
           (length == 8 && strncasecmp(at, "infinity", 8) == 0);
}

static size_t printed_word_length(const char *at)
{
    size_t length = 0;
    for (;;) {
        char c = at[length], next = c ? at[length + 1] : '\0';
        bool is_top = length == 3 && strncasecmp(at, "top", 3) == 0;
        bool is_map = length == 5 && strncasecmp(at, "map50-95", 8) == 0;
        if (!is_word_byte(c) && !ascii_is_digit(c) && !(c == '@' && ascii_is_digit(next)) &&
            !is_map &&
            !(is_top && (c == '-' || c == '_' || c == ' ') && ascii_is_digit(next) &&
              !ascii_is_digit(at[length + 2])))
            return length;
        length++;
    }
}

/* Joined words, "val_loss/top1". Returns their end. */
static size_t add_word_tokens(struct printed_line *line, size_t at, size_t *first)
{
    *first = line->token_count;
    for (bool is_joined = false;; is_joined = true) {
        size_t length = printed_word_length(line->text + at);
        struct printed_token *token = add_token(line, TOKEN_WORD, at, length);
        if (token)
            token->is_joined = is_joined;
        at += length;
        size_t next = at;
        while (line->text[next] == '_')
            next++;
        if (next == at && line->text[at] && strchr("/.-", line->text[at]) &&
            is_word_byte(line->text[at + 1]))
            next = at + 1;
        if (next == at || printed_word_length(line->text + next) == 0)
            return next;
        at = next;
    }
}

/* Without the sign. */
static size_t printed_number_length(const char *at)
{
    size_t length = 0;
    while (ascii_is_digit(at[length]) ||
           (at[length] && strchr(".,_'", at[length]) && ascii_is_digit(at[length + 1])))
        length++;
    if (length && (at[length] == 'e' || at[length] == 'E')) {
        size_t sign = at[length + 1] == '-' || at[length + 1] == '+';
        size_t digits = strspn(at + length + 1 + sign, "0123456789");
        length += digits ? 1 + sign + digits : 0;
    }
    return length;
}

/* A number, a fraction, or a word that begins like one ("3it/s", a date). */
static size_t add_number_token(struct printed_line *line, size_t at, size_t sign)
{
    const char *text = line->text + at + sign;
    size_t length = printed_number_length(text), below = 0;
    enum printed_kind kind = TOKEN_NUMBER;
    if (text[length] == '/' && strspn(text, "0123456789") == length && !sign) {
        below = strspn(text + length + 1, "0123456789");
        kind = below ? TOKEN_FRACTION : TOKEN_OTHER;
        length += below ? 1 + below : 0;
    }
    char c = text[length], next = c ? text[length + 1] : '\0';
    if (is_word_byte(c) || c == '_' || c == '/' ||
        ((c == ':' || c == '-') && ascii_is_digit(next))) {
        kind = TOKEN_OTHER;
        while (is_word_byte(text[length]) || ascii_is_digit(text[length]) ||
               (text[length] && strchr("_/.:-%", text[length])))
            length++;
    }
    add_token(line, kind, at, sign + length);
    return at + sign + length;
}

static size_t add_next(struct printed_line *line, size_t at)
{
    const char *text = line->text + at;
    bool can_be_signed = at == 0 || strchr(" \t:=,([{|'\"", text[-1]);
    size_t sign = (*text == '-' || *text == '+') && can_be_signed;
    if (ascii_is_digit(text[sign]) || (text[sign] == '.' && ascii_is_digit(text[sign + 1])))
        return add_number_token(line, at, sign);
    if (sign && is_named_number(text + 1, printed_word_length(text + 1))) {
        add_token(line, TOKEN_NUMBER, at, 1 + printed_word_length(text + 1));
        return at + 1 + printed_word_length(text + 1);
    }
    if (is_word_byte(*text)) {
        size_t first, end = add_word_tokens(line, at, &first);
        struct printed_token *token = first < line->token_count ? &line->tokens[first] : NULL;
        if (token && first + 1 == line->token_count && is_named_number(text, token->length))
            token->kind = TOKEN_NUMBER;
        return end;
    }
    add_token(line, TOKEN_MARK, at, 1);
    return at + 1;
}

void printed_tokens_make(struct printed_line *line, const char *bytes, size_t length)
{
    size_t at = 0;
    line->token_count = 0;
    line->is_cut = false;
    copy_shown_text(line, bytes, length);
    while (at < line->length && line->token_count < PRINTED_TOKENS_MAX) {
        unsigned blanks = 0;
        for (; at < line->length && (line->text[at] == ' ' || line->text[at] == '\t'); at++)
            blanks += line->text[at] == '\t' ? 2 : 1;
        if (at >= line->length)
            break;
        size_t first = line->token_count;
        at = add_next(line, at);
        if (first < line->token_count)
            line->tokens[first].blanks = (uint8_t)(blanks > 255 ? 255 : blanks);
    }
    line->is_cut |= at < line->length;
}

char printed_mark(const struct printed_line *line, size_t token)
{
    return token < line->token_count && line->tokens[token].kind == TOKEN_MARK
               ? line->text[line->tokens[token].at]
               : '\0';
}
