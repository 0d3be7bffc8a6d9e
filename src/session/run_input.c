#include "session/run_input.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "plan/planner.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "session/command.h"
#include "session/gpus.h"
#include "session/message.h"
#include "tare_build.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What messages call the files of a script that has none yet. */
#define MADE_SETTINGS "settings made of the command line"
#define MADE_REGISTRY "registry made of the command line"

static void read_input_settings(const struct run_options *how, struct run_input *input)
{
    if (how->made_settings)
        settings_parse_changed(MADE_SETTINGS, how->made_settings, strlen(how->made_settings),
                               &how->changes, &input->settings, &input->problems);
    else if (how->settings_path)
        settings_read_changed(how->settings_path, &how->changes, &input->settings,
                              &input->problems);
    else
        settings_from_flags(how->repo, how->model, how->mutate, &how->changes, &input->settings);
    const struct json_doc *doc = &input->settings.doc;
    struct text text = {0};
    if (doc->overrides)
        json_print_pretty(doc->root, &text);
    else
        text_add(&text, doc->text ? doc->text : "");
    input->settings_text = text_take(&text);
}

static void read_registry(const struct run_options *how, struct run_input *input)
{
    if (how->made_registry) {
        registry_parse(MADE_REGISTRY, how->made_registry, strlen(how->made_registry),
                       &input->registry, &input->problems);
        return;
    }
    AUTO(located_fini)
    struct located located = registry_locate(how->registry_path, &input->settings.doc);
    input->registry_path = steal_ptr(located.path);
    input->registry_why = located.why;
    if (input->registry_path)
        registry_read(input->registry_path, &input->registry, &input->problems);
    /* Settings that cannot be read may name one, and may lie beside one: nothing is known of it
     * yet. */
    else if (!how->settings_path || input->settings.doc.root)
        problems_add(&input->problems, SEVERITY_ERROR, &input->settings.doc,
                     settings_registry_named(&input->settings.doc) ? "$.registry" : NULL, "%s",
                     located.missing);
}

static bool is_repo_known(const struct registry *registry, const struct job_settings *job)
{
    return !job->repo || registry_find(registry, job->repo);
}

/* Whether every repository that the settings name is in their registry. */
static bool are_all_repos_known(const struct run_input *input)
{
    EACH (entry, input->settings.entries, input->settings.entry_count) {
        if (!is_repo_known(&input->registry, &entry->foreground) ||
            (entry->parallel && !is_repo_known(&input->registry, &entry->background)))
            return false;
    }
    return true;
}

static void make_input_plan(const struct run_options *how, struct run_input *input)
{
    AUTO(study_registry_fini) struct study_registry study = {0};
    if (!are_all_repos_known(input))
        study_registry_read(&study);
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const char *path = getenv("PATH");
    struct plan_options options = {
        .strict = how->changes.strict,
        .for_running = how->for_running,
        .has_gpus = how->for_other_machine ||
                    gpus_are_for_jobs(how->gpus ? how->gpus : input->settings.pool.gpus,
                                      &input->settings.environment),
        .has_seed = how->has_seed || !input->settings.has_seed,
        .seed = how->has_seed ? how->seed : rng_fresh_seed(),
        .home = getenv("HOME"),
        .conda_prefix = getenv("CONDA_PREFIX"),
        .cwd = cwd ? cwd : "/",
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
        .study = study.path ? &study.registry : NULL,
        .study_path = study.path,
    };
    plan_make(&input->settings, &input->registry, &options, &input->plan, &input->problems);
    input->plan.study_files = !how->made_settings;
}

bool run_input_read(const struct run_options *how, struct run_input *out)
{
    *out = (struct run_input){0};
    read_input_settings(how, out);
    read_registry(how, out);
    /* Files with mistakes are checked against each other all the same, as there may be more of
     * them. Against a registry of which nothing could be read every name would be reported as
     * unknown. */
    if (out->registry.repo_count > 0 && out->settings.entry_count > 0)
        make_input_plan(how, out);
    return out->problems.errors == 0;
}

/* Those that 'run' left in output, after those that the settings name. */
static void add_summaries(const char *output, struct strv *out)
{
    AUTO_FREE char *pattern = mem_printf("%s/run_*/summary.csv", output);
    glob_t found = {0};
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        EACH (item, found.gl_pathv, found.gl_pathc)
            strv_add_owned(out, fs_resolve(NULL, *item, NULL));
    globfree(&found);
}

void run_input_expect(const struct run_input *input, const char *output, struct expected *out)
{
    struct settings histories = input->settings;
    AUTO_STRV struct strv files = {0};
    strv_add_all(&files, &input->settings.historical_csvs);
    if (output)
        add_summaries(output, &files);
    histories.historical_csvs = files;
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const struct plan_options options = {.cwd = cwd ? cwd : "/", .home = getenv("HOME")};
    struct problems ignored = {0};
    history_read(&histories, &input->registry, &options, NULL, out, &ignored);
    problems_fini(&ignored);
}

void run_input_fini(struct run_input *input)
{
    settings_fini(&input->settings);
    registry_fini(&input->registry);
    plan_fini(&input->plan);
    problems_fini(&input->problems);
    free(input->settings_text);
    free(input->registry_path);
    *input = (struct run_input){0};
}

