/* page_json: the JSON of a run and of its experiments in the form that the page's script takes. */
#ifndef TARE_RESULTS_STORE_PAGE_JSON_H
#define TARE_RESULTS_STORE_PAGE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct page_json_item {
    const char *id; /* borrowed; NULL: it has none */
    int64_t number;
    double start_s; /* of the last attempt, since 1970; not finite: not known */
};

/* A copy of an experiment without the energies of attempts and devices and the samples of two
 * trainings, which are in experiment.json: a page that held them all would be mostly that. item may
 * be NULL. A new reference. */
json_t *page_json_slim(const json_t *experiment, struct page_json_item *item);

/* run: as results_read_json gives it, or a folder in the study's layout. Borrowed. */
const json_t *page_json_experiments(const json_t *run, bool *of_study);

/* The page's times are those of the place where it was measured, as in the CSV files, wherever it
 * is read: [[from_s, offset_s], ...] of the first session that has it; null: not known. */
json_t *page_json_offsets(const json_t *run);

void page_json_add_problem(json_t *head, const char *text);
bool page_json_has_trace(const json_t *experiment);

/* JavaScript's numbers hold integers up to 2^53: larger ones are handed over as strings. */
void page_json_spell_large(json_t *object, const char *key);

/* Files of memory snapshots that the attempts name. */
struct page_json_snapshot {
    const char *id, *file; /* borrowed; of the experiment */
    int64_t attempt;
    bool last; /* attempt of the experiment: its files are in the experiment's own folder */
};
typedef void page_json_snapshot_fn(void *context, const struct page_json_snapshot *snapshot);
void page_json_each_snapshot(const json_t *run, page_json_snapshot_fn *each, void *context);

#endif
