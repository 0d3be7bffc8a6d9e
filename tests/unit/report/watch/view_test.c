#include "report/watch/keys.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERIMENTS_MAX = 10000, SLOTS_MAX = 64, NOW_S = 1000 };

static char loss[] = "loss", accuracy[] = "accuracy", dir[] = "results/run_1", run_name[] = "run_1",
            anything[] = "x";

/* A run filled by hand: experiment 1 has ended, those from 2 on are in the slots, the others are
 * planned. */
struct made {
    struct live_run run;
    struct plan_experiment plan[EXPERIMENTS_MAX];
    struct live_experiment rows[EXPERIMENTS_MAX];
    struct live_slot slots[SLOTS_MAX];
    char ids[EXPERIMENTS_MAX][24];
    struct registry_metric metrics[2];
    json_t *gpus, *values, *power, *points;
};

static struct made *make(size_t experiments, size_t slots)
{
    struct made *made = mem_alloc(sizeof *made);
    made->gpus = json_pack("[s]", "GPU 0");
    made->values = json_pack("{s:f, s:f}", "loss", 0.25, "accuracy", 0.75);
    made->power = json_pack("[[f,f],[f,f]]", 900.0, 300.0, 999.0, 310.0);
    made->points = json_pack("{s:[[f,f],[f,f]]}", "loss", 900.0, 0.5, 999.0, 0.25);
    made->metrics[0].name = loss;
    made->metrics[1].name = accuracy;
    made->run = (struct live_run){.dir = dir,
                                  .name = run_name,
                                  .experiments = made->rows,
                                  .slots = made->slots,
                                  .slot_count = slots,
                                  .live_ns = NOW_S * NS_PER_S,
                                  .session_started_ns = 100 * NS_PER_S,
                                  .plan = {.experiments = made->plan, .count = experiments}};
    for (size_t i = 0; i < experiments; i++) {
        snprintf(made->ids[i], sizeof made->ids[i], "repo_net_%03zu", i + 1);
        made->plan[i] = (struct plan_experiment){.id = made->ids[i], .number = i + 1};
        made->plan[i].foreground.metrics = made->metrics;
        made->plan[i].foreground.metric_count = 2;
        made->plan[i].foreground.repo = made->plan[i].foreground.model = anything;
        made->rows[i] =
            (struct live_experiment){.plan = &made->plan[i],
                                     .state = i > 0 && i <= slots ? STATE_RUNNING : STATE_PLANNED,
                                     .slot = i > 0 && i <= slots ? i : 0,
                                     .started_ns = 940 * NS_PER_S};
    }
    made->rows[0].state = STATE_DONE;
    made->rows[0].outcome = OUTCOME_SUCCEEDED;
    made->rows[0].verdict = VERDICT_CLEAN;
    made->rows[0].duration_s = 75;
    for (size_t i = 0; i < slots; i++)
        made->slots[i] = (struct live_slot){.number = i + 1,
                                            .gpus = made->gpus,
                                            .experiment = i + 2,
                                            .attempt = 1,
                                            .phase = "running",
                                            .since_ns = 940 * NS_PER_S,
                                            .started_ns = 940 * NS_PER_S,
                                            .power_w = {310, true},
                                            .utilisation_percent = {97, true},
                                            .memory_bytes = {20.0 * (1 << 30), true},
                                            .memory_total_bytes = {80.0 * (1 << 30), true},
                                            .temperature_c = {61, true},
                                            .training = {.known = true,
                                                         .name = "epoch",
                                                         .at = {3, true},
                                                         .of = {4, true},
                                                         .share = {0.625, true}},
                                            .metrics = made->values,
                                            .power_points = made->power,
                                            .metric_points = made->points};
    return made;
}

static void made_free(struct made *made)
{
    json_decref(made->gpus);
    json_decref(made->power);
    json_decref(made->values);
    json_decref(made->points);
    free(made);
}

