/* record: the lines of one run's file: first who the run is, then one for each job that was born or is gone. Parsing is pure:
 * bytes in, struct out. */
#ifndef TARE_MACHINE_STATE_RECORD_H
#define TARE_MACHINE_STATE_RECORD_H

#include "machine/state/state.h"

struct record_header {
    enum state_kind kind;
    char *run_dir; /* NULL: none */
    char *host;
    char boot_id[40];
    pid_t pid;              /* of the runner */
    uint64_t start_time;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: unknown */
};

struct record {
    bool has_header;
    struct record_header header;
    struct job_identity *jobs; /* born and not gone */
    size_t count, capacity;
    size_t damaged; /* lines that could not be read; they are passed over. A last line without its end is not one of them */
};

/* Of this process. */
bool record_header_own(enum state_kind kind, const char *run_dir, struct record_header *out, struct err *err);
void record_header_fini(struct record_header *header);

/* Each adds one line. */
void record_add_header(struct text *out, const struct record_header *header);
void record_add_born(struct text *out, const struct job_identity *identity);
void record_add_gone(struct text *out, const struct job_identity *identity);

void record_parse(const char *bytes, size_t count, struct record *out);
void record_fini(struct record *record);

#endif
