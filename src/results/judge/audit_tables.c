#include "results/judge/audit_tables.h"
#include "results/judge/judge_agreement.h"
#include "results/judge/split.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const size_t summary_limit = (size_t)256 << 20;

/* tare's own columns, after those of summary.csv. */
enum {
    OWN_VERDICT,
    OWN_CONSISTENCY,
    OWN_REASON,
    OWN_ENERGY,
    OWN_HALF_WIDTH,
    OWN_SAMPLED_SHARE,
    OWN_COLUMNS
};
static const char *const own_names[OWN_COLUMNS] = {"verdict",
                                                   "consistency",
                                                   "reason",
                                                   "audit_gpu_energy_joules",
                                                   "audit_gpu_energy_half_width_joules",
                                                   "audit_sampled_share"};

static void add_split_reason(const struct account_split *split,
                             const struct dataset_experiment *experiment, struct text *out)
{
    char at[40];
    dataset_format_time(split->at_local_ns, at);
    at[10] = ' ';
    at[19] = '\0';
    if (!experiment->has_end)
        text_addf(out, "it is unknown when it ended, so it may be after %s", at);
    else if (split_side_of(split, experiment) == SPLIT_OVERLAPPING)
        text_addf(out, "running at %s", at);
    else if (split_side_of(split, experiment) == SPLIT_AFTER)
        text_addf(out, "started after %s", at);
}

char *audit_affected_reason(const struct account *account,
                            const struct dataset_experiment *experiment)
{
    static const char duplicate[] = "duplicate_id";
    AUTO_TEXT struct text reason = {0};
    if (account->split.found)
        add_split_reason(&account->split, experiment, &reason);
    EACH (evidence, experiment->evidence, experiment->evidence_count) {
        evidence_add_reason(&reason, evidence->kind, evidence->text);
        if (strcmp(evidence->kind, duplicate) == 0)
            text_addf(&reason, "%s%s", reason.length ? "; " : "", duplicate);
    }
    if (reason.length == 0 && !verdict_is_safe(experiment->verdict))
        checks_add_reason(&reason, experiment->checks, experiment->check_count);
    return reason.length ? text_take(&reason) : NULL;
}

/* The experiment of a row of summary.csv. They are in the order of the rows: the search goes on
 * where the last one ended. */
