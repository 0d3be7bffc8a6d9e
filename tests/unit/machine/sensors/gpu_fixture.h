/* gpu_fixture: meters of the program under test on the fake driver (tests/fake). */
#ifndef TARE_TEST_GPU_FIXTURE_H
#define TARE_TEST_GPU_FIXTURE_H

#include "machine/sensors/meter.h"
#include "tests/unit/scenario_file.h"

enum { GAPS_MAX = 16 };

struct bench {
    char folder[64];
    struct fake_scenario truth;
    struct meter_options options;
    struct meter_gap gaps[GAPS_MAX];
    char reasons[GAPS_MAX][METER_TEXT_SIZE];
    size_t gap_count;
};

/* The scenario's time 0 was seconds_ago; FOLDER in the text is the bench's folder. Options: the
 * fake library, device 0, gaps kept here. */
void bench_begin(struct bench *bench, double seconds_ago, const char *scenario);
void bench_end(struct bench *bench);

struct meter *bench_meter(struct bench *bench, const char *device);

/* The next answer; fails the test when none comes for a long time. */
struct meter_response await_any(struct meter *meter);
/* Up to the answer to this; the ones before it are left out. */
struct meter_response await_answer(struct meter *meter, enum meter_kind kind, uint64_t id);
struct meter_response ask(struct meter *meter, enum meter_kind kind, uint64_t id);
void await_hello(struct meter *meter);

/* Until there is no such process, or only a zombie of it. */
bool await_end(pid_t pid);

#endif
