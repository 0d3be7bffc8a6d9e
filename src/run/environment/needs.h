/* needs: what a repository and its models need of this machine (folder, script, interpreter, Python
 * modules, data, room on the disk), what of it is there, and how to mend what is not. Nothing is
 * fetched, and nothing of the repository is run. */
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
    NEED_VERSION, /* there, in a version that is not wanted: counts as missing */
    NEED_UNKNOWN, /* could not be looked at: counts as missing */
    NEED_OTHER,   /* there, but not as the registry says: told, counts as there */
};

struct need {
    enum need_kind kind;
    enum need_state state;
    char *name;         /* a path, a module */
    char *detail;       /* what is wrong, or a module's version; NULL: nothing to say */
    char *mend;         /* a command, or words; NULL: none comes to mind */
    struct strv models; /* that need it; none: all that were asked for */
    /* of a module and of Python: the version, how it is got; the registry's, may be NULL */
    const char *wanted, *get;
};

struct repo_needs {
    const struct repo *repo;
    struct strv models; /* that were asked for */
    struct need *items;
    size_t count;
    char *python; /* whom needs_ask asks, and its environment; NULL: nobody */
    struct strv env;
};

/* One file system that what is missing would go to. */
struct disk_need {
    dev_t device;
    char *path;           /* a folder on it that is there */
    uint64_t fetch_bytes; /* of what is missing and has a size in the registry */
    uint64_t free_bytes;
};

struct needs {
    struct repo_needs *repos;
    size_t count;
    struct disk_need *disks;
    size_t disk_count;
};

/* Looks at one repository for these models and adds it to needs. options: those of a plan. */
void needs_check_repo(const struct registry *registry, const struct repo *repo,
                      const struct strv *models, const struct plan_options *options,
                      struct needs *needs);

/* When all repositories were looked at: imports their modules. Until then these are unknown. */
void needs_ask(struct needs *needs);
void needs_fini(struct needs *needs);

/* How much of what this model needs is missing, unknown or of a wrong version; none of it. */
size_t repo_needs_missing(const struct repo_needs *needs, const char *model);
bool repo_needs_ready(const struct repo_needs *needs, const char *model);

/* Of every repository, and there is room for what is to be fetched. */
bool needs_all_there(const struct needs *needs);
bool disk_need_fits(const struct disk_need *disk);

const char *need_kind_name(enum need_kind kind);    /* "folder", "interpreter", ... */
const char *need_state_name(enum need_state state); /* "there", "missing", "wrong version", ... */

/* Of needs itself. */

/* Takes detail and mend; copies name and models (NULL: all). Valid until the next one is added. */
struct need *needs_add(struct repo_needs *out, enum need_kind kind, enum need_state state,
                       const char *name, char *detail, char *mend, const struct strv *models);

/* True when one of these models (none: all) was asked for. */
bool needs_concerns(const struct repo_needs *needs, const struct strv *models);

/* A need for each module, and for the interpreter's version: unknown until it is asked. python
 * NULL: there is none. (needs_modules.c) */
void needs_add_modules(const struct repo *repo, const struct command *command, const char *python,
                       struct repo_needs *out);

#endif
