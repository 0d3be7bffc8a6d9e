#include "run/environment/fingerprint.h"
#include "base/fs_path.h"
#include "machine/contain/query.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/gpu/vendor.h"
#include "plan/script_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    QUERY_TIMEOUT_S = 5,
    QUERY_BYTES = 64 << 10,
    PACKAGES_MAX = 5000,
    METADATA_BYTES = 1 << 20,
    DIFFERENCES_SHOWN = 3
};

struct gathering {
    const struct containment *containment;
    const struct strv *environment;
    struct strv seen;
    json_t *found;
};

/* python, python3, python3.11 */
static bool is_python_command(const char *word)
{
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

const char *fingerprint_find_interpreter(const struct strv *argv)
{
    EACH (item, argv->items, argv->count)
        if (is_python_command(*item))
            return *item;
    return argv->count > 0 ? argv->items[0] : NULL;
}

static bool is_file_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* The file of "-m a.b" below cwd; the caller frees. NULL: not found. */
static char *find_module_file(const char *cwd, const char *module)
{
    static const char *const ends[] = {".py", "/__main__.py"};
    AUTO_FREE char *path = mem_strdup(module);
    for (char *at = path; *at; at++)
        *at = *at == '.' ? '/' : *at;
    EACH_OF (end, ends) {
        AUTO_FREE char *name = mem_printf("%s%s", path, *end);
        char *file = fs_resolve(cwd, name, NULL);
        if (is_file_below(file, cwd) && fs_is_file(file))
            return file;
        free(file);
    }
    return NULL;
}

/* The first Python file or local module of the command, else its first other local file. Absolute;
 * the caller frees. NULL: not found. */
static char *find_job_script(const struct plan_job *job)
{
    const struct strv *argv = &job->argv;
    for (size_t i = 0; i < argv->count; i++) {
        bool module = i > 0 && strcmp(argv->items[i - 1], "-m") == 0;
        char *path = module ? find_module_file(job->cwd, argv->items[i])
                            : fs_resolve(job->cwd, argv->items[i], NULL);
        if (path && text_ends_with(path, ".py") && fs_is_file(path))
            return path;
        free(path);
    }
    EACH (item, argv->items, argv->count) {
        char *path = fs_resolve(job->cwd, *item, NULL);
        if (is_file_below(path, job->cwd) && fs_is_file(path) && !is_python_command(path))
            return path;
        free(path);
    }
    return NULL;
}

static void add_file_digest(const char *cwd, const char *path, const struct digest *digest,
                            json_t *files)
{
    char hex[DIGEST_HEX + 1];
    digest_print(digest, hex);
    const char *name = is_file_below(path, cwd) ? path + strlen(cwd) + 1 : path;
    json_array_append_new(files,
                          json_pack("{s:o*, s:s}", "path", json_string(name), "sha256", hex));
}

static void add_python(const char *cwd, const struct script_files *found, json_t *files)
{
    EACH (item, found->items, found->count) {
        struct digest digest = digest_of(item->text, item->length);
        add_file_digest(cwd, item->path, &digest, files);
    }
}

/* False: not readable. */
static bool add_other(const char *cwd, const char *path, json_t *files)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    if (!fs_read(path, SCRIPT_FILE_BYTES, &text, &err))
        return false;
    struct digest digest = digest_of(text_get(&text), text.length);
    add_file_digest(cwd, path, &digest, files);
    return true;
}

static const char *python_path(const struct plan_job *job, const struct strv *environment)
{
    const char *own = strv_env_get(&job->env, "PYTHONPATH");
    return own ? own : strv_env_get(environment, "PYTHONPATH");
}

