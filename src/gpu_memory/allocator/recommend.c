#include "gpu_memory/allocator/recommend.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Whether a run fits whatever the driver does: a bound that hangs on addresses is none. */
static bool fits(const struct snapshot *snapshot, size_t device, const struct program *program,
                 uint64_t total_bytes, const struct alloc_settings *settings, uint64_t cap_bytes,
                 uint64_t *retries)
{
    for (int kind = 0; kind < DRIVER_KINDS; kind++) {
        struct replay replay;
        if (settings->expandable && kind > 0)
            break; /* where its segment lies makes no difference */
        replay_run(snapshot, device, program, settings, cap_bytes, total_bytes,
                   (enum driver_kind)kind, &replay);
        if (kind == 0)
            *retries = replay.stats.retries;
        /* Pages may be mapped beyond the cap, but not beyond a GPU. */
        if (replay.outcome != REPLAY_FITS || replay.stats.reserved.peak > cap_bytes)
            return false;
    }
    return true;
}

/* Between what is surely too little and what was enough. Whether less memory fits is not monotonic,
 * so the least is what it came down to from above. */
static void find_least(const struct snapshot *snapshot, size_t device,
                       const struct program *program, uint64_t total_bytes, struct advice *advice)
{
    uint64_t high = advice->free_run.peak_high_bytes, low = advice->free_run.stats.allocated.peak,
             retries = 0;
    advice->step_bytes = high / 256 > 2 * MIB ? high / 256 / (2 * MIB) * (2 * MIB) : 2 * MIB;
    advice->least_bytes = high;
    /* what was allocated may just fit */
    low = low > 2 * MIB ? (low - 2 * MIB) / (2 * MIB) * (2 * MIB) : 0;
    while (high > low && high - low > advice->step_bytes) {
        uint64_t middle = low + (high - low) / 2 / (2 * MIB) * (2 * MIB);
        if (middle == low)
            break;
        if (fits(snapshot, device, program, total_bytes, &advice->settings, middle, &retries)) {
            high = middle;
            advice->least_bytes = middle;
            advice->retries = retries;
        } else {
            low = middle;
        }
    }
}

static int by_need(const void *a, const void *b)
{
    const struct advice *one = a, *two = b;
    if (one->least_bytes != two->least_bytes)
        return one->least_bytes < two->least_bytes ? -1 : 1;
    if (one->retries != two->retries)
        return one->retries < two->retries ? -1 : 1;
    if (one->recorded != two->recorded)
        return one->recorded ? -1 : 1;
    AUTO_TEXT struct text first = {0}, second = {0};
    conf_text(&one->settings, &first);
    conf_text(&two->settings, &second);
    return first.length != second.length ? (first.length < second.length ? -1 : 1)
                                         : strcmp(text_get(&first), text_get(&second));
}

static void add_advice(const struct snapshot *snapshot, size_t device,
                       const struct program *program, uint64_t total_bytes,
                       const struct alloc_settings *settings, struct recommendation *out)
{
    EACH (item, out->advices, out->count)
        if (conf_equal(&item->settings, settings))
            return;
    struct advice *advice = &MEM_ADD(out->advices, out->count);
    *advice = (struct advice){.settings = *settings,
                              .recorded = conf_equal(settings, &snapshot->settings)};
    replay_predict(snapshot, device, program, settings, MODEL_NO_CAP, total_bytes,
                   &advice->free_run);
    find_least(snapshot, device, program, total_bytes, advice);
}

void recommend_run(const struct snapshot *snapshot, size_t device, const struct program *program,
                   uint64_t total_bytes, struct recommendation *out)
{
    static const char *const confs[] = {"",
                                        "expandable_segments:True",
                                        "max_split_size_mb:32",
                                        "max_split_size_mb:64",
                                        "max_split_size_mb:128",
                                        "max_split_size_mb:256",
                                        "max_split_size_mb:512",
                                        "roundup_power2_divisions:4",
                                        "roundup_power2_divisions:8",
                                        "roundup_power2_divisions:16",
                                        "garbage_collection_threshold:0.6",
                                        "garbage_collection_threshold:0.8",
                                        "expandable_segments:True,roundup_power2_divisions:8",
                                        NULL};
    *out = (struct recommendation){0};
    add_advice(snapshot, device, program, total_bytes, &snapshot->settings, out);
    for (size_t i = 0; confs[i]; i++) {
        struct alloc_settings settings;
        if (conf_parse(confs[i], &settings, NULL))
            add_advice(snapshot, device, program, total_bytes, &settings, out);
    }
    qsort(out->advices, out->count, sizeof *out->advices, by_need);
}

void recommend_fini(struct recommendation *recommendation)
{
    free(recommendation->advices);
    *recommendation = (struct recommendation){0};
}

static const struct gpu_size sizes[] = {{8, "RTX 4060"},
                                        {12, "RTX 3060"},
                                        {16, "T4, V100, RTX 4080"},
                                        {24, "A10, L4, RTX 4090"},
                                        {32, "V100 32 GB, RTX 5090"},
                                        {40, "A100 40 GB"},
                                        {48, "A40, L40S"},
                                        {80, "A100 80 GB, H100"},
                                        {96, "GH200, H20"},
                                        {141, "H200"},
                                        {180, "B200"},
                                        {288, "B300"}};

/* PyTorch can reserve this share of a GPU's nominal memory: nine tenths (ECC and the driver keep
 * the rest), less 0.7 GiB for the CUDA context and the libraries. */
static uint64_t usable_bytes(const struct gpu_size *size)
{
    return size->gib * GIB / 10 * 9 - 7 * GIB / 10;
}

const struct gpu_size *gpu_size_for(uint64_t reserved_bytes)
{
    EACH_OF (size, sizes)
        if (usable_bytes(size) >= reserved_bytes)
            return size;
    return NULL;
}
