/* watch: what happens on a GPU while an attempt is measured: from a look about once a second to evidence with time spans. Pure:
 * times come with the looks. */
#ifndef TARE_MEASURE_GUARD_WATCH_H
#define TARE_MEASURE_GUARD_WATCH_H

#include "measure/guard/look.h"

/* One thing that was seen to last. */
struct watch_span {
    const char *kind;  /* of measure/guard/evidence.h */
    int32_t pid;       /* of a process, else 0 */
    uint64_t start_time;
    char *text;
    int64_t from_ns, to_ns; /* it was there in between at most: from the look before it to the look after it */
    int64_t seen_ns;        /* the last look that saw it */
    bool open;
    bool told;              /* that it began */
    size_t times;           /* spans that were joined to this one */
};

struct watch {
    const char *device; /* borrowed */
    int64_t start_ns, looked_ns;
    struct watch_span *spans;
    size_t count, capacity;
    struct reading ecc, xids, limit_w; /* as last seen */
    unsigned unseen_looks, silent_looks; /* in a row */
    double tolerance_bytes;
};

/* An attempt begins. device: borrowed. tolerance_bytes: memory that is nobody's. before: the last readings before it, from which errors
 * are counted; NULL: there are none. */
void watch_begin(struct watch *watch, const char *device, int64_t start_ns, double tolerance_bytes,
                 const struct gpu_readings *before);
void watch_take(struct watch *watch, const struct guard_known *known, const struct guard_look *look);

/* The next span that began and was not told yet; NULL: none. For people who look on. */
const struct watch_span *watch_news(struct watch *watch);

/* The attempt has ended: what is still open lasts until then. */
void watch_end(struct watch *watch, int64_t end_ns);
void watch_fini(struct watch *watch);

#endif
