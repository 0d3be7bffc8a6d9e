/* feasibility: a study of pairs on disk: its folder, its two runs, its reports. */
#ifndef TARE_SESSION_FEASIBILITY_H
#define TARE_SESSION_FEASIBILITY_H

#include "base/strv.h"
#include "session/run_input.h"
#include "session/run_session.h"
#include "sharing/feasibility.h"

#include <stdbool.h>

/* What a study is asked for, and keeps in its folder as study.json. */
struct study_options {
    char *registry;   /* absolute; owned */
    double gpu_bytes; /* 0: as the GPU has it */
    int repeats;      /* of each model alone */
    bool all_pairs;
    bool track;       /* each model alone counts its GPU memory */
    double overlap_s; /* so long both of a pair must be seen training at the same time */
    double pair_s;    /* and so long that is tried at most */
};

struct study {
    char *folder; /* as a person would name it; owned */
    int dir;      /* the same, open; -1: none */
    struct study_options options;
    struct run_input input; /* settings and registry */
    struct feasibility of;
    size_t known; /* models that need not run alone */
};

/* Takes options, and input, which was read without errors. alone: folders of earlier studies, whose
 * models that are the same need not run alone again. False: there is no such study; nothing has
 * been written in either case. */
bool study_choose(struct study *study, struct study_options *options, struct run_input *input,
                  const struct strv *alone, struct err *err);

/* Then makes the folder and writes down what is asked for. */
bool study_begin(struct study *study, const char *output, struct err *err);

/* An earlier one. */
bool study_resume(struct study *study, const char *folder, struct err *err);
void study_fini(struct study *study);

/* A study from its first model alone to its report. */

struct study_steps {
    struct session_options session; /* of both runs */
    bool quiet, json;               /* nothing is told on the way; the report is feasibility.json */
    bool predict_only;
};

/* Gives the exit code; all has been said. */
int study_carry_out(struct study *study, const struct study_steps *steps);

#endif
