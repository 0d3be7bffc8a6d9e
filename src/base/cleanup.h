/* cleanup: resources that let go of themselves at the end of their block, and how to hand one
 * on. */
#ifndef TARE_BASE_CLEANUP_H
#define TARE_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *place)
{
    free(*(void **)place);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define AUTO(function) __attribute__((cleanup(function)))
#define AUTO_FREE      AUTO(cleanup_free)
#define AUTO_CLOSE     AUTO(cleanup_close)
#define AUTO_FILE      AUTO(cleanup_file)

/* Takes the resource out of an AUTO_ variable: gives its value and leaves it empty. */
#define steal_ptr(place)                    \
    __extension__({                         \
        __typeof__(place) stolen = (place); \
        (place) = NULL;                     \
        stolen;                             \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
