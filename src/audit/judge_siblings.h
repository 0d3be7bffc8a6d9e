/* judge_siblings: what only a comparison with experiments of the same kind shows. Private to audit/. */
#ifndef TARE_AUDIT_JUDGE_SIBLINGS_H
#define TARE_AUDIT_JUDGE_SIBLINGS_H

#include "audit/dataset.h"

void judge_siblings(struct dataset *dataset);

#endif
