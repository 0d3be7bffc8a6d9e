#include "base/fs_path.h"
#include "base/json_place.h"
#include "plan/config/registry_needs.h"
#include "plan/config/registry_oom.h"
#include "plan/config/registry_param.h"
#include "plan/config/registry_rules.h"

#include "base/mem.h"
#include "base/pattern/pattern.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST_NAME = 100, MOST_MODELS = 10000, PRINTED_NAME_LONGEST = 60, PRINTED_NAMES_MOST = 8 };

/* The head of a Python traceback: where a line begins, or as the end of a line right behind what a
 * progress bar left there without ending it ("... 1.1it/s]Traceback ...", padded with blanks where
 * it had been longer), or behind a launcher's prefix ("[rank0]: "). Behind other words it is
 * quoted: a program that logs an exception which it handled goes on. */
#define DEFAULT_ERROR_PATTERN                                            \
    "^(?:  \\+ Exception Group )?Traceback \\(most recent call last\\)|" \
    "(?:\\]:?\\s*|[^\\s\"'(])Traceback \\(most recent call last\\):\\s*$"

static const char *const exit_codes[] = {"required", "ignored", NULL};

/* The entry as it is written. */
struct row {
    char *path;
    int exit_code; /* place in exit_codes */
    struct strv path_prepend;
    struct repo *repo;
};

/* Read into struct row, and into struct repo: two tables, so that offsets belong to one struct
 * each. */
static const struct field row_rows[] = {
    {"path", FIELD_TEXT, offsetof(struct row, path), .initial = "needed",
     .help = "the repository's folder: relative to the registry's folder, then to the working "
             "folder, then to the folder "
             "that holds mutation/ with the registry; ~/ is the home"},
    {"path_prepend", FIELD_TEXTS, offsetof(struct row, path_prepend), .initial = "none",
     .help = "folders put before PATH: relative to the registry's folder, then to the repository"},
    {"exit_code", FIELD_NAME, offsetof(struct row, exit_code), .names = exit_codes,
     .initial = "required",
     .help = "required: a training that exits with anything but 0 has failed; ignored: only the "
             "patterns decide"},
};

static const struct field repo_rows[] = {
    {"train_script", FIELD_TEXT, offsetof(struct repo, train_script), .initial = "needed",
     .help = "what is started: a path in the repository, or a name found on PATH"},
    {"model_flag", FIELD_TEXT, offsetof(struct repo, model_flag),
     .initial = "none: the model's name is not passed",
     .help = "the option before the model's name, such as -n"},
    {"python", FIELD_TEXT, offsetof(struct repo, python), .initial = "none",
     .help = "interpreter that runs train_script: a path seen from the repository, or a name found "
             "on PATH"},
    {"venv", FIELD_TEXT, offsetof(struct repo, venv), .initial = "none",
     .help = "folder of a Python virtual environment, seen from the repository; its interpreter "
             "runs train_script"},
    {"conda_env", FIELD_TEXT, offsetof(struct repo, conda_env), .initial = "none",
     .help = "name or folder of a conda environment; its interpreter runs train_script"},
    {"command_prefix", FIELD_LIST, offsetof(struct repo, command_prefix), .initial = "none",
     .help = "words before the command, such as [\"nice\", \"-n\", \"5\"]"},
    {"env", FIELD_NAMES_TO_TEXTS, offsetof(struct repo, env), .initial = "none",
     .help = "environment variables of the training"},
    {"memory_snapshot", FIELD_BOOL, offsetof(struct repo, memory_snapshot), .initial = "false",
     .help = "ask the training for a snapshot of its GPU memory when that runs out: its path is in "
             "TARE_MEMORY_SNAPSHOT; see docs/reference/memory.md"},
    {"success", FIELD_PATTERNS, offsetof(struct repo, success), .initial = "none",
     .help = "patterns that must all match a line of the output"},
    {"errors", FIELD_PATTERNS, offsetof(struct repo, errors),
     .initial = "the head of a Python traceback",
     .help = "patterns none of which may match a line of the output; [] for none"},
};

