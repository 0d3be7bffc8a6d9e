#include "measure/guard/preflight.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const double MIB = 1048576;

/* Beyond the idle power by more than this share and these watts, a GPU does something. */
static const double POWER_SHARE = 0.15, POWER_W = 10;
/* As long as nothing idle was measured: more than this share of its limit no GPU draws idle. */
static const double POWER_LIMIT_SHARE = 0.5;

/* A finding has to last that long; heat and power of our own job may take that long to go. */
static const double CONFIRM_S = 1.5, SETTLE_S = 30;

static void add_process(const struct guard_look *look, const struct guard_user *user, struct guard_findings *out)
{
    struct text text = {0};
    text_addf(&text, "%s is used by %s", look->device, user->text);
    if (user->memory_bytes.valid)
        text_addf(&text, ", %.0f MiB", user->memory_bytes.value / MIB);
    if (user->sm_percent.valid)
        text_addf(&text, ", %.0f %% of its time", user->sm_percent.value);
    guard_findings_add(out, (struct guard_finding){.kind = "foreign_process",
                                                   .text = text_take(&text),
                                                   .pids = {user->pid},
                                                   .pid_count = 1,
                                                   .blocks = true,
                                                   .works = user->sm_percent.valid && user->sm_percent.value > 0});
}

/* The driver's numbers of them, and their memory: all that is known here. */
static struct guard_finding unseen_finding(const struct guard_look *look, size_t unseen)
{
    struct guard_finding finding = {.kind = "processes_unseen"};
    struct text text = {0};
    text_addf(&text, "%s: %zu process%s of unknown owner: /proc does not show what the driver names", look->device,
              unseen, unseen == 1 ? "" : "es");
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

static void look_at_users(const struct guard_look *look, struct guard_findings *out)
{
    size_t unseen = 0;
    for (size_t i = 0; i < look->user_count; i++) {
        if (guard_is_foreign(&look->users[i]))
            add_process(look, &look->users[i], out);
        unseen += look->users[i].owner == GUARD_UNSEEN;
    }
    struct guard_finding finding = {.kind = "processes_unseen"};
    if (!look->readings)
        finding.text = mem_printf("%s: nothing can be read of it", look->device);
    else if (!look->listed)
        finding.text = mem_printf("%s: the driver does not tell who computes on it", look->device);
    else if (unseen > 0)
        finding = unseen_finding(look, unseen);
    else if (look->left_out > 0)
        finding.text = mem_printf("%s: %zu processes more than can be checked", look->device, look->left_out);
    if (finding.text)
        guard_findings_add(out, finding);
}

/* What the foreign processes do not explain; with one whose memory nobody knows, nothing can be said. */
static void look_at_memory(const struct preflight_settings *settings, const struct guard_known *known,
                           const struct guard_look *look, struct guard_findings *out)
{
    struct reading excess = guard_excess_bytes(look, known);
    if (look->readings && !guard_reading(look, GPU_MEMORY_USED_BYTES).valid)
        guard_findings_add(out, (struct guard_finding){
                                    .kind = "gpu_state_unchecked",
                                    .text = mem_printf("%s does not tell how much of its memory is in use: that it was "
                                                       "empty before was not checked",
                                                       look->device)});
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
    guard_findings_add(
        out, (struct guard_finding){.kind = "memory_not_empty",
                                    .text = mem_printf("%s has %.0f MiB in use that no process seen here explains",
                                                       look->device, excess.value / MIB),
                                    .blocks = true});
}

static void look_at_load(const struct preflight_settings *settings, const struct guard_known *known,
                         const struct guard_look *look, struct guard_findings *out)
{
    struct reading utilisation = guard_reading(look, GPU_UTILISATION_PERCENT);
    struct reading limit = guard_reading(look, GPU_POWER_LIMIT_W);
    struct reading power = look->readings ? gpu_readings_power_w(look->readings) : (struct reading){0};
    double most_w = limit.valid ? limit.value * POWER_LIMIT_SHARE : 0;
    if (known->idle_power_w.valid)
        most_w = known->idle_power_w.value * (1 + POWER_SHARE) + POWER_W;
    char *text = NULL;
    if (look->readings && !utilisation.valid && (!power.valid || most_w == 0))
        guard_findings_add(
            out, (struct guard_finding){.kind = "gpu_state_unchecked",
                                        .text = mem_printf("%s tells neither how busy it is nor its power: that it "
                                                           "was idle before was not checked",
                                                           look->device)});
    if (utilisation.valid && utilisation.value > settings->utilisation_percent)
        text = mem_printf("%s is busy: %.0f %% of the time", look->device, utilisation.value);
    else if (power.valid && most_w > 0 && power.value > most_w)
        text = mem_printf("%s draws %.0f W, idle it is at most %.0f W", look->device, power.value, most_w);
    if (text)
        guard_findings_add(
            out, (struct guard_finding){.kind = "gpu_busy_before", .text = text, .blocks = true, .works = true});
}

static void look_at_heat(const struct preflight_settings *settings, const struct guard_known *known,
                         const struct guard_look *look, struct guard_findings *out)
{
    static const unsigned brakes =
        GPU_CLOCK_HW_SLOWDOWN | GPU_CLOCK_HW_THERMAL | GPU_CLOCK_POWER_BRAKE | GPU_CLOCK_SW_THERMAL;
    struct reading temperature = guard_reading(look, GPU_TEMPERATURE_C),
                   reasons = guard_reading(look, GPU_CLOCK_REASONS);
    double most_c = known->start_c.valid ? known->start_c.value + settings->band_c : 0;
    if (settings->temperature_c > 0 && (most_c == 0 || settings->temperature_c < most_c))
        most_c = settings->temperature_c;
    if (temperature.valid && most_c > 0 && temperature.value > most_c)
        guard_findings_add(out,
                           (struct guard_finding){.kind = "hot_start",
                                                  .text = mem_printf("%s has %.0f °C, the start band ends at %.0f °C",
                                                                     look->device, temperature.value, most_c),
                                                  .blocks = true});
    if (reasons.valid && ((unsigned)reasons.value & brakes))
        guard_findings_add(
            out, (struct guard_finding){.kind = "brake_before",
                                        .text = mem_printf("%s is slowed down by heat or power supply", look->device),
                                        .blocks = true,
                                        .works = true});
}

void preflight_look(const struct preflight_settings *settings, const struct guard_known *known,
                    const struct guard_look *look, struct guard_findings *out)
{
    look_at_users(look, out);
    look_at_memory(settings, known, look, out);
    look_at_load(settings, known, look, out);
    look_at_heat(settings, known, look, out);
}

/* Heat and power that our own job may have left. */
static bool may_be_ours(const struct guard_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const char *kind = findings->items[i].kind;
        bool goes =
            strcmp(kind, "hot_start") == 0 || strcmp(kind, "gpu_busy_before") == 0 || strcmp(kind, "brake_before") == 0;
        if (findings->items[i].blocks && !goes)
            return false;
    }
    return true;
}

