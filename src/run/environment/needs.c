#include "run/environment/needs.h"
#include "base/fs_path.h"
#include "plan/command.h"

#include "base/mem.h"
#include "base/shell_words.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { LONGEST_REF = 4096, LONGEST_PACKED = 16 << 20, SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

struct need *needs_add(struct repo_needs *out, enum need_kind kind, enum need_state state,
                       const char *name, char *detail, char *mend, const struct strv *models)
{
    struct need *need = &MEM_ADD(out->items, out->count);
    *need = (struct need){
        .kind = kind, .state = state, .name = mem_strdup(name), .detail = detail, .mend = mend};
    if (models)
        strv_add_all(&need->models, models);
    return need;
}

bool needs_concerns(const struct repo_needs *needs, const struct strv *models)
{
    EACH (item, models->items, models->count)
        if (strv_has(&needs->models, *item))
            return true;
    return models->count == 0;
}

/* A relative path of the registry that does not exist yet, also not in the working folder. */
static bool is_relative(const struct repo *repo)
{
    const char *given = repo->path_given;
    return !repo->path_exists && given && given[0] != '/' && given[0] != '~' && given[0] != '-';
}

static char *typed_folder(const struct repo *repo)
{
    return mem_strdup(is_relative(repo) ? repo->path_given : repo->path);
}

static char *typed_path(const struct repo *repo, const char *path)
{
    size_t length = strlen(repo->path);
    bool below = strncmp(path, repo->path, length) == 0 && (path[length] == '/' || !path[length]);
    return is_relative(repo) && below ? mem_printf("%s%s", repo->path_given, path + length)
                                      : mem_strdup(path);
}

static char *clone_command(const struct repo *repo)
{
    if (!repo->source.url)
        return NULL;
    AUTO_FREE char *folder = typed_folder(repo);
    struct text out = {0};
    text_add(&out, "git clone ");
    shell_words_quote(repo->source.url, &out);
    text_add_char(&out, ' ');
    shell_words_quote_path(folder, &out);
    if (repo->source.commit) {
        text_add(&out, " && git -C ");
        shell_words_quote_path(folder, &out);
        text_addf(&out, " checkout --detach %s", repo->source.commit);
    }
    return text_take(&out);
}

static char *environment_command(const struct repo *repo)
{
    struct text out = {0};
    if (repo->venv) {
        bool below = repo->venv[0] != '/' && repo->venv[0] != '~';
        AUTO_FREE char *folder = typed_folder(repo);
        AUTO_FREE char *venv =
            below ? mem_printf("%s/%s", folder, repo->venv) : mem_strdup(repo->venv);
        text_add(&out, "python3 -m venv ");
        shell_words_quote_path(venv, &out);
    } else if (repo->conda_env) {
        text_addf(&out, "conda create %s ", strchr(repo->conda_env, '/') ? "-p" : "-n");
        shell_words_quote_path(repo->conda_env, &out);
        text_add(&out, " python");
    }
    return out.length ? text_take(&out) : NULL;
}

static bool find_need_kind(const struct problem *problem, enum need_kind *kind)
{
    static const struct {
        const char *key;
        enum need_kind kind;
    } keys[] = {{"path", NEED_FOLDER},
                {"train_script", NEED_SCRIPT},
                {"command_prefix", NEED_PROGRAM},
                {"python", NEED_INTERPRETER},
                {"venv", NEED_INTERPRETER},
                {"conda_env", NEED_INTERPRETER}};
    const char *last = problem->path ? strrchr(problem->path, '.') : NULL;
    for (size_t i = 0; last && i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(last + 1, keys[i].key) != 0)
            continue;
        *kind = keys[i].kind;
        return true;
    }
    return false;
}

static const char *skip_front(const char *text, const char *front)
{
    size_t length = strlen(front);
    return text + (strncmp(text, front, length) == 0 ? length : 0);
}

