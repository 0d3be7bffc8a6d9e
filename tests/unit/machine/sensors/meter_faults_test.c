/* Drivers that are missing, hang, talk nonsense or lose their GPU: the runner goes on, and knows
 * what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "gpu_fixture.h"

#include "base/clock.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bench bench;

static void refused(const char *library, const char *device, const char *why)
{
    bench.options.library = library;
    struct meter *meter = bench_meter(&bench, device);
    struct meter_response hello = await_any(meter);
    assert_int_equal(hello.kind, METER_HELLO);
    assert_int_equal(hello.status, METER_REFUSED);
    if (!strstr(hello.text, why))
        fail_msg("'%s' does not say '%s'", hello.text, why);
    assert_int_equal(meter_state(meter), METER_UNAVAILABLE);
    assert_string_equal(meter_reason(meter), hello.text);
    assert_false(meter_request(meter, METER_TICK, 1));
    meter_free(meter);
}

static void a_driver_that_cannot_be_used_makes_the_meter_unavailable(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "gpus 1\n");
    refused("/nonexistent/libnvidia-ml.so.1", "0", "cannot open shared object file");
    refused(FAKE_NVML_TOO_OLD, "0", "too old");
    refused(FAKE_NVML, "7", "GPU 7: nvmlDeviceGetHandleByIndex: Invalid Argument");
    assert_int_equal(bench.gap_count, 0);
    bench_end(&bench);
    bench_begin(&bench, 10, "init_error 18\n");
    refused(FAKE_NVML, "0", "nvmlInit: Driver/library version mismatch");
    bench_end(&bench);
}

static void a_program_that_is_no_meter_is_given_up(void **state)
{
    (void)state;
    struct meter_response response;
    bench_begin(&bench, 10, "");
    bench.options.program = "/bin/false";
    bench.options.tries = 2;
    bench.options.backoff_s = 0.02;
    struct meter *meter = bench_meter(&bench, "0");
    for (int i = 0; i < 4000 && meter_state(meter) != METER_UNAVAILABLE; i++) {
        meter_take(meter, &response);
        poll(&(struct pollfd){.fd = meter_fd(meter), .events = POLLIN}, 1, 10);
    }
    assert_int_equal(meter_state(meter), METER_UNAVAILABLE);
    assert_non_null(strstr(meter_reason(meter), "given up after 2 replacements"));
    assert_int_equal(bench.gap_count, 0); /* nothing was ever read */
    meter_free(meter);
    bench_end(&bench);
}

/* Takes what comes from both until the order of the first is answered; counts the good ticks of the
 * second. */
static struct meter_response await_beside(struct meter *meter, uint64_t id, struct meter *other,
                                          int *ticks)
{
    struct meter_response response;
    int64_t until_ns = clock_monotonic_ns() + 40 * NS_PER_S;
    uint64_t next = 1;
    *ticks = 0;
    while (clock_monotonic_ns() < until_ns) {
        while (meter_take(other, &response))
            *ticks += response.status == METER_OK;
        if (meter_pending(other) == 0)
            assert_true(meter_request(other, METER_TICK, next++));
        if (meter_take(meter, &response) && response.id == id)
            return response;
        struct pollfd wait[] = {{.fd = meter_fd(meter), .events = POLLIN},
                                {.fd = meter_fd(other), .events = POLLIN}};
        poll(wait, 2, 1000);
    }
    fail_msg("no answer");
    return response;
}

static void a_hanging_meter_is_replaced_and_the_others_go_on(void **state)
{
    (void)state;
    int ticks = 0;
    bench_begin(&bench, 10,
                "gpus 2\nfault nvmlDeviceGetTotalEnergyConsumption hang gpu=0 from_call=3 "
                "once=FOLDER/hung\n");
    struct bench other_bench = bench; /* its gaps are counted apart */
    other_bench.gap_count = 0;
    other_bench.options.data = &other_bench;
    bench.options.request_timeout_s = 3;
    bench.options.backoff_s = 0.05;
    struct meter *meter = bench_meter(&bench, "0"), *other = bench_meter(&other_bench, "1");
    await_hello(meter);
    await_hello(other);
    struct meter_response good = ask(meter, METER_TICK, 1);
    assert_int_equal(good.status, METER_OK);
    pid_t pid = meter_pid(meter);
    int64_t sent_ns = clock_monotonic_ns();
    assert_true(meter_request(meter, METER_TICK, 2)); /* hangs */
    assert_true(meter_request(meter, METER_EDGE, 3)); /* goes with it */
    struct meter_response lost = await_beside(meter, 2, other, &ticks);
    int64_t took_ns = clock_monotonic_ns() - sent_ns;
    assert_int_equal(lost.status, METER_LOST);
    assert_true(took_ns >= 3 * NS_PER_S && took_ns < 30 * NS_PER_S);
    assert_non_null(strstr(lost.text, "hung in the driver (no answer to tick for 3 s)"));
    assert_true(ticks >= 3);
    assert_int_equal(await_answer(meter, METER_EDGE, 3).status, METER_LOST);
    await_hello(meter); /* its successor */
    assert_true(meter_pid(meter) != pid);
    struct meter_response after = ask(meter, METER_TICK, 4);
    assert_int_equal(after.status, METER_OK);
    assert_true(await_end(pid));
    assert_int_equal(bench.gap_count, 2); /* its begin, and its end */
    assert_int_equal(bench.gaps[0].end_ns, 0);
    assert_int_equal(bench.gaps[1].start_ns, good.ended_ns);
    assert_in_range(bench.gaps[1].end_ns, lost.ended_ns, after.began_ns);
    assert_non_null(strstr(bench.reasons[1], "hung"));
    assert_int_equal(meter_series(meter)->counter_count, 4); /* two hellos, two ticks */
    assert_int_equal(meter_state(other), METER_READY);
    meter_free(meter);
    meter_free(other);
    assert_int_equal(other_bench.gap_count, 0);
    bench_end(&bench);
}

