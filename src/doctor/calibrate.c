#include "doctor/calibrate.h"
#include "base/json_print.h"
#include "doctor/doctor_now.h"
#include "doctor/doctor_text.h"
#include "measure/calibration/calibration_measure.h"
#include "measure/calibration/calibration_width.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/mem.h"
#include "doctor/calibrator.h"
#include "machine/gpu/vendor.h"
#include "machine/state/state.h"
#include "measure/energy/sensor_behaviour.h"
#include "report/table.h"
#include "session/calibrating.h"
#include "session/command.h"
#include "session/gpu_hold.h"
#include "session/gpus.h"
#include "session/measuring.h"
#include "session/message.h"
#include "tare_build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELL_SIZE = 64 };

static const struct row {
    const char *title, *unit;
    double scale;
    int digits;
    size_t offset;
} rows[] = {
    {"update period", "ms", 1000, 2, offsetof(struct sensor_learnt, update_period_s)},
    {"jitter", "ms", 1000, 2, offsetof(struct sensor_learnt, jitter_s)},
    {"length", "ms", 1000, 1, offsetof(struct sensor_learnt, averaging_s)},
    {"delay", "ms", 1000, 1, offsetof(struct sensor_learnt, delay_s)},
    {"lag", "ms", 1000, 1, offsetof(struct sensor_learnt, lag_s)},
    {"looked-at share", "%", 100, 1, offsetof(struct sensor_learnt, looked_share)},
    {"quantum", "W or J", 1, 4, offsetof(struct sensor_learnt, quantum)},
    {"noise", "W", 1, 2, offsetof(struct sensor_learnt, noise_w)},
    {"idle", "W", 1, 1, offsetof(struct sensor_learnt, idle_w)},
    {"load", "W", 1, 1, offsetof(struct sensor_learnt, load_w)},
};

static const struct row whole[] = {
    {"counter over samples", "", 1, 4, offsetof(struct calibration, agreement)},
    {"until idle power is steady", "s", 1, 1, offsetof(struct calibration, idle_settle_s)},
    {"until power is back", "s", 1, 1, offsetof(struct calibration, power_back_s)},
    {"until temperature is back", "s", 1, 1, offsetof(struct calibration, temperature_back_s)},
};

static void figure_text(const struct row *row, const struct learnt *figure, char out[CELL_SIZE])
{
    if (figure->known)
        snprintf(out, CELL_SIZE, "%.*f ± %.*f", row->digits, figure->value * row->scale,
                 row->digits, figure->half_width * row->scale);
    else
        snprintf(out, CELL_SIZE, "unknown");
}

static void add_calibration_table(const struct calibration *found, bool colour, struct text *out)
{
    struct table *table = table_new(colour);
    char cell[CELL_SIZE];
    table_add_column(table, "", false);
    for (int i = 0; i < CALIBRATION_TEMPERATURE; i++)
        table_add_column(table, calibration_series_names[i], true);
    table_add_row(table);
    table_add_cell(table, "averaging", NULL);
    for (int i = 0; i < CALIBRATION_TEMPERATURE; i++)
        table_add_cell(table, sensor_averaging_name(found->sensors[i].averaging), NULL);
    EACH_OF (row, rows) {
        table_add_row(table);
        snprintf(cell, sizeof cell, "%s (%s)", row->title, row->unit);
        table_add_cell(table, cell, NULL);
        for (int i = 0; i < CALIBRATION_TEMPERATURE; i++) {
            figure_text(
                row, (const struct learnt *)((const char *)&found->sensors[i] + row->offset), cell);
            table_add_cell(table, cell, NULL);
        }
    }
    table_end(table, out);
}

