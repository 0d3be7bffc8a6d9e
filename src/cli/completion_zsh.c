#include "cli/texts.h"

#include "tare_build.h"

/* For a text within '...' of which brackets, colons and backslashes have a meaning to _arguments and _describe. */
static void add_quoted(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            text_add(out, "'\\''");
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            text_addf(out, "\\%c", *s);
        else
            text_add_char(out, *s);
    }
}

/* What follows an option that takes a value: ":FILE:_files". */
static void add_value(struct text *out, const struct cli_option *option)
{
    if (option->type == CLI_FLAG)
        return;
    text_add_char(out, ':');
    add_quoted(out, option->argument);
    text_add_char(out, ':');
    if (option->type == CLI_CHOICE) {
        text_add_char(out, '(');
        option_choices(option, " ", out);
        text_add_char(out, ')');
    } else {
        text_add(out, option->type == CLI_FILE ? "_files" : option->type == CLI_FOLDER ? "_files -/" : " ");
    }
}

/* One spelling: the other one excludes it, unless it may be given again. */
static void add_spelling(struct text *out, const struct cli_option *option, const char *name, bool is_long)
{
    text_add(out, " \\\n                '");
    if (option->repeats)
        text_add_char(out, '*');
    else if (option->short_name)
        text_addf(out, "(%s %s)", option->short_name, option->long_name);
    text_addf(out, "%s%s[", name, is_long && option->type != CLI_FLAG ? "=" : "");
    add_quoted(out, option->help);
    text_add_char(out, ']');
    add_value(out, option);
    text_add_char(out, '\'');
}

static void add_command(struct text *out, const struct cli_command *command)
{
    text_addf(out, "        (%s)\n            _arguments -S", command->name);
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        if (option->short_name)
            add_spelling(out, option, option->short_name, false);
        add_spelling(out, option, option->long_name, true);
    }
    if (command->stops_at_operand)
        text_add(out, " \\\n                '(-)1:command: _command_names -e' '*::arguments:_normal'\n");
    else
        text_add(out, " \\\n                '*:file:_files'\n");
    text_add(out, "            ;;\n");
}

void completion_zsh(struct text *out)
{
    text_addf(out, "#compdef %s\n\n", TARE_NAME);
    text_add(out, "local -a commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "    '%s:", cli_commands[i]->name);
        add_quoted(out, cli_commands[i]->summary);
        text_add(out, "'\n");
    }
    /* Options at once mean run. */
    text_add(out, ")\n"
                  "if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
                  "    _describe -t commands command commands\n"
                  "else\n"
                  "    local command=run\n"
                  "    if [[ $words[2] != -* ]]; then\n"
                  "        command=$words[2]\n"
                  "        shift words\n"
                  "        ((CURRENT--))\n"
                  "    fi\n"
                  "    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++)
        add_command(out, cli_commands[i]);
    text_add(out, "    esac\nfi\n");
}
