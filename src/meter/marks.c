#include "meter/marks.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void marks_fini(struct marks *marks)
{
    free(marks->pending);
    *marks = (struct marks){0};
}

/* The last mark of this name; *is_new: there is none, and its place is free. NULL: no place is left. */
static struct mark *find(struct marks *marks, const char *name, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < marks->name_count; i++)
        if (strcmp(marks->last[i].name, name) == 0)
            return &marks->last[i];
    *is_new = true;
    return marks->name_count < MARKS_NAMES_MAX ? &marks->last[marks->name_count] : NULL;
}

static bool repeats(const struct mark *last, const struct mark *mark)
{
    return mark->label[0] && last->is_end == mark->is_end && strcmp(last->label, mark->label) == 0;
}

static bool spend(struct marks_source *source, int64_t now_ns)
{
    if (source->credit_ns == 0)
        source->credit = MARKS_BURST;
    else if (now_ns > source->credit_ns)
        source->credit += (double)(now_ns - source->credit_ns) / (double)NS_PER_S * MARKS_RATE;
    source->credit_ns = now_ns;
    if (source->credit > MARKS_BURST)
        source->credit = MARKS_BURST;
    if (source->credit < 1 || source->taken >= MARKS_MOST)
        return false;
    source->credit -= 1;
    source->taken++;
    return true;
}

enum mark_fate marks_take(struct marks *marks, const struct mark *mark, int64_t now_ns)
{
    bool is_new;
    struct mark *last = find(marks, mark->name, &is_new);
    if (last && !is_new && repeats(last, mark)) {
        marks->counts.repeated++;
        return MARK_REPEATED;
    }
    if (!last || !spend(&marks->sources[mark->source], now_ns)) {
        marks->counts.limited++;
        return MARK_LIMITED;
    }
    *last = *mark;
    marks->name_count += is_new;
    marks->pending = mem_room(marks->pending, marks->pending_count, &marks->pending_capacity, sizeof *marks->pending);
    marks->pending[marks->pending_count++] = *mark;
    marks->counts.taken++;
    return MARK_TAKEN;
}

void marks_clear(struct marks *marks)
{
    marks->pending_count = 0;
}
