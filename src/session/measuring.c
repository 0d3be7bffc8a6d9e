#include "session/measuring.h"
#include "machine/contain/usage.h"
#include "measure/energy_meters_measure.h"
#include "measure/marks/epochs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "machine/sensors/time_scale.h"
#include "machine/state/state.h"
#include "session/calibrating.h"
#include "session/command.h"
#include "session/gpus.h"
#include "tare_build.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct host_meter *meters_open_host(void)
{
    /* Root looks at the machine itself, not where a user says that one is. */
    bool root_for_another = geteuid() == 0 && getenv("SUDO_UID");
    return host_meter_new(&(struct rapl_places){.sysroot = root_for_another ? NULL : gpus_root()});
}

static void add_metered_gpus(const struct gpu_devices *devices, const bool *used,
                             struct meters *out)
{
    out->gpus = mem_array(devices->count + 1, sizeof *out->gpus);
    for (size_t i = 0; i < devices->count; i++) {
        const struct gpu_device *device = &devices->items[i];
        if (!used[i] || device->excluded)
            continue;
        out->gpus[out->options.gpu_count++] = (struct energy_meters_gpu){
            /* Without a UUID yet, by the driver's number. */
            .device = *device->uuid
                          ? mem_strdup(device->uuid)
                          : mem_printf("%zu", gpu_devices_number(devices, device->vendor, i)),
            .label = mem_printf("GPU %zu", gpu_devices_number(devices, NULL, i)),
            .vendor = device->vendor,
            .library = gpus_library(device->vendor),
        };
    }
    out->options.gpus = out->gpus;
}

struct calibration_place {
    struct meters *meters;
    const char *path;
    int dir;
    bool of_root;
};

static void note_refused_calibration(const struct calibration_place *place, const char *name,
                                     const char *reason)
{
    strv_add_owned(
        &place->meters->refused,
        mem_printf("calibration %s/%s is not used: %s; delete it, and calibrate again (" TARE_NAME
                   " calibrate)",
                   place->path, name, reason));
}

static bool is_calibration_of_root(const struct meters *meters,
                                   const struct calibration *calibration)
{
    EACH (item, meters->calibrations, meters->options.calibration_count)
        if (strcmp(item->uuid, calibration->uuid) == 0 && item->of_root)
            return true;
    return false;
}

