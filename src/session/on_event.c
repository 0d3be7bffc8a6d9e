#include "session/on_event.h"
#include "base/fs_path.h"
#include "base/json_print.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/query.h"
#include "base/utf8.h"
#include "machine/sensors/time_scale.h"
#include "measure/guard/evidence.h"
#include "plan/config/on_event.h"
#include "plan/event_facts.h"
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

enum { CONFIG_MAX = 1 << 20, ANSWER_MAX = 2000 };

/* Of one program, and of the wait for all of them at the end. */
static const double PROGRAM_S = 60, WAIT_S = 60;

struct message {
    enum on_event_kind kind;
    struct text json;
    char *failure; /* NULL: the program has not failed */
};

struct on_event {
    struct strv argv; /* the program's absolute path first */
    const struct strv *environment;
    double scale; /* of the two times above */
    char *run;    /* absolute; NULL: there is none */
    unsigned begun;
    char *outcome;  /* of the session */
    json_t *causes; /* of the last attempt that failed, by experiment */
    json_t *ids;    /* of experiments */
    struct message *messages;
    size_t count;
    size_t next; /* not ended yet: under way where pid is not 0 */
    pid_t pid;
    int answer; /* what the process prints: why the program failed */
    struct text said;
};

char *on_event_folder(const struct strv *environment)
{
    const char *config = strv_env_get(environment, "XDG_CONFIG_HOME");
    const char *home = strv_env_get(environment, "HOME");
    if (config && *config == '/')
        return mem_printf("%s/" TARE_NAME, config);
    return home && *home == '/' ? mem_printf("%s/.config/" TARE_NAME, home) : NULL;
}

