/* html: what the small pages without a script share: a head whose style knows light and dark, and escaped text. */
#ifndef TARE_REPORT_HTML_H
#define TARE_REPORT_HTML_H

#include "base/text.h"

/* Until the first heading. style: rules of this page alone; its colours beyond the common ones are --NAME of html_colours. */
void html_begin(struct text *out, const char *title, const char *style);
void html_end(struct text *out); /* names the program */

/* Whatever the text holds, it is only text. */
void html_text(struct text *out, const char *text);

/* A cell of a table; class: "", or its classes. */
void html_cell(struct text *out, const char *class, const char *text);

#endif
