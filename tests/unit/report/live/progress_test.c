#include "report/live/progress_line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "plan_fixture.h"
#include "report/live/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 65536 };

static int64_t fake_now_ns;

static int64_t fake_now(void)
{
    return fake_now_ns;
}

static void pass(double seconds)
{
    fake_now_ns += (int64_t)(seconds * 1e9);
}

static struct plan_experiment experiments[] = {
    FIXTURE_EXPERIMENT(1, 0, "digits_mlp_001", "digits", "mlp", 2),
    FIXTURE_EXPERIMENT(2, 0, "digits_mlp_002", "digits", "mlp", 2),
    FIXTURE_EXPERIMENT(3, 0, "digits_mlp_003", "digits", "mlp", 2),
};

struct screen {
    struct plan plan;
    FILE *file;
    struct progress *progress;
    char text[TEXT_MAX];
};

static void open_screen(struct screen *screen, enum progress_style style, size_t width, bool colour)
{
    screen->plan = fixture_plan(experiments, 3);
    screen->file = tmpfile();
    assert_non_null(screen->file);
    struct progress_options options = {.style = style,
                                       .fd = fileno(screen->file),
                                       .colour = colour,
                                       .width = width,
                                       .now = fake_now,
                                       .plan = &screen->plan};
    fake_now_ns = 1000 * NS_PER_S;
    screen->progress = progress_new(&options);
}

static const char *written(struct screen *screen)
{
    ssize_t count = pread(fileno(screen->file), screen->text, TEXT_MAX - 1, 0);
    assert_true(count >= 0);
    screen->text[count] = '\0';
    return screen->text;
}

static void close_screen(struct screen *screen)
{
    progress_free(screen->progress);
    screen->progress = NULL;
}

static void happens(struct screen *screen, enum event_type type, int64_t experiment,
                    int64_t attempt, const char *data)
{
    struct event event = {.type = type,
                          .monotonic_ns = fake_now_ns,
                          .realtime_ns = NS_PER_S,
                          .session = 1,
                          .experiment = experiment,
                          .attempt = attempt,
                          .data = json_loads(data, 0, NULL)};
    assert_non_null(event.data);
    progress_event(screen->progress, &event);
    json_decref(event.data);
}

/* All parts on one row, however wide. */
static void assert_parts(const struct text *parts, const char *expected)
{
    AUTO_TEXT struct text line = {0};
    for (const char *c = text_get(parts); *c; c++) {
        if (*c == LAYOUT_PART[0] || *c == LAYOUT_GROUP[0])
            text_add(&line, "  ");
        else
            text_add_char(&line, *c);
    }
    assert_string_equal(text_get(&line), expected);
}

static void assert_line(struct screen *screen, const char *expected)
{
    AUTO_TEXT struct text parts = {0};
    progress_line(screen->progress, 80, &parts);
    assert_parts(&parts, expected);
}

