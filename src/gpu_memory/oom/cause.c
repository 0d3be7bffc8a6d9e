#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/remedy.h"
#include "gpu_memory/oom/size.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum { FIRST_LATE_EPOCH = 2 }; /* by either way of counting, one came before it */

/* Other processes that hold less than this share of the GPU are a desktop, or bare contexts: not
 * why a training fails. */
enum { OTHERS_PERCENT = 5, UNLISTED_PERCENT = 10, SLACK_PERCENT = 5 };

/* More than this share of reserved memory in no tensor is more than an allocator's usual slack. */
static const double UNUSED_SHARE = 0.2;

/* Reserved memory that rises by less is level. */
static const double LEVEL_BYTES = 64.0 * 1048576;

/* What a process has besides its framework's memory (context, libraries) is below this on all
 * GPUs. */
#define UNLISTED_LEAST (UINT64_C(2) << 30)

/* A segment's least size for tensors above 1 MiB. */
#define SMALL_SEGMENT (UINT64_C(20) << 20)

enum oom_setting oom_expandable(const char *conf)
{
    static const char name[] = "expandable_segments";
    enum oom_setting setting = OOM_SETTING_OFF;
    for (const char *at = conf; at && (at = strstr(at, name)); at += strlen(name)) {
        const char *value = at + strlen(name) + strspn(at + strlen(name), " :='\"");
        setting = strncasecmp(value, "true", 4) == 0 ? OOM_SETTING_ON : OOM_SETTING_OFF;
    }
    return setting;
}

struct shown {
    char text[32];
};

static const char *format_oom_size(struct shown *out, struct oom_size size)
{
    AUTO_TEXT struct text text = {0};
    oom_size_add_text(size, &text);
    strncpy(out->text, text_get(&text), sizeof out->text - 1);
    out->text[sizeof out->text - 1] = '\0';
    return out->text;
}

#define SHOW(size) format_oom_size(&(struct shown){{0}}, size)

#define SAY(out, ...) strv_add_owned(&(out)->reasons, mem_printf(__VA_ARGS__))

/* Where the message does not name this process apart (in a container the driver knows it by another
 * number): the least of those that can be it. */
static const struct oom_process *find_own(const struct oom *message,
                                          const struct oom_diagnosis *out)
{
    const struct oom_process *own = NULL;
    if (message->of[OOM_OWN].valid || !out->reserved.valid)
        return NULL;
    EACH (process, message->processes, message->process_count) {
        bool can_be = process->memory.valid && process->memory.high >= out->reserved.low;
        if (can_be && (!own || process->memory.bytes < own->memory.bytes))
            own = process;
    }
    return own;
}

static void sum_other_processes(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_process *own = find_own(message, out);
    out->own = message->of[OOM_OWN];
    out->own_pid = own ? own->pid : -1;
    if (own)
        out->own = own->memory;
    if (message->process_count > 0 || message->of[OOM_OWN].valid)
        out->others = oom_size_of(0);
    EACH (process, message->processes, message->process_count)
        if (process != own && process->memory.valid)
            out->others = oom_size_add(out->others, process->memory);
}

static void derive_sizes(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of;
    out->unallocated = of[OOM_UNALLOCATED];
    out->reserved = of[OOM_RESERVED];
    if (!out->reserved.valid)
        out->reserved = oom_size_add(of[OOM_ALLOCATED], of[OOM_UNALLOCATED]);
    if (!out->unallocated.valid)
        out->unallocated = oom_size_sub(out->reserved, of[OOM_ALLOCATED]);
    sum_other_processes(message, out);
    out->outside = oom_size_sub(out->own, out->reserved);
    struct oom_size known = oom_size_add(out->own.valid ? out->own : out->reserved,
                                         out->others.valid ? out->others : oom_size_of(0));
    out->unlisted = oom_size_sub(oom_size_sub(of[OOM_TOTAL], of[OOM_FREE]), known);
    out->room = oom_size_min(of[OOM_FREE], oom_size_sub(of[OOM_ALLOWED], out->reserved));
    out->missing = oom_size_sub(of[OOM_REQUESTED], out->room);
}

