/* other_code: results of earlier sessions whose fingerprint (run/environment/fingerprint.h) differs
 * from what would run now. */
#ifndef TARE_RUN_ENVIRONMENT_OTHER_CODE_H
#define TARE_RUN_ENVIRONMENT_OTHER_CODE_H

#include "results/store/store.h"

/* The kind of evidence. */
#define OTHER_CODE_KIND "other_code"

struct other_code_item {
    char *text;      /* how the result that stands differs; NULL: not at all */
    int64_t attempt; /* that gave the result */
    bool recorded;   /* evidence from before says the same */
};

struct other_code {
    struct other_code_item *items; /* by number - 1 */
    size_t size, count;            /* count: with a text */
};

/* dir: the run's folder, open, with machine.json of the newest session and machine.<n>.json of
 * those before. now: machine_software_json. Results of sessions that did not record their code are
 * left out. */
void other_code_find(int dir, const struct results *results, const json_t *now,
                     struct other_code *out);

/* The same of results of this session, whose code was changed while it lasted: those that ended
 * after the change. now: {"code": ...} at its end. */
void other_code_find_later(const struct results *results, int64_t session, const json_t *began,
                           const json_t *now, struct other_code *out);
void other_code_fini(struct other_code *code);

/* "3 results are unverified: other code (train.py changed)"; fresh. */
char *other_code_text(const struct other_code *code);

#endif
