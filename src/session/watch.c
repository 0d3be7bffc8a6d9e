/* The loop of tare watch: the run is read, the grid drawn and shown, keys are taken, its runner is
 * asked. */
#include "session/watch.h"
#include "base/json_print.h"
#include "report/watch/keys.h"
#include "report/watch/log_tail.h"
#include "results/store/lock.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "report/live/width.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Which runs are watched. */

enum { RUNS_MAX = 1000 };

/* What a run has from its beginning on. */
static bool is_run(int dir)
{
    struct stat st;
    return fstatat(dir, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int later_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* The runs in a folder, by their names, which end with when they began. */
static void add_runs_in(const char *path, int dir, struct strv *out)
{
    AUTO_STRV struct strv found = {0};
    AUTO_DIR DIR *list = fs_list(dir, ".");
    for (struct dirent *entry; list && (entry = readdir(list));) {
        AUTO_CLOSE int folder =
            entry->d_name[0] == '.'
                ? -1
                : openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 && is_run(folder))
            strv_add(&found, entry->d_name);
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, later_first);
    for (size_t i = 0; i < found.count && out->count < RUNS_MAX; i++)
        strv_add_owned(out, mem_printf("%s/%s", path, found.items[i]));
}

static bool add_operand(const char *operand, struct strv *out, struct err *err)
{
    AUTO_FREE char *named = run_folder_named(operand, err);
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int dir = named ? run_folder_open(named, &path, err) : -1;
    size_t before = out->count;
    if (dir < 0)
        return false;
    if (is_run(dir))
        strv_add_once(out, path);
    else
        add_runs_in(path, dir, out);
    return out->count > before || err_set(err, "%s: no run, and there is none in it", path);
}

/* The folders of runs that the operands name, of a folder of runs the latest first; at most 1000.
 * False: there is none. */
static bool watch_runs_find(const struct strv *operands, struct strv *out, struct err *err)
{
    if (operands->count == 0)
        return add_operand(RUN_FOLDER_RESULTS, out, err);
    EACH (item, operands->items, operands->count)
        if (!add_operand(*item, out, err) && !strv_has(out, *item))
            return false;
    return true;
}

/* "under way", "not running", "not known": by its lock, without reading the run. */
static const char *watch_run_state(const char *dir)
{
    switch (lock_look(dir)) {
    case LOCK_HELD:
        return "under way";
    case LOCK_FREE:
        return "not running";
    default:
        return "not known";
    }
}

/* The first that may be under way, else the first. */
static size_t watch_runs_first(const struct strv *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (lock_look(runs->items[i]) == LOCK_HELD)
            return i;
    return 0;
}

/* So often in a row a terminal may say that there is input and have none before it counts as
 * gone. */
enum { EMPTY_READS = 3 };

/* So long it is told that a request was made. */
static const int64_t SAID_NS = 5 * NS_PER_S;

struct watcher {
    const struct watch_options *options;
    struct strv dirs;
    struct watch_item *items; /* of dirs, while the list is shown */
    size_t at;
    struct live_run run;
    int dir; /* of the run; -1: not open */
    struct err fault;
    bool is_faulty;
    struct watch_view view;
    struct watch_log log;
    struct grid grid;
    struct watch_screen *screen;
    int64_t said_ns; /* CLOCK_MONOTONIC: when the view's message was set */
    int64_t next_ns; /* CLOCK_MONOTONIC: when the run is read again */
    size_t empty_reads;
};

static void close_watched_run(struct watcher *watcher)
{
    live_run_close(&watcher->run);
    watch_log_fini(&watcher->log);
    if (watcher->dir >= 0)
        close(watcher->dir);
    watcher->dir = -1;
}

/* Keeps the open run if the other one cannot be opened. */
static bool open_watched_run(struct watcher *watcher, size_t at, struct err *err)
{
    struct live_run run;
    const char *path = watcher->dirs.items[at];
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", path);
    if (!live_run_open(path, &run, err)) {
        close(dir);
        return false;
    }
    close_watched_run(watcher);
    watcher->run = run;
    watcher->dir = dir;
    watcher->at = at;
    watcher->is_faulty = false;
    watch_view_begin(&watcher->view);
    return true;
}

static void watcher_fini(struct watcher *watcher)
{
    close_watched_run(watcher);
    grid_fini(&watcher->grid);
    strv_fini(&watcher->dirs);
    free(watcher->items);
}

static struct watch_scene scene_of(const struct watcher *watcher)
{
    return (struct watch_scene){
        .run = &watcher->run,
        .fault = watcher->is_faulty ? watcher->fault.text : NULL,
        .log = &watcher->log,
        .runs = watcher->items,
        .run_count = watcher->dirs.count,
        .run_at = watcher->at,
        .now_ns = clock_realtime_ns(),
        .plain = watcher->options->once,
    };
}

static void read_watched_log(struct watcher *watcher)
{
    watch_view_settle(&watcher->view, &watcher->run);
    const struct live_experiment *experiment = watch_chosen(&watcher->view, &watcher->run);
    if (experiment)
        watch_log_read(watcher->dir, experiment->plan->id, &watcher->log);
}

static void show_message(struct watcher *watcher, bool bad, const char *text)
{
    snprintf(watcher->view.said, sizeof watcher->view.said, "%s", text);
    watcher->view.said_bad = bad;
    watcher->said_ns = clock_monotonic_ns();
}

/* Includes runs that began meanwhile. */
static void refresh_run_list(struct watcher *watcher)
{
    AUTO_STRV struct strv dirs = {0};
    if (watch_runs_find(watcher->options->operands, &dirs, &(struct err){0}) &&
        strv_has(&dirs, watcher->dirs.items[watcher->at])) {
        for (size_t i = 0; i < dirs.count; i++)
            if (strcmp(dirs.items[i], watcher->run.dir) == 0)
                watcher->at = watcher->view.run = i;
        struct strv before = watcher->dirs;
        watcher->dirs = dirs;
        dirs = before;
    }
    free(watcher->items);
    watcher->items = mem_array(watcher->dirs.count, sizeof *watcher->items);
    for (size_t i = 0; i < watcher->dirs.count; i++)
        watcher->items[i] =
            (struct watch_item){watcher->dirs.items[i], watch_run_state(watcher->dirs.items[i])};
}

static void send_request(struct watcher *watcher)
{
    const struct watch_view *view = &watcher->view;
    struct err err = {0};
    if (!live_ask(&watcher->run, view->request, view->request_experiment, &err)) {
        show_message(watcher, true, err.text);
        return;
    }
    AUTO_FREE char *said = mem_printf("asked to %s: its runner takes it within about a second",
                                      live_request_name(view->request));
    show_message(watcher, false, said);
}

static void switch_run(struct watcher *watcher, size_t to)
{
    struct err err = {0};
    if (to != watcher->at && to < watcher->dirs.count && !open_watched_run(watcher, to, &err))
        show_message(watcher, true, err.text);
}

/* False: the user quits. */
static bool handle_key(struct watcher *watcher, int key)
{
    struct watch_scene scene = scene_of(watcher);
    size_t count = watcher->dirs.count;
    switch (watch_key(&watcher->view, &scene, key)) {
    case WATCH_QUIT:
        return false;
    case WATCH_ASK:
        send_request(watcher);
        break;
    case WATCH_PREVIOUS:
        switch_run(watcher, (watcher->at + count - 1) % count);
        break;
    case WATCH_NEXT:
        switch_run(watcher, (watcher->at + 1) % count);
        break;
    case WATCH_LIST:
        refresh_run_list(watcher);
        break;
    case WATCH_OPEN:
        switch_run(watcher, watcher->view.run);
        break;
    default:
        break;
    }
    return true;
}

static void draw_screen(struct watcher *watcher)
{
    size_t rows, columns;
    read_watched_log(watcher);
    struct watch_scene scene = scene_of(watcher);
    watch_screen_size(watcher->screen, &rows, &columns);
    grid_resize(&watcher->grid, rows, columns);
    watch_draw(&watcher->view, &scene, &watcher->grid);
    watch_screen_show(watcher->screen, &watcher->grid);
}

static void update_watched_run(struct watcher *watcher)
{
    watcher->is_faulty = !live_run_update(&watcher->run, NULL, &watcher->fault);
    if (!watcher->view.said_bad && clock_monotonic_ns() - watcher->said_ns > SAID_NS)
        watcher->view.said[0] = '\0';
    watcher->next_ns =
        clock_monotonic_ns() + (int64_t)(watcher->options->every_s * (double)NS_PER_S);
}

/* The signal that ends it, or 0. */
static int read_ending_signal(struct watcher *watcher, int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGWINCH)
            return (int)info.ssi_signo;
        watch_screen_fit(watcher->screen);
    }
    return 0;
}

