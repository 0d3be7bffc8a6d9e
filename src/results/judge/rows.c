#include "results/judge/rows.h"

#include "base/mem.h"
#include "base/record.h"

#include <string.h>

const char *const audit_rows_names[] = {[AUDIT_ROWS_USABLE] = "usable",
                                        [AUDIT_ROWS_CONSISTENT] = "consistent",
                                        [AUDIT_ROWS_CLEAN] = "clean",
                                        [AUDIT_ROWS_ALL] = "all",
                                        NULL};

enum audit_rows audit_rows_named(const char *name)
{
    enum audit_rows rows = AUDIT_ROWS_ALL;
    while (rows > 0 && strcmp(audit_rows_names[rows], name) != 0)
        rows--;
    return rows;
}

static bool is_consistent(const struct dataset_experiment *experiment)
{
    return experiment->verdict == VERDICT_UNVERIFIED &&
           experiment->row_agreement == AGREEMENT_CONSISTENT;
}

bool audit_counts(const struct dataset *dataset, const struct dataset_experiment *experiment,
                  enum audit_rows rows)
{
    bool clean = verdict_is_clean_success(experiment->verdict, experiment->success);
    if (experiment->verdict == VERDICT_NONE || experiment->contradicts || experiment->is_copy)
        return false;
    if (rows == AUDIT_ROWS_CONSISTENT && dataset->folders[experiment->folder].has_records)
        return clean || (experiment->success && is_consistent(experiment));
    return rows == AUDIT_ROWS_ALL ||
           (rows == AUDIT_ROWS_CLEAN ? clean : experiment->verdict != VERDICT_CONTAMINATED);
}

void audit_tally_add(struct audit_tally *tally, const struct dataset_experiment *experiment)
{
    tally->clean += experiment->verdict == VERDICT_CLEAN;
    tally->consistent += is_consistent(experiment);
    tally->unverified += experiment->verdict == VERDICT_UNVERIFIED && !is_consistent(experiment);
    tally->suspect += experiment->verdict == VERDICT_SUSPECT;
    tally->contaminated += experiment->verdict == VERDICT_CONTAMINATED;
}

static const struct record_field tally_fields[] = {
    RECORD(struct audit_tally, clean),        RECORD(struct audit_tally, consistent),
    RECORD(struct audit_tally, unverified),   RECORD(struct audit_tally, suspect),
    RECORD(struct audit_tally, contaminated), {0}};

json_t *audit_tally_json(const struct audit_tally *tally)
{
    return record_json(tally_fields, tally);
}

char *audit_tally_text(const struct audit_tally *tally)
{
    const struct {
        size_t count;
        const char *name;
    } parts[] = {{tally->clean, "clean"},
                 {tally->consistent, "consistent (other programs were not recorded)"},
                 {tally->unverified, "unverified"},
                 {tally->suspect, "suspect"},
                 {tally->contaminated, "contaminated"}};
    AUTO_TEXT struct text out = {0};
    EACH_OF (part, parts)
        if (part->count)
            text_addf(&out, "%s%zu %s", out.length ? ", " : "", part->count, part->name);
    return text_take(&out);
}
