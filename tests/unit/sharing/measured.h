/* measured: results of runs, alone and in pairs. */
#ifndef TARE_TESTS_MEASURED_H
#define TARE_TESTS_MEASURED_H

#include "sharing/alone.h"
#include "sharing/outcome.h"
#include "sharing/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const double MIB = 1048576;

static inline void near(struct reading reading, double expected)
{
    if (!reading.valid || fabs(reading.value - expected) > 1e-9 * fabs(expected))
        fail_msg("%g is not %g", reading.value, expected);
}

/* Two models, a in front of b. */
static inline void begin(struct feasibility *study)
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

static inline json_t *parsed(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s at %d", error.text, error.position);
    return json;
}

/* The settings that the runs alone, or the pairs, would be run with. */
static inline json_t *settings_of(const struct feasibility *study, int repeats)
{
    json_t *root = json_object();
    json_t *settings = repeats > 0 ? feasibility_alone_settings(study, root, repeats, true)
                                   : feasibility_pair_settings(study, root);
    json_decref(root);
    return settings;
}

/* Gives what is kept for another study. */
static inline json_t *take_runs(struct feasibility *study, const json_t *results, int repeats)
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

static inline void take_alone(struct feasibility *study)
{
    /* a twice: 1000 and 1100 MiB, 10 and 12 s, 2000 and 2200 J; b twice: 400 MiB. */
    json_t *json = parsed("{\"experiments\": [" ALONE(1048576000, "job", 10, 2000) "," ALONE(
        1153433600, "job", 12, 2200) "," ALONE(419430400, "device", 4,
                                               800) "," ALONE(419430400, "device", 4, 800) "]}");
    json_decref(take_runs(study, json, 2));
    json_decref(json);
}

static inline void take_pair(struct feasibility *study, const char *experiment)
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

/* a and b alone: 1000 and 400 MiB, 40 % each, 10 and 4 s of which 1 s is start-up. */
static inline void take_alone_seen(struct feasibility *study)
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
static inline json_t *beside(const char *verdict, const char *evidence, int together)
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
static inline void take_round(struct feasibility *study, json_t *experiments)
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

#endif
