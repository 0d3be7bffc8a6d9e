/* feasibility_json: the JSON of tare feasibility. */
#ifndef TARE_SHARING_FEASIBILITY_JSON_H
#define TARE_SHARING_FEASIBILITY_JSON_H

#include "sharing/feasibility.h"

/* feasibility.json and feasibility.csv. */
json_t *feasibility_json(const struct feasibility *study);
void feasibility_csv(const struct feasibility *study, struct text *out);

#endif
