/* gpus: the GPUs of this machine as the commands need them: which of them jobs will see, and words
 * for people. */
#ifndef TARE_SESSION_GPUS_H
#define TARE_SESSION_GPUS_H

#include "base/err.h"
#include "base/strv.h"
#include "machine/gpu/devices.h"
#include "machine/gpu/holder.h"
#include "machine/gpu/lock.h"
#include "machine/gpu/vendor.h"
#include "plan/plan.h"
#include "run/environment/cpu_sets.h"
#include "run/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where /proc and /sys of the machine are: "", or $TARE_SYSROOT, with which tests play another
 * machine (docs/reference/machine.md). */
const char *gpus_root(void);

/* The library that the vendor's variable names; NULL: the usual one. */
const char *gpus_library(const struct gpu_vendor *vendor);

/* Inside a Slurm allocation: those that its device cgroup denies are as good as excluded. */
void gpus_fence(const struct strv *environment, struct gpu_devices *devices);

/* The place of the one that is meant: by number as nvidia-smi has them, or by UUID or what it
 * begins with; false: none, or more than one. */
bool gpus_find(const struct gpu_devices *devices, const char *word, size_t length, size_t *place);

/* Where all users' locks are: $TARE_LOCK_DIR, or /run/lock/NAME. */
const char *gpus_lock_path(void);

/* There, or without TARE_LOCK_DIR in the user's own folder (gpu_lock_folder_open). */
bool gpus_lock_folder(struct gpu_lock_folder *out, struct err *err);

/* Marks in used (one for each device) those that jobs with this environment, and what the plan
 * (NULL: none) adds to it, will see. Gives how many. warn: of entries of the vendor's variable that
 * are not what a person will have meant, once. */
size_t gpus_select(const struct gpu_devices *devices, const struct strv *environment,
                   const struct plan *plan, bool warn, bool *used);

/* The variable that would choose GPUs for these jobs (CUDA_VISIBLE_DEVICES), and is not set for
 * each of them; NULL: all are. */
const char *gpus_unchosen(const struct gpu_devices *devices, const struct strv *environment,
                          const struct plan *plan);

/* Whether the GPUs that these jobs will see run CUDA, without which libtare-cuda follows and limits
 * nothing; false: err names the first that does not. */
bool gpus_run_cuda(const struct strv *environment, const struct plan *plan, struct err *err);

/* Whether jobs that are started here would see a GPU. asked: "none", or else, or NULL, as --gpus
 * and the settings say it; added: NAME=VALUE that they get beside this process's environment. */
bool gpus_are_for_jobs(const char *asked, const struct strv *added);

/* "GPU 0 (NVIDIA H200, GPU-73fe8c24-...)", numbered as nvidia-smi does. Fresh. */
char *gpus_name(const struct gpu_devices *devices, size_t place);

/* "process 12 of user ada since 2026-11-21 09:30:00 (2 h 03 min), run /home/ada/results/run_...":
 * what is known. self: this process, so that another machine or container is named; now_s: seconds
 * of the clock on the wall. Fresh. */
char *gpus_holder_text(const struct gpu_lock_conflict *conflict, const struct gpu_holder *self,
                       int64_t now_s);

/* Which of the machine's GPUs a run takes, and how they are dealt out to lanes, each of which runs
 * one experiment at a time. */

struct pool {
    struct run_lane *lanes; /* each has its place among the GPUs that meters_find finds */
    size_t lane_count;
    struct cpu_sets cpu_sets;
};

/* gpus: what a person said over the plan ("all", "none", a list), or NULL. Nothing is taken that
 * the environment's CUDA_VISIBLE_DEVICES, or the Slurm allocation around us, does not allow; what
 * is not taken is taken out of the environment. A plan whose trainings are told their GPUs in the
 * settings or the registry has one lane. False: err says what is wrong. */
bool pool_make(const char *gpus, const struct plan *plan, struct strv *environment,
               struct pool *out, struct err *err);
void pool_fini(struct pool *pool);

/* "8 GPUs, 4 experiments at a time on 2 GPUs each", or NULL: there is one lane. Fresh. */
char *pool_text(const struct pool *pool);

/* Where libtare-cuda.so lies. */

/* As seen from where the program lies (it may have been moved with its folders), else where it was
 * installed; tests name another by TARE_CUDA_LIBRARY. The caller frees; NULL: nowhere, err says
 * where it was looked for. */
char *gpus_preload_library(struct err *err);

#endif
