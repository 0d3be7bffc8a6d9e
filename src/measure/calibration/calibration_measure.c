#include "measure/calibration/calibration_measure.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "measure/calibration/calibration_permit.h"
#include "measure/calibration/calibration_private.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>

static const int64_t LOOK_NS = 20 * NS_PER_S, LATE_NS = 10 * NS_PER_S;
static const int64_t LEAD_NS = 300 * NS_PER_MS; /* from the order to a part's begin */

static const double MIB = 1048576;
/* More memory in use than when the load was ready: somebody whom the driver does not list. */
static const double OTHERS_MIB = 64;
/* Power and temperature are back. */
static const double BACK_W = 2, BACK_SHARE = 0.05, BACK_C = 2;

const char *const calibration_outcome_names[] = {
    [CALIBRATION_FAILED] = "failed",
    [CALIBRATION_REFUSED] = "refused",
    [CALIBRATION_INTERRUPTED] = "interrupted",
    [CALIBRATION_MADE] = "made",
};

bool calibration_look(const struct calibration_options *options, struct calibration_look *out,
                      struct err *err)
{
    struct child child;
    struct message message;
    int64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
    bool good = calibration_child_start(options, ROLE_WATCH, NULL, &child, err) &&
                calibration_child_next(&child, deadline_ns, &message, err) &&
                calibration_child_look(&child, deadline_ns, out, err);
    calibration_child_stop(&child);
    return good;
}

struct measuring_gpu {
    const struct calibration_options *options;
    struct child watch, reader, load;
    struct calibration_data *data;
    struct calibration_look look;  /* the newest */
    struct reading first_energy_j; /* of the first look */
    double integral_j;             /* of power over the looks */
    double idle_w, idle_c;         /* before the load */
    int64_t first_ns, ready_ns;    /* the first look; when the load was ready (0: not yet) */
    double ready_bytes;            /* in use then; 0: unknown */
    double planned_s;
    int64_t began_ns;
};

static bool end_as(struct measuring_gpu *gpu, enum calibration_outcome outcome)
{
    gpu->data->outcome = outcome;
    return false;
}

/* What somebody else has on the GPU: the driver lists them, or their memory shows. */
static bool check_alone(struct measuring_gpu *gpu, struct err *err)
{
    const struct gpu_users *users = &gpu->look.users;
    struct reading used = gpu->look.readings.of[GPU_MEMORY_USED_BYTES];
    const struct gpu_user *other = NULL;
    bool own = false;
    for (uint32_t i = 0; i < users->count; i++)
        if (users->users[i].pid == gpu->load.pid)
            own = true;
        else
            other = &users->users[i];
    if (gpu->ready_ns == 0)
        return true;
    if (!users->told || users->left_out > 0 || !own) {
        err_set(err, "the driver's list of processes lacks the calibration's own, so others may be "
                     "missing as well "
                     "(a container?)");
        return end_as(gpu, CALIBRATION_REFUSED);
    }
    if (gpu->ready_bytes <= 0 && used.valid)
        gpu->ready_bytes = used.value;
    double more = used.valid ? used.value - gpu->ready_bytes : 0;
    if (!other && more <= OTHERS_MIB * MIB)
        return true;
    if (other)
        err_set(err, "process %d came to the GPU", (int)other->pid);
    else
        err_set(err, "%.0f MiB more of the GPU's memory are in use than the calibration has",
                more / MIB);
    return end_as(gpu, CALIBRATION_INTERRUPTED);
}

/* In a container the driver may list the load by another number: only that there are two is
 * certain. */
static bool check_shared(struct measuring_gpu *gpu, struct err *err)
{
    const struct gpu_users *users = &gpu->look.users;
    size_t computing = 0;
    for (uint32_t i = 0; users->told && i < users->count; i++)
        computing += users->users[i].compute;
    if (computing <= 1)
        return true;
    err_set(err, "another process computes on the GPU");
    return end_as(gpu, CALIBRATION_INTERRUPTED);
}

static void count_energy(struct measuring_gpu *gpu, int64_t before_ns)
{
    struct calibration_data *data = gpu->data;
    const struct calibration_look *look = &gpu->look;
    struct reading power_w = gpu_readings_power_w(&look->readings);
    if (gpu->first_ns == 0) {
        gpu->first_ns = look->t_ns;
        gpu->first_energy_j = look->energy_j;
    } else if (power_w.valid) {
        gpu->integral_j += power_w.value * ns_to_s(look->t_ns - before_ns);
    }
    bool counted = gpu->first_energy_j.valid && look->energy_j.valid;
    double counter_j = look->energy_j.value - gpu->first_energy_j.value;
    data->seconds = ns_to_s(look->t_ns - gpu->first_ns);
    data->energy_j =
        (struct reading){counted ? counter_j : gpu->integral_j, counted || power_w.valid};
}

