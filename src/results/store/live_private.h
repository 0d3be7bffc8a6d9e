/* live: how a run under way is read. Private to store/. */
#ifndef TARE_RESULTS_STORE_LIVE_PRIVATE_H
#define TARE_RESULTS_STORE_LIVE_PRIVATE_H

#include "results/store/live.h"

#include <time.h>

/* Where the reader of a run is. */
struct live_reader {
    int dir;            /* the run's folder, open */
    int events_fd;      /* events.jsonl, open */
    int64_t offset;     /* in events.jsonl: behind the last whole line that was taken */
    bool in_long_line;  /* what is at offset belongs to a line that is left out */
    bool reload;        /* the session has ended: all rows are to be read anew */
    char *outcome;      /* of the session that ended last; NULL: none has, or one is under way */
    json_t *live;       /* live.json as it was read last; slots borrow from it */
    struct timespec live_time;
    ino_t live_inode;
    int64_t replaced_ns; /* CLOCK_MONOTONIC: when live.json was seen to be a new one; 0: not since it was opened */
};

/* live.json, where it was replaced. What is wrong in it is left out. */
void live_read_slots(struct live_run *run);

#endif
