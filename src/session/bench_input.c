#include "session/bench_input.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "plan/planner.h"

#include "base/mem.h"
#include "base/shell_words.h"
#include "base/utf8.h"
#include "tare_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_NAME = 40, LONGEST_SHOWN = 60, LETTERS = 26 };

/* What else is run for a command is a repository of its own, so that nothing takes its figures for
 * the command's. */
enum kind { WARMUP, PREPARE, CONCLUDE, KINDS };
static const char *const suffixes[KINDS] = {"-warmup", "-prepare", "-conclude"};

/* What a shell would do itself: people look for it in vain on PATH. */
static const char *const of_shells[] = {
    "cd",    "export", "source",   ".", "alias", "eval", "set",  "unset", "if",     "for",  "while",
    "until", "case",   "function", "{", "!",     "[[",   "exec", "trap",  "ulimit", "wait", NULL};

/* What is needed while the texts are made. */
struct making {
    const struct bench_input_options *options;
    struct bench_input *out;
    json_t *repos, *entries;
    const char *cwd, *path;
};

/* Names are used in "compare DIR:repo=NAME", which has separators of its own. */
static bool check_command_name(const struct strv *before, const char *name, struct err *err)
{
    if (!*name || strlen(name) > LONGEST_NAME)
        return err_set(err, "a command's name has 1 to %d bytes: '%s'", LONGEST_NAME, name);
    if (strpbrk(name, ",:/") || !utf8_is_printable(name, strlen(name)))
        return err_set(err, "a command's name holds no ',', ':', '/' nor control character: '%s'",
                       name);
    return !strv_has(before, name) || err_set(err, "two commands have the name '%s'", name);
}

static bool name_commands(const struct bench_input_options *how, struct strv *out, struct err *err)
{
    AUTO_STRV struct strv all = {0};
    if (how->names->count > how->commands->count)
        return err_set(err, "there are %zu names for %zu command%s", how->names->count,
                       how->commands->count, how->commands->count == 1 ? "" : "s");
    for (size_t i = 0; i < how->commands->count; i++) {
        AUTO_FREE char *name = i < how->names->count ? mem_strdup(how->names->items[i])
                               : i < LETTERS         ? mem_printf("%c", (char)('A' + (int)i))
                                                     : mem_printf("C%zu", i + 1);
        if (!check_command_name(&all, name, err))
            return false;
        strv_add(out, name);
        strv_add(&all, name);
        EACH (suffix, suffixes, KINDS)
            strv_add_owned(&all, mem_printf("%s%s", name, *suffix));
    }
    return true;
}

static bool is_of_shells(const char *name)
{
    for (size_t i = 0; of_shells[i]; i++)
        if (strcmp(of_shells[i], name) == 0)
            return true;
    return false;
}

/* Names are searched on PATH, as in a shell, never in the working folder. */
static char *find_bench_program(const struct making *making, const char *name, struct err *err)
{
    AUTO_FREE char *path =
        strchr(name, '/') ? fs_resolve(making->cwd, name, NULL) : mem_strdup(name);
    char *found = fs_find_executable(path, making->cwd, making->path);
    if (found)
        return found;
    if (is_of_shells(name))
        err_set(err, "'%s' is of the shell, and none is run; write sh -c '...' around the command",
                name);
    else if (path[0] == '/')
        err_set(err, "%s is not there or cannot be executed", path);
    else
        err_set(err, "no program '%s' is on PATH", name);
    return NULL;
}

