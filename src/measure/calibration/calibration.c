#include "measure/calibration/calibration.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
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
#define PERIOD_SHARE   0.2 /* updates come earlier or later by less than this */
#define PERIOD_S       0.005
#define MISSED_PERIODS 2.2 /* now and then a sensor leaves out an update */

const char *const calibration_series_names[CALIBRATION_SERIES] = {"samples", "power", "counter",
                                                                  "temperature"};

/* Each figure of struct sensor_learnt under its name; signed ones may be below zero. */
static const struct {
    const char *name;
    size_t offset;
    bool is_signed;
} figures[] =
    {
        {"update_period_s", offsetof(struct sensor_learnt, update_period_s), false},
        {"jitter_s", offsetof(struct sensor_learnt, jitter_s), false},
        {"averaging_s", offsetof(struct sensor_learnt, averaging_s), false},
        {"delay_s", offsetof(struct sensor_learnt, delay_s), false},
        {"lag_s", offsetof(struct sensor_learnt, lag_s), true},
        {"looked_share", offsetof(struct sensor_learnt, looked_share), false},
        {"quantum", offsetof(struct sensor_learnt, quantum), false},
        {"noise_w", offsetof(struct sensor_learnt, noise_w), false},
        {"idle_w", offsetof(struct sensor_learnt, idle_w), true},
        {"load_w", offsetof(struct sensor_learnt, load_w), true},
},
  whole[] = {
      {"agreement", offsetof(struct calibration, agreement), false},
      {"idle_settle_s", offsetof(struct calibration, idle_settle_s), false},
      {"power_back_s", offsetof(struct calibration, power_back_s), false},
      {"temperature_back_s", offsetof(struct calibration, temperature_back_s), false},
};

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

/* What is written and what is read: a file that the writer made is never refused. */
static bool within_bounds(const struct learnt *figure, bool is_signed)
{
    return fabs(figure->value) <= FIGURE_MAX && (is_signed || figure->value >= 0) &&
           figure->half_width >= 0 &&
           figure->half_width <= FIGURE_MAX; /* false for what is no number */
}

static json_t *figure_json(const struct learnt *figure, bool is_signed)
{
    json_t *json = json_object();
    bool known = figure->known && within_bounds(figure, is_signed);
    json_object_set_new(json, "value", known ? json_finite(figure->value) : json_null());
    json_object_set_new(json, "half_width", known ? json_finite(figure->half_width) : json_null());
    json_set_text(json, "why",
                  known           ? NULL
                  : figure->known ? "no sensor has such a value"
                                  : figure->why);
    return json;
}

static json_t *sensor_json(const struct sensor_learnt *sensor)
{
    json_t *json = json_object();
    json_set_text(json, "averaging", sensor_averaging_name(sensor->averaging));
    json_set_text(json, "averaging_why", sensor->averaging_why);
    json_set_count(json, "updates", sensor->updates);
    EACH_OF (figure, figures)
        json_object_set_new(
            json, figure->name,
            figure_json((const struct learnt *)((const char *)sensor + figure->offset),
                        figure->is_signed));
    return json;
}

json_t *calibration_json(const struct calibration *calibration)
{
    json_t *json = json_object(), *sensors = json_object();
    json_object_set_new(json, "format", json_integer(FORMAT));
    json_set_text(json, "uuid", calibration->uuid);
    json_set_text(json, "name", calibration->name);
    json_set_text(json, "driver", calibration->driver);
    json_set_text(json, "board", calibration->board);
    json_set_text(json, "firmware", calibration->firmware);
    json_set_text(json, "version", calibration->version);
    if (*calibration->sha256)
        json_set_text(json, "sha256", calibration->sha256);
    json_object_set_new(json, "made", json_integer(calibration->made_s));
    json_object_set_new(json, "seconds", json_finite(calibration->seconds));
    json_object_set_new(json, "load_times_half_width_s", json_finite(calibration->uncertain_s));
    for (int i = 0; i < CALIBRATION_TEMPERATURE; i++)
        json_object_set_new(sensors, calibration_series_names[i],
                            sensor_json(&calibration->sensors[i]));
    json_object_set_new(json, "sensors", sensors);
    EACH_OF (item, whole)
        json_object_set_new(
            json, item->name,
            figure_json((const struct learnt *)((const char *)calibration + item->offset),
                        item->is_signed));
    return json;
}

static bool parse_bounded_number(const json_t *json, const char *key, double most, double *out)
{
    return json_get_number(json, key, out) && isfinite(*out) && *out >= 0 && *out <= most;
}

