/* users: the processes that use the fake GPUs: files in the scenario's folder "users"
 * (README.md). */
#ifndef TARE_FAKE_USERS_H
#define TARE_FAKE_USERS_H

#include "scenario.h"

enum { FAKE_USERS_MAX = 2048, FAKE_FLOOD_PID = 3000000, FAKE_CHANGES_MAX = 256 };

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

/* What they drew on top of the scripted load, as all processes that load the fake saw it together:
 * since when how much, and what until then. The past never changes: counter, samples and power tell
 * of the same. */
struct fake_change {
    int64_t t_ns;
    double power_w, energy_j;
};

struct fake_load {
    int count;
    struct fake_change changes[FAKE_CHANGES_MAX]; /* in order of time */
};

/* Until now_ns, which is when it is called. */
void fake_users_load(const struct fake_scenario *scenario, int gpu, int64_t now_ns,
                     struct fake_load *out);
double fake_load_power_w(const struct fake_load *load, int64_t t_ns);
double fake_load_energy_j(const struct fake_load *load, int64_t t_ns);

#endif
