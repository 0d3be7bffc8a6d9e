/* window_cover: what the meter's estimator says of windows whose true energy is known. Reads cases
 * from standard input (a line each: `case NAME`, `sensor key=value ...`, `c BEGIN_NS END_NS
 * MILLIJOULES`, `p BEGIN_NS END_NS WATTS`, `s NS` where a step of the job begins, `w START_NS
 * END_NS TRUTH_J`, `end`) and prints, for each w, `NAME START_NS END_NS ENERGY_J HALF_WIDTH_J
 * SOURCE`, with
 * `-` for what is absent. With `--as nvml` the sensor line is ignored, with `--as unknown` it is
 * replaced by the bounds of a GPU that nobody knows; so does `sensor calibration=none` for one
 * case, and `calibration=FILE` by that calibration; `model=NAME` before it selects the built-in
 * profile of a model instead. `--coverage` prints instead, for each case's name, how many windows
 * there were, the share in which the truth lay within the half-width, and the median half-width as
 * a share of the truth. */
#include "base/mem.h"
#include "measure/calibration/calibration.h"
#include "measure/energy/sensor_behaviour.h"
#include "measure/energy/window.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128, LINE_SIZE = 1024 };

struct asked {
    int64_t start_ns, end_ns;
    double truth_j;
};

struct cover_case {
    char name[NAME_SIZE];
    struct window_sensor sensor;
    struct sensor_behaviour behaviour;
    const struct sensor_profile *row;
    bool counter;
    double gain_percent;
    struct series series;
    int64_t polled_ns; /* begin of the call that gave the last sample's value for the first time */
    double last_w;
    struct asked *windows;
    size_t count;
    int64_t *steps;
    size_t step_count;
};

static const struct window_sensor *only; /* instead of all sensor lines */

/* All windows of one name. */
struct tally {
    char name[NAME_SIZE];
    size_t held, count;
    double *shares;
};

static struct tally *tallies;
static size_t tally_count;

static void bad(const char *line)
{
    fprintf(stderr, "window_cover: not understood: %s", line);
    exit(2);
}

static bool set_averaging(struct sensor_behaviour *out, const char *value)
{
    static const char *const names[] = {[WINDOW_INSTANT] = "instant",
                                        [WINDOW_BOXCAR] = "boxcar",
                                        [WINDOW_EXPONENTIAL] = "exponential"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            out->averaging = (enum window_averaging)i;
            return true;
        }
    return false;
}

static void set_calibration(struct cover_case *to, const char *path)
{
    struct calibration calibration;
    struct calibration_profile profile;
    struct err err = {0};
    to->behaviour = to->row->behaviour;
    if (strcmp(path, "none") == 0)
        return;
    if (!calibration_read(AT_FDCWD, path, &calibration, &err)) {
        fprintf(stderr, "window_cover: %s\n", err.text);
        exit(2);
    }
    calibration_profile(&calibration, to->row, &profile);
    to->behaviour = profile.of.behaviour;
}

static bool set_key(struct cover_case *to, const char *key, const char *value)
{
    struct {
        const char *key;
        int64_t *whole;
        double *real;
    } keys[] = {
        {"update_ns", &to->behaviour.update_ns, NULL},
        {"jitter_ns", &to->behaviour.jitter_ns, NULL},
        {"averaging_ns", &to->behaviour.averaging_ns, NULL},
        {"delay_ns", &to->behaviour.delay_ns, NULL},
        {"looked_share", NULL, &to->behaviour.looked_share},
        {"quantum_mj", NULL, &to->sensor.quantum_mj},
        {"power_limit_w", NULL, &to->sensor.power_limit_w},
        {"gain_percent", NULL, &to->gain_percent},
    };
    if (strcmp(key, "model") == 0) {
        to->row = sensor_profile_find(&gpu_vendor_nvidia, value);
        return true;
    }
    if (strcmp(key, "calibration") == 0) {
        set_calibration(to, value);
        return true;
    }
    if (strcmp(key, "averaging") == 0)
        return set_averaging(&to->behaviour, value);
    if (strcmp(key, "counter") == 0) {
        to->counter = strcmp(value, "0") != 0;
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i].key) == 0) {
            double number = atof(value);
            if (keys[i].whole)
                *keys[i].whole = llround(number);
            else
                *keys[i].real = number;
            return true;
        }
    return false;
}

static void read_sensor(struct cover_case *to, char *line)
{
    char *rest = NULL;
    strtok_r(line, " \t\n", &rest);
    for (char *word; (word = strtok_r(NULL, " \t\n", &rest)) != NULL;) {
        char *equals = strchr(word, '=');
        if (!equals)
            bad(word);
        *equals = '\0';
        if (!set_key(to, word, equals + 1))
            bad(word);
    }
}

/* A sensor is polled: a value stands for the update that it came with, which lies between the call
 * that had the value before and this one. A value that comes again within the update period is the
 * same one. */
static void add_power(struct cover_case *to, int64_t begin_ns, int64_t end_ns, double power_w)
{
    struct series *series = &to->series;
    bool again = series->power_count > 0 && power_w == to->last_w;
    int64_t period_ns = to->sensor.update_period_ns, since_ns = end_ns - period_ns;
    if (again && end_ns - series->power[series->power_count - 1].t_ns < period_ns) {
        to->polled_ns = begin_ns;
        return;
    }
    int64_t from_ns =
        series->power_count > 0 && to->polled_ns > since_ns ? to->polled_ns : since_ns;
    if (begin_ns == end_ns) /* stamped by the driver */
        from_ns = end_ns;
    series_add_power(series, (struct power_sample){from_ns + (end_ns - from_ns) / 2, power_w});
    to->polled_ns = begin_ns;
    to->last_w = power_w;
}

