/* Prints metrics for tests/cli/metrics.bats:
 *   print_metrics many N        10,000 experiments of 300 models, each of which used N joules
 *   print_metrics hostile       names that try to break the format
 *   print_metrics run FOLDER    what is in a run's folder */
#include "report/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_fixture.h"

enum { EXPERIMENTS = 10000, MODELS = 300 };

static struct live_run *many(double gpu_j)
{
    struct live_run *run = fixture_run("many", EXPERIMENTS, MODELS);
    for (size_t i = 0; i < EXPERIMENTS; i++)
        fixture_end(run, i, OUTCOME_SUCCEEDED, gpu_j);
    fixture_slot(run, 1, 1)->temperature_c = (struct reading){61, true};
    fixture_slot(run, 2, 0)->pause_s = 12.5;
    return run;
}

static struct live_run *hostile(void)
{
    static const char forged[] = "x\"} 1\ntare_run_paused{run=\"forged\"} 1\n# EOF\n";
    struct live_run *run = fixture_run(forged, 4, 2);
    fixture_put(&run->plan.name, "\xff\xfe\x1b[31m\\\"\n");
    fixture_put(&run->plan.experiments[0].foreground.repo, "\\");
    fixture_put(&run->plan.experiments[0].foreground.model, "\"");
    fixture_put(&run->plan.experiments[1].foreground.model, "\xed\xa0\x80\t{}=,");
    fixture_put(&run->plan.experiments[2].id, "a\r\nb");
    for (size_t i = 0; i < 3; i++) {
        fixture_end(run, i, OUTCOME_FAILED, 1e300);
        fixture_put(&run->experiments[i].failure, forged);
    }
    fixture_slot(run, 1, 3)->power_w.value = __builtin_nan("");
    json_array_append_new(run->slots[0].gpus, json_string(forged));
    return run;
}

int main(int argc, char **argv)
{
    struct live_run opened = {0}, *run = &opened;
    struct err err = {0};
    struct text out = {0};
    if (argc < 2 || (strcmp(argv[1], "run") == 0 && argc < 3))
        return 2;
    bool made = strcmp(argv[1], "run") != 0;
    if (made) {
        run = strcmp(argv[1], "hostile") == 0 ? hostile() : many(argc > 2 ? atof(argv[2]) : 1);
    } else if (!live_run_open(argv[2], run, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    metrics_textfile(run, &out);
    fwrite(text_get(&out), 1, out.length, stdout);
    text_fini(&out);
    if (made)
        fixture_free(run);
    else
        live_run_close(run);
    return 0;
}
