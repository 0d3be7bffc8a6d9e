#include "cli/texts.h"

#include "tare_build.h"

#include <string.h>

/* For a text within '...'. */
static void add_quoted(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            text_add_char(out, '\\');
        text_add_char(out, *s);
    }
}

/* When the rows of a command hold: options at once mean run. */
static void add_condition(struct text *out, const struct cli_command *command)
{
    bool is_run = command == &cmd_run;
    text_addf(out, "complete -c %s -n '%s__fish_seen_subcommand_from", TARE_NAME, is_run ? "not " : "");
    for (size_t i = 0; cli_commands[i]; i++)
        if ((cli_commands[i] == command) != is_run)
            text_addf(out, " %s", cli_commands[i]->name);
    text_add_char(out, '\'');
}

/* -x: a value, and no file; -r: a value, which may be a file. */
static void add_value(struct text *out, const struct cli_option *option)
{
    if (option->type == CLI_CHOICE) {
        text_add(out, " -x -a '");
        option_choices(option, " ", out);
        text_add_char(out, '\'');
    } else if (option->type != CLI_FLAG) {
        text_add(out, option->type == CLI_FILE     ? " -r -F"
                      : option->type == CLI_FOLDER ? " -x -a '(__fish_complete_directories)'"
                                                   : " -x");
    }
}

static void add_option(struct text *out, const struct cli_command *command, const struct cli_option *option)
{
    add_condition(out, command);
    /* The study's short names of two letters are what fish calls old-style. */
    if (option->short_name)
        text_addf(out, " -%c %s", strlen(option->short_name) == 2 ? 's' : 'o', option->short_name + 1);
    text_addf(out, " -l %s", option->long_name + 2);
    add_value(out, option);
    text_add(out, " -d '");
    add_quoted(out, option->help);
    text_add(out, "'\n");
}

void completion_fish(struct text *out)
{
    text_addf(out, "# fish completion for %s\n", TARE_NAME);
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", TARE_NAME, cli_commands[i]->name);
        add_quoted(out, cli_commands[i]->summary);
        text_add(out, "'\n");
    }
    text_addf(out, "complete -c %s -n __fish_use_subcommand -l version -d 'show the version'\n", TARE_NAME);
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        size_t at = 0;
        for (const struct cli_option *option; (option = option_next(command, &at));)
            add_option(out, command, option);
        if (!command->stops_at_operand)
            continue;
        add_condition(out, command);
        text_add(out, " -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
    }
}
