/* energy_epochs: the epochs of what was measured, as rows for people and as JSON. Pure. */
#ifndef TARE_SESSION_ENERGY_EPOCHS_H
#define TARE_SESSION_ENERGY_EPOCHS_H

#include "base/text.h"
#include "session/measuring.h"

#include <jansson.h>

/* Nothing where nothing was marked. Of very many the first and the last are shown. */
void energy_epochs_text(const struct measured *measured, struct text *out);

/* A list like tare.epochs of experiment.json (docs/epochs.md). */
json_t *energy_epochs_json(const struct measured *measured);

#endif
