#include "plan/script_imports.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* ---- Source without comments and strings. */

/* The end of the string that begins at text[at]; a single-quoted one ends at its line's end,
 * even if its quote is missing. */
static size_t find_string_end(const char *text, size_t length, size_t at)
{
    char quote = text[at];
    bool triple = length - at >= 3 && text[at + 1] == quote && text[at + 2] == quote;
    for (at += triple ? 3 : 1; at < length; at++) {
        if (text[at] == '\\' && at + 1 < length)
            at++;
        else if (text[at] == '\n' && !triple)
            return at;
        else if (text[at] == quote && !triple)
            return at + 1;
        else if (text[at] == quote && length - at >= 3 && text[at + 1] == quote &&
                 text[at + 2] == quote)
            return at + 3;
    }
    return length;
}

char *script_code(const char *text, size_t length)
{
    char *code = mem_array(length + 1, 1);
    for (size_t at = 0; at < length;) {
        size_t end = at + 1;
        char fill = text[at] == '\r' ? '\n' : text[at] ? text[at] : ' ';
        if (text[at] == '"' || text[at] == '\'') {
            end = find_string_end(text, length, at);
            fill = '"';
        } else if (text[at] == '#') {
            const char *newline = memchr(text + at, '\n', length - at);
            end = newline ? (size_t)(newline - text) : length;
            fill = ' ';
        } else if (text[at] == '\\' && end < length && (text[end] == '\n' || text[end] == '\r')) {
            end += text[end] == '\r' && end + 1 < length && text[end + 1] == '\n' ? 2 : 1;
            fill = ' ';
        }
        memset(code + at, fill, end - at);
        at = end;
    }
    code[length] = '\0';
    return code;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

const char *script_code_find(const char *code, const char *from, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = from; (at = strstr(at, word)); at += length)
        if ((at == code || !is_word_char(at[-1])) && !is_word_char(at[length]))
            return at;
    return NULL;
}

/* ---- Import statements. */

struct reader {
    const char *text, *code, *at;
    struct strv *out;
};

static void skip_source_blanks(struct reader *reader, bool lines)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\f' ||
           (lines && *reader->at == '\n'))
        reader->at++;
}

/* Goes over the word if it is the next one. */
static bool skip_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0 || is_word_char(reader->at[length]))
        return false;
    reader->at += length;
    return true;
}

/* Names and dots; "" if there are none. */
static void read_module(struct reader *reader, struct text *out)
{
    text_clear(out);
    while (is_word_char(*reader->at) || *reader->at == '.')
        text_add_char(out, *reader->at++);
}

static void add_imported_module(struct reader *reader, const char *parent, const char *name)
{
    size_t before = strlen(parent);
    bool dotted = before == 0 || !*name || parent[before - 1] == '.';
    AUTO_FREE char *module = mem_printf("%s%s%s", parent, dotted ? "" : ".", name);
    if (*module && strlen(module) <= SCRIPT_MODULE_BYTES && reader->out->count < SCRIPT_IMPORTS_MAX)
        strv_add_once(reader->out, module);
}

static void skip_alias(struct reader *reader, bool lines)
{
    AUTO_TEXT struct text alias = {0};
    skip_source_blanks(reader, lines);
    if (!skip_word(reader, "as"))
        return;
    skip_source_blanks(reader, lines);
    read_module(reader, &alias);
    skip_source_blanks(reader, lines);
}

/* "a.b, c as d"; below parent, and in brackets over several lines. */
static void read_names(struct reader *reader, const char *parent, bool lines)
{
    AUTO_TEXT struct text name = {0};
    do {
        reader->at += *reader->at == ',';
        skip_source_blanks(reader, lines);
        read_module(reader, &name);
        if (name.length > 0)
            add_imported_module(reader, parent, text_get(&name));
        skip_alias(reader, lines);
    } while (*reader->at == ',');
}

static void read_from(struct reader *reader)
{
    AUTO_TEXT struct text parent = {0};
    skip_source_blanks(reader, false);
    read_module(reader, &parent);
    skip_source_blanks(reader, false);
    if (parent.length == 0 || !skip_word(reader, "import"))
        return;
    add_imported_module(reader, text_get(&parent), "");
    skip_source_blanks(reader, false);
    bool lines = *reader->at == '(';
    reader->at += lines;
    read_names(reader, text_get(&parent), lines);
}

/* The string that is the call's first argument, if it is a plain one. Fresh; NULL: there is
 * none. */
static char *read_literal(const struct reader *reader)
{
    const char *at = reader->at + strspn(reader->at, " \t");
    if (*at != '(')
        return NULL;
    at++;
    at += strspn(at, " \t\n");
    size_t length = strspn(at, "\"");
    const char *quoted = reader->text + (at - reader->code);
    if (length < 3 || quoted[length - 1] != *quoted || memchr(quoted + 1, *quoted, length - 2) ||
        memchr(quoted, '\0', length))
        return NULL;
    return mem_strndup(quoted + 1, length - 2);
}

static void read_call(struct reader *reader, bool file)
{
    AUTO_FREE char *literal = read_literal(reader);
    const char *name = literal && file && strncmp(literal, "./", 2) == 0 ? literal + 2 : literal;
    if (!name || text_ends_with(name, ".py") != file ||
        (file && (*name == '.' || *name == '/' || strstr(name, ".."))))
        return;
    for (const char *at = name; *at; at++)
        if (!is_word_char(*at) && *at != '.' && !(file && strchr("-/", *at)))
            return;
    add_imported_module(reader, "", name);
}

/* A statement begins a line, or follows ";" or ":". */
static bool begins_statement(const struct reader *reader)
{
    const char *before = reader->at;
    while (before > reader->code && (before[-1] == ' ' || before[-1] == '\t' || before[-1] == '\f'))
        before--;
    return before == reader->code || before[-1] == '\n' || before[-1] == ';' || before[-1] == ':';
}

void script_imports_parse(const char *text, const char *code, size_t length, struct strv *out)
{
    struct reader reader = {.text = text, .code = code, .at = code, .out = out};
    while (reader.at < code + length && out->count < SCRIPT_IMPORTS_MAX) {
        if (!is_word_char(*reader.at)) {
            reader.at++;
            continue;
        }
        bool statement = begins_statement(&reader);
        if (statement && skip_word(&reader, "import"))
            read_names(&reader, "", false);
        else if (statement && skip_word(&reader, "from"))
            read_from(&reader);
        else if (skip_word(&reader, "import_module") || skip_word(&reader, "__import__"))
            read_call(&reader, false);
        else if (skip_word(&reader, "open") || skip_word(&reader, "run_path"))
            read_call(&reader, true);
        else
            while (is_word_char(*reader.at))
                reader.at++;
    }
}
