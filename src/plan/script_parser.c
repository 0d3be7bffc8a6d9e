#include "plan/script_parser.h"

#include "base/mem.h"
#include "plan/script_imports.h"

#include <stdlib.h>
#include <string.h>

/* Of definitions whether they are used; more count as used. */
enum { WORDS_MAX = 8, CHECKS_MAX = 200 };

/* A parser is used where one of its names is in the code, and one of its calls. */
struct parser_kind {
    const char *name;
    const char *names[WORDS_MAX], *calls[WORDS_MAX];
    const char *without; /* and this is not in it; NULL: nothing */
    bool answers_help;
};

#define ARGPARSE                                                                     \
    "ArgumentParser", "ArgParser", "HfArgumentParser", "Tap", "get_argument_parser", \
        "get_arg_parser", "OptionParser"

/* In this order: the first that answers --help itself is the one that is reported. */
static const struct parser_kind kinds[] = {
    {"argparse",
     {ARGPARSE},
     {"parse_args", "parse_intermixed_args", "parse_args_into_dataclasses",
      "parse_args_and_config"},
     NULL,
     true},
    {"argparse", {ARGPARSE}, {"parse_known_args", "parse_known_intermixed_args"}, "add_help", true},
    {"click", {"click"}, {"click.command", "click.group", "@command"}, NULL, true},
    {"Typer", {"typer"}, {"typer.run", "Typer"}, NULL, true},
    {"absl", {"absl"}, {"app.run"}, NULL, true},
    {"TensorFlow's flags", {"tf", "tensorflow"}, {"app.run"}, NULL, true},
    {"fire", {"fire"}, {"Fire"}, NULL, true},
    {"docopt", {"docopt"}, {"docopt"}, NULL, true},
    {"tyro", {"tyro"}, {"cli"}, NULL, true},
    {"Hydra", {"hydra"}, {"hydra.main"}, NULL, true},
    {"jsonargparse", {"jsonargparse"}, {"CLI", "auto_cli"}, NULL, true},
    {"LightningCLI", {"LightningCLI"}, {"LightningCLI"}, NULL, true},
    {"a parser of dataclasses",
     {"pyrallis", "draccus", "simple_parsing", "chz"},
     {"pyrallis.wrap", "pyrallis.parse", "draccus.wrap", "draccus.parse", "simple_parsing.parse",
      "chz.entrypoint", "chz.nested_entrypoint"},
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

struct seen {
    bool name, call, without;
};

static void find_parser_calls(const char *code, struct seen seen[])
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (size_t j = 0; j < WORDS_MAX && kinds[i].names[j] && !seen[i].name; j++)
            seen[i].name = script_code_find(code, code, kinds[i].names[j]);
        for (size_t j = 0; j < WORDS_MAX && kinds[i].calls[j] && !seen[i].call; j++)
            seen[i].call = has_call(code, kinds[i].calls[j]);
        seen[i].without =
            seen[i].without || (kinds[i].without && script_code_find(code, code, kinds[i].without));
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

/* ---- Definitions in modules that the script does not use, such as a main() of their own. */

struct sources {
    const struct script_files *files;
    char **codes;         /* of each file */
    struct strv *imports; /* of each file */
};

static bool imports_name(const struct strv *imports, const char *name)
{
    AUTO_FREE char *end = mem_printf(".%s", name);
    EACH (item, imports->items, imports->count)
        if (text_ends_with(*item, end))
            return true;
    return false;
}

/* Whether the definition of that name in a module is used there, or by its name in another file. */
static bool is_used(const struct sources *sources, size_t module, const char *name)
{
    for (size_t i = 0; i < sources->files->count; i++) {
        const char *code = sources->codes[i], *at = script_code_find(code, code, name);
        bool any = i != module && strstr(code, "import *");
        if (i == module && at && script_code_find(code, at + strlen(name), name))
            return true;
        if (i != module && imports_name(&sources->imports[i], name))
            return true;
        for (; i != module && at; at = script_code_find(code, at + strlen(name), name))
            if (any || (at > code && at[-1] == '.'))
                return true;
    }
    return false;
}

/* Blanks the line at at and the indented ones after it; gives the newline at their end, or the
 * end. */
static char *blank_block(char *at)
{
    for (;;) {
        size_t length = strcspn(at, "\n");
        memset(at, ' ', length);
        at += length;
        if (!*at || !at[1] || !strchr(" \t\n)", at[1]))
            return at;
        at++;
    }
}

/* Whether the decorators from begin on, or the block at at that blank_block would blank, call a
 * parser. */
static bool has_parser(const char *begin, char *at)
{
    struct seen seen[sizeof kinds / sizeof *kinds] = {0};
    char *end = at + strcspn(at, "\n");
    while (*end && end[1] && strchr(" \t\n)", end[1]))
        end += 1 + strcspn(end + 1, "\n");
    char kept = *end;
    *end = '\0';
    find_parser_calls(begin, seen);
    *end = kept;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (seen[i].call)
            return true;
    return false;
}

/* The name that a line at column 0 defines; fresh, NULL: none. */
static char *defined_name(const char *line)
{
    static const char *const words[] = {"def ", "class ", "async def "};
    EACH_OF (word, words)
        if (strncmp(line, *word, strlen(*word)) == 0) {
            line += strlen(*word);
            line += strspn(line, " ");
            return mem_strndup(line, strcspn(line, " (:\n"));
        }
    return NULL;
}

/* A part below "if __name__" is not executed in a module, nor is a definition that is not used;
 * with it go its decorators. */
static void blank_unused(const struct sources *sources, size_t module, size_t *checks)
{
    char *decorators = NULL;
    for (char *at = sources->codes[module]; at && *at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (*at == '@') {
            decorators = decorators ? decorators : at;
            continue;
        }
        AUTO_FREE char *name = defined_name(at);
        bool defines = name && *name;
        char *begin = decorators ? decorators : at;
        if (defines && *checks < CHECKS_MAX && has_parser(begin, at) && ++*checks &&
            !is_used(sources, module, name)) {
            memset(begin, ' ', (size_t)(at - begin));
            at = blank_block(at);
            decorators = NULL;
        } else if (!strchr(" \t\n)", *at)) {
            decorators = NULL;
        }
    }
}

static void blank_main(char *code)
{
    static const char begin[] = "if __name__";
    for (char *at = code; at && *at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, begin, sizeof begin - 1) == 0)
            at = blank_block(at);
    }
}

