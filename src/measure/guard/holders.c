#include "measure/guard/holders.h"

#include "base/mem.h"
#include "tare_build.h"

#include <math.h>
#include <string.h>

static void add_holder(struct guard_holders *holders, const struct guard_finding *finding,
                       double now_s)
{
    int32_t pid = finding->start_time ? finding->pids[0] : 0;
    EACH (item, holders->items, holders->count)
        if (item->pid == pid && item->start_time == finding->start_time) {
            item->there = true;
            return;
        }
    holders->came++;
    MEM_ADD(holders->items, holders->count) = (struct guard_holder){
        .pid = pid, .start_time = finding->start_time, .since_s = now_s, .there = true};
}

double guard_holders_add(struct guard_holders *holders, const struct guard_findings *findings,
                         double now_s)
{
    size_t kept = 0;
    double since_s = now_s;
    bool named = false;
    EACH (item, holders->items, holders->count)
        item->there = false;
    EACH (entry, findings->items, findings->count)
        named = named || entry->start_time;
    /* Load beside a process that is named comes from that process. */
    EACH (row, findings->items, findings->count)
        if (row->holds && (row->start_time || !named))
            add_holder(holders, row, now_s);
    for (size_t i = 0; i < holders->count; i++)
        if (holders->items[i].there) {
            since_s = fmin(since_s, holders->items[i].since_s);
            holders->items[kept++] = holders->items[i];
        }
    holders->count = kept;
    if (kept == 0)
        return now_s - holders->free_s;
    holders->free_s = now_s;
    return now_s - since_s;
}

void guard_holders_fini(struct guard_holders *holders)
{
    free(holders->items);
    *holders = (struct guard_holders){0};
}

/* More of them are counted: a command line may be long. */
enum { NAMED_MAX = 3 };

/* What is said: all that blocks, and the numbers of processes that /proc does not show. */
static bool is_shown_finding(const struct guard_finding *finding)
{
    return finding->blocks ||
           (strcmp(finding->kind, "processes_unseen") == 0 && finding->pid_count > 0);
}

/* A process may be on several GPUs. */
static bool is_named_before(const struct guard_findings *findings, size_t which)
{
    EACH (item, findings->items, which)
        if (item->start_time && item->pids[0] == findings->items[which].pids[0])
            return true;
    return false;
}

char *guard_holders_text(const struct guard_findings *findings)
{
    struct text text = {0};
    AUTO_TEXT struct text commands = {0};
    size_t named = 0, more = 0;
    bool nameless = false;
    for (size_t i = 0; i < findings->count; i++) {
        const struct guard_finding *finding = &findings->items[i];
        bool first = finding->start_time && !is_named_before(findings, i);
        nameless = nameless || (finding->holds && !finding->start_time);
        if (first && named == NAMED_MAX)
            more++;
        if (!is_shown_finding(finding) || (first && named == NAMED_MAX))
            continue;
        text_addf(&text, "%s%s", text.length ? "; " : "", finding->text);
        if (!first)
            continue;
        text_addf(&commands, "%s%s" TARE_NAME " clean --pid %d", named++ ? "; " : "",
                  finding->other_user ? "sudo " : "", (int)finding->pids[0]);
    }
    if (more > 0)
        text_addf(&text, "; and by %zu more ('" TARE_NAME " clean' lists them)", more);
    if (named > 0)
        text_addf(&text, "; end %s with '%s'", named > 1 ? "them" : "it", text_get(&commands));
    else if (nameless)
        text_add(&text,
                 "; its process cannot be seen here: 'sudo " TARE_NAME
                 " clean' names it, in a container only where /proc is the host's (--pid=host)");
    return text_take(&text);
}
