#include "plan/placeholder.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/mutate/mutate.h"
#include "plan/plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char dir_name[] = "dir";
static const char id_name[] = "id";

/* The length of NAME in "{NAME}" at text; 0: text does not begin with one. */
static size_t braced_name_length(const char *text)
{
    if (*text != '{' || !(isalpha((unsigned char)text[1]) || text[1] == '_'))
        return 0;
    size_t length = 1;
    while (isalnum((unsigned char)text[1 + length]) ||
           (text[1 + length] && strchr("_-.", text[1 + length])))
        length++;
    return text[1 + length] == '}' ? length : 0;
}

/* Options are written with "-", variables of Python with "_". */
static bool is_same_name(const char *given, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++) {
        char one = given[i] == '-' ? '_' : given[i], other = name[i] == '-' ? '_' : name[i];
        if (one != other)
            return false;
    }
    return name[length] == '\0';
}

/* Values that are left to the script are unknown. */
static const struct plan_param *find_job_param(const struct plan_job *job, const char *name,
                                               size_t length)
{
    EACH (param, job->params, job->param_count)
        if (is_same_name(name, length, param->name) && param->value.kind != VALUE_NULL)
            return param;
    return NULL;
}

static bool is_known_placeholder(const struct plan_job *job, const char *name, size_t length)
{
    return is_same_name(name, length, dir_name) || is_same_name(name, length, id_name) ||
           find_job_param(job, name, length);
}

/* The length of the name of the placeholder at text; 0: none is there. */
static size_t placeholder_length(const struct plan_job *job, const char *text)
{
    size_t length = braced_name_length(text);
    return length && is_known_placeholder(job, text + 1, length) ? length : 0;
}

static bool has_placeholder(const struct plan_job *job, const struct strv *words, size_t first)
{
    for (size_t i = first; i < words->count; i++)
        for (const char *at = words->items[i]; (at = strchr(at, '{')); at++)
            if (placeholder_length(job, at))
                return true;
    return false;
}

bool placeholder_is_in(const struct plan_job *job)
{
    bool found = has_placeholder(job, &job->argv, 1) || has_placeholder(job, &job->env, 0);
    for (size_t i = 0; i < job->oom_step_count && !found; i++)
        found = has_placeholder(job, &job->oom_steps[i].args, 0) ||
                has_placeholder(job, &job->oom_steps[i].env, 0);
    return found;
}

static void add_placeholder_value(const struct plan_job *job, const char *name, size_t length,
                                  const struct placeholder_place *place, struct text *out)
{
    if (is_same_name(name, length, id_name)) {
        text_add(out, place->id);
    } else if (is_same_name(name, length, dir_name)) {
        text_add(out, place->dir ? place->dir : "{dir}");
    } else {
        AUTO_FREE char *value = value_format(&find_job_param(job, name, length)->value);
        text_add(out, value);
    }
}

char *placeholder_fill(const char *word, const struct plan_job *job,
                       const struct placeholder_place *place)
{
    struct text out = {0};
    while (*word) {
        size_t length = placeholder_length(job, word);
        if (length) {
            add_placeholder_value(job, word + 1, length, place, &out);
            word += length + 2;
        } else if (*word == '{' && (length = placeholder_length(job, word + 1))) {
            text_add_bytes(&out, word + 1, length + 1);
            word += length + 2;
        } else {
            text_add_char(&out, *word++);
        }
    }
    return text_take(&out);
}

/* The words before first stay as they are. */
static void fill_words(const struct plan_job *job, const struct placeholder_place *place,
                       const struct strv *words, size_t first, struct strv *out)
{
    for (size_t i = 0; i < words->count; i++)
        strv_add_owned(out, job->placeholders && place && i >= first
                                ? placeholder_fill(words->items[i], job, place)
                                : mem_strdup(words->items[i]));
}

void placeholder_fill_argv(const struct plan_job *job, const struct placeholder_place *place,
                           struct strv *out)
{
    fill_words(job, place, &job->argv, 1, out);
}

void placeholder_fill_env(const struct plan_job *job, const struct placeholder_place *place,
                          struct strv *out)
{
    fill_words(job, place, &job->env, 0, out);
}

