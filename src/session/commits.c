#include "session/commits.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/utf8.h"
#include "session/command.h"
#include "session/message.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    MOST_COMMITS = 26,
    LONGEST_NAME = 200,
    NAME_DIGITS = 10,
    SUBJECT_SHOWN = 200,
    SAID_MAX = 16 << 10,
    LINES_SHOWN = 10
};

/* What is missing in a worktree, and one of it. */
struct missing {
    size_t count;
    char *first;
};

static bool add_name(const char *name, size_t length, struct strv *out, struct err *err)
{
    AUTO_FREE char *word = length ? mem_strndup(name, length) : mem_strdup("HEAD");
    AUTO_FREE char *shown = utf8_quoted(word, LONGEST_NAME);
    if (word[0] == '-' || strlen(word) > LONGEST_NAME || !utf8_is_printable(word, strlen(word)))
        return err_set(err, "--commits: '%s' is no name of a commit", shown);
    strv_add(out, word);
    return true;
}

/* "A..B" (nothing on one side: HEAD) or "A,B,C" into names of commits. False: err says what is wrong. */
static bool parse_names(const char *spec, struct strv *out, struct err *err)
{
    static const char form[] = "--commits takes A..B or A,B,C, commits of one repository";
    const char *dots = strstr(spec, "..");
    AUTO_FREE char *shown = utf8_quoted(spec, LONGEST_NAME);
    if (dots && (strchr(spec, ',') || strstr(dots + 1, "..")))
        return err_set(err, "%s: '%s'", form, shown);
    if (dots)
        return (*spec != '.' || dots[2] || err_set(err, "%s: '%s'", form, shown)) &&
               add_name(spec, (size_t)(dots - spec), out, err) && add_name(dots + 2, strlen(dots + 2), out, err);
    for (const char *at = spec;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return err_set(err, "%s: '%s'", form, shown);
        if (!add_name(at, length, out, err))
            return false;
        at += length;
        if (!*at)
            break;
    }
    if (out->count < 2)
        return err_set(err, "%s, and two or more of them: '%s'", form, shown);
    return out->count <= MOST_COMMITS || err_set(err, "--commits takes at most %d commits", MOST_COMMITS);
}

static char *first_line(const struct text *text)
{
    return mem_strndup(text_get(text), strcspn(text_get(text), "\n"));
}

static bool find_commit(const struct commits *commits, const char *given, struct commit *out, struct err *err)
{
    AUTO_TEXT struct text hash = {0};
    AUTO_TEXT struct text subject = {0};
    AUTO_FREE char *wanted = mem_printf("%s^{commit}", given);
    const char *const ask[] = {"rev-parse", "--verify", wanted, NULL};
    *out = (struct commit){.given = mem_strdup(given)};
    if (!git_ask(&commits->git, commits->repo, ask, &hash, err))
        return err_wrap(err, "--commits: there is no commit '%s' in %s", given, commits->repo);
    out->hash = first_line(&hash);
    out->name = mem_strndup(out->hash, NAME_DIGITS);
    const char *const ask_subject[] = {
        "log", "-1", "--no-show-signature", "--no-notes", "--encoding=UTF-8", "--format=%s", out->hash, "--", NULL};
    if (!git_ask(&commits->git, commits->repo, ask_subject, &subject, err))
        return err_wrap(err, "commit %s", out->name);
    AUTO_FREE char *line = first_line(&subject);
    out->subject = utf8_quoted(line, SUBJECT_SHOWN);
    return true;
}

static bool find_commits(struct commits *commits, const struct strv *names, struct err *err)
{
    commits->items = mem_array(names->count, sizeof *commits->items);
    for (size_t i = 0; i < names->count; i++) {
        struct commit *commit = &commits->items[commits->count++];
        if (!find_commit(commits, names->items[i], commit, err))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(commits->items[k].hash, commit->hash) == 0)
                return err_set(err, "--commits: '%s' and '%s' are one commit, %s", commits->items[k].given,
                               commit->given, commit->name);
    }
    return true;
}

static bool find_repository(struct commits *commits, struct err *err)
{
    static const char *const ask_git[] = {"rev-parse", "--absolute-git-dir", NULL};
    static const char *const ask_prefix[] = {"rev-parse", "--show-prefix", NULL};
    AUTO_TEXT struct text prefix = {0};
    if (!commits->git.program)
        return err_set(err, "--commits needs git, and there is none on PATH");
    if (!fs_is_folder(commits->repo))
        return err_set(err, "--git %s: there is no such folder", commits->repo);
    if (!git_ask(&commits->git, commits->repo, ask_git, NULL, err) ||
        !git_ask(&commits->git, commits->repo, ask_prefix, &prefix, err))
        return err_wrap(err, "--commits: %s", commits->repo);
    commits->prefix = first_line(&prefix);
    return git_without_filters(&commits->git, commits->repo) ||
           err_set(err, "git does not tell the configuration of %s", commits->repo);
}

