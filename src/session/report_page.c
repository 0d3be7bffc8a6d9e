#include "session/report_page.h"
#include "base/fs_output.h"
#include "base/fs_path.h"
#include "base/written.h"
#include "results/judge/audit_tables.h"
#include "results/judge/identical.h"
#include "results/judge/judge_agreement.h"
#include "results/judge/rows.h"
#include "results/judge/summary_stats_json.h"
#include "results/store/page_json.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/contain/sys.h"
#include "report/page.h"
#include "session/command.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { WITH_ADDRESS_SANITIZER = 1 };
#else
enum { WITH_ADDRESS_SANITIZER = 0 };
#endif

/* A million events are read in a few seconds. */
enum { CPU_S = 120, WALL_MS = 240000, CANNOT_START = 126 };
static const rlim_t memory_bytes = (rlim_t)8 << 30, written_bytes = (rlim_t)64 << 20;

static void set_limit(__rlimit_resource_t what, rlim_t most)
{
    setrlimit(what, &(struct rlimit){.rlim_cur = most, .rlim_max = most});
}

/* In the child: system calls alone. */
static _Noreturn void analyse(int folder, int page, char *const argv[])
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    set_limit(RLIMIT_CPU, CPU_S);
    set_limit(RLIMIT_FSIZE, written_bytes);
    set_limit(RLIMIT_CORE, 0);
    if (!WITH_ADDRESS_SANITIZER) /* which reserves more */
        set_limit(RLIMIT_AS, memory_bytes);
    if (nowhere >= 0 && dup2(nowhere, 0) >= 0 && dup2(nowhere, 1) >= 0 && dup2(nowhere, 2) >= 0 &&
        fchdir(folder) == 0 && fcntl(page, F_SETFD, 0) == 0)
        execv("/proc/self/exe", argv);
    _exit(CANNOT_START);
}

/* The exit status; -1: it took too long and was ended. */
static int wait_for_child(pid_t pid)
{
    int status = 0;
    bool late = false;
    AUTO_CLOSE int pidfd = sys_pidfd_open(pid);
    if (pidfd >= 0) {
        struct pollfd ended = {.fd = pidfd, .events = POLLIN};
        while ((late = poll(&ended, 1, WALL_MS) <= 0) && errno == EINTR)
            errno = 0;
    }
    if (late)
        sys_pidfd_signal(pidfd, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return late ? -1 : status;
}

static void write_snapshot_page(int folder, const char *where, const char *file)
{
    struct err err = {0};
    struct stat st, written;
    size_t length = strlen(file);
    AUTO(fs_unfinished_drop) struct fs_unfinished made = {.fd = -1};
    AUTO_FREE char *page = text_ends_with(file, ".pickle")
                               ? mem_printf("%.*s.html", (int)(length - 7), file)
                               : mem_printf("%s.html", file);
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return;
    /* Under a name of its own: the folder may be somebody else's, and the page's name a link to a
     * file of ours. */
    if (!fs_unfinished_begin(folder, &made, &err)) {
        cli_warning("%s/%s: %s", where, page, err.text);
        return;
    }
    AUTO_FREE char *output = mem_printf("/proc/self/fd/%d", made.fd);
    AUTO_FREE char *snapshot = mem_strdup(file);
    char program[] = TARE_NAME, command[] = "memory", html[] = "--html", end[] = "--";
    char *const argv[] = {program, command, html, output, end, snapshot, NULL};
    pid_t pid = fork();
    if (pid == 0)
        analyse(folder, made.fd, argv);
    int status = pid < 0 ? CANNOT_START << 8 : wait_for_child(pid);
    if (status == -1)
        cli_warning("%s/%s: its analysis took too long and was ended", where, file);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) > CLI_SOME_FAILED)
        cli_warning("%s/%s cannot be analysed: '" TARE_NAME " memory' says why", where, file);
    else if (fstat(made.fd, &written) == 0 && written.st_size > 0 &&
             !fs_unfinished_publish(&made, page, true, &err))
        cli_warning("%s/%s: %s", where, page, err.text);
}

static void write_page_of(void *context, const struct page_json_snapshot *snapshot)
{
    const int *dir = context;
    AUTO_FREE char *own = mem_printf("attempt_%lld", (long long)snapshot->attempt);
    AUTO_FREE char *where =
        snapshot->last ? mem_strdup(snapshot->id) : mem_printf("%s/%s", snapshot->id, own);
    AUTO_CLOSE int folder = *dir >= 0 && fs_check_name(snapshot->id, NULL)
                                ? fs_open_folder_beneath(*dir, snapshot->id)
                                : -1;
    AUTO_CLOSE int earlier =
        snapshot->last || folder < 0 ? -1 : fs_open_folder_beneath(folder, own);
    int of_attempt = snapshot->last ? folder : earlier;
    if (of_attempt >= 0 && fs_check_name(snapshot->file, NULL))
        write_snapshot_page(of_attempt, where, snapshot->file);
}