static void run_first(struct screen *screen)
{
    happens(screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{\"id\": \"digits_mlp_001\"}");
    happens(screen, EVENT_ATTEMPT_STARTED, 1, 1, "{}");
    pass(20);
    happens(screen, EVENT_METRIC, 1, 1, "{\"name\": \"accuracy\", \"value\": 0.9612345678}");
    happens(screen, EVENT_ATTEMPT_ENDED, 1, 1, "{\"outcome\": \"succeeded\"}");
    happens(screen, EVENT_EXPERIMENT_ENDED, 1, 0,
            "{\"outcome\": \"succeeded\", \"retries\": 0, \"duration_s\": 20.0, "
            "\"metrics\": {\"accuracy\": 0.9612345678, \"loss\": null}}");
}

static void assert_lane_line(struct screen *screen, size_t number, const char *expected)
{
    AUTO_TEXT struct text parts = {0};
    progress_line_of(screen->progress, number, 80, &parts);
    assert_parts(&parts, expected);
}

static void each_lane_has_a_line_of_its_own_below_that_of_all(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{\"lane\": 1, \"gpus\": [\"GPU 0\"]}");
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{\"lane\": 2, \"gpus\": [\"GPU 1\"]}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 1, 1, "{}");
    pass(4);
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    happens(&screen, EVENT_METRIC, 2, 1, "{\"name\": \"loss\", \"value\": 0.25}");
    pass(6);
    assert_lane_line(&screen, 0, "0 of 3 done");
    assert_lane_line(&screen, 1, "GPU 0  [1/3] digits_mlp_001  10 s");
    assert_lane_line(&screen, 2, "GPU 1  [2/3] digits_mlp_002  6 s  loss 0.25");
    happens(&screen, EVENT_EXPERIMENT_ENDED, 1, 0,
            "{\"outcome\": \"succeeded\", \"retries\": 0, \"duration_s\": 10.0}");
    /* Ten seconds each, which the second has had; with the third and a pause of 10 s that is 20 s
     * for two lanes. Each is taken to be within 40 % and so is the mean of the two: 1.28 * sqrt(4^2
     * + 4^2 + 8^2) / 2 = 6.3. */
    assert_lane_line(&screen, 0, "1 of 3 done, about 4 to 16 s left");
    assert_lane_line(&screen, 1, "GPU 0  idle");
    /* One whose GPU is lost is not done: another lane takes it up. */
    happens(&screen, EVENT_EXPERIMENT_ENDED, 2, 0,
            "{\"outcome\": \"interrupted\", \"retries\": 0, \"duration_s\": 7.0}");
    assert_lane_line(&screen, 2, "GPU 1  idle");
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{\"lane\": 1, \"gpus\": [\"GPU 0\"]}");
    assert_lane_line(&screen, 1, "GPU 0  [2/3] digits_mlp_002  0 s");
    close_screen(&screen);
}

static void plain_lines_tell_starts_ends_retries_and_evidence(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_PLAIN, 0, false);
    run_first(&screen);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    happens(&screen, EVENT_ATTEMPT_ENDED, 2, 1,
            "{\"outcome\": \"failed\", \"error\": \"exit code 3\"}");
    happens(&screen, EVENT_RETRY_PAUSE, 2, 1, "{\"seconds\": 30}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 2, "{}");
    happens(&screen, EVENT_EVIDENCE, 2, 2,
            "{\"kind\": \"leftover_processes\", \"text\": \"2 processes were left\"}");
    happens(&screen, EVENT_NOTE, 2, 2, "{\"text\": \"digits_mlp_002: the log reached its cap\"}");
    happens(&screen, EVENT_NOTE, 2, 2,
            "{\"text\": \"metric 'f1' was on no line\", \"metric\": \"f1\"}");
    happens(&screen, EVENT_EXPERIMENT_ENDED, 2, 0,
            "{\"outcome\": \"failed\", \"retries\": 1, \"duration_s\": 2.5, \"error\": \"exit code "
            "3\"}");
    progress_tick(screen.progress);
    close_screen(&screen);
    assert_string_equal(
        written(&screen),
        "[1/3] digits_mlp_001 started\n"
        "[1/3] digits_mlp_001 succeeded in 20.0 s, accuracy 0.961235, loss not found\n"
        "[2/3] digits_mlp_002 started\n"
        "[2/3] digits_mlp_002 attempt 1 failed: exit code 3; retry in 30 s\n"
        "[2/3] digits_mlp_002 evidence (recorded): 2 processes were left\n"
        "[2/3] digits_mlp_002 the log reached its cap\n"
        "[2/3] digits_mlp_002 failed after 2.5 s, 1 retry: exit code 3\n");
    fclose(screen.file);
}

static void the_live_line_says_what_runs_how_long_and_how_much_is_left(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    assert_line(&screen, "");
    run_first(&screen);
    happens(&screen, EVENT_PAUSE, 0, 0, "{\"seconds\": 10, \"why\": \"between_runs\"}");
    pass(3.5);
    /* 6.5 s of this pause, two at 20 s each, and one pause of 10 s between them; 1.28 * sqrt(8^2 +
     * 8^2 + 16^2) = 25. */
    assert_line(&screen,
                "[1/3] digits_mlp_001  next in 7 s  nothing trains  about 30 to 80 s left");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"sensor\": \"gpu_utilisation_percent\", \"value\": 0}");
    assert_line(
        &screen,
        "[1/3] digits_mlp_001  next in 7 s  nothing trains  GPU 0 %  about 30 to 80 s left");
    pass(6.5);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    pass(5);
    happens(&screen, EVENT_METRIC, 2, 1, "{\"name\": \"loss\", \"value\": 0.25}");
    /* 45 ± 25 */
    assert_line(&screen, "[2/3] digits_mlp_002  5 s  about 20 to 70 s left  loss 0.25");
    happens(&screen, EVENT_ATTEMPT_ENDED, 2, 1,
            "{\"outcome\": \"failed\", \"error\": \"exit code 3\"}");
    happens(&screen, EVENT_RETRY_PAUSE, 2, 1, "{\"seconds\": 5}");
    pass(1);
    assert_line(&screen,
                /* 4 + 20 + 10 + 20: from its beginning */
                "[2/3] digits_mlp_002  retry in 4 s  nothing trains  about 30 to 80 s left");
    pass(4);
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 2, "{}");
    pass(2);
    /* 48 ± 25 */
    assert_line(&screen,
                "[2/3] digits_mlp_002  attempt 2/3  2 s  about 25 to 75 s left  loss 0.25");
    close_screen(&screen);
    fclose(screen.file);
}