static void add_calibration(void *data, const char *name, const struct calibration *calibration,
                            const struct err *why)
{
    const struct calibration_place *place = data;
    struct meters *meters = place->meters;
    struct stat status;
    if (!calibration) {
        note_refused_calibration(place, name, why->text);
        return;
    }
    AUTO_FREE char *stale = calibration_stale(calibration, NULL, clock_realtime_ns() / NS_PER_S);
    bool owned = fstatat(place->dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                 status.st_uid == (place->of_root ? 0 : geteuid()) &&
                 !(status.st_mode & (S_IWGRP | S_IWOTH));
    if (!owned || stale) {
        note_refused_calibration(place, name,
                                 owned ? stale : "others than its owner could have written it");
        return;
    }
    if (!place->of_root && is_calibration_of_root(meters, calibration))
        return;
    size_t count = meters->options.calibration_count++;
    meters->calibrations =
        mem_resize(meters->calibrations, count + 1, sizeof *meters->calibrations);
    meters->calibrations[count] = *calibration;
    meters->calibrations[count].of_root = place->of_root;
    meters->options.calibrations = meters->calibrations;
}

static void set_host_meter(struct host_meter *host, struct meters *out)
{
    out->options.host = host;
    if (host && host_meter_rapl(host)->count > 0)
        host_meter_prove(host);
}

/* path: for the warning where others than the owner could have written there; NULL: none. */
static int open_owned(struct meters *meters, int above, const char *name, uid_t owner,
                      const char *path)
{
    struct stat st;
    AUTO_CLOSE int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool seen = dir >= 0 && fstat(dir, &st) == 0;
    bool ours = seen && st.st_uid == owner && !(st.st_mode & (S_IWGRP | S_IWOTH));
    if (seen && !ours && path)
        strv_add_owned(
            &meters->refused,
            mem_printf(
                "calibrations in %s are not used: others than user %u could have written them; "
                "check them, then: chown %u %s && chmod go-w %s",
                path, (unsigned)owner, (unsigned)owner, path, path));
    return ours ? steal_fd(&dir) : -1;
}

char *meters_calibrations_path(void)
{
    bool root_for_another = geteuid() == 0 && getenv("SUDO_UID");
    return mem_printf("%s/var/lib/" TARE_NAME "/calibrations", root_for_another ? "" : gpus_root());
}

/* Root's first: a user's of the same GPU does not replace it. From where state.h keeps what a
 * user's runs tell each other; nothing is made. */
static void read_known(struct meters *out)
{
    AUTO_STRV struct strv paths = {0};
    struct err ignored;
    AUTO_FREE char *system = meters_calibrations_path();
    AUTO_FREE char *parent = mem_strndup(system, (size_t)(strrchr(system, '/') - system));
    AUTO_CLOSE int library = open_owned(out, AT_FDCWD, parent, 0, parent);
    AUTO_CLOSE int top = library >= 0 ? open_owned(out, library, "calibrations", 0, system) : -1;
    if (top >= 0)
        calibration_each(top, add_calibration, &(struct calibration_place){out, system, top, true});
    if (!state_paths(&paths, &ignored))
        return;
    EACH (item, paths.items, paths.count) {
        /* Where others may write here, state_open says so. */
        AUTO_FREE char *path = mem_printf("%s/runs", *item);
        AUTO_CLOSE int above = open_owned(out, AT_FDCWD, *item, geteuid(), NULL);
        AUTO_CLOSE int dir = above >= 0 ? open_owned(out, above, "runs", geteuid(), NULL) : -1;
        if (dir >= 0)
            calibration_each(dir, add_calibration,
                             &(struct calibration_place){out, path, dir, false});
    }
}

void meters_say_refused(const struct meters *meters)
{
    EACH (item, meters->refused.items, meters->refused.count)
        cli_warning("%s", *item);
}

void meters_distrust_jobs(struct meters *meters, bool mount_namespace)
{
    size_t kept = 0;
    EACH (one, meters->calibrations, meters->options.calibration_count) {
        if (mount_namespace || one->of_root)
            meters->calibrations[kept++] = *one;
        else
            strv_add_owned(&meters->refused,
                           mem_printf("the calibration of %s is not used: without a mount "
                                      "namespace trainings can write "
                                      "it; have root calibrate (sudo " TARE_NAME
                                      " calibrate --as-root)",
                                      one->uuid));
    }
    meters->options.calibration_count = kept;
}

static void begin_meters(struct meters *out)
{
    *out = (struct meters){0};
    read_known(out);
}

static bool choose_listed_gpus(const struct gpu_devices *devices, const char *list, bool *used,
                               struct err *err)
{
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ","), place = 0;
        if (!gpus_find(devices, word, length, &place))
            return err_set(
                err,
                "'%.*s' is no GPU of this machine, which has %zu (by number from 0, or by UUID)",
                (int)length, word, devices->count);
        used[place] = true;
    }
    return true;
}

bool meters_choose(const char *list, struct host_meter *host, struct meters *out, struct err *err)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    begin_meters(out);
    if (!gpu_devices_read(gpus_root(), &devices, err))
        return false;
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    bool all = strcmp(list, "all") == 0;
    EACH (item, used, devices.count)
        *item = all;
    if (!all && !choose_listed_gpus(&devices, list, used, err))
        return false;
    add_metered_gpus(&devices, used, out);
    set_host_meter(host, out);
    return true;
}

void meters_find(const struct strv *environment, const struct plan *plan, struct host_meter *host,
                 struct meters *out)
{
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    begin_meters(out);
    /* what could not be read was told when the locks were taken */
    gpu_devices_read(gpus_root(), &devices, NULL);
    gpus_fence(environment, &devices);
    AUTO_FREE bool *used = mem_array(devices.count + 1, sizeof *used);
    gpus_select(&devices, environment, plan, !plan, used); /* a run warned when it locked them */
    add_metered_gpus(&devices, used, out);
    set_host_meter(host, out);
}

