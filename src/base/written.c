#include "base/written.h"
#include "base/json_print.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

enum { RECORD_MAX_BYTES = 1 << 20 };

/* FNV-1a of 64 bits (RFC 9923): against accidents, not against malice. An empty text: it cannot be
 * read. */
static void print_hash(int fd, struct text *out)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    unsigned char buffer[65536];
    ssize_t count = 0;
    while (fd >= 0 && (count = read(fd, buffer, sizeof buffer)) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return;
        for (ssize_t i = 0; i < count; i++)
            hash = (hash ^ buffer[i]) * UINT64_C(0x100000001b3);
    }
    if (fd >= 0)
        text_addf(out, "%016" PRIx64, hash);
}

/* What the file is now: NULL when it is no regular file, or cannot be read. */
static json_t *facts_of(const char *path)
{
    struct stat status;
    AUTO_TEXT struct text hash = {0};
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    print_hash(fd, &hash);
    if (hash.length == 0)
        return NULL;
    json_t *facts = json_object();
    json_object_set_new(facts, "bytes", json_integer(status.st_size));
    json_object_set_new(facts, "fnv1a_64", json_string(text_get(&hash)));
    return facts;
}

/* An unreadable or missing record gives an empty one: then no file of the folder is ours. */
static json_t *read_written_record(const char *folder)
{
    AUTO_FREE char *path = mem_printf("%s/" WRITTEN_RECORD, folder);
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_TEXT struct text text = {0};
    struct err err;
    if (fs_read_at(AT_FDCWD, path, RECORD_MAX_BYTES, &text, &err) &&
        json_doc_parse(path, text_get(&text), text.length, &doc, &err) &&
        json_is_object(json_object_get(doc.root, "files")))
        return json_incref(doc.root);
    json_t *record = json_object();
    json_set_text(record, "comment",
                  "what tare wrote into this folder and may replace; harmless to delete");
    json_object_set_new(record, "files", json_object());
    return record;
}

bool written_may_replace(const char *folder, const char *name, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT || err_sys(err, "look at %s", path);
    json_t *record = read_written_record(folder), *now = facts_of(path);
    bool ours = now && json_equal(now, json_object_get(json_object_get(record, "files"), name));
    json_decref(record);
    json_decref(now);
    return ours || err_set(err,
                           "%s is there already and is not, or no longer, what was written by this "
                           "program: nothing "
                           "was written; move it away, or replace it with --force",
                           path);
}

bool written_record(const char *folder, const char *name, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name),
                   *file = mem_printf("%s/" WRITTEN_RECORD, folder);
    AUTO_TEXT struct text text = {0};
    json_t *record = read_written_record(folder), *facts = facts_of(path);
    if (facts)
        json_object_set_new(json_object_get(record, "files"), name, facts);
    json_print_pretty(record, &text);
    json_decref(record);
    return !facts || fs_write_atomic(AT_FDCWD, file, text_get(&text), text.length, err);
}

bool written_write(const char *folder, const char *name, const char *bytes, size_t count,
                   bool force, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    return (force || written_may_replace(folder, name, err)) &&
           fs_write_atomic(AT_FDCWD, path, bytes, count, err) && written_record(folder, name, err);
}
