/* feasibility_json: the JSON of tare feasibility. */
#ifndef TARE_SHARING_FEASIBILITY_JSON_H
#define TARE_SHARING_FEASIBILITY_JSON_H

#include "base/record.h"
#include "sharing/feasibility.h"

/* The tables of these structs in feasibility.json. */
extern const struct record_field pairs_model_fields[], pairs_outcome_fields[], pairs_pair_fields[];

/* feasibility.json and feasibility.csv. */
json_t *feasibility_json(const struct feasibility *study);
void feasibility_csv(const struct feasibility *study, struct text *out);

#endif
