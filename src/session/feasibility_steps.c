#include "session/feasibility_steps.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "session/command.h"
#include "session/message.h"
#include "machine/sensors/time_scale.h"
#include "report/feasibility_text.h"
#include "tare_build.h"
#include "report/live/width.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void say(const struct study_steps *steps, const char *what)
{
    if (!steps->quiet && !steps->json)
        message_printf("%s\n", what);
}

static int report(const struct study_steps *steps, const struct study *study)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    struct feasibility_text_options how = {.width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
                                           .colour = message_colour(STDOUT_FILENO)};
    if (!study_write(study, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    if (steps->json) {
        json_t *json = feasibility_json(&study->of);
        json_object_set_new(json, "folder", json_text_or_null(study->folder));
        json_print_pretty(json, &text);
        json_decref(json);
    } else {
        feasibility_text(&study->of, &how, &text);
        AUTO_FREE char *recommended = mem_printf("%s/recommended.json", study->folder);
        text_addf(&text, "\nresults: %s\n", study->folder);
        AUTO_FREE char *typed = shell_words_path(recommended);
        if (fs_is_file(recommended))
            text_addf(&text, "recommended pairs: %s run %s\n", TARE_NAME, typed);
        else
            text_add(&text, "no pair is recommended\n");
    }
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

static int verdict(const struct feasibility *of)
{
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(of, criteria);
    for (size_t i = 0; i < PAIRS_CRITERIA; i++)
        if (criteria[i].known && !criteria[i].met)
            return CLI_SOME_FAILED;
    for (size_t i = 0; i < of->pair_count; i++) {
        const struct pairs_pair *pair = &of->pairs[i];
        if (!pair->prediction.known && pair->outcome.ran && !pairs_worked(&pair->outcome))
            return CLI_SOME_FAILED;
    }
    return CLI_OK;
}

/* Of runs of the pairs. */
enum { ROUNDS_MAX = 20 };

static bool is_over(int code)
{
    return code != CLI_OK && code != CLI_SOME_FAILED;
}

static int stopped(const struct study *study, int code)
{
    AUTO_FREE char *typed = shell_words_path(study->folder);
    if (code >= 128)
        cli_note("to go on: %s feasibility --resume %s", TARE_NAME, typed);
    return code;
}

/* Takes settings. */
static int run_round(const struct study_steps *steps, struct study *study, const char *name, json_t *settings)
{
    json_t *results = NULL;
    int code = study_run_part(study, name, &settings, steps->session, &results);
    if (!is_over(code))
        feasibility_take_pairs(&study->of, results, settings);
    json_decref(settings);
    json_decref(results);
    return code;
}

/* Each pair once, then those again that it did not show together for long enough: a run for each round. */
static int run_pairs(const struct study_steps *steps, struct study *study)
{
    const json_t *root = study->input.settings.doc.root;
    json_t *settings = feasibility_pair_settings(&study->of, root);
    int code = CLI_OK;
    if (json_array_size(json_object_get(settings, "experiments")) == 0) {
        json_decref(settings);
        settings = NULL;
    }
    for (int round = 1; settings && !is_over(code) && round <= ROUNDS_MAX; round++) {
        AUTO_FREE char *name = round == 1 ? mem_strdup("pairs") : mem_printf("pairs_%d", round);
        say(steps, round == 1 ? "\nPairs" : "\nPairs again that were not seen training together for long enough");
        code = run_round(steps, study, name, settings);
        settings = is_over(code) ? NULL : feasibility_again_settings(&study->of, root);
    }
    json_decref(settings);
    return is_over(code) ? stopped(study, code) : CLI_OK;
}

/* Those that are not known already. */
static int run_alone(const struct study_steps *steps, struct study *study)
{
    struct err err = {0};
    struct feasibility *of = &study->of;
    json_t *results = NULL, *settings = feasibility_alone_settings(of, study->input.settings.doc.root,
                                                                   study->options.repeats, study->options.track);
    size_t count = json_array_size(json_object_get(settings, "experiments"));
    int code = CLI_OK;
    if (study->known > 0 && !steps->quiet && !steps->json)
        message_printf("%zu of %zu models were measured before\n", study->known, of->model_count);
    if (count > 0) {
        say(steps, "Each model alone");
        code = study_run_part(study, "alone", &settings, steps->session, &results);
    }
    json_t *measured = is_over(code) ? NULL : feasibility_take_alone(of, results, settings);
    json_decref(settings);
    json_decref(results);
    if (is_over(code))
        return stopped(study, code);
    if (study_keep(study, measured, &err))
        return CLI_OK;
    cli_error("%s", err.text);
    return CLI_BROKEN;
}

/* The waits of a run are shortened by it. */
static void scale(struct pairs_timing *timing)
{
    struct err err = {0};
    double scale = 1;
    if (!time_scale_read(getenv(TIME_SCALE_VARIABLE), &scale, &err))
        return;
    timing->lead_low_s *= scale;
    timing->lead_high_s *= scale;
    timing->restart_s *= scale;
}

int study_carry_out(struct study *study, const struct study_steps *steps)
{
    struct feasibility *of = &study->of;
    int code = run_alone(steps, study);
    if (is_over(code))
        return code;
    scale(&of->timing);
    if (study->options.all_pairs)
        feasibility_pair_all(of);
    feasibility_predict(of, study->options.gpu_bytes);
    code = steps->predict_only ? CLI_OK : run_pairs(steps, study);
    if (is_over(code))
        return code;
    say(steps, "");
    code = report(steps, study);
    return code == CLI_OK ? verdict(of) : code;
}
