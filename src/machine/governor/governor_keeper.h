/* governor_keeper: a process that sets the CPU frequency governor for a run and gives it back when
 * the run says so, or dies. Forked while there are root's rights, it keeps them; all that it can be
 * asked for is one of the kernel's governors. */
#ifndef TARE_MACHINE_GOVERNOR_GOVERNOR_KEEPER_H
#define TARE_MACHINE_GOVERNOR_GOVERNOR_KEEPER_H

#include "machine/governor/governor.h"

#include <stdint.h>
#include <sys/types.h>

struct governor_keeper;

/* A plain fork: before the program starts threads; its own session, none of the caller's
 * descriptors. folder: a descriptor of one that nobody else may write (governor.h). NULL: err. */
struct governor_keeper *governor_keeper_start(int folder, const char *sysroot, struct err *err);

/* Asks for this governor; NULL: what was before. Never waits. False: the keeper is gone, no answer
 * will come. */
bool governor_keeper_want(struct governor_keeper *keeper, const char *governor, struct err *err);

/* Readable when there is an answer, or the keeper is gone. */
int governor_keeper_fd(const struct governor_keeper *keeper);

enum governor_answer { GOVERNOR_PENDING, GOVERNOR_DONE, GOVERNOR_FAILED };
/* The answer to the last want; err: of GOVERNOR_FAILED. Never waits. */
enum governor_answer governor_keeper_answer(struct governor_keeper *keeper, struct err *err);

/* Gives back what was before, waits for that (15 s at most) and frees. False: it could not be given
 * back, err says why. NULL: nothing. */
bool governor_keeper_stop(struct governor_keeper *keeper, struct err *err);

pid_t governor_keeper_pid(const struct governor_keeper *keeper);

#endif
