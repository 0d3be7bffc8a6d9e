/* evidence: the one table of what may speak against a measurement, the checks that it needs, and
 * the verdict that follows from both. It judges the measurement, not the training: a failed
 * training on a clean machine is clean. */
#ifndef TARE_MEASURE_GUARD_EVIDENCE_H
#define TARE_MEASURE_GUARD_EVIDENCE_H

#include "base/reading.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* What a row of results tells; each is judged by itself. A set of them is a mask of 1 <<
 * quantity. */
enum quantity { QUANTITY_TIME, QUANTITY_ENERGY, QUANTITY_METRIC, QUANTITIES };

const char *quantity_name(enum quantity quantity); /* "time", "energy", "metric" */

/* The fixed list of checks, in the order in which they are told. */
enum check {
    CHECK_PROCESSES_BEFORE,
    CHECK_PROCESSES_DURING,
    CHECK_PROCESSES_AFTER,
    CHECK_IDLE_BEFORE,
    CHECK_BASELINE,
    CHECK_BACKGROUND_LOAD,
    CHECK_OTHER_CPU,
    CHECK_SAMPLING,
    CHECK_LENGTH,
    CHECK_THROTTLING,
    CHECK_MEMORY_BACK,
    CHECK_METRIC_PLAUSIBLE,
    CHECK_LIKE_TIME, /* from here on: of folders of finished runs */
    CHECK_LIKE_ENERGY,
    CHECK_LIKE_POWER,
    CHECK_DATA,
    CHECKS,
    CHECK_NONE = CHECKS
};

struct check_kind {
    const char *name;   /* "processes_before": as in JSON and CSV */
    unsigned needed_by; /* the quantities that need it, a mask */
    /* one that is not listed was not made; false: it counts where it is listed */
    bool required;
    const char *meaning; /* one sentence: what is so when it passed */
    const char *remedy;  /* one sentence: what makes it possible where it could not be made */
    const char *subject; /* "GPU processes while it ran": not known where it was not made */
};

enum check_outcome { CHECK_PASSED, CHECK_FAILED, CHECK_NOT_MADE, CHECK_NOT_NEEDED, CHECK_OUTCOMES };

struct check_result {
    enum check check;
    enum check_outcome outcome;
    char *text; /* figures; of NOT_MADE also why; NULL: none. Owned by whoever made the result */
};

/* "idle_before:failed other_cpu:not_made": those that failed or were not made. Fresh. */
char *checks_compact(const struct check_result *results, size_t count);

const struct check_kind *check_kind(enum check check);
enum check check_parse(const char *name); /* CHECK_NONE: no such check */
/* "passed", "failed", "not_made", "not_needed" */
const char *check_outcome_name(enum check_outcome outcome);
bool check_outcome_parse(const char *name, enum check_outcome *out);

/* From the lightest to the heaviest. */
enum evidence_weight {
    EVIDENCE_RECORDED, /* worth knowing; the figures stand */
    /* a check that the figures need could not be made: nothing is known to be wrong, or right */
    EVIDENCE_UNVERIFIED,
    /* data of a file that cannot be right: the figures that it touches cannot be verified */
    EVIDENCE_INCONSISTENT,
    EVIDENCE_SUSPECT,     /* the figures may be wrong */
    EVIDENCE_CONTAMINATED /* something else took part in the figures */
};

struct evidence_kind {
    const char *name; /* "foreign_process": as in events and files */
    enum evidence_weight weight;
    unsigned quantities; /* those that it speaks against, a mask */
    /* the check that it is the failed or unmade outcome of; CHECK_NONE: of none */
    enum check check;
    const char *meaning; /* one sentence */
    const char *remedy;  /* one sentence: what a person can do */
};

/* All kinds, in a fixed order. */
const struct evidence_kind *evidence_kinds(size_t *count);

/* NULL: no such kind (of a newer tare, say). */
const struct evidence_kind *evidence_find(const char *name);

/* What a kind weighs; one that is not known, or NULL, is suspect. */
enum evidence_weight evidence_weight(const char *name);
const char *evidence_weight_name(enum evidence_weight weight); /* "recorded", ... */

/* From the best to the worst, but for NONE. */
enum verdict {
    VERDICT_NONE, /* there is no result that could be judged */
    VERDICT_CLEAN,
    VERDICT_UNVERIFIED,
    VERDICT_SUSPECT,
    VERDICT_CONTAMINATED,
    VERDICTS
};

/* "none", "clean", "unverified", "suspect", "contaminated" */
const char *verdict_name(enum verdict verdict);
bool verdict_parse(const char *name, enum verdict *out);

/* What is left of a verdict when evidence of this kind comes to it: never better than before. Of
 * NONE it makes what the kind makes of CLEAN. */
enum verdict verdict_with(enum verdict before, const char *kind);

struct evidence_found {
    const char *kind;
    unsigned quantities; /* those that this one speaks against, a mask; 0: those of its kind */
};

struct verdicts {
    enum verdict of[QUANTITIES]; /* NONE: the row has no such quantity */
    enum verdict row;            /* the worst of them */
};

/* The one rule for a row that has these quantities (a mask). A quantity is clean when every check
 * that it needs passed or was not needed, and no evidence touches it; unverified when one was not
 * made, or its data are inconsistent. A check that failed weighs what its evidence weighs, and is
 * suspect without any. */
struct verdicts verdicts_judge(unsigned has, const struct check_result *results,
                               size_t result_count, const struct evidence_found *evidence,
                               size_t evidence_count);

/* Whether "energy_imprecise" is to be said: the half-width is more than so many per cent of the
 * energy (0: never). */
bool evidence_is_imprecise(struct reading energy_j, struct reading half_width_j, double percent);

/* The verdict on what ended, of all its evidence: a training that did not succeed has no result
 * that could be clean (NONE), whatever its machine was like; what speaks against that still
 * does. */
enum verdict verdict_of_end(enum verdict seen, bool succeeded);

/* Whether nothing speaks against a row, which may have failed: rows of summary_safe.csv and
 * audit_safe.csv. The others are in summary_affected.csv and audit_affected.csv. */
bool verdict_is_safe(enum verdict verdict);

/* Whether it succeeded and every check passed: what headlines and statistics count. */
bool verdict_is_clean_success(enum verdict verdict, bool succeeded);

/* Why a row is affected, in one line. Appends "kind: text" ("; " between) if evidence of this
 * kind makes a row suspect or contaminated; else nothing. text may be NULL. */
void evidence_add_reason(struct text *out, const char *kind, const char *text);

/* The same of the checks that failed, for a row without such evidence; "not recorded" if there
 * are none. */
void checks_add_reason(struct text *out, const struct check_result *results, size_t count);

#endif
