#include "gpu_memory/preload/trace.h"

#include "gpu_memory/preload/process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/* Opened anew for each: a program may close a descriptor that it does not know, and give its number to a file of
 * its own. */
static void append(const char *path, const struct gpu_ledger_event *event)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return;
    ssize_t written = write(fd, event, sizeof *event);
    (void)written;
    close(fd);
}

void trace_event(enum gpu_ledger_event_kind kind, int gpu, int how, uint64_t address, uint64_t bytes)
{
    const char *path = trace_path_get();
    if (!path[0])
        return;
    int kept = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    append(path, &(struct gpu_ledger_event){
                     .time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                     .address = address,
                     .bytes = bytes,
                     .pid = getpid(),
                     .kind = (uint8_t)kind,
                     .gpu = (uint8_t)gpu,
                     .how = (uint16_t)how,
                 });
    errno = kept;
}
