#include "plan/config/registry_needs.h"
#include "base/json_place.h"
#include "plan/config/registry_rules.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 1000, LONGEST_MODULE = 200, SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

static const struct field source_rows[] = {
    {"url", FIELD_TEXT, offsetof(struct registry_source, url), .initial = "needed",
     .help = "what git clones: https://, http://, ssh://, git:// or git@"},
    {"commit", FIELD_TEXT, offsetof(struct registry_source, commit), .initial = "any",
     .help = "the commit that the registry was written for: all its digits"},
    {"licence", FIELD_TEXT, offsetof(struct registry_source, licence), .initial = "not said",
     .help = "what its code may be used for, such as MIT"},
    {"size", FIELD_SIZE, offsetof(struct registry_source, size_bytes), .initial = "not said",
     .help = "what the clone takes on the disk"},
};

static const struct field data_rows[] = {
    {"path", FIELD_TEXT, offsetof(struct registry_data, path), .initial = "needed",
     .help = "a file or folder that is not empty, seen from the repository; ~/ is the home"},
    {"get", FIELD_TEXT, offsetof(struct registry_data, get), .initial = "not said",
     .help = "where it is found, or the command that makes it: told to the person, never run"},
    {"size", FIELD_SIZE, offsetof(struct registry_data, size_bytes), .initial = "not said",
     .help = "what it takes on the disk"},
    {"models", FIELD_TEXTS, offsetof(struct registry_data, models), .initial = "all",
     .help = "the models that need it"},
};

static const struct field modules_rows[] = {
    {"modules", FIELD_TEXTS, offsetof(struct registry_modules, names),
     .initial = "needed, or `python`",
     .help = "Python modules that the interpreter must be able to import, such as torch, with the "
             "version as pip "
             "writes it: torch>=2.6,<3"},
    {"python", FIELD_TEXT, offsetof(struct registry_modules, python), .initial = "any",
     .help = "the version that the interpreter must have, such as >=3.8"},
    {"get", FIELD_TEXT, offsetof(struct registry_modules, get), .initial = "not said",
     .help = "how they are installed: told to the person, never run"},
    {"models", FIELD_TEXTS, offsetof(struct registry_modules, models), .initial = "all",
     .help = "the models that need them"},
};

const struct field_table registry_source_table = FIELD_TABLE("`source`", source_rows);
const struct field_table registry_data_table = FIELD_TABLE("A row of `data`", data_rows);
const struct field_table registry_modules_table = FIELD_TABLE("A row of `requires`", modules_rows);

static void check_given(const struct source *source, const char *path, const json_t *json,
                        const char *key, const char *what)
{
    if (!json_get(json, key))
        field_error(source, path, "'%s' is missing: %s", key, what);
}

static void check_plain(const struct source *source, const char *path, const json_t *json,
                        const char *key)
{
    const char *text = json_get_text(json, key);
    if (!text || utf8_is_printable(text, strlen(text)))
        return;
    AUTO_FREE char *place = json_path_key(path, key);
    field_refuse(source, place, key, "a string without control characters", json_get(json, key));
}

/* git takes an address that begins with '-' for an option, and one with "::" for a program to
 * run. */
static bool is_address(const char *url)
{
    static const char *const beginnings[] = {"https://", "http://", "ssh://",
                                             "git://",   "git@",    NULL};
    for (const char *c = url; *c; c++)
        if (isspace((unsigned char)*c))
            return false;
    if (!utf8_is_printable(url, strlen(url)))
        return false;
    for (size_t i = 0; beginnings[i]; i++)
        if (strncmp(url, beginnings[i], strlen(beginnings[i])) == 0)
            return url[strlen(beginnings[i])] != '\0';
    return false;
}

static bool is_commit(const char *commit)
{
    size_t length = strspn(commit, "0123456789abcdef");
    return commit[length] == '\0' && (length == SHA1_DIGITS || length == SHA256_DIGITS);
}

static void read_source(const struct source *source, const char *path, const json_t *json,
                        struct repo *out)
{
    AUTO_FREE char *place = NULL;
    const json_t *given = field_object(source, path, json, "source", &place);
    if (!given)
        return;
    struct registry_source *to = &out->source;
    fields_check_keys(source, place, given, &registry_source_table, UNKNOWN_ARE_WARNINGS, NULL);
    check_given(source, place, given, "url", "what git clones");
    fields_read(source, place, given, &registry_source_table, to);
    check_plain(source, place, given, "licence");
    AUTO_FREE char *url = json_path_key(place, "url");
    AUTO_FREE char *commit = json_path_key(place, "commit");
    if (to->url && !is_address(to->url))
        field_refuse(source, url, "url",
                     "an address that git clones (https://..., ssh://..., git@...)",
                     json_get(given, "url"));
    if (to->commit && !is_commit(to->commit))
        field_refuse(source, commit, "commit", "the 40 (or 64) hexadecimal digits of a commit",
                     json_get(given, "commit"));
}

/* Names of this repository's models. */
static void check_models(const struct source *source, const char *path, const struct strv *models,
                         const struct repo *repo)
{
    AUTO_FREE char *place = json_path_key(path, "models");
    EACH (item, models->items, models->count)
        registry_check_model(source, place, "models", *item, repo);
}

