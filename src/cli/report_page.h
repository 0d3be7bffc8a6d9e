/* report_page: report.html of a run. */
#ifndef TARE_CLI_REPORT_PAGE_H
#define TARE_CLI_REPORT_PAGE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Writes the page of the run in run_dir to file, atomically; NULL: report.html in the run's folder. run: as
 * results_read_json gives it; language: "en" or "zh". The run's other files stay as they are. */
bool report_page_write(const json_t *run, const char *run_dir, const char *file, const char *language,
                       struct err *err);

/* What LC_ALL, LC_MESSAGES or LANG ask for, as far as there is a page in it: "zh" or "en". */
const char *report_page_language(void);

#endif
