/* mark: a moment that a job names: the beginning or the end of an epoch, a validation, whatever it
 * calls so. */
#ifndef TARE_BASE_MARK_H
#define TARE_BASE_MARK_H

#include <stdbool.h>
#include <stdint.h>

#define MARK_NAME_MAX  64
#define MARK_LABEL_MAX 100 /* bytes of UTF-8 */

enum mark_source { MARK_LOG, MARK_FIFO };

struct mark {
    char name[MARK_NAME_MAX + 1];
    char label[MARK_LABEL_MAX + 1]; /* which one of that name: "3"; "": not said */
    bool is_end;                    /* of what it names; else its beginning */
    enum mark_source source;
    int64_t t_ns; /* CLOCK_MONOTONIC */
};

/* What a name is made of, in words for messages: 1 to 64 of it. */
#define MARK_NAME_RULE \
    "1 to 64 letters, digits, '_', '-' and '.', the first a letter, a digit or '_'"
bool mark_name_is_valid(const char *name);

const char *mark_source_name(enum mark_source source); /* "log", "fifo" */
bool mark_source_parse(const char *name, enum mark_source *out);

#endif
