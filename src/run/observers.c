/* All that watches an attempt, in the order in which it is told. What an attempt's end has of one
 * may be read by those behind it. */
#include "run/observer.h"

const struct observer *const observers[] = {
    &stopped_observer,    /* lane_stalls.c: processes of the job that were stopped */
    &marks_observer,      /* lane_marks.c: where epochs begin and end */
    &background_observer, /* lane_background.c: the second job of a parallel experiment */
    &limits_observer,     /* lane_job.c: CPU time */
    &output_observer,     /* lane_job.c: progress bars in its output */
    /* lane_governor.c: the CPU frequency governor is the one that is wanted */
    &governor_observer,
    &locks_observer,       /* lane_governor.c: the locks on the GPUs hold */
    &checkpoints_observer, /* checkpoints.c: a training that does not train */
    &load_observer,        /* lane_load.c: whether the background loads the GPU */
    &shares_observer,      /* lane_shares.c: "parallel", whose of two jobs the figures are */
    &energy_observer,      /* lane_energy.c: "energy" */
    &study_files_observer, /* study_files.c: the study's files of samples */
    &pressure_observer,    /* lanes.c: processors, memory and disks that others use */
    &sleep_observer,       /* lane_stalls.c: the machine slept */
    &split_observer,       /* lanes.c: the processors' energy among the lanes */
    &budget_observer,      /* budget.c: what the run has used of its budgets */
    &hang_observer,        /* hang.c: a training without a sign of life */
    &memory_observer,      /* memory.c: "memory", of GPU and host */
    &guard_observer,       /* lane_guard.c: the GPUs, and who is on them */
    /* lane_watch.c: who else was there meanwhile, and is their memory back */
    &watch_observer,
    &gpu_memory_observer, /* gpu_memory.c: "gpu_memory", counted and limited inside the job */
    &snapshot_observer,   /* gpu_memory.c: "snapshot", of PyTorch's memory */
    &checks_observer,     /* lane_checks.c: "checks", what of all this was made */
    NULL,
};
