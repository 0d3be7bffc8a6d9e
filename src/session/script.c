#include "session/script.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "session/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_LINE_BYTES = 256 };

void script_fini(struct script *script)
{
    free(script->path);
    free(script->absolute);
    free(script->folder);
    free(script->interpreter);
    free(script->unread);
    strv_fini(&script->command);
    script_help_fini(&script->help);
    *script = (struct script){0};
}

/* Up to the line's end; "" where it cannot be read. */
static void read_first_line(const char *path, char line[FIRST_LINE_BYTES])
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    ssize_t got =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, line, FIRST_LINE_BYTES - 1) : 0;
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
}

bool script_is_one(const char *operand)
{
    static const char *const settings[] = {".json", ".jsonc", ".json5", ".yaml", ".yml", NULL};
    char line[FIRST_LINE_BYTES];
    for (size_t i = 0; settings[i]; i++)
        if (text_ends_with(operand, settings[i]))
            return false;
    if (text_ends_with(operand, ".py"))
        return !fs_is_folder(operand);
    read_first_line(operand, line);
    return strncmp(line, "#!", 2) == 0;
}

/* The interpreter that a first line names by its path; NULL: none, or env(1), which leaves it to PATH. name: its last step. */
static char *shebang(const char *line, char **name)
{
    *name = NULL;
    if (strncmp(line, "#!", 2) != 0)
        return NULL;
    const char *at = line + 2 + strspn(line + 2, " \t");
    AUTO_FREE char *path = mem_strndup(at, strcspn(at, " \t"));
    AUTO_FREE char *base = fs_basename(path);
    if (strcmp(base, "env") != 0) {
        *name = steal_ptr(base);
        return steal_ptr(path);
    }
    at += strcspn(at, " \t");
    at += strspn(at, " \t");
    *name = mem_strndup(at, strcspn(at, " \t"));
    return NULL;
}

/* The one that is active, else ".venv" or "venv" beside the script or in the working folder; fresh, seen from there. */
static char *find_venv(const char *script, const char *active, const char **why)
{
    static const char *const names[] = {".venv", "venv", NULL};
    AUTO_FREE char *beside = fs_dirname(script);
    const char *const folders[] = {beside, "."};
    AUTO_FREE char *own = mem_printf("%s/bin/python", active ? active : "");
    if (active && *active == '/' && access(own, X_OK) == 0) {
        *why = "the virtual environment that is active";
        return mem_strdup(active);
    }
    *why = "the virtual environment beside it";
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; names[i]; i++) {
            char *venv =
                strcmp(folders[f], ".") == 0 ? mem_strdup(names[i]) : mem_printf("%s/%s", folders[f], names[i]);
            AUTO_FREE char *python = mem_printf("%s/bin/python", venv);
            if (access(python, X_OK) == 0)
                return venv;
            free(venv);
        }
    return NULL;
}

/* What runs it: its first line where that names a path, a virtual environment, python3. */
static bool find_interpreter(struct script *script, const struct strv *environment, struct err *err)
{
    const char *search = strv_env_get(environment, "PATH");
    char line[FIRST_LINE_BYTES];
    read_first_line(script->path, line);
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *named = shebang(line, &name);
    bool python = text_ends_with(script->path, ".py") || (name && strncmp(name, "python", 6) == 0);
    if (!python) {
        script->why = "its first line says how";
        if (access(script->path, X_OK) != 0)
            return err_set(err, "%s is not executable (chmod +x makes it so), and is not Python", script->path);
        return true;
    }
    if (named && strncmp(name, "python", 6) == 0 && access(named, X_OK) == 0) {
        script->key = "python";
        script->why = "its first line names it";
        script->interpreter = steal_ptr(named);
        strv_add(&script->command, script->interpreter);
        return true;
    }
    char *venv = find_venv(script->path, strv_env_get(environment, "VIRTUAL_ENV"), &script->why);
    if (venv) {
        script->key = "venv";
        script->interpreter = venv;
        AUTO_FREE char *relative = mem_printf("%s/bin/python", venv);
        strv_add_owned(&script->command, fs_resolve(script->folder, relative, NULL));
        return true;
    }
    const char *names[] = {name && strncmp(name, "python", 6) == 0 ? name : "python3", "python3", "python"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *found = fs_find_executable(names[i], script->folder, search ? search : "/usr/local/bin:/usr/bin:/bin");
        if (!found)
            continue;
        script->key = "python";
        script->why = "found on PATH";
        script->interpreter = mem_strdup(names[i]);
        strv_add_owned(&script->command, found);
        return true;
    }
    return err_set(err, "there is no python3 on PATH to run %s, and no virtual environment (.venv, venv) beside it",
                   script->path);
}

bool script_read(const char *path, const struct strv *environment, const struct script_probing *how, struct script *out,
                 struct err *err)
{
    *out = (struct script){.path = mem_strdup(path), .folder = getcwd(NULL, 0)};
    if (access(path, R_OK) != 0 && errno != ENOENT)
        return err_sys(err, "%s", path);
    if (!fs_is_file(path))
        return err_set(err, "the script %s is not there", path);
    if (!out->folder)
        return err_sys(err, "the working folder");
    if (!utf8_is_valid(path, strlen(path)) || !utf8_is_valid(out->folder, strlen(out->folder)))
        return err_set(err, "the script's path is not UTF-8, which settings are written in");
    out->absolute = fs_resolve(out->folder, path, NULL);
    if (!find_interpreter(out, environment, err))
        return false;
    return script_probe(out, environment, how, err);
}

void script_say(const struct script *script, const struct starter_args *args)
{
    AUTO_FREE char *by =
        script->key ? mem_printf("run by %s (%s)", script->interpreter, script->why) : mem_strdup("started itself");
    if (script->has_help)
        cli_note("%s: %s; %zu option%s read from its --help", script->path, by, script->help.count,
                 script->help.count == 1 ? "" : "s");
    else
        cli_warning("%s: %s; its options are not known: %s", script->path, by, script->unread);
    for (size_t i = 0; args && i < args->warnings.count; i++)
        cli_warning("%s", args->warnings.items[i]);
    for (size_t i = 0; args && i < script->help.count; i++) {
        const struct script_option *option = &script->help.options[i];
        bool given = strv_has(&args->several, option->flag);
        for (size_t j = 0; j < args->count; j++)
            given = given || args->values[j].option == option;
        if (option->needed && !option->initial && !given)
            cli_warning("%s: its help says that it needs %s", script->path, option->flag);
    }
}

void script_write(const struct script *script, const char *path, struct starter *starter, struct text *registry,
                  struct text *settings)
{
    starter->script = script->path;
    starter->path = path;
    starter->interpreter_key = script->key;
    starter->interpreter = script->interpreter;
    starter->help = script->has_help ? &script->help : NULL;
    json_print_taken(starter_registry(starter), registry);
    json_print_taken(starter_settings(starter), settings);
}
