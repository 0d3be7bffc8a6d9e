/* state_private: what the files of state/ share. */
#ifndef TARE_MACHINE_STATE_STATE_PRIVATE_H
#define TARE_MACHINE_STATE_STATE_PRIVATE_H

#include "machine/state/state.h"

/* record: the lines of one run's file: first who the run is, then one for each job that was born or
 * is gone. Parsing is pure: bytes in, struct out. */

struct record_header {
    enum state_kind kind;
    char *run_dir; /* NULL: none */
    char *host;
    char boot_id[40];
    pid_t pid; /* of the runner */
    uint64_t start_time;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: unknown */
};

struct record {
    bool has_header;
    struct record_header header;
    struct job_identity *jobs; /* born and not gone */
    size_t count;
    /* lines that could not be read; they are passed over. A last line without its end is not one of
     * them */
    size_t damaged;
};

enum { STATE_PLACES = 2 };

struct state {
    /* folders of runs' files: the proper one and the fallback; -1: not there */
    int places[STATE_PLACES];
    char *fallback; /* path of the second; NULL: none */
    int home;       /* the one of them that our own file is in */
    int file;       /* our own, locked; -1: not registered */
    char *name;     /* its name in home */
    size_t living;  /* jobs in it that are not gone */
    bool torn;      /* the last line was not written to its end */
};

enum entry_life {
    ENTRY_NONE, /* it went away meanwhile */
    ENTRY_LIVE, /* its runner holds the lock */
    ENTRY_DEAD, /* of this boot and pid namespace: its jobs are found here; we hold the lock now */
    /* nothing can be left: of an earlier boot of this machine, or empty; we hold the lock */
    ENTRY_OVER,
    ENTRY_KEPT /* of another machine or pid namespace, or not to be trusted: reason */
};

struct entry {
    enum entry_life life;
    const char *name; /* borrowed */
    int file;         /* -1: not open. Closing it lets go of the lock */
    struct record record;
    char *reason;
};

/* Said of a process that the file of a dead run names. */
#define STATE_UNPROVEN "nothing proves that it is of the run's job, so it was left alone"

/* Opens each file of both places in turn. */
typedef void entry_fn(void *context, int runs, const struct entry *entry);

/* The processes that live of a job whose runner is dead. */

struct members {
    struct job_member *items; /* what job_recover would end; without the init */
    size_t count;
    bool init_alive;
};

#endif
