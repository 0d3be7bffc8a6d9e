#include "session/notify.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/query.h"
#include "base/utf8.h"
#include "measure/guard/evidence.h"
#include "session/command.h"
#include "session/message.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONFIG_MAX = 1 << 20, ANSWER_MAX = 2000, TEST_TRIES = 1 };
static const double WAIT_S = 60; /* where nobody says */

#define RECORD "notify.jsonl"

/* One message on its way to one target. */
struct delivery {
    const struct notify_target *target;
    enum notify_event event;
    int64_t sent_ns; /* since 1970 */
    pid_t pid;
    int answer; /* what the process says */
    struct text said;
    bool ended;
};

struct notifier {
    struct notify_settings settings;
    double wait_s, waited_s;
    int dir;   /* of the run, borrowed; -1: a test */
    char *run; /* absolute */
    unsigned told;
    char *outcome;  /* of the session */
    json_t *causes; /* of the last attempt that failed, by experiment */
    json_t *ids;    /* of experiments */
    struct delivery *deliveries;
    size_t count, room;
};

static char *config_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/')
        return mem_printf("%s/" TARE_NAME "/config.json", config);
    return home && *home == '/' ? mem_printf("%s/.config/" TARE_NAME "/config.json", home) : NULL;
}

/* It names programs that are started: nobody else may have written it. */
static bool read_config(struct notify_settings *out, struct err *err)
{
    AUTO_FREE char *path = config_path();
    AUTO_TEXT struct text text = {0};
    struct stat status;
    if (!path || access(path, F_OK) != 0)
        return true;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_sys(err, "open %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & 022))
        return err_set(
            err, "%s: it names programs to start, so it must be your own and not writable by others: chmod go-w %s",
            path, path);
    AUTO_FREE char *own = mem_printf("/proc/self/fd/%d", fd);
    if (!S_ISREG(status.st_mode) || !fs_read_kernel(AT_FDCWD, own, CONFIG_MAX, &text, err))
        return err_set(err, "%s: it is not a regular file of at most %d bytes", path, CONFIG_MAX);
    AUTO_FREE char *of = mem_printf(" of %s", path);
    return notify_parse(path, text_get(&text), text.length, false, of, out, err);
}

bool notifier_new(const char *settings_text, struct notifier **out, struct err *err)
{
    struct notify_settings all = {.wait_s = -1};
    *out = NULL;
    bool ok =
        !settings_text || notify_parse("settings.json", settings_text, strlen(settings_text), true, "", &all, err);
    double wait_s = all.wait_s; /* of the settings, over the configuration's */
    ok = ok && read_config(&all, err);
    if (!ok || all.count == 0) {
        notify_settings_fini(&all);
        return ok;
    }
    struct notifier *notifier = mem_alloc(sizeof *notifier);
    notifier->settings = all;
    notifier->wait_s = wait_s >= 0 ? wait_s : all.wait_s >= 0 ? all.wait_s : WAIT_S;
    notifier->dir = -1;
    notifier->causes = json_object();
    notifier->ids = json_object();
    *out = notifier;
    return true;
}

void notifier_begin(struct notifier *notifier, int dir, const char *dir_path)
{
    if (!notifier)
        return;
    notifier->dir = dir;
    notifier->run = realpath(dir_path, NULL);
    notifier->run = notifier->run ? notifier->run : mem_strdup(dir_path);
}

/* What the process needs to know; it reads the run itself for a trace. */
static void write_input(const struct notifier *notifier, const struct delivery *delivery, const json_t *message,
                        struct text *out)
{
    bool trace = delivery->target->type == NOTIFY_OTLP;
    json_auto_t *input =
        json_pack("{s:o*, s:o, s:O, s:o*}", "run", trace ? json_text_or_null(notifier->run) : NULL, "settings",
                  json_pack(trace ? "{s:O}" : "{s:[O]}", trace ? "otlp" : "notify", delivery->target->json), "message",
                  message, "tries", delivery->event == NOTIFY_TEST ? json_integer(TEST_TRIES) : NULL);
    json_print(input, out);
}

static bool start(const struct notifier *notifier, struct delivery *delivery, const json_t *message, struct err *err)
{
    static const char *const argv[] = {TARE_NAME, "notify", "--send", NULL};
    int ends[2];
    AUTO_TEXT struct text input = {0};
    write_input(notifier, delivery, message, &input);
    AUTO_CLOSE int fd = query_input(&input, err);
    if (fd < 0 || (pipe2(ends, O_CLOEXEC) != 0 && !err_sys(err, "prepare the message")))
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    /* A group of its own: a Ctrl-C is for the runner. */
    int code = query_spawn("/proc/self/exe", (char *const *)(void *)argv, environ, fd, ends[1], -1, &delivery->pid);
    close(ends[1]);
    delivery->answer = ends[0];
    errno = code;
    return code == 0 || err_sys(err, "start the process that delivers");
}

static void send_all(struct notifier *notifier, enum notify_event event, const json_t *message)
{
    for (size_t i = 0; i < notifier->settings.count; i++) {
        const struct notify_target *target = &notifier->settings.targets[i];
        struct err err = {0};
        /* A trace is of a whole run. */
        if (event == NOTIFY_TEST ? target->type == NOTIFY_OTLP : !(target->on & 1U << event))
            continue;
        notifier->deliveries =
            mem_room(notifier->deliveries, notifier->count, &notifier->room, sizeof *notifier->deliveries);
        struct delivery *delivery = &notifier->deliveries[notifier->count++];
        *delivery = (struct delivery){.target = target, .event = event, .sent_ns = clock_realtime_ns(), .answer = -1};
        if (start(notifier, delivery, message, &err))
            continue;
        delivery->ended = true;
        text_addf(&delivery->said, "0 %s", err.text);
    }
}

static const char *by_number(const json_t *object, int64_t number)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    return json_get_text(object, key);
}

