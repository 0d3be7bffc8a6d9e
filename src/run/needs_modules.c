/* Python modules, found by importing them: whether "import torch" works is what a training wants to know, and that
 * depends on libraries that no list of packages tells. */
#include "base/utf8.h"
#include "run/needs_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/query.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A first import of a large framework from a cold disk takes a minute. */
#define ASK_TIMEOUT_S 180.0

enum { LONGEST_ANSWER = 1 << 20, LONGEST_DETAIL = 200 };

/* Fixed, its arguments are names that the registry's reader has checked. The working folder is no place to import from,
 * and what modules print does not mix with the answer. */
static const char question[] = "import sys\n"
                               "sys.path[:] = [p for p in sys.path if p]\n"
                               "import os\n"
                               "out = os.fdopen(os.dup(1), 'w')\n"
                               "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
                               "for name in sys.argv[1:]:\n"
                               "    try:\n"
                               "        line = 'yes ' + str(getattr(__import__(name), '__version__', ''))\n"
                               "    except BaseException as error:\n"
                               "        line = 'no ' + type(error).__name__ + ': ' + str(error)\n"
                               "    line = line.replace('\\r', ' ').replace('\\n', ' ')\n"
                               "    out.write(line.encode('ascii', 'replace').decode() + '\\n')\n"
                               "    out.flush()\n";

static void set_all(struct strv *env, const struct strv *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const char *equals = strchr(more->items[i], '=');
        AUTO_FREE char *name = mem_strndup(more->items[i], (size_t)(equals - more->items[i]));
        strv_env_set(env, name, equals + 1);
    }
}

/* As the training would have it, without a GPU: looking must not disturb who measures there. */
static void make_environment(const struct repo *repo, const struct command *command, struct strv *env)
{
    for (char **entry = environ; *entry; entry++)
        if (strchr(*entry, '='))
            strv_add(env, *entry);
    set_all(env, &command->env);
    set_all(env, &repo->env);
    AUTO_FREE char *first = strv_join(&command->path_prepend, ":");
    const char *path = strv_env_get(env, "PATH");
    if (*first) {
        AUTO_FREE char *both = path ? mem_printf("%s:%s", first, path) : mem_strdup(first);
        strv_env_set(env, "PATH", both);
    }
    strv_env_set(env, "CUDA_VISIBLE_DEVICES", "");
    strv_env_set(env, "PYTHONDONTWRITEBYTECODE", "1");
}

static void find_names(const struct repo *repo, const struct repo_needs *needs, struct strv *names)
{
    for (size_t i = 0; i < repo->module_count; i++) {
        const struct registry_modules *row = &repo->modules[i];
        for (size_t j = 0; needs_concerns(needs, &row->models) && j < row->names.count; j++)
            strv_add_once(names, row->names.items[j]);
    }
}

/* The next line of the answer, which is whatever a module made of it: printable, not too long. False: it is over. */
static bool next_line(const char **at, char line[LONGEST_DETAIL + 8])
{
    const char *end = strchr(*at, '\n');
    if (!end)
        return false;
    size_t length = 0;
    for (; *at < end; (*at)++)
        if (length < LONGEST_DETAIL)
            line[length++] = **at;
    line[length] = '\0';
    utf8_make_printable(line, "");
    (*at)++;
    return true;
}

static void add_row(const struct registry_modules *row, const char *name, enum need_state state, const char *detail,
                    struct repo_needs *out)
{
    char *mend = state == NEED_THERE || !row->get ? NULL : mem_strdup(row->get);
    needs_add(out, NEED_MODULE, state, name, *detail ? mem_strdup(detail) : NULL, mend, &row->models);
}

/* For every row that asks for the module. */
static void add_module(const struct repo *repo, const char *name, enum need_state state, const char *detail,
                       struct repo_needs *out)
{
    for (size_t i = 0; i < repo->module_count; i++)
        if (needs_concerns(out, &repo->modules[i].models) && strv_has(&repo->modules[i].names, name))
            add_row(&repo->modules[i], name, state, detail, out);
}

/* Of the names that got no answer, the first is the one at which it stuck. */
static void add_unanswered(const struct repo *repo, const struct strv *names, size_t first, double took_s,
                           struct repo_needs *out)
{
    for (size_t i = first; i < names->count; i++) {
        AUTO_FREE char *why = took_s >= ASK_TIMEOUT_S
                                  ? mem_printf("importing it took longer than %.0f s", ASK_TIMEOUT_S)
                                  : mem_strdup("the interpreter ended while it was imported");
        add_module(repo, names->items[i], i == first ? NEED_MISSING : NEED_UNKNOWN,
                   i == first ? why : "not asked, as the interpreter ended before", out);
    }
}

void needs_ask_modules(const struct repo *repo, const struct command *command, const char *python,
                       struct repo_needs *out)
{
    AUTO_STRV struct strv names = {0}, argv = {0}, env = {0};
    find_names(repo, out, &names);
    if (names.count == 0)
        return;
    if (!python) {
        for (size_t i = 0; i < names.count; i++)
            add_module(repo, names.items[i], NEED_UNKNOWN, "there is no interpreter to ask", out);
        return;
    }
    strv_add(&argv, python);
    strv_add(&argv, "-c");
    strv_add(&argv, question);
    strv_add_all(&argv, &names);
    make_environment(repo, command, &env);
    AUTO_TEXT struct text answer = {0};
    int64_t began_ns = clock_monotonic_ns();
    query_program(&argv, &env, LONGEST_ANSWER, ASK_TIMEOUT_S, &answer);
    double took_s = (double)(clock_monotonic_ns() - began_ns) / (double)NS_PER_S;
    const char *at = text_get(&answer);
    char line[LONGEST_DETAIL + 8];
    size_t answered = 0;
    for (; answered < names.count && next_line(&at, line); answered++) {
        bool there = strncmp(line, "yes ", 4) == 0;
        const char *rest = strchr(line, ' ');
        add_module(repo, names.items[answered], there ? NEED_THERE : NEED_MISSING, rest ? rest + 1 : "", out);
    }
    add_unanswered(repo, &names, answered, took_s, out);
}
