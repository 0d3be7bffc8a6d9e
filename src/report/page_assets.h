/* page_assets: the page's parts, from page/ and from uPlot, as they were when the program was built. Private to report/. */
#ifndef TARE_REPORT_PAGE_ASSETS_H
#define TARE_REPORT_PAGE_ASSETS_H

#include <stddef.h>

extern const char page_head[], page_style[], page_body[], page_script[];
extern const size_t page_head_length, page_style_length, page_body_length, page_script_length;

#endif
