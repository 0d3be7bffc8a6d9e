#include "machine/sensors/shrink.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { LARGE_BLOCK = 64 * 1024, LINE_SIZE = 512 };

/* One entry of /proc/self/smaps: a line about the mapping, then "Key: N kB" lines. */
struct mapping {
    uintptr_t start, end;
    bool readable_file; /* private, of a file, and not to be written */
    /* no page is a copy of its own: relocations, or what was written before it was protected */
    bool unchanged;
};

void shrink_prepare(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* The next line; one that is too long is cut. */
static bool line_take(FILE *file, char out[LINE_SIZE])
{
    if (!fgets(out, LINE_SIZE, file))
        return false;
    for (int c = strchr(out, '\n') ? '\n' : 0; c != '\n' && c != EOF;)
        c = getc(file);
    return true;
}

static bool is_mapping(const char *line, struct mapping *out)
{
    char rights[8];
    unsigned long inode;
    int path = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu %n", &out->start, &out->end, rights,
               &inode, &path) != 4)
        return false;
    /* A device's memory is no file's. */
    out->readable_file = rights[0] == 'r' && rights[1] == '-' && rights[3] == 'p' && inode != 0 &&
                         path > 0 && line[path] == '/' && strncmp(line + path, "/dev/", 5) != 0;
    out->unchanged = false;
    return true;
}

static void release_mapping(const struct mapping *mapping)
{
    /* NOLINT: the kernel's figure */
    if (mapping->readable_file && mapping->unchanged)
        madvise((void *)mapping->start, mapping->end - mapping->start, MADV_DONTNEED);
}

void shrink_now(void)
{
    char line[LINE_SIZE], buffer[4096]; /* not of the heap, which would grow what is to shrink */
    struct mapping mapping = {0};
    malloc_trim(0);
    AUTO_FILE FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return;
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    while (line_take(file, line)) {
        struct mapping next;
        if (is_mapping(line, &next)) {
            release_mapping(&mapping);
            mapping = next;
        } else if (strncmp(line, "Anonymous:", 10) == 0) {
            mapping.unchanged = strtoul(line + 10, NULL, 10) == 0;
        }
    }
    release_mapping(&mapping);
}
