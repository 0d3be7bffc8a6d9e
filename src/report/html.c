#include "report/html.h"

#include "tare_build.h"

/* Light, then dark. */
#define COLOURS_LIGHT                                                                                                  \
    "--ink:#1d2733;--dim:#5d6b7a;--paper:#fff;--line:#d9e0e7;--used:#2f6fb7;--wait:#d98a1f;--split:#e3a6a0;"           \
    "--whole:#b9dcc0;--good:#cfe8d2;--bad:#f2c9c5;--odd:#f6e0b0"
#define COLOURS_DARK                                                                                                   \
    "--ink:#dfe7ef;--dim:#93a1b0;--paper:#14191f;--line:#2c3640;--used:#5b9be0;--wait:#e0a450;--split:#8a4c48;"        \
    "--whole:#3c6b48;--good:#244a2c;--bad:#5c2a26;--odd:#5a4718"

static const char common[] =
    ":root{" COLOURS_LIGHT "}@media(prefers-color-scheme:dark){:root{" COLOURS_DARK "}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1040px;"
    "margin:2em auto;padding:0 1em}"
    "h1{font-size:1.4em;margin:0}h2{font-size:1.1em;margin:2em 0 .4em}p{margin:.3em 0}.dim{color:var(--dim)}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid var(--line);font-weight:400}"
    "th{color:var(--dim);font-size:.85em}.l{text-align:left}"
    "text{fill:var(--dim);font:11px system-ui,sans-serif}"
    ".key span{display:inline-block;width:1em;height:1em;margin:0 .4em 0 1.2em;vertical-align:-.1em}";

void html_text(struct text *out, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (; *text; text++) {
        size_t i = 0;
        while (special[i] && special[i] != *text)
            i++;
        if (special[i])
            text_add(out, names[i]);
        else
            text_add_char(out, *text);
    }
}

void html_cell(struct text *out, const char *class, const char *text)
{
    text_addf(out, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    html_text(out, text);
    text_add(out, "</td>");
}

void html_begin(struct text *out, const char *title, const char *style)
{
    text_add(out, "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
                  "<meta name=viewport content=\"width=device-width\">\n<title>");
    html_text(out, title);
    text_addf(out, "</title>\n<style>%s%s</style>\n", common, style);
}

void html_end(struct text *out)
{
    text_addf(out, "<p class=dim>%s %s</p>\n</html>\n", TARE_NAME, TARE_VERSION);
}
