/* All observers of an attempt, each in run/observers/NAME.c unless its row names another file. An
 * end may read what the ends above it added. */
#include "run/observer.h"

const struct observer *const observers[] = {
    &ranks_observer,
    &stopped_observer,
    &marks_observer,
    &background_observer, /* lane_background.c: the second job of a parallel experiment */
    &limits_observer,     /* observers/cpu_limit.c */
    &output_observer,     /* observers/progress.c: progress bars in its output */
    &governor_observer,
    &locks_observer, /* observers/gpu_locks.c: the locks on the GPUs hold */
    &checkpoints_observer,
    &load_observer,
    &shares_observer, /* "parallel": estimates for each of the two jobs */
    &energy_observer, /* "energy" */
    &study_files_observer,
    &pressure_observer,
    &sleep_observer,
    &split_observer, /* observers/energy_split.c: the energy of the processors among lanes */
    &budget_observer,
    &hang_observer,
    &memory_observer, /* "memory" of GPU and host */
    &guard_observer,
    &watch_observer, /* observers/gpu_watch.c: other users meanwhile; memory released afterwards */
    &gpu_memory_observer, /* "gpu_memory", counted and limited inside the job */
    &snapshot_observer,   /* "snapshot": observers/memory_snapshot.c */
    &checks_observer,     /* "checks": which of all these were made */
    NULL,
};
