/* scene: looks at a GPU as a test makes them up. */
#ifndef TARE_TESTS_GUARD_SCENE_H
#define TARE_TESTS_GUARD_SCENE_H

#include "measure/guard/look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define MIB (1024.0 * 1024)
#define S   INT64_C(1000000000)

/* An idle H200 of 78 W and 30 degrees, empty, its driver telling its own memory apart. */
static inline struct gpu_readings scene_idle(void)
{
    struct gpu_readings readings = {0};
    readings.of[GPU_POWER_INSTANT_W] = (struct reading){78, true};
    readings.of[GPU_POWER_LIMIT_W] = (struct reading){700, true};
    readings.of[GPU_TEMPERATURE_C] = (struct reading){30, true};
    readings.of[GPU_UTILISATION_PERCENT] = (struct reading){0, true};
    readings.of[GPU_MEMORY_USED_BYTES] = (struct reading){0, true};
    readings.of[GPU_MEMORY_RESERVED_BYTES] = (struct reading){615 * MIB, true};
    readings.of[GPU_MEMORY_TOTAL_BYTES] = (struct reading){143771 * MIB, true};
    readings.of[GPU_CLOCK_REASONS] = (struct reading){GPU_CLOCK_IDLE, true};
    return readings;
}

static inline void scene_set(struct gpu_readings *readings, enum gpu_reading which, double value)
{
    readings->of[which] = (struct reading){value, true};
}

static inline struct guard_user scene_user(enum guard_owner owner, int pid, double mib,
                                           double percent)
{
    return (struct guard_user){.owner = owner,
                               .pid = pid,
                               .start_time = (uint64_t)pid * 10,
                               .memory_bytes = {mib * MIB, true},
                               .sm_percent = {percent, true},
                               .text = "pid 7 of user ada, 'python3'"};
}

static inline struct guard_look scene_look(int64_t t_ns, const struct gpu_readings *readings,
                                           const struct guard_user *users, size_t count)
{
    return (struct guard_look){.device = "GPU 0",
                               .t_ns = t_ns,
                               .first_ns = t_ns,
                               .readings = readings,
                               .listed = true,
                               .users = users,
                               .user_count = count};
}

/* The kinds, in their order, joined by blanks. */
static inline void scene_kinds(const struct guard_findings *findings, char out[400])
{
    out[0] = '\0';
    for (size_t i = 0; i < findings->count; i++) {
        if (i)
            strcat(out, " ");
        strcat(out, findings->items[i].kind);
    }
}

#endif
