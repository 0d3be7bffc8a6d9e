#include "report/page.h"
#include "base/fs_path.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/value.h"
#include "machine/gpu/readings.h"
#include "measure/guard/evidence.h"
#include "report/html.h"
#include "report/page_private.h"
#include "results/judge/anonymous.h"
#include "results/store/page_json.h"
#include "tare_build.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many points of all traces together keep the file to a few megabytes, however many experiments
 * it shows. */
enum {
    POINTS_ALL = 150000,
    POINTS_MAX = 600,
    POINTS_MIN = 60,
    LOG_ALL_BYTES = 4 << 20,
    LOG_MAX_BYTES = 4096,
    LOG_MIN_BYTES = 1024
};

static size_t share_room(size_t all, size_t count, size_t low, size_t high)
{
    size_t each = all / (count ? count : 1);
    return each < low ? low : each > high ? high : each;
}

enum { FILES_MAX = 60 };

/* The names in a run's folder that its readers know, as far as they are there: ["summary.csv",
 * ...]. */
static json_t *files_of_run(int dir)
{
    static const char *const known[] = {"summary.csv",   "summary_safe.csv", "summary_affected.csv",
                                        "audit.json",    "audit_safe.csv",   "audit_affected.csv",
                                        "settings.json", "registry.json",    "machine.json",
                                        "events.jsonl"};
    json_t *out = json_array();
    struct stat st;
    EACH_OF (item, known)
        if (fstatat(dir, *item, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            json_array_append_new(out, json_string(*item));
    return out;
}

/* before: "" or "energy/"; deep: with energy/ and attempt_<k>/. Skips links, which may lead out of
 * the run. */
static void add_folder_files(int folder, const char *before, bool deep, struct strv *out)
{
    AUTO_DIR DIR *list = fs_list(folder, ".");
    for (struct dirent *entry; list && out->count < FILES_MAX && (entry = readdir(list));) {
        struct stat st;
        const char *name = entry->d_name;
        if (*name == '.' || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (deep && S_ISDIR(st.st_mode) &&
            (strcmp(name, "energy") == 0 || strncmp(name, "attempt_", 8) == 0)) {
            AUTO_CLOSE int inner =
                openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            AUTO_FREE char *below = mem_printf("%s/", name);
            if (inner >= 0)
                add_folder_files(inner, below, false, out);
        } else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
            strv_add_owned(out, mem_printf("%s%s%s", before, name, S_ISDIR(st.st_mode) ? "/" : ""));
        }
    }
}

/* All of an experiment's folder, but for hidden ones: files, those of energy/ and attempt_<k>/, and
 * other folders, with a slash behind; at most some dozens, by name. */
static json_t *files_of_experiment(int folder)
{
    AUTO_STRV struct strv names = {0};
    json_t *out = json_array();
    add_folder_files(folder, "", true, &names);
    strv_sort(&names);
    EACH (item, names.items, names.count) {
        json_t *name = json_string(*item); /* NULL: no UTF-8 */
        if (name)
            json_array_append_new(out, name);
    }
    return out;
}

/* What each kind of evidence weighs and means, and its remedy. (page.c) */
static json_t *page_kinds_json(void)
{
    size_t count;
    const struct evidence_kind *kinds = evidence_kinds(&count);
    json_t *out = json_object();
    EACH (kind, kinds, count)
        json_object_set_new(out, kind->name,
                            json_pack("{s:s, s:s, s:s}", "weight",
                                      evidence_weight_name(kind->weight), "meaning", kind->meaning,
                                      "remedy", kind->remedy));
    return out;
}

static json_t *page_readings_json(const char *language)
{
    bool chinese = strcmp(language, "zh") == 0;
    json_t *out = json_array();
    EACH (curve, gpu_curves, GPU_CURVE_COUNT) {
        json_t *figures = json_object();
        EACH (gpu_figure, gpu_figures, GPU_FIGURE_COUNT)
            if (gpu_figure->of == curve->of)
                json_set_text(figures, gpu_figure->key,
                              gpu_figure->how == GPU_MEAN ? "mean_of" : "most_of");
        if (curve->english)
            json_array_append_new(out,
                                  json_pack("{s:s, s:s, s:s, s:O}", "key", curve->key, "name",
                                            chinese ? curve->chinese : curve->english, "unit",
                                            gpu_reading_rows[curve->of].unit, "figures", figures));
        json_decref(figures);
    }
    return out;
}

/* Of a run that has ended a page says nothing of when it was made: it is the same whenever that
 * is. */
static void add_life(json_t *head, const struct page_options *options)
{
    static const char *const names[] = {[RUN_LIFE_UNDER_WAY] = "under_way",
                                        [RUN_LIFE_DIED] = "died",
                                        [RUN_LIFE_ELSEWHERE] = "elsewhere"};
    if (options->life == RUN_LIFE_ENDED)
        return;
    json_object_set_new(head, "state", json_string(names[options->life]));
    json_object_set_new(head, "made_ms", json_integer(clock_realtime_ns() / NS_PER_MS));
}

/* A log may name anything, and a file that is linked names all. */
static void leave_out_files(json_t *json)
{
    static const char *const keys[] = {"log_end", "files", "way"};
    EACH_OF (key, keys)
        if (json_object_get(json, *key))
            json_object_set_new(json, *key,
                                strcmp(*key, "files") == 0 ? json_array() : json_null());
}

/* Takes the head, whose parts are others' too. */
static json_t *anonymous_head(json_t *head, struct anonymous *anonymous)
{
    json_t *out = json_deep_copy(head);
    json_decref(head);
    page_json_add_problem(out, "names are replaced by pseudonyms (--anonymous); the ends of logs "
                               "and links to files are left out");
    leave_out_files(out);
    anonymous_json(anonymous, out);
    return out;
}

static json_t *head_json(const json_t *run, const struct page_options *options)
{
    static const char *const of_run[] = {"name",   "seed",   "sessions",       "pauses",
                                         "lanes",  "goals",  "curves_thinned", "zone_s",
                                         "counts", "layout", "problems"};
    json_t *head =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:O?, s:o, s:o, s:O?, s:O?}", "program",
                  TARE_NAME, "version", TARE_VERSION, "language", options->language, "folder",
                  json_text_or_null(options->folder), "offsets", page_json_offsets(run), "way",
                  json_text_or_null(options->way), "files", files_of_run(options->dir), "machine",
                  options->machine, "kinds", page_kinds_json(), "readings",
                  page_readings_json(options->language), "effects", options->effects, "counted",
                  options->counted);
    EACH_OF (item, of_run)
        if (json_object_get(run, *item))
            json_object_set(head, *item, json_object_get(run, *item));
    page_json_spell_large(head, "seed");
    add_life(head, options);
    return options->anonymous ? anonymous_head(head, options->anonymous) : head;
}

