/* A GPU's meter process and the runner's side of it: what is read is the truth, and arrives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "gpu_fixture.h"

#include "base/clock.h"
#include "machine/sensors/gpu_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct bench bench;

static void a_meter_describes_its_gpu(void **state)
{
    (void)state;
    bench_begin(&bench, 100, "gpus 2\ngpu 1\nname NVIDIA L4\nminor 7\n");
    struct meter *meter = bench_meter(&bench, "GPU-00000000-0000-4000-8000-000000000001");
    assert_null(meter_describe(meter));
    await_hello(meter);
    const struct meter_description *is = meter_describe(meter);
    assert_non_null(is);
    assert_int_equal(is->identity.index, 1);
    assert_int_equal(is->identity.minor, 7);
    assert_string_equal(is->identity.name, "NVIDIA L4");
    assert_string_equal(is->identity.pci, "00000000:C2:00.0");
    assert_true(is->has_counter && is->has_trace);
    struct meter_response again = ask(meter, METER_HELLO, 5);
    assert_int_equal(again.status, METER_OK);
    meter_free(meter);
    assert_int_equal(bench.gap_count, 0);
    bench_end(&bench);
}

/* Every reading of the counter is the truth of a moment within its call. */
static void check_counter(const struct series *series)
{
    const struct fake_gpu *gpu = &bench.truth.gpus[0];
    for (size_t i = 0; i < series->counter_count; i++) {
        const struct counter_reading *reading = &series->counter[i];
        assert_true(reading->after_ns > reading->before_ns);
        assert_true(i == 0 || reading->before_ns >= series->counter[i - 1].after_ns);
        assert_in_range(reading->energy_mj, fake_counter_mj(gpu, reading->before_ns),
                        fake_counter_mj(gpu, reading->after_ns));
    }
}

static void check_power(const struct series *series)
{
    const struct fake_gpu *gpu = &bench.truth.gpus[0];
    for (size_t i = 0; i < series->power_count; i++) {
        int64_t number = fake_sample_number(gpu, series->power[i].t_ns + 5 * NS_PER_MS);
        int64_t t_ns = fake_sample_ns(gpu, number);
        assert_true(llabs(t_ns - series->power[i].t_ns) < 3 * NS_PER_MS);
        assert_near(series->power[i].power_w, fake_power_w(gpu, t_ns), 0.0011);
        assert_true(i == 0 || series->power[i].t_ns > series->power[i - 1].t_ns);
    }
}

static void ticks_fill_the_series(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "settle_ms 300\nstep 8000 690\nstep 10500 200\nstep 11000 600\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    const struct series *series = meter_series(meter);
    assert_int_equal(series->counter_count, 1);
    assert_in_range(series->power_count, 100, 119);
    int64_t first_ns = series->power[0].t_ns;
    for (uint64_t i = 1; i <= 4; i++) {
        poll(NULL, 0, 400);
        struct meter_response tick = ask(meter, METER_TICK, i);
        assert_int_equal(tick.status, METER_OK);
        assert_int_equal(tick.counter_count, 1);
        assert_true(tick.has_sample);
        assert_true(tick.sample.t_ns >= tick.began_ns && tick.sample.t_ns <= tick.ended_ns);
        assert_true(tick.sample.readings.of[GPU_POWER_INSTANT_W].valid);
        assert_near(tick.sample.readings.of[GPU_POWER_LIMIT_W].value, 700, 0);
    }
    assert_int_equal(series->counter_count, 5);
    check_counter(series);
    check_power(series);
    /* 17 ms a sample, and none twice; a stall of the machine may have cost some */
    int64_t length_ns = series->power[series->power_count - 1].t_ns - first_ns;
    assert_true((int64_t)series->power_count <= length_ns / (15 * NS_PER_MS));
    size_t samples;
    assert_non_null(meter_samples(meter, &samples));
    assert_int_equal(samples, 5);
    meter_free(meter);
    bench_end(&bench);
}

