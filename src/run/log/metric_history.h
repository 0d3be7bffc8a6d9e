/* metric_history: what a metric's pattern matched, one point a match, in constant memory however many there are. Until it is full every point
 * is kept. Then neighbours are merged into cells of a number of matches that doubles as often as needed, and of each cell its first
 * and last point, its lowest and highest number, and its first one that is no finite number are kept: the first and the last match
 * and the best number of all are always there, in the order of the matches. Pure. */
#ifndef TARE_RUN_LOG_METRIC_HISTORY_H
#define TARE_RUN_LOG_METRIC_HISTORY_H

#include "base/mark.h"

#include <stddef.h>

/* Points of one metric, and of all metrics of an attempt together: what an event of the journal has room for. */
enum { HISTORY_POINTS_MAX = 1024, HISTORY_POINTS_MIN = 16, HISTORY_POINTS_ALL = 65536 };

struct metric_point {
    uint64_t step; /* the number of the match, from 1 */
    int64_t t_ns;  /* CLOCK_MONOTONIC, of its line */
    int64_t epoch;
    bool has_epoch;
    double value; /* nan and infinities too */
};

struct metric_history {
    struct metric_point *points; /* in the order of the matches */
    size_t count, capacity, limit;
    uint64_t matches; /* added so far */
    uint64_t stride;  /* matches of a cell; 0: all points are kept */
};

/* metrics: of the attempt, this one included. */
void metric_history_init(struct metric_history *history, size_t metrics);
void metric_history_fini(struct metric_history *history);

/* point's step is set. */
void metric_history_add(struct metric_history *history, struct metric_point point);

/* Which epoch it is: the one that a mark of the name "epoch" named last. Its label where that is an integer, else how many began
 * (of ends alone: ended). */
struct metric_epoch {
    bool known;
    int64_t number;
    int64_t begun, ended;
};

void metric_epoch_take(struct metric_epoch *epoch, const struct mark *mark);

#endif