/* The registry's entry of a command, or of what is run around one; or NULL. */
static json_t *make_repo(const struct making *making, const char *command, struct err *err)
{
    AUTO_STRV struct strv words = {0};
    if (!shell_words_split(command, &words, err))
        return NULL;
    AUTO_FREE char *program = find_bench_program(making, words.items[0], err);
    if (!program)
        return NULL;
    bool good = true;
    json_t *args = json_array();
    for (size_t k = 1; k < words.count; k++)
        good = json_array_append_new(args, json_string(words.items[k])) == 0 && good;
    /* What a command prints is its own affair; on the CPU it runs as far as anybody knows. */
    json_t *repo =
        json_pack("{s:s, s:s, s:{s:o}, s:[s], s:[], s:[], s:[s], s:b, s:s}", "path", making->cwd,
                  "train_script", program, "required_args", "words", args, "models", BENCH_MODEL,
                  "errors", "fail_on", "cpu_models", BENCH_MODEL, "reads_checkpoints", true,
                  "exit_code", making->options->ignore_failure ? "ignored" : "required");
    if (repo && good)
        return repo;
    err_set(err, "the command, or the folder it runs in, is no UTF-8");
    json_decref(repo);
    return NULL;
}

static void add_settings_entry(const struct making *making, const char *name, const char *command,
                               int64_t runs)
{
    json_array_append_new(making->entries,
                          json_pack("{s:o*, s:s, s:s, s:s, s:I}", "comment", json_string(command),
                                    "repo", name, "model", BENCH_MODEL, "mode", "default",
                                    "runs_per_config", (json_int_t)runs));
}

/* Adds it to the registry, and an entry NAME[-kind] to the settings. */
static bool add_command_repo(const struct making *making, const char *name, const char *command,
                             struct err *err)
{
    json_t *repo = make_repo(making, command, err);
    if (repo && json_object_set_new(making->repos, name, repo) == 0)
        return true;
    if (repo)
        err_set(err, "its name is no UTF-8");
    AUTO_FREE char *shown = utf8_quoted(command, LONGEST_SHOWN);
    return err_wrap(err, "command %s, <%s>", name, shown);
}

static bool add_command_kind(const struct making *making, enum kind kind,
                             const struct strv *commands, int64_t runs, struct err *err)
{
    for (size_t i = 0; runs > 0 && i < making->options->commands->count; i++) {
        /* One for all commands, or one for each; NULL: none. */
        const char *command =
            commands->count == 0 ? NULL : commands->items[commands->count == 1 ? 0 : i];
        AUTO_FREE char *name = mem_printf("%s%s", making->out->names.items[i], suffixes[kind]);
        if (!command)
            return true;
        if (!add_command_repo(making, name, command, err))
            return false;
        add_settings_entry(making, name, command, runs);
    }
    return true;
}

static bool check_around(const struct bench_input_options *how, const char *option,
                         const struct strv *commands, struct err *err)
{
    return commands->count <= 1 || commands->count == how->commands->count ||
           err_set(err, "%s is given %zu times for %zu commands: once for all, or once for each",
                   option, commands->count, how->commands->count);
}

/* The entries: those that warm up, the commands, what comes before and behind them. */
static bool add_commands(const struct making *making, struct err *err)
{
    const struct bench_input_options *how = making->options;
    if (!check_around(how, "--prepare", how->prepare, err) ||
        !check_around(how, "--conclude", how->conclude, err))
        return false;
    for (size_t i = 0; i < how->commands->count; i++) {
        if (!add_command_repo(making, making->out->names.items[i], how->commands->items[i], err))
            return false;
        strv_add(&making->out->commands, how->commands->items[i]);
    }
    if (!add_command_kind(making, WARMUP, how->commands, how->warmup, err))
        return false;
    for (size_t i = 0; i < how->commands->count; i++)
        add_settings_entry(making, making->out->names.items[i], how->commands->items[i], how->runs);
    return add_command_kind(making, PREPARE, how->prepare, 1, err) &&
           add_command_kind(making, CONCLUDE, how->conclude, 1, err);
}

/* Entries stand as add_commands added them: groups of one for each command. */
static bool surround(const struct making *making, struct err *err)
{
    const struct bench_input_options *how = making->options;
    size_t n = how->commands->count, measured = how->warmup > 0 ? 2 * n : n, prepare = measured;
    size_t conclude = prepare + (how->prepare->count ? n : 0);
    AUTO_FREE size_t *before = mem_array(measured, sizeof *before);
    AUTO_FREE size_t *after = mem_array(measured, sizeof *after);
    for (size_t e = 0; e < measured; e++) {
        before[e] = how->prepare->count ? prepare + e % n : PLAN_AROUND_NONE;
        after[e] = how->conclude->count ? conclude + e % n : PLAN_AROUND_NONE;
    }
    return plan_surround(&making->out->run.plan, before, after, measured, err);
}

