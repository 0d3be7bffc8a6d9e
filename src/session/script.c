#include "session/script.h"
#include "base/fs_path.h"
#include "base/json_print.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "plan/launcher.h"
#include "session/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_LINE_BYTES = 256, QUOTED_BYTES = 160, SHOWN_VALUES = 8 };

void script_fini(struct script *script)
{
    free(script->path);
    free(script->name);
    free(script->absolute);
    free(script->folder);
    free(script->program);
    strv_fini(&script->before);
    strv_fini(&script->variables);
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
    ssize_t got = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
                      ? read(fd, line, FIRST_LINE_BYTES - 1)
                      : 0;
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
}

bool script_is_one(const char *operand)
{
    static const char *const settings[] = {".json", ".jsonc", ".json5", ".yaml", ".yml", NULL};
    for (size_t i = 0; settings[i]; i++)
        if (text_ends_with(operand, settings[i]))
            return false;
    if (text_ends_with(operand, ".py"))
        return !fs_is_folder(operand);
    return launcher_is_program(operand) || launcher_is_first_word(operand);
}

/* The interpreter that a first line names by its path; NULL: none, or env(1), which leaves it to
 * PATH. name: its last step. */
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

/* The one that is active, else ".venv" or "venv" beside the script or in the working folder; fresh,
 * seen from there. */
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
            char *venv = strcmp(folders[f], ".") == 0 ? mem_strdup(names[i])
                                                      : mem_printf("%s/%s", folders[f], names[i]);
            AUTO_FREE char *python = mem_printf("%s/bin/python", venv);
            if (access(python, X_OK) == 0)
                return venv;
            free(venv);
        }
    return NULL;
}

/* Its first line if that names a path, a virtual environment, or python3. */
static bool find_script_interpreter(struct script *script, const struct strv *environment,
                                    struct err *err)
{
    const char *search = strv_env_get(environment, "PATH");
    char line[FIRST_LINE_BYTES];
    read_first_line(script->path, line);
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *named = shebang(line, &name);
    bool python = text_ends_with(script->path, ".py") || (name && strncmp(name, "python", 6) == 0);
    script->is_python = python;
    if (!python) {
        script->why = "its first line says how";
        if (access(script->path, X_OK) != 0)
            return err_set(err, "%s is not executable (chmod +x makes it so), and is not Python",
                           script->path);
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
    const char *names[] = {name && strncmp(name, "python", 6) == 0 ? name : "python3", "python3",
                           "python"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *found = fs_find_executable(names[i], script->folder,
                                         search ? search : "/usr/local/bin:/usr/bin:/bin");
        if (!found)
            continue;
        script->key = "python";
        script->why = "found on PATH";
        script->interpreter = mem_strdup(names[i]);
        strv_add_owned(&script->command, found);
        return true;
    }
    return err_set(
        err,
        "there is no python3 on PATH to run %s, and no virtual environment (.venv, venv) beside it",
        script->path);
}

/* ---- The command line. */

/* "pkg/train.py" or "pkg/train/__main__.py" of "pkg.train", relative to the working folder; the
 * caller frees it. NULL: neither exists. */
static char *find_module_script(const char *module)
{
    static const char *const ends[] = {".py", "/__main__.py"};
    AUTO_FREE char *path = mem_strdup(module);
    for (char *c = path; *c; c++)
        *c = *c == '.' ? '/' : *c;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        AUTO_FREE char *file = mem_printf("%s%s", path, ends[i]);
        if (fs_is_file(file))
            return steal_ptr(file);
    }
    return NULL;
}

static void fill_script(const struct strv *words, const struct launcher *launcher,
                        struct script *out)
{
    const char *word = words->items[launcher->script];
    const char *dot = strrchr(word, '.');
    char *file = launcher->module ? find_module_script(word) : mem_strdup(word);
    bool is_absolute = file && (!launcher->module || fs_is_file(file));
    out->absolute = is_absolute ? fs_resolve(out->folder, file, NULL) : NULL;
    out->path = file ? file : mem_strdup(word);
    out->name = launcher->module ? mem_printf("%s.py", dot ? dot + 1 : word) : mem_strdup(word);
    out->program = mem_strdup(words->items[launcher->variables]);
    out->arguments_at = launcher->script + 1;
    for (size_t i = 0; i < launcher->variables; i++)
        strv_add(&out->variables, words->items[i]);
    for (size_t i = launcher->variables + 1; i <= launcher->script; i++)
        strv_add(&out->before, words->items[i]);
}

/* The script's own Python, whatever launches it, so that --help starts nothing else. */
static bool find_launched(const struct strv *words, const struct launcher *launcher,
                          const struct strv *environment, struct script *script, struct err *err)
{
    const char *search = strv_env_get(environment, "PATH");
    const char *path = search ? search : "/usr/local/bin:/usr/bin:/bin";
    AUTO_FREE char *program = fs_find_executable(script->program, script->folder, path);
    if (!program)
        return err_set(err, "there is no program %s%s", script->program,
                       strchr(script->program, '/') ? "" : " on PATH");
    script->why = "as given";
    script->is_python = true;
    if (launcher->python < launcher->script) {
        AUTO_FREE char *python =
            fs_find_executable(words->items[launcher->python], script->folder, path);
        if (!launcher->module && text_ends_with(script->path, ".py") && !fs_is_file(script->path))
            return err_set(err, "the script %s is not there", script->path);
        if (!python)
            return true;
        strv_add(&script->command, python);
        for (size_t i = launcher->python + 1; i < launcher->script; i++)
            strv_add(&script->command, words->items[i]);
    } else if (text_ends_with(script->path, ".py") && script->absolute &&
               find_script_interpreter(script, environment, NULL)) {
        script->key = NULL;
        free(steal_ptr(script->interpreter));
        if (launcher->module)
            strv_add(&script->command, "-m");
    } else {
        return true;
    }
    strv_add(&script->command,
             launcher->module ? words->items[launcher->script] : script->absolute);
    return true;
}

