#include "measure/energy/sensor_behaviour.h"

#include "base/clock.h"
#include "stats/interval.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define MS(count) ((int64_t)(count)*NS_PER_MS)
#define PAPER     "arXiv 2312.02741"

const struct sensor_gain sensor_gain_rapl = {.source = "the vendor states none for RAPL"};

/* A device of a smaller share has never been seen. */
const struct sensor_profile sensor_profile_unknown = {
    .label = "unknown: widest bounds",
    .behaviour = {.update_ns = MS(100),
                  .jitter_ns = MS(2),
                  .averaging = WINDOW_BOXCAR,
                  .averaging_ns = MS(1000),
                  .looked_share = 0.2,
                  .share_unsure = true},
    .accuracy = "unknown",
    .gain = {.source = "the vendor states none; " PAPER
                       " measured about 5 % on many boards, another share on each"},
    .source = "the longest mean (NVML: 1 s) and the smallest looked-at share (GH200: 20 ms of 100 "
              "ms, " PAPER ")",
};

/* "T4" is in "Tesla T4" and "T4G", not in "T400", "A10" not in "A100"; "RTX 30" is in "RTX 3090":
 * two digits are a series. */
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

const struct sensor_profile *sensor_profile_find(const struct gpu_vendor *vendor, const char *model)
{
    for (size_t i = 0; vendor && i < vendor->profile_count; i++) {
        const struct sensor_profile *row = &vendor->profiles[i];
        for (size_t k = 0; k < sizeof row->models / sizeof *row->models && row->models[k]; k++)
            if (names(model, row->models[k]))
                return row;
    }
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
        if (!behaviour->told && behaviour->lag_sd_ns > 0) {
            sensor->lag_ns = behaviour->lag_ns;
            sensor->lag_unsure_ns = llround(HALF_WIDTH_DEVIATIONS * behaviour->lag_sd_ns);
        }
    }
    sensor->counter_lag_ns = behaviour->counter_lag_ns;
    sensor->counter_lag_half_ns = llround(HALF_WIDTH_DEVIATIONS * behaviour->counter_lag_sd_ns);
    sensor->share_unsure = behaviour->share_unsure;
    sensor->share_known = behaviour->told;
    sensor->share_measured = behaviour->share_measured;
    sensor->unseen_share = 1 - behaviour->looked_share;
    if (sensor->gap_ns < 3 * behaviour->update_ns / 2)
        sensor->gap_ns = 3 * behaviour->update_ns / 2;
}
