#include "plan/config/settings_entry.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

/* "repository" is a key of the person's own, but most likely meant as repo. */
static const char *key_meant(const json_t *object, const char *key)
{
    const char *other;
    json_t *value;
    json_object_foreach((json_t *)object, other, value)
    {
        if (strncasecmp(other, key, strlen(key)) == 0)
            return other;
    }
    return NULL;
}

static char *read_needed_text(const struct source *source, const char *path, const json_t *object, const char *key)
{
    const json_t *json = json_object_get(object, key);
    if (!json) {
        const char *other = key_meant(object, key);
        AUTO_FREE char *hint = other ? mem_printf("; is '%s' meant?", other) : mem_strdup("");
        field_error(source, path, "'%s' is missing%s", key, hint);
        return mem_strdup("");
    }
    const struct field row = {.key = key, .kind = FIELD_TEXT};
    AUTO_FREE char *place = json_path_key(path, key);
    char *text = NULL;
    return field_read(source, place, json, &row, &text) ? text : mem_strdup("");
}

static void add_name(const struct source *source, const char *path, const char *key, const char *name,
                     struct strv *names)
{
    if (!*name)
        field_error(source, path, "'%s': a name is empty", key);
    else if (strv_has(names, name))
        problems_add(source->problems, SEVERITY_WARNING, source->doc, path, "'%s': '%s' is named twice", key, name);
    else
        strv_add(names, name);
}

/* "a, b" */
static void add_names(const struct source *source, const char *path, const char *key, const char *text,
                      struct strv *names)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        const char *start = text + strspn(text, " ");
        const char *end = text + length;
        while (end > start && end[-1] == ' ')
            end--;
        AUTO_FREE char *name = mem_strndup(start, end > start ? (size_t)(end - start) : 0);
        add_name(source, path, key, name, names);
        if (!text[length])
            return;
        text += length + 1;
    }
}

static void read_mutate(const struct source *source, const char *path, const json_t *json, const char *key,
                        struct strv *names)
{
    if (json_is_string(json)) {
        add_names(source, path, key, json_string_value(json), names);
        return;
    }
    if (!json_is_array(json) || json_array_size(json) == 0) {
        field_refuse(source, path, key, "\"all\", a name, or a list of names", json);
        return;
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        AUTO_FREE char *item = json_path_index(path, i);
        const json_t *name = json_array_get(json, i);
        if (json_is_string(name)) {
            add_name(source, item, key, json_string_value(name), names);
            continue;
        }
        field_refuse(source, item, key, "a name", name);
    }
}

void settings_read_mutates(const struct source *source, const char *path, const json_t *object,
                           struct job_settings *job)
{
    static const char *const keys[] = {"mutate", "mutate_params"};
    const char *read = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!json_get(object, keys[i]))
            continue;
        if (job->mode == MODE_GRID || job->mode == MODE_LIST) {
            AUTO_FREE char *place = json_path_key(path, keys[i]);
            problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place,
                                "'%s' is for mode \"mutation\": nothing is drawn in mode \"%s\"", keys[i],
                                mode_name(job->mode));
            continue;
        }
        if (job->mode != MODE_MUTATION) {
            fields_warn_unused(source, path, object, keys[i], "the mode is 'default'");
            continue;
        }
        AUTO_FREE char *place = json_path_key(path, keys[i]);
        if (read)
            problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place,
                                "'%s' and '%s' mean the same: keep one of them", keys[i], read);
        else
            read_mutate(source, place, json_object_get(object, keys[i]), keys[i], &job->mutate);
        read = keys[i];
    }
}

void settings_read_job(const struct source *source, const char *path, const json_t *object, enum mode mode,
                       struct job_settings *job)
{
    job->json_path = mem_strdup(path);
    job->mode = mode;
    job->repo = read_needed_text(source, path, object, "repo");
    job->model = read_needed_text(source, path, object, "model");
    settings_read_hyperparameters(source, path, object, job);
}

/* Every text of a job is there, also when the file did not say it: the planner need not ask. */
void settings_fill_job(struct job_settings *job, const char *path)
{
    if (!job->json_path)
        job->json_path = mem_strdup(path);
    if (!job->repo)
        job->repo = mem_strdup("");
    if (!job->model)
        job->model = mem_strdup("");
}

void settings_job_fini(struct job_settings *job)
{
    free(job->json_path);
    free(job->repo);
    free(job->model);
    strv_fini(&job->mutate);
    settings_hyperparameters_fini(job);
}
