/* ways: what each lane of each session did from its first moment to its last, read from the journal; usage.h sums it up. Private
 * to store/. */
#ifndef TARE_RESULTS_STORE_WAYS_H
#define TARE_RESULTS_STORE_WAYS_H

#include "plan/plan.h"
#include "results/store/db.h"

/* What a lane does at a moment; the page knows them by this order. */
enum lane_doing {
    DOING_TRAINING, /* a job runs */
    DOING_GUARD,    /* before and after it: the look at the GPUs, the idle draw, the background's load, the proof */
    DOING_PAUSE,    /* cooling */
    DOING_WAIT,     /* for its GPUs to be free, or for other lanes */
    DOING_NOTHING,  /* nothing is left for it, or its GPU is lost */
    DOING_COUNT
};

/* One life of a runner; times are of its monotonic clock, laid onto its wall clock when it began. */
struct way_session {
    int64_t number;
    char *host;
    int64_t from_ns, to_ns; /* since 1970; to: its end, or the last that was heard of it */
    int64_t monotonic_ns;   /* when it began */
    int64_t first_ns;       /* when one of its lanes took the first experiment; 0: none did */
};

struct way_span {
    int64_t from_ns, to_ns;
    enum lane_doing doing;
    int64_t experiment, attempt; /* 0: none */
};

/* A lane in one session. */
struct way {
    size_t session; /* index */
    int64_t number; /* of the lane, from 1 */
    struct strv labels; /* of its GPUs: "GPU 2" */
    struct strv uuids;  /* of the same; a label where no UUID is known */
    char *lost;         /* why it takes nothing any more, or NULL */
    struct way_span *spans; /* without a gap, in order of time */
    size_t count, capacity;
    bool named;             /* the journal said which GPUs are its own */
    bool begun;             /* it has taken an experiment */
};

struct way_try {
    int64_t attempt;
    size_t way, before; /* index of the experiment's try before; SIZE_MAX: none */
};

struct ways {
    struct way_session *sessions;
    size_t session_count;
    struct way *items;
    size_t count, capacity;
    struct way_try *tries; /* every attempt, in order of time */
    size_t try_count, try_capacity;
    size_t *last; /* by the experiment's number: its last try; SIZE_MAX: none */
    size_t *now;  /* by the experiment's number: which way has it; SIZE_MAX: none */
    size_t experiments;
};

bool ways_read(sqlite3 *db, const struct plan *plan, struct ways *out, struct err *err);
void ways_fini(struct ways *ways);

/* SIZE_MAX: not known. attempt 0: the last one. */
size_t ways_of_attempt(const struct ways *ways, int64_t experiment, int64_t attempt);

#endif
