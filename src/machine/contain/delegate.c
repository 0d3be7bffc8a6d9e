/* Cgroups that are made for this program itself, or handed to a user. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/contain/cgroup.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another call can remove the folder, as an empty one, between its making and its use. */
enum { TRIES = 3 };

bool cgroup_enter_runner(const char *parent, struct err *err)
{
    AUTO_FREE char *own = mem_printf("%s/" TARE_NAME "-runner-%d", parent, (int)getpid());
    if (mkdir(own, 0755) != 0 && errno != EEXIST)
        return err_sys(err, "mkdir %s", own);
    return cgroup_write(own, "cgroup.procs", "0") || err_sys(err, "enter %s", own);
}

/* The folder and the files by which processes are moved and controllers handed down; limits stay whose they were. There are no links in
 * a cgroup file system, and each step is taken from the folder that was opened. */
static bool hand_over(int folder, uid_t uid, gid_t gid)
{
    static const char *const files[] = {"cgroup.procs", "cgroup.threads", "cgroup.subtree_control"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (fchownat(folder, files[i], uid, gid, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
            return false;
    return fchown(folder, uid, gid) == 0;
}

static int make_below(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static bool delegate_below(const char *parent, uid_t uid, gid_t gid, struct err *err)
{
    AUTO_FREE char *user_name = mem_printf(TARE_NAME "-user-%u", (unsigned)uid);
    AUTO_FREE char *runner_name = mem_printf(TARE_NAME "-runner-%d", (int)getpid());
    AUTO_FREE char *users = mem_printf("%s/%s", parent, user_name);
    cgroup_clean(users);
    AUTO_CLOSE int top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int user = top >= 0 ? make_below(top, user_name) : -1;
    AUTO_CLOSE int runner = user >= 0 ? make_below(user, runner_name) : -1;
    if (runner < 0)
        return err_sys(err, "mkdir %s/%s/%s", parent, user_name, runner_name);
    if (!cgroup_write_at(runner, "cgroup.procs", "0"))
        return err_sys(err, "enter %s/%s/%s", parent, user_name, runner_name);
    return (hand_over(runner, uid, gid) && hand_over(user, uid, gid)) ||
           err_sys(err, "hand %s/%s to user %u", parent, user_name, (unsigned)uid);
}

bool cgroup_delegate(uid_t uid, gid_t gid, struct err *err)
{
    AUTO_FREE char *parent = cgroup_find_parent(false, err);
    if (!parent)
        return false;
    cgroup_clean(parent);
    for (int i = 0; i < TRIES; i++)
        if (delegate_below(parent, uid, gid, err))
            return true;
    return false;
}