static const struct field other_rows[] = {
    {"models", FIELD_OTHER, .expected = "a list of names",
     .schema = "{'type': 'array', 'minItems': 1, 'maxItems': 10000, 'uniqueItems': true, "
               "'items': " FIELD_STRING "}",
     .initial = "needed", .help = "the models the repository trains"},
    {"supported_hyperparams", FIELD_OTHER, .expected = "an object of hyperparameters",
     .schema = "{'type': 'object', 'additionalProperties': {'$ref': '#/$defs/hyperparameter'}}",
     .initial = "none", .help = "what can be set and mutated, in the order of the command line"},
    {"required_args", FIELD_OTHER, .expected = "an object of strings or lists of strings",
     .schema = "{'type': 'object', 'additionalProperties': {'anyOf': [{'type': 'string'}, {'type': "
               "'array', 'items': "
               "{'type': 'string'}}]}}",
     .initial = "none",
     .help = "words that every command gets; a string is split at blanks; the names are free; a "
             "word that is "
             "{name}, or ends with ={name}, gets the value of a hyperparameter without a flag; "
             "options follow the "
             "last word, or precede a bare `--`, except one in `launcher`"},
    FIELD_OBJECT_ROW("performance_metrics", "none", "numbers to take from the output"),
    {"marks", FIELD_OTHER, .expected = "an object of regular expressions or objects",
     .schema = "{'type': 'object', 'additionalProperties': {'anyOf': [" FIELD_STRING
               ", {'$ref': '#/$defs/mark'}]}}",
     .initial = "none",
     .help = "lines that part a training into epochs: a mark's name leads to the pattern of the "
             "line that begins "
             "one, or to an object with start and end"},
    {"oom_steps", FIELD_OTHER, .expected = "a list of steps",
     .schema = "{'type': 'array', 'maxItems': 20, 'items': {'$ref': '#/$defs/oom_step'}}",
     .initial = "none: no retry when the GPU is too small",
     .help = "what a retry may change after the GPU's memory ran out, in this order; see "
             "docs/reference/running.md"},
};

static const struct field needs_rows[] = {
    FIELD_OBJECT_ROW("source", "not said", "where the repository comes from"),
    {"data", FIELD_OTHER, .expected = "a list of objects",
     .schema = "{'type': 'array', 'maxItems': 1000, 'items': {'$ref': '#/$defs/data'}}",
     .initial = "none", .help = "files and folders that a training reads"},
    {"requires", FIELD_OTHER, .expected = "a list of objects",
     .schema = "{'type': 'array', 'maxItems': 1000, 'items': {'$ref': '#/$defs/requires'}}",
     .initial = "none", .help = "Python modules that a training imports"},
};

static const struct field metrics_rows[] = {
    {"log_patterns", FIELD_OTHER, .expected = "an object of regular expressions",
     .schema = "{'type': 'object', 'additionalProperties': {'anyOf': [" FIELD_STRING
               ", {'$ref': '#/$defs/metric'}]}}",
     .initial = "none",
     .help = "a metric's name leads to a pattern; the last match counts, its first group or else "
             "all of it; `named:` and "
             "names, most wanted first, search the number by its printed name instead"},
};

/* A metric that is more than a pattern. */
struct metric_row {
    char *pattern;
    int goal; /* place in goal_names; -1: not said */
};

static const struct field metric_rows[] = {
    {"pattern", FIELD_TEXT, offsetof(struct metric_row, pattern), .initial = "needed",
     .help = "the regular expression, or `named:` and names"},
    {"goal", FIELD_NAME, offsetof(struct metric_row, goal), .names = goal_names,
     .initial = "what its name says", .help = "whether less or more of the metric is better"},
};

const struct field_table registry_where_table =
    FIELD_TABLE("An entry of `models`: where, and what success is", row_rows);
const struct field_table registry_command_table =
    FIELD_TABLE("An entry of `models`: the command", repo_rows);
const struct field_table registry_trains_table =
    FIELD_TABLE("An entry of `models`: what it trains", other_rows);
const struct field_table registry_needs_table =
    FIELD_TABLE("An entry of `models`: what a machine must have", needs_rows);
