#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/state/state.h"
#include "plan/plan.h"
#include "session/command.h"
#include "session/commits.h"
#include "slurm/collect.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The folder of the worktrees is OUTPUT/.commits-XXXXXX, its record commits-XXXXXX.json in the state folder. */
static const char folder_form[] = "/.commits-";
static const char record_form[] = "commits-";
static const size_t RECORD_MAX = 64 << 10;
enum { RANDOM_LETTERS = 6 };

/* What a record says. */
struct record {
    char *repo, *root;
};

static void record_fini(struct record *record)
{
    free(record->repo);
    free(record->root);
}

static char *host_name(void)
{
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    return mem_strdup(name);
}

/* Locked before anybody can see it: who finds it unlocked knows that its process is dead. */
static bool write_record(struct commits *commits, struct err *err)
{
    char unfinished[FS_UNFINISHED_SIZE];
    int folder = state_folder(commits->state);
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *host = host_name();
    json_t *json = json_pack("{s:s, s:s, s:s}", "host", host, "repository", commits->repo, "folder", commits->root);
    if (json)
        json_print_taken(json, &text);
    else
        return err_set(err, "the name of the host, of the repository or of the folder of results is no UTF-8");
    commits->record_name = mem_printf("%s%s.json", record_form, commits->root + strlen(commits->root) - RANDOM_LETTERS);
    commits->record = fs_make_unfinished(folder, 0600, unfinished, err);
    if (commits->record < 0)
        return false;
    if (flock(commits->record, LOCK_EX | LOCK_NB) == 0 &&
        fs_write_all(commits->record, text_get(&text), text.length, err) &&
        renameat(folder, unfinished, folder, commits->record_name) == 0)
        return true;
    err_sys(err, "record the worktrees in the state folder");
    unlinkat(folder, unfinished, 0);
    return false;
}

bool worktrees_begin(struct commits *commits, const char *output, struct err *err)
{
    AUTO_CLOSE int made = fs_make_path(output, 0777, err);
    AUTO_FREE char *real = made >= 0 ? realpath(output, NULL) : NULL;
    if (made < 0)
        return false;
    if (!real)
        return err_sys(err, "%s", output);
    struct err no_state = {0};
    commits->state = state_open_user(&no_state);
    if (commits->state)
        worktrees_recover(state_folder(commits->state));
    AUTO_FREE char *root = mem_printf("%s%sXXXXXX", strcmp(real, "/") == 0 ? "" : real, folder_form);
    if (!mkdtemp(root))
        return err_sys(err, "make a folder for worktrees in %s", output);
    commits->root = steal_ptr(root);
    if (commits->state)
        return write_record(commits, err);
    cli_warning("worktrees will not be found by '%s clean' if this is killed: %s", TARE_NAME, no_state.text);
    return true;
}

bool worktrees_add(struct commits *commits, struct commit *commit, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", commits->root, commit->name);
    const char *const add[] = {"worktree", "add", "--detach", path, commit->hash, NULL};
    size_t length = strlen(commits->prefix);
    commit->folder = mem_printf("%s%s%.*s", path, length ? "/" : "", (int)(length ? length - 1 : 0), commits->prefix);
    return git_order(&commits->git, commits->repo, add, err) || err_wrap(err, "check out commit %s", commit->name);
}

/* Those of the repository in root, as git knows them: also one whose folder is gone. */
static void forget(const struct git *git, const char *repo, const char *root)
{
    static const char *const ask[] = {"worktree", "list", "--porcelain", NULL};
    static const char key[] = "worktree ";
    AUTO_TEXT struct text list = {0};
    size_t length = strlen(root);
    if (!git_ask(git, repo, ask, &list, NULL))
        return;
    for (const char *line = text_get(&list); *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        const char *path = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0 || strncmp(path, root, length) != 0 || path[length] != '/')
            continue;
        AUTO_FREE char *tree = mem_strndup(path, strcspn(path, "\n"));
        /* Twice: one whose making was interrupted is locked. */
        const char *const remove[] = {"worktree", "remove", "--force", "--force", tree, NULL};
        git_order(git, repo, remove, NULL);
    }
}

