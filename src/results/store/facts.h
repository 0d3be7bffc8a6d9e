/* facts: what run.db says of each experiment beyond struct result: what audit and export need. */
#ifndef TARE_RESULTS_STORE_FACTS_H
#define TARE_RESULTS_STORE_FACTS_H

#include "base/digest.h"
#include "base/reading.h"
#include "base/text.h"
#include "results/store/store.h"

#include <jansson.h>

/* The study's columns of energy, in their order, as summary.csv calls them, and as experiment.json does. */
enum { ENERGY_COLUMNS = 11 };
const char *energy_column(size_t column); /* "energy_cpu_pkg_joules" */
const char *energy_metric(size_t column); /* "cpu_energy_pkg_joules" */

struct facts_evidence {
    int64_t attempt;
    char *kind, *text;
};

/* How the GPUs were when that attempt began, as the guard saw them: means over the GPUs. */
struct facts_start {
    struct reading temperature_c, sm_clock_mhz, memory_clock_mhz;
};

struct facts_item {
    char *energy; /* of the last attempt, as JSON (docs/reference/measuring.md), or NULL: parsed it takes ten times the memory */
    json_t *all_attempts; /* a list: {attempt, outcome, reason, duration_s, exit_code, signal, error} */
    json_t *epochs;       /* a list: those of the last attempt, as in experiment.json */
    int64_t attempt;      /* the one whose figures these are; 0: none */
    struct facts_start start;
    char *host, *boot_id; /* of the session of that attempt; NULL: not known */
    bool has_duration, has_start;
    int64_t start_realtime_ns;       /* of that attempt: where the window of its energy begins */
    struct facts_evidence *evidence; /* in order of time */
    size_t evidence_count;
};

struct facts {
    struct results results;
    struct facts_item *items; /* one for each of results.items */
};

/* Whether the records of a run are those that its runner wrote, as far as their chain says (docs/reference/files.md). */
enum records_state {
    RECORDS_UNREADABLE,
    RECORDS_NOT_CHAINED, /* an older version made it */
    RECORDS_OPEN,        /* they follow each other, and the run was not closed: its other files are not compared */
    RECORDS_CHANGED,
    RECORDS_HOLD
};
struct records_report {
    enum records_state state;
    int64_t count, unchained;       /* lines of events.jsonl; the first of them that an older version wrote */
    char last_hash[DIGEST_HEX + 1]; /* "": there is none */
    struct text changed;            /* which files, in words */
};
const char *records_state_name(enum records_state state); /* "hold" */

/* False, and UNREADABLE: err says why. Nothing is changed. */
bool records_verify(const char *run_dir, struct records_report *out, struct err *err);

/* One match of a metric's pattern. The texts are borrowed until the next one. */
struct history_point {
    size_t number;  /* of the experiment */
    const char *id; /* the experiment's */
    int64_t attempt;
    const char *metric;
    int64_t step; /* the number of the match among those of the metric in the attempt, from 1 */
    bool has_epoch;
    int64_t epoch;          /* that was marked last; docs/reference/files.md */
    struct reading seconds; /* since the attempt's start */
    double value;           /* nan and infinities too */
};
typedef bool history_each_fn(void *context, const struct history_point *point, struct err *err);

/* Those of a run that are kept, by experiment, attempt, metric and step, read as facts_read does. False: each gave false, or err says
 * what else. */
bool history_each(const char *run_dir, history_each_fn *each, void *context, struct err *err);

/* "metric,epoch,step,seconds,value" and a newline. */
void history_add_cells(const struct history_point *point, struct text *out);

/* {"time": "clean", ...} of the quantities that a row has; a new reference. */
json_t *facts_verdicts_json(const struct verdicts *verdicts);

/* Of a live, a finished or a crashed run, without changing a byte of it. */
bool facts_read(const char *run_dir, struct facts *out, struct err *err);
void facts_fini(struct facts *facts);

#endif
