/* preflight: is a GPU ours, empty, idle and cool? And what is to be done when it is not. Pure. */
#ifndef TARE_MEASURE_GUARD_PREFLIGHT_H
#define TARE_MEASURE_GUARD_PREFLIGHT_H

#include "plan/config/settings.h"
#include "measure/guard/look.h"

/* Adds what speaks against beginning now. */
void preflight_look(const struct preflight_settings *settings, const struct guard_known *known,
                    const struct guard_look *look, struct guard_findings *out);

enum preflight_step {
    PREFLIGHT_CLEAR,    /* nothing blocks */
    PREFLIGHT_LOOK_ON,  /* look again in a moment */
    PREFLIGHT_STOP,     /* by the policy refuse */
    PREFLIGHT_OVERRIDE  /* begin all the same */
};

/* looked_s: since the first look. settling: a job of ours ran just before, whose heat and power are still going. One look that
 * finds something is not believed alone. scale: of tare's own times. */
enum preflight_step preflight_decide(const struct preflight_settings *settings, const struct guard_findings *findings,
                                     double looked_s, bool settling, double scale);

/* What the attempt has as evidence when it begins all the same: after a wait, what has only been there is one suspicion
 * (went_on_after_wait); what works on the GPU, and all when nobody waited, counts as what it is. waited_s: so long. */
void preflight_evidence(const struct preflight_settings *settings, const struct guard_findings *findings, double waited_s,
                        struct guard_findings *out);

#endif
