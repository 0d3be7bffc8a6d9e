#include "plan/config/settings.h"
#include "base/json_place.h"
#include "base/json_print.h"
#include "plan/config/settings_space.h"
#include "plan/config/settings_tare.h"

#include "base/mem.h"
#include "plan/config/field.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>

/* Options that change a settings file: --set PATH=VALUE, -n, -mr, -g and --cooldown. The document's
 * tree is changed; its text stays, for the places of all else. */

/* One --set while it is applied. */
struct setting {
    const char *path; /* as given: "experiments.0.model" */
    struct json_doc *doc;
    struct problems *problems;
    char *place; /* JSON path of the value that is entered */
};

static bool refuse_setting(const struct setting *set, const char *why)
{
    AUTO_FREE char *text = mem_printf("--set %s: %s", set->path, why);
    problems_add(set->problems, SEVERITY_ERROR, NULL, NULL, "%s", text);
    return false;
}

static void enter_place(struct setting *set, char *place)
{
    free(set->place);
    set->place = place;
}

static bool is_known_key(const char *key);

/* A key that is not there, on the way to another: most likely misspelt when one that is there is
 * near. */
static bool check_new_key(const struct setting *set, const json_t *object, const char *key)
{
    AUTO_FREE const char **names = mem_array(json_object_size(object), sizeof *names);
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        names[count++] = name;
    }
    AUTO_FREE char *nearest = problem_nearest(key, names, count);
    if (!*nearest || is_known_key(key))
        return true;
    AUTO_FREE char *why = mem_printf("there is no key '%s' in %s%s", key, set->place, nearest);
    return refuse_setting(set, why);
}

/* The element of a list that a step of the path names; NULL: told. */
static bool find_index(const struct setting *set, const json_t *list, const char *step,
                       size_t *index)
{
    size_t count = json_array_size(list);
    char *end = NULL;
    unsigned long given = *step >= '0' && *step <= '9' ? strtoul(step, &end, 10) : count;
    *index = given;
    if (given < count && end && !*end)
        return true;
    AUTO_FREE char *why =
        count ? mem_printf("%s is a list of %zu: a place from 0 to %zu is needed, not '%s'",
                           set->place, count, count - 1, step)
              : mem_printf("%s is an empty list", set->place);
    return refuse_setting(set, why);
}

/* Takes value. */
static bool put_setting(struct setting *set, const struct strv *steps, json_t *value)
{
    json_t *at = set->doc->root;
    for (size_t i = 0; i < steps->count; i++) {
        const char *step = steps->items[i];
        bool last = i + 1 == steps->count;
        json_t *next = NULL;
        size_t index = 0;
        if (json_is_array(at)) {
            if (!find_index(set, at, step, &index))
                break;
            enter_place(set, json_path_index(set->place, index));
            next = json_array_get(at, index);
            if (last)
                return json_array_set_new(at, index, value) == 0;
        } else if (json_is_object(at)) {
            next = (json_t *)(uintptr_t)json_get(at, step);
            if (!last && !next && !check_new_key(set, at, step))
                break;
            enter_place(set, json_path_key(set->place, step));
            if (last)
                return json_object_set_new(at, step, value) == 0;
            if (!next)
                json_object_set_new(at, step, next = json_object());
        } else {
            AUTO_FREE char *shown = field_shown(at),
                           *why = mem_printf("%s is %s, so there is no '%s' in it", set->place,
                                             shown, step);
            refuse_setting(set, why);
            break;
        }
        at = next;
    }
    json_decref(value);
    return false;
}

/* As JSON, else as a string. NULL: neither. */
static json_t *parse_setting_value(const char *text)
{
    json_t *value = json_load_bounded(text, strlen(text), JSON_DECODE_ANY, NULL);
    return value ? value : json_string(text);
}

/* One PATH=VALUE: keys and places in lists, from 0, with dots between; VALUE is JSON, else a
 * string. False: told. */
