/* The pages of docs/reference that are made from the program's own tables, in Markdown. */
#include "base/mem.h"
#include "cli/texts.h"
#include "measure/guard/evidence.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "tare_build.h"

#include <string.h>

const char reference_names[] = "options, settings-keys, registry-keys or evidence-kinds";

/* A cell of a table: a bar would end it, and '<' begin a tag. */
static void add_cell(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '<')
            text_add_char(out, '\\');
        text_add_char(out, *s);
    }
    text_add(out, " |");
}

static void add_options(const struct cli_command *command, struct text *out)
{
    text_add(out, "\n| option | meaning |\n| --- | --- |\n");
    size_t at = 0;
    for (const struct cli_option *option; (option = option_next(command, &at));) {
        AUTO_TEXT struct text head = {0};
        AUTO_TEXT struct text body = {0};
        option_head(option, &head);
        option_body(option, &body);
        text_add(out, "| `");
        for (const char *c = text_get(&head); *c; c++)
            text_addf(out, "%s%c", *c == '|' ? "\\" : "", *c);
        text_add(out, "` | ");
        add_cell(out, text_get(&body));
        text_add_char(out, '\n');
    }
}

static void add_pairs(const char *head, const char *const *pairs, struct text *out)
{
    if (pairs)
        text_addf(out, "\n| %s | meaning |\n| --- | --- |\n", head);
    for (; pairs && pairs[0] && pairs[1]; pairs += 2) {
        text_addf(out, "| %s | ", pairs[0]);
        add_cell(out, pairs[1]);
        text_add_char(out, '\n');
    }
}

static void options_page(struct text *out)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        if (i == 0 || command->group != cli_commands[i - 1]->group)
            text_addf(out, "## %s\n\n", cli_group_names[command->group]);
        text_addf(out, "### %s %s\n\n%s: %s.\n\n```text\n", TARE_NAME, command->name, command->name, command->summary);
        for (size_t line = 0; command->usage[line]; line++)
            text_addf(out, "%s %s\n", TARE_NAME, command->usage[line]);
        text_add(out, "```\n");
        add_options(command, out);
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
    text_add(out, "## Checks\n\nThe names are those in `checks` of `experiment.json` and in the CSV files.\n\n"
                  "| check | needed by | when it passed | what makes it possible |\n| --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < CHECKS; i++) {
        const struct check_kind *check = check_kind((enum check)i);
        text_addf(out, "| `%s` | ", check->name);
        add_quantities(check->needed_by, out);
        add_cell(out, check->meaning);
        text_add_char(out, ' ');
        add_cell(out, check->remedy);
        text_add_char(out, '\n');
    }
    text_add(out, "\n## Evidence\n\nThe names are those in `evidence` of `experiment.json` and in the events.\n\n"
                  "| kind | weight | speaks against | check | meaning | what to do |\n"
                  "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "| `%s` | %s | ", kinds[i].name, evidence_weight_name(kinds[i].weight));
        add_quantities(kinds[i].quantities, out);
        if (kinds[i].check < CHECKS)
            text_addf(out, "`%s` | ", check_kind(kinds[i].check)->name);
        else
            text_add(out, "none | ");
        add_cell(out, kinds[i].meaning);
        text_add_char(out, ' ');
        add_cell(out, kinds[i].remedy);
        text_add_char(out, '\n');
    }
}

static const struct {
    const char *name, *title, *about;
    void (*write)(struct text *out);
} pages[] = {
    {"options", "Options of every command", "Every command with its options and exit codes.", options_page},
    {"settings-keys", "Keys of the settings", "Every key of the settings: its type and bounds, its default, its meaning.",
     settings_describe},
    {"registry-keys", "Keys of the registry", "Every key of the registry: its type and bounds, its default, its meaning.",
     registry_describe},
    {"evidence-kinds", "Checks and kinds of evidence",
     "Every check of an experiment, and every kind of evidence that may speak against its figures.", evidence_page},
};

bool reference_page(const char *name, struct text *out)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].name, name) != 0)
            continue;
        text_addf(out, "<!-- Generated by `make reference` (%s --reference %s): edit the tables in src, not this page. -->\n# %s\n\n%s "
                       "This page is generated from the program: `%s --reference %s` prints it.\n\n",
                  TARE_NAME, name, pages[i].title, pages[i].about, TARE_NAME, name);
        pages[i].write(out);
        while (out->length > 1 && strcmp(out->data + out->length - 2, "\n\n") == 0)
            out->data[--out->length] = '\0';
        return true;
    }
    return false;
}