/* The problem without "'REPO': " and name; the caller frees. */
static char *make_detail(const struct repo *repo, const struct problem *problem, const char *name)
{
    AUTO_FREE char *front = mem_printf("'%s': ", repo->name);
    AUTO_FREE char *subject = mem_printf("%s ", name);
    return mem_strdup(skip_front(skip_front(problem->text, front), subject));
}

static bool is_missing(const struct repo_needs *needs, enum need_kind kind)
{
    EACH (item, needs->items, needs->count)
        if (item->kind == kind && item->state == NEED_MISSING)
            return true;
    return false;
}

static bool has_interpreter(const struct repo *repo)
{
    return repo->python || repo->venv || repo->conda_env;
}

static void add_missing_needs(const struct repo *repo, const struct command *command,
                              const struct problems *problems, struct repo_needs *out)
{
    EACH (item, problems->items, problems->count) {
        enum need_kind kind;
        if (!find_need_kind(item, &kind))
            continue;
        const char *script = command->head.items[command->head.count - 1];
        const char *name = kind == NEED_FOLDER   ? repo->path
                           : kind == NEED_SCRIPT ? script
                           : kind == NEED_INTERPRETER
                               ? command->head.items[repo->command_prefix.count]
                               : command->head.items[0];
        char *mend = kind == NEED_FOLDER        ? clone_command(repo)
                     : kind == NEED_INTERPRETER ? environment_command(repo)
                                                : NULL;
        char *detail = kind != NEED_FOLDER ? make_detail(repo, item, name)
                       : is_relative(repo)
                           ? mem_strdup("neither beside the registry nor in the working folder")
                           : mem_strdup("not there");
        AUTO_FREE char *typed = typed_path(repo, name);
        needs_add(out, kind, NEED_MISSING, typed, detail, mend, NULL);
    }
}

/* ---- Data, the commit of a clone, and free disk space. */

static char *parse_commit(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length == SHA1_DIGITS || length == SHA256_DIGITS ? mem_strndup(text, length) : NULL;
}

static bool read_git_file(const char *folder, const char *name, size_t limit, struct text *out)
{
    AUTO_FREE char *path = mem_printf("%s/.git/%s", folder, name);
    return fs_read(path, limit, out, NULL);
}

static char *find_packed(const char *text, const char *ref)
{
    for (const char *line = text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *blank = line + strspn(line, "0123456789abcdef");
        size_t length = strcspn(line, "\n");
        size_t name = strlen(ref);
        if (*blank == ' ' && (size_t)(blank + 1 - line) + name == length &&
            strncmp(blank + 1, ref, name) == 0)
            return parse_commit(line);
    }
    return NULL;
}

/* Read from the clone's files; the caller frees. NULL: no clone, or unknown. */
static char *find_commit(const char *folder)
{
    static const char pointer[] = "ref: ";
    AUTO_TEXT struct text head = {0}, loose = {0}, packed = {0};
    if (!read_git_file(folder, "HEAD", LONGEST_REF, &head))
        return NULL;
    if (strncmp(text_get(&head), pointer, sizeof pointer - 1) != 0)
        return parse_commit(text_get(&head));
    const char *at = text_get(&head) + sizeof pointer - 1;
    AUTO_FREE char *ref = mem_strndup(at, strcspn(at, "\r\n"));
    if (strncmp(ref, "refs/", 5) != 0 || strstr(ref, ".."))
        return NULL;
    if (read_git_file(folder, ref, LONGEST_REF, &loose))
        return parse_commit(text_get(&loose));
    return read_git_file(folder, "packed-refs", LONGEST_PACKED, &packed)
               ? find_packed(text_get(&packed), ref)
               : NULL;
}