static bool settings_set(struct json_doc *doc, const char *assignment, struct problems *problems)
{
    const char *equals = strchr(assignment, '=');
    AUTO_FREE char *path =
        mem_strndup(assignment, equals ? (size_t)(equals - assignment) : strlen(assignment));
    AUTO_STRV struct strv steps = {0};
    bool empty = false;
    for (const char *from = path;; from += strcspn(from, ".") + 1) {
        AUTO_FREE char *step = mem_strndup(from, strcspn(from, "."));
        empty = empty || !*step;
        strv_add(&steps, step);
        if (!from[strcspn(from, ".")])
            break;
    }
    struct setting set = {.path = path, .doc = doc, .problems = problems, .place = mem_strdup("$")};
    json_t *value = equals ? parse_setting_value(equals + 1) : NULL;
    bool good = equals && !empty && value;
    if (good) {
        good = put_setting(&set, &steps, json_incref(value));
        if (good)
            json_doc_override(doc, set.place);
    } else {
        refuse_setting(&set,
                       equals && !empty
                           ? "the value is not UTF-8"
                           : "expected PATH=VALUE, such as experiments.0.hyperparameters.epochs=3");
    }
    json_decref(value);
    free(set.place);
    return good;
}

/* The settings of one object that an option goes over. */
static void override_key(struct json_doc *doc, const char *path, json_t *object, const char *key,
                         json_t *value)
{
    AUTO_FREE char *place = json_path_key(path, key);
    json_object_set(object, key, value);
    json_doc_override(doc, place);
}

static bool is_zero(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) == 0;
}

/* The foreground of a parallel entry may state how often the entry runs, none of the others. */
static void override_entry(struct json_doc *doc, const char *path, json_t *entry, const char *key,
                           json_t *value)
{
    bool is_runs = strcmp(key, "runs_per_config") == 0;
    const json_t *given = json_is_object(entry) ? json_get(entry, key) : NULL;
    if (given && !(is_runs && is_zero(given)))
        override_key(doc, path, entry, key, value);
    AUTO_FREE char *side = json_path_key(path, "foreground");
    if (is_runs && json_is_object(json_object_get(entry, "foreground")))
        override_entry(doc, side, json_object_get(entry, "foreground"), key, value);
}

/* Takes value. The option holds everywhere: at the top, and in each entry that has its own. */
static void override_everywhere(struct json_doc *doc, const char *key, json_t *value)
{
    json_t *entries = json_object_get(doc->root, "experiments");
    override_key(doc, "$", doc->root, key, value);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        AUTO_FREE char *path = json_path_index("$.experiments", i);
        override_entry(doc, path, json_array_get(entries, i), key, value);
    }
    json_decref(value);
}

/* False: told. */
static bool apply_changes(const struct settings_changes *changes, struct json_doc *doc,
                          struct problems *problems)
{
    bool good = true;
    if (!json_is_object(doc->root))
        return good;
    for (size_t i = 0; changes->sets && i < changes->sets->count; i++)
        good = settings_set(doc, changes->sets->items[i], problems) && good;
    if (changes->has_runs)
        override_everywhere(doc, "runs_per_config", json_integer(changes->runs));
    if (changes->has_max_retries)
        override_everywhere(doc, "max_retries", json_integer(changes->max_retries));
    if (changes->governor)
        override_everywhere(doc, "governor", json_string(changes->governor));
    AUTO_FREE char *mode =
        changes->cooldown ? mem_printf("tare.cooldown.mode=%s", changes->cooldown) : NULL;
    return (!mode || settings_set(doc, mode, problems)) && good;
}

enum { LONGEST_FILE = 64 << 20 };

static const char *const global_modes[] = {"mutation", "nonparallel", "default", "grid",
                                           "list",     "parallel",    "mixed",   NULL};

/* The top of the file, before it goes into struct settings. */
struct top {
    struct level global;
    char *name;
    bool deduplicate;
    struct strv historical_csvs;
    int64_t seed;
    char *registry;
};

