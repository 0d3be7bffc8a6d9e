/* What is learnt of simulated sensors, whose physics is written here: power on a grid of 0.1 ms, of
 * which a sensor shows the mean of a window, an exponential mean, the moment, or something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/calibration/sensor_learn.h"

#include "tests/unit/near.h"

#include <math.h>
#include <string.h>

enum {
    GRID_PER_S = 10000,
    SECONDS_MAX = 90,
    GRID = GRID_PER_S * SECONDS_MAX,
    READINGS_MAX = 60000
};
/* Cases of a kind that differ in figures alone. */
static size_t cases(size_t all)
{
    return SANITIZED ? 1 : all;
}

static const double idle_w = 80, rise_w = 600;
static const int64_t origin_ns = 1000 * NS_PER_S;

enum kind { MOMENT, WINDOW, LOW_PASS, SECOND_ORDER, SLEW, HIGHEST };

struct simulated {
    enum kind kind;
    double length_s, delay_s, period_s, jitter_s, noise_w, quantum_w;
    uint64_t seed;
};

static double power[GRID], shown[GRID];
static struct load_interval loads[SCHEDULE_LOADS_MAX];
static size_t load_count;
static struct sensor_reading readings[READINGS_MAX], counter[READINGS_MAX];
static size_t count;
static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static void add_part(const struct sensor_schedule *part, int64_t *at_ns)
{
    for (size_t i = 0; i < part->count; i++) {
        loads[load_count] = part->loads[i];
        loads[load_count].begin_ns += *at_ns;
        loads[load_count++].end_ns += *at_ns;
    }
    *at_ns += part->end_ns;
}

/* The whole of a calibration; gives its end. */
static int64_t load_everything(double seconds, double period_s)
{
    static struct sensor_schedule part;
    int64_t at_ns = origin_ns;
    load_count = 0;
    sensor_schedule_steps(seconds, &part);
    add_part(&part, &at_ns);
    sensor_schedule_waves(seconds, period_s, &part);
    add_part(&part, &at_ns);
    sensor_schedule_rest(seconds, &part);
    add_part(&part, &at_ns);
    for (int i = 0; i < GRID; i++)
        power[i] = idle_w;
    for (size_t i = 0; i < load_count; i++)
        for (int64_t k = (loads[i].begin_ns - origin_ns) / 100000;
             k < (loads[i].end_ns - origin_ns) / 100000; k++)
            power[k] += rise_w;
    return at_ns;
}

/* What is in the sensor at each moment, before it is delayed and updated. */
static void look(const struct simulated *sensor)
{
    double sum = 0, first = idle_w, speed = 0;
    int width = (int)lround(sensor->length_s * GRID_PER_S);
    for (int i = 0; i < GRID; i++) {
        sum += power[i] - (i >= width ? power[i - width] : idle_w);
        double share = 1 / (sensor->length_s * GRID_PER_S + 1);
        switch (sensor->kind) {
        case MOMENT:
            shown[i] = power[i];
            break;
        case WINDOW:
            shown[i] = idle_w + sum / width;
            break;
        case LOW_PASS:
            first += (power[i] - first) * share;
            shown[i] = first;
            break;
        case SECOND_ORDER: /* overshoots: a damped spring */
            speed += ((power[i] - first) / sensor->length_s - 0.4 * speed) / sensor->length_s /
                     GRID_PER_S;
            first += speed / GRID_PER_S;
            shown[i] = first;
            break;
        case SLEW: /* moves by so much a second at most */
            first += fmax(-rise_w * share, fmin(rise_w * share, power[i] - first));
            shown[i] = first;
            break;
        case HIGHEST:
            first = fmax(power[i], first - 5 * share * rise_w);
            shown[i] = first;
            break;
        }
    }
}

