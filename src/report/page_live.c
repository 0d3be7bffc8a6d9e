/* The parts of a live page, and what it is given of one experiment. */
#include "report/page.h"

#include "base/cleanup.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/value.h"
#include "report/html.h"
#include "report/page_private.h"

#include <string.h>

enum {
    EXPERIMENT_BYTES = 32 << 20,
    HISTORY_BYTES = 32 << 20,
    HISTORY_CELLS = 6,
    METRICS = 8,
    POINTS = 1000,
    LOG_BYTES = 16384
};

void page_live_write(const json_t *head, const char *language, const char *script_tag, const char *style_tag,
                     struct text *out)
{
    static const struct html_section sections[] = {{"state", " aria-live=\"polite\""},
                                                   {"summary", ""},
                                                   {"slots", ""},
                                                   {"power", ""},
                                                   {"experiments", ""},
                                                   {"detail", " tabindex=\"-1\""},
                                                   {"events", ""},
                                                   {0}};
    bool chinese = strcmp(language, "zh") == 0;
    const struct html_page page = {
        .title = json_get_text(head, "program"),
        .language = language,
        .sections = sections,
        .noscript = chinese ? "本页由 JavaScript 绘制；同样的数据见 /api/runs。"
                            : "This page draws itself with JavaScript. The same figures are at /api/runs.",
        .style_tag = style_tag,
        .script_tag = script_tag};
    html_begin(out, &page);
    json_t *whole = json_copy((json_t *)head);
    json_object_set_new(whole, "kinds", page_kinds_json());
    json_object_set_new(whole, "readings", page_readings_json(language));
    html_data(out, "head", whole);
    json_decref(whole);
    html_end(out, &page);
}

const struct page_part *const *page_live_parts(bool style, size_t *count)
{
    static const struct page_part *const scripts[] = {&page_charts, &page_live_script}, *const styles[] = {
                                                                                            &page_style,
                                                                                            &page_live_style};
    *count = 2;
    return style ? styles : scripts;
}

/* A folder of the run, whatever its journal calls it; no link. */
static int folder_of(int dir, const char *id)
{
    return fs_check_name(id, NULL) ? fs_open_folder_beneath(dir, id) : -1;
}

static json_t *read_experiment(int folder)
{
    AUTO_TEXT struct text text = {0};
    json_error_t error;
    json_t *whole = fs_read_at(folder, "experiment.json", EXPERIMENT_BYTES, &text, NULL)
                        ? json_load_bounded(text_get(&text), text.length, 0, &error)
                        : NULL;
    json_t *out = json_is_object(whole) ? page_without_bulk(whole) : json_object();
    json_decref(whole);
    /* These are of the folder, not of what a file says. */
    json_object_del(out, "trace");
    return out;
}

/* A row of history.csv (attempt, metric, epoch, step, seconds, value); of each metric the last attempt's are kept. */
static void take_match(json_t *curves, const struct strv *cells, double *attempt)
{
    double number, seconds, value;
    if (cells->count < HISTORY_CELLS || !number_parse(cells->items[0], &number) ||
        !number_parse(cells->items[4], &seconds))
        return;
    if (number > *attempt) {
        json_object_clear(curves);
        *attempt = number;
    }
    const char *name = cells->items[1];
    json_t *curve = json_object_get(curves, name);
    if (!curve && json_object_size(curves) < METRICS)
        json_object_set_new(curves, name, curve = json_array());
    if (json_is_array(curve))
        json_array_append_new(curve,
                              json_pack("[o, o]", json_finite(seconds),
                                        number_parse(cells->items[5], &value) ? json_finite(value) : json_null()));
}

/* Evenly so many of the points, and the last one. */
static json_t *thinned(const json_t *curve)
{
    size_t count = json_array_size(curve), step = count / POINTS + 1;
    json_t *out = json_array();
    for (size_t i = 0; i < count; i++)
        if (i % step == 0 || i + 1 == count)
            json_array_append(out, json_array_get(curve, i));
    return out;
}

/* {metric: [[seconds, value or null]]} of what the job told in its log; empty where there is no such file. */
static json_t *read_curves(int folder)
{
    AUTO_TEXT struct text text = {0};
    AUTO_STRV struct strv cells = {0};
    struct csv_reader reader;
    struct err err = {0};
    double attempt = 0;
    json_t *all = json_object(), *out = json_object(), *curve;
    const char *name;
    if (fs_read_at(folder, "history.csv", HISTORY_BYTES, &text, &err)) {
        csv_start(&reader, text_get(&text), text.length);
        while (csv_next(&reader, &cells, &err) > 0)
            take_match(all, &cells, &attempt);
    }
    json_object_foreach(all, name, curve) json_object_set_new(out, name, thinned(curve));
    json_decref(all);
    return out;
}

json_t *page_experiment_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    json_t *out = folder < 0 ? json_object() : read_experiment(folder);
    if (folder >= 0)
        page_add_contents(out, folder, POINTS, LOG_BYTES);
    json_object_set_new(out, "metric_points", folder < 0 ? json_object() : read_curves(folder));
    json_object_set_new(out, "experiment_id", json_text_or_null(id));
    return out;
}

json_t *page_log_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    return json_pack("{s:o}", "log_end", folder < 0 ? json_null() : page_trace_log_end(folder, LOG_BYTES));
}
