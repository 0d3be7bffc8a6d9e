#include "plan/starter.h"
#include "base/json_print.h"

#include "base/digest.h"
#include "base/goal.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INT_RANGE_MAX 1e15 /* exact as a double */

enum { NAME_BYTES = 60, PROPOSED_SEEDS = 3, PROPOSED_RUNS = 3, PROPOSED_RETRIES = 1 };

#define MODEL "default"

/* A metric of three splits, as training loops print it. */
#define SPLIT_ROWS(name, goal)                                                             \
    {name, "named: " name ", train_" name, goal}, {"val_" name, "named: val_" name, goal}, \
    {                                                                                      \
        "test_" name, "named: test_" name, goal                                            \
    }

/* A metric of an evaluation, whatever the split. */
#define TASK_ROW(name, goal)                                    \
    {                                                           \
        name, "named: " name ", test_" name ", val_" name, goal \
    }

static const struct {
    const char *name, *pattern;
    enum goal goal;
} metrics[] = {
    SPLIT_ROWS("loss", GOAL_MINIMIZE),
    SPLIT_ROWS("accuracy", GOAL_MAXIMIZE),
    SPLIT_ROWS("perplexity", GOAL_MINIMIZE),
    SPLIT_ROWS("auc", GOAL_MAXIMIZE),
    SPLIT_ROWS("logloss", GOAL_MINIMIZE),
    SPLIT_ROWS("mse", GOAL_MINIMIZE),
    SPLIT_ROWS("rmse", GOAL_MINIMIZE),
    SPLIT_ROWS("mae", GOAL_MINIMIZE),
    SPLIT_ROWS("precision", GOAL_MAXIMIZE),
    SPLIT_ROWS("recall", GOAL_MAXIMIZE),
    TASK_ROW("f1", GOAL_MAXIMIZE),
    TASK_ROW("top5", GOAL_MAXIMIZE),
    TASK_ROW("r2", GOAL_MAXIMIZE),
    TASK_ROW("mcc", GOAL_MAXIMIZE),
    TASK_ROW("spearman", GOAL_MAXIMIZE),
    TASK_ROW("pearson", GOAL_MAXIMIZE),
    TASK_ROW("map", GOAL_MAXIMIZE),
    TASK_ROW("map_50", GOAL_MAXIMIZE),
    TASK_ROW("map_50_95", GOAL_MAXIMIZE),
    TASK_ROW("ap", GOAL_MAXIMIZE),
    TASK_ROW("miou", GOAL_MAXIMIZE),
    TASK_ROW("dice", GOAL_MAXIMIZE),
    TASK_ROW("psnr", GOAL_MAXIMIZE),
    TASK_ROW("ssim", GOAL_MAXIMIZE),
    TASK_ROW("fid", GOAL_MINIMIZE),
    TASK_ROW("wer", GOAL_MINIMIZE),
    TASK_ROW("cer", GOAL_MINIMIZE),
    TASK_ROW("bleu", GOAL_MAXIMIZE),
    TASK_ROW("rouge1", GOAL_MAXIMIZE),
    TASK_ROW("rouge2", GOAL_MAXIMIZE),
    TASK_ROW("rougel", GOAL_MAXIMIZE),
    TASK_ROW("reward", GOAL_MAXIMIZE),
    TASK_ROW("episodic_return", GOAL_MAXIMIZE),
};

/* What the registry calls the script: its file's name without its ending. Fresh. */
static char *repo_name(const char *script)
{
    const char *slash = strrchr(script, '/'), *base = slash ? slash + 1 : script;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    AUTO_FREE char *name = mem_strndup(base, utf8_cut(base, length, NAME_BYTES));
    return !*name || utf8_has_control(name) ? mem_strdup("script") : steal_ptr(name);
}

/* Of a type that is settled; NULL for what is not of it. */
static json_t *word_json(const char *word, enum script_type type)
{
    double number;
    switch (type) {
    case SCRIPT_INT:
    case SCRIPT_FLOAT:
        if (!number_parse(word, &number))
            return NULL;
        return type == SCRIPT_INT ? json_integer(strtoll(word, NULL, 10)) : json_finite(number);
    case SCRIPT_SWITCH:
        return json_boolean(strcasecmp(word, "true") == 0);
    case SCRIPT_TEXT:
    case SCRIPT_CHOICE:
    case SCRIPT_UNKNOWN:
        break;
    }
    return json_string(word);
}

/* ---- The registry. */

