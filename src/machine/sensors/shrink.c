#include "machine/sensors/shrink.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LARGE_BLOCK = 64 * 1024, LINE_SIZE = 512 };

/* One entry of /proc/self/smaps: a line about the mapping, then "Key: N kB" lines. */
struct mapping {
    uintptr_t start, end;
    bool readable_file; /* private, of a file, and not to be written */
    bool unchanged;     /* no page is a copy of its own: relocations, or what was written before it was protected */
};

struct lines {
    int fd;
    size_t used, taken;
    char bytes[4096];
};

void shrink_prepare(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* The next line, without its end; one that is too long is cut. No heap: it would grow what is to shrink. */
static bool line_take(struct lines *lines, char out[LINE_SIZE])
{
    size_t length = 0;
    for (;;) {
        if (lines->taken == lines->used) {
            ssize_t got;
            do
                got = read(lines->fd, lines->bytes, sizeof lines->bytes);
            while (got < 0 && errno == EINTR);
            if (got <= 0)
                return false;
            lines->used = (size_t)got;
            lines->taken = 0;
        }
        char c = lines->bytes[lines->taken++];
        if (c == '\n')
            break;
        if (length < LINE_SIZE - 1)
            out[length++] = c;
    }
    out[length] = '\0';
    return true;
}

static bool is_mapping(const char *line, struct mapping *out)
{
    char rights[8];
    unsigned long inode;
    int path = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu %n", &out->start, &out->end, rights, &inode, &path) !=
        4)
        return false;
    /* A device's memory is no file's. */
    out->readable_file = rights[0] == 'r' && rights[1] == '-' && rights[3] == 'p' && inode != 0 && path > 0 &&
                         line[path] == '/' && strncmp(line + path, "/dev/", 5) != 0;
    out->unchanged = false;
    return true;
}

static void give_back(const struct mapping *mapping)
{
    if (mapping->readable_file && mapping->unchanged)
        madvise((void *)mapping->start, mapping->end - mapping->start, MADV_DONTNEED); /* NOLINT: the kernel's figure */
}

void shrink_now(void)
{
    char line[LINE_SIZE];
    struct lines lines = {0};
    struct mapping mapping = {0};
    malloc_trim(0);
    AUTO_CLOSE int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    lines.fd = fd;
    while (line_take(&lines, line)) {
        struct mapping next;
        if (is_mapping(line, &next)) {
            give_back(&mapping);
            mapping = next;
        } else if (strncmp(line, "Anonymous:", 10) == 0) {
            mapping.unchanged = strtoul(line + 10, NULL, 10) == 0;
        }
    }
    give_back(&mapping);
}
