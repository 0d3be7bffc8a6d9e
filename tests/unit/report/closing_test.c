#include "results/store/results.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "report/closing.h"

#include <locale.h>
#include <string.h>

/* A run made by hand: every experiment is of digits/mlp and has a learning rate that was mutated,
 * epochs that never were, and the metrics accuracy (0.9 and the number in its last place) and f1,
 * which never matched. */
static void add_experiment(struct results *results, enum outcome outcome)
{
    size_t i = results->count++;
    results->plan.count = results->count;
    struct plan_experiment *experiment = &results->plan.experiments[i];
    struct result *result = &results->items[i];
    experiment->number = result->number = i + 1;
    experiment->id = mem_printf("digits_mlp_%03zu", i + 1);
    experiment->foreground.repo = mem_strdup("digits");
    experiment->foreground.model = mem_strdup("mlp");
    /* as a registry has it where it says nothing */
    experiment->foreground.rules.metrics = METRICS_ANY;
    experiment->foreground.params = mem_array(2, sizeof(struct plan_param));
    experiment->foreground.param_count = 2;
    experiment->foreground.params[0] =
        (struct plan_param){.name = mem_strdup("epochs"), .value = value_int(30), .mutated = false};
    experiment->foreground.params[1] =
        (struct plan_param){.name = mem_strdup("learning_rate"),
                            .value = value_float((double)(i + 1) / 1000),
                            .mutated = true};
    result->id = mem_strdup(experiment->id);
    result->outcome = outcome;
    result->state = outcome == OUTCOME_NONE ? STATE_PLANNED : STATE_DONE;
    result->duration_s = outcome == OUTCOME_NONE ? 0 : 3.25;
    result->metric_count = 2;
    result->metrics = mem_array(2, sizeof(struct result_metric));
    result->metrics[0] = (struct result_metric){.name = mem_strdup("accuracy"),
                                                .value = 0.9 + (double)(i + 1) / 100,
                                                .valid = outcome == OUTCOME_SUCCEEDED};
    result->metrics[1] =
        (struct result_metric){.name = mem_strdup("f1"), .value = 0, .valid = false};
}

static struct results results_of(size_t capacity)
{
    struct results results = {0};
    results.plan.experiments = mem_array(capacity, sizeof *results.plan.experiments);
    results.items = mem_array(capacity, sizeof *results.items);
    return results;
}

static char *closing_of(const struct results *results, size_t width)
{
    struct closing_options options = {
        .program = "tare", .run_dir = "results/run_20261121_093000", .width = width};
    struct text out = {0};
    closing_text(results, &options, &out);
    return text_take(&out);
}

static void what_a_retry_changed_is_told(void **state)
{
    (void)state;
    struct results results = results_of(2);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    AUTO_FREE char *unchanged = closing_of(&results, 0);
    assert_null(strstr(unchanged, "changed by a retry"));
    results.items[1].changed = mem_strdup("batch_size 64 -> 32");
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(text, "changed by a retry after an out-of-memory failure:\n"
                                 "  digits_mlp_002: batch_size 64 -> 32\n"));
    results_fini(&results);
}

static void what_varied_how_it_ended_and_what_it_gave_stand_in_one_row(void **state)
{
    (void)state;
    struct results results = results_of(3);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_FAILED);
    add_experiment(&results, OUTCOME_NONE);
    results.items[1].retries = 2;
    results.items[1].error = mem_strdup("exit code 3");
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_string_equal(
        text, "EXPERIMENT      learning_rate  OUTCOME     TIME  accuracy  RETRIES\n"
              "digits_mlp_001          0.001  succeeded  3.3 s      0.91\n"
              "digits_mlp_002          0.002  failed     3.3 s                  2\n"
              "digits_mlp_003          0.003  not run\n"
              "\n"
              "1 succeeded, 1 failed, 1 not run\n"
              "  digits_mlp_002: exit code 3\n"
              "never matched in any log: f1\n"
              "results: results/run_20261121_093000\n"
              "to run the 1 left: tare run --resume results/run_20261121_093000\n"
              "to repeat the 1 that failed: tare run --rerun failed results/run_20261121_093000\n");
    results_fini(&results);
}

