#include "gpu_memory/allocator/owners.h"

#include "base/mem.h"
#include "gpu_memory/allocator/free_set.h"

#include <stdlib.h>

static const struct {
    const char *name, *text;
} kind_texts[OWNER_KINDS] = {
    [OWNER_PARAMETERS] = {"parameters", "parameters"},
    [OWNER_GRADIENTS] = {"gradients", "gradients"},
    [OWNER_OPTIMIZER_STATE] = {"optimizer_state", "optimizer state"},
    [OWNER_ACTIVATIONS] = {"activations", "activations"},
    [OWNER_INPUTS] = {"inputs", "inputs"},
    [OWNER_TEMPORARY] = {"temporary", "temporary"},
    [OWNER_EARLY] = {"before_record", "before record"},
    [OWNER_UNKNOWN] = {"unknown", "unknown"},
};

const char *owner_kind_name(enum owner_kind kind)
{
    return kind_texts[kind].name;
}

const char *owner_kind_text(enum owner_kind kind)
{
    return kind_texts[kind].text;
}

/* The next events of some kinds after the one that is looked at; UINT32_MAX: none. What dies at
 * UINT32_MAX is alive at the end. */
struct next_events {
    uint32_t backward;     /* of the backward pass */
    uint32_t not_backward; /* an allocation outside it, and so on */
    uint32_t not_optimizer;
    uint32_t not_setup;
    uint32_t module; /* an allocation in a module's call of a forward pass */
};

/* A place of which millions are held: frames as 1 + their places in the snapshot's. */
struct stack_place {
    uint32_t frame, via; /* 0: none */
    uint8_t traits;
};

struct finding {
    const struct snapshot *snapshot;
    const struct snapshot_event *events;
    size_t event_count;
    const struct program *program;
    struct owners *out;
    struct stack_place *places; /* by stack */
    uint8_t *kinds;             /* by allocation */
    struct addr_map owner_of;
    struct next_events next;
};

/* The threads of the backward pass have no Python frames: where only those were recorded, an
 * allocation without a stack is theirs. */
static unsigned traits_of_allocation(const struct finding *finding, uint32_t stack)
{
    return stack == 0 && finding->snapshot->stack_count > 1 ? PLACE_BACKWARD
                                                            : finding->places[stack].traits;
}

/* Notes for each allocation whether it precedes the first call of a module in its step, and whether
 * no step ended before it. */
enum { BEFORE_MODULES = 1, BEFORE_STEPS = 2 };

static void note_order(struct finding *finding)
{
    bool called = false, stepped = false;
    for (size_t i = 0; i < finding->program->allocation_count; i++) {
        const struct allocation *allocation = &finding->program->allocations[i];
        if (allocation->born == UINT32_MAX)
            continue;
        unsigned traits = traits_of_allocation(finding, allocation->stack);
        if (traits & (PLACE_BACKWARD | PLACE_OPTIMIZER)) {
            called = false;
            stepped = true;
        } else if (traits & PLACE_MODULE) {
            called = true;
        }
        finding->kinds[i] = (uint8_t)((called ? 0 : BEFORE_MODULES) | (stepped ? 0 : BEFORE_STEPS));
    }
}

static enum owner_kind recorded_kind(const struct finding *finding,
                                     const struct allocation *allocation, unsigned order)
{
    const struct next_events *next = &finding->next;
    unsigned traits = traits_of_allocation(finding, allocation->stack);
    uint32_t died = allocation->died;
    if (finding->snapshot->stack_count <= 1)
        return OWNER_UNKNOWN;
    if ((traits & PLACE_BACKWARD) && (traits & PLACE_CHECKPOINT) && (traits & PLACE_MODULE))
        return OWNER_ACTIVATIONS;
    if (traits & PLACE_BACKWARD)
        return died >= next->not_backward ? OWNER_GRADIENTS : OWNER_TEMPORARY;
    if (traits & PLACE_OPTIMIZER)
        return died >= next->not_optimizer ? OWNER_OPTIMIZER_STATE : OWNER_TEMPORARY;
    if (!(traits & PLACE_MODULE)) {
        if ((traits & PLACE_SETUP) || ((traits & PLACE_INIT) && (order & BEFORE_STEPS)))
            return died >= next->not_setup ? OWNER_PARAMETERS : OWNER_TEMPORARY;
        if (((traits & PLACE_COPY) || (order & BEFORE_MODULES)) && next->module != UINT32_MAX &&
            died >= next->module)
            return OWNER_INPUTS;
    }
    return died >= next->backward ? OWNER_ACTIVATIONS : OWNER_TEMPORARY;
}

