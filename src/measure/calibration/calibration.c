#include "measure/calibration/calibration.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "tare_build.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { FORMAT = 2 };
static const char prefix[] = "calibration-";
#define FIGURE_MAX     1e6
#define BAND_SHARE     0.02 /* of the rise: power is back when it is so near */
#define BAND_NOISES    4.0
#define BAND_C         1.5 /* the driver reports whole degrees */
#define FINAL_S        2.0
#define NORMAL_95      1.96 /* standard deviations in a half-width */
#define SENSOR_MIN_S   1e-4
#define SENSOR_MAX_S   10.0
#define SHARE_ROUNDING 1e-6
#define PERIOD_SHARE   0.2 /* two edges of an attempt tell a period about this well */
#define PERIOD_S       0.005
#define MISSED_PERIODS 2.2 /* now and then a sensor leaves out an update */

const char *const calibration_series_names[CALIBRATION_SERIES] = {"samples", "power", "counter",
                                                                  "temperature"};

static double mean_reading_between(const struct calibration_readings *series, int64_t from_ns,
                                   int64_t to_ns, bool *known)
{
    double sum = 0, count = 0;
    EACH (item, series->items, series->count)
        if (item->before_ns >= from_ns && item->after_ns <= to_ns) {
            sum += item->value;
            count++;
        }
    *known = count > 0;
    return count > 0 ? sum / count : 0;
}

static void learn_return(const struct calibration_data *data, const struct sensor_learnt *power,
                         struct calibration *out)
{
    static const char why[] = "too little was read before the first load";
    const struct calibration_readings *watts = &data->series[CALIBRATION_POWER],
                                      *heat = &data->series[CALIBRATION_TEMPERATURE];
    out->idle_settle_s = out->power_back_s = out->temperature_back_s = (struct learnt){.why = why};
    if (data->load_count == 0)
        return;
    int64_t first_ns = data->loads[0].begin_ns, last_ns = data->loads[data->load_count - 1].end_ns;
    bool known = false;
    double before = mean_reading_between(watts, INT64_MIN, first_ns, &known);
    if (known && power->load_w.known && power->noise_w.known) {
        double band = fmax(BAND_NOISES * power->noise_w.value,
                           BAND_SHARE * fabs(power->load_w.value - before));
        int64_t end_ns = watts->items[watts->count - 1].after_ns;
        double final =
            mean_reading_between(watts, end_ns - (int64_t)(FINAL_S * 1e9), end_ns, &known);
        out->power_back_s = sensor_learn_return(watts->items, watts->count, last_ns, before, band);
        out->idle_settle_s = sensor_learn_return(watts->items, watts->count, last_ns, final, band);
    }
    before = mean_reading_between(heat, INT64_MIN, first_ns, &known);
    if (known)
        out->temperature_back_s =
            sensor_learn_return(heat->items, heat->count, last_ns, before, BAND_C);
}

void calibration_learn(const struct calibration_data *data, struct calibration *out)
{
    const struct calibration_readings *series = data->series;
    for (int i = CALIBRATION_SAMPLES; i <= CALIBRATION_POWER; i++)
        sensor_learn_power(data->loads, data->load_count, series[i].items, series[i].count,
                           &out->sensors[i]);
    sensor_learn_counter(data->loads, data->load_count, series[CALIBRATION_COUNTER].items,
                         series[CALIBRATION_COUNTER].count, &out->sensors[CALIBRATION_COUNTER]);
    const struct calibration_readings *watts = series[CALIBRATION_SAMPLES].count > 0
                                                   ? &series[CALIBRATION_SAMPLES]
                                                   : &series[CALIBRATION_POWER];
    out->agreement =
        sensor_learn_agreement(watts->items, watts->count, series[CALIBRATION_COUNTER].items,
                               series[CALIBRATION_COUNTER].count);
    learn_return(data, &out->sensors[CALIBRATION_POWER], out);
    out->uncertain_s = ns_to_s(data->uncertain_ns);
    memcpy(out->uuid, data->identity.uuid, sizeof out->uuid);
    memcpy(out->name, data->identity.name, sizeof out->name);
    memcpy(out->driver, data->identity.driver, sizeof out->driver);
    memcpy(out->board, data->identity.board, sizeof out->board);
    memcpy(out->firmware, data->identity.firmware, sizeof out->firmware);
    snprintf(out->version, sizeof out->version, "%s", TARE_VERSION);
}

