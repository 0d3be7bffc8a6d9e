/* played: a scenario in a folder of its own, and the library that plays it. */
#ifndef TARE_TEST_GPU_PLAYED_H
#define TARE_TEST_GPU_PLAYED_H

#include "machine/gpu/sensor.h"
#include "tests/unit/scenario_file.h"

struct played {
    char folder[64];
    struct gpu_driver *driver;
    struct gpu_sensor *sensor;
    struct fake_scenario truth;
};

/* As scenario_file; opens device of library. NULL
 * library: the fake one. */
void play(struct played *played, const char *library, const char *device, double seconds_ago,
          const char *text);
/* Only the scenario: the caller opens. */
void play_scenario(struct played *played, double seconds_ago, const char *text);
void play_end(struct played *played);

/* One user of the GPU: FOLDER/users/PID. */
void play_user(struct played *played, int pid, const char *line);

#endif
