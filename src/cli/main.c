/* Entry point: finds the command, changes to the calling user under sudo, and runs it. */
#include "base/json_print.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/study_call.h"
#include "plan/config/problem.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int print_output(const struct text *text)
{
    return message_print(text) ? CLI_OK : CLI_BROKEN;
}

/* Commands that are options of another now. */
static const struct {
    const char *name, *now;
} former_commands[] = {{"plan-pairs", "feasibility --plan"}};

static bool report_former_command(const char *name)
{
    EACH_OF (former_command, former_commands)
        if (strcmp(name, former_command->name) == 0) {
            cli_error("there is no command '%s' any more: use '%s %s'", name, TARE_NAME,
                      former_command->now);
            return true;
        }
    return false;
}

/* Reports a command that the build was configured without. */
static bool report_left_out(const char *name)
{
    static const struct {
        const char *name;
        bool built;
    } optional[] = {{"serve", TARE_WITH_SERVE}, {"watch", TARE_WITH_WATCH}};
    EACH_OF (item, optional)
        if (!item->built && strcmp(name, item->name) == 0) {
            cli_error(
                "this build does not have the command '%s': it was configured with -D%s=disabled",
                name, name);
            return true;
        }
    return false;
}

static int unknown_command(char *const *args, size_t count)
{
    const char *name = args[0];
    AUTO_FREE char *study_call = study_call_translate(args, count, false);
    if (study_call) {
        cli_error("mutation.py is the study's script; use: %s", study_call);
        return CLI_USAGE;
    }
    AUTO_STRV struct strv names = {0};
    for (size_t i = 0; cli_commands[i]; i++)
        strv_add(&names, cli_commands[i]->name);
    AUTO_FREE char *nearest = problem_nearest(name, (const char *const *)names.items, names.count);
    AUTO_FREE char *typed = shell_words_path(name);
    if (report_former_command(name) || report_left_out(name))
        return CLI_USAGE;
    if (text_ends_with(name, ".json"))
        cli_error("there is no command '%s'; to run the experiments of this file: %s run %s", name,
                  TARE_NAME, typed);
    else
        cli_error("there is no command '%s'%s", name, nearest);
    message_see_help(NULL);
    return CLI_USAGE;
}

static bool asks_for_root(const struct cli_call *call)
{
    for (size_t i = 0; i < call->command->option_count; i++)
        if (strcmp(call->command->options[i].long_name, "--as-root") == 0)
            return call->values[i].given;
    return false;
}

/* Nothing of the caller's is opened before. */
static int run_for_caller(struct cli_call *call)
{
    struct err err = {0};
    AUTO(caller_fini) struct caller caller = {0};
    if (!call->command->keeps_root) {
        if (!caller_become(asks_for_root(call), &caller, &err))
            return cli_failed(CLI_BROKEN, &err);
        call->caller = &caller;
    }
    return call->command->run(call);
}

static int parse_and_run(const struct cli_command *command, char **args, size_t count)
{
    struct err err = {0};
    AUTO(options_fini) struct cli_call call = {0};
    bool help;
    if (!options_parse(command, args, count, &call, &help, &err))
        return cli_usage_error(command, "%s", err.text);
    if (!help)
        return run_for_caller(&call);
    AUTO_TEXT struct text text = {0};
    help_command(command, &text);
    return print_output(&text);
}

/* The study's own command line had no commands: options at once mean run. */
static int run_by_options(char **args, size_t count)
{
    static const char *const own[] = {"--version"};
    if (!problem_nearest_name(args[0], own, 1))
        return parse_and_run(&cmd_run, args, count);
    cli_error("unknown option %s; did you mean '%s'?", args[0], own[0]);
    message_see_help(NULL);
    return CLI_USAGE;
}