/* A bare repository has no work tree, and git says no status of it. */
static void say_uncommitted(const struct commits *commits)
{
    static const char *const ask[] = {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty",
                                      NULL};
    static const char *const ask_tree[] = {"rev-parse", "--is-inside-work-tree", NULL};
    AUTO_TEXT struct text status = {0};
    AUTO_TEXT struct text tree = {0};
    if (git_ask(&commits->git, commits->repo, ask_tree, &tree, NULL) && strcmp(text_get(&tree), "false\n") == 0)
        return;
    if (!git_ask(&commits->git, commits->repo, ask, &status, NULL))
        cli_warning("whether %s has changes that are not committed is not known: git does not say", commits->repo);
    else if (status.length > 0)
        cli_warning("%s has changes that are not committed: they are in no commit, so they are not measured",
                    commits->repo);
}

static bool is_interrupted(const struct commits *commits, int *code)
{
    struct signalfd_siginfo info;
    if (read(commits->git.stop_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    *code = 128 + (int)info.ssi_signo;
    return true;
}

/* The last lines of what a command printed. */
static void say_end(const struct text *said)
{
    AUTO_TEXT struct text end = {0};
    const char *from = text_get(said) + said->length;
    for (int lines = 0; from > text_get(said); from--)
        if (from[-1] == '\n' && from[0] && ++lines == LINES_SHOWN)
            break;
    utf8_add_printable(from, strlen(from), "\n\t", &end);
    if (end.length && end.data[end.length - 1] != '\n')
        text_add_char(&end, '\n');
    message_print_aside(&end);
}

/* 0, or the exit code. */
static int set_up(const struct commits *commits, const struct commits_options *options, const struct commit *commit,
                  const char *command)
{
    struct err err = {0};
    AUTO_STRV struct strv words = {0};
    AUTO_TEXT struct text said = {0};
    const char *path = strv_env_get(options->environment, "PATH");
    int code = 0;
    if (!shell_words_split(command, &words, &err))
        return cli_failed(CLI_USAGE, &err);
    AUTO_FREE char *named =
        strchr(words.items[0], '/') ? fs_resolve(commit->folder, words.items[0], NULL) : mem_strdup(words.items[0]);
    char *program = fs_find_executable(named, commit->folder, path ? path : "/usr/local/bin:/usr/bin:/bin");
    if (!program) {
        cli_error("--setup: there is no program '%s' in commit %s or on PATH", words.items[0], commit->name);
        return CLI_USAGE;
    }
    free(words.items[0]);
    words.items[0] = program;
    struct job_question question = {.containment = &commits->containment,
                                    .argv = &words,
                                    .env = options->environment,
                                    .cwd = commit->folder,
                                    .limit = SAID_MAX,
                                    .stop_fd = commits->git.stop_fd,
                                    .with_errors = true,
                                    .tail = true};
    if (job_ask(&question, &said) == JOB_ANSWER_GOOD)
        return 0;
    if (is_interrupted(commits, &code))
        return code;
    say_end(&said);
    cli_error("--setup '%s' failed in commit %s; nothing was measured", command, commit->name);
    return CLI_SOME_FAILED;
}

static bool is_pointer(const char *path)
{
    static const char head[] = "version https://git-lfs.github.com/spec/v1";
    char start[sizeof head - 1];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && read(fd, start, sizeof start) == (ssize_t)sizeof start && memcmp(start, head, sizeof start) == 0;
}

/* A submodule that is checked out has a file .git. */
static bool is_empty_submodule(const char *path)
{
    AUTO_FREE char *own = mem_printf("%s/.git", path);
    return access(own, F_OK) != 0;
}

static void add_missing(struct missing *missing, const char *name)
{
    if (missing->count++ == 0)
        missing->first = utf8_quoted(name, LONGEST_NAME);
}

static const char *more(size_t count)
{
    return count > 1 ? " and others" : "";
}

/* What a checkout leaves out: said when the setup had its chance. */
static void say_missing(const struct commits *commits, const struct commit *commit)
{
    static const char *const ask_files[] = {"ls-files", "-z", "--", ":(top,attr:filter=lfs)", NULL};
    static const char *const ask_modules[] = {"ls-files", "-z", "--stage", NULL};
    struct missing pointers = {0}, modules = {0};
    AUTO_TEXT struct text files = {0};
    AUTO_TEXT struct text stage = {0};
    AUTO_FREE char *top = mem_printf("%s/%s", commits->root, commit->name);
    if (!git_ask(&commits->git, top, ask_files, &files, NULL) ||
        !git_ask(&commits->git, top, ask_modules, &stage, NULL))
        cli_warning("commit %s: whether submodules or files of Git LFS are missing is not known: git does not say",
                    commit->name);
    for (const char *at = text_get(&files); *at; at += strlen(at) + 1) {
        AUTO_FREE char *path = mem_printf("%s/%s", top, at);
        if (is_pointer(path))
            add_missing(&pointers, at);
    }
    for (const char *at = text_get(&stage); *at; at += strlen(at) + 1) {
        const char *name = strchr(at, '\t');
        AUTO_FREE char *path = mem_printf("%s/%s", top, name ? name + 1 : "");
        if (name && strncmp(at, "160000 ", 7) == 0 && is_empty_submodule(path))
            add_missing(&modules, name + 1);
    }
    if (pointers.count)
        cli_warning("commit %s: %s%s is a pointer of Git LFS, not the file itself: --setup 'git lfs pull' gets it",
                    commit->name, pointers.first, more(pointers.count));
    if (modules.count)
        cli_warning("commit %s: submodule %s%s is empty: --setup 'git submodule update --init' fills it", commit->name,
                    modules.first, more(modules.count));
    free(pointers.first);
    free(modules.first);
}

/* 0, or the exit code. */
static int check_out(struct commits *commits, const struct commits_options *options, struct commit *commit)
{
    struct err err = {0};
    int code = 0;
    if (!worktrees_add(commits, commit, &err))
        return is_interrupted(commits, &code) ? code : cli_failed(CLI_BROKEN, &err);
    if (!options->quiet)
        cli_note("commit %s checked out: %s", commit->name, commit->subject);
    if (!fs_is_folder(commit->folder)) {
        cli_error("commit %s has no folder %s", commit->name, commits->prefix);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < options->setup->count && code == 0; i++)
        code = set_up(commits, options, commit, options->setup->items[i]);
    if (code == 0)
        say_missing(commits, commit);
    return code;
}

/* From here on a run takes these signals, or we do between our own steps. */
static bool block_signals(struct commits *commits, struct err *err)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &commits->before);
    commits->blocked = true;
    commits->git.stop_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    return commits->git.stop_fd >= 0 || err_sys(err, "signalfd");
}