static void set_trace(json_t *json, json_t *trace, const struct err *err)
{
    json_object_set_new(json, "trace", trace ? trace : json_array());
    if (!trace)
        json_set_text(json, "trace_error", err->text);
}

/* What a page says of one experiment besides what experiment says: its sensors' readings (about so
 * many points), log's end and files, of its open folder; budgets and large numbers as the script
 * takes them. (page.c) */
static void page_add_contents(json_t *json, int folder, size_t points, size_t log_bytes)
{
    struct err err = {0};
    if (!page_json_has_trace(json))
        set_trace(json, page_trace_read(folder, points, &err), &err);
    json_object_set_new(json, "log_end", page_trace_log_end(folder, log_bytes));
    json_object_set_new(json, "files", files_of_experiment(folder));
}

static void add_page_experiment(struct text *out, const json_t *experiment, size_t count,
                                bool of_study, const struct page_options *options)
{
    struct page_json_item item;
    struct err err = {0};
    size_t points = share_room(POINTS_ALL, count, POINTS_MIN, POINTS_MAX);
    json_t *json = page_json_slim(experiment, &item);
    AUTO_CLOSE int folder =
        fs_check_name(item.id, NULL) ? fs_open_folder_beneath(options->dir, item.id) : -1;
    if (folder >= 0 && of_study)
        set_trace(json, page_trace_study(folder, item.start_s, points, &err), &err);
    if (folder >= 0)
        page_add_contents(json, folder, points,
                          share_room(LOG_ALL_BYTES, count, LOG_MIN_BYTES, LOG_MAX_BYTES));
    if (options->anonymous) {
        leave_out_files(json);
        anonymous_json(options->anonymous, json);
    }
    AUTO_FREE char *name = mem_printf("x%lld", (long long)item.number);
    html_data(out, name, json);
    json_decref(json);
}

