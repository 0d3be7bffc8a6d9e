#include "measure/energy/window.h"

#include "stats/interval.h"

#include <math.h>
#include <string.h>

static const char from_readings[] = "readings", from_profile[] = "sensor profile", from_assumption[] = "assumption";

static const struct {
    const char *name, *source;
    enum budget_type type;
} parts[WINDOW_PARTS] = {
    [WINDOW_PART_INTERPOLATION] = {"interpolation", from_readings, BUDGET_A},
    [WINDOW_PART_RESOLUTION] = {"counter_resolution", "the counter's step", BUDGET_B},
    [WINDOW_PART_EDGES] = {"edges", from_assumption, BUDGET_B},
    [WINDOW_PART_DELAY] = {"sample_delay", from_readings, BUDGET_A},
    [WINDOW_PART_AGREEMENT] = {"counter_against_trace", from_readings, BUDGET_A},
    [WINDOW_PART_AVERAGING] = {"averaging", from_profile, BUDGET_B},
    [WINDOW_PART_UPDATES] = {"updates", from_profile, BUDGET_B},
    [WINDOW_PART_ROUNDING] = {"power_resolution", "the power's step", BUDGET_B},
    [WINDOW_PART_UNSEEN] = {"unseen_share", from_profile, BUDGET_B},
    [WINDOW_PART_LAG] = {"lag", from_profile, BUDGET_B},
    [WINDOW_PART_MARKS] = {"marks", from_assumption, BUDGET_B},
};
_Static_assert(WINDOW_PARTS < BUDGET_MOST, "room for all parts and the gain");

static void add_part(const struct window_parts *of, size_t part, struct budget *out)
{
    struct budget_component component = {.name = parts[part].name,
                                         .source = parts[part].source,
                                         .type = parts[part].type,
                                         .unit = "J",
                                         .known = true,
                                         .u = of->j[part],
                                         .sensitivity = 1,
                                         .df = parts[part].type == BUDGET_A ? of->df : INFINITY};
    if (!(of->j[part] > 0))
        return;
    if (part == WINDOW_PART_DELAY && of->delay_s > 0) {
        component.unit = "s";
        component.u = of->delay_s;
    } else if (part == WINDOW_PART_AGREEMENT && of->agreement > 0) {
        component.unit = "1";
        component.u = of->agreement;
    }
    component.sensitivity = of->j[part] / component.u;
    budget_add(out, component);
}

void energy_budget(const struct window_energy *window, const struct sensor_gain *gain, struct energy_budget *out)
{
    *out = (struct energy_budget){.total.complete = false};
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        add_part(&window->parts, i, &out->components);
    out->read_out = budget_combine(&out->components, STATS_CONFIDENCE);
    budget_add(&out->components, (struct budget_component){.name = "gain",
                                                           .source = gain->source ? gain->source : "nobody states it",
                                                           .type = BUDGET_B,
                                                           .unit = "1",
                                                           .known = gain->bound > 0,
                                                           .u = gain->bound / sqrt(3),
                                                           .sensitivity = window->energy_j.value,
                                                           .df = INFINITY});
    out->total = budget_combine(&out->components, STATS_CONFIDENCE);
}

/* Of what was learnt from the readings. */
static double learnt(const struct window_parts *of)
{
    double square = 0;
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        square += parts[i].type == BUDGET_A ? of->j[i] * of->j[i] : 0;
    return square;
}

void energy_budget_add_parts(struct window_parts *to, const struct window_parts *more)
{
    double a = learnt(to), b = learnt(more);
    if (a + b > 0)
        to->df = (a + b) * (a + b) / ((a > 0 ? a * a / to->df : 0) + (b > 0 ? b * b / more->df : 0));
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        to->j[i] = hypot(to->j[i], more->j[i]);
    to->delay_s = to->agreement = 0;
}

struct sensor_gain energy_budget_add_gain(double energy_j, const struct sensor_gain *gain, double more_j,
                                          const struct sensor_gain *more)
{
    struct sensor_gain out = {.source = gain->source};
    if (gain->source != more->source && (!gain->source || !more->source || strcmp(gain->source, more->source) != 0))
        out.source = gain->bound > 0 && more->bound > 0 ? "of each device" : "nobody states that of all devices";
    if (gain->bound > 0 && more->bound > 0 && energy_j + more_j > 0)
        out.bound = (energy_j * gain->bound + more_j * more->bound) / (energy_j + more_j);
    return out;
}
