#include "session/feasibility.h"
#include "base/fs_path.h"
#include "base/json_place.h"
#include "base/json_print.h"
#include "results/store/results.h"
#include "results/store/results_json.h"
#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/feasibility_json.h"
#include "sharing/outcome.h"
#include "sharing/proof.h"
#include "sharing/written.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/shell_words.h"
#include "machine/sensors/time_scale.h"
#include "plan/expected.h"
#include "report/feasibility_text.h"
#include "report/live/width.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "tare_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_FILE = 64 << 20, REPEATS_MAX = 100 };

static const char measured_file[] = "measured.json", known_file[] = "known.json";

static bool write_study_text(const struct study *study, const char *name, const struct text *text,
                             struct err *err)
{
    return fs_write_atomic(study->dir, name, text_get(text), text->length, err) ||
           err_wrap(err, "%s/%s", study->folder, name);
}

/* Takes json. */
static bool write_study_json(const struct study *study, const char *name, json_t *json,
                             struct err *err)
{
    AUTO_TEXT struct text text = {0};
    json_print_taken(json, &text);
    return write_study_text(study, name, &text, err);
}

static bool write_options(const struct study *study, struct err *err)
{
    static const struct record_field fields[] = {
        RECORD(struct study_options, registry),
        RECORD(struct study_options, gpu_bytes),
        RECORD(struct study_options, repeats),
        RECORD(struct study_options, all_pairs),
        RECORD_AS(struct study_options, "track_gpu_memory", track),
        RECORD(struct study_options, overlap_s),
        RECORD(struct study_options, pair_s),
        {0}};
    json_t *json = record_json(fields, &study->options);
    json_object_set_new(json, "estimate", forecast_json(&study->of.forecast));
    return write_study_json(study, "study.json", json, err);
}

static bool read_study_document(int dir, const char *folder, const char *name, struct json_doc *out,
                                struct err *err)
{
    AUTO_TEXT struct text text = {0};
    return (fs_read_at(dir, name, LONGEST_FILE, &text, err) &&
            json_doc_parse(name, text_get(&text), text.length, out, err) &&
            json_doc_refuse_repeats(out, err)) ||
           err_wrap(err, "%s", folder);
}

static bool read_earlier_study(struct study *study, const char *folder, struct err *err)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_FREE char *name = NULL;
    AUTO_CLOSE int dir = run_folder_open(folder, &name, err);
    if (dir < 0 || !read_study_document(dir, folder, measured_file, &doc, err))
        return false;
    study->known = feasibility_know(&study->of, doc.root, study->options.repeats);
    return true;
}

static void choose_pairs(struct study *study)
{
    feasibility_choose(&study->input.settings, &study->input.registry, &study->of);
    study->of.overlap_s = study->options.overlap_s;
    study->of.pair_s = study->options.pair_s;
}

bool study_choose(struct study *study, struct study_options *options, struct run_input *input,
                  const struct strv *alone, struct err *err)
{
    *study = (struct study){.dir = -1, .options = *options, .input = *input};
    *options = (struct study_options){0};
    *input = (struct run_input){0};
    choose_pairs(study);
    EACH (item, alone->items, alone->count)
        if (!read_earlier_study(study, *item, err))
            return false;
    return true;
}

/* repeats: of each model alone; 0: that part is over. output: NULL: without the runs there.
 * Problems of the histories were reported with the plan. */
static void forecast_study(const struct study *study, const char *output, int repeats,
                           struct forecast *out)
{
    const struct run_input *input = &study->input;
    AUTO(expected_fini) struct expected earlier = {0};
    run_input_expect(input, output, &earlier);
    const struct forecast_options how = {.earlier = &earlier,
                                         .repeats = repeats,
                                         .all_pairs = repeats > 0 && study->options.all_pairs,
                                         .pause_s = input->plan.timing.between_configurations_s};
    forecast_make(&study->of, &how, out);
}

