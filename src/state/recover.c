#include "base/cleanup.h"
#include "base/clock.h"
#include "state/census.h"
#include "state/folder.h"
#include "state/state.h"
#include "state/state_private.h"

#include <unistd.h>

/* Each job gets a moment, even when the time is over: most are gone already, and seeing that takes one pass over /proc. */
static const double MOMENT_S = 0.1;

struct recovery {
    struct state *state;
    struct strv own_tags; /* of this process and its ancestors */
    int64_t deadline_ns;
    state_report_fn *report;
    void *context;
};

/* All its jobs; false: something survived. */
static bool end_jobs(const struct recovery *recovery, const struct record *record, size_t *killed, struct err *err)
{
    bool ended = true;
    for (size_t i = 0; i < record->count; i++) {
        if (strv_has(&recovery->own_tags, record->jobs[i].tag)) {
            ended = err_set(err, "this very command runs in what is left");
            continue;
        }
        double left_s = (double)(recovery->deadline_ns - clock_monotonic_ns()) / 1e9;
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

static void settle(const struct recovery *recovery, const struct entry *entry)
{
    struct err err = {0};
    struct state_report said = {.verdict = STATE_ENDED,
                                .kind = entry->record.header.kind,
                                .file = entry->name,
                                .run_dir = entry->record.header.run_dir,
                                .reason = entry->reason};
    if (entry->life == ENTRY_KEPT) {
        said.verdict = STATE_KEPT;
    } else if (entry->life == ENTRY_DEAD && !end_jobs(recovery, &entry->record, &said.killed, &err)) {
        said.verdict = STATE_SURVIVED;
        said.reason = err.text;
    }
    if (said.verdict == STATE_ENDED)
        unlinkat(recovery->state->runs, entry->name, 0);
    if (recovery->report && (said.verdict != STATE_ENDED || said.killed > 0))
        recovery->report(recovery->context, &said);
}

bool state_recover(struct state *state, double timeout_s, state_report_fn *report, void *context, struct err *err)
{
    AUTO(record_header_fini) struct record_header own = {0};
    AUTO_STRV struct strv names = {0};
    struct recovery recovery = {.state = state, .report = report, .context = context};
    recovery.deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    if (!folder_list(state->runs, &names, err))
        return false;
    if (names.count > 0 && !record_header_own(STATE_RUN, NULL, &own, err))
        return false;
    bool asked = false;
    for (size_t i = 0; i < names.count; i++) {
        struct entry entry;
        entry_open(state->runs, names.items[i], &own, &entry);
        if (entry.life == ENTRY_DEAD && !asked)
            census_own_tags(&(struct census_roots){"/proc", "/dev"}, &recovery.own_tags);
        asked |= entry.life == ENTRY_DEAD;
        if (entry.life != ENTRY_LIVE && entry.life != ENTRY_NONE)
            settle(&recovery, &entry);
        entry_fini(&entry);
    }
    strv_fini(&recovery.own_tags);
    return true;
}