static void a_meter_that_hangs_at_every_start_is_given_up(void **state)
{
    (void)state;
    struct meter_response response;
    bench_begin(&bench, 10, "fault nvmlInit hang\n");
    bench.options.start_timeout_s = 0.2;
    bench.options.backoff_s = 0.02;
    bench.options.tries = 2;
    struct meter *meter = bench_meter(&bench, "0");
    assert_true(meter_request(meter, METER_TICK, 9)); /* taken, and answered */
    assert_int_equal(await_answer(meter, METER_TICK, 9).status, METER_LOST);
    for (int i = 0; i < 4000 && meter_state(meter) != METER_UNAVAILABLE; i++) {
        meter_take(meter, &response);
        poll(&(struct pollfd){.fd = meter_fd(meter), .events = POLLIN}, 1, 10);
    }
    assert_int_equal(meter_state(meter), METER_UNAVAILABLE);
    assert_non_null(
        strstr(meter_reason(meter),
               "given up after 2 replacements: the meter hung in the driver at its start"));
    assert_false(meter_request(meter, METER_TICK, 10));
    meter_free(meter);
    int64_t until_ns = clock_monotonic_ns() + 40 * NS_PER_S;
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) == 0 && clock_monotonic_ns() < until_ns)
        poll(NULL, 0, 20);
    assert_int_not_equal(child, 0); /* none is left alive */
    bench_end(&bench);
}

static void a_killed_meter_is_replaced(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "step 0 500\n");
    bench.options.backoff_s = 0.02;
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    struct meter_response good = ask(meter, METER_TICK, 1);
    kill(meter_pid(meter), SIGKILL);
    await_hello(meter);
    assert_int_equal(ask(meter, METER_TICK, 2).status, METER_OK);
    assert_int_equal(bench.gap_count, 2);
    assert_int_equal(bench.gaps[1].start_ns, good.ended_ns);
    assert_true(bench.gaps[1].end_ns > bench.gaps[1].start_ns);
    meter_free(meter);
    bench_end(&bench);
}

static void a_counter_that_goes_backwards_is_delivered_as_it_is(void **state)
{
    (void)state;
    const struct fake_gpu *gpu = &bench.truth.gpus[0];
    struct meter *meter = NULL;
    uint64_t id = 1, before = 0, now;
    /* The reset must come after the meter's start, which a busy machine delays. */
    for (double seconds_ago = 98.5; before < 1000000 && seconds_ago > 60; seconds_ago -= 9) {
        meter_free(meter);
        if (meter)
            bench_end(&bench);
        bench_begin(&bench, seconds_ago, "step 0 500\ncounter_reset_ms 100000\n");
        meter = bench_meter(&bench, "0");
        await_hello(meter);
        before = meter_series(meter)->counter[0].energy_mj;
    }
    now = before;
    int64_t until_ns = clock_monotonic_ns() + 40 * NS_PER_S;
    assert_true(before > 1000000);
    while (now >= before && clock_monotonic_ns() < until_ns) {
        before = now;
        poll(NULL, 0, 100);
        struct meter_response tick = ask(meter, METER_TICK, id++);
        assert_int_equal(tick.status, METER_OK);
        now = tick.counter[0].energy_mj;
        assert_in_range(now, 0, before > now ? before : fake_counter_mj(gpu, tick.ended_ns));
    }
    assert_true(now < before);
    meter_free(meter);
    assert_int_equal(bench.gap_count, 0);
    bench_end(&bench);
}

