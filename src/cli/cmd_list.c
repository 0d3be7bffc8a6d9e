#include "base/fs.h"
#include "base/mem.h"
#include "cli/list.h"
#include "cli/option_rows.h"
#include "machine/contain/guardian.h"
#include "report/registry_text.h"
#include "run/needs.h"
#include "run/smoke.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/exec_job.h"
#include "session/gpu_hold.h"
#include "session/message.h"
#include "session/run_resources.h"
#include "slurm/collect.h"
#include "tare_build.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The models of one repository that a job of the settings trains. */
static void add_job(const struct job_settings *job, const struct repo *repo, struct strv *models)
{
    if (job->repo && job->model && strcmp(job->repo, repo->name) == 0)
        strv_add_once(models, job->model);
}

static void find_models(const struct list_options *how, const struct repo *repo, struct strv *models)
{
    if (!how->has_settings) {
        strv_add_all(models, &repo->models);
        return;
    }
    for (size_t i = 0; i < how->settings.entry_count; i++) {
        add_job(&how->settings.entries[i].foreground, repo, models);
        if (how->settings.entries[i].parallel)
            add_job(&how->settings.entries[i].background, repo, models);
    }
}

static bool check_job(const struct registry *registry, const char *path, const struct job_settings *job)
{
    const struct repo *repo = list_find_repo(registry, path, job->repo);
    bool has = repo && strv_has(&repo->models, job->model);
    if (repo && !has)
        cli_error("%s has no model '%s' in '%s'", path, job->model, job->repo);
    return has;
}

/* All that the settings name is in the registry? Each that is not is told. */
static bool check_names(const struct registry *registry, const struct list_options *how)
{
    bool good = !how->only || list_find_repo(registry, how->located.path, how->only);
    for (size_t i = 0; how->has_settings && i < how->settings.entry_count; i++) {
        const struct entry_settings *entry = &how->settings.entries[i];
        good = check_job(registry, how->located.path, &entry->foreground) && good;
        if (entry->parallel)
            good = check_job(registry, how->located.path, &entry->background) && good;
    }
    return good;
}

/* cwd: the working folder, or NULL. */
static struct plan_options plan_options(const char *cwd)
{
    const char *path = getenv("PATH");
    return (struct plan_options){
        .home = getenv("HOME"),
        .conda_prefix = getenv("CONDA_PREFIX"),
        .cwd = cwd ? cwd : "/",
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
        .has_seed = true,
    };
}

static void look(const struct registry *registry, const struct list_options *how, struct needs *needs)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const struct plan_options options = plan_options(cwd);
    for (size_t i = 0; i < registry->repo_count; i++) {
        const struct repo *repo = &registry->repos[i];
        AUTO_STRV struct strv models = {0};
        if (!how->only || strcmp(how->only, repo->name) == 0)
            find_models(how, repo, &models);
        if (models.count)
            needs_look(registry, repo, &models, &options, needs);
    }
    needs_ask(needs);
}

/* What a run of these models would start, one after the other. */
struct starts {
    struct plan plan;
    struct smoke *items; /* one for each experiment of the plan; those from count on have not begun */
    size_t count;
    bool broken;
    int signal_number; /* that interrupted them; 0: none */
};

static void starts_fini(struct starts *starts)
{
    for (size_t i = 0; i < starts->count; i++)
        smoke_fini(&starts->items[i]);
    free(starts->items);
    plan_fini(&starts->plan);
}

/* The first job of the settings that trains this model; NULL: there are no settings. */
static const struct job_settings *find_job(const struct list_options *how, const char *repo, const char *model)
{
    for (size_t i = 0; how->has_settings && i < how->settings.entry_count; i++) {
        const struct entry_settings *entry = &how->settings.entries[i];
        const struct job_settings *jobs[] = {&entry->foreground, entry->parallel ? &entry->background : NULL};
        for (size_t j = 0; j < 2; j++)
            if (jobs[j] && jobs[j]->repo && jobs[j]->model && strcmp(jobs[j]->repo, repo) == 0 &&
                strcmp(jobs[j]->model, model) == 0)
                return jobs[j];
    }
    return NULL;
}