static struct tally *tally_of(const char *name)
{
    for (size_t i = 0; i < tally_count; i++)
        if (strcmp(tallies[i].name, name) == 0)
            return &tallies[i];
    tallies = mem_room(tallies, tally_count, sizeof *tallies);
    tallies[tally_count] = (struct tally){0};
    snprintf(tallies[tally_count].name, NAME_SIZE, "%s", name);
    return &tallies[tally_count++];
}

static void print_number(struct reading reading)
{
    if (reading.valid)
        printf(" %.6f", reading.value);
    else
        fputs(" -", stdout);
}

static void finish(struct cover_case *one, bool coverage)
{
    const struct window_sensor *sensor = only ? only : &one->sensor;
    struct window_index *index = window_index_new(&one->series, sensor);
    window_index_steps(index, one->steps, one->step_count);
    for (size_t i = 0; i < one->count; i++) {
        const struct asked *window = &one->windows[i];
        struct window_energy energy;
        window_index_energy(index, window->start_ns, window->end_ns, &energy);
        if (coverage) {
            struct tally *tally = tally_of(one->name);
            tally->shares = mem_room(tally->shares, tally->count, sizeof *tally->shares);
            tally->shares[tally->count++] =
                energy.half_width_j.valid ? energy.half_width_j.value / window->truth_j : INFINITY;
            tally->held +=
                energy.energy_j.valid && energy.half_width_j.valid &&
                fabs(energy.energy_j.value - window->truth_j) <= energy.half_width_j.value;
            continue;
        }
        printf("%s %" PRId64 " %" PRId64, one->name, window->start_ns, window->end_ns);
        print_number(energy.energy_j);
        print_number(energy.half_width_j);
        printf(" %s\n", energy.energy_j.valid ? energy.source : "-");
    }
    window_index_free(index);
    series_fini(&one->series);
    free(one->windows);
    free(one->steps);
    *one = (struct cover_case){0};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_coverage(void)
{
    for (size_t i = 0; i < tally_count; i++) {
        struct tally *tally = &tallies[i];
        qsort(tally->shares, tally->count, sizeof *tally->shares, by_value);
        printf("%s %zu %.4f %.5f\n", tally->name, tally->count,
               (double)tally->held / (double)tally->count, tally->shares[tally->count / 2]);
        free(tally->shares);
    }
    free(tallies);
}

static void begin(struct cover_case *one, const char *name)
{
    *one = (struct cover_case){.sensor = window_sensor_gpu,
                               .row = &sensor_profile_unknown,
                               .behaviour = sensor_profile_unknown.behaviour};
    snprintf(one->name, sizeof one->name, "%s", name);
    one->counter = true;
    one->behaviour.told = true;
}

static void read_line(struct cover_case *one, char *line, bool coverage)
{
    char name[NAME_SIZE];
    long long from, to;
    double value;
    unsigned long long count;
    if (sscanf(line, "case %127s", name) == 1) {
        begin(one, name);
    } else if (strncmp(line, "sensor ", 7) == 0) {
        read_sensor(one, line);
        sensor_behaviour_apply(&one->behaviour, &one->sensor);
    } else if (sscanf(line, "c %lld %lld %llu", &from, &to, &count) == 3) {
        if (one->counter)
            series_add_counter(&one->series, (struct counter_reading){from, to, count});
    } else if (sscanf(line, "p %lld %lld %lf", &from, &to, &value) == 3) {
        add_power(one, from, to, value);
    } else if (sscanf(line, "s %lld", &from) == 1) {
        one->steps = mem_room(one->steps, one->step_count, sizeof *one->steps);
        one->steps[one->step_count++] = from;
    } else if (sscanf(line, "w %lld %lld %lf", &from, &to, &value) == 3) {
        one->windows = mem_room(one->windows, one->count, sizeof *one->windows);
        one->windows[one->count++] = (struct asked){from, to, value};
    } else if (strncmp(line, "end", 3) == 0) {
        finish(one, coverage);
    } else if (line[0] != '\n' && line[0] != '#') {
        bad(line);
    }
}

int main(int argc, char **argv)
{
    bool coverage = false;
    static struct window_sensor unknown;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--coverage") == 0) {
            coverage = true;
        } else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc &&
                   strcmp(argv[i + 1], "nvml") == 0) {
            only = &window_sensor_gpu;
            i++;
        } else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc &&
                   strcmp(argv[i + 1], "unknown") == 0) {
            unknown = window_sensor_gpu;
            sensor_behaviour_apply(&sensor_profile_unknown.behaviour, &unknown);
            only = &unknown;
            i++;
        } else {
            fprintf(stderr, "Usage: window_cover [--as nvml|unknown] [--coverage] < cases\n");
            return 2;
        }
    }
    struct cover_case one = {0};
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, stdin))
        read_line(&one, line, coverage);
    series_fini(&one.series);
    free(one.windows);
    free(one.steps);
    if (coverage)
        print_coverage();
    return ferror(stdin) ? 1 : 0;
}