static void a_lost_gpu_is_told_with_the_time_since_when(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "fault * error code=15 gpu=0 from_call=60\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    struct meter_response tick = {0};
    int64_t good_ns = 0;
    for (uint64_t i = 1; i <= 20 && tick.status == METER_OK; i++) {
        tick = ask(meter, METER_TICK, i);
        if (tick.status == METER_OK)
            good_ns = tick.ended_ns;
    }
    assert_int_equal(tick.status, METER_GONE);
    assert_non_null(strstr(tick.text, "GPU is lost"));
    assert_int_equal(ask(meter, METER_EDGE, 50).status, METER_GONE);
    assert_int_equal(bench.gap_count, 1);
    assert_int_equal(bench.gaps[0].start_ns, good_ns);
    assert_non_null(strstr(bench.reasons[0], "GPU is lost"));
    meter_free(meter); /* what lasts ends with the meter */
    assert_int_equal(bench.gap_count, 2);
    assert_true(bench.gaps[1].end_ns >= tick.ended_ns);
    bench_end(&bench);
}

static void one_failing_call_does_not_cost_the_rest(void **state)
{
    (void)state;
    bench_begin(&bench, 10,
                "fault nvmlDeviceGetTotalEnergyConsumption error code=999 from_call=2 calls=1\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    struct meter_response tick = ask(meter, METER_TICK, 1);
    assert_int_equal(tick.status, METER_OK);
    assert_int_equal(tick.counter_count, 0);
    assert_true(tick.has_sample);
    tick = ask(meter, METER_TICK, 2);
    assert_int_equal(tick.counter_count, 1);
    meter_free(meter);
    assert_int_equal(bench.gap_count, 0);
    bench_end(&bench);
}

static void garbage_samples_are_counted_and_left_out(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "fault nvmlDeviceGetSamples garbage calls=1\n");
    struct meter *meter = bench_meter(&bench, "0");
    struct meter_response hello = await_any(meter);
    assert_int_equal(hello.kind, METER_HELLO);
    assert_int_equal(hello.power_refused, 4);
    assert_int_equal(hello.power_count, 115);
    assert_int_equal(meter_series(meter)->power_count, 115);
    meter_free(meter);
    bench_end(&bench);
}

static void a_meter_that_refuses_is_heard_though_orders_were_on_their_way(void **state)
{
    (void)state;
    bench_begin(&bench, 0, "fault nvmlInit delay ms=300\nfault nvmlInit error code=9\n");
    for (int i = 0; i < 3; i++) {
        struct meter *meter = bench_meter(&bench, "0");
        /* On a machine that is very busy it may be gone already, and takes none. */
        meter_request(meter, METER_EDGE, 1);
        meter_request(meter, METER_TICK, 2);
        assert_true(await_end(meter_pid(meter)));
        struct meter_response hello = await_any(meter);
        assert_int_equal(hello.kind, METER_HELLO);
        assert_int_equal(hello.status, METER_REFUSED);
        assert_int_equal(meter_state(meter), METER_UNAVAILABLE);
        assert_string_equal(meter_reason(meter), "nvmlInit: Driver Not Loaded (NVML error 9)");
        meter_free(meter);
    }
    bench_end(&bench);
}

static void scaled_time_is_for_a_driver_that_is_played(void **state)
{
    (void)state;
    bench_begin(&bench, 0, "");
    bench.options.time_scale = 0.05;
    bench.options.library = FAKE_NVML_AS_REAL;
    struct meter *meter = bench_meter(&bench, "0");
    struct meter_response hello = await_any(meter);
    assert_int_equal(hello.status, METER_REFUSED);
    assert_non_null(
        strstr(hello.text, "TARE_TIME_SCALE=0.05 is for tests with a driver that is played"));
    assert_int_equal(meter_state(meter), METER_UNAVAILABLE);
    meter_free(meter);
    bench.options.library = FAKE_NVML;
    meter = bench_meter(&bench, "0");
    await_hello(meter);
    meter_free(meter);
    bench_end(&bench);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_cannot_be_used_makes_the_meter_unavailable),
        cmocka_unit_test(a_program_that_is_no_meter_is_given_up),
        cmocka_unit_test(a_hanging_meter_is_replaced_and_the_others_go_on),
        cmocka_unit_test(a_meter_that_hangs_at_every_start_is_given_up),
        cmocka_unit_test(a_killed_meter_is_replaced),
        cmocka_unit_test(a_counter_that_goes_backwards_is_delivered_as_it_is),
        cmocka_unit_test(a_lost_gpu_is_told_with_the_time_since_when),
        cmocka_unit_test(a_meter_that_refuses_is_heard_though_orders_were_on_their_way),
        cmocka_unit_test(scaled_time_is_for_a_driver_that_is_played),
        cmocka_unit_test(one_failing_call_does_not_cost_the_rest),
        cmocka_unit_test(garbage_samples_are_counted_and_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
