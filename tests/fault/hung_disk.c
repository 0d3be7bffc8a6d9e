/* Preloaded into the runner: the disk hangs for one kind of file: none whose name ends in
 * $HUNG_DISK gets that name within a minute. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int renameat_fn(int from_dir, const char *from, int to_dir, const char *to);

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const char *end = getenv("HUNG_DISK");
    size_t length = strlen(to), tail = end ? strlen(end) : 0;
    if (end && length >= tail && strcmp(to + length - tail, end) == 0)
        sleep(60);
    renameat_fn *real = (renameat_fn *)dlsym(RTLD_NEXT, "renameat");
    if (!real)
        abort();
    return real(from_dir, from, to_dir, to);
}
