#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "watched.h"

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("in it: %s\n%s", part, text);
}

/* At one size: the experiment, its readings and verdict so far, the plan. */
static void shows_all(const struct made *made, size_t rows, size_t columns, bool ascii)
{
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    char *out = drawn(&view, &scene, rows, columns, ascii);
    static const char *const parts[] = {"repo_net_002", "310 W",     "97 %", "20.0/80.0 GiB",
                                        "no evidence",  "3/4",       "62 %", "loss 0.25",
                                        "1m00s",        "under way", "clean"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        has(out, parts[i]);
    has(out, ascii ? "61 C" : "61 °C");
    size_t lines = 0;
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n"), lines++) {
        assert_true(utf8_columns(line) <= columns);
        if (ascii)
            for (const char *c = line; *c; c++)
                assert_true(*c >= ' ' && *c <= '~');
    }
    assert_int_equal(lines, rows);
    free(out);
}

static void every_reading_is_there_at_40_to_200_columns_with_and_without_utf8(void **state)
{
    (void)state;
    struct made *made = make(6, 1);
    for (size_t columns = 40; columns <= 200; columns++) {
        shows_all(made, 48, columns, false);
        shows_all(made, 48, columns, true);
    }
    made_free(made);
}

static void no_size_however_small_writes_outside(void **state)
{
    (void)state;
    struct made *made = make(30, 5);
    struct watch_item items[] = {{"results/run_1", "under way"}, {"results/run_2", "not running"}};
    struct watch_scene scene = scene_of(made);
    scene.runs = items;
    scene.run_count = 2;
    for (size_t rows = 1; rows < 30; rows++)
        for (size_t columns = 1; columns < 130; columns += 3)
            for (int over = 0; over < 3; over++) {
                struct watch_view view;
                watch_view_begin(&view);
                view.helping = over == 1;
                view.listing = over == 2;
                free(drawn(&view, &scene, rows, columns, columns % 2));
            }
    made_free(made);
}

static void what_was_not_read_is_a_dash_and_never_zero(void **state)
{
    (void)state;
    struct made *made = make(3, 1);
    struct live_slot *slot = &made->slots[0];
    slot->power_w = slot->utilisation_percent = slot->memory_bytes = slot->memory_total_bytes =
        slot->temperature_c = (struct reading){0};
    slot->training = (struct live_training){0};
    slot->metrics = slot->power_points = slot->metric_points = NULL;
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    char *out = drawn(&view, &scene, 40, 160, false);
    has(out,
        "running 1m00s     –                                  –          –              –      –");
    has(out, "no readings yet");
    has_not(out, "0 W");
    has_not(out, "0 °C");
    has_not(out, " 0 %");
    free(out);
    made_free(made);
}

static void what_is_under_way_is_never_clean_and_its_evidence_is_told(void **state)
{
    (void)state;
    struct made *made = make(2, 1);
    made->rows[0].verdict = VERDICT_SUSPECT;
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    struct watch_log log = {.name = (char[]){"repo_net_002/training.log"}};
    scene.log = &log;
    char *out = drawn(&view, &scene, 30, 120, false);
    has(out, "no evidence");
    has_not(out, "clean");
    free(out);
    made->rows[1].has_evidence = true;
    made->rows[1].weight = EVIDENCE_CONTAMINATED;
    made->rows[1].evidence = (char[]){"python3 (pid 7) used the GPU"};
    out = drawn(&view, &scene, 30, 120, false);
    has(out, "contaminated");
    has(out, "python3 (pid 7) used the GPU");
    free(out);
    made_free(made);
}

static void states_say_how_to_go_on(void **state)
{
    (void)state;
    struct made *made = make(3, 0);
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    made->run.state = LIVE_DIED;
    char *out = drawn(&view, &scene, 20, 100, false);
    has(out, "its program has died: tare run --resume results/run_1 goes on with it");
    has_not(out, "under way");
    free(out);
    made->run.state = LIVE_ENDED;
    made->run.outcome = "finished";
    out = drawn(&view, &scene, 20, 100, false);
    has(out, "final state (finished)");
    has_not(out, "--resume");
    free(out);
    made->run.outcome = "interrupted";
    out = drawn(&view, &scene, 20, 100, false);
    has(out, "final state (interrupted): tare run --resume results/run_1 goes on with it");
    free(out);
    made->run.state = LIVE_ELSEWHERE;
    made->run.live_ns = 900 * NS_PER_S;
    out = drawn(&view, &scene, 20, 100, false);
    has(out, "whether its program lives is not known here; last readings before 1m40s");
    free(out);
    made_free(made);
}

UNIT_TESTS(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reading_is_there_at_40_to_200_columns_with_and_without_utf8),
        cmocka_unit_test(no_size_however_small_writes_outside),
        cmocka_unit_test(what_was_not_read_is_a_dash_and_never_zero),
        cmocka_unit_test(what_is_under_way_is_never_clean_and_its_evidence_is_told),
        cmocka_unit_test(states_say_how_to_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
