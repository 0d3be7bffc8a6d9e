#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/tree.h"
#include "machine/state/census.h"
#include "machine/state/state_private.h"

enum { NAMES_SHOWN = 3 };

/* Each job gets a moment, even when the time is over: most are gone already, and seeing that takes one pass over /proc. */
static const double MOMENT_S = 0.1;

struct recovery {
    struct strv own_tags; /* of this process and its ancestors */
    bool asked;           /* own_tags is filled */
    int64_t deadline_ns;
    state_report_fn *report;
    void *context;
};

/* What became of a dead run's jobs. */
struct ending {
    size_t killed, named;
    struct text names;
};

/* All its jobs; false: something survived. */
static bool end_jobs(const struct recovery *recovery, const struct record *record, struct ending *out, struct err *err)
{
    bool ended = true;
    for (size_t i = 0; i < record->count; i++) {
        if (strv_has(&recovery->own_tags, record->jobs[i].tag)) {
            ended = err_set(err, "this very command runs in what is left");
            continue;
        }
        double left_s = ns_to_s(recovery->deadline_ns - clock_monotonic_ns());
        size_t count = 0;
        struct err why = {0};
        AUTO(members_fini) struct members members = {0};
        members_take(&record->jobs[i], &members);
        if (!job_recover(&record->jobs[i], left_s > MOMENT_S ? left_s : MOMENT_S, &count, &why)) {
            if (ended)
                *err = why;
            ended = false;
        }
        if (count > 0)
            members_add_names(&members, NAMES_SHOWN, &out->named, &out->names);
        out->killed += count;
    }
    return ended;
}

static void settle(const struct recovery *recovery, int runs, const struct entry *entry)
{
    struct err err = {0};
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
    } else if (entry->life == ENTRY_DEAD && !end_jobs(recovery, &entry->record, &ending, &err)) {
        said.verdict = STATE_SURVIVED;
        said.reason = err.text;
    }
    said.killed = ending.killed;
    said.names = text_get(&ending.names);
    if (said.verdict == STATE_ENDED)
        unlinkat(runs, entry->name, 0);
    if (recovery->report && (said.verdict != STATE_ENDED || said.killed > 0))
        recovery->report(recovery->context, &said);
    text_fini(&ending.names);
}

/* own is read once there is a file. */
static bool recover_place(struct recovery *recovery, int runs, struct record_header *own, struct err *err)
{
    AUTO_STRV struct strv names = {0};
    if (!folder_list(runs, &names, err))
        return false;
    if (names.count > 0 && !own->host && !record_header_own(STATE_RUN, NULL, own, err))
        return false;
    for (size_t i = 0; i < names.count; i++) {
        struct entry entry;
        entry_open(runs, names.items[i], own, &entry);
        if (entry.life == ENTRY_DEAD && !recovery->asked)
            census_own_tags(&(struct census_roots){"/proc", "/dev"}, &recovery->own_tags);
        recovery->asked |= entry.life == ENTRY_DEAD;
        if (entry.life != ENTRY_LIVE && entry.life != ENTRY_NONE)
            settle(recovery, runs, &entry);
        entry_fini(&entry);
    }
    return true;
}

bool state_recover(struct state *state, double timeout_s, state_report_fn *report, void *context, struct err *err)
{
    AUTO(record_header_fini) struct record_header own = {0};
    struct recovery recovery = {.report = report, .context = context};
    bool looked = true;
    recovery.deadline_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    for (size_t i = 0; i < STATE_PLACES && looked; i++)
        looked = state->places[i] < 0 || recover_place(&recovery, state->places[i], &own, err);
    strv_fini(&recovery.own_tags);
    return looked;
}

enum { MEMBERS_MAX = 65536 };

void members_take(const struct job_identity *job, struct members *out)
{
    bool has_leaf = job->cgroup && cgroup_is_leaf_of(job->cgroup, job->tag);
    struct tree_seed seed = {
        .root = job->pid, .start_time = job->start_time, .cgroup = has_leaf ? job->cgroup : NULL, .tag = job->tag};
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
        text_addf(out, "%s%s (pid %d)", *shown ? ", " : "", members->items[i].command, (int)members->items[i].pid);
}