/* The next look of the process that watches the GPU. False: the calibration ends. */
static bool read_next_look(struct measuring_gpu *gpu, struct err *err)
{
    int64_t before_ns = gpu->look.t_ns;
    if (!calibration_child_look(&gpu->watch, clock_monotonic_ns() + LATE_NS, &gpu->look, err))
        return false;
    count_energy(gpu, before_ns);
    if (!gpu->data->loaded)
        return !gpu->options->alone || calibration_permits(&gpu->look, err) ||
               end_as(gpu, CALIBRATION_REFUSED);
    return gpu->options->alone ? check_alone(gpu, err) : check_shared(gpu, err);
}

/* Before the load. */
static bool be_quiet(struct measuring_gpu *gpu, struct err *err)
{
    double sum_w = 0;
    size_t count = 0;
    int64_t end_ns = clock_monotonic_ns() + llround(gpu->options->quiet_s * 1e9);
    do {
        if (!read_next_look(gpu, err))
            return false;
        struct reading power_w = gpu_readings_power_w(&gpu->look.readings);
        sum_w += power_w.valid ? power_w.value : 0;
        count++;
    } while (gpu->look.t_ns < end_ns);
    gpu->idle_w = sum_w / (double)count;
    gpu->idle_c = gpu->look.readings.of[GPU_TEMPERATURE_C].value;
    return true;
}

/* After it: what is measured next begins as if there had been none. Nothing that comes of it ends
 * the calibration. */
static void await_return(struct measuring_gpu *gpu)
{
    int64_t end_ns = clock_monotonic_ns() + llround(gpu->options->return_s * 1e9);
    double band_w = fmax(BACK_W, BACK_SHARE * gpu->idle_w);
    while (clock_monotonic_ns() < end_ns) {
        int64_t before_ns = gpu->look.t_ns;
        if (!calibration_child_look(&gpu->watch, clock_monotonic_ns() + LATE_NS, &gpu->look, NULL))
            return;
        count_energy(gpu, before_ns);
        struct reading power_w = gpu_readings_power_w(&gpu->look.readings);
        struct reading heat_c = gpu->look.readings.of[GPU_TEMPERATURE_C];
        if ((!power_w.valid || power_w.value <= gpu->idle_w + band_w) &&
            (!heat_c.valid || heat_c.value <= gpu->idle_c + BACK_C))
            return;
    }
}

static void keep_reading(struct calibration_data *data, const struct message *message)
{
    struct calibration_readings *series;
    if (message->series < 0 || message->series >= CALIBRATION_SERIES)
        return;
    series = &data->series[message->series];
    MEM_ADD(series->items, series->count) = message->reading;
}

static void keep_load(struct calibration_data *data, const struct message *message)
{
    const struct sensor_reading *span = &message->reading;
    MEM_ADD(data->loads, data->load_count) =
        (struct load_interval){span->before_ns, span->after_ns, 1};
    if ((int64_t)span->value > data->uncertain_ns)
        data->uncertain_ns = (int64_t)span->value;
}

/* Takes what all say until until_ns, or (0) until the load is done with its part. */
static bool gather(struct measuring_gpu *gpu, int64_t until_ns, int64_t deadline_ns,
                   struct err *err)
{
    for (int64_t told_ns = 0;;) {
        int64_t now_ns = clock_monotonic_ns();
        struct pollfd fds[] = {{.fd = gpu->reader.from, .events = POLLIN},
                               {.fd = gpu->watch.from, .events = POLLIN},
                               {.fd = gpu->load.from, .events = POLLIN}};
        struct message message;
        if (until_ns != 0 && now_ns >= until_ns)
            return true;
        if (now_ns > deadline_ns)
            return err_set(err, "the GPU's driver does not answer");
        poll(fds, until_ns != 0 ? 2 : 3, 100);
        if (fds[1].revents != 0 && !read_next_look(gpu, err))
            return false;
        if (fds[0].revents != 0) {
            if (!calibration_child_next(&gpu->reader, deadline_ns, &message, err))
                return false;
            if (message.kind == MESSAGE_READING)
                keep_reading(gpu->data, &message);
        }
        if (until_ns == 0 && fds[2].revents != 0) {
            if (!calibration_child_next(&gpu->load, deadline_ns, &message, err))
                return false;
            if (message.kind == MESSAGE_DONE)
                return true;
            if (message.kind == MESSAGE_LOADED)
                keep_load(gpu->data, &message);
        }
        if (gpu->options->progress && now_ns - told_ns > NS_PER_S) {
            gpu->options->progress(gpu->options->progress_data,
                                   ns_to_s(now_ns - gpu->began_ns) / gpu->planned_s);
            told_ns = now_ns;
        }
    }
}