/* Every key that waits. False: the user quits. */
static bool handle_waiting_keys(struct watcher *watcher)
{
    int key = watch_screen_key(watcher->screen);
    watcher->empty_reads = key < 0 ? watcher->empty_reads + 1 : 0;
    for (; key >= 0; key = watch_screen_key(watcher->screen))
        if (!handle_key(watcher, key))
            return false;
    return true;
}

/* Gives the signal that ended it; 0: the user did. */
static int loop(struct watcher *watcher, int signals)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    update_watched_run(watcher);
    for (;;) {
        draw_screen(watcher);
        int64_t left_ms = (watcher->next_ns - clock_monotonic_ns()) / NS_PER_MS + 1;
        fds[0].revents = fds[1].revents = 0;
        if (poll(fds, 2, left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR)
            return SIGHUP;
        int number = fds[1].revents ? read_ending_signal(watcher, signals) : 0;
        if (number)
            return number;
        if (fds[0].revents & POLLIN && !handle_waiting_keys(watcher))
            return 0;
        if (watcher->empty_reads >= EMPTY_READS || (fds[0].revents && !(fds[0].revents & POLLIN)))
            return SIGHUP;
        if (clock_monotonic_ns() >= watcher->next_ns)
            update_watched_run(watcher);
    }
}

