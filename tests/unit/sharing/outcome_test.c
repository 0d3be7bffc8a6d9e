/* What results mean, by hand: two models alone, then their pair. */
#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/outcome.h"
#include "sharing/proof.h"
#include "sharing/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const double MIB = 1048576;

static void near(struct reading reading, double expected)
{
    if (!reading.valid || fabs(reading.value - expected) > 1e-9 * fabs(expected))
        fail_msg("%g is not %g", reading.value, expected);
}

/* Two models, a in front of b. */
static void begin(struct feasibility *study)
{
    *study = (struct feasibility){.models = mem_array(2, sizeof *study->models),
                                  .model_count = 2,
                                  .pairs = mem_array(1, sizeof *study->pairs),
                                  .pair_count = 1,
                                  .timing = {0, 10, 0, 3}};
    for (size_t i = 0; i < 2; i++) {
        struct pairs_model *model = &study->models[i];
        model->name = mem_strdup(i == 0 ? "a" : "b");
        model->model = mem_strdup(model->name);
        model->repo = mem_strdup("zoo");
        model->params = json_object();
    }
    study->pairs[0].background = 1;
}

static json_t *parsed(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s at %d", error.text, error.position);
    return json;
}

/* The settings that the runs alone, or the pairs, would be run with. */
static json_t *settings_of(const struct feasibility *study, int repeats)
{
    json_t *root = json_object();
    json_t *settings = repeats > 0 ? feasibility_alone_settings(study, root, repeats, true)
                                   : feasibility_pair_settings(study, root);
    json_decref(root);
    return settings;
}

/* Gives what is kept for another study. */
static json_t *take_runs(struct feasibility *study, const json_t *results, int repeats)
{
    json_t *settings = settings_of(study, repeats);
    json_t *measured = feasibility_take_alone(study, results, settings);
    json_decref(settings);
    return measured;
}

#define ALONE(peak, of, seconds, joules)                                                    \
    "{\"tare\": {\"outcome\": \"succeeded\", \"energy\": {\"gpu\": {\"joules\": " #joules   \
    ", \"utilisation_mean_percent\": 40}}, \"attempts\": [{\"duration_seconds\": " #seconds \
    ", \"memory\": {\"gpus\": [{\"of\": \"" of                                              \
    "\", \"total_bytes\": 8589934592, \"before_bytes\": 104857600, "                        \
    "\"reserved_bytes\": 209715200, \"curve\": {\"peak_bytes\": " #peak                     \
    ", \"step_s\": 1.0, \"bytes\": [null, " #peak "]}}]}}]}}"

static void take_alone(struct feasibility *study)
{
    /* a twice: 1000 and 1100 MiB, 10 and 12 s, 2000 and 2200 J; b twice: 400 MiB. */
    json_t *json = parsed("{\"experiments\": [" ALONE(1048576000, "job", 10, 2000) "," ALONE(
        1153433600, "job", 12, 2200) "," ALONE(419430400, "device", 4,
                                               800) "," ALONE(419430400, "device", 4, 800) "]}");
    json_decref(take_runs(study, json, 2));
    json_decref(json);
}

static void what_ran_alone_gives_peak_margin_and_the_room_on_the_gpu(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone(&study);
    near(study.models[0].shape.peak, 1100 * MIB);
    near(study.models[0].seconds, 11);
    near(study.models[0].joules, 2100);
    /* The peaks lie 100 MiB apart; b's are equal: 16 MiB. */
    assert_true(study.models[0].margin_bytes == 100 * MIB &&
                study.models[1].margin_bytes == 16 * MIB);
    assert_true(study.models[0].source == SOURCE_JOB && study.models[1].source == SOURCE_DEVICE);
    feasibility_predict(&study, 0);
    /* 8192 - 100 in use - 200 reserved. */
    assert_true(study.room.total_bytes == 8192 * MIB && study.room.available_bytes == 7892 * MIB);
    assert_true(study.pairs[0].prediction.fits &&
                study.pairs[0].prediction.safe_bytes == 1500 * MIB);
    assert_true(study.pairs[0].prediction.margin_bytes == 116 * MIB);
    feasibility_predict(&study, 1500 * MIB);
    assert_false(study.pairs[0].prediction.fits);
    feasibility_fini(&study);
}

/* a's readings show 1000 MiB, contexts and all; its processes held counted beside each other, and
 * contexts took what is told. */
