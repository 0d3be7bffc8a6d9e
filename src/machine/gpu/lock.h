/* lock: one measuring run per GPU: a kernel lock (flock) on a file per GPU, in a folder that every
 * user of the machine shares. The kernel lets go when the holder dies. Nothing here waits. */
#ifndef TARE_MACHINE_GPU_LOCK_H
#define TARE_MACHINE_GPU_LOCK_H

#include "base/err.h"
#include "machine/gpu/devices.h"
#include "machine/gpu/holder.h"
#include "tare_build.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the files are. */
struct gpu_lock_folder {
    int fd;
    char *path;
    bool shared;  /* every user's runs look there; else only this user's do */
    char *reason; /* of not shared: why the shared folder could not be had; else NULL */
    /* who could take locks in the folder away, or put something else in their place; NULL: nobody
     * but root and this user */
    char *doubt;
};

#define GPU_LOCK_FOLDER "/run/lock/" TARE_NAME

/* The folder shared (GPU_LOCK_FOLDER, or a site's own), made as /tmp is (1777); where that fails
 * the folder NAME in runtime_dir ($XDG_RUNTIME_DIR; NULL: shared must do). No link is followed at
 * its last step. A folder of another user than root, or below one, is used where it is made like
 * /tmp, since others look there too, and doubted. False: none of them, err says why. err->code 0
 * (reason too): what is in its place is not to be trusted; else the error number: no such folder
 * can be had. */
bool gpu_lock_folder_open(const char *shared, const char *runtime_dir, struct gpu_lock_folder *out,
                          struct err *err);

/* As root: the folder is made root's and like /tmp, whoever made it, and what others left in it
 * under the name of a lock is removed, unless somebody holds it. At another path than
 * GPU_LOCK_FOLDER what is there must be like /tmp already. */
bool gpu_lock_folder_repair(const char *path, struct err *err);
void gpu_lock_folder_fini(struct gpu_lock_folder *folder);

/* The GPU's name for people: its UUID, else its PCI address. */
const char *gpu_lock_label(const struct gpu_device *device);

struct gpu_locks;

/* For these GPUs (each once), none taken yet. The folder stays the caller's, open. A GPU has one
 * file by its PCI address and, when its UUID is known, one by its UUID; all are taken in the order
 * of their names, so that no two runs wait for one another. */
struct gpu_locks *gpu_locks_new(const struct gpu_lock_folder *folder,
                                const struct gpu_device *const *devices, size_t count);

enum gpu_lock_answer {
    GPU_LOCKS_TAKEN, /* all of them */
    GPU_LOCKS_HELD,  /* another process holds one; those before it are ours and stay so */
    GPU_LOCKS_FAILED /* a file cannot be locked: err */
};

struct gpu_lock_conflict {
    const char *label; /* the GPU; borrowed from the locks */
    pid_t pid;         /* who holds it, as the kernel tells; 0: nobody who can be seen from here */
    /* a run of ours, which has said who it is, and the kernel does not tell otherwise */
    bool has_holder;
    bool own_file;            /* nobody but root and this user can have said so */
    struct gpu_holder holder; /* pid and user: of the kernel where it tells them */
    char command[120];        /* of the process with this pid; "": unknown */
};

/* Takes what is free, in order, up to the first that is not, and writes self into the files.
 * passed: a lock that one of these processes holds counts as ours: it is a run that we are part
 * of. */
enum gpu_lock_answer gpu_locks_try(struct gpu_locks *locks, const struct gpu_holder *self,
                                   const struct gpu_holder *passed, size_t passed_count,
                                   struct gpu_lock_conflict *conflict, struct err *err);

/* Writes self into the files of all that are ours, anew. */
void gpu_locks_sign(struct gpu_locks *locks, const struct gpu_holder *self);

/* Whether each file is still the one that was locked, and was not moved away meanwhile. False: err
 * names it. */
bool gpu_locks_check(const struct gpu_locks *locks, struct err *err);

/* Who holds one of the GPU's locks now, for people: GPU_LOCKS_HELD and the conflict (label borrowed
 * from the device), or GPU_LOCKS_TAKEN when nobody does. Takes nothing, makes no file. */
enum gpu_lock_answer gpu_lock_peek(const struct gpu_lock_folder *folder,
                                   const struct gpu_device *device,
                                   struct gpu_lock_conflict *conflict, struct err *err);

/* Lets go of all, and removes the files: the next holder makes its own, which nobody else can
 * remove. NULL: nothing. */
void gpu_locks_free(struct gpu_locks *locks);

#endif
