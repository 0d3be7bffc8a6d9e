/* The parts of a live page, and what it is given of one experiment. */
#include "report/page.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "report/page_private.h"

#include <string.h>

enum { EXPERIMENT_BYTES = 32 << 20, POINTS = 1000, LOG_BYTES = 16384 };

void page_live_write(const json_t *head, const char *language, const char *script_tag, const char *style_tag, struct text *out)
{
    bool chinese = strcmp(language, "zh") == 0;
    text_addf(out,
              "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n"
              "<link rel=\"stylesheet\" href=\"/assets/page.css?%s\">\n<script defer src=\"/assets/page.js?%s\"></script>\n</head>\n",
              chinese ? "zh-Hans" : "en", json_get_text(head, "program"), style_tag, script_tag);
    text_addf(out,
              "<body class=\"live\">\n<header id=\"top\"></header>\n<main>\n<section id=\"state\" aria-live=\"polite\"></section>\n"
              "<section id=\"summary\"></section>\n<section id=\"slots\"></section>\n<section id=\"power\"></section>\n"
              "<section id=\"experiments\"></section>\n<section id=\"detail\" tabindex=\"-1\"></section>\n"
              "<section id=\"events\"></section>\n</main>\n<footer id=\"foot\"></footer>\n<noscript>%s</noscript>\n",
              chinese ? "本页由 JavaScript 绘制；同样的数据见 /api/runs。" : "This page draws itself with JavaScript. The same figures are at /api/runs.");
    page_add_data(out, "head", head);
    text_add(out, "</body>\n</html>\n");
}

const struct page_part *page_live_parts(bool style, size_t *count)
{
    static struct page_part scripts[2], styles[2];
    scripts[0] = (struct page_part){page_charts, page_charts_length};
    scripts[1] = (struct page_part){page_live_script, page_live_script_length};
    styles[0] = (struct page_part){page_style, page_style_length};
    styles[1] = (struct page_part){page_live_style, page_live_style_length};
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

json_t *page_experiment_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    json_t *out = folder < 0 ? json_object() : read_experiment(folder);
    if (folder >= 0)
        page_add_contents(out, folder, POINTS, LOG_BYTES);
    json_object_set_new(out, "experiment_id", json_text_or_null(id));
    return out;
}

json_t *page_log_json(int dir, const char *id)
{
    AUTO_CLOSE int folder = folder_of(dir, id);
    return json_pack("{s:o}", "log_end", folder < 0 ? json_null() : page_trace_log_end(folder, LOG_BYTES));
}
