#include "plan/config/settings_entry.h"

#include "base/mem.h"
#include "plan/config/size.h"

#include <string.h>

void settings_check_governor(const struct source *source, const char *path, const char *governor)
{
    static const char *const known[] = {"performance", "powersave",    "ondemand",
                                        "userspace",   "conservative", "schedutil"};
    const size_t count = sizeof known / sizeof *known;
    for (size_t i = 0; i < count; i++)
        if (strcmp(governor, known[i]) == 0)
            return;
    AUTO_FREE char *nearest = problem_nearest(governor, known, count);
    if (*nearest)
        problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                     "'governor': '%s' is no governor of Linux%s", governor, nearest);
}

void settings_read_gpu_limit(const struct source *source, const char *path, const char *written, struct gpu_limit *out)
{
    struct err err = {0};
    if (!written || gpu_limit_parse(written, out, &err))
        return;
    AUTO_FREE char *place = json_path_key(path, "gpu_memory_limit");
    field_error(source, place,
                "'gpu_memory_limit': %s; expected an amount such as \"8GiB\", or a share such as \"50%%\"", err.text);
}

/* An entry that says nothing of its own is a comment; one whose keys look like misspelt ones is not. */
static bool is_comment(const json_t *entry, size_t misspelt)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (fields_find(&settings_entry_table, key))
            return false;
    }
    return misspelt == 0;
}

/* What is not plainly a comment, by a key that says so, may have been meant as an experiment, which would be missed in the morning. */
static void warn_of_comment(const struct source *source, const char *path, const json_t *entry)
{
    AUTO_STRV struct strv keys = {0};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (fields_is_note(key))
            return;
        strv_add(&keys, key);
    }
    if (keys.count == 0)
        return;
    AUTO_FREE char *shown = strv_join(&keys, ", ");
    problems_add(source->problems, SEVERITY_WARNING, source->doc, path,
                 "left out as a comment: none of its keys (%s) is known", shown);
}

static int entry_mode(const struct source *source, const char *path, const json_t *entry, int said, int global)
{
    if (said != WRITTEN_NONE)
        return said;
    if (json_get(entry, "foreground") || json_get(entry, "background"))
        return WRITTEN_PARALLEL;
    if (global == WRITTEN_MIXED && !json_get(entry, "mode"))
        field_error(source, path, "'mode' is missing: the file's mode is \"mixed\", so each experiment says its own");
    return global == WRITTEN_NONE || global == WRITTEN_MIXED ? WRITTEN_MUTATION : global;
}

static enum mode job_mode(int written)
{
    return written == WRITTEN_DEFAULT ? MODE_DEFAULT
           : written == WRITTEN_GRID  ? MODE_GRID
           : written == WRITTEN_LIST  ? MODE_LIST
                                      : MODE_MUTATION;
}

/* What a side of a parallel entry says of its own. */
static void take_gpu_limit(const struct source *source, const char *path, struct level *said, struct job_settings *job)
{
    settings_read_gpu_limit(source, path, said->gpu_limit, &job->gpu_limit);
    free(said->gpu_limit);
}

static void read_foreground(const struct source *source, const char *path, const json_t *object,
                            struct job_settings *job, int64_t *runs)
{
    struct level said = {.mode = WRITTEN_MUTATION, .runs = UNSAID};
    fields_read(source, path, object, &settings_foreground_table, &said);
    fields_check_keys(source, path, object, &settings_foreground_table, UNKNOWN_ARE_FREE, settings_not_in_foreground);
    settings_read_job(source, path, object, job_mode(said.mode), job);
    settings_read_mutates(source, path, object, job);
    take_gpu_limit(source, path, &said, job);
    *runs = said.runs;
}

static void read_background(const struct source *source, const char *path, const json_t *object,
                            struct job_settings *job)
{
    struct level said = {.mode = WRITTEN_DEFAULT};
    fields_read(source, path, object, &settings_background_table, &said);
    fields_check_keys(source, path, object, &settings_background_table, UNKNOWN_ARE_FREE, settings_not_in_background);
    if (said.mode != WRITTEN_DEFAULT)
        fields_warn_unused(source, path, object, "mode", "a background is never mutated");
    settings_read_job(source, path, object, MODE_DEFAULT, job);
    take_gpu_limit(source, path, &said, job);
}

/* One side of a parallel entry, or NULL with a problem. */
static const json_t *read_side(const struct source *source, const char *path, const json_t *entry, const char *key,
                               char **side_path)
{
    if (!json_get(entry, key))
        field_error(source, path, "'%s' is missing: a parallel experiment has a foreground and a background", key);
    return field_object(source, path, entry, key, side_path);
}

