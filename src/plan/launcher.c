#include "plan/launcher.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum launcher_kind {
    LAUNCHES_ANY,    /* its options are skipped until a word is a script or another launcher */
    LAUNCHES_PYTHON, /* and -m, --module names a module */
    LAUNCHES_SHELL,  /* its first word that is not an option is the script */
    IS_PYTHON
};

struct known_launcher {
    /* verb: the word that must follow where the name alone may mean something else; NULL: none */
    const char *name, *verb;
    enum launcher_kind kind;
};

static const struct known_launcher launchers[] = {
    {"torchrun", NULL, LAUNCHES_PYTHON},  {"accelerate", "launch", LAUNCHES_PYTHON},
    {"deepspeed", NULL, LAUNCHES_PYTHON}, {"colossalai", "run", LAUNCHES_PYTHON},
    {"uv", "run", LAUNCHES_PYTHON},       {"poetry", "run", LAUNCHES_ANY},
    {"pipenv", "run", LAUNCHES_ANY},      {"pdm", "run", LAUNCHES_ANY},
    {"hatch", "run", LAUNCHES_ANY},       {"pixi", "run", LAUNCHES_ANY},
    {"rye", "run", LAUNCHES_ANY},         {"conda", "run", LAUNCHES_ANY},
    {"mamba", "run", LAUNCHES_ANY},       {"micromamba", "run", LAUNCHES_ANY},
    {"mpirun", NULL, LAUNCHES_ANY},       {"mpiexec", NULL, LAUNCHES_ANY},
    {"horovodrun", NULL, LAUNCHES_ANY},   {"srun", NULL, LAUNCHES_ANY},
    {"env", NULL, LAUNCHES_ANY},          {"nohup", NULL, LAUNCHES_ANY},
    {"nice", NULL, LAUNCHES_ANY},         {"ionice", NULL, LAUNCHES_ANY},
    {"taskset", NULL, LAUNCHES_ANY},      {"numactl", NULL, LAUNCHES_ANY},
    {"stdbuf", NULL, LAUNCHES_ANY},       {"time", NULL, LAUNCHES_ANY},
    {"xvfb-run", NULL, LAUNCHES_ANY},     {"bash", NULL, LAUNCHES_SHELL},
    {"sh", NULL, LAUNCHES_SHELL},
};

static const char *path_base_name(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

/* "python", "python3", "python3.11", "pypy3" */
static bool is_python_name(const char *name)
{
    size_t length = strncmp(name, "python", 6) == 0 ? 6 : strncmp(name, "pypy", 4) == 0 ? 4 : 0;
    return length > 0 && name[length + strspn(name + length, "0123456789.")] == '\0';
}

/* next: the word after it, or NULL. */
static const struct known_launcher *find_launcher(const char *word, const char *next)
{
    static const struct known_launcher python = {"python", NULL, IS_PYTHON};
    const char *name = path_base_name(word);
    if (is_python_name(name))
        return &python;
    EACH_OF (launcher, launchers) {
        const char *verb = launcher->verb;
        if (strcmp(launcher->name, name) == 0 && (!verb || (next && strcmp(verb, next) == 0)))
            return launcher;
    }
    return NULL;
}

static bool is_variable(const char *word)
{
    size_t length = 0;
    while (isalnum((unsigned char)word[length]) || word[length] == '_')
        length++;
    return length > 0 && word[length] == '=' && !isdigit((unsigned char)*word);
}

bool launcher_is_program(const char *path)
{
    char head[4] = "";
    struct stat status;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
                      ? read(fd, head, sizeof head)
                      : 0;
    return (got >= 2 && memcmp(head, "#!", 2) == 0) ||
           (got == 4 && memcmp(head, "\177ELF", 4) == 0);
}

bool launcher_is_first_word(const char *word)
{
    EACH_OF (launcher, launchers)
        if (strcmp(launcher->name, path_base_name(word)) == 0)
            return true;
    return is_python_name(path_base_name(word)) || (is_variable(word) && access(word, F_OK) != 0);
}

/* A module that launches a script, after python -m. */
static bool is_launching_module(const char *module)
{
    static const char *const names[] = {"torch.distributed.launch", "torch.distributed.run",
                                        "accelerate.commands.launch", "deepspeed.launcher.runner",
                                        NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], module) == 0)
            return true;
    return false;
}

struct words {
    char *const *items;
    size_t count;
};

/* The interpreter's options up to the script or the module. *at: the word after Python. False:
 * there is neither. */
static bool read_python(const struct words *words, size_t *at, bool *module)
{
    *module = false;
    for (; *at < words->count; ++*at) {
        const char *word = words->items[*at];
        if (word[0] != '-' || word[1] == '\0')
            return true;
        size_t last = strlen(word) - 1;
        bool is_long = word[1] == '-';
        if (strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0 ||
            strcmp(word, "--check-hash-based-pycs") == 0) {
            ++*at;
        } else if (!is_long && (word[last] == 'm' || word[last] == 'c') && word[1] != 'W' &&
                   word[1] != 'X') {
            *module = word[last] == 'm';
            return ++*at < words->count;
        }
    }
    return false;
}

/* The next word that is a script, or the next launcher. *at: the word after the launcher and its
 * verb. */
static bool skip_options(const struct words *words, size_t *at, enum launcher_kind kind,
                         bool *module)
{
    size_t plain = words->count;
    *module = false;
    for (; *at < words->count; ++*at) {
        const char *word = words->items[*at],
                   *next = *at + 1 < words->count ? words->items[*at + 1] : NULL;
        bool takes_modules =
            kind == LAUNCHES_PYTHON && (strcmp(word, "-m") == 0 || strcmp(word, "--module") == 0);
        if (takes_modules && next) {
            *module = true;
            ++*at;
            return true;
        }
        if (word[0] == '-' || is_variable(word))
            continue;
        if (kind == LAUNCHES_SHELL || text_ends_with(word, ".py") || find_launcher(word, next) ||
            (strchr(word, '/') && launcher_is_program(word)))
            return true;
        if (plain == words->count)
            plain = *at;
    }
    /* A command that an environment provides: "poetry run train". */
    *at = plain;
    return plain < words->count;
}

bool launcher_read(char *const *words, size_t count, struct launcher *out, struct err *err)
{
    struct words all = {words, count};
    size_t at = 0;
    *out = (struct launcher){0};
    while (at < count && is_variable(words[at]) && access(words[at], F_OK) != 0)
        at++;
    out->variables = at;
    if (at == count)
        return err_set(err, "there are variables only: which script? As in %s python3 train.py",
                       words[0]);
    out->python = count;
    for (const struct known_launcher *launcher;
         !out->module &&
         (launcher = find_launcher(words[at], at + 1 < count ? words[at + 1] : NULL));) {
        size_t from = at;
        at += launcher->verb ? 2 : 1;
        out->python = launcher->kind == IS_PYTHON ? from : count;
        bool found = launcher->kind == IS_PYTHON
                         ? read_python(&all, &at, &out->module)
                         : skip_options(&all, &at, launcher->kind, &out->module);
        if (!found)
            return err_set(err, "%s: which script? No script comes after it", words[from]);
        if (launcher->kind == IS_PYTHON && out->module && is_launching_module(words[at])) {
            out->python = count;
            at++;
            if (!skip_options(&all, &at, LAUNCHES_PYTHON, &out->module))
                return err_set(err, "%s: which script? No script comes after it", words[from]);
        }
    }
    out->script = at;
    if (out->python == count)
        out->python = at;
    return true;
}