static void what_was_drawn_stands_in_the_line_of_the_end(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_PLAIN, 0, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 1, 1, "{}");
    happens(&screen, EVENT_ATTEMPT_ENDED, 1, 1,
            "{\"outcome\": \"failed\", \"error\": \"exit code 3\","
            " \"energy\": {\"gpu\": {\"joules\": 1.0, \"half_width_j\": 1.0}}}");
    happens(&screen, EVENT_RETRY_PAUSE, 1, 1, "{\"seconds\": 1}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 1, 2, "{}");
    happens(&screen, EVENT_ATTEMPT_ENDED, 1, 2,
            "{\"outcome\": \"succeeded\", \"energy\": {"
            "\"gpu\": {\"joules\": 36000.1234, \"half_width_j\": 3.14159},"
            "\"cpu_package\": {\"joules\": 999.9, \"half_width_j\": 0.52}}}");
    happens(&screen, EVENT_EXPERIMENT_ENDED, 1, 0,
            "{\"outcome\": \"succeeded\", \"retries\": 1, \"duration_s\": 60.0, \"metrics\": "
            "{\"loss\": 0.5}}");
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_EXPERIMENT_ENDED, 2, 0,
            "{\"outcome\": \"interrupted\", \"retries\": 0}");
    close_screen(&screen);
    assert_string_equal(written(&screen),
                        "[1/3] digits_mlp_001 started\n"
                        "[1/3] digits_mlp_001 attempt 1 failed: exit code 3; retry in 1 s\n"
                        "[1/3] digits_mlp_001 succeeded in 1 min 00 s, 1 retry, GPU 36.000 ± 0.003 "
                        "kJ, CPU 999.9 ± 0.5 J, "
                        "loss 0.5\n"
                        "[2/3] digits_mlp_002 started\n"
                        "[2/3] digits_mlp_002 interrupted after 0.0 s\n");
    fclose(screen.file);
}

static void the_live_line_says_what_is_drawn_now(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    run_first(&screen);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    pass(5);
    happens(&screen, EVENT_METRIC, 2, 1, "{\"name\": \"loss\", \"value\": 0.25}");
    happens(&screen, EVENT_METRIC, 2, 1, "{\"sensor\": \"gpu_power_w\", \"value\": 611.6}");
    assert_line(&screen, "[2/3] digits_mlp_002  5 s  612 W  about 20 to 70 s left  loss 0.25");
    happens(&screen, EVENT_ATTEMPT_ENDED, 2, 1, "{\"outcome\": \"failed\"}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 2, "{}");
    /* 50 ± 25 */
    assert_line(&screen,
                "[2/3] digits_mlp_002  attempt 2/3  0 s  about 25 to 75 s left  loss 0.25");
    close_screen(&screen);
    fclose(screen.file);
}

static void the_live_line_says_how_long_a_stop_may_take(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    screen.plan.timing.stop_grace_s = 8;
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    pass(5);
    happens(&screen, EVENT_ATTEMPT_STOPPING, 2, 1, "{\"reason\": \"exited\"}");
    assert_line(&screen, "[2/3] digits_mlp_002  5 s");
    happens(&screen, EVENT_ATTEMPT_STOPPING, 2, 1, "{\"reason\": \"timeout\"}");
    pass(2);
    assert_line(&screen, "[2/3] digits_mlp_002  stopping, at most 6 s");
    happens(&screen, EVENT_ATTEMPT_ENDED, 2, 1,
            "{\"outcome\": \"failed\", \"error\": \"timeout\"}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 2, "{}");
    happens(&screen, EVENT_ATTEMPT_STOPPING, 2, 2, "{\"reason\": \"interrupted\"}");
    assert_line(&screen,
                "[2/3] digits_mlp_002  attempt 2/3  stopping, at most 8 s; Ctrl-C again: at once");
    close_screen(&screen);
    fclose(screen.file);
}

/* Attempts that were interrupted count as attempts, but not as retries. */
static void after_a_resume_no_number_of_attempts_is_promised(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 3, "{}");
    pass(1);
    assert_line(&screen, "[2/3] digits_mlp_002  attempt 3  1 s");
    close_screen(&screen);
    fclose(screen.file);
}

static void a_tick_asks_for_the_next_one_only_where_something_moves(void **state)
{
    (void)state;
    static const struct {
        enum progress_style style;
        bool soon;
    } cases[] = {{PROGRESS_LIVE, true},
                 {PROGRESS_PLAIN, false},
                 {PROGRESS_JSON, false},
                 {PROGRESS_QUIET, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct screen screen;
        open_screen(&screen, cases[i].style, 80, false);
        run_first(&screen);
        assert_int_equal(progress_tick(screen.progress), cases[i].soon);
        close_screen(&screen);
        fclose(screen.file);
    }
}

static void the_live_line_is_cut_to_the_width_and_redrawn_in_place(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 20, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{}");
    pass(7);
    progress_tick(screen.progress);
    /* 19 of "[1/3] digits_mlp_001  0 s": the last column stays free, and what is cut says so. */
    assert_string_equal(written(&screen), "\r\033[K[1/3] digits_mlp_0…\r\033[K[1/3] digits_mlp_0…");
    close_screen(&screen);
    /* At the end nothing of it is left. */
    const char *all = written(&screen);
    assert_string_equal(all + strlen(all) - 4, "\r\033[K");
    fclose(screen.file);
}

static void ended_experiments_stay_above_the_live_line(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 100, true);
    run_first(&screen);
    assert_non_null(strstr(written(&screen),
                           "\r\033[K[1/3] digits_mlp_001\033[32m succeeded in 20.0 s, "
                           "accuracy 0.961235, loss not found\033[0m\n"));
    assert_null(strstr(written(&screen), "started"));
    close_screen(&screen);
    fclose(screen.file);
}

static void after_the_terminal_is_lost_nothing_is_drawn(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 100, false);
    happens(&screen, EVENT_NOTE, 0, 0, "{\"text\": \"detached\"}");
    size_t before = strlen(written(&screen));
    run_first(&screen);
    progress_tick(screen.progress);
    assert_true(progress_detached(screen.progress));
    close_screen(&screen);
    assert_int_equal(strlen(written(&screen)), before);
    fclose(screen.file);
}

