/* lanes: what several lanes come to together: whose the processors' energy was, and how long each lane worked.
 * Nothing of it where there is one lane. Private to run/. */
#ifndef TARE_RUN_LANES_H
#define TARE_RUN_LANES_H

#include "base/text.h"
#include "run/runner.h"

void lanes_begin(struct runner *runner); /* the meters were started */
void lanes_fini(struct runner *runner);

/* About once a second, and, soon or not, at the edges of a job. */
void lanes_tick(struct runner *runner);
void lanes_edge(struct runner *runner);

/* The attempt's gate was opened; it has ended. */
void lanes_attempt_begin(struct lane *lane);
void lanes_attempt_end(struct lane *lane, json_t *energy); /* adds "cpu_package_share" to what was measured (docs/energy.md) */

/* Whether the experiments of the other lanes were in the way: evidence, with their names. cpu_s: of the lane's own
 * job. */
void lanes_tell_pressure(struct lane *lane, const struct host_window *host, struct reading cpu_s);

/* "; on other lanes: ID, ID": those that have an experiment in work. Nothing where there are none. Gives the numbers of all of
 * them, a new reference. */
json_t *lanes_add_others(const struct lane *lane, struct text *out);

/* PCIe links that GPUs of several lanes share: before the meters are started; what the GPUs read of them; the
 * attempt begins anew, or has ended: evidence. */
void lanes_links_begin(struct runner *runner);
void lanes_sample(struct lane *lane, const char *label, const struct gpu_sample *sample);
void lanes_link_forget(struct lane *lane);
void lanes_tell_link(struct lane *lane);

/* For EVENT_SESSION_ENDED, or null: docs/results.md. */
json_t *lanes_json(struct runner *runner);

#endif
