/* postflight: has a GPU given back what a job had of it, and if not, who has it? Pure. */
#ifndef TARE_MEASURE_GUARD_POSTFLIGHT_H
#define TARE_MEASURE_GUARD_POSTFLIGHT_H

#include "plan/config/settings.h"
#include "measure/guard/look.h"

enum postflight_state {
    POSTFLIGHT_BACK,   /* empty again */
    POSTFLIGHT_WAIT,   /* look again in a moment */
    POSTFLIGHT_HELD,   /* others have the rest: named */
    POSTFLIGHT_LEAKED, /* nobody has it: the GPU is not to be used any more */
    POSTFLIGHT_UNKNOWN /* what remains cannot be attributed here */
};

/* When the job was born and when its command ended, in ticks since boot as start times are. */
struct postflight_times {
    uint64_t born, ended;
};

/* since_s: since the job was proven gone. Once the state is not WAIT, evidence is added to out. scale: of tare's own times. */
enum postflight_state postflight_judge(const struct preflight_settings *settings, const struct guard_known *known,
                                       const struct guard_look *look, const struct postflight_times *times, double since_s,
                                       double scale, struct guard_findings *out);

#endif