static void a_lost_terminal_does_not_end_lines_that_go_into_a_file(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_PLAIN, 0, false);
    happens(&screen, EVENT_NOTE, 0, 0, "{\"text\": \"detached\"}");
    run_first(&screen);
    assert_false(progress_detached(screen.progress));
    close_screen(&screen);
    assert_string_equal(
        written(&screen),
        "the terminal is gone; the run goes on\n"
        "[1/3] digits_mlp_001 started\n"
        "[1/3] digits_mlp_001 succeeded in 20.0 s, accuracy 0.961235, loss not found\n");
    fclose(screen.file);
}

static void quiet_says_nothing(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_QUIET, 0, false);
    run_first(&screen);
    progress_tick(screen.progress);
    close_screen(&screen);
    assert_string_equal(written(&screen), "");
    fclose(screen.file);
}

static void json_is_one_object_a_line_and_nothing_else(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_JSON, 0, true);
    run_first(&screen);
    happens(&screen, EVENT_METRIC, 1, 1,
            "{\"sensor\": \"gpu_power_w\", \"value\": 611.6}"); /* once a second: is none of it */
    close_screen(&screen);
    char *text = strdup(written(&screen));
    static const char *const types[] = {"experiment_started", "attempt_started", "metric",
                                        "attempt_ended", "experiment_ended"};
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), count++) {
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        assert_true(count < sizeof types / sizeof *types);
        assert_string_equal(json_string_value(json_object_get(json, "type")), types[count]);
        assert_int_equal(json_integer_value(json_object_get(json, "experiment")), 1);
        json_decref(json);
    }
    assert_int_equal(count, 5);
    free(text);
    fclose(screen.file);
}

static void what_came_out_of_a_log_cannot_steer_the_terminal(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_PLAIN, 0, false);
    happens(&screen, EVENT_EXPERIMENT_ENDED, 1, 0,
            "{\"outcome\": \"failed\", \"retries\": 0, \"duration_s\": 1.0, \"error\": "
            "\"\\u001b]0;x\\u0007\"}");
    close_screen(&screen);
    assert_string_equal(written(&screen), "[1/3] digits_mlp_001 failed after 1.0 s: ?]0;x?\n");
    fclose(screen.file);
}

static void experiments_of_an_earlier_session_do_not_count_as_left(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 100, false);
    progress_skip(screen.progress, 3);
    run_first(&screen);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 2, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 2, 1, "{}");
    pass(1);
    /* 19 ± 1.28 * sqrt(8^2 + 8^2) = 14.5 */
    assert_line(&screen, "[2/3] digits_mlp_002  1 s  about 5 to 35 s left");
    close_screen(&screen);
    fclose(screen.file);
}