static const struct field top_rows[] = {
    {"experiment_name", FIELD_TEXT, offsetof(struct top, name), .initial = "none",
     .help = "a name for the run"},
    {"mode", FIELD_NAME, offsetof(struct top, global.mode), .names = global_modes,
     .initial = "mutation",
     .help = "the mode of entries that say none; mixed: each entry says its own"},
    {"runs_per_config", FIELD_INT, offsetof(struct top, global.runs), .high = 1000000,
     .initial = "1", .help = "how many experiments an entry makes that says none; 0: none"},
    SETTINGS_SEEDS_ROW("none"),
    {"max_retries", FIELD_INT, offsetof(struct top, global.max_retries), .high = 1000,
     .initial = "2", .help = "how often a failed experiment is tried again"},
    {"governor", FIELD_TEXT, offsetof(struct top, global.governor), .initial = "left alone",
     .help = "CPU frequency governor during an experiment, such as performance"},
    {"timeout", FIELD_DURATION, offsetof(struct top, global.timeout_s), .initial = "0",
     .help = "longest time of one attempt; 0: no limit"},
    {"gpu_memory_limit", FIELD_TEXT, offsetof(struct top, global.gpu_limit), .initial = "none",
     .help = "how much of each GPU's memory a training may hold, such as \"8GiB\" or \"50%\": the "
             "CUDA driver "
             "refuses more, and shows a GPU of that size"},
    {"track_gpu_memory", FIELD_SWITCH, offsetof(struct top, global.track_gpu_memory),
     .initial = "where it can be",
     .help = "count every byte that a training allocates on its GPUs: true demands it, false "
             "leaves the driver's "
             "samples; a limit counts in any case"},
    {"seed", FIELD_INT, offsetof(struct top, seed), .high = 9007199254740991.0,
     .initial = "a fresh one, recorded",
     .help = "the seed of all drawing: the same seed gives the same plan on every machine"},
    {"use_deduplication", FIELD_BOOL, offsetof(struct top, deduplicate), .initial = "false",
     .help =
         "never draw what a row of historical_csvs has for the same repository, model and mode"},
    {"historical_csvs", FIELD_TEXTS, offsetof(struct top, historical_csvs), .initial = "none",
     .help = "summary.csv files of earlier runs, relative to the settings file, then to the "
             "working folder"},
    {"registry", FIELD_TEXT, offsetof(struct top, registry),
     .initial = "`models_config.json` or `registry.json`, where one is found",
     .help = "the registry, relative to the settings file, then to the working folder; --config "
             "goes over it"},
    {"experiments", FIELD_OTHER, .expected = "a list of objects", .initial = "needed",
     .schema = "{'type': 'array', 'minItems': 1, 'items': {'$ref': '#/$defs/entry'}}",
     .help = "what to run, in this order"},
    FIELD_OBJECT_ROW("tare", "none", "what the study's format does not have"),
};

static const struct field_table top_table = FIELD_TABLE("The top of the file", top_rows);

#define IN_AN_ENTRY "it belongs into an entry of 'experiments'"
#define UNDER_TARE  "it belongs under 'tare'"

static const struct misplaced not_at_top[] = {
    {"repo", IN_AN_ENTRY},
    {"model", IN_AN_ENTRY},
    {"mutate", IN_AN_ENTRY},
    {"mutate_params", IN_AN_ENTRY},
    {"hyperparameters", IN_AN_ENTRY},
    {"foreground", IN_AN_ENTRY},
    {"background", IN_AN_ENTRY},
    {"timing", UNDER_TARE},
    {"parallel", UNDER_TARE},
    {"preflight", UNDER_TARE},
    {"cooldown", UNDER_TARE},
    {"environment", UNDER_TARE},
    {"limits", UNDER_TARE},
    {"gpus", UNDER_TARE},
    {"gpus_per_experiment", UNDER_TARE},
    {"log_cap", UNDER_TARE},
    {NULL, NULL},
};

static void read_entries(const struct source *source, const json_t *root,
                         const struct level *global, struct settings *settings)
{
    const json_t *list = json_object_get(root, "experiments");
    if (!list) {
        field_error(source, "$", "'experiments' is missing: a list of what to run");
        return;
    }
    if (!json_is_array(list)) {
        field_refuse(source, "$.experiments", "experiments", "a list of objects", list);
        return;
    }
    size_t count = json_array_size(list);
    settings->entries = mem_array(count, sizeof *settings->entries);
    size_t errors = source->problems->errors;
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *path = json_path_index("$.experiments", i);
        settings_read_entry(source, path, json_array_get(list, i), i, global, settings);
    }
    if (settings->entry_count == 0 && source->problems->errors == errors)
        field_error(source, "$.experiments", "'experiments': nothing to run: %s",
                    count ? "every entry is a comment" : "the list is empty");
}

static void apply_top(struct top *top, struct settings *settings)
{
    settings->name = steal_ptr(top->name);
    settings->deduplicate = top->deduplicate;
    settings->historical_csvs = top->historical_csvs;
    settings->has_seed = top->seed != UNSAID;
    settings->seed = settings->has_seed ? top->seed : 0;
}