/* {"repo", "model", "mode": "default", "hyperparameters"}: the settings' own values, and over them those of "smoke". */
static json_t *make_entry(const struct list_options *how, const struct repo *repo, const char *model)
{
    const struct job_settings *job = find_job(how, repo->name, model);
    json_t *values = json_object();
    for (size_t i = 0; job && i < job->param_count; i++)
        json_object_set_new(values, job->params[i].name, value_to_json(&job->params[i].value));
    for (size_t i = 0; i < repo->smoke.change_count; i++)
        json_object_set_new(values, repo->smoke.changes[i].name, value_to_json(&repo->smoke.changes[i].value));
    return json_pack("{s:s, s:s, s:s, s:o}", "repo", repo->name, "model", model, "mode", "default", "hyperparameters",
                     values);
}

/* What of the settings changes how a job starts. */
static json_t *make_tare(const struct list_options *how)
{
    static const char *const keys[] = {"timing", "environment", "limits", "private"};
    const json_t *given = how->has_settings ? json_get(how->settings.doc.root, "tare") : NULL;
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_get(given, keys[i]))
            json_object_set(out, keys[i], (json_t *)(uintptr_t)json_get(given, keys[i]));
    return out;
}

static bool make_plan(const struct registry *registry, const struct list_options *how, const struct needs *needs,
                      struct plan *out)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const struct plan_options options = plan_options(cwd);
    AUTO(problems_fini) struct problems problems = {0}, ignored = {0};
    AUTO(settings_fini) struct settings settings = {0};
    AUTO_TEXT struct text text = {0};
    json_t *entries = json_array();
    for (size_t i = 0; i < needs->count; i++)
        for (size_t j = 0; j < needs->repos[i].models.count; j++)
            json_array_append_new(entries, make_entry(how, needs->repos[i].repo, needs->repos[i].models.items[j]));
    json_print_taken(
        json_pack("{s:b, s:o, s:o}", "use_deduplication", false, "experiments", entries, "tare", make_tare(how)),
        &text);
    bool good = settings_parse("the settings of the starts", text_get(&text), text.length, &settings, &problems) &&
                plan_make(&settings, registry, &options, out, &ignored);
    /* What this machine lacks was told; what the settings have too much is a warning of 'run'. */
    if (!good) {
        message_problems(&problems);
        message_problems(&ignored);
    }
    return good;
}

/* How much of what the model needs is not there. */
static size_t count_missing(const struct needs *needs, const struct plan_job *job)
{
    for (size_t i = 0; i < needs->count; i++)
        if (strcmp(needs->repos[i].repo->name, job->repo) == 0)
            return repo_needs_missing(&needs->repos[i], job->model);
    return 0;
}

/* A folder of this user's own, for training.log; not below a folder in which others may rename. */
static char *make_folder(struct err *err)
{
    const char *parent = getenv("TMPDIR");
    char *path = mem_printf("%s/" TARE_NAME "-check-XXXXXX", parent && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(path))
        return path;
    err_sys(err, "make %s", path);
    free(path);
    return NULL;
}

static void start_all(const struct run_request *request, const struct needs *needs, double seconds,
                      struct starts *starts)
{
    struct err err = {0};
    int signals = exec_signals_open();
    for (size_t i = 0; i < starts->plan.count && !starts->broken && !starts->signal_number; i++) {
        const struct plan_job *job = &starts->plan.experiments[i].foreground;
        struct smoke *smoke = &starts->items[starts->count++];
        size_t missing = count_missing(needs, job);
        if (missing) {
            *smoke = (struct smoke){.repo = mem_strdup(job->repo),
                                    .model = mem_strdup(job->model),
                                    .why = mem_printf("%zu missing", missing)};
            continue;
        }
        cli_note("starting %s %s in %s, for at most %g s", job->repo, job->model, job->cwd, seconds);
        if (!smoke_start(request, &starts->plan, i, seconds, signals, smoke, &err)) {
            cli_error("%s %s: %s", job->repo, job->model, err.text);
            smoke->state = SMOKE_FAILED;
            smoke->why = mem_strdup(err.text);
            starts->broken = true;
        }
        starts->signal_number = smoke->signal_number;
    }
    if (signals >= 0)
        close(signals);
}

