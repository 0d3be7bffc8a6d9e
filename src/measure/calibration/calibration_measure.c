/* The two processes of a calibration: one reads the GPU as often as it can, one loads it. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/gpu/cuda_load.h"
#include "measure/calibration/calibration.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { REASON_SIZE = 200, BATCH = 64, REAP_TRIES = 100, REAP_PAUSE_MS = 10 };
static const int64_t LOOK_NS = 20 * NS_PER_S, LATE_NS = 10 * NS_PER_S;
static const int64_t READ_PAUSE_NS = 500000, SLOW_NS = 200 * NS_PER_MS, USERS_NS = 2 * NS_PER_S;
static const int64_t SYNC_ROOM_NS = NS_PER_S / 2; /* so much rest before a load: the timers are compared anew */
static const int64_t LEAD_NS = 300 * NS_PER_MS;   /* from the order to a part's begin */

enum message_kind { MESSAGE_READING, MESSAGE_SHARED, MESSAGE_READY, MESSAGE_LOADED, MESSAGE_DONE, MESSAGE_FAILED };

struct message {
    int32_t kind, series;
    struct sensor_reading reading; /* READING; LOADED: begin, end, and how uncertain (ns) */
    char reason[REASON_SIZE];      /* FAILED */
};

struct child {
    pid_t pid;
    int from, to; /* -1: none */
};

static bool write_whole(int fd, const void *bytes, size_t count)
{
    return fs_write_all(fd, bytes, count, NULL);
}

static bool read_whole(int fd, void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = read(fd, (char *)bytes + done, count - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static void say(int fd, enum message_kind kind, const char *reason)
{
    struct message message = {.kind = (int32_t)kind};
    snprintf(message.reason, sizeof message.reason, "%s", reason);
    if (!write_whole(fd, &message, sizeof message))
        _exit(1);
}

/* Ends with its parent, and has nothing of it but its own two descriptors and standard error. */
static void become_child(int parent_pid, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent_pid)
        _exit(1);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(1);
    syscall(SYS_close_range, 3U, ~0U, 0U);
}

struct reader {
    const struct gpu_backend *backend;
    struct gpu_sensor *sensor;
    size_t power_group, temperature_group; /* SIZE_MAX: none */
    struct message batch[BATCH];
    int batched;
};

static void flush(struct reader *reader)
{
    if (!write_whole(1, reader->batch, (size_t)reader->batched * sizeof *reader->batch))
        _exit(1);
    reader->batched = 0;
}

static void add(struct reader *reader, enum calibration_series series, int64_t before_ns, int64_t after_ns,
                double value)
{
    reader->batch[reader->batched++] =
        (struct message){.kind = MESSAGE_READING, .series = (int32_t)series, .reading = {before_ns, after_ns, value}};
    if (reader->batched == BATCH)
        flush(reader);
}

static size_t find_group(const struct gpu_backend *backend, const char *name)
{
    for (size_t i = 0; i < backend->group_count; i++)
        if (strcmp(backend->group_name(i), name) == 0)
            return i;
    return SIZE_MAX;
}

static void read_group(struct reader *reader, size_t group, enum calibration_series series)
{
    struct gpu_readings readings = {0};
    int64_t before_ns = clock_monotonic_ns();
    if (group == SIZE_MAX || !reader->backend->group_read(reader->sensor, group, &readings, NULL))
        return;
    int64_t after_ns = clock_monotonic_ns();
    struct reading value =
        series == CALIBRATION_POWER ? gpu_readings_power_w(&readings) : readings.of[GPU_TEMPERATURE_C];
    if (value.valid)
        add(reader, series, before_ns, after_ns, value.value);
}

static void read_fast(struct reader *reader)
{
    uint64_t energy_mj;
    read_group(reader, reader->power_group, CALIBRATION_POWER);
    int64_t before_ns = clock_monotonic_ns();
    if (reader->backend->counter(reader->sensor, &energy_mj, NULL))
        add(reader, CALIBRATION_COUNTER, before_ns, clock_monotonic_ns(), (double)energy_mj / 1000);
}

static void read_slow(struct reader *reader)
{
    static struct gpu_trace trace;
    read_group(reader, reader->temperature_group, CALIBRATION_TEMPERATURE);
    if (reader->backend->trace(reader->sensor, &trace, NULL))
        for (uint32_t i = 0; i < trace.count; i++)
            add(reader, CALIBRATION_SAMPLES, trace.samples[i].t_ns, trace.samples[i].t_ns, trace.samples[i].power_w);
    flush(reader);
}

static void look_for_others(struct reader *reader)
{
    struct gpu_users users;
    size_t computing = 0;
    if (!reader->backend->users(reader->sensor, &users, NULL) || !users.told)
        return;
    for (uint32_t i = 0; i < users.count; i++)
        computing += users.users[i].compute;
    if (computing > 1)
        say(1, MESSAGE_SHARED, "");
}

static struct gpu_sensor *open_sensor(const struct calibration_options *options)
{
    struct err err = {0};
    struct gpu_driver *driver = options->backend->open(options->library, &err);
    struct gpu_sensor *sensor = driver ? options->backend->sensor_open(driver, options->device, &err) : NULL;
    if (!sensor) {
        say(1, MESSAGE_FAILED, err.text);
        _exit(1);
    }
    return sensor;
}

/* Until it is killed. */
static void reader_main(const struct calibration_options *options)
{
    static struct reader reader;
    struct gpu_readings probe = {0};
    reader.backend = options->backend;
    reader.sensor = open_sensor(options);
    reader.power_group = find_group(options->backend, "power.instant");
    if (reader.power_group == SIZE_MAX ||
        !options->backend->group_read(reader.sensor, reader.power_group, &probe, NULL))
        reader.power_group = find_group(options->backend, "power.usage");
    reader.temperature_group = find_group(options->backend, gpu_reading_rows[GPU_TEMPERATURE_C].name);
    say(1, MESSAGE_READY, "");
    for (int64_t slow_ns = 0, users_ns = 0;;) {
        int64_t now_ns = clock_monotonic_ns();
        read_fast(&reader);
        if (now_ns - slow_ns > SLOW_NS) {
            read_slow(&reader);
            slow_ns = now_ns;
        }
        if (now_ns - users_ns > USERS_NS) {
            look_for_others(&reader);
            users_ns = now_ns;
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = READ_PAUSE_NS}, NULL);
    }
}