static const struct dataset_experiment *of_row(const struct dataset *dataset, size_t folder,
                                               const char *id, size_t line, size_t *from)
{
    bool study = dataset->folders[folder].layout == DATASET_STUDY;
    for (size_t tried = 0; tried < dataset->count; tried++, *from = (*from + 1) % dataset->count) {
        const struct dataset_experiment *experiment = &dataset->items[*from];
        if (experiment->folder == folder &&
            (study ? experiment->line == line : strcmp(experiment->id, id) == 0))
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

static void take_reading(struct reading reading, char **out)
{
    AUTO_TEXT struct text text = {0};
    csv_add_reading(&text, reading);
    *out = mem_strdup(text_get(&text) + 1); /* after its comma */
}

/* One row of one table. own: cells of tare's columns, NULL where the table lacks the column. */
static void add_row(struct text *out, const struct strv *header, const struct strv *row,
                    char *const own[OWN_COLUMNS])
{
    bool placed[OWN_COLUMNS] = {false};
    for (size_t i = 0; i < header->count; i++) {
        const char *cell = i < row->count ? row->items[i] : "";
        for (size_t k = 0; k < OWN_COLUMNS; k++)
            if (own[k] && strcmp(header->items[i], own_names[k]) == 0) {
                cell = own[k];
                placed[k] = true;
            }
        if (i)
            text_add_char(out, ',');
        csv_add_cell(out, cell);
    }
    for (size_t k = 0; k < OWN_COLUMNS; k++)
        if (own[k] && !placed[k])
            csv_add_next(out, own[k]);
    text_add_char(out, '\n');
}

static void add_headers(const struct strv *header, struct audit_tables *out)
{
    char *names[OWN_COLUMNS];
    memcpy(names, own_names, sizeof names);
    add_row(&out->affected, header, header, names);
    names[OWN_REASON] = NULL;
    add_row(&out->safe, header, header, names);
}

static void add_experiment(const struct account *account,
                           const struct dataset_experiment *experiment, const struct strv *header,
                           const struct strv *row, struct audit_tables *out)
{
    char *own[OWN_COLUMNS] = {
        [OWN_VERDICT] = mem_strdup(
            experiment->verdict == VERDICT_NONE ? "" : verdict_name(experiment->verdict)),
        [OWN_CONSISTENCY] = mem_strdup(agreement_name(experiment->row_agreement)),
        [OWN_REASON] = audit_affected_reason(account, experiment)};
    take_reading(experiment->gpu.energy_j, &own[OWN_ENERGY]);
    take_reading(experiment->gpu.half_width_j, &own[OWN_HALF_WIDTH]);
    take_reading(experiment->gpu.sampled_share, &own[OWN_SAMPLED_SHARE]);
    bool affected = own[OWN_REASON] != NULL;
    add_row(affected ? &out->affected : &out->safe, header, row, own);
    ++*(affected ? &out->affected_rows : &out->safe_rows);
    EACH (item, own, OWN_COLUMNS)
        free(*item);
}

static void add_rows(const struct dataset *dataset, const struct account *account, size_t folder,
                     const struct text *summary, struct audit_tables *out)
{
    struct csv_reader reader;
    AUTO_STRV struct strv header = {0}, row = {0};
    csv_start(&reader, text_get(summary), summary->length);
    if (csv_next(&reader, &header, NULL) <= 0)
        return;
    size_t from = 0;
    add_headers(&header, out);
    while (csv_next(&reader, &row, NULL) > 0) {
        const struct dataset_experiment *experiment =
            of_row(dataset, folder, id_of(&header, &row), reader.line, &from);
        if (experiment)
            add_experiment(account, experiment, &header, &row, out);
    }
}

bool audit_tables_make(const struct dataset *dataset, const struct account *account, size_t folder,
                       struct audit_tables *out, struct err *err)
{
    AUTO_TEXT struct text summary = {0};
    const char *path = dataset->folders[folder].path;
    *out = (struct audit_tables){0};
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", path);
    if (!fs_read_at(dir, "summary.csv", summary_limit, &summary, err))
        return err_wrap(err, "%s", path);
    add_rows(dataset, account, folder, &summary, out);
    return true;
}

void audit_tables_fini(struct audit_tables *tables)
{
    text_fini(&tables->safe);
    text_fini(&tables->affected);
}

static void add_filled(struct text *out, const struct strv *row, size_t column, const char *word)
{
    for (size_t i = 0; i < row->count; i++) {
        text_add(out, i ? "," : "");
        csv_add_cell(out, i == column && word ? word : row->items[i]);
    }
    text_add_char(out, '\n');
}

bool summary_safe_fill(const struct dataset *dataset, int dir, struct err *err)
{
    static const char name[] = "summary_safe.csv";
    AUTO_TEXT struct text old = {0}, filled = {0};
    AUTO_STRV struct strv header = {0}, row = {0};
    struct csv_reader reader;
    size_t column = 0, from = 0;
    if (!fs_read_at(dir, name, summary_limit, &old, err))
        return false;
    csv_start(&reader, text_get(&old), old.length);
    if (csv_next(&reader, &header, NULL) <= 0)
        return true;
    while (column < header.count && strcmp(header.items[column], own_names[OWN_CONSISTENCY]) != 0)
        column++;
    if (column == header.count)
        return true;
    add_filled(&filled, &header, column, NULL);
    while (csv_next(&reader, &row, NULL) > 0) {
        const struct dataset_experiment *experiment =
            of_row(dataset, 0, id_of(&header, &row), reader.line, &from);
        add_filled(&filled, &row, column,
                   experiment ? agreement_name(experiment->row_agreement) : NULL);
    }
    return (filled.length == old.length &&
            memcmp(text_get(&filled), text_get(&old), old.length) == 0) ||
           fs_write_atomic(dir, name, text_get(&filled), filled.length, err);
}

/* The affected experiments of one model. */
struct range {
    const char *repo, *model; /* borrowed */
    bool parallel, several;   /* several: another repository has a model of this name */
    struct text text;         /* "130–144, 150" */
    long first, last;         /* the range that is still growing; first < 0: none */
};

/* The number of a well-formed id; -1: it has none. */
static long number_of(const struct dataset_experiment *experiment)
{
    if (!audit_id_well_formed(experiment))
        return -1;
    const char *number = audit_id_number(experiment);
    return strspn(number, "0123456789") < 10 ? strtol(number, NULL, 10) : -1;
}

static void end_range(struct range *range)
{
    if (range->first < 0)
        return;
    text_addf(&range->text, "%s%ld", range->text.length ? ", " : "", range->first);
    if (range->last > range->first)
        text_addf(&range->text, "–%ld", range->last);
    range->first = -1;
}

static struct range *range_of(const struct dataset_experiment *experiment, struct range **ranges,
                              size_t *count)
{
    bool several = false;
    for (size_t i = 0; i < *count; i++) {
        struct range *range = &(*ranges)[i];
        bool same_model = strcmp(range->model, experiment->model) == 0;
        if (same_model && range->parallel == experiment->parallel &&
            strcmp(range->repo, experiment->repo) == 0)
            return range;
        if (same_model && strcmp(range->repo, experiment->repo) != 0)
            range->several = several = true;
    }
    *ranges = mem_resize(*ranges, *count + 1, sizeof **ranges);
    (*ranges)[*count] = (struct range){.repo = experiment->repo,
                                       .model = experiment->model,
                                       .parallel = experiment->parallel,
                                       .several = several,
                                       .first = -1};
    return &(*ranges)[(*count)++];
}

char *audit_affected_ranges(const struct dataset *dataset, const struct account *account,
                            size_t folder)
{
    AUTO_TEXT struct text out = {0};
    struct range *ranges = NULL;
    size_t count = 0;
    EACH (experiment, dataset->items, dataset->count) {
        AUTO_FREE char *reason =
            experiment->folder == folder ? audit_affected_reason(account, experiment) : NULL;
        if (!reason)
            continue;
        struct range *range = range_of(experiment, &ranges, &count);
        long number = number_of(experiment);
        if (range->first >= 0 && number == range->last + 1) {
            range->last = number;
            continue;
        }
        end_range(range);
        if (number >= 0)
            range->first = range->last = number;
        else
            text_addf(&range->text, "%s%s", range->text.length ? ", " : "", experiment->id);
    }
    for (size_t i = 0; i < count; i++) {
        end_range(&ranges[i]);
        text_addf(&out, "%s%s%s%s%s %s", i ? ", " : "", ranges[i].several ? ranges[i].repo : "",
                  ranges[i].several ? " " : "", *ranges[i].model ? ranges[i].model : ranges[i].repo,
                  ranges[i].parallel ? " parallel" : "", text_get(&ranges[i].text));
        text_fini(&ranges[i].text);
    }
    free(ranges);
    return text_take(&out);
}