/* The range that a mutation draws from. The script's own default is its middle (of the logarithms
 * for log_uniform); seeds have no middle. Null, never drawn from: without a default, or if the
 * default is at or beyond the usual limits. */
static void set_range(json_t *row, const struct script_option *option, double own)
{
    const struct script_hint *hint = script_hint(option->name);
    bool is_int = option->type == SCRIPT_INT,
         is_drawn = hint && hint->low != hint->high && hint->type == option->type;
    double low = is_drawn ? hint->low : 0, high = is_drawn ? hint->high : 0;
    if (is_drawn && !param_name_is_seed(hint->name)) {
        if (hint->log) {
            low = is_int ? fmax(1, floor(own / 4)) : number_round(own / 10, 6);
            high = is_int ? round(own * own / low) : number_round(own * 10, 6);
        } else {
            double around = own <= high ? fmin(own - low, high - own) : is_int ? floor(own / 2) : 0;
            low = number_round(own - around, 6);
            high = number_round(own + around, 6);
        }
    }
    if (!(low < high && high < INT_RANGE_MAX &&
          (own > 0 || (is_drawn && param_name_is_seed(hint->name))))) {
        json_object_set_new(row, "range", json_null());
        return;
    }
    json_object_set_new(row, "range",
                        json_pack("[o, o]",
                                  is_int ? json_integer((json_int_t)low) : json_finite(low),
                                  is_int ? json_integer((json_int_t)high) : json_finite(high)));
    json_object_set_new(row, "distribution", json_string(hint->log ? "log_uniform" : "uniform"));
}

static json_t *word_list_json(const struct strv *texts)
{
    return json_texts((const char *const *)texts->items);
}

static const char *const type_names[] = {
    [SCRIPT_UNKNOWN] = "text", [SCRIPT_INT] = "int",       [SCRIPT_FLOAT] = "float",
    [SCRIPT_TEXT] = "text",    [SCRIPT_CHOICE] = "choice", [SCRIPT_SWITCH] = "bool"};

/* The help text with a note about the default; a new reference, NULL: neither is known. */
static json_t *option_comment(const struct script_option *option)
{
    AUTO_TEXT struct text words = {0};
    if (!option)
        return NULL;
    text_add(&words, option->help);
    if (option->initial)
        text_addf(&words, "%sthe script's own default: %s", words.length ? "; " : "",
                  option->initial);
    if (option->needed)
        text_addf(&words, "%sneeded", words.length ? "; " : "");
    return words.length ? json_text_or_null(text_get(&words)) : NULL;
}

/* An option that the command line does not name: it is left to the script until the settings name
 * it. */
static json_t *option_row(const struct script_option *option)
{
    double own = 0;
    bool is_number = option->type == SCRIPT_INT || option->type == SCRIPT_FLOAT;
    json_t *choices = option->type == SCRIPT_CHOICE ? word_list_json(&option->choices) : NULL;
    if (choices)
        json_array_append_new(choices, json_null());
    json_t *off =
        option->type == SCRIPT_SWITCH && option->off ? json_text_or_null(option->off) : NULL;
    json_t *row = json_pack("{s:o*, s:o, s:o*, s:s, s:n, s:o*}", "comment", option_comment(option),
                            "flag", json_text_or_null(option->flag), "off_flag", off, "type",
                            type_names[option->type], "default", "choices", choices);
    if (is_number)
        set_range(row, option, option->initial && number_parse(option->initial, &own) ? own : 0);
    return row;
}

/* A value of the command line: in its place among required_args. */
static json_t *value_row(const struct starter_value *value)
{
    bool is_switch = value->type == SCRIPT_SWITCH;
    const struct script_option *option = is_switch ? value->option : NULL;
    json_t *row = json_pack(
        "{s:o*, s:o*, s:o*, s:s, s:o}", "comment", option_comment(value->option), "flag",
        option ? json_text_or_null(option->flag) : NULL, "off_flag",
        option && option->off ? json_text_or_null(option->off) : NULL, "type",
        type_names[value->type], "default", word_json(value->words.items[0], value->type));
    if (value->type == SCRIPT_INT || value->type == SCRIPT_FLOAT)
        json_object_set_new(row, "range", json_null());
    return row;
}

static bool is_among_args(const struct starter *starter, const struct script_option *option)
{
    bool given = starter->args && strv_has(&starter->args->options, option->flag);
    for (size_t i = 0; starter->args && i < starter->args->count && !given; i++)
        given = strcmp(starter->args->values[i].name, option->name) == 0;
    return given;
}

