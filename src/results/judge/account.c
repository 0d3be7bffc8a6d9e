#include "results/judge/account.h"
#include "results/judge/split.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_S = 86400, MOST_HOURS = 48, MOST_DAYS = 366 };

void account_count(struct account_row *row, const struct dataset_experiment *experiment)
{
    struct reading energy = dataset_energy(experiment);
    row->total++;
    row->succeeded += experiment->has_success && experiment->success;
    row->failed += experiment->has_success && !experiment->success;
    row->verdicts[experiment->verdict]++;
    if (energy.valid) {
        row->energy_j += energy.value;
        row->with_energy++;
    }
    if (experiment->duration_s.valid)
        row->duration_s += experiment->duration_s.value;
}

struct reading account_success_rate(const struct account_row *row)
{
    size_t known = row->succeeded + row->failed;
    return known ? (struct reading){(double)row->succeeded / (double)known, true}
                 : (struct reading){0};
}

static struct account_row *row_named(struct account_table *table, const char *name)
{
    EACH (item, table->rows, table->count)
        if (strcmp(item->name, name) == 0)
            return item;
    struct account_row *row = &MEM_ADD(table->rows, table->count);
    *row = (struct account_row){.name = mem_strdup(name)};
    return row;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct account_row *)a)->name, ((const struct account_row *)b)->name);
}

/* The most frequent first. */
static int compare_totals(const void *a, const void *b)
{
    const struct account_row *left = a, *right = b;
    if (left->total != right->total)
        return left->total < right->total ? 1 : -1;
    return strcmp(left->name, right->name);
}

static void sort(struct account_table *table, int (*compare)(const void *, const void *))
{
    if (table->count)
        qsort(table->rows, table->count, sizeof *table->rows, compare);
}

static void count_kinds(const struct dataset_experiment *experiment, struct account *out)
{
    struct account_integrity *integrity = &out->integrity;
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const char *kind = experiment->evidence[i].kind;
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(experiment->evidence[k].kind, kind) != 0;
        if (!first)
            continue;
        account_count(row_named(&out->evidence, kind), experiment);
        integrity->duplicate_ids += strcmp(kind, "duplicate_id") == 0;
        integrity->malformed_ids += strcmp(kind, "malformed_id") == 0;
        integrity->damaged_files += strcmp(kind, "file_damaged") == 0;
    }
    integrity->without_end += !experiment->has_end;
}

/* What the error says, without what differs from one to the next. */
static char *cause_of(const struct dataset_experiment *experiment)
{
    if (!experiment->error || !*experiment->error)
        return mem_strdup("not recorded");
    size_t length = strcspn(experiment->error, "\r\n");
    return mem_strndup(experiment->error, length > 200 ? 200 : length);
}

static int64_t span_begin(int64_t local_ns, int64_t step_s)
{
    int64_t seconds = local_ns / NS_PER_S;
    return (seconds - seconds % step_s) * NS_PER_S;
}

/* A row for every hour or day that something ended in, and for those between. */
static void make_timeline(const struct dataset *dataset, struct account *out)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    EACH (item, dataset->items, dataset->count) {
        if (!item->has_end)
            continue;
        first = item->end_local_ns < first ? item->end_local_ns : first;
        last = item->end_local_ns > last ? item->end_local_ns : last;
    }
    if (first > last)
        return;
    out->timeline_step_s =
        (last - first) / NS_PER_S <= (int64_t)MOST_HOURS * HOUR_S ? HOUR_S : DAY_S;
    int64_t step_ns = out->timeline_step_s * NS_PER_S;
    int64_t begin = span_begin(first, out->timeline_step_s);
    size_t count = (size_t)((span_begin(last, out->timeline_step_s) - begin) / step_ns) + 1;
    if (count > MOST_DAYS)
        return; /* years apart: no timeline to look at */
    out->timeline = (struct account_table){mem_array(count, sizeof *out->timeline.rows), count};
    for (size_t i = 0; i < count; i++) {
        char name[40];
        out->timeline.rows[i].from_local_ns = begin + (int64_t)i * step_ns;
        dataset_format_time(out->timeline.rows[i].from_local_ns, name);
        name[out->timeline_step_s == HOUR_S ? 16 : 10] = '\0';
        if (out->timeline_step_s == HOUR_S)
            name[10] = ' ';
        out->timeline.rows[i].name = mem_strdup(name);
    }
    EACH (entry, dataset->items, dataset->count)
        if (entry->has_end)
            account_count(&out->timeline.rows[(entry->end_local_ns - begin) / step_ns], entry);
}

static void count_side(const struct dataset_experiment *experiment, struct account_split *split)
{
    if (!split->found || !experiment->has_end)
        return;
    bool before = split_side_of(split, experiment) == SPLIT_BEFORE;
    account_count(row_named(before ? &split->before : &split->affected, experiment->repo),
                  experiment);
}

static void count_all(const struct dataset *dataset, struct account *out)
{
    EACH (experiment, dataset->items, dataset->count) {
        account_count(&out->all, experiment);
        account_count(row_named(&out->repositories, experiment->repo), experiment);
        count_side(experiment, &out->split);
        AUTO_FREE char *model = mem_printf("%s %s%s", experiment->repo, experiment->model,
                                           experiment->parallel ? " parallel" : "");
        account_count(row_named(&out->models, model), experiment);
        if (experiment->has_success && !experiment->success) {
            AUTO_FREE char *cause = cause_of(experiment);
            account_count(row_named(&out->failures, cause), experiment);
        }
        count_kinds(experiment, out);
    }
    EACH (folder, dataset->folders, dataset->folder_count) {
        out->integrity.rows += folder->summary_rows;
        out->integrity.folders += folder->folders;
        out->integrity.without_row += folder->without_row;
        out->integrity.without_folder += folder->without_folder;
    }
}

static void table_fini(struct account_table *table)
{
    EACH (row, table->rows, table->count)
        free(row->name);
    free(table->rows);
}

void account_fini(struct account *account)
{
    free(account->all.name);
    table_fini(&account->repositories);
    table_fini(&account->models);
    table_fini(&account->failures);
    table_fini(&account->evidence);
    table_fini(&account->timeline);
    free(account->split.series);
    table_fini(&account->split.before);
    table_fini(&account->split.affected);
    EACH (row, account->split.rows, 3)
        free(row->name);
    *account = (struct account){0};
}

bool account_make(const struct dataset *dataset, const char *split_at, struct account *out,
                  struct err *err)
{
    *out = (struct account){.all.name = mem_strdup("all")};
    if (split_at && !split_make(dataset, split_at, &out->split, err)) {
        account_fini(out);
        return false;
    }
    count_all(dataset, out);
    make_timeline(dataset, out);
    sort(&out->repositories, compare_names);
    sort(&out->split.before, compare_totals);
    sort(&out->split.affected, compare_totals);
    sort(&out->models, compare_names);
    sort(&out->failures, compare_totals);
    sort(&out->evidence, compare_totals);
    return true;
}