bool meters_scale(struct meters *meters, struct err *err)
{
    struct energy_meters_options *options = &meters->options;
    if (!time_scale_read(getenv(TIME_SCALE_VARIABLE), &options->time_scale, err))
        return false;
    EACH (gpu, meters->gpus, options->gpu_count)
        if (!time_scale_permitted(options->time_scale, gpu->vendor->backend, gpu->library, err))
            return false;
    return true;
}

void meters_fini(struct meters *meters)
{
    EACH (gpu, meters->gpus, meters->options.gpu_count) {
        free(gpu->device);
        free(gpu->label);
    }
    free(meters->gpus);
    free(meters->calibrations);
    strv_fini(&meters->refused);
    *meters = (struct meters){0};
}

/* Readings in step with the counter's updates would all err to one side
 * (docs/explanation/uncertainty.md): each wait differs. */
static const int64_t TICK_NS = NS_PER_S, TICK_SPREAD_NS = 100 * NS_PER_MS;

/* A driver may have to wake its GPUs first. */
static const int64_t START_NS = 10 * NS_PER_S;

static const int64_t ANSWER_NS = 3 * NS_PER_S / 2;

/* Counters that were watched for less are given a load to move under before they are believed. */
static const int64_t JUDGED_NS = 2 * NS_PER_S;

/* What marks so often is not measured epoch by epoch. */
enum { EPOCHS_MAX = 10000 };

enum { NOTES_MAX = 8, LOOK_MS = 20 };

struct measuring {
    struct energy_meters *energy_meters;
    struct host_meter *host;
    struct rng rng;
    int64_t new_ns, tick_ns, ready_ns, start_ns, end_ns;
    struct strv notes;
    bool has_subject;
    struct mark *marks;
    size_t mark_count;
    struct step_marks steps;
};

static void note_gap(void *data, const char *label, const struct meter_gap *gap)
{
    struct measuring *measuring = data;
    if (measuring->start_ns == 0 || gap->end_ns != 0 || measuring->notes.count >= NOTES_MAX)
        return;
    double at_s = (double)(gap->start_ns - measuring->start_ns) / (double)NS_PER_S;
    strv_add_owned(&measuring->notes, mem_printf("%s: nothing was read from %.1f s on: %s", label,
                                                 at_s > 0 ? at_s : 0, gap->reason));
}

struct measuring *measuring_new(const struct energy_meters_options *options, struct err *err)
{
    struct measuring *measuring = mem_alloc(sizeof *measuring);
    struct energy_meters_listener listener = {.gap = note_gap, .data = measuring};
    rng_seed(&measuring->rng, (uint64_t)clock_monotonic_ns());
    measuring->new_ns = clock_monotonic_ns();
    measuring->host = options->host;
    measuring->energy_meters = energy_meters_new(options, &listener, err);
    if (measuring->energy_meters)
        return measuring;
    free(measuring);
    return NULL;
}

void measuring_free(struct measuring *measuring)
{
    if (!measuring)
        return;
    energy_meters_free(measuring->energy_meters);
    strv_fini(&measuring->notes);
    free(measuring->marks);
    step_marks_fini(&measuring->steps);
    free(measuring);
}

int measuring_fd(const struct measuring *measuring)
{
    return energy_meters_fd(measuring->energy_meters);
}

bool measuring_starting(const struct measuring *measuring)
{
    return energy_meters_starting(measuring->energy_meters) &&
           clock_monotonic_ns() - measuring->new_ns < START_NS;
}

int measuring_wait_ms(const struct measuring *measuring)
{
    if (measuring->start_ns == 0)
        return LOOK_MS;
    int64_t left_ns = measuring->tick_ns - clock_monotonic_ns();
    return left_ns <= 0 ? 0 : (int)(left_ns / NS_PER_MS) + 1;
}

static void set_tick(struct measuring *measuring, int64_t now_ns)
{
    int64_t spread_ns = (int64_t)rng_below(&measuring->rng, (uint64_t)TICK_SPREAD_NS);
    measuring->tick_ns = now_ns + TICK_NS - TICK_SPREAD_NS / 2 + spread_ns;
}

