#include "machine/contain/probe.h"
#include "base/mem.h"
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job.h"
#include "machine/contain/start.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

const char *const containment_mode_names[] = {"auto", "pidns", "cgroup", "sweep", NULL};

bool containment_mode_parse(const char *name, enum containment_mode *out)
{
    for (int i = CONTAINMENT_AUTO; i <= CONTAINMENT_SWEEP; i++) {
        if (strcmp(name, containment_mode_names[i]) == 0) {
            *out = (enum containment_mode)i;
            return true;
        }
    }
    return false;
}

const char *containment_mode_name(enum containment_mode mode)
{
    return containment_mode_names[mode];
}

void containment_copy(const struct containment *from, struct containment *to)
{
    *to = *from;
    to->cgroup_parent = mem_strdup(from->cgroup_parent);
    to->pidns_reason = mem_strdup(from->pidns_reason);
    to->cgroup_reason = mem_strdup(from->cgroup_reason);
    to->hidden = (struct strv){0};
    strv_add_all(&to->hidden, &from->hidden);
}

void containment_fini(struct containment *containment)
{
    free(containment->cgroup_parent);
    free(containment->pidns_reason);
    free(containment->cgroup_reason);
    strv_fini(&containment->hidden);
    *containment = (struct containment){0};
}

void containment_assume(enum containment_mode mode, struct containment *out)
{
    *out = (struct containment){.mode = mode};
    out->pidns = mode == CONTAINMENT_AUTO || mode == CONTAINMENT_PIDNS;
    out->userns = out->pidns && geteuid() != 0;
    out->cgroup = mode != CONTAINMENT_SWEEP;
    if (!out->pidns)
        out->pidns_reason = mem_strdup("not asked for");
    if (!out->cgroup)
        out->cgroup_reason = mem_strdup("not asked for");
}

bool containment_probe(enum containment_mode mode, struct containment *out, struct err *err)
{
    struct containment assumed;
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    *out = (struct containment){0};
    if (null < 0)
        return err_sys(err, "open /dev/null");
    containment_assume(mode, &assumed);
    strv_add(&argv, "a trial job");
    struct job_request request = {.containment = &assumed,
                                  .argv = &argv,
                                  .env = &env,
                                  .stdin_fd = null,
                                  .stdout_fd = null,
                                  .stderr_fd = null};
    struct job *job = job_start(&request, err);
    containment_fini(&assumed);
    if (!job)
        return err_wrap(err, "containment %s", containment_mode_name(mode));
    containment_copy(job_layers(job), out);
    job_free(job);
    if (out->cgroup_parent)
        cgroup_clean(out->cgroup_parent);
    return true;
}

bool containment_kernel_backed(const struct containment *containment)
{
    return containment->pidns;
}

char *containment_describe(const struct containment *containment)
{
    struct text text = {0};
    if (containment->pidns)
        text_add(&text, containment->userns ? "user and pid namespace, " : "pid namespace, ");
    if (containment->cgroup)
        text_add(&text, "cgroup, ");
    text_add(&text, "sweep");
    return text_take(&text);
}

/* Programs that become root by their setuid bit (sudo, nvidia-modprobe) and do not inside a user
 * namespace. */

bool setuid_refusal_told(const char *text)
{
    /* sudo's words, old and new; those of su and of others who look at their own file. In a user
     * namespace root's files belong to the overflow user, 65534. */
    static const char *const words[] = {"must be owned by uid 0", "effective uid is not 0",
                                        "must be setuid root", "must be suid",
                                        "is owned by uid 65534, should be 0"};
    EACH_OF (word, words)
        if (strstr(text, *word))
            return true;
    return false;
}

bool setuid_root_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == 0 &&
           (status.st_mode & S_ISUID);
}

const char *setuid_hint(const struct containment *layers)
{
    /* Then whoever started us forbade it, to us as well: no containment changes that (prctl(2),
     * PR_SET_NO_NEW_PRIVS). */
    bool forbidden = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (!layers->userns || forbidden)
        return NULL;
    return "programs that become root (sudo, nvidia-modprobe) do not work in a user namespace: "
           "'--containment cgroup', "
           "or 'sweep', goes without one";
}
