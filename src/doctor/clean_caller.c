#include "doctor/clean_caller.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/record.h"
#include "machine/contain/sys.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_resources.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Far above what one look finds; a user's own process writes it. */
static const size_t ANSWER_MAX = 16 << 20;
static const int64_t ANSWER_NS = 60 * NS_PER_S;

/* What the part of the command that is root asks of the one that is the caller, and what ends an
 * answer. */
enum { ASK_CLAIMS = 'c', ASK_RECOVER = 'r', ANSWER_END = '\0' };
static const double RECOVERY_S = 10;

struct clean_caller {
    uid_t uid;
    pid_t pid; /* 0: ended */
    int socket;
};

bool clean_caller_known(uid_t *uid)
{
    const char *text = getenv("SUDO_UID");
    uint64_t number = 0;
    if (geteuid() != 0 || !text ||
        !proc_number_parse(text, strlen(text), UINT32_MAX - 1, &number) || number == 0)
        return false;
    *uid = (uid_t)number;
    return true;
}

/* Takes json. */
static bool write_answer_line(json_t *json, int out)
{
    AUTO_TEXT struct text line = {0};
    json_print(json, &line);
    json_decref(json);
    text_add_char(&line, '\n');
    return write(out, text_get(&line), line.length) == (ssize_t)line.length;
}

static void write_claims(const struct census_roots *roots, int out)
{
    struct err err = {0};
    struct leftovers leftovers;
    struct state *state = state_open_user(&err);
    if (!state || !leftovers_find(state, roots, &leftovers, &err)) {
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
        return;
    }
    EACH (leftover, leftovers.items, leftovers.count) {
        if (leftover->kind == LEFTOVER_OF_DEAD_RUN &&
            !write_answer_line(json_pack("{s:i, s:I, s:b, s:o, s:o}", "pid",
                                         (int)leftover->process->stat.pid, "start_time",
                                         (json_int_t)leftover->process->stat.start_time, "exec",
                                         leftover->run == STATE_EXEC, "run_dir",
                                         json_text_or_null(leftover->run_dir), "age_s",
                                         json_finite(leftover->run_age_s)),
                               out))
            break;
    }
    leftovers_fini(&leftovers);
    state_close(state);
}

static void recover_callers_runs(void)
{
    struct err err = {0};
    struct state *state = state_open_user(&err);
    if (!state || !state_recover(state, RECOVERY_S, registration_say, NULL, &err))
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
    state_close(state);
}

/* Closes all of root's descriptors, standard error too: messages are a part of the answer. */
static bool keep_only_socket(int socket)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), high = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    return null >= 0 && high >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
           dup2(null, STDOUT_FILENO) >= 0 && chdir("/") == 0 && dup2(high, STDERR_FILENO) >= 0 &&
           dup3(high, STDERR_FILENO + 1, O_CLOEXEC) >= 0 &&
           sys_close_range(STDERR_FILENO + 2, UINT_MAX);
}

/* The caller's other processes can control this one as far as the kernel lets them, so it starts
 * before root has read or opened anything. */
static _Noreturn void serve_requests(const struct census_roots *roots, int socket)
{
    struct err err = {0};
    struct caller caller;
    char asked;
    if (!keep_only_socket(socket))
        _exit(1);
    socket = STDERR_FILENO + 1;
    if (!caller_become_shut(&caller, &err) || !caller.became) {
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
        _exit(1);
    }
    while (read(socket, &asked, 1) == 1) {
        if (asked == ASK_CLAIMS)
            write_claims(roots, socket);
        else
            recover_callers_runs();
        if (write(socket, &(char){ANSWER_END}, 1) != 1)
            break;
    }
    _exit(0);
}

