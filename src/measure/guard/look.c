#include "measure/guard/look.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

/* Where the driver's own memory is not told apart, an empty GPU was seen to use 615 MiB (H200); more than this, or than this
 * share of all, is somebody's. */
static const double OWN_MAX_BYTES = 1 << 30;
static const double OWN_MAX_SHARE = 0.05;

void guard_findings_add(struct guard_findings *findings, struct guard_finding finding)
{
    findings->items = mem_room(findings->items, findings->count, &findings->capacity, sizeof *findings->items);
    findings->items[findings->count++] = finding;
}

void guard_findings_fini(struct guard_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->items[i].text);
    free(findings->items);
    *findings = (struct guard_findings){0};
}

bool guard_findings_block(const struct guard_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].blocks)
            return true;
    return false;
}

char *guard_findings_text(const struct guard_findings *findings)
{
    struct text text = {0};
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].blocks)
            text_addf(&text, "%s%s", text.length ? "; " : "", findings->items[i].text);
    return text_take(&text);
}

struct reading guard_reading(const struct guard_look *look, enum gpu_reading which)
{
    return look->readings ? look->readings->of[which] : (struct reading){0};
}

bool guard_is_foreign(const struct guard_user *user)
{
    return user->owner == GUARD_FOREIGN && !user->graphics;
}

/* In use, without what displays have of it. Where one of them does not tell, nothing can be said. */
static struct reading used_bytes(const struct guard_look *look)
{
    struct reading used = guard_reading(look, GPU_MEMORY_USED_BYTES);
    for (size_t i = 0; i < look->user_count; i++)
        if (look->users[i].graphics) {
            used.valid = used.valid && look->users[i].memory_bytes.valid;
            used.value -= look->users[i].memory_bytes.value;
        }
    if (used.value < 0)
        used.value = 0;
    return used;
}

struct reading guard_excess_bytes(const struct guard_look *look, const struct guard_known *known)
{
    struct reading used = used_bytes(look);
    if (!used.valid || !known->empty_bytes.valid)
        return (struct reading){0};
    return (struct reading){used.value > known->empty_bytes.value ? used.value - known->empty_bytes.value : 0, true};
}

void guard_known_learn(struct guard_known *known, const struct guard_look *look)
{
    struct reading used = used_bytes(look), total = guard_reading(look, GPU_MEMORY_TOTAL_BYTES);
    if (known->empty_bytes.valid || !used.valid)
        return;
    for (size_t i = 0; i < look->user_count; i++)
        if (!look->users[i].graphics && look->users[i].memory_bytes.valid)
            used.value -= look->users[i].memory_bytes.value;
    /* Where the driver's own memory is told apart, an empty GPU uses nothing. */
    bool apart = guard_reading(look, GPU_MEMORY_RESERVED_BYTES).valid;
    double most = apart ? 0 : OWN_MAX_BYTES;
    if (!apart && total.valid && total.value * OWN_MAX_SHARE < most)
        most = total.value * OWN_MAX_SHARE;
    double empty = used.value < 0 ? 0 : used.value < most ? used.value : most;
    known->empty_bytes = (struct reading){empty, true};
}
