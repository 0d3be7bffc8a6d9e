/* commands: the table of all commands. */
#include "session/command.h"
#include "tare_build.h"

#include <string.h>

const struct cli_command *const cli_commands[] = {
    /* run */
    &cmd_run,
    &cmd_init,
    &cmd_list,
    &cmd_exec,
    &cmd_mark,
#if TARE_WITH_WATCH
    &cmd_watch,
#endif
#if TARE_WITH_SERVE
    &cmd_serve,
#endif
    /* measure */
    &cmd_bench,
    &cmd_measure,
    /* judge */
    &cmd_audit,
    &cmd_stats,
    &cmd_compare,
    &cmd_export,
    &cmd_report,
    /* memory */
    &cmd_memory,
    &cmd_oom,
    &cmd_feasibility,
    /* machine */
    &cmd_doctor,
    &cmd_clean,
    &cmd_calibrate,
    /* cluster */
    &cmd_submit,
    &cmd_collect,
    NULL,
};

/* What the program starts itself as: not shown. */
static const struct cli_command *const own_commands[] = {&cmd_meter, &cmd_calibrator, &cmd_on_event,
                                                         NULL};

static const struct cli_command *find_command_in(const struct cli_command *const *commands,
                                                 const char *name)
{
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0)
            return *commands;
    return NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
    const struct cli_command *command = find_command_in(cli_commands, name);
    return command ? command : find_command_in(own_commands, name);
}
