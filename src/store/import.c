#include "store/import.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct importing {
    struct store *store;
    int64_t experiment;   /* here; 0: as it is there */
    int64_t last_session; /* here, before */
    bool refused;
    struct err err; /* of the first event that was refused */
};

static void added(void *context, bool ok, const struct err *err)
{
    struct importing *importing = context;
    if (ok || importing->refused)
        return;
    importing->refused = true;
    importing->err = *err;
}

static bool take_line(struct importing *importing, const char *line, size_t length, struct err *err)
{
    struct event event = {0};
    json_error_t why;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &why);
    bool fine = json && event_from_json(json, &event);
    if (!json)
        err_set(err, "%s", why.text);
    else if (!fine)
        err_set(err, "is no event");
    if (fine && importing->experiment > 0 && event.experiment > 1)
        fine = err_set(err, "is about experiment %lld, where there is but one", (long long)event.experiment);
    if (fine) {
        event.session += importing->last_session;
        if (event.experiment == 1 && importing->experiment > 0)
            event.experiment = importing->experiment;
        store_add(importing->store, &event, added, importing);
    }
    event_fini(&event);
    json_decref(json);
    return fine;
}

static bool take_lines(struct importing *importing, FILE *file, struct err *err)
{
    AUTO_FREE char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    while (!importing->refused && (length = getline(&line, &room, file)) > 0) {
        number++;
        if (line[length - 1] != '\n')
            return true; /* it is being written, or was when its writer died */
        if (!take_line(importing, line, (size_t)length, err))
            return err_wrap(err, "events.jsonl:%zu", number);
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

bool store_import(struct store *store, int dir, int64_t experiment, struct err *err)
{
    struct importing importing = {
        .store = store, .experiment = experiment, .last_session = store_next_session(store) - 1};
    struct stat status;
    AUTO_CLOSE int fd = openat(dir, "events.jsonl", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "open events.jsonl");
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return err_set(err, "events.jsonl is no regular file");
    AUTO_FILE FILE *file = fdopen(fd, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    (void)steal_fd(&fd);
    bool ok = take_lines(&importing, file, err);
    /* Also after an error: what was added still points to importing. */
    ok = store_flush(store, ok ? err : NULL) && ok;
    if (importing.refused)
        *err = importing.err;
    return ok && !importing.refused;
}
