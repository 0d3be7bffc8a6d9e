/* plan: the full, ordered, concrete list of experiments, fixed before anything runs. It holds all
 * that a run needs (argv, environment, patterns), so a resume never plans again nor reads the
 * registry. Pure but for looking for folders, scripts and interpreters (command.c) and for reading
 * the history (expected.h). */
#ifndef TARE_PLAN_PLAN_H
#define TARE_PLAN_PLAN_H

#include "base/reading.h"
#include "base/strv.h"
#include "base/text.h"
#include "base/value.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "plan/placeholder.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_param {
    char *name;
    struct value value;
    bool mutated; /* drawn, or varied by a grid, a list or seeds */
    char *flag;   /* before the value on the command line; NULL: it goes by the environment */
    size_t place; /* in argv, of the word with the value; 0: it is not there */
};

/* Texts of several jobs, kept once. */
struct plan_shared {
    size_t users;
    struct strv texts; /* names and flags of their hyperparameters */
    struct strv env;
};

/* One job's command, ready to start. */
struct plan_job {
    /* NULL: the job owns all that follows. Else each job of shared owns its params, but not their
     * names and flags, and its argv; all else is the same in these jobs, and the last one frees
     * it. */
    struct plan_shared *shared;
    char *repo, *model;
    struct plan_param *params; /* all of the model's hyperparameters, in the registry's order */
    size_t param_count;
    char *cwd;        /* the repository's folder */
    struct strv argv; /* argv[0] absolute where it was found */
    /* NAME=VALUE that the registry and the settings add to the runner's environment */
    struct strv env;
    struct strv path_prepend;
    struct registry_metric *metrics;
    size_t metric_count;
    struct registry_mark *marks;
    size_t mark_count;
    struct registry_oom_step *oom_steps;
    size_t oom_step_count;
    struct gpu_limit gpu_limit;
    struct strv success, errors;
    enum mode mode;                       /* not PARALLEL */
    enum setting_switch track_gpu_memory; /* unsaid: where it can be; on also with a limit */
    struct success_rules rules;
    bool placeholders;    /* in argv or env: replaced where the job is started or shown */
    bool memory_snapshot; /* is asked for */
    bool exit_code_required;
};

struct plan_experiment {
    char *id;      /* <repo>_<model>_<nnn>[_parallel]: nnn is number */
    size_t number; /* place in the plan, from 1 */
    size_t entry;  /* place of its entry in the settings file, from 0 */
    /* differs from entry to entry and from point to point of a grid or list: entry, where the plan
     * has none */
    size_t configuration;
    bool parallel;
    struct plan_job foreground;
    struct plan_job *background; /* parallel only, else NULL */
    int64_t max_retries;
    char *governor;
    double timeout_s;
    /* by its entry or, with order longest-first, by earlier runs; absent: nothing was known */
    struct reading expected_s;
    bool exclusive; /* nothing else of the run goes on meanwhile */
    /* parallel only; absent: the background's load is waited for (plan.parallel) */
    struct reading start_after_s;
};

struct plan {
    char *name; /* the settings' experiment_name, or NULL */
    uint64_t seed;
    struct plan_experiment *experiments;
    size_t count;
    struct timing timing;
    struct parallel_timing parallel;
    struct limits limits;
    struct run_budget budget; /* as the settings say it */
    struct guard_settings guard;
    struct pool_settings pool;
    enum plan_order order;
    bool study_files; /* energy/ also has the files of samples that the study wrote */
    /* summary.csv has columns best_*: not those of runs that were planned before there were such */
    bool has_best;
};

struct plan_options {
    /* a hyperparameter that the model does not have is an error, not a warning */
    bool strict;
    bool for_running; /* a repository or script that is not there is an error, not a warning */
    /* the trainings see a GPU: pauses that the settings do not state are for it to cool */
    bool has_gpus;
    bool has_seed;
    uint64_t seed;    /* over the settings' */
    const char *home; /* for "~/", may be NULL */
    const char *cwd;  /* working folder */
    const char *path; /* PATH in which interpreters and scripts are found */
    /* CONDA_PREFIX, may be NULL: one of the places where environments are looked up */
    const char *conda_prefix;
    const struct registry *study; /* the installed registry of the study, for a hint; NULL: none */
    const char *study_path;       /* of its file, as a word of a command */
    bool verbatim; /* {dir}, {id} and names of hyperparameters in words stay as they are */
};

void plan_fini(struct plan *plan);

/* NULL: it has none of this name. */
struct plan_param *plan_job_param(const struct plan_job *job, const char *name);

/* Each foreground, followed by its background where it has one. */
typedef void plan_job_fn(void *context, const struct plan_job *job);
void plan_each_job(const struct plan *plan, plan_job_fn *each, void *context);

/* An optional metric that is searched by the names under which trainings print it: the registry of
 * a script has many of these, and few of them are in its log. */
bool plan_metric_is_guess(const struct plan_job *job, const struct registry_metric *metric);

void plan_experiment_fini(struct plan_experiment *experiment);

/* What is run before and after others each time, such as a preparation. */

/* In no entry. */
#define PLAN_AROUND_NONE SIZE_MAX

/* before[e] and after[e] (entries of each) say of which entry an experiment is put before and
 * behind each experiment of entry e; PLAN_AROUND_NONE: of none. Such an entry has one experiment,
 * which goes from where it was, and nothing around it. Numbers and ids are given anew. False: there
 * is no experiment of such an entry (err); plan is then as it was. */
bool plan_surround(struct plan *plan, const size_t *before, const size_t *after, size_t entries,
                   struct err *err);

/* command: how the jobs of one repository are started: its folder, script, interpreter and prefix,
 * found and checked once. (command.c) */

struct command {
    struct strv head; /* prefix, interpreter, script */
    struct strv env;  /* what comes before the registry's own: VIRTUAL_ENV, CONDA_PREFIX */
    struct strv path_prepend;
};

#endif