/* Polled every 1.4 ms or so, a call takes 0.3 ms and reads in its middle. */
static void measure(const struct simulated *sensor, double seconds)
{
    random_state = sensor->seed;
    int64_t end_ns = load_everything(seconds, sensor->period_s);
    look(sensor);
    double end_s = (double)(end_ns - origin_ns) / 1e9,
           update_s = sensor->period_s * (0.3 + uniform() / 2), value_w = idle_w;
    double joules = 0, sum_j = 0, counted_until_s = 0;
    count = 0;
    for (double t_s = 0.0002; t_s < end_s && count < READINGS_MAX;
         t_s += 0.0013 + 0.0002 * uniform()) {
        while (update_s <= t_s) {
            long at = lround((update_s - sensor->delay_s) * GRID_PER_S);
            value_w = (at < 0 ? idle_w : shown[at]) + sensor->noise_w * normal();
            value_w = round(value_w / sensor->quantum_w) * sensor->quantum_w;
            sum_j += value_w * (update_s - counted_until_s);
            counted_until_s = update_s;
            joules = round(sum_j * 1000) / 1000;
            update_s += sensor->period_s + sensor->jitter_s * normal();
        }
        int64_t middle_ns = origin_ns + llround(t_s * 1e9);
        readings[count] = (struct sensor_reading){middle_ns - 150000, middle_ns + 150000, value_w};
        counter[count++] = (struct sensor_reading){middle_ns - 150000, middle_ns + 150000, joules};
    }
}

/* Half-widths are for 95 %: where so many are compared, 1.5 of them are allowed (99.7 %); how many
 * are within one is counted below. */
static bool is_within(struct learnt figure, double truth, double half_widths, double slack)
{
    return figure.known && fabs(figure.value - truth) <= half_widths * figure.half_width + slack;
}

static void assert_within(const char *what, struct learnt figure, double truth, double slack)
{
    if (!is_within(figure, truth, 1.5, slack))
        fail_msg("%s: %s %.6g +- %.3g, truth %.6g (%s)", what, figure.known ? "known" : "unknown",
                 figure.value, figure.half_width, truth, figure.why ? figure.why : "");
}

static void print_learnt(const char *what, const struct sensor_learnt *learnt)
{
    print_message("# %s: %s %.4f+-%.4f delay %.4f+-%.4f share %.3f+-%.3f period %.5f+-%.5f jitter "
                  "%.5f+-%.5f noise %.2f (%s)\n",
                  what, sensor_averaging_name(learnt->averaging), learnt->averaging_s.value,
                  learnt->averaging_s.half_width, learnt->delay_s.value, learnt->delay_s.half_width,
                  learnt->looked_share.value, learnt->looked_share.half_width,
                  learnt->update_period_s.value, learnt->update_period_s.half_width,
                  learnt->jitter_s.value, learnt->jitter_s.half_width, learnt->noise_w.value,
                  learnt->averaging_why ? learnt->averaging_why : "");
}

static void learn(const char *what, const struct simulated *sensor, struct sensor_learnt *out)
{
    measure(sensor, 60);
    sensor_learn_power(loads, load_count, readings, count, out);
    print_learnt(what, out);
}

/* The figures that every regular sensor has. */
static void assert_common(const struct simulated *sensor, const struct sensor_learnt *learnt)
{
    assert_within("period", learnt->update_period_s, sensor->period_s, 0);
    assert_within("jitter", learnt->jitter_s, sensor->jitter_s, 0);
    assert_within("noise", learnt->noise_w, sensor->noise_w, 0);
    assert_within("quantum", learnt->quantum, sensor->quantum_w, 0);
    assert_within("idle", learnt->idle_w, idle_w, 0.5);
    /* no load lasts until it is shown in full */
    if (sensor->kind == LOW_PASS && sensor->length_s > 0.4)
        assert_false(learnt->load_w.known);
    else
        assert_within("load", learnt->load_w, idle_w + rise_w, 0.5);
}

