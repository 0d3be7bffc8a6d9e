/* users: the processes that use the fake GPUs: files in the scenario's folder "users" (README.md). */
#ifndef TARE_FAKE_USERS_H
#define TARE_FAKE_USERS_H

#include "scenario.h"

enum { FAKE_USERS_MAX = 2048, FAKE_FLOOD_PID = 3000000 };

struct fake_user {
    int pid;
    unsigned long long bytes;
    int sm_percent;
    bool compute, graphics; /* in which lists it stands */
    bool hidden;            /* its memory is not told */
};

struct fake_users {
    struct fake_user users[FAKE_USERS_MAX];
    int count;
};

/* Those that live, by pid. */
void fake_users_read(const struct fake_scenario *scenario, int gpu, struct fake_users *out);

/* What they draw on top of the scripted load now; energy_j (may be NULL): what they drew so far, as all processes
 * that load the fake saw it together. */
double fake_users_power(const struct fake_scenario *scenario, int gpu, int64_t t_ns, double *energy_j);

#endif
