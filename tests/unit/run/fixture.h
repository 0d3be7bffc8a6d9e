/* fixture: plans of shell scripts, really run in a folder of their own, and what the journal then
 * says. */
#ifndef TARE_TEST_RUN_FIXTURE_H
#define TARE_TEST_RUN_FIXTURE_H

#include "run/run.h"

#include <jansson.h>
#include <stdbool.h>

struct world {
    char *root; /* scripts and what the jobs leave */
    char *dir_path;
    int dir; /* the run's folder */
    struct plan plan;
    struct containment containment;
    struct strv environment;
    struct run_listener listener;
    const struct census_roots *roots; /* NULL: the machine's own */
    struct run_summary summary;       /* of the last world_run */
    struct err err;
    bool ok;
    json_t *events; /* array of all journaled events of all sessions, after world_run */
};

/* setup and teardown of a cmocka test: *state is a struct world. Pauses are 0, the grace is 20
 * s. */
int world_make(void **state);
int world_remove(void **state);

/* Adds an experiment that runs "#!/bin/sh" and this script; $1 is the world's root. Named
 * repo_model_001, ... */
struct plan_experiment *world_add(struct world *world, const char *script);

/* Makes it a parallel one, whose background runs that script, as above. Its foreground waits for
 * nothing. */
void world_add_background(struct world *world, struct plan_experiment *experiment,
                          const char *script);
void world_add_metric(struct plan_experiment *experiment, const char *name, const char *pattern);

/* Makes the run of the plan (the first time) or opens it again, runs, closes, reads the events. */
void world_run(struct world *world);

/* The number of events of this type about this experiment (0: any). */
size_t world_count(const struct world *world, const char *type, int64_t experiment);

/* The data of the last such event (fails the test when there is none). */
const json_t *world_last(const struct world *world, const char *type, int64_t experiment);
const char *world_text(const struct world *world, const char *type, int64_t experiment,
                       const char *key);

/* Types of the events about an experiment, joined by blanks. The caller frees it. */
char *world_way(const struct world *world, int64_t experiment);

/* A file below the run's folder, or below root. The caller frees it; fails the test when it is not
 * there. */
char *world_read(const struct world *world, const char *name);
char *world_read_root(const struct world *world, const char *name);
bool world_has(const struct world *world, const char *name);

/* Waits (up to 60 s) until nobody holds a lock on this file of root: who held it is dead. */
bool world_lock_is_free(const struct world *world, const char *name);

#endif