const struct field_table registry_metrics_table =
    FIELD_TABLE("`performance_metrics`", metrics_rows);
const struct field_table registry_metric_table =
    FIELD_TABLE("A metric of `log_patterns`", metric_rows);

static void check_keys(const struct source *source, const char *path, const json_t *json)
{
    const struct field_table *const tables[] = {&registry_where_table, &registry_command_table,
                                                &registry_trains_table, &registry_needs_table,
                                                &registry_rules_table};
    struct field all[64];
    struct field_table table = {.rows = all};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t]->count && table.count < sizeof all / sizeof *all; i++)
            all[table.count++] = tables[t]->rows[i];
    fields_check_keys(source, path, json, &table, UNKNOWN_ARE_WARNINGS, NULL);
}

/* Repository and model name an experiment's folder, in which the planner replaces other characters
 * by '_'. */
static bool check_registry_name(const struct source *source, const char *path, const char *what,
                                const char *name)
{
    const char *wrong = NULL;
    if (!*name)
        wrong = "is empty";
    else if (strlen(name) > LONGEST_NAME)
        wrong = "is longer than 100 bytes";
    if (!wrong && !utf8_is_printable(name, strlen(name)))
        wrong = "holds a control character";
    if (wrong)
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path, "the %s's name %s",
                            what, wrong);
    return !wrong;
}

/* The folder that given means, seen from the first base where it is there, else from bases[0]; ends
 * with NULL, "" is the working folder. */
static char *find_folder(const char *const *bases, const char *given, bool *exists)
{
    char *first = NULL;
    *exists = false;
    for (; *bases; bases++) {
        char *path = fs_resolve(**bases ? *bases : NULL, given, getenv("HOME"));
        if (fs_is_folder(path)) {
            free(first);
            *exists = true;
            return path;
        }
        if (first)
            free(path);
        else
            first = path;
    }
    return first;
}

/* In the study the registry is mutation/models_config.json, and its paths are as seen from the
 * folder that holds mutation/. Not where every user can write: a repository's commands are run.
 * NULL: not so. */
static char *study_folder(const char *registry_folder)
{
    AUTO_FREE char *name = fs_basename(registry_folder);
    AUTO_FREE char *parent = fs_dirname(registry_folder);
    struct stat info;
    bool may_search = stat(parent, &info) == 0 && !(info.st_mode & S_IWOTH);
    return strcmp(name, "mutation") == 0 && may_search ? steal_ptr(parent) : NULL;
}

static void find_folders(const char *registry_folder, const struct row *row, struct repo *out)
{
    AUTO_FREE char *base = fs_resolve(NULL, registry_folder, NULL);
    AUTO_FREE char *study = study_folder(base);
    const char *const bases[] = {base, "", study, NULL};
    out->path = find_folder(bases, row->path ? row->path : ".", &out->path_exists);
    const char *const more_bases[] = {base, out->path, "", study, NULL};
    for (size_t i = 0; i < row->path_prepend.count; i++) {
        bool exists;
        strv_add_owned(&out->path_prepend,
                       find_folder(more_bases, row->path_prepend.items[i], &exists));
    }
}

static void read_models(const struct source *source, const char *path, const json_t *json,
                        struct strv *models)
{
    const json_t *list = json_object_get(json, "models");
    if (!list) {
        field_error(source, path, "'models' is missing: a list of names");
        return;
    }
    AUTO_FREE char *place = json_path_key(path, "models");
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > MOST_MODELS) {
        field_refuse(source, place, "models", "a list of 1 to 10000 names", list);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        const json_t *name = json_array_get(list, i);
        if (!json_is_string(name))
            field_refuse(source, item, "models", "a name", name);
        else if (strv_has(models, json_string_value(name)))
            field_error(source, item, "'models': duplicate value '%s'", json_string_value(name));
        else if (check_registry_name(source, item, "model", json_string_value(name)))
            strv_add(models, json_string_value(name));
    }
}