static bool is_share(struct oom_size part, struct oom_size whole, unsigned percent)
{
    return part.valid && whole.valid && part.bytes >= whole.bytes / 100 * percent;
}

static enum oom_sure fits_with(const struct oom *message, const struct oom_diagnosis *out,
                               struct oom_size more)
{
    return oom_size_covers(oom_size_add(out->room, more), message->of[OOM_REQUESTED]);
}

static void set_cause(struct oom_diagnosis *out, enum oom_cause cause, bool sure)
{
    out->cause = cause;
    out->sure = sure;
}

/* Before a failure PyTorch returns segments, or with expandable segments their pages (20 MiB for
 * tensors above 1 MiB: kLargeBuffer in CUDACachingAllocator.cpp), that are wholly free. */
static void explain_unallocated(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    enum oom_sure alone = oom_size_covers(out->unallocated, request);
    if (out->expandable_on)
        SAY(out,
            "%s was reserved by the framework and in no tensor, although expandable segments are "
            "on: their free pages of 20 MiB go back before PyTorch gives up. The rest is in pages "
            "that tensors still use in part, or belongs to other streams or CUDA graphs; or the "
            "setting had no effect (set after the first allocation, or not supported there).",
            SHOW(out->unallocated));
    else
        SAY(out,
            "%s was reserved by the framework and in no tensor. PyTorch gives back every segment "
            "that is wholly free before it gives up, so this lay in segments that tensors still "
            "used in part.",
            SHOW(out->unallocated));
    if (alone == OOM_YES)
        SAY(out, "That is more than the %s asked for: in one piece it would have held it.",
            SHOW(request));
    else
        SAY(out,
            "With the %s that a new segment could have, it is %s: enough for the %s asked for, but "
            "not in one piece.",
            SHOW(out->room), SHOW(oom_size_add(out->room, out->unallocated)), SHOW(request));
}

/* The cap binds, and the GPU had the memory. */
static bool judge_cap(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of;
    struct oom_size left = oom_size_sub(of[OOM_ALLOWED], out->reserved);
    if (!left.valid || oom_size_covers(left, of[OOM_REQUESTED]) == OOM_YES ||
        (of[OOM_FREE].valid && oom_size_covers(of[OOM_FREE], of[OOM_REQUESTED]) != OOM_YES))
        return false;
    SAY(out,
        "The program may have %s; of that the framework has reserved %s, which leaves %s for the "
        "%s asked for.",
        SHOW(of[OOM_ALLOWED]), SHOW(out->reserved), SHOW(left), SHOW(of[OOM_REQUESTED]));
    if (of[OOM_FREE].valid)
        SAY(out, "The GPU itself had %s free.", SHOW(of[OOM_FREE]));
    if (out->expandable_fits)
        SAY(out,
            "Inside the cap it would have fitted without fragmentation: %s was reserved and in no "
            "tensor.",
            SHOW(out->unallocated));
    set_cause(out, OOM_CAUSE_CAP, oom_size_covers(left, of[OOM_REQUESTED]) == OOM_NO);
    return true;
}

static void explain_cause(struct oom_diagnosis *out, enum oom_cause cause, bool sure)
{
    if (oom_cause_explanation(cause))
        SAY(out, "%s", oom_cause_explanation(cause));
    set_cause(out, cause, sure);
}

static struct oom_size held_by_others(const struct oom *message, const struct oom_diagnosis *out)
{
    bool hidden = out->unlisted.valid && out->unlisted.low >= UNLISTED_LEAST &&
                  is_share(out->unlisted, message->of[OOM_TOTAL], UNLISTED_PERCENT);
    if (!hidden)
        return out->others;
    return out->others.valid ? oom_size_add(out->others, out->unlisted) : out->unlisted;
}

