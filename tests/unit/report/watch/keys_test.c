#include "report/watch/keys.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "watched.h"

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
        cmocka_unit_test(a_request_is_made_only_after_y),
        cmocka_unit_test(the_chosen_row_is_always_shown_among_ten_thousand),
        cmocka_unit_test(m_goes_through_the_metrics_and_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
