/* html: how every page is written: one head and style, escaping, and the parts that pages are made
 * of. A page is one document that asks the network for nothing; one that a script draws holds its
 * data, every other its content. (Tables: report/table.h.) */
#ifndef TARE_REPORT_HTML_H
#define TARE_REPORT_HTML_H

#include "base/text.h"

#include <jansson.h>

/* What a script fills. */
struct html_section {
    const char *id, *attributes; /* "": no more attributes; otherwise a blank and they */
};

struct html_page {
    const char *title;
    const char *language; /* "zh"; any other, or NULL: English */
    const char *style;    /* rules of this page alone; NULL: none */

    /* Of a page that a script draws; NULL: it runs none, and begins with its title as its
     * heading. */
    const struct html_section *sections; /* ends with {0} */
    const char *noscript;                /* shown instead, markup */

    /* The page has content, and a snapshot's script adds to it. */
    bool memory_script;

    /* The queries of the addresses at which a server has the style and the script, as markup: they
     * change with both, so that a browser may keep them. NULL: both are in the page. */
    const char *style_query, *script_query;
};

/* Until the first section; behind the last one. Colours in rules: the --NAMEs of page/page.css. */
void html_begin(struct text *out, const struct html_page *page);
/* names the program, or runs the script */
void html_end(struct text *out, const struct html_page *page);

/* A heading; a paragraph of a class (NULL: none); words that are set out with blanks and line ends.
 * Whatever the texts hold, they are only text. */
void html_heading(struct text *out, const char *title);
void html_line(struct text *out, const char *class, const char *text);
void html_set_out(struct text *out, const char *text);
void html_text(struct text *out, const char *text);

/* What colours mean; classes have their background in the page's rules. Ends with {0}. */
struct html_mark {
    const char *class, *text;
};
void html_legend(struct text *out, const char *lead, const struct html_mark *marks);

/* Its viewBox is from 0, top (0, or less than it) to the width and the height; what is drawn
 * follows, and "</svg>". */
void html_figure(struct text *out, const char *label, double top, double width, double height);

/* What a script reads: an element of this id. Nothing in it is markup, or more than ASCII. */
void html_data(struct text *out, const char *id, const json_t *json);

#endif