static void a_whole_run_says_nothing_of_resuming(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    results.items[0].metrics[1].valid = true;
    results.items[0].metrics[1].value = 0.5;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_string_equal(text, "EXPERIMENT      learning_rate  OUTCOME     TIME  accuracy   f1\n"
                              "digits_mlp_001          0.001  succeeded  3.3 s      0.91  0.5\n"
                              "\n"
                              "1 succeeded\n"
                              "results: results/run_20261121_093000\n");
    results_fini(&results);
}

/* 14 + 2 + 9 + 2 + 5 columns are always there; of the others accuracy (2 + 8) comes first, then
 * learning_rate (2 + 13), then f1 with its 0.0 (2 + 3). */
static void columns_that_do_not_fit_are_named_below(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    results.items[0].metrics[1].valid = true;
    AUTO_FREE char *narrow = closing_of(&results, 42);
    assert_non_null(strstr(narrow, "EXPERIMENT      OUTCOME     TIME  accuracy\n"));
    assert_non_null(
        strstr(narrow, "not shown, for want of room: learning_rate, f1 (all in summary.csv)\n"));
    AUTO_FREE char *narrower = closing_of(&results, 41);
    assert_non_null(strstr(narrower, "EXPERIMENT      OUTCOME     TIME   f1\n"));
    AUTO_FREE char *wide = closing_of(&results, 62);
    assert_null(strstr(wide, "not shown"));
    results_fini(&results);
}

static void of_a_long_plan_only_what_did_not_succeed_is_listed(void **state)
{
    (void)state;
    struct results results = results_of(CLOSING_ROWS + 1);
    for (size_t i = 0; i <= CLOSING_ROWS; i++)
        add_experiment(&results, i == 40 ? OUTCOME_INTERRUPTED : OUTCOME_SUCCEEDED);
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_null(strstr(text, "digits_mlp_001"));
    assert_non_null(strstr(text, "digits_mlp_041          0.041  interrupted"));
    assert_non_null(
        strstr(text, "100 succeeded, 1 interrupted (those that succeeded are in summary.csv)\n"));
    assert_non_null(strstr(text, "to run the 1 left: tare run --resume"));
    results_fini(&results);
}

static void what_adaptive_pauses_saved_is_added_up(void **state)
{
    (void)state;
    struct results results = results_of(3);
    for (int i = 0; i < 3; i++)
        add_experiment(&results, OUTCOME_SUCCEEDED);
    AUTO_FREE char *fixed = closing_of(&results, 0);
    assert_null(strstr(fixed, "pauses"));
    results.items[0].pause_saved_s = (struct reading){50.5, true};
    results.items[1].pause_saved_s = (struct reading){-8.5, true};
    AUTO_FREE char *less = closing_of(&results, 0);
    assert_non_null(strstr(less, "\nadaptive pauses: 42.0 s less than fixed ones\n"));
    results.items[1].pause_saved_s.value = -110.5;
    AUTO_FREE char *more = closing_of(&results, 0);
    assert_non_null(strstr(more, "\nadaptive pauses: 1 min 00 s more than fixed ones\n"));
    results_fini(&results);
}

static void processes_left_behind_and_survivors_are_named(void **state)
{
    (void)state;
    struct results results = results_of(2);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_FAILED);
    results.items[0].leftover_count = 3;
    results.items[1].survivor_count = 1;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(
        strstr(text, "\nprocesses left behind by their jobs, and ended: digits_mlp_001 (3)\n"));
    assert_non_null(strstr(text, "\nprocesses that could not be ended: digits_mlp_002 (1)\n"));
    results_fini(&results);
}

static void metrics_that_never_matched_are_told_per_repository(void **state)
{
    (void)state;
    struct results results = results_of(3);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_NONE); /* never ran: its metrics say nothing */
    free(results.plan.experiments[1].foreground.repo);
    results.plan.experiments[1].foreground.repo = mem_strdup("images");
    results.items[1].metrics[1].valid = true;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(text, "\nnever matched in any log: f1 (digits)\n"));
    results_fini(&results);
}

