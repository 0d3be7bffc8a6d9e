#include "run/provenance.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_TIMEOUT_S 5
#define GIT_ANSWER_MAX  (16 << 20)
#define PACKAGES_MAX    5000

struct gathering {
    const struct containment *containment;
    const struct strv *environment;
    char *git;
    struct strv seen;
    json_t *found;
};

/* One more setting for git on its way through the environment, where a name may hold every character (git 2.31 and later). */
static void add_git_setting(struct strv *env, const char *name, const char *value)
{
    const char *count = strv_env_get(env, "GIT_CONFIG_COUNT");
    char number[24], key[48];
    unsigned long long next = count ? strtoull(count, NULL, 10) : 0;
    snprintf(key, sizeof key, "GIT_CONFIG_KEY_%llu", next);
    strv_env_set(env, key, name);
    snprintf(key, sizeof key, "GIT_CONFIG_VALUE_%llu", next);
    strv_env_set(env, key, value);
    snprintf(number, sizeof number, "%llu", next + 1);
    strv_env_set(env, "GIT_CONFIG_COUNT", number);
}

/* A repository that was received may name programs in its own configuration: filters, monitors, hooks, ways to fetch. None of them
 * is asked here; that git runs as a job of its own (job_query) holds for those that a later git may know. */
static void make_git_environment(const struct strv *environment, struct strv *env)
{
    static const char *const settings[][2] = {{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}};
    /* GIT_CONFIG_COUNT and its like too: what follows takes their place. */
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->items[i], "GIT_", 4) != 0 ||
            strncmp(environment->items[i], "GIT_CEILING_DIRECTORIES=", 24) == 0)
            strv_add(env, environment->items[i]);
    strv_env_set(env, "GIT_OPTIONAL_LOCKS", "0");
    strv_env_set(env, "GIT_NO_LAZY_FETCH", "1");
    strv_env_set(env, "GIT_ALLOW_PROTOCOL", "none");
    strv_env_set(env, "LC_ALL", "C");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        add_git_setting(env, settings[i][0], settings[i][1]);
}

/* git's answer, NULL when it has none. */
static char *ask_git(const struct gathering *gathering, const char *path, const char *const *words,
                     const struct strv *env, size_t *length)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    const char *const head[] = {gathering->git, "-C", path, NULL};
    for (size_t i = 0; head[i]; i++)
        strv_add(&argv, head[i]);
    for (size_t i = 0; words[i]; i++)
        strv_add(&argv, words[i]);
    if (!job_query(gathering->containment, &argv, env, GIT_ANSWER_MAX, QUERY_TIMEOUT_S, &answer))
        return NULL;
    if (length)
        *length = answer.length;
    return text_take(&answer);
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length > tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* Switches off the filters that the repository's own configuration names; those of the user and of the machine (git-lfs) stay.
 * names: "scope\0name\0" again and again (git-config(1), -z --show-scope --name-only). */
static void switch_filters_off(const char *names, size_t length, struct strv *env)
{
    for (const char *scope = names; scope < names + length;) {
        const char *name = scope + strlen(scope) + 1;
        if (name >= names + length)
            return;
        bool trusted = strcmp(scope, "global") == 0 || strcmp(scope, "system") == 0;
        if (!trusted && strncmp(name, "filter.", 7) == 0 && (ends_with(name, ".clean") || ends_with(name, ".process")))
            add_git_setting(env, name, "");
        scope = name + strlen(name) + 1;
    }
}

/* json_true, json_false, or null where git does not say. Of submodules only the commit counts: what is in them is not looked into,
 * as they have configurations of their own. */
static json_t *dirty_json(const struct gathering *gathering, const char *path, const struct strv *env)
{
    static const char *const ask_names[] = {"config", "--list", "-z", "--show-scope", "--name-only", NULL};
    static const char *const ask_status[] = {"status", "--porcelain", "--untracked-files=no",
                                             "--ignore-submodules=dirty", NULL};
    AUTO_STRV struct strv without = {0};
    strv_add_all(&without, env);
    size_t length = 0;
    AUTO_FREE char *names = ask_git(gathering, path, ask_names, env, &length);
    if (!names)
        return json_null();
    switch_filters_off(names, length, &without);
    AUTO_FREE char *status = ask_git(gathering, path, ask_status, &without, NULL);
    return status ? json_boolean(*status != '\0') : json_null();
}

static json_t *repository_json(const struct gathering *gathering, const struct plan_job *job)
{
    static const char *const ask_commit[] = {"rev-parse", "--verify", "HEAD", NULL};
    AUTO_STRV struct strv env = {0};
    json_t *json = json_object();
    make_git_environment(gathering->environment, &env);
    json_object_set_new(json, "name", json_string(job->repo));
    json_object_set_new(json, "path", json_string(job->cwd));
    AUTO_FREE char *commit = gathering->git ? ask_git(gathering, job->cwd, ask_commit, &env, NULL) : NULL;
    if (commit)
        commit[strcspn(commit, "\n")] = '\0';
    json_object_set_new(json, "commit", commit && *commit ? json_string(commit) : json_null());
    json_object_set_new(json, "dirty", commit ? dirty_json(gathering, job->cwd, &env) : json_null());
    return json;
}

