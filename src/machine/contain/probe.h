/* probe: what this machine allows is found by starting a job that waits at its gate, and ending it
 * there. */
#ifndef TARE_MACHINE_CONTAIN_PROBE_H
#define TARE_MACHINE_CONTAIN_PROBE_H

#include "machine/contain/contain.h"

bool containment_mode_parse(const char *name, enum containment_mode *out);

const char *containment_mode_name(enum containment_mode mode);

/* AUTO takes every layer there is. A mode that the machine cannot give is an error; CGROUP does
 * without pid namespaces, SWEEP without either. Costs a few ms: once at start. */
bool containment_probe(enum containment_mode mode, struct containment *out, struct err *err);
void containment_copy(const struct containment *from, struct containment *to);
void containment_fini(struct containment *containment);

/* Without trying: what most machines allow. job_start finds out, and job_layers says what held. For
 * a program that starts one job and wants it soon. Never fails: a mode the machine cannot give is
 * then an error of job_start. */
void containment_assume(enum containment_mode mode, struct containment *out);

/* A pid namespace held: kernel-backed; else best effort. (A cgroup alone is left by a job that runs
 * as root, and by one of the user to whom the cgroups above it belong, as they must, for the runner
 * to make leaves there.) */
bool containment_kernel_backed(const struct containment *containment);
/* "pid namespace, cgroup, sweep"; the caller frees */
char *containment_describe(const struct containment *containment);

/* Whether text tells of a program that did not become root by its setuid bit: sudo(8) and its like
 * say so. */
bool setuid_refusal_told(const char *text);

/* Whether this file makes whoever executes it root. */
bool setuid_root_program(const char *path);

/* What to tell of a job of these layers in which that failed; NULL: they are not the reason. */
const char *setuid_hint(const struct containment *layers);

#endif
