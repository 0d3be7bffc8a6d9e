#include "machine/sensors/host_window.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void assert_near(struct reading reading, double value)
{
    assert_true(reading.valid);
    assert_true(fabs(reading.value - value) < 1e-9);
}

/* A job that waited a tenth of the window for a CPU. */
static void set_delayed(struct host_window *window)
{
    struct host_job_figures job = {
        .waited_s = {{0.1 * window->duration_s, true}, {0, true}, {0, true}}};
    host_window_set_job(window, &job);
}

/* Ten seconds of four processors, with everything known. */
static void ten_seconds(struct host_edge *from, struct host_edge *to)
{
    uint64_t tick = (uint64_t)sysconf(_SC_CLK_TCK);
    *from = (struct host_edge){
        .t_ns = 5000000000, .has_cpu = true, .jobs_cpu_s = {3, true}, .own_cpu_s = 1};
    from->cpu = (struct host_cpu){.busy_ticks = 1000 * tick, .stolen_ticks = 50 * tick, .cpus = 4};
    *to = *from;
    to->t_ns = 15000000000;
    to->cpu.busy_ticks += 20 * tick;  /* half of the 40 s that there were */
    to->cpu.stolen_ticks += 1 * tick; /* 2.5 % */
    to->jobs_cpu_s.value += 18;       /* 45 % */
    to->own_cpu_s += 0.2;             /* 0.5 % */
}

static void the_rest_of_the_busy_time_was_others(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    AUTO_TEXT struct text text = {0};
    ten_seconds(&from, &to);
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_true(window.duration_s == 10);
    assert_near(window.busy_share, 0.5);
    assert_near(window.jobs_share, 0.45);
    assert_near(window.own_share, 0.005);
    assert_near(window.others_share, 0.045); /* 20 - 18 - 0.2 of 40 s */
    assert_near(window.stolen_share, 0.025);
    /* 4.5 % alone would be none; with what the other guests took it is 7 %. */
    assert_int_equal(host_window_use(&window, &text), HOST_SHARED);
    assert_string_equal(
        text_get(&text),
        "other processes used 4.5 % and other guests of the hypervisor 2.5 % of the machine's CPU "
        "time; the job waited 10 % of its time for CPUs, memory or disks");
    to.cpu.stolen_ticks = from.cpu.stolen_ticks;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    text_clear(&text);
    assert_int_equal(host_window_use(&window, &text), HOST_ALONE);
    assert_int_equal(text.length, 0);
}

static void others_are_blamed_only_where_the_job_waited(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    AUTO_TEXT struct text text = {0};
    ten_seconds(&from, &to);
    to.cpu.busy_ticks += 4 * (uint64_t)sysconf(_SC_CLK_TCK);
    to.busiest = (struct host_other){
        .command = "loop", .user = "ada", .pid = 12, .processes = 2, .cpu_s = 4};
    host_window_between(&from, &to, &window);
    assert_int_equal(host_window_delay(&window), HOST_DELAY_UNKNOWN);
    assert_int_equal(host_window_use(&window, &text), HOST_UNKNOWN);
    assert_non_null(strstr(text_get(&text), "whether the job waited was not checked"));
    /* 0.3 + 0.1 + 0.05 s of 10 s are 4.5 %; with 0.2 s for disks 6 %. */
    struct host_job_figures job = {.waited_s = {{0.3, true}, {0.1, true}, {0.05, true}}};
    text_clear(&text);
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_use(&window, &text), HOST_ALONE);
    assert_int_equal(text.length, 0);
    job.waited_s[HOST_IO].value = 0.2;
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_use(&window, &text), HOST_SHARED);
    /* 5.8 + 2.5 % is what others took; 4 of 40 s are the loops'. */
    assert_non_null(strstr(text_get(&text),
                           ": loop (pid 12 and 1 more, user ada) 10 %; the job waited 6 % of its "
                           "time for CPUs, memory or disks"));
}

static struct reading is(double value)
{
    return (struct reading){value, true};
}