/* NULL: exists and is not empty. Else the problem ("cannot ...": unreadable); the caller frees. */
static char *find_path_problem(const char *path)
{
    struct stat at;
    if (stat(path, &at) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? mem_strdup("not there")
                   : mem_printf("cannot be seen: %s", strerror(errno));
    if (!S_ISDIR(at.st_mode))
        return S_ISREG(at.st_mode) && at.st_size == 0 ? mem_strdup("the file is empty") : NULL;
    AUTO_DIR DIR *folder = fs_list(AT_FDCWD, path);
    if (!folder)
        return mem_printf("cannot be read: %s", strerror(errno));
    bool filled = false;
    for (const struct dirent *entry; !filled && (entry = readdir(folder));)
        filled = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    return filled ? NULL : mem_strdup("the folder is empty");
}

/* The folder, or its nearest existing parent; the caller frees. */
static char *nearest_folder(const char *path)
{
    char *folder = mem_strdup(path);
    while (!fs_is_folder(folder) && strcmp(folder, "/") != 0 && strcmp(folder, ".") != 0) {
        char *above = fs_dirname(folder);
        free(folder);
        folder = above;
    }
    return folder;
}

/* Adds the disk space that is needed to create path. */
static void add_disk_need(struct needs *needs, const char *path, uint64_t bytes)
{
    AUTO_FREE char *folder = nearest_folder(path);
    struct stat at;
    struct statvfs room;
    if (bytes == 0 || stat(folder, &at) != 0 || statvfs(folder, &room) != 0)
        return;
    EACH (disk, needs->disks, needs->disk_count) {
        if (disk->device != at.st_dev)
            continue;
        disk->fetch_bytes += bytes;
        return;
    }
    MEM_ADD(needs->disks, needs->disk_count) =
        (struct disk_need){.device = at.st_dev,
                           .path = steal_ptr(folder),
                           .fetch_bytes = bytes,
                           .free_bytes = (uint64_t)room.f_bavail * room.f_frsize};
}

bool disk_need_fits(const struct disk_need *disk)
{
    return disk->fetch_bytes <= disk->free_bytes;
}

static void check_commit(const struct repo *repo, struct repo_needs *out)
{
    const char *wanted = repo->source.commit;
    if (!wanted || !repo->path_exists)
        return;
    AUTO_FREE char *commit = find_commit(repo->path);
    if (commit && strcmp(commit, wanted) == 0) {
        needs_add(out, NEED_COMMIT, NEED_THERE, wanted, NULL, NULL, NULL);
        return;
    }
    struct text mend = {0};
    text_add(&mend, "git -C ");
    shell_words_quote_path(repo->path, &mend);
    text_addf(&mend, " checkout --detach %s", wanted);
    char *detail = commit ? mem_printf("the clone is at %s", commit)
                          : mem_strdup("no clone of git: which commit it is cannot be told");
    needs_add(out, NEED_COMMIT, NEED_OTHER, wanted, detail, commit ? text_take(&mend) : NULL, NULL);
    text_fini(&mend);
}

static void add_present(const struct repo *repo, const struct command *command,
                        struct repo_needs *out)
{
    if (repo->path_exists)
        needs_add(out, NEED_FOLDER, NEED_THERE, repo->path, NULL, NULL, NULL);
    check_commit(repo, out);
    const char *script = command->head.items[command->head.count - 1];
    if (!is_missing(out, NEED_SCRIPT) && fs_is_file(script))
        needs_add(out, NEED_SCRIPT, NEED_THERE, script, NULL, NULL, NULL);
    if (has_interpreter(repo) && !is_missing(out, NEED_INTERPRETER))
        needs_add(out, NEED_INTERPRETER, NEED_THERE,
                  command->head.items[repo->command_prefix.count], NULL, NULL, NULL);
}

static void check_data(const struct repo *repo, const struct plan_options *options,
                       struct needs *needs, struct repo_needs *out)
{
    EACH (row, repo->data, repo->data_count) {
        if (!needs_concerns(out, &row->models))
            continue;
        AUTO_FREE char *path = fs_resolve(repo->path, row->path, options->home);
        AUTO_FREE char *typed = typed_path(repo, path);
        AUTO_FREE char *future = fs_resolve(options->cwd, typed, NULL);
        char *wrong = find_path_problem(path);
        enum need_state state = !wrong                             ? NEED_THERE
                                : strncmp(wrong, "cannot", 6) == 0 ? NEED_UNKNOWN
                                                                   : NEED_MISSING;
        needs_add(out, NEED_DATA, state, row->path, wrong,
                  wrong && row->get ? mem_strdup(row->get) : NULL, &row->models);
        if (wrong)
            add_disk_need(needs, future, row->size_bytes);
    }
}

void needs_check_repo(const struct registry *registry, const struct repo *repo,
                      const struct strv *models, const struct plan_options *options,
                      struct needs *needs)
{
    struct repo_needs *out = &MEM_ADD(needs->repos, needs->count);
    *out = (struct repo_needs){.repo = repo};
    strv_add_all(&out->models, models);
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(command_fini) struct command command;
    command_init(&command, repo, &registry->doc, options, &problems);
    add_missing_needs(repo, &command, &problems, out);
    add_present(repo, &command, out);
    AUTO_FREE char *typed = typed_folder(repo);
    AUTO_FREE char *future = fs_resolve(options->cwd, typed, NULL);
    if (!repo->path_exists)
        add_disk_need(needs, future, repo->source.size_bytes);
    AUTO_FREE char *python = has_interpreter(repo)
                                 ? mem_strdup(command.head.items[repo->command_prefix.count])
                                 : fs_find_executable("python3", options->cwd, options->path);
    needs_add_modules(repo, &command, is_missing(out, NEED_INTERPRETER) ? NULL : python, out);
    check_data(repo, options, needs, out);
}

size_t repo_needs_missing(const struct repo_needs *needs, const char *model)
{
    size_t missing = 0;
    EACH (need, needs->items, needs->count) {
        bool good = need->state == NEED_THERE || need->state == NEED_OTHER;
        missing += !good && (need->models.count == 0 || strv_has(&need->models, model));
    }
    return missing;
}

bool repo_needs_ready(const struct repo_needs *needs, const char *model)
{
    return repo_needs_missing(needs, model) == 0;
}

bool needs_all_there(const struct needs *needs)
{
    EACH (repo, needs->repos, needs->count)
        for (size_t j = 0; j < repo->models.count; j++)
            if (!repo_needs_ready(repo, repo->models.items[j]))
                return false;
    EACH (disk, needs->disks, needs->disk_count)
        if (!disk_need_fits(disk))
            return false;
    return true;
}

void needs_fini(struct needs *needs)
{
    EACH (repo, needs->repos, needs->count) {
        EACH (item, repo->items, repo->count) {
            free(item->name);
            free(item->detail);
            free(item->mend);
            strv_fini(&item->models);
        }
        free(repo->items);
        strv_fini(&repo->models);
        free(repo->python);
        strv_fini(&repo->env);
    }
    EACH (disk, needs->disks, needs->disk_count)
        free(disk->path);
    free(needs->repos);
    free(needs->disks);
    *needs = (struct needs){0};
}

const char *need_kind_name(enum need_kind kind)
{
    static const char *const names[] = {
        [NEED_FOLDER] = "folder",           [NEED_COMMIT] = "commit",
        [NEED_SCRIPT] = "script",           [NEED_PROGRAM] = "program",
        [NEED_INTERPRETER] = "interpreter", [NEED_MODULE] = "module",
        [NEED_PYTHON] = "python",           [NEED_DATA] = "data"};
    return names[kind];
}

const char *need_state_name(enum need_state state)
{
    static const char *const names[] = {
        [NEED_THERE] = "there",     [NEED_MISSING] = "missing", [NEED_VERSION] = "wrong version",
        [NEED_UNKNOWN] = "unknown", [NEED_OTHER] = "differs",
    };
    return names[state];
}