static void pass_event(struct finding *finding, uint32_t at)
{
    const struct snapshot_event *event = &finding->events[at];
    struct next_events *next = &finding->next;
    if (event->action == NAME_FREE_REQUESTED &&
        (finding->places[event->stack].traits & PLACE_BACKWARD))
        next->backward = at;
    if (event->action != NAME_ALLOC)
        return;
    unsigned traits = traits_of_allocation(finding, event->stack);
    if (traits & PLACE_BACKWARD)
        next->backward = at;
    else
        next->not_backward = at;
    if (!(traits & PLACE_OPTIMIZER))
        next->not_optimizer = at;
    if (!(traits & (PLACE_SETUP | PLACE_INIT)))
        next->not_setup = at;
    if ((traits & PLACE_MODULE) && !(traits & PLACE_BACKWARD))
        next->module = at;
}

/* By the stack of the free, or of the block where the record does not free it. */
static enum owner_kind early_kind(const struct finding *finding,
                                  const struct allocation *allocation)
{
    bool freed = allocation->died != UINT32_MAX;
    unsigned traits = finding->places[allocation->stack].traits;
    if (traits & PLACE_ZERO_GRAD)
        return OWNER_GRADIENTS;
    if (traits & PLACE_OPTIMIZER)
        return OWNER_OPTIMIZER_STATE;
    if (traits & PLACE_BACKWARD)
        return freed ? OWNER_ACTIVATIONS : OWNER_GRADIENTS;
    if (freed || !(traits & (PLACE_SETUP | PLACE_MODULE)))
        return OWNER_EARLY;
    return traits & PLACE_MODULE ? OWNER_ACTIVATIONS : OWNER_PARAMETERS;
}

/* From the end backwards, so that what follows an allocation is known. Those that the record
 * allocates are in the order of its events. */