static void add_job_code(void *context, const struct plan_job *job)
{
    struct gathering *gathering = context;
    AUTO_FREE char *script = job->cwd ? find_job_script(job) : NULL;
    if (!script)
        return;
    AUTO_FREE char *key = mem_printf("%s\n%s", job->cwd, script);
    if (strv_has(&gathering->seen, key))
        return;
    strv_add(&gathering->seen, key);
    AUTO(script_files_fini) struct script_files found = {0};
    json_t *files = json_array();
    bool complete;
    if (text_ends_with(script, ".py")) {
        complete =
            script_files_read(script, job->cwd, python_path(job, gathering->environment), &found) &&
            !found.cut;
        AUTO_FREE char *cwd = realpath(job->cwd, NULL);
        add_python(cwd ? cwd : job->cwd, &found, files);
    } else {
        complete = add_other(job->cwd, script, files);
    }
    json_array_append_new(gathering->found,
                          json_pack("{s:o*, s:o*, s:o, s:b}", "path", json_string(job->cwd),
                                    "script", json_string(script), "files", files, "complete",
                                    complete));
}

json_t *fingerprint_code_json(const struct plan *plan, const struct strv *environment)
{
    struct gathering gathering = {.environment = environment, .found = json_array()};
    plan_each_job(plan, add_job_code, &gathering);
    strv_fini(&gathering.seen);
    return gathering.found;
}

bool fingerprint_parse_package(const char *folder, char **out)
{
    static const char *const suffixes[] = {".dist-info", ".egg-info"};
    size_t length = strlen(folder), name = strcspn(folder, "-");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (!text_ends_with(folder, suffixes[i]))
            continue;
        size_t end = length - strlen(suffixes[i]);
        const char *python = i == 1 ? strstr(folder, "-py") : NULL;
        if (python && (size_t)(python - folder) > name)
            end = (size_t)(python - folder);
        name = name < end ? name : end;
        bool versioned = name + 1 < end;
        if (name == 0 || (!versioned && (i == 0 || name < end)))
            return false;
        *out = mem_printf("%.*s==%.*s", (int)name, folder, versioned ? (int)(end - name - 1) : 0,
                          folder + name + 1);
        return true;
    }
    return false;
}

/* A package without version ("==") gets it from its PKG-INFO. */
static char *complete_version(int dir, const char *folder, char *package)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *name = mem_printf("%s/PKG-INFO", folder);
    if (!text_ends_with(package, "==") || !fs_read_at(dir, name, METADATA_BYTES, &text, &err))
        return package;
    const char *line = strstr(text_get(&text), "\nVersion: ");
    if (!line)
        return package;
    line += sizeof "\nVersion: " - 1;
    char *whole = mem_printf("%s%.*s", package, (int)strcspn(line, "\r\n"), line);
    free(package);
    return whole;
}

/* The first folder with a version counts. */
static bool has_package(const struct strv *found, size_t count, const char *package)
{
    size_t length = strcspn(package, "=");
    EACH (item, found->items, count)
        if (strncasecmp(*item, package, length + 1) == 0)
            return true;
    return false;
}

static void list_packages(const char *path, struct strv *found)
{
    size_t before = found->count;
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *list = dir < 0 ? NULL : fs_list(dir, ".");
    const struct dirent *entry;
    while (list && found->count < PACKAGES_MAX && (entry = readdir(list))) {
        char *package;
        if (!fingerprint_parse_package(entry->d_name, &package))
            continue;
        package = complete_version(dir, entry->d_name, package);
        if (has_package(found, before, package) || strv_has(found, package))
            free(package);
        else
            strv_add_owned(found, package);
    }
}

/* Prints the version and sys.path, one entry a line, and imports nothing from the working folder.
 */
static const char question[] = "import sys\n"
                               "print(sys.version.split()[0])\n"
                               "for path in sys.path:\n"
                               "    if path: print(path)\n";