/* "rank3" */
static bool is_later_rank(const char *source)
{
    return strncmp(source, "rank", 4) == 0 && source[4] >= '1' && source[4] <= '9';
}

static bool judge_others(const struct oom *message, struct oom_diagnosis *out)
{
    struct oom_size held = held_by_others(message, out);
    enum oom_sure fits = fits_with(message, out, held);
    if (!is_share(held, message->of[OOM_TOTAL], OTHERS_PERCENT) || fits == OOM_NO)
        return false;
    if (out->expandable_fits && out->unallocated.bytes > held.bytes)
        return false;
    if (out->others.valid && out->others.bytes > 0) {
        size_t count = message->process_count + message->processes_left_out - (out->own_pid >= 0);
        SAY(out, "%zu other process%s %s %s of this GPU.", count, count == 1 ? "" : "es",
            count == 1 ? "holds" : "hold together", SHOW(out->others));
    }
    if (held.bytes > out->others.bytes)
        SAY(out,
            "%s is in use and belongs to no process that the message lists: processes of other "
            "containers or users, contexts, a display.",
            SHOW(out->unlisted));
    SAY(out, "Without them the request would have fitted: %s free and %s of theirs are %s.",
        SHOW(out->room), SHOW(held), SHOW(oom_size_add(out->room, held)));
    set_cause(out, OOM_CAUSE_OTHERS, fits == OOM_YES && held.bytes == out->others.bytes);
    if (message->gpu == 0 && out->others.bytes > 0 && is_later_rank(message->source))
        explain_cause(out, OOM_CAUSE_PLACEMENT, false);
    return true;
}

static struct oom_size size_of(double bytes)
{
    return oom_size_of(bytes > 0 ? (uint64_t)bytes : 0);
}

/* "The log prints allocated memory: 10.00 GiB in epoch 1, 34.00 GiB in epoch 4 (reserved: 12.00
 * GiB, 38.00 GiB)". The caller frees. */
static char *printed_text(const struct printed_memory *printed)
{
    AUTO_FREE char *reserved =
        printed->reserved_last > 0
            ? mem_printf(" (reserved: %s, %s)", SHOW(size_of(printed->reserved_first)),
                         SHOW(size_of(printed->reserved_last)))
            : mem_strdup("");
    return mem_printf("The log prints %s memory: %s in epoch %lld, %s in epoch %lld%s",
                      printed->of_peaks ? "peak allocated" : "allocated",
                      SHOW(size_of(printed->allocated_first)), (long long)printed->first_epoch,
                      SHOW(size_of(printed->allocated_last)), (long long)printed->last_epoch,
                      reserved);
}

static void explain_growth(const struct printed_memory *printed, const struct growth *growth,
                           struct oom_diagnosis *out)
{
    if (growth != &printed->growth) {
        SAY(out, "In %zu %s its memory grew steadily, by %s %s, from %s to %s.", growth->epochs,
            growth->of_steps ? "steps of the memory snapshot" : "epochs",
            SHOW(size_of(growth->bytes_per_epoch)), growth->of_steps ? "each" : "an epoch",
            SHOW(size_of(growth->first_bytes)), SHOW(size_of(growth->last_bytes)));
        return;
    }
    AUTO_FREE char *text = printed_text(printed);
    SAY(out, "%s. It rose steadily, by %s an epoch%s.", text,
        SHOW(size_of(growth->bytes_per_epoch)),
        printed->of_peaks ? "" : ": tensors are kept from epoch to epoch");
}

