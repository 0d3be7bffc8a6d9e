/* git: queries git(1) about an untrusted repository. It runs as a contained job and starts no
 * program that the repository configures: hooks, monitors, pagers, transports, filters. */
#ifndef TARE_RUN_ENVIRONMENT_GIT_H
#define TARE_RUN_ENVIRONMENT_GIT_H

#include "machine/contain/contain.h"

struct git {
    const struct containment *containment;
    char *program;   /* NULL: not on PATH */
    struct strv env; /* without GIT_*, with the settings above */
};

/* containment must outlive out. */
void git_init(const struct containment *containment, const struct strv *environment,
              struct git *out);
void git_fini(struct git *git);

/* False: neither path nor a parent has ".git", or HEAD of a bare repository
 * (gitrepository-layout(5)). */
bool git_has_repository(const char *path);

/* Disables the filters that the repository configures; those of user and machine (git-lfs) stay.
 * False: git did not list them. */
bool git_disable_filters(struct git *git, const char *path);

/* words: arguments, NULL-terminated. out: standard output. False: git failed or took too long. */
bool git_ask(const struct git *git, const char *path, const char *const *words, struct text *out);

#endif
