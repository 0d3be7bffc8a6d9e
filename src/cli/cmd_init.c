/* init: a registry and settings for a script, from what its --help lists. */
#include "base/fs_path.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "cli/option_rows.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_input.h"
#include "session/script.h"
#include "tare_build.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGISTRY "registry.json"
#define SETTINGS "settings.json"

enum { SCRIPTS_SHOWN = 20, ANSWER_BYTES = 4096 };

enum {
    OPTION_OUTPUT,
    OPTION_FORCE,
    OPTION_NO_PROBE,
    OPTION_HELP_TIMEOUT,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OUTPUT] = VALUE_ROW("-o", "--output", "DIR", CLI_FOLDER,
                                "the folder for " REGISTRY " and " SETTINGS, .default_text = "."),
    [OPTION_FORCE] = FLAG_ROW(NULL, "--force", "replace these two files where they are there"),
    [OPTION_NO_PROBE] = OPTION_ROW_NO_PROBE,
    [OPTION_HELP_TIMEOUT] = OPTION_ROW_HELP_TIMEOUT,
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

/* ---- Questions, on a terminal. */

/* The answer without its line end. False: end of input (Ctrl-D). */
static bool ask_question(const char *question, char answer[ANSWER_BYTES])
{
    AUTO_FREE char *shown = mem_printf("%s ", question);
    return message_ask(shown, answer, ANSWER_BYTES);
}

static void list_scripts(struct strv *out)
{
    AUTO_DIR DIR *dir = opendir(".");
    for (const struct dirent *entry; dir && (entry = readdir(dir)) && out->count < 1000;)
        if (entry->d_name[0] != '.' && text_ends_with(entry->d_name, ".py"))
            strv_add(out, entry->d_name);
    strv_sort(out);
}

/* Fresh; NULL: none was named. */
static char *ask_script(void)
{
    char answer[ANSWER_BYTES], *end;
    AUTO_STRV struct strv scripts = {0};
    AUTO_TEXT struct text list = {0};
    list_scripts(&scripts);
    for (size_t i = 0; i < scripts.count && i < SCRIPTS_SHOWN; i++)
        text_addf(&list, "  %zu  %s\n", i + 1, scripts.items[i]);
    message_print_aside(&list);
    if (!ask_question(scripts.count ? "Which script trains? Its number or its path:"
                                    : "Which script trains? Its path:",
                      answer) ||
        !*answer)
        return NULL;
    unsigned long number = strtoul(answer, &end, 10);
    bool is_number = *end == '\0' && number >= 1 && number <= scripts.count && !fs_is_file(answer);
    return mem_strdup(is_number ? scripts.items[number - 1] : answer);
}

static void show_options(const struct script_help *help)
{
    AUTO_TEXT struct text list = {0};
    text_add(&list, "Its hyperparameters:\n");
    for (size_t i = 0; i < help->count; i++) {
        const struct script_option *option = &help->options[i];
        text_addf(&list, "  %-20s %s%s%s%s\n", option->name, option->initial ? "(default " : "",
                  option->initial ? option->initial : "", option->initial ? ") " : "",
                  option->help);
    }
    message_print_aside(&list);
}

/* What is asked for becomes what could stand behind the script. False: nobody answers. */
static bool ask_values(const struct script_help *help, struct strv *args, int64_t *runs,
                       bool *has_runs)
{
    char answer[ANSWER_BYTES];
    show_options(help);
    if (!ask_question("Which of them to vary? Names with blanks between; nothing for a proposal:",
                      answer))
        return false;
    for (char *save, *name = strtok_r(answer, " ,\t", &save); name;
         name = strtok_r(NULL, " ,\t", &save)) {
        const struct script_option *option = NULL;
        for (size_t i = 0; i < help->count && !option; i++)
            if (strcmp(help->options[i].name, name) == 0 ||
                strcmp(help->options[i].flag, name) == 0)
                option = &help->options[i];
        if (!option) {
            cli_warning("there is no hyperparameter %s: left out", name);
            continue;
        }
        char values[ANSWER_BYTES];
        AUTO_FREE char *question = mem_printf("Values of %s, as 0.1,0.01 or 1..3:", option->name);
        if (!ask_question(question, values))
            return false;
        if (!*values)
            continue;
        strv_add(args, option->flag);
        strv_add(args, values);
    }
    if (!ask_question("How often each of them? Nothing for once:", answer))
        return false;
    char *end;
    long number = strtol(answer, &end, 10);
    *has_runs = end != answer && *end == '\0' && number > 0 && number <= 1000000;
    *runs = number;
    return true;
}