static bool check_setup(const struct commits_options *options, struct err *err)
{
    for (size_t i = 0; i < options->setup->count; i++) {
        AUTO_STRV struct strv words = {0};
        if (!shell_words_split(options->setup->items[i], &words, err))
            return err_wrap(err, "--setup");
    }
    return true;
}

static bool find_all(const struct commits_options *options, struct commits *out, struct err *err)
{
    AUTO_STRV struct strv names = {0};
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    enum containment_mode mode = CONTAINMENT_AUTO;
    containment_mode_parse(options->containment, &mode);
    if (!cwd)
        return err_sys(err, "the working folder");
    if (!parse_names(options->spec, &names, err) || !check_setup(options, err) ||
        !containment_probe(mode, &out->containment, err))
        return false;
    git_init(&out->containment, options->environment, &out->git);
    out->repo = fs_resolve(cwd, options->repo ? options->repo : cwd, NULL);
    return find_repository(out, err) && find_commits(out, &names, err);
}

int commits_begin(const struct commits_options *options, struct commits *out)
{
    struct err err = {0};
    int code = 0;
    *out = (struct commits){.record = -1, .git.stop_fd = -1};
    if (!find_all(options, out, &err))
        return cli_failed(CLI_USAGE, &err);
    say_uncommitted(out);
    if (!block_signals(out, &err) || !worktrees_begin(out, options->output, &err))
        return cli_failed(CLI_BROKEN, &err);
    for (size_t i = 0; i < out->count && code == 0; i++)
        code = check_out(out, options, &out->items[i]);
    if (code == 0)
        is_interrupted(out, &code);
    if (out->git.stop_fd >= 0)
        close(out->git.stop_fd); /* what comes now is the run's */
    out->git.stop_fd = -1;
    return code;
}

void commits_end(struct commits *commits)
{
    if (commits->git.stop_fd >= 0)
        close(commits->git.stop_fd);
    commits->git.stop_fd = -1;
    if (commits->root)
        worktrees_end(commits);
    if (commits->blocked)
        sigprocmask(SIG_SETMASK, &commits->before, NULL);
    for (size_t i = 0; i < commits->count; i++) {
        struct commit *commit = &commits->items[i];
        char *const texts[] = {commit->given, commit->hash, commit->name, commit->subject, commit->folder};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            free(texts[k]);
    }
    free(commits->items);
    free(commits->repo);
    free(commits->prefix);
    git_fini(&commits->git);
    containment_fini(&commits->containment);
    *commits = (struct commits){.record = -1, .git.stop_fd = -1};
}
