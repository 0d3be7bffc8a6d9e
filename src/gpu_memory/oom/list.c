#include "gpu_memory/oom/oom.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool same_size(struct oom_size a, struct oom_size b)
{
    return a.valid == b.valid && a.low == b.low && a.high == b.high;
}

static bool is_same(const struct oom *a, const struct oom *b)
{
    if (a->framework != b->framework || a->gpu != b->gpu || a->process_count != b->process_count ||
        strcmp(a->source, b->source) != 0 || strcmp(a->shape, b->shape) != 0)
        return false;
    for (size_t i = 0; i < OOM_FIGURES; i++)
        if (!same_size(a->of[i], b->of[i]))
            return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].pid != b->processes[i].pid || !same_size(a->processes[i].memory, b->processes[i].memory))
            return false;
    return true;
}

void oom_list_add(void *context, const struct oom *message)
{
    struct oom_list *list = context;
    list->found++;
    for (size_t i = list->count; i-- > 0;)
        if (is_same(&list->items[i], message)) {
            list->items[i].repeats++;
            return;
        }
    if (list->count == OOM_LIST_MAX) {
        list->left_out++;
        return;
    }
    MEM_ADD(list->items, list->count, list->capacity) = *message;
}

void oom_list_fini(struct oom_list *list)
{
    free(list->items);
    *list = (struct oom_list){0};
}

void oom_parse(const char *bytes, size_t count, struct oom_list *out)
{
    struct oom_finder *finder = oom_finder_new(oom_list_add, out);
    *out = (struct oom_list){0};
    oom_finder_take(finder, bytes, count);
    oom_finder_end(finder);
    oom_finder_free(finder);
}
