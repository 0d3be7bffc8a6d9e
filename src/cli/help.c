#include "cli/help.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/options.h"
#include "measure/guard/evidence.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "results/judge/consistency.h"
#include "tare_build.h"

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 34, EXIT_COLUMN = 10, EXAMPLE_COLUMN = 6 };

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

static void add_option_fact(struct text *out, size_t *facts, const char *fact)
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
        add_option_fact(out, &facts, text_get(&fact));
    }
    if (option->low < option->high) {
        text_clear(&fact);
        text_addf(&fact, "%.16g to %.16g", option->low, option->high);
        add_option_fact(out, &facts, text_get(&fact));
    }
    if (option->unit)
        add_option_fact(out, &facts, option->unit);
    if (option->default_text) {
        text_clear(&fact);
        text_addf(&fact, "default %s", option->default_text);
        add_option_fact(out, &facts, text_get(&fact));
    }
    if (facts)
        text_add_char(out, ')');
}

/* The body is in its column, beside the head or, if the head is too long, below it. */
static void add_help_row(struct text *out, const char *head, const char *body, size_t column)
{
    AUTO_TEXT struct text wrapped = {0};
    text_wrap(&wrapped, body, column, WIDTH);
    text_addf(out, "  %s", head);
    size_t used = 2 + utf8_columns(head);
    if (used + 2 > column) {
        text_addf(out, "\n%s", text_get(&wrapped));
        return;
    }
    for (size_t i = 0; i < column - used; i++)
        text_add_char(out, ' ');
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

static void add_help_option(struct text *out, const char *head, const char *body)
{
    add_help_row(out, head, body, OPTION_COLUMN);
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
    option_each(command, add_help_option, out);
    if (command->exits)
        text_add(out, "\nExit codes:\n");
    for (size_t i = 0; command->exits && command->exits[i] && command->exits[i + 1]; i += 2)
        add_help_row(out, command->exits[i], command->exits[i + 1], EXIT_COLUMN);
    if (command->examples)
        text_add(out, "\nExamples:\n");
    for (size_t i = 0; command->examples && command->examples[i] && command->examples[i + 1];
         i += 2) {
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
        text_addf(out, "  %-*s  %s\n", (int)longest, cli_commands[i]->name,
                  cli_commands[i]->summary);
    }
    text_addf(out,
              "\n  -h, --help   this help; '%s COMMAND --help' is about one command\n"
              "  --version    the version\n",
              TARE_NAME);
}

/* The pages of docs/reference that are made from the program's own tables, in Markdown. */
const char reference_names[] = "options, settings-keys, registry-keys or evidence-kinds";

/* Escapes what has a meaning in a table's cell: a bar ends it, '<' begins a tag. */
static void add_option_cell(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '<')
            text_add_char(out, '\\');
        text_add_char(out, *s);
    }
    text_add(out, " |");
}

static void add_reference_option(struct text *out, const char *head, const char *body)
{
    text_add(out, "| `");
    for (const char *c = head; *c; c++)
        text_addf(out, "%s%c", *c == '|' ? "\\" : "", *c);
    text_add(out, "` | ");
    add_option_cell(out, body);
    text_add_char(out, '\n');
}

static void add_pairs(const char *head, const char *const *pairs, struct text *out)
{
    if (pairs)
        text_addf(out, "\n| %s | meaning |\n| --- | --- |\n", head);
    for (; pairs && pairs[0] && pairs[1]; pairs += 2) {
        text_addf(out, "| %s | ", pairs[0]);
        add_option_cell(out, pairs[1]);
        text_add_char(out, '\n');
    }
}

static void options_page(struct text *out)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        if (i == 0 || command->group != cli_commands[i - 1]->group)
            text_addf(out, "## %s\n\n", cli_group_names[command->group]);
        text_addf(out, "### %s %s\n\n%s: %s.\n\n```text\n", TARE_NAME, command->name, command->name,
                  command->summary);
        for (size_t line = 0; command->usage[line]; line++)
            text_addf(out, "%s %s\n", TARE_NAME, command->usage[line]);
        text_add(out, "```\n");
        text_add(out, "\n| option | meaning |\n| --- | --- |\n");
        option_each(command, add_reference_option, out);
        add_pairs("exit code", command->exits, out);
        text_add_char(out, '\n');
    }
}

