/* fixture: a temporary folder with repositories, and a plan made of JSON texts as if they were
 * files in it. */
#ifndef TARE_TESTS_PLAN_FIXTURE_H
#define TARE_TESTS_PLAN_FIXTURE_H

#include "plan/plan.h"

struct fixture {
    char *folder; /* removed by fixture_fini */
    struct plan_options options;
    struct registry registry;
    struct settings settings;
    struct problems problems;
    struct plan plan;
    bool ok;
};

/* Makes the folder with toy/train.sh (executable) in it; options: seed 1, cwd the folder, no PATH,
 * no home. */
void fixture_init(struct fixture *fixture);
void fixture_fini(struct fixture *fixture);

/* The same around each test of a group, whose state it then is. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* Makes folders and a file below the folder. */
void fixture_write(const struct fixture *fixture, const char *name, const char *text,
                   bool executable);

/* Plans; what was planned before is let go. The texts use ' for " so that they read well here. */
void fixture_plan(struct fixture *fixture, const char *registry, const char *settings);

/* As fixture_plan with the registry below. */
void fixture_plan_toy(struct fixture *fixture, const char *settings);

/* One repository "toy" with the models "net" and "big net", and epochs (int 1..20, 10), lr (float
 * log_uniform 0.001..0.1, 0.01), seed (int 0..9999, 1) and optimizer (choice adam, sgd, lion;
 * adam). */
extern const char toy_registry[];

/* The first problem whose text holds part, or NULL. */
const struct problem *fixture_problem(const struct fixture *fixture, const char *part);

/* The plan in one text: its head and experiments as JSON, a line each. The caller frees it. */
char *fixture_print(const struct fixture *fixture);

/* The named value of an experiment's foreground, as written on a command line. The caller frees
 * it. */
char *fixture_value(const struct plan_experiment *experiment, const char *name);

#endif
