#include "results/store/jsonl.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "results/store/journal.h"

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

void jsonl_add_line(struct text *out, int64_t seq, const struct event *event, struct digest *last)
{
    size_t begin = out->length;
    char before[DIGEST_HEX + 1];
    json_t *line = json_object();
    json_t *rest = event_to_json(event);
    json_object_set_new(line, "seq", json_integer(seq));
    json_object_update(line, rest);
    digest_print(last, before);
    json_object_set_new(line, "before", json_string(before));
    json_print(line, out);
    text_add_char(out, '\n');
    *last = digest_of(out->data + begin, out->length - begin);
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

/* The line, where it is the event of this number; else NULL. */
static json_t *read_line(const struct text *line, int64_t seq)
{
    json_t *json = text_get(line)[line->length - 1] == '\n'
                       ? json_load_bounded(text_get(line), line->length, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    const json_t *number = json_object_get(json, "seq");
    if (json_is_integer(number) && json_integer_value(number) == seq)
        return json;
    json_decref(json);
    return NULL;
}

/* Lines that are good, from the first on: their events are 1 .. lines. Reads line by line, so that a journal of any length needs little
 * memory. length: the bytes they take. */
static bool scan_lines(int fd, int64_t last_seq, struct chain *chain, off_t *length, struct err *err)
{
    *length = 0;
    AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    steal_fd(&copy);
    rewind(file);
    AUTO_TEXT struct text line = {0};
    while (chain->lines < last_seq && fs_read_line(file, DB_CELL_MAX, &line) > 0) {
        json_t *json = read_line(&line, chain->lines + 1);
        if (!json)
            break;
        bool taken = chain_take(chain, text_get(&line), line.length, json, err);
        json_decref(json);
        if (!taken)
            return false;
        *length += (off_t)line.length;
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

struct missing {
    int fd;
    struct chain *chain;
    struct text lines;
};

/* Lines of events that are in run.db alone. */
static bool add_missing(void *context, int64_t seq, const struct event *event, struct err *err)
{
    struct missing *missing = context;
    struct digest last = missing->chain->lines ? missing->chain->last : missing->chain->first;
    AUTO_TEXT struct text line = {0};
    jsonl_add_line(&line, seq, event, &last);
    json_t *json = json_loadb(text_get(&line), line.length, 0, NULL);
    bool ok = chain_take(missing->chain, text_get(&line), line.length, json, err);
    json_decref(json);
    text_add_bytes(&missing->lines, text_get(&line), line.length);
    if (!ok || missing->lines.length < 1 << 20)
        return ok;
    ok = jsonl_append(missing->fd, &missing->lines, err);
    text_clear(&missing->lines);
    return ok;
}

bool jsonl_repair(int fd, sqlite3 *db, struct chain *chain, struct err *err)
{
    int64_t last_seq;
    off_t length;
    if (!journal_last_seq(db, &last_seq, err) || !scan_lines(fd, last_seq, chain, &length, err))
        return false;
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_size != length && ftruncate(fd, length) < 0))
        return err_sys(err, "repair events.jsonl");
    struct missing missing = {.fd = fd, .chain = chain};
    bool ok = journal_each(db, chain->lines, add_missing, &missing, err) && jsonl_append(fd, &missing.lines, err);
    text_fini(&missing.lines);
    return ok;
}