typedef void each_job_fn(void *context, const struct plan_job *job);

static void each_job(const struct plan *plan, each_job_fn *each, void *context)
{
    for (size_t i = 0; i < plan->count; i++) {
        each(context, &plan->experiments[i].foreground);
        if (plan->experiments[i].parallel)
            each(context, &plan->experiments[i].background);
    }
}

static void add_repository(void *context, const struct plan_job *job)
{
    struct gathering *gathering = context;
    if (!job->cwd || strv_has(&gathering->seen, job->cwd))
        return;
    strv_add(&gathering->seen, job->cwd);
    json_array_append_new(gathering->found, repository_json(gathering, job));
}

json_t *provenance_repositories(const struct plan *plan, const struct containment *containment,
                                const struct strv *environment)
{
    const char *path = strv_env_get(environment, "PATH");
    struct gathering gathering = {.containment = containment, .environment = environment, .found = json_array()};
    gathering.git = path ? fs_find_executable("git", NULL, path) : NULL;
    each_job(plan, add_repository, &gathering);
    free(gathering.git);
    strv_fini(&gathering.seen);
    return gathering.found;
}

/* python, python3, python3.11 */
static bool is_python(const char *word)
{
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

const char *provenance_interpreter(const struct strv *argv)
{
    for (size_t i = 0; i < argv->count; i++)
        if (is_python(argv->items[i]))
            return argv->items[i];
    return argv->count > 0 ? argv->items[0] : NULL;
}

bool provenance_package(const char *folder, char **out)
{
    static const char suffix[] = ".dist-info";
    size_t length = strlen(folder);
    size_t tail = sizeof suffix - 1;
    const char *dash = strchr(folder, '-');
    if (length <= tail || strcmp(folder + length - tail, suffix) != 0 || !dash || dash == folder ||
        dash >= folder + length - tail)
        return false;
    int name = (int)(dash - folder);
    int version = (int)(folder + length - tail - (dash + 1));
    *out = mem_printf("%.*s==%.*s", name, folder, version, dash + 1);
    return true;
}

static void list_packages(const char *path, struct strv *found)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    const struct dirent *entry;
    while (found->count < PACKAGES_MAX && (entry = readdir(dir))) {
        char *package;
        if (!provenance_package(entry->d_name, &package))
            continue;
        if (strv_has(found, package))
            free(package);
        else
            strv_add_owned(found, package);
    }
    closedir(dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Where pip and Debian put packages, beside the interpreter as it was named: a virtual environment's python is a
 * link, and its packages stand where the link stands. version: "3.11.7". */
static json_t *packages_json(const char *python, const char *version)
{
    static const char *const places[][2] = {
        {"lib/python", "/site-packages"}, {"lib64/python", "/site-packages"}, {"local/lib/python", "/dist-packages"}};
    AUTO_STRV struct strv found = {0};
    AUTO_FREE char *bin = fs_dirname(python);
    AUTO_FREE char *root = fs_dirname(bin);
    const char *dot = strchr(version, '.');
    size_t minor = dot ? (size_t)(dot + 1 - version) + strspn(dot + 1, "0123456789") : strlen(version);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        AUTO_FREE char *place = mem_printf("%s/%s%.*s%s", root, places[i][0], (int)minor, version, places[i][1]);
        list_packages(place, &found);
    }
    AUTO_FREE char *debian = mem_printf("%s/lib/python3/dist-packages", root);
    list_packages(debian, &found);
    if (found.count > 0)
        qsort(found.items, found.count, sizeof *found.items, by_name);
    json_t *json = json_array();
    for (size_t i = 0; i < found.count; i++)
        json_array_append_new(json, json_string(found.items[i]));
    return json;
}

/* "3.11.7" of "Python 3.11.7\n". */
static char *python_version(const struct gathering *gathering, const char *python)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    strv_add(&argv, python);
    strv_add(&argv, "--version");
    if (!job_query(gathering->containment, &argv, gathering->environment, 1000, QUERY_TIMEOUT_S, &answer) ||
        strncmp(text_get(&answer), "Python ", 7) != 0)
        return NULL;
    const char *version = text_get(&answer) + 7;
    return mem_strndup(version, strcspn(version, " \r\n"));
}

static void add_interpreter(void *context, const struct plan_job *job)
{
    struct gathering *gathering = context;
    const char *path = provenance_interpreter(&job->argv);
    if (!path || strv_has(&gathering->seen, path))
        return;
    strv_add(&gathering->seen, path);
    /* Only a Python is asked: any other program might take the question for an order to train. */
    AUTO_FREE char *version = is_python(path) && *path == '/' ? python_version(gathering, path) : NULL;
    json_t *json = json_object();
    json_object_set_new(json, "path", json_string(path));
    json_object_set_new(json, "version", version ? json_string(version) : json_null());
    json_object_set_new(json, "packages", version ? packages_json(path, version) : json_null());
    json_array_append_new(gathering->found, json);
}

json_t *provenance_interpreters(const struct plan *plan, const struct containment *containment,
                                const struct strv *environment)
{
    struct gathering gathering = {.containment = containment, .environment = environment, .found = json_array()};
    each_job(plan, add_interpreter, &gathering);
    strv_fini(&gathering.seen);
    return gathering.found;
}
