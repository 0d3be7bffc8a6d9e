#include "cli/completion.h"
#include "cli/help.h"
#include "cli/options.h"
#include "tare_build.h"

#include <ctype.h>
#include <string.h>

/* Functions of bash and zsh for the words after a script: $script, its flags as its source adds
 * them to argparse (nothing is run), and whether the value of one of them may be a file. */
static const char script_functions[] =
    "_tare_arguments()\n"
    "{\n"
    "    tr '\\n' ' ' <\"$script\" 2>/dev/null | sed 's/add_argument(/\\n/g' | sed 1d\n"
    "}\n"
    "_tare_flags()\n"
    "{\n"
    "    _tare_arguments | sed -n \"s/^ *\\(['\\\"]-[^'\\\"]*['\\\"], *\\)*['\\\"]"
    "\\(--[A-Za-z0-9_.-]*\\)['\\\"].*/\\2/p\"\n"
    "}\n"
    "_tare_is_number()\n"
    "{\n"
    "    _tare_arguments | grep -F -e \"\\\"$1\\\"\" -e \"'$1'\" | "
    "grep -q 'type *= *\\(int\\|float\\)'\n"
    "}\n";

/* The same for fish. */
static const char fish_script_functions[] =
    "function __tare_script\n"
    "    __fish_seen_subcommand_from run; and commandline -opc | string match -q '*.py'\n"
    "end\n"
    "function __tare_flags\n"
    "    set -l script (commandline -opc | string match '*.py')\n"
    "    string match -arg \"add_argument\\(\\s*(?:['\\\"]-[^'\\\"]*['\\\"],\\s*)*"
    "['\\\"](--[\\w.-]+)['\\\"]\" -- (cat $script[1] 2>/dev/null | string collect)\n"
    "end\n";

/* For a text within '...' of which brackets, colons and backslashes have a meaning to _arguments
 * and _describe. */
static void add_zsh_quoted(struct text *out, const char *s)
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
static void add_zsh_value(struct text *out, const struct cli_option *option)
{
    if (option->type == CLI_FLAG)
        return;
    text_add_char(out, ':');
    add_zsh_quoted(out, option->argument);
    text_add_char(out, ':');
    if (option->type == CLI_CHOICE) {
        text_add_char(out, '(');
        option_choices(option, " ", out);
        text_add_char(out, ')');
    } else {
        text_add(out, option->type == CLI_FILE     ? "_files"
                      : option->type == CLI_FOLDER ? "_files -/"
                                                   : " ");
    }
}

/* One spelling excludes the other, unless the option may be repeated. */
static void add_zsh_spelling(struct text *out, const struct cli_option *option, const char *name,
                             bool is_long)
{
    text_add(out, " \\\n                '");
    if (option->repeats)
        text_add_char(out, '*');
    else if (option->short_name)
        text_addf(out, "(%s %s)", option->short_name, option->long_name);
    text_addf(out, "%s%s[", name, is_long && option->type != CLI_FLAG ? "=" : "");
    add_zsh_quoted(out, option->help);
    text_add_char(out, ']');
    add_zsh_value(out, option);
    text_add_char(out, '\'');
}

static void add_command(struct text *out, const struct cli_command *command)
{
    text_addf(out, "        (%s)\n            _arguments -S", command->name);
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        if (option->short_name)
            add_zsh_spelling(out, option, option->short_name, false);
        add_zsh_spelling(out, option, option->long_name, true);
    }
    if (command->stops_at_operand)
        text_add(out,
                 " \\\n                '(-)1:command: _command_names -e' '*::arguments:_normal'\n");
    else
        text_addf(out, " \\\n                '*:file:%s'\n",
                  command->reads_runs ? "_tare_runs" : "_files");
    text_add(out, "            ;;\n");
}

void completion_zsh(struct text *out)
{
    text_addf(out, "#compdef %s\n\n%s", TARE_NAME, script_functions);
    text_add(out, "_tare_runs()\n{\n    compadd latest\n    _files\n}\n"
                  "local script\nlocal -a commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "    '%s:", cli_commands[i]->name);
        add_zsh_quoted(out, cli_commands[i]->summary);
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
                  "    [[ $command != run ]] || script=${words[2,CURRENT-1][(r)*.py]}\n"
                  "    if [[ -n $script && $words[CURRENT] == -* ]]; then\n"
                  "        compadd -- $(_tare_flags)\n"
                  "        return\n"
                  "    elif [[ -n $script ]]; then\n"
                  "        _tare_is_number $words[CURRENT-1] || _files\n"
                  "        return\n"
                  "    fi\n"
                  "    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++)
        add_command(out, cli_commands[i]);
    text_add(out, "    esac\nfi\n");
}

/* Escapes text for '...'. */
static void add_fish_quoted(struct text *out, const char *s)
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
    bool is_run = strcmp(command->name, "run") == 0;
    text_addf(out, "complete -c %s -n '%s__fish_seen_subcommand_from", TARE_NAME,
              is_run ? "not " : "");
    for (size_t i = 0; cli_commands[i]; i++)
        if ((cli_commands[i] == command) != is_run)
            text_addf(out, " %s", cli_commands[i]->name);
    text_add(out, is_run ? "; and not __tare_script'" : "'");
}

