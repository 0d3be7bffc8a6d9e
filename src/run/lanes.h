/* lanes: what several lanes come to together: whose the processors' energy was, and how long each lane worked.
 * Nothing of it where there is one lane. Private to run/. */
#ifndef TARE_RUN_LANES_H
#define TARE_RUN_LANES_H

#include "run/runner.h"

void lanes_begin(struct runner *runner); /* the meters were started */
void lanes_fini(struct runner *runner);

/* PCIe links that GPUs of several lanes share: before the meters are started. */
void lanes_links_begin(struct runner *runner);

/* For EVENT_SESSION_ENDED, or null: docs/results.md. */
json_t *lanes_json(struct runner *runner);

#endif
