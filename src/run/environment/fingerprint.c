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

static const json_t *find_item(const json_t *list, const char *key, const char *value,
                               const char *path)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_says(item, key, value) && (!path || json_says(item, "path", path)))
            return item;
    }
    return NULL;
}

static const char *file_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* Files that before lacks or has with another digest. */
static void add_changed_files(const json_t *before, const json_t *now, struct strv *out)
{
    size_t i;
    json_t *file;
    json_array_foreach(now, i, file)
    {
        const char *path = json_get_text(file, "path");
        const json_t *old = find_item(before, "path", path, NULL);
        if (!old || !json_says(old, "sha256", json_get_text(file, "sha256")))
            strv_add_owned(out, mem_printf("%s %s", path, old ? "changed" : "added"));
    }
    json_array_foreach(before, i, file)
    {
        const char *path = json_get_text(file, "path");
        if (!find_item(now, "path", path, NULL))
            strv_add_owned(out, mem_printf("%s removed", path));
    }
}

/* The entry of "code" for the job's script; NULL: none. */
static const json_t *find_code(const struct plan_job *job, const json_t *machine)
{
    AUTO_FREE char *script = job->cwd ? find_job_script(job) : NULL;
    return script ? find_item(json_object_get(machine, "code"), "script", script, job->cwd) : NULL;
}

static const char *find_version(const json_t *packages, const char *package)
{
    size_t i, length = strcspn(package, "=");
    json_t *other;
    json_array_foreach(packages, i, other)
    {
        const char *text = json_string_value(other);
        if (text && strncmp(text, package, length) == 0 && strncmp(text + length, "==", 2) == 0)
            return text + length + 2;
    }
    return NULL;
}

static void add_packages(const json_t *before, const json_t *now, struct strv *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(now, i, item)
    {
        const char *text = json_string_value(item);
        const char *old = text ? find_version(before, text) : NULL;
        int name = text ? (int)strcspn(text, "=") : 0;
        if (text && !old)
            strv_add_owned(out, mem_printf("%.*s added", name, text));
        else if (text && strcmp(old, text + name + 2) != 0)
            strv_add_owned(out, mem_printf("%.*s %s became %s", name, text, old, text + name + 2));
    }
    json_array_foreach(before, i, item)
    {
        const char *text = json_string_value(item);
        if (text && !find_version(now, text))
            strv_add_owned(out, mem_printf("%.*s removed", (int)strcspn(text, "="), text));
    }
}

static void add_interpreters(const json_t *before, const json_t *now, struct strv *out)
{
    const char *old = json_get_text(before, "version"), *version = json_get_text(now, "version");
    const json_t *packages = json_object_get(before, "packages"),
                 *others = json_object_get(now, "packages");
    if (old && version && strcmp(old, version) != 0)
        strv_add_owned(out, mem_printf("%s %s became %s",
                                       file_base_name(json_get_text(now, "path")), old, version));
    if (json_is_array(packages) && json_is_array(others))
        add_packages(packages, others, out);
}

static void add_drivers(const json_t *before, const json_t *now, struct strv *out)
{
    for (size_t i = 0; gpu_vendors[i]; i++) {
        const char *key = gpu_vendors[i]->driver_key;
        const char *old = json_get_text(before, key), *version = json_get_text(now, key);
        if (old && version && strcmp(old, version) != 0)
            strv_add_owned(out, mem_printf("the GPU driver changed (%s)", version));
    }
}

static void add_job_changes(const struct plan_job *job, const json_t *before, const json_t *now,
                            struct strv *out)
{
    const char *interpreter = fingerprint_find_interpreter(&job->argv);
    const json_t *code = find_code(job, now), *old_code = find_code(job, before);
    if (code && old_code)
        add_changed_files(json_object_get(old_code, "files"), json_object_get(code, "files"), out);
    if (interpreter)
        add_interpreters(
            find_item(json_object_get(before, "interpreters"), "path", interpreter, NULL),
            find_item(json_object_get(now, "interpreters"), "path", interpreter, NULL), out);
}

/* INT64_MAX: no file differs. */
static int64_t find_first_change(const struct plan_job *job, const json_t *before,
                                 const json_t *now)
{
    const json_t *old = json_object_get(find_code(job, before), "files");
    int64_t first = INT64_MAX;
    size_t i, kept = 0;
    json_t *file;
    json_array_foreach(json_object_get(find_code(job, now), "files"), i, file)
    {
        struct stat status;
        const json_t *same = find_item(old, "path", json_get_text(file, "path"), NULL);
        AUTO_FREE char *path = fs_resolve(job->cwd, json_get_text(file, "path"), NULL);
        kept += same != NULL;
        if (same && json_says(same, "sha256", json_get_text(file, "sha256")))
            continue;
        if (stat(path, &status) != 0)
            return 0;
        int64_t changed = (int64_t)status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec;
        first = changed < first ? changed : first;
    }
    return kept < json_array_size(old) ? 0 : first;
}

int64_t fingerprint_change_ns(const struct plan_experiment *experiment, const json_t *before,
                              const json_t *now)
{
    int64_t first = find_first_change(&experiment->foreground, before, now);
    int64_t other =
        experiment->parallel ? find_first_change(experiment->background, before, now) : INT64_MAX;
    return other < first ? other : first;
}

char *fingerprint_difference(const struct plan_experiment *experiment, const json_t *before,
                             const json_t *now)
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
