#include "doctor/doctor_now.h"
#include "base/json.h"
#include "base/mem.h"
#include "doctor/doctor_sensors.h"
#include "doctor/doctor_text.h"
#include "machine/sensors/meter.h"
#include "measure/guard/who.h"
#include "session/measuring.h"
#include "tare_build.h"

#include <string.h>

static const char section[] = "GPUs now";

static const double MIB = 1048576;

/* As the guard has them before an attempt: docs/reference/settings-keys.md, preflight. */
static const double BUSY_PERCENT = 5, EMPTY_BYTES = 64.0 * 1048576;
/* Where the driver counts its own memory with the rest, an empty GPU of today has some hundred MiB
 * in use. */
static const double EMPTY_WITH_DRIVER_BYTES = 1024.0 * 1048576;

static struct finding make_gpu_finding(const struct doctor_gpu *gpu, const char *name)
{
    return (struct finding){.section = section,
                            .name = name,
                            .data = json_pack("{s:s}", "gpu", gpu->label),
                            .advice = true};
}

static const char *find_gpu_fix(const struct doctor_gpu *gpu, enum gpu_fix what)
{
    return gpu->vendor ? gpu->vendor->fixes[what] : NULL;
}

static void add_idle(const struct doctor_gpu *gpu, struct findings *out)
{
    struct reading busy = gpu->readings->of[GPU_UTILISATION_PERCENT],
                   heat = gpu->readings->of[GPU_TEMPERATURE_C],
                   clock = gpu->readings->of[GPU_SM_CLOCK_MHZ],
                   power = gpu_readings_power_w(gpu->readings);
    struct finding finding = make_gpu_finding(gpu, "gpu idle");
    struct text text = {0};
    json_set_reading(finding.data, "utilisation_percent", busy);
    json_set_reading(finding.data, "power_w", power);
    json_set_reading(finding.data, "temperature_c", heat);
    json_set_reading(finding.data, "sm_clock_mhz", clock);
    text_addf(&text, "%s: ", gpu->label);
    if (busy.valid)
        text_addf(&text, "busy %.0f %% of the time", busy.value);
    else
        text_add(&text, "whether it is busy is not told");
    if (power.valid)
        text_addf(&text, ", %.0f W", power.value);
    if (heat.valid)
        text_addf(&text, ", %.0f °C", heat.value);
    if (clock.valid)
        text_addf(&text, ", %.0f MHz", clock.value);
    finding.text = text_take(&text);
    if (busy.valid && busy.value > BUSY_PERCENT) {
        finding.mark = FINDING_WRONG;
        finding.reason = mem_strdup("something works on it: what is measured now is that as well");
        finding.mend = mem_strdup(find_gpu_fix(gpu, GPU_FIX_BUSY));
    } else if (!busy.valid) {
        finding.mark = FINDING_UNCHECKED;
    }
    findings_add(out, finding);
}

/* "pid 4242 of user ann, 'python train.py', 2 min old", or that nobody here can know. */
static void add_user(const struct doctor_gpu *gpu, const struct gpu_user *user, struct text *text,
                     json_t *list)
{
    AUTO(who_fini) struct who who = {0};
    bool seen = who_look(gpu->proc, user->pid, &who);
    AUTO_FREE char *words =
        seen ? who_text(&who, "/etc/passwd")
             : mem_printf("pid %d (not seen here: of another container, or hidden)", user->pid);
    json_array_append_new(list,
                          json_pack("{s:i, s:o, s:o, s:o, s:o}", "pid", (int)user->pid, "command",
                                    json_text_or_null(seen ? who.command : NULL), "uid",
                                    seen ? json_integer(who.uid) : json_null(), "orphan",
                                    seen ? json_boolean(who.orphan) : json_null(), "memory_bytes",
                                    json_reading_or_null(user->memory_bytes)));
    text_addf(text, "%s%s", text->length ? "; " : "", words);
    if (user->memory_bytes.valid)
        text_addf(text, ", %.0f MiB", user->memory_bytes.value / MIB);
}

struct occupied {
    struct text compute; /* who computes, in words */
    double known_bytes;  /* of all whose memory is known */
    bool unknown;        /* somebody's is not */
    size_t graphics;
    json_t *list;
};

static void list_gpu_users(const struct doctor_gpu *gpu, struct occupied *out)
{
    *out = (struct occupied){.list = json_array()};
    for (uint32_t i = 0; gpu->users && i < gpu->users->count; i++) {
        const struct gpu_user *user = &gpu->users->users[i];
        out->known_bytes += user->memory_bytes.valid ? user->memory_bytes.value : 0;
        out->unknown = out->unknown || !user->memory_bytes.valid;
        out->graphics += user->graphics && !user->compute;
        if (user->compute)
            add_user(gpu, user, &out->compute, out->list);
    }
}