static void the_command_to_resume_can_be_pasted(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_INTERRUPTED);
    struct closing_options options = {.program = "tare", .run_dir = "my results/it's"};
    AUTO_TEXT struct text out = {0};
    closing_text(&results, &options, &out);
    assert_non_null(
        strstr(text_get(&out), "to run the 1 left: tare run --resume 'my results/it'\\''s'\n"));
    results_fini(&results);
}

static void outcomes_are_coloured_when_asked(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_FAILED);
    struct closing_options options = {.program = "tare", .run_dir = "r", .colour = true};
    AUTO_TEXT struct text out = {0};
    closing_text(&results, &options, &out);
    assert_non_null(strstr(text_get(&out), "\033[31mfailed"));
    AUTO_FREE char *plain = closing_of(&results, 0);
    assert_null(strchr(plain, '\033'));
    results_fini(&results);
}

static void add_evidence(struct result *result, const char *kind, const char *text)
{
    result->evidence =
        realloc(result->evidence, (result->evidence_count + 1) * sizeof *result->evidence);
    result->evidence[result->evidence_count++] =
        (struct result_evidence){mem_strdup(kind), mem_strdup(text), evidence_weight(kind)};
}

/* Five that ended: clean, contaminated twice, suspect, and clean though it failed; one that was not
 * run. */
static struct results judged(void)
{
    struct results results = results_of(6);
    static const enum verdict verdicts[] = {VERDICT_CLEAN,        VERDICT_CONTAMINATED,
                                            VERDICT_CONTAMINATED, VERDICT_SUSPECT,
                                            VERDICT_CLEAN,        VERDICT_NONE};
    for (size_t i = 0; i < 6; i++) {
        add_experiment(&results, i == 4   ? OUTCOME_FAILED
                                 : i == 5 ? OUTCOME_NONE
                                          : OUTCOME_SUCCEEDED);
        results.items[i].verdict = verdicts[i];
        while (results.items[i].metric_count > 0) /* they are of other tests */
            free(results.items[i].metrics[--results.items[i].metric_count].name);
    }
    add_evidence(&results.items[0], "governor_not_set", "not permitted");
    add_evidence(&results.items[1], "sampling_gap", "half a second");
    add_evidence(&results.items[1], "foreign_process", "4242 python of ann");
    add_evidence(&results.items[2], "foreign_process", "4243 python of ann");
    add_evidence(&results.items[2], "foreign_process", "4244 python of ann");
    add_evidence(&results.items[3], "sw_thermal", "3 s");
    results.items[4].failure = mem_strdup("out_of_memory");
    results.items[4].error = mem_strdup("exit code 1");
    return results;
}

static void verdicts_are_counted_and_what_disturbed_is_named(void **state)
{
    (void)state;
    struct results results = judged();
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_string_equal(
        text, "EXPERIMENT      learning_rate  OUTCOME    VERDICT        TIME\n"
              "digits_mlp_001          0.001  succeeded  clean         3.3 s\n"
              "digits_mlp_002          0.002  succeeded  contaminated  3.3 s\n"
              "digits_mlp_003          0.003  succeeded  contaminated  3.3 s\n"
              "digits_mlp_004          0.004  succeeded  suspect       3.3 s\n"
              "digits_mlp_005          0.005  failed     clean         3.3 s\n"
              "digits_mlp_006          0.006  not run\n"
              "\n"
              "4 succeeded, 1 failed, 1 not run\n"
              "failed by: 1 out_of_memory\n"
              "  digits_mlp_005: exit code 1\n"
              "verdict: 2 clean, 0 unverified, 1 suspect, 2 contaminated\n"
              "  summary_safe.csv: 2 rows; summary_affected.csv: 3\n"
              "  contaminated by foreign_process (2): digits_mlp_002: 4242 python of ann\n"
              "  suspect by sampling_gap (1): digits_mlp_002: half a second\n"
              "  suspect by sw_thermal (1): digits_mlp_004: 3 s\n"
              "results: results/run_20261121_093000\n"
              "to run the 1 left: tare run --resume results/run_20261121_093000\n"
              "to repeat the 3 that are not clean: tare run --rerun-contaminated "
              "results/run_20261121_093000\n"
              "to repeat the 1 that failed: tare run --rerun failed results/run_20261121_093000\n");
    results_fini(&results);
}