/* -x: a value that is not a file; -r: a value that may be a file. */
static void add_fish_value(struct text *out, const struct cli_option *option)
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

static void add_fish_option(struct text *out, const struct cli_command *command,
                            const struct cli_option *option)
{
    add_condition(out, command);
    /* The study's short names of two letters are what fish calls old-style. */
    if (option->short_name)
        text_addf(out, " -%c %s", strlen(option->short_name) == 2 ? 's' : 'o',
                  option->short_name + 1);
    text_addf(out, " -l %s", option->long_name + 2);
    add_fish_value(out, option);
    text_add(out, " -d '");
    add_fish_quoted(out, option->help);
    text_add(out, "'\n");
}

void completion_fish(struct text *out)
{
    text_addf(out, "# fish completion for %s\n", TARE_NAME);
    text_add(out, fish_script_functions);
    text_addf(out, "complete -c %s -n __tare_script -f -a '(__tare_flags)'\n", TARE_NAME);
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", TARE_NAME,
                  cli_commands[i]->name);
        add_fish_quoted(out, cli_commands[i]->summary);
        text_add(out, "'\n");
    }
    text_addf(out, "complete -c %s -n __fish_use_subcommand -l version -d 'show the version'\n",
              TARE_NAME);
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        size_t at = 0;
        for (const struct cli_option *option; (option = option_next(command, &at));)
            add_fish_option(out, command, option);
        if (!command->stops_at_operand && !command->reads_runs)
            continue;
        add_condition(out, command);
        text_add(out, command->reads_runs ? " -a latest\n"
                                          : " -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
    }
}

static void add_option_words(struct text *out, const struct cli_command *command)
{
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        text_addf(out, "%s%s", at > 1 ? " " : "", option->long_name);
        if (option->short_name)
            text_addf(out, " %s", option->short_name);
    }
}

/* What follows an option that takes a value; "" asks for nothing. */
static void add_value_case(struct text *out, const struct cli_command *command,
                           const struct cli_option *option)
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

/* Before the options of the program's own: after a script its flags and files are completed. */
static const char bash_script_words[] =
    "    [ \"${command#-}\" = \"$command\" ] || command=run\n"
    "    for ((at = 2; at < COMP_CWORD; at++)); do\n"
    "        [[ $command != run || ${COMP_WORDS[at]} != *.py ]] || "
    "script=${script:-${COMP_WORDS[at]}}\n"
    "    done\n"
    "    if [ -n \"$script\" ]; then\n"
    "        if [ \"${cur#-}\" != \"$cur\" ]; then\n"
    "            COMPREPLY=($(compgen -W \"$(_tare_flags)\" -- \"$cur\"))\n"
    "        elif [ \"${prev#-}\" = \"$prev\" ] || ! _tare_is_number \"$prev\"; then\n"
    "            compopt -o filenames\n"
    "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "        fi\n"
    "        return\n"
    "    fi\n";

/* Operands: files, and "latest" where a run is read. */
static void add_bash_operands(struct text *out)
{
    text_add(out, "    if [ \"${cur#-}\" = \"$cur\" ]; then\n"
                  "        compopt -o filenames\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                  "        case $command in");
    for (size_t i = 0, found = 0; cli_commands[i]; i++)
        if (cli_commands[i]->reads_runs)
            text_addf(out, "%s%s", found++ ? "|" : " ", cli_commands[i]->name);
    text_add(out, ") COMPREPLY+=($(compgen -W latest -- \"$cur\")) ;; esac\n"
                  "        return\n    fi\n");
}

void completion_bash(struct text *out)
{
    AUTO_TEXT struct text function = {0};
    text_add_char(&function, '_');
    for (const char *at = TARE_NAME; *at; at++)
        text_add_char(&function, isalnum((unsigned char)*at) ? *at : '_');

    text_addf(out, "# bash completion for %s\n%s%s()\n{\n", TARE_NAME, script_functions,
              text_get(&function));
    text_add(out, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
                  "command=${COMP_WORDS[1]} script at\n"
                  "    if [ \"$COMP_CWORD\" -eq 1 ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
                  "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; cli_commands[i]; i++)
        text_addf(out, "%s%s", i ? " " : "", cli_commands[i]->name);
    text_add(out, "\" -- \"$cur\"))\n        return\n    fi\n");
    text_add(out, bash_script_words);
    text_add(out, "    case $command:$prev in\n");
    add_value_cases(out);
    text_add(out, "    esac\n");
    add_bash_operands(out);
    text_add(out, "    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        text_addf(out, "    %s) COMPREPLY=($(compgen -W \"", cli_commands[i]->name);
        add_option_words(out, cli_commands[i]);
        text_add(out, "\" -- \"$cur\")) ;;\n");
    }
    text_addf(out, "    esac\n}\ncomplete -F %s %s\n", text_get(&function), TARE_NAME);
}
