/* summary.csv and experiment.json: the study's columns and keys, from the journal alone. */
#include "fixture.h"
#include "results/store/energy.h"

#include "base/csv.h"
#include "base/fs.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define NO_MARKS "{'taken': null, 'repeated': null, 'limited': null, 'refused': null}"

#define HEADER                                                                                     \
    "experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,"          \
    "hyperparam_epochs,"                                                                           \
    "hyperparam_learning_rate,hyperparam_name,hyperparam_seed,perf_accuracy,perf_loss,perf_rank1," \
    "energy_cpu_pkg_joules,energy_cpu_ram_joules,energy_cpu_total_joules,energy_gpu_avg_watts,"    \
    "energy_gpu_max_watts,"                                                                        \
    "energy_gpu_min_watts,energy_gpu_total_joules,energy_gpu_temp_avg_celsius,energy_gpu_temp_"    \
    "max_celsius,"                                                                                 \
    "energy_gpu_util_avg_percent,energy_gpu_util_max_percent,mode,outcome,exit_code,attempt,gpu_"  \
    "mem_peak_mib,verdict,"                                                                        \
    "error,failure,changed,energy_gpu_net_joules,energy_gpu_net_half_width_joules,utc_offset,"     \
    "energy_gpu_half_width_joules,gpu_mem_peak_how,verdict_time,verdict_energy,verdict_metric,"    \
    "checks,"                                                                                      \
    "gpu_mem_peak_of,gpu_mem_pair_peak_mib\n"

static void play_experiment(struct store *store, int64_t experiment, bool succeeds)
{
    add(store, EVENT_EXPERIMENT_STARTED, experiment, 0, NULL);
    play_attempt(store, experiment, 1, succeeds);
    add(store, EVENT_EXPERIMENT_ENDED, experiment, 0,
        succeeds ? "{'outcome': 'succeeded', 'retries': 0, 'duration_s': 1.0,"
                   " 'metrics': {'accuracy': 97.5, 'loss': null}}"
                 : "{'outcome': 'failed', 'retries': 0, 'duration_s': 2.5, 'metrics': {}, 'error': "
                   "'a \\\"bad\\\", end'}");
    store_write_results(store, (size_t)experiment, NULL, NULL);
}

static void summary_has_the_studys_columns_and_one_row_per_ended_experiment(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'kernel_backed': true}");
    play_experiment(store, 2, false); /* out of the plan's order */
    play_experiment(store, 1, true);
    play_experiment(store, 3, true);
    fixture_close(store);
    char *summary = run_read(&run, "summary.csv");
    assert_string_equal(summary, HEADER
                        "demo_net_001,2025-11-15T15:54:19.379192,demo,net,True,1.0,0,3,1e-7,,,97.5,"
                        ",,,,,,,,,,,,,mutation,"
                        "succeeded,0,1,,clean,,,,,,,,,,,,not_recorded,,\n"
                        "other_default_002,2025-11-15T15:54:19.379192,other,default,False,2.5,0,,,"
                        "\"a,b\",1334,,,,,,,,,,,,,,,"
                        "default,failed,1,1,,,\"a \"\"bad\"\", end\",,,,,,,,,,,not_recorded,,\n"
                        "demo_net_003_parallel,2025-11-15T15:54:19.379192,demo,net,True,1.0,0,3,0."
                        "5,,,97.5,,,,,,,,,,,,,,parallel,"
                        "succeeded,0,1,,clean,,,,,,,,,,,,not_recorded,,\n");
    free(summary);
    assert_answer(&run, "SELECT group_concat(files_written, '') FROM experiments", "111");
    run_remove(&run);
}

static void an_interrupted_experiment_is_no_row_until_it_ends_for_good(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'interrupted', 'retries': 0, 'duration_s': 1.0}");
    struct outcome_seen seen = {0};
    store_write_results(store, 1, outcome_done, &seen);
    assert_true(store_flush(store, NULL));
    assert_true(seen.ok);
    char *summary = run_read(&run, "summary.csv");
    assert_string_equal(summary, HEADER);
    free(summary);
    char *text = run_read(&run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_true(json_is_false(json_object_get(json, "training_success")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "tare"), "outcome")),
        "interrupted");
    json_decref(json);
    free(text);
    fixture_close(store);
    run_remove(&run);
}