static void read_settings_root(const struct source *source, const json_t *root,
                               struct settings *settings)
{
    if (!json_is_object(root)) {
        field_refuse(source, "$", NULL, "an object (the settings)", root);
        return;
    }
    if (json_is_object(json_object_get(root, "models")) && !json_object_get(root, "experiments")) {
        field_error(source, "$",
                    "this is a registry, not settings: it says what can be run, by 'models', and "
                    "nothing of what to run, "
                    "by 'experiments'");
        return;
    }
    struct top top = {.global = {.mode = WRITTEN_NONE, .runs = 1, .max_retries = 2},
                      .seed = UNSAID};
    fields_read(source, "$", root, &top_table, &top);
    fields_check_keys(source, "$", root, &top_table, UNKNOWN_ARE_FREE, not_at_top);
    if (top.global.governor)
        settings_check_governor(source, "$.governor", top.global.governor);
    /* Once, and not by every entry that inherits it. */
    struct gpu_limit limit = {0};
    settings_read_gpu_limit(source, "$", top.global.gpu_limit, &limit);
    if (!gpu_limit_is_set(&limit))
        free(steal_ptr(top.global.gpu_limit));
    settings_read_seeds(source, "$", root, &settings->seeds);
    settings_read_tare(source, root, settings);
    read_entries(source, root, &top.global, settings);
    apply_top(&top, settings);
    free(top.global.governor);
    free(top.global.gpu_limit);
    free(top.registry); /* the command line looks for it before the settings are read */
}

/* Reads settings->doc. */
static bool read_settings_document(struct settings *settings, bool strict,
                                   struct problems *problems)
{
    size_t errors = problems->errors;
    const struct source source = {&settings->doc, problems, strict};
    settings->has_tare = json_get(settings->doc.root, "tare") != NULL;
    read_settings_root(&source, settings->doc.root, settings);
    return problems->errors == errors;
}

static bool read_changed(const struct settings_changes *changes, struct settings *settings,
                         struct problems *problems)
{
    bool good = apply_changes(changes, &settings->doc, problems);
    return read_settings_document(settings, changes->strict, problems) && good;
}

bool settings_read_changed(const char *path, const struct settings_changes *changes,
                           struct settings *out, struct problems *problems)
{
    settings_set_defaults(out);
    out->file = mem_strdup(path);
    struct err err = {0};
    if (!json_doc_read_config(path, LONGEST_FILE, &out->doc, &err)) {
        problems_add_unreadable(problems, path, &err);
        return false;
    }
    return read_changed(changes, out, problems);
}

const char *settings_registry_named(const struct json_doc *settings)
{
    return settings && settings->root ? json_get_text(settings->root, "registry") : NULL;
}

bool settings_are_registry(const struct json_doc *doc)
{
    return json_get(doc->root, "models") && !json_get(doc->root, "experiments");
}

bool settings_read(const char *path, struct settings *out, struct problems *problems)
{
    return settings_read_changed(path, &(struct settings_changes){0}, out, problems);
}

bool settings_parse_changed(const char *file, const char *text, size_t length,
                            const struct settings_changes *changes, struct settings *out,
                            struct problems *problems)
{
    settings_set_defaults(out);
    out->file = mem_strdup(file);
    struct err err = {0};
    if (!json_doc_parse(file, text, length, &out->doc, &err)) {
        problems_add_unreadable(problems, file, &err);
        return false;
    }
    return read_changed(changes, out, problems);
}

bool settings_parse(const char *file, const char *text, size_t length, struct settings *out,
                    struct problems *problems)
{
    return settings_parse_changed(file, text, length, &(struct settings_changes){0}, out, problems);
}

void settings_fini(struct settings *settings)
{
    EACH (entry, settings->entries, settings->entry_count)
        settings_entry_fini(entry);
    free(settings->entries);
    free(settings->file);
    free(settings->name);
    free(settings->pool.gpus);
    settings_seeds_fini(&settings->seeds);
    strv_fini(&settings->historical_csvs);
    strv_fini(&settings->environment);
    json_doc_fini(&settings->doc);
    *settings = (struct settings){0};
}