/* Allocated memory that the log prints is of tensors alone, so it goes before measured memory. */
static bool judge_growth(const struct oom *message, const struct oom_circumstances *known,
                         struct oom_diagnosis *out)
{
    const struct printed_memory *printed = &message->printed;
    const struct growth *growth =
        printed->epochs >= GROWTH_EPOCHS_LEAST ? &printed->growth : known->growth;
    if (!growth || !growth->grows)
        return false;
    double grown = growth->last_bytes - growth->first_bytes;
    if (grown < (double)out->missing.bytes || (double)out->unallocated.bytes > grown / 2)
        return false;
    explain_growth(printed, growth, out);
    SAY(out, "Only %s was missing: without the growth the request would have fitted.",
        SHOW(out->missing));
    set_cause(out, OOM_CAUSE_GROWTH, growth != &printed->growth || !printed->of_peaks);
    return true;
}

/* The cause by what the log prints, where the message itself does not say enough. */
static void judge_printed(const struct printed_memory *printed, struct oom_diagnosis *out)
{
    if (printed->trend == PRINTED_RISING) {
        explain_growth(printed, &printed->growth, out);
        set_cause(out, OOM_CAUSE_GROWTH, false);
    } else if (printed->trend == PRINTED_LEVEL &&
               printed->unused_last >= UNUSED_SHARE * printed->reserved_last &&
               printed->unused_last > 0) {
        AUTO_FREE char *text = printed_text(printed);
        SAY(out,
            "%s. Allocated stayed level, so no references are kept, and %s is reserved and in no "
            "tensor at the end of an epoch.",
            text, SHOW(size_of(printed->unused_last)));
        set_cause(out, OOM_CAUSE_FRAGMENTATION, false);
    }
}

static bool judge_fragmentation(const struct oom *message, struct oom_diagnosis *out)
{
    enum oom_sure fits = fits_with(message, out, out->unallocated);
    if (fits == OOM_NO || !is_share(out->unallocated, out->reserved, SLACK_PERCENT))
        return false;
    explain_unallocated(message, out);
    set_cause(out, OOM_CAUSE_FRAGMENTATION, fits == OOM_YES);
    return true;
}

static void judge_capacity(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of;
    if (!of[OOM_ALLOCATED].valid && !out->reserved.valid) {
        SAY(out, "How much of the GPU this program itself had is not in the message.");
        return;
    }
    struct oom_size needed = of[OOM_ALLOCATED].valid ? of[OOM_ALLOCATED] : out->reserved;
    SAY(out,
        "Tensors held %s, and %s more was asked for: %s together, with %s that a new segment could "
        "have.",
        SHOW(needed), SHOW(of[OOM_REQUESTED]), SHOW(oom_size_add(needed, of[OOM_REQUESTED])),
        SHOW(out->room));
    if (out->expandable_fits)
        SAY(out,
            "The %s that was reserved and in no tensor would have held this request, but is less "
            "than %d %% of what "
            "is reserved: little is gained by it.",
            SHOW(out->unallocated), SLACK_PERCENT);
    else if (out->unallocated.valid)
        SAY(out,
            "The %s that was reserved and in no tensor would not have held it even in one piece "
            "with the rest.",
            SHOW(out->unallocated));
    set_cause(out, OOM_CAUSE_CAPACITY, out->reserved.valid && !out->expandable_fits);
}

static enum oom_kind kind_of(const struct oom *message, enum oom_cause cause)
{
    return cause == OOM_CAUSE_PINNED ? OOM_KIND_HOST : message->kind;
}

/* From here on a request is an error: 1 EB of a GPU, 1 PB of a machine. */
#define GPU_BUG  (UINT64_C(1) << 60)
#define HOST_BUG (UINT64_C(1) << 50)

static void judge_host(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    if (request.valid)
        SAY(out, "%s was asked for.", SHOW(request));
    if (message->of[OOM_TOTAL].valid)
        SAY(out, "The limit is %s.", SHOW(message->of[OOM_TOTAL]));
    explain_cause(out,
                  request.valid && request.bytes >= HOST_BUG ? OOM_CAUSE_PROGRAM : message->cause,
                  message->cause != OOM_CAUSE_HOST_KILLED);
}