/* ---- Its file. */

#define NEEDED .presence = RECORD_NEEDED

/* What is written and what is read: a file that the writer made is never refused. */
static bool within_bounds(const struct learnt *figure, double least)
{
    return fabs(figure->value) <= FIGURE_MAX && figure->value >= least && figure->half_width >= 0 &&
           figure->half_width <= FIGURE_MAX; /* false for what is no number */
}

#define LEARNT(member) RECORD_IF(struct learnt, known, #member, member)
static const struct record_field learnt_fields[] = {
    LEARNT(value), LEARNT(half_width), RECORD(struct learnt, why, .unread = true), {0}};

static json_t *learnt_json(const struct learnt *figure, double least)
{
    struct learnt shown = *figure;
    if (figure->known && !within_bounds(figure, least))
        shown = (struct learnt){.why = "no sensor has such a value"};
    else if (figure->known)
        shown.why = NULL;
    return record_json(learnt_fields, &shown);
}

static bool read_learnt(const json_t *json, struct learnt *out, double least, struct err *err)
{
    *out = (struct learnt){.why = "it was not learnt", .value = NAN, .half_width = NAN};
    if (!json_is_object(json) || !record_read(learnt_fields, json, out, err))
        return false;
    out->known = !isnan(out->value);
    if (!out->known)
        out->value = out->half_width = 0;
    return !out->known || within_bounds(out, least);
}

static json_t *figure_json(const void *figure)
{
    return learnt_json(figure, 0);
}

static bool read_figure(const json_t *json, void *figure, struct err *err)
{
    return read_learnt(json, figure, 0, err);
}

static json_t *signed_figure_json(const void *figure)
{
    return learnt_json(figure, -FIGURE_MAX);
}

static bool read_signed_figure(const json_t *json, void *figure, struct err *err)
{
    return read_learnt(json, figure, -FIGURE_MAX, err);
}

