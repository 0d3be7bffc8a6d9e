/* Started by the runner before a GPU's first experiment (src/doctor/calibrator.h); not for people,
 * so not in the help. */
#include "doctor/calibrator.h"
#include "machine/sensors/time_scale.h"
#include "session/command.h"

enum { OPTION_DEVICE, OPTION_LIBRARY, OPTION_TIME_SCALE, OPTION_VENDOR, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_DEVICE] = VALUE_ROW(NULL, "--device", "UUID|N", CLI_TEXT,
                                "the GPU, by UUID or by the driver's number"),
    [OPTION_LIBRARY] = VALUE_ROW(NULL, "--library", "FILE", CLI_FILE,
                                 "the driver's library, instead of the one that the system finds"),
    [OPTION_TIME_SCALE] =
        VALUE_ROW(NULL, "--time-scale", "X", CLI_TEXT,
                  "shorten the waits, from 0.001 to 1; for tests, with a driver that is played"),
    [OPTION_VENDOR] =
        VALUE_ROW(NULL, "--vendor", "NAME", CLI_TEXT, "of the GPU: nvidia, unless it is said"),
};

static int run_calibrator(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    const struct gpu_vendor *vendor = gpu_vendor_by_id(values[OPTION_VENDOR].text);
    struct err err = {0};
    double time_scale;
    if (!vendor || !vendor->cuda || !values[OPTION_DEVICE].given)
        return cli_usage_error(call->command,
                               "a calibrator needs --device, and a GPU that runs CUDA");
    if (!time_scale_read(values[OPTION_TIME_SCALE].text, &time_scale, &err))
        return cli_usage_error(call->command, "%s", err.text);
    return calibrator_main(&(struct calibrator_options){.vendor = vendor,
                                                        .library = values[OPTION_LIBRARY].text,
                                                        .device = values[OPTION_DEVICE].text,
                                                        .time_scale = time_scale});
}

static const char *const usage_lines[] = {"calibrator --device UUID|N", NULL};

const struct cli_command cmd_calibrator = {
    .name = "calibrator",
    .summary = "calibrate one GPU for a run",
    .usage = usage_lines,
    .options = options,
    .option_count = OPTION_COUNT,
    .keeps_root = true,
    .run = run_calibrator,
};