static void what_is_planned_again_is_left_to_do_and_not_to_be_planned(void **state)
{
    (void)state;
    struct results results = judged();
    results.items[1].again = results.items[2].again = true;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(
        strstr(text, "\nto run the 3 left: tare run --resume results/run_20261121_093000\n"));
    assert_non_null(
        strstr(text, "\nto repeat the 1 that is not clean: tare run --rerun-contaminated "));
    results_fini(&results);
}

static void columns_that_say_nothing_of_how_rows_differ_are_told_in_one_line(void **state)
{
    (void)state;
    struct results results = results_of(4);
    for (size_t i = 0; i < 4; i++) {
        add_experiment(&results, OUTCOME_SUCCEEDED);
        results.items[i].metrics[1] = (struct result_metric){
            .name = results.items[i].metrics[1].name, .value = 0.25, .valid = true};
    }
    /* One of four has a metric of its own, and a hyperparameter. */
    results.items[3].metrics = realloc(results.items[3].metrics, 3 * sizeof(struct result_metric));
    results.items[3].metrics[2] =
        (struct result_metric){.name = mem_strdup("rank1"), .value = 0.7, .valid = true};
    results.items[3].metric_count = 3;
    free(results.plan.experiments[3].foreground.params[0].name);
    results.plan.experiments[3].foreground.params[0].name = mem_strdup("margin");
    results.plan.experiments[3].foreground.params[0].mutated = true;
    /* 14 + 2 + 13 + 2 + 9 + 2 + 5 + 2 + 8 columns, and 2 + 4 for f1. */
    AUTO_FREE char *narrow = closing_of(&results, 62);
    assert_non_null(strstr(narrow, "EXPERIMENT      learning_rate  OUTCOME     TIME  accuracy\n"));
    assert_non_null(strstr(narrow, "\nthe same in every row: f1 0.25; empty in most rows: margin, "
                                   "rank1 (all in summary.csv)\n"));
    assert_null(strstr(narrow, "not shown"));
    AUTO_FREE char *wide = closing_of(&results, 63);
    assert_non_null(
        strstr(wide, "EXPERIMENT      learning_rate  OUTCOME     TIME  accuracy    f1\n"));
    assert_non_null(strstr(wide, "\nempty in most rows: margin, rank1 (all in summary.csv)\n"));
    results_fini(&results);
}

/* Room or not; and a result that is the same everywhere takes none from one that differs. */
static void a_hyperparameter_that_is_the_same_everywhere_is_no_column(void **state)
{
    (void)state;
    struct results results = results_of(2);
    for (size_t i = 0; i < 2; i++) {
        add_experiment(&results, OUTCOME_SUCCEEDED);
        results.plan.experiments[i].foreground.params[0].mutated = true;
        results.items[i].metrics[0].value = 0.5;
        results.items[i].metrics[1].value = (double)i / 4;
        results.items[i].metrics[1].valid = true;
    }
    AUTO_FREE char *wide = closing_of(&results, 0);
    assert_non_null(
        strstr(wide, "EXPERIMENT      learning_rate  OUTCOME     TIME  accuracy    f1\n"));
    assert_non_null(strstr(wide, "\nthe same in every row: epochs 30\n"));
    /* 47 with learning_rate, 6 for f1, 10 for accuracy */
    AUTO_FREE char *narrow = closing_of(&results, 53);
    assert_non_null(strstr(narrow, "EXPERIMENT      learning_rate  OUTCOME     TIME    f1\n"));
    assert_non_null(strstr(narrow, "\nthe same in every row: epochs 30, accuracy 0.5\n"));
    results_fini(&results);
}

static void a_metric_that_only_one_model_lacks_is_told_of_that_model(void **state)
{
    (void)state;
    struct results results = results_of(2);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    free(results.plan.experiments[1].foreground.model);
    results.plan.experiments[1].foreground.model = mem_strdup("cnn");
    results.items[1].metrics[1].valid = true;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(text, "\nnever matched in any log: f1 (mlp)\n"));
    results_fini(&results);
}

