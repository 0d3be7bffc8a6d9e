/* run_input: from what stands on the command line to a plan, and every mistake on the way; and
 * which registry a command reads. */
#ifndef TARE_SESSION_RUN_INPUT_H
#define TARE_SESSION_RUN_INPUT_H

#include "base/json.h"
#include "plan/config/problem.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "plan/expected.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a person asked for; texts are borrowed, NULL: not given. */
struct run_options {
    const char *settings_path; /* or the four below */
    const char *repo, *model, *mutate;
    /* both texts of a script without files (session/script.h), or NULL */
    const char *made_settings, *made_registry;
    struct settings_changes changes;
    const char *registry_path;
    bool has_seed;
    uint64_t seed;
    bool for_running;
    const char *gpus;       /* over the settings', as pool_make (session/gpus.h) takes it */
    const char *untouched;  /* options that are left to the script, for --dry-run; NULL */
    bool for_other_machine; /* which has GPUs, for all that is known here */
};

struct run_input {
    struct settings settings;
    struct registry registry;
    struct plan plan;
    char *settings_text; /* what the run keeps as settings.json */
    char *registry_path; /* NULL: none was found */
    const char *registry_why;
    struct problems problems;
};

/* False: problems holds errors. Settings, registry and plan are read as far as they can be, so that
 * all is told at once. */
bool run_input_read(const struct run_options *how, struct run_input *out);
void run_input_fini(struct run_input *input);

/* How long earlier runs took: those that the settings name, and those in the folder output (NULL:
 * none). Problems were reported with the plan. */
void run_input_expect(const struct run_input *input, const char *output, struct expected *out);

/* Which registry it is, and every problem; quiet: only where there is an error. */
void run_input_say(const struct run_input *input, bool quiet);

/* Where this program lies: fresh; NULL: not known. */
char *program_file(void);

/* Which registry a command reads. */

struct located {
    char *path;      /* NULL: none was found */
    const char *why; /* "given by --config", "beside the settings", ... */
    char *missing;   /* none was found: the error, with every place that was tried; else NULL */
};

/* given (--config, may be NULL), else key "registry" of the settings (relative to their folder,
 * then to the working folder), else models_config.json or registry.json beside the settings, in
 * ./mutation, in the working folder, in ./config, for a folder "settings" in ../mutation and .. as
 * seen from it, else the one that came with the program; docs/reference/settings.md has the same
 * list. settings: may be NULL, and its file too. */
struct located registry_locate(const char *given, const struct json_doc *settings);
void located_fini(struct located *located);

/* The registry of the study that is installed with the program, for hints. */
struct study_registry {
    struct registry registry;
    char *path; /* as a word of a command; NULL: it is not installed, or cannot be read */
};

void study_registry_read(struct study_registry *out);
void study_registry_fini(struct study_registry *study);

#endif
