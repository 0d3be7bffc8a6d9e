/* What a meter's answer holds, checked before it is believed: the process that sent it had a
 * driver's library in it. */
#include "base/mem.h"
#include "machine/sensors/meter_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void copy_reply_text(char *out, size_t size, char *text, size_t text_size)
{
    text[text_size - 1] = '\0';
    snprintf(out, size, "%s", text);
}

static bool counts_fit(const struct meter_reply *reply)
{
    bool users = reply->kind == METER_USERS, groups = reply->kind == METER_GROUPS;
    return reply->version == METER_VERSION && reply->status <= METER_REFUSED &&
           reply->counter_count <= METER_COUNTER_MAX &&
           reply->power_count <= (users || groups ? 0 : GPU_TRACE_MAX) &&
           reply->user_count <= (users ? GPU_USERS_MAX : 0) &&
           reply->group_count <= (groups ? METER_GROUPS_MAX : 0) &&
           reply->identity.mig <= GPU_MIG_PART &&
           reply->identity.persistence <= GPU_PERSISTENCE_ON && reply->ended_ns >= reply->began_ns;
}

static void copy_reply_description(struct meter *meter)
{
    struct meter_reply *reply = &meter->reply;
    struct meter_description *out = &meter->description;
    struct gpu_identity *who = &out->identity;
    *out = (struct meter_description){.identity = reply->identity,
                                      .has_counter = reply->has & METER_HAS_COUNTER,
                                      .has_trace = reply->has & METER_HAS_TRACE};
    who->minor = who->minor >= 0 ? who->minor : -1;
    who->name[GPU_TEXT_SIZE - 1] = who->uuid[GPU_TEXT_SIZE - 1] = who->pci[GPU_TEXT_SIZE - 1] =
        who->driver[GPU_TEXT_SIZE - 1] = who->library[GPU_TEXT_SIZE - 1] = '\0';
    copy_reply_text(out->counter_why, sizeof out->counter_why, reply->counter_why,
                    sizeof reply->counter_why);
    copy_reply_text(out->trace_why, sizeof out->trace_why, reply->trace_why,
                    sizeof reply->trace_why);
    meter->described = true;
}

static void copy_reply_series(struct meter *meter, struct meter_response *out)
{
    const struct meter_reply *reply = &meter->reply;
    for (uint32_t i = 0; i < reply->counter_count; i++) {
        out->counter[out->counter_count++] = reply->counter[i];
        series_add_counter(&meter->series, reply->counter[i]);
    }
    if (reply->kind == METER_USERS || reply->kind == METER_GROUPS)
        return;
    for (uint32_t i = 0; i < reply->power_count; i++)
        if (isfinite(reply->power[i].power_w))
            series_add_power(&meter->series,
                             (struct power_sample){.t_ns = reply->power[i].t_ns,
                                                   .power_w = reply->power[i].power_w});
    out->power_count = reply->power_count;
    out->power_refused = reply->power_refused;
    out->trace_us = isfinite(reply->trace_us) ? reply->trace_us : 0;
}

static void copy_reply_readings(struct meter *meter, struct meter_response *out)
{
    const struct meter_reply *reply = &meter->reply;
    if (!(reply->has & METER_HAS_READINGS))
        return;
    out->has_sample = true;
    out->sample.t_ns = reply->readings_ns;
    out->sample.memory_peak_ns = reply->memory_peak_ns;
    out->sample.memory_every_ms = reply->memory_every_ms;
    if (reply->memory_peak_bytes > 0 && isfinite(reply->memory_peak_bytes))
        out->sample.memory_peak_bytes = (struct reading){reply->memory_peak_bytes, true};
    for (int i = 0; i < GPU_READING_COUNT; i++)
        if (reply->valid & 1U << i)
            gpu_reading_set(&out->sample.readings, (enum gpu_reading)i, reply->readings[i]);
    MEM_ADD(meter->samples, meter->sample_count) = out->sample;
}

static void copy_reply_users(const struct meter_reply *reply, struct gpu_users *out)
{
    for (uint32_t i = 0; i < reply->user_count; i++) {
        const struct meter_wire_user *user = &reply->users[i];
        out->users[out->count++] = (struct gpu_user){
            .pid = user->pid,
            .compute = user->bits & METER_USER_COMPUTE,
            .graphics = user->bits & METER_USER_GRAPHICS,
            .memory_bytes = {.value = user->memory_bytes, .valid = user->bits & METER_USER_MEMORY},
            .sm_percent = {.value = user->sm_percent, .valid = user->bits & METER_USER_SHARE}};
    }
    out->left_out = reply->left_out;
    out->told = reply->has & METER_HAS_COMPUTE;
}

static void copy_reply_groups(const struct meter_reply *reply, struct meter_response *out)
{
    out->group_count = reply->group_count;
    for (uint32_t i = 0; i < reply->group_count; i++) {
        struct meter_group *group = &out->groups[i];
        *group = reply->groups[i];
        group->name[sizeof group->name - 1] = group->why[sizeof group->why - 1] = '\0';
        if (!isfinite(group->cost_us))
            group->cost_us = 0;
    }
}

bool meter_accept(struct meter *meter, struct meter_response *out)
{
    struct meter_reply *reply = &meter->reply;
    bool starts = meter->state == METER_STARTING;
    if (!counts_fit(reply))
        return false;
    if (starts ? reply->kind != METER_HELLO || reply->id != 0
               : meter->pending_count == 0 || reply->kind != meter->pending[0].kind ||
                     reply->id != meter->pending[0].id)
        return false;
    *out = (struct meter_response){.kind = (enum meter_kind)reply->kind,
                                   .id = reply->id,
                                   .status = (enum meter_status)reply->status,
                                   .began_ns = reply->began_ns,
                                   .ended_ns = reply->ended_ns};
    copy_reply_text(out->text, sizeof out->text, reply->text, sizeof reply->text);
    if (!starts)
        memmove(meter->pending, meter->pending + 1,
                --meter->pending_count * sizeof *meter->pending);
    if (reply->status == METER_REFUSED)
        return true;
    if (reply->kind == METER_HELLO)
        copy_reply_description(meter);
    if (reply->kind == METER_USERS)
        copy_reply_users(reply, &out->users);
    if (reply->kind == METER_GROUPS)
        copy_reply_groups(reply, out);
    copy_reply_series(meter, out);
    copy_reply_readings(meter, out);
    return true;
}
