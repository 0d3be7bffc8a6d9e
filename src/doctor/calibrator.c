#include "doctor/calibrator.h"
#include "base/json_print.h"
#include "measure/calibration/calibration_measure.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/time_scale.h"
#include "session/calibrating.h"
#include "session/message.h"
#include "tare_build.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static const double LOAD_S = 20, QUIET_S = 5, RETURN_S = 120, TURN_S = 900;

struct calibration_options calibrator_how(const struct calibrator_options *options, double seconds)
{
    const char *cuda = getenv("TARE_CUDA");
    double scale = options->time_scale;
    return (struct calibration_options){
        .backend = options->vendor->backend,
        .library = options->library,
        .cuda_library = cuda && *cuda ? cuda : NULL,
        .device = options->device,
        .seconds = fmax(SCHEDULE_SECONDS_MIN, fmin(seconds, LOAD_S) * scale),
        .alone = true,
        .quiet_s = QUIET_S * scale,
        .return_s = RETURN_S * scale,
    };
}

static bool measure_calibration(const struct calibrator_options *options,
                                struct calibration_data *data, struct calibration *found,
                                struct err *err)
{
    struct calibration_options how = calibrator_how(options, LOAD_S);
    data->outcome = CALIBRATION_REFUSED;
    AUTO_CLOSE int turn = calibrating_suits_machine(err) ? calibrating_turn(TURN_S, err) : -1;
    if (turn < 0 || !calibration_measure(&how, data, err))
        return false;
    data->outcome = CALIBRATION_FAILED;
    found->seconds = how.seconds;
    calibration_learn(data, found);
    found->made_s = clock_realtime_ns() / NS_PER_S;
    AUTO_FREE char *stale = calibration_stale(found, NULL, found->made_s);
    if (stale)
        return err_set(err, "%s", stale);
    if (!calibrate_keep(found, err))
        return false;
    data->outcome = CALIBRATION_MADE;
    return true;
}

/* Like the meter, it ends with the run and ignores the terminal's signals. */
static void set_up_calibrator(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGPIPE};
    struct pollfd reader = {.fd = STDOUT_FILENO};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, TARE_NAME "-calibrator", 0, 0, 0);
    EACH_OF (item, ignored)
        signal(*item, SIG_IGN);
    if (poll(&reader, 1, 0) > 0 && reader.revents & POLLERR)
        _exit(1); /* the run ended before */
}

int calibrator_main(const struct calibrator_options *options)
{
    struct err err = {0};
    AUTO(calibration_data_fini) struct calibration_data data = {0};
    struct calibration found = {0};
    set_up_calibrator();
    bool made = measure_calibration(options, &data, &found, &err);
    json_t *json = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o}", "outcome", calibration_outcome_names[data.outcome],
        "reason", json_text_or_null(made ? NULL : err.text), "seconds", json_finite(data.seconds),
        "energy_j", json_reading_or_null(data.energy_j), "memory_bytes",
        json_reading_or_null(data.memory_bytes), "calibration",
        made ? calibration_json(&found) : json_null());
    AUTO_TEXT struct text text = {0};
    json_print_taken(json, &text);
    return message_print(&text) && made ? 0 : 1;
}
