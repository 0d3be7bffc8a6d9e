/* bench_watch: follows a bench as it goes on and says after each block whether it has seen enough (results/judge/bench_until.h). */
#ifndef TARE_SESSION_BENCH_WATCH_H
#define TARE_SESSION_BENCH_WATCH_H

#include "results/judge/bench_until.h"
#include "session/bench_input.h"
#include "run/run.h"

/* What is known of one run. */
struct bench_watch_run {
    double value;         /* of the quantity; NAN: not known */
    enum verdict verdict; /* by what was told so far */
    bool failed;
};

struct bench_watch {
    const struct bench_input *input; /* stays the caller's */
    struct bench_until_options options;
    struct bench_until until;
    enum verdict worst; /* the worst verdict that counts */
    size_t *command;    /* of each experiment of the plan: the place of its command; SIZE_MAX: something else */
    bool *ends_block;   /* of each experiment: a block ends with it */
    struct bench_watch_run *runs; /* of each command, in this block */
    bool enough;
    bool unmeasured;              /* the first block is over, and no run of it has the quantity: it will not come */
    struct run_listener listener; /* to be given to the session */
};

/* reference: as --reference has it; verdicts: as --verdicts has it. */
void bench_watch_init(struct bench_watch *watch, const struct bench_input *input, const char *reference,
                      const char *verdicts, const struct bench_until_options *options);
void bench_watch_fini(struct bench_watch *watch);

#endif