static void boxcars_of_20_ms_to_1_s_are_learnt(void **state)
{
    (void)state;
    static const double lengths[] = {0.02, 0.05, 0.1, 0.3, 1};
    for (size_t i = 0; i < cases(sizeof lengths / sizeof *lengths); i++) {
        struct simulated sensor = {WINDOW, lengths[i], 0.015, 0.1, 0.002, 1, 0.125, 11 + i};
        struct sensor_learnt learnt;
        learn("boxcar", &sensor, &learnt);
        assert_common(&sensor, &learnt);
        assert_int_equal(learnt.averaging, AVERAGING_BOXCAR);
        assert_within("length", learnt.averaging_s, lengths[i], 0);
        assert_within("delay", learnt.delay_s, 0.015, 0);
        if (lengths[i] < 0.4)
            assert_within("lag", learnt.lag_s, 0.015 + lengths[i] / 2, 0);
        else
            assert_false(learnt.lag_s.known);
        assert_within("share", learnt.looked_share, fmin(1, lengths[i] / 0.1), 0);
        assert_true(learnt.averaging_s.half_width < 0.1 * lengths[i] + 0.003);
    }
}

static void sensor_that_looks_at_25_of_100_ms_is_learnt_in_any_phase(void **state)
{
    (void)state;
    for (int i = 0; i < (int)cases(5); i++) {
        struct simulated sensor = {WINDOW,    0.025, 0.015 * i, 0.1003,
                                   0.001 * i, 1,     0.001,     40 + (uint64_t)i};
        struct sensor_learnt learnt;
        learn("25 of 100", &sensor, &learnt);
        assert_common(&sensor, &learnt);
        assert_int_equal(learnt.averaging, AVERAGING_BOXCAR);
        assert_within("length", learnt.averaging_s, 0.025, 0);
        assert_within("share", learnt.looked_share, 0.025 / 0.1003, 0);
        assert_within("delay", learnt.delay_s, sensor.delay_s, 0);
        assert_true(learnt.looked_share.half_width < 0.05);
    }
}

static void exponentials_are_learnt(void **state)
{
    (void)state;
    static const double lengths[] = {0.03, 0.1, 0.5};
    for (size_t i = 0; i < cases(sizeof lengths / sizeof *lengths); i++) {
        struct simulated sensor = {LOW_PASS, lengths[i], 0.02, 0.02, 0.001, 2, 0.001, 60 + i};
        struct sensor_learnt learnt;
        learn("exponential", &sensor, &learnt);
        assert_common(&sensor, &learnt);
        assert_int_equal(learnt.averaging, AVERAGING_EXPONENTIAL);
        assert_within("length", learnt.averaging_s, lengths[i], 0);
        assert_within("delay", learnt.delay_s, 0.02, 0);
        if (lengths[i] < 0.1)
            assert_within("lag", learnt.lag_s, 0.02 + lengths[i], 0);
        assert_near(learnt.looked_share.value, 1, 0);
    }
}

static void instant_sensor_with_a_delay_is_learnt(void **state)
{
    (void)state;
    static const double delays[] = {0, 0.04, 0.25};
    for (size_t i = 0; i < cases(sizeof delays / sizeof *delays); i++) {
        struct simulated sensor = {MOMENT, 0, delays[i], 0.05, 0.001, 1, 0.001, 80 + i};
        struct sensor_learnt learnt;
        learn("instant", &sensor, &learnt);
        assert_common(&sensor, &learnt);
        assert_int_equal(learnt.averaging, AVERAGING_INSTANT);
        assert_within("length", learnt.averaging_s, 0, 0);
        assert_within("delay", learnt.delay_s, delays[i], 0);
        assert_within("lag", learnt.lag_s, delays[i], 0);
        assert_true(learnt.averaging_s.half_width < 0.01 &&
                    learnt.looked_share.value + learnt.looked_share.half_width < 0.2);
    }
}