static json_t *params(const struct starter *starter)
{
    json_t *rows = json_object();
    for (size_t i = 0; starter->args && i < starter->args->count; i++)
        json_object_set_new(rows, starter->args->values[i].name,
                            value_row(&starter->args->values[i]));
    for (size_t i = 0; starter->help && i < starter->help->count; i++) {
        const struct script_option *option = &starter->help->options[i];
        if (!option->many && !is_among_args(starter, option))
            json_object_set_new(rows, option->name, option_row(option));
    }
    return rows;
}

static json_t *log_patterns(void)
{
    static const char *const lines[] = {
        "Guessed from how trainings usually print their results: \"named:\" and the "
        "names under which a number is printed, the most wanted first.",
        "Remove those that your script does not print, and add its own. As they are "
        "guesses, \"metrics\" below is optional: an experiment",
        "succeeds without any of them. Say any or required there once they are right: "
        "a training that prints none has then failed.",
        NULL};
    json_t *patterns = json_object();
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        json_object_set_new(patterns, metrics[i].name,
                            json_pack("{s:s, s:s}", "pattern", metrics[i].pattern, "goal",
                                      goal_name(metrics[i].goal)));
    return json_pack("{s:o, s:o}", "comment", json_texts(lines), "log_patterns", patterns);
}

/* What the help lists and the rows do not have. */
static char *left_out(const struct starter *starter)
{
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; starter->help && i < starter->help->count; i++)
        if (starter->help->options[i].many)
            strv_add(&names, starter->help->options[i].flag);
    AUTO_FREE char *all = strv_join(&names, ", ");
    return names.count ? mem_printf("Not among the hyperparameters, as they take several values: "
                                    "%s. They go to required_args.",
                                    all)
                       : NULL;
}

/* Every command line has these words, the script's last. NULL: none. */
static json_t *required_args(const struct starter *starter)
{
    const struct strv *args = starter->args ? &starter->args->words : NULL;
    bool has_before = starter->before && starter->before->count, has_args = args && args->count;
    return has_before || has_args ? json_pack("{s:o*, s:o*}", "launcher",
                                              has_before ? word_list_json(starter->before) : NULL,
                                              "script", has_args ? word_list_json(args) : NULL)
                                  : NULL;
}

static json_t *variables_json(const struct strv *variables)
{
    if (!variables || variables->count == 0)
        return NULL;
    json_t *env = json_object();
    for (size_t i = 0; i < variables->count; i++) {
        const char *equals = strchr(variables->items[i], '=');
        AUTO_FREE char *name =
            mem_strndup(variables->items[i], (size_t)(equals - variables->items[i]));
        json_object_set_new(env, name, json_text_or_null(equals + 1));
    }
    return env;
}

static json_t *epoch_marks_json(const struct script_epochs *epochs)
{
    if (epochs->end)
        return json_pack("{s:{s:s}}", "epoch", "end", epochs->end);
    return epochs->start ? json_pack("{s:s}", "epoch", epochs->start) : NULL;
}

json_t *starter_registry(const struct starter *starter)
{
    AUTO_FREE char *name = repo_name(starter->name);
    AUTO_FREE char *missing = left_out(starter);
    const struct script_epochs *epochs = &starter->epochs;
    AUTO_FREE char *marks =
        epochs->printer ? mem_printf("The mark epoch is guessed from how %s prints its epochs.",
                                     epochs->printer)
                        : NULL;
    const char *lines[] = {
        starter->help ? "Made from the command line and the script's --help."
                      : "Made from the command line; nothing is known of the script's options.",
        "What can be trained, and how it is started. Every key is explained in "
        "docs/reference/registry-keys.md.",
        "required_args are the words as given; {name} is the place of a hyperparameter. An option "
        "whose default is "
        "null is",
        "left to the script until the settings name it. A range of null is never drawn from.",
        missing ? missing : marks,
        missing ? marks : NULL,
        NULL};
    const char *interpreter = starter->interpreter_key;
    json_t *repo = json_pack(
        "{s:o, s:o, s:o, s:o*, s:o*, s:[s], s:o*, s:o, s:o, s:s, s:o*}", "comment",
        json_texts(lines), "path", json_text_or_null(starter->path), "train_script",
        json_text_or_null(starter->program), interpreter ? interpreter : "python",
        interpreter ? json_text_or_null(starter->interpreter) : NULL, "env",
        variables_json(starter->variables), "models", MODEL, "required_args",
        required_args(starter), "supported_hyperparams", params(starter), "performance_metrics",
        log_patterns(), "metrics", "optional", "marks", epoch_marks_json(epochs));
    json_t *repos = json_object();
    json_object_set_new(repos, name, repo);
    return json_pack("{s:o}", "models", repos);
}