static void read_data_row(const struct source *source, const char *path, const json_t *json,
                          struct repo *out)
{
    struct registry_data *row = &out->data[out->data_count++];
    fields_check_keys(source, path, json, &registry_data_table, UNKNOWN_ARE_WARNINGS, NULL);
    check_given(source, path, json, "path", "a file or folder");
    fields_read(source, path, json, &registry_data_table, row);
    check_plain(source, path, json, "path");
    check_plain(source, path, json, "get");
    check_models(source, path, &row->models, out);
    if (!row->path)
        row->path = mem_strdup("");
}

/* What can stand behind "import": names joined by dots. */
static bool is_module(const char *name)
{
    bool begins = true;
    for (; *name; name++) {
        if (begins ? !isalpha((unsigned char)*name) && *name != '_'
                   : !isalnum((unsigned char)*name) && *name != '_' && *name != '.')
            return false;
        begins = *name == '.';
    }
    return !begins;
}

/* Comparisons joined by commas, as in ">=2.6, <3". What PEP 440 asks of the version itself is
 * checked by the interpreter that compares it. */
static bool is_specifier(const char *text)
{
    static const char version_chars[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.*+!-_";
    static const char *const operators[] = {"===", "==", "!=", ">=", "<=", "~=", ">", "<"};
    for (;; text++) {
        size_t i = 0;
        text += strspn(text, " ");
        while (i < sizeof operators / sizeof *operators &&
               strncmp(text, operators[i], strlen(operators[i])) != 0)
            i++;
        if (i == sizeof operators / sizeof *operators)
            return false;
        text += strlen(operators[i]);
        text += strspn(text, " ");
        size_t length = strspn(text, version_chars);
        text += length;
        text += strspn(text, " ");
        if (length == 0 || (*text && *text != ','))
            return false;
        if (!*text)
            return true;
    }
}

static void check_want(const struct source *source, const char *path, const char *key,
                       const char *text, const char *want)
{
    if (*want && !is_specifier(want))
        field_error(source, path, "'%s': '%s': '%s' is not a version specifier such as >=2.6,<3",
                    key, text, want);
}

/* One text of "modules", "torch>=2.6", becomes a name and what is wanted. */
static void split_module(const struct source *source, const char *path,
                         struct registry_modules *row, size_t index)
{
    char *text = row->names.items[index];
    size_t length = strcspn(text, "<>=!~");
    const char *want = text + length;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *name = mem_strndup(text, length);
    strv_add(&row->wanted, want);
    if (length > LONGEST_MODULE || !is_module(name))
        field_error(source, path, "'modules': '%s' is no name of a Python module", name);
    check_want(source, path, "modules", text, want);
    row->names.items[index] = name;
    free(text);
}

static void read_modules_row(const struct source *source, const char *path, const json_t *json,
                             struct repo *out)
{
    struct registry_modules *row = &out->modules[out->module_count++];
    fields_check_keys(source, path, json, &registry_modules_table, UNKNOWN_ARE_WARNINGS, NULL);
    if (!json_get(json, "python"))
        check_given(source, path, json, "modules", "names of Python modules");
    fields_read(source, path, json, &registry_modules_table, row);
    check_plain(source, path, json, "get");
    AUTO_FREE char *modules = json_path_key(path, "modules");
    AUTO_FREE char *python = json_path_key(path, "python");
    if (row->names.count > MOST_ITEMS)
        field_refuse(source, modules, "modules", "at most 1000 names", json_get(json, "modules"));
    for (size_t i = 0; i < row->names.count; i++)
        split_module(source, modules, row, i);
    if (row->python)
        check_want(source, python, "python", row->python, row->python);
    check_models(source, path, &row->models, out);
}

typedef void read_row(const struct source *source, const char *path, const json_t *json,
                      struct repo *out);

/* The rows of a list, which has room for them after this: NULL when there are none. */
static const json_t *find_list(const struct source *source, const char *path, const json_t *json,
                               const char *key)
{
    const json_t *list = json_get(json, key);
    if (!list || (json_is_array(list) && json_array_size(list) <= MOST_ITEMS))
        return list;
    AUTO_FREE char *place = json_path_key(path, key);
    field_refuse(source, place, key, "a list of at most 1000 objects", list);
    return NULL;
}

static void read_need_list(const struct source *source, const char *path, const char *key,
                           const json_t *list, read_row *read, struct repo *out)
{
    AUTO_FREE char *place = json_path_key(path, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        const json_t *row = json_array_get(list, i);
        if (json_is_object(row))
            read(source, item, row, out);
        else
            field_refuse(source, item, key, "an object", row);
    }
}

void registry_read_needs(const struct source *source, const char *path, const json_t *json,
                         struct repo *out)
{
    read_source(source, path, json, out);
    const json_t *data = find_list(source, path, json, "data");
    const json_t *modules = find_list(source, path, json, "requires");
    out->data = mem_array(json_array_size(data), sizeof *out->data);
    out->modules = mem_array(json_array_size(modules), sizeof *out->modules);
    read_need_list(source, path, "data", data, read_data_row, out);
    read_need_list(source, path, "requires", modules, read_modules_row, out);
}

void registry_needs_fini(struct repo *repo)
{
    free(repo->source.url);
    free(repo->source.commit);
    free(repo->source.licence);
    EACH (item, repo->data, repo->data_count) {
        free(item->path);
        free(item->get);
        strv_fini(&item->models);
    }
    EACH (module, repo->modules, repo->module_count) {
        strv_fini(&module->names);
        strv_fini(&module->wanted);
        free(module->python);
        free(module->get);
        strv_fini(&module->models);
    }
    free(repo->data);
    free(repo->modules);
}