static void what_is_forgotten_does_not_come_back(void **state)
{
    (void)state;
    size_t samples;
    bench_begin(&bench, 10, "");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    meter_forget(meter, clock_monotonic_ns());
    assert_int_equal(meter_series(meter)->counter_count, 0);
    assert_int_equal(meter_series(meter)->power_count, 1); /* by it repeated samples are known */
    meter_samples(meter, &samples);
    assert_int_equal(samples, 0);
    poll(NULL, 0, 100);
    ask(meter, METER_TICK, 1);
    assert_int_equal(meter_series(meter)->counter_count, 1);
    check_power(meter_series(meter));
    meter_free(meter);
    bench_end(&bench);
}

static void an_edge_finds_the_update_within_one_read(void **state)
{
    (void)state;
    const struct fake_gpu *gpu = &bench.truth.gpus[0];
    int64_t narrowest_ns = INT64_MAX;
    bench_begin(&bench, 10, "step 0 690\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    for (uint64_t i = 1; i <= 10; i++) {
        struct meter_response edge = ask(meter, METER_EDGE, i);
        assert_int_equal(edge.status, METER_OK);
        assert_in_range(edge.counter_count, 2, 3);
        const struct counter_reading *first = &edge.counter[0],
                                     *last = &edge.counter[edge.counter_count - 1];
        const struct counter_reading *before = last - 1;
        assert_int_equal(before->energy_mj, first->energy_mj);
        assert_true(last->energy_mj > before->energy_mj);
        /* The update that changed it lies in between: from where the one read began to where the
         * other ended. */
        int64_t update_ns = fake_update_ns(gpu, last->after_ns);
        while (fake_counter_mj(gpu, update_ns) > last->energy_mj)
            update_ns = fake_update_ns(gpu, update_ns - 1);
        assert_int_equal(fake_counter_mj(gpu, update_ns), last->energy_mj);
        assert_in_range(update_ns, before->before_ns, last->after_ns);
        int64_t width_ns = last->after_ns - before->before_ns;
        narrowest_ns = width_ns < narrowest_ns ? width_ns : narrowest_ns;
    }
    check_counter(meter_series(meter));
    /* two reads of 3.8 ms, and what the machine did meanwhile */
    assert_true(narrowest_ns >= 7 * NS_PER_MS && narrowest_ns < 300 * NS_PER_MS);
    meter_free(meter);
    bench_end(&bench);
}

/* Updates every 100 ms, 3.8 ms a read: read all the while, an edge that follows another takes 26
 * reads, and 30 of them 780. When it is known when updates come, each takes those of the last 12 ms
 * and a few; a machine that wakes the meter late makes it twice that. */
