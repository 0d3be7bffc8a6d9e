/* needs: what a repository needs of this machine (folder, script, interpreter, modules, data, disk
 * space), and what is missing. Fetches and runs nothing of it. */
#ifndef TARE_RUN_ENVIRONMENT_NEEDS_H
#define TARE_RUN_ENVIRONMENT_NEEDS_H

#include "plan/plan.h"

enum need_kind {
    NEED_FOLDER,
    NEED_COMMIT,
    NEED_SCRIPT,
    NEED_PROGRAM,
    NEED_INTERPRETER,
    NEED_PYTHON,
    NEED_MODULE,
    NEED_DATA
};

enum need_state {
    NEED_THERE,
    NEED_MISSING,
    NEED_VERSION, /* exists in an unwanted version: counts as missing */
    NEED_UNKNOWN, /* could not be checked: counts as missing */
    NEED_OTHER,   /* exists, but differs from the registry: counts as present */
};

struct need {
    enum need_kind kind;
    enum need_state state;
    char *name;         /* a path, a module */
    char *detail;       /* the problem, or a module's version; may be NULL */
    char *mend;         /* a command or words; may be NULL */
    struct strv models; /* that need it; empty: all */
    /* of a module or Python: version, how to get it; borrowed, may be NULL */
    const char *wanted, *get;
};

struct repo_needs {
    const struct repo *repo;
    struct strv models;
    struct need *items;
    size_t count;
    char *python; /* interpreter for needs_ask, and its environment; NULL: none */
    struct strv env;
};

/* A file system that missing files would be fetched to. */
struct disk_need {
    dev_t device;
    char *path;
    uint64_t fetch_bytes; /* with a size in the registry */
    uint64_t free_bytes;
};

struct needs {
    struct repo_needs *repos;
    size_t count;
    struct disk_need *disks;
    size_t disk_count;
};

/* Checks one repository for these models. options: of a plan. */
void needs_check_repo(const struct registry *registry, const struct repo *repo,
                      const struct strv *models, const struct plan_options *options,
                      struct needs *needs);

/* Imports the modules, after all repositories were checked; they are unknown before. */
void needs_ask(struct needs *needs);
void needs_fini(struct needs *needs);

/* Counts needs of the model that are missing, unknown or of a wrong version. */
size_t repo_needs_missing(const struct repo_needs *needs, const char *model);
bool repo_needs_ready(const struct repo_needs *needs, const char *model);

bool needs_all_there(const struct needs *needs);
bool disk_need_fits(const struct disk_need *disk);

const char *need_kind_name(enum need_kind kind);
const char *need_state_name(enum need_state state);

/* Owns detail and mend; copies name and models (NULL: all). Valid until the next call. */
struct need *needs_add(struct repo_needs *out, enum need_kind kind, enum need_state state,
                       const char *name, char *detail, char *mend, const struct strv *models);

/* One of these models was asked for; empty: always. */
bool needs_concerns(const struct repo_needs *needs, const struct strv *models);

/* Adds each module and the interpreter's version as unknown. python: may be NULL. */
void needs_add_modules(const struct repo *repo, const struct command *command, const char *python,
                       struct repo_needs *out);

#endif
