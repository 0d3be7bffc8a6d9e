/* step_power: what the estimator says of the power within steps whose curve is known. Reads cases
 * from standard input (a line each: `case NAME`, `sensor key=value ...`, `c BEGIN_NS END_NS
 * MILLIJOULES`, `p BEGIN_NS END_NS WATTS`, `m TIME_NS NAME`, `end`) and prints for each case `NAME
 * phase PHASE ENERGY_J HALF_WIDTH_J` (- - where it states none), `NAME bin BEGIN_S END_S POWER_W
 * HALF_WIDTH_W`, or `NAME none REASON`. With --lag-only the estimator learns no more of the
 * averaging than how late its middle is, as of a GPU whose calibration found no more. */
#include "measure/step_power.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128, LINE_SIZE = 1024 };

struct poll {
    int64_t begin_ns, end_ns;
    double power_w;
};

struct step_case {
    char name[NAME_SIZE];
    struct sensor_behaviour behaviour;
    double mark_ns, gain_percent;
    struct poll *polls;
    size_t count;
    struct step_marks marks;
};

static void bad(const char *line)
{
    fprintf(stderr, "step_power: not understood: %s", line);
    exit(2);
}

static void set_key(struct step_case *to, const char *key, const char *value)
{
    struct sensor_behaviour *out = &to->behaviour;
    double number = atof(value);
    if (strcmp(key, "averaging") == 0)
        out->averaging = strcmp(value, "instant") == 0  ? WINDOW_INSTANT
                         : strcmp(value, "boxcar") == 0 ? WINDOW_BOXCAR
                                                        : WINDOW_EXPONENTIAL;
    else if (strcmp(key, "update_ns") == 0)
        out->update_ns = llround(number);
    else if (strcmp(key, "jitter_ns") == 0)
        out->jitter_ns = llround(number);
    else if (strcmp(key, "averaging_ns") == 0)
        out->averaging_ns = llround(number);
    else if (strcmp(key, "delay_ns") == 0)
        out->delay_ns = llround(number);
    else if (strcmp(key, "mark_error_ns") == 0)
        to->mark_ns = number;
    else if (strcmp(key, "gain_percent") == 0)
        to->gain_percent = number;
}

static void read_sensor(struct step_case *to, char *line)
{
    char *rest = NULL;
    strtok_r(line, " \t\n", &rest);
    for (char *word; (word = strtok_r(NULL, " \t\n", &rest)) != NULL;) {
        char *equals = strchr(word, '=');
        if (!equals)
            bad(word);
        *equals = '\0';
        set_key(to, word, equals + 1);
    }
}

/* A moment at which the shown value changed: relative to the first poll, in seconds. */
struct change {
    double from, to; /* it lies between */
    double number;   /* of the update */
    double power_w;  /* from then on */
};

static double seconds(const struct step_case *one, int64_t t_ns)
{
    return (double)(t_ns - one->polls[0].begin_ns) / 1e9;
}

static double middle(const struct change *change)
{
    return (change->from + change->to) / 2;
}

/* How well changes fit updates of a period. begin: when the first of these was. */
static double fit(const struct change *changes, size_t count, double period, double *begin)
{
    double real = 0, imaginary = 0;
    for (size_t i = 0; i < count; i++) {
        double turn = 2 * M_PI * (middle(&changes[i]) - middle(&changes[0])) / period;
        real += cos(turn);
        imaginary += sin(turn);
    }
    *begin = middle(&changes[0]) + atan2(imaginary, real) / (2 * M_PI) * period;
    return hypot(real, imaginary);
}

/* The stated period is some % wrong: from few changes to all of them, closer and closer. */
static void find_period(const struct change *changes, size_t count, double *period, double *begin)
{
    double range = 0.06, ignored;
    for (double span = 100;; span *= 4) {
        double until = middle(&changes[0]) + span * *period, best = -1, found = *period,
               step = 0.1 / span;
        size_t used = 0;
        while (used < count && middle(&changes[used]) <= until)
            used++;
        for (double by = -range; by <= range; by += step) {
            double well = fit(changes, used, *period * (1 + by), &ignored);
            if (well > best) {
                best = well;
                found = *period * (1 + by);
            }
        }
        *period = found;
        range = 5 * step;
        if (used == count)
            break;
    }
    fit(changes, count, *period, begin);
    /* least squares: the grid's period is off by a part of one at both ends */
    for (int pass = 0; pass < 3; pass++) {
        double n = (double)count, t = 0, k = 0, kk = 0, kt = 0;
        for (size_t i = 0; i < count; i++) {
            double number = round((middle(&changes[i]) - *begin) / *period);
            t += middle(&changes[i]) / n;
            k += number / n;
        }
        for (size_t i = 0; i < count; i++) {
            double number = round((middle(&changes[i]) - *begin) / *period);
            kk += (number - k) * (number - k);
            kt += (number - k) * (middle(&changes[i]) - t);
        }
        if (!(kk > 0))
            return;
        *period = kt / kk;
        *begin = t - k * *period;
    }
}

/* An update is near its place in the row of all, which tells more closely when it was than the
 * polls around it. */