static void keep(json_t *object, int64_t number, const char *text)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    if (text)
        json_object_set_new(object, key, json_string(text));
}

static void tell(struct notifier *notifier, enum notify_event event, int64_t number, const char *what,
                 const char *cause, const char *todo)
{
    AUTO_TEXT struct text text = {0};
    const char *id = by_number(notifier->ids, number), *name = strrchr(notifier->run, '/');
    /* Once a session. */
    bool first = !(notifier->told & 1U << event);
    notifier->told |= 1U << event;
    if (!first)
        return;
    id = id ? id : "an experiment";
    AUTO_FREE char *title = mem_printf(TARE_NAME ": %s: %s %s", name ? name + 1 : notifier->run, id, what);
    text_addf(&text, "%s %s%s%s\n", id, what, cause ? ": " : "", cause ? cause : "");
    if (todo)
        text_addf(&text, "what to do: %s\n", todo);
    text_addf(&text, "the run goes on; results: %s\n", notifier->run);
    json_auto_t *message = notify_message(notify_events[event], notifier->run, title, text_get(&text));
    json_object_set_new(message, "experiment", json_text_or_null(id));
    json_object_set_new(message, "cause", json_text_or_null(cause));
    send_all(notifier, event, message);
}

static void tell_evidence(struct notifier *notifier, const struct event *event)
{
    const char *kind = json_get_text(event->data, "kind"), *text = json_get_text(event->data, "text");
    const struct evidence_kind *known = kind ? evidence_find(kind) : NULL;
    if (!known)
        return;
    if (strcmp(kind, "memory_growth") == 0)
        tell(notifier, NOTIFY_OOM_PREDICTED, event->experiment, "is predicted to run out of GPU memory", text,
             known->remedy);
    else if (known->weight == EVIDENCE_CONTAMINATED)
        tell(notifier, NOTIFY_CONTAMINATED, event->experiment, "is contaminated", text ? text : known->meaning,
             known->remedy);
}

static void tell_failure(struct notifier *notifier, const struct event *event)
{
    const char *cause = by_number(notifier->causes, event->experiment), *error = json_get_text(event->data, "error");
    AUTO_FREE char *both = cause && error ? mem_printf("%s: %s", cause, error) : NULL;
    tell(notifier, NOTIFY_FIRST_FAILURE, event->experiment, "failed",
         both    ? both
         : error ? error
                 : cause,
         "look at the end of its log; the others are tried all the same");
}