/* Each reason once for each sensor: one cause makes several figures unknown. */
static void add_unknown_reasons(const struct calibration *found, struct text *out)
{
    for (int i = 0; i < CALIBRATION_TEMPERATURE; i++) {
        const char *said = NULL;
        EACH_OF (row, rows) {
            const struct learnt *figure =
                (const struct learnt *)((const char *)&found->sensors[i] + row->offset);
            if (!figure->known && figure->why && (!said || strcmp(said, figure->why) != 0))
                text_addf(out, "%s, %s unknown: %s\n", calibration_series_names[i], row->title,
                          figure->why);
            said = figure->known ? said : figure->why;
        }
    }
}

/* "98.6 ± 2.2 %" */
static void add_share(const struct learnt *share, struct text *out)
{
    text_addf(out, "%.1f ± %.1f %% of the time", 100 * share->value, 100 * share->half_width);
}

static const struct sensor_profile *find_model(const struct calibration *found)
{
    return sensor_profile_find(gpu_vendor_by_uuid(found->uuid, strlen(found->uuid)), found->name);
}

static void add_energy_line(const struct calibration *found, struct text *out)
{
    const struct sensor_profile *row = find_model(found);
    struct reading ten = calibration_half_width_share(found, row, 10),
                   sixty = calibration_half_width_share(found, row, 60);
    if (ten.valid && sixty.valid)
        text_addf(out, "energies of 10 s are good to ± %.2g %%, of 60 s to ± %.2g %%\n",
                  100 * ten.value, 100 * sixty.value);
    else
        text_add(out, "how good its energies are is unknown\n");
}

/* " (its model: 98 to 100 %, combined)" */
static void add_model_share(const struct calibration *found, struct text *out)
{
    const struct sensor_profile *row = find_model(found);
    struct calibration_profile profile;
    calibration_profile(found, row, &profile);
    if (profile.prior != CALIBRATION_PRIOR_NONE)
        text_addf(out, " (its model: %.0f to %.0f %%, %s)", 100 * row->counter_least,
                  100 * row->counter_most,
                  profile.prior == CALIBRATION_PRIOR_USED
                      ? "combined"
                      : "which differs: only the calibration is used");
}

static void add_counter_line(const struct calibration *found, struct text *out)
{
    const struct sensor_learnt *counter = &found->sensors[CALIBRATION_COUNTER];
    text_add(out, "its energy counter ");
    if (counter->updates == 0)
        text_add(out, "never changed: energies are of its power readings");
    else if (counter->looked_share.known)
        text_add(out, "sees "), add_share(&counter->looked_share, out), add_model_share(found, out);
    else
        text_addf(out, "sees an unknown share of the time (%s)", counter->looked_share.why);
    if (counter->update_period_s.known)
        text_addf(out, ", with an update each %.1f ms", 1000 * counter->update_period_s.value);
    text_add_char(out, '\n');
}

static void add_shown_line(const struct calibration *found, enum calibration_series which,
                           const char *name, struct text *out)
{
    const struct sensor_learnt *sensor = &found->sensors[which];
    text_addf(out, "%s: ", name);
    if (sensor->updates == 0) {
        text_add(out, "none\n");
        return;
    }
    if (sensor->update_period_s.known)
        text_addf(out, "a new value each %.1f ms", 1000 * sensor->update_period_s.value);
    else
        text_add(out, "new values at an unknown rate");
    if (sensor->lag_s.known)
        text_addf(out, ", late by %.0f ± %.0f ms", 1000 * sensor->lag_s.value,
                  1000 * sensor->lag_s.half_width);
    if (sensor->idle_w.known && sensor->load_w.known)
        text_addf(out, "; %.0f W idle, %.0f W under the load", sensor->idle_w.value,
                  sensor->load_w.value);
    text_add_char(out, '\n');
}

static void add_return_line(const struct calibration *found, struct text *out)
{
    const struct learnt *power = &found->power_back_s, *heat = &found->temperature_back_s;
    text_add(out, "after a load its power is back ");
    text_addf(out, power->known ? "within %.1f s" : "at an unknown time", power->value);
    text_add(out, ", its temperature ");
    text_addf(out, heat->known ? "within %.1f s\n" : "at an unknown time\n", heat->value);
}

