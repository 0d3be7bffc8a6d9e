/* The report of a study fits the window, with all that matters in it. */
#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/predict.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "report/feasibility_text.h"

#include <locale.h>
#include <string.h>

static const double GIB = 1073741824;

static void add_model(struct feasibility *study, const char *name, double gib)
{
    struct pairs_model *model = &study->models[study->model_count++];
    *model = (struct pairs_model){
        .name = mem_strdup(name), .ran = true, .succeeded = true, .margin_bytes = 0.05 * GIB};
    model->curve =
        (struct memory_curve){.any = true, .count = 1, .step_s = 1, .peak_bytes = gib * GIB};
    model->curve.points[0] = gib * GIB;
    curve_shape(&model->curve, &model->shape);
    model->seconds = (struct reading){75, true};
    model->joules = (struct reading){1234567, true};
}

/* One pair that fits and is proven, one that does not fit, and one that proved nothing. */
static void begin(struct feasibility *study)
{
    *study = (struct feasibility){.models = mem_array(3, sizeof *study->models),
                                  .pairs = mem_array(3, sizeof *study->pairs),
                                  .pair_count = 3,
                                  .overlap_s = 10,
                                  .timing = {0, 10, 0, 3}};
    add_model(study, "a_model_with_quite_a_long_name", 1);
    add_model(study, "bug-localization-by-dnn-and-rvsm/default", 4);
    add_model(study, "c", 6);
    study->pairs[0] = (struct pairs_pair){.foreground = 0, .background = 1};
    study->pairs[1] = (struct pairs_pair){.foreground = 1, .background = 2};
    study->pairs[2] = (struct pairs_pair){.foreground = 0, .background = 2};
    feasibility_predict(study, 8 * GIB);
    study->pairs[0].outcome = (struct pairs_outcome){.ran = true,
                                                     .started = true,
                                                     .finished = true,
                                                     .result = PAIRS_PROVEN,
                                                     .verdict = VERDICT_CLEAN,
                                                     .seen = true,
                                                     .overlap_s = 12.3,
                                                     .runs = mem_array(2, sizeof(struct pairs_run)),
                                                     .experiments = 2,
                                                     .slowdown = {1.25, true},
                                                     .background_slowdown = {1.5, true},
                                                     .peak_bytes = {5 * GIB, true},
                                                     .pair_joules = {80, true},
                                                     .serial_joules = {100, true}};
    size_t last = study->pairs[1].foreground == 0 ? 1 : 2, oom = 3 - last;
    study->pairs[last].outcome = (struct pairs_outcome){
        .ran = true,
        .started = true,
        .finished = true,
        .result = PAIRS_NOT_PROVEN,
        .verdict = VERDICT_CONTAMINATED,
        .why = mem_strdup("they never met"),
        .experiments = 3,
        .attribution = {"sm_share", false, {0.52, true}, .low_j = {0, true}, .high_j = {314, true}},
        .runs = mem_array(3, sizeof(struct pairs_run)),
        .kinds = mem_array(1, sizeof(struct pairs_kind)),
        .kind_count = 1};
    study->pairs[last].outcome.kinds[0] =
        (struct pairs_kind){.kind = "background_stalled",
                            .text = "in 7 % \x1b[31m",
                            .weight = evidence_weight("background_stalled"),
                            .experiments = 1};
    study->pairs[oom].outcome =
        (struct pairs_outcome){.ran = true,
                               .result = PAIRS_FAILED,
                               .out_of_memory = true,
                               .cause = mem_strdup("out of memory in c: \x1b[31mred"),
                               .proposal = mem_strdup("a smaller batch of c")};
}

