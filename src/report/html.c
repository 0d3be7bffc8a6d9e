#include "report/html.h"
#include "base/json_print.h"

#include "base/utf8.h"
#include "report/page_private.h"
#include "tare_build.h"

#include <stdint.h>
#include <string.h>

void html_text(struct text *out, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            text_add(out, names[found - special]);
        else
            text_add_char(out, *text);
    }
}

static void add_style(struct text *out, const struct html_page *page)
{
    if (page->style_query) {
        text_addf(out,
                  "<link rel=\"stylesheet\" href=\"/assets/page.css?%s\">\n<script defer "
                  "src=\"/assets/page.js?%s\"></script>\n",
                  page->style_query, page->script_query);
        return;
    }
    text_add(out, "<style>\n");
    text_add_bytes(out, page_style.bytes, page_style.length);
    text_add(out, page->style ? page->style : "");
    text_add(out, "</style>\n");
}

static void add_html_head(struct text *out, const struct html_page *page)
{
    bool chinese = page->language && strcmp(page->language, "zh") == 0;
    text_addf(out,
              "<!doctype html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
              chinese ? "zh-Hans" : "en");
    /* A server says it in the header of its answer. */
    if (!page->style_query)
        text_addf(
            out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'%s\">\n",
            page->sections || page->memory_script ? "; script-src 'unsafe-inline'; img-src data:"
                                                  : "");
    text_add(out, "<meta name=\"color-scheme\" content=\"light dark\">\n");
    text_add(out,
             page->sections || page->memory_script ? "<link rel=\"icon\" href=\"data:,\">\n" : "");
    text_add(out, "<title>");
    html_text(out, page->title);
    text_add(out, "</title>\n");
    add_style(out, page);
    text_add(out, "</head>\n");
}

void html_begin(struct text *out, const struct html_page *page)
{
    add_html_head(out, page);
    if (!page->sections) {
        text_add(out, "<body class=\"whole\">\n<header><h1>");
        html_text(out, page->title);
        text_add(out, "</h1></header>\n<main>\n");
        return;
    }
    text_addf(out, "<body%s>\n<header id=\"top\"></header>\n<main>\n",
              page->style_query ? " class=\"live\"" : "");
    for (const struct html_section *section = page->sections; section->id; section++)
        text_addf(out, "<section id=\"%s\"%s></section>\n", section->id, section->attributes);
    text_addf(out, "</main>\n<footer id=\"foot\"></footer>\n<noscript>%s</noscript>\n",
              page->noscript);
}

void html_end(struct text *out, const struct html_page *page)
{
    if (!page->sections) {
        text_addf(out, "</main>\n<footer>%s %s</footer>\n", TARE_NAME, TARE_VERSION);
        if (page->memory_script) {
            text_add(out, "<script>\n");
            text_add_bytes(out, page_memory_script.bytes, page_memory_script.length);
            text_add(out, "</script>\n");
        }
    } else if (!page->script_query) {
        text_add(out, "<script>\n");
        text_add_bytes(out, page_charts.bytes, page_charts.length);
        text_add_bytes(out, page_script.bytes, page_script.length);
        text_add(out, "</script>\n");
    }
    text_add(out, "</body>\n</html>\n");
}

void html_heading(struct text *out, const char *title)
{
    text_add(out, "<h2>");
    html_text(out, title);
    text_add(out, "</h2>\n");
}

void html_line(struct text *out, const char *class, const char *text)
{
    text_addf(out, "<p%s%s%s>", class ? " class=\"" : "", class ? class : "", class ? "\"" : "");
    html_text(out, text);
    text_add(out, "</p>\n");
}

void html_set_out(struct text *out, const char *text)
{
    text_add(out, "<pre>");
    html_text(out, text);
    text_add(out, "</pre>\n");
}

void html_legend(struct text *out, const char *lead, const struct html_mark *marks)
{
    text_add(out, "<p class=\"legend\">");
    html_text(out, lead);
    for (; marks->class; marks++) {
        text_addf(out, " <span><i class=\"swatch %s\"></i>", marks->class);
        html_text(out, marks->text);
        text_add(out, "</span>");
    }
    text_add(out, "</p>\n");
}

void html_figure(struct text *out, const char *label, double top, double width, double height)
{
    text_addf(out, "<svg class=\"figure\" viewBox=\"0 %.0f %.0f %.0f\" role=img aria-label=\"", top,
              width, height);
    html_text(out, label);
    text_add(out, "\">");
}

/* A script element ends at "</script" and at nothing else, "<!--" makes it end elsewhere: no "<"
 * stands as itself. Nor does what is not ASCII: one such character anywhere in a page of megabytes
 * costs a browser twice the memory, and a fifth more time. */
static void add_json(struct text *out, const json_t *json)
{
    enum { BEYOND_BASIC = 0x10000 };
    AUTO_TEXT struct text plain = {0};
    json_print(json, &plain);
    struct utf8_step step;
    for (const char *at = text_get(&plain), *end = at + plain.length; at < end; at += step.length) {
        step = utf8_step(at, (size_t)(end - at));
        if (step.code >= BEYOND_BASIC) {
            uint32_t rest = step.code - BEYOND_BASIC;
            text_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + (rest >> 10)),
                      (unsigned)(0xdc00 + (rest & 0x3ff)));
        } else if (step.length > 1 || *at == '<') {
            text_addf(out, "\\u%04x", (unsigned)step.code);
        } else {
            text_add_char(out, *at);
        }
    }
}

void html_data(struct text *out, const char *id, const json_t *json)
{
    text_addf(out, "<script type=\"application/json\" id=\"%s\">", id);
    add_json(out, json);
    text_add(out, "</script>\n");
}
