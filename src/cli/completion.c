#include "cli/texts.h"

#include "tare_build.h"

#include <ctype.h>

static void add_words(struct text *out, const struct cli_command *command)
{
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        text_addf(out, "%s%s", at > 1 ? " " : "", option->long_name);
        if (option->short_name)
            text_addf(out, " %s", option->short_name);
    }
}

/* What follows an option that takes a value; "" asks for nothing. */
static void add_value_case(struct text *out, const struct cli_command *command, const struct cli_option *option)
{
    text_addf(out, "    %s:%s", command->name, option->long_name);
    if (option->short_name)
        text_addf(out, "|%s:%s", command->name, option->short_name);
    text_add(out, ") ");
    if (option->type == CLI_CHOICE) {
        text_add(out, "COMPREPLY=($(compgen -W \"");
        option_choices(option, " ", out);
        text_add(out, "\" -- \"$cur\"))");
    } else if (option->type == CLI_FILE || option->type == CLI_FOLDER) {
        text_addf(out, "compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$cur\"))",
                  option->type == CLI_FILE ? 'f' : 'd');
    } else {
        text_add(out, "COMPREPLY=()");
    }
    text_add(out, "; return ;;\n");
}

static void add_value_cases(struct text *out)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        size_t at = 0;
        for (const struct cli_option *option; (option = option_next(cli_commands[i], &at));)
            if (option->type != CLI_FLAG)
                add_value_case(out, cli_commands[i], option);
    }
}

void completion_bash(struct text *out)
{
    AUTO_TEXT struct text function = {0};
    text_add_char(&function, '_');
    for (const char *at = TARE_NAME; *at; at++)
        text_add_char(&function, isalnum((unsigned char)*at) ? *at : '_');

    text_addf(out, "# bash completion for %s\n%s()\n{\n", TARE_NAME, text_get(&function));
    text_add(out, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
                  "    if [ \"$COMP_CWORD\" -eq 1 ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
                  "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; cli_commands[i]; i++)
        text_addf(out, "%s%s", i ? " " : "", cli_commands[i]->name);
    text_add(out, "\" -- \"$cur\"))\n        return\n    fi\n"
                  "    [ \"${command#-}\" = \"$command\" ] || command=run\n"
                  "    case $command:$prev in\n");
    add_value_cases(out);
    text_add(out,
             "    esac\n    if [ \"${cur#-}\" = \"$cur\" ]; then\n"
             "        compopt -o filenames\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n        return\n    fi\n"
             "    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "    %s) COMPREPLY=($(compgen -W \"", cli_commands[i]->name);
        add_words(out, cli_commands[i]);
        text_add(out, "\" -- \"$cur\")) ;;\n");
    }
    text_addf(out, "    esac\n}\ncomplete -F %s %s\n", text_get(&function), TARE_NAME);
}
