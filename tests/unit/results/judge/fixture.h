/* A results folder in the study's layout, made by hand: experiments that begin a minute apart,
 * sampled once a second, in a zone eight hours ahead of UTC. */
#ifndef TARE_TESTS_AUDIT_FIXTURE_H
#define TARE_TESTS_AUDIT_FIXTURE_H

#include "base/text.h"
#include "results/judge/dataset.h"

#include <stddef.h>

#define FIXTURE_ZONE_S 28800

struct fixture_run {
    const char *repo, *model; /* NULL: "demo", "net" */
    double duration_s;        /* 0: 60 */
    double watts;             /* under load; 0: 200 */
    double busy;              /* per cent under load; 0: 90 */
    int epochs;               /* 0: 2 */
    int retries;
    bool parallel, failed, no_metrics, no_second_metric;
    double batch_size;                /* 0: 32 */
    double before_watts, before_busy; /* of the first three seconds, on a GPU alone; 0: 70 W, 0 % */
    double alone_s;                   /* from then on it draws a fifth less; 0: never */
    double cpu_j;                     /* 0: 1733.17 */
    int start_c;                      /* and up to 9 degrees more; 0: 50 */
};

struct fixture {
    char path[64];
    int dir;
    size_t count;
    struct text rows;
    char ids[64][80];
};

void fixture_begin(struct fixture *fixture);
/* Adds one; gives its index. In the first three seconds the GPU is idle, but for parallel ones. */
size_t fixture_add(struct fixture *fixture, const struct fixture_run *run);
/* Writes summary.csv, reads the folder and judges it. */
void fixture_judge(struct fixture *fixture, struct dataset *dataset);
/* Removes all. */
void fixture_end(struct fixture *fixture);

/* The file's path within the folder: "gpu_power.csv" of an experiment's energy/. Replaced by these
 * bytes; NULL: removed. */
void fixture_write(const struct fixture *fixture, size_t index, const char *name,
                   const char *bytes);
char *fixture_read(const struct fixture *fixture, size_t index, const char *name);
void fixture_path(const struct fixture *fixture, size_t index, const char *name, char out[256]);

/* Another sum of the samples into its row of summary.csv. */
void fixture_record(struct fixture *fixture, size_t index, double energy_j);

/* When its first sample was taken. */
int64_t fixture_start_s(size_t index);

/* Fails unless the experiment has evidence of these kinds (blanks between), and of no other, and a
 * verdict no better than they make it; NULL: none at all, and a verdict no worse than
 * unverified. */
void fixture_expect(const struct dataset *dataset, size_t index, const char *kinds);
/* ... and the others none. */
void fixture_expect_alone(const struct dataset *dataset, size_t index, const char *kind);

/* Unverified for want of a list of processes, and of nothing else. */
bool fixture_lacks_processes_alone(const struct dataset_experiment *experiment);

#endif
