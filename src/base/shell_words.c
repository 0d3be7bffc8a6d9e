#include "base/shell_words.h"

#include "base/text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

/* The word that is being read. A byte of mask for each of its bytes: 'q' where quoted, 'p' where
 * plain. */
struct splitter {
    const char *command, *at;
    struct text word, mask;
    bool in_word; /* "" is a word too */
    const char *word_begin;
    const char *line_end; /* the first end of a line behind a word, or NULL */
    struct strv *out;
    struct err *err;
};

static const char mend[] =
    "write sh -c '...' around the command, or quote it to pass it on as it is";

static size_t character_number(const struct splitter *splitter, const char *at)
{
    return 1 + utf8_count(splitter->command, (size_t)(at - splitter->command));
}

static bool needs_shell(const struct splitter *splitter, const char *at, size_t length,
                        const char *what)
{
    return err_set(splitter->err, "'%.*s' at character %zu: %s needs a shell, and none is run; %s",
                   (int)length, at, character_number(splitter, at), what, mend);
}

static void add_word_char(struct splitter *splitter, char c, bool quoted)
{
    if (!splitter->in_word)
        splitter->word_begin = splitter->at;
    splitter->in_word = true;
    text_add_char(&splitter->word, c);
    text_add_char(&splitter->mask, quoted ? 'q' : 'p');
}

static bool is_plain(const struct splitter *splitter, size_t i, char c)
{
    return i < splitter->word.length && splitter->word.data[i] == c &&
           splitter->mask.data[i] == 'p';
}

static size_t find_plain(const struct splitter *splitter, size_t from, char c)
{
    size_t i = from;
    while (i < splitter->word.length && !is_plain(splitter, i, c))
        i++;
    return i;
}

/* NAME=... as the first word, where nothing of NAME is quoted. */
static bool is_assignment(const struct splitter *splitter)
{
    const char *word = splitter->word.data;
    size_t equals = find_plain(splitter, 0, '=');
    if (equals == 0 || equals == splitter->word.length || isdigit((unsigned char)word[0]))
        return false;
    for (size_t i = 0; i < equals; i++)
        if (splitter->mask.data[i] != 'p' || !(isalnum((unsigned char)word[i]) || word[i] == '_'))
            return false;
    return true;
}

/* {a,b} and {1..9}, as bash has them. */
static bool has_braces(const struct splitter *splitter)
{
    size_t open = find_plain(splitter, 0, '{'), close = find_plain(splitter, open, '}');
    if (close == splitter->word.length)
        return false;
    for (size_t i = open; i < close; i++)
        if (is_plain(splitter, i, ',') ||
            (is_plain(splitter, i, '.') && is_plain(splitter, i + 1, '.')))
            return true;
    return false;
}

static bool has_pattern(const struct splitter *splitter)
{
    size_t length = splitter->word.length, open = find_plain(splitter, 0, '[');
    return find_plain(splitter, 0, '*') < length || find_plain(splitter, 0, '?') < length ||
           find_plain(splitter, open, ']') < length;
}

/* What a shell would make of the word as a whole. */
static bool check_word(const struct splitter *splitter)
{
    const char *begin = splitter->word_begin;
    size_t length = (size_t)(splitter->at - begin);
    if (splitter->word.length == 0)
        return true;
    if (splitter->out->count == 0 && is_assignment(splitter))
        return err_set(
            splitter->err,
            "'%.*s' sets a variable, which needs a shell, and none is run; write env %.*s ...",
            (int)length, begin, (int)length, begin);
    if (is_plain(splitter, 0, '~'))
        return needs_shell(splitter, begin, length, "a home folder");
    if (has_pattern(splitter))
        return needs_shell(splitter, begin, length, "a pattern for file names");
    if (has_braces(splitter))
        return needs_shell(splitter, begin, length, "a list in braces");
    return true;
}

static bool end_word(struct splitter *splitter)
{
    if (!splitter->in_word)
        return true;
    if (!check_word(splitter))
        return false;
    strv_add(splitter->out, text_get(&splitter->word));
    text_clear(&splitter->word);
    text_clear(&splitter->mask);
    splitter->in_word = false;
    return true;
}

/* A '$' that stands for nothing else is a character like others. */
static bool check_dollar(const struct splitter *splitter, bool quoted)
{
    const char *at = splitter->at;
    size_t length = 2;
    if (at[1] == '(')
        return needs_shell(splitter, at, length, "a command in a command");
    if (!quoted && (at[1] == '\'' || at[1] == '"'))
        return needs_shell(splitter, at, length, "such a quote");
    if (!at[1] || !(isalnum((unsigned char)at[1]) || strchr("_{[?#!@*-$", at[1])))
        return true;
    while (isalnum((unsigned char)at[1]) &&
           (isalnum((unsigned char)at[length]) || at[length] == '_'))
        length++;
    return needs_shell(splitter, at, length, "a variable");
}

static bool not_closed(const struct splitter *splitter, const char *open)
{
    return err_set(splitter->err, "the %s quote at character %zu is not closed",
                   *open == '"' ? "double" : "single", character_number(splitter, open));
}

