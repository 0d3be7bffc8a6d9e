/* Imports Python modules, because a list of packages does not show whether "import torch" works.
 * Each interpreter starts once per environment, several at once. */
#include "base/utf8.h"
#include "run/environment/needs.h"

#include "base/mem.h"
#include "base/query.h"
#include "machine/gpu/vendor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* A first import of a large framework takes up to a minute. */
#define ASK_TIMEOUT_S 180.0

enum { LONGEST_ANSWER = 1 << 20, LONGEST_DETAIL = 200, WORDS_MAX = 500, ASKED_AT_ONCE = 4 };

/* Arguments: "NAME" or "NAME SPECIFIER"; "=" is the interpreter. Modules cannot print into the
 * answer. The version is that of the only distribution in the module's folder, else the module's,
 * else that of an editable installation. Without `packaging`, or pip's copy, it is "unchecked". */
static const char question[] =
    "import sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "import os\n"
    "out = os.fdopen(os.dup(1), 'w')\n"
    "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
    "owners = []\n"
    "def distribution(name, module, anywhere):\n"
    "    try:\n"
    "        from importlib import metadata\n"
    "        if not owners:\n"
    "            owners.append(metadata.packages_distributions())\n"
    "        file = os.path.realpath(module.__file__ or list(module.__path__)[0])\n"
    "        found = set()\n"
    "        for one in map(metadata.distribution, owners[0].get(name.split('.')[0], ())):\n"
    "            folder = os.path.join(os.path.realpath(one.locate_file('')), '')\n"
    "            if anywhere or file.startswith(folder):\n"
    "                found.add(one.version)\n"
    "        return found.pop() if len(found) == 1 else ''\n"
    "    except Exception:\n"
    "        return ''\n"
    "def find_version(name, want):\n"
    "    if name == '=':\n"
    "        level = {'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}.get(sys.version_info[3], '')\n"
    "        return '.'.join(map(str, sys.version_info[:3])) + level\n"
    "    module = __import__(name)\n"
    "    said = getattr(sys.modules.get(name), '__version__', '') or getattr(module, "
    "'__version__', '')\n"
    "    known = want and (distribution(name, module, False) or said or distribution(name, module, "
    "True))\n"
    "    return str(known or said)\n"
    "def compare(version, want):\n"
    "    try:\n"
    "        try:\n"
    "            from packaging.specifiers import SpecifierSet\n"
    "        except ImportError:\n"
    "            from pip._vendor.packaging.specifiers import SpecifierSet\n"
    "        return 'yes ' if SpecifierSet(want).contains(version, prereleases=True) else 'other "
    "'\n"
    "    except Exception:\n"
    "        return 'unchecked '\n"
    "for word in sys.argv[1:]:\n"
    "    name, _, want = word.partition(' ')\n"
    "    try:\n"
    "        version = find_version(name, want)\n"
    "        line = (compare(version, want) if want else 'yes ') + version\n"
    "    except BaseException as error:\n"
    "        line = 'no ' + type(error).__name__ + ': ' + str(error)\n"
    "    line = line.replace('\\r', ' ').replace('\\n', ' ')\n"
    "    out.write(line.encode('ascii', 'replace').decode() + '\\n')\n"
    "    out.flush()\n";

struct answer {
    enum need_state state;
    bool unchecked; /* UNKNOWN: the version could not be compared */
    char *text;     /* a version, or the problem */
    bool late;
};

struct interpreter {
    const char *python;
    const struct strv *env;
    struct strv words;
    struct answer *answers;
    struct answer version;
    /* for all starts: ASK_TIMEOUT_S per repository */
    double limit_s;
};

struct interpreters {
    struct interpreter *items;
    size_t count;
    atomic_size_t next;
};

/* Makes repositories that link to one environment share it. NULL: not found. */
static char *resolve_links(const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = real ? mem_strdup(real) : NULL;
    free(real);
    return copy;
}

static void set_path(struct strv *env, const struct strv *prepend)
{
    AUTO_STRV struct strv folders = {0};
    const char *path = strv_env_get(env, "PATH");
    EACH (item, prepend->items, prepend->count) {
        char *real = resolve_links(*item);
        if (real)
            strv_add_owned(&folders, real);
    }
    if (path)
        strv_add(&folders, path);
    if (folders.count) {
        AUTO_FREE char *whole = strv_join(&folders, ":");
        strv_env_set(env, "PATH", whole);
    }
}

/* The training's environment without GPUs: a check must not disturb measurements. */
static void make_probe_environment(const struct repo *repo, const struct command *command,
                                   struct strv *env)
{
    for (char **entry = environ; *entry; entry++)
        if (strchr(*entry, '='))
            strv_add(env, *entry);
    EACH (item, command->env.items, command->env.count) { /* VIRTUAL_ENV, CONDA_PREFIX */
        const char *equals = strchr(*item, '=');
        AUTO_FREE char *name = mem_strndup(*item, (size_t)(equals - *item));
        AUTO_FREE char *real = resolve_links(equals + 1);
        strv_env_set(env, name, real ? real : equals + 1);
    }
    strv_env_set_all(env, &repo->env);
    set_path(env, &command->path_prepend);
    for (size_t i = 0; gpu_vendors[i]; i++)
        strv_env_set(env, gpu_vendors[i]->visible_variable, "");
    strv_env_set(env, "PYTHONDONTWRITEBYTECODE", "1");
}

