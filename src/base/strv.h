/* strv: a list of strings, NULL-terminated so that it serves as argv or envp. */
#ifndef TARE_BASE_STRV_H
#define TARE_BASE_STRV_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct strv {
    char **items; /* items[count] is NULL; items itself is NULL while nothing was added */
    size_t count;
    size_t capacity; /* 0: of a packed list, too */
};

void strv_add(struct strv *list, const char *s);      /* copies s */
void strv_add_owned(struct strv *list, char *s);      /* takes s */
void strv_add_once(struct strv *list, const char *s); /* copies s, unless it is there already */
void strv_add_all(struct strv *list, const struct strv *more);
bool strv_has(const struct strv *list, const char *s);
void strv_sort(struct strv *list);                             /* as strcmp orders them */
char *strv_join(const struct strv *list, const char *between); /* never NULL */
void strv_fini(struct strv *list);

/* Moves the list and its strings into one allocation, for a list that is kept and rarely changed.
 * No string of it may be freed or replaced from outside until something is added. */
void strv_pack(struct strv *list);

/* An environment is a strv of NAME=VALUE. set replaces or adds; get gives the value inside the
 * list, or NULL. */
void strv_env_set(struct strv *env, const char *name, const char *value);
/* each; what has no = is left out */
void strv_env_set_all(struct strv *env, const struct strv *more);
const char *strv_env_get(const struct strv *env, const char *name);

#define AUTO_STRV AUTO(strv_fini)

#endif
