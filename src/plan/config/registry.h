/* registry: the JSON file that describes repositories, models, hyperparameters and log patterns
 * (the study's models_config.json, and tare's additions). Every problem is reported at once. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_H
#define TARE_PLAN_CONFIG_REGISTRY_H

#include "base/goal.h"
#include "base/json.h"
#include "base/strv.h"
#include "base/text.h"
#include "plan/config/problem.h"
#include "plan/mutate/mutate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registry_metric {
    char *name;
    char *pattern;
    /* as the registry says it; GOAL_UNKNOWN: it does not (goal_of then goes by the name) */
    enum goal goal;
};

/* A mark's name and what is printed when what it names begins and when it ends: patterns, one of
 * them may be NULL. */
struct registry_mark {
    char *name;
    char *start;
    char *end;
};

/* One hyperparameter that a step changes. */
struct registry_change {
    char *name;
    bool scales; /* by factor, if low <= the result <= high; else it becomes value */
    double factor, low, high;
    struct value value;
};

/* What a retry after an out-of-memory failure may change. */
struct registry_oom_step {
    struct registry_change *changes;
    size_t change_count;
    struct strv args; /* added to the command */
    struct strv env;  /* NAME=VALUE */
    int64_t times;    /* how often it may be taken */
};

/* Where a repository comes from. Texts are NULL when they are not said, sizes 0. */
struct registry_source {
    char *url;
    char *commit; /* all its digits */
    char *licence;
    uint64_t size_bytes;
};

/* A file or folder that a training reads. */
struct registry_data {
    char *path;          /* as given: seen from the repository */
    char *get;           /* how a person gets it, or NULL */
    uint64_t size_bytes; /* 0: not said */
    struct strv models;  /* that need it; none: all */
};

/* Python modules that a training imports, and the interpreter that it needs. What is wanted of a
 * version is as PEP 440 says, "" or NULL: any will do. */
struct registry_modules {
    struct strv names;
    struct strv wanted; /* of the version of each name */
    char *python;       /* of the interpreter's version, or NULL */
    char *get;          /* how a person installs them, or NULL */
    struct strv models; /* as above */
};

/* Which of the metrics that are named must have been found for a success. */
enum metrics_rule { METRICS_OPTIONAL, METRICS_ANY, METRICS_REQUIRED };

/* What fails a training whose exit code does not. */
enum {
    FAIL_ON_SHELL_MESSAGE = 1, /* a shell's line in the log: a signal ended a program */
    FAIL_ON_OOM_KILL = 2,      /* in the job's own cgroup */
    FAIL_ON_MEMBER_SIGNAL = 4, /* an orphan of the job was ended by one */
    FAIL_ON_ALL = FAIL_ON_SHELL_MESSAGE | FAIL_ON_OOM_KILL | FAIL_ON_MEMBER_SIGNAL
};

/* When one model's training has succeeded, besides exit code and patterns. All zero: none of it is
 * asked for. */
struct success_rules {
    enum metrics_rule metrics;
    unsigned fail_on;
    bool cpu_only;          /* it uses no GPU */
    bool reads_checkpoints; /* that are older than itself, and is meant to */
};

struct registry_model_rule {
    char *model;
    enum metrics_rule metrics;
};

/* One entry of "models". Paths are absolute: "path" is relative to the registry's folder, then to
 * the working folder. */
struct repo {
    char *name;
    char *json_path; /* $.models["name"] */
    char *path;
    char *path_given; /* as it stands in the registry, or NULL */
    bool path_exists;
    bool located;       /* path and train_script are given, so that they can be looked for */
    bool broken;        /* there is a mistake in it, which was told: what stands here is not all */
    char *train_script; /* as given: a path in the repository, or a name to find on PATH */
    struct strv models;
    char *model_flag; /* NULL: a model's name is not passed */
    struct param *params;
    size_t param_count;
    /* the number of words of required_args up to the end of the key "launcher" */
    size_t launcher_end;
    /* each text of "required_args" split at blanks (as in "-d d2a"); lists as they are */
    struct strv required_args;
    struct strv env;                 /* NAME=VALUE */
    struct strv path_prepend;        /* absolute: relative to the registry's folder, then to path */
    char *python, *venv, *conda_env; /* at most one of them */
    struct strv command_prefix;
    struct registry_metric *metrics;
    size_t metric_count;
    struct registry_mark *marks;
    size_t mark_count;
    struct registry_oom_step *oom_steps; /* in the order in which they are taken */
    size_t oom_step_count;
    struct registry_source source;
    struct registry_data *data;
    size_t data_count;
    struct registry_modules *modules;
    size_t module_count;
    bool memory_snapshot;
    struct strv success; /* patterns, all of which must match; default none */
    /* patterns, none of which may match; default: the head of a Python traceback */
    struct strv errors;
    bool exit_code_required;        /* default true: "exit_code": "required" | "ignored" */
    enum metrics_rule metrics_rule; /* default any; of models that have none of their own: */
    struct registry_model_rule *model_rules;
    size_t model_rule_count;
    unsigned fail_on; /* default all */
    struct strv cpu_models;
    bool reads_checkpoints;
};

struct registry {
    char *file;
    struct repo *repos;
    size_t repo_count;
    struct json_doc doc; /* for places in messages, and the verbatim copy */
};

/* False when a problem of severity error was added; what could be read is in out all the same. */
bool registry_read(const char *path, struct registry *out, struct problems *problems);
bool registry_parse(const char *file, const char *text, size_t length, struct registry *out,
                    struct problems *problems);
void registry_fini(struct registry *registry);

/* The reference of every key in Markdown. */
void registry_describe(struct text *out);
json_t *registry_schema(void); /* JSON Schema of it; a new reference */

const struct repo *registry_find(const struct registry *registry, const char *name);
const struct param *repo_param(const struct repo *repo, const char *name);

/* Names of a hyperparameter that is a training's random seed: seed, random_seed, manual_seed, in
 * any case. */
bool param_name_is_seed(const char *name);
const struct param *repo_seed(const struct repo *repo); /* the first of these; NULL: none */

#endif
