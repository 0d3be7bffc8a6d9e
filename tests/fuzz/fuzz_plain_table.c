/* A table of another program: any CSV with a row for each experiment, and hyperfine's JSON. What is
 * read of it is judged, too. The first byte chooses whether --columns is given. */
#include "base/mem.h"
#include "fuzz.h"
#include "results/judge/judge.h"
#include "results/judge/plain_table.h"

#include <math.h>

static void check_experiment(const struct dataset_experiment *experiment)
{
    const struct reading *readings[] = {&experiment->duration_s, &experiment->gpu.energy_j};
    check(experiment->id && experiment->repo && experiment->model);
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        check(!readings[i]->valid || isfinite(readings[i]->value));
    check(experiment->verdict != VERDICT_CLEAN);
}

static void parse(const char *bytes, size_t count, const struct strv *columns)
{
    struct dataset dataset = {.columns = columns};
    struct text text = {0};
    struct err err = {0};
    text_add_bytes(&text, bytes, count);
    dataset.folders = mem_array(1, sizeof *dataset.folders);
    dataset.folder_count = 1;
    dataset.folders[0] =
        (struct dataset_folder){.path = mem_strdup("t.csv"), .layout = DATASET_TABLE};
    if (plain_table_parse(&dataset, 0, "t.csv", &text, &err)) {
        check(dataset.folders[0].note && dataset.folders[0].summary_rows == dataset.count);
        audit_judge(&dataset);
        EACH (experiment, dataset.items, dataset.count)
            check_experiment(experiment);
    } else {
        check(err.text[0] != '\0');
    }
    dataset_fini(&dataset);
    text_fini(&text);
}

static void by_names(const char *bytes, size_t count)
{
    parse(bytes, count, NULL);
}

static void by_columns(const char *bytes, size_t count)
{
    AUTO_STRV struct strv columns = {0};
    strv_add(&columns, "time=seconds");
    strv_add(&columns, "metric=val_acc");
    parse(bytes, count, &columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = {by_names, by_columns};
    return fuzz_one_of(data, size, parsers, sizeof parsers / sizeof *parsers);
}
