#include "plan/script_parser.h"

#include "base/mem.h"
#include "plan/script_imports.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8 };

/* A parser is used where one of its names is in the code, and one of its calls. */
struct parser_kind {
    const char *name;
    const char *names[WORDS_MAX], *calls[WORDS_MAX];
    const char *without; /* and this is not in it; NULL: nothing */
    bool answers_help;
};

#define ARGPARSE                                                                                                       \
    "ArgumentParser", "ArgParser", "HfArgumentParser", "Tap", "get_argument_parser", "get_arg_parser", "OptionParser"

/* In this order: the first that answers --help itself is the one that is reported. */
static const struct parser_kind kinds[] = {
    {"argparse",
     {ARGPARSE},
     {"parse_args", "parse_intermixed_args", "parse_args_into_dataclasses", "parse_args_and_config"},
     NULL,
     true},
    {"argparse", {ARGPARSE}, {"parse_known_args", "parse_known_intermixed_args"}, "add_help", true},
    {"click", {"click"}, {"click.command", "click.group", "click.option"}, NULL, true},
    {"Typer", {"typer"}, {"typer.run", "Typer"}, NULL, true},
    {"absl", {"absl"}, {"app.run"}, NULL, true},
    {"TensorFlow's flags", {"tf", "tensorflow"}, {"app.run"}, NULL, true},
    {"fire", {"fire"}, {"Fire"}, NULL, true},
    {"docopt", {"docopt"}, {"docopt"}, NULL, true},
    {"tyro", {"tyro"}, {"cli"}, NULL, true},
    {"Hydra", {"hydra"}, {"hydra.main"}, NULL, true},
    {"LightningCLI", {"LightningCLI"}, {"LightningCLI"}, NULL, true},
    {"a parser of dataclasses",
     {"pyrallis", "draccus", "simple_parsing", "chz"},
     {"pyrallis.wrap", "pyrallis.parse", "draccus.wrap", "draccus.parse", "simple_parsing.parse", "chz.entrypoint",
      "chz.nested_entrypoint"},
     NULL,
     true},
    {"argparse", {ARGPARSE}, {"parse_known_args", "parse_known_intermixed_args"}, NULL, false},
    {"OmegaConf", {"OmegaConf"}, {"from_cli"}, NULL, false},
    {"getopt", {"getopt"}, {"getopt", "gnu_getopt"}, NULL, false},
    {"sys.argv", {"sys"}, {"argv"}, NULL, false},
};

/* A name that is called, indexed, or reached by a dot as a decorator is; not one that is only
 * imported. */
static bool has_call(const char *code, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = code; (at = script_code_find(code, at, word)); at += length) {
        const char *after = at + length + strspn(at + length, " \t");
        if (*after == '(' || *after == '[' || (at > code && strchr(".@", at[-1])))
            return true;
    }
    return false;
}

/* Blanks what follows a line "if __name__" up to the next line that is not indented. */
static void blank_main(char *code)
{
    static const char begin[] = "if __name__";
    for (char *at = code; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, begin, sizeof begin - 1) != 0)
            continue;
        bool within = true;
        while (within) {
            size_t length = strcspn(at, "\n");
            memset(at, ' ', length);
            at += length;
            within = *at && (strchr(" \t\n", at[1]) != NULL && at[1]);
            at += within;
        }
        if (!*at)
            return;
    }
}

/* In the source, and not in a comment. */
static bool names_help(const struct script_file *file, const char *code)
{
    static const char help[] = "--help";
    for (size_t at = 0; at + sizeof help - 1 <= file->length; at++)
        if (memcmp(file->text + at, help, sizeof help - 1) == 0 && code[at] == '"')
            return true;
    return false;
}

struct seen {
    bool name, call, without;
};

static void search(const char *code, struct seen seen[])
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (size_t j = 0; j < WORDS_MAX && kinds[i].names[j] && !seen[i].name; j++)
            seen[i].name = script_code_find(code, code, kinds[i].names[j]);
        for (size_t j = 0; j < WORDS_MAX && kinds[i].calls[j] && !seen[i].call; j++)
            seen[i].call = has_call(code, kinds[i].calls[j]);
        seen[i].without = seen[i].without || (kinds[i].without && script_code_find(code, code, kinds[i].without));
    }
}

void script_parser_find(const struct script_files *files, struct script_parser *out)
{
    struct seen seen[sizeof kinds / sizeof *kinds] = {0};
    *out = (struct script_parser){0};
    for (size_t i = 0; i < files->count; i++) {
        AUTO_FREE char *code = script_code(files->items[i].text, files->items[i].length);
        out->names_help = out->names_help || names_help(&files->items[i], code);
        if (i > 0)
            blank_main(code);
        search(code, seen);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !out->name; i++)
        if (seen[i].name && seen[i].call && !seen[i].without) {
            out->name = kinds[i].name;
            out->answers_help = kinds[i].answers_help;
        }
}

bool script_parser_is_mentioned(const char *text)
{
    return strstr(text, "--help") || script_code_find(text, text, "getopts") || script_code_find(text, text, "getopt");
}