static size_t widest_table_line(const char *text)
{
    size_t widest = 0, columns = 0;
    /* What comes after the tables is sentences. */
    const char *end = strstr(text, "first sign:");
    assert_non_null(end);
    for (; text < end; text++) {
        if (*text == '\x1b')
            while (*text != 'm')
                text++;
        else
            columns = *text == '\n' ? 0 : columns + (((unsigned char)*text & 0xC0) != 0x80);
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

static void as_wide_as_it_takes_everything_is_there(void **state)
{
    (void)state;
    struct feasibility study;
    struct feasibility_text_options options = {0};
    AUTO_TEXT struct text text = {0};
    begin(&study);
    feasibility_text(&study, &options, &text);
    static const char *const words[] = {
        "a_model_with_quite_a_long_name            bug-localization-by-dnn-and-rvsm/default",
        "GPU: 8.00 GiB", "stable", "high risk", "1.25 / 1.50", "-20 %", "5.00 GiB  1.25", "1.23 MJ",
        "1 min 15 s", "out of memory", "  try: a smaller batch of c",
        "Pairs: 1 proven, 1 not proven, 1 failed, 0 not run; recommended: 1", "12.3 s",
        "contaminated", "a_model_with_quite_a_long_name beside c: they never met",
        "a_model_with_quite_a_long_name beside c: contaminated, background_stalled, in 1 of 3 "
        "experiments: in 7 %",
        "a_model_with_quite_a_long_name beside c: not separable: 0 to 314 J for the foreground, "
        "and 52 % of the energy "
        "is "
        "nobody's",
        "met      none of them runs out of memory (2 of 2 pairs predicted to fit)",
        "not met  every pair predicted to fit is proven (1 of 2 pairs predicted to fit)",
        /* 5, 7 and 10 GiB: all above 4000 MB and half of the GPU. */
        "by MB: of the bound, stable below 3000 MB, usable up to 4000 MB, high risk above",
        "low            2700       -        -      33.75 %       -        -     100 %",
        "high          above  2 of 3     67 %        above  2 of 3     67 %      80 %",
        "not met  nearly all pairs work (2 of 3 pairs, at least 3 are asked for)",
        "met      every pair leaves room on a GPU of 8 GB (the largest has 5369 MB, less than 7500 "
        "MB is asked for)"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text_get(&text), words[i]))
            fail_msg("'%s' is not in\n%s", words[i], text_get(&text));
    /* What a log said cannot steer the terminal. */
    assert_null(strchr(text_get(&text), '\x1b'));
    feasibility_fini(&study);
}

static void tables_fit_windows_of_80_and_100_columns_in_colour_and_without(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    for (int colour = 0; colour < 2; colour++)
        for (size_t width = 80; width <= 200; width += 20) {
            struct feasibility_text_options options = {.width = width, .colour = colour};
            AUTO_TEXT struct text text = {0};
            feasibility_text(&study, &options, &text);
            if (widest_table_line(text_get(&text)) > width)
                fail_msg("%zu columns:\n%s", width, text_get(&text));
            assert_non_null(strstr(text_get(&text), "PREDICTED"));
            assert_non_null(strstr(text_get(&text), "out of memory"));
            assert_non_null(strstr(text_get(&text), "not proven"));
        }
    feasibility_fini(&study);
}

static void the_estimate_says_what_is_not_known(void **state)
{
    (void)state;
    const struct {
        struct forecast forecast;
        const char *text;
    } cases[] = {
        {{{12, 0, {0, false}}, {12, 12, {5580, true}}, {0, false}},
         "Estimated time with pauses: 12 models alone not known, 12 pairs 1 h 33 min; "
         "'expected_duration', 'historical_csvs' or --alone would say more"},
        {{{2, 2, {60, true}}, {1, 1, {90, true}}, {150, true}},
         "Estimated time with pauses: 2 models alone 1 min 00 s, 1 pair 1 min 30 s, in all 2 min "
         "30 s"},
        {{{2, 1, {60, true}}, {1, 1, {90, true}}, {150, true}},
         "Estimated time with pauses: 2 models alone 1 min 00 s, 1 pair 1 min 30 s, in all 2 min "
         "30 s; "
         "2 of 3 durations are known, the others count as the mean of their kind"},
        {{{0, 0, {0, true}}, {2, 2, {90, true}}, {90, true}},
         "Estimated time with pauses: 2 pairs 1 min 30 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_FREE char *text = forecast_text(&cases[i].forecast);
        assert_string_equal(text, cases[i].text);
    }
}

/* What failed for a reason that nobody knows has no line "try". */
static void a_model_that_failed_without_a_proposal_has_no_line_of_one(void **state)
{
    (void)state;
    struct feasibility study;
    struct feasibility_text_options options = {0};
    AUTO_TEXT struct text text = {0};
    begin(&study);
    study.models[2].succeeded = false;
    study.models[2].error = mem_strdup("exit code 1");
    feasibility_text(&study, &options, &text);
    const char *failed = strstr(text_get(&text), "c alone: exit code 1\n");
    assert_non_null(failed);
    assert_true(strncmp(failed + strlen("c alone: exit code 1\n"), "  try:", 6) != 0);
    assert_null(strstr(text_get(&text), "(null)"));
    feasibility_fini(&study);
}

UNIT_TESTS(void)
{
    /* As the program does: names are cut with a character that the C locale does not have. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "en_US.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_wide_as_it_takes_everything_is_there),
        cmocka_unit_test(tables_fit_windows_of_80_and_100_columns_in_colour_and_without),
        cmocka_unit_test(the_estimate_says_what_is_not_known),
        cmocka_unit_test(a_model_that_failed_without_a_proposal_has_no_line_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