static void take_counted(struct feasibility *study, const char *counted)
{
    AUTO_FREE char *text = mem_printf(
        "{\"experiments\": [{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": "
        "[{\"duration_seconds\": 10, "
        "\"memory\": {\"gpus\": [{\"of\": \"job\", \"total_bytes\": 8589934592, \"counted\": %s, "
        "\"curve\": {\"peak_bytes\": 1048576000, \"step_s\": 1.0, "
        "\"bytes\": [314572800, 1048576000, 1048576000]}}]}}]}}," ALONE(419430400, "job", 4,
                                                                        800) "]}",
        counted);
    json_t *json = parsed(text);
    json_decref(take_runs(study, json, 1));
    json_decref(json);
    feasibility_predict(study, 0);
}

static void the_bound_has_what_several_processes_held_and_their_contexts(void **state)
{
    (void)state;
    const struct {
        const char *counted;
        double peak_mib;
    } cases[] = {
        /* 1500 together + 630; the largest of them alone is less. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"sum_peak_bytes\": 1572864000, "
         "\"context_bytes\": 660602880}",
         2130},
        /* By an earlier version, which told of the largest alone: 1200 + 630. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"context_bytes\": 660602880}",
         1830},
        /* Contexts that nobody told have no more than the first reading: 1500 + 300. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 1258291200, "
         "\"sum_peak_bytes\": 1572864000, "
         "\"context_bytes\": null}",
         1800},
        /* Nothing beyond the readings: 200 + 630. */
        {"{\"processes\": 2, \"peak_bytes\": null, \"held_peak_bytes\": 209715200, "
         "\"sum_peak_bytes\": 209715200, "
         "\"context_bytes\": 660602880}",
         1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feasibility study;
        begin(&study);
        take_counted(&study, cases[i].counted);
        const struct pairs_prediction *prediction = &study.pairs[0].prediction;
        near(study.models[0].shape.peak, cases[i].peak_mib * MIB);
        assert_true(prediction->safe_bytes == (cases[i].peak_mib + 400) * MIB);
        /* When they held it nobody knows: it can meet b's peak. */
        assert_true(prediction->aligned_bytes == prediction->safe_bytes);
        /* It is in the bound, not once more in the margin: a hundredth, or 16 MiB; b's is 16. */
        assert_true(fabs(study.models[0].margin_bytes - fmax(0.01 * cases[i].peak_mib, 16) * MIB) <
                    1);
        feasibility_fini(&study);
    }
}

static void take_pair(struct feasibility *study, const char *experiment)
{
    take_alone(study);
    feasibility_predict(study, 0);
    AUTO_FREE char *text = mem_printf("{\"experiments\": [%s]}", experiment);
    json_t *json = parsed(text);
    json_t *settings = settings_of(study, 0);
    feasibility_take_pairs(study, json, settings);
    json_decref(settings);
    json_decref(json);
}

static void a_pair_that_worked_is_set_against_both_alone(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* The first loop of b ended before a began; two of 5 and 7 s beside it; the last was
     * stopped. */
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"succeeded\", \"energy\": {\"gpu\": {\"joules\": 3000, "
        "\"memory_peak_bytes\": "
        "1677721600}},"
        "\"guard\": [{\"phase\": \"preflight\", \"devices\": [{\"memory_bytes\": 104857600}]}],"
        "\"attempts\": [{\"duration_seconds\": 22}], \"parallel\": {\"background\": "
        "{\"succeeded\": 3, "
        "\"failed\": 0, \"loops\": ["
        "{\"outcome\": \"succeeded\", \"start_s\": -5, \"duration_s\": 4},"
        "{\"outcome\": \"succeeded\", \"start_s\": -1, \"duration_s\": 5},"
        "{\"outcome\": \"succeeded\", \"start_s\": 4, \"duration_s\": 7},"
        "{\"outcome\": \"stopped\", \"start_s\": 11, \"duration_s\": 11}]},"
        "\"sm_share\": {\"foreground_mj\": 1500000, \"background_mj\": 1000000, "
        "\"unattributed_mj\": 500000}}}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->ran && out->started && out->finished && !out->out_of_memory &&
                pairs_worked(out) && !out->cause);
    assert_int_equal(out->loops, 3);
    near(out->slowdown, 2);
    near(out->background_seconds, 6);
    near(out->background_slowdown, 1.5);
    near(out->peak_bytes, 1500 * MIB);
    /* 3000 J as 3 to 2; a's 22 s held 22 / 6 loops of b. */
    near(out->joules, 1800);
    near(out->background_joules, 1200 * 6 / 22.0);
    near(out->serial_joules, 2100 + 800 * 22 / 6.0);
    near(out->joules_ratio, 1800 / 2100.0);
    near(out->background_joules_ratio, 1200 * 6 / 22.0 / 800);
    feasibility_fini(&study);
}