static void find_kinds(struct finding *finding)
{
    const struct program *program = finding->program;
    uint32_t at = (uint32_t)finding->event_count;
    finding->next =
        (struct next_events){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    note_order(finding);
    for (size_t i = program->allocation_count; i-- > 0;) {
        const struct allocation *allocation = &program->allocations[i];
        if (allocation->born == UINT32_MAX) {
            finding->kinds[i] = (uint8_t)early_kind(finding, allocation);
            continue;
        }
        while (at > allocation->born + 1)
            pass_event(finding, --at);
        finding->kinds[i] = (uint8_t)recorded_kind(finding, allocation, finding->kinds[i]);
    }
}

/* A change of how many gradients of one size are alive. */
struct change {
    uint64_t size;
    uint32_t event;
    bool born;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *one = a, *two = b;
    if (one->size != two->size)
        return one->size < two->size ? -1 : 1;
    return ORDER(one->event, two->event);
}

static bool is_unnamed_early(const struct finding *finding, size_t at)
{
    const struct allocation *allocation = &finding->program->allocations[at];
    return allocation->born == UINT32_MAX && allocation->died == UINT32_MAX &&
           finding->kinds[at] == OWNER_EARLY && allocation->stack == 0;
}

/* An allocation from before the record that stays. */
struct early_size {
    uint64_t size;
    uint32_t allocation;
};

static int compare_early_sizes(const void *a, const void *b)
{
    const struct early_size *one = a, *two = b;
    if (one->size != two->size)
        return one->size < two->size ? -1 : 1;
    return ORDER(one->allocation, two->allocation);
}

/* The most gradients of a size that are alive at one time; *at: where that size begins, and then
 * where the next does. */
static size_t most_alive(const struct change *changes, size_t count, size_t *at, uint64_t size)
{
    size_t alive = 0, most = 0;
    while (*at < count && changes[*at].size < size)
        ++*at;
    for (; *at < count && changes[*at].size == size; ++*at) {
        if (changes[*at].born)
            alive++;
        else if (alive > 0)
            alive--;
        most = alive > most ? alive : most;
    }
    return most;
}

/* A parameter has a gradient of its own size, and the usual optimizers one or two states of it: of
 * as many allocations from before the record as there are gradients of that size, or two or three
 * times as many. */
static void match_sizes(struct finding *finding, const struct change *changes, size_t change_count,
                        const struct early_size *early, size_t early_count)
{
    size_t at = 0;
    for (size_t i = 0, end; i < early_count; i = end) {
        for (end = i; end < early_count && early[end].size == early[i].size;)
            end++;
        size_t gradients = most_alive(changes, change_count, &at, early[i].size);
        size_t rest = end - i > gradients ? end - i - gradients : 0;
        for (size_t k = i; k < end && k - i < gradients; k++)
            finding->kinds[early[k].allocation] = OWNER_PARAMETERS;
        for (size_t k = i + gradients; k < end && (rest == gradients || rest == 2 * gradients); k++)
            finding->kinds[early[k].allocation] = OWNER_OPTIMIZER_STATE;
    }
}

static void find_parameters(struct finding *finding)
{
    const struct program *program = finding->program;
    struct change *changes = NULL;
    struct early_size *early = NULL;
    size_t change_count = 0, early_count = 0;
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *allocation = &program->allocations[i];
        if (is_unnamed_early(finding, i))
            MEM_ADD(early, early_count) =
                (struct early_size){.size = allocation->size, .allocation = (uint32_t)i};
        if (finding->kinds[i] != OWNER_GRADIENTS)
            continue;
        MEM_ADD(changes, change_count) =
            (struct change){.size = allocation->size,
                            .event = allocation->born == UINT32_MAX ? 0 : allocation->born,
                            .born = true};
        if (allocation->died != UINT32_MAX)
            MEM_ADD(changes, change_count) =
                (struct change){.size = allocation->size, .event = allocation->died};
    }
    if (early_count > 0 && change_count > 0) {
        qsort(changes, change_count, sizeof *changes, compare_changes);
        qsort(early, early_count, sizeof *early, compare_early_sizes);
        match_sizes(finding, changes, change_count, early, early_count);
    }
    free(changes);
    free(early);
}

static bool is_same_owner(const struct finding *finding, const struct owner *one,
                          const struct owner *two)
{
    return one->kind == two->kind && one->early == two->early &&
           one->freed_there == two->freed_there && one->each_bytes == two->each_bytes &&
           finding->places[one->stack].frame == finding->places[two->stack].frame;
}

static void place_allocation(struct finding *finding, size_t at)
{
    const struct snapshot *snapshot = finding->snapshot;
    const struct allocation *allocation = &finding->program->allocations[at];
    const struct stack_place *place = &finding->places[allocation->stack];
    struct owners *out = finding->out;
    struct owner owner = {.each_bytes = snapshot->stack_count <= 1 ? allocation->size : 0,
                          .stack = place->frame ? allocation->stack : 0,
                          .kind = finding->kinds[at],
                          .early = allocation->born == UINT32_MAX};
    owner.freed_there = owner.early && allocation->died != UINT32_MAX && place->frame;
    uint64_t key = place->frame;
    key = (key << 6 | (uint64_t)(owner.kind << 2) | (uint64_t)(owner.early << 1) |
           owner.freed_there) ^
          owner.each_bytes << 16;
    if (addr_map_get(&finding->owner_of, key, &out->of[at])) {
        struct owner *known = &out->items[out->of[at]];
        known->via_differs = known->via_differs || finding->places[known->stack].via != place->via;
        if (is_same_owner(finding, known, &owner))
            return;
    }
    out->of[at] = (uint32_t)out->count;
    MEM_ADD(out->items, out->count) = owner;
    addr_map_set(&finding->owner_of, key, out->of[at]);
}