struct clean_caller *clean_caller_start(const struct census_roots *roots)
{
    int ends[2];
    uid_t uid;
    if (!clean_caller_known(&uid))
        return NULL;
    struct clean_caller *caller = mem_alloc(sizeof *caller);
    *caller = (struct clean_caller){.uid = uid, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return caller;
    pid_t pid = fork();
    if (pid == 0)
        serve_requests(roots, ends[1]);
    close(ends[1]);
    caller->socket = ends[0];
    caller->pid = pid > 0 ? pid : 0;
    return caller;
}

/* SIGKILL: the user may have stopped it. */
static void end_clean_caller(struct clean_caller *caller)
{
    if (caller->pid) {
        kill(caller->pid, SIGKILL); /* not reaped */
        while (waitpid(caller->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    caller->pid = 0;
    cleanup_close(&caller->socket);
}

void clean_caller_end(struct clean_caller *caller)
{
    if (caller)
        end_clean_caller(caller);
    free(caller);
}

/* False: it has ended, or did not answer in time. */
static bool receive_answer(const struct clean_caller *caller, struct text *answer)
{
    int64_t deadline = clock_monotonic_ns() + ANSWER_NS;
    char buffer[4096];
    while (answer->length < ANSWER_MAX) {
        struct pollfd wait = {.fd = caller->socket, .events = POLLIN};
        int64_t left_ms = (deadline - clock_monotonic_ns()) / NS_PER_MS;
        if (left_ms <= 0)
            return false;
        if (poll(&wait, 1, (int)left_ms) <= 0)
            continue;
        ssize_t got = recv(caller->socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return false;
        size_t part = strnlen(buffer, (size_t)got);
        text_add_bytes(answer, buffer, part);
        if (part < (size_t)got)
            return true;
    }
    return false;
}

/* Appends what it found to found, one line each, and prints its messages. */
static void request_from_caller(struct clean_caller *caller, char what, struct text *found)
{
    AUTO_TEXT struct text answer = {0};
    AUTO_TEXT struct text said = {0};
    if (!caller || !caller->pid)
        return;
    bool heard =
        send(caller->socket, &what, 1, MSG_NOSIGNAL) == 1 && receive_answer(caller, &answer);
    const char *at = text_get(&answer), *newline;
    for (; (newline = strchr(at, '\n')); at = newline + 1)
        text_add_bytes(*at == '{' ? found : &said, at, (size_t)(newline + 1 - at));
    message_print_aside(&said);
    if (heard)
        return;
    if (said.length == 0)
        cli_warning("what the caller's dead runs left is found by its tag only: the process that "
                    "looks as user %u was "
                    "ended, or does not answer",
                    (unsigned)caller->uid);
    end_clean_caller(caller);
}

/* A run or an exec that the caller's process found. */
struct claim_line {
    const char *run_dir;
    int pid;
    size_t start_time;
    struct reading age_s;
    bool exec;
};

#define CLAIM(member, ...) RECORD(struct claim_line, member, __VA_ARGS__)
static const struct record_field claim_fields[] = {
    CLAIM(run_dir),
    CLAIM(pid, .presence = RECORD_NEEDED, .low = 1, .high = INT_MAX),
    CLAIM(start_time, .presence = RECORD_NEEDED),
    CLAIM(age_s, .presence = RECORD_NEEDED),
    CLAIM(exec),
    {0}};

static void parse_leftover_claim(const json_t *json, uid_t uid, struct clean_view *view)
{
    struct claim_line line = {0};
    struct err ignored;
    if (!record_read(claim_fields, json, &line, &ignored))
        return;
    const struct leftover_claim claim = {.uid = uid,
                                         .run = line.exec ? STATE_EXEC : STATE_RUN,
                                         .run_dir = line.run_dir,
                                         .pid = line.pid,
                                         .start_time = line.start_time,
                                         .run_age_s = line.age_s.value};
    leftovers_claim(&view->leftovers, &claim, view->has_memory ? &view->memory : NULL);
}

void clean_caller_claims(struct clean_caller *caller, struct clean_view *view)
{
    AUTO_TEXT struct text found = {0};
    request_from_caller(caller, ASK_CLAIMS, &found);
    const char *at = text_get(&found), *newline;
    for (; (newline = strchr(at, '\n')); at = newline + 1) {
        json_auto_t *json = json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, NULL);
        if (json)
            parse_leftover_claim(json, caller->uid, view);
    }
}

void clean_caller_recover(struct clean_caller *caller)
{
    AUTO_TEXT struct text found = {0};
    request_from_caller(caller, ASK_RECOVER, &found);
}
