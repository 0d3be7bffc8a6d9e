/* Starts a script with --help in a contained job and reads its options. */
#include "base/fs_output.h"
#include "base/fs_path.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/contain/probe.h"
#include "machine/contain/query.h"
#include "machine/gpu/vendor.h"
#include "machine/state/state.h"
#include "plan/script_parser.h"
#include "plan/script_usage.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    QUOTED_BYTES = 160,
    FIRST_PROGRESS_S = 2,
    NEXT_PROGRESS_S = 15,
    SCRIPT_TEXT_BYTES = 1 << 20
};

/* ---- Whether it is worth starting. */

/* NULL: it may be started; else why not, fresh. */
static char *why_not_python(const struct script_files *files, const struct script_probing *how)
{
    struct script_parser parser;
    if (files->count == 0)
        return mem_strdup("its text cannot be read, so it was not started");
    script_parser_find(files, &parser);
    if (!parser.name)
        return mem_printf("neither it nor a local module that it imports uses a parser of options "
                          "(argparse, click, "
                          "Typer, absl, ...), so it was not started with --help%s",
                          files->cut ? "; some modules were too long or too many to be read" : "");
    if (parser.answers_help)
        return NULL;
    if (how->certain)
        return mem_printf("its options are read by %s, which does not answer --help by itself: "
                          "--dry-run does not start "
                          "what could train",
                          parser.name);
    if (!parser.names_help)
        return mem_printf("its options are read by %s, and its text does not mention --help, so it "
                          "was not started",
                          parser.name);
    return NULL;
}

static char *why_not_other(const struct script *script, const struct script_probing *how)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    if (how->certain)
        return mem_strdup("it is not Python: --dry-run does not start what could train");
    if (!fs_read(script->absolute, SCRIPT_TEXT_BYTES, &text, &err))
        return mem_printf("its text cannot be read (%s), so it was not started", err.text);
    return script_parser_is_mentioned(text_get(&text))
               ? NULL
               : mem_strdup("its text mentions neither --help nor getopts, so it was not started");
}

/* ---- Its help. */

/* Hides GPUs, which may be in use for measurements. Wide lines are wrapped less; sets are listed in
 * a stable order. */
static void make_help_environment(const struct strv *environment, struct strv *out)
{
    strv_add_all(out, environment);
    for (size_t i = 0; gpu_vendors[i]; i++)
        strv_env_set(out, gpu_vendors[i]->visible_variable, "");
    strv_env_set(out, "PYTHONDONTWRITEBYTECODE", "1");
    strv_env_set(out, "PYTHONIOENCODING", "utf-8");
    strv_env_set(out, "PYTHONHASHSEED", "0");
    strv_env_set(out, "COLUMNS", "160");
    strv_env_set(out, "TERM", "dumb");
    strv_env_set(out, "NO_COLOR", "1");
}

struct probe {
    const struct script *script;
    const struct script_probing *how;
    const struct strv *environment;
    const struct containment *containment;
    int folders[JOB_READ_ONLY_MAX];
    double next_progress_s;
    int refused; /* errno: of the folder that cannot be made read-only */
};

static void print_probe_progress(void *context, double seconds)
{
    struct probe *probe = context;
    if (probe->how->quiet || seconds < probe->next_progress_s)
        return;
    probe->next_progress_s = seconds + NEXT_PROGRESS_S;
    cli_note("%s: waiting for its --help, %.0f s of at most %g s (--no-probe goes on without it)",
             probe->script->path, seconds, probe->how->timeout_s);
}

static enum job_answer ask_for_help(struct probe *probe, const char *option, struct text *answer)
{
    AUTO_STRV struct strv argv = {0};
    strv_add_all(&argv, &probe->script->command);
    strv_add(&argv, option);
    text_clear(answer);
    probe->next_progress_s = FIRST_PROGRESS_S;
    struct job_question question = {.containment = probe->containment,
                                    .argv = &argv,
                                    .env = probe->environment,
                                    .cwd = probe->script->folder,
                                    .with_errors = true,
                                    .limit = SCRIPT_HELP_BYTES,
                                    .timeout_s = probe->how->timeout_s,
                                    .read_only_fds = {probe->folders[0], probe->folders[1]},
                                    .waiting = print_probe_progress,
                                    .context = probe};
    enum job_answer how = job_ask(&question, answer);
    probe->refused = how == JOB_ANSWER_WRITABLE ? errno : 0;
    return how;
}