static void a_background_that_ran_out_of_memory_fails_the_pair(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": [{\"duration_seconds\": 22}], "
        "\"parallel\": "
        "{\"background\": "
        "{\"succeeded\": 0, \"failed\": 1, \"loops\": [{\"outcome\": \"failed\", \"start_s\": -1, "
        "\"duration_s\": 2, \"error\": "
        "\"exit code 1; the log says: RuntimeError: CUDA out of memory. Tried to allocate 20.00 "
        "MiB\"}]}}}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->finished && out->out_of_memory && !pairs_worked(out));
    assert_non_null(strstr(out->cause, "out of memory in b: exit code 1"));
    /* It says nothing of what there was, so it stands as it is. The larger one is a: 7892 - 1100 -
     * 100 MiB are left beside it. */
    assert_string_equal(
        out->proposal,
        "a smaller batch of a, with gradient accumulation for the same effective batch, "
        "or beside it a model of at most 6692 MiB");
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[0].met && criteria[1].met && criteria[2].met && !criteria[3].met &&
                !criteria[4].met);
    assert_false(criteria[5].known);
    feasibility_fini(&study);
}

static void what_the_background_missed_is_read_from_its_message(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* As PyTorch 2.11 said it in a pair on a H200; the line is cut where a loop's error is. */
    take_pair(&study, "{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": "
                      "[{\"duration_seconds\": 22}], \"parallel\": "
                      "{\"background\": {\"succeeded\": 0, \"failed\": 1, \"loops\": "
                      "[{\"outcome\": \"failed\", \"start_s\": "
                      "-1, \"duration_s\": 2, \"error\": \"exit code 1; traceback at log line 1: "
                      "torch.OutOfMemoryError: CUDA "
                      "out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
                      "139.80 GiB of which 11.94 MiB is "
                      "free. Including non-PyTorch memory, this process has 3.81 GiB memory in "
                      "use. Of the allocated memory 3.08 "
                      "GiB is alloca\"}]}}}}");
    /* 20.00 - 11.94. */
    assert_string_equal(
        study.pairs[0].outcome.cause,
        "out of memory in b: 20.00 MiB was asked for, and the GPU had 11.94 MiB free: 8.06 MiB was "
        "missing.");
    feasibility_fini(&study);
}

static void a_foreground_that_failed_otherwise_says_why(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": \"timeout\"}, \"attempts\": "
        "[{\"duration_seconds\": 60, "
        "\"error\": \"it took longer than 60 s\"}]}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->ran && !out->finished && !out->out_of_memory && !out->slowdown.valid);
    assert_string_equal(out->cause, "it took longer than 60 s");
    assert_non_null(strstr(out->proposal, "timeout"));
    feasibility_fini(&study);
}

static void the_diagnosis_of_the_run_is_the_cause(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(&study, "{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
                      "\"out_of_memory\"}, \"attempts\": "
                      "[{\"duration_seconds\": 6, "
                      "\"error\": \"exit code 1\", \"oom\": {\"reasons\": [\"2.00 GiB was asked "
                      "for\"], \"remedies\": "
                      "[{\"name\": \"stop_holder\", "
                      "\"what\": \"stop it\"}, {\"name\": \"expandable_segments\", \"what\": \"set "
                      "expandable_segments:True\"}]}}]}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_string_equal(out->cause, "out of memory in a: 2.00 GiB was asked for");
    /* To stop the other one is no remedy here. */
    assert_null(strstr(out->proposal, "stop it"));
    assert_non_null(strstr(out->proposal, "set expandable_segments:True"));
    feasibility_fini(&study);
}

static void one_that_failed_alone_takes_no_part(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *json =
        parsed("{\"experiments\": [{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
               "\"exit_code\"}, \"attempts\": "
               "[{\"error\": \"exit code 3\"}]}}," ALONE(419430400, "job", 4, 800) "]}");
    json_decref(take_runs(&study, json, 1));
    json_decref(json);
    assert_true(study.models[0].ran && !study.models[0].succeeded);
    assert_string_equal(study.models[0].error, "exit code 3");
    assert_non_null(strstr(study.models[0].proposal, "alone/"));
    feasibility_predict(&study, 0);
    assert_false(pairs_will_run(&study, &study.pairs[0]) || study.pairs[0].prediction.known);
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[0].known && !criteria[0].met && !criteria[1].known);
    assert_string_equal(criteria[0].detail, "1 of 2 models");
    feasibility_fini(&study);
}