/* Six lines; with verbose all figures. took_s: of the whole calibration; 0: unknown. */
static void add_calibration_text(const struct calibration *found, const char *stale, double took_s,
                                 bool verbose, bool colour, struct text *out)
{
    char when[40], cell[CELL_SIZE];
    clock_format_iso(found->made_s * NS_PER_S, when);
    text_addf(out, "%s (%s), driver %s, %.19s", found->name, found->uuid, found->driver, when);
    if (took_s > 0)
        text_addf(out, ", took %.0f s", took_s);
    text_addf(out, "%s%s\n", stale ? "; stale: " : "", stale ? stale : "");
    add_counter_line(found, out);
    add_energy_line(found, out);
    add_shown_line(found, CALIBRATION_SAMPLES, "samples of its driver", out);
    add_shown_line(found, CALIBRATION_POWER, "power reading", out);
    add_return_line(found, out);
    if (!verbose)
        return;
    add_calibration_table(found, colour, out);
    EACH_OF (item, whole) {
        const struct learnt *figure = (const struct learnt *)((const char *)found + item->offset);
        figure_text(item, figure, cell);
        text_addf(out, "%s: %s%s%s%s%s\n", item->title, cell,
                  figure->known && *item->unit ? " " : "", figure->known ? item->unit : "",
                  figure->known || !figure->why ? "" : ": ",
                  figure->known || !figure->why ? "" : figure->why);
    }
    add_unknown_reasons(found, out);
    text_add(out, "± is 95 %. All figures are of sensor and GPU together.\n");
}

static json_t *result_json(const struct calibration *found, const char *stale)
{
    json_t *json = calibration_json(found);
    json_object_set_new(json, "stale", json_text_or_null(stale));
    return json;
}

