/* The processes of a calibration that use the GPU's libraries: one watches who uses the GPU, one
 * reads it as often as it can, one loads it. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/gpu/cuda_load.h"
#include "measure/calibration/calibration_measure.h"
#include "measure/calibration/calibration_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { BATCH = 64, REAP_TRIES = 100, REAP_PAUSE_MS = 10 };
static const int64_t READ_PAUSE_NS = 500000, SLOW_NS = 200 * NS_PER_MS;
/* so much rest before a load: the timers are compared anew */
static const int64_t SYNC_ROOM_NS = NS_PER_S / 2;

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

static void send_child_message(int fd, enum message_kind kind, const char *reason)
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

static void flush_readings(struct reader *reader)
{
    if (!write_whole(1, reader->batch, (size_t)reader->batched * sizeof *reader->batch))
        _exit(1);
    reader->batched = 0;
}

static void add_calibration_reading(struct reader *reader, enum calibration_series series,
                                    int64_t before_ns, int64_t after_ns, double value)
{
    reader->batch[reader->batched++] = (struct message){.kind = MESSAGE_READING,
                                                        .series = (int32_t)series,
                                                        .reading = {before_ns, after_ns, value}};
    if (reader->batched == BATCH)
        flush_readings(reader);
}

static size_t find_sensor_group(const struct gpu_backend *backend, const char *name)
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
    struct reading value = series == CALIBRATION_POWER ? gpu_readings_power_w(&readings)
                                                       : readings.of[GPU_TEMPERATURE_C];
    if (value.valid)
        add_calibration_reading(reader, series, before_ns, after_ns, value.value);
}

static void read_fast(struct reader *reader)
{
    uint64_t energy_mj;
    read_group(reader, reader->power_group, CALIBRATION_POWER);
    int64_t before_ns = clock_monotonic_ns();
    if (reader->backend->counter(reader->sensor, &energy_mj, NULL))
        add_calibration_reading(reader, CALIBRATION_COUNTER, before_ns, clock_monotonic_ns(),
                                (double)energy_mj / 1000);
}

static void read_temperature_and_trace(struct reader *reader)
{
    static struct gpu_trace trace;
    read_group(reader, reader->temperature_group, CALIBRATION_TEMPERATURE);
    if (reader->backend->trace(reader->sensor, &trace, NULL))
        for (uint32_t i = 0; i < trace.count; i++)
            add_calibration_reading(reader, CALIBRATION_SAMPLES, trace.samples[i].t_ns,
                                    trace.samples[i].t_ns, trace.samples[i].power_w);
    flush_readings(reader);
}

static struct gpu_sensor *open_sensor(const struct calibration_options *options)
{
    struct err err = {0};
    struct gpu_driver *driver = options->backend->open(options->library, &err);
    struct gpu_sensor *sensor =
        driver ? options->backend->sensor_open(driver, options->device, &err) : NULL;
    if (!sensor) {
        send_child_message(1, MESSAGE_FAILED, err.text);
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
    reader.power_group = find_sensor_group(options->backend, "power.instant");
    if (reader.power_group == SIZE_MAX ||
        !options->backend->group_read(reader.sensor, reader.power_group, &probe, NULL))
        reader.power_group = find_sensor_group(options->backend, "power.usage");
    reader.temperature_group =
        find_sensor_group(options->backend, gpu_reading_rows[GPU_TEMPERATURE_C].name);
    send_child_message(1, MESSAGE_READY, "");
    for (int64_t slow_ns = 0;;) {
        int64_t now_ns = clock_monotonic_ns();
        read_fast(&reader);
        if (now_ns - slow_ns > SLOW_NS) {
            read_temperature_and_trace(&reader);
            slow_ns = now_ns;
        }
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = READ_PAUSE_NS}, NULL);
    }
}

/* Reads only what changes while the GPU is watched: each call delays the reader. */
static void refresh_look(const struct calibration_options *options, struct gpu_sensor *sensor,
                         struct calibration_look *look)
{
    static const char *const groups[] = {"power.instant", "power.usage", "temperature.gpu",
                                         "clock.reasons", "utilisation", "memory"};
    look->readings = (struct gpu_readings){0};
    EACH_OF (name, groups) {
        size_t group = find_sensor_group(options->backend, *name);
        if (group != SIZE_MAX)
            options->backend->group_read(sensor, group, &look->readings, NULL);
    }
}