void script_parser_find(const struct script_files *files, struct script_parser *out)
{
    struct seen seen[sizeof kinds / sizeof *kinds] = {0};
    struct sources sources = {files, mem_array(files->count + 1, sizeof *sources.codes),
                              mem_array(files->count + 1, sizeof *sources.imports)};
    size_t checks = 0;
    *out = (struct script_parser){0};
    for (size_t i = 0; i < files->count; i++) {
        const struct script_file *file = &files->items[i];
        sources.codes[i] = script_code(file->text, file->length);
        script_imports_parse(file->text, sources.codes[i], file->length, &sources.imports[i]);
        out->names_help = out->names_help || names_help(file, sources.codes[i]);
        if (i > 0)
            blank_main(sources.codes[i]);
    }
    for (size_t i = 0; i < files->count; i++) {
        if (i > 0)
            blank_unused(&sources, i, &checks);
        find_parser_calls(sources.codes[i], seen);
    }
    for (size_t i = 0; i < files->count; i++) {
        free(sources.codes[i]);
        strv_fini(&sources.imports[i]);
    }
    free(sources.codes);
    free(sources.imports);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !out->name; i++)
        if (seen[i].name && seen[i].call && !seen[i].without) {
            out->name = kinds[i].name;
            out->answers_help = kinds[i].answers_help;
        }
}

bool script_parser_is_mentioned(const char *text)
{
    return strstr(text, "--help") || script_code_find(text, text, "getopts") ||
           script_code_find(text, text, "getopt");
}
