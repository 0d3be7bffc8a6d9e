/* What the tests of state share: a folder of their own, processes whose life is told by a lock,
 * dead runs. */
#ifndef STATE_FIXTURE_H
#define STATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/state/state.h"

#include <stdbool.h>
#include <sys/types.h>

struct fixture {
    char top[64];  /* a temporary folder */
    char path[80]; /* the state folder in it; not made yet */
    char runs[88]; /* path/runs */
    char lock[80]; /* a file whose lock a job holds while it lives */
};

int fixture_setup(void **out);
int fixture_teardown(void **out);

/* Asks again and again until it is true, at most half a minute. */
bool comes_true(bool (*question)(const void *), const void *about);

/* Nobody holds an exclusive lock of the file: whoever held it is dead. */
bool lock_is_free(const char *path);
bool lock_gets_free(const char *path); /* waits for it */

/* A process "sleep" with TARE_JOB=tag in its environment that holds the fixture's lock; it has it
 * when this returns. */
pid_t tagged_process(const struct fixture *fixture, const char *tag);
void end_process(pid_t pid); /* SIGKILL, and reaped */

/* A run in a process of its own that has registered and has one job, "sleep", holding the fixture's
 * lock; contained by the sweep. */
struct other_run {
    pid_t runner, guardian, init;
    char tag[80];
};
void other_run_start(const struct fixture *fixture, enum state_kind kind, const char *run_dir,
                     struct other_run *out);

/* Runner, guardian and init by SIGKILL, none of them able to end the job first. */
void other_run_kill(const struct other_run *run);

/* Puts a file into runs (the folder is made when it is not there). */
void write_run_file(const struct fixture *fixture, const char *name, const char *text);

/* A header line and a job line with these facts; the job has no process left but those with the
 * tag. */
char *run_file_text(const char *host, const char *boot_id, uint64_t pid_namespace, const char *tag);
void own_host(char out[256]);
void own_boot_id(char out[40]);
uint64_t own_pid_namespace(void);

/* The number of entries of the folder runs; its only name, which must be the only one. */
size_t run_file_count(const struct fixture *fixture);
char *only_run_file(const struct fixture *fixture);

/* Everything state_recover said. */
struct said {
    size_t count;
    struct state_report last; /* texts in the buffers below */
    char file[256], run_dir[256], names[256], reason[256];
};
const struct said *recover(struct state *state); /* until the next call */

#endif
