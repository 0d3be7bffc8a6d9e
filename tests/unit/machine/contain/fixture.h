/* fixture: jobs that run a line of shell, and their output. */
#ifndef TARE_TEST_CONTAIN_FIXTURE_H
#define TARE_TEST_CONTAIN_FIXTURE_H

#include "machine/contain/contain.h"

/* A deadline for everything that is awaited here: only what goes wrong takes so long. */
enum { PATIENCE_MS = 60000 };

struct shell_job {
    struct containment containment;
    struct strv argv, env;
    struct job_request request; /* may be changed before shell_start */
    struct job *job;
    int output; /* what the job writes; at its end when nobody holds the other end any more */
    int theirs;
};

/* Takes the tests out whose first state is a containment_mode that this machine cannot give, and
 * says so: cmocka's own skip knows no reason. How many are left. */
struct CMUnitTest;
size_t tests_possible(struct CMUnitTest *tests, size_t count);

/* Prepares; fails when the machine does not have the layers. mode is CONTAINMENT_PIDNS, CGROUP or
 * SWEEP. */
void shell_init(struct shell_job *shell, enum containment_mode mode, const char *script);
void shell_start(struct shell_job *shell); /* waits at its gate */
void shell_open_gate(struct shell_job *shell);
struct job_exit shell_wait(struct shell_job *shell);
void shell_prove(struct shell_job *shell); /* kills, and asserts that it is gone */
void shell_fini(struct shell_job *shell);

/* All output until its end, in out. Asserts that the end comes. */
void read_to_end(int fd, char *out, size_t size);

/* The next line, without its end. */
void read_line(int fd, char *out, size_t size);

/* Asserts that every holder of the pipe's other end goes. */
void assert_end(int fd);

/* Whether the other end is held by somebody now. */
int is_held(int fd);

#endif