static void judge_used_memory(const struct doctor_gpu *gpu, const struct occupied *occupied,
                              struct finding *finding)
{
    struct reading used = gpu->readings->of[GPU_MEMORY_USED_BYTES];
    double own =
        gpu->readings->of[GPU_MEMORY_RESERVED_BYTES].valid ? EMPTY_BYTES : EMPTY_WITH_DRIVER_BYTES;
    double excess = used.valid && !occupied->unknown ? used.value - occupied->known_bytes : 0;
    json_set_reading(finding->data, "memory_used_bytes", used);
    if (occupied->compute.length > 0)
        finding_set(finding, FINDING_WRONG, NULL,
                    "wait for it, or end it if it is yours; what a dead run left: " TARE_NAME
                    " clean --kill",
                    "%s: used by %s", gpu->label, occupied->compute.data);
    else if (excess > own)
        finding_set(finding, FINDING_WRONG,
                    "a program of another container or user, or memory that was never given back",
                    find_gpu_fix(gpu, GPU_FIX_HELD),
                    "%s: %.0f MiB are in use, and no process is seen that has them", gpu->label,
                    excess / MIB);
    else if (!gpu->users)
        finding_set(finding, FINDING_UNCHECKED, gpu->users_why, NULL,
                    "%s: who uses it is not told, so nobody can say that it is ours alone",
                    gpu->label);
    else
        finding_set(finding, FINDING_YES, NULL, NULL, "%s: no process computes on it%s", gpu->label,
                    occupied->graphics ? " (a display has it, which counts as empty)" : "");
}

static void add_empty_finding(const struct doctor_gpu *gpu, struct findings *out)
{
    struct finding finding = make_gpu_finding(gpu, "gpu empty");
    struct occupied occupied;
    list_gpu_users(gpu, &occupied);
    judge_used_memory(gpu, &occupied, &finding);
    json_object_set_new(finding.data, "processes", occupied.list);
    text_fini(&occupied.compute);
    findings_add(out, finding);
}

static void add_brakes(const struct doctor_gpu *gpu, struct findings *out)
{
    static const unsigned hardware =
        GPU_CLOCK_HW_SLOWDOWN | GPU_CLOCK_HW_THERMAL | GPU_CLOCK_POWER_BRAKE;
    struct reading reasons = gpu->readings->of[GPU_CLOCK_REASONS];
    struct finding finding = make_gpu_finding(gpu, "gpu throttling");
    unsigned bits = reasons.valid ? (unsigned)reasons.value : 0;
    if (!reasons.valid)
        finding_set(&finding, FINDING_UNCHECKED, NULL, NULL,
                    "%s: whether heat or power slow it down is not told", gpu->label);
    else if (bits & hardware)
        finding_set(&finding, FINDING_WRONG, NULL, find_gpu_fix(gpu, GPU_FIX_SLOWED),
                    "%s: its hardware slows it down, for heat or for its power supply", gpu->label);
    else if (bits & GPU_CLOCK_SW_THERMAL)
        finding_set(&finding, FINDING_NO, NULL, "let it cool down, and look after its cooling",
                    "%s: the driver slows it down, for heat", gpu->label);
    else
        finding_set(&finding, FINDING_YES, NULL, NULL, "%s: nothing slows it down", gpu->label);
    findings_add(out, finding);
}

/* Only where there is something to tell. */
static void add_errors(const struct doctor_gpu *gpu, struct findings *out)
{
    struct reading errors = gpu->readings->of[GPU_ECC_UNCORRECTED];
    if (!errors.valid || errors.value <= 0)
        return;
    struct finding finding = make_gpu_finding(gpu, "gpu memory");
    finding.advice = false;
    finding_set(&finding, FINDING_NO, NULL, find_gpu_fix(gpu, GPU_FIX_ERRORS),
                "%s: %.0f memory error%s could not be corrected since the driver was loaded",
                gpu->label, errors.value, errors.value > 1 ? "s" : "");
    json_set_reading(finding.data, "errors", errors);
    findings_add(out, finding);
}