static void experiment_json_has_the_studys_keys_and_tares_own(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'kernel_backed': true}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    play_attempt(store, 1, 1, false);
    play_attempt(store, 1, 2, true);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'succeeded', 'retries': 1, 'duration_s': 1.0, 'metrics': {'accuracy': 97.5}}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    char *text = run_read(&run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    assert_json(
        json,
        "{'experiment_id': 'demo_net_001', 'timestamp': '2025-11-15T15:54:19.379192', "
        "'repository': 'demo',"
        " 'model': 'net', 'hyperparameters': {'learning_rate': 1e-7, 'epochs': 3}, "
        "'duration_seconds': 1.0,"
        " 'energy_metrics': {}, 'performance_metrics': {'accuracy': 97.5, 'loss': null}, "
        "'training_success': true,"
        " 'retries': 1, 'error_message': null,"
        " 'tare': {'utc_offset': null, 'outcome': 'succeeded', 'verdict': 'clean', 'failure': "
        "null, 'result_attempt': "
        "2,"
        " 'planned_again': false, 'verdicts': null, 'checks': null, 'best': {'loss': null, "
        "'accuracy': null}, "
        "'energy': null, 'attempts': ["
        "  {'number': 1, 'outcome': 'failed', 'duration_seconds': 2.5, 'exit_code': 1, 'signal': "
        "null,"
        "   'reason': 'exited', 'error': 'exit code 1', 'started': '2025-11-15T15:54:19.379192',"
        "   'ended': '2025-11-15T15:54:19.379192',"
        "   'usage': {'cpu_seconds': 0.25, 'peak_memory_bytes': null, 'processes': null}, "
        "'marks': " NO_MARKS ", 'energy': null, 'verdict': null, 'failure': null},"
        "  {'number': 2, 'outcome': 'succeeded', 'duration_seconds': 1.0, 'exit_code': 0, "
        "'signal': null,"
        "   'reason': 'exited', 'error': null, 'started': '2025-11-15T15:54:19.379192',"
        "   'ended': '2025-11-15T15:54:19.379192',"
        "   'usage': {'cpu_seconds': 0.25, 'peak_memory_bytes': 4096, 'processes': 2}, "
        "'marks': " NO_MARKS
        ", 'energy': null, 'verdict': 'clean', 'failure': null}], 'epochs': [],"
        " 'containment': {'layers': ['pidns', 'sweep'], 'kernel_backed': true,"
        "   'leftovers': [{'pid': 5000, 'command': 'worker'}, {'pid': 5000, 'command': 'worker'}], "
        "'survivors': []},"
        " 'evidence': [], 'guard': [], 'mutated': ['learning_rate'], 'command': ['/usr/bin/train', "
        "'--lr', '1e-7'], "
        "'cwd': "
        "'/srv/demo',"
        " 'seed': 42, 'gpu_memory_peak': null}}");
    json_decref(json);
    run_remove(&run);
}

static void a_parallel_experiment_nests_foreground_and_background(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    play_experiment(store, 3, true);
    fixture_close(store);
    char *text = run_read(&run, "demo_net_003_parallel/experiment.json");
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    assert_string_equal(json_string_value(json_object_get(json, "mode")), "parallel");
    assert_null(json_object_get(json, "repository"));
    assert_json(json_object_get(json, "foreground"),
                "{'repository': 'demo', 'model': 'net', 'hyperparameters': {'learning_rate': 0.5, "
                "'epochs': 3},"
                " 'duration_seconds': 1.0, 'energy_metrics': {}, 'performance_metrics': "
                "{'accuracy': 97.5, 'loss': null},"
                " 'training_success': true, 'retries': 0, 'error_message': null}");
    json_t *background = json_object_get(json, "background");
    assert_string_equal(json_string_value(json_object_get(background, "repository")), "other");
    assert_json(json_object_get(background, "hyperparameters"), "{'seed': 1334, 'name': 'a,b'}");
    assert_string_equal(json_string_value(json_object_get(background, "log_directory")),
                        "demo_net_003_parallel/background_logs");
    assert_true(json_is_object(json_object_get(json, "tare")));
    json_decref(json);
    run_remove(&run);
}

static void layers_and_evidence_of_the_job_itself_are_told(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'kernel_backed': true}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_JOB_BORN, 1, 1,
        "{'pid': 1, 'layers': {'sweep': true, 'kernel_backed': false}}");
    add(store, EVENT_EVIDENCE, 1, 1, "{'kind': 'log_pipe_held', 'text': 'by 7 sh'}");
    add(store, EVENT_EVIDENCE, 1, 1,
        "{'kind': 'gpu_held', 'text': 'by 8 python', 'device': 'GPU 0', 'from_s': -2.5, 'to_s': "
        "null}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    char *text = run_read(&run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_json(json_object_get(json_object_get(json, "tare"), "containment"),
                "{'layers': {'sweep': true, 'kernel_backed': false}, 'kernel_backed': false, "
                "'leftovers': [],"
                " 'survivors': []}");
    assert_json(json_object_get(json_object_get(json, "tare"), "evidence"),
                "[{'attempt': 1, 'kind': 'log_pipe_held', 'weight': 'suspect', 'text': 'by 7 sh', "
                "'from_s': null,"
                " 'to_s': null, 'device': null},"
                " {'attempt': 1, 'kind': 'gpu_held', 'weight': 'suspect', 'text': 'by 8 python', "
                "'from_s': -2.5,"
                " 'to_s': null, 'device': 'GPU 0'}]");
    assert_true(json_is_null(json_object_get(json, "timestamp"))); /* it has not ended */
    assert_true(json_is_null(json_object_get(json, "duration_seconds")));
    json_decref(json);
    free(text);
    run_remove(&run);
}

