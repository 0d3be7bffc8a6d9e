#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_fixture.h"

#include "base/clock.h"

#include "tests/unit/folder.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t PATIENCE_NS = 40 * NS_PER_S;

static void keep_gap(void *data, const struct meter_gap *gap)
{
    struct bench *bench = data;
    assert_true(bench->gap_count < GAPS_MAX);
    bench->gaps[bench->gap_count] = *gap;
    snprintf(bench->reasons[bench->gap_count], METER_TEXT_SIZE, "%s", gap->reason);
    bench->gap_count++;
}

void bench_begin(struct bench *bench, double seconds_ago, const char *scenario)
{
    *bench = (struct bench){.folder = "/tmp/meter-test.XXXXXX"};
    scenario_file(bench->folder, seconds_ago, scenario, &bench->truth);
    bench->options = (struct meter_options){
        .program = PROGRAM, .library = FAKE_NVML, .gap = keep_gap, .data = bench};
}

void bench_end(struct bench *bench)
{
    folder_remove(bench->folder);
}

struct meter *bench_meter(struct bench *bench, const char *device)
{
    struct err err = {0};
    bench->options.device = device;
    struct meter *meter = meter_start(&bench->options, &err);
    if (!meter)
        fail_msg("%s", err.text);
    return meter;
}

struct meter_response await_any(struct meter *meter)
{
    struct meter_response response;
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    while (clock_monotonic_ns() < until_ns) {
        if (meter_take(meter, &response))
            return response;
        poll(&(struct pollfd){.fd = meter_fd(meter), .events = POLLIN}, 1, 1000);
    }
    fail_msg("no answer (state %d: %s)", meter_state(meter), meter_reason(meter));
    return response;
}

struct meter_response await_answer(struct meter *meter, enum meter_kind kind, uint64_t id)
{
    for (;;) {
        struct meter_response response = await_any(meter);
        if (response.kind == kind && response.id == id)
            return response;
    }
}

struct meter_response ask(struct meter *meter, enum meter_kind kind, uint64_t id)
{
    assert_true(meter_request(meter, kind, id));
    return await_answer(meter, kind, id);
}

void await_hello(struct meter *meter)
{
    struct meter_response hello = await_answer(meter, METER_HELLO, 0);
    if (hello.status != METER_OK)
        fail_msg("%s", hello.text);
    assert_int_equal(meter_state(meter), METER_READY);
}

bool await_end(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    while (clock_monotonic_ns() < until_ns) {
        FILE *file = fopen(path, "r");
        if (!file)
            return true;
        line[fread(line, 1, sizeof line - 1, file)] = '\0';
        fclose(file);
        const char *end = strrchr(line, ')');
        if (!end || end[2] == 'Z' || end[2] == 'X')
            return true;
        poll(NULL, 0, 20);
    }
    return false;
}
