#include "slurm/tasks.h"

#include "base/fs.h"
#include "base/mem.h"

#include <math.h>

static const size_t TEXT_MAX = (size_t)1 << 26;

/* For the proof, and for writing down how it ended. */
static const double AFTER_KILL_S = 10;

double submission_grace_max_s(const struct submission *submission)
{
    return submission->kill_wait_s > 0 ? fmax(1, submission->kill_wait_s - AFTER_KILL_S) : 0;
}

struct submission_array *submission_add(struct submission *submission)
{
    submission->arrays = mem_resize(submission->arrays, submission->count + 1, sizeof *submission->arrays);
    struct submission_array *array = &submission->arrays[submission->count++];
    *array = (struct submission_array){0};
    return array;
}

void submission_fini(struct submission *submission)
{
    for (size_t i = 0; i < submission->count; i++) {
        free(submission->arrays[i].job_id);
        free(submission->arrays[i].job_name);
        free(submission->arrays[i].indices);
    }
    free(submission->arrays);
    free(submission->name);
    strv_fini(&submission->options);
    *submission = (struct submission){0};
}

static json_t *array_to_json(const struct submission_array *array)
{
    return json_pack("{s:o, s:o*, s:o*, s:I, s:I}", "job_id", json_text_or_null(array->job_id),
                     "job_name", json_string(array->job_name), "indices", json_string(array->indices),
                     "offset", (json_int_t)array->offset, "realtime_ns", (json_int_t)array->realtime_ns);
}

bool submission_write(int dir, const struct submission *submission, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    json_t *options = json_array(), *arrays = json_array();
    json_t *json = json_pack("{s:o*, s:o, s:I, s:o, s:o}", "name", json_string(submission->name),
                             "kill_wait_s", json_finite(submission->kill_wait_s),
                             "array_size", (json_int_t)submission->array_size, "sbatch_options", options,
                             "arrays", arrays);
    for (size_t i = 0; i < submission->options.count; i++)
        json_array_append_new(options, json_text_or_null(submission->options.items[i]));
    for (size_t i = 0; i < submission->count; i++)
        json_array_append_new(arrays, array_to_json(&submission->arrays[i]));
    json_print_taken(json, &text);
    return fs_write_atomic(dir, "submit.json", text_get(&text), text.length, err);
}

static bool read_array(const json_t *json, struct submission_array *out, struct err *err)
{
    json_int_t offset = 0, realtime_ns = 0;
    const char *name = json_get_text(json, "job_name"), *indices = json_get_text(json, "indices");
    if (!name || !indices || !json_get_int(json, "offset", &offset) || offset < 0 ||
        !json_get_int(json, "realtime_ns", &realtime_ns))
        return err_set(err, "submit.json: an array lacks job_name, indices, offset or realtime_ns");
    *out = (struct submission_array){.job_id = mem_strdup(json_get_text(json, "job_id")),
                                     .job_name = mem_strdup(name),
                                     .indices = mem_strdup(indices),
                                     .offset = (size_t)offset,
                                     .realtime_ns = realtime_ns};
    return true;
}

static bool read_all(const json_t *json, struct submission *out, struct err *err)
{
    json_int_t array_size = 0;
    const char *name = json_get_text(json, "name");
    const json_t *options = json_get(json, "sbatch_options"), *arrays = json_get(json, "arrays");
    if (!name || !json_get_number(json, "kill_wait_s", &out->kill_wait_s) ||
        !json_get_int(json, "array_size", &array_size) || array_size < 2)
        return err_set(err, "submit.json: it lacks name, kill_wait_s or array_size");
    out->name = mem_strdup(name);
    out->array_size = (size_t)array_size;
    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        if (option)
            strv_add(&out->options, option);
    }
    for (size_t i = 0; i < json_array_size(arrays); i++)
        if (!read_array(json_array_get(arrays, i), submission_add(out), err))
            return false;
    return true;
}

bool submission_read(int dir, struct submission *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    *out = (struct submission){0};
    if (fs_read_at(dir, "submit.json", TEXT_MAX, &text, err) &&
        json_doc_parse("submit.json", text_get(&text), text.length, &doc, err) && json_doc_refuse_repeats(&doc, err) &&
        read_all(doc.root, out, err))
        return true;
    submission_fini(out);
    return false;
}
