#include "plan/config/registry_param.h"
#include "base/json_place.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static const char *const types[] = {
    [PARAM_INT] = "int",   [PARAM_FLOAT] = "float", [PARAM_CHOICE] = "choice",
    [PARAM_BOOL] = "bool", [PARAM_TEXT] = "text",   NULL};
static const char *const distributions[] = {[DISTRIBUTION_UNIFORM] = "uniform",
                                            [DISTRIBUTION_LOG_UNIFORM] = "log_uniform",
                                            [DISTRIBUTION_NORMAL] = "normal",
                                            NULL};

/* Up to here a double tells every whole number from the next. */
#define WHOLE_LIMIT 9007199254740992.0

enum { MOST_CHOICES = 1000 };

/* The row as it is written. */
struct row {
    char *flag, *off_flag;
    int type, distribution;
    double zero_probability;
    double mean, deviation, std;
};

static const struct field param_rows[] = {
    {"flag", FIELD_TEXT, offsetof(struct row, flag), .initial = "none",
     .help = "the option that hands the value over, such as --epochs; one that ends with =, such "
             "as --epochs= or "
             "optimizer.lr=, is joined with it; without a flag the value replaces {name} in "
             "`required_args`, or comes "
             "as the environment variable TARE_PARAM_NAME, the name in capitals"},
    {"off_flag", FIELD_TEXT, offsetof(struct row, off_flag),
     .initial = "none: false leaves flag out",
     .help = "type bool: the option that says false, such as --no-amp"},
    {"type", FIELD_NAME, offsetof(struct row, type), .names = types, .initial = "needed",
     .help = "integers, numbers, one of choices; bool: flag is given or not, without a value; "
             "text: any string"},
    {"default", FIELD_OTHER, .expected = "a value of the type", .schema = FIELD_SCALAR,
     .initial = "needed",
     .help = "the value of mode default; a mutation never draws it; may lie outside range; null: "
             "flag is left out"},
    {"range", FIELD_OTHER, .expected = "[low, high]",
     .schema = "{'type': 'array', 'minItems': 2, 'maxItems': 2, 'items': {'type': 'number'}}",
     .initial = "needed for int and float",
     .help = "the least and the greatest value that is drawn; null: none is"},
    {"choices", FIELD_OTHER,
     .expected = "a list of different numbers, strings, true, false or null",
     .schema = "{'type': 'array', 'minItems': 1, 'maxItems': 1000, 'items': " FIELD_SCALAR "}",
     .initial = "needed for choice", .help = "the values to draw from; null leaves the flag out"},
    {"distribution", FIELD_NAME, offsetof(struct row, distribution), .names = distributions,
     .initial = "uniform",
     .help = "how int and float are drawn; log_uniform needs a range above 0"},
    {"zero_probability", FIELD_NUMBER, offsetof(struct row, zero_probability), .high = 1,
     .initial = "0",
     .help = "the share of draws that are exactly 0, also where range does not hold it"},
    {"mean", FIELD_NUMBER, offsetof(struct row, mean), .low = -1e300, .high = 1e300,
     .initial = "the middle of range", .help = "of the normal distribution; within range"},
    {"deviation", FIELD_NUMBER, offsetof(struct row, deviation), .low = 0, .high = 1e300,
     .initial = "a quarter of range",
     .help = "standard deviation of the normal distribution; above 0"},
    {"std", FIELD_NUMBER, offsetof(struct row, std), .low = 0, .high = 1e300,
     .initial = "a quarter of range", .help = "another name for deviation"},
};

const struct field_table registry_param_table =
    FIELD_TABLE("A row of `supported_hyperparams`", param_rows);

static bool refuse_param(const struct source *source, const char *path, const char *key,
                         const char *text)
{
    AUTO_FREE char *place = key ? json_path_key(path, key) : mem_strdup(path);
    return field_error(source, place, "%s", text);
}

static bool is_whole_number(const json_t *json)
{
    if (json_is_integer(json))
        return json_integer_value(json) >= -(json_int_t)WHOLE_LIMIT &&
               json_integer_value(json) <= (json_int_t)WHOLE_LIMIT;
    double number = json_number_value(json);
    return fabs(number) <= WHOLE_LIMIT && floor(number) == number;
}

static bool read_bound(const struct source *source, const char *path, const json_t *json,
                       enum param_type type, double *bound)
{
    const char *expected =
        type != PARAM_INT ? "a number"
        : json_is_integer(json)
            ? "an integer from -9007199254740992 to 9007199254740992 (\"choices\" take larger ones)"
            : "an integer (the type is int)";
    /* 2^53 + 1 as a double is 2^53: integers are judged as such. */
    if (!json_is_number(json) || (type == PARAM_INT && !is_whole_number(json)))
        return field_refuse(source, path, "range", expected, json);
    *bound = json_number_value(json);
    return true;
}

