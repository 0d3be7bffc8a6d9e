/* other_code: results of earlier sessions whose code or software differs from the current one. */
#ifndef TARE_RUN_ENVIRONMENT_OTHER_CODE_H
#define TARE_RUN_ENVIRONMENT_OTHER_CODE_H

#include "results/store/store.h"

#define OTHER_CODE_KIND "other_code"

struct other_code_item {
    char *text;      /* how the current result differs; NULL: not */
    int64_t attempt; /* of the result */
    bool recorded;   /* the same evidence exists */
};

struct other_code {
    struct other_code_item *items; /* by number - 1 */
    size_t size, count;            /* count: with a text */
};

/* dir: the run's folder with its machine.json files. now: machine_software_json. Skips sessions
 * that did not record their code. */
void other_code_find(int dir, const struct results *results, const json_t *now,
                     struct other_code *out);

/* Results of this session that ended after their code changed. now: {"code": ...} at its end. */
void other_code_find_later(const struct results *results, int64_t session, const json_t *began,
                           const json_t *now, struct other_code *out);
void other_code_fini(struct other_code *code);

/* "3 results are unverified: other code (train.py changed)"; the caller frees. */
char *other_code_text(const struct other_code *code);

#endif