/* The traceback names the operation: the most specific first. */
static enum oom_cause operation_of(const struct oom *message)
{
    static const struct {
        unsigned hint;
        enum oom_cause cause;
    } rows[] = {
        {OOM_HINT_RESULTS, OOM_CAUSE_RESULTS},       {OOM_HINT_OPTIMIZER, OOM_CAUSE_OPTIMIZER},
        {OOM_HINT_LOADING, OOM_CAUSE_LOADING},       {OOM_HINT_KEPT_LOSS, OOM_CAUSE_GROWTH},
        {OOM_HINT_EVALUATION, OOM_CAUSE_EVALUATION}, {OOM_HINT_ATTENTION, OOM_CAUSE_ATTENTION},
        {OOM_HINT_LOGITS, OOM_CAUSE_LOGITS},         {OOM_HINT_WEIGHTS, OOM_CAUSE_WEIGHTS}};
    EACH_OF (row, rows)
        if (message->hints & row->hint)
            return row->cause;
    return OOM_CAUSE_UNKNOWN;
}

/* Little is in no tensor, so that what the traceback shows is the reason. */
static bool judge_operation(const struct oom *message, struct oom_diagnosis *out)
{
    enum oom_cause cause = operation_of(message);
    bool pieces = out->unallocated.valid && out->reserved.valid && out->expandable_fits &&
                  (double)out->unallocated.bytes > UNUSED_SHARE * (double)out->reserved.bytes;
    if (cause == OOM_CAUSE_UNKNOWN || pieces)
        return false;
    explain_cause(out, cause, false);
    return true;
}

/* Free or allocated memory beyond the whole GPU, which WSL and broken drivers report. */
static bool judge_figures(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of, total = of[OOM_TOTAL];
    const struct oom_size more = oom_size_covers(of[OOM_FREE], total) == OOM_YES &&
                                         oom_size_covers(total, of[OOM_FREE]) == OOM_NO
                                     ? of[OOM_FREE]
                                 : oom_size_covers(total, of[OOM_ALLOCATED]) == OOM_NO
                                     ? of[OOM_ALLOCATED]
                                     : (struct oom_size){0};
    if (!total.valid || !more.valid)
        return false;
    SAY(out, "The message has %s of a GPU of %s: the driver's figures cannot be trusted.",
        SHOW(more), SHOW(total));
    set_cause(out, OOM_CAUSE_IMPOSSIBLE, true);
    return true;
}

/* One request that is larger than the GPU, or than all of it that could be free. */
static bool judge_giant(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED], total = message->of[OOM_TOTAL];
    if (request.valid && request.bytes >= GPU_BUG) {
        SAY(out, "%s was asked for.", SHOW(request));
        explain_cause(out, OOM_CAUSE_PROGRAM, true);
        return true;
    }
    if (!request.valid || !total.valid || oom_size_covers(total, request) != OOM_NO)
        return false;
    SAY(out, "One request of %s is larger than the whole GPU of %s.", SHOW(request), SHOW(total));
    if (!judge_operation(message, out))
        set_cause(out, OOM_CAUSE_GIANT, true);
    return true;
}

/* XPU's messages name no free memory; the driver refuses 4 GiB at a time. */
static bool judge_single(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of;
    struct oom_size left = oom_size_sub(of[OOM_TOTAL], out->reserved);
    if (of[OOM_FREE].valid || message->framework != OOM_PYTORCH || message->process_count > 0 ||
        of[OOM_OWN].valid || oom_size_covers(left, of[OOM_REQUESTED]) != OOM_YES ||
        of[OOM_REQUESTED].low < UINT64_C(4000000000))
        return false;
    SAY(out, "%s was asked for, and %s of %s was not reserved.", SHOW(of[OOM_REQUESTED]),
        SHOW(left), SHOW(of[OOM_TOTAL]));
    explain_cause(out, OOM_CAUSE_SINGLE, false);
    return true;
}

/* TensorFlow and XLA take most of a free GPU at their start: where they got less, others had it. */
#define SHARE_LEAST (UINT64_C(1) << 30)