/* With the GPUs held: no run measures on them meanwhile, and none begins. */
static int start_held(const struct needs *needs, const struct strv *environment, double seconds, struct starts *starts)
{
    struct err err = {0};
    AUTO(containment_fini) struct containment containment = {0};
    AUTO_FREE char *folder = NULL;
    if (!containment_probe(CONTAINMENT_AUTO, &containment, &err) || !(folder = make_folder(&err)))
        return cli_failed(CLI_BROKEN, &err);
    AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct state *state = registration_open();
    struct guardian *guardian = guardian_start(&err);
    if (!guardian)
        cli_warning("no guardian, so jobs that hide may outlive a killed %s: %s", TARE_NAME, err.text);
    state = registration_begin(state, STATE_EXEC, NULL);
    const struct run_request request = {
        .dir = dir,
        .dir_path = folder,
        .containment = &containment,
        .environment = environment,
        .guardian = guardian,
        .state = state,
    };
    start_all(&request, needs, seconds, starts);
    guardian_stop(guardian);
    registration_end(state);
    AUTO_FREE char *parent = fs_dirname(folder);
    AUTO_CLOSE int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!files_remove_tree(above, strrchr(folder, '/') + 1, &err))
        cli_warning("%s", err.text);
    return starts->broken ? CLI_BROKEN : starts->signal_number ? 128 + starts->signal_number : CLI_OK;
}

/* 0, or the exit code. */
static int start(const struct registry *registry, const struct list_options *how, const struct needs *needs,
                 const struct list_check_options *check, struct starts *starts)
{
    if (!make_plan(registry, how, needs, &starts->plan))
        return CLI_USAGE;
    starts->items = mem_array(starts->plan.count + 1, sizeof *starts->items);
    AUTO_STRV struct strv environment = {0};
    sigset_t ends;
    sigemptyset(&ends);
    struct gpu_hold *gpus = NULL;
    strv_add_all(&environment, &check->caller->environment);
    const struct gpu_hold_options hold = {
        .mode = GPU_HOLD_REFUSE,
        .environment = &environment,
        .plan = &starts->plan,
        .ends = &ends,
        .failed = CLI_BROKEN,
    };
    int code = gpu_hold_take(&hold, &gpus, NULL);
    gpu_hold_tell_jobs(gpus, &environment);
    if (code == 0)
        code = start_held(needs, &environment, check->seconds, starts);
    gpu_hold_end(gpus);
    return code;
}

static int print(const struct needs *needs, const struct starts *starts, const char *registry, bool json)
{
    AUTO_TEXT struct text text = {0};
    if (json) {
        json_print_taken(needs_text_json(needs, starts->items, starts->count, registry), &text);
    } else {
        bool colour = message_colour(STDOUT_FILENO);
        needs_text(needs, colour, &text);
        needs_text_starts(starts->items, starts->count, colour, &text);
    }
    if (!message_print(&text))
        return CLI_BROKEN;
    bool good = needs_all_there(needs);
    for (size_t i = 0; i < starts->count; i++)
        good = good && smoke_is_good(&starts->items[i]);
    return good ? CLI_OK : CLI_SOME_FAILED;
}

