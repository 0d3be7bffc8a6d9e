#include "session/report_page.h"

#include "results/judge/summary_stats.h"
#include "results/judge/judge.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/page.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE_MAX_BYTES = 16 << 20 };

json_t *report_machine_read(int dir)
{
    struct err err = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_TEXT struct text text = {0};
    if (!fs_read_at(dir, "machine.json", MACHINE_MAX_BYTES, &text, &err) ||
        !json_doc_parse("machine.json", text_get(&text), text.length, &doc, &err))
        return NULL;
    return json_incref(doc.root);
}

static bool write_file(const struct report_options *how, int dir, const char *run_dir, const struct text *page,
                       struct err *err)
{
    static const char name[] = "report.html";
    if (how->file)
        return fs_write_output(how->file, text_get(page), page->length, err);
    if (how->foreign)
        return written_write(run_dir, name, text_get(page), page->length, how->force, err);
    return fs_write_atomic(dir, name, text_get(page), page->length, err);
}

/* Links are taken out: the browser does that too, before it goes up. */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : fs_resolve(NULL, path, NULL);
}

/* How a link in the page's folder leads to the run's: "", or steps that end in a slash. */
static char *way_to(const char *run_dir, const char *file)
{
    AUTO_FREE char *folder = file ? fs_dirname(file) : mem_strdup(run_dir);
    AUTO_FREE char *from = real_path(folder), *to = real_path(run_dir);
    size_t same = 0;
    struct text way = {0};
    for (size_t i = 0;; i++) {
        bool end_of_from = from[i] == '/' || !from[i], end_of_to = to[i] == '/' || !to[i];
        if (end_of_from && end_of_to)
            same = i;
        if (from[i] != to[i] || !from[i])
            break;
    }
    for (const char *at = from + same; *at; at++)
        if (*at == '/' && at[1])
            text_add(&way, "../");
    if (to[same] && to[same + 1])
        text_addf(&way, "%s/", to + same + 1);
    return text_take(&way);
}

/* As 'stats' says them without options. */
static json_t *effects_of(const struct dataset *dataset)
{
    const struct summary_stats_options how = {.seed = 1, .precision = 0.05};
    AUTO(summary_stats_fini) struct summary_stats figures = {0};
    summary_stats_make(dataset, &how, &figures);
    return summary_stats_effects_json(dataset, &figures);
}

/* NULL: the folder cannot be read; then the page has none. */
static json_t *read_effects(int dir)
{
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO_FREE char *path = mem_printf("/proc/self/fd/%d", dir);
    json_t *out = NULL;
    if (dataset_read(&dataset, path, NULL)) {
        audit_judge(&dataset);
        audit_join_names(&dataset);
        out = effects_of(&dataset);
    }
    return out;
}

bool report_page_write(const json_t *run, const char *run_dir, const struct report_options *how, struct err *err)
{
    AUTO_TEXT struct text page = {0};
    AUTO_FREE char *path = fs_resolve(NULL, run_dir, NULL), *name = fs_basename(path);
    AUTO_FREE char *way = way_to(run_dir, how->file);
    AUTO_CLOSE int dir =
        openat(how->dir ? *how->dir : AT_FDCWD, how->dir ? "." : run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", run_dir);
    json_t *machine = report_machine_read(dir), *effects = how->dataset ? effects_of(how->dataset) : read_effects(dir);
    struct page_options options = {.language = how->language,
                                   .folder = name,
                                   .way = way,
                                   .dir = dir,
                                   .machine = machine,
                                   .carbon_g_per_kwh = how->carbon_g_per_kwh,
                                   .life = how->life,
                                   .reload_s = how->reload_s,
                                   .effects = effects};
    page_write(run, &options, &page);
    json_decref(machine);
    json_decref(effects);
    return write_file(how, dir, run_dir, &page, err);
}

const char *report_page_language(void)
{
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strncmp(value, "zh", 2) == 0 ? "zh" : "en";
    }
    return "en";
}
