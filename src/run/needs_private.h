/* needs_private: the parts of needs. */
#ifndef TARE_RUN_NEEDS_PRIVATE_H
#define TARE_RUN_NEEDS_PRIVATE_H

#include "plan/command.h"
#include "run/needs.h"

/* Takes detail and mend; copies name and models (NULL: all). Valid until the next one is added. */
struct need *needs_add(struct repo_needs *out, enum need_kind kind, enum need_state state, const char *name,
                       char *detail, char *mend, const struct strv *models);

/* True when one of these models (none: all) was asked for. */
bool needs_concerns(const struct repo_needs *needs, const struct strv *models);

/* The commit of the clone at repo->path, as its files tell it. The caller frees it; NULL: no clone, or it cannot be told. */
char *needs_commit(const char *folder);

/* A need for each module, and for the interpreter's version: unknown until it is asked. python NULL: there is none. */
void needs_add_modules(const struct repo *repo, const struct command *command, const char *python,
                       struct repo_needs *out);

/* NULL: the file or folder is there and holds something. Else what is wrong with it ("cannot ...": it could not be looked
 * at); the caller frees it. */
char *needs_wrong_with(const char *path);

/* What is missing at path would take so much there. */
void needs_add_disk(struct needs *needs, const char *path, uint64_t bytes);

#endif
