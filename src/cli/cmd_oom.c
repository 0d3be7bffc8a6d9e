/* oom: finds out-of-memory messages in logs and says why, and what would help. */
#include "base/json_print.h"
#include "base/mem.h"
#include "report/live/width.h"
#include "report/oom.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_CONF, OPTION_JSON, OPTION_COUNT };
enum { NARROWEST = 60, WIDEST = 100 };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONF] = VALUE_ROW(NULL, "--alloc-conf", "CONF", CLI_TEXT,
                              "PYTORCH_CUDA_ALLOC_CONF that the program ran with"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
};

static size_t width_here(void)
{
    size_t width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 80;
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

static int show_oom(const struct oom_logs *logs, bool as_json)
{
    AUTO_TEXT struct text text = {0};
    uint64_t found = oom_logs_found(logs);
    if (as_json)
        json_print_taken(oom_json(logs), &text);
    else
        oom_text(logs, width_here(), &text);
    if (!message_print(&text))
        return CLI_BROKEN;
    if (found == 0 && !as_json)
        cli_note("no out-of-memory message in %s%s", logs->items[0].name,
                 logs->count > 1 ? " and the other logs" : "");
    return found > 0 ? CLI_OK : CLI_SOME_FAILED;
}

static int run_oom(const struct cli_call *call)
{
    struct err err = {0};
    AUTO(oom_logs_fini) struct oom_logs logs = {0};
    const char *given = call->operands.count ? call->operands.items[0] : "-";
    if (call->operands.count == 0 && isatty(STDIN_FILENO))
        return cli_usage_error(call->command,
                               "which log? A file, a folder of results, or - for standard input");
    AUTO_FREE char *path = run_folder_named(given, &err);
    if (!path || !oom_logs_read(path, &logs, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (call->values[OPTION_CONF].given) {
        EACH (item, logs.items, logs.count)
            item->expandable = oom_expandable(call->values[OPTION_CONF].text);
    }
    return show_oom(&logs, call->values[OPTION_JSON].given);
}

static const char *const usage[] = {"oom [FILE|FOLDER|-] [--alloc-conf CONF] [--json]", NULL};

static const char *const description[] = {
    "Finds out-of-memory messages in a log of any size: of PyTorch (all versions), TensorFlow, "
    "JAX, "
    "vLLM, llama.cpp, CUDA itself and others, and of the machine (the kernel's OOM killer, Slurm, "
    "Kubernetes, /dev/shm, disks); broken over lines, as a list, from several ranks, among "
    "progress "
    "bars and colours. Says for each what had the memory, why there was not enough, with the "
    "numbers, where in the program, and what would help, at which cost.",
    "FOLDER is an experiment's folder or a run's: each attempt's training.log is read, and with it "
    "what "
    "experiment.json knows of allocator setting and memory per epoch. Without an argument, or with "
    "-, standard input "
    "is read.",
    NULL};

static const char *const exits[] = {"0", "found at least one message", "1", "found none",
                                    "2", "a mistake in the options",   "3", "a log cannot be read",
                                    NULL};

static const char *const examples[] = {
    "oom training.log",
    "explain each out-of-memory message of a log",
    "oom results/run_20261121_093000 --json",
    "explain those of all experiments of a run, as JSON",
    NULL,
};

const struct cli_command cmd_oom = {
    .name = "oom",
    .group = CLI_GROUP_MEMORY,
    .summary = "say why memory ran out, from a log",
    .operand_max = 1,
    .operand_name = "FILE",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_oom,
};