static void half_widths_hold_the_truth_in_95_of_100(void **state)
{
    (void)state;
    int within = 0, figures = 0;
    if (SANITIZED)
        skip();
    for (uint64_t seed = 200; seed < 210; seed++) {
        struct simulated sensor = {
            WINDOW, 0.02 + 0.01 * (double)(seed % 5), 0.01, 0.08, 0.002, 2, 0.001, seed};
        struct sensor_learnt learnt;
        learn("seed", &sensor, &learnt);
        within += is_within(learnt.update_period_s, sensor.period_s, 1, 0);
        within += is_within(learnt.jitter_s, sensor.jitter_s, 1, 0);
        within += is_within(learnt.averaging_s, sensor.length_s, 1, 0);
        within += is_within(learnt.delay_s, sensor.delay_s, 1, 0);
        within += is_within(learnt.noise_w, sensor.noise_w, 1, 0);
        figures += 5;
    }
    print_message("# %d of %d within\n", within, figures);
    assert_true(within >= figures * 0.93);
}

static void sensor_of_no_known_kind_is_said_to_be_unknown(void **state)
{
    (void)state;
    static const enum kind kinds[] = {SECOND_ORDER, HIGHEST};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct simulated sensor = {kinds[i], 0.15, 0.01, 0.05, 0.001, 1, 0.001, 90 + i};
        struct sensor_learnt learnt;
        learn("strange", &sensor, &learnt);
        assert_int_equal(learnt.averaging, AVERAGING_UNKNOWN);
        assert_non_null(learnt.averaging_why);
        assert_false(learnt.averaging_s.known || learnt.delay_s.known || learnt.looked_share.known);
        assert_within("period", learnt.update_period_s, 0.05, 0);
    }
}

/* A damped spring of this stiffness and damping is late by damping times length. */
static void lag_of_a_sensor_of_no_known_kind_is_learnt(void **state)
{
    (void)state;
    struct simulated sensor = {SECOND_ORDER, 0.02, 0.01, 0.02, 0.001, 1, 0.001, 95};
    struct sensor_learnt learnt;
    learn("overshoots", &sensor, &learnt);
    assert_int_equal(learnt.averaging, AVERAGING_UNKNOWN);
    assert_within("lag", learnt.lag_s, 0.01 + 0.4 * 0.02, 0);
    assert_true(learnt.lag_s.half_width < 0.01);
}

static void update_without_a_period_is_said_to_have_none(void **state)
{
    (void)state;
    struct simulated sensor = {MOMENT, 0, 0, 0.1, 0.06, 1, 0.001, 7};
    struct sensor_learnt learnt;
    learn("irregular", &sensor, &learnt);
    assert_false(learnt.update_period_s.known);
    assert_non_null(learnt.update_period_s.why);
}

static void period_of_power_without_noise_is_said_to_be_unknown(void **state)
{
    (void)state;
    struct simulated sensor = {MOMENT, 0, 0, 0.1, 0.002, 0, 0.001, 7};
    struct sensor_learnt learnt;
    learn("no noise", &sensor, &learnt);
    assert_false(learnt.update_period_s.known || learnt.looked_share.known);
    assert_string_equal(learnt.update_period_s.why,
                        "steady power shows no change, so its updates are not seen");
    assert_within("load", learnt.load_w, idle_w + rise_w, 0.001);
}

static void counter_is_learnt_by_what_it_adds_and_agrees_with_its_samples(void **state)
{
    (void)state;
    struct simulated sensor = {WINDOW, 0.025, 0.01, 0.1, 0.001, 1, 0.001, 5};
    struct sensor_learnt learnt;
    measure(&sensor, 60);
    sensor_learn_counter(loads, load_count, counter, count, &learnt);
    print_learnt("counter", &learnt);
    assert_within("period", learnt.update_period_s, 0.1, 0);
    assert_int_equal(learnt.averaging, AVERAGING_BOXCAR);
    assert_within("share", learnt.looked_share, 0.25, 0);
    struct learnt ratio = sensor_learn_agreement(readings, count, counter, count);
    assert_within("agreement", ratio, 1, 1e-4);
    for (size_t i = 0; i < count; i++)
        counter[i].value *= 1.05;
    ratio = sensor_learn_agreement(readings, count, counter, count);
    assert_within("agreement", ratio, 1.05, 1e-4);
    assert_true(ratio.half_width < 0.01);
}