bool script_read(const struct strv *words, const struct strv *environment,
                 const struct script_probing *how, struct script *out, struct err *err)
{
    struct launcher launcher;
    *out = (struct script){.folder = getcwd(NULL, 0)};
    if (!out->folder)
        return err_sys(err, "the working folder");
    if (!launcher_read(words->items, words->count, &launcher, err))
        return false;
    bool is_text = utf8_is_valid(out->folder, strlen(out->folder));
    for (size_t i = 0; i <= launcher.script; i++)
        is_text = is_text && utf8_is_valid(words->items[i], strlen(words->items[i]));
    if (!is_text)
        return err_set(err, "the script's path is not UTF-8, which settings are written in");
    fill_script(words, &launcher, out);
    if (launcher.script > launcher.variables) {
        if (!find_launched(words, &launcher, environment, out, err))
            return false;
    } else {
        if (access(out->path, R_OK) != 0 && errno != ENOENT)
            return err_sys(err, "%s", out->path);
        if (!fs_is_file(out->path))
            return err_set(err, "the script %s is not there", out->path);
        if (!find_script_interpreter(out, environment, err))
            return false;
        strv_add(&out->command, out->absolute);
    }
    if (out->command.count && out->absolute)
        return script_probe(out, environment, how, err);
    out->unread = mem_printf("it is not asked through %s", out->program);
    return true;
}

/* "axes lr (0.1, 0.01), seed (3 values): 6 experiments" */
static void print_axes(const struct script *script, const struct starter_args *args,
                       size_t experiments)
{
    AUTO_TEXT struct text axes = {0};
    for (size_t i = 0; i < args->count; i++) {
        const struct starter_value *value = &args->values[i];
        if (value->words.count < 2)
            continue;
        AUTO_FREE char *all = strv_join(&value->words, ", ");
        text_addf(&axes, "%s%s (", axes.length ? ", " : "axes ", value->name);
        if (value->words.count <= SHOWN_VALUES && strlen(all) <= QUOTED_BYTES)
            text_addf(&axes, "%s)", all);
        else
            text_addf(&axes, "%zu values)", value->words.count);
    }
    cli_note("%s: %s: %zu experiment%s", script->path,
             axes.length ? text_get(&axes) : "no axes (--lr 0.1,0.01 makes one)", experiments,
             experiments == 1 ? "" : "s");
}

static bool is_option_given(const struct starter_args *args, const struct script_option *option)
{
    for (size_t i = 0; i < args->count; i++)
        if (args->values[i].option == option || strcmp(args->values[i].name, option->name) == 0)
            return true;
    return strv_has(&args->options, option->flag);
}

char *script_untouched(const struct script *script, const struct starter_args *args)
{
    AUTO_STRV struct strv options = {0};
    for (size_t i = 0; i < script->help.count; i++) {
        const struct script_option *option = &script->help.options[i];
        if (!is_option_given(args, option))
            strv_add_owned(&options, option->initial
                                         ? mem_printf("%s (%s)", option->flag, option->initial)
                                         : mem_strdup(option->flag));
    }
    return options.count ? strv_join(&options, ", ") : NULL;
}

void script_say(const struct script *script, const struct starter_args *args, size_t experiments)
{
    print_axes(script, args, experiments);
    AUTO_FREE char *by = script->key
                             ? mem_printf("run by %s (%s)", script->interpreter, script->why)
                         : script->before.count ? mem_printf("started by %s", script->program)
                                                : mem_strdup("started itself");
    if (script->has_help)
        cli_note("%s: %s; %zu option%s read from its --help", script->path, by, script->help.count,
                 script->help.count == 1 ? "" : "s");
    else
        cli_warning("%s: %s; its options are not known: %s", script->path, by, script->unread);
    for (size_t i = 0; i < args->warnings.count; i++)
        cli_warning("%s", args->warnings.items[i]);
    for (size_t i = 0; i < script->help.count; i++) {
        const struct script_option *option = &script->help.options[i];
        if (option->needed && !option->initial && !is_option_given(args, option))
            cli_warning("%s: its help says that it needs %s", script->path, option->flag);
    }
}

void script_write(const struct script *script, const char *path, struct starter *starter,
                  struct text *registry, struct text *settings)
{
    starter->name = script->name;
    starter->program = script->program;
    starter->before = &script->before;
    starter->variables = &script->variables;
    starter->path = path;
    starter->interpreter_key = script->key;
    starter->interpreter = script->interpreter;
    starter->help = script->has_help ? &script->help : NULL;
    starter->epochs = script->epochs;
    json_print_taken(starter_registry(starter), registry);
    json_print_taken(starter_settings(starter), settings);
}