static void the_last_three_metrics_are_shown_with_their_trend(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 80, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 1, 1, "{}");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"a\", \"value\": 1}");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"b\", \"value\": 2}");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"a\", \"value\": 0.5}");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"c\", \"value\": 3}");
    assert_line(&screen, "[1/3] digits_mlp_001  0 s  a 0.5 ↓  b 2.0  c 3.0");
    /* b was seen least lately */
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"d\", \"value\": 4}");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"c\", \"value\": 3.5}");
    assert_line(&screen, "[1/3] digits_mlp_001  0 s  a 0.5 ↓  d 4.0  c 3.5 ↑");
    happens(&screen, EVENT_METRIC, 1, 1, "{\"name\": \"c\", \"value\": 3.5}");
    assert_line(&screen, "[1/3] digits_mlp_001  0 s  a 0.5 ↓  d 4.0  c 3.5");
    close_screen(&screen);
    fclose(screen.file);
}

static void a_range_is_told_as_a_person_rounds(void **state)
{
    (void)state;
    static const struct {
        double low_s, expected_s, high_s;
        const char *expected;
    } rows[] = {
        {3, 7, 11, "about 7 s left"},
        {31.4, 56.5, 81.6, "about 30 to 80 s left"},
        {1200, 2100, 3000, "about 20 to 50 min left"},
        {0, 100, 300, "up to about 5 min left"},
        {5400, 9000, 12600, "about 1.5 to 3.5 h left"},
        {10.4 * 3600, 15 * 3600, 19.6 * 3600, "about 10 to 20 h left"},
        {86400, 172800, 259200, "about 1 to 3 days left"},
        {1990, 2000, 2010, "about 33 min 20 s left"}, /* narrow */
        {590, 600, 610, "about 10 min 00 s left"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT struct text text = {0};
        progress_add_left(
            &text, &(struct estimate_left){rows[i].expected_s, rows[i].low_s, rows[i].high_s});
        assert_string_equal(text_get(&text), rows[i].expected);
    }
}

/* A terminal of 40 columns broke a row of 99 into three: all of them are taken away. */
static void rows_that_a_narrower_terminal_broke_are_taken_away(void **state)
{
    (void)state;
    struct screen screen;
    open_screen(&screen, PROGRESS_LIVE, 100, false);
    happens(&screen, EVENT_EXPERIMENT_STARTED, 1, 0, "{}");
    happens(&screen, EVENT_ATTEMPT_STARTED, 1, 1, "{}");
    screen.progress->columns[0] = 99;
    screen.progress->options.width = 40;
    size_t before = strlen(written(&screen));
    progress_tick(screen.progress);
    assert_string_equal(written(&screen) + before,
                        "\r\033[K\033[A\033[K\033[A\033[K\r\033[K[1/3] digits_mlp_001  0 s");
    close_screen(&screen);
    fclose(screen.file);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lane_has_a_line_of_its_own_below_that_of_all),
        cmocka_unit_test(plain_lines_tell_starts_ends_retries_and_evidence),
        cmocka_unit_test(the_live_line_says_what_runs_how_long_and_how_much_is_left),
        cmocka_unit_test(what_was_drawn_stands_in_the_line_of_the_end),
        cmocka_unit_test(the_live_line_says_what_is_drawn_now),
        cmocka_unit_test(the_live_line_says_how_long_a_stop_may_take),
        cmocka_unit_test(after_a_resume_no_number_of_attempts_is_promised),
        cmocka_unit_test(a_tick_asks_for_the_next_one_only_where_something_moves),
        cmocka_unit_test(the_live_line_is_cut_to_the_width_and_redrawn_in_place),
        cmocka_unit_test(ended_experiments_stay_above_the_live_line),
        cmocka_unit_test(after_the_terminal_is_lost_nothing_is_drawn),
        cmocka_unit_test(a_lost_terminal_does_not_end_lines_that_go_into_a_file),
        cmocka_unit_test(quiet_says_nothing),
        cmocka_unit_test(json_is_one_object_a_line_and_nothing_else),
        cmocka_unit_test(what_came_out_of_a_log_cannot_steer_the_terminal),
        cmocka_unit_test(the_last_three_metrics_are_shown_with_their_trend),
        cmocka_unit_test(a_range_is_told_as_a_person_rounds),
        cmocka_unit_test(rows_that_a_narrower_terminal_broke_are_taken_away),
        cmocka_unit_test(experiments_of_an_earlier_session_do_not_count_as_left),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
