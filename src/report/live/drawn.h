/* drawn: what an attempt drew, in the few words that fit into a line of progress. Pure. */
#ifndef TARE_REPORT_LIVE_DRAWN_H
#define TARE_REPORT_LIVE_DRAWN_H

#include "base/reading.h"
#include "base/text.h"

#include <jansson.h>

struct drawn {
    struct reading gpu_j, gpu_half_width_j, cpu_j, cpu_half_width_j;
};

/* "energy" of EVENT_ATTEMPT_ENDED; NULL, or null: nothing was measured. */
struct drawn drawn_read(const json_t *energy);

/* ", GPU 36.000 kJ ± 0.003, CPU 3.00 kJ ± 0.01"; nothing where nothing is known. */
void drawn_add(const struct drawn *drawn, struct text *out);

/* "1.914 kJ ± 0.011": as many digits as the half-width allows, at most three behind the point. */
void drawn_add_energy(struct reading energy_j, struct reading half_width_j, struct text *out);

#endif