/* Takes json. */
static int print_calibration_json(json_t *json)
{
    AUTO_TEXT struct text text = {0};
    json_print_taken(json, &text);
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

struct shown {
    const char *uuid; /* only this GPU's; NULL: all */
    bool verbose;
    json_t *all;
    struct text text;
};

static void show_one(void *data, const char *name, const struct calibration *found,
                     const struct err *why)
{
    (void)name; /* why has it */
    struct shown *shown = data;
    if (!found)
        cli_warning("%s", why->text);
    if (!found || (shown->uuid && strcmp(found->uuid, shown->uuid) != 0))
        return;
    const struct gpu_vendor *vendor = gpu_vendor_by_uuid(found->uuid, strlen(found->uuid));
    AUTO_FREE char *driver = vendor ? vendor->driver_version(gpus_root()) : NULL;
    AUTO_FREE char *stale = calibration_stale(found, driver, clock_realtime_ns() / NS_PER_S);
    json_array_append_new(shown->all, result_json(found, stale));
    add_calibration_text(found, stale, 0, shown->verbose, message_colour(STDOUT_FILENO),
                         &shown->text);
}

static int show_calibrations(const struct calibrate_options *options, const char *uuid)
{
    struct err err = {0};
    struct state *state = state_open_user(&err);
    if (!state)
        return cli_failed(CLI_BROKEN, &err);
    struct shown shown = {.uuid = uuid, .verbose = options->verbose, .all = json_array()};
    AUTO_FREE char *system = meters_calibrations_path();
    AUTO_CLOSE int of_root = open(system, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (of_root >= 0)
        calibration_each(of_root, show_one, &shown);
    calibration_each(state_folder(state), show_one, &shown);
    state_close(state);
    int code = CLI_OK;
    if (options->json) {
        code = print_calibration_json(json_incref(shown.all));
    } else if (json_array_size(shown.all) == 0) {
        cli_error("nothing is calibrated yet: " TARE_NAME " calibrate");
        code = CLI_SOME_FAILED;
    } else if (!message_print(&shown.text)) {
        code = CLI_BROKEN;
    }
    json_decref(shown.all);
    text_fini(&shown.text);
    return code;
}

/* Whether the GPU may be loaded. unasked: under the conditions of a calibration by a run. */
static bool is_agreed(const struct calibrate_options *options, const char *label, bool *unasked)
{
    char answer[16] = "";
    struct err err = {0};
    *unasked = false;
    if (options->yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        *unasked = calibrating_is_allowed(CALIBRATE_AUTO, options->environment, &err) &&
                   calibrating_suits_machine(&err);
        if (!*unasked)
            cli_error("this loads %s for about %.0f s: say --yes if its owner agrees (" TARE_NAME
                      " calibrate --yes); without it %s",
                      label, options->seconds, err.text);
        return *unasked;
    }
    AUTO_FREE char *question = mem_printf("This loads %s for about %.0f s, in short steps. No "
                                          "clock or limit is changed. Go on? [y/N] ",
                                          label, options->seconds);
    bool yes =
        message_ask(question, answer, sizeof answer) && (answer[0] == 'y' || answer[0] == 'Y');
    if (!yes)
        cli_note("nothing was done");
    return yes;
}

/* Uses the checks of doctor: idle, empty, undivided, not throttled. */
static bool is_gpu_free(const struct calibration_look *look, const char *label)
{
    AUTO(findings_fini) struct findings findings = {0};
    bool good = true;
    doctor_now_gpu(&(struct doctor_gpu){.label = label,
                                        .proc = "/proc",
                                        .readings = &look->readings,
                                        .identity = &look->identity,
                                        .users = look->users.told ? &look->users : NULL,
                                        .users_why = "the driver does not tell"},
                   &findings);
    EACH (item, findings.items, findings.count)
        if (item->mark == FINDING_WRONG) {
            cli_error("%s%s%s", item->text, item->reason ? ": " : "",
                      item->reason ? item->reason : "");
            good = false;
        }
    return good;
}

static void print_calibration_progress(void *data, double share)
{
    (void)data;
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "\rcalibrating: %3.0f %%", share < 1 ? share * 100 : 100);
    message_print_aside(&text);
}

bool calibrate_keep(struct calibration *found, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *name = calibration_file_name(found->uuid, found->driver);
    if (!name)
        return err_set(err, "the driver reports no UUID or version that could name a file");
    json_print_taken(calibration_json(found), &text);
    struct digest digest = digest_of(text_get(&text), text.length);
    if (geteuid() == 0) {
        /* Where no user's job can write, and all users can read. */
        AUTO_FREE char *path = meters_calibrations_path();
        AUTO_CLOSE int dir = fs_make_path(path, 0755, err);
        if (dir < 0 || !fs_write_atomic(dir, name, text_get(&text), text.length, err))
            return false;
        if (fchmodat(dir, name, 0644, 0) != 0)
            return err_sys(err, "%s/%s", path, name);
    } else {
        struct state *state = state_open_user(err);
        bool good =
            state && fs_write_atomic(state_folder(state), name, text_get(&text), text.length, err);
        if (state)
            state_close(state);
        if (!good)
            return false;
    }
    digest_print(&digest, found->sha256);
    return true;
}

static int calibrate_gpu(const struct calibrate_options *options, struct calibration_options *how,
                         const char *label)
{
    struct err err = {0};
    struct calibration_look look;
    AUTO(calibration_data_fini) struct calibration_data data = {0};
    struct calibration found = {.seconds = how->seconds};
    if (!how->alone && !calibration_look(how, &look, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (!how->alone && !is_gpu_free(&look, label))
        return CLI_SOME_FAILED;
    if (isatty(STDERR_FILENO))
        how->progress = print_calibration_progress;
    bool good = calibration_measure(how, &data, &err);
    if (how->progress)
        message_print_aside(&(struct text){.data = (char[]){"\n"}, .length = 1});
    if (!good && data.outcome == CALIBRATION_INTERRUPTED)
        err_wrap(&err, "%s: nothing is kept", label);
    if (!good && data.outcome == CALIBRATION_REFUSED) {
        cli_error("%s is not calibrated without --yes: %s", label, err.text);
        return CLI_USAGE;
    }
    if (good) {
        calibration_learn(&data, &found);
        found.made_s = clock_realtime_ns() / NS_PER_S;
        good = calibrate_keep(&found, &err);
    }
    if (!good)
        return cli_failed(CLI_BROKEN, &err);
    if (options->json)
        return print_calibration_json(result_json(&found, NULL));
    AUTO_TEXT struct text text = {0};
    add_calibration_text(&found, NULL, data.seconds, options->verbose,
                         message_colour(STDOUT_FILENO), &text);
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

static int measure_locked(const struct calibrate_options *options,
                          const struct energy_meters_options *gpus, bool unasked)
{
    const struct energy_meters_gpu *gpu = gpus->gpus;
    struct err err = {0};
    sigset_t ends;
    AUTO_STRV struct strv environment = {0};
    struct gpu_hold *hold = NULL;
    sigemptyset(&ends);
    strv_add_all(&environment, options->environment);
    strv_env_set(&environment, gpu->vendor->visible_variable, gpu->device);
    int code = gpu_hold_take(&(struct gpu_hold_options){.mode = GPU_HOLD_REFUSE,
                                                        .asked = true,
                                                        .environment = &environment,
                                                        .ends = &ends,
                                                        .failed = CLI_BROKEN},
                             &hold, NULL);
    struct calibration_options how =
        calibrator_how(&(struct calibrator_options){.vendor = gpu->vendor,
                                                    .library = gpu->library,
                                                    .device = gpu->device,
                                                    .time_scale = gpus->time_scale},
                       options->seconds);
    struct run_gpu_locks locks = gpu_hold_of_run(hold);
    AUTO_CLOSE int turn = -1;
    if (!unasked) {
        how.seconds = options->seconds;
        how.alone = false;
        how.quiet_s = how.return_s = 0;
    } else if (code == 0 && (!locks.locks || locks.kind)) {
        cli_error("%s is not calibrated without --yes: its lock is not seen by other users",
                  gpu->label);
        code = CLI_USAGE;
    } else if (code == 0) {
        turn = calibrating_turn(0, &err);
        if (turn < 0)
            code = cli_failed(CLI_BROKEN, &err);
    }
    if (code == 0)
        code = calibrate_gpu(options, &how, gpu->label);
    gpu_hold_end(hold);
    return code;
}

int calibrate(const struct calibrate_options *options)
{
    struct err err = {0};
    bool unasked;
    AUTO(meters_fini) struct meters meters = {0};
    if (options->show && !options->gpu)
        return show_calibrations(options, NULL);
    if (!meters_choose(options->gpu ? options->gpu : "all", NULL, &meters, &err))
        return cli_failed(CLI_USAGE, &err);
    if (meters.options.gpu_count == 0) {
        cli_error("this machine has no NVIDIA GPU");
        return CLI_BROKEN;
    }
    if (meters.options.gpu_count > 1) {
        cli_error("this machine has %zu GPUs: --gpu says which one", meters.options.gpu_count);
        return CLI_USAGE;
    }
    if (options->show)
        return show_calibrations(options, meters.gpus[0].device);
    if (!meters.gpus[0].vendor->cuda) {
        cli_error("%s is of %s: the load of " TARE_NAME " calibrate needs CUDA",
                  meters.gpus[0].label, meters.gpus[0].vendor->name);
        return CLI_BROKEN;
    }
    if (!meters_scale(&meters, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!is_agreed(options, meters.gpus[0].label, &unasked))
        return CLI_USAGE;
    return measure_locked(options, &meters.options, unasked);
}
