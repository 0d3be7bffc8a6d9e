#include "run/log/bar.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lines as tqdm 4.67 wrote them. */
static void lines_of_tqdm_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *line, *name;
        double done, total; /* total 0: none */
    } rows[] = {
        {"plain:   0%|          | 0/10 [00:00<?, ?it/s]", "plain", 0, 10},
        {"plain: 100%|██████████| 10/10 [00:00<00:00, 192.66it/s]", "plain", 10, 10},
        {" 70%|███████   | 7/10 [00:00<00:00, 192.71it/s]", "", 7, 10},
        {"ascii:  15%|#5        | 3/20 [00:00<00:00, 193.64it/s]", "ascii", 3, 20},
        {"open: 7it [00:00, 191.37it/s]", "open", 7, 0},
        {"0img [00:00, ?img/s]", "", 0, 0},
        {"scaled:   0%|          | 0.00/50.0k [00:00<?, ?B/s]", "scaled", 0, 50000},
        {"scaled:  25%|██▍       | 12.3k/50.0k [00:00<00:00, 80.4MB/s, acc=[1, 2], loss=0.25]",
         "scaled", 12300, 50000},
        {"kib:  29%|██▊       | 293k/1.00M [00:00<00:00, 83.9GB/s]", "kib", 293000, 1000000},
        {"Epoch 3/10:  30%|\033[32m███       \033[0m| 3/10 [00:00<00:00, 191.31it/s]", "Epoch 3/10",
         3, 10},
        {"narrow:  30% 3/10 [00:00<00:00, 193.18it/s]", "narrow", 3, 10},
        {"slow:  10%|█         | 1/10 [10:00:00<90:00:00, 36000.00s/it]", "slow", 1, 10},
        {"days:  43%|████▎     | 3/7 [111:06:40<148:08:53, 133333.33s/it, x=1]", "days", 3, 7},
        {"over: 12it [00:40,  3.33s/it]", "over", 12, 0},
        {"float:  46%|████▌     | 1.5/3.25 [00:40<00:46, 26.67s/it]", "float", 1.5, 3.25},
        {"train:  75%|███████▌  | 3/4 [00:00<00:00, 187.72it/s, loss=0.1]\033[A", "train", 3, 4},
        /* What the program prints at the same time goes on behind it. */
        {" 10%|█         | 1/10 [00:03<00:27,  3.01s/it]epoch 1 loss: 0.3", "", 1, 10},
        /* Blanks behind it take away what was longer before. */
        {"a: 50%|#####     | 5/10 [00:03<00:03,  1.0it/s]       ", "a", 5, 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bar bar;
        assert_true(bar_parse(rows[i].line, strlen(rows[i].line), &bar));
        assert_string_equal(bar.name, rows[i].name);
        assert_true(fabs(bar.done - rows[i].done) < 1e-9 * (1 + rows[i].done));
        assert_int_equal(bar.total.valid, rows[i].total > 0);
        if (rows[i].total > 0)
            assert_true(bar.total.value == rows[i].total);
    }
}

static void other_lines_are_no_bars(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "[",
        "loss: 0.3 [00:10]",
        "[00:10<00:12, 4.5it/s]",
        "45/100 [00:10<00:12, 4.5it/s]",                          /* no percentage */
        "  45%|####      | 45/100 [00:10<00:12, 4.5it/s, loss=0", /* still being written */
        "  45%|####      | 45/1",
        "  90%|######### | 45/100 [00:10<00:12, 4.5it/s]", /* the percentage is of something else */
        "  45%|####      | 45/0 [00:10<00:12, 4.5it/s]",
        " 145%|##########| 145/100 [00:10<00:12, 4.5it/s]",
        "  45%|####      | 45/100/2 [00:10<00:12, 4.5it/s]",
        "  45%|####      | 45/100 [0:1<00:12, 4.5it/s]",
        "45 [00:10, 4.5it/s]",
        "went on for 45it [00:10, that is all]", /* no rate */
        "2026-11-23 [12:00:01, main] 100%",
        "100%|##########| 999999999999999999999/999999999999999999999 [00:10<00:00, 1it/s]",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct bar bar;
        assert_false(bar_parse(lines[i], strlen(lines[i]), &bar));
    }
    char longest[4096];
    memset(longest, ' ', sizeof longest);
    static const char bar_line[] = "45%|####      | 45/100 [00:10<00:12, 4.5it/s]";
    memcpy(longest + sizeof longest - sizeof bar_line, bar_line, sizeof bar_line - 1);
    assert_false(bar_parse(longest, sizeof longest, &(struct bar){0}));
}

static void a_name_that_would_steer_a_terminal_does_not_stay(void **state)
{
    (void)state;
    struct bar bar;
    static const char line[] = "\033]0;x\a\xff: 50%|#####     | 5/10 [00:03<00:03, 1.0it/s]";
    assert_true(bar_parse(line, sizeof line - 1, &bar));
    assert_string_equal(bar.name, "]0;x\xEF\xBF\xBD\xEF\xBF\xBD");
    char wide[300];
    memset(wide, 'n', sizeof wide);
    strcpy(wide + 200, ": 50%|#####     | 5/10 [00:03<00:03, 1.0it/s]");
    assert_true(bar_parse(wide, strlen(wide), &bar));
    assert_int_equal(strlen(bar.name), BAR_NAME_MAX - 1);
}

