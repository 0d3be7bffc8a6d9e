/* recover: how the guardian, which was there when the runner died, ends a job. */
#ifndef TARE_MACHINE_CONTAIN_RECOVER_H
#define TARE_MACHINE_CONTAIN_RECOVER_H

#include "machine/contain/contain.h"

/* As job_recover; fresh: the init lived a moment ago, so a session with its pid is its session. */
bool recover_job(const struct job_identity *identity, bool fresh, double timeout_s, size_t *killed, struct err *err);

#endif
