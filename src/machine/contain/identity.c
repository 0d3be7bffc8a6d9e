#include "base/cleanup.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/contain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void job_identity_fini(struct job_identity *identity)
{
    free(identity->cgroup);
    free(identity->tag);
    *identity = (struct job_identity){0};
}

void job_identity_copy(const struct job_identity *from, struct job_identity *to)
{
    *to = *from;
    to->cgroup = mem_strdup(from->cgroup);
    to->tag = mem_strdup(from->tag);
}

bool boot_id_read(char out[40], struct err *err)
{
    ssize_t length = proc_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", out, 40);
    if (length < 0)
        return err_sys(err, "read /proc/sys/kernel/random/boot_id");
    out[strcspn(out, "\n")] = '\0';
    return out[0] != '\0' || err_set(err, "/proc/sys/kernel/random/boot_id is empty");
}

bool process_start_time(pid_t pid, uint64_t *out)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    if (proc < 0 || pid <= 0 || !proc_stat_read(proc, pid, &stat))
        return false;
    *out = stat.start_time;
    return true;
}
