/* starter: a registry and settings for a script that has neither, made from its command line, of
 * which every word stays as it is but the values of the axes: "train.py --lr 0.1,0.01 --seed 1..3
 * --amp". The script's --help only adds notes and hints. */
#ifndef TARE_PLAN_STARTER_H
#define TARE_PLAN_STARTER_H

#include "plan/script_epochs.h"
#include "plan/script_help.h"

#include <jansson.h>
#include <stdint.h>

/* An option, or a word NAME=VALUE, whose value the plan sets. */
struct starter_value {
    char *name;                         /* of the hyperparameter */
    const struct script_option *option; /* NULL: the help does not list it */
    /* SCRIPT_INT or SCRIPT_FLOAT: each value is written as tare writes that number */
    enum script_type type;
    /* its values, ranges written out; of a switch "true" and "false" */
    struct strv words;
};

struct starter_args {
    struct starter_value *values;
    size_t count;
    struct strv words;    /* the script's arguments; "{name}" is where a value goes */
    struct strv options;  /* flags (script_option) of the listed options among them */
    struct strv warnings; /* a line each */
};

enum { STARTER_VALUES_MAX = 10000 };

/* args: the words after the script. A value with commas (outside of brackets) or a range 1..3 is an
 * axis; "\\," is a comma that parts no values. help: NULL when nothing is known of it. False: a
 * range or a list that cannot be meant as it is written, or a word that is not UTF-8. out is freed
 * in each case. */
bool starter_args_parse(char *const *args, size_t count, const struct script_help *help,
                        struct starter_args *out, struct err *err);
void starter_args_fini(struct starter_args *args);

struct starter {
    /* what the plan calls the script: its file's name, or "module.py" */
    const char *name;
    /* the script, or what launches it, as the registry names it, seen from path */
    const char *program;
    const char *path;            /* the folder in which it is started, seen from the registry */
    const char *interpreter_key; /* "python" or "venv"; NULL: the program is started itself */
    const char *interpreter;
    const struct strv *before;      /* the words between the program and the script's arguments */
    const struct strv *variables;   /* NAME=VALUE */
    const struct script_help *help; /* NULL: not known */
    struct script_epochs epochs;
    const struct starter_args *args;
    bool proposes; /* where no value was named: some to begin with */
    bool has_runs;
    int64_t runs;
    /* Of the plan. Else settings of a grid, and with keeps_seed all, have one that follows from
     * their text: the same words give the same order. */
    bool has_seed, keeps_seed;
    int64_t seed;
};

/* New references. The settings name the registry "registry.json", beside them. */
json_t *starter_registry(const struct starter *starter);
json_t *starter_settings(const struct starter *starter);

#endif