static void one_that_ran_out_of_memory_alone_has_a_cause_and_something_to_try(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *json = parsed(
        "{\"experiments\": [{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
        "\"out_of_memory\"}, \"attempts\": [{\"error\": \"exit code 1\", \"oom\": {\"reasons\": "
        "[\"2.00 GiB was asked for\"], \"remedies\": []}}]}}," ALONE(419430400, "job", 4,
                                                                     800) "]}");
    json_decref(take_runs(&study, json, 1));
    json_decref(json);
    assert_string_equal(study.models[0].error, "out of memory: 2.00 GiB was asked for");
    assert_string_equal(study.models[0].proposal,
                        "a smaller batch, with gradient accumulation for the same effective batch");
    feasibility_fini(&study);
}

static void results_belong_to_whom_the_settings_that_were_run_name(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *settings = settings_of(&study, 1), *entries = json_object_get(settings, "experiments");
    /* An earlier session ran b first, and a model that is not asked for any more before it. */
    json_t *first = json_incref(json_array_get(entries, 0)), *other = json_deep_copy(first);
    json_object_set_new(other, "model", json_string("c"));
    json_object_set_new(other, "runs_per_config", json_integer(2));
    json_array_remove(entries, 0);
    json_array_insert_new(entries, 0, other);
    json_array_append_new(entries, first);
    json_t *json =
        parsed("{\"experiments\": [" ALONE(1, "job", 1, 1) "," ALONE(1, "job", 1, 1) "," ALONE(
            419430400, "job", 4, 800) "," ALONE(1048576000, "job", 10, 2000) "]}");
    json_decref(feasibility_take_alone(&study, json, settings));
    json_decref(json);
    json_decref(settings);
    near(study.models[0].seconds, 10);
    near(study.models[1].seconds, 4);
    feasibility_fini(&study);
}

static void known_runs_count_with_those_that_ran_now(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* a's first run is known, b's both are; only a's second ran now. */
    study.models[0].known = parsed("[" ALONE(1048576000, "job", 10, 2000) "]");
    study.models[1].known =
        parsed("[" ALONE(419430400, "job", 4, 800) "," ALONE(419430400, "job", 6, 800) "]");
    json_t *json = parsed("{\"experiments\": [" ALONE(1153433600, "job", 12, 2200) "]}");
    json_t *measured = take_runs(&study, json, 2);
    json_decref(json);
    near(study.models[0].seconds, 11);
    near(study.models[1].seconds, 5);
    assert_true(study.models[0].margin_bytes == 100 * MIB && study.models[1].succeeded);
    assert_int_equal(json_array_size(json_get(json_array_get(measured, 0), "runs")), 2);
    assert_int_equal(json_array_size(json_get(json_array_get(measured, 1), "runs")), 2);
    json_decref(measured);
    feasibility_fini(&study);
}

/* a and b alone: 1000 and 400 MiB, 40 % each, 10 and 4 s of which 1 s is start-up. */
static void take_alone_seen(struct feasibility *study)
{
    json_t *json = parsed("{\"experiments\": [" ALONE(1048576000, "job", 10, 2100) "," ALONE(
        419430400, "job", 4, 800) "]}");
    for (size_t i = 0; i < 2; i++) {
        json_t *tare =
            json_object_get(json_array_get(json_object_get(json, "experiments"), i), "tare");
        json_t *attempt = json_array_get(json_object_get(tare, "attempts"), 0);
        json_t *gpu =
            json_array_get(json_object_get(json_object_get(attempt, "memory"), "gpus"), 0);
        json_object_set_new(gpu, "load_at_peak_percent", json_real(40));
    }
    json_decref(take_runs(study, json, 1));
    json_decref(json);
    feasibility_predict(study, 0);
    study->overlap_s = 5;
    study->pair_s = 100;
}

/* An experiment of 8 s with looks a second apart, of which both train in so many, from the third
 * on. */