void run_input_say(const struct run_input *input, bool quiet)
{
    if (quiet && input->problems.errors == 0)
        return;
    if (input->registry_path)
        cli_note("registry %s (%s)", input->registry_path, input->registry_why);
    message_problems(&input->problems);
}

char *program_file(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? mem_strndup(path, (size_t)length) : NULL;
}

/* The study's name is first: where both are, its settings go on with what they always had. */
static const char *const names[] = {"models_config.json", "registry.json"};
enum { NAMES = sizeof names / sizeof *names };

static const char *const working_folders[] = {"mutation", ".", "config"};

/* The path when something is there; else NULL, and it is noted. */
static char *try_path(const char *path, struct strv *tried)
{
    if (access(path, F_OK) == 0)
        return mem_strdup(path);
    strv_add_once(tried, path);
    return NULL;
}

static char *try_in(const char *folder, const char *path, struct strv *tried)
{
    AUTO_FREE char *joined =
        strcmp(folder, ".") == 0 ? mem_strdup(path) : mem_printf("%s/%s", folder, path);
    return try_path(joined, tried);
}

static char *try_names_in(const char *folder, struct strv *tried)
{
    char *found = NULL;
    for (size_t i = 0; i < NAMES && !found; i++)
        found = try_in(folder, names[i], tried);
    return found;
}

/* What the settings name: beside them, then in the working folder. */
static char *try_named(const char *folder, const char *named, struct strv *tried)
{
    if (named[0] == '/' || named[0] == '~') {
        AUTO_FREE char *path = fs_resolve(NULL, named, getenv("HOME"));
        return try_path(path, tried);
    }
    char *found = folder ? try_in(folder, named, tried) : NULL;
    return found ? found : try_path(named, tried);
}

/* In the study the settings are in settings/, and the registry is beside that folder. A parent that
 * every user can write to, such as /tmp, is not searched, because a registry names commands to
 * run. */
static char *try_parent(const char *folder, struct strv *tried)
{
    bool is_working = strcmp(folder, ".") == 0;
    AUTO_FREE char *whole = is_working ? fs_resolve(NULL, NULL, NULL) : mem_strdup(folder);
    AUTO_FREE char *name = fs_basename(whole);
    AUTO_FREE char *parent = is_working ? mem_strdup("..") : fs_dirname(folder);
    AUTO_FREE char *mutation = mem_printf("%s/mutation", parent);
    struct stat info;
    bool may_search = stat(parent, &info) == 0 && !(info.st_mode & S_IWOTH);
    if (strcmp(name, "settings") != 0 || strcmp(parent, ".") == 0 || !may_search)
        return NULL;
    char *found = try_names_in(mutation, tried);
    return found ? found : try_names_in(parent, tried);
}

/* The program may have been moved with its folders since it was installed: first as seen from where
 * it lies. */
static char *try_shared(const char *file, struct strv *tried)
{
    char *found = NULL;
    AUTO_FREE char *self = program_file();
    if (self) {
        AUTO_FREE char *bin = fs_dirname(self);
        AUTO_FREE char *prefix = fs_dirname(bin);
        AUTO_FREE char *folder = fs_resolve(prefix, "share/" TARE_NAME, NULL);
        found = try_in(folder, file, tried);
    }
    return found ? found : try_in(TARE_SHARE_DIR, file, tried);
}

void study_registry_read(struct study_registry *out)
{
    AUTO_STRV struct strv tried = {0};
    AUTO(problems_fini) struct problems problems = {0};
    AUTO_FREE char *path = try_shared("registry/study.json", &tried);
    *out = (struct study_registry){0};
    if (path && registry_read(path, &out->registry, &problems))
        out->path = shell_words_path(path);
}

void study_registry_fini(struct study_registry *study)
{
    registry_fini(&study->registry);
    free(study->path);
    *study = (struct study_registry){0};
}

struct located registry_locate(const char *given, const struct json_doc *settings)
{
    struct located out = {.path = mem_strdup(given), .why = "given by --config"};
    if (given)
        return out;
    AUTO_STRV struct strv tried = {0};
    /* The folder of the settings; NULL: they are not from a file. */
    AUTO_FREE char *folder =
        settings && settings->file && *settings->file ? fs_dirname(settings->file) : NULL;
    const char *named = settings_registry_named(settings);
    if (named) {
        out.why = "named in the settings";
        out.path = try_named(folder, named, &tried);
    } else {
        out.why = "beside the settings";
        out.path = folder ? try_names_in(folder, &tried) : NULL;
        for (size_t i = 0; i < sizeof working_folders / sizeof *working_folders && !out.path; i++) {
            out.why = "in the working folder";
            out.path = try_names_in(working_folders[i], &tried);
        }
        if (!out.path) {
            out.why = "beside the folder settings";
            out.path = try_parent(folder ? folder : ".", &tried);
        }
        if (!out.path) {
            out.why = "came with the program";
            out.path = try_shared(names[0], &tried);
        }
    }
    AUTO_FREE char *places = strv_join(&tried, ", ");
    if (!out.path)
        out.missing = mem_printf("%s (looked for %s); say which by --config REGISTRY.json",
                                 named ? "the registry that the settings name is not there"
                                       : "there is no registry",
                                 places);
    return out;
}

void located_fini(struct located *located)
{
    free(located->path);
    free(located->missing);
    *located = (struct located){0};
}
