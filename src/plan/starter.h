/* starter: a registry and settings for a script that has neither, made from what its --help lists and from the options that a person
 * gave behind it: "--lr 0.1,0.01 --seed 1..3 --amp". */
#ifndef TARE_PLAN_STARTER_H
#define TARE_PLAN_STARTER_H

#include "plan/script_help.h"

#include <jansson.h>

/* One option that was given. */
struct starter_value {
    const struct script_option *option; /* NULL: the help does not list it, or could not be read */
    char *name, *flag;
    enum script_type type; /* that all its values have; never SCRIPT_UNKNOWN */
    struct strv words;     /* its values, ranges written out; of a switch "true" and "false" */
};

struct starter_args {
    struct starter_value *values;
    size_t count, capacity;
    struct strv operands; /* every command gets them, before its options */
    struct strv several;  /* and these behind them: options that take several values, with these */
    struct strv warnings; /* a line each */
};

enum { STARTER_VALUES_MAX = 10000 };

/* help: NULL when it could not be read; then a word behind an option is its value. An option that the help does not list is an error
 * with the nearest name. "\," is a comma that parts no values. out is freed in each case. */
bool starter_args_parse(char *const *args, size_t count, const struct script_help *help, struct starter_args *out, struct err *err);
void starter_args_fini(struct starter_args *args);

struct starter {
    const char *script;          /* as the registry names it, seen from path */
    const char *path;            /* the folder in which it is started, seen from the registry */
    const char *interpreter_key; /* "python" or "venv"; NULL: it is started itself */
    const char *interpreter;
    const struct script_help *help; /* NULL: it could not be read */
    const struct starter_args *args;
    bool proposes; /* where no option was given: some values to begin with */
    bool has_runs, has_max_retries;
    int64_t runs, max_retries;
    const char *governor; /* or NULL */
    const char *cooldown; /* a name of cooldown_modes, or NULL */
};

/* New references. The settings name the registry "registry.json", beside them. */
json_t *starter_registry(const struct starter *starter);
json_t *starter_settings(const struct starter *starter);

#endif