bool study_begin(struct study *study, const char *output, struct err *err)
{
    const struct json_doc *doc = &study->input.settings.doc;
    forecast_study(study, output, study->options.repeats, &study->of.forecast);
    study->dir = run_folder_new(output, "feasibility", clock_realtime_ns(), &study->folder, err);
    if (study->dir < 0)
        return false;
    return (fs_write_atomic(study->dir, "settings.json", doc->text, doc->length, err) ||
            err_wrap(err, "%s/settings.json", study->folder)) &&
           write_study_json(study, known_file, feasibility_known(&study->of), err) &&
           write_options(study, err);
}

/* forecast: as it was when the study began. */
static bool read_study_options(struct study *study, struct forecast *forecast, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    json_int_t repeats = 0;
    if (!fs_read_at(study->dir, "study.json", LONGEST_FILE, &text, err) ||
        !json_doc_parse("study.json", text_get(&text), text.length, &doc, err) ||
        !json_doc_refuse_repeats(&doc, err))
        return err_wrap(err, "%s is no study of pairs", study->folder);
    const char *registry = json_get_text(doc.root, "registry");
    if (!registry || !json_get_int(doc.root, "repeats", &repeats) || repeats < 1 ||
        repeats > REPEATS_MAX || !json_get_number(doc.root, "gpu_bytes", &study->options.gpu_bytes))
        return err_set(err, "%s/study.json is damaged", study->folder);
    study->options.overlap_s = PAIRS_OVERLAP_S;
    study->options.pair_s = PAIRS_PAIR_S;
    forecast_from_json(json_get(doc.root, "estimate"), forecast);
    json_get_number(doc.root, "overlap_s", &study->options.overlap_s);
    json_get_number(doc.root, "pair_s", &study->options.pair_s);
    study->options.registry = mem_strdup(registry);
    study->options.repeats = (int)repeats;
    study->options.all_pairs = json_is_true(json_get(doc.root, "all_pairs"));
    study->options.track = json_is_true(json_get(doc.root, "track_gpu_memory"));
    return true;
}

/* What it took over itself when it began. */
static bool read_known_models(struct study *study, struct err *err)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    if (!read_study_document(study->dir, study->folder, known_file, &doc, err))
        return false;
    study->known = feasibility_know(&study->of, doc.root, study->options.repeats);
    return true;
}

bool study_resume(struct study *study, const char *folder, struct err *err)
{
    *study = (struct study){.dir = -1};
    study->dir = run_folder_open(folder, &study->folder, err);
    struct forecast forecast;
    if (study->dir < 0 || !read_study_options(study, &forecast, err))
        return false;
    AUTO_FREE char *settings = mem_printf("%s/settings.json", study->folder);
    struct run_options options = {
        .settings_path = settings, .registry_path = study->options.registry, .for_running = true};
    if (!run_input_read(&options, &study->input)) {
        message_problems(&study->input.problems);
        return err_set(err, "%s: its settings and registry do not go together any more",
                       study->folder);
    }
    choose_pairs(study);
    study->of.forecast = forecast;
    return read_known_models(study, err);
}

void study_fini(struct study *study)
{
    feasibility_fini(&study->of);
    run_input_fini(&study->input);
    free(study->options.registry);
    free(study->folder);
    if (study->dir >= 0)
        close(study->dir);
    *study = (struct study){.dir = -1};
}

/* How far an earlier session of this part came. */
enum progress { PART_NONE, PART_BEGUN, PART_DONE };

static enum progress progress_of(const char *run_dir)
{
    AUTO(results_fini) struct results results = {0};
    if (!run_dir || !results_read(run_dir, &results, NULL))
        return PART_NONE;
    bool done = true;
    EACH (item, results.items, results.count)
        done &= item->state == STATE_DONE &&
                (item->outcome == OUTCOME_SUCCEEDED || item->outcome == OUTCOME_FAILED);
    return done ? PART_DONE : PART_BEGUN;
}