static bool check_order(const struct source *source, const char *path, const struct param *param)
{
    char low[32], high[32];
    number_shortest(param->low, low);
    number_shortest(param->high, high);
    if (param->low > param->high)
        return field_error(source, path, "'range': expected [low, high], but %s is more than %s",
                           low, high);
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && param->low <= 0)
        return field_error(source, path,
                           "'range': log_uniform needs a range above 0, but it begins at %s%s", low,
                           param->low == 0 ? "; \"zero_probability\" draws zeros" : "");
    return true;
}

static bool read_range(const struct source *source, const char *path, const json_t *row,
                       struct param *out)
{
    if (json_is_null(json_object_get(row, "range")))
        return true;
    if (!json_get(row, "range"))
        return refuse_param(source, path, NULL, "'range' is missing: [low, high]");
    AUTO_FREE char *place = json_path_key(path, "range");
    const json_t *range = json_object_get(row, "range");
    if (!json_is_array(range) || json_array_size(range) != 2)
        return field_refuse(source, place, "range", "[low, high]", range);
    AUTO_FREE char *low_place = json_path_index(place, 0);
    AUTO_FREE char *high_place = json_path_index(place, 1);
    bool low = read_bound(source, low_place, json_array_get(range, 0), out->type, &out->low);
    bool high = read_bound(source, high_place, json_array_get(range, 1), out->type, &out->high);
    if (!low || !high)
        return false;
    out->has_range = check_order(source, place, out);
    return out->has_range;
}

bool registry_has_choice(const struct param *param, const struct value *value)
{
    AUTO_FREE char *key = value_key(value);
    EACH (choice, param->choices, param->choice_count) {
        AUTO_FREE char *other = value_key(choice);
        if (strcmp(key, other) == 0)
            return true;
    }
    return false;
}

static bool read_param_choice(const struct source *source, const char *path, const json_t *json,
                              struct param *out)
{
    AUTO_FREE char *shown = field_shown(json);
    AUTO(value_fini) struct value value = {0};
    if (!value_from_json(json, &value))
        return field_error(source, path,
                           "'choices': expected a number, a string, true, false or null, not %s",
                           shown);
    if (registry_has_choice(out, &value))
        return field_error(source, path, "'choices': duplicate value %s", shown);
    out->choices[out->choice_count++] = value;
    value = (struct value){0};
    return true;
}

static bool read_choices(const struct source *source, const char *path, const json_t *row,
                         struct param *out)
{
    if (!json_get(row, "choices"))
        return refuse_param(source, path, NULL, "'choices' is missing: the values to draw from");
    AUTO_FREE char *place = json_path_key(path, "choices");
    const json_t *choices = json_object_get(row, "choices");
    if (!json_is_array(choices) || json_array_size(choices) == 0 ||
        json_array_size(choices) > MOST_CHOICES)
        return field_refuse(source, place, "choices", "a list of 1 to 1000 values", choices);
    out->choices = mem_array(json_array_size(choices), sizeof *out->choices);
    bool good = true;
    for (size_t i = 0; i < json_array_size(choices); i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        good = read_param_choice(source, item, json_array_get(choices, i), out) && good;
    }
    return good;
}

/* A default that is no choice is allowed, but most likely a slip. */
static void check_default_choice(const struct source *source, const char *path,
                                 const struct param *param)
{
    if (param->choice_count == 0 || registry_has_choice(param, &param->default_value))
        return;
    AUTO_STRV struct strv names = {0};
    EACH (choice, param->choices, param->choice_count)
        strv_add_owned(&names, value_format(choice));
    AUTO_FREE char *given = value_format(&param->default_value);
    AUTO_FREE char *nearest = problem_nearest(given, (const char *const *)names.items, names.count);
    problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                 "'default': '%s' is none of the choices%s", given, nearest);
}

static bool read_param_default(const struct source *source, const char *path, const json_t *row,
                               struct param *out)
{
    AUTO_FREE char *place = json_path_key(path, "default");
    const json_t *json = json_object_get(row, "default");
    if (!json)
        return refuse_param(source, path, NULL, "'default' is missing");
    if (json_is_null(json) && out->type != PARAM_CHOICE)
        return true; /* VALUE_NULL */
    switch (out->type) {
    case PARAM_INT:
        if (!json_is_integer(json))
            return field_refuse(source, place, "default", "an integer (the type is int)", json);
        out->default_value = value_int(json_integer_value(json));
        return true;
    case PARAM_FLOAT:
        if (!json_is_number(json))
            return field_refuse(source, place, "default", "a number (the type is float)", json);
        out->default_value = value_float(json_number_value(json));
        return true;
    case PARAM_CHOICE:
        if (!value_from_json(json, &out->default_value))
            return field_refuse(source, place, "default", "a number, a string, true, false or null",
                                json);
        check_default_choice(source, place, out);
        return true;
    case PARAM_BOOL:
        if (!json_is_boolean(json))
            return field_refuse(source, place, "default", "true, false or null (the type is bool)",
                                json);
        return value_from_json(json, &out->default_value);
    case PARAM_TEXT:
        if (!json_is_string(json))
            return field_refuse(source, place, "default", "a string or null (the type is text)",
                                json);
        return value_from_json(json, &out->default_value);
    }
    return false;
}