/* Until it is killed. */
static void watch_main(const struct calibration_options *options)
{
    static struct calibration_look look;
    struct gpu_sensor *sensor = open_sensor(options);
    uint64_t energy_mj = 0;
    options->backend->identify(sensor, &look.identity);
    gpu_readings_take(options->backend, sensor, &look.readings, NULL);
    send_child_message(1, MESSAGE_READY, "");
    for (int64_t due_ns = clock_monotonic_ns();;) {
        look.t_ns = clock_monotonic_ns();
        if (!options->backend->users(sensor, &look.users, NULL))
            look.users.told = false;
        bool counted = options->backend->counter(sensor, &energy_mj, NULL);
        look.energy_j = (struct reading){(double)energy_mj / 1000, counted};
        if (!write_whole(1, &look, sizeof look))
            _exit(1);
        due_ns += CALIBRATION_WATCH_NS;
        struct timespec due = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        refresh_look(options, sensor, &look);
    }
}

static void load_part(struct cuda_load *load, const struct load_interval *orders, size_t count)
{
    struct err err = {0};
    struct cuda_load_span span;
    EACH (order, orders, count) {
        int64_t room_ns = order->begin_ns - clock_monotonic_ns();
        if ((room_ns > SYNC_ROOM_NS && !cuda_load_sync(load, &err)) ||
            !cuda_load_run(load, order->begin_ns, order->end_ns, &span, &err)) {
            send_child_message(1, MESSAGE_FAILED, err.text);
            _exit(1);
        }
        struct message message = {
            .kind = MESSAGE_LOADED,
            .reading = {span.begin_ns, span.end_ns, (double)span.uncertain_ns}};
        if (!write_whole(1, &message, sizeof message))
            _exit(1);
    }
    send_child_message(1, MESSAGE_DONE, "");
}

/* Takes one part after the other until the pipe is closed. */
static void load_main(const struct calibration_options *options, const char *uuid)
{
    struct err err = {0};
    static struct load_interval orders[SCHEDULE_LOADS_MAX];
    uint64_t count;
    /* A context of few channels and no unused kernels: it takes less of the GPU's memory. */
    setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    struct cuda_load *load = cuda_load_open(options->cuda_library, uuid, &err);
    if (!load) {
        send_child_message(1, MESSAGE_FAILED, err.text);
        _exit(1);
    }
    send_child_message(1, MESSAGE_READY, "");
    while (read_whole(0, &count, sizeof count) && count <= SCHEDULE_LOADS_MAX &&
           read_whole(0, orders, count * sizeof *orders))
        load_part(load, orders, count);
    cuda_load_close(load);
    _exit(0);
}

bool calibration_child_start(const struct calibration_options *options, enum calibration_role role,
                             const char *uuid, struct child *out, struct err *err)
{
    int down[2], up[2];
    pid_t parent = getpid();
    *out = CHILD_NONE;
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
        if (role == ROLE_WATCH)
            watch_main(options);
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

void calibration_child_stop(struct child *child)
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
    *child = CHILD_NONE;
}

static bool await(int fd, int64_t deadline_ns)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int64_t left_ns = deadline_ns - clock_monotonic_ns();
    return left_ns > 0 && poll(&ready, 1, (int)(left_ns / NS_PER_MS) + 1) > 0;
}

bool calibration_child_next(struct child *child, int64_t deadline_ns, struct message *out,
                            struct err *err)
{
    if (!await(child->from, deadline_ns))
        return err_set(err, "the GPU's driver does not answer");
    if (!read_whole(child->from, out, sizeof *out))
        return err_set(err, "the process that uses the GPU's driver ended");
    out->reason[CALIBRATION_REASON_SIZE - 1] = '\0';
    return out->kind != MESSAGE_FAILED || err_set(err, "%s", out->reason);
}

bool calibration_child_look(struct child *child, int64_t deadline_ns, struct calibration_look *out,
                            struct err *err)
{
    if (!await(child->from, deadline_ns))
        return err_set(err, "the GPU's driver does not answer");
    return read_whole(child->from, out, sizeof *out) ||
           err_set(err, "the process that uses the GPU's driver ended");
}