static struct watch_scene scene_of(const struct made *made)
{
    return (struct watch_scene){.run = &made->run, .run_count = 1, .now_ns = NOW_S * NS_PER_S};
}

static char *drawn(struct watch_view *view, const struct watch_scene *scene, size_t rows,
                   size_t columns, bool ascii)
{
    struct grid grid = {.ascii = ascii};
    struct text text = {0};
    grid_resize(&grid, rows, columns);
    watch_view_settle(view, scene->run);
    watch_draw(view, scene, &grid);
    grid_print(&grid, &text);
    grid_fini(&grid);
    return text_take(&text);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not in it: %s\n%s", part, text);
}

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

static enum watch_action press(struct watch_view *view, const struct watch_scene *scene,
                               const char *keys)
{
    enum watch_action action = WATCH_DRAW;
    for (; *keys; keys++)
        action = watch_key(view, scene, *keys == '\r' ? KEY_OF_ENTER : *keys);
    return action;
}

static void a_request_is_made_only_after_y(void **state)
{
    (void)state;
    struct made *made = make(4, 1);
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    watch_view_settle(&view, scene.run);
    assert_int_equal(press(&view, &scene, "p"), WATCH_DRAW);
    assert_int_equal(press(&view, &scene, "q"), WATCH_DRAW); /* an answer, not the key */
    assert_int_equal(press(&view, &scene, "py"), WATCH_ASK);
    assert_int_equal(view.request, LIVE_PAUSE);
    made->run.paused = true;
    assert_int_equal(press(&view, &scene, "py"), WATCH_ASK);
    assert_int_equal(view.request, LIVE_CONTINUE);
    assert_int_equal(press(&view, &scene, "sy"), WATCH_ASK);
    assert_int_equal(view.request, LIVE_SKIP);
    assert_int_equal(view.request_experiment, 2);
    assert_int_equal(press(&view, &scene, "Sy"), WATCH_ASK);
    assert_int_equal(view.request, LIVE_STOP);
    /* One that is planned is not skipped. */
    assert_int_equal(press(&view, &scene, "jjsy"), WATCH_DRAW);
    assert_true(view.said_bad);
    made->run.state = LIVE_ENDED;
    assert_int_equal(press(&view, &scene, "Sy"), WATCH_DRAW);
    made_free(made);
}

static void the_chosen_row_is_always_shown_among_ten_thousand(void **state)
{
    (void)state;
    struct made *made = make(EXPERIMENTS_MAX, SLOTS_MAX);
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    free(drawn(&view, &scene, 40, 120, false));
    press(&view, &scene, "G");
    char *out = drawn(&view, &scene, 40, 120, false);
    has(out, "Plan 10000/10000");
    has(out, "10000 repo_net_10000");
    free(out);
    press(&view, &scene, "/_5000\r");
    out = drawn(&view, &scene, 40, 120, false);
    has(out, " 5000 repo_net_5000");
    free(out);
    press(&view, &scene, "f\t\tG"); /* slots */
    out = drawn(&view, &scene, 40, 120, false);
    has(out, "64 GPU 0  repo_net_065");
    has(out, "Plan 65/10000");
    free(out);
    made_free(made);
}

static void m_goes_through_the_metrics_and_begins_again(void **state)
{
    (void)state;
    struct made *made = make(3, 1);
    struct watch_view view;
    watch_view_begin(&view);
    struct watch_scene scene = scene_of(made);
    char *out = drawn(&view, &scene, 40, 120, false);
    has(out, "loss: 0.25");
    free(out);
    press(&view, &scene, "m");
    out = drawn(&view, &scene, 40, 120, false);
    has(out, "─ accuracy ─"); /* which has no points here */
    free(out);
    press(&view, &scene, "m");
    out = drawn(&view, &scene, 40, 120, false);
    has(out, "loss: 0.25");
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
        cmocka_unit_test(a_request_is_made_only_after_y),
        cmocka_unit_test(the_chosen_row_is_always_shown_among_ten_thousand),
        cmocka_unit_test(m_goes_through_the_metrics_and_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
