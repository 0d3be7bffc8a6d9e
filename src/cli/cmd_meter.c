/* Started by the runner, one for each GPU (src/machine/sensors/gpu_process.h); not for people, so
 * not in the help. */
#include "machine/gpu/vendor.h"
#include "machine/sensors/gpu_process.h"
#include "machine/sensors/time_scale.h"
#include "session/command.h"

enum { OPTION_DEVICE, OPTION_FD, OPTION_LIBRARY, OPTION_TIME_SCALE, OPTION_VENDOR, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_DEVICE] = VALUE_ROW(NULL, "--device", "UUID|N", CLI_TEXT,
                                "the GPU, by UUID or by the driver's number"),
    [OPTION_FD] =
        VALUE_ROW(NULL, "--fd", "N", CLI_INT, "the descriptor of its end of the socket pair",
                  .low = 3, .high = 1 << 20),
    [OPTION_LIBRARY] = VALUE_ROW(NULL, "--library", "FILE", CLI_FILE,
                                 "the driver's library, instead of the one that the system finds"),
    [OPTION_TIME_SCALE] =
        VALUE_ROW(NULL, "--time-scale", "X", CLI_TEXT,
                  "shorten the waits, from 0.001 to 1; for tests, with a driver that is played"),
    [OPTION_VENDOR] =
        VALUE_ROW(NULL, "--vendor", "NAME", CLI_TEXT, "of the GPU: nvidia, unless it is said"),
};

static int run_meter(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    const struct gpu_vendor *vendor = gpu_vendor_by_id(values[OPTION_VENDOR].text);
    if (!vendor)
        return cli_usage_error(call->command, "--vendor: '%s' is unknown",
                               values[OPTION_VENDOR].text);
    if (!values[OPTION_DEVICE].given || !values[OPTION_FD].given)
        return cli_usage_error(call->command, "a meter needs --device and --fd");
    struct err err = {0};
    double time_scale;
    if (!time_scale_read(values[OPTION_TIME_SCALE].text, &time_scale, &err))
        return cli_usage_error(call->command, "%s", err.text);
    return gpu_process_main(&(struct gpu_process_options){.backend = vendor->backend,
                                                          .library = values[OPTION_LIBRARY].text,
                                                          .device = values[OPTION_DEVICE].text,
                                                          .fd = (int)values[OPTION_FD].integer,
                                                          .time_scale = time_scale});
}

static const char *const usage_lines[] = {"meter --device UUID|N --fd N", NULL};

const struct cli_command cmd_meter = {
    .name = "meter",
    .summary = "read one GPU for a run",
    .usage = usage_lines,
    .options = options,
    .option_count = OPTION_COUNT,
    .keeps_root = true,
    .run = run_meter,
};