static void add_persistence(const struct doctor_gpu *gpu, struct findings *out)
{
    struct finding finding = make_gpu_finding(gpu, "persistence");
    switch (gpu->identity->persistence) {
    case GPU_PERSISTENCE_ON:
        finding_set(&finding, FINDING_YES, NULL, NULL, "%s: stays set up between trainings",
                    gpu->label);
        break;
    case GPU_PERSISTENCE_OFF:
        finding.advice = false;
        finding_set(&finding, FINDING_NO, NULL, find_gpu_fix(gpu, GPU_FIX_PERSISTENCE),
                    "%s: is set up anew for each training, which takes time and energy, and "
                    "forgets its clocks and limits",
                    gpu->label);
        break;
    case GPU_PERSISTENCE_UNKNOWN:
        finding_set(&finding, FINDING_FACT, NULL, NULL,
                    "%s: the driver does not tell its persistence mode", gpu->label);
        break;
    }
    findings_add(out, finding);
}

void doctor_now_gpu(const struct doctor_gpu *gpu, struct findings *out)
{
    if (!gpu->readings) {
        struct finding finding = make_gpu_finding(gpu, "gpu answers");
        finding_set(&finding, FINDING_WRONG, gpu->why, find_gpu_fix(gpu, GPU_FIX_UNTOLD),
                    "%s: what it does now is not told", gpu->label);
        findings_add(out, finding);
        return;
    }
    if (gpu->identity->mig == GPU_MIG_ON || gpu->identity->mig == GPU_MIG_PART) {
        struct finding finding = make_gpu_finding(gpu, "gpu whole");
        finding.advice = false;
        finding_set(&finding, FINDING_WRONG, NULL, find_gpu_fix(gpu, GPU_FIX_PARTS),
                    "%s: is divided into parts (MIG), whose energy nobody can tell", gpu->label);
        findings_add(out, finding);
    }
    add_idle(gpu, out);
    add_empty_finding(gpu, out);
    add_brakes(gpu, out);
    add_errors(gpu, out);
    add_persistence(gpu, out);
}

/* One GPU that is being asked. */
struct asked {
    struct meter *meter;
    struct err err; /* why there is no meter */
    bool ordered, listed, refused;
    struct gpu_users users;
    char why[METER_TEXT_SIZE]; /* no list of users */
};

/* False: it is done. */
static bool ask_gpu_step(void *one, int *fd)
{
    struct asked *asked = one;
    struct meter_response response;
    *fd = asked->meter ? meter_fd(asked->meter) : -1;
    for (int takes = 0; asked->meter && takes < 16 && meter_take(asked->meter, &response);
         takes++) {
        if (response.kind != METER_USERS)
            continue;
        asked->listed = response.status == METER_OK;
        asked->refused = !asked->listed;
        asked->users = response.users;
        snprintf(asked->why, sizeof asked->why, "%s", response.text);
    }
    if (asked->meter && !asked->ordered && meter_state(asked->meter) == METER_READY)
        asked->ordered = meter_request(asked->meter, METER_USERS, 1);
    return asked->meter && meter_state(asked->meter) != METER_UNAVAILABLE && !asked->listed &&
           !asked->refused;
}

static void judge_asked_gpu(const struct asked *asked, const struct energy_meters_gpu *one,
                            struct findings *out)
{
    size_t samples = 0;
    const struct gpu_sample *sample = asked->meter ? meter_samples(asked->meter, &samples) : NULL;
    const struct meter_description *about = asked->meter ? meter_describe(asked->meter) : NULL;
    bool given_up = asked->meter && meter_state(asked->meter) == METER_UNAVAILABLE;
    struct doctor_gpu gpu = {
        .label = one->label,
        .vendor = one->vendor,
        .proc = "/proc",
        .readings = about && samples > 0 ? &sample[samples - 1].readings : NULL,
        .identity = about ? &about->identity : NULL,
        .users = asked->listed && asked->users.told ? &asked->users : NULL,
        .users_why = *asked->why ? asked->why : "its driver has not answered within 4 s",
        .why = !asked->meter ? asked->err.text
               : given_up    ? meter_reason(asked->meter)
                             : "its driver has not answered within 4 s",
    };
    doctor_now_gpu(&gpu, out);
}

void doctor_now(struct findings *out)
{
    AUTO(meters_fini) struct meters found = {0};
    struct err err = {0};
    /* That GPUs cannot be listed is told elsewhere. */
    if (meters_choose("all", NULL, &found, &err)) {
        size_t count = found.options.gpu_count;
        struct asked *asked = mem_array(count + 1, sizeof *asked);
        for (size_t i = 0; i < count; i++)
            asked[i].meter = doctor_meter(&found.gpus[i], &asked[i].err);
        doctor_await(asked, count, sizeof *asked, ask_gpu_step);
        for (size_t i = 0; i < count; i++)
            judge_asked_gpu(&asked[i], &found.gpus[i], out);
        EACH (item, asked, count)
            meter_free(item->meter);
        free(asked);
    }
}