/* It names a program to start, so it is refused where another user may have written it. */
static bool read_config(const struct strv *environment, struct strv *argv, struct err *err)
{
    AUTO_FREE char *folder = on_event_folder(environment);
    AUTO_FREE char *path = folder ? mem_printf("%s/config.json", folder) : NULL;
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    struct stat status;
    if (!path || access(path, F_OK) != 0)
        return true;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_sys(err, "open %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & 022))
        return err_set(
            err,
            "%s names a program to start, so it must be your own file and not writable by "
            "others: chmod go-w %s",
            path, path);
    AUTO_FREE char *own = mem_printf("/proc/self/fd/%d", fd);
    if (!S_ISREG(status.st_mode) || !fs_read_kernel(AT_FDCWD, own, CONFIG_MAX, &text, err))
        return err_set(err, "%s is not a regular file of at most %d bytes", path, CONFIG_MAX);
    return json_doc_parse(path, text_get(&text), text.length, &doc, err) &&
           on_event_read(&doc, ON_EVENT_CONFIGURATION, argv, err);
}

/* Replaces the program's name by its path. */
static bool find_event_program(const struct strv *environment, struct strv *argv, struct err *err)
{
    const char *name = argv->items[0], *home = strv_env_get(environment, "HOME");
    AUTO_FREE char *typed =
        strncmp(name, "~/", 2) == 0 ? fs_resolve(NULL, name, home) : mem_strdup(name);
    char *found = fs_find_executable(typed, NULL, strv_env_get(environment, "PATH"));
    if (!found) {
        AUTO_FREE char *shown = utf8_line(name);
        return err_set(err, "on_event: %s is not an executable program%s", shown,
                       strchr(name, '/') ? "" : " in any folder of PATH");
    }
    free(argv->items[0]);
    argv->items[0] = found;
    return true;
}

bool on_event_new(const struct json_doc *settings, const struct strv *environment,
                  struct on_event **out, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    double scale;
    *out = NULL;
    if (settings && !on_event_read(settings, ON_EVENT_SETTINGS, &argv, err))
        return false;
    if (argv.count == 0 && !read_config(environment, &argv, err))
        return false;
    if (argv.count == 0)
        return true;
    if (!find_event_program(environment, &argv, err) ||
        !time_scale_read(getenv(TIME_SCALE_VARIABLE), &scale, err))
        return false;
    struct on_event *on_event = mem_alloc(sizeof *on_event);
    on_event->argv = argv;
    argv = (struct strv){0};
    on_event->environment = environment;
    on_event->scale = scale;
    on_event->causes = json_object();
    on_event->ids = json_object();
    *out = on_event;
    return true;
}

void on_event_begin(struct on_event *on_event, const char *dir_path)
{
    if (!on_event)
        return;
    on_event->run = realpath(dir_path, NULL);
    on_event->run = on_event->run ? on_event->run : mem_strdup(dir_path);
}

/* ---- One program after the other. */

static bool start_event_program(struct on_event *on_event, const struct message *message,
                                struct err *err)
{
    int ends[2];
    char seconds[32];
    AUTO_STRV struct strv argv = {0};
    AUTO_CLOSE int input = query_input(&message->json, err);
    if (input < 0 || (pipe2(ends, O_CLOEXEC) != 0 && !err_sys(err, "make a pipe")))
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    snprintf(seconds, sizeof seconds, "--seconds=%g", PROGRAM_S * on_event->scale);
    strv_add(&argv, TARE_NAME);
    strv_add(&argv, "on-event");
    strv_add(&argv, seconds);
    strv_add(&argv, "--");
    strv_add_all(&argv, &on_event->argv);
    /* In a process group of its own: Ctrl-C is for the runner. */
    int code = query_spawn("/proc/self/exe", argv.items, on_event->environment->items, input,
                           ends[1], -1, &on_event->pid);
    close(ends[1]);
    on_event->answer = ends[0];
    text_clear(&on_event->said);
    if (code == 0)
        return true;
    close(on_event->answer);
    on_event->pid = 0;
    errno = code;
    return err_sys(err, "start a process");
}

/* True: the process has ended. */
static bool read_program_answer(struct on_event *on_event)
{
    char bytes[ANSWER_MAX];
    ssize_t count;
    while ((count = read(on_event->answer, bytes, sizeof bytes)) > 0)
        if (on_event->said.length < ANSWER_MAX)
            text_add_bytes(&on_event->said, bytes, (size_t)count);
    return count == 0;
}

static void reap_event_program(struct on_event *on_event)
{
    int status = 0;
    struct message *message = &on_event->messages[on_event->next++];
    while (waitpid(on_event->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(on_event->answer);
    on_event->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    message->failure = on_event->said.length ? utf8_line(text_get(&on_event->said))
                                             : mem_strdup("the process that contains it was ended");
}

bool on_event_tick(struct on_event *on_event)
{
    if (on_event && on_event->pid != 0 && read_program_answer(on_event))
        reap_event_program(on_event);
    while (on_event && on_event->pid == 0 && on_event->next < on_event->count) {
        struct message *message = &on_event->messages[on_event->next];
        struct err err = {0};
        if (start_event_program(on_event, message, &err))
            break;
        message->failure = mem_strdup(err.text);
        on_event->next++;
    }
    return on_event && on_event->next < on_event->count;
}

static void send_json(struct on_event *on_event, enum on_event_kind kind, const json_t *json)
{
    struct message message = {.kind = kind};
    json_print_pretty(json, &message.json);
    MEM_ADD(on_event->messages, on_event->count) = message;
    on_event_tick(on_event);
}

/* ---- Events. */

static const char *find_text_by_number(const json_t *object, int64_t number)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    return json_get_text(object, key);
}

static void set_by_number(json_t *object, int64_t number, const char *text)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    if (text)
        json_object_set_new(object, key, json_string(text));
}

static void send_event(struct on_event *on_event, enum on_event_kind kind, int64_t number,
                       const char *what, const char *cause, const char *todo)
{
    AUTO_TEXT struct text text = {0};
    const char *id = find_text_by_number(on_event->ids, number),
               *name = strrchr(on_event->run, '/');
    /* Once a session. */
    bool first = !(on_event->begun & 1U << kind);
    on_event->begun |= 1U << kind;
    if (!first)
        return;
    id = id ? id : "an experiment";
    AUTO_FREE char *title =
        mem_printf(TARE_NAME ": %s: %s %s", name ? name + 1 : on_event->run, id, what);
    text_addf(&text, "%s %s%s%s\n", id, what, cause ? ": " : "", cause ? cause : "");
    if (todo)
        text_addf(&text, "what to do: %s\n", todo);
    text_addf(&text, "the run goes on; results: %s\n", on_event->run);
    json_auto_t *message =
        on_event_json(on_event_name(kind), on_event->run, title, text_get(&text));
    json_set_text(message, "experiment", id);
    json_set_text(message, "cause", cause);
    send_json(on_event, kind, message);
}

static void send_evidence(struct on_event *on_event, const struct event_facts *facts)
{
    const char *kind = facts->kind, *text = facts->text;
    const struct evidence_kind *known = kind ? evidence_find(kind) : NULL;
    if (!known)
        return;
    if (strcmp(kind, "memory_growth") == 0)
        send_event(on_event, ON_EVENT_OOM_PREDICTED, facts->event->experiment,
                   "is predicted to run out of GPU memory", text, known->remedy);
    else if (known->weight == EVIDENCE_CONTAMINATED)
        send_event(on_event, ON_EVENT_CONTAMINATED, facts->event->experiment, "is contaminated",
                   text ? text : known->meaning, known->remedy);
}

static void send_failure(struct on_event *on_event, const struct event_facts *facts)
{
    const char *cause = find_text_by_number(on_event->causes, facts->event->experiment),
               *error = facts->error;
    AUTO_FREE char *both = cause && error ? mem_printf("%s: %s", cause, error) : NULL;
    send_event(on_event, ON_EVENT_FIRST_FAILURE, facts->event->experiment, "failed",
               both    ? both
               : error ? error
                       : cause,
               "look at the end of its log; the others are tried all the same");
}

void on_event_take(struct on_event *on_event, const struct event *event)
{
    if (!on_event)
        return;
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(event, &facts);
    const char *reason = facts.reason, *outcome = facts.outcome;
    if (event->type == EVENT_EXPERIMENT_STARTED) {
        set_by_number(on_event->ids, event->experiment, facts.id);
    } else if (event->type == EVENT_EVIDENCE) {
        send_evidence(on_event, &facts);
    } else if (event->type == EVENT_ATTEMPT_STOPPING && reason && strcmp(reason, "hung") == 0) {
        send_event(on_event, ON_EVENT_STUCK, event->experiment, "hung and is being ended",
                   "it printed no line and used neither GPU nor CPU for as long as hang_after says",
                   "look at its stack, which is kept in its folder");
    } else if (event->type == EVENT_ATTEMPT_ENDED) {
        set_by_number(on_event->causes, event->experiment, facts.cause);
    } else if (event->type == EVENT_EXPERIMENT_ENDED && outcome && strcmp(outcome, "failed") == 0) {
        send_failure(on_event, &facts);
    } else if (event->type == EVENT_SESSION_ENDED) {
        free(on_event->outcome);
        on_event->outcome = mem_strdup(outcome);
    }
}

void on_event_end(struct on_event *on_event, const struct results *results, const char *error)
{
    if (!on_event)
        return;
    json_t *message = on_event_end_json(
        on_event->run, on_event->outcome ? on_event->outcome : "broke off", results, error);
    send_json(on_event, ON_EVENT_END, message);
    json_decref(message);
}

/* ---- The end. */

/* signals: readable when the wait is to end; -1: nothing ends it. */
static void wait_once(const struct on_event *on_event, int64_t left_ns, int signals, bool *ended)
{
    struct pollfd polled[] = {{.fd = on_event->answer, .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
    if (poll(polled, 2, left_ns > NS_PER_S ? 1000 : (int)(left_ns / NS_PER_MS) + 1) > 0)
        *ended = polled[1].revents != 0;
}

/* TERM first: the process then ends the program and all that it started. */
static void end_program(struct on_event *on_event)
{
    int64_t deadline = clock_monotonic_ns() + 2 * NS_PER_S, left;
    bool ended;
    if (on_event->pid == 0)
        return;
    kill(on_event->pid, SIGTERM); /* not reaped */
    while (!read_program_answer(on_event) && (left = deadline - clock_monotonic_ns()) > 0)
        wait_once(on_event, left, -1, &ended);
    kill(-on_event->pid, SIGKILL); /* not reaped */
    reap_event_program(on_event);
}

/* Ctrl-C ends the wait: the run itself is over. */
static void wait_for_all(struct on_event *on_event)
{
    double wait_s = WAIT_S * on_event->scale;
    int64_t start = clock_monotonic_ns(), waited = 0, most = (int64_t)(wait_s * (double)NS_PER_S);
    bool ended = false, said = false;
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &before);
    AUTO_CLOSE int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    while (on_event_tick(on_event) && !ended && waited < most) {
        wait_once(on_event, most - waited, signals, &ended);
        waited = clock_monotonic_ns() - start;
        if (!said && waited > 2 * NS_PER_S && (said = true))
            cli_note("waiting for the program of on_event, at most %g s; Ctrl-C ends the wait",
                     wait_s);
    }
    end_program(on_event);
    for (; on_event->next < on_event->count; on_event->next++)
        on_event->messages[on_event->next].failure =
            mem_strdup("not started: the programs of earlier events took too long");
    struct signalfd_siginfo taken;
    while (signals >= 0 && read(signals, &taken, sizeof taken) == (ssize_t)sizeof taken)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void on_event_finish(struct on_event *on_event)
{
    if (!on_event)
        return;
    wait_for_all(on_event);
    EACH (message, on_event->messages, on_event->count) {
        if (message->failure && message->kind != ON_EVENT_TEST)
            cli_warning("on_event: %s failed for the event %s: %s", on_event->argv.items[0],
                        on_event_name(message->kind), message->failure);
        text_fini(&message->json);
        free(message->failure);
    }
    strv_fini(&on_event->argv);
    json_decref(on_event->causes);
    json_decref(on_event->ids);
    text_fini(&on_event->said);
    free(on_event->messages);
    free(on_event->outcome);
    free(on_event->run);
    free(on_event);
}

bool on_event_test(struct on_event *on_event)
{
    json_auto_t *json =
        on_event_json(on_event_name(ON_EVENT_TEST), NULL, TARE_NAME ": test",
                      "This is a test event. A run sends its events in the same way.\n");
    send_json(on_event, ON_EVENT_TEST, json);
    wait_for_all(on_event);
    const char *failure = on_event->messages[0].failure;
    message_printf("%s: %s\n", on_event->argv.items[0],
                   failure ? failure : "ended with exit status 0");
    return !failure;
}