static void look_main(const struct calibration_options *options)
{
    struct calibration_look look = {0};
    struct gpu_sensor *sensor = open_sensor(options);
    options->backend->identify(sensor, &look.identity);
    gpu_readings_take(options->backend, sensor, &look.readings, NULL);
    if (!options->backend->users(sensor, &look.users, NULL))
        look.users.told = false;
    say(1, MESSAGE_READY, "");
    _exit(write_whole(1, &look, sizeof look) ? 0 : 1);
}

static void load_part(struct cuda_load *load, const struct load_interval *orders, size_t count)
{
    struct err err = {0};
    struct cuda_load_span span;
    EACH (order, orders, count) {
        int64_t room_ns = order->begin_ns - clock_monotonic_ns();
        if ((room_ns > SYNC_ROOM_NS && !cuda_load_sync(load, &err)) ||
            !cuda_load_run(load, order->begin_ns, order->end_ns, &span, &err)) {
            say(1, MESSAGE_FAILED, err.text);
            _exit(1);
        }
        struct message message = {.kind = MESSAGE_LOADED,
                                  .reading = {span.begin_ns, span.end_ns, (double)span.uncertain_ns}};
        if (!write_whole(1, &message, sizeof message))
            _exit(1);
    }
    say(1, MESSAGE_DONE, "");
}

