#include "plan/command.h"
#include "base/fs_path.h"
#include "base/json_place.h"

#include "base/mem.h"
#include "base/shell_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is needed while one command is looked up. */
struct lookup {
    const struct repo *repo;
    const struct json_doc *doc;
    const struct plan_options *options;
    struct problems *problems;
    char *path; /* where bare names are searched; owned */
};

static void missing(const struct lookup *lookup, const char *key, const char *what)
{
    AUTO_FREE char *place = json_path_key(lookup->repo->json_path, key);
    lookup->problems->missing += lookup->options->for_running;
    problems_add(lookup->problems, lookup->options->for_running ? SEVERITY_ERROR : SEVERITY_WARNING,
                 lookup->doc, place, "'%s': %s", lookup->repo->name, what);
}

/* A path of the repository, "~/" expanded. */
static char *in_repo(const struct lookup *lookup, const char *path)
{
    return fs_resolve(lookup->repo->path, path, lookup->options->home);
}

/* A path, or a name found on PATH; unchanged, with a problem, if it does not exist. */
static char *resolve_program(const struct lookup *lookup, const char *key, const char *given)
{
    bool is_path = strchr(given, '/') != NULL;
    AUTO_FREE char *resolved = is_path ? in_repo(lookup, given) : mem_strdup(given);
    char *found = fs_find_executable(resolved, lookup->options->cwd, lookup->path);
    if (found)
        return found;
    AUTO_FREE char *what = is_path ? mem_printf("%s is not there or cannot be executed", resolved)
                                   : mem_printf("no program '%s' is on PATH", given);
    missing(lookup, key, what);
    return steal_ptr(resolved);
}

/* DIR/bin/python of an environment, which is "activated" for the job. */
static char *find_environment_python(const struct lookup *lookup, struct command *command,
                                     const char *key, const char *variable, const char *folder)
{
    AUTO_FREE char *bin = mem_printf("%s/bin", folder);
    AUTO_FREE char *python = mem_printf("%s/python", bin);
    strv_env_set(&command->env, variable, folder);
    strv_add(&command->path_prepend, bin);
    return resolve_program(lookup, key, python);
}

/* Where conda keeps an environment of this name, or NULL. */
static char *find_conda_folder(const struct lookup *lookup, const char *name)
{
    const char *home = lookup->options->home;
    const char *prefix = lookup->options->conda_prefix;
    char *folders[] = {
        prefix ? mem_printf("%s/envs/%s", prefix, name) : NULL,
        home ? mem_printf("%s/miniconda3/envs/%s", home, name) : NULL,
        home ? mem_printf("%s/anaconda3/envs/%s", home, name) : NULL,
        home ? mem_printf("%s/.conda/envs/%s", home, name) : NULL,
    };
    char *found = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!found && folders[i] && fs_is_folder(folders[i]))
            found = steal_ptr(folders[i]);
        free(folders[i]);
    }
    return found;
}

static char *find_conda_python(const struct lookup *lookup, struct command *command)
{
    const char *given = lookup->repo->conda_env;
    AUTO_FREE char *folder =
        strchr(given, '/') ? in_repo(lookup, given) : find_conda_folder(lookup, given);
    if (folder)
        return find_environment_python(lookup, command, "conda_env", "CONDA_PREFIX", folder);
    AUTO_FREE char *what = mem_printf(
        "no conda environment '%s' was found under $CONDA_PREFIX/envs, ~/miniconda3/envs, "
        "~/anaconda3/envs or ~/.conda/envs",
        given);
    missing(lookup, "conda_env", what);
    return mem_strdup("python");
}

/* NULL: the script is started itself. */
static char *resolve_interpreter(const struct lookup *lookup, struct command *command)
{
    const struct repo *repo = lookup->repo;
    if (repo->python)
        return resolve_program(lookup, "python", repo->python);
    if (repo->conda_env)
        return find_conda_python(lookup, command);
    if (!repo->venv)
        return NULL;
    AUTO_FREE char *folder = in_repo(lookup, repo->venv);
    return find_environment_python(lookup, command, "venv", "VIRTUAL_ENV", folder);
}