static bool completion_of(const char *shell, struct text *out)
{
    static const struct {
        const char *shell;
        void (*write)(struct text *out);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    EACH_OF (item, shells)
        if (strcmp(item->shell, shell) == 0) {
            item->write(out);
            return true;
        }
    return false;
}

static bool schema_of(const char *file, struct text *out)
{
    json_t *schema = strcmp(file, "settings") == 0   ? settings_schema()
                     : strcmp(file, "registry") == 0 ? registry_schema()
                                                     : NULL;
    if (schema)
        json_print_taken(schema, out);
    return schema;
}

static bool manual_of(const char *name, struct text *out)
{
    const struct cli_command *command = name ? cli_command_find(name) : NULL;
    if (command || !name)
        manual_page(command, out);
    return command || !name;
}

/* What packages, editors and the build ask for. write gives false for what is none; but for the
 * manual it is asked for something. */
static const struct generated {
    const char *option, *takes;
    bool (*write)(const char *which, struct text *out);
} generated[] = {{"--man", "a command", manual_of},
                 {"--completion", "bash, zsh or fish", completion_of},
                 {"--reference", reference_names, reference_page},
                 {"--schema", "settings or registry", schema_of}};

static const struct generated *find_generated(const char *word)
{
    EACH_OF (item, generated)
        if (strcmp(word, item->option) == 0)
            return item;
    return NULL;
}

static int print_generated(const struct generated *what, const char *which)
{
    AUTO_TEXT struct text text = {0};
    if ((which || what->write == manual_of) && what->write(which, &text))
        return what->write == schema_of ? (message_print_exact(&text) ? CLI_OK : CLI_BROKEN)
                                        : print_output(&text);
    cli_error("%s takes %s%s%s", what->option, what->takes, which ? ", not " : "",
              which ? which : "");
    return CLI_USAGE;
}

static int dispatch_command(size_t count, char **args)
{
    AUTO_TEXT struct text text = {0};
    if (count == 0) {
        help_program(&text);
        message_print_aside(&text);
        return CLI_USAGE;
    }
    /* What people type to see the version; none of it is a beginning of one of run's options. */
    if (strcmp(args[0], "--version") == 0 || strcmp(args[0], "-V") == 0 ||
        strcmp(args[0], "version") == 0) {
        text_addf(&text, "%s %s\n", TARE_NAME, TARE_VERSION);
        return print_output(&text);
    }
    const struct generated *what = find_generated(args[0]);
    if (what)
        return print_generated(what, count > 1 ? args[1] : NULL);
    if (strcmp(args[0], "help") == 0 && count > 1) {
        if (!cli_command_find(args[1]))
            return unknown_command(args + 1, count - 1);
        help_command(cli_command_find(args[1]), &text);
        return print_output(&text);
    }
    if (strcmp(args[0], "-h") == 0 || strcmp(args[0], "--help") == 0 ||
        strcmp(args[0], "help") == 0) {
        help_program(&text);
        return print_output(&text);
    }
    if (args[0][0] == '-')
        return run_by_options(args, count);
    const struct cli_command *command = cli_command_find(args[0]);
    return command ? parse_and_run(command, args + 1, count - 1) : unknown_command(args, count);
}

/* With less the program would end by SIGSEGV, without a message: nested JSON is read and written by
 * recursion. */
static bool has_enough_stack(void)
{
    const rlim_t needed = 1 << 20;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed)
        return true;
    cli_error("the limit on the stack is %llu KiB, and this program needs %llu: ulimit -s 8192",
              (unsigned long long)limit.rlim_cur / 1024, (unsigned long long)needed / 1024);
    return false;
}

static void ignore_signal(int signal_number)
{
    (void)signal_number;
}

int main(int argc, char **argv)
{
    /* Whoever starts us may have closed a standard descriptor: the next file that is opened would
     * take its number, and what is printed would go into that file. What is there instead refuses
     * what is asked of it, as a closed one does. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    /* Whoever starts it would be root: what it loads and starts is chosen by the environment. */
    if (geteuid() != getuid() || getegid() != getgid()) {
        cli_error("this program is setuid or setgid, and would start any command with these "
                  "rights: take them from it "
                  "(chmod ug-s)");
        return CLI_BROKEN;
    }
    if (!has_enough_stack())
        return CLI_BROKEN;
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    /* A reader of our output that goes away, or a file at the limit on its size (ulimit -f), must
     * not end a night's run: the write fails, and is reported. A handler, unlike SIG_IGN, is not
     * inherited by jobs. */
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    /* Ignored by whoever started us, the kernel would reap our children, and their numbers could be
     * others' before we know. */
    signal(SIGCHLD, SIG_DFL);
    return message_exit_code(
        dispatch_command(argc > 0 ? (size_t)(argc - 1) : 0, argv + (argc > 0)));
}
