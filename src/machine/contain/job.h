/* The handle of a contained job: its identity, layers, signals and end. */
#ifndef TARE_MACHINE_CONTAIN_JOB_H
#define TARE_MACHINE_CONTAIN_JOB_H

#include "machine/contain/contain.h"

void job_identity_fini(struct job_identity *identity);

void job_identity_copy(const struct job_identity *from, struct job_identity *to);

const struct job_identity *job_identity(const struct job *job);

const struct containment *job_layers(const struct job *job); /* that really hold for this job */

enum job_cpus job_cpus(const struct job *job, int *refused_errno); /* refused_errno: of REFUSED */

/* 0: no process of the job can type into a terminal (ioctls TIOCSTI, TIOCLINUX), not even where it
 * is its controlling one, or the job is root's. Else why the filter was refused: without a
 * namespace only root may set one that leaves setuid programs alone. */
int job_typing_errno(const struct job *job);

/* 0: the command can write nothing in the request's records and read_only_fds. Else why it can:
 * ENOSYS without a pid namespace, with which its mounts come. Of a request without either it says
 * nothing. */
int job_records_errno(const struct job *job);

bool job_open_gate(struct job *job, struct err *err);

/* Readable (poll) when the command itself has ended (its main process): then job_take_exit says
 * how. Members of the tree may still live: job_stop and job_prove come next. */
int job_fd(const struct job *job);

struct job_exit job_take_exit(struct job *job);

/* A signal to every process of the tree (TERM: first step of a stop; TSTP/CONT for a terminal). */
void job_signal(struct job *job, int signal);

/* A signal to the command's own process only, as its parent would send it. */
void job_signal_command(struct job *job, int signal);

/* SIGKILL to every process of the tree, thawed first; returns at once. */
void job_kill(struct job *job);

/* Readable (poll) when the job's init has ended: then a step of the proof is worth its cost at
 * once. */
int job_end_fd(const struct job *job);

/* Frees; kills first when the tree is not proven gone. */
void job_free(struct job *job);

/* Ends what a dead runner left of this job. runners: NULL: none is known. The identity comes from a
 * file, which a job may have forged: only what the kernel ties to the job is ended
 * (tree_seed_doubted). Same boot only (another boot: nothing is left, true). Waits at most
 * timeout_s. False: survivors or an error (err). killed: processes ended, its init not counted. */
bool job_recover(const struct job_identity *identity, const struct live_runners *runners,
                 double timeout_s, size_t *killed, struct err *err);

/* Whether the process lives that the identity names as the job's init, and nothing proves it:
 * job_recover leaves it alone. */
bool job_is_unproven(const struct job_identity *identity, struct job_member *out);

bool boot_id_read(char out[40], struct err *err);
/* false: no such process, or errno says why it cannot be read */
bool process_start_time(pid_t pid, uint64_t *out);

#endif