static void begin_quoted(struct splitter *splitter)
{
    if (!splitter->in_word)
        splitter->word_begin = splitter->at;
    splitter->in_word = true;
    splitter->at++;
}

static bool read_single_quoted(struct splitter *splitter)
{
    const char *open = splitter->at;
    begin_quoted(splitter);
    for (; *splitter->at != '\''; splitter->at++) {
        if (!*splitter->at)
            return not_closed(splitter, open);
        add_word_char(splitter, *splitter->at, true);
    }
    splitter->at++;
    return true;
}

static bool read_double(struct splitter *splitter)
{
    const char *open = splitter->at;
    begin_quoted(splitter);
    for (; *splitter->at != '"'; splitter->at++) {
        char c = *splitter->at, next = c ? splitter->at[1] : '\0';
        if (!c)
            return not_closed(splitter, open);
        if (c == '`')
            return needs_shell(splitter, splitter->at, 1, "a command in a command");
        if (c == '$' && !check_dollar(splitter, true))
            return false;
        if (c != '\\' || !next || !strchr("$`\"\\\n", next)) {
            add_word_char(splitter, c, true);
            continue;
        }
        splitter->at++;
        if (next != '\n')
            add_word_char(splitter, next, true);
    }
    splitter->at++;
    return true;
}

static bool read_backslash(struct splitter *splitter)
{
    char next = splitter->at[1];
    if (!next)
        return err_set(splitter->err, "there is nothing behind the backslash at the end");
    if (next != '\n') /* else the line goes on */
        add_word_char(splitter, next, true);
    splitter->at += 2;
    return true;
}

static bool refuse_operator(const struct splitter *splitter)
{
    const char *at = splitter->at;
    size_t length = at[1] == at[0] && *at != '(' && *at != ')' ? 2 : 1;
    const char *what = "a group of commands";
    if (strchr("<>", *at))
        what = "a redirection";
    else if (*at == '|' && length == 1)
        what = "a pipe";
    else if (*at == '&' && length == 1)
        what = "a command in the background";
    else if (strchr("|&;", *at))
        what = "more than one command";
    return needs_shell(splitter, at, length, what);
}

static bool read_word_part(struct splitter *splitter)
{
    char c = *splitter->at;
    if (splitter->line_end && !splitter->in_word)
        return err_set(splitter->err, "a second line at character %zu: one command is one line; %s",
                       character_number(splitter, splitter->at), mend);
    if (c == '\'')
        return read_single_quoted(splitter);
    if (c == '"')
        return read_double(splitter);
    if (c == '\\')
        return read_backslash(splitter);
    if (strchr("|&;<>()", c))
        return refuse_operator(splitter);
    if (c == '`')
        return needs_shell(splitter, splitter->at, 1, "a command in a command");
    if (c == '#' && !splitter->in_word)
        return needs_shell(splitter, splitter->at, 1, "a comment");
    if (c == '$' && !check_dollar(splitter, false))
        return false;
    add_word_char(splitter, c, false);
    splitter->at++;
    return true;
}

static bool read_command_words(struct splitter *splitter)
{
    while (*splitter->at) {
        bool ok;
        if (strchr(" \t\n", *splitter->at)) {
            ok = end_word(splitter);
            if (*splitter->at == '\n' && splitter->out->count && !splitter->line_end)
                splitter->line_end = splitter->at;
            splitter->at++;
        } else {
            ok = read_word_part(splitter);
        }
        if (!ok)
            return false;
    }
    if (!end_word(splitter))
        return false;
    return splitter->out->count > 0 || err_set(splitter->err, "there is no command in it");
}

bool shell_words_split(const char *command, struct strv *out, struct err *err)
{
    struct splitter splitter = {.command = command, .at = command, .out = out, .err = err};
    bool ok = read_command_words(&splitter);
    text_fini(&splitter.word);
    text_fini(&splitter.mask);
    return ok;
}

static void add_shell_quoted(const char *word, struct text *out)
{
    text_add_char(out, '\'');
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            text_add(out, "'\\''");
        else
            text_add_char(out, *c);
    }
    text_add_char(out, '\'');
}

void shell_words_quote(const char *word, struct text *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && strspn(word, plain) == strlen(word))
        text_add(out, word);
    else
        add_shell_quoted(word, out);
}

void shell_words_quote_command(const char *word, struct text *out)
{
    if (strchr(word, '='))
        add_shell_quoted(word, out);
    else
        shell_words_quote(word, out);
}

void shell_words_quote_path(const char *path, struct text *out)
{
    size_t home = path[0] == '~' && (!path[1] || path[1] == '/') ? strspn(path + 1, "/") + 1 : 0;
    text_add_bytes(out, path, home);
    if (path[home] || home == 0)
        shell_words_quote(path + home, out);
}

char *shell_words_path(const char *path)
{
    struct text out = {0};
    shell_words_quote_path(path, &out);
    return text_take(&out);
}