static json_t *interpreter_json(const struct gathering *gathering, const char *path)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv packages = {0};
    AUTO_TEXT struct text answer = {0};
    strv_add(&argv, path);
    strv_add(&argv, "-c");
    strv_add(&argv, question);
    /* Run Python only: another program might start training. */
    bool known = is_python_command(path) && *path == '/' &&
                 job_query(gathering->containment, &argv, gathering->environment, QUERY_BYTES,
                           QUERY_TIMEOUT_S, &answer) &&
                 isdigit((unsigned char)*text_get(&answer));
    if (!known)
        return json_pack("{s:o*, s:n, s:n}", "path", json_string(path), "version", "packages");
    const char *at = text_get(&answer);
    size_t length = strcspn(at, "\r\n");
    json_t *version = json_stringn(at, length);
    for (at += length; *(at += strspn(at, "\r\n")); at += length) {
        length = strcspn(at, "\r\n");
        AUTO_FREE char *folder = mem_strndup(at, length);
        list_packages(folder, &packages);
    }
    if (packages.count > 0)
        strv_sort(&packages);
    return json_pack("{s:o*, s:o, s:o}", "path", json_string(path), "version", version, "packages",
                     json_texts((const char *const *)packages.items));
}

static void add_interpreter(void *context, const struct plan_job *job)
{
    struct gathering *gathering = context;
    const char *path = fingerprint_find_interpreter(&job->argv);
    if (!path || strv_has(&gathering->seen, path))
        return;
    strv_add(&gathering->seen, path);
    json_array_append_new(gathering->found, interpreter_json(gathering, path));
}

json_t *fingerprint_interpreters_json(const struct plan *plan,
                                      const struct containment *containment,
                                      const struct strv *environment)
{
    struct gathering gathering = {
        .containment = containment, .environment = environment, .found = json_array()};
    plan_each_job(plan, add_interpreter, &gathering);
    strv_fini(&gathering.seen);
    return gathering.found;
}

static const struct machine_file *find_code_file(const struct machine_code *code, const char *path)
{
    EACH (file, code->files, code->file_count)
        if (path && file->path && strcmp(file->path, path) == 0)
            return file;
    return NULL;
}

static bool has_same_digest(const struct machine_file *a, const struct machine_file *b)
{
    return a && b && a->sha256 && b->sha256 && strcmp(a->sha256, b->sha256) == 0;
}

static const char *file_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* Files that before lacks or has with another digest. */
static void add_changed_files(const struct machine_code *before, const struct machine_code *now,
                              struct strv *out)
{
    EACH (file, now->files, now->file_count) {
        const struct machine_file *old = find_code_file(before, file->path);
        if (!has_same_digest(old, file))
            strv_add_owned(out, mem_printf("%s %s", file->path, old ? "changed" : "added"));
    }
    EACH (file, before->files, before->file_count)
        if (!find_code_file(now, file->path))
            strv_add_owned(out, mem_printf("%s removed", file->path));
}

/* The entry of "code" for the job's script; NULL: none. */
static const struct machine_code *find_code(const struct plan_job *job,
                                            const struct machine_record *machine)
{
    AUTO_FREE char *script = job->cwd ? find_job_script(job) : NULL;
    EACH (code, machine->code, script ? machine->code_count : 0)
        if (code->script && code->path && strcmp(code->script, script) == 0 &&
            strcmp(code->path, job->cwd) == 0)
            return code;
    return NULL;
}

static const char *find_version(const struct strv *packages, const char *package)
{
    size_t length = strcspn(package, "=");
    EACH (other, packages->items, packages->count)
        if (strncmp(*other, package, length) == 0 && strncmp(*other + length, "==", 2) == 0)
            return *other + length + 2;
    return NULL;
}

static void add_packages(const struct strv *before, const struct strv *now, struct strv *out)
{
    EACH (package, now->items, now->count) {
        const char *text = *package, *old = find_version(before, text);
        int name = (int)strcspn(text, "=");
        if (!old)
            strv_add_owned(out, mem_printf("%.*s added", name, text));
        else if (strcmp(old, text + name + 2) != 0)
            strv_add_owned(out, mem_printf("%.*s %s became %s", name, text, old, text + name + 2));
    }
    EACH (package, before->items, before->count)
        if (!find_version(now, *package))
            strv_add_owned(out, mem_printf("%.*s removed", (int)strcspn(*package, "="), *package));
}

