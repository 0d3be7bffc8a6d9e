/* doctor: what this machine gives, and what would give more. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/option_rows.h"
#include "doctor/doctor_contain.h"
#include "doctor/doctor_gpus.h"
#include "doctor/doctor_host.h"
#include "doctor/doctor_now.h"
#include "doctor/doctor_sensors.h"
#include "doctor/doctor_text.h"
#include "machine/contain/probe.h"
#include "report/live/width.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/gpus.h"
#include "session/measuring.h"
#include "session/message.h"
#include "session/on_event.h"

#include <pwd.h>
#include <unistd.h>

enum { OPTION_OUTPUT, OPTION_JSON, OPTION_TEST_EVENT, OPTION_AS_ROOT, OPTION_COUNT };

/* A page wider than this is hard to read. */
enum { WIDTH_MIN = 60, WIDTH_MAX = 100, SETTINGS_MAX = 64 << 20 };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OUTPUT] = OPTION_ROW_RESULTS("the folder in which runs will put their results"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_TEST_EVENT] = FLAG_ROW(
        NULL, "--test-event",
        "instead: send the event \"test\" to the program of on_event, of the settings or of "
        "the user's configuration"),
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: check as root instead of as the caller"),
};

static size_t page_width(void)
{
    size_t width = width_of_terminal(STDOUT_FILENO);
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static int examine(const struct cli_call *call, struct host_meter *host)
{
    struct err err = {0};
    AUTO(containment_fini) struct containment containment = {0};
    AUTO(findings_fini) struct findings findings = {0};
    const struct passwd *user = getpwuid(geteuid());
    AUTO_FREE char *user_name =
        user ? mem_strdup(user->pw_name) : mem_printf("%u", (unsigned)geteuid());
    struct doctor_machine machine = {.root = gpus_root(), .uid = geteuid(), .user = user_name};
    if (!containment_probe(CONTAINMENT_AUTO, &containment, &err))
        return cli_failed(CLI_BROKEN, &err);
    doctor_containment(&machine, &containment, &findings);
    size_t gpu_users = doctor_state(&findings);
    doctor_gpus(&machine, gpu_users, &findings);
    doctor_now(&findings);
    doctor_sensors(&machine, host, &findings);
    doctor_kernel(&machine, &findings);
    doctor_host(&machine, call->values[OPTION_OUTPUT].text, &findings);
    struct doctor_page page = {
        .containment = &containment,
        .findings = &findings,
        .kernel_backed = containment_kernel_backed(&containment),
        .width = page_width(),
        .colour = message_colour(STDOUT_FILENO),
    };
    AUTO_TEXT struct text text = {0};
    if (call->values[OPTION_JSON].given)
        doctor_json(&page, &text);
    else
        doctor_text(&page, &text);
    bool printed = message_print(&text);
    return !printed ? CLI_BROKEN : doctor_fit(&page) ? CLI_OK : CLI_SOME_FAILED;
}

/* Of the settings only the key on_event need be right. */
static int test_event(const struct cli_call *call, const struct strv *environment)
{
    struct err err = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    const char *path = call->operands.count ? call->operands.items[0] : NULL;
    struct on_event *on_event;
    if (path && !json_doc_read_config(path, SETTINGS_MAX, &doc, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!on_event_new(path ? &doc : NULL, environment, &on_event, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!on_event) {
        cli_error("neither the settings nor the user's configuration have the key on_event");
        return CLI_USAGE;
    }
    bool good = on_event_test(on_event);
    on_event_finish(on_event);
    return good ? CLI_OK : CLI_SOME_FAILED;
}

/* As root, before root is given up: nothing else that doctor does needs it. */
static void set_up_locks(void)
{
    struct err err = {0};
    AUTO(gpu_devices_fini) struct gpu_devices devices = {0};
    gpu_devices_read(gpus_root(), &devices, NULL);
    if (devices.count > 0 && geteuid() == 0 && !gpu_lock_folder_repair(gpus_lock_path(), &err))
        cli_warning("the folder of the GPUs' locks cannot be set up: %s", err.text);
}

static int run_doctor_with_host(const struct cli_call *call, struct host_meter *host)
{
    struct err err = {0};
    set_up_locks();
    AUTO(caller_fini) struct caller caller = {0};
    if (!caller_become(call->values[OPTION_AS_ROOT].given, &caller, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (call->values[OPTION_TEST_EVENT].given)
        return test_event(call, &caller.environment);
    return examine(call, host);
}

/* The counters may need root's rights, which are dropped under sudo; a run opens them in the same
 * way. */
static int run_doctor(const struct cli_call *call)
{
    if (call->operands.count > 0 && !call->values[OPTION_TEST_EVENT].given)
        return cli_usage_error(call->command, "settings go with --test-event only");
    struct host_meter *host = meters_open_host();
    int code = run_doctor_with_host(call, host);
    host_meter_free(host);
    return code;
}

static const char *const usage[] = {"doctor [--output DIR] [--json]",
                                    "doctor --test-event [SETTINGS.json]", NULL};

static const char *const description[] = {
    "Tells on one page whether this machine is fit to measure: which layers hold a job's processes "
    "together, and so "
    "whether the promise that nothing outlives an experiment is kernel-backed or best effort; "
    "whether memory limits "
    "are held; where the state folder is and whether dead runs left something; the GPUs, who holds "
    "them, and whether "
    "each is idle, empty and not slowed down now; the energy sensors of GPUs, CPU and DRAM, with "
    "source, rate and "
    "cost, which are tried for some seconds; kernel, clock, governor, turbo, pressure, and the "
    "disk of the results.",
    "Each check is ok, a warning (figures may wander, or something is missing that a run can do "
    "without) or a "
    "failure: then the machine is not fit to measure now. What has no mark is told for "
    "information.",
    "What is missing has its reason, and the command that fixes it where one is known. Layers are "
    "found by doing: a "
    "job is started up to its gate and ended there. On a machine with GPUs the folder of their "
    "locks is made when it "
    "is not there; under sudo it becomes root's, so that nobody can take another's locks away. "
    "Nothing else is "
    "changed.",
    "--test-event starts the program of on_event, as a run does (docs/howto/notify.md), and prints "
    "how it ended.",
    "Under sudo it checks as the user who called sudo, as a run does; --as-root checks as root.",
    NULL};

static const char *const exits[] = {
    "0", "fit to measure: no check fails (there may be warnings), and the promise is kernel-backed",
    "1", "not fit: a check fails, or the promise is best effort; the program of on_event failed",
    "2", "a mistake in the options or in the key on_event",
    "3", "not even a trial job can be started",
    NULL};

static const char *const examples[] = {
    "doctor",
    "check whether this machine is fit to measure",
    "doctor --output /scratch/results --json",
    "check with the disk of another results folder, and print JSON",
    "doctor --test-event settings.json",
    "send a test event to the program that the settings name",
    NULL,
};

const struct cli_command cmd_doctor = {
    .name = "doctor",
    .group = CLI_GROUP_MACHINE,
    .summary = "is this machine fit to measure, and how to fix what is not",
    .operand_max = 1,
    .operand_name = "SETTINGS.json",
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_doctor,
};