static void without_a_cgroup_run_queue_delays_and_pressure_tell_whether_the_job_waited(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    ten_seconds(&from, &to);
    host_window_between(&from, &to, &window);
    window.pressure[HOST_MEMORY].some_share = is(0);
    window.pressure[HOST_IO].some_share = is(0.01);
    /* One thread of 8 s that waited 0.39 s of 10: with at most 1 % for disks 4.9 %. */
    struct host_job_figures job = {
        .cpu_s = is(8), .threads_run_s = is(8), .threads_waited_s = is(0.39)};
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_PUNCTUAL);
    job.threads_waited_s = is(0.51);
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_DELAYED);
    /* Eight threads that each waited 0.39 s beside 9.6 s: 3.12 of 79.9 s. */
    job = (struct host_job_figures){
        .cpu_s = is(76.8), .threads_run_s = is(76.8), .threads_waited_s = is(3.12)};
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_PUNCTUAL);
}

static void what_threads_and_pressure_do_not_show_stays_unknown_with_its_reason(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window, quiet;
    ten_seconds(&from, &to);
    host_window_between(&from, &to, &quiet);
    quiet.pressure[HOST_MEMORY].some_share = quiet.pressure[HOST_IO].some_share = is(0);
    /* 1 of 8 s was of threads that nobody saw. */
    struct host_job_figures job = {
        .cpu_s = is(8), .threads_run_s = is(7), .threads_waited_s = is(0.1)};
    window = quiet;
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_DELAY_UNKNOWN);
    assert_non_null(strstr(host_window_unknown(&window), "ended unseen"));
    /* Other programs may have been those that waited for the disks 6 % of the time. */
    job.threads_run_s = is(8);
    window = quiet;
    window.pressure[HOST_IO].some_share = is(0.06);
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_DELAY_UNKNOWN);
    assert_non_null(strstr(host_window_unknown(&window), "programs waited for memory or disks"));
    window = quiet;
    window.pressure[HOST_MEMORY].some_share.valid = window.pressure[HOST_IO].some_share.valid =
        false;
    host_window_set_job(&window, &job);
    assert_int_equal(host_window_delay(&window), HOST_DELAY_UNKNOWN);
    assert_non_null(strstr(host_window_unknown(&window), "no /proc/pressure"));
}

/* A tenth of a second of four processors: 0.4 s in all, of which 5 % are two ticks. */
static void a_tenth_of_a_second(struct host_edge *from, struct host_edge *to)
{
    *from = (struct host_edge){.has_cpu = true, .cpu.cpus = 4, .jobs_cpu_s = {1, true}};
    *to = *from;
    to->t_ns = from->t_ns + 100000000;
    to->jobs_cpu_s.value += 0.1;
    to->cpu.busy_ticks += 10;
    to->others_s = (struct reading){0.001, true};
}

static void what_is_too_short_for_ticks_is_judged_by_what_each_process_used(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    AUTO_TEXT struct text text = {0};
    a_tenth_of_a_second(&from, &to);
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_int_equal(host_window_use(&window, &text), HOST_ALONE);
    to.others_s.value = 0.03; /* of 0.4 s */
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_int_equal(host_window_use(&window, &text), HOST_SHARED);
    assert_string_equal(text_get(&text),
                        "other processes used 7.5 % of the machine's CPU time; the job waited 10 % "
                        "of its time for CPUs, memory or disks");
    to.others_s.value = 0.5; /* more than the processors had */
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    text_clear(&text);
    assert_int_equal(host_window_use(&window, &text), HOST_SHARED);
    assert_non_null(strstr(text_get(&text), "other processes used 100.0 % of"));
    /* One tick in the wrong place is no evidence; thirty are. */
    to.others_s.value = 0;
    to.cpu.busy_ticks += 3;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    text_clear(&text);
    assert_int_equal(host_window_use(&window, &text), HOST_ALONE);
    to.cpu.busy_ticks += 27;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_int_equal(host_window_use(&window, &text), HOST_SHARED);
}

static void what_nobody_could_see_is_said_to_be_unknown(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    AUTO_TEXT struct text text = {0};
    a_tenth_of_a_second(&from, &to);
    to.others_s.valid = false;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_int_equal(host_window_use(&window, &text), HOST_UNKNOWN);
    assert_non_null(strstr(text_get(&text), "0.1 s are too short"));
    /* Of ten seconds ticks would tell it, were they told. */
    ten_seconds(&from, &to);
    from.has_cpu = to.has_cpu = false;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    text_clear(&text);
    assert_int_equal(host_window_use(&window, &text), HOST_UNKNOWN);
    assert_non_null(strstr(text_get(&text), "/proc/stat cannot be read"));
    /* With many processors few ticks are few per cent: half a second of 256 has 12,800. */
    ten_seconds(&from, &to);
    from.cpu.cpus = to.cpu.cpus = 256;
    to.t_ns = from.t_ns + 500000000;
    to.cpu.busy_ticks = from.cpu.busy_ticks + 1900;
    to.cpu.stolen_ticks = from.cpu.stolen_ticks;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_int_equal(host_window_use(&window, &text), HOST_ALONE);
}

