/* cooldown: how long a pause lasts, and what the idle GPU draws. Pure. */
#ifndef TARE_MEASURE_GUARD_COOLDOWN_H
#define TARE_MEASURE_GUARD_COOLDOWN_H

#include "plan/config/settings.h"
#include "measure/guard/look.h"

/* One GPU in a pause. */
struct cooldown {
    size_t calm_looks; /* in a row that found it idle and cool */
    struct reading lowest_c, last_power_w;
};

void cooldown_begin(struct cooldown *cooldown);

/* Whether it has settled: power at the idle baseline, temperature at its start value, or not falling any more where these are not
 * known; in two looks that follow each other. A GPU that tells neither power nor temperature never has. */
bool cooldown_look(struct cooldown *cooldown, const struct guard_known *known, const struct guard_look *look);

enum cooldown_state {
    COOLDOWN_GOES_ON,
    COOLDOWN_OVER,    /* settled, and long enough */
    COOLDOWN_AT_LIMIT /* the longest time is over */
};

/* all_settled: every GPU of the lane. planned_s: the pause of the settings, which is what counts when the mode is fixed, or no GPU
 * tells anything (blind). scale: of tare's own times. */
enum cooldown_state cooldown_decide(const struct cooldown_settings *settings, double planned_s, double since_s,
                                    bool all_settled, bool blind, double scale);

/* What a GPU drew in a window in which it was idle. */
struct idle_window {
    bool proven; /* nobody was on it, before and after the window, and its power did not change */
    double seconds, power_w, half_width_w;
    double drift_w; /* the second half's power less the first's */
};

/* Whether the power was even enough to be an idle GPU's, and not that of one that is still settling. */
bool idle_is_even(const struct idle_window *window);

struct idle_net {
    struct reading energy_j, half_width_j;
};

/* An attempt's energy less what the bare GPU would have drawn in its time: the mean of the windows before and after it; their
 * read-outs, and 95 % of half their difference as drift, go into the half-width. Absent unless both are proven. */
struct idle_net idle_net_of(const struct idle_window *before, const struct idle_window *after, struct reading gross_j,
                            struct reading gross_half_width_j, double duration_s);

#endif
