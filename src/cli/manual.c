#include "cli/manual.h"
#include "base/mem.h"
#include "cli/help.h"
#include "tare_build.h"

#include <ctype.h>
#include <string.h>

/* Text for roff: a backslash and a dash have meanings of their own, and so has a dot or quote at
 * the start of a line. */
static void add_roff(struct text *out, const char *s)
{
    for (bool first = true; *s; s++, first = false) {
        if (first && (*s == '.' || *s == '\''))
            text_add(out, "\\&");
        if (*s == '\\')
            text_add(out, "\\e");
        else if (*s == '-')
            text_add(out, "\\-");
        else
            text_add_char(out, *s);
    }
}

static void add_manual_title(struct text *out, const char *name, const char *summary)
{
    AUTO_TEXT struct text upper = {0};
    for (const char *at = name; *at; at++)
        text_add_char(&upper, (char)toupper((unsigned char)*at));
    text_addf(out, ".TH \"%s\" 1 \"\" \"%s %s\" \"User Commands\"\n", text_get(&upper), TARE_NAME,
              TARE_VERSION);
    text_add(out, ".SH NAME\n");
    add_roff(out, name);
    text_add(out, " \\- ");
    add_roff(out, summary);
    text_add(out, "\n.SH SYNOPSIS\n");
}

static void add_usage(struct text *out, const char *line, bool first)
{
    text_addf(out, "%s.B %s\n", first ? "" : ".br\n", TARE_NAME);
    add_roff(out, line);
    text_add_char(out, '\n');
}

static void add_manual_option(struct text *out, const char *head, const char *body)
{
    text_add(out, ".TP\n\\fB");
    add_roff(out, head);
    text_add(out, "\\fR\n");
    add_roff(out, body);
    text_add_char(out, '\n');
}

static void add_sentence(struct text *out, const char *head, const char *body)
{
    AUTO_FREE char *sentence = mem_printf("%s.", body);
    add_manual_option(out, head, sentence);
}

static void command_page(const struct cli_command *command, struct text *out)
{
    AUTO_TEXT struct text name = {0};
    text_addf(&name, "%s-%s", TARE_NAME, command->name);
    add_manual_title(out, text_get(&name), command->summary);
    for (size_t i = 0; command->usage[i]; i++)
        add_usage(out, command->usage[i], i == 0);
    for (size_t i = 0; command->description && command->description[i]; i++) {
        text_add(out, i == 0 ? ".SH DESCRIPTION\n" : ".PP\n");
        add_roff(out, command->description[i]);
        text_add_char(out, '\n');
    }
    text_add(out, ".SH OPTIONS\n");
    option_each(command, add_sentence, out);
    if (command->exits)
        text_add(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; command->exits && command->exits[i] && command->exits[i + 1]; i += 2)
        add_manual_option(out, command->exits[i], command->exits[i + 1]);
    if (command->examples)
        text_add(out, ".SH EXAMPLES\n");
    for (size_t i = 0; command->examples && command->examples[i] && command->examples[i + 1];
         i += 2) {
        AUTO_FREE char *line = mem_printf("%s %s", TARE_NAME, command->examples[i]);
        add_manual_option(out, line, command->examples[i + 1]);
    }
    text_addf(out, ".SH SEE ALSO\n.BR %s (1)\n", TARE_NAME);
}

/* docs/reference/exit-codes.md has all of it. */
static const struct {
    const char *name, *meaning;
} environment[] = {
    {"CUDA_VISIBLE_DEVICES", "only these GPUs are used, locked and measured."},
    {"NO_COLOR", "when set and not empty, nothing is written in colour."},
    {"COLUMNS", "the width of tables, where the terminal does not tell it."},
    {"LANG, LC_ALL, LC_MESSAGES",
     "the language of the page for the browser: Chinese where it begins with zh."},
    {"TARE_STATE_DIR, XDG_STATE_HOME",
     "where live runs are registered, and the token of serve is kept."},
    {"XDG_CONFIG_HOME",
     "where " TARE_NAME "/config.json is, which names who is told of runs; else ~/.config."},
    {"TARE_LOCK_DIR", "where GPUs are locked, for all who are to meet there."},
    {"TARE_NVML", "the GPU driver's library, where a site keeps it in an unusual place."},
    {"TARE_CUDA", "the CUDA driver's library, in the same way; only calibrations use it."},
    {"TARE_CALIBRATE",
     "never: no GPU is loaded to calibrate its sensors but by the command calibrate."},
};

static void program_page(struct text *out)
{
    add_manual_title(out, TARE_NAME, "run training experiments and make their numbers trustworthy");
    add_usage(out, "COMMAND [options]", true);
    text_add(out, ".SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        if (i == 0 || cli_commands[i]->group != cli_commands[i - 1]->group)
            text_addf(out, ".SS %s\n", cli_group_names[cli_commands[i]->group]);
        AUTO_TEXT struct text body = {0};
        text_addf(&body, "%s; see %s-%s(1).", cli_commands[i]->summary, TARE_NAME,
                  cli_commands[i]->name);
        add_manual_option(out, cli_commands[i]->name, text_get(&body));
    }
    text_add(out, ".SH OPTIONS\n");
    add_manual_option(out, "--version", "show the version.");
    add_manual_option(out, "-h, --help", "show a short help.");
    add_manual_option(out, "--man [COMMAND]", "print this page, or a command's, in roff.");
    add_manual_option(out, "--completion SHELL", "print the completion for bash, zsh or fish.");
    add_manual_option(
        out, "--reference PAGE",
        "print a page of the reference in Markdown, made from the rows by which the program "
        "reads what it is given: "
        "options, settings-keys, registry-keys or evidence-kinds.");
    add_manual_option(
        out, "--schema FILE",
        "print the JSON Schema (draft 2020-12) of the settings or of the registry, for editors.");
    text_add(out, ".SH ENVIRONMENT\n");
    EACH_OF (item, environment)
        add_manual_option(out, item->name, item->meaning);
    text_add(out, ".SH EXAMPLES\n");
    add_manual_option(out, TARE_NAME " doctor", "check whether this machine is fit to measure.");
    add_manual_option(out, TARE_NAME " run train.py --lr 0.1,0.01 --seed 1..3",
                      "run a script with each combination of these values.");
    add_manual_option(out, TARE_NAME " report latest", "write the page of the newest run again.");
    text_add(out, ".SH SEE ALSO\n");
    for (size_t i = 0; cli_commands[i]; i++)
        text_addf(out, ".BR %s\\-%s (1)%s\n", TARE_NAME, cli_commands[i]->name,
                  cli_commands[i + 1] ? "," : "");
}

void manual_page(const struct cli_command *command, struct text *out)
{
    if (command)
        command_page(command, out);
    else
        program_page(out);
}