#define FIGURE(of, member) \
    RECORD_STRUCT(of, #member, member, NULL, NEEDED, .to = figure_json, .from = read_figure)
#define LEARNS(member) FIGURE(struct sensor_learnt, member)
#define SIGNED(member)                                                                           \
    RECORD_STRUCT(struct sensor_learnt, #member, member, NULL, NEEDED, .to = signed_figure_json, \
                  .from = read_signed_figure)

static json_t *averaging_json(const void *averaging)
{
    return json_string(sensor_averaging_name(*(const enum sensor_averaging *)averaging));
}

/* A name that is not known is an unknown averaging. */
static bool read_averaging(const json_t *json, void *averaging, struct err *err)
{
    (void)err;
    const char *name = json_string_value(json);
    enum sensor_averaging kind = AVERAGING_EXPONENTIAL;
    while (name && kind > AVERAGING_UNKNOWN && strcmp(name, sensor_averaging_name(kind)) != 0)
        kind--;
    *(enum sensor_averaging *)averaging = kind;
    return name != NULL;
}

static const struct record_field sensor_fields[] = {
    RECORD_STRUCT(struct sensor_learnt, "averaging", averaging, NULL, NEEDED, .to = averaging_json,
                  .from = read_averaging),
    RECORD(struct sensor_learnt, averaging_why, .unread = true),
    RECORD(struct sensor_learnt, updates, NEEDED),
    LEARNS(update_period_s),
    LEARNS(jitter_s),
    LEARNS(averaging_s),
    LEARNS(delay_s),
    SIGNED(lag_s),
    LEARNS(looked_share),
    LEARNS(quantum),
    LEARNS(noise_w),
    SIGNED(idle_w),
    SIGNED(load_w),
    {0}};

static bool read_sensor(const json_t *json, void *of, struct err *err)
{
    struct sensor_learnt *sensor = of;
    bool good = record_read(sensor_fields, json, sensor, err);
    sensor->averaging_why = sensor->averaging == AVERAGING_UNKNOWN ? "it was not learnt" : NULL;
    return good && (!sensor->looked_share.known || sensor->looked_share.value <= 1);
}

#define SENSOR(name, series)                                                        \
    RECORD_STRUCT(struct calibration, name, sensors[series], sensor_fields, NEEDED, \
                  .from = read_sensor)
static const struct record_field sensors_fields[] = {SENSOR("samples", CALIBRATION_SAMPLES),
                                                     SENSOR("power", CALIBRATION_POWER),
                                                     SENSOR("counter", CALIBRATION_COUNTER),
                                                     {0}};

#define TEXT(member) RECORD_CHARS(struct calibration, #member, member, NEEDED)
#define CALIBRATION(key, member, ...) \
    RECORD_AS(struct calibration, key, member, NEEDED, __VA_ARGS__)
static const struct record_field calibration_fields[] = {
    TEXT(uuid),
    TEXT(name),
    TEXT(driver),
    TEXT(board),
    TEXT(firmware),
    TEXT(version),
    RECORD_CHARS(struct calibration, "sha256", sha256, .presence = RECORD_SPARSE, .unread = true),
    CALIBRATION("made", made_s, .low = 1, .high = 253402300799),
    CALIBRATION("seconds", seconds, .high = FIGURE_MAX),
    CALIBRATION("load_times_half_width_s", uncertain_s, .high = FIGURE_MAX),
    RECORD_GROUP("sensors", sensors_fields, NEEDED),
    FIGURE(struct calibration, agreement),
    FIGURE(struct calibration, idle_settle_s),
    FIGURE(struct calibration, power_back_s),
    FIGURE(struct calibration, temperature_back_s),
    {0}};

struct file_format {
    int format;
};

static const struct record_field format_fields[] = {RECORD(struct file_format, format), {0}};

json_t *calibration_json(const struct calibration *calibration)
{
    json_t *json = record_json(format_fields, &(struct file_format){FORMAT});
    record_set(json, calibration_fields, calibration);
    return json;
}

static bool is_printable(const char *text)
{
    while (*text >= ' ' && *text <= '~')
        text++;
    return !*text;
}

bool calibration_parse(const json_t *json, struct calibration *out, struct err *err)
{
    struct file_format file = {0};
    *out = (struct calibration){0};
    record_get(format_fields, json, &file);
    return (file.format == FORMAT && record_read(calibration_fields, json, out, NULL) &&
            is_printable(out->uuid) && is_printable(out->name) && is_printable(out->driver) &&
            is_printable(out->board) && is_printable(out->firmware) &&
            is_printable(out->version)) ||
           err_set(err, "it is no calibration of this version");
}

static int64_t in_ns(double seconds)
{
    return llround(seconds * NS_PER_S);
}

/* Of the samples, else of the power that is read. */
static void set_averaging(const struct sensor_learnt *learnt, struct sensor_behaviour *out)
{
    static const enum window_averaging kinds[] = {[AVERAGING_INSTANT] = WINDOW_INSTANT,
                                                  [AVERAGING_BOXCAR] = WINDOW_BOXCAR,
                                                  [AVERAGING_EXPONENTIAL] = WINDOW_EXPONENTIAL};
    out->told = learnt->averaging != AVERAGING_UNKNOWN;
    if (out->told) {
        out->averaging = kinds[learnt->averaging];
        out->averaging_ns = in_ns(learnt->averaging_s.value);
        out->delay_ns = in_ns(learnt->delay_s.value);
        out->averaging_sd_ns = learnt->averaging_s.half_width / NORMAL_95 * NS_PER_S;
        out->delay_sd_ns = learnt->delay_s.half_width / NORMAL_95 * NS_PER_S;
    } else { /* it is as late as a boxcar of this length at most */
        out->averaging = WINDOW_BOXCAR;
        out->averaging_ns = in_ns(2 * (fmax(learnt->lag_s.value, 0) + learnt->lag_s.half_width));
        out->delay_ns = 0;
        out->lag_ns = in_ns(learnt->lag_s.value);
        out->lag_sd_ns = learnt->lag_s.half_width / NORMAL_95 * NS_PER_S;
    }
}

static bool tells_averaging(const struct sensor_learnt *learnt)
{
    return learnt->averaging != AVERAGING_UNKNOWN || learnt->lag_s.known;
}

/* What is missed, and how uncertain that is: the root of the sum of their squares. */
static double looked_share(const struct learnt *learnt)
{
    return fmax(1 - hypot(1 - learnt->value, learnt->half_width / NORMAL_95), 0);
}

/* Standard deviations: a measurement so far from its model's range contradicts it; the posterior is
 * summed over so many to each side. */
static const double refuted_sd = 3, posterior_sd = 6;
enum { POSTERIOR_STEPS = 400 };

/* The same with the model's range as the prior. The sum is over the part of the range that the
 * measurement allows, so that it is exact for sharp and for blunt measurements. */
static double posterior_share(const struct learnt *learnt, const struct sensor_profile *row,
                              enum calibration_prior *prior)
{
    double sd = fmax(learnt->half_width / NORMAL_95, SHARE_ROUNDING);
    double from = fmax(row->counter_least, learnt->value - posterior_sd * sd),
           to = fmin(row->counter_most, learnt->value + posterior_sd * sd), sum = 0, squares = 0;
    *prior = !(row->counter_most > 0) ? CALIBRATION_PRIOR_NONE
             : learnt->value < row->counter_least - refuted_sd * sd ||
                     learnt->value > row->counter_most + refuted_sd * sd
                 ? CALIBRATION_PRIOR_REFUTED
                 : CALIBRATION_PRIOR_USED;
    if (*prior != CALIBRATION_PRIOR_USED)
        return looked_share(learnt);
    for (int i = 0; i < POSTERIOR_STEPS; i++) {
        double share = from + (to - from) * (i + 0.5) / POSTERIOR_STEPS;
        double off = (share - learnt->value) / sd, weight = exp(-off * off / 2);
        sum += weight;
        squares += weight * (1 - share) * (1 - share);
    }
    return 1 - sqrt(squares / sum);
}

void calibration_profile(const struct calibration *calibration, const struct sensor_profile *row,
                         struct calibration_profile *out)
{
    const struct sensor_learnt *samples = &calibration->sensors[CALIBRATION_SAMPLES];
    const struct sensor_learnt *power = &calibration->sensors[CALIBRATION_POWER];
    const struct sensor_learnt *counter = &calibration->sensors[CALIBRATION_COUNTER];
    const struct sensor_learnt *shown = tells_averaging(samples) ? samples : power;
    /* Where there is no counter, or it never changed, energies are of what is shown alone. */
    const struct sensor_learnt *energy = counter->updates > 0 ? counter : shown;
    const struct sensor_learnt *updates = energy->update_period_s.known ? energy : power;
    char when[40];
    *out = (struct calibration_profile){.of = *row};
    struct sensor_behaviour *behaviour = &out->of.behaviour;
    bool shape = tells_averaging(shown), period = updates->update_period_s.known;
    if (shape)
        set_averaging(shown, behaviour);
    if (period)
        behaviour->update_ns = in_ns(updates->update_period_s.value);
    if (period && updates->jitter_s.known)
        behaviour->jitter_ns = in_ns(fmax(updates->jitter_s.value, updates->jitter_s.half_width));
    bool looked = energy->looked_share.known;
    if (looked) {
        behaviour->looked_share = counter->updates > 0
                                      ? posterior_share(&energy->looked_share, row, &out->prior)
                                      : looked_share(&energy->looked_share);
        behaviour->share_unsure = behaviour->counter_current = false;
        behaviour->share_measured = counter->updates > 0;
    } else if (behaviour->share_unsure && shown->looked_share.known) {
        behaviour->looked_share = looked_share(&shown->looked_share);
    }
    out->from = *calibration;
    out->period_s = counter->update_period_s.known ? counter->update_period_s.value : 0;
    clock_format_iso(calibration->made_s * NS_PER_S, when);
    snprintf(out->label, sizeof out->label, "calibrated %.10s", when);
    snprintf(out->source, sizeof out->source, "calibration of this GPU (%.19s): %s%s%s%s%s%s", when,
             period ? "update period, " : "", shape ? "averaging and delay of samples, " : "",
             looked ? "looked-at share" : "",
             out->prior == CALIBRATION_PRIOR_USED      ? " (with its model's)"
             : out->prior == CALIBRATION_PRIOR_REFUTED ? " (unlike its model's)"
                                                       : "",
             period && shape && looked ? "" : "; the rest: ",
             period && shape && looked ? "" : row->source);
    if (counter->updates == 0)
        out->of.reading = NULL;
    out->of.label = out->label;
    out->of.source = out->source;
}

static bool is_name_part(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '.')
            return false;
    return *text != '\0';
}