static json_t *beside(const char *verdict, const char *evidence, int together)
{
    AUTO_FREE char *text = mem_printf(
        "{\"experiment_id\": \"x\", \"tare\": {\"outcome\": \"succeeded\", \"verdict\": \"%s\", "
        "\"evidence\": [%s], \"attempts\": [{\"duration_seconds\": 8}], \"parallel\": "
        "{\"background\": "
        "{\"succeeded\": 1, \"failed\": 0, \"load\": {\"alone_s\": 2}, \"loops\": [{\"outcome\": "
        "\"stopped\", \"start_s\": -1, \"duration_s\": 9}]}}}}",
        verdict, evidence);
    json_t *experiment = parsed(text);
    json_t *looks = parsed("{\"t_s\": [], \"foreground_bytes\": [], \"background_bytes\": [], "
                           "\"foreground_percent\": [], \"background_percent\": []}");
    for (int i = 0; i < 8; i++) {
        bool own = i >= 2 && i < 2 + together;
        json_array_append_new(json_object_get(looks, "t_s"), json_real(i));
        json_array_append_new(json_object_get(looks, "foreground_bytes"),
                              json_integer(i >= 2 ? 1048576000 : 0));
        json_array_append_new(json_object_get(looks, "background_bytes"),
                              json_integer(own ? 419430400 : 0));
        json_array_append_new(json_object_get(looks, "foreground_percent"), json_integer(40));
        json_array_append_new(json_object_get(looks, "background_percent"),
                              json_integer(own ? 40 : 0));
    }
    json_object_set_new(json_object_get(json_object_get(experiment, "tare"), "parallel"), "looks",
                        looks);
    return experiment;
}

/* A round of the pair; takes the experiments. */
static void take_round(struct feasibility *study, json_t *experiments)
{
    json_t *root = json_object();
    json_t *settings = study->pairs[0].outcome.ran ? feasibility_again_settings(study, root)
                                                   : feasibility_pair_settings(study, root);
    assert_non_null(settings);
    json_t *entry = json_array_get(json_object_get(settings, "experiments"), 0);
    assert_int_equal(json_integer_value(json_object_get(entry, "runs_per_config")),
                     json_array_size(experiments));
    json_t *results = json_pack("{so}", "experiments", experiments);
    feasibility_take_pairs(study, results, settings);
    json_decref(results);
    json_decref(settings);
    json_decref(root);
}

static void rounds_are_added_until_the_overlap_is_there(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    take_round(&study, json_pack("[o]", beside("clean", "", 2)));
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->result == PAIRS_NOT_PROVEN && out->overlap_s == 2 && out->at_peaks == 2);
    assert_string_equal(
        out->why,
        "they trained at the same time for 2.0 s, less than the 5 s that are asked for, in 1 "
        "experiment of 10.0 s in all");
    assert_false(pairs_is_recommended(&study.pairs[0]));
    assert_true(out->startup_s[FOREGROUND].value == 2 && out->startup_s[BACKGROUND].value == 3);
    /* 3 of 5 s are missing, 2 come with each; b starts 1 s before a, as its start-up is so much
     * longer. */
    json_t *root = json_object(), *settings = feasibility_again_settings(&study, root);
    const json_t *entry = json_array_get(json_get(settings, "experiments"), 0);
    assert_true(json_number_value(json_object_get(entry, "start_after")) == 1);
    json_decref(settings);
    json_decref(root);
    take_round(&study, json_pack("[oo]", beside("clean", "", 2), beside("clean", "", 1)));
    assert_true(out->result == PAIRS_PROVEN && out->overlap_s == 5 &&
                out->verdict == VERDICT_CLEAN && !out->why);
    assert_true(out->experiments == 3 && out->clean == 3 && out->measured_s == 30);
    assert_true(out->together_bytes == 1400 * MIB && pairs_is_recommended(&study.pairs[0]));
    near(pairs_peaks_alone(&study, &study.pairs[0]), 1400 * MIB);
    assert_null(feasibility_again_settings(&study, NULL));
    struct pairs_counts counts = feasibility_counts(&study);
    assert_true(counts.of[PAIRS_PROVEN] == 1 && counts.recommended == 1);
    feasibility_fini(&study);
}