void notifier_event(struct notifier *notifier, const struct event *event)
{
    if (!notifier)
        return;
    const json_t *data = event->data;
    const char *reason = json_get_text(data, "reason"), *outcome = json_get_text(data, "outcome");
    if (event->type == EVENT_EXPERIMENT_STARTED) {
        keep(notifier->ids, event->experiment, json_get_text(data, "id"));
    } else if (event->type == EVENT_EVIDENCE) {
        tell_evidence(notifier, event);
    } else if (event->type == EVENT_ATTEMPT_STOPPING && reason && strcmp(reason, "hung") == 0) {
        tell(notifier, NOTIFY_STUCK, event->experiment, "hung and is being ended",
             "it printed no line and used neither GPU nor CPU for as long as hang_after says",
             "look at its stack, which is kept in its folder");
    } else if (event->type == EVENT_ATTEMPT_ENDED) {
        keep(notifier->causes, event->experiment, json_get_text(json_get(data, "failure"), "cause"));
    } else if (event->type == EVENT_EXPERIMENT_ENDED && outcome && strcmp(outcome, "failed") == 0) {
        tell_failure(notifier, event);
    } else if (event->type == EVENT_SESSION_ENDED) {
        free(notifier->outcome);
        notifier->outcome = mem_strdup(outcome);
    }
}

void notifier_end(struct notifier *notifier, const struct results *results, const char *error)
{
    if (!notifier)
        return;
    json_t *message =
        notify_message_end(notifier->run, notifier->outcome ? notifier->outcome : "broke off", results, error);
    send_all(notifier, NOTIFY_END, message);
    json_decref(message);
}

/* Takes what it said; true: it has ended. */
static bool take_answer(struct delivery *delivery)
{
    char bytes[ANSWER_MAX];
    ssize_t count;
    while ((count = read(delivery->answer, bytes, sizeof bytes)) > 0)
        if (delivery->said.length < ANSWER_MAX)
            text_add_bytes(&delivery->said, bytes, (size_t)count);
    return count == 0;
}

