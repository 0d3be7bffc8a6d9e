#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/caller.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "cli/registration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Far above what one look finds; a user's own process writes it. */
static const size_t ANSWER_MAX = 16 << 20;

typedef void work_fn(const void *context, int out);

bool clean_caller_known(uid_t *uid)
{
    const char *text = getenv("SUDO_UID");
    uint64_t number = 0;
    if (geteuid() != 0 || !text || !proc_number_parse(text, strlen(text), UINT32_MAX - 1, &number) || number == 0)
        return false;
    *uid = (uid_t)number;
    return true;
}

static _Noreturn void be_caller(work_fn *work, const void *context, int out)
{
    struct err err = {0};
    struct caller caller;
    if (!caller_become(false, &caller, &err) || !caller.became) {
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
        _exit(1);
    }
    work(context, out);
    _exit(0);
}

static void read_all(int fd, struct text *out)
{
    char buffer[4096];
    while (out->length < ANSWER_MAX) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        text_add_bytes(out, buffer, (size_t)got);
    }
}

/* Does the work in a child that has become the caller; what it wrote into answer. */
static void as_caller(work_fn *work, const void *context, struct text *answer)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        be_caller(work, context, ends[1]);
    close(ends[1]);
    if (pid > 0)
        read_all(ends[0], answer);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void write_claims(const void *context, int out)
{
    const struct census_roots *roots = context;
    struct err err = {0};
    struct leftovers leftovers;
    struct state *state = state_open_user(&err);
    if (!state || !leftovers_find(state, roots, &leftovers, &err)) {
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
        return;
    }
    for (size_t i = 0; i < leftovers.count; i++) {
        const struct leftover *leftover = &leftovers.items[i];
        AUTO_TEXT struct text line = {0};
        if (leftover->kind != LEFTOVER_OF_DEAD_RUN)
            continue;
        json_t *json = json_object();
        json_object_set_new(json, "pid", json_integer(leftover->process->stat.pid));
        json_object_set_new(json, "start_time", json_integer((json_int_t)leftover->process->stat.start_time));
        json_object_set_new(json, "exec", json_boolean(leftover->run == STATE_EXEC));
        json_object_set_new(json, "run_dir", leftover->run_dir ? json_string(leftover->run_dir) : json_null());
        json_object_set_new(json, "age_s", json_real(leftover->run_age_s));
        json_print(json, &line);
        json_decref(json);
        text_add_char(&line, '\n');
        if (write(out, text_get(&line), line.length) != (ssize_t)line.length)
            break;
    }
    leftovers_fini(&leftovers);
    state_close(state);
}

static void take_claim(const json_t *json, uid_t uid, struct clean_view *view)
{
    json_int_t pid, start_time;
    struct leftover_claim claim = {.uid = uid, .run = STATE_RUN, .run_dir = json_get_text(json, "run_dir")};
    if (!json_get_int(json, "pid", &pid) || pid < 1 || pid > INT_MAX ||
        !json_get_int(json, "start_time", &start_time) || start_time < 0 ||
        !json_get_number(json, "age_s", &claim.run_age_s))
        return;
    claim.pid = (pid_t)pid;
    claim.start_time = (uint64_t)start_time;
    if (json_is_true(json_object_get(json, "exec")))
        claim.run = STATE_EXEC;
    leftovers_claim(&view->leftovers, &claim, view->has_memory ? &view->memory : NULL);
}

void clean_caller_claims(const struct clean *clean, struct clean_view *view)
{
    AUTO_TEXT struct text answer = {0};
    uid_t uid;
    if (!clean_caller_known(&uid))
        return;
    as_caller(write_claims, &clean->roots, &answer);
    const char *at = text_get(&answer), *newline;
    for (; (newline = strchr(at, '\n')); at = newline + 1) {
        json_t *json = json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, NULL);
        if (json)
            take_claim(json, uid, view);
        json_decref(json);
    }
}

static void recover(const void *context, int out)
{
    struct err err = {0};
    (void)out;
    struct state *state = state_open_user(&err);
    if (!state || !state_recover(state, *(const double *)context, registration_say, NULL, &err))
        cli_warning("what the caller's dead runs left is found by its tag only: %s", err.text);
    state_close(state);
}

void clean_caller_recover(double timeout_s)
{
    AUTO_TEXT struct text answer = {0};
    uid_t uid;
    if (clean_caller_known(&uid))
        as_caller(recover, &timeout_s, &answer);
}
