/* Records the changed CPU governors and locks them, so that they are restored. */
#include "base/json_print.h"
#include "machine/contain/job.h"
#include "machine/governor/governor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The record, and the lock of whoever changes it. Whoever relies on what it says shares a lock on
 * the record itself. */
#define HELD "governor.json"
#define TURN "governor.lock"

static const size_t RECORD_MAX = 1 << 20;

/* Others set or give back meanwhile, which may take a second on a machine with hundreds of
 * processors. */
static const int64_t TURN_NS = 10 * NS_PER_S;
enum { TURN_PAUSE_MS = 10 };

/* Root trusts only files that no other user could have written. */
static bool check_record_owner(int fd, const char *name, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_sys(err, "stat %s in the state folder", name);
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) ||
        status.st_nlink > 1)
        return err_set(err, "%s in the state folder is not this user's own file", name);
    return true;
}

static int open_own(int folder, const char *name, int more, struct err *err)
{
    AUTO_CLOSE int fd =
        openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more, 0600);
    if (fd < 0) {
        err_sys(err, "open %s in the state folder", name);
        return -1;
    }
    return check_record_owner(fd, name, err) ? steal_fd(&fd) : -1;
}

static int lock_turn(int folder, struct err *err)
{
    int64_t until_ns = clock_monotonic_ns() + TURN_NS;
    AUTO_CLOSE int fd = open_own(folder, TURN, O_CREAT, err);
    while (fd >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return steal_fd(&fd);
        if (errno != EWOULDBLOCK && errno != EINTR) {
            err_sys(err, "lock " TURN " in the state folder");
            return -1;
        }
        if (clock_monotonic_ns() >= until_ns) {
            err_set(err, "another run has been setting the CPU frequency governor for 10 s");
            return -1;
        }
        poll(NULL, 0, TURN_PAUSE_MS);
    }
    return -1;
}

static bool relied_on(int file)
{
    return flock(file, LOCK_EX | LOCK_NB) != 0;
}

struct boot {
    const char *id;
};

static const struct record_field boot_fields[] = {RECORD_AS(struct boot, "boot_id", id), {0}};

/* What is written there of this boot: governors do not outlive a boot. False: nothing, or only a
 * part: then it was not set yet. */
static bool read_held_change(int file, struct governor_change *out)
{
    AUTO_TEXT struct text bytes = {0};
    struct boot boot = {0};
    char buffer[4096], boot_id[40];
    ssize_t got;
    while (bytes.length < RECORD_MAX &&
           (got = pread(file, buffer, sizeof buffer, (off_t)bytes.length)) > 0)
        text_add_bytes(&bytes, buffer, (size_t)got);
    json_t *json = json_loadb(text_get(&bytes), bytes.length, JSON_REJECT_DUPLICATES, NULL);
    record_get(boot_fields, json, &boot);
    bool ok = boot.id && boot_id_read(boot_id, NULL) && strcmp(boot.id, boot_id) == 0 &&
              governor_change_from_json(json, out);
    json_decref(json);
    return ok;
}

static bool clear_held_change(int file, struct err *err)
{
    return ftruncate(file, 0) == 0 || err_sys(err, "empty " HELD " in the state folder");
}

/* Only processes die: what a power failure takes from the file it takes from the governors as
 * well. */
static bool write_held_change(int file, const struct governor_change *change, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    char boot_id[40];
    if (!boot_id_read(boot_id, err) || !clear_held_change(file, err))
        return false;
    json_t *json = governor_change_to_json(change);
    record_set(json, boot_fields, &(struct boot){boot_id});
    json_print(json, &text);
    json_decref(json);
    text_add_char(&text, '\n');
    ssize_t written = pwrite(file, text_get(&text), text.length, 0);
    return written == (ssize_t)text.length ||
           err_sys(err, "write down what the CPU frequency governor was, in the state folder");
}