static json_t *tare_section(const struct bench_input_options *how)
{
    /* One after the other, whatever the machine has: commands that run at once are no
     * comparison. */
    return json_pack("{s:s, s:s, s:o*, s:{s:o, s:o}, s:{s:s}, s:{s:s}}", "order", "blocks",
                     "gpus_per_experiment", "all", "warmup_entries",
                     how->warmup > 0 ? json_integer((json_int_t)how->commands->count) : NULL,
                     "timing", "between_runs", json_finite(how->pause_s), "between_configurations",
                     json_finite(how->pause_s), "preflight", "policy", how->preflight, "cooldown",
                     "mode", how->cooldown);
}

static void make_settings(const struct making *making, struct text *out)
{
    const struct bench_input_options *how = making->options;
    json_print_taken(json_pack("{s:s, s:i, s:I, s:o, s:o*, s:O, s:o}", "experiment_name", "bench",
                               "max_retries", 0, "seed", (json_int_t)how->seed, "timeout",
                               json_finite(how->timeout_s), "governor",
                               how->governor ? json_string(how->governor) : NULL, "experiments",
                               making->entries, "tare", tare_section(how)),
                     out);
}

static bool make_bench_plan(const struct making *making, struct err *err)
{
    struct run_input *run = &making->out->run;
    AUTO_TEXT struct text settings = {0};
    AUTO_TEXT struct text registry = {0};
    make_settings(making, &settings);
    json_print_taken(json_pack("{s:O}", "models", making->repos), &registry);
    struct plan_options options = {
        .for_running = true, .cwd = making->cwd, .path = making->path, .verbatim = true};
    settings_parse("settings.json", text_get(&settings), settings.length, &run->settings,
                   &run->problems);
    registry_parse("registry.json", text_get(&registry), registry.length, &run->registry,
                   &run->problems);
    run->settings_text = text_take(&settings);
    if (run->problems.errors == 0)
        plan_make(&run->settings, &run->registry, &options, &run->plan, &run->problems);
    EACH (item, run->problems.items, run->problems.count)
        if (item->severity == SEVERITY_ERROR)
            return err_set(err, "%s", item->text);
    return surround(making, err);
}

/* "tare bench python3 train.py": the first word is a program, another is none, and none has a blank
 * in it. */
static void hint_quotes(const struct making *making, struct err *err)
{
    const struct strv *commands = making->options->commands;
    struct err ignored = {0};
    AUTO_FREE char *program = find_bench_program(making, commands->items[0], &ignored);
    bool all = true;
    EACH (item, commands->items, commands->count) {
        AUTO_FREE char *found = find_bench_program(making, *item, &ignored);
        all = all && found;
        if (strpbrk(*item, " \t\n'\""))
            return;
    }
    if (commands->count < 2 || !program || all)
        return;
    AUTO_FREE char *words = strv_join(commands, " ");
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length,
             "; if these words are one command, quote them: %s bench '%s'", TARE_NAME, words);
}

bool bench_input_make(const struct bench_input_options *how, struct bench_input *out,
                      struct err *err)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const char *path = getenv("PATH");
    *out = (struct bench_input){0};
    if (!cwd)
        return err_sys(err, "the working folder");
    struct making making = {
        .options = how,
        .out = out,
        .repos = json_object(),
        .entries = json_array(),
        .cwd = cwd,
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
    };
    out->concludes = how->conclude->count > 0;
    bool ok = name_commands(how, &out->names, err) && add_commands(&making, err) &&
              make_bench_plan(&making, err);
    if (!ok)
        hint_quotes(&making, err);
    json_decref(making.repos);
    json_decref(making.entries);
    return ok;
}

void bench_input_fini(struct bench_input *input)
{
    run_input_fini(&input->run);
    strv_fini(&input->names);
    strv_fini(&input->commands);
}
