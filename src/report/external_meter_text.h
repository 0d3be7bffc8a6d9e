/* external_meter_text: the energies beside an outside meter's, for people. */
#ifndef TARE_REPORT_EXTERNAL_METER_TEXT_H
#define TARE_REPORT_EXTERNAL_METER_TEXT_H

#include "results/judge/external_meter.h"
#include "report/audit_text.h"

void external_meter_text(const struct dataset *dataset, const struct external_meter *meter,
                         const struct audit_text_options *options, struct text *out);

#endif