static const struct machine_interpreter *find_interpreter(const struct machine_record *machine,
                                                          const char *path)
{
    EACH (interpreter, machine->interpreters, machine->interpreter_count)
        if (interpreter->path && strcmp(interpreter->path, path) == 0)
            return interpreter;
    return NULL;
}

static void add_interpreters(const struct machine_interpreter *before,
                             const struct machine_interpreter *now, struct strv *out)
{
    if (!before || !now)
        return;
    if (before->version && now->version && strcmp(before->version, now->version) != 0)
        strv_add_owned(out, mem_printf("%s %s became %s", file_base_name(now->path),
                                       before->version, now->version));
    if (before->packages.known && now->packages.known)
        add_packages(&before->packages.names, &now->packages.names, out);
}

static void add_drivers(const struct machine_record *before, const struct machine_record *now,
                        struct strv *out)
{
    for (size_t i = 0; i < before->drivers.count && i < now->drivers.count; i++) {
        const char *old = before->drivers.items[i], *version = now->drivers.items[i];
        if (*old && *version && strcmp(old, version) != 0)
            strv_add_owned(out, mem_printf("the GPU driver changed (%s)", version));
    }
}

static void add_job_changes(const struct plan_job *job, const struct machine_record *before,
                            const struct machine_record *now, struct strv *out)
{
    const char *interpreter = fingerprint_find_interpreter(&job->argv);
    const struct machine_code *code = find_code(job, now), *old_code = find_code(job, before);
    if (code && old_code)
        add_changed_files(old_code, code, out);
    if (interpreter)
        add_interpreters(find_interpreter(before, interpreter), find_interpreter(now, interpreter),
                         out);
}

/* INT64_MAX: no file differs. */
static int64_t find_first_change(const struct plan_job *job, const struct machine_record *before,
                                 const struct machine_record *now)
{
    static const struct machine_code none = {0};
    const struct machine_code *code = find_code(job, now), *old = find_code(job, before);
    int64_t first = INT64_MAX;
    size_t kept = 0;
    code = code ? code : &none;
    old = old ? old : &none;
    EACH (file, code->files, code->file_count) {
        struct stat status;
        const struct machine_file *same = find_code_file(old, file->path);
        AUTO_FREE char *path = fs_resolve(job->cwd, file->path, NULL);
        kept += same != NULL;
        if (has_same_digest(same, file))
            continue;
        if (stat(path, &status) != 0)
            return 0;
        int64_t changed = (int64_t)status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec;
        first = changed < first ? changed : first;
    }
    return kept < old->file_count ? 0 : first;
}

int64_t fingerprint_change_ns(const struct plan_experiment *experiment,
                              const struct machine_record *before, const struct machine_record *now)
{
    int64_t first = find_first_change(&experiment->foreground, before, now);
    int64_t other =
        experiment->parallel ? find_first_change(experiment->background, before, now) : INT64_MAX;
    return other < first ? other : first;
}

char *fingerprint_difference(const struct plan_experiment *experiment,
                             const struct machine_record *before, const struct machine_record *now)
{
    AUTO_STRV struct strv all = {0};
    struct text out = {0};
    add_job_changes(&experiment->foreground, before, now, &all);
    if (experiment->parallel)
        add_job_changes(experiment->background, before, now, &all);
    add_drivers(before, now, &all);
    for (size_t i = 0; i < all.count && i < DIFFERENCES_SHOWN; i++)
        text_addf(&out, "%s%s", i ? ", " : "", all.items[i]);
    if (all.count > DIFFERENCES_SHOWN)
        text_addf(&out, " and %zu more differences", all.count - DIFFERENCES_SHOWN);
    return out.length ? text_take(&out) : NULL;
}
