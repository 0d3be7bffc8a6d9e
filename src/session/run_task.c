#include "session/run_task.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "slurm/submission.h"
#include "session/command.h"
#include "session/run_folder.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file server shows a new folder to another machine within a minute (nfs(5): acdirmax is 60 s), and takes a lock from
 * a machine that is gone after its lease (90 s with Linux's) or when that is back. */
static const int64_t FOLDER_NS = 60 * NS_PER_S, LOCK_NS = 180 * NS_PER_S;
enum { ASK_AGAIN_MS = 1000 };

/* Without submit.json the plan's own grace holds. */
static double grace_max_s(int dir)
{
    struct err ignored;
    AUTO(submission_fini) struct submission submission = {0};
    return submission_read(dir, &submission, &ignored) ? submission_grace_max_s(&submission) : 0;
}

struct wait {
    bool on_slurm, restarted;
    int64_t folder_until_ns, lock_until_ns;
};

static struct wait wait_for(const struct strv *env)
{
    int64_t now_ns = clock_monotonic_ns();
    const char *restarts = strv_env_get(env, "SLURM_RESTART_COUNT");
    return (struct wait){.on_slurm = strv_env_get(env, "SLURM_JOB_ID") != NULL,
                         .restarted = restarts && strtol(restarts, NULL, 10) > 0,
                         .folder_until_ns = now_ns + FOLDER_NS,
                         .lock_until_ns = now_ns + LOCK_NS};
}

enum look { LOOK_READY, LOOK_NOT_YET, LOOK_REFUSED };

/* How it is at this moment: err says what is wrong unless it is ready. */
static enum look look(const char *run_dir, size_t number, struct tasks_start *start, struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "?";
    AUTO_FREE char *path = NULL;
    gethostname(host, sizeof host - 1);
    AUTO_CLOSE int dir = run_folder_open(run_dir, &path, err);
    if (dir < 0) {
        bool absent = err->code == ENOENT || err->code == ESTALE;
        err_wrap(err, "the run's folder cannot be reached from %s, and must be by this path on every machine", host);
        return absent ? LOOK_NOT_YET : LOOK_REFUSED;
    }
    if (!tasks_are_in(dir)) {
        err_set(err, "%s: this run was not submitted: it holds no plan.json and no tasks, seen from %s", path, host);
        return LOOK_NOT_YET;
    }
    return tasks_begin(dir, path, number, grace_max_s(dir), start, err) ? LOOK_READY : LOOK_REFUSED;
}

int run_task_begin(const struct strv *env, const char *run_dir, size_t number, struct tasks_start *start)
{
    struct err err = {0};
    struct wait wait = wait_for(env);
    *start = (struct tasks_start){.lock = -1};
    for (;;) {
        err = (struct err){0};
        enum look now = look(run_dir, number, start, &err);
        if (now == LOOK_READY)
            return CLI_OK;
        bool held = now == LOOK_REFUSED && err.code == EWOULDBLOCK;
        bool worth = (now == LOOK_NOT_YET && wait.on_slurm && clock_monotonic_ns() < wait.folder_until_ns) ||
                     (held && wait.on_slurm && wait.restarted && clock_monotonic_ns() < wait.lock_until_ns);
        if (!worth)
            break;
        poll(NULL, 0, ASK_AGAIN_MS);
    }
    cli_error("%s", err.text);
    return err.code == EWOULDBLOCK ? CLI_BROKEN : CLI_USAGE;
}
