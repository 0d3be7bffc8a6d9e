/* feasibility_page: which trainings fit together, as one HTML file without a script. */
#ifndef TARE_REPORT_FEASIBILITY_PAGE_H
#define TARE_REPORT_FEASIBILITY_PAGE_H

#include "base/text.h"
#include "sharing/feasibility.h"

void feasibility_page(const struct feasibility *study, struct text *out);

#endif