static void ticks_that_were_counted_late_make_nothing_negative(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    ten_seconds(&from, &to);
    to.jobs_cpu_s.value = from.jobs_cpu_s.value + 25; /* more than all was busy */
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_near(window.others_share, 0);
}

static void others_are_unknown_where_the_jobs_are(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    ten_seconds(&from, &to);
    to.jobs_cpu_s.valid = false;
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_false(window.jobs_share.valid || window.others_share.valid);
    assert_near(window.busy_share, 0.5);
    ten_seconds(&from, &to);
    to.jobs_unseen = 1; /* one that nobody could look at has ended in between */
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_false(window.others_share.valid);
    from.jobs_unseen = 1; /* before: it is no matter any more */
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_near(window.others_share, 0.045);
}

static void waiting_and_sleep_are_told(void **state)
{
    (void)state;
    struct host_edge from, to;
    struct host_window window;
    ten_seconds(&from, &to);
    to.suspended_ns = 2500000000;
    from.pressure[HOST_MEMORY].some_s = (struct reading){100, true};
    to.pressure[HOST_MEMORY].some_s = (struct reading){101, true};
    to.pressure[HOST_MEMORY].full_s = (struct reading){7, true};
    host_window_between(&from, &to, &window);
    set_delayed(&window);
    assert_true(window.suspended_s == 2.5);
    assert_near(window.pressure[HOST_MEMORY].some_share, 0.1);
    assert_false(window.pressure[HOST_MEMORY].full_share.valid); /* only known at one edge */
    assert_false(window.pressure[HOST_CPU].some_share.valid);
}

static void a_wall_clock_that_was_set_is_told_from_one_that_is_slewed_and_from_sleep(void **state)
{
    (void)state;
    static const struct {
        int64_t moved_ms, slept_ms;
        double set_s;
    } rows[] = {{0, 0, 0},
                {5, 0, 0},
                {-5, 0, 0},
                {3600000, 0, 3600},
                {-3600000, 0, -3600},
                {2500, 0, 2.5},
                {0, 8 * 3600000, 0},
                {-7200000, 8 * 3600000, -7200}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct host_edge from, to;
        struct host_window window;
        ten_seconds(&from, &to);
        from.wall_ns = INT64_C(1700000000) * 1000000000;
        to.wall_ns = from.wall_ns + rows[i].moved_ms * 1000000;
        to.suspended_ns = from.suspended_ns + rows[i].slept_ms * 1000000;
        host_window_between(&from, &to, &window);
        set_delayed(&window);
        assert_true(window.clock_set_s == rows[i].set_s);
        assert_true(window.suspended_s == (double)rows[i].slept_ms / 1000);
        /* Ten seconds of CLOCK_MONOTONIC are ten, whatever the others do. */
        assert_true(window.duration_s == 10);
        assert_near(window.busy_share, 0.5);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_of_the_busy_time_was_others),
        cmocka_unit_test(others_are_blamed_only_where_the_job_waited),
        cmocka_unit_test(
            without_a_cgroup_run_queue_delays_and_pressure_tell_whether_the_job_waited),
        cmocka_unit_test(what_threads_and_pressure_do_not_show_stays_unknown_with_its_reason),
        cmocka_unit_test(what_is_too_short_for_ticks_is_judged_by_what_each_process_used),
        cmocka_unit_test(what_nobody_could_see_is_said_to_be_unknown),
        cmocka_unit_test(ticks_that_were_counted_late_make_nothing_negative),
        cmocka_unit_test(others_are_unknown_where_the_jobs_are),
        cmocka_unit_test(waiting_and_sleep_are_told),
        cmocka_unit_test(a_wall_clock_that_was_set_is_told_from_one_that_is_slewed_and_from_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