/* The settings are made here: errors in the user's own were reported before. */
static int run_new_part(struct study *study, const char *name, json_t *settings,
                        struct session_options session)
{
    struct err err = {0};
    AUTO_FREE char *file = mem_printf("%s.json", name);
    AUTO_FREE char *path = mem_printf("%s/%s", study->folder, file);
    AUTO_FREE char *output = mem_printf("%s/%s", study->folder, name);
    if (!write_study_json(study, file, json_incref(settings), &err))
        return cli_failed(CLI_BROKEN, &err);
    AUTO(run_input_fini) struct run_input input = {0};
    struct run_options options = {
        .settings_path = path, .registry_path = study->options.registry, .for_running = true};
    bool good = run_input_read(&options, &input);
    if (!good)
        message_problems(&input.problems);
    session.input = &input;
    session.output = output;
    return good ? run_session(&session) : CLI_USAGE;
}

/* The settings with which an earlier session began the part. */
static bool read_part_settings(const struct study *study, const char *name, json_t **settings,
                               struct err *err)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_FREE char *file = mem_printf("%s.json", name);
    if (!read_study_document(study->dir, study->folder, file, &doc, err))
        return false;
    json_decref(*settings);
    *settings = json_incref(doc.root);
    return true;
}

/* Carries out one part, "alone" or "pairs", as far as it has not been; session: what all runs have
 * in common. Gives the run's exit code; results: what it came to (a new reference; NULL: nothing);
 * settings: those that it was begun with, which are an earlier session's where that began it (the
 * reference is replaced). */
