/* What a script prints for --help: whatever it is, the options read of it are whole, legible and
 * each there once, and registry and settings made of them are files that can be read. */
#include "base/json_print.h"
#include "fuzz.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "plan/script_usage.h"
#include "plan/starter.h"

static void check_legible(const char *text)
{
    check(fuzz_is_legible(text));
}

static void check_option(const struct script_help *help, size_t at)
{
    const struct script_option *option = &help->options[at];
    bool off;
    check(*option->name && option->spellings.count > 0 &&
          strv_has(&option->spellings, option->flag));
    check(script_help_find(help, option->flag, &off) != NULL);
    check((option->type == SCRIPT_CHOICE) == (option->choices.count > 0) ||
          option->type != SCRIPT_CHOICE);
    check(!option->off || option->type == SCRIPT_SWITCH || *option->off == '-');
    check_legible(option->name);
    check_legible(option->help);
    if (option->initial)
        check_legible(option->initial);
    for (size_t i = 0; i < option->choices.count; i++)
        check_legible(option->choices.items[i]);
    for (size_t i = 0; i < at; i++)
        check(strcmp(help->options[i].name, option->name) != 0);
}

static void check_files(const struct starter *starter)
{
    AUTO_TEXT struct text text = {0};
    struct registry registry;
    struct settings settings;
    struct problems problems = {0};
    json_t *tree = starter_registry(starter);
    json_print_pretty(tree, &text);
    json_decref(tree);
    check(registry_parse("r", text_get(&text), text.length, &registry, &problems));
    text_clear(&text);
    tree = starter_settings(starter);
    json_print_pretty(tree, &text);
    json_decref(tree);
    check(settings_parse("s", text_get(&text), text.length, &settings, &problems));
    registry_fini(&registry);
    settings_fini(&settings);
    problems_fini(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct script_help help;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    script_help_parse(copy, size, &help);
    for (size_t i = 0; i < help.count && i < 50; i++)
        check_option(&help, i);
    struct script_help usage;
    script_usage_parse(copy, size, &usage);
    for (size_t i = 0; i < usage.count && i < 50; i++)
        check_option(&usage, i);
    script_help_fini(&usage);
    /* Its first option gets what the text begins with. */
    AUTO_FREE char *words = mem_strndup(copy, size < 40 ? size : 40);
    char *args[] = {help.count ? help.options[0].flag : words, words};
    struct starter_args given;
    struct err err = {0};
    bool parsed = starter_args_parse(args, 2, help.count ? &help : NULL, &given, &err);
    check(parsed || *err.text);
    struct starter starter = {.name = "train.py",
                              .program = "train.py",
                              .path = ".",
                              .interpreter_key = "python",
                              .interpreter = "python3",
                              .help = &help,
                              .args = parsed ? &given : NULL,
                              .proposes = true};
    check_files(&starter);
    starter_args_fini(&given);
    script_help_fini(&help);
    free(copy);
    return 0;
}