static void take(struct bars *bars, const char *line)
{
    bars_update(bars, line, strlen(line));
}

static void nested_bars_keep_their_order_and_count_how_often_they_began_again(void **state)
{
    (void)state;
    struct bars bars = {0};
    take(&bars, "Epochs:   0%|          | 0/3 [00:00<?, ?it/s]");
    take(&bars, "train:   0%|          | 0/4 [00:00<?, ?it/s]\033[A");
    take(&bars, "train: 100%|██████████| 4/4 [00:00<00:00, 186.14it/s, loss=0.1]\033[A");
    take(&bars, "Epochs:  33%|███▎      | 1/3 [00:00<00:00, 46.14it/s]");
    assert_int_equal(bars.latest, 0);
    take(&bars, "train:   0%|          | 0/4 [00:00<?, ?it/s]\033[A");
    take(&bars, "train:  25%|██▌       | 1/4 [00:00<00:00, 193.97it/s]\033[A");
    assert_int_equal(bars.count, 2);
    assert_string_equal(bars.items[0].name, "Epochs");
    assert_true(bars.items[0].done == 1 && bars.restarts[0] == 0);
    assert_string_equal(bars.items[1].name, "train");
    assert_true(bars.items[1].done == 1 && bars.restarts[1] == 1);
    assert_int_equal(bars.latest, 1);
    uint64_t changes = bars.changes;
    /* drawn anew, no step on */
    take(&bars, "train:  25%|██▌       | 1/4 [00:01<00:03, 100.97it/s, loss=0.2]\033[A");
    take(&bars, "nothing of that");
    assert_int_equal(bars.changes, changes);
}

static void a_bar_of_the_next_epoch_is_the_same_bar(void **state)
{
    (void)state;
    struct bars bars = {0};
    take(&bars, "Epoch 9: 100%|##########| 8/8 [00:03<00:00, 1.0it/s]");
    take(&bars, "Epoch 10:  50%|#####     | 4/8 [00:03<00:03, 1.0it/s]");
    assert_int_equal(bars.count, 1);
    assert_string_equal(bars.items[0].name, "Epoch 10");
    assert_string_equal(bars.first[0], "Epoch 9");
    assert_true(bars.restarts[0] == 1);
}

static void the_bar_that_was_drawn_least_lately_makes_room(void **state)
{
    (void)state;
    struct bars bars = {0};
    char line[100];
    take(&bars, "Epochs:   0%|          | 0/3 [00:00<?, ?it/s]");
    for (int i = 0; i < 20; i++) {
        snprintf(line, sizeof line, "load:   0%%|          | 0/%d [00:00<?, ?it/s]", 100 + i);
        take(&bars, line);
        snprintf(line, sizeof line, "Epochs:   %d%%|          | %d/1000 [00:00<?, ?it/s]", i / 10,
                 i);
        take(&bars, line);
    }
    assert_int_equal(bars.count, BARS_MAX);
    assert_int_equal(bars.latest,
                     /* the bar of 1000 was drawn again and again; behind it are the loads of 117,
                      * 118 and 119 */
                     0);
    assert_true(bars.items[bars.latest].total.value == 1000 && bars.items[bars.latest].done == 19);
    assert_true(bars.items[BARS_MAX - 1].total.value == 119);
}

/* A line is there before its end is: a bar that moves once an hour must not be an hour late. */
static void the_bars_of_a_log_are_known_before_their_lines_end(void **state)
{
    (void)state;
    static const char text[] = "start\r  0%|          | 0/10 [00:00<?, ?it/s]\r 10%|#         | "
                               "1/10 [1:00:00<9:00:00, 3600.00s/it]";
    for (size_t chunk = 1; chunk < sizeof text; chunk++) {
        struct joblog *log =
            joblog_new(&(struct joblog_options){.log_fd = -1, .times_fd = -1}, NULL);
        assert_non_null(log);
        for (size_t at = 0; at < sizeof text - 1; at += chunk)
            assert_true(joblog_add_bytes(
                log, text + at, at + chunk < sizeof text ? chunk : sizeof text - 1 - at, 1, NULL));
        assert_int_equal(joblog_bars(log)->count, 1);
        assert_true(joblog_bars(log)->items[0].done == 1);
        joblog_free(log);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_tqdm_are_read),
        cmocka_unit_test(other_lines_are_no_bars),
        cmocka_unit_test(a_name_that_would_steer_a_terminal_does_not_stay),
        cmocka_unit_test(nested_bars_keep_their_order_and_count_how_often_they_began_again),
        cmocka_unit_test(a_bar_of_the_next_epoch_is_the_same_bar),
        cmocka_unit_test(the_bar_that_was_drawn_least_lately_makes_room),
        cmocka_unit_test(the_bars_of_a_log_are_known_before_their_lines_end),
    };
    return cmocka_run_group_tests_name("bar", tests, NULL, NULL);
}