static void files_that_a_crash_kept_from_being_written_come_on_opening(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 2, 0, NULL);
    add(store, EVENT_EXPERIMENT_ENDED, 2, 0, "{'outcome': 'failed', 'error': 'no such script'}");
    fixture_close(store); /* store_write_results never came */
    assert_false(run_has(&run, "summary.csv"));
    fixture_close(fixture_open(&run));
    char *summary = run_read(&run, "summary.csv");
    assert_string_equal(
        summary,
        HEADER "other_default_002,2025-11-15T15:54:19.379192,other,default,False,,0,,,\"a,b\",1334"
               ",,,,,,,,,,,,,,,default,failed,,0,,,no such script,,,,,,,,,,,not_recorded,,\n");
    free(summary);
    assert_true(run_has(&run, "other_default_002/experiment.json"));
    run_remove(&run);
}

static void a_file_that_cannot_be_written_is_told_and_the_journal_goes_on(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    assert_int_equal(mkdirat(run.dir, "summary.csv", 0700), 0); /* in the way */
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    struct outcome_seen seen = {0};
    struct err err = {0};
    store_write_results(store, 1, outcome_done, &seen);
    assert_false(store_flush(store, &err));
    assert_int_equal(seen.calls, 1);
    assert_false(seen.ok);
    assert_non_null(strstr(err.text, "summary.csv"));
    store_write_results(store, 4, outcome_done, &seen);
    assert_false(store_flush(store, &err));
    assert_non_null(strstr(err.text, "no experiment 4"));
    add(store, EVENT_EVIDENCE, 0, 0, NULL);
    fixture_close(store);
    assert_answer(&run, "SELECT count(*) FROM events", "2");
    run_remove(&run);
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Without the columns whose names depend on the plan. */
static void read_fixed_columns(const char *text, struct strv *out)
{
    struct csv_reader reader;
    struct strv row = {0};
    csv_start(&reader, text, strlen(text));
    assert_int_equal(csv_next(&reader, &row, NULL), 1);
    const char *last = "";
    for (size_t i = 0; i < row.count; i++) {
        bool open_group =
            has_prefix(row.items[i], "hyperparam_") || has_prefix(row.items[i], "perf_");
        if (!open_group)
            strv_add(out, row.items[i]);
        else if (has_prefix(last, "hyperparam_") == has_prefix(row.items[i], "hyperparam_") &&
                 last[0])
            assert_true(strcmp(last, row.items[i]) < 0); /* sorted within their group */
        last = open_group ? row.items[i] : "";
        if (open_group)
            strv_add(out, has_prefix(row.items[i], "perf_") ? "perf" : "hyperparam");
        if (out->count > 1 && open_group &&
            strcmp(out->items[out->count - 2], out->items[out->count - 1]) == 0)
            free(out->items[--out->count]), out->items[out->count] = NULL;
    }
    strv_fini(&row);
}

static void the_first_columns_have_the_shape_of_the_studys_own_files(void **state)
{
    (void)state;
    glob_t files;
    if (glob(PROJECT_ROOT "/../shared/data/legacy/*/summary.csv", 0, NULL, &files) != 0) {
        print_message("# ../shared/data/legacy is not there\n");
        skip();
    }
    struct strv ours = {0};
    read_fixed_columns(HEADER, &ours);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct text text = {0};
        struct strv theirs = {0};
        assert_true(fs_read(files.gl_pathv[i], 1 << 20, &text, NULL));
        read_fixed_columns(text_get(&text), &theirs);
        assert_int_equal(theirs.count, 7 + 2 + 11);
        for (size_t c = 0; c < theirs.count; c++)
            assert_string_equal(ours.items[c], theirs.items[c]);
        strv_fini(&theirs);
        text_fini(&text);
    }
    strv_fini(&ours);
    globfree(&files);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_has_the_studys_columns_and_one_row_per_ended_experiment),
        cmocka_unit_test(an_interrupted_experiment_is_no_row_until_it_ends_for_good),
        cmocka_unit_test(experiment_json_has_the_studys_keys_and_tares_own),
        cmocka_unit_test(a_parallel_experiment_nests_foreground_and_background),
        cmocka_unit_test(layers_and_evidence_of_the_job_itself_are_told),
        cmocka_unit_test(files_that_a_crash_kept_from_being_written_come_on_opening),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told_and_the_journal_goes_on),
        cmocka_unit_test(the_first_columns_have_the_shape_of_the_studys_own_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
