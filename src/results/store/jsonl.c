#include "results/store/jsonl.h"
#include "base/fs_output.h"
#include "base/json_print.h"
#include "results/store/journal.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void event_lines_init(struct event_lines *lines, size_t count)
{
    *lines = (struct event_lines){.copy = -1};
    lines->files =
        (struct written_files){.digests = mem_array(count + 1, sizeof *lines->files.digests),
                               .known = mem_array(count + 1, sizeof *lines->files.known),
                               .count = count};
}

void event_lines_fini(struct event_lines *lines)
{
    free(steal_ptr(lines->files.digests));
    free(steal_ptr(lines->files.known));
    cleanup_close(&lines->copy);
}

bool event_lines_keep(struct event_lines *lines, int dir, struct err *err)
{
    lines->copy = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (lines->copy < 0)
        lines->copy = fs_open_nameless(err);
    return lines->copy >= 0;
}

bool event_lines_append(struct event_lines *lines, const char *bytes, size_t length, int64_t count,
                        struct err *err)
{
    lines->count += count;
    if (lines->copy < 0 || length == 0)
        return true;
    if (lseek(lines->copy, lines->length, SEEK_SET) < 0 ||
        !fs_write_all(lines->copy, bytes, length, err))
        return err_wrap(err, "write the runner's own copy of events.jsonl");
    lines->length += (off_t)length;
    return true;
}

/* One line of a run that is opened: what its event says of files and versions. */
static bool take_line(struct event_lines *lines, const struct text *line, const struct event *event,
                      struct err *err)
{
    const char *version = json_get_text(event->data, "version");
    if (event->type == EVENT_FILES_WRITTEN && event->experiment >= 1 &&
        (uint64_t)event->experiment <= lines->files.count)
        lines->files.known[event->experiment - 1] =
            digest_parse(json_get_text(event->data, "experiment.json"),
                         &lines->files.digests[event->experiment - 1]);
    if (event->type == EVENT_SESSION_STARTED)
        lines->other_versions =
            lines->other_versions || !version || strcmp(version, TARE_VERSION) != 0;
    return event_lines_append(lines, text_get(line), line->length, 1, err);
}

bool event_lines_each(const struct event_lines *lines, journal_each_fn *each, void *context,
                      struct err *err)
{
    int64_t count = 0;
    AUTO_CLOSE int copy = fcntl(lines->copy, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read the runner's own copy of events.jsonl");
    steal_fd(&copy);
    rewind(file);
    AUTO_TEXT struct text line = {0};
    bool ok = true;
    while (ok && count < lines->count && fs_read_line(file, DB_CELL_MAX, &line) > 0) {
        struct event event = {0};
        json_t *json =
            json_load_bounded(text_get(&line), line.length, JSON_REJECT_DUPLICATES, NULL);
        ok = json && event_from_json(json, &event);
        if (!ok)
            err_set(err, "the runner's own copy of events.jsonl was changed, too");
        ok = ok && each(context, ++count, &event, err);
        event_fini(&event);
        json_decref(json);
    }
    return ok &&
           (count == lines->count || err_set(err, "the runner's own copy of events.jsonl was cut"));
}

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

FILE *jsonl_read(int dir, struct err *err)
{
    struct stat status;
    FILE *file = NULL;
    AUTO_CLOSE int fd = openat(dir, "events.jsonl", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        err_sys(err, "open events.jsonl");
    else if (!S_ISREG(status.st_mode) || status.st_size > JSONL_BYTES_MAX)
        err_set(err, S_ISREG(status.st_mode) ? "events.jsonl is longer than 1 GiB"
                                             : "events.jsonl is no regular file");
    else if (!(file = fdopen(fd, "r")))
        err_sys(err, "read events.jsonl");
    else
        (void)steal_fd(&fd);
    return file;
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

/* The line, if it is whole and has this number; else NULL. */
static json_t *parse_line(const struct text *line, int64_t seq)
{
    if (line->length == 0 || text_get(line)[line->length - 1] != '\n')
        return NULL;
    json_t *json = json_load_bounded(text_get(line), line->length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *number = json_object_get(json, "seq");
    if (json_is_integer(number) && json_integer_value(number) == seq)
        return json;
    json_decref(json);
    return NULL;
}

/* Floats may be spelled in several ways, so values are compared, not bytes. "time" is realtime_ns
 * for people. */
static bool is_event(json_t *line, int64_t seq, const struct event *event)
{
    json_t *wanted = event_to_json(event);
    json_object_set_new(wanted, "seq", json_integer(seq));
    if (json_object_get(line, "time"))
        json_object_set(wanted, "time", json_object_get(line, "time"));
    bool equal = json_equal(line, wanted);
    json_decref(wanted);
    return equal;
}

/* Reading events.jsonl beside the events of run.db. */
struct repair {
    FILE *file; /* NULL: the rest of it is not there, torn or damaged: what follows is added */
    struct event_lines *lines;
    off_t length; /* of the lines that stay */
    struct text line, missing;
};

/* One event of run.db, and the line that should hold it. */
static bool repair_line(void *context, int64_t seq, const struct event *event, struct err *err)
{
    struct repair *repair = context;
    json_t *json = NULL;
    if (repair->file && fs_read_line(repair->file, DB_CELL_MAX, &repair->line) > 0)
        json = parse_line(&repair->line, seq);
    if (json) {
        if (!repair->lines->disputed && !is_event(json, seq, event))
            repair->lines->disputed = seq;
        repair->length += (off_t)repair->line.length;
        json_decref(json);
    } else {
        repair->file = NULL;
        text_clear(&repair->line);
        jsonl_add_line(&repair->line, seq, event);
        text_add_bytes(&repair->missing, text_get(&repair->line), repair->line.length);
    }
    return take_line(repair->lines, &repair->line, event, err);
}

bool jsonl_repair(int fd, sqlite3 *db, struct event_lines *lines, struct err *err)
{
    struct stat status;
    AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    steal_fd(&copy);
    rewind(file);
    struct repair repair = {.file = file, .lines = lines};
    bool ok = journal_each(db, repair_line, &repair, err) &&
              (!ferror(file) || err_sys(err, "read events.jsonl"));
    if (ok && (fstat(fd, &status) < 0 ||
               (status.st_size != repair.length && ftruncate(fd, repair.length) < 0)))
        ok = err_sys(err, "repair events.jsonl");
    ok = ok && jsonl_append(fd, &repair.missing, err);
    text_fini(&repair.line);
    text_fini(&repair.missing);
    return ok;
}
