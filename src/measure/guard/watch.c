/* Collects evidence from GPU samples during an attempt, as spans of time. */
#include "measure/guard/look.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* What comes back within that time has not been away. */
static const int64_t JOIN_NS = 5 * NS_PER_S;

/* A process that ends between the driver's list and the look into /proc is not unknown. */
enum { UNSEEN_LOOKS = 2 };

/* Of one kind and process, beyond these, spans are joined. */
enum { SPANS_OF_A_KIND = 20 };

/* Changes of the power limit smaller than this are rounding. */
static const double LIMIT_W = 1;

static const double MIB = 1048576;

void watch_begin(struct watch *watch, const char *device, int64_t start_ns, double tolerance_bytes,
                 const struct gpu_readings *before)
{
    watch_fini(watch);
    *watch = (struct watch){.device = device,
                            .start_ns = start_ns,
                            .looked_ns = start_ns,
                            .tolerance_bytes = tolerance_bytes};
    if (!before)
        return;
    watch->ecc = before->of[GPU_ECC_UNCORRECTED];
    watch->xids = before->of[GPU_XID_COUNT];
    watch->limit_w = before->of[GPU_POWER_LIMIT_W];
}

void watch_fini(struct watch *watch)
{
    EACH (span, watch->spans, watch->count)
        free(span->text);
    free(watch->spans);
    *watch = (struct watch){0};
}

/* The newest span of this kind and process, and how many there are. */
static struct watch_span *find_watch_span(struct watch *watch, const char *kind, int32_t pid,
                                          uint64_t start_time, size_t *count)
{
    struct watch_span *newest = NULL;
    *count = 0;
    EACH (span, watch->spans, watch->count) {
        if (strcmp(span->kind, kind) != 0 || span->pid != pid || span->start_time != start_time)
            continue;
        newest = span;
        ++*count;
    }
    return newest;
}

/* It is there now; text: fresh, of the first time. */
static void see(struct watch *watch, const char *kind, const struct guard_user *user, int64_t t_ns,
                char *text)
{
    int32_t pid = user ? user->pid : 0;
    uint64_t start_time = user ? user->start_time : 0;
    size_t count;
    struct watch_span *span = find_watch_span(watch, kind, pid, start_time, &count);
    if (span && (t_ns - span->seen_ns <= JOIN_NS || count >= SPANS_OF_A_KIND)) {
        span->times += !span->open;
        span->open = true;
        span->seen_ns = span->to_ns = t_ns;
        free(text);
        return;
    }
    MEM_ADD(watch->spans, watch->count) = (struct watch_span){.kind = kind,
                                                              .pid = pid,
                                                              .start_time = start_time,
                                                              .text = text,
                                                              .from_ns = watch->looked_ns,
                                                              .to_ns = t_ns,
                                                              .seen_ns = t_ns,
                                                              .open = true,
                                                              .times = 1};
}

static void watch_clock_reasons(struct watch *watch, const struct guard_look *look)
{
    static const struct {
        unsigned bit, unless;
        const char *kind, *what;
    } rows[] = {
        {GPU_CLOCK_HW_THERMAL, 0, "hw_thermal", "was slowed down by its hardware because of heat"},
        {GPU_CLOCK_POWER_BRAKE, 0, "hw_power_brake",
         "was slowed down by its hardware because of the power supply"},
        {GPU_CLOCK_HW_SLOWDOWN, GPU_CLOCK_HW_THERMAL | GPU_CLOCK_POWER_BRAKE, "hw_slowdown",
         "was slowed down by its hardware"},
        {GPU_CLOCK_SW_THERMAL, 0, "sw_thermal", "was slowed down by the driver because of heat"},
    };
    struct reading reasons = guard_reading(look, GPU_CLOCK_REASONS);
    unsigned set = reasons.valid ? (unsigned)reasons.value : 0;
    EACH_OF (row, rows)
        if ((set & row->bit) && !(set & row->unless))
            see(watch, row->kind, NULL, look->t_ns, mem_printf("%s %s", watch->device, row->what));
}

/* Counts since the driver was loaded, or the sensor opened: what was there before is not this
 * attempt's. */
static bool rose(struct reading *last, struct reading now)
{
    bool more = now.valid && last->valid && now.value > last->value;
    if (now.valid)
        *last = now;
    return more;
}

