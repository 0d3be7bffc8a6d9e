#include "measure/calibration/calibration_width.h"
#include "base/clock.h"
#include "measure/energy/window.h"

#include <math.h>

/* Steps of no common measure with the sensors' rhythm, and readings as a run takes them. */
static const double ON_S = 1.373, OFF_S = 0.839, READ_S = 1.061, EDGE_S = 0.3, EDGE_READ_S = 0.005,
                    ROOM_S = 3;
static const double USUAL_PERIOD_S = 0.1, USUAL_IDLE_W = 80, USUAL_LOAD_W = 400;
static const int64_t ORIGIN_NS = 1000 * NS_PER_S;

struct played {
    double idle_w, load_w, period_s, sample_s;
};

static double power_w(const struct played *gpu, double t_s)
{
    return fmod(t_s, ON_S + OFF_S) < ON_S ? gpu->load_w : gpu->idle_w;
}

static double energy_j(const struct played *gpu, double t_s)
{
    double rest_s = fmod(t_s, ON_S + OFF_S);
    double on_s = floor(t_s / (ON_S + OFF_S)) * ON_S + fmin(rest_s, ON_S);
    return gpu->idle_w * t_s + (gpu->load_w - gpu->idle_w) * on_s;
}

static int64_t at_ns(double t_s)
{
    return ORIGIN_NS + llround(t_s * 1e9);
}

static void play_counter_reading(const struct played *gpu, double t_s, struct series *series)
{
    double updated_s = floor(t_s / gpu->period_s) * gpu->period_s;
    series_add_counter(series, (struct counter_reading){.before_ns = at_ns(t_s) - NS_PER_MS,
                                                        .after_ns = at_ns(t_s),
                                                        .energy_mj = (uint64_t)llround(
                                                            energy_j(gpu, updated_s) * 1000)});
}

/* Samples densely at the edges of a window, as a run does. */
static void play_sensor(const struct played *gpu, double from_s, double to_s, bool counter,
                        struct series *series)
{
    for (double t_s = 0; t_s < to_s + ROOM_S; t_s += gpu->sample_s)
        series_add_power(series,
                         (struct power_sample){.t_ns = at_ns(t_s), .power_w = power_w(gpu, t_s)});
    for (double t_s = 0.5; counter && t_s < to_s + ROOM_S;) {
        play_counter_reading(gpu, t_s, series);
        bool edge = (t_s > from_s - EDGE_S && t_s < from_s + EDGE_S) ||
                    (t_s > to_s - EDGE_S && t_s < to_s + EDGE_S);
        double next_s = t_s + (edge ? EDGE_READ_S : READ_S);
        double edge_s = t_s <= from_s - EDGE_S ? from_s - EDGE_S
                        : t_s <= to_s - EDGE_S ? to_s - EDGE_S
                                               : next_s;
        t_s = edge ? next_s : fmin(next_s, edge_s + EDGE_READ_S);
    }
}

static double known_or(const struct learnt *figure, double otherwise)
{
    return figure->known && figure->value > 0 ? figure->value : otherwise;
}

struct reading calibration_half_width_share(const struct calibration *calibration,
                                            const struct sensor_profile *row, double seconds)
{
    const struct sensor_learnt *counter = &calibration->sensors[CALIBRATION_COUNTER];
    const struct sensor_learnt *samples = &calibration->sensors[CALIBRATION_SAMPLES];
    const struct sensor_learnt *power = &calibration->sensors[CALIBRATION_POWER];
    const struct sensor_learnt *shown = samples->updates > 0 ? samples : power;
    struct played gpu = {.idle_w = known_or(&shown->idle_w, USUAL_IDLE_W),
                         .load_w = known_or(&shown->load_w, USUAL_LOAD_W),
                         .period_s = known_or(&counter->update_period_s, USUAL_PERIOD_S),
                         .sample_s = known_or(&shown->update_period_s, USUAL_PERIOD_S)};
    struct calibration_profile profile;
    struct window_sensor sensor = window_sensor_gpu;
    struct window_energy energy = {0};
    struct series series = {0};
    calibration_profile(calibration, row, &profile);
    sensor_behaviour_apply(&profile.of.behaviour, &sensor);
    sensor.reading = profile.of.reading;
    sensor.power_held_w = sensor.power_limit_w = 1.2 * gpu.load_w;
    play_sensor(&gpu, ROOM_S, ROOM_S + seconds, counter->updates > 0, &series);
    struct window_index *index = window_index_new(&series, &sensor);
    window_index_energy(index, at_ns(ROOM_S), at_ns(ROOM_S + seconds), &energy);
    window_index_free(index);
    series_fini(&series);
    bool known = energy.energy_j.valid && energy.half_width_j.valid && energy.energy_j.value > 0;
    return (struct reading){known ? energy.half_width_j.value / energy.energy_j.value : 0, known};
}
