/* usage: how the lanes of a run spent its time, on all its nodes and in all its sessions, and who of them disturbed whom: from the
 * journal alone, of a live, a finished, a crashed or a collected run. Private to store/; results give what comes of it. */
#ifndef TARE_RESULTS_STORE_USAGE_H
#define TARE_RESULTS_STORE_USAGE_H

#include "base/reading.h"
#include "measure/guard/evidence.h"
#include "results/store/ways.h"

/* GPUs (or none) of one node. */
struct usage_lane {
    const char *node; /* borrowed from the ways */
    char *key, *name; /* name: what it is called among the lanes of its node */
    size_t *ways;     /* its parts, by the time of their sessions */
    size_t way_count, way_capacity;
    int64_t to_ns;    /* the end of its last session */
    int64_t attempts;
    double seconds[DOING_COUNT]; /* what it did; NOTHING: the rest of the run's span, too, when no session had it */
    size_t verdicts[VERDICTS]; /* of the experiments whose result it gave */
    size_t experiments;
    struct reading energy_j; /* of these results, of the GPUs; not valid: of none it is known */
};

struct usage {
    struct ways ways;
    struct usage_lane *items; /* by node, then by GPU */
    size_t count, capacity;
    size_t *of_way; /* which lane each way belongs to */
    int64_t from_ns;
    double seconds; /* the run's span: at least one session lived */
};

bool usage_read(sqlite3 *db, const struct plan *plan, struct usage *out, struct err *err);
void usage_fini(struct usage *usage);

/* docs/reference/files.md describes it; null: there is but one lane. */
bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err);

/* (old_evidence.c) What evidence of runs written by the tree of 2026-11-22 names. */
struct old_evidence {
    struct old_name *names; /* of the plan's experiments, by id */
    size_t count;
};
void old_evidence_init(struct old_evidence *old, const struct plan *plan);
void old_evidence_fini(struct old_evidence *old);

/* Gives the data of an event of evidence that has none "experiments", "pids", and "unnamed": whether there were more, which
 * the text does not name. What has them is left as it is. */
void old_evidence_import(const struct old_evidence *old, json_t *data);

/* Adds {"lane", "kind", "weight", "by": [{"lane", "experiments"}], "experiments": [...]} for each lane that was disturbed, and each
 * kind of it. "by": by which lanes, and how many experiments each; its lane null: programs that are none of the run's.
 * (usage_who.c) */
bool usage_add_disturbances(sqlite3 *db, const struct plan *plan, const struct usage *usage, json_t *out,
                            struct err *err);

#endif
