#include "report/watch/log_tail.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TAIL_BYTES = 64 << 10, LINE_BYTES = 2000, TAB_COLUMNS = 8 };

void watch_log_fini(struct watch_log *log)
{
    strv_fini(&log->lines);
    free(log->name);
    free(log->fault);
    *log = (struct watch_log){0};
}

/* Behind an escape sequence (ECMA-48, 5.4: CSI; 5.6: strings up to BEL or ST); at: its ESC. */
static const char *behind_escape(const char *at, const char *end)
{
    const char *c = at + 1;
    if (c < end && *c == '[') {
        for (c++; c < end && (unsigned char)*c >= 0x20 && (unsigned char)*c < 0x40; c++)
            ;
        return c < end && (unsigned char)*c >= 0x40 && (unsigned char)*c < 0x7f ? c + 1 : c;
    }
    if (c < end && strchr("]P^_X", *c)) {
        while (c < end && *c != '\a' && *c != '\033')
            c++;
        return c < end && *c == '\033' && c + 1 < end && c[1] == '\\' ? c + 2
               : c < end && *c == '\a'                                ? c + 1
                                                                      : c;
    }
    return c < end && (unsigned char)*c >= 0x40 && (unsigned char)*c < 0x7f ? c + 1 : c;
}

/* Of what a progress bar wrote over itself, the last. */
static const char *last_written(const char *line, const char *end)
{
    const char *at = end;
    while (at > line && at[-1] == '\r')
        at--;
    while (at > line && at[-1] != '\r')
        at--;
    return at;
}

static void add_tail_line(struct watch_log *log, const char *line, const char *end)
{
    AUTO_TEXT struct text text = {0};
    struct text safe = {0};
    line = last_written(line, end);
    while (end > line && end[-1] == '\r')
        end--;
    while (line < end && text.length < LINE_BYTES) {
        if (*line == '\033') {
            line = behind_escape(line, end);
        } else if (*line == '\t') {
            text_add_char(&text, ' ');
            while (text.length % TAB_COLUMNS)
                text_add_char(&text, ' ');
            line++;
        } else {
            text_add_char(&text, *line++);
        }
    }
    utf8_add_printable(text_get(&text), text.length, "", &safe);
    strv_add_owned(&log->lines, text_take(&safe));
}

static void set_fault(struct watch_log *log, const char *fault)
{
    free(log->fault);
    log->fault = mem_strdup(fault);
}

static void read_lines(int file, int64_t size, struct watch_log *log)
{
    AUTO_FREE char *bytes = mem_alloc(TAIL_BYTES);
    int64_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    ssize_t count = pread(file, bytes, TAIL_BYTES, (off_t)from);
    const char *at = bytes, *end = bytes + (count > 0 ? count : 0), *line_end;
    strv_fini(&log->lines);
    if (from > 0 && (line_end = memchr(at, '\n', (size_t)(end - at))))
        at = line_end + 1; /* the rest of a line */
    while (at < end) {
        line_end = memchr(at, '\n', (size_t)(end - at));
        add_tail_line(log, at, line_end ? line_end : end);
        at = line_end ? line_end + 1 : end;
    }
    set_fault(log, count < 0 ? "the log cannot be read" : NULL);
}

void watch_log_read(int dir, const char *id, struct watch_log *log)
{
    AUTO_FREE char *name = mem_printf("%s/training.log", id);
    struct stat st;
    if (!log->name || strcmp(log->name, name) != 0) {
        watch_log_fini(log);
        log->name = steal_ptr(name);
        log->size = -1;
    }
    AUTO_CLOSE int file = fs_open_beneath(dir, log->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode)) {
        strv_fini(&log->lines);
        log->size = -1;
        set_fault(log, file < 0 && errno == ENOENT   ? "no log yet"
                       : file < 0 && errno == EACCES ? "the log may not be read"
                                                     : "the log is no regular file");
        return;
    }
    int64_t changed_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    if (log->size == (int64_t)st.st_size && log->changed_ns == changed_ns)
        return;
    log->size = (int64_t)st.st_size;
    log->changed_ns = changed_ns;
    read_lines(file, log->size, log);
}
