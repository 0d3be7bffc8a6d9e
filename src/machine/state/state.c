#include "machine/state/state.h"
#include "machine/contain/job.h"
#include "machine/state/folder.h"
#include "machine/state/record.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NAME_TRIES = 100 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static char *proper_path(bool borrowed)
{
    const char *xdg = variable("XDG_STATE_HOME"), *home = variable("HOME");
    /* The XDG rules: a relative path is not heeded. */
    if (xdg && xdg[0] == '/' && !borrowed)
        return mem_printf("%s/" TARE_NAME, xdg);
    if (!home || borrowed) {
        const struct passwd *user = getpwuid(geteuid());
        home = user ? user->pw_dir : NULL;
    }
    return home && home[0] == '/' ? mem_printf("%s/.local/state/" TARE_NAME, home) : NULL;
}

/* Not $XDG_RUNTIME_DIR: it is removed when its user logs out, and runs go on. */
static char *fallback_path(bool borrowed)
{
    const char *temporary = variable("TMPDIR");
    if (!temporary || temporary[0] != '/' || borrowed)
        temporary = "/tmp";
    return mem_printf("%s/" TARE_NAME "-%u", temporary, (unsigned)geteuid());
}

bool state_paths(struct strv *out, struct err *err)
{
    const char *chosen = variable("TARE_STATE_DIR");
    bool borrowed = geteuid() == 0 && variable("SUDO_UID");
    if (chosen && chosen[0] != '/') {
        err_set(err, "TARE_STATE_DIR: '%s' is no absolute path", chosen);
        return false;
    }
    if (chosen) {
        strv_add(out, chosen);
        return true;
    }
    AUTO_FREE char *proper = proper_path(borrowed);
    if (proper)
        strv_add(out, proper);
    strv_add_owned(out, fallback_path(borrowed));
    return true;
}

/* Of two places that could not be used. */
static void join_two_errors(const struct err *first, const struct err *second, struct err *err)
{
    bool both = first->text[0] && second->text[0];
    err_set(err, "%s%s%s", first->text, both ? "; and " : "", second->text);
}

struct state *state_open_either(const char *path, const char *fallback, struct err *err)
{
    struct err first = {0}, second = {0};
    struct state *state = mem_alloc(sizeof *state);
    *state = (struct state){
        .places = {-1, -1}, .home = -1, .file = -1, .fallback = mem_strdup(fallback)};
    if (path)
        state->places[0] = folder_open(path, &first);
    if (fallback)
        state->places[1] = folder_open_shared(fallback, state->places[0] < 0, &second);
    if (state->places[0] >= 0 || state->places[1] >= 0)
        return state;
    join_two_errors(&first, &second, err);
    state_close(state);
    return NULL;
}

struct state *state_open_user(struct err *err)
{
    AUTO_STRV struct strv paths = {0};
    if (!state_paths(&paths, err))
        return NULL;
    bool chosen = variable("TARE_STATE_DIR") != NULL;
    const char *last = paths.items[paths.count - 1];
    return state_open_either(chosen || paths.count > 1 ? paths.items[0] : NULL,
                             chosen ? NULL : last, err);
}

void state_hide(struct containment *containment)
{
    AUTO_STRV struct strv paths = {0};
    if (!state_paths(&paths, NULL))
        return;
    AUTO_CLOSE int second = paths.count > 1 ? folder_open_shared(paths.items[1], true, NULL) : -1;
    for (size_t i = 0; i < paths.count; i++)
        if (i == 0 || second >= 0)
            strv_add_owned(&containment->hidden, mem_printf("%s/runs", paths.items[i]));
}

struct state *state_open(const char *path, struct err *err)
{
    return state_open_either(path, NULL, err);
}

void state_close(struct state *state)
{
    if (!state)
        return;
    cleanup_close(&state->file);
    EACH (place, state->places, STATE_PLACES)
        cleanup_close(place);
    free(state->fallback);
    free(state->name);
    free(state);
}

int state_folder(const struct state *state)
{
    return state->places[0] >= 0 ? state->places[0] : state->places[1];
}

/* A new file that we hold the lock of. Another process may have taken the lock between the two
 * calls: it thinks the empty file dead, and removes it. 0: try another name. */
static int make_file(struct state *state, const char *name, struct err *err)
{
    AUTO_CLOSE int fd = openat(state->home, name,
                               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
    struct stat status;
    if (fd < 0) {
        if (errno == EEXIST)
            return 0;
        err_sys(err, "make a file in the state folder");
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;
        unlinkat(state->home, name, 0);
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
        AUTO_FREE char *name =
            mem_printf("%s-%d-%014" PRIx64 ".jsonl", stamp, (int)getpid(), rng_fresh_seed());
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

/* Writes the line by one call, so that readers see all of it or nothing. Ends a torn line first. */
static bool append_state_line(struct state *state, const struct text *line, struct err *err)
{
    AUTO_TEXT struct text ended = {0};
    if (state->torn)
        text_add_char(&ended, '\n');
    text_add_bytes(&ended, line->data, line->length);
    ssize_t written = TEMP_FAILURE_RETRY(write(state->file, ended.data, ended.length));
    if (written < 0)
        return err_sys(err, "write to the state folder");
    state->torn = written != (ssize_t)ended.length;
    return !state->torn ||
           err_set(err, "write to the state folder: only a part of a line could be written");
}

static bool register_in(struct state *state, int home, const struct text *line, struct err *err)
{
    state->home = home;
    state->torn = false;
    if (!make_own_file(state, err))
        return false;
    if (append_state_line(state, line, err))
        return true;
    state_end(state);
    return false;
}

bool state_register(struct state *state, enum state_kind kind, const char *run_dir, struct err *err)
{
    AUTO(record_header_fini) struct record_header header = {0};
    AUTO_TEXT struct text line = {0};
    struct err first = {0}, second = {0};
    if (state->file >= 0)
        return err_set(err, "this process is registered already");
    if (!record_header_own(kind, run_dir, &header, err))
        return false;
    record_add_header(&line, &header);
    if (state->places[0] >= 0 && register_in(state, state->places[0], &line, &first))
        return true;
    /* A home that is full or read-only. */
    if (state->fallback && state->places[1] < 0)
        state->places[1] = folder_open_shared(state->fallback, true, &second);
    if (state->places[1] >= 0 && register_in(state, state->places[1], &line, &second))
        return true;
    join_two_errors(&first, &second, err);
    return false;
}

bool state_job_born(struct state *state, const struct job_identity *identity, struct err *err)
{
    AUTO_TEXT struct text line = {0};
    if (state->file < 0)
        return err_set(err, "this process is not registered");
    record_add_born(&line, identity);
    if (!append_state_line(state, &line, err))
        return false;
    state->living++;
    return true;
}

void state_job_gone(struct state *state, const struct job_identity *identity)
{
    AUTO_TEXT struct text line = {0};
    if (state->file < 0)
        return;
    record_add_gone(&line, identity);
    if (state->living > 0)
        state->living--;
    append_state_line(state, &line, NULL);
}

void state_end(struct state *state)
{
    if (state->file < 0)
        return;
    if (state->living == 0)
        unlinkat(state->home, state->name, 0);
    close(state->file);
    state->file = -1;
    free(steal_ptr(state->name));
}
