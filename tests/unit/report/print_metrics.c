/* Prints metrics for tests/cli/metrics.bats:
 *   print_metrics many N        10,000 experiments of 300 models, each of which used N joules
 *   print_metrics hostile       names that try to break the format
 *   print_metrics textfile KIND the same two (many or hostile) in the text format 0.0.4
 *   print_metrics run FOLDER... what is in folders of runs */
#include "report/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_fixture.h"

enum { EXPERIMENTS = 10000, MODELS = 300, RUNS_MAX = 16 };

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

static struct live_run *opened(const char *folder)
{
    struct live_run *run = mem_alloc(sizeof *run);
    struct err err = {0};
    if (!live_run_open(folder, run, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return run;
}

int main(int argc, char **argv)
{
    struct live_run *runs[RUNS_MAX];
    size_t count = 1;
    struct text out = {0};
    bool textfile = argc > 1 && strcmp(argv[1], "textfile") == 0;
    char **of = argv + textfile;
    argc -= textfile;
    if (argc < 2)
        return 2;
    if (strcmp(of[1], "run") == 0)
        for (count = 0; count < RUNS_MAX && of[count + 2]; count++)
            runs[count] = opened(of[count + 2]);
    else
        runs[0] = strcmp(of[1], "hostile") == 0 ? hostile() : many(argc > 2 ? atof(of[2]) : 1);
    if (textfile)
        metrics_textfile(runs[0], &out);
    else
        metrics_text((const struct live_run *const *)runs, count, &out);
    fwrite(text_get(&out), 1, out.length, stdout);
    text_fini(&out);
    if (strcmp(of[1], "run") != 0)
        fixture_free(runs[0]);
    for (size_t i = 0; strcmp(of[1], "run") == 0 && i < count; i++) {
        live_run_close(runs[i]);
        free(runs[i]);
    }
    return 0;
}
