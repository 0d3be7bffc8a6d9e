/* evidence: the one table of what may speak against a measurement, and the verdict that follows from what was found. It
 * judges the measurement, not the training: a failed training on a clean machine is clean. */
#ifndef TARE_GUARD_EVIDENCE_H
#define TARE_GUARD_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

/* From the lightest to the heaviest. */
enum evidence_weight {
    EVIDENCE_RECORDED,    /* worth knowing; the figures stand */
    EVIDENCE_UNVERIFIED,  /* a check that the figures need could not be made: nothing is known to be wrong, or right */
    EVIDENCE_SUSPECT,     /* the figures may be wrong */
    EVIDENCE_CONTAMINATED /* something else took part in the figures */
};

struct evidence_kind {
    const char *name; /* "foreign_process": as in events and files */
    enum evidence_weight weight;
    const char *meaning; /* one sentence */
    const char *remedy;  /* one sentence: what a person can do */
};

/* All kinds, in a fixed order. */
const struct evidence_kind *evidence_kinds(size_t *count);

/* NULL: no such kind (of a newer tare, say). */
const struct evidence_kind *evidence_find(const char *name);

/* What a kind weighs; one that is not known, or NULL, is suspect. */
enum evidence_weight evidence_weight(const char *name);
const char *evidence_weight_name(enum evidence_weight weight); /* "recorded", "unverified", "suspect", "contaminated" */

/* From the best to the worst, but for NONE. */
enum verdict {
    VERDICT_NONE, /* there is no result that could be judged */
    VERDICT_CLEAN,
    VERDICT_UNVERIFIED,
    VERDICT_SUSPECT,
    VERDICT_CONTAMINATED,
    VERDICTS
};

const char *verdict_name(enum verdict verdict); /* "none", "clean", "unverified", "suspect", "contaminated" */
bool verdict_parse(const char *name, enum verdict *out);

/* What is left of a verdict when evidence of this kind comes to it: never better than before. Of NONE it makes what the
 * kind makes of CLEAN. */
enum verdict verdict_with(enum verdict before, const char *kind);

/* The verdict on what ended, of all its evidence: a training that did not succeed has no result that could be clean
 * (NONE), whatever its machine was like; what speaks against that still does. */
enum verdict verdict_of_end(enum verdict seen, bool succeeded);

/* The one rule for what counts as safe: rows of summary_safe.csv and audit_safe.csv, and what headlines count. */
bool verdict_is_safe(enum verdict verdict, bool succeeded);

#endif
