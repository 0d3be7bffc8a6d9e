#include "base/text.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reserve_text_room(struct text *text, size_t more)
{
    if (text->length + more + 1 <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < text->length + more + 1)
        capacity *= 2;
    text->data = mem_resize(text->data, capacity, 1);
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    reserve_text_room(text, count);
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *s)
{
    text_add_bytes(text, s, strlen(s));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    AUTO_FREE char *made = NULL;
    int length = vasprintf(&made, format, args);
    va_end(args);
    if (length >= 0)
        text_add_bytes(text, made, (size_t)length);
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->data)
        text->data[0] = '\0';
}

const char *text_get(const struct text *text)
{
    return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
    reserve_text_room(text, 0);
    text->data[text->length] = '\0';
    char *taken = text->data;
    *text = (struct text){0};
    return taken;
}

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_wrap(struct text *text, const char *words, size_t indent, size_t width)
{
    size_t at = 0;
    while (*words) {
        size_t bytes = strcspn(words, " ");
        AUTO_FREE char *word = mem_strndup(words, bytes);
        size_t needed = utf8_columns(word);
        if (at > 0 && indent + at + 1 + needed > width) {
            text_add_char(text, '\n');
            at = 0;
        }
        if (at == 0) {
            for (size_t i = 0; i < indent; i++)
                text_add_char(text, ' ');
        } else {
            text_add_char(text, ' ');
            at++;
        }
        text_add_bytes(text, words, bytes);
        at += needed;
        words += bytes;
        words += strspn(words, " ");
    }
    text_add_char(text, '\n');
}

bool text_ends_with(const char *s, const char *end)
{
    size_t length = strlen(s), tail = strlen(end);
    return length > tail && strcmp(s + length - tail, end) == 0;
}
