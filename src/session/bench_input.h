/* bench_input: from commands on the command line to a plan: the settings and the registry that
 * would say the same, in memory, so that all that works on a run works on a bench. */
#ifndef TARE_SESSION_BENCH_INPUT_H
#define TARE_SESSION_BENCH_INPUT_H

#include "results/judge/bench.h"
#include "run/run.h"
#include "session/run_input.h"

#include <stdbool.h>

/* What a person asked for; all is borrowed. */
struct bench_input_options {
    const struct strv *commands; /* as typed; at least one */
    /* of the first of them; the others are A, B, C ... by their place */
    const struct strv *names;
    /* before and behind each run: none, one for all, or one for each command */
    const struct strv *prepare, *conclude;
    int64_t runs, warmup; /* of each */
    uint64_t seed;
    double pause_s, timeout_s;        /* timeout: 0: none */
    const char *preflight, *cooldown; /* as in the settings: "wait", "fixed" */
    const char *governor;             /* NULL: left alone */
    bool ignore_failure;              /* whatever a command's exit code is, it counts */
};

struct bench_input {
    struct run_input run;
    struct strv names;    /* of the commands; each is a repository of the registry */
    struct strv commands; /* as typed */
    bool concludes;       /* something is run behind each run */
};

/* The repository's model, in ids and tables. */
#define BENCH_MODEL "bench"

/* False: err says what is wrong with which command. out must be freed in each case. */
bool bench_input_make(const struct bench_input_options *how, struct bench_input *out,
                      struct err *err);
void bench_input_fini(struct bench_input *input);

/* What is said and written when a bench has run. */

struct bench_end {
    const struct bench_input_options *options;
    const struct bench_input *input;
    const char *dir;
    const char *reference, *verdicts;                 /* as their options have them */
    const struct bench_until_options *until;          /* NULL: the number of runs was fixed */
    const char *json_file, *csv_file, *markdown_file; /* NULL: none */
    bool json, quiet;
};

/* The exit code of a bench of which no run counts. */
enum { BENCH_NOTHING_COUNTS = 4 };

/* Reads the folder, prints, writes. An exit code: CLI_OK, BENCH_NOTHING_COUNTS, or why that could
 * not be done. */
int bench_end(const struct bench_end *end);

/* Follows a bench as it goes on and says after each block whether it has seen enough
 * (results/judge/bench.h). (bench_watch.c) */

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
    /* of each experiment of the plan: the place of its command; SIZE_MAX: something else */
    size_t *command;
    bool *ends_block;             /* of each experiment: a block ends with it */
    struct bench_watch_run *runs; /* of each command, in this block */
    bool enough;
    /* the first block is over, and no run of it has the quantity: it will not come */
    bool unmeasured;
    struct run_listener listener; /* to be given to the session */
};

/* reference: as --reference has it; verdicts: as --verdicts has it. */
void bench_watch_init(struct bench_watch *watch, const struct bench_input *input,
                      const char *reference, const char *verdicts,
                      const struct bench_until_options *options);
void bench_watch_fini(struct bench_watch *watch);

#endif
