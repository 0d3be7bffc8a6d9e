#include "run/environment/git.h"
#include "base/fs_path.h"
#include "machine/contain/query.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUESTION_TIMEOUT_S 5
#define ANSWER_MAX         (16 << 20)

/* Passes one setting in the environment, where a name may contain any character (git 2.31). */
static void add_setting(struct strv *env, const char *name, const char *value)
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

/* An untrusted repository may configure programs. The known ones are disabled; git runs contained,
 * because later versions may add others. */
static void make_git_environment(const struct strv *environment, struct strv *env)
{
    static const char *const settings[][2] = {{"core.fsmonitor", "false"},
                                              {"core.hooksPath", "/dev/null"}};
    /* Drops GIT_CONFIG_COUNT and related variables, too. */
    EACH (item, environment->items, environment->count)
        if (strncmp(*item, "GIT_", 4) != 0 || strncmp(*item, "GIT_CEILING_DIRECTORIES=", 24) == 0)
            strv_add(env, *item);
    strv_env_set(env, "GIT_OPTIONAL_LOCKS", "0");
    strv_env_set(env, "GIT_NO_LAZY_FETCH", "1");
    strv_env_set(env, "GIT_ALLOW_PROTOCOL", "none");
    strv_env_set(env, "GIT_TERMINAL_PROMPT", "0");
    strv_env_set(env, "LC_ALL", "C");
    EACH_OF (setting, settings)
        add_setting(env, (*setting)[0], (*setting)[1]);
}

void git_init(const struct containment *containment, const struct strv *environment,
              struct git *out)
{
    const char *path = strv_env_get(environment, "PATH");
    *out = (struct git){.containment = containment};
    out->program = path ? fs_find_executable("git", NULL, path) : NULL;
    make_git_environment(environment, &out->env);
}

void git_fini(struct git *git)
{
    free(git->program);
    strv_fini(&git->env);
    *git = (struct git){0};
}

bool git_has_repository(const char *path)
{
    AUTO_FREE char *folder = realpath(path, NULL);
    for (char *end = folder ? folder + strlen(folder) : NULL; end; end = strrchr(folder, '/')) {
        *end = '\0';
        AUTO_FREE char *own = mem_printf("%s/.git", folder), *bare = mem_printf("%s/HEAD", folder);
        if (faccessat(AT_FDCWD, own, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
            faccessat(AT_FDCWD, bare, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return !folder;
}

bool git_ask(const struct git *git, const char *path, const char *const *words, struct text *out)
{
    AUTO_STRV struct strv argv = {0};
    const char *const head[] = {git->program, "--no-pager", "-c", "core.hooksPath=/dev/null",
                                "-C",         path,         NULL};
    if (!git->program)
        return false;
    for (size_t i = 0; head[i]; i++)
        strv_add(&argv, head[i]);
    for (size_t i = 0; words[i]; i++)
        strv_add(&argv, words[i]);
    struct job_question question = {.containment = git->containment,
                                    .argv = &argv,
                                    .env = &git->env,
                                    .limit = ANSWER_MAX,
                                    .timeout_s = QUESTION_TIMEOUT_S};
    return job_ask(&question, out) == JOB_ANSWER_GOOD;
}

static bool has_tail(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length > tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* A required filter that does nothing makes a checkout fail, so it must not be required. */
static void switch_off(struct strv *env, const char *name)
{
    static const char *const programs[] = {".clean", ".smudge", ".process"};
    EACH_OF (program, programs)
        if (has_tail(name, *program))
            add_setting(env, name, "");
    if (has_tail(name, ".required"))
        add_setting(env, name, "false");
}

/* Output: "scope\0name\0" repeated (git-config(1), -z --show-scope --name-only). */
bool git_disable_filters(struct git *git, const char *path)
{
    static const char *const ask[] = {"config",       "--list",      "-z",
                                      "--show-scope", "--name-only", NULL};
    AUTO_TEXT struct text names = {0};
    if (!git_ask(git, path, ask, &names))
        return false;
    const char *end = text_get(&names) + names.length;
    for (const char *scope = text_get(&names); scope < end;) {
        const char *name = scope + strlen(scope) + 1;
        if (name >= end)
            break;
        /* add_setting has scope "command". */
        bool trusted = strcmp(scope, "global") == 0 || strcmp(scope, "system") == 0 ||
                       strcmp(scope, "command") == 0;
        if (!trusted && strncmp(name, "filter.", 7) == 0)
            switch_off(&git->env, name);
        scope = name + strlen(name) + 1;
    }
    return true;
}