/* ---- The settings. */

/* One value, or a list: an axis of the grid. */
static json_t *axis(const struct starter_value *value)
{
    if (value->words.count == 1)
        return word_json(value->words.items[0], value->type);
    json_t *list = json_array();
    for (size_t i = 0; i < value->words.count; i++)
        json_array_append_new(list, word_json(value->words.items[i], value->type));
    return list;
}

/* The script's own learning rate and a tenth of it; three seeds. */
static void propose(const struct starter *starter, json_t *values)
{
    for (size_t i = 0; starter->help && i < starter->help->count; i++) {
        const struct script_option *option = &starter->help->options[i];
        const struct script_hint *hint = script_hint(option->name);
        double own = 0;
        json_t *list = json_array();
        if (is_among_args(starter, option))
            hint = NULL;
        if (hint && hint->high == 0.1 && option->type == SCRIPT_FLOAT) {
            bool has = option->initial && number_parse(option->initial, &own) && own > 0;
            json_array_append_new(list, json_finite(has ? own : 0.01));
            json_array_append_new(list, json_finite(has ? number_round(own / 10, 6) : 0.001));
        }
        for (int seed = 1; hint && param_name_is_seed(option->name) && option->type == SCRIPT_INT &&
                           seed <= PROPOSED_SEEDS;
             seed++)
            json_array_append_new(list, json_integer(seed));
        if (json_array_size(list))
            json_object_set(values, option->name, list);
        json_decref(list);
    }
}

static json_t *entry(const struct starter *starter)
{
    AUTO_FREE char *name = repo_name(starter->name);
    json_t *values = json_object(), *value;
    const char *key;
    size_t combinations = 1;
    for (size_t i = 0; starter->args && i < starter->args->count; i++)
        json_object_set_new(values, starter->args->values[i].name, axis(&starter->args->values[i]));
    if (starter->proposes && json_object_size(values) == 0)
        propose(starter, values);
    bool grid = false;
    json_object_foreach(values, key, value) if (json_is_array(value))
    {
        grid = true;
        combinations *= json_array_size(value);
    }
    AUTO_FREE char *words = mem_printf(
        "Each list is an axis of the grid: every combination is run, %zu in all.", combinations);
    bool has_runs = starter->has_runs || (starter->proposes && !grid);
    return json_pack(
        "{s:o*, s:o, s:s, s:s, s:o, s:o*}", "comment", grid ? json_string(words) : NULL, "repo",
        json_text_or_null(name), "model", MODEL, "mode", grid ? "grid" : "default",
        "hyperparameters", values, "runs_per_config",
        has_runs ? json_integer(starter->has_runs ? starter->runs : PROPOSED_RUNS) : NULL);
}

/* Takes seed; NULL: without one. */
static json_t *settings_with(const struct starter *starter, json_t *seed)
{
    static const char *const lines[] = {
        "What to run. Options that are named neither here nor in the registry's required_args are "
        "left to the script.",
        "The key tare has pauses, limits and more: docs/reference/settings-keys.md.", NULL};
    AUTO_FREE char *name = repo_name(starter->name);
    return json_pack("{s:o, s:o, s:s, s:i, s:o*, s:[o], s:{}}", "comment", json_texts(lines),
                     "experiment_name", json_text_or_null(name), "registry", "registry.json",
                     "max_retries", PROPOSED_RETRIES, "seed", seed, "experiments", entry(starter),
                     "tare");
}

/* Six bytes, as JSON keeps 53 bits. */
static json_int_t seed_of(const json_t *settings)
{
    enum { SEED_BYTES = 6 };
    AUTO_TEXT struct text text = {0};
    json_int_t seed = 0;
    json_print_pretty(settings, &text);
    struct digest digest = digest_of(text_get(&text), text.length);
    for (int i = 0; i < SEED_BYTES; i++)
        seed = seed << 8 | digest.bytes[i];
    return seed;
}

json_t *starter_settings(const struct starter *starter)
{
    json_t *settings = settings_with(starter, NULL);
    const json_t *only = json_array_get(json_object_get(settings, "experiments"), 0);
    bool grid = strcmp(json_get_text(only, "mode"), "grid") == 0;
    if (!grid && !starter->has_seed && !starter->keeps_seed)
        return settings;
    json_int_t seed = starter->has_seed ? starter->seed : seed_of(settings);
    json_decref(settings);
    return settings_with(starter, json_integer(seed));
}