static bool judge_preallocation(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size limit = message->of[OOM_TOTAL], own = message->of[OOM_OWN];
    bool preallocates = message->framework == OOM_TENSORFLOW || message->framework == OOM_XLA;
    if (message->framework == OOM_XLA && own.valid && own.bytes < SHARE_LEAST) {
        SAY(out, "All that the program needs is %s, and even that was refused.", SHOW(own));
        set_cause(out, OOM_CAUSE_OTHERS, false);
        return true;
    }
    if (!preallocates || !limit.valid || limit.bytes >= SHARE_LEAST ||
        oom_size_covers(limit, message->of[OOM_REQUESTED]) == OOM_YES)
        return false;
    SAY(out, "The allocator got %s in all, though it takes most of a free GPU at its start.",
        SHOW(limit));
    set_cause(out, OOM_CAUSE_OTHERS, false);
    return true;
}

static void explain_contexts(const struct oom *message, struct oom_diagnosis *out)
{
    size_t contexts = 0, others = message->processes_left_out;
    EACH (process, message->processes, message->process_count) {
        bool other = process->pid != out->own_pid;
        contexts += other && process->memory.valid && process->memory.bytes < UINT64_C(1) << 30;
        others += other;
    }
    out->bare_contexts = contexts >= 2 || message->origin == OOM_ORIGIN_WORKER;
    out->only_contexts = contexts >= 2 && contexts == others;
    if (contexts >= 2)
        SAY(out,
            "%zu processes hold less than 1 GiB each: bare CUDA contexts look so, of loader "
            "workers that touched the GPU, or of ranks that all begin on GPU %lld.",
            contexts, (long long)(message->gpu < 0 ? 0 : message->gpu));
    if (message->origin == OOM_ORIGIN_WORKER)
        SAY(out, "The traceback is of a worker process of the DataLoader: workers that use the GPU "
                 "have a CUDA context each.");
}

static void explain_details(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size *of = message->of;
    if (of[OOM_REQUESTED].valid && message->framework == OOM_PYTORCH &&
        of[OOM_REQUESTED].bytes == SMALL_SEGMENT)
        SAY(out, "20.00 MiB is the size of a segment: the tensor itself may have been as small as "
                 "1 MiB.");
    if (of[OOM_PRIVATE].valid && of[OOM_PRIVATE].bytes > 0)
        SAY(out, "%s is in private pools (CUDA graphs): only their own graphs can use it.",
            SHOW(of[OOM_PRIVATE]));
    if (out->own_pid >= 0)
        SAY(out,
            "Process %lld is taken for this one, as it holds what the framework has reserved; "
            "containers hide which it is.",
            (long long)out->own_pid);
    explain_contexts(message, out);
    if (message->origin == OOM_ORIGIN_PIN_MEMORY && out->cause != OOM_CAUSE_PINNED)
        SAY(out, "The traceback passes through pin_memory, but the message counts memory of the "
                 "GPU, which pinned memory does not use.");
}

/* PyTorch takes 20 MiB from the driver for a tensor above 1 MiB (kLargeBuffer). */
static struct oom_size segment_of(const struct oom *message)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    bool is_rounded = message->framework == OOM_PYTORCH && request.low > SMALL_SEGMENT / 20 &&
                      request.high < SMALL_SEGMENT / 2;
    return is_rounded ? oom_size_of(SMALL_SEGMENT) : request;
}

/* Frameworks whose messages give no reason: what they ask for in normal work is too much. */
static bool names_no_reason(const struct oom *message)
{
    return message->framework != OOM_PYTORCH && message->framework != OOM_CUDA;
}