void measuring_step(struct measuring *measuring)
{
    int64_t now_ns = clock_monotonic_ns();
    energy_meters_dispatch(measuring->energy_meters);
    if (measuring->ready_ns == 0 && !energy_meters_starting(measuring->energy_meters))
        measuring->ready_ns = now_ns;
    if (measuring->start_ns == 0 || measuring->end_ns != 0 || now_ns < measuring->tick_ns)
        return;
    energy_meters_tick(measuring->energy_meters);
    set_tick(measuring, now_ns);
}

void measuring_begin(struct measuring *measuring, const struct measuring_subject *subject)
{
    measuring->start_ns = clock_monotonic_ns();
    measuring->has_subject = subject->job || subject->pid != 0;
    if (subject->pid != 0)
        energy_meters_begin_process(measuring->energy_meters, subject->pid, subject->start_time);
    else
        energy_meters_begin(measuring->energy_meters, subject->job);
    set_tick(measuring, measuring->start_ns);
}

void measuring_end(struct measuring *measuring, const struct job_usage *usage, int64_t end_ns)
{
    measuring->end_ns = end_ns > measuring->start_ns ? end_ns : clock_monotonic_ns();
    energy_meters_edge(measuring->energy_meters);
    energy_meters_end(measuring->energy_meters, usage);
}

bool measuring_has_ended(const struct measuring *measuring)
{
    return measuring->end_ns != 0;
}

void measuring_mark(struct measuring *measuring, const struct mark *mark)
{
    measuring->marks = mem_room(measuring->marks, measuring->mark_count, sizeof *measuring->marks);
    measuring->marks[measuring->mark_count++] = *mark;
    energy_meters_mark(measuring->energy_meters);
}

bool measuring_mark_step(struct measuring *measuring, const struct mark *mark)
{
    return step_marks_take(&measuring->steps, mark);
}

/* The answers come with the meters' own times: reading them late costs nothing. */
static void await_answers(struct measuring *measuring)
{
    struct pollfd wait = {.fd = energy_meters_fd(measuring->energy_meters), .events = POLLIN};
    int64_t until_ns = clock_monotonic_ns() + ANSWER_NS;
    measuring_step(measuring);
    while (energy_meters_waiting(measuring->energy_meters) > 0 && clock_monotonic_ns() < until_ns) {
        poll(&wait, 1, LOOK_MS);
        measuring_step(measuring);
    }
}

void measuring_finish(struct measuring *measuring, struct measured *out)
{
    await_answers(measuring);
    if (measuring->host && measuring->end_ns - measuring->start_ns < JUDGED_NS &&
        host_meter_rapl(measuring->host)->count > 0)
        host_meter_prove(measuring->host);
    *out = (struct measured){.start_ns = measuring->start_ns,
                             .end_ns = measuring->end_ns,
                             .ready_ns = measuring->ready_ns,
                             .unanswered = energy_meters_waiting(measuring->energy_meters),
                             .notes = measuring->notes,
                             .has_subject = measuring->has_subject,
                             .marks = steal_ptr(measuring->marks)};
    measuring->notes = (struct strv){0};
    size_t count = 0;
    out->epochs = epochs_cut(out->marks, measuring->mark_count, measuring->start_ns,
                             measuring->end_ns, true, &count);
    if (count > EPOCHS_MAX) {
        strv_add_owned(
            &out->notes,
            mem_printf("%zu epochs: more than %d are not measured one by one", count, EPOCHS_MAX));
        count = 0;
    }
    energy_meters_measure(measuring->energy_meters, measuring->start_ns, measuring->end_ns,
                          out->epochs, count, &measuring->steps, &out->result);
    char *hint = calibrating_hint(&out->result);
    if (hint)
        strv_add_owned(&out->notes, hint);
}

void measured_fini(struct measured *measured)
{
    energy_meters_result_fini(&measured->result);
    strv_fini(&measured->notes);
    free(measured->epochs);
    free(measured->marks);
}

bool measuring_useful(const struct measuring *measuring)
{
    AUTO(energy_meters_result_fini) struct energy_meters_result result = {0};
    int64_t now_ns = clock_monotonic_ns();
    bool useful = false;
    energy_meters_measure(measuring->energy_meters, now_ns - NS_PER_S, now_ns, NULL, 0, NULL,
                          &result);
    EACH (device, result.devices, result.device_count)
        useful |= device->scope != ENERGY_PLATFORM;
    return useful;
}