static void watch_gpu_errors(struct watch *watch, const struct guard_look *look)
{
    struct reading number = guard_reading(look, GPU_XID_LAST);
    if (rose(&watch->ecc, guard_reading(look, GPU_ECC_UNCORRECTED)))
        see(watch, "ecc", NULL, look->t_ns,
            mem_printf("%s met a memory error that it could not correct", watch->device));
    if (rose(&watch->xids, guard_reading(look, GPU_XID_COUNT))) {
        const struct gpu_vendor *vendor = look->vendor ? look->vendor : gpu_vendor_by_id(NULL);
        unsigned fault = number.valid ? (unsigned)number.value : 0;
        see(watch, vendor->fault_is_of_program(fault) ? "xid_program" : "xid", NULL, look->t_ns,
            mem_printf("%s: the driver reported %s %u", watch->device, vendor->fault_name, fault));
    }
}

static void watch_power_limit(struct watch *watch, const struct guard_look *look)
{
    struct reading before = watch->limit_w, now = guard_reading(look, GPU_POWER_LIMIT_W);
    if (!now.valid)
        return;
    watch->limit_w = now;
    if (before.valid && fabs(now.value - before.value) >= LIMIT_W)
        see(watch, "power_limit_changed", NULL, look->t_ns,
            mem_printf("%s: its power limit was changed from %.0f W to %.0f W", watch->device,
                       before.value, now.value));
}

/* An idle process that was reported at the start does not count again. */
static bool counts_as_foreign(const struct guard_user *user)
{
    bool works = user->sm_percent.valid && user->sm_percent.value > 0;
    return guard_is_foreign(user) && !user->later && (!user->known || works);
}

static void watch_gpu_users(struct watch *watch, const struct guard_look *look)
{
    size_t unseen = 0;
    EACH (user, look->users, look->user_count) {
        unseen += user->owner == GUARD_UNSEEN;
        if (!counts_as_foreign(user))
            continue;
        char *text = user->memory_bytes.valid
                         ? mem_printf("%s is used by %s, %.0f MiB", watch->device, user->text,
                                      user->memory_bytes.value / MIB)
                         : mem_printf("%s is used by %s", watch->device, user->text);
        see(watch, "foreign_process", user, look->t_ns, text);
    }
    watch->unseen_looks = unseen > 0 && !look->ended ? watch->unseen_looks + 1 : 0;
    if (watch->unseen_looks >= UNSEEN_LOOKS)
        see(watch, "processes_unseen", NULL, look->t_ns,
            mem_printf("%s: processes of unknown owner: /proc does not show what the driver names",
                       watch->device));
}

/* Inside some containers the driver names nobody at all, not even the job. */
static void watch_for_silence(struct watch *watch, const struct guard_known *known,
                              const struct guard_look *look)
{
    struct reading excess = guard_excess_bytes(look, known);
    bool silent = !look->listed || look->left_out > 0 ||
                  (look->user_count == 0 && excess.valid && excess.value > watch->tolerance_bytes);
    watch->silent_looks = silent && !look->ended ? watch->silent_looks + 1 : 0;
    if (watch->silent_looks >= UNSEEN_LOOKS)
        see(watch, "processes_unseen", NULL, look->t_ns,
            mem_printf("%s: the driver does not tell %s uses it", watch->device,
                       look->left_out > 0 ? "all who" : "who"));
}

/* What this look did not see has ended; it may have lasted until this look. */
static void close_spans(struct watch *watch, int64_t t_ns)
{
    EACH (span, watch->spans, watch->count) {
        if (!span->open || span->seen_ns == t_ns)
            continue;
        span->open = false;
        span->to_ns = t_ns;
    }
}

void watch_take(struct watch *watch, const struct guard_known *known, const struct guard_look *look)
{
    if (look->t_ns < watch->looked_ns)
        return;
    watch_clock_reasons(watch, look);
    watch_gpu_errors(watch, look);
    watch_power_limit(watch, look);
    watch_gpu_users(watch, look);
    watch_for_silence(watch, known, look);
    close_spans(watch, look->t_ns);
    watch->looked_ns = look->first_ns;
}

const struct watch_span *watch_news(struct watch *watch)
{
    EACH (span, watch->spans, watch->count)
        if (!span->told) {
            span->told = true;
            return span;
        }
    return NULL;
}

void watch_end(struct watch *watch, int64_t end_ns)
{
    EACH (span, watch->spans, watch->count) {
        if (span->open || span->to_ns > end_ns)
            span->to_ns = end_ns;
        span->open = false;
    }
}