static void judge_without_figures(const struct oom *message, struct oom_diagnosis *out)
{
    bool may_grow = message->epoch >= FIRST_LATE_EPOCH && !message->of[OOM_REQUESTED].valid;
    if (out->cause != OOM_CAUSE_UNKNOWN || message->kind != OOM_KIND_GPU)
        return;
    if (may_grow && message->origin == OOM_ORIGIN_UNKNOWN) {
        SAY(out, "The failure came in epoch %lld: earlier epochs had fitted.",
            (long long)message->epoch);
        set_cause(out, OOM_CAUSE_GROWTH, false);
    } else if (names_no_reason(message)) {
        SAY(out, "The message names no other reason.");
        set_cause(out, OOM_CAUSE_CAPACITY, false);
    }
}

static void explain_numbers(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    if (request.valid && out->room.valid)
        SAY(out, "%s was asked for, and %s was there.", SHOW(request), SHOW(out->room));
    else if (request.valid && message->of[OOM_TOTAL].valid)
        SAY(out, "%s was asked for, of at most %s.", SHOW(request), SHOW(message->of[OOM_TOTAL]));
    else if (request.valid)
        SAY(out, "%s was asked for.", SHOW(request));
}

/* The words alone decide. */
static void judge_words(const struct oom *message, struct oom_diagnosis *out)
{
    explain_numbers(message, out);
    if (message->cause == OOM_CAUSE_OTHERS && out->room.valid) {
        SAY(out, "It asks for this share at its start, when nothing of its own is on the GPU: "
                 "other processes, or an earlier run that has not ended, hold the rest.");
        set_cause(out, OOM_CAUSE_OTHERS, false);
    } else {
        explain_cause(out, message->cause, message->cause != OOM_CAUSE_OTHERS);
    }
}

/* What was asked for, or what there was, is not in the message. */
static void judge_incomplete(const struct oom *message, struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    if (!request.valid && message->origin == OOM_ORIGIN_PIN_MEMORY) {
        SAY(out, "The traceback ends in pin_memory: the driver could not pin memory of the host, "
                 "and reports that as an out-of-memory of CUDA.");
        set_cause(out, OOM_CAUSE_PINNED, false);
        return;
    }
    if (!request.valid)
        SAY(out, "The message says that memory ran out, and no number.");
    else
        SAY(out, "The message says that %s was asked for, and not how much there was.",
            SHOW(request));
    if (request.valid && judge_single(message, out))
        return;
    judge_printed(&message->printed, out);
    if (out->cause == OOM_CAUSE_UNKNOWN)
        judge_operation(message, out);
    if (out->cause == OOM_CAUSE_UNKNOWN && request.valid && out->reserved.valid)
        judge_capacity(message, out);
}

static void diagnose_cause(const struct oom *message, const struct oom_circumstances *known,
                           struct oom_diagnosis *out)
{
    const struct oom_size request = message->of[OOM_REQUESTED];
    if (message->kind == OOM_KIND_HOST) {
        judge_host(message, out);
        return;
    }
    if (message->kind == OOM_KIND_GPU &&
        (judge_figures(message, out) || judge_preallocation(message, out) ||
         judge_giant(message, out)))
        return;
    if (message->cause != OOM_CAUSE_UNKNOWN) {
        judge_words(message, out);
        return;
    }
    if (!request.valid || !out->room.valid) {
        judge_incomplete(message, out);
        return;
    }
    if (oom_size_covers(out->room, segment_of(message)) == OOM_YES) {
        SAY(out,
            "%s was free when the message was made, more than the %s asked for: either another "
            "process gave it back in between, or something limits this one that the message does "
            "not name.",
            SHOW(out->room), SHOW(request));
        set_cause(out, OOM_CAUSE_FREE_ABOVE, false);
        return;
    }
    if (judge_cap(message, out))
        return;
    SAY(out, "%s was asked for, and the GPU had %s free: %s was missing.", SHOW(request),
        SHOW(out->room), SHOW(out->missing));
    if (!judge_others(message, out) && !judge_growth(message, known, out) &&
        !judge_operation(message, out) && !judge_fragmentation(message, out))
        judge_capacity(message, out);
}

