#include "machine/state/state_private.h"

#include "base/mem.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/tree.h"

#include <stdlib.h>

enum { MEMBERS_MAX = 65536 };

void members_take(const struct job_identity *job, struct members *out)
{
    bool has_leaf = job->cgroup && cgroup_is_leaf_of(job->cgroup, job->tag);
    struct tree_seed seed = {
        .root = job->pid, .start_time = job->start_time, .cgroup = has_leaf ? job->cgroup : NULL, .tag = job->tag};
    struct tree tree;
    tree_scan(&seed, &tree, NULL);
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