enum preflight_step preflight_decide(const struct preflight_settings *settings, const struct guard_findings *findings,
                                     double looked_s, bool settling, double scale)
{
    if (!guard_findings_block(findings))
        return PREFLIGHT_CLEAR;
    double patience_s = settings->policy == PREFLIGHT_WAIT  ? settings->wait_s
                        : settling && may_be_ours(findings) ? SETTLE_S
                                                            : CONFIRM_S;
    if (looked_s < patience_s * scale)
        return PREFLIGHT_LOOK_ON;
    return settings->policy == PREFLIGHT_REFUSE ? PREFLIGHT_STOP : PREFLIGHT_OVERRIDE;
}

void preflight_evidence(const struct preflight_settings *settings, const struct guard_findings *findings,
                        double waited_s, struct guard_findings *out)
{
    bool waited = settings->policy == PREFLIGHT_WAIT;
    if (waited && guard_findings_block(findings)) {
        char time[32];
        clock_format_duration(waited_s, time);
        AUTO_FREE char *text = guard_findings_text(findings);
        guard_findings_add(
            out, (struct guard_finding){.kind = "went_on_after_wait",
                                        .text = mem_printf("begun after a wait of %s, although %s", time, text)});
    }
    for (size_t i = 0; i < findings->count; i++) {
        struct guard_finding finding = findings->items[i];
        if (waited && finding.blocks && !finding.works)
            continue;
        finding.text = mem_strdup(finding.text);
        guard_findings_add(out, finding);
    }
}