/* No live run uses it: restores what the record says. */
static bool restore_leftover(int file, const char *sysroot, struct governor_leftover *out,
                             struct err *err)
{
    if (!read_held_change(file, &out->change))
        return clear_held_change(file, err);
    return governor_restore(sysroot, &out->change, &out->restored, err) &&
           clear_held_change(file, err);
}

static bool set_first(int file, const char *sysroot, const char *wanted, struct err *err)
{
    struct governor_leftover leftover = {0};
    struct governor_change change = {0};
    bool ok = restore_leftover(file, sysroot, &leftover, err) &&
              governor_plan(sysroot, wanted, false, &change, err) &&
              write_held_change(file, &change, err);
    if (ok && !governor_apply(sysroot, &change, err)) {
        clear_held_change(file, NULL);
        ok = false;
    }
    governor_change_fini(&change);
    governor_leftover_fini(&leftover);
    return ok;
}

/* A live run has set a governor: succeeds if it is the same one. */
static bool join_held_governor(int file, const char *wanted, struct err *err)
{
    struct governor_change change = {0};
    bool known = read_held_change(file, &change),
         same = known && strcmp(change.wanted, wanted) == 0;
    if (!same)
        err_set(err, "another run that lives has set the CPU frequency governor \"%s\"",
                known ? change.wanted : "?");
    governor_change_fini(&change);
    return same;
}

bool governor_hold_take(int folder, const char *sysroot, const char *wanted,
                        struct governor_hold *out, struct err *err)
{
    *out = (struct governor_hold){.folder = folder, .file = -1, .sysroot = sysroot};
    AUTO_CLOSE int turn = lock_turn(folder, err);
    AUTO_CLOSE int file = turn < 0 ? -1 : open_own(folder, HELD, O_CREAT, err);
    if (file < 0)
        return false;
    bool ok = relied_on(file) ? join_held_governor(file, wanted, err)
                              : set_first(file, sysroot, wanted, err);
    /* As long as it is our turn, nobody can come between the two locks. */
    if (ok && flock(file, LOCK_SH | LOCK_NB) != 0)
        ok = err_sys(err, "lock " HELD " in the state folder");
    if (!ok)
        return false;
    snprintf(out->wanted, sizeof out->wanted, "%s", wanted);
    out->file = steal_fd(&file);
    return true;
}

bool governor_hold_end(struct governor_hold *hold, struct err *err)
{
    struct governor_leftover leftover = {0};
    AUTO_CLOSE int file = steal_fd(&hold->file);
    if (file < 0)
        return true;
    AUTO_CLOSE int turn = lock_turn(hold->folder, err);
    bool ok =
        turn >= 0 && (relied_on(file) || restore_leftover(file, hold->sysroot, &leftover, err));
    governor_leftover_fini(&leftover);
    return ok;
}

bool governor_leftover_look(int folder, const char *sysroot, struct governor_leftover *out)
{
    *out = (struct governor_leftover){0};
    AUTO_CLOSE int file = open_own(folder, HELD, 0, NULL);
    AUTO_CLOSE int turn = file < 0 ? -1 : lock_turn(folder, NULL);
    if (turn < 0 || relied_on(file) || !read_held_change(file, &out->change))
        return false;
    if (governor_still_set(sysroot, &out->change) > 0)
        return true;
    governor_leftover_fini(out);
    return false;
}

bool governor_leftover_recover(int folder, const char *sysroot, struct governor_leftover *out,
                               struct err *err)
{
    *out = (struct governor_leftover){0};
    AUTO_CLOSE int file = open_own(folder, HELD, 0, NULL);
    AUTO_CLOSE int turn = file < 0 ? -1 : lock_turn(folder, NULL);
    if (turn < 0 || relied_on(file))
        return false;
    return restore_leftover(file, sysroot, out, err) && out->restored.restored > 0;
}

void governor_leftover_fini(struct governor_leftover *leftover)
{
    governor_change_fini(&leftover->change);
    *leftover = (struct governor_leftover){0};
}
