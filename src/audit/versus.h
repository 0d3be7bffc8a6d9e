/* versus: two groups of experiments against each other: "results/a" and "results/b", or "results:batch_size=32" and
 * "results:batch_size=64". */
#ifndef TARE_AUDIT_VERSUS_H
#define TARE_AUDIT_VERSUS_H

#include "audit/dataset.h"
#include "base/text.h"
#include "stats/compare.h"

#include <jansson.h>

#define VERSUS_QUANTITIES 4 /* gpu_energy_j, gpu_power_w, duration_s, cpu_energy_j */

/* What may explain a difference by itself: how the GPU began, and how fast it ran. */
enum versus_condition {
    VERSUS_TEMPERATURE_START_C,
    VERSUS_SM_CLOCK_START_MHZ,
    VERSUS_MEMORY_CLOCK_START_MHZ,
    VERSUS_SM_CLOCK_MEAN_MHZ,
    VERSUS_CONDITIONS
};
const char *versus_condition_name(enum versus_condition condition); /* "temperature_start_c" */

struct versus_side {
    char *text;          /* as given */
    char *path;
    struct strv keys, values; /* of the selector; keys: repo, model, mode or a hyperparameter */
    size_t *items;       /* indices of those that count: successes that are not contaminated */
    size_t count, left_out;
    bool *used;          /* of items: what is compared: of blocks those that both sides have, else all */
    size_t used_count;
    struct reading conditions[VERSUS_CONDITIONS]; /* means of the used that know it */
};

struct versus_quantity {
    const char *name;
    size_t a_count, b_count;
    struct reading a_mean, b_mean;
    struct stats_ratio ratio; /* of b to a */
    size_t blocks;            /* 0: not paired */
};

struct versus {
    struct versus_side sides[2];
    struct dataset dataset; /* of both */
    bool clean_only, all_verdicts; /* which verdicts count; neither: all but contaminated ones */
    struct versus_quantity quantities[VERSUS_QUANTITIES];
    bool order_confounded; /* the groups did not interleave in time */
    bool order_known;
    bool by_plan; /* the blocks are those that the plan was ordered in, else of equal hyperparameters */
    bool mixed; /* not paired, and the hyperparameters differ within a group beyond the selectors */
};

/* "DIR" or "DIR:key=value[,key=value]". False: it is neither. */
bool versus_parse(const char *text, struct versus_side *out, struct err *err);

/* Sides parsed, dataset judged: fills the rest. False: one of the sides is empty (err). */
bool versus_make(struct versus *versus, struct err *err);
void versus_fini(struct versus *versus);

/* The interval holds 1, or there is none. */
bool versus_cannot_tell(const struct versus_quantity *quantity);

/* The most blocks that any quantity was paired by; 0: none was. */
size_t versus_blocks(const struct versus *versus);

/* g_per_kwh: carbon intensity, or not valid. */
json_t *versus_json(const struct versus *versus, struct reading g_per_kwh);

#endif