char *placeholder_id(const char *experiment_id, bool background)
{
    return mem_printf("%s%s", experiment_id, background ? "_background" : "");
}

const char *placeholder_folder(bool background)
{
    return background ? "background_output" : "output";
}

/* ---- Warnings: one output of several experiments, and names that are not known. */

enum { OUTPUTS_NAMED = 3 };

/* An option whose value several experiments share. */
struct shared {
    char *option, *value;
    char between; /* option and value: ' ' or '=' */
    size_t count; /* of jobs that have it */
};

struct check {
    struct seen *outputs;  /* repository's folder, option and value of the jobs so far */
    struct seen *unknown;  /* repository and name */
    struct shared *shared; /* in the order found */
    size_t shared_count;
    struct problems *problems;
};

static bool is_in(const char *name, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* "--Output-Dir" and "trainer.output_dir" are "output_dir". */
static char *plain_name(const char *option, size_t length)
{
    AUTO_FREE char *whole = mem_strndup(option, length);
    const char *from = whole + strspn(whole, "-+"), *dot = strrchr(from, '.');
    char *name = mem_strdup(dot ? dot + 1 : from);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
    return name;
}

/* Names of options under which trainings write. Those that are as often read (model_path,
 * resume_path, data_dir) are left out. */
static bool names_output(const char *option, size_t length)
{
    static const char *const names[] = {"output",
                                        "output_dir",
                                        "output_path",
                                        "output_folder",
                                        "outputdir",
                                        "out",
                                        "out_dir",
                                        "out_path",
                                        "outdir",
                                        "outf",
                                        "save_dir",
                                        "save_path",
                                        "save_folder",
                                        "savedir",
                                        "save_name",
                                        "log_dir",
                                        "log_path",
                                        "logdir",
                                        "logging_dir",
                                        "log_folder",
                                        "checkpoint_dir",
                                        "ckpt_dir",
                                        "checkpoints_dir",
                                        "save_checkpoint",
                                        "save_checkpoint_dir",
                                        "result_dir",
                                        "results_dir",
                                        "work_dir",
                                        "workdir",
                                        "run_dir",
                                        "run_name",
                                        "exp_dir",
                                        "exp_name",
                                        "experiment_dir",
                                        "experiment_name",
                                        "tensorboard_dir",
                                        "tb_dir",
                                        "default_root_dir",
                                        NULL};
    static const char *const whole[] = {"hydra.run.dir", "hydra.sweep.dir", NULL};
    AUTO_FREE char *given = mem_strndup(option, length);
    AUTO_FREE char *name = plain_name(option, length);
    return is_in(name, names) || is_in(given, whole);
}

static bool is_place(const char *value)
{
    static const char *const none[] = {"",     "-",     "none",  "None",      "null", "true",
                                       "True", "false", "False", "/dev/null", NULL};
    return !is_in(value, none);
}

/* The name of the hyperparameter whose value is this word of argv; NULL: none. */
static const char *param_at(const struct plan_job *job, size_t place)
{
    EACH (param, job->params, job->param_count)
        if (param->place == place && place > 0)
            return param->name;
    return NULL;
}

static void check_output_place(struct check *check, const struct plan_job *job, const char *option,
                               size_t length, const char *value, char between)
{
    AUTO_FREE char *name = mem_strndup(option, length);
    AUTO_FREE char *key = mem_printf("%s\n%s\n%s", job->cwd, name, value);
    if (!is_place(value) || seen_add(check->outputs, key))
        return;
    EACH (item, check->shared, check->shared_count)
        if (strcmp(item->option, name) == 0 && strcmp(item->value, value) == 0) {
            item->count++;
            return;
        }
    check->shared = mem_room(check->shared, check->shared_count, sizeof *check->shared);
    check->shared[check->shared_count++] =
        (struct shared){steal_ptr(name), mem_strdup(value), between, .count = 2};
}

/* place makes the value of each job that has a placeholder in it another one. */
static void find_outputs(struct check *check, const struct plan_job *job,
                         const struct placeholder_place *place)
{
    AUTO_STRV struct strv argv = {0};
    placeholder_fill_argv(job, place, &argv);
    for (size_t i = 1; i < argv.count; i++) {
        const char *word = argv.items[i], *equals = strchr(word, '=');
        const char *param = param_at(job, i + 1);
        if (equals && names_output(word, (size_t)(equals - word)))
            check_output_place(check, job, word, (size_t)(equals - word), equals + 1, '=');
        else if (!equals && *word == '-' && i + 1 < argv.count && *argv.items[i + 1] != '-' &&
                 (names_output(word, strlen(word)) ||
                  (param && names_output(param, strlen(param)))))
            check_output_place(check, job, word, strlen(word), argv.items[i + 1], ' ');
    }
}

static void warn_of_outputs(const struct check *check)
{
    AUTO_TEXT struct text options = {0};
    if (check->shared_count == 0)
        return;
    for (size_t i = 0; i < check->shared_count && i < OUTPUTS_NAMED; i++) {
        const struct shared *shared = &check->shared[i];
        text_addf(&options, "%s%s is '%s' in %zu experiments", i ? ", " : "", shared->option,
                  shared->value, shared->count);
    }
    if (check->shared_count > OUTPUTS_NAMED)
        text_addf(&options, ", and %zu more options", check->shared_count - OUTPUTS_NAMED);
    problems_add(check->problems, SEVERITY_WARNING, NULL, NULL,
                 "%s: each may overwrite or read what another one wrote. In any argument {dir} is "
                 "a folder of the experiment's own, {id} its name: %s%c{dir}",
                 text_get(&options), check->shared[0].option, check->shared[0].between);
}

static void warn_of_name(struct check *check, const struct plan_job *job, const char *name,
                         const char *word)
{
    AUTO_STRV struct strv names = {0};
    AUTO_FREE char *key = mem_printf("%s\n%s", job->repo, name);
    if (!seen_add(check->unknown, key))
        return;
    strv_add(&names, dir_name);
    strv_add(&names, id_name);
    EACH (param, job->params, job->param_count)
        strv_add(&names, param->name);
    const char *nearest = problem_nearest_name(name, (const char *const *)names.items, names.count);
    if (nearest)
        problems_add(check->problems, SEVERITY_WARNING, NULL, NULL,
                     "'%s': {%s} stays as it is, as no hyperparameter has this name; did you mean "
                     "{%s}?",
                     word, name, nearest);
}

static void find_unknown(struct check *check, const struct plan_job *job, const struct strv *words)
{
    EACH (item, words->items, words->count)
        for (const char *at = *item; (at = strchr(at, '{')); at++) {
            size_t length = braced_name_length(at);
            bool escaped = at > *item && at[-1] == '{';
            if (length == 0 || escaped || is_known_placeholder(job, at + 1, length))
                continue;
            AUTO_FREE char *name = mem_strndup(at + 1, length);
            warn_of_name(check, job, name, *item);
        }
}

static void check_job_placeholders(struct check *check, const struct plan_job *job,
                                   const char *experiment_id, bool background)
{
    AUTO_FREE char *id = placeholder_id(experiment_id, background);
    AUTO_FREE char *dir = mem_printf("/%s", id); /* only to differ from all others */
    const struct placeholder_place place = {.id = id, .dir = dir};
    find_outputs(check, job, &place);
    find_unknown(check, job, &job->argv);
    find_unknown(check, job, &job->env);
}

void placeholder_check_plan(const struct plan *plan, struct problems *problems)
{
    struct check check = {.outputs = seen_new(), .unknown = seen_new(), .problems = problems};
    EACH (experiment, plan->experiments, plan->count) {
        check_job_placeholders(&check, &experiment->foreground, experiment->id, false);
        if (experiment->parallel)
            check_job_placeholders(&check, experiment->background, experiment->id, true);
    }
    warn_of_outputs(&check);
    EACH (item, check.shared, check.shared_count) {
        free(item->option);
        free(item->value);
    }
    free(check.shared);
    seen_free(check.outputs);
    seen_free(check.unknown);
}