static void nothing_is_learnt_from_nothing(void **state)
{
    (void)state;
    struct sensor_learnt learnt;
    struct sensor_reading one = {.value = 5};
    sensor_learn_power(NULL, 0, NULL, 0, &learnt);
    assert_false(learnt.update_period_s.known || learnt.idle_w.known || learnt.delay_s.known ||
                 learnt.quantum.known);
    sensor_learn_counter(loads, load_count, &one, 1, &learnt);
    assert_false(learnt.update_period_s.known || learnt.idle_w.known || learnt.delay_s.known);
    assert_false(sensor_learn_agreement(NULL, 0, NULL, 0).known);
    assert_false(sensor_learn_return(NULL, 0, 0, 0, 1).known);
    /* A load that nobody sees: no rise. */
    struct simulated sensor = {MOMENT, 0, 0, 0.1, 0.001, 1, 0.001, 7};
    measure(&sensor, 60);
    for (size_t i = 0; i < count; i++)
        readings[i].value = 80 + 0.001 * (double)(i / 70 % 13);
    sensor_learn_power(loads, load_count, readings, count, &learnt);
    assert_int_equal(learnt.averaging, AVERAGING_UNKNOWN);
    assert_string_equal(learnt.averaging_why, "the load does not stand out of the noise");
}

static void way_back_ends_where_the_readings_stay_near(void **state)
{
    (void)state;
    struct sensor_reading cooling[60];
    for (int i = 0; i < 60; i++)
        cooling[i] = (struct sensor_reading){i * NS_PER_S / 2, i * NS_PER_S / 2 + NS_PER_MS,
                                             30 + 40 * exp(-i / 10.0)};
    /* 40 exp(-t / 5 s) is 1 after 5 ln 40 = 18.4 s. */
    assert_within("way back", sensor_learn_return(cooling, 60, 0, 30, 1), 5 * log(40), 0);
    assert_true(sensor_learn_return(cooling, 60, 0, 30, 1).half_width < 0.3);
    assert_false(sensor_learn_return(cooling, 30, 0, 30, 1).known);
    assert_false(sensor_learn_return(cooling, 60, 31 * NS_PER_S, 30, 1).known);
    /* A call that began 10 ms before the load's end, and still had its power: it is back between
     * then and 3 ms later. */
    const struct sensor_reading quick[] = {{-10 * NS_PER_MS, NS_PER_MS, 70},
                                           {2 * NS_PER_MS, 3 * NS_PER_MS, 30}};
    struct learnt back = sensor_learn_return(quick, 2, 0, 30, 1);
    assert_true(back.known && fabs(back.value - 0.0015) < 1e-9 &&
                fabs(back.half_width - 0.0015) < 1e-9);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxcars_of_20_ms_to_1_s_are_learnt),
        cmocka_unit_test(sensor_that_looks_at_25_of_100_ms_is_learnt_in_any_phase),
        cmocka_unit_test(exponentials_are_learnt),
        cmocka_unit_test(instant_sensor_with_a_delay_is_learnt),
        cmocka_unit_test(half_widths_hold_the_truth_in_95_of_100),
        cmocka_unit_test(sensor_of_no_known_kind_is_said_to_be_unknown),
        cmocka_unit_test(lag_of_a_sensor_of_no_known_kind_is_learnt),
        cmocka_unit_test(update_without_a_period_is_said_to_have_none),
        cmocka_unit_test(period_of_power_without_noise_is_said_to_be_unknown),
        cmocka_unit_test(counter_is_learnt_by_what_it_adds_and_agrees_with_its_samples),
        cmocka_unit_test(nothing_is_learnt_from_nothing),
        cmocka_unit_test(way_back_ends_where_the_readings_stay_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