static char *why_unread(const struct probe *probe, enum job_answer how, const struct text *answer)
{
    AUTO_FREE char *line = utf8_last_line(text_get(answer), answer->length, QUOTED_BYTES);
    switch (how) {
    case JOB_ANSWER_LONG:
        return mem_printf("started with --help it wrote more than %d MB, and was ended",
                          SCRIPT_HELP_BYTES >> 20);
    case JOB_ANSWER_NONE:
        return mem_strdup("it could not be started");
    case JOB_ANSWER_WRITABLE:
        return mem_printf(
            "its folder cannot be made read-only for it (%s), so it was not started with --help",
            strerror(probe->refused));
    case JOB_ANSWER_ALIVE:
        return mem_strdup("something that it started is still alive after SIGKILL");
    case JOB_ANSWER_FAILED:
        return *line ? mem_printf("started with --help it failed: %s", line)
                     : mem_strdup("started with --help it failed");
    case JOB_ANSWER_LATE:
    case JOB_ANSWER_GOOD:
        break;
    }
    return mem_strdup("its --help lists no options");
}

/* absl exits with 1 after its help, so the exit code does not count if options are listed. */
static bool has_probe_ended(enum job_answer how)
{
    return how == JOB_ANSWER_GOOD || how == JOB_ANSWER_FAILED;
}

/* False: it took too long. */
static bool read_help(struct probe *probe, struct script *script)
{
    AUTO_TEXT struct text answer = {0};
    enum job_answer how = ask_for_help(probe, "--help", &answer);
    if (has_probe_ended(how))
        script_help_parse(text_get(&answer), answer.length, &script->help);
    if (has_probe_ended(how) && script->help.more) {
        AUTO_TEXT struct text full = {0};
        enum job_answer more = ask_for_help(probe, "--helpfull", &full);
        if (more == JOB_ANSWER_LATE)
            return false;
        if (has_probe_ended(more)) {
            script_help_fini(&script->help);
            script_help_parse(text_get(&full), full.length, &script->help);
        }
    }
    if (has_probe_ended(how) && script->help.count == 0) {
        script_help_fini(&script->help);
        script_usage_parse(text_get(&answer), answer.length, &script->help);
    }
    script->has_help = script->help.count > 0;
    if (!script->has_help)
        script->unread = why_unread(probe, how, &answer);
    return how != JOB_ANSWER_LATE;
}

/* The working folder, and the script's own where it is another one. */
static bool open_folders(const struct script *script, int *working, int *own)
{
    AUTO_FREE char *real = realpath(script->absolute, NULL);
    AUTO_FREE char *folder = fs_dirname(real ? real : script->absolute);
    *working = open(script->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*working < 0 || fs_is_same_file(folder, script->folder))
        return *working >= 0;
    *own = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *own >= 0;
}

bool script_probe(struct script *script, const struct strv *environment,
                  const struct script_probing *how, struct err *err)
{
    AUTO(script_files_fini) struct script_files files = {0};
    if (script->is_python && script_files_read(script->absolute, script->folder,
                                               strv_env_get(environment, "PYTHONPATH"), &files))
        script_epochs_find(&files, &script->epochs);
    if (how->never)
        script->unread = mem_strdup("it was not started (--no-probe)");
    else
        script->unread =
            script->is_python ? why_not_python(&files, how) : why_not_other(script, how);
    if (script->unread)
        return true;
    AUTO_STRV struct strv own = {0};
    AUTO(containment_fini) struct containment containment = {0};
    AUTO_CLOSE int working = -1, beside = -1;
    make_help_environment(environment, &own);
    containment_assume(CONTAINMENT_AUTO, &containment);
    caller_hide_folders(environment, &containment);
    if (!open_folders(script, &working, &beside)) {
        script->unread =
            mem_printf("its folder cannot be opened (%s), so it was not started", strerror(errno));
        return true;
    }
    struct probe probe = {script, how, &own, &containment, {working, beside > 0 ? beside : 0},
                          0,      0};
    return read_help(&probe, script) ||
           err_set(err,
                   "%s was still running %g s after it was started with --help, and was ended: "
                   "--help-timeout 5m waits longer, --no-probe goes on without its help",
                   script->path, how->timeout_s);
}
