/* All observers of an attempt, each in run/observers/NAME.c unless its row names another file. They
 * are called in this order, and an end may read what the ends above it added. */
#include "run/observer.h"

const struct observer *const observers[] = {
    &ranks_observer,      /* metrics of which several processes may have printed different values */
    &stopped_observer,    /* processes of the job that were stopped */
    &marks_observer,      /* where epochs begin and end */
    &background_observer, /* lane_background.c: the second job of a parallel experiment */
    &limits_observer,     /* observers/cpu_limit.c */
    &output_observer,     /* observers/progress.c: progress bars in its output */
    &governor_observer,   /* the CPU frequency governor is the one that the plan wants */
    &locks_observer,      /* observers/gpu_locks.c: the locks on the GPUs hold */
    &checkpoints_observer, /* a training that evaluates the model of another one */
    &load_observer,        /* whether the background loads the GPU */
    &shares_observer,      /* "parallel": estimates for each of the two jobs */
    &energy_observer,      /* "energy" */
    &study_files_observer, /* the study's files of samples */
    &pressure_observer,    /* others delayed it: processors, memory and disks */
    &sleep_observer,       /* the machine slept */
    &split_observer,       /* observers/energy_split.c: the energy of the processors among lanes */
    &budget_observer,      /* use of the run's budgets */
    &hang_observer,        /* a training without a sign of life */
    &memory_observer,      /* "memory" of GPU and host */
    &guard_observer,       /* the GPUs, and who uses them */
    &watch_observer, /* observers/gpu_watch.c: other users meanwhile; memory released afterwards */
    &gpu_memory_observer, /* "gpu_memory", counted and limited inside the job */
    &snapshot_observer,   /* "snapshot": observers/memory_snapshot.c */
    &checks_observer,     /* "checks": which of all these were made */
    NULL,
};
