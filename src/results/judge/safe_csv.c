/* audit_safe.csv: the rows that succeeded and passed all checks. */
#include "results/judge/judge.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>

static const size_t summary_limit = (size_t)256 << 20;

/* tare's own columns, behind the study's; a name that summary.csv has already is not given twice. */
static const char *const own_names[] = {"verdict", "audit_gpu_energy_joules", "audit_gpu_energy_half_width_joules",
                                        "audit_sampled_share"};

/* The experiment of a row of summary.csv. They stand in the rows' order: the search goes on where the last one
 * ended. */
static const struct dataset_experiment *of_row(const struct dataset *dataset, size_t folder, const char *id,
                                               size_t line, size_t *from)
{
    bool study = dataset->folders[folder].layout == DATASET_STUDY;
    for (size_t tried = 0; tried < dataset->count; tried++, *from = (*from + 1) % dataset->count) {
        const struct dataset_experiment *experiment = &dataset->items[*from];
        if (experiment->folder == folder && (study ? experiment->line == line : strcmp(experiment->id, id) == 0))
            return experiment;
    }
    return NULL;
}

static const char *id_of(const struct strv *header, const struct strv *row)
{
    for (size_t i = 0; i < header->count && i < row->count; i++)
        if (strcmp(header->items[i], "experiment_id") == 0)
            return row->items[i];
    return "";
}

static void copy_row(struct text *out, const struct strv *header, const struct strv *row, const char *verdict)
{
    for (size_t i = 0; i < header->count; i++) {
        bool is_verdict = strcmp(header->items[i], "verdict") == 0;
        if (i)
            text_add_char(out, ',');
        csv_add_cell(out, is_verdict ? verdict : i < row->count ? row->items[i] : "");
    }
}

static void copy_rows(const struct dataset *dataset, size_t folder, const struct text *summary, struct text *out)
{
    struct csv_reader reader;
    AUTO_STRV struct strv header = {0}, row = {0};
    csv_start(&reader, text_get(summary), summary->length);
    if (csv_next(&reader, &header, NULL) <= 0)
        return;
    size_t from = 0;
    bool has_verdict = strv_has(&header, "verdict");
    copy_row(out, &header, &header, "verdict");
    for (size_t i = has_verdict; i < sizeof own_names / sizeof *own_names; i++)
        csv_add_next(out, own_names[i]);
    text_add_char(out, '\n');
    while (csv_next(&reader, &row, NULL) > 0) {
        const struct dataset_experiment *experiment = of_row(dataset, folder, id_of(&header, &row), reader.line, &from);
        if (!experiment || !verdict_is_safe(experiment->verdict, experiment->success))
            continue;
        copy_row(out, &header, &row, verdict_name(VERDICT_CLEAN));
        if (!has_verdict)
            csv_add_next(out, verdict_name(experiment->verdict));
        csv_add_reading(out, experiment->gpu.energy_j);
        csv_add_reading(out, experiment->gpu.half_width_j);
        csv_add_reading(out, experiment->gpu.sampled_share);
        text_add_char(out, '\n');
    }
}

bool audit_safe_csv(const struct dataset *dataset, size_t folder, struct text *out, struct err *err)
{
    AUTO_TEXT struct text summary = {0};
    const char *path = dataset->folders[folder].path;
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", path);
    if (!fs_read_at(dir, "summary.csv", summary_limit, &summary, err))
        return err_wrap(err, "%s", path);
    copy_rows(dataset, folder, &summary, out);
    return true;
}
