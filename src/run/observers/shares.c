/* Estimates for each of the two jobs of a parallel experiment. */

#include "base/mem.h"
#include "measure/energy_meters_measure.h"
#include "run/observers/load.h"

#include <string.h>

/* Minimum share of samples with load. */
static const double LOAD_ENOUGH = 0.5;

static json_t *elapsed_json(int64_t ns)
{
    return json_finite(ns_to_s(ns));
}

/* In seconds since the foreground's start. */
static void make_times_relative(const struct attempt *attempt, json_t *background)
{
    size_t at;
    json_t *loop;
    json_array_foreach(json_object_get(background, "loops"), at, loop)
    {
        json_int_t start_ns = 0, end_ns = 0;
        bool ran =
            json_get_int(loop, "start_ns", &start_ns) && json_get_int(loop, "end_ns", &end_ns);
        json_object_del(loop, "start_ns");
        json_object_del(loop, "end_ns");
        json_object_set_new(loop, "start_s",
                            ran && attempt->gate_open ? elapsed_json(start_ns - attempt->start_ns)
                                                      : json_null());
        json_object_set_new(loop, "duration_s",
                            ran ? elapsed_json(end_ns - start_ns) : json_null());
    }
}

static json_t *load_json(const struct lane_load *load)
{
    double share;
    bool held = load->verdict == LOAD_HELD, none = load->verdict == LOAD_NONE;
    bool seen = load->standalone_watch.visible;
    return json_pack(
        "{s:s?, s:b, s:o, s:o, s:o}", "seen_by",
        seen ? load->by_process ? "processes" : "board" : NULL, "awaited",
        load->verdict != LOAD_SET, "held", held || none ? json_boolean(held) : json_null(),
        "alone_s",
        load->standalone_end_ns ? elapsed_json(load->standalone_end_ns - load->begun_ns)
                                : json_null(),
        "share_of_looks_beside",
        lane_load_share(&load->beside_watch, &share) ? json_finite(share) : json_null());
}

static json_t *standalone_json(const struct lane_load *load)
{
    const struct colocated_alone *alone = &load->standalone;
    if (!load->has_standalone)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "scope", energy_meters_scope_name(ENERGY_GPU),
                     "seconds", json_finite(alone->seconds), "joules", json_finite(alone->joules),
                     "power_w", json_finite(alone->power_w), "half_width_w",
                     json_finite(alone->half_width_w));
}

/* Names the figure that is too uncertain. */
static char *explain_not_separable(const struct lane_load *load, const struct window_energy *total,
                                   const struct colocated_marginal *marginal, double seconds)
{
    double background_j = load->standalone.half_width_w * seconds;
    if (background_j >= total->half_width_j.value)
        return mem_printf("the background's power alone is known to ± %.3g W, which is ± %.3g J in "
                          "%.3g s; the foreground added at most %.3g J",
                          load->standalone.half_width_w, background_j, seconds, marginal->high_j);
    return mem_printf(
        "the energy of both is known to ± %.3g J; the foreground added at most %.3g J",
        total->half_width_j.value, marginal->high_j);
}

static json_t *marginal_json(const struct lane_load *load,
                             const struct energy_meters_figures *total, double seconds)
{
    const struct window_energy *window = &total->window;
    struct colocated_marginal marginal;
    if (!load->has_standalone || !window->energy_j.valid || !window->half_width_j.valid)
        return json_null();
    colocated_marginal(window->energy_j.value, window->half_width_j.value, seconds,
                       &load->standalone, &marginal);
    bool given = marginal.is_separable;
    AUTO_FREE char *why = given ? NULL : explain_not_separable(load, window, &marginal, seconds);
    return json_pack("{s:b, s:s, s:s*, s:o, s:o, s:s?, s:[o, o], s:o, s:o, s:o, s:o}", "estimate",
                     true, "scope", energy_meters_scope_name(ENERGY_GPU), "source", window->source,
                     "joules", given ? json_finite(marginal.joules) : json_null(), "half_width_j",
                     given ? json_finite(marginal.half_width_j) : json_null(), "not_separable", why,
                     "interval_j", json_finite(marginal.low_j), json_finite(marginal.high_j),
                     "total_joules", json_finite(window->energy_j.value), "background_power_w",
                     json_finite(load->standalone.power_w), "background_half_width_w",
                     json_finite(load->standalone.half_width_w), "seconds", json_finite(seconds));
}

