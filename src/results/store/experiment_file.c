#include "results/store/experiment_file.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"

enum { EXPERIMENT_BYTES = 64 << 20 };

/* null: not set. */
static bool read_oom(const json_t *json, void *item, struct err *err)
{
    const json_t *setting = json_object_get(json, "allocator_setting");
    (void)err;
    *(struct experiment_oom *)item =
        (struct experiment_oom){setting != NULL, mem_strdup(json_string_value(setting))};
    return true;
}

static const struct record_field epoch_fields[] = {
    RECORD(struct experiment_epoch, part), RECORD(struct experiment_epoch, gpu_mem_peak_mib), {0}};
static const struct record_field attempt_fields[] = {
    RECORD_STRUCT(struct experiment_attempt, "oom", oom, NULL, .from = read_oom), {0}};

#define FILE_LIST(...) RECORD_STRUCTS(struct experiment_file, __VA_ARGS__)
static const struct record_field tare_fields[] = {
    FILE_LIST("epochs", epochs, epoch_count, epoch_fields),
    FILE_LIST("attempts", attempts, attempt_count, attempt_fields),
    {0}};
static const struct record_field param_fields[] = {RECORD(struct experiment_file, batch_size), {0}};
static const struct record_field job_fields[] = {RECORD_GROUP("hyperparameters", param_fields),
                                                 {0}};
/* The foreground of a parallel experiment is measured. */
static const struct record_field file_fields[] = {RECORD_GROUP("hyperparameters", param_fields),
                                                  RECORD_GROUP("foreground", job_fields),
                                                  RECORD_GROUP("tare", tare_fields),
                                                  {0}};

bool experiment_file_read(int folder, struct experiment_file *out)
{
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    *out = (struct experiment_file){0};
    if (!fs_read_at(folder, "experiment.json", EXPERIMENT_BYTES, &text, NULL) ||
        !json_doc_parse("experiment.json", text_get(&text), text.length, &doc, NULL))
        return false;
    record_get(file_fields, doc.root, out);
    return true;
}

void experiment_file_fini(struct experiment_file *file)
{
    EACH (attempt, file->attempts, file->attempt_count)
        free(attempt->oom.allocator_setting);
    record_free(file_fields, file);
}
