#include "measure/energy/sensor_profile.h"

#include "base/clock.h"

#include <ctype.h>
#include <string.h>

#define MS(count) ((int64_t)(count)*NS_PER_MS)
/* Times in ms. */
#define TOLD(update, jitter, kind, length, share)                                                                      \
    {                                                                                                                  \
        .told = true, .update_ns = MS(update), .jitter_ns = MS(jitter), .averaging = kind, .averaging_ns = MS(length), \
        .looked_share = share                                                                                          \
    }
#define PAPER    "arXiv 2312.02741"
#define UNSTATED "the vendor states none; " PAPER " measured about 5 % on many boards, another share on each"

const struct sensor_gain sensor_gain_rapl = {.source = "the vendor states none for RAPL"};

/* A device of a smaller share has never been seen. */
const struct sensor_profile sensor_profile_unknown = {
    .label = "unknown: widest bounds",
    .behaviour = {.update_ns = MS(100),
                  .jitter_ns = MS(2),
                  .averaging = WINDOW_BOXCAR,
                  .averaging_ns = MS(1000),
                  .looked_share = 0.2},
    .accuracy = "unknown",
    .gain = {.source = UNSTATED},
    .source = "the longest mean (NVML: 1 s) and the smallest looked-at share (GH200: 20 ms of 100 ms, " PAPER ")",
};

/* The first row that holds a model's name counts. Where the vendor states no accuracy for the sensor, nobody does: the
 * paper measured about 5 % for many boards, another share for each. */
static const struct sensor_profile profiles[] = {
    {
        .label = "H200 (measured)",
        .models = {"H200"},
        .behaviour = {.update_ns = MS(100),
                      .jitter_ns = MS(2),
                      .averaging = WINDOW_BOXCAR,
                      .averaging_ns = MS(100),
                      .looked_share = 1,
                      .counter_current = true},
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source =
            "update and jitter: measured with driver 580, samples every 15 to 20 ms; averaging of samples: at most "
            "the update period; looked-at share of the counter: 98 to 100 %, measured; its lag of 6 ms is not taken",
    },
    {
        .label = "GH200 (" PAPER ")",
        .models = {"GH200"},
        .behaviour = TOLD(100, 2, WINDOW_BOXCAR, 20, 0.2),
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": 20 ms of each 100 ms",
    },
    {
        .label = "A100, H100 (" PAPER ")",
        .models = {"A100", "A800", "A30", "H100", "H800"},
        .behaviour = TOLD(100, 2, WINDOW_BOXCAR, 25, 0.25),
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": 25 ms of each 100 ms; A30 (GA100 too) and A800, H800 (the same chips) by analogy",
    },
    {
        .label = "Turing (" PAPER ")",
        .models = {"T4", "RTX 20", "GTX 16", "Quadro RTX", "TITAN RTX", "T1000", "T600", "T400"},
        .behaviour = TOLD(100, 2, WINDOW_BOXCAR, 100, 1),
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": 100 ms of each 100 ms",
    },
    {
        .label = "Ampere GA10x, Ada (" PAPER ", NVML)",
        .models = {"RTX 30", "RTX 40", "RTX A", "A10", "A16", "A40", "L4", "L40"},
        .behaviour = {.update_ns = MS(100),
                      .jitter_ns = MS(2),
                      .averaging = WINDOW_BOXCAR,
                      .averaging_ns = MS(1000),
                      .looked_share = 1},
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": 100 ms of each 100 ms (RTX 3090); NVML: power usage is a mean of 1 s; which of the two the "
                        "samples are is not documented",
    },
    {
        .label = "Pascal, Volta (" PAPER ")",
        .models = {"V100", "P100", "P40", "P4", "GTX 10", "TITAN V", "TITAN Xp", "Quadro P"},
        .behaviour = TOLD(20, 1, WINDOW_BOXCAR, 10, 0.5),
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": 10 ms of each 20 ms",
    },
    {
        .label = "Maxwell (" PAPER ")",
        .models = {"M40", "M60", "M4", "M10", "GTX 9", "Quadro M", "TITAN X"},
        .behaviour = TOLD(20, 1, WINDOW_EXPONENTIAL, 100, 1),
        .accuracy = "unknown",
        .gain = {.source = UNSTATED},
        .source = PAPER ": updated every 20 ms, rises in about 200 ms (two time constants are taken)",
    },
    {
        .label = "Kepler (" PAPER ", NVML)",
        .models = {"K20", "K40", "K80", "K10", "GTX 7", "Quadro K", "TITAN Black"},
        .behaviour = TOLD(20, 1, WINDOW_EXPONENTIAL, 100, 1),
        .accuracy = "5 %",
        .gain = {.bound = 0.05, .source = "NVML's manual, nvmlDeviceGetPowerUsage: within 5 % on Fermi and Kepler"},
        .source = PAPER ": updated every 20 ms, rises in about 200 ms (two time constants are taken); NVML: within 5 %",
    },
};

/* "T4" is in "Tesla T4" and "T4G", not in "T400", "A10" not in "A100"; "RTX 30" is in "RTX 3090": two digits are a series. */
static bool names(const char *model, const char *word)
{
    size_t length = strlen(word);
    bool series = strchr(word, ' ') != NULL;
    for (const char *at = model; (at = strstr(at, word)) != NULL; at++) {
        bool begins = at == model || !isalnum((unsigned char)at[-1]);
        if (begins && (series || !isdigit((unsigned char)at[length])))
            return true;
    }
    return false;
}

const struct sensor_profile *sensor_profile_find(const char *model)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        for (size_t k = 0; k < sizeof profiles[i].models / sizeof *profiles[i].models && profiles[i].models[k]; k++)
            if (names(model, profiles[i].models[k]))
                return &profiles[i];
    return &sensor_profile_unknown;
}

void sensor_behaviour_apply(const struct sensor_behaviour *behaviour, struct window_sensor *sensor)
{
    int64_t mean_ns = behaviour->averaging == WINDOW_BOXCAR        ? behaviour->averaging_ns / 2
                      : behaviour->averaging == WINDOW_EXPONENTIAL ? behaviour->averaging_ns
                                                                   : 0;
    sensor->update_period_ns = behaviour->update_ns;
    sensor->update_jitter_ns = behaviour->jitter_ns;
    sensor->averaging = behaviour->averaging;
    sensor->span_min_ns = 0;
    sensor->span_max_ns = 2 * (mean_ns + behaviour->delay_ns);
    sensor->bounded = !behaviour->counter_current;
    if (sensor->bounded) {
        sensor->averaging_ns = behaviour->averaging_ns;
        sensor->lag_ns = behaviour->told ? mean_ns + behaviour->delay_ns : 0;
        sensor->lag_unsure_ns = behaviour->told ? 0 : mean_ns + behaviour->delay_ns;
    }
    sensor->unseen_share = 1 - behaviour->looked_share;
    if (sensor->gap_ns < 3 * behaviour->update_ns / 2)
        sensor->gap_ns = 3 * behaviour->update_ns / 2;
}