/* Gives the exit code: 0 all there, 1 something is missing, or a start is not good. */
static int list_check(const struct list_check_options *check)
{
    AUTO(list_options_fini) struct list_options how = {0};
    AUTO(registry_fini) struct registry registry = {0};
    if (!list_read(check->asked, check->config, &how, &registry) || !check_names(&registry, &how))
        return CLI_USAGE;
    AUTO(needs_fini) struct needs needs = {0};
    AUTO(starts_fini) struct starts starts = {0};
    look(&registry, &how, &needs);
    int code = check->starts ? start(&registry, &how, &needs, check, &starts) : CLI_OK;
    int printed = print(&needs, &starts, how.located.path, check->json);
    return code ? code : printed;
}

enum { OPTION_CONFIG, OPTION_CHECK, OPTION_SECONDS, OPTION_JSON, OPTION_AS_ROOT, OPTION_COUNT };

static const char *const check_choices[] = {"run", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY("the registry to show, instead of the one that is found"),
    [OPTION_CHECK] = FLAG_ROW(
        NULL, "--check",
        "tell what is still missing on this machine, and how to get it; =run: start each model for a moment as well",
        .type = CLI_FLAG, .choices = check_choices),
    [OPTION_SECONDS] = VALUE_ROW(NULL, "--seconds", "DURATION", CLI_DURATION,
                                 "with --check=run: how long each model may run before it is ended", .low = 1,
                                 .high = 3600, .default_text = "20s"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static int run(const struct cli_call *call)
{
    const char *asked = call->operands.count ? call->operands.items[0] : NULL;
    const struct list_check_options check = {
        .asked = asked,
        .config = call->values[OPTION_CONFIG].text,
        .json = call->values[OPTION_JSON].given,
        .starts = call->values[OPTION_CHECK].text,
        .seconds = call->values[OPTION_SECONDS].seconds,
        .caller = call->caller,
    };
    if (call->values[OPTION_SECONDS].given && !check.starts)
        return cli_usage_error(call->command, "--seconds goes with --check=run");
    if (call->values[OPTION_CHECK].given)
        return list_check(&check);
    return list_registry(asked, call->values[OPTION_CONFIG].text, call->values[OPTION_JSON].given);
}

static const char *const usage[] = {"list [REPO | SETTINGS.json | REGISTRY.json] [options]",
                                    "list --check[=run] [SETTINGS.json | REGISTRY.json | REPO] [options]", NULL};

static const char *const description[] = {
    "Shows the repositories of a registry with their models and hyperparameters: flag, type, range, default and "
    "distribution. The registry is found as 'run' finds it; of a settings file, it is the one that 'run' would take.",
    "With --check: what its models need and this machine lacks (the repository's folder, script, interpreter, Python "
    "modules and their versions, data, room on the disk), and the command or place that fixes it. Of a settings file, "
    "only the models that it runs are checked. Modules are imported in a child that sees no GPU; nothing is fetched, "
    "nothing is trained.",
    "With --check=run: then each model that lacks nothing is started for 20 s (--seconds), one after the other, with "
    "the "
    "command line, environment and containment of a run, and ended with all that it started. It trains in its own "
    "folder, as in a run, and what it writes there stays. Hyperparameters have the settings' values or their defaults, "
    "and those of \"smoke\" in the registry. The GPUs are locked meanwhile; where a run holds one, nothing is started.",
    NULL};

static const char *const exits[] = {
    "0",   "shown; with --check: all is there, and every start is good",
    "1",   "with --check: something is missing, or a start failed or ended without a metric",
    "2",   "no registry, a mistake in it, or no such repository",
    "3",   "with --check=run: a run holds a GPU, or something of a start is still alive",
    "130", "interrupted by Ctrl-C (143: by TERM); what was found until then is shown",
    NULL};

static const char *const examples[] = {
    "list --check settings.json",
    "what this machine lacks of what the settings need",
    "list --check=run registry.json",
    "start each model of a registry for some seconds",
    NULL,
};

const struct cli_command cmd_list = {
    .name = "list",
    .group = CLI_GROUP_RUN,
    .summary = "show repositories, models and hyperparameters",
    .operand_max = 1,
    .operand_name = "REPO",
    COMMAND_TABLES,
};