static int run_screen(struct watcher *watcher)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    struct err err = {0};
    sigset_t set, before;
    sigemptyset(&set);
    EACH_OF (item, taken)
        sigaddset(&set, *item);
    sigprocmask(SIG_BLOCK, &set, &before);
    AUTO_CLOSE int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return cli_failed(CLI_BROKEN, (err_sys(&err, "signalfd"), &err));
    watcher->screen = watch_screen_new(message_colour(STDOUT_FILENO), &err);
    if (!watcher->screen)
        return cli_failed(CLI_BROKEN, &err);
    int number = loop(watcher, signals);
    watch_screen_free(watcher->screen);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return number ? 128 + number : CLI_OK;
}

static void print_text(struct watcher *watcher)
{
    AUTO_TEXT struct text text = {0};
    size_t columns = width_of_terminal(STDOUT_FILENO);
    read_watched_log(watcher);
    struct watch_scene scene = scene_of(watcher);
    grid_resize(&watcher->grid, watch_rows_needed(&scene, columns), columns);
    watch_draw(&watcher->view, &scene, &watcher->grid);
    grid_print(&watcher->grid, &text);
    message_print(&text);
}

static void print_run_json(const struct watcher *watcher)
{
    AUTO_TEXT struct text text = {0};
    json_auto_t *json = live_run_json(&watcher->run, 0);
    json_print(json, &text);
    text_add_char(&text, '\n');
    message_print_exact(&text);
}

/* Of a folder of runs that which may be under way, else the latest; of several operands each of
 * them. */
static int print_once(struct watcher *watcher)
{
    size_t only = watch_runs_first(&watcher->dirs);
    bool all = watcher->options->operands->count > 1, died = false;
    for (size_t i = 0; i < watcher->dirs.count; i++) {
        struct err err = {0};
        if (!all && i != only)
            continue;
        if (!open_watched_run(watcher, i, &err))
            return cli_failed(CLI_BROKEN, &err);
        if (watcher->options->json)
            print_run_json(watcher);
        else
            print_text(watcher);
        died = died || watcher->run.state == LIVE_DIED;
    }
    return died ? CLI_SOME_FAILED : CLI_OK;
}

int watch_show_runs(const struct watch_options *options)
{
    struct err err = {0};
    AUTO(watcher_fini)
    struct watcher watcher = {.options = options, .dir = -1, .grid = {.ascii = !width_is_utf8()}};
    if (!watch_runs_find(options->operands, &watcher.dirs, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (options->once)
        return print_once(&watcher);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        cli_error("watch draws on a terminal, and there is none: --once prints plain text, --once "
                  "--json for a program");
        return CLI_USAGE;
    }
    if (!open_watched_run(&watcher, watch_runs_first(&watcher.dirs), &err))
        return cli_failed(CLI_BROKEN, &err);
    return run_screen(&watcher);
}
