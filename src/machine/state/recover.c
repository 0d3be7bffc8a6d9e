#include "machine/state/recover.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/job.h"
#include "machine/contain/tree.h"
#include "machine/state/census.h"
#include "machine/state/folder.h"

enum { NAMES_SHOWN = 3 };

/* Each job gets a moment, even when the time is over: most are gone already, and seeing that takes
 * one pass over /proc. */
static const double MOMENT_S = 0.1;

struct recovery {
    struct state_live live;
    size_t ended; /* files of runs that do not live */
    int64_t deadline_ns;
    state_report_fn *report;
    void *context;
};

/* What became of a dead run's jobs. */
struct ending {
    size_t killed, named;
    struct text names;
    struct job_member unproven; /* pid 0: none */
};

/* False: a process survived. */
static bool end_recorded_jobs(const struct recovery *recovery, const struct record *record,
                              struct ending *out, struct err *err)
{
    bool ended = true;
    EACH (job, record->jobs, record->count) {
        if (strv_has(&recovery->live.tags, job->tag))
            continue;
        double left_s = ns_to_s(recovery->deadline_ns - clock_monotonic_ns());
        size_t count = 0;
        struct err why = {0};
        AUTO(members_fini) struct members members = {0};
        members_take(job, &recovery->live.runners, &members);
        double moment_s = left_s > MOMENT_S ? left_s : MOMENT_S;
        if (!job_recover(job, &recovery->live.runners, moment_s, &count, &why)) {
            if (ended)
                *err = why;
            ended = false;
        }
        if (count > 0)
            members_add_names(&members, NAMES_SHOWN, &out->named, &out->names);
        out->killed += count;
        job_is_unproven(job, &out->unproven);
    }
    return ended;
}

static void count_entry(void *context, int runs, const struct entry *entry)
{
    struct recovery *recovery = context;
    entry_add_live(&recovery->live, runs, entry);
    recovery->ended += entry->life != ENTRY_LIVE;
}

static void recover_entry(void *context, int runs, const struct entry *entry)
{
    const struct recovery *recovery = context;
    struct err err = {0};
    if (entry->life == ENTRY_LIVE || entry->life == ENTRY_NONE)
        return;
    struct ending ending = {0};
    struct state_report said = {.verdict = STATE_ENDED,
                                .kind = entry->record.header.kind,
                                .file = entry->name,
                                .run_dir = entry->record.header.run_dir,
                                .age_s = -1,
                                .reason = entry->reason};
    if (entry->life == ENTRY_DEAD)
        said.age_s = census_age_s(entry->record.header.start_time);
    if (entry->life == ENTRY_KEPT) {
        said.verdict = STATE_KEPT;
    } else if (entry->life == ENTRY_DEAD &&
               !end_recorded_jobs(recovery, &entry->record, &ending, &err)) {
        said.verdict = STATE_SURVIVED;
        said.reason = err.text;
    } else if (ending.unproven.pid) {
        said.verdict = STATE_KEPT;
        said.reason = STATE_UNPROVEN;
    }
    said.killed = ending.killed;
    said.names = text_get(&ending.names);
    if (said.verdict == STATE_ENDED)
        unlinkat(runs, entry->name, 0);
    if (recovery->report && (said.verdict != STATE_ENDED || said.killed > 0))
        recovery->report(recovery->context, &said);
    text_fini(&ending.names);
}

bool state_recover(struct state *state, double timeout_s, state_report_fn *report, void *context,
                   struct err *err)
{
    struct recovery recovery = {.report = report, .context = context};
    recovery.deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    bool looked = entries_each(state, count_entry, &recovery, err) &&
                  (recovery.ended == 0 || entries_each(state, recover_entry, &recovery, err));
    state_live_fini(&recovery.live);
    return looked;
}

void state_live_read(const struct state *state, struct state_live *out)
{
    *out = (struct state_live){0};
    entries_each(state, entry_add_live, out, NULL);
}

void state_live_fini(struct state_live *live)
{
    strv_fini(&live->tags);
    free(live->runners.items);
    *live = (struct state_live){0};
}

enum { MEMBERS_MAX = 65536 };

void members_take(const struct job_identity *job, const struct live_runners *runners,
                  struct members *out)
{
    struct tree_seed seed = tree_seed_doubted(job, runners);
    struct tree tree;
    tree_scan(&seed, &tree);
    size_t count = tree_live(&tree, &seed, NULL, 0);
    out->count = count < MEMBERS_MAX ? count : MEMBERS_MAX;
    out->items = mem_array(out->count + 1, sizeof *out->items);
    tree_live(&tree, &seed, out->items, out->count);
    out->init_alive = tree.root_alive;
    tree_fini(&tree);
}

void members_fini(struct members *members)
{
    free(members->items);
    *members = (struct members){0};
}

void members_add_names(const struct members *members, size_t max, size_t *shown, struct text *out)
{
    for (size_t i = 0; i < members->count && *shown < max; i++, ++*shown)
        text_addf(out, "%s%s (pid %d)", *shown ? ", " : "", members->items[i].command,
                  (int)members->items[i].pid);
}
