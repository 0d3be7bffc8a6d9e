/* page: a run as one self-contained HTML file: no network, works from file://. Everything in it
 * that a number says also stands in the run's CSV files. */
#ifndef TARE_REPORT_PAGE_H
#define TARE_REPORT_PAGE_H

#include "base/err.h"
#include "base/text.h"
#include "results/judge/dataset.h"
#include "results/store/store.h"

#include <jansson.h>
#include <stdbool.h>

struct page_options {
    const char *language; /* "en", "zh" */
    const char *folder;   /* the run's, as the reader knows it */
    /* from the page's folder to the run's, "" or ending in a slash; NULL: nothing is linked */
    const char *way;
    int dir;               /* the run's folder, open: traces and logs are read in it */
    const json_t *machine; /* machine.json, or NULL */
    enum run_life life;
    /* replaces names; ends of logs and links to files are left out; NULL: names stay */
    struct anonymous *anonymous;
    json_t *effects; /* as summary_stats_effects_json gives them, or NULL: not known */
    /* {"only": "consistent", "ids": {id: "clean"}}: experiments that count, or NULL */
    json_t *counted;
};

/* run: as results_read_json or page_study_json gives it. What cannot be read of one experiment is
 * said in its place. */
void page_write(const json_t *run, const struct page_options *options, struct text *out);

/* A folder in the study's layout in the form of results_read_json, with "layout": "study", "zone_s"
 * and "problems"; the dataset is judged. Parts that the study did not know are not there. A new
 * reference. */
json_t *page_study_json(const struct dataset *dataset);

/* The live pages (serve/), of the same parts. */

/* The whole document; head: what its script reads; the queries: as in struct html_page. */
void page_live_write(const json_t *head, const char *language, const char *script_query,
                     const char *style_query, struct text *out);

/* Of its script or its style, in order. */
struct page_part {
    const char *bytes;
    size_t length;
};
const struct page_part *const *page_live_parts(bool style, size_t *count);

/* One experiment as the page's script takes it: what experiment.json holds (nothing where there is
 * none), "trace", "log_end", "files", "metric_points" ({metric: [[seconds, value]]}), or why there
 * is none ("trace_error"). _log: "log_end" alone. dir: the run's folder, open; id: the
 * experiment's. A new reference. */
json_t *page_experiment_json(int dir, const char *id);
json_t *page_log_json(int dir, const char *id);

#endif
