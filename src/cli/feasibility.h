/* feasibility: a study of pairs on disk: its folder, its two runs, its reports. */
#ifndef TARE_CLI_FEASIBILITY_H
#define TARE_CLI_FEASIBILITY_H

#include "cli/run_input.h"
#include "cli/run_session.h"
#include "pairs/feasibility.h"

#include <stdbool.h>

/* What a study is asked for, and keeps in its folder as study.json. */
struct study_wish {
    char *registry; /* absolute; owned */
    double gpu_bytes; /* 0: as the GPU has it */
    int repeats;      /* of each model alone */
    bool all_pairs;
};

struct study {
    char *folder; /* as a person would name it; owned */
    int dir;      /* the same, open; -1: none */
    struct study_wish wish;
    struct run_input input; /* settings and registry */
    struct feasibility of;
};

/* Makes the folder and writes down what is asked for; takes wish. input was read without errors and becomes the
 * study's. */
bool study_begin(struct study *study, const char *output, struct study_wish *wish, struct run_input *input,
                 struct err *err);

/* An earlier one. */
bool study_resume(struct study *study, const char *folder, struct err *err);
void study_fini(struct study *study);

/* Carries out one part, "alone" or "pairs", as far as it has not been; session: what all runs have in common. Gives the
 * run's exit code; results: what it came to (a new reference; NULL: nothing). */
int study_run_part(struct study *study, const char *name, json_t *settings, struct session_wish session,
                   json_t **results);

/* feasibility.json, .csv, .txt and .html, and recommended.json (only when something is recommended). */
bool study_write(const struct study *study, struct err *err);

#endif