static void edges_read_little_once_the_beat_is_known(void **state)
{
    (void)state;
    bench_begin(
        &bench, 10,
        "step 0 690\nfault nvmlDeviceGetTotalEnergyConsumption error code=999 from_call=780\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    poll(NULL, 0, 2000); /* learned when nothing is asked: 100 reads or so */
    for (uint64_t i = 1; i <= 30; i++) {
        struct meter_response edge = ask(meter, METER_EDGE, i);
        assert_int_equal(edge.status, METER_OK);
        assert_true(edge.counter[edge.counter_count - 1].energy_mj > edge.counter[0].energy_mj);
    }
    check_counter(meter_series(meter));
    meter_free(meter);
    bench_end(&bench);
}

static void an_edge_of_a_counter_that_stands_ends(void **state)
{
    (void)state;
    bench_begin(&bench, 10, "update_ms 100000\nupdate_jitter_ms 0\nidle_w 0\ncounter_cost_us 0\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    struct meter_response edge = ask(meter, METER_EDGE, 1);
    assert_int_equal(edge.status, METER_OK);
    assert_in_range(edge.counter_count, 2, 3);
    const struct counter_reading *last = &edge.counter[edge.counter_count - 1];
    assert_int_equal(edge.counter[0].energy_mj, last->energy_mj);
    assert_true(last->after_ns - edge.counter[0].before_ns >= 250 * NS_PER_MS);
    meter_free(meter);
    bench_end(&bench);
}

static void orders_are_answered_in_turn(void **state)
{
    (void)state;
    static const enum meter_kind kinds[] = {METER_TICK, METER_EDGE, METER_USERS, METER_TICK,
                                            METER_POWER};
    bench_begin(&bench, 10, "");
    struct meter *meter = bench_meter(&bench, "0");
    for (uint64_t i = 0; i < 5; i++) /* before it is ready */
        assert_true(meter_request(meter, kinds[i], 10 + i));
    assert_int_equal(meter_pending(meter), 5);
    assert_int_equal(await_any(meter).kind, METER_HELLO);
    for (uint64_t i = 0; i < 5; i++) {
        struct meter_response response = await_any(meter);
        assert_int_equal(response.kind, kinds[i]);
        assert_int_equal(response.id, 10 + i);
        assert_int_equal(response.status, METER_OK);
    }
    assert_int_equal(meter_pending(meter), 0);
    meter_free(meter);
    bench_end(&bench);
}

static void a_gpu_without_counter_and_buffer_is_sampled_by_its_power(void **state)
{
    (void)state;
    bench_begin(&bench, 100, "step 0 300\n");
    bench.options.library = FAKE_NVML_OLDER;
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    const struct meter_description *is = meter_describe(meter);
    assert_false(is->has_counter || is->has_trace);
    assert_non_null(strstr(is->counter_why, "no such function"));
    assert_non_null(strstr(is->trace_why, "nvmlDeviceGetSamples"));
    assert_int_equal(ask(meter, METER_EDGE, 1).counter_count, 0);
    assert_int_equal(ask(meter, METER_TICK, 2).counter_count, 0);
    assert_int_equal(ask(meter, METER_POWER, 3).power_count, 1);
    const struct series *series = meter_series(meter);
    assert_int_equal(series->counter_count, 0);
    assert_int_equal(series->power_count, 3); /* hello, tick, power */
    for (size_t i = 0; i < 3; i++)
        assert_near(series->power[i].power_w, 300, 0.001);
    meter_free(meter);
    bench_end(&bench);
}

static void a_divided_gpu_says_that_its_energy_is_not_measured(void **state)
{
    (void)state;
    bench_begin(&bench, 100, "mig 1\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    const struct meter_description *is = meter_describe(meter);
    assert_int_equal(is->identity.mig, GPU_MIG_ON);
    assert_false(is->has_counter || is->has_trace);
    assert_non_null(strstr(is->counter_why, "MIG"));
    struct meter_response tick = ask(meter, METER_TICK, 1);
    assert_int_equal(tick.status, METER_OK);
    assert_true(tick.has_sample && tick.sample.readings.of[GPU_TEMPERATURE_C].valid);
    assert_false(tick.sample.readings.of[GPU_POWER_INSTANT_W].valid);
    assert_int_equal(meter_series(meter)->counter_count + meter_series(meter)->power_count, 0);
    meter_free(meter);
    bench_end(&bench);
}

static void groups_of_readings_have_a_cost_and_a_reason(void **state)
{
    (void)state;
    bench_begin(&bench, 100,
                "fault field:82 error code=3\nfault nvmlDeviceGetClockInfo delay ms=30\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    size_t counted = meter_series(meter)->counter_count, sampled = meter_series(meter)->power_count;
    struct meter_response response = ask(meter, METER_GROUPS, 1);
    assert_int_equal(response.status, METER_OK);
    assert_int_equal(response.group_count, 13);
    for (size_t i = 0; i < response.group_count; i++) {
        const struct meter_group *group = &response.groups[i];
        bool missing = strcmp(group->name, "temperature.memory") == 0;
        assert_int_equal(group->why[0] != '\0', missing);
        if (missing)
            assert_string_equal(group->why,
                                "field 82: nvmlDeviceGetFieldValues: Not Supported (NVML error 3)");
        if (strcmp(group->name, "clock.sm") == 0)
            assert_true(group->cost_us >= 30000);
        assert_true(group->cost_us > 0);
    }
    assert_int_equal(meter_series(meter)->counter_count, counted);
    assert_int_equal(meter_series(meter)->power_count, sampled);
    meter_free(meter);
    bench_end(&bench);
}

static void processes_are_told(void **state)
{
    (void)state;
    char path[128];
    bench_begin(&bench, 100, "");
    snprintf(path, sizeof path, "%s/users/%d", bench.folder, (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("0 1073741824 40", file);
    fclose(file);
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    struct meter_response users = ask(meter, METER_USERS, 1);
    assert_int_equal(users.status, METER_OK);
    assert_int_equal(users.users.count, 1);
    assert_int_equal(users.users.users[0].pid, getpid());
    assert_true(users.users.users[0].compute);
    assert_near(users.users.users[0].memory_bytes.value, 1073741824, 0);
    assert_near(users.users.users[0].sm_percent.value, 40, 0);
    meter_free(meter);
    bench_end(&bench);
}

/* The number behind the key in /proc/PID/status. */
static long status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    long number = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    fclose(file);
    return number;
}

static void a_meter_is_small_and_cheap(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* a sanitizer takes memory and time of its own */
    bench_begin(&bench, 100, "");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    char path[64];
    unsigned long long before = 0, after = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)meter_pid(meter));
    FILE *file = fopen(path, "r");
    bool timed = file && fscanf(file, "%llu", &before) == 1;
    if (file)
        fclose(file);
    for (uint64_t i = 1; i <= 20; i++)
        assert_int_equal(ask(meter, METER_TICK, i).status, METER_OK);
    file = fopen(path, "r");
    timed = timed && file && fscanf(file, "%llu", &after) == 1;
    if (file)
        fclose(file);
    assert_in_range(status_number(meter_pid(meter), "VmHWM:"), 1, 8191);
    assert_int_equal(status_number(meter_pid(meter), "Threads:"), 1);
    /* A tick brings a second of the 50 Hz trace. The study's loop took 31 ms of CPU for one sample;
     * this allows 1/50 of that a sample, many times what is measured (make bench), as this machine
     * may be slow. */
    if (timed)
        assert_true((after - before) / 20 / 50 < 620000);
    meter_free(meter);
    bench_end(&bench);
}

static void what_the_driver_took_to_begin_is_given_back(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* a sanitizer keeps what is freed */
    bench_begin(&bench, 100, "init_memory_kib 30000\n");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    assert_int_equal(ask(meter, METER_TICK, 1).status, METER_OK);
    assert_in_range(status_number(meter_pid(meter), "VmHWM:"), 30000, 60000);
    assert_in_range(status_number(meter_pid(meter), "VmRSS:"), 1, 8191);
    assert_int_equal(ask(meter, METER_EDGE, 2).status, METER_OK);
    meter_free(meter);
    bench_end(&bench);
}

/* Those of a process; most: the highest of them. */
static int count_descriptors(pid_t pid, int *most)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    *most = -1;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            int fd = atoi(entry->d_name);
            *most = fd > *most ? fd : *most;
            count++;
        }
    closedir(folder);
    return count;
}

static void a_meter_has_no_descriptors_of_the_runner(void **state)
{
    (void)state;
    int leaky = open("/dev/null", O_RDONLY); /* not close-on-exec */
    int most, count;
    assert_true(leaky >= 0);
    bench_begin(&bench, 100, "");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    /* It opens a file of its own for a moment now and then; what came from the runner would
     * stay. */
    int64_t deadline_ns = clock_monotonic_ns() + 20 * NS_PER_S;
    while ((count = count_descriptors(meter_pid(meter), &most)) != 4 &&
           clock_monotonic_ns() < deadline_ns)
        poll(NULL, 0, 10);
    assert_int_equal(count, 4);
    assert_int_equal(most, 3);
    meter_free(meter);
    close(leaky);
    bench_end(&bench);
}

static void without_a_program_named_it_is_this_one(void **state)
{
    (void)state;
    bench_begin(&bench, 100, "");
    bench.options.program = NULL; /* UNIT_TESTS becomes the meter then */
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    assert_int_equal(ask(meter, METER_TICK, 1).status, METER_OK);
    meter_free(meter);
    bench_end(&bench);
}

static void what_the_terminal_sends_is_not_for_the_meter(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP};
    bench_begin(&bench, 100, "");
    struct meter *meter = bench_meter(&bench, "0");
    await_hello(meter);
    pid_t pid = meter_pid(meter);
    assert_int_equal(getpgid(pid), pid); /* not in our group */
    for (size_t i = 0; i < 4; i++)
        kill(pid, signals[i]);
    assert_int_equal(ask(meter, METER_TICK, 1).status, METER_OK);
    assert_int_equal(meter_pid(meter), pid);
    meter_free(meter);
    assert_true(await_end(pid));
    bench_end(&bench);
}