/* ---- The files. */

static bool may_write(const char *folder, bool force, struct err *err)
{
    static const char *const names[] = {REGISTRY, SETTINGS};
    for (size_t i = 0; i < sizeof names / sizeof *names && !force; i++) {
        AUTO_FREE char *path = fs_resolve(folder, names[i], NULL);
        if (access(path, F_OK) == 0)
            return err_set(err,
                           "%s%s%s is there: --force replaces it, --output DIR writes elsewhere; "
                           "nothing was written",
                           strcmp(folder, ".") == 0 ? "" : folder,
                           strcmp(folder, ".") == 0 ? "" : "/", names[i]);
    }
    return true;
}

/* What a run would say of them: nothing is written that it would refuse. */
static bool check_files(const struct text *registry, const struct text *settings,
                        size_t *experiments)
{
    struct run_options how = {.made_registry = text_get(registry),
                              .made_settings = text_get(settings)};
    AUTO(run_input_fini) struct run_input input = {0};
    run_input_read(&how, &input);
    *experiments = input.plan.count;
    message_problems(&input.problems);
    bool good = input.problems.errors == 0;
    if (!good)
        message_problem_count(&input.problems);
    return good;
}

static void print_next_steps(const char *folder, size_t experiments)
{
    AUTO_FREE char *path =
        strcmp(folder, ".") == 0 ? mem_strdup(SETTINGS) : mem_printf("%s/" SETTINGS, folder);
    AUTO_FREE char *typed = shell_words_path(path);
    message_printf("wrote %s%s" REGISTRY ": what can be trained, its hyperparameters and metrics\n"
                   "wrote %s: what to run: %zu experiment%s\n"
                   "look:  %s run %s --dry-run\n"
                   "start: %s run %s\n",
                   strcmp(folder, ".") == 0 ? "" : folder, strcmp(folder, ".") == 0 ? "" : "/",
                   path, experiments, experiments == 1 ? "" : "s", TARE_NAME, typed, TARE_NAME,
                   typed);
}

static int make_starter_files(const struct cli_call *call, const struct script *script,
                              const struct strv *given, struct starter *starter)
{
    struct err err = {0};
    const char *folder = call->values[OPTION_OUTPUT].text;
    AUTO(starter_args_fini) struct starter_args args;
    AUTO_TEXT struct text registry = {0};
    AUTO_TEXT struct text settings = {0};
    AUTO_TEXT struct text checked = {0};
    size_t experiments;
    if (!starter_args_parse(given->items, given->count, script->has_help ? &script->help : NULL,
                            &args, &err))
        return cli_usage_error(call->command, "%s", err.text);
    starter->args = &args;
    starter->proposes = args.count == 0;
    script_write(script, script->folder, starter, &checked, &settings);
    if (!check_files(&checked, &settings, &experiments))
        return CLI_USAGE;
    script_say(script, &args, experiments);
    text_clear(&settings);
    script_write(script, strcmp(folder, ".") == 0 ? "." : script->folder, starter, &registry,
                 &settings);
    AUTO_CLOSE int dir = fs_make_path(folder, 0777, &err);
    if (!(dir >= 0 && fs_write_atomic(dir, REGISTRY, text_get(&registry), registry.length, &err) &&
          fs_write_atomic(dir, SETTINGS, text_get(&settings), settings.length, &err)))
        return cli_failed(CLI_BROKEN, &err);
    print_next_steps(folder, experiments);
    return CLI_OK;
}