void report_snapshots_write(const json_t *run, const char *run_dir)
{
    AUTO_CLOSE int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    page_json_each_snapshot(run, write_page_of, &dir);
}

enum { MACHINE_MAX_BYTES = 16 << 20 };

json_t *report_machine_read(int dir)
{
    struct err err = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_TEXT struct text text = {0};
    if (!fs_read_at(dir, "machine.json", MACHINE_MAX_BYTES, &text, &err) ||
        !json_doc_parse("machine.json", text_get(&text), text.length, &doc, &err))
        return NULL;
    return json_incref(doc.root);
}

static bool write_report_file(const struct report_options *how, int dir, const char *run_dir,
                              const struct text *page, struct err *err)
{
    static const char name[] = "report.html";
    if (how->file)
        return fs_write_output(how->file, text_get(page), page->length, err);
    if (how->foreign)
        return written_write(run_dir, name, text_get(page), page->length, how->force, err);
    return fs_write_atomic(dir, name, text_get(page), page->length, err);
}

/* Browsers resolve links before they go up a folder. */
static char *resolve_report_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : fs_resolve(NULL, path, NULL);
}

/* How a link in the page's folder leads to the run's: "", or steps that end in a slash. */
static char *way_to(const char *run_dir, const char *file)
{
    AUTO_FREE char *folder = file ? fs_dirname(file) : mem_strdup(run_dir);
    AUTO_FREE char *from = resolve_report_path(folder), *to = resolve_report_path(run_dir);
    size_t same = 0;
    struct text way = {0};
    for (size_t i = 0;; i++) {
        bool end_of_from = from[i] == '/' || !from[i], end_of_to = to[i] == '/' || !to[i];
        if (end_of_from && end_of_to)
            same = i;
        if (from[i] != to[i] || !from[i])
            break;
    }
    for (const char *at = from + same; *at; at++)
        if (*at == '/' && at[1])
            text_add(&way, "../");
    if (to[same] && to[same + 1])
        text_addf(&way, "%s/", to + same + 1);
    return text_take(&way);
}

static json_t *counted_json(const struct dataset *dataset, enum audit_rows rows)
{
    json_t *ids = json_object();
    EACH (experiment, dataset->items, dataset->count) {
        struct audit_tally tally = {0};
        audit_tally_add(&tally, experiment);
        if (experiment->success && audit_counts(dataset, experiment, rows))
            json_set_text(ids, experiment->id,
                          tally.consistent ? agreement_name(AGREEMENT_CONSISTENT)
                                           : verdict_name(experiment->verdict));
    }
    return json_pack("{s:s, s:o}", "only", audit_rows_names[rows], "ids", ids);
}

/* Effects as 'stats' says them with --only alone. */
static void set_figures(const struct dataset *dataset, enum audit_rows rows,
                        struct page_options *out)
{
    const struct summary_stats_options how = {.rows = rows, .seed = 1, .precision = 0.05};
    AUTO(summary_stats_fini) struct summary_stats figures = {0};
    summary_stats_make(dataset, &how, &figures);
    out->effects = summary_stats_effects_json(dataset, &figures);
    out->counted = counted_json(dataset, rows);
}

/* If the folder cannot be read, the page has none. */
static void read_figures(int dir, const struct report_options *how, struct page_options *out)
{
    struct err err = {0};
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO_FREE char *path = mem_printf("/proc/self/fd/%d", dir);
    if (!dataset_read(&dataset, path, NULL))
        return;
    audit_judge(&dataset);
    audit_join_names(&dataset);
    if (how->fills_summary && !summary_safe_fill(&dataset, dir, &err))
        cli_warning("consistency is missing in summary_safe.csv: %s", err.text);
    set_figures(&dataset, how->rows, out);
}

bool report_page_write(const json_t *run, const char *run_dir, const struct report_options *how,
                       struct err *err)
{
    AUTO_TEXT struct text page = {0};
    AUTO_FREE char *path = fs_resolve(NULL, run_dir, NULL), *name = fs_basename(path);
    AUTO_FREE char *way = way_to(run_dir, how->file);
    AUTO_CLOSE int dir = openat(how->dir ? *how->dir : AT_FDCWD, how->dir ? "." : run_dir,
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", run_dir);
    json_auto_t *machine = report_machine_read(dir);
    struct page_options options = {.language = how->language,
                                   .folder = name,
                                   .way = way,
                                   .dir = dir,
                                   .machine = machine,
                                   .life = how->life,
                                   .anonymous = how->anonymous};
    if (how->dataset)
        set_figures(how->dataset, how->rows, &options);
    else
        read_figures(dir, how, &options);
    page_write(run, &options, &page);
    json_decref(options.effects);
    json_decref(options.counted);
    return write_report_file(how, dir, run_dir, &page, err);
}

const char *report_page_language(void)
{
    static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    EACH_OF (name, names) {
        const char *value = getenv(*name);
        if (value && *value)
            return strncmp(value, "zh", 2) == 0 ? "zh" : "en";
    }
    return "en";
}