/* Takes one part after the other until the pipe is closed. */
static void load_main(const struct calibration_options *options, const char *uuid)
{
    struct err err = {0};
    static struct load_interval orders[SCHEDULE_LOADS_MAX];
    uint64_t count;
    struct cuda_load *load = cuda_load_open(options->cuda_library, uuid, &err);
    if (!load) {
        say(1, MESSAGE_FAILED, err.text);
        _exit(1);
    }
    say(1, MESSAGE_READY, "");
    while (read_whole(0, &count, sizeof count) && count <= SCHEDULE_LOADS_MAX &&
           read_whole(0, orders, count * sizeof *orders))
        load_part(load, orders, count);
    cuda_load_close(load);
    _exit(0);
}

enum role { ROLE_LOOK, ROLE_READ, ROLE_LOAD };

static bool start(const struct calibration_options *options, enum role role, const char *uuid, struct child *out,
                  struct err *err)
{
    int down[2], up[2];
    pid_t parent = getpid();
    *out = (struct child){.from = -1, .to = -1};
    if (pipe2(down, O_CLOEXEC) != 0)
        return err_sys(err, "make a pipe");
    if (pipe2(up, O_CLOEXEC) != 0) {
        close(down[0]);
        close(down[1]);
        return err_sys(err, "make a pipe");
    }
    out->pid = fork();
    if (out->pid == 0) {
        become_child(parent, down[0], up[1]);
        if (role == ROLE_LOOK)
            look_main(options);
        if (role == ROLE_READ)
            reader_main(options);
        load_main(options, uuid);
    }
    close(down[0]);
    close(up[1]);
    out->from = up[0];
    out->to = down[1];
    return out->pid > 0 || err_sys(err, "fork");
}

static void stop(struct child *child)
{
    if (child->to >= 0)
        close(child->to);
    if (child->pid > 0) {
        kill(child->pid, SIGKILL); /* our own child, not reaped */
        for (int i = 0; i < REAP_TRIES && waitpid(child->pid, NULL, WNOHANG) == 0; i++)
            poll(NULL, 0, REAP_PAUSE_MS);
    }
    if (child->from >= 0)
        close(child->from);
    *child = (struct child){.from = -1, .to = -1};
}

static bool await(int fd, int64_t deadline_ns)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t left_ns = deadline_ns - clock_monotonic_ns();
    return left_ns > 0 && poll(&ready, 1, (int)(left_ns / NS_PER_MS) + 1) > 0;
}

static bool next(struct child *child, int64_t deadline_ns, struct message *out, struct err *err)
{
    if (!await(child->from, deadline_ns))
        return err_set(err, "the GPU's driver does not answer");
    if (!read_whole(child->from, out, sizeof *out))
        return err_set(err, "the process that uses the GPU's driver ended");
    out->reason[REASON_SIZE - 1] = '\0';
    return out->kind != MESSAGE_FAILED || err_set(err, "%s", out->reason);
}

bool calibration_look(const struct calibration_options *options, struct calibration_look *out, struct err *err)
{
    struct child child;
    struct message message;
    int64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
    bool good = start(options, ROLE_LOOK, NULL, &child, err) && next(&child, deadline_ns, &message, err) &&
                (await(child.from, deadline_ns) && read_whole(child.from, out, sizeof *out)
                     ? true
                     : err_set(err, "the GPU's driver does not answer"));
    stop(&child);
    return good;
}

struct measuring_gpu {
    const struct calibration_options *options;
    struct child reader, load;
    struct calibration_data *data;
    double planned_s;
    int64_t began_ns;
};

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
    MEM_ADD(data->loads, data->load_count) = (struct load_interval){span->before_ns, span->after_ns, 1};
    if ((int64_t)span->value > data->uncertain_ns)
        data->uncertain_ns = (int64_t)span->value;
}