static void add_need(const struct registry_modules *row, enum need_kind kind, const char *name,
                     const char *wanted, struct repo_needs *out)
{
    struct need *need = needs_add(out, kind, NEED_UNKNOWN, name, NULL, NULL, &row->models);
    need->get = row->get;
    need->wanted = wanted;
}

void needs_add_modules(const struct repo *repo, const struct command *command, const char *python,
                       struct repo_needs *out)
{
    size_t before = out->count;
    EACH (row, repo->modules, repo->module_count) {
        if (!needs_concerns(out, &row->models))
            continue;
        if (row->python)
            add_need(row, NEED_PYTHON, "Python", row->python, out);
        for (size_t j = 0; j < row->names.count; j++)
            add_need(row, NEED_MODULE, row->names.items[j], row->wanted.items[j], out);
    }
    if (out->count == before || !python)
        return;
    const char *slash = strrchr(python, '/');
    AUTO_FREE char *folder = mem_strndup(python, slash ? (size_t)(slash - python) : 0);
    AUTO_FREE char *real = resolve_links(folder);
    out->python = real ? mem_printf("%s%s", real, slash) : mem_strdup(python);
    make_probe_environment(repo, command, &out->env);
}

static bool same_list(const struct strv *one, const struct strv *other)
{
    bool same = one->count == other->count;
    for (size_t i = 0; same && i < one->count; i++)
        same = strcmp(one->items[i], other->items[i]) == 0;
    return same;
}

static struct interpreter *find_same_interpreter(struct interpreters *all,
                                                 const struct repo_needs *needs)
{
    EACH (item, all->items, all->count)
        if (strcmp(item->python, needs->python) == 0 && same_list(item->env, &needs->env))
            return item;
    return NULL;
}

static bool is_module_need(const struct need *need)
{
    return need->kind == NEED_MODULE || need->kind == NEED_PYTHON;
}

static char *make_word(const struct need *need)
{
    const char *name = need->kind == NEED_PYTHON ? "=" : need->name;
    return *need->wanted ? mem_printf("%s %s", name, need->wanted) : mem_strdup(name);
}

static size_t find_word(const struct interpreter *interpreter, const char *word)
{
    size_t i = 0;
    while (i < interpreter->words.count && strcmp(interpreter->words.items[i], word) != 0)
        i++;
    return i;
}

static void collect_interpreters(struct needs *needs, struct interpreters *all)
{
    EACH (repo, needs->repos, needs->count) {
        if (!repo->python)
            continue;
        struct interpreter *interpreter = find_same_interpreter(all, repo);
        if (!interpreter) {
            interpreter = &MEM_ADD(all->items, all->count);
            *interpreter = (struct interpreter){.python = repo->python, .env = &repo->env};
        }
        interpreter->limit_s += ASK_TIMEOUT_S;
        EACH (item, repo->items, repo->count) {
            if (!is_module_need(item))
                continue;
            AUTO_FREE char *word = make_word(item);
            if (find_word(interpreter, word) == interpreter->words.count)
                strv_add(&interpreter->words, word);
        }
    }
    EACH (entry, all->items, all->count)
        entry->answers = mem_array(entry->words.count + 1, sizeof *entry->answers);
}

/* The next line of the answer, printable and short. False: the end. Modules may print anything. */
static bool next_line(const char **at, char line[LONGEST_DETAIL + 16])
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

static void set_answer(struct answer *answer, enum need_state state, char *text)
{
    free(answer->text);
    *answer = (struct answer){.state = state, .text = text};
}

static bool read_module_answer(const char **at, struct answer *out)
{
    static const struct {
        const char *word;
        enum need_state state;
    } verdicts[] = {{"yes ", NEED_THERE}, {"other ", NEED_VERSION}, {"unchecked ", NEED_UNKNOWN}};
    enum need_state state = NEED_MISSING;
    char line[LONGEST_DETAIL + 16];
    if (!next_line(at, line))
        return false;
    const char *rest = strchr(line, ' ');
    EACH_OF (verdict, verdicts)
        if (strncmp(line, verdict->word, strlen(verdict->word)) == 0)
            state = verdict->state;
    set_answer(out, state, mem_strdup(rest ? rest + 1 : ""));
    out->unchecked = state == NEED_UNKNOWN;
    return true;
}

/* Imports the modules from first on and counts the answers; the next one blocked. False: not even a
 * version. */