static int run_part(struct study *study, const char *name, json_t **settings,
                    struct session_options session, json_t **results)
{
    struct err err = {0};
    int code = CLI_OK;
    AUTO_FREE char *output = mem_printf("%s/%s", study->folder, name);
    AUTO_FREE char *run_dir = run_folder_newest(output, "run");
    enum progress progress = progress_of(run_dir);
    *results = NULL;
    if (progress != PART_NONE && !read_part_settings(study, name, settings, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (progress == PART_NONE && !study->options.track) /* else it is counted where it can be */
        json_object_set_new(*settings, "track_gpu_memory", json_false());
    session.resume_dir = progress == PART_BEGUN ? run_dir : NULL;
    if (progress == PART_BEGUN)
        code = run_session(&session);
    else if (progress == PART_NONE)
        code = run_new_part(study, name, *settings, session);
    if (code != CLI_OK && code != CLI_SOME_FAILED)
        return code;
    AUTO_FREE char *done = run_folder_newest(output, "run");
    *results = done ? results_read_json(done, &err) : NULL;
    if (*results)
        return code;
    cli_error("%s", done ? err.text : "the run left no folder");
    return CLI_BROKEN;
}

static bool any_recommended(const struct feasibility *of)
{
    EACH (pair, of->pairs, of->pair_count)
        if (pairs_is_recommended(pair))
            return true;
    return false;
}

/* feasibility.json, .csv and .txt, and recommended.json (only when something is recommended). */
static bool write_reports(const struct study *study, struct err *err)
{
    static const struct feasibility_text_options plain = {.width = 0};
    AUTO_TEXT struct text csv = {0};
    AUTO_TEXT struct text text = {0};
    feasibility_csv(&study->of, &csv);
    feasibility_text(&study->of, &plain, &text);
    if (!write_study_json(study, "feasibility.json", feasibility_json(&study->of), err) ||
        !write_study_text(study, "feasibility.csv", &csv, err) ||
        !write_study_text(study, "feasibility.txt", &text, err))
        return false;
    if (any_recommended(&study->of)) {
        json_t *json = feasibility_recommended(&study->of, study->input.settings.doc.root);
        /* One that the settings name lies relative to them. */
        json_set_text(json, "registry", study->options.registry);
        return write_study_json(study, "recommended.json", json, err);
    }
    return unlinkat(study->dir, "recommended.json", 0) == 0 || errno == ENOENT ||
           err_sys(err, "remove %s/recommended.json", study->folder);
}

static void print_step(const struct study_steps *steps, const char *what)
{
    if (!steps->quiet && !steps->json)
        message_printf("%s\n", what);
}

static void print_estimate(const struct study_steps *steps, const struct forecast *forecast)
{
    AUTO_FREE char *text = forecast_text(forecast);
    print_step(steps, text);
}

static int report_study(const struct study_steps *steps, const struct study *study)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    struct feasibility_text_options how = {
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO)};
    if (!write_reports(study, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (steps->json) {
        json_t *json = feasibility_json(&study->of);
        json_set_text(json, "folder", study->folder);
        json_print_taken(json, &text);
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
    EACH (item, criteria, PAIRS_CRITERIA)
        if (item->known && !item->met)
            return CLI_SOME_FAILED;
    EACH (pair, of->pairs, of->pair_count) {
        if (!pair->prediction.known && pair->outcome.ran && !pairs_worked(&pair->outcome))
            return CLI_SOME_FAILED;
    }
    return CLI_OK;
}

/* Of runs of the pairs. */
enum { ROUNDS_MAX = 20 };

static bool is_study_over(int code)
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
static int run_round(const struct study_steps *steps, struct study *study, const char *name,
                     json_t *settings)
{
    json_auto_t *results = NULL;
    int code = run_part(study, name, &settings, steps->session, &results);
    if (!is_study_over(code))
        feasibility_take_pairs(&study->of, results, settings);
    json_decref(settings);
    return code;
}

/* Each pair once, then those again that it did not show together for long enough: a run for each
 * round. */
static int run_pairs(const struct study_steps *steps, struct study *study)
{
    const json_t *root = study->input.settings.doc.root;
    json_t *settings = feasibility_pair_settings(&study->of, root);
    int code = CLI_OK;
    if (json_array_size(json_object_get(settings, "experiments")) == 0) {
        json_decref(settings);
        settings = NULL;
    }
    for (int round = 1; settings && !is_study_over(code) && round <= ROUNDS_MAX; round++) {
        AUTO_FREE char *name = round == 1 ? mem_strdup("pairs") : mem_printf("pairs_%d", round);
        print_step(steps,
                   round == 1
                       ? "\nPairs"
                       : "\nPairs again that were not seen training together for long enough");
        code = run_round(steps, study, name, settings);
        settings = is_study_over(code) ? NULL : feasibility_again_settings(&study->of, root);
    }
    json_decref(settings);
    return is_study_over(code) ? stopped(study, code) : CLI_OK;
}

/* Those that are not known already. */
static int run_alone(const struct study_steps *steps, struct study *study)
{
    struct err err = {0};
    struct feasibility *of = &study->of;
    json_t *results = NULL,
           *settings = feasibility_alone_settings(of, study->input.settings.doc.root,
                                                  study->options.repeats, study->options.track);
    size_t count = json_array_size(json_object_get(settings, "experiments"));
    int code = CLI_OK;
    if (study->known > 0 && !steps->quiet && !steps->json)
        message_printf("%zu of %zu models were measured before\n", study->known, of->model_count);
    if (count > 0) {
        print_step(steps, "Each model alone");
        code = run_part(study, "alone", &settings, steps->session, &results);
    }
    json_t *measured = is_study_over(code) ? NULL : feasibility_take_alone(of, results, settings);
    json_decref(settings);
    json_decref(results);
    if (is_study_over(code))
        return stopped(study, code);
    return write_study_json(study, measured_file, measured, &err) ? CLI_OK
                                                                  : cli_failed(CLI_BROKEN, &err);
}

static void scale_pair_timing(struct pairs_timing *timing)
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
    struct forecast pairs;
    if (of->forecast.alone.count + of->forecast.pairs.count > 0)
        print_estimate(steps, &of->forecast);
    int code = run_alone(steps, study);
    if (is_study_over(code))
        return code;
    if (study->options.all_pairs)
        feasibility_pair_all(of);
    forecast_study(study, NULL, 0, &pairs);
    if (!steps->predict_only && pairs.pairs.count > 0)
        print_estimate(steps, &pairs);
    scale_pair_timing(&of->timing);
    feasibility_predict(of, study->options.gpu_bytes);
    code = steps->predict_only ? CLI_OK : run_pairs(steps, study);
    if (is_study_over(code))
        return code;
    print_step(steps, "");
    code = report_study(steps, study);
    return code == CLI_OK ? verdict(of) : code;
}