char *calibration_file_name(const char *uuid, const char *driver)
{
    return is_name_part(uuid) && is_name_part(driver)
               ? mem_printf("%s%s-%s.json", prefix, uuid, driver)
               : NULL;
}

bool calibration_is_of(const struct calibration *calibration, const struct gpu_identity *identity)
{
    return strcmp(calibration->uuid, identity->uuid) == 0 &&
           strcmp(calibration->name, identity->name) == 0 &&
           strcmp(calibration->board, identity->board) == 0 &&
           strcmp(calibration->firmware, identity->firmware) == 0 &&
           strcmp(calibration->driver, identity->driver) == 0;
}

/* The file cannot widen these tolerances. */
bool calibration_contradicted(const struct calibration_profile *profile,
                              const struct series *series, char *why, size_t size)
{
    struct reading read = rhythm_counter_s(series);
    double steady_s = rhythm_counter_steady_s(series), period_s = profile->period_s;
    if (period_s <= 0)
        return false;
    if (read.valid && fabs(read.value - period_s) > PERIOD_SHARE * read.value + PERIOD_S) {
        snprintf(why, size,
                 "its calibration has an update period of %.1f ms, the readings one of %.1f ms",
                 period_s * 1000, read.value * 1000);
        return true;
    }
    if (steady_s > MISSED_PERIODS * period_s + PERIOD_S) {
        snprintf(why, size,
                 "its calibration has an update period of %.1f ms, and its counter stayed the same "
                 "for %.1f ms",
                 period_s * 1000, steady_s * 1000);
        return true;
    }
    return false;
}

