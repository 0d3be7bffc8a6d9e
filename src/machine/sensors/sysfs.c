#include "machine/sensors/sysfs.h"

#include "base/mem.h"
#include "base/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

ssize_t sysfs_read(const char *sysroot, const char *path, char *out, size_t size)
{
    AUTO_FREE char *whole = mem_printf("%s%s", sysroot, path);
    return proc_read_at(AT_FDCWD, whole, out, size);
}

bool sysfs_line(const char *sysroot, const char *path, char *out, size_t size)
{
    char line[LINE_MAX_BYTES];
    ssize_t length = sysfs_read(sysroot, path, line, sizeof line);
    if (length < 0)
        return false;
    size_t end = strcspn(line, "\n");
    if (end >= size || (end == (size_t)length && end == sizeof line - 1)) {
        errno = E2BIG;
        return false;
    }
    memcpy(out, line, end);
    out[end] = '\0';
    return true;
}

bool sysfs_number(const char *sysroot, const char *path, uint64_t *out)
{
    char line[64];
    ssize_t length = sysfs_read(sysroot, path, line, sizeof line);
    if (length < 0)
        return false;
    errno = EINVAL;
    return sysfs_number_parse(line, (size_t)length, out);
}

static int compare_entry_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sysfs_list(const char *sysroot, const char *path, struct strv *out)
{
    AUTO_FREE char *whole = mem_printf("%s%s", sysroot, path);
    DIR *listing = opendir(whole);
    if (!listing)
        return false;
    for (const struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            strv_add(out, entry->d_name);
    closedir(listing);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, compare_entry_names);
    return true;
}

bool sysfs_number_parse(const char *bytes, size_t count, uint64_t *out)
{
    if (count > 0 && bytes[count - 1] == '\n')
        count--;
    return proc_number_parse(bytes, count, UINT64_MAX, out);
}

bool sysfs_event_parse(const char *bytes, size_t count, uint64_t *config)
{
    static const char key[] = "event=0x";
    const size_t length = sizeof key - 1;
    static const char digits[] = "0123456789abcdef";
    uint64_t number = 0;
    if (count > 0 && bytes[count - 1] == '\n')
        count--;
    if (count <= length || count > length + 16 || memcmp(bytes, key, length) != 0)
        return false;
    for (size_t i = length; i < count; i++) {
        const char *digit = bytes[i] ? strchr(digits, bytes[i]) : NULL;
        if (!digit)
            return false;
        number = number * 16 + (uint64_t)(digit - digits);
    }
    *config = number;
    return true;
}
