/* calibrate: how the sensors of this GPU behave. */
#include "cli/option_rows.h"
#include "doctor/calibrate.h"
#include "measure/calibration/sensor_learn.h"
#include "session/caller.h"
#include "session/command.h"

enum {
    OPTION_GPU,
    OPTION_SECONDS,
    OPTION_YES,
    OPTION_SHOW,
    OPTION_VERBOSE,
    OPTION_JSON,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_GPU] = VALUE_ROW(NULL, "--gpu", "GPU", CLI_TEXT,
                             "this one, by number or UUID; needed where there are several"),
    [OPTION_SECONDS] = VALUE_ROW(NULL, "--seconds", "DURATION", CLI_DURATION,
                                 "so long in all; longer makes the figures more certain",
                                 .low = SCHEDULE_SECONDS_MIN, .high = SCHEDULE_SECONDS_MAX,
                                 .default_text = "60", .unit = "seconds"),
    [OPTION_YES] = FLAG_ROW("-y", "--yes", "the GPU's owner agrees to the load: do not ask"),
    [OPTION_SHOW] = FLAG_ROW(NULL, "--show", "show what was learnt before, and load nothing"),
    [OPTION_VERBOSE] = FLAG_ROW("-v", "--verbose", "all figures of each sensor, as a table"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static int run_calibrate(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    return calibrate(&(struct calibrate_options){.gpu = values[OPTION_GPU].text,
                                                 .seconds = values[OPTION_SECONDS].seconds,
                                                 .yes = values[OPTION_YES].given,
                                                 .verbose = values[OPTION_VERBOSE].given,
                                                 .json = values[OPTION_JSON].given,
                                                 .show = values[OPTION_SHOW].given,
                                                 .environment = &call->caller->environment});
}

static const char *const usage[] = {"calibrate [--gpu GPU] [--seconds DURATION] [--yes] [options]",
                                    "calibrate --show [--gpu GPU] [--json]", NULL};

static const char *const description[] = {
    "Loads one idle GPU for about a minute, in steps and square waves whose times the GPU's own "
    "timer tells, and "
    "learns how its power sensors behave: how often they update, how long they average, with what "
    "delay, which share "
    "of the time they sample, their step and noise, whether counter and samples agree, and how "
    "long power and "
    "temperature take to be back. Each figure has its 95 % half-width, or is unknown with the "
    "reason.",
    "Asks first. --yes answers that; without a terminal it is needed, unless all holds under which "
    "a run calibrates by "
    "itself (the load then takes 20 s at most). Only on a GPU without other users, which is locked "
    "meanwhile. Needs "
    "no root, and "
    "changes no clock and no limit. The result is a file for each GPU and driver: in the state "
    "folder, or, of root, "
    "in /var/lib/tare/calibrations, for all users. --show shows it, and says when it is stale: of "
    "another driver or "
    "version of tare, dated in the future, or older than 30 days.",
    NULL};

static const char *const exits[] = {
    "0", "calibrated, or shown",
    "1", "the GPU is not idle and free; --show: nothing is calibrated yet",
    "2", "a mistake in the options, or the load was not agreed to",
    "3", "the GPU cannot be used, or is locked by another run",
    NULL};

static const char *const examples[] = {
    "calibrate --gpu 0 --yes",
    "calibrate the sensors of GPU 0, without a question",
    "calibrate --show",
    "show what is calibrated, and whether it is stale",
    NULL,
};

const struct cli_command cmd_calibrate = {
    .name = "calibrate",
    .group = CLI_GROUP_MACHINE,
    .summary = "learn how this GPU's power sensors behave",
    COMMAND_TABLES,
    .run = run_calibrate,
};