static void read_repo_param(const struct source *source, const char *path, const char *name,
                            const json_t *json, void *out)
{
    struct repo *repo = out;
    if (strcmp(name, "all") == 0)
        problems_add_at_key(
            source->problems, SEVERITY_ERROR, source->doc, path,
            "a hyperparameter cannot be called 'all': \"mutate\": \"all\" means every one");
    registry_read_param(source, path, name, json, &repo->params[repo->param_count++]);
}

static void split_words(const char *text, struct strv *words)
{
    static const char blanks[] = " \t\r\n";
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        size_t length = strcspn(text, blanks);
        strv_add_owned(words, mem_strndup(text, length));
        text += length;
    }
}

static void read_required_arg(const struct source *source, const char *path, const char *name,
                              const json_t *json, void *repo)
{
    struct repo *out = repo;
    const struct field row = {.key = name, .kind = FIELD_LIST};
    if (json_is_string(json))
        split_words(json_string_value(json), &out->required_args);
    else if (json_is_array(json))
        field_read(source, path, json, &row, &out->required_args);
    else
        field_refuse(source, path, name, "a string or a list of strings", json);
    if (strcmp(name, "launcher") == 0)
        out->launcher_end = out->required_args.count;
}

/* "named: loss, train_loss": letters, digits and joining characters. */
static bool check_metric_names(const struct source *source, const char *path, const char *name,
                               const char *names)
{
    static const char digits[] = "0123456789", joiners[] = " _-./@";
    size_t count = 1;
    for (const char *at = names;; at++, count++) {
        size_t length = strcspn(at, ","), letters = 0;
        for (size_t i = 0; i < length; i++) {
            bool is_letter = isalpha((unsigned char)at[i]) || (unsigned char)at[i] >= 0x80;
            letters += is_letter;
            if (!is_letter && !strchr(digits, at[i]) && !strchr(joiners, at[i]))
                letters = length = 0;
        }
        if (letters == 0 || length > PRINTED_NAME_LONGEST)
            return field_error(source, path,
                               "'%s': expected names after '" PATTERN_NAMED
                               "', as 'named: val_loss, eval_loss'",
                               name);
        at += length;
        if (!*at)
            break;
    }
    return count <= PRINTED_NAMES_MOST ||
           field_error(source, path, "'%s': more than %d names after '" PATTERN_NAMED "'", name,
                       PRINTED_NAMES_MOST);
}

static bool check_metric(const struct source *source, const char *path, const char *name,
                         const char *pattern)
{
    if (strncmp(pattern, PATTERN_NAMED, strlen(PATTERN_NAMED)) == 0)
        return check_metric_names(source, path, name, pattern + strlen(PATTERN_NAMED));
    return field_check_pattern(source, path, name, pattern);
}

static void read_metric(const struct source *source, const char *path, const char *name,
                        const json_t *json, void *repo)
{
    struct repo *out = repo;
    struct metric_row row = {.goal = -1};
    AUTO_FREE char *inside = NULL;
    if (json_is_object(json)) {
        fields_check_keys(source, path, json, &registry_metric_table, UNKNOWN_ARE_WARNINGS, NULL);
        fields_read(source, path, json, &registry_metric_table, &row);
        inside = json_path_key(path, "pattern");
        if (!json_get(json, "pattern"))
            field_error(source, path, "'%s': 'pattern' is missing", name);
    } else if (json_is_string(json) && *json_string_value(json)) {
        row.pattern = mem_strdup(json_string_value(json));
    } else {
        field_refuse(source, path, name, "a regular expression", json);
    }
    if (row.pattern && check_metric(source, inside ? inside : path, name, row.pattern))
        out->metrics[out->metric_count++] =
            (struct registry_metric){.name = mem_strdup(name), .pattern = steal_ptr(row.pattern)};
    free(row.pattern);
    if (row.goal >= 0 && out->metric_count &&
        strcmp(out->metrics[out->metric_count - 1].name, name) == 0)
        goal_parse(goal_names[row.goal], &out->metrics[out->metric_count - 1].goal);
}