void page_write(const json_t *run, const struct page_options *options, struct text *out)
{
    static const struct html_section sections[] = {{"state", ""},
                                                   {"verdict", ""},
                                                   {"timeline", ""},
                                                   {"lanes", ""},
                                                   {"relations", ""},
                                                   {"experiments", ""},
                                                   {"detail", " tabindex=\"-1\""},
                                                   {"curves", ""},
                                                   {"spread", ""},
                                                   {"front", ""},
                                                   {"effects", ""},
                                                   {"evidence", ""},
                                                   {"left-out", ""},
                                                   {0}};
    const struct html_page page = {
        .title = "Report",
        .language = options->language,
        .sections = sections,
        .noscript = "This page draws itself with JavaScript. The same figures are in summary.csv "
                    "beside it. "
                    "&#x672c;&#x9875;&#x7531; JavaScript "
                    "&#x7ed8;&#x5236;&#xff1b;&#x540c;&#x6837;&#x7684;&#x6570;"
                    "&#x503c;&#x5728;&#x65c1;&#x8fb9;&#x7684; summary.csv &#x4e2d;&#x3002;"};
    bool of_study;
    const json_t *experiments = page_json_experiments(run, &of_study);
    size_t count = json_array_size(experiments);
    html_begin(out, &page);
    json_t *head = head_json(run, options);
    html_data(out, "head", head);
    json_decref(head);
    for (size_t i = 0; i < count; i++)
        add_page_experiment(out, json_array_get(experiments, i), count, of_study, options);
    html_end(out, &page);
}

/* The parts of a live page, and what it is given of one experiment. */

enum {
    EXPERIMENT_BYTES = 32 << 20,
    HISTORY_BYTES = 32 << 20,
    HISTORY_CELLS = 6,
    METRICS = 8,
    POINTS = 1000,
    LOG_BYTES = 16384
};

void page_live_write(const json_t *head, const char *language, const char *script_query,
                     const char *style_query, struct text *out)
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
        .title = TARE_NAME,
        .language = language,
        .sections = sections,
        .noscript =
            chinese ? "本页由 JavaScript 绘制；同样的数据见 /api/runs。"
                    : "This page draws itself with JavaScript. The same figures are at /api/runs.",
        .style_query = style_query,
        .script_query = script_query};
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
    static const struct page_part *const scripts[] = {&page_charts, &page_live_script},
                                         *const styles[] = {&page_style, &page_live_style};
    *count = 2;
    return style ? styles : scripts;
}

/* A folder of the run, whatever its journal calls it; no link. */
static int folder_of(int dir, const char *id)
{
    return fs_check_name(id, NULL) ? fs_open_folder_beneath(dir, id) : -1;
}

static json_t *read_experiment_json(int folder)
{
    AUTO_TEXT struct text text = {0};
    json_error_t error;
    json_t *whole = fs_read_at(folder, "experiment.json", EXPERIMENT_BYTES, &text, NULL)
                        ? json_load_bounded(text_get(&text), text.length, 0, &error)
                        : NULL;
    json_t *out = json_is_object(whole) ? page_json_slim(whole, NULL) : json_object();
    json_decref(whole);
    /* These are of the folder, not of what a file says. */
    json_object_del(out, "trace");
    return out;
}

/* A row of history.csv (attempt, metric, epoch, step, seconds, value); of each metric the last
 * attempt's are kept. */
static void add_curve_match(json_t *curves, const struct strv *cells, double *attempt)
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
        json_array_append_new(
            curve,
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

/* {metric: [[seconds, value or null]]} of what the job told in its log; empty where there is no
 * such file. */
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
            add_curve_match(all, &cells, &attempt);
    }
    json_object_foreach(all, name, curve) json_object_set_new(out, name, thinned(curve));
    json_decref(all);
    return out;
}

json_t *page_experiment_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    json_t *out = folder < 0 ? json_object() : read_experiment_json(folder);
    if (folder >= 0)
        page_add_contents(out, folder, POINTS, LOG_BYTES);
    json_object_set_new(out, "metric_points", folder < 0 ? json_object() : read_curves(folder));
    json_set_text(out, "experiment_id", id);
    return out;
}

json_t *page_log_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    return json_pack("{s:o}", "log_end",
                     folder < 0 ? json_null() : page_trace_log_end(folder, LOG_BYTES));
}