/* A bare name is the repository's own file or, failing that, a program on PATH. */
static char *resolve_script(const struct lookup *lookup, bool interpreted)
{
    const char *given = lookup->repo->train_script;
    AUTO_FREE char *own = in_repo(lookup, given);
    AUTO_FREE char *what = NULL;
    if (!strchr(given, '/') && !fs_is_file(own)) {
        char *found = fs_find_executable(given, lookup->options->cwd, lookup->path);
        if (found)
            return found;
        what = mem_printf("the script %s is not there, and no program '%s' is on PATH", own, given);
    } else if (!fs_is_file(own)) {
        what = mem_printf("the script %s is not there", own);
    } else if (interpreted && access(own, R_OK) != 0) {
        what = mem_printf("the script %s cannot be read", own);
    } else if (!interpreted && access(own, X_OK) != 0) {
        what = mem_printf("the script %s is not executable, and no interpreter is given (python, "
                          "venv or conda_env)",
                          own);
    }
    /* Without its folder the script is missing as a matter of course: that is said once, of the
     * folder. A program on PATH needs no folder to be found in. */
    if (what && lookup->repo->path_exists)
        missing(lookup, "train_script", what);
    return steal_ptr(own);
}

static char *search_path(const struct repo *repo, const struct plan_options *options)
{
    const char *path = strv_env_get(&repo->env, "PATH");
    AUTO_FREE char *first = strv_join(&repo->path_prepend, ":");
    if (!path)
        path = options->path;
    return *first && path ? mem_printf("%s:%s", first, path)
                          : mem_strdup(*first || !path ? first : path);
}

void command_init(struct command *command, const struct repo *repo, const struct json_doc *registry,
                  const struct plan_options *options, struct problems *problems)
{
    *command = (struct command){0};
    AUTO_FREE char *path = search_path(repo, options);
    const struct lookup lookup = {repo, registry, options, problems, path};
    if (!repo->path_exists) {
        AUTO_FREE char *what =
            mem_printf("the repository's folder %s is not there%s", repo->path,
                       repo->source.url ? " ('list --check' tells how to get it)" : "");
        missing(&lookup, "path", what);
    }
    for (size_t i = 0; i < repo->command_prefix.count; i++) {
        const char *word = repo->command_prefix.items[i];
        strv_add_owned(&command->head, i == 0 ? resolve_program(&lookup, "command_prefix", word)
                                              : mem_strdup(word));
    }
    char *interpreter = resolve_interpreter(&lookup, command);
    if (interpreter)
        strv_add_owned(&command->head, interpreter);
    strv_add_owned(&command->head, resolve_script(&lookup, interpreter != NULL));
    strv_add_all(&command->path_prepend, &repo->path_prepend);
}

void command_fini(struct command *command)
{
    strv_fini(&command->head);
    strv_fini(&command->env);
    strv_fini(&command->path_prepend);
}

