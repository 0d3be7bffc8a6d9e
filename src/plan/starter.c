#include "plan/starter.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 60, PROPOSED_SEEDS = 3, PROPOSED_RUNS = 3, PROPOSED_RETRIES = 1 };

#define MODEL "default"

static const struct {
    const char *name, *pattern;
} metrics[] = {
    {"loss", "named: loss, train_loss"},  {"accuracy", "named: accuracy, train_accuracy"},
    {"val_loss", "named: val_loss"},      {"val_accuracy", "named: val_accuracy"},
    {"test_loss", "named: test_loss"},    {"test_accuracy", "named: test_accuracy"},
    {"f1", "named: f1, test_f1, val_f1"},
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

static const struct starter_value *value_of(const struct starter *starter, const char *name)
{
    for (size_t i = 0; starter->args && i < starter->args->count; i++)
        if (strcmp(starter->args->values[i].name, name) == 0)
            return &starter->args->values[i];
    return NULL;
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

/* What is drawn when a person mutates it: around the script's own default, or where people look for it; null: it is not drawn. */
static void set_range(json_t *row, enum script_type type, const struct script_hint *hint, const json_t *initial)
{
    double low = hint ? hint->low : 0, high = hint ? hint->high : 0, own = json_number_value(initial);
    bool is_int = type == SCRIPT_INT;
    if (low == high || hint->type != type) {
        json_object_set_new(row, "range", json_null());
        return;
    }
    if (own > 0 && (hint->log || own > high) && !param_name_is_seed(hint->name)) {
        low = is_int ? fmax(1, floor(own / 4)) : number_round(own / 10, 6);
        high = is_int ? own * 4 : number_round(own * 10, 6);
    }
    json_object_set_new(row, "range",
                        json_pack("[o, o]", is_int ? json_integer((json_int_t)low) : json_finite(low),
                                  is_int ? json_integer((json_int_t)high) : json_finite(high)));
    json_object_set_new(row, "distribution", json_string(hint->log ? "log_uniform" : "uniform"));
}

static json_t *texts_json(const struct strv *texts)
{
    return json_texts((const char *const *)texts->items);
}

/* value: what was given for it, or NULL; option: what the help says of it, or NULL. A default is written where a command line with it
 * means the same as one without: a text may be anything ("none", a comment). */
static json_t *param_row(const struct script_option *option, const struct starter_value *value)
{
    static const char *const names[] = {
        [SCRIPT_UNKNOWN] = "text", [SCRIPT_INT] = "int",       [SCRIPT_FLOAT] = "float",
        [SCRIPT_TEXT] = "text",    [SCRIPT_CHOICE] = "choice", [SCRIPT_SWITCH] = "bool"};
    enum script_type type = value ? value->type : option->type;
    const char *initial = option ? option->initial : NULL;
    const char *help = option ? option->help : "";
    json_t *own = initial && type != SCRIPT_TEXT && type != SCRIPT_UNKNOWN ? word_json(initial, type) : NULL;
    bool listed = type == SCRIPT_CHOICE && own && !strv_has(&option->choices, initial);
    if (own && (listed || (type == SCRIPT_INT && !json_is_integer(own)))) {
        json_decref(own);
        own = NULL;
    }
    bool says_default = initial && !own && *initial;
    AUTO_FREE char *words = mem_printf(
        "%s%s%s%s", help, says_default ? *help ? "; the script's own default: " : "the script's own default: " : "",
        says_default ? initial : "", option && option->needed ? *help ? "; needed" : "needed" : "");
    bool is_switch = type == SCRIPT_SWITCH && option;
    json_t *choices = type == SCRIPT_CHOICE ? texts_json(&option->choices) : NULL;
    if (choices && !own)
        json_array_append_new(choices, json_null());
    if (is_switch && !own && !option->off)
        own = json_false();
    json_t *row = json_pack("{s:o*, s:o, s:o*, s:s, s:o, s:o*}", "comment", *words ? json_text_or_null(words) : NULL,
                            "flag", json_text_or_null(option ? option->flag : value->flag), "off_flag",
                            is_switch && option->off ? json_text_or_null(option->off) : NULL, "type", names[type],
                            "default", own ? own : json_null(), "choices", choices);
    if (type == SCRIPT_INT || type == SCRIPT_FLOAT)
        set_range(row, type, script_hint(option ? option->name : value->name), json_object_get(row, "default"));
    return row;
}

static json_t *params(const struct starter *starter)
{
    json_t *rows = json_object();
    for (size_t i = 0; starter->help && i < starter->help->count; i++) {
        const struct script_option *option = &starter->help->options[i];
        const struct starter_value *value = value_of(starter, option->name);
        if (!option->many)
            json_object_set_new(rows, option->name, param_row(option, value));
    }
    for (size_t i = 0; starter->args && i < starter->args->count; i++)
        if (!starter->args->values[i].option)
            json_object_set_new(rows, starter->args->values[i].name, param_row(NULL, &starter->args->values[i]));
    return rows;
}

static json_t *log_patterns(void)
{
    static const char *const lines[] = {"Guessed from how trainings usually print their results: \"named:\" and the "
                                        "names under which a number is printed, the most wanted first.",
                                        "Remove those that your script does not print, and add its own. As they are "
                                        "guesses, \"metrics\" below is optional: an experiment",
                                        "succeeds without any of them. Say any or required there once they are right: "
                                        "a training that prints none has then failed.",
                                        NULL};
    json_t *patterns = json_object();
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        json_object_set_new(patterns, metrics[i].name, json_string(metrics[i].pattern));
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
    return names.count
               ? mem_printf(
                     "Not among the hyperparameters, as they take several values: %s. Fixed ones go to required_args.",
                     all)
               : NULL;
}

/* {"operands", "several"}: those that there are; NULL: neither. */
static json_t *required_args(const struct starter_args *args)
{
    if (!args || args->operands.count + args->several.count == 0)
        return NULL;
    return json_pack("{s:o*, s:o*}", "operands", args->operands.count ? texts_json(&args->operands) : NULL, "several",
                     args->several.count ? texts_json(&args->several) : NULL);
}

json_t *starter_registry(const struct starter *starter)
{
    AUTO_FREE char *name = repo_name(starter->script);
    AUTO_FREE char *missing = left_out(starter);
    AUTO_FREE char *source =
        mem_printf("Made from %s", starter->help ? "what the script lists by --help"
                                                 : "the command line: the script's help could not be read");
    const char *lines[] = {
        source,
        "What can be trained, and how it is started. Every key is explained in docs/reference/registry-keys.md.",
        "A default of null leaves the option out: the script then takes its own. A range of null is never drawn from.",
        missing, NULL};
    const char *interpreter = starter->interpreter_key;
    json_t *repo =
        json_pack("{s:o, s:o, s:o, s:o*, s:[s], s:o*, s:o, s:o, s:s}", "comment", json_texts(lines), "path",
                  json_text_or_null(starter->path), "train_script", json_text_or_null(starter->script),
                  interpreter ? interpreter : "python", interpreter ? json_text_or_null(starter->interpreter) : NULL,
                  "models", MODEL, "required_args", required_args(starter->args), "supported_hyperparams",
                  params(starter), "performance_metrics", log_patterns(), "metrics", "optional");
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
        if (hint && hint->high == 0.1 && option->type == SCRIPT_FLOAT) {
            bool has = option->initial && number_parse(option->initial, &own) && own > 0;
            json_array_append_new(list, json_finite(has ? own : 0.01));
            json_array_append_new(list, json_finite(has ? number_round(own / 10, 6) : 0.001));
        }
        for (int seed = 1; param_name_is_seed(option->name) && option->type == SCRIPT_INT && seed <= PROPOSED_SEEDS;
             seed++)
            json_array_append_new(list, json_integer(seed));
        if (json_array_size(list))
            json_object_set(values, option->name, list);
        json_decref(list);
    }
}

static json_t *entry(const struct starter *starter)
{
    AUTO_FREE char *name = repo_name(starter->script);
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
    AUTO_FREE char *words =
        mem_printf("Each list is an axis of the grid: every combination is run, %zu in all.", combinations);
    bool has_runs = starter->has_runs || (starter->proposes && !grid);
    return json_pack("{s:o*, s:o, s:s, s:s, s:o, s:o*}", "comment", grid ? json_string(words) : NULL, "repo",
                     json_text_or_null(name), "model", MODEL, "mode", grid ? "grid" : "default", "hyperparameters",
                     values, "runs_per_config",
                     has_runs ? json_integer(starter->has_runs ? starter->runs : PROPOSED_RUNS) : NULL);
}

json_t *starter_settings(const struct starter *starter)
{
    static const char *const lines[] = {
        "What to run. Hyperparameters that are not named keep the default of the registry.",
        "The key tare has pauses, limits and more: docs/reference/settings-keys.md.", NULL};
    AUTO_FREE char *name = repo_name(starter->script);
    int64_t retries = starter->has_max_retries ? starter->max_retries : PROPOSED_RETRIES;
    json_t *cooldown = starter->cooldown ? json_pack("{s:s}", "mode", starter->cooldown) : NULL;
    return json_pack("{s:o, s:o, s:s, s:I, s:o*, s:[o], s:{s:o*}}", "comment", json_texts(lines), "experiment_name",
                     json_text_or_null(name), "registry", "registry.json", "max_retries", (json_int_t)retries,
                     "governor", starter->governor ? json_text_or_null(starter->governor) : NULL, "experiments",
                     entry(starter), "tare", "cooldown", cooldown);
}
