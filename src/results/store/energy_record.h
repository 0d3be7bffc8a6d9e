/* energy_record: reads the energy of an attempt from the JSON in which it was recorded. */
#ifndef TARE_RESULTS_STORE_ENERGY_RECORD_H
#define TARE_RESULTS_STORE_ENERGY_RECORD_H

#include "results/model.h"

/* json: "energy" of EVENT_ATTEMPT_ENDED, or NULL. Values of another kind are left out. */
void energy_record_read(const json_t *json, struct energy_record *out);
void energy_record_fini(struct energy_record *energy);

/* The device of this label; NULL: not found. */
const struct energy_figures *energy_record_device(const struct energy_record *energy,
                                                  const char *label);

/* data: of EVENT_ATTEMPT_ENDED, or what of it there is so far. */
void attempt_use_read(const json_t *data, struct attempt_use *out);
void attempt_use_fini(struct attempt_use *use);

/* One of the study's columns of energy. */
struct reading energy_figure(const struct energy_record *energy, size_t column);

#endif
