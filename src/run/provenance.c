#include "run/provenance.h"

#include "base/fs.h"
#include "base/mem.h"
#include "run/git.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_TIMEOUT_S 5
#define PACKAGES_MAX    5000

struct gathering {
    const struct containment *containment;
    const struct strv *environment;
    struct strv seen;
    json_t *found;
};

/* json_true, json_false, or null where git does not say. Of submodules only the commit counts: what is in them is not looked into,
 * as they have configurations of their own. */
static json_t *dirty_json(struct git *git, const char *path)
{
    static const char *const ask_status[] = {"status", "--porcelain", "--untracked-files=no",
                                             "--ignore-submodules=dirty", NULL};
    AUTO_TEXT struct text status = {0};
    if (!git_without_filters(git, path) || !git_ask(git, path, ask_status, &status, NULL))
        return json_null();
    return json_boolean(status.length > 0);
}

static json_t *repository_json(const struct gathering *gathering, const struct plan_job *job)
{
    static const char *const ask_commit[] = {"rev-parse", "--verify", "HEAD", NULL};
    AUTO(git_fini) struct git git;
    AUTO_TEXT struct text commit = {0};
    git_init(gathering->containment, gathering->environment, &git);
    bool known = git_ask(&git, job->cwd, ask_commit, &commit, NULL);
    size_t length = strcspn(text_get(&commit), "\n");
    return json_pack("{s:o*, s:o*, s:o*, s:o}", "name", json_string(job->repo), "path", json_string(job->cwd),
                     "commit", known && length ? json_stringn(text_get(&commit), length) : json_null(),
                     "dirty", known ? dirty_json(&git, job->cwd) : json_null());
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
    struct gathering gathering = {.containment = containment, .environment = environment, .found = json_array()};
    each_job(plan, add_repository, &gathering);
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
    AUTO_DIR DIR *dir = fs_list(AT_FDCWD, path);
    const struct dirent *entry;
    while (dir && found->count < PACKAGES_MAX && (entry = readdir(dir))) {
        char *package;
        if (!provenance_package(entry->d_name, &package))
            continue;
        if (strv_has(found, package))
            free(package);
        else
            strv_add_owned(found, package);
    }
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
    return json_texts((const char *const *)found.items);
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
    json_t *json = json_pack("{s:o*, s:o*, s:o}", "path", json_string(path),
                             "version", version ? json_string(version) : json_null(),
                             "packages", version ? packages_json(path, version) : json_null());
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