static void reap(struct delivery *delivery)
{
    while (waitpid(delivery->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    delivery->ended = true;
}

/* signals: ends the wait where it can be read; -1: none does. Gives how many are under way. */
static size_t wait_once(struct notifier *notifier, int64_t left_ns, int signals, bool *ended)
{
    AUTO_FREE struct pollfd *polled = mem_array(notifier->count + 1, sizeof *polled);
    size_t open = 0;
    polled[0] = (struct pollfd){.fd = signals, .events = POLLIN};
    for (size_t i = 0; i < notifier->count; i++) {
        struct delivery *delivery = &notifier->deliveries[i];
        if (!delivery->ended && take_answer(delivery))
            reap(delivery);
        if (!delivery->ended)
            polled[++open] = (struct pollfd){.fd = delivery->answer, .events = POLLIN};
    }
    if (open > 0 && left_ns > 0 &&
        poll(polled, open + 1, left_ns > NS_PER_S ? 1000 : (int)(left_ns / NS_PER_MS) + 1) > 0)
        *ended = polled[0].revents != 0;
    return open;
}

/* TERM first: the process ends what it started. */
static void end_rest(struct notifier *notifier)
{
    int64_t deadline = clock_monotonic_ns() + 2 * NS_PER_S, left;
    for (size_t i = 0; i < notifier->count; i++)
        if (!notifier->deliveries[i].ended)
            kill(notifier->deliveries[i].pid, SIGTERM); /* not reaped */
    bool ended;
    while ((left = deadline - clock_monotonic_ns()) > 0 && wait_once(notifier, left, -1, &ended) > 0)
        continue;
    for (size_t i = 0; i < notifier->count; i++)
        if (!notifier->deliveries[i].ended) {
            kill(-notifier->deliveries[i].pid, SIGKILL); /* not reaped */
            reap(&notifier->deliveries[i]);
        }
}

/* A person who is tired of waiting has nothing else to end: the run is over. */
static void wait_for_all(struct notifier *notifier, double wait_s)
{
    int64_t start = clock_monotonic_ns(), waited = 0, most = (int64_t)(wait_s * (double)NS_PER_S);
    bool ended = false, said = false;
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    AUTO_CLOSE int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    while (wait_once(notifier, most - waited, signals, &ended) > 0 && !ended && waited < most) {
        waited = clock_monotonic_ns() - start;
        if (!said && waited > 2 * NS_PER_S && (said = true))
            cli_note("waiting for messages to be delivered, at most %g s (notify_wait); Ctrl-C ends the wait", wait_s);
    }
    notifier->waited_s = (double)(clock_monotonic_ns() - start) / (double)NS_PER_S;
    end_rest(notifier);
    struct signalfd_siginfo taken;
    while (signals >= 0 && read(signals, &taken, sizeof taken) == (ssize_t)sizeof taken)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* "2 why not": tries, and nothing behind them where it was delivered. */
static bool read_answer(const struct delivery *delivery, double waited_s, long *tries, char **why)
{
    char *end;
    *tries = strtol(text_get(&delivery->said), &end, 10);
    bool said = *end == ' ' && delivery->said.length > 0;
    *why = !said    ? mem_printf("not delivered within %.3g s of the run's end (notify_wait); given up", waited_s)
           : end[1] ? utf8_line(end + 1)
                    : NULL;
    return !*why;
}

static json_t *record_of(const struct delivery *delivery, bool delivered, long tries, const char *why)
{
    char sent[40];
    clock_format_iso_offset(delivery->sent_ns, clock_local_offset_s(delivery->sent_ns), sent);
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "time", sent, "event", notify_events[delivery->event], "target",
                     delivery->target->name, "delivered", delivered, "tries",
                     tries > 0 ? json_integer(tries) : json_null(), "error", json_text_or_null(why));
}

/* By who holds the run's lock: one who resumes it meanwhile has it, and this is not worth a wait. */
static void write_record(const struct notifier *notifier, const struct text *lines)
{
    struct err err = {0};
    AUTO_CLOSE int lock = lock_take(notifier->dir, notifier->run, &err);
    AUTO_TEXT struct text all = {0};
    if (lock < 0 || lines->length == 0)
        return;
    if (!fs_read_at(notifier->dir, RECORD, CONFIG_MAX, &all, &err))
        text_clear(&all);
    text_add(&all, text_get(lines));
    if (!fs_write_atomic(notifier->dir, RECORD, text_get(&all), all.length, &err))
        cli_warning("%s: %s", RECORD, err.text);
}

void notifier_finish(struct notifier *notifier)
{
    AUTO_TEXT struct text lines = {0};
    if (!notifier)
        return;
    wait_for_all(notifier, notifier->wait_s);
    for (size_t i = 0; i < notifier->count; i++) {
        struct delivery *delivery = &notifier->deliveries[i];
        long tries;
        AUTO_FREE char *why = NULL;
        bool delivered = read_answer(delivery, notifier->waited_s, &tries, &why);
        json_auto_t *record = record_of(delivery, delivered, tries, why);
        json_print(record, &lines);
        text_add_char(&lines, '\n');
        if (!delivered && notifier->dir >= 0)
            cli_warning("%s was not told of %s: %s", delivery->target->name, notify_events[delivery->event], why);
        if (delivery->answer >= 0)
            close(delivery->answer);
        text_fini(&delivery->said);
    }
    if (notifier->dir >= 0)
        write_record(notifier, &lines);
    notify_settings_fini(&notifier->settings);
    json_decref(notifier->causes);
    json_decref(notifier->ids);
    free(notifier->deliveries);
    free(notifier->outcome);
    free(notifier->run);
    free(notifier);
}

size_t notifier_test(struct notifier *notifier)
{
    size_t failed = 0;
    json_auto_t *message = notify_message(notify_events[NOTIFY_TEST], NULL, TARE_NAME ": test",
                                          "This is a test of " TARE_NAME " notify: messages of runs come here.\n");
    send_all(notifier, NOTIFY_TEST, message);
    wait_for_all(notifier, notifier->wait_s);
    for (size_t i = 0; i < notifier->count; i++) {
        long tries;
        AUTO_FREE char *why = NULL;
        bool delivered = read_answer(&notifier->deliveries[i], notifier->waited_s, &tries, &why);
        message_printf("%s: %s%s\n", notifier->deliveries[i].target->name,
                       delivered ? "delivered" : "not delivered: ", why ? why : "");
        failed += !delivered;
    }
    return failed;
}

size_t notifier_check(const struct notifier *notifier)
{
    size_t wrong = 0;
    for (size_t i = 0; notifier && i < notifier->settings.count; i++) {
        struct err err = {0};
        AUTO(notify_secrets_fini) struct notify_secrets secrets = {0};
        if (notify_secrets_read(&notifier->settings.targets[i], &secrets, &err))
            continue;
        cli_warning("%s will not be told: %s", notifier->settings.targets[i].name, err.text);
        wrong++;
    }
    return wrong;
}