static void a_meter_ends_with_its_runner(void **state)
{
    (void)state;
    int pair[2];
    bench_begin(&bench, 100, "");
    assert_int_equal(pipe(pair), 0);
    pid_t runner = fork();
    if (runner == 0) {
        struct err err = {0};
        struct meter_response response;
        bench.options.device = "0";
        struct meter *meter = meter_start(&bench.options, &err);
        while (meter && !meter_take(meter, &response))
            poll(&(struct pollfd){.fd = meter_fd(meter), .events = POLLIN}, 1, 1000);
        pid_t pid = meter ? meter_pid(meter) : 0;
        _exit(write(pair[1], &pid, sizeof pid) == (ssize_t)sizeof pid ? 0 : 1);
    }
    pid_t pid = 0;
    close(pair[1]);
    assert_int_equal(read(pair[0], &pid, sizeof pid), (ssize_t)sizeof pid);
    close(pair[0]);
    assert_true(pid > 0);
    assert_true(await_end(pid));
    assert_true(await_end(runner));
    bench_end(&bench);
}

/* meter --device DEVICE --fd N --library FILE */
static int be_meter(char **args)
{
    return gpu_process_main(&(struct gpu_process_options){
        .backend = &nvml_backend, .device = args[2], .fd = atoi(args[4]), .library = args[6]});
}

