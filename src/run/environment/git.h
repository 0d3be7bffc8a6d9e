/* git: questions to git(1) about an untrusted repository. It runs as a job of its own (job_ask),
 * with neither hooks, monitors, pagers, ways to fetch nor the filters that the repository's own
 * configuration names: no program of the repository's choice is started. */
#ifndef TARE_RUN_ENVIRONMENT_GIT_H
#define TARE_RUN_ENVIRONMENT_GIT_H

#include "machine/contain/contain.h"

struct git {
    const struct containment *containment;
    char *program;   /* NULL: there is none on the environment's PATH */
    struct strv env; /* the environment's without GIT_*, and what is said above */
};

/* containment must stay there until git_fini. */
void git_init(const struct containment *containment, const struct strv *environment,
              struct git *out);
void git_fini(struct git *git);

/* False: neither path nor a folder above it holds what git takes for a repository (".git", or HEAD
 * of a bare one: gitrepository-layout(5)), so that nobody need ask. */
bool git_has_repository(const char *path);

/* From now on without the filters of the configuration of the repository at path; those of the user
 * and of the machine (git-lfs) stay. False: git did not name them. */
bool git_disable_filters(struct git *git, const char *path);

/* words: arguments of git, NULL at their end. True: git ended with 0 within a few seconds, and out
 * is its standard output. */
bool git_ask(const struct git *git, const char *path, const char *const *words, struct text *out);

#endif