static void a_run_that_is_clean_says_so_in_one_line(void **state)
{
    (void)state;
    struct results results = results_of(2);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    results.items[0].verdict = results.items[1].verdict = VERDICT_CLEAN;
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(
        text, "\n2 succeeded\nnever matched in any log: f1\nverdict: 2 clean, 0 unverified, 0 "
              "suspect, 0 contaminated\nresults: "));
    assert_null(strstr(text, "VERDICT"));
    assert_null(strstr(text, "--rerun"));
    results_fini(&results);
}

static void a_failed_experiment_is_counted_as_failed_and_never_as_clean(void **state)
{
    (void)state;
    struct results results = results_of(1), two = results_of(2);
    add_experiment(&results, OUTCOME_FAILED);
    AUTO_FREE char *alone = closing_of(&results, 0);
    assert_non_null(strstr(alone, "\n1 failed\n"));
    assert_null(strstr(alone, "clean"));
    add_experiment(&two, OUTCOME_SUCCEEDED);
    add_experiment(&two, OUTCOME_FAILED);
    two.items[0].verdict = VERDICT_CLEAN;
    AUTO_FREE char *text = closing_of(&two, 0);
    assert_non_null(strstr(
        text, "\nverdict: 1 clean, 0 unverified, 0 suspect, 0 contaminated, 1 failed, not judged"
              "\n  summary_safe.csv: 2 rows; summary_affected.csv: 0\n"));
    results_fini(&results);
    results_fini(&two);
}

static void unverified_rows_of_the_safe_file_are_counted(void **state)
{
    (void)state;
    struct results results = results_of(4);
    static const enum verdict verdicts[] = {VERDICT_CLEAN, VERDICT_UNVERIFIED, VERDICT_UNVERIFIED,
                                            VERDICT_SUSPECT};
    for (size_t i = 0; i < 4; i++) {
        add_experiment(&results, OUTCOME_SUCCEEDED);
        results.items[i].verdict = verdicts[i];
    }
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(
        text, "\n  summary_safe.csv: 3 rows, 2 of them unverified; summary_affected.csv: 1\n"));
    results_fini(&results);
}

static struct lane_use lane(size_t at)
{
    return (struct lane_use){.node = mem_strdup("gpu07"),
                             .name = mem_printf("GPU %zu", at),
                             .experiments = 3,
                             .busy_s = 120,
                             .overhead_s = 30,
                             .waiting_s = 10,
                             .nothing_s = 40,
                             .utilisation = {0.6, true},
                             .gpu_energy_j = {2500, true},
                             .verdicts = {[VERDICT_CLEAN] = 2, [VERDICT_SUSPECT] = 1}};
}

static struct lane_uses lanes_of(size_t count)
{
    struct lane_uses lanes = {
        .seconds = 200,
        .total = {.experiments = 3, .utilisation = {0.6, true}, .gpu_energy_j = {2500, true}}};
    lanes.items = mem_array(count, sizeof *lanes.items);
    while (lanes.count < count) {
        lanes.items[lanes.count] = lane(lanes.count);
        lanes.count++;
    }
    return lanes;
}

static bool has_line(const char *text, const char *line)
{
    AUTO_FREE char *whole = mem_printf("\n%s\n", line);
    return strstr(text, whole) != NULL;
}

static void lanes_have_a_table_that_loses_columns_to_a_narrow_terminal(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    results.lanes = lanes_of(2);
    AUTO_FREE char *wide = closing_of(&results, 0);
    assert_true(has_line(
        wide, "SLOT   DONE    TRAINING  OVERHEAD  WAITING  NO WORK  USED  GPU ENERGY  VERDICTS"));
    assert_true(has_line(wide, "GPU 1     3  2 min 00 s    30.0 s   10.0 s   40.0 s  60 %      2.5 "
                               "kJ  2 clean, 1 suspect"));
    assert_true(has_line(wide, "2 slots, at work 60 % of 3 min 20 s"));
    AUTO_FREE char *narrow = closing_of(&results, 60); /* 88 columns less 9, 12 and 10 are 57 */
    assert_true(has_line(narrow, "SLOT   DONE    TRAINING  WAITING  USED  VERDICTS"));
    results_fini(&results);
}

