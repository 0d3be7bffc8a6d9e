#include "measure/guard/who.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "machine/gpu/vendor.h"
#include "machine/state/census.h"

#include <fcntl.h>
#include <string.h>

enum { COMMAND_MAX = 120 };

bool who_look(const char *proc, pid_t pid, struct who *out)
{
    struct proc_stat stat;
    char path[40];
    *out = (struct who){.pid = pid};
    AUTO_CLOSE int folder = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || !proc_stat_read(folder, pid, &stat) || !proc_stat_alive(&stat))
        return false;
    if (!proc_real_uid(folder, pid, &out->uid))
        return false;
    out->start_time = stat.start_time;
    out->age_s = census_age_s(stat.start_time);
    out->orphan = proc_adopts(folder, stat.ppid);
    AUTO_FREE char *command = census_command(folder, &stat);
    out->command = utf8_quoted(command, COMMAND_MAX);
    snprintf(path, sizeof path, "%d/environ", (int)pid);
    proc_environ_value(folder, path, "TARE_JOB", &out->tag);
    return true;
}

/* The flags are the seventh field behind the name, which may hold anything (proc(5)). False: it is
 * gone. */
static bool flags_read(const char *proc, pid_t pid, unsigned long *out)
{
    char path[40], text[2048];
    struct proc_stat stat;
    AUTO_CLOSE int folder = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || !proc_stat_read(folder, pid, &stat) || !proc_stat_alive(&stat))
        return false;
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    if (proc_read_at(folder, path, text, sizeof text) <= 0)
        return false;
    const char *at = strrchr(text, ')');
    for (int i = 0; at && i < 7; i++)
        at = strchr(at + 1, ' ');
    *out = at ? strtoul(at + 1, NULL, 10) : 0;
    return at;
}

/* PF_EXITING and PF_KTHREAD of the kernel's sched.h. */
static const unsigned long exiting = 0x4, kernel_thread = 0x200000;

bool who_is_going(const char *proc, pid_t pid)
{
    unsigned long flags;
    return !flags_read(proc, pid, &flags) || (flags & exiting);
}

/* /dev/nvidia0, nvidiactl, nvidia-uvm, ... of a driver that is loaded */
static bool is_of_driver(const char *dev, const char *path)
{
    size_t length = strlen(dev);
    const struct gpu_vendor *vendor = NULL;
    if (strncmp(path, dev, length) != 0 || path[length] != '/')
        return false;
    while ((vendor = gpu_vendor_loaded(dev, vendor)))
        if (strncmp(path + length + 1, vendor->device_name, strlen(vendor->device_name)) == 0)
            return true;
    return false;
}

bool who_may_have_gpu(const char *proc, const char *dev, pid_t pid)
{
    unsigned long flags;
    bool found = false;
    AUTO_FREE char *path = mem_printf("%s/%d/fd", proc, (int)pid);
    if (!flags_read(proc, pid, &flags) || (flags & kernel_thread))
        return false;
    AUTO_DIR DIR *listing = gpu_vendor_loaded(dev, NULL) ? fs_list(AT_FDCWD, path) : NULL;
    if (!listing)
        return true;
    for (const struct dirent *entry; !found && (entry = readdir(listing));) {
        char target[256];
        ssize_t length = readlinkat(dirfd(listing), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = is_of_driver(dev, target);
    }
    return found;
}

void who_fini(struct who *who)
{
    free(who->command);
    free(who->tag);
    *who = (struct who){0};
}

char *who_text(const struct who *who, const char *passwd)
{
    struct text text = {0};
    char name[64], age[32];
    text_addf(&text, "pid %d of user ", (int)who->pid);
    if (passwd_user_name(passwd, who->uid, name, sizeof name))
        text_add(&text, name);
    else
        text_addf(&text, "%u", (unsigned)who->uid);
    text_addf(&text, ", '%s'", who->command);
    if (who->age_s >= 0) {
        clock_format_duration(who->age_s, age);
        text_addf(&text, ", %s old", age);
    }
    if (who->orphan)
        text_add(&text, ", an orphan");
    return text_take(&text);
}
