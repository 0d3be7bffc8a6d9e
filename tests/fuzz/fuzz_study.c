/* Others' files: the study's samples, what perf printed, experiment.json, CodeCarbon's
 * emissions.csv; criteria and times. The first byte chooses. */
#include "base/mem.h"
#include "base/text.h"
#include "results/judge/codecarbon.h"
#include "results/judge/criteria.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/power.h"
#include "results/judge/study_json.h"
#include "results/judge/trace.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
    size_t columns, rows;
    double values;
    struct power power;
};

static void add(void *at, const struct trace_rows *rows)
{
    struct sum *sum = at;
    if (rows->count == 0 || rows->count > TRACE_ROWS)
        abort();
    sum->rows += rows->count;
    for (size_t row = 0; row < rows->count; row++) {
        for (size_t i = 0; i < sum->columns; i++)
            sum->values +=
                rows->columns[i].kinds[row] == FIGURE_IS ? rows->columns[i].values[row] : 0;
        if (rows->columns[0].kinds[row] == FIGURE_IS && fabs(rows->columns[0].values[row]) < 1e6)
            power_add_all(&sum->power, &rows->t_s[row], &rows->columns[0].values[row], 1);
    }
}

static struct sum parse(const char *text, size_t size, size_t columns, struct trace_file *file)
{
    struct sum sum = {.columns = columns};
    power_begin(&sum.power, 1763455000, 1763455100);
    trace_parse(text, size, columns, add, &sum, file);
    return sum;
}

/* Every plain line takes the fast way; with "\r\n" the same line takes the careful one. */
static void try_trace(const char *text, size_t size, size_t columns)
{
    struct trace_file file, other;
    struct sum fast = parse(text, size, columns, &file);
    if (file.rows != fast.rows)
        abort();
    struct power_energy energy = power_end(&fast.power);
    if (energy.half_width_j.valid && !(energy.half_width_j.value >= 0))
        abort();
    if (memchr(text, '\r', size))
        return;
    AUTO_TEXT struct text careful = {0};
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            text_add_char(&careful, '\r');
        text_add_char(&careful, text[i]);
    }
    struct sum slow = parse(text_get(&careful), careful.length, columns, &other);
    bool same_sum = fast.values == slow.values || (isnan(fast.values) && isnan(slow.values));
    if (slow.rows != fast.rows || !same_sum || other.damaged != file.damaged ||
        other.backwards != file.backwards)
        abort();
}

static void try_json(const char *text, size_t size)
{
    struct dataset dataset = {0};
    struct err err;
    struct dataset_experiment *experiment = dataset_add(&dataset);
    experiment->id = mem_strdup("");
    experiment->repo = mem_strdup("");
    experiment->model = mem_strdup("");
    AUTO_FREE char *copy = mem_strndup(text, size);
    /* A metric that is not finite was written so. */
    bool said = memmem(text, size, "\\u", 2) || strcasestr(copy, "nan") || strcasestr(copy, "inf");
    if (study_json_take(experiment, text, size, &err))
        for (size_t i = 0; i < experiment->metric_count; i++)
            if (experiment->metrics[i].value.valid &&
                !isfinite(experiment->metrics[i].value.value) && !said)
                abort();
    dataset_fini(&dataset);
}

/* Every row is unverified, or worse; each run is there once. */
static void try_emissions(const char *text, size_t size)
{
    struct dataset dataset = {.folders = mem_alloc(sizeof *dataset.folders), .folder_count = 1};
    struct err err;
    dataset.folders[0] =
        (struct dataset_folder){.path = mem_strdup("folder"), .layout = DATASET_CODECARBON};
    if (codecarbon_take(&dataset, 0, text, size, &err)) {
        if (dataset.count > dataset.folders[0].summary_rows)
            abort();
        audit_judge(&dataset);
        for (size_t i = 0; i < dataset.count; i++)
            if (dataset.items[i].verdict < VERDICT_UNVERIFIED ||
                dataset.items[i].gpu.energy_j.value < 0 || dataset.items[i].cpu_j.value < 0)
                abort();
    }
    dataset_fini(&dataset);
}

static void try_text(const char *text, size_t size)
{
    AUTO_FREE char *copy = mem_strndup(text, size);
    struct criteria criteria;
    struct err err;
    int64_t moment;
    char written[40];
    criteria_parse(copy, &criteria, &err);
    criteria_fini(&criteria);
    int64_t again;
    if (!dataset_parse_time(copy, &moment))
        return;
    /* To the microsecond it comes back. */
    dataset_format_time(moment, written);
    if (!dataset_parse_time(written, &again) || moment - again < 0 || moment - again >= 1000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf perf;
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    switch (data[0]) {
    case 'p':
        try_trace(text, size - 1, 1);
        break;
    case 'u':
        try_trace(text, size - 1, 2);
        break;
    case 'e':
        perf_parse(text, size - 1, &perf);
        break;
    case 'j':
        try_json(text, size - 1);
        break;
    case 'c':
        try_emissions(text, size - 1);
        break;
    default:
        try_text(text, size - 1);
    }
    return 0;
}