static void read_metrics(const struct source *source, const char *path, const json_t *json,
                         struct repo *out)
{
    AUTO_FREE char *metrics_path = NULL;
    const json_t *metrics = field_object(source, path, json, "performance_metrics", &metrics_path);
    if (!metrics)
        return;
    fields_check_keys(source, metrics_path, metrics, &registry_metrics_table, UNKNOWN_ARE_WARNINGS,
                      NULL);
    out->metrics =
        mem_array(json_object_size(json_get(metrics, "log_patterns")), sizeof *out->metrics);
    fields_each(source, metrics_path, metrics, "log_patterns", read_metric, out);
}

static void check_interpreters(const struct source *source, const char *path,
                               const struct repo *repo)
{
    const char *first = repo->python ? "python" : repo->venv ? "venv" : NULL;
    const char *second = repo->conda_env ? "conda_env" : repo->python && repo->venv ? "venv" : NULL;
    if (!first || !second)
        return;
    AUTO_FREE char *place = json_path_key(path, second);
    problems_add_at_key(
        source->problems, SEVERITY_ERROR, source->doc, place,
        "'%s' and '%s' exclude each other: at most one of python, venv and conda_env", first,
        second);
}

static void check_needed(const struct source *source, const char *path, const json_t *json,
                         const char *key)
{
    if (!json_get(json, key))
        field_error(source, path, "'%s' is missing", key);
}

static void read_repo_rows(const struct source *source, const char *path, const char *folder,
                           const json_t *json, struct repo *out)
{
    struct row row = {0};
    fields_read(source, path, json, &registry_where_table, &row);
    fields_read(source, path, json, &registry_command_table, out);
    out->exit_code_required = row.exit_code == 0;
    find_folders(folder, &row, out);
    out->located = row.path && out->train_script;
    strv_fini(&row.path_prepend);
    out->path_given = row.path;
    if (!json_get(json, "errors"))
        strv_add(&out->errors, DEFAULT_ERROR_PATTERN);
}

void registry_read_repo(const struct source *source, const char *path, const char *folder,
                        const char *name, const json_t *json, struct repo *out)
{
    size_t errors = source->problems->errors;
    *out = (struct repo){
        .name = mem_strdup(name), .json_path = mem_strdup(path), .exit_code_required = true};
    check_registry_name(source, path, "repository", name);
    if (json_is_object(json)) {
        check_keys(source, path, json);
        check_needed(source, path, json, "path");
        check_needed(source, path, json, "train_script");
        read_repo_rows(source, path, folder, json, out);
        check_interpreters(source, path, out);
        read_models(source, path, json, &out->models);
        out->params = mem_array(json_object_size(json_get(json, "supported_hyperparams")),
                                sizeof *out->params);
        fields_each(source, path, json, "supported_hyperparams", read_repo_param, out);
        fields_each(source, path, json, "required_args", read_required_arg, out);
        read_metrics(source, path, json, out);
        registry_read_marks(source, path, json, out);
        registry_read_oom_steps(source, path, json, out);
        registry_read_needs(source, path, json, out);
        registry_read_rules(source, path, json, out);
    } else {
        field_refuse(source, path, NULL, "an object (a repository)", json);
        out->path = mem_strdup("");
    }
    if (!out->train_script)
        out->train_script = mem_strdup("");
    out->broken = source->problems->errors > errors;
}

void registry_repo_fini(struct repo *repo)
{
    char *const texts[] = {repo->name,       repo->json_path,    repo->path,
                           repo->path_given, repo->train_script, repo->model_flag,
                           repo->python,     repo->venv,         repo->conda_env};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    struct strv *const lists[] = {&repo->models,       &repo->required_args,  &repo->env,
                                  &repo->path_prepend, &repo->command_prefix, &repo->success,
                                  &repo->errors};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        strv_fini(lists[i]);
    for (size_t i = 0; i < repo->param_count; i++)
        param_fini(&repo->params[i]);
    free(repo->params);
    for (size_t i = 0; i < repo->metric_count; i++) {
        free(repo->metrics[i].name);
        free(repo->metrics[i].pattern);
    }
    free(repo->metrics);
    registry_marks_fini(repo->marks, repo->mark_count);
    registry_oom_steps_fini(repo->oom_steps, repo->oom_step_count);
    registry_needs_fini(repo);
    registry_rules_fini(repo);
}