UNIT_TESTS(void)
{
    if (unit_argc == 8) /* "meter" is both this file's NAME and the program's command */
        return be_meter(unit_argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_meter_describes_its_gpu),
        cmocka_unit_test(ticks_fill_the_series),
        cmocka_unit_test(what_is_forgotten_does_not_come_back),
        cmocka_unit_test(an_edge_finds_the_update_within_one_read),
        cmocka_unit_test(edges_read_little_once_the_beat_is_known),
        cmocka_unit_test(an_edge_of_a_counter_that_stands_ends),
        cmocka_unit_test(orders_are_answered_in_turn),
        cmocka_unit_test(a_gpu_without_counter_and_buffer_is_sampled_by_its_power),
        cmocka_unit_test(a_divided_gpu_says_that_its_energy_is_not_measured),
        cmocka_unit_test(groups_of_readings_have_a_cost_and_a_reason),
        cmocka_unit_test(processes_are_told),
        cmocka_unit_test(a_meter_is_small_and_cheap),
        cmocka_unit_test(what_the_driver_took_to_begin_is_given_back),
        cmocka_unit_test(a_meter_has_no_descriptors_of_the_runner),
        cmocka_unit_test(without_a_program_named_it_is_this_one),
        cmocka_unit_test(what_the_terminal_sends_is_not_for_the_meter),
        cmocka_unit_test(a_meter_ends_with_its_runner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