static void warn_unused(const struct source *source, const char *path, const json_t *row,
                        const char *const *keys, const char *why)
{
    for (; *keys; keys++)
        fields_warn_unused(source, path, row, *keys, why);
}

static bool read_normal(const struct source *source, const char *path, const json_t *json,
                        const struct row *row, struct param *out)
{
    if (json_get(json, "std") && json_get(json, "deviation"))
        return refuse_param(source, path, "std",
                            "'std' and 'deviation' mean the same: keep one of them");
    const char *deviation_key = json_get(json, "std") ? "std" : "deviation";
    bool has_mean = json_get(json, "mean");
    bool has_deviation = json_get(json, deviation_key);
    out->has_normal = has_mean || has_deviation;
    out->mean = has_mean ? row->mean : out->low / 2 + out->high / 2;
    out->deviation = json_get(json, "std") ? row->std
                     : has_deviation       ? row->deviation
                                           : (out->high - out->low) / 4;
    if (has_deviation && !(out->deviation > 0)) {
        AUTO_FREE char *place = json_path_key(path, deviation_key);
        return field_refuse(source, place, deviation_key, "a number above 0",
                            json_object_get(json, deviation_key));
    }
    if (out->has_range && !(out->mean >= out->low && out->mean <= out->high))
        return refuse_param(source, path, "mean", "'mean': expected a number within the range");
    return true;
}

static bool read_numeric(const struct source *source, const char *path, const json_t *json,
                         const struct row *row, struct param *out)
{
    static const char *const choice_keys[] = {"choices", NULL};
    static const char *const normal_keys[] = {"mean", "deviation", "std", NULL};
    warn_unused(source, path, json, choice_keys, "the type is not 'choice'");
    bool good = read_range(source, path, json, out);
    if (out->distribution == DISTRIBUTION_NORMAL)
        return read_normal(source, path, json, row, out) && good;
    warn_unused(source, path, json, normal_keys, "the distribution is not 'normal'");
    return good;
}

/* The values of what is not drawn from a range. */
static void read_listed(const struct source *source, const char *path, const json_t *json,
                        struct param *out)
{
    if (out->type == PARAM_CHOICE) {
        read_choices(source, path, json, out);
        return;
    }
    fields_warn_unused(source, path, json, "choices", "the type is not 'choice'");
    if (out->type == PARAM_TEXT)
        return;
    out->choices = mem_array(2, sizeof *out->choices);
    out->choices[out->choice_count++] = value_bool(false);
    out->choices[out->choice_count++] = value_bool(true);
}

bool registry_read_param(const struct source *source, const char *path, const char *name,
                         const json_t *json, struct param *out)
{
    static const char *const number_keys[] = {
        "range", "distribution", "zero_probability", "mean", "deviation", "std", NULL};
    size_t errors = source->problems->errors;
    *out = (struct param){.name = mem_strdup(name)};
    if (!json_is_object(json))
        return field_refuse(source, path, NULL, "an object (a hyperparameter)", json);
    struct row row = {.type = -1, .distribution = DISTRIBUTION_UNIFORM};
    fields_read(source, path, json, &registry_param_table, &row);
    fields_check_keys(source, path, json, &registry_param_table, UNKNOWN_ARE_WARNINGS, NULL);
    out->flag = row.flag;
    out->off_flag = row.off_flag;
    if (!json_get(json, "type"))
        return refuse_param(
            source, path, NULL,
            "'type' is missing: \"int\", \"float\", \"choice\", \"bool\" or \"text\"");
    if (row.type < 0)
        return false;
    out->type = (enum param_type)row.type;
    out->distribution = (enum distribution)row.distribution;
    out->zero_probability = row.zero_probability;
    if (out->type != PARAM_BOOL)
        fields_warn_unused(source, path, json, "off_flag", "the type is not 'bool'");
    if (out->type >= PARAM_CHOICE) {
        AUTO_FREE char *why = mem_printf("the type is '%s'", types[out->type]);
        warn_unused(source, path, json, number_keys, why);
        out->zero_probability = 0;
        read_listed(source, path, json, out);
    } else {
        read_numeric(source, path, json, &row, out);
    }
    read_param_default(source, path, json, out);
    return source->problems->errors == errors;
}
