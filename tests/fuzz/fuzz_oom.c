/* Any bytes as a log: what is found must not depend on where the bytes are cut, every size must lie
 * within its bounds, and a diagnosis must be made of anything. First byte: the size of the
 * pieces. */
#include "base/mem.h"
#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_size(struct oom_size size)
{
    if (size.valid && (size.low > size.bytes || size.bytes > size.high))
        abort();
}

static void check(const struct oom *message, enum oom_setting expandable)
{
    const struct growth growth = {
        .epochs = 4, .grows = true, .bytes_per_epoch = 1e9, .first_bytes = 1e9, .last_bytes = 4e9};
    struct oom_circumstances known = {expandable, &growth, 0};
    struct oom_diagnosis diagnosis;
    for (int i = 0; i < OOM_FIGURES; i++)
        check_size(message->of[i]);
    if (message->line == 0 || message->last_line < message->line ||
        message->framework == OOM_NONE || message->process_count > OOM_PROCESSES_MAX ||
        strlen(message->text) >= OOM_TEXT_SIZE)
        abort();
    oom_diagnose(message, &known, &diagnosis);
    check_size(diagnosis.room);
    check_size(diagnosis.missing);
    for (size_t i = 0; i < diagnosis.remedy_count; i++)
        if (expandable == OOM_SETTING_ON &&
            strcmp(diagnosis.remedies[i].name, "expandable_segments") == 0)
            abort();
    if (diagnosis.cause != OOM_CAUSE_UNKNOWN && diagnosis.reasons.count == 0)
        abort();
    oom_diagnosis_fini(&diagnosis);
}

static bool same_sizes(const struct oom *a, const struct oom *b)
{
    for (int i = 0; i < OOM_FIGURES; i++)
        if (a->of[i].valid != b->of[i].valid || a->of[i].low != b->of[i].low ||
            a->of[i].high != b->of[i].high)
            return false;
    return true;
}

static bool same(const struct oom_list *a, const struct oom_list *b)
{
    if (a->count != b->count || a->found != b->found || a->left_out != b->left_out)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].line != b->items[i].line || !same_sizes(&a->items[i], &b->items[i]) ||
            a->items[i].process_count != b->items[i].process_count ||
            a->items[i].repeats != b->items[i].repeats)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t piece = 1 + data[0] % 100, length = size - 1;
    const char *log = (const char *)data + 1;
    struct oom_list *whole = mem_alloc(sizeof *whole), *cut = mem_alloc(sizeof *cut);
    oom_parse(log, length, whole);
    struct oom_finder *finder = oom_finder_new(oom_list_add, cut);
    for (size_t at = 0; at < length; at += piece)
        oom_finder_take(finder, log + at, length - at < piece ? length - at : piece);
    oom_finder_end(finder);
    oom_finder_free(finder);
    if (!same(whole, cut))
        abort();
    for (size_t i = 0; i < whole->count; i++)
        check(&whole->items[i], (enum oom_setting)(data[0] % 3));
    oom_line_framework(log, length);
    oom_list_fini(whole);
    oom_list_fini(cut);
    free(whole);
    free(cut);
    return 0;
}
