#include "measure/marks/epochs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <string.h>

static const char *const part_names[] = {
    [EPOCH_ITSELF] = "epoch",
    [EPOCH_STARTUP] = "startup",
    [EPOCH_BETWEEN] = "between",
    [EPOCH_FINAL] = "final",
};

/* The marks of one name on their way. */
struct cut {
    struct epoch *parts;
    size_t count;
    int64_t start_ns, end_ns; /* of the attempt */
    bool has_end;
    const char *name;
    int64_t at_ns;           /* up to here all is cut */
    const struct mark *open; /* the start of the epoch that is open, or NULL */
    bool any;                /* an epoch of this name began */
};

const char *epoch_part_name(enum epoch_part part)
{
    return part_names[part];
}

static void add_epoch_part(struct cut *cut, enum epoch_part part, const struct mark *mark,
                           int64_t end_ns, bool has_end)
{
    if (part != EPOCH_ITSELF && has_end && end_ns == cut->at_ns)
        return;
    MEM_ADD(cut->parts, cut->count) = (struct epoch){
        .part = part,
        .name = cut->name,
        .label = mark && mark->label[0] ? mark->label : NULL,
        .start_ns = cut->at_ns,
        .end_ns = end_ns,
        .has_end = has_end,
        .source = mark ? mark->source : MARK_LOG,
    };
    cut->at_ns = end_ns;
}

static int64_t within(const struct cut *cut, int64_t t_ns)
{
    if (t_ns < cut->start_ns)
        return cut->start_ns;
    return cut->has_end && t_ns > cut->end_ns ? cut->end_ns : t_ns;
}

static void start_marked_epoch(struct cut *cut, const struct mark *mark)
{
    int64_t t_ns = within(cut, mark->t_ns);
    if (cut->open)
        add_epoch_part(cut, EPOCH_ITSELF, cut->open, t_ns, true);
    else
        add_epoch_part(cut, cut->any ? EPOCH_BETWEEN : EPOCH_STARTUP, NULL, t_ns, true);
    cut->open = mark;
    cut->any = true;
}

static void end_marked_epoch(struct cut *cut, const struct mark *mark)
{
    const struct mark *named = cut->open && cut->open->label[0] ? cut->open : mark;
    add_epoch_part(cut, EPOCH_ITSELF, named, within(cut, mark->t_ns), true);
    cut->open = NULL;
    cut->any = true;
}

static void cut_marks_of_name(struct cut *cut, const struct mark *marks, size_t count)
{
    cut->at_ns = cut->start_ns;
    cut->open = NULL;
    cut->any = false;
    EACH (item, marks, count) {
        if (strcmp(item->name, cut->name) != 0)
            continue;
        if (item->is_end)
            end_marked_epoch(cut, item);
        else
            start_marked_epoch(cut, item);
    }
    add_epoch_part(cut, cut->open ? EPOCH_ITSELF : EPOCH_FINAL, cut->open, cut->end_ns,
                   cut->has_end);
}

/* An order that keeps equals: qsort need not. */
struct place {
    size_t index;
    int64_t t_ns;
};

static int compare_mark_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->t_ns != other->t_ns)
        return one->t_ns < other->t_ns ? -1 : 1;
    return ORDER(one->index, other->index);
}

static void sort_marks(struct mark *marks, size_t count)
{
    AUTO(cleanup_free) struct place *places = mem_array(count, sizeof *places);
    AUTO(cleanup_free) struct mark *copy = mem_array(count, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){i, marks[i].t_ns};
    qsort(places, count, sizeof *places, compare_mark_places);
    for (size_t i = 0; i < count; i++)
        copy[i] = marks[places[i].index];
    memcpy(marks, copy, count * sizeof *marks);
}

/* The different names in the order in which they appear; the caller frees the array. */
static const char **find_names(const struct mark *marks, size_t count, size_t *out_count)
{
    const char **names = NULL;
    size_t found = 0;
    EACH (item, marks, count) {
        size_t at = 0;
        while (at < found && strcmp(names[at], item->name) != 0)
            at++;
        if (at < found)
            continue;
        MEM_ADD(names, found) = item->name;
    }
    *out_count = found;
    return names;
}

struct epoch *epochs_cut(struct mark *marks, size_t count, int64_t start_ns, int64_t end_ns,
                         bool has_end, size_t *out_count)
{
    struct cut cut = {.start_ns = start_ns, .end_ns = start_ns, .has_end = has_end};
    size_t name_count = 0;
    *out_count = 0;
    if (count == 0)
        return NULL;
    if (has_end && end_ns > start_ns)
        cut.end_ns = end_ns;
    sort_marks(marks, count);
    const char **names = find_names(marks, count, &name_count);
    EACH (item, names, name_count) {
        cut.name = *item;
        cut_marks_of_name(&cut, marks, count);
    }
    free(names);
    *out_count = cut.count;
    return cut.parts;
}