/* null: a GPU has no samples. */
static json_t *gpu_split_json(const struct lane_load *load,
                              const struct energy_meters_result *result, double seconds)
{
    struct colocated_split sum = {0}, one;
    size_t gpus = 0;
    bool all = result->sums[ENERGY_GPU].window.energy_j.valid;
    for (size_t i = 0; all && i < result->device_count; i++) {
        const struct energy_meters_figures *device = &result->devices[i];
        const struct load_gpu *gpu = NULL;
        for (size_t k = 0; k < load->gpu_count && device->scope == ENERGY_GPU; k++)
            if (strcmp(load->gpus[k].label, device->name) == 0)
                gpu = &load->gpus[k];
        if (device->scope != ENERGY_GPU)
            continue;
        all = gpu && colocated_split(&gpu->shares, device->energy_mj, seconds, &one);
        if (all)
            colocated_add(&sum, &one);
        gpus++;
    }
    if (!all || gpus == 0)
        return json_null();
    return json_pack("{s:b, s:s, s:I, s:I, s:I, s:I, s:o}", "estimate", true, "scope",
                     energy_meters_scope_name(ENERGY_GPU), "total_mj", (json_int_t)sum.total_mj,
                     "foreground_mj", (json_int_t)sum.foreground_mj, "background_mj",
                     (json_int_t)sum.background_mj, "unattributed_mj",
                     (json_int_t)sum.unattributed_mj, "covered_share",
                     json_finite(sum.covered_share));
}

/* For the GPU where the background used most. */
static json_t *load_trace_json(const struct lane *lane)
{
    const struct lane_load *load = lane_load_get(lane);
    const struct colocated_trace *trace = NULL;
    double most = -1;
    EACH (gpu, load->gpus, load->gpu_count)
        for (size_t k = 0; k < gpu->trace.count; k++)
            if (gpu->trace.looks[k].background_bytes > most) {
                trace = &gpu->trace;
                most = trace->looks[k].background_bytes;
            }
    if (!trace || !lane->attempt.gate_open)
        return json_null();
    json_t *times = json_array(), *bytes[2] = {json_array(), json_array()},
           *percent[2] = {json_array(), json_array()};
    EACH (look, trace->looks, trace->count) {
        json_array_append_new(
            times, json_finite((double)((look->t_ns - lane->attempt.start_ns) / NS_PER_MS) / 1000));
        json_array_append_new(bytes[0], json_integer((json_int_t)look->foreground_bytes));
        json_array_append_new(bytes[1], json_integer((json_int_t)look->background_bytes));
        json_array_append_new(percent[0], json_reading_or_null(look->foreground_percent));
        json_array_append_new(percent[1], json_reading_or_null(look->background_percent));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "t_s", times, "foreground_bytes", bytes[0],
                     "background_bytes", bytes[1], "foreground_percent", percent[0],
                     "background_percent", percent[1]);
}

static void record_background_stall(struct lane *lane)
{
    const struct lane_load *load = lane_load_get(lane);
    double share;
    if (load->verdict == LOAD_HELD && lane_load_share(&load->beside_watch, &share) &&
        share < LOAD_ENOUGH)
        lane_add_evidence_span(
            lane, "background_stalled", (struct reading){0, true},
            (struct reading){ns_to_s(lane->attempt.end_ns - lane->attempt.start_ns), true},
            "the background loaded the GPU in only %.0f %% of the checks beside the foreground",
            100 * share);
}

static json_t *end_shares(struct lane *lane)
{
    if (!lane->experiment->parallel)
        return NULL;
    const struct attempt *attempt = &lane->attempt;
    const struct lane_load *load = lane_load_get(lane);
    bool measured =
        attempt->gate_open && attempt->end_ns > 0 && lane->energy_meters && lane->measured;
    struct energy_meters_result result = {0};
    json_t *background = lane_background_json(lane);
    make_times_relative(attempt, background);
    json_object_set_new(background, "load", load_json(load));
    json_t *json = json_pack("{s:o, s:o, s:o}", "background", background, "background_only",
                             standalone_json(load), "looks", load_trace_json(lane));
    if (attempt->gate_open)
        record_background_stall(lane);
    if (measured)
        energy_meters_measure(lane->energy_meters, attempt->start_ns, attempt->end_ns, NULL, 0,
                              NULL, &result);
    double seconds = ns_to_s(attempt->end_ns - attempt->start_ns);
    json_object_set_new(json, "foreground_marginal",
                        measured ? marginal_json(load, &result.sums[ENERGY_GPU], seconds)
                                 : json_null());
    json_object_set_new(json, "sm_share",
                        measured ? gpu_split_json(load, &result, seconds) : json_null());
    energy_meters_result_fini(&result);
    return json;
}

const struct observer shares_observer = {.key = "parallel", .end = end_shares};