static void what_is_contaminated_proves_nothing_and_says_so(void **state)
{
    (void)state;
    static const char evidence[] =
        "{\"kind\": \"foreign_process\", \"weight\": \"contaminated\", \"text\": \"pid "
        "7\"}, {\"kind\": \"governor_not_set\"}";
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    take_round(&study, json_pack("[o]", beside("contaminated", evidence, 6)));
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->result == PAIRS_NOT_PROVEN && out->overlap_s == 0 &&
                out->verdict == VERDICT_CONTAMINATED);
    assert_string_equal(out->why,
                        "no experiment of 1 was clean, the worst is contaminated: foreign_process");
    assert_true(out->kind_count == 1 && out->kinds[0].experiments == 1);
    assert_string_equal(out->kinds[0].text, "pid 7");
    /* A second round without any gain is the last. */
    take_round(&study, json_pack("[o]", beside("contaminated", evidence, 6)));
    assert_null(feasibility_again_settings(&study, NULL));
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[6].known && !criteria[6].met && criteria[4].met);
    feasibility_fini(&study);
}

static void a_pair_takes_no_more_than_its_time(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    /* 10 s each: after the first there is time for two more, not for the three that it would
     * take. */
    study.pair_s = 39;
    study.overlap_s = 4;
    take_round(&study, json_pack("[o]", beside("clean", "", 1)));
    take_round(&study, json_pack("[oo]", beside("clean", "", 0), beside("clean", "", 0)));
    assert_null(feasibility_again_settings(&study, NULL));
    assert_string_equal(study.pairs[0].outcome.why,
                        "they trained at the same time for 1.0 s, less than the 4 s that are "
                        "asked for, in 3 experiments of 30.0 s in all");
    feasibility_fini(&study);
}

static void energy_that_cannot_be_attributed_is_not(void **state)
{
    (void)state;
    const struct {
        const char *share, *marginal;
        bool possible;
        const char *by;
        double joules;
    } cases[] = {
        /* As on an H200: 19 J, 295 J more or less, and more than half of it nobody's. */
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 19, \"half_width_j\": 295}", false, "sm_share", 0},
        {"{\"foreground_mj\": 20, \"background_mj\": 30, \"unattributed_mj\": 50}",
         "{\"joules\": 19, \"half_width_j\": 295}", true, "sm_share", 1200},
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 900, \"half_width_j\": 180}", true, "foreground_marginal", 900},
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 900, \"half_width_j\": 181}", false, "sm_share", 0},
        {"null", "{\"joules\": null, \"half_width_j\": null, \"interval_j\": [0, 7011]}", false,
         "foreground_marginal", 0},
        {"null", "{\"joules\": 295, \"half_width_j\": 295}", false, "foreground_marginal", 0},
        {"null", "null", false, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feasibility study;
        begin(&study);
        AUTO_FREE char *text =
            mem_printf("{\"tare\": {\"outcome\": \"succeeded\", \"energy\": {\"gpu\": {\"joules\": "
                       "3000}}, \"attempts\": [{\"duration_seconds\": 22}], \"parallel\": "
                       "{\"sm_share\": %s, \"foreground_marginal\": %s}}}",
                       cases[i].share, cases[i].marginal);
        take_pair(&study, text);
        const struct pairs_outcome *out = &study.pairs[0].outcome;
        assert_true(out->attribution.possible == cases[i].possible &&
                    out->joules.valid == cases[i].possible);
        assert_true(!cases[i].by == !out->attribution.by);
        if (cases[i].by)
            assert_string_equal(out->attribution.by, cases[i].by);
        if (cases[i].possible)
            near(out->joules, cases[i].joules);
        feasibility_fini(&study);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ran_alone_gives_peak_margin_and_the_room_on_the_gpu),
        cmocka_unit_test(the_bound_has_what_several_processes_held_and_their_contexts),
        cmocka_unit_test(a_pair_that_worked_is_set_against_both_alone),
        cmocka_unit_test(a_background_that_ran_out_of_memory_fails_the_pair),
        cmocka_unit_test(what_the_background_missed_is_read_from_its_message),
        cmocka_unit_test(a_foreground_that_failed_otherwise_says_why),
        cmocka_unit_test(the_diagnosis_of_the_run_is_the_cause),
        cmocka_unit_test(one_that_failed_alone_takes_no_part),
        cmocka_unit_test(one_that_ran_out_of_memory_alone_has_a_cause_and_something_to_try),
        cmocka_unit_test(results_belong_to_whom_the_settings_that_were_run_name),
        cmocka_unit_test(known_runs_count_with_those_that_ran_now),
        cmocka_unit_test(rounds_are_added_until_the_overlap_is_there),
        cmocka_unit_test(what_is_contaminated_proves_nothing_and_says_so),
        cmocka_unit_test(a_pair_takes_no_more_than_its_time),
        cmocka_unit_test(energy_that_cannot_be_attributed_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