static bool start_interpreter(struct interpreter *interpreter, size_t first, size_t count,
                              double timeout_s, size_t *answered)
{
    AUTO_STRV struct strv argv = {0};
    strv_add(&argv, interpreter->python);
    strv_add(&argv, "-c");
    strv_add(&argv, question);
    strv_add(&argv, "=");
    for (size_t i = 0; i < count; i++)
        strv_add(&argv, interpreter->words.items[first + i]);
    AUTO_TEXT struct text text = {0};
    int64_t began_ns = clock_monotonic_ns();
    query_program(&argv, interpreter->env, LONGEST_ANSWER, timeout_s, false, &text, NULL);
    bool late = ns_to_s(clock_monotonic_ns() - began_ns) >= timeout_s;
    const char *at = text_get(&text);
    *answered = 0;
    if (!read_module_answer(&at, &interpreter->version))
        return false;
    while (*answered < count && read_module_answer(&at, &interpreter->answers[first + *answered]))
        (*answered)++;
    if (*answered < count) {
        struct answer *stuck = &interpreter->answers[first + *answered];
        set_answer(stuck, NEED_MISSING,
                   late ? mem_printf("importing it took longer than %.0f s", timeout_s)
                        : mem_strdup("the interpreter ended while it was imported"));
        stuck->late = late;
    }
    return true;
}

/* An import may fail beside modules of another repository, except when the module does not exist.
 */
static bool may_work_alone(const struct interpreter *interpreter, const struct answer *answer)
{
    static const char absent[] = "ModuleNotFoundError:";
    return interpreter->limit_s > ASK_TIMEOUT_S && answer->state == NEED_MISSING && !answer->late &&
           strncmp(answer->text, absent, sizeof absent - 1) != 0;
}

static double probe_time_left_s(const struct interpreter *interpreter, int64_t began_ns)
{
    double left = interpreter->limit_s - ns_to_s(clock_monotonic_ns() - began_ns);
    return left < ASK_TIMEOUT_S ? left : ASK_TIMEOUT_S;
}

/* A module that ends or blocks the interpreter costs one start. */
static void ask_interpreter(struct interpreter *interpreter)
{
    int64_t began_ns = clock_monotonic_ns();
    size_t total = interpreter->words.count, next = 0, answered;
    const char *why = "not asked: the interpreter took too long";
    do {
        size_t count = total - next < WORDS_MAX ? total - next : WORDS_MAX;
        double timeout_s = probe_time_left_s(interpreter, began_ns);
        if (timeout_s <= 0)
            break;
        if (!start_interpreter(interpreter, next, count, timeout_s, &answered)) {
            why = "the interpreter does not answer";
            break;
        }
        next += answered + (answered < count);
    } while (next < total);
    for (size_t i = 0; i < next; i++) {
        double timeout_s = probe_time_left_s(interpreter, began_ns);
        if (timeout_s > 0 && may_work_alone(interpreter, &interpreter->answers[i]))
            start_interpreter(interpreter, i, 1, timeout_s, &answered);
    }
    for (; next < total; next++)
        set_answer(&interpreter->answers[next], NEED_UNKNOWN, mem_strdup(why));
    if (!interpreter->version.text)
        set_answer(&interpreter->version, NEED_UNKNOWN, mem_strdup(why));
}

static void *ask_some(void *context)
{
    struct interpreters *all = context;
    for (size_t i; (i = atomic_fetch_add(&all->next, 1)) < all->count;)
        ask_interpreter(&all->items[i]);
    return NULL;
}

static void ask_interpreters(struct interpreters *all)
{
    pthread_t threads[ASKED_AT_ONCE];
    size_t count = 0;
    while (count + 1 < ASKED_AT_ONCE && count + 1 < all->count &&
           pthread_create(&threads[count], NULL, ask_some, all) == 0)
        count++;
    ask_some(all);
    EACH (thread, threads, count)
        pthread_join(*thread, NULL);
}

static void settle_need(struct need *need, const struct answer *answer)
{
    need->state = answer->state;
    if (answer->state == NEED_VERSION)
        need->detail =
            mem_printf("%s %s is there, %s is wanted", need->name, answer->text, need->wanted);
    else if (answer->unchecked)
        need->detail = *answer->text ? mem_printf("version not checked: %s is there, %s is wanted",
                                                  answer->text, need->wanted)
                                     : mem_printf("version not known, %s is wanted", need->wanted);
    else
        need->detail = *answer->text ? mem_strdup(answer->text) : NULL;
    need->mend = need->state == NEED_THERE || !need->get ? NULL : mem_strdup(need->get);
}

static void settle_repo(struct interpreters *all, struct repo_needs *repo)
{
    struct answer none = {.state = NEED_UNKNOWN,
                          .text = mem_strdup("there is no interpreter to ask")};
    const struct interpreter *interpreter = repo->python ? find_same_interpreter(all, repo) : NULL;
    EACH (need, repo->items, repo->count) {
        if (!is_module_need(need))
            continue;
        AUTO_FREE char *word = make_word(need);
        settle_need(need,
                    interpreter ? &interpreter->answers[find_word(interpreter, word)] : &none);
    }
    free(none.text);
}

void needs_ask(struct needs *needs)
{
    struct interpreters all = {0};
    collect_interpreters(needs, &all);
    ask_interpreters(&all);
    EACH (repo, needs->repos, needs->count)
        settle_repo(&all, repo);
    EACH (item, all.items, all.count) {
        EACH (answer, item->answers, item->words.count)
            free(answer->text);
        free(item->answers);
        free(item->version.text);
        strv_fini(&item->words);
    }
    free(all.items);
}