static bool play_load_schedule(struct measuring_gpu *gpu, struct sensor_schedule *part,
                               struct err *err)
{
    int64_t begin_ns = clock_monotonic_ns() + LEAD_NS, end_ns = begin_ns + part->end_ns;
    uint64_t count = part->count;
    EACH (item, part->loads, part->count) {
        item->begin_ns += begin_ns;
        item->end_ns += begin_ns;
    }
    if (count > 0 &&
        (!fs_write_all(gpu->load.to, (const char *)&count, sizeof count, NULL) ||
         !fs_write_all(gpu->load.to, (const char *)part->loads, count * sizeof *part->loads, NULL)))
        return err_set(err, "the process that loads the GPU ended");
    return (count == 0 || gather(gpu, 0, end_ns + LATE_NS, err)) &&
           gather(gpu, end_ns, end_ns + LATE_NS, err);
}

/* The counter's period, else that of the power figure; 0: unknown. */
static double period_of(const struct calibration_data *data)
{
    static const enum calibration_series order[] = {CALIBRATION_COUNTER, CALIBRATION_POWER};
    EACH (item, order, 2) {
        struct sensor_learnt learnt;
        const struct calibration_readings *series = &data->series[*item];
        if (*item == CALIBRATION_COUNTER)
            sensor_learn_counter(data->loads, data->load_count, series->items, series->count,
                                 &learnt);
        else
            sensor_learn_power(data->loads, data->load_count, series->items, series->count,
                               &learnt);
        if (learnt.update_period_s.known)
            return learnt.update_period_s.value;
    }
    return 0;
}

static bool play_all(struct measuring_gpu *gpu, struct err *err)
{
    static struct sensor_schedule part;
    double seconds = gpu->options->seconds;
    sensor_schedule_steps(seconds, &part);
    if (!play_load_schedule(gpu, &part, err))
        return false;
    sensor_schedule_waves(seconds, period_of(gpu->data), &part);
    if (!play_load_schedule(gpu, &part, err))
        return false;
    sensor_schedule_rest(seconds, &part);
    return play_load_schedule(gpu, &part, err);
}

/* The load's process, ready to be ordered, and what it takes of the GPU's memory. */
static bool start_load(struct measuring_gpu *gpu, struct err *err)
{
    struct message message;
    struct reading before = gpu->look.readings.of[GPU_MEMORY_USED_BYTES];
    int64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
    gpu->data->loaded = true;
    if (!calibration_child_start(gpu->options, ROLE_LOAD, gpu->look.identity.uuid, &gpu->load, err))
        return false;
    for (struct pollfd fds[2];;) {
        fds[0] = (struct pollfd){.fd = gpu->load.from, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = gpu->watch.from, .events = POLLIN};
        poll(fds, 2, 100);
        if (fds[1].revents != 0 && !read_next_look(gpu, err))
            return false;
        if (fds[0].revents != 0)
            break;
        if (clock_monotonic_ns() > deadline_ns)
            return err_set(err, "the GPU's driver does not answer");
    }
    if (!calibration_child_next(&gpu->load, deadline_ns, &message, err))
        return false;
    int64_t ready_ns = clock_monotonic_ns();
    do { /* one that was taken before is of the time before */
        if (!read_next_look(gpu, err))
            return false;
    } while (gpu->look.t_ns < ready_ns);
    gpu->ready_ns = ready_ns;
    struct reading used = gpu->look.readings.of[GPU_MEMORY_USED_BYTES];
    gpu->data->memory_bytes =
        (struct reading){used.value - before.value, used.valid && before.valid};
    return !gpu->options->alone || check_alone(gpu, err);
}

static bool run_calibration_children(struct measuring_gpu *gpu, struct err *err)
{
    struct message message;
    int64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
    if (!calibration_child_start(gpu->options, ROLE_WATCH, NULL, &gpu->watch, err) ||
        !calibration_child_next(&gpu->watch, deadline_ns, &message, err) || !be_quiet(gpu, err))
        return false;
    gpu->data->identity = gpu->look.identity;
    if (!start_load(gpu, err) ||
        !calibration_child_start(gpu->options, ROLE_READ, NULL, &gpu->reader, err) ||
        !calibration_child_next(&gpu->reader, clock_monotonic_ns() + LOOK_NS, &message, err))
        return false;
    gpu->began_ns = clock_monotonic_ns();
    return play_all(gpu, err);
}

bool calibration_measure(const struct calibration_options *options, struct calibration_data *out,
                         struct err *err)
{
    struct measuring_gpu gpu = {.options = options,
                                .data = out,
                                .planned_s = options->seconds,
                                .watch = CHILD_NONE,
                                .reader = CHILD_NONE,
                                .load = CHILD_NONE};
    *out = (struct calibration_data){.outcome = CALIBRATION_FAILED};
    bool good = run_calibration_children(&gpu, err);
    calibration_child_stop(&gpu.load);
    calibration_child_stop(&gpu.reader);
    if (good)
        out->outcome = CALIBRATION_MADE;
    if (out->loaded && gpu.watch.from >= 0)
        await_return(&gpu);
    calibration_child_stop(&gpu.watch);
    return good;
}

void calibration_data_fini(struct calibration_data *data)
{
    free(data->loads);
    for (int i = 0; i < CALIBRATION_SERIES; i++)
        free(data->series[i].items);
    *data = (struct calibration_data){0};
}