static void add_quantities(unsigned mask, struct text *out)
{
    size_t count = 0;
    for (unsigned i = 0; i < QUANTITIES; i++)
        if (mask & 1U << i)
            text_addf(out, "%s%s", count++ ? ", " : "", quantity_name((enum quantity)i));
    text_add(out, count ? " | " : "nothing | ");
}

static void evidence_page(struct text *out)
{
    size_t count;
    const struct evidence_kind *kinds = evidence_kinds(&count);
    text_add(out, "## Checks\n\nThe names are those in `checks` of `experiment.json` and in the "
                  "CSV files.\n\n"
                  "| check | needed by | when it passed | what makes it possible |\n| --- | --- | "
                  "--- | --- |\n");
    for (unsigned i = 0; i < CHECKS; i++) {
        const struct check_kind *check = check_kind((enum check)i);
        text_addf(out, "| `%s` | ", check->name);
        add_quantities(check->needed_by, out);
        add_option_cell(out, check->meaning);
        text_add_char(out, ' ');
        add_option_cell(out, check->remedy);
        text_add_char(out, '\n');
    }
    text_add(out, "\n## Evidence\n\nThe names are those in `evidence` of `experiment.json` and in "
                  "the events.\n\n"
                  "| kind | weight | speaks against | check | meaning | what to do |\n"
                  "| --- | --- | --- | --- | --- | --- |\n");
    EACH (kind, kinds, count) {
        text_addf(out, "| `%s` | %s | ", kind->name, evidence_weight_name(kind->weight));
        add_quantities(kind->quantities, out);
        if (kind->check < CHECKS)
            text_addf(out, "`%s` | ", check_kind(kind->check)->name);
        else
            text_add(out, "none | ");
        add_option_cell(out, kind->meaning);
        text_add_char(out, ' ');
        add_option_cell(out, kind->remedy);
        text_add_char(out, '\n');
    }
    text_add(
        out,
        "\n## Checks of consistency\n\n"
        "Made by `audit`, `stats`, `compare` and `report`; of samples not on runs of " TARE_NAME
        ". The "
        "false alarms are those on generated folders in which nothing is disturbed.\n\n"
        "| evidence | weight | compares | false alarms |\n| --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < CONSISTENCIES; i++) {
        const struct consistency_check *check = consistency_check((enum consistency)i);
        text_addf(out, "| `%s` | %s | %s | %zu of %zu |\n", check->evidence,
                  evidence_weight_name(evidence_weight(check->evidence)), check->compares,
                  check->false_alarms, check->of);
    }
}

static const struct {
    const char *name, *title, *about;
    void (*write)(struct text *out);
} pages[] = {
    {"options", "Options of every command", "Every command with its options and exit codes.",
     options_page},
    {"settings-keys", "Keys of the settings",
     "Every key of the settings: its type and bounds, its default, its meaning.",
     settings_describe},
    {"registry-keys", "Keys of the registry",
     "Every key of the registry: its type and bounds, its default, its meaning.",
     registry_describe},
    {"evidence-kinds", "Checks and kinds of evidence",
     "Every check of an experiment, and every kind of evidence that may speak against its figures.",
     evidence_page},
};

bool reference_page(const char *name, struct text *out)
{
    EACH_OF (page, pages) {
        if (strcmp(page->name, name) != 0)
            continue;
        text_addf(out,
                  "<!-- Generated by `make reference` (%s --reference %s): edit the tables in src, "
                  "not this page. "
                  "-->\n# %s\n\n%s "
                  "This page is generated from the program: `%s --reference %s` prints it.\n\n",
                  TARE_NAME, name, page->title, page->about, TARE_NAME, name);
        page->write(out);
        while (out->length > 1 && strcmp(out->data + out->length - 2, "\n\n") == 0)
            out->data[--out->length] = '\0';
        return true;
    }
    return false;
}
