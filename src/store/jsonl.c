#include "store/jsonl.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int jsonl_open(int dir, const char *dir_path, struct err *err)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    AUTO_CLOSE int fd = openat(dir, "events.jsonl", flags, 0664);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(err, "open %s/events.jsonl", dir_path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "%s/events.jsonl is no regular file", dir_path);
        return -1;
    }
    return steal_fd(&fd);
}

void jsonl_add_line(struct text *out, int64_t seq, const struct event *event)
{
    json_t *line = json_object();
    json_t *rest = event_to_json(event);
    json_object_set_new(line, "seq", json_integer(seq));
    json_object_update(line, rest);
    json_print(line, out);
    text_add_char(out, '\n');
    json_decref(rest);
    json_decref(line);
}

bool jsonl_append(int fd, const struct text *lines, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "events.jsonl");
    if (fs_write_all(fd, text_get(lines), lines->length, err))
        return true;
    int saved = errno;
    /* When even this fails, the repair on the next opening cuts the half line. */
    if (ftruncate(fd, st.st_size) < 0)
        errno = saved;
    return err_wrap(err, "append to events.jsonl");
}

/* Whether the line is the event of this number. */
static bool line_fits(const char *line, size_t length, int64_t seq)
{
    json_t *json = json_load_bounded(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *number = json_object_get(json, "seq");
    bool fits = json_is_integer(number) && json_integer_value(number) == seq;
    json_decref(json);
    return fits;
}

struct scan {
    int64_t seq;  /* lines that are good, from the first on: their events are 1 .. seq */
    off_t length; /* bytes they take */
};

/* Reads line by line, so that a journal of any length needs little memory. */
static bool scan_lines(int fd, int64_t last_seq, struct scan *out, struct err *err)
{
    *out = (struct scan){0};
    AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    steal_fd(&copy);
    rewind(file);
    AUTO_TEXT struct text line = {0};
    while (out->seq < last_seq && fs_read_line(file, DB_CELL_MAX, &line) > 0) {
        if (text_get(&line)[line.length - 1] != '\n' || !line_fits(text_get(&line), line.length, out->seq + 1))
            break;
        out->seq++;
        out->length += (off_t)line.length;
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

struct missing {
    int fd;
    struct text lines;
};

static bool add_missing(void *context, int64_t seq, const struct event *event, struct err *err)
{
    struct missing *missing = context;
    jsonl_add_line(&missing->lines, seq, event);
    if (missing->lines.length < 1 << 20)
        return true;
    bool ok = jsonl_append(missing->fd, &missing->lines, err);
    text_clear(&missing->lines);
    return ok;
}

bool jsonl_repair(int fd, sqlite3 *db, struct err *err)
{
    int64_t last_seq;
    struct scan good;
    if (!journal_last_seq(db, &last_seq, err) || !scan_lines(fd, last_seq, &good, err))
        return false;
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_size != good.length && ftruncate(fd, good.length) < 0))
        return err_sys(err, "repair events.jsonl");
    struct missing missing = {.fd = fd};
    bool ok = journal_each(db, good.seq, add_missing, &missing, err) && jsonl_append(fd, &missing.lines, err);
    text_fini(&missing.lines);
    return ok;
}