/* Takes what both say until until_ns, or (0) until the load is done with its part. */
static bool turn(struct measuring_gpu *gpu, int64_t until_ns, int64_t deadline_ns, struct err *err)
{
    for (int64_t told_ns = 0;;) {
        int64_t now_ns = clock_monotonic_ns();
        struct pollfd fds[] = {{.fd = gpu->reader.from, .events = POLLIN}, {.fd = gpu->load.from, .events = POLLIN}};
        struct message message;
        if (until_ns != 0 && now_ns >= until_ns)
            return true;
        if (now_ns > deadline_ns)
            return err_set(err, "the GPU's driver does not answer");
        poll(fds, until_ns != 0 ? 1 : 2, 100);
        if (fds[0].revents != 0) {
            if (!next(&gpu->reader, deadline_ns, &message, err))
                return false;
            if (message.kind == MESSAGE_READING)
                keep_reading(gpu->data, &message);
            gpu->data->shared = gpu->data->shared || message.kind == MESSAGE_SHARED;
        }
        if (until_ns == 0 && fds[1].revents != 0) {
            if (!next(&gpu->load, deadline_ns, &message, err))
                return false;
            if (message.kind == MESSAGE_DONE)
                return true;
            if (message.kind == MESSAGE_LOADED)
                keep_load(gpu->data, &message);
        }
        if (gpu->options->progress && now_ns - told_ns > NS_PER_S) {
            gpu->options->progress(gpu->options->progress_data, ns_to_s(now_ns - gpu->began_ns) / gpu->planned_s);
            told_ns = now_ns;
        }
    }
}

static bool play(struct measuring_gpu *gpu, struct sensor_schedule *part, struct err *err)
{
    int64_t begin_ns = clock_monotonic_ns() + LEAD_NS, end_ns = begin_ns + part->end_ns;
    uint64_t count = part->count;
    EACH (item, part->loads, part->count) {
        item->begin_ns += begin_ns;
        item->end_ns += begin_ns;
    }
    if (count > 0 && (!write_whole(gpu->load.to, &count, sizeof count) ||
                      !write_whole(gpu->load.to, part->loads, count * sizeof *part->loads)))
        return err_set(err, "the process that loads the GPU ended");
    return (count == 0 || turn(gpu, 0, end_ns + LATE_NS, err)) && turn(gpu, end_ns, end_ns + LATE_NS, err);
}

/* The counter's period, else that of the power figure; 0: unknown. */
static double period_of(const struct calibration_data *data)
{
    static const enum calibration_series order[] = {CALIBRATION_COUNTER, CALIBRATION_POWER};
    EACH (item, order, 2) {
        struct sensor_learnt learnt;
        const struct calibration_readings *series = &data->series[*item];
        if (*item == CALIBRATION_COUNTER)
            sensor_learn_counter(data->loads, data->load_count, series->items, series->count, &learnt);
        else
            sensor_learn_power(data->loads, data->load_count, series->items, series->count, &learnt);
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
    if (!play(gpu, &part, err))
        return false;
    sensor_schedule_waves(seconds, period_of(gpu->data), &part);
    if (!play(gpu, &part, err))
        return false;
    sensor_schedule_rest(seconds, &part);
    return play(gpu, &part, err);
}

bool calibration_measure(const struct calibration_options *options, struct calibration_data *out, struct err *err)
{
    struct calibration_look look;
    struct message message;
    struct measuring_gpu gpu = {.options = options,
                                .data = out,
                                .planned_s = options->seconds,
                                .reader = {.from = -1, .to = -1},
                                .load = {.from = -1, .to = -1}};
    *out = (struct calibration_data){0};
    if (!calibration_look(options, &look, err))
        return false;
    out->identity = look.identity;
    int64_t deadline_ns = clock_monotonic_ns() + LOOK_NS;
    bool good = start(options, ROLE_LOAD, look.identity.uuid, &gpu.load, err) &&
                next(&gpu.load, deadline_ns, &message, err) && start(options, ROLE_READ, NULL, &gpu.reader, err) &&
                next(&gpu.reader, deadline_ns, &message, err);
    gpu.began_ns = clock_monotonic_ns();
    good = good && play_all(&gpu, err);
    stop(&gpu.load);
    stop(&gpu.reader);
    return good;
}

void calibration_data_fini(struct calibration_data *data)
{
    free(data->loads);
    for (int i = 0; i < CALIBRATION_SERIES; i++)
        free(data->series[i].items);
    *data = (struct calibration_data){0};
}
