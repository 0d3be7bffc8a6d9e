/* page_files: the files of a run that its page links. Private to report/. */
#ifndef TARE_REPORT_PAGE_FILES_H
#define TARE_REPORT_PAGE_FILES_H

#include <jansson.h>

/* The names in a run's folder that its readers know, as far as they are there: ["summary.csv", ...]. A new
 * reference. */
json_t *page_files_of_run(int dir);

/* All of an experiment's folder, but for hidden ones: files, those of energy/ and attempt_<k>/, and other folders,
 * with a slash behind; at most some dozens, by name. A new reference. */
json_t *page_files_of_experiment(int folder);

#endif