static int run_init(const struct cli_call *call)
{
    struct err err = {0};
    const struct strv *operands = &call->operands;
    AUTO_STRV struct strv words = {0};
    AUTO_STRV struct strv args = {0};
    AUTO(script_fini) struct script script = {0};
    struct starter starter = {0};
    AUTO_FREE char *asked = NULL;
    if (operands->count == 0 && !isatty(STDIN_FILENO))
        return cli_usage_error(call->command,
                               "which script? " TARE_NAME
                               " init train.py; without one it asks, on a terminal only");
    if (!may_write(call->values[OPTION_OUTPUT].text, call->values[OPTION_FORCE].given, &err))
        return cli_failed(CLI_USAGE, &err);
    if (operands->count == 0 && !(asked = ask_script()))
        return cli_usage_error(call->command, "no script was named; nothing was written");
    struct script_probing probing = {
        .never = call->values[OPTION_NO_PROBE].given,
        .timeout_s = call->values[OPTION_HELP_TIMEOUT].seconds,
    };
    if (asked)
        strv_add(&words, asked);
    else
        strv_add_all(&words, operands);
    if (!script_read(&words, &call->caller->environment, &probing, &script, &err))
        return cli_failed(CLI_USAGE, &err);
    for (size_t i = script.arguments_at; i < words.count; i++)
        strv_add(&args, words.items[i]);
    if (asked && script.has_help &&
        !ask_values(&script.help, &args, &starter.runs, &starter.has_runs)) {
        cli_error("nobody answers; nothing was written");
        return CLI_USAGE;
    }
    return make_starter_files(call, &script, &args, &starter);
}

static const char *const usage[] = {
    "init [-o DIR] [--force] [LAUNCHER] SCRIPT [the script's options]",
    "init [-o DIR] [--force]",
    NULL,
};

static const char *const description[] = {
    "Writes " REGISTRY " and " SETTINGS " for a training script, ready to run and to edit. The "
    "script is started once with --help, to read its options "
    "(argparse, click, Typer, absl), if its text or that of a local module that it imports uses "
    "such a parser; a "
    "script that is not Python, if it mentions --help or getopts. It then sees no GPU, can write "
    "neither in the "
    "working folder nor in its own, and is ended after --help-timeout. Where the folders cannot be "
    "made read-only it "
    "is not started. It is never imported.",
    "Words after the script are its command line, as for run: --lr 0.1,0.01 --seed 1..3. Without a "
    "value that is "
    "named there, init proposes learning rates and seeds where the script has them. The registry "
    "lists the other "
    "options with the script's own defaults as comments; they are left to the script until the "
    "settings name them.",
    "Python is the one that the script's first line names by a path, else that of the active "
    "virtual environment, or "
    "of .venv or venv "
    "beside the script, else python3. The metrics, and the marks of epochs, are guesses: "
    "edit them.",
    "Without a script, init asks for it and for the hyperparameters, on a terminal. It never "
    "replaces a file, but with "
    "--force.",
    NULL,
};

static const char *const exits[] = {
    "0",
    "written",
    "2",
    "a mistake in the options, no such script, or a file is there already: nothing was written",
    "3",
    "a file cannot be written",
    NULL,
};

static const char *const examples[] = {
    "init train.py",
    "write a registry and settings from what train.py --help lists",
    "init train.py --lr 0.1,0.01 --seed 1..3",
    "the same, with a grid of two learning rates and three seeds",
    NULL,
};

const struct cli_command cmd_init = {
    .name = "init",
    .group = CLI_GROUP_RUN,
    .summary = "write a registry and settings for a training script",
    .operand_max = SIZE_MAX,
    .operand_name = "SCRIPT",
    .stops_at_operand = true,
    COMMAND_TABLES,
    .run = run_init,
};