static void of_many_lanes_some_are_told_and_the_rest_is_counted(void **state)
{
    (void)state;
    struct results results = results_of(1);
    add_experiment(&results, OUTCOME_SUCCEEDED);
    results.lanes = lanes_of(64);
    AUTO_FREE char *text = closing_of(&results, 0);
    assert_non_null(strstr(text, "\nGPU 23 "));
    assert_null(strstr(text, "\nGPU 24 "));
    assert_non_null(strstr(text, "\nall 64 "));
    assert_true(has_line(text, "and 40 more slots (all in report.html)"));
    results_fini(&results);
}

/* ± stays where the terminal is narrow: other columns go, and of the energies the CPU's. */
static void energies_keep_their_half_width_and_lose_the_cpu_to_a_narrow_terminal(void **state)
{
    (void)state;
    struct results results = results_of(2);
    for (size_t i = 0; i < 2; i++) {
        add_experiment(&results, OUTCOME_SUCCEEDED);
        results.items[i].energy.gpu_j = (struct reading){i ? 5903.6 : 5902.63, true};
        results.items[i].energy.gpu_half_width_j = (struct reading){i ? 7853 : 3.4, true};
        results.items[i].energy.cpu_j = (struct reading){999.96, true};
        results.items[i].energy.cpu_half_width_j = (struct reading){0.5, i == 0};
    }
    AUTO_FREE char *wide = closing_of(&results, 0);
    assert_non_null(strstr(wide, "EXPERIMENT      learning_rate  OUTCOME     TIME        GPU "
                                 "ENERGY          CPU ENERGY  accuracy\n"
                                 "digits_mlp_001          0.001  succeeded  3.3 s  5.903 ± 0.003 "
                                 "kJ  1.0000 ± 0.0005 kJ      0.91\n"
                                 "digits_mlp_002          0.002  succeeded  3.3 s          6 ± 8 "
                                 "kJ      1 kJ ± unknown      0.92\n"));
    AUTO_FREE char *narrow = closing_of(&results, 60);
    assert_non_null(strstr(narrow,
                           "EXPERIMENT      OUTCOME     TIME        GPU ENERGY  accuracy\n"
                           "digits_mlp_001  succeeded  3.3 s  5.903 ± 0.003 kJ      0.91\n"));
    assert_non_null(strstr(
        narrow, "not shown, for want of room: learning_rate, CPU ENERGY (all in summary.csv)"));
    results_fini(&results);
}

UNIT_TESTS(void)
{
    /* as the program does: the table's library escapes "±" in others */
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_counted_and_what_disturbed_is_named),
        cmocka_unit_test(what_is_planned_again_is_left_to_do_and_not_to_be_planned),
        cmocka_unit_test(a_run_that_is_clean_says_so_in_one_line),
        cmocka_unit_test(a_metric_that_only_one_model_lacks_is_told_of_that_model),
        cmocka_unit_test(columns_that_say_nothing_of_how_rows_differ_are_told_in_one_line),
        cmocka_unit_test(a_hyperparameter_that_is_the_same_everywhere_is_no_column),
        cmocka_unit_test(a_failed_experiment_is_counted_as_failed_and_never_as_clean),
        cmocka_unit_test(unverified_rows_of_the_safe_file_are_counted),
        cmocka_unit_test(what_a_retry_changed_is_told),
        cmocka_unit_test(what_varied_how_it_ended_and_what_it_gave_stand_in_one_row),
        cmocka_unit_test(a_whole_run_says_nothing_of_resuming),
        cmocka_unit_test(columns_that_do_not_fit_are_named_below),
        cmocka_unit_test(of_a_long_plan_only_what_did_not_succeed_is_listed),
        cmocka_unit_test(what_adaptive_pauses_saved_is_added_up),
        cmocka_unit_test(processes_left_behind_and_survivors_are_named),
        cmocka_unit_test(metrics_that_never_matched_are_told_per_repository),
        cmocka_unit_test(the_command_to_resume_can_be_pasted),
        cmocka_unit_test(lanes_have_a_table_that_loses_columns_to_a_narrow_terminal),
        cmocka_unit_test(of_many_lanes_some_are_told_and_the_rest_is_counted),
        cmocka_unit_test(outcomes_are_coloured_when_asked),
        cmocka_unit_test(energies_keep_their_half_width_and_lose_the_cpu_to_a_narrow_terminal),
    };
    return cmocka_run_group_tests_name("closing", tests, NULL, NULL);
}