static void explain_possible_growth(const struct oom *message, struct oom_diagnosis *out)
{
    const struct printed_memory *printed = &message->printed;
    AUTO_FREE char *text = printed->epochs > 0 ? printed_text(printed) : NULL;
    AUTO_FREE char *epoch = message->epoch >= FIRST_LATE_EPOCH
                                ? mem_printf("in epoch %lld", (long long)message->epoch)
                                : mem_strdup("after the first epoch");
    out->may_grow = true;
    if (!text)
        SAY(out,
            "Growth is possible too: the failure came %s, so earlier epochs had fitted. Print "
            "torch.cuda.memory_allocated() and memory_reserved() after each epoch: if allocated "
            "rises, references are kept; if only reserved rises, it is fragmentation.",
            epoch);
    else if (printed->trend == PRINTED_RISING)
        SAY(out, "Growth adds to it. %s, %s more an epoch.", text,
            SHOW(size_of(printed->growth.bytes_per_epoch)));
    else
        SAY(out, "Growth is possible too. %s, %s.", text,
            printed->trend == PRINTED_SHORT ? "but growth shows over three epochs or more"
                                            : "neither level nor rising steadily");
}

/* The failure came after an epoch that fitted, and no record shows that memory stayed level. */
static void judge_later_growth(const struct oom *message, const struct oom_circumstances *known,
                               struct oom_diagnosis *out)
{
    const struct growth *growth = known->growth;
    const struct printed_memory *printed = &message->printed;
    bool late = message->epoch >= FIRST_LATE_EPOCH || (growth && growth->epochs > 0) ||
                printed->epochs >= GROWTH_EPOCHS_LEAST;
    bool possible = out->cause == OOM_CAUSE_FRAGMENTATION || out->cause == OOM_CAUSE_CAPACITY ||
                    out->cause == OOM_CAUSE_CAP;
    if (!late || !possible || !out->missing.valid || message->framework != OOM_PYTORCH)
        return;
    bool recorded =
        growth && !growth->of_steps && growth->epochs >= GROWTH_EPOCHS_LEAST && !growth->grows;
    if (printed->trend == PRINTED_LEVEL) {
        AUTO_FREE char *text = printed_text(printed);
        SAY(out, "Growth is not the cause. %s. Allocated stayed level%s.", text,
            printed->reserved_last - printed->reserved_first > LEVEL_BYTES
                ? ", only reserved rose, as it does with fragmentation"
                : "");
    } else if (recorded && printed->epochs < GROWTH_EPOCHS_LEAST) {
        SAY(out,
            "Growth is not the cause: memory did not grow steadily over the %zu epochs recorded.",
            growth->epochs);
    } else {
        explain_possible_growth(message, out);
    }
}

void oom_diagnose(const struct oom *message, const struct oom_circumstances *known,
                  struct oom_diagnosis *out)
{
    *out = (struct oom_diagnosis){.own_pid = -1};
    out->expandable_on =
        known->expandable == OOM_SETTING_ON || message->expandable == OOM_SETTING_ON;
    derive_sizes(message, out);
    out->expandable_fits = out->unallocated.valid && out->room.valid &&
                           message->of[OOM_REQUESTED].valid &&
                           oom_size_covers(out->room, message->of[OOM_REQUESTED]) != OOM_YES &&
                           fits_with(message, out, out->unallocated) == OOM_YES;
    diagnose_cause(message, known, out);
    judge_without_figures(message, out);
    out->kind = kind_of(message, out->cause);
    judge_later_growth(message, known, out);
    explain_details(message, out);
    remedies_fill(message, out);
}

void oom_diagnosis_fini(struct oom_diagnosis *diagnosis)
{
    strv_fini(&diagnosis->reasons);
    EACH (remedy, diagnosis->remedies, diagnosis->remedy_count)
        free(remedy->effect);
    *diagnosis = (struct oom_diagnosis){.own_pid = -1};
}
