/* written: settings for the two parts of a study, and those with what it recommends. */
#ifndef TARE_SHARING_WRITTEN_H
#define TARE_SHARING_WRITTEN_H

#include "sharing/feasibility.h"

/* Settings for both parts. root: of the settings asked for. track: each model alone counts its GPU
 * memory. New references. */
json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track);
json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root);

/* Pairs without a result, to be run again, as often as it takes by what they showed until now;
 * NULL: there is none, or its time is over, or more of it would not help. A new reference. */
json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root);

/* With the pairs that are recommended: stable or usable, and proven. */
json_t *feasibility_recommended(const struct feasibility *study, const json_t *root);

/* An entry of settings: one model (back: NULL), or two in parallel; real: as they are run in
 * earnest. A new reference. */
json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real);

/* "gpu_memory_limit" as settings have it; NULL: none. The caller frees it. */
char *written_limit_text(const struct gpu_limit *limit);

/* Reading it again. Texts and JSON point into what was read; nothing is trusted. */

/* One model with its hyperparameters. */
struct written_side {
    const char *repo, *model, *mode;
    const json_t *params;
    const char *limit; /* gpu_memory_limit; NULL: none */
};

/* An entry of settings, or what is known of a model. */
struct written_entry {
    struct written_side alone; /* the entry itself, where it is of one model */
    struct written_side foreground, background;
    int64_t runs;        /* runs_per_config */
    const json_t *known; /* "runs": a list as of pairs_model */
};

/* The settings that one part of a study was run with, and what results_read_json gave of it: an
 * entry's experiments are runs of these after those of the entries before it. */
struct written_part {
    struct written_entry *entries;
    size_t count;
    const json_t *results; /* a list of experiments */
};

const json_t *written_experiments(const json_t *document); /* of settings, or of results */
void written_entry_read(const json_t *json, struct written_entry *out);
void written_part_read(const json_t *settings, const json_t *results, struct written_part *out);
void written_part_fini(struct written_part *part);

/* Repository, model, hyperparameters and limit are those of the model, with one epoch. */
bool written_is_of(const struct written_side *side, const struct pairs_model *model);

/* {"repo", "model", "hyperparameters", "gpu_memory_limit", "runs"}, as written_entry_read has it; a
 * new reference. */
json_t *written_known_json(const struct pairs_model *model, const json_t *runs);

#endif