bool calibration_read(int dir, const char *name, struct calibration *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct json_doc doc;
    if (!fs_read_at(dir, name, CALIBRATION_FILE_MAX, &text, err) ||
        !json_doc_parse(name, text_get(&text), text.length, &doc, err))
        return false;
    bool good = calibration_parse(doc.root, out, err);
    struct digest digest = digest_of(text_get(&text), text.length);
    digest_print(&digest, out->sha256);
    json_doc_fini(&doc);
    return good || err_wrap(err, "%s", name);
}

void calibration_each(int dir, calibration_fn *found, void *data)
{
    AUTO_DIR DIR *folder = fs_list(dir, ".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct calibration calibration;
        struct err err = {0};
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0)
            found(data, entry->d_name,
                  calibration_read(dir, entry->d_name, &calibration, &err) ? &calibration : NULL,
                  &err);
    }
}

/* Figures that calibration cannot give: impossible times, or a share that is not length over
 * period. */
static bool is_possible(const struct sensor_learnt *sensor)
{
    const struct learnt *length = &sensor->averaging_s, *period = &sensor->update_period_s;
    const struct learnt *share = &sensor->looked_share;
    const struct learnt *const times[] = {length, period, &sensor->delay_s};
    EACH_OF (time, times)
        if ((*time)->known && (*time)->value > SENSOR_MAX_S)
            return false;
    if (period->known && period->value < SENSOR_MIN_S)
        return false;
    if (!share->known || sensor->averaging == AVERAGING_EXPONENTIAL)
        return true;
    return length->known && period->known &&
           fabs(share->value - fmin(1, length->value / period->value)) <= SHARE_ROUNDING;
}

char *calibration_stale(const struct calibration *calibration, const char *driver, int64_t now_s)
{
    int64_t days = (now_s - calibration->made_s) / 86400;
    if (driver && *driver && strcmp(driver, calibration->driver) != 0)
        return mem_printf("it is of driver %s, and this is %s", calibration->driver, driver);
    if (strcmp(calibration->version, TARE_VERSION) != 0)
        return mem_printf("it is of " TARE_NAME " %s, and this is " TARE_VERSION,
                          calibration->version);
    if (calibration->made_s > now_s + CALIBRATION_SKEW_S)
        return mem_printf("it is dated %lld s in the future",
                          (long long)(calibration->made_s - now_s));
    for (int i = 0; i < CALIBRATION_TEMPERATURE; i++)
        if (!is_possible(&calibration->sensors[i]))
            return mem_printf("no sensor has the figures that it states of %s",
                              calibration_series_names[i]);
    if (days > CALIBRATION_DAYS)
        return mem_printf("it is %lld days old", (long long)days);
    return NULL;
}
