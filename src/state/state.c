#include "state/state.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "state/folder.h"
#include "state/record.h"
#include "state/state_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_TRIES = 100 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

char *state_path(struct err *err)
{
    const char *chosen = variable("TARE_STATE_DIR"), *xdg = variable("XDG_STATE_HOME"), *home = variable("HOME");
    bool borrowed = geteuid() == 0 && variable("SUDO_UID");
    if (chosen && chosen[0] != '/') {
        err_set(err, "TARE_STATE_DIR: '%s' is no absolute path", chosen);
        return NULL;
    }
    if (chosen)
        return mem_strdup(chosen);
    /* The XDG rules: a relative path is not heeded. */
    if (xdg && xdg[0] == '/' && !borrowed)
        return mem_printf("%s/tare", xdg);
    if (!home || borrowed) {
        const struct passwd *user = getpwuid(geteuid());
        home = user ? user->pw_dir : NULL;
    }
    if (!home || home[0] != '/') {
        err_set(err, "user %u has no home", (unsigned)geteuid());
        return NULL;
    }
    return mem_printf("%s/.local/state/tare", home);
}

struct state *state_open(const char *path, struct err *err)
{
    int runs = folder_open(path, err);
    if (runs < 0)
        return NULL;
    struct state *state = mem_alloc(sizeof *state);
    *state = (struct state){.runs = runs, .file = -1};
    return state;
}

void state_close(struct state *state)
{
    if (!state)
        return;
    if (state->file >= 0)
        close(state->file);
    close(state->runs);
    free(state->name);
    free(state);
}

/* A new file that we hold the lock of. Another process may have taken the lock between the two calls: it thinks the empty file
 * dead, and removes it. 0: try another name. */
static int make_file(struct state *state, const char *name, struct err *err)
{
    AUTO_CLOSE int fd = openat(state->runs, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
    struct stat status;
    if (fd < 0) {
        if (errno == EEXIST)
            return 0;
        err_sys(err, "make a file in the state folder");
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;
        unlinkat(state->runs, name, 0);
        if (code == EWOULDBLOCK)
            return 0;
        errno = code;
        err_sys(err, "lock a file in the state folder");
        return -1;
    }
    if (fstat(fd, &status) != 0 || status.st_nlink == 0)
        return 0;
    state->file = steal_fd(&fd);
    return 1;
}

static bool make_own_file(struct state *state, struct err *err)
{
    char stamp[20];
    clock_format_stamp(clock_realtime_ns(), stamp);
    for (int i = 0; i < NAME_TRIES; i++) {
        AUTO_FREE char *name = mem_printf("%s-%d-%014" PRIx64 ".jsonl", stamp, (int)getpid(), rng_fresh_seed());
        int made = make_file(state, name, err);
        if (made < 0)
            return false;
        if (made > 0) {
            state->name = steal_ptr(name);
            return true;
        }
    }
    return err_set(err, "no file could be made in the state folder: others remove them");
}

/* One line, by one write: a reader sees it whole or not at all. A torn one is ended before the next. */
static bool append(struct state *state, const struct text *line, struct err *err)
{
    AUTO_TEXT struct text ended = {0};
    if (state->torn)
        text_add_char(&ended, '\n');
    text_add_bytes(&ended, line->data, line->length);
    ssize_t written;
    do
        written = write(state->file, ended.data, ended.length);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return err_sys(err, "write to the state folder");
    state->torn = written != (ssize_t)ended.length;
    return !state->torn || err_set(err, "write to the state folder: only a part of a line could be written");
}

bool state_register(struct state *state, enum state_kind kind, const char *run_dir, struct err *err)
{
    AUTO(record_header_fini) struct record_header header = {0};
    AUTO_TEXT struct text line = {0};
    if (state->file >= 0)
        return err_set(err, "this process is registered already");
    if (!record_header_own(kind, run_dir, &header, err) || !make_own_file(state, err))
        return false;
    record_add_header(&line, &header);
    if (append(state, &line, err))
        return true;
    state_end(state);
    return false;
}

bool state_job_born(struct state *state, const struct job_identity *identity, struct err *err)
{
    AUTO_TEXT struct text line = {0};
    if (state->file < 0)
        return err_set(err, "this process is not registered");
    record_add_born(&line, identity);
    if (!append(state, &line, err))
        return false;
    state->living++;
    return true;
}

bool state_job_gone(struct state *state, const struct job_identity *identity, struct err *err)
{
    AUTO_TEXT struct text line = {0};
    if (state->file < 0)
        return err_set(err, "this process is not registered");
    record_add_gone(&line, identity);
    if (state->living > 0)
        state->living--;
    return append(state, &line, err);
}

void state_end(struct state *state)
{
    if (state->file < 0)
        return;
    if (state->living == 0)
        unlinkat(state->runs, state->name, 0);
    close(state->file);
    state->file = -1;
    free(steal_ptr(state->name));
}