static void read_parallel(const struct source *source, const char *path, const json_t *json,
                          struct entry_settings *entry, int64_t *runs)
{
    static const char *const job_keys[] = {"mutate", "mutate_params", "hyperparameters"};
    for (size_t i = 0; i < sizeof job_keys / sizeof *job_keys; i++)
        fields_warn_unused(source, path, json, job_keys[i], "a parallel experiment says it under 'foreground'");
    AUTO_FREE char *foreground_path = NULL;
    const json_t *foreground = read_side(source, path, json, "foreground", &foreground_path);
    if (foreground)
        read_foreground(source, foreground_path, foreground, &entry->foreground, runs);
    AUTO_FREE char *background_path = NULL;
    const json_t *background = read_side(source, path, json, "background", &background_path);
    if (background)
        read_background(source, background_path, background, &entry->background);
}

static void read_single(const struct source *source, const char *path, const json_t *json, int mode,
                        struct job_settings *job)
{
    fields_warn_unused(source, path, json, "foreground", "the mode is not 'parallel'");
    fields_warn_unused(source, path, json, "background", "the mode is not 'parallel'");
    fields_warn_unused(source, path, json, "start_after", "the mode is not 'parallel'");
    settings_read_job(source, path, json, job_mode(mode), job);
    settings_read_mutates(source, path, json, job);
}

static void inherit_gpu_memory(struct job_settings *job, const struct gpu_limit *limit, enum setting_switch track)
{
    if (!gpu_limit_is_set(&job->gpu_limit))
        job->gpu_limit = *limit;
    job->track_gpu_memory = track;
}

static int64_t first_said(int64_t a, int64_t b, int64_t c)
{
    return a != UNSAID ? a : b != UNSAID ? b : c;
}

/* What the entry says goes over what the file says; the entry keeps the governor of either. */
static void take_levels(const struct source *source, const char *path, const struct level *said,
                        const struct level *global, int isolation, struct entry_settings *entry)
{
    entry->max_retries = said->max_retries != UNSAID ? said->max_retries : global->max_retries;
    entry->governor = said->governor ? said->governor : mem_strdup(global->governor);
    entry->timeout_s = said->timeout_s >= 0 ? said->timeout_s : global->timeout_s;
    entry->expected_s = said->expected_s;
    entry->start_after_s = (struct reading){said->start_after_s, entry->parallel && said->start_after_s >= 0};
    entry->exclusive = (said->isolation != UNSAID ? said->isolation : isolation) == ISOLATION_EXCLUSIVE;
    struct gpu_limit limit = {0};
    enum setting_switch track =
        said->track_gpu_memory != SWITCH_UNSAID ? said->track_gpu_memory : global->track_gpu_memory;
    settings_read_gpu_limit(source, said->gpu_limit ? path : "$", said->gpu_limit ? said->gpu_limit : global->gpu_limit,
                            &limit);
    inherit_gpu_memory(&entry->foreground, &limit, track);
    inherit_gpu_memory(&entry->background, &limit, track);
}

void settings_read_entry(const struct source *source, const char *path, const json_t *json, size_t index,
                         const struct level *global, struct settings *settings)
{
    if (!json_is_object(json)) {
        field_refuse(source, path, NULL, "an object (an experiment)", json);
        return;
    }
    size_t misspelt =
        fields_check_keys(source, path, json, &settings_entry_table, UNKNOWN_ARE_FREE, settings_not_in_entry);
    if (is_comment(json, misspelt)) {
        warn_of_comment(source, path, json);
        return;
    }
    struct level said = {.mode = WRITTEN_NONE,
                         .runs = UNSAID,
                         .max_retries = UNSAID,
                         .timeout_s = UNSAID,
                         .start_after_s = UNSAID,
                         .isolation = UNSAID};
    fields_read(source, path, json, &settings_entry_table, &said);
    if (said.governor) {
        AUTO_FREE char *place = json_path_key(path, "governor");
        settings_check_governor(source, place, said.governor);
    }
    int mode = entry_mode(source, path, json, said.mode, global->mode);
    struct entry_settings *entry = &settings->entries[settings->entry_count++];
    *entry = (struct entry_settings){.index = index, .json_path = mem_strdup(path)};
    int64_t foreground_runs = UNSAID;
    entry->parallel = mode == WRITTEN_PARALLEL;
    if (entry->parallel) {
        read_parallel(source, path, json, entry, &foreground_runs);
        settings_fill_job(&entry->background, path);
        entry->background.mode = MODE_DEFAULT;
    } else {
        read_single(source, path, json, mode, &entry->foreground);
    }
    settings_fill_job(&entry->foreground, path);
    take_levels(source, path, &said, global, settings->pool.isolation, entry);
    entry->runs = first_said(said.runs, foreground_runs, global->runs);
    settings_read_seeds(source, path, json, &entry->seeds);
    free(said.gpu_limit);
}

void settings_entry_fini(struct entry_settings *entry)
{
    free(entry->json_path);
    free(entry->governor);
    settings_seeds_fini(&entry->seeds);
    settings_job_fini(&entry->foreground);
    settings_job_fini(&entry->background);
}