struct place owner_place(const struct snapshot *snapshot, const struct owner *owner)
{
    struct place place = place_of(snapshot, owner->stack);
    place.via = owner->via_differs ? NULL : place.via;
    return place;
}

static struct stack_place find_stack_place(const struct snapshot *snapshot,
                                           const struct place_frames *frames, uint32_t stack)
{
    struct place place = place_find(frames, stack);
    return (struct stack_place){
        .frame = place.frame ? (uint32_t)(place.frame - snapshot->frames) + 1 : 0,
        .via = place.via ? (uint32_t)(place.via - snapshot->frames) + 1 : 0,
        .traits = (uint8_t)place.traits};
}

void owners_find(const struct snapshot *snapshot, size_t device, const struct program *program,
                 struct owners *out)
{
    *out = (struct owners){.of = mem_array(program->allocation_count, sizeof *out->of)};
    struct finding finding = {.snapshot = snapshot,
                              .events = snapshot->devices[device].events,
                              .event_count = snapshot->devices[device].count,
                              .program = program,
                              .out = out,
                              .places =
                                  mem_array(snapshot->stack_count, sizeof(struct stack_place)),
                              .kinds = mem_array(program->allocation_count, 1)};
    struct place_frames *frames = place_frames_new(snapshot);
    for (size_t i = 0; i < snapshot->stack_count; i++)
        finding.places[i] = find_stack_place(snapshot, frames, (uint32_t)i);
    place_frames_free(frames);
    find_kinds(&finding);
    find_parameters(&finding);
    for (size_t i = 0; i < program->allocation_count; i++)
        place_allocation(&finding, i);
    addr_map_fini(&finding.owner_of);
    free(finding.places);
    free(finding.kinds);
}

void owners_fini(struct owners *owners)
{
    free(owners->of);
    free(owners->items);
    *owners = (struct owners){0};
}

static int compare_row_bytes(const void *a, const void *b)
{
    const struct owner_row *one = a, *two = b;
    if (one->bytes != two->bytes)
        return one->bytes < two->bytes ? 1 : -1;
    return ORDER(one->owner, two->owner);
}

static void add_to_row(struct owner_row *row, const struct allocation *allocation)
{
    uint64_t size = allocation->size;
    row->smallest_bytes =
        row->count == 0 || size < row->smallest_bytes ? size : row->smallest_bytes;
    if (row->count == 0 || size > row->largest_bytes) {
        row->largest_bytes = size;
        row->stack = allocation->stack;
    }
    row->bytes += size;
    row->count++;
}

struct owner_row *owners_alive(const struct owners *owners, const struct program *program,
                               uint32_t event, size_t *count)
{
    struct owner_row *rows = mem_array(owners->count, sizeof *rows);
    for (size_t i = 0; i < program->allocation_count; i++) {
        const struct allocation *allocation = &program->allocations[i];
        if ((allocation->born == UINT32_MAX || allocation->born <= event) &&
            allocation->died > event)
            add_to_row(&rows[owners->of[i]], allocation);
    }
    *count = 0;
    for (size_t i = 0; i < owners->count; i++) {
        rows[i].owner = (uint32_t)i;
        if (rows[i].count > 0)
            rows[(*count)++] = rows[i];
    }
    if (*count > 0)
        qsort(rows, *count, sizeof *rows, compare_row_bytes);
    return rows;
}

void owners_sum(const struct owners *owners, const struct owner_row *rows, size_t count,
                struct owner_sum out[OWNER_KINDS + 1])
{
    for (size_t i = 0; i <= OWNER_KINDS; i++)
        out[i] = (struct owner_sum){0};
    EACH (row, rows, count) {
        size_t kinds[] = {owners->items[row->owner].kind, OWNER_KINDS};
        EACH_OF (kind, kinds) {
            out[*kind].bytes += row->bytes;
            out[*kind].count += row->count;
        }
    }
}
