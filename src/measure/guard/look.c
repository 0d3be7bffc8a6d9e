#include "measure/guard/look.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Where the driver does not state its own memory, an empty GPU was seen to use 615 MiB (H200); more
 * than this, or than this share of all, is somebody's. */
static const double OWN_MAX_BYTES = 1 << 30;
static const double OWN_MAX_SHARE = 0.05;

void guard_findings_add(struct guard_findings *findings, struct guard_finding finding)
{
    MEM_ADD(findings->items, findings->count) = finding;
}

void guard_findings_fini(struct guard_findings *findings)
{
    EACH (item, findings->items, findings->count)
        free(item->text);
    free(findings->items);
    *findings = (struct guard_findings){0};
}

bool guard_findings_block(const struct guard_findings *findings)
{
    EACH (item, findings->items, findings->count)
        if (item->blocks)
            return true;
    return false;
}

bool guard_findings_hold(const struct guard_findings *findings)
{
    EACH (item, findings->items, findings->count)
        if (item->holds)
            return true;
    return false;
}

char *guard_findings_text(const struct guard_findings *findings)
{
    struct text text = {0};
    EACH (item, findings->items, findings->count)
        if (item->blocks)
            text_addf(&text, "%s%s", text.length ? "; " : "", item->text);
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

/* In use, without what displays have of it. Where one of them does not tell, nothing can be
 * said. */
static struct reading used_bytes(const struct guard_look *look)
{
    struct reading used = guard_reading(look, GPU_MEMORY_USED_BYTES);
    EACH (user, look->users, look->user_count)
        if (user->graphics) {
            used.valid = used.valid && user->memory_bytes.valid;
            used.value -= user->memory_bytes.value;
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
    return (struct reading){
        used.value > known->empty_bytes.value ? used.value - known->empty_bytes.value : 0, true};
}

void guard_known_learn(struct guard_known *known, const struct guard_look *look)
{
    struct reading used = used_bytes(look), total = guard_reading(look, GPU_MEMORY_TOTAL_BYTES);
    if (known->empty_bytes.valid || !used.valid)
        return;
    EACH (user, look->users, look->user_count)
        if (!user->graphics && user->memory_bytes.valid)
            used.value -= user->memory_bytes.value;
    /* Where the driver states its own memory, an empty GPU uses nothing. */
    bool apart = guard_reading(look, GPU_MEMORY_RESERVED_BYTES).valid;
    double most = apart ? 0 : OWN_MAX_BYTES;
    if (!apart && total.valid && total.value * OWN_MAX_SHARE < most)
        most = total.value * OWN_MAX_SHARE;
    double empty = used.value < 0 ? 0 : used.value < most ? used.value : most;
    known->empty_bytes = (struct reading){empty, true};
}

static const double MIB = 1048576;

/* Beyond the idle power by more than this share and these watts, a GPU does something. */
static const double POWER_SHARE = 0.15, POWER_W = 10;
/* As long as nothing idle was measured: more than this share of its limit no GPU draws idle. */
static const double POWER_LIMIT_SHARE = 0.5;

/* A finding has to last that long; heat and power of our own job may take that long to go. */
static const double CONFIRM_S = 1.5, SETTLE_S = 30;

enum { PASSES = 0, BLOCKS = 1, HOLDS = 2 };

/* how: PASSES, or BLOCKS and HOLDS. Takes text. */
static void add_guard_finding(struct guard_findings *out, const char *kind, int how, char *text)
{
    guard_findings_add(
        out, (struct guard_finding){
                 .kind = kind, .text = text, .blocks = how & BLOCKS, .holds = how & HOLDS});
}
#define ADD(out, kind, how, ...) add_guard_finding((out), (kind), (how), mem_printf(__VA_ARGS__))

/* In the finding added last. */
static void name_pid(struct guard_findings *out, int32_t pid)
{
    struct guard_finding *finding = &out->items[out->count - 1];
    finding->pids[finding->pid_count++] = pid;
}

static void add_foreign_process_finding(const struct guard_look *look,
                                        const struct guard_user *user, struct guard_findings *out)
{
    struct text text = {0};
    text_addf(&text, "%s is used by %s", look->device, user->text);
    if (user->memory_bytes.valid)
        text_addf(&text, ", %.0f MiB", user->memory_bytes.value / MIB);
    if (user->sm_percent.valid)
        text_addf(&text, ", %.0f %% of its time", user->sm_percent.value);
    add_guard_finding(out, "foreign_process", BLOCKS | HOLDS, text_take(&text));
    name_pid(out, user->pid);
    out->items[out->count - 1].start_time = user->start_time;
    out->items[out->count - 1].other_user = user->other_user;
}

/* The driver's numbers of them, and their memory: all that is known here. */
static struct guard_finding unseen_finding(const struct guard_look *look, size_t unseen)
{
    struct guard_finding finding = {.kind = "processes_unseen"};
    struct text text = {0};
    text_addf(&text,
              "%s: %zu process%s of unknown owner: /proc does not show what the driver names",
              look->device, unseen, unseen == 1 ? "" : "es");
    for (size_t i = 0; i < look->user_count && finding.pid_count < GUARD_PIDS_MAX; i++) {
        const struct guard_user *user = &look->users[i];
        if (user->owner != GUARD_UNSEEN)
            continue;
        text_addf(&text, "%s pid %d", finding.pid_count ? "," : ":", (int)user->pid);
        finding.pids[finding.pid_count++] = user->pid;
        if (user->memory_bytes.valid)
            text_addf(&text, " with %.0f MiB", user->memory_bytes.value / MIB);
    }
    finding.text = text_take(&text);
    return finding;
}

static void check_gpu_users(const struct guard_look *look, struct guard_findings *out)
{
    size_t unseen = 0;
    EACH (user, look->users, look->user_count) {
        if (guard_is_foreign(user))
            add_foreign_process_finding(look, user, out);
        unseen += user->owner == GUARD_UNSEEN;
    }
    if (!look->readings)
        ADD(out, "processes_unseen", PASSES, "%s: nothing can be read of it", look->device);
    else if (!look->listed)
        ADD(out, "processes_unseen", PASSES, "%s: the driver does not tell who computes on it",
            look->device);
    else if (unseen > 0)
        guard_findings_add(out, unseen_finding(look, unseen));
    else if (look->left_out > 0)
        ADD(out, "processes_unseen", PASSES, "%s: %zu processes more than can be checked",
            look->device, look->left_out);
}

/* Checks the memory that foreign processes do not explain; unknown if one of them has an unknown
 * size. */
static void check_gpu_memory(const struct preflight_settings *settings,
                             const struct guard_known *known, const struct guard_look *look,
                             struct guard_findings *out)
{
    struct reading excess = guard_excess_bytes(look, known);
    if (look->readings && !guard_reading(look, GPU_MEMORY_USED_BYTES).valid)
        ADD(out, "gpu_state_unchecked", PASSES,
            "%s does not tell how much of its memory is in use: that it was empty before was not "
            "checked",
            look->device);
    for (size_t i = 0; excess.valid && i < look->user_count; i++) {
        const struct guard_user *user = &look->users[i];
        if (!guard_is_foreign(user))
            continue;
        if (user->memory_bytes.valid)
            excess.value -= user->memory_bytes.value;
        else
            excess.valid = false;
    }
    if (!excess.valid || excess.value <= (double)settings->memory_bytes)
        return;
    ADD(out, "memory_not_empty", BLOCKS | HOLDS,
        "%s has %.0f MiB in use that no process seen here explains", look->device,
        excess.value / MIB);
}

static void check_gpu_load(const struct preflight_settings *settings,
                           const struct guard_known *known, const struct guard_look *look,
                           struct guard_findings *out)
{
    struct reading utilisation = guard_reading(look, GPU_UTILISATION_PERCENT);
    struct reading limit = guard_reading(look, GPU_POWER_LIMIT_W);
    struct reading power =
        look->readings ? gpu_readings_power_w(look->readings) : (struct reading){0};
    double most_w = limit.valid ? limit.value * POWER_LIMIT_SHARE : 0;
    if (known->idle_power_w.valid)
        most_w = known->idle_power_w.value * (1 + POWER_SHARE) + POWER_W;
    if (look->readings && !utilisation.valid && (!power.valid || most_w == 0))
        ADD(out, "gpu_state_unchecked", PASSES,
            "%s tells neither how busy it is nor its power: that it was idle before was not "
            "checked",
            look->device);
    if (utilisation.valid && utilisation.value > settings->utilisation_percent)
        ADD(out, "gpu_busy_before", BLOCKS | HOLDS, "%s is busy: %.0f %% of the time", look->device,
            utilisation.value);
    else if (power.valid && most_w > 0 && power.value > most_w)
        ADD(out, "gpu_busy_before", BLOCKS, "%s draws %.0f W, idle it is at most %.0f W",
            look->device, power.value, most_w);
}

static void check_gpu_heat(const struct preflight_settings *settings,
                           const struct guard_known *known, const struct guard_look *look,
                           struct guard_findings *out)
{
    static const unsigned brakes =
        GPU_CLOCK_HW_SLOWDOWN | GPU_CLOCK_HW_THERMAL | GPU_CLOCK_POWER_BRAKE | GPU_CLOCK_SW_THERMAL;
    struct reading temperature = guard_reading(look, GPU_TEMPERATURE_C),
                   reasons = guard_reading(look, GPU_CLOCK_REASONS);
    double most_c = known->start_c.valid ? known->start_c.value + settings->band_c : 0;
    if (settings->temperature_c > 0 && (most_c == 0 || settings->temperature_c < most_c))
        most_c = settings->temperature_c;
    if (temperature.valid && most_c > 0 && temperature.value > most_c)
        ADD(out, "hot_start", BLOCKS, "%s has %.0f °C, the start band ends at %.0f °C",
            look->device, temperature.value, most_c);
    if (reasons.valid && ((unsigned)reasons.value & brakes))
        ADD(out, "brake_before", BLOCKS, "%s is slowed down by heat or power supply", look->device);
}

void preflight_look(const struct preflight_settings *settings, const struct guard_known *known,
                    const struct guard_look *look, struct guard_findings *out)
{
    check_gpu_users(look, out);
    check_gpu_memory(settings, known, look, out);
    check_gpu_load(settings, known, look, out);
    check_gpu_heat(settings, known, look, out);
}

/* Heat and power that our own job may have left. */
static bool may_be_ours(const struct guard_findings *findings)
{
    EACH (item, findings->items, findings->count) {
        const char *kind = item->kind;
        bool goes = strcmp(kind, "hot_start") == 0 || strcmp(kind, "gpu_busy_before") == 0 ||
                    strcmp(kind, "brake_before") == 0;
        if (item->blocks && !goes)
            return false;
    }
    return true;
}

enum preflight_step preflight_decide(const struct preflight_settings *settings,
                                     const struct guard_findings *findings, double waited_s,
                                     bool settling, double scale)
{
    if (!guard_findings_block(findings))
        return PREFLIGHT_CLEAR;
    bool waits = settings->policy == PREFLIGHT_WAIT;
    double patience_s = waits                               ? settings->wait_s
                        : settling && may_be_ours(findings) ? SETTLE_S
                                                            : CONFIRM_S;
    if (waited_s < patience_s * scale)
        return PREFLIGHT_LOOK_ON;
    /* Heat may be the room's: then no wait ends it, and no program has to go. */
    bool stops = settings->policy == PREFLIGHT_REFUSE || (waits && guard_findings_hold(findings));
    return stops ? PREFLIGHT_STOP : PREFLIGHT_OVERRIDE;
}

void preflight_evidence(const struct preflight_settings *settings,
                        const struct guard_findings *findings, double waited_s,
                        struct guard_findings *out)
{
    if (settings->policy == PREFLIGHT_WAIT && guard_findings_block(findings)) {
        char time[32];
        clock_format_duration(waited_s, time);
        AUTO_FREE char *text = guard_findings_text(findings);
        ADD(out, "went_on_after_wait", PASSES, "begun after a wait of %s, although %s", time, text);
    }
    EACH (item, findings->items, findings->count) {
        struct guard_finding finding = *item;
        finding.text = mem_strdup(finding.text);
        guard_findings_add(out, finding);
    }
}

/* What remains when those are taken away whose memory is known. */
struct rest {
    double unexplained_bytes;
    size_t foreign, unseen;
    bool hidden; /* some foreign process does not tell what it has */
};

static struct rest rest_of(const struct guard_look *look, double excess_bytes)
{
    struct rest rest = {.unexplained_bytes = excess_bytes, .unseen = look->left_out};
    EACH (user, look->users, look->user_count) {
        rest.unseen += user->owner == GUARD_UNSEEN;
        if (!guard_is_foreign(user))
            continue;
        rest.foreign++;
        if (user->memory_bytes.valid)
            rest.unexplained_bytes -= user->memory_bytes.value;
        else
            rest.hidden = true;
    }
    return rest;
}

static void name_holder(const struct guard_look *look, const struct guard_user *user,
                        const struct postflight_times *times, struct guard_findings *out)
{
    char memory[40] = "";
    if (user->memory_bytes.valid)
        snprintf(memory, sizeof memory, ", %.0f MiB", user->memory_bytes.value / MIB);
    if (user->start_time >= times->born && user->start_time <= times->ended)
        ADD(out, "possibly_delegated", PASSES,
            "%s is still used by %s%s; it was born outside the job while that ran, and is left "
            "alone",
            look->device, user->text, memory);
    else
        ADD(out, "foreign_after", PASSES, "%s is used by %s%s", look->device, user->text, memory);
    name_pid(out, user->pid);
}

static void name_holders(const struct guard_look *look, const struct postflight_times *times,
                         struct guard_findings *out)
{
    EACH (user, look->users, look->user_count)
        if (guard_is_foreign(user) && !user->known)
            name_holder(look, user, times, out);
}

enum postflight_state postflight_judge(const struct preflight_settings *settings,
                                       const struct guard_known *known,
                                       const struct guard_look *look,
                                       const struct postflight_times *times, double since_s,
                                       double scale, struct guard_findings *out)
{
    bool over = since_s >= settings->memory_wait_s * scale;
    double tolerance = (double)settings->memory_bytes;
    struct reading excess = guard_excess_bytes(look, known);
    if (!excess.valid)
        return over ? POSTFLIGHT_UNKNOWN : POSTFLIGHT_WAIT;
    struct rest rest = rest_of(look, excess.value);
    if (excess.value <= tolerance) {
        name_holders(look, times, out);
        return rest.foreign > 0 ? POSTFLIGHT_HELD : POSTFLIGHT_BACK;
    }
    if (rest.unexplained_bytes > tolerance && !over)
        return POSTFLIGHT_WAIT;
    name_holders(look, times, out);
    if (rest.unexplained_bytes <= tolerance || rest.hidden)
        return POSTFLIGHT_HELD;
    if (rest.unseen > 0 || !look->listed) {
        ADD(out, "processes_unseen", PASSES,
            "%s: %.0f MiB are still in use, by whom cannot be seen", look->device,
            rest.unexplained_bytes / MIB);
        return POSTFLIGHT_UNKNOWN;
    }
    ADD(out, "memory_leaked", PASSES,
        "%s: %.0f MiB are still in use %.0f s after the job was gone, and no process holds them",
        look->device, rest.unexplained_bytes / MIB, since_s);
    return POSTFLIGHT_LEAKED;
}

/* ---- The pause. */

/* What counts as the same: sensors round to a degree, and power to some watts. */
static const double SAME_C = 1, SAME_SHARE = 0.05, SAME_W = 3;

enum { CALM_LOOKS = 2 };

void cooldown_begin(struct cooldown *cooldown)
{
    *cooldown = (struct cooldown){0};
}

static bool power_is_idle(struct cooldown *cooldown, const struct guard_known *known,
                          struct reading power)
{
    struct reading idle = known->idle_power_w.valid ? known->idle_power_w : cooldown->last_power_w;
    cooldown->last_power_w = power;
    return !power.valid || (idle.valid && power.value <= idle.value * (1 + SAME_SHARE) + SAME_W);
}

/* At its start value; where that is not known: no lower than before. */
static bool is_cool(struct cooldown *cooldown, const struct guard_known *known,
                    struct reading temperature)
{
    if (!temperature.valid)
        return true;
    bool falls = !cooldown->lowest_c.valid || temperature.value < cooldown->lowest_c.value;
    if (falls)
        cooldown->lowest_c = temperature;
    return known->start_c.valid ? temperature.value <= known->start_c.value + SAME_C : !falls;
}

bool cooldown_look(struct cooldown *cooldown, const struct guard_known *known,
                   const struct guard_look *look)
{
    struct reading power =
        look->readings ? gpu_readings_power_w(look->readings) : (struct reading){0};
    struct reading temperature = guard_reading(look, GPU_TEMPERATURE_C);
    bool idle = power_is_idle(cooldown, known, power), cool = is_cool(cooldown, known, temperature);
    bool tells = power.valid || temperature.valid;
    cooldown->calm_looks = tells && idle && cool ? cooldown->calm_looks + 1 : 0;
    return cooldown->calm_looks >= CALM_LOOKS;
}

enum cooldown_state cooldown_decide(const struct cooldown_settings *settings, double planned_s,
                                    double since_s, bool all_settled, bool blind, double scale)
{
    if (settings->mode == COOLDOWN_FIXED || blind)
        return since_s >= planned_s * scale ? COOLDOWN_OVER : COOLDOWN_GOES_ON;
    if (all_settled && since_s >= settings->min_s * scale)
        return COOLDOWN_OVER;
    return since_s >= settings->max_s * scale ? COOLDOWN_AT_LIMIT : COOLDOWN_GOES_ON;
}

bool idle_is_even(const struct idle_window *window)
{
    return fabs(window->drift_w) <=
           fmax(SAME_W, SAME_SHARE * window->power_w) + 2 * window->half_width_w;
}

struct idle_net idle_net_of(const struct idle_window *before, const struct idle_window *after,
                            struct reading gross_j, struct reading gross_half_width_j,
                            double duration_s)
{
    struct idle_net net = {0};
    if (!before->proven || !after->proven || !gross_j.valid)
        return net;
    double power_w = (before->power_w + after->power_w) / 2;
    double read_out_w = hypot(before->half_width_w, after->half_width_w) / 2;
    double drift_w = 0.95 * fabs(after->power_w - before->power_w) / 2;
    net.energy_j = (struct reading){gross_j.value - power_w * duration_s, true};
    net.half_width_j =
        (struct reading){hypot(gross_half_width_j.value, hypot(read_out_w, drift_w) * duration_s),
                         gross_half_width_j.valid};
    return net;
}
