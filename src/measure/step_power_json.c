#include "base/json.h"
#include "base/value.h"
#include "measure/step_power.h"

#include <math.h>

static void set(json_t *json, const char *key, double value)
{
    json_object_set_new(json, key, json_finite(number_round(value, 6)));
}

static json_t *phase_json(const struct step_phase *phase)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(phase->name));
    set(json, "begin_s", phase->begin_s);
    set(json, "end_s", phase->end_s);
    json_set_reading(json, "energy_j", phase->energy_j);
    json_set_reading(json, "half_width_j", phase->half_width_j);
    return json;
}

static json_t *bin_json(const struct step_bin *bin)
{
    json_t *json = json_object();
    set(json, "begin_s", bin->begin_s);
    set(json, "end_s", bin->end_s);
    set(json, "power_w", bin->power_w);
    set(json, "half_width_w", bin->half_width_w);
    return json;
}

json_t *step_power_json(const struct step_power *power)
{
    json_t *json = json_object(), *phases = json_array(), *bins = json_array();
    bool told = !power->reason[0];
    for (size_t i = 0; i < power->phase_count && told; i++)
        json_array_append_new(phases, phase_json(&power->phases[i]));
    for (size_t i = 0; i < power->bin_count && told; i++)
        json_array_append_new(bins, bin_json(&power->bins[i]));
    json_object_set_new(json, "steps", json_integer((json_int_t)power->steps));
    json_object_set_new(json, "steps_left_out", json_integer((json_int_t)power->left_out));
    set(json, "step_median_s", power->step_s);
    json_object_set_new(json, "samples", json_integer((json_int_t)power->samples));
    json_object_set_new(json, "phases", phases);
    json_object_set_new(json, "bins", bins);
    json_object_set_new(json, "reason", told ? json_null() : json_string(power->reason));
    return json;
}
