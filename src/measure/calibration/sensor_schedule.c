/* The schedules of load by which a power sensor is calibrated. */
#include "measure/calibration/sensor_learn.h"

#include "base/clock.h"

#include <math.h>

enum { PHASES = 16, PERIODS_MIN = 2 };
#define STEPS_SHARE 0.5
#define WAVES_SHARE 0.2
/* before and between steps, and before the waves: long enough for averages over a second */
#define REST_S         2.0
#define PERIOD_MIN_S   0.004
#define PERIOD_MAX_S   1.0
#define PERIOD_USUAL_S 0.1

static void add_load(struct sensor_schedule *out, double begin_s, double end_s)
{
    if (out->count < SCHEDULE_LOADS_MAX)
        out->loads[out->count++] = (struct load_interval){
            .begin_ns = llround(begin_s * 1e9), .end_ns = llround(end_s * 1e9), .level = 1};
}

/* Steps of 1.5 to 2.3 s with a little over 2 s of rest: no two edges fall on the same phase of a
 * regular update. */
void sensor_schedule_steps(double seconds, struct sensor_schedule *out)
{
    double at_s = REST_S, end_s = seconds * STEPS_SHARE;
    *out = (struct sensor_schedule){.count = 0};
    for (int i = 0;; i++) {
        double on_s = 1.5 + fmod(i * 0.317, 0.8), off_s = REST_S + fmod(i * 0.1373, 0.1);
        if (at_s + on_s + off_s > end_s && i > 0)
            break;
        add_load(out, at_s, at_s + on_s);
        at_s += on_s + off_s;
    }
    out->end_ns = llround(at_s * 1e9);
}

void sensor_schedule_waves(double seconds, double period_s, struct sensor_schedule *out)
{
    *out = (struct sensor_schedule){.count = 0};
    if (!(period_s >= PERIOD_MIN_S && period_s <= PERIOD_MAX_S))
        period_s = PERIOD_USUAL_S;
    double room_s = seconds * WAVES_SHARE / PHASES, at_s = 0;
    int periods = (int)fmax(PERIODS_MIN, floor(room_s / period_s) - 1);
    if (periods > SCHEDULE_LOADS_MAX / PHASES)
        periods = SCHEDULE_LOADS_MAX / PHASES;
    for (int phase = 0; phase < PHASES; phase++) {
        /* Bursts begin a sixteenth of a period later each, and a period apart. */
        double begin_s = at_s + period_s * phase / PHASES;
        for (int i = 0; i < periods; i++)
            add_load(out, begin_s + i * period_s, begin_s + (i + 0.5) * period_s);
        at_s += (periods + 2) * period_s;
    }
    out->end_ns = llround((at_s + REST_S) * 1e9);
}

void sensor_schedule_rest(double seconds, struct sensor_schedule *out)
{
    *out = (struct sensor_schedule){.count = 0};
    out->end_ns = llround(seconds * (1 - STEPS_SHARE - WAVES_SHARE) * 1e9);
}
