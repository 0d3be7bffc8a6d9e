#include "plan/expected.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void expected_fini(struct expected *expected)
{
    for (size_t i = 0; i < expected->count; i++)
        free(expected->groups[i].context);
    free(expected->groups);
    *expected = (struct expected){0};
}

static struct expected_group *find(const struct expected *expected, const char *context)
{
    for (size_t i = 0; i < expected->count; i++)
        if (strcmp(expected->groups[i].context, context) == 0)
            return &expected->groups[i];
    return NULL;
}

void expected_add(struct expected *expected, const char *context, double duration_s, struct reading epochs)
{
    struct expected_group *group = find(expected, context);
    if (!group) {
        expected->groups = mem_room(expected->groups, expected->count, &expected->capacity, sizeof *expected->groups);
        group = &expected->groups[expected->count++];
        *group = (struct expected_group){.context = mem_strdup(context)};
    }
    group->sum_s += duration_s;
    group->count++;
    if (!epochs.valid)
        return;
    group->sum_epoch_s += duration_s / epochs.value;
    group->epoch_count++;
}

struct reading expected_of(const struct expected *expected, const char *context, struct reading epochs)
{
    const struct expected_group *group = find(expected, context);
    if (!group)
        return (struct reading){0};
    if (epochs.valid && group->epoch_count > 0)
        return (struct reading){group->sum_epoch_s / (double)group->epoch_count * epochs.value, true};
    return (struct reading){group->sum_s / (double)group->count, true};
}

struct reading expected_epochs(const struct value *value)
{
    double number = value->kind == VALUE_INT ? (double)value->integer : value->kind == VALUE_FLOAT ? value->real : 0;
    return (struct reading){number > 0 ? number : 0, number > 0};
}
