/* judge_private: the parts of the judge. Each adds checks and evidence to experiments; judge.c
 * calls them in order. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_PRIVATE_H
#define TARE_RESULTS_JUDGE_JUDGE_PRIVATE_H

#include "results/judge/judge.h"
#include "stats/fit.h"

/* Every threshold of the judge; docs/explanation/appendix-verdicts.md gives the reason for each and
 * what moves with it. A build for developers scales them one by one (tests/verdicts/thresholds.py):
 * -DJUDGE_SCALE(name)=... */
#ifndef JUDGE_SCALE
#define JUDGE_SCALE(name) 1
#endif
#define LIMIT_MORE  (0.08 * JUDGE_SCALE(MORE)) /* than its kind: time, GPU energy, CPU energy */
#define LIMIT_LESS  (0.15 * JUDGE_SCALE(LESS))
#define LIMIT_APART (0.2 * JUDGE_SCALE(APART)) /* of its kind that is far off the rest */
/* that are added to what it is off: the upper bound */
#define LIMIT_DEVIATIONS (1.0 * JUDGE_SCALE(DEVIATIONS))
#define LIMIT_UNLIKE     (0.10 * JUDGE_SCALE(UNLIKE)) /* less is not called unlike */
#define LIMIT_FALSE      (0.001 * JUDGE_SCALE(FALSE)) /* chance of a false one in a folder */
#define LIMIT_NOISE      (0.025 * JUDGE_SCALE(NOISE)) /* of a repeat, before there are data */
/* utilisation that an idle GPU does not have */
#define LIMIT_BUSY_PERCENT (5.0 * JUDGE_SCALE(BUSY_PERCENT))
/* below it nobody is accused: a screen may do that */
#define LIMIT_WORKING_PERCENT (20.0 * JUDGE_SCALE(WORKING_PERCENT))
#define LIMIT_SCREEN_W        (15.0 * JUDGE_SCALE(SCREEN_W))   /* that a screen may add to it */
#define LIMIT_ABOVE_IDLE      (0.25 * JUDGE_SCALE(ABOVE_IDLE)) /* over the folder's idle power */
/* of the energy, by a GPU that was awake before */
#define LIMIT_UNCERTAIN (0.05 * JUDGE_SCALE(UNCERTAIN))
/* of the highest power of the folder, at most, is a GPU at rest */
#define LIMIT_REST (0.35 * JUDGE_SCALE(REST))
/* at its start than the coolest start of the folder */
#define LIMIT_WARMER_K (6.0 * JUDGE_SCALE(WARMER_K))
#define LIMIT_HOTTER_K (10.0 * JUDGE_SCALE(HOTTER_K)) /* at its start than most of the folder */
#define LIMIT_HOT_C    (80.0 * JUDGE_SCALE(HOT_C))    /* where GPUs begin to lower their clocks */
/* that a background adds to power or utilisation */
#define LIMIT_SHOWN (0.05 * JUDGE_SCALE(SHOWN))
/* of power in the first two seconds: something had just ended */
#define LIMIT_FALL (0.05 * JUDGE_SCALE(FALL))
/* of power that a parallel experiment loses for good */
#define LIMIT_ENDED (0.05 * JUDGE_SCALE(ENDED))
/* of the variance that this explains */
#define LIMIT_ENDED_SHARE (0.1 * JUDGE_SCALE(ENDED_SHARE))
#define LIMIT_ALIKE       (0.25 * JUDGE_SCALE(ALIKE))   /* two powers of one intruder */
#define LIMIT_BETWEEN     (16.0 * JUDGE_SCALE(BETWEEN)) /* experiments between two busy starts */
#define LIMIT_SAMPLED     (1 - 0.05 * JUDGE_SCALE(SAMPLED)) /* seconds sampled */
#define LIMIT_HALF_WIDTH  (0.05 * JUDGE_SCALE(HALF_WIDTH))  /* of the energy computed anew */
#define LIMIT_USEFUL      20.0                              /* per cent: half-width of an energy */
#define LIMIT_GAP_S       (5.0 * JUDGE_SCALE(GAP_S))
#define LIMIT_SHORTEST_S  (5.0 * JUDGE_SCALE(SHORTEST_S)) /* a training */
/* a disturbance that a consistent figure cannot have, and the chance that one is missed */
#define LIMIT_EXCLUDED (0.10 * JUDGE_SCALE(EXCLUDED))
#define LIMIT_MISSED   (0.10 * JUDGE_SCALE(MISSED))
/* standard deviations of a figure beside the consistent one */
#define LIMIT_OFF    (3.0 * JUDGE_SCALE(OFF))
#define LIMIT_GROUPS (0.3 * JUDGE_SCALE(GROUPS)) /* of the siblings that are far off the rest */
/* as a share and in standard deviations, below the others of its kind */
#define LIMIT_BELOW            (0.10 * JUDGE_SCALE(BELOW))
#define LIMIT_BELOW_DEVIATIONS (3.0 * JUDGE_SCALE(BELOW_DEVIATIONS))
/* off its kind, beside a step */
#define LIMIT_STEP_DEVIATIONS (3.0 * JUDGE_SCALE(STEP_DEVIATIONS))

/* What a training is compared with the others of its kind by. The highest power is not among the
 * main ones, which may accuse: it rests on one sample. */
enum like_figure {
    LIKE_TIME,
    LIKE_GPU_ENERGY,
    LIKE_CPU_ENERGY,
    LIKE_MAIN,
    LIKE_POWER_MAX = LIKE_MAIN,
    LIKE_FIGURES
};

struct judge_figure {
    struct stats_prediction prediction;
    size_t same;   /* undisturbed others with the very same hyperparameters */
    double off;    /* ln of it over their median; 0 without any */
    double plain;  /* excess by the simplest design */
    double df;     /* degrees of freedom of its standard deviation */
    size_t varied; /* effects that the prediction had to estimate from the others */
    bool below;    /* one of its kind is far below the others */
    char why[120]; /* where it is not valid: why */
};

#define JUDGE_NOBODY SIZE_MAX

/* One experiment while it is judged. */
struct judge_state {
    bool busy;        /* something else is known to have worked beside it */
    bool fell;        /* something had worked on the GPU just before it began */
    bool at_rest;     /* its GPU drew no more than at rest in its first two seconds, and was idle */
    bool rest_high;   /* what its folder rests at may be what another program makes it draw */
    bool unseen;      /* what the GPU did before it began was not recorded */
    size_t rank;      /* its place in the order in which the folder's experiments began */
    size_t next[2];   /* that which began just before it and just behind it; JUDGE_NOBODY: none */
    bool in_a_row;    /* all of its kind ran one after another, with nothing in between */
    size_t ends[2];   /* then: what ran just before and just behind them all */
    bool doubted;     /* its data cannot be right: others are not compared with it */
    bool changed;     /* the machine changed between its kind's experiments: none is a measure */
    bool lacking;     /* files of it are not there that the folder's others have */
    bool unused, hot; /* by judge_agreement: its use of the GPU; its start */
    struct judge_figure like[LIKE_FIGURES];
};

/* Known of the noise beforehand, for each figure. */
typedef struct stats_noise judge_noise[LIKE_FIGURES];

#endif