static bool parse_learnt_figure(const json_t *json, const char *name, bool is_signed,
                                struct learnt *out)
{
    const json_t *figure = json_get(json, name);
    *out = (struct learnt){.why = "it was not learnt"};
    if (!json_is_object(figure))
        return false;
    if (!json_get(figure, "value"))
        return true;
    out->known = json_get_number(figure, "value", &out->value) &&
                 json_get_number(figure, "half_width", &out->half_width) &&
                 within_bounds(out, is_signed);
    return out->known;
}

static bool parse_printable_text(const json_t *json, const char *key, char out[GPU_TEXT_SIZE])
{
    const char *text = json_get_text(json, key);
    size_t length = text ? strlen(text) : GPU_TEXT_SIZE;
    if (length >= GPU_TEXT_SIZE)
        return false;
    for (const char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            return false;
    memcpy(out, text, length + 1);
    return true;
}

static bool parse_learnt_sensor(const json_t *json, struct sensor_learnt *out)
{
    const char *kind = json_get_text(json, "averaging");
    json_int_t updates = 0;
    int averaging = AVERAGING_EXPONENTIAL;
    while (kind && averaging > AVERAGING_UNKNOWN &&
           strcmp(kind, sensor_averaging_name((enum sensor_averaging)averaging)) != 0)
        averaging--;
    bool good = kind && json_get_int(json, "updates", &updates) && updates >= 0;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && good; i++)
        good = parse_learnt_figure(json, figures[i].name, figures[i].is_signed,
                                   (struct learnt *)((char *)out + figures[i].offset));
    out->averaging = (enum sensor_averaging)averaging;
    out->averaging_why = averaging == AVERAGING_UNKNOWN ? "it was not learnt" : NULL;
    out->updates = (size_t)updates;
    return good && (!out->looked_share.known || out->looked_share.value <= 1);
}

bool calibration_parse(const json_t *json, struct calibration *out, struct err *err)
{
    json_int_t format = 0, made = 0;
    *out = (struct calibration){0};
    bool good =
        json_get_int(json, "format", &format) && format == FORMAT &&
        parse_printable_text(json, "uuid", out->uuid) &&
        parse_printable_text(json, "name", out->name) &&
        parse_printable_text(json, "driver", out->driver) &&
        parse_printable_text(json, "board", out->board) &&
        parse_printable_text(json, "firmware", out->firmware) &&
        parse_printable_text(json, "version", out->version) && json_get_int(json, "made", &made) &&
        made > 0 && made < INT64_C(253402300800) &&
        parse_bounded_number(json, "seconds", FIGURE_MAX, &out->seconds) &&
        parse_bounded_number(json, "load_times_half_width_s", FIGURE_MAX, &out->uncertain_s);
    out->made_s = made;
    for (int i = 0; i < CALIBRATION_TEMPERATURE && good; i++)
        good = parse_learnt_sensor(json_get(json_get(json, "sensors"), calibration_series_names[i]),
                                   &out->sensors[i]);
    for (size_t i = 0; i < sizeof whole / sizeof *whole && good; i++)
        good = parse_learnt_figure(json, whole[i].name, whole[i].is_signed,
                                   (struct learnt *)((char *)out + whole[i].offset));
    return good || err_set(err, "it is no calibration of this version");
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

/* The mean over the end of a period counts for all of it, whose middle is earlier. */
static void set_counter_lag(const struct sensor_learnt *counter, struct sensor_behaviour *out)
{
    const struct learnt *length = &counter->averaging_s, *delay = &counter->delay_s,
                        *period = &counter->update_period_s;
    if (counter->averaging != AVERAGING_BOXCAR || !length->known || !delay->known || !period->known)
        return;
    out->counter_lag_ns = in_ns(delay->value + fmin(length->value - period->value, 0) / 2);
    out->counter_lag_sd_ns =
        hypot(delay->half_width, length->half_width / 2) / NORMAL_95 * NS_PER_S;
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
    set_counter_lag(counter, behaviour);
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
    struct rhythm rhythm = rhythm_counter(series);
    struct reading read = rhythm.period_s;
    double steady_s = rhythm_counter_steady_s(series), period_s = profile->period_s;
    if (period_s <= 0)
        return false;
    double apart_s = fabs(read.value - period_s) - rhythm.half_width_s;
    if (read.value > period_s) /* one update of a few was left out */
        apart_s -= period_s / (double)rhythm.periods;
    if (read.valid && apart_s > PERIOD_SHARE * read.value + PERIOD_S) {
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
