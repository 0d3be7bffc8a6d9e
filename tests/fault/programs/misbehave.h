/* misbehave: what every program here does besides its own mischief. argv[1] names the lock file; as
 * long as any of its processes lives, a shared lock on it is held, which is how they are counted
 * from outside. */
#ifndef TARE_FAULT_MISBEHAVE_H
#define TARE_FAULT_MISBEHAVE_H

#include <stdbool.h>
#include <sys/types.h>

/* Opens the lock file again (a lock of this process's own) and holds a shared lock on it. Exits
 * with 3 when it cannot. */
void hold(const char *lock);

/* Makes LOCK.ready: the mischief is done, the test may go on. */
void ready(const char *lock);

/* Ends with 77: this machine does not allow the mischief. Says why on stderr. */
_Noreturn void cannot(const char *why);

void ignore_all_signals(void);

/* Sleeps; ends when LOCK.end is there, and after a minute in any case, so that no test leaves a
 * process for ever. */
_Noreturn void linger(void);
bool lifetime_over(void);

pid_t must_fork(void);
void pause_ms(long ms);

/* Where the cgroup v2 file system or the v1 freezer is mounted, into out; false: nowhere. */
bool cgroup_mount(bool v1_freezer, char *out, unsigned size);
bool write_file(const char *path, const char *value);

#endif
