#include "base/utf8.h"
#include "cli/texts.h"
#include "tare_build.h"

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 34, EXIT_COLUMN = 10, EXAMPLE_COLUMN = 6 };

static void add_blanks(struct text *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_add_char(out, ' ');
}

void option_choices(const struct cli_option *option, const char *between, struct text *out)
{
    for (size_t i = 0; option->choices[i]; i++)
        text_addf(out, "%s%s", i ? between : "", option->choices[i]);
}

void option_head(const struct cli_option *option, struct text *out)
{
    if (option->short_name)
        text_addf(out, "%s, ", option->short_name);
    text_add(out, option->long_name);
    if (option->type == CLI_FLAG && option->choices) {
        text_add(out, "[=");
        option_choices(option, "|", out);
        text_add_char(out, ']');
    } else if (option->argument) {
        text_addf(out, " %s", option->argument);
    }
}

static void add_fact(struct text *out, size_t *facts, const char *fact)
{
    text_addf(out, "%s%s", (*facts)++ ? "; " : " (", fact);
}

void option_body(const struct cli_option *option, struct text *out)
{
    AUTO_TEXT struct text fact = {0};
    size_t facts = 0;
    text_add(out, option->help);
    if (option->type == CLI_CHOICE) {
        text_add(&fact, "one of ");
        option_choices(option, ", ", &fact);
        add_fact(out, &facts, text_get(&fact));
    }
    if (option->low < option->high) {
        text_clear(&fact);
        text_addf(&fact, "%.16g to %.16g", option->low, option->high);
        add_fact(out, &facts, text_get(&fact));
    }
    if (option->unit)
        add_fact(out, &facts, option->unit);
    if (option->default_text) {
        text_clear(&fact);
        text_addf(&fact, "default %s", option->default_text);
        add_fact(out, &facts, text_get(&fact));
    }
    if (facts)
        text_add_char(out, ')');
}

/* The body stands in its column, beside the head or, when that is too long, below it. */
static void add_row(struct text *out, const char *head, const char *body, size_t column)
{
    AUTO_TEXT struct text wrapped = {0};
    text_wrap(&wrapped, body, column, WIDTH);
    text_addf(out, "  %s", head);
    size_t used = 2 + utf8_columns(head);
    if (used + 2 > column) {
        text_addf(out, "\n%s", text_get(&wrapped));
        return;
    }
    add_blanks(out, column - used);
    text_add(out, text_get(&wrapped) + column);
}

void option_each(const struct cli_command *command, option_add_fn *add, struct text *out)
{
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        AUTO_TEXT struct text head = {0}, body = {0};
        option_head(option, &head);
        option_body(option, &body);
        add(out, text_get(&head), text_get(&body));
    }
}

static void add_option(struct text *out, const char *head, const char *body)
{
    add_row(out, head, body, OPTION_COLUMN);
}

void help_command(const struct cli_command *command, struct text *out)
{
    text_addf(out, "%s %s: %s\n\nUsage:\n", TARE_NAME, command->name, command->summary);
    for (size_t i = 0; command->usage[i]; i++)
        text_addf(out, "  %s %s\n", TARE_NAME, command->usage[i]);
    for (size_t i = 0; command->description && command->description[i]; i++) {
        text_add_char(out, '\n');
        text_wrap(out, command->description[i], 0, WIDTH);
    }
    text_add(out, "\nOptions:\n");
    option_each(command, add_option, out);
    if (command->exits)
        text_add(out, "\nExit codes:\n");
    for (size_t i = 0; command->exits && command->exits[i] && command->exits[i + 1]; i += 2)
        add_row(out, command->exits[i], command->exits[i + 1], EXIT_COLUMN);
    if (command->examples)
        text_add(out, "\nExamples:\n");
    for (size_t i = 0; command->examples && command->examples[i] && command->examples[i + 1]; i += 2) {
        text_addf(out, "  %s %s\n", TARE_NAME, command->examples[i]);
        text_wrap(out, command->examples[i + 1], EXAMPLE_COLUMN, WIDTH);
    }
}

const char *const cli_group_names[CLI_GROUP_COUNT] = {
    [CLI_GROUP_RUN] = "Run",       [CLI_GROUP_MEASURE] = "Measure", [CLI_GROUP_JUDGE] = "Judge",
    [CLI_GROUP_MEMORY] = "Memory", [CLI_GROUP_MACHINE] = "Machine", [CLI_GROUP_CLUSTER] = "Cluster",
};

void help_program(struct text *out)
{
    text_addf(out,
              "%s: run training experiments and make their numbers trustworthy\n\n"
              "Usage:\n  %s COMMAND [options]\n",
              TARE_NAME, TARE_NAME);
    size_t longest = 0;
    for (size_t i = 0; cli_commands[i]; i++)
        longest = strlen(cli_commands[i]->name) > longest ? strlen(cli_commands[i]->name) : longest;
    for (size_t i = 0; cli_commands[i]; i++) {
        if (i == 0 || cli_commands[i]->group != cli_commands[i - 1]->group)
            text_addf(out, "\n%s:\n", cli_group_names[cli_commands[i]->group]);
        text_addf(out, "  %-*s  %s\n", (int)longest, cli_commands[i]->name, cli_commands[i]->summary);
    }
    text_addf(out,
              "\n  -h, --help   this help; '%s COMMAND --help' is about one command\n"
              "  --version    the version\n",
              TARE_NAME);
}
