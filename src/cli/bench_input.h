/* bench_input: from commands on the command line to a plan: the settings and the registry that would say the same, in
 * memory, so that all that works on a run works on a bench. */
#ifndef TARE_CLI_BENCH_INPUT_H
#define TARE_CLI_BENCH_INPUT_H

#include "cli/run_input.h"

/* What a person asked for; all is borrowed. */
struct bench_wish {
    const struct strv *commands; /* as typed; at least one */
    const struct strv *names;    /* of the first of them; the others are A, B, C ... by their place */
    const struct strv *prepare, *conclude; /* before and behind each run: none, one for all, or one for each command */
    int64_t runs, warmup;        /* of each */
    uint64_t seed;
    double pause_s, timeout_s;   /* timeout: 0: none */
    const char *preflight, *cooldown; /* as in the settings: "wait", "fixed" */
    const char *governor;        /* NULL: left alone */
    bool ignore_failure;         /* whatever a command's exit code is, it counts */
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
bool bench_input_make(const struct bench_wish *wish, struct bench_input *out, struct err *err);
void bench_input_fini(struct bench_input *input);

#endif
