#include "measure/guard/postflight.h"

#include "base/mem.h"

#include <stdio.h>

static const double MIB = 1048576;

/* What remains when those are taken away whose memory is known. */
struct rest {
    double unexplained_bytes;
    size_t foreign, unseen;
    bool hidden; /* some foreign process does not tell what it has */
};

static struct rest rest_of(const struct guard_look *look, double excess_bytes)
{
    struct rest rest = {.unexplained_bytes = excess_bytes, .unseen = look->left_out};
    for (size_t i = 0; i < look->user_count; i++) {
        const struct guard_user *user = &look->users[i];
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

static void add(struct guard_findings *out, const char *kind, char *text)
{
    guard_findings_add(out, (struct guard_finding){.kind = kind, .text = text});
}

static void name_holder(const struct guard_look *look, const struct guard_user *user,
                        const struct postflight_times *times, struct guard_findings *out)
{
    struct guard_finding finding;
    char memory[40] = "";
    if (user->memory_bytes.valid)
        snprintf(memory, sizeof memory, ", %.0f MiB", user->memory_bytes.value / MIB);
    if (user->start_time >= times->born && user->start_time <= times->ended)
        finding = (struct guard_finding){
            .kind = "possibly_delegated",
            .text =
                mem_printf("%s is still used by %s%s; it was born outside the job while that ran, and is left alone",
                           look->device, user->text, memory)};
    else
        finding = (struct guard_finding){
            .kind = "foreign_after", .text = mem_printf("%s is used by %s%s", look->device, user->text, memory)};
    finding.pids[finding.pid_count++] = user->pid;
    guard_findings_add(out, finding);
}

static void name_holders(const struct guard_look *look, const struct postflight_times *times,
                         struct guard_findings *out)
{
    for (size_t i = 0; i < look->user_count; i++)
        if (guard_is_foreign(&look->users[i]) && !look->users[i].known)
            name_holder(look, &look->users[i], times, out);
}

enum postflight_state postflight_judge(const struct preflight_settings *settings, const struct guard_known *known,
                                       const struct guard_look *look, const struct postflight_times *times,
                                       double since_s, double scale, struct guard_findings *out)
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
        add(out, "processes_unseen",
            mem_printf("%s: %.0f MiB are still in use, by whom cannot be seen", look->device,
                       rest.unexplained_bytes / MIB));
        return POSTFLIGHT_UNKNOWN;
    }
    add(out, "memory_leaked",
        mem_printf("%s: %.0f MiB are still in use %.0f s after the job was gone, and no process holds them",
                   look->device, rest.unexplained_bytes / MIB, since_s));
    return POSTFLIGHT_LEAKED;
}
