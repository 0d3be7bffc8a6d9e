#include "base/cleanup.h"
#include "base/clock.h"
#include "state/folder.h"
#include "state/state.h"
#include "state/state_private.h"

#include <unistd.h>

/* Each job gets a moment, even when the time is over: most are gone already, and seeing that takes one pass over /proc. */
static const double MOMENT_S = 0.1;

/* All its jobs; false: something survived. */
static bool end_jobs(const struct record *record, int64_t deadline_ns, size_t *killed, struct err *err)
{
    bool ended = true;
    for (size_t i = 0; i < record->count; i++) {
        double left_s = (double)(deadline_ns - clock_monotonic_ns()) / 1e9;
        size_t count = 0;
        struct err why = {0};
        if (!job_recover(&record->jobs[i], left_s > MOMENT_S ? left_s : MOMENT_S, &count, &why)) {
            if (ended)
                *err = why;
            ended = false;
        }
        *killed += count;
    }
    return ended;
}

static void settle(struct state *state, const struct entry *entry, int64_t deadline_ns, state_report_fn *report,
                   void *context)
{
    struct err err = {0};
    struct state_report said = {.verdict = STATE_ENDED,
                                .kind = entry->record.header.kind,
                                .file = entry->name,
                                .run_dir = entry->record.header.run_dir,
                                .reason = entry->reason};
    if (entry->life == ENTRY_KEPT) {
        said.verdict = STATE_KEPT;
    } else if (entry->life == ENTRY_DEAD && !end_jobs(&entry->record, deadline_ns, &said.killed, &err)) {
        said.verdict = STATE_SURVIVED;
        said.reason = err.text;
    }
    if (said.verdict == STATE_ENDED)
        unlinkat(state->runs, entry->name, 0);
    if (report && (said.verdict != STATE_ENDED || said.killed > 0))
        report(context, &said);
}

bool state_recover(struct state *state, double timeout_s, state_report_fn *report, void *context, struct err *err)
{
    AUTO(record_header_fini) struct record_header own = {0};
    AUTO_STRV struct strv names = {0};
    int64_t deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    if (!folder_list(state->runs, &names, err))
        return false;
    if (names.count > 0 && !record_header_own(STATE_RUN, NULL, &own, err))
        return false;
    for (size_t i = 0; i < names.count; i++) {
        struct entry entry;
        entry_open(state->runs, names.items[i], &own, &entry);
        if (entry.life != ENTRY_LIVE && entry.life != ENTRY_NONE)
            settle(state, &entry, deadline_ns, report, context);
        entry_fini(&entry);
    }
    return true;
}