const char *const job_mode_names[] = {[MODE_MUTATION] = "mutation",
                                      [MODE_DEFAULT] = "default",
                                      [MODE_GRID] = "grid",
                                      [MODE_LIST] = "list",
                                      NULL};

const char *mode_name(enum mode mode)
{
    return mode == MODE_PARALLEL ? "parallel" : job_mode_names[mode];
}

bool mode_from_name(const char *name, enum mode *out)
{
    for (int mode = 0; name && job_mode_names[mode]; mode++)
        if (strcmp(job_mode_names[mode], name) == 0) {
            *out = (enum mode)mode;
            return true;
        }
    return false;
}

/* An entry may be a comment, and one of mode parallel names no model: none of its keys is needed
 * always. */
static const struct field_object objects[] = {
    {"settings", UNKNOWN_ARE_FREE, true, {&top_table}},
    {"entry", UNKNOWN_ARE_FREE, false, {&settings_entry_table}},
    {"foreground", UNKNOWN_ARE_FREE, true, {&settings_foreground_table}},
    {"background", UNKNOWN_ARE_FREE, true, {&settings_background_table}},
    {"tare", UNKNOWN_ARE_ERRORS, true, {&settings_tare_table}},
    {"timing", UNKNOWN_ARE_ERRORS, true, {&settings_timing_table}},
    {"parallel", UNKNOWN_ARE_ERRORS, true, {&settings_parallel_table}},
    {"preflight", UNKNOWN_ARE_ERRORS, true, {&settings_preflight_table}},
    {"cooldown", UNKNOWN_ARE_ERRORS, true, {&settings_cooldown_table}},
    {"limits", UNKNOWN_ARE_ERRORS, true, {&settings_limits_table}},
    {"private", UNKNOWN_ARE_ERRORS, true, {&settings_private_table}},
};

static bool is_known_key(const char *key)
{
    EACH_OF (object, objects)
        for (size_t t = 0; t < FIELD_OBJECT_TABLES && object->tables[t]; t++)
            if (fields_find(object->tables[t], key))
                return true;
    return false;
}

void settings_describe(struct text *out)
{
    fields_describe_all(objects, sizeof objects / sizeof *objects, out);
}

json_t *settings_schema(void)
{
    return fields_schema("Settings of " TARE_NAME, objects, sizeof objects / sizeof *objects);
}

static json_t *cooldown_json(const char *mode)
{
    return mode ? json_pack("{s:{s:s}}", "cooldown", "mode", mode) : NULL;
}

/* The flags become a settings file and go the way of one, so a run made of flags keeps its
 * settings.json like any other. What is wrong in them is left to the planner, which knows the
 * names; only then is there no file to point at. */
void settings_from_flags(const char *repo, const char *model, const char *mutate,
                         const struct settings_changes *changes, struct settings *out)
{
    /* The settings file that says the same as the flags. A flag that is not UTF-8 cannot be in
     * JSON: it is left out here. */
    int64_t runs = changes->has_runs ? changes->runs : 1;
    json_t *root = json_pack(
        "{s:o*, s:o*, s:o*, s:[{s:o*, s:o*, s:s, s:o*, s:I}]}", "governor",
        changes->governor ? json_string(changes->governor) : NULL, "max_retries",
        changes->has_max_retries ? json_integer(changes->max_retries) : NULL, "tare",
        cooldown_json(changes->cooldown), "experiments", "repo", json_string(repo), "model",
        json_string(model), "mode", mode_name(mutate ? MODE_MUTATION : MODE_DEFAULT), "mutate",
        mutate ? json_string(mutate) : NULL, "runs_per_config", (json_int_t)runs);
    AUTO_TEXT struct text text = {0};
    json_print_pretty(root, &text);
    json_decref(root);
    AUTO(problems_fini) struct problems problems = {0};
    settings_parse("", text_get(&text), text.length, out, &problems);
    free(out->file);
    free(out->doc.file);
    out->file = NULL;
    out->doc.file = NULL;
    if (out->entry_count == 0)
        return;
    struct entry_settings *entry = &out->entries[0];
    free(entry->foreground.repo);
    free(entry->foreground.model);
    free(entry->governor);
    entry->foreground.repo = mem_strdup(repo);
    entry->foreground.model = mem_strdup(model);
    entry->governor = mem_strdup(changes->governor);
    entry->runs = runs;
}
