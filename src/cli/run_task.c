#include "cli/run_task.h"

#include "base/cleanup.h"
#include "batch/submission.h"
#include "cli/command.h"
#include "cli/run_folder.h"

#include <errno.h>
#include <stdlib.h>

void run_task_end(struct tasks_start *start)
{
    cleanup_close(&start->lock);
    free(start->path);
}

/* Without submit.json the plan's own grace holds. */
static double grace_max_s(int dir)
{
    struct err ignored;
    AUTO(submission_fini) struct submission submission = {0};
    return submission_read(dir, &submission, &ignored) ? submission_grace_max_s(&submission) : 0;
}

int run_task_begin(const char *run_dir, size_t number, struct tasks_start *start)
{
    struct err err = {0};
    AUTO_FREE char *path = NULL;
    *start = (struct tasks_start){.lock = -1};
    AUTO_CLOSE int dir = run_folder_open(run_dir, &path, &err);
    if (dir >= 0 && !tasks_are_in(dir))
        err_set(&err, "%s: this run was not submitted: it holds no tasks", path);
    else if (dir >= 0 && tasks_begin(dir, path, number, grace_max_s(dir), start, &err))
        return CLI_OK;
    cli_error("%s", err.text);
    return err.code == EWOULDBLOCK ? CLI_BROKEN : CLI_USAGE;
}