/* What git left of them, too. */
static bool remove_all(const struct git *git, const char *repo, const char *root, struct err *err)
{
    AUTO_FREE char *above = fs_dirname(root);
    AUTO_CLOSE int parent = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    forget(git, repo, root);
    if (parent < 0)
        return errno == ENOENT || err_sys(err, "open %s", above);
    if (!files_remove_tree(parent, strrchr(root, '/') + 1, err))
        return err_wrap(err, "remove the worktrees in %s", root);
    forget(git, repo, root);
    return true;
}

void worktrees_end(struct commits *commits)
{
    struct err err = {0};
    bool gone = remove_all(&commits->git, commits->repo, commits->root, &err);
    if (!gone)
        cli_warning("%s; '%s clean --kill' tries again", err.text, TARE_NAME);
    if (gone && commits->record >= 0)
        unlinkat(state_folder(commits->state), commits->record_name, 0);
    if (commits->record >= 0)
        close(commits->record);
    state_close(commits->state);
    free(commits->record_name);
    free(steal_ptr(commits->root));
}

/* /.../.commits-XXXXXX */
static bool is_root(const char *path)
{
    const char *last = path && path[0] == '/' ? strrchr(path, '/') : NULL;
    return last && strncmp(last, folder_form, strlen(folder_form)) == 0 &&
           strlen(last) == strlen(folder_form) + RANDOM_LETTERS;
}

/* The record's lock, -1: a live process has it, or it is nothing of ours. */
static int take_record(int folder, const char *name, struct record *out)
{
    AUTO_TEXT struct text text = {0};
    AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || !fs_read_at(folder, name, RECORD_MAX, &text, NULL))
        return -1;
    AUTO_FREE char *host = host_name();
    json_auto_t *json = json_loadb(text_get(&text), text.length, JSON_REJECT_DUPLICATES, NULL);
    const char *whose = json_get_text(json, "host"), *repo = json_get_text(json, "repository"),
               *root = json_get_text(json, "folder");
    bool ours = whose && strcmp(whose, host) == 0 && repo && repo[0] == '/' && is_root(root);
    *out = (struct record){mem_strdup(ours ? repo : NULL), mem_strdup(ours ? root : NULL)};
    return ours ? steal_fd(&fd) : -1;
}

typedef bool each_fn(void *context, const struct record *record);

/* The records of dead processes; one of which each says true is taken away. */
static bool each_left(int folder, each_fn *each, void *context)
{
    AUTO_DIR DIR *dir = fs_list(folder, ".");
    bool all = true;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        AUTO(record_fini) struct record record = {0};
        if (strncmp(entry->d_name, record_form, strlen(record_form)) != 0)
            continue;
        AUTO_CLOSE int lock = take_record(folder, entry->d_name, &record);
        if (lock < 0)
            continue;
        if (each(context, &record))
            unlinkat(folder, entry->d_name, 0);
        else
            all = false;
    }
    return all;
}

static bool describe(void *context, const struct record *record)
{
    strv_add_owned(context, mem_printf("worktrees of %s in %s", record->repo, record->root));
    return false;
}

void worktrees_left(int state_folder, struct strv *out)
{
    each_left(state_folder, describe, out);
}

static bool recover(void *context, const struct record *record)
{
    (void)context;
    struct err err = {0};
    AUTO(containment_fini) struct containment containment = {0};
    AUTO(git_fini) struct git git;
    AUTO_STRV struct strv environment = {0};
    for (char **at = environ; *at; at++)
        strv_add(&environment, *at);
    containment_assume(CONTAINMENT_AUTO, &containment);
    git_init(&containment, &environment, &git);
    bool gone = remove_all(&git, record->repo, record->root, &err);
    if (gone)
        cli_note("removed the worktrees of %s that a killed bench left in %s", record->repo, record->root);
    else
        cli_warning("%s", err.text);
    return gone;
}

bool worktrees_recover(int state_folder)
{
    return each_left(state_folder, recover, NULL);
}

bool commits_are_gone(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        const char *cwd = plan->experiments[i].foreground.cwd;
        const char *found = cwd ? strstr(cwd, folder_form) : NULL;
        if (found && strchr(found + 1, '/') == found + strlen(folder_form) + RANDOM_LETTERS)
            return !err_set(
                err,
                "this bench compared commits of a git repository, and their worktrees are gone: it cannot go "
                "on; start it again with '%s bench --commits'",
                TARE_NAME);
    }
    return false;
}