char *command_param_variable(const char *name)
{
    char *variable = mem_printf("TARE_PARAM_%s", name);
    for (char *c = variable; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return variable;
}

bool plan_param_is_joined(const struct plan_param *param)
{
    return param->flag && (!*param->flag || text_ends_with(param->flag, "="));
}

char *plan_param_word(const struct plan_param *param)
{
    AUTO_FREE char *value = value_format(&param->value);
    return plan_param_is_joined(param) ? mem_printf("%s%s", param->flag, value) : steal_ptr(value);
}

void plan_param_append(struct plan_param *param, struct strv *argv)
{
    if (!plan_param_is_joined(param))
        strv_add(argv, param->flag);
    param->place = argv->count;
    strv_add_owned(argv, plan_param_word(param));
}

/* The hyperparameter whose value goes to the end of this word of required_args, which is "{name}"
 * or ends with "={name}"; param_count: none. before: length of the text in front of it. */
static size_t find_hole(const struct repo *repo, const char *word, size_t *before)
{
    const char *brace = strrchr(word, '{');
    size_t length = brace ? strlen(brace) : 0, i = 0;
    if (length < 3 || brace[length - 1] != '}' || (brace != word && brace[-1] != '='))
        return repo->param_count;
    *before = (size_t)(brace - word);
    while (i < repo->param_count && (strlen(repo->params[i].name) != length - 2 ||
                                     strncmp(repo->params[i].name, brace + 1, length - 2) != 0))
        i++;
    return i;
}

/* The hyperparameter whose value a word of required_args gets: one without a flag, or a bool, whose
 * flag replaces the word. param_count: none. */
static size_t find_in_place(const struct repo *repo, const char *word, size_t *before)
{
    size_t at = find_hole(repo, word, before);
    if (at == repo->param_count || !repo->params[at].flag)
        return at;
    return repo->params[at].type == PARAM_BOOL && *before == 0 ? at : repo->param_count;
}

static void add_switch(const struct repo *repo, size_t at, struct plan_job *job)
{
    const struct param *param = &repo->params[at];
    const char *flag = job->params[at].value.truth ? param->flag : param->off_flag;
    if (flag)
        strv_add(&job->argv, flag);
}

/* A word of required_args. */
static void add_required(const struct repo *repo, const char *word, struct plan_job *job)
{
    size_t before, at = find_in_place(repo, word, &before);
    if (at == repo->param_count) {
        strv_add(&job->argv, word);
        return;
    }
    struct plan_param *param = &job->params[at];
    if (param->value.kind == VALUE_NULL)
        return;
    if (repo->params[at].flag) {
        add_switch(repo, at, job);
        return;
    }
    free(param->flag);
    param->flag = mem_strndup(word, before);
    plan_param_append(param, &job->argv);
}

/* Those with a value that no word of required_args has. */
static void add_options(const struct repo *repo, const bool *in_place, struct plan_job *job)
{
    for (size_t i = 0; i < job->param_count; i++) {
        struct plan_param *param = &job->params[i];
        if (param->value.kind == VALUE_NULL || in_place[i]) /* null: "not given" */
            continue;
        if (repo->params[i].type == PARAM_BOOL && repo->params[i].flag) {
            add_switch(repo, i, job);
        } else if (param->flag) {
            plan_param_append(param, &job->argv);
        } else {
            AUTO_FREE char *value = value_format(&param->value);
            AUTO_FREE char *variable = command_param_variable(param->name);
            strv_env_set(&job->env, variable, value);
        }
    }
}

void command_fill(const struct command *command, const struct repo *repo,
                  const struct strv *environment, struct plan_job *job)
{
    const struct strv *required = &repo->required_args;
    size_t operands = repo->launcher_end, before;
    job->cwd = mem_strdup(repo->path);
    strv_add_all(&job->argv, &command->head);
    if (repo->model_flag) {
        strv_add(&job->argv, repo->model_flag);
        strv_add(&job->argv, job->model);
    }
    strv_add_all(&job->env, &command->env);
    strv_env_set_all(&job->env, &repo->env);
    strv_env_set_all(&job->env, environment);
    AUTO_FREE bool *in_place = mem_array(job->param_count + 1, sizeof *in_place);
    for (size_t i = 0; i < required->count; i++)
        in_place[find_in_place(repo, required->items[i], &before)] = true;
    while (operands < required->count && strcmp(required->items[operands], "--") != 0)
        operands++;
    for (size_t i = 0; i < operands; i++)
        add_required(repo, required->items[i], job);
    add_options(repo, in_place, job);
    /* after "--" an option would be an operand */
    for (size_t i = operands; i < required->count; i++)
        add_required(repo, required->items[i], job);
    strv_add_all(&job->path_prepend, &command->path_prepend);
}

static void add_env_assignment(struct text *out, const char *entry)
{
    const char *equals = strchr(entry, '=');
    if (!equals)
        return;
    text_add_bytes(out, entry, (size_t)(equals - entry) + 1);
    if (equals[1])
        shell_words_quote(equals + 1, out);
    text_add_char(out, ' ');
}

char *plan_job_shell(const struct plan_job *job, const struct placeholder_place *place)
{
    struct text out = {0};
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    placeholder_fill_argv(job, place, &argv);
    placeholder_fill_env(job, place, &env);
    for (size_t i = 0; i < env.count; i++)
        add_env_assignment(&out, env.items[i]);
    if (job->path_prepend.count) {
        AUTO_FREE char *folders = strv_join(&job->path_prepend, ":");
        text_add(&out, "PATH=");
        shell_words_quote(folders, &out);
        text_add(&out, ":\"$PATH\" ");
    }
    for (size_t i = 0; i < argv.count; i++) {
        if (i == 0) {
            shell_words_quote_command(argv.items[i], &out);
            continue;
        }
        text_add_char(&out, ' ');
        shell_words_quote(argv.items[i], &out);
    }
    return text_take(&out);
}
