/* Programs that become root by their setuid bit (sudo, nvidia-modprobe) and do not inside a user namespace. */
#include "machine/contain/contain.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

bool setuid_refusal_told(const char *text)
{
    /* sudo's words, old and new; those of su and of others who look at their own file. In a user namespace root's files
     * belong to the overflow user, 65534. */
    static const char *const words[] = {"must be owned by uid 0", "effective uid is not 0", "must be setuid root",
                                        "must be suid", "is owned by uid 65534, should be 0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

bool setuid_root_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == 0 && (status.st_mode & S_ISUID);
}

const char *setuid_hint(const struct containment *layers)
{
    /* Then whoever started us forbade it, to us as well: no containment changes that (prctl(2), PR_SET_NO_NEW_PRIVS). */
    bool forbidden = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (!layers->userns || forbidden)
        return NULL;
    return "programs that become root (sudo, nvidia-modprobe) do not work in a user namespace: '--containment cgroup', "
           "or 'sweep', goes without one";
}