static void narrow(struct change *changes, size_t count, double period, double begin, double jitter)
{
    double slack = jitter + 0.02 * period;
    for (size_t i = 0; i < count; i++) {
        struct change *at = &changes[i];
        at->number = round((middle(at) - begin) / period);
        double due = begin + at->number * period, from = fmax(at->from, due - slack),
               to = fmin(at->to, due + slack);
        if (from < to) {
            at->from = from;
            at->to = to;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As a driver stamps them: each update with its time. Gives by how much that is uncertain. */
static double stamp(const struct step_case *one, struct series *series)
{
    struct change *changes = mem_array(one->count + 1, sizeof *changes);
    double *widths = mem_array(one->count + 1, sizeof *widths), width, begin,
           period = (double)one->behaviour.update_ns / 1e9;
    size_t count = 0;
    for (size_t i = 0; i < one->count; i++)
        if (one->polls[i].begin_ns == one->polls[i].end_ns) /* the driver stamped it */
            series_add_power(series,
                             (struct power_sample){one->polls[i].end_ns, one->polls[i].power_w});
    for (size_t i = series->power_count > 0 ? one->count : 1; i < one->count; i++)
        if (one->polls[i].power_w != one->polls[i - 1].power_w)
            changes[count++] =
                (struct change){seconds(one, one->polls[i - 1].begin_ns),
                                seconds(one, one->polls[i].end_ns), 0, one->polls[i].power_w};
    if (count > 0) {
        find_period(changes, count, &period, &begin);
        narrow(changes, count, period, begin, (double)one->behaviour.jitter_ns / 1e9);
    }
    for (size_t i = 0; i < count; i++)
        widths[i] = changes[i].to - changes[i].from;
    qsort(widths, count, sizeof *widths, by_value);
    width = count > 0 ? widths[count / 2] : 0;
    /* one that shows the same again is not told from one that was missed */
    for (size_t i = 0; i < count; i++)
        series_add_power(series, (struct power_sample){one->polls[0].begin_ns +
                                                           llround(middle(&changes[i]) * 1e9),
                                                       changes[i].power_w});
    free(changes);
    free(widths);
    return width;
}

static void print_reading(struct reading reading)
{
    if (reading.valid)
        printf(" %.6f", reading.value);
    else
        fputs(" -", stdout);
}

/* The lag of a stated averaging, as uncertain as calibrations find it. */
static void keep_lag_only(struct sensor_behaviour *behaviour)
{
    int64_t mean_ns = behaviour->averaging == WINDOW_BOXCAR        ? behaviour->averaging_ns / 2
                      : behaviour->averaging == WINDOW_EXPONENTIAL ? behaviour->averaging_ns
                                                                   : 0;
    behaviour->lag_ns = mean_ns + behaviour->delay_ns;
    behaviour->lag_sd_ns = 1e6 + 0.03 * (double)behaviour->lag_ns;
    behaviour->told = false;
    behaviour->averaging = WINDOW_BOXCAR;
    behaviour->averaging_ns = 2 * behaviour->lag_ns;
    behaviour->delay_ns = 0;
}

static void finish(struct step_case *one, bool lag_only)
{
    struct series series = {0};
    struct step_fold fold;
    struct step_power power;
    struct step_sensor sensor = {.behaviour = &one->behaviour,
                                 .calibrated = true,
                                 .mark_s = one->mark_ns / 1e9,
                                 .gain_bound = one->gain_percent / 100};
    sensor.stamp_s = stamp(one, &series);
    if (lag_only)
        keep_lag_only(&one->behaviour);
    step_fold(&one->marks, INT64_MIN, INT64_MAX, &fold);
    step_power_estimate(&fold, &series, &sensor, &power);
    if (power.reason[0])
        printf("%s none %s\n", one->name, power.reason);
    for (size_t i = 0; i < power.phase_count && !power.reason[0]; i++) {
        printf("%s phase %s", one->name, power.phases[i].name);
        print_reading(power.phases[i].energy_j);
        print_reading(power.phases[i].half_width_j);
        putchar('\n');
    }
    for (size_t i = 0; i < power.bin_count; i++) {
        const struct step_bin *bin = &power.bins[i];
        printf("%s bin %.6f %.6f %.4f %.4f\n", one->name, bin->begin_s, bin->end_s, bin->power_w,
               bin->half_width_w);
    }
    fflush(stdout);
    step_power_fini(&power);
    step_fold_fini(&fold);
    step_marks_fini(&one->marks);
    series_fini(&series);
    free(one->polls);
    *one = (struct step_case){0};
}

static void read_line(struct step_case *one, char *line, bool lag_only)
{
    char name[NAME_SIZE];
    long long from, to;
    double value;
    if (sscanf(line, "case %127s", name) == 1) {
        *one = (struct step_case){.behaviour = {.told = true}};
        memcpy(one->name, name, sizeof name);
    } else if (strncmp(line, "sensor ", 7) == 0) {
        read_sensor(one, line);
    } else if (sscanf(line, "p %lld %lld %lf", &from, &to, &value) == 3) {
        one->polls = mem_room(one->polls, one->count, sizeof *one->polls);
        one->polls[one->count++] = (struct poll){from, to, value};
    } else if (sscanf(line, "m %lld %100s", &from, name) == 2) {
        struct mark mark = {.name = "phase", .t_ns = from};
        snprintf(mark.label, sizeof mark.label, "%.100s", name);
        step_marks_take(&one->marks, &mark);
    } else if (strncmp(line, "end", 3) == 0) {
        finish(one, lag_only);
    } else if (line[0] != '\n' && line[0] != '#' && strncmp(line, "c ", 2) != 0) {
        bad(line);
    }
}

int main(int argc, char **argv)
{
    bool lag_only = argc == 2 && strcmp(argv[1], "--lag-only") == 0;
    struct step_case one = {0};
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, stdin))
        read_line(&one, line, lag_only);
    return ferror(stdin) ? 1 : 0;
}
