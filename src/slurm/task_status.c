/* Reports the state of a submitted task: from Slurm's queue, its accounting, or the task's log. */
#include "slurm/collect.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "slurm/slurm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TAIL = 8192, QUOTED_MAX = 200 };

/* A task of an experiment: of the last array that it was submitted with. */
struct submitted_task {
    const struct submission_array *array; /* NULL: it was never submitted */
    size_t index;
    const struct slurm_task *queued, *accounted; /* NULL: not told of */
};

/* What somebody else wrote, fit for a terminal. */
static void add_plain(const char *text, size_t length, struct text *out)
{
    utf8_add_words(text, utf8_cut(text, length, QUOTED_MAX), out);
}

static void add_plain_words(const char *text, struct text *out)
{
    add_plain(text, strlen(text), out);
}

static const char *words_for(const char *state)
{
    static const struct {
        const char *state, *words;
    } known[] = {{"TIMEOUT", "ended by its time limit"},
                 {"NODE_FAIL", "its node failed"},
                 {"BOOT_FAIL", "its node did not start"},
                 {"PREEMPTED", "preempted"},
                 {"OUT_OF_MEMORY", "ended because it used more memory than it had asked for"},
                 {"DEADLINE", "ended by its deadline"},
                 {"CANCELLED", "cancelled"}};
    EACH_OF (item, known)
        if (strncmp(state, item->state, strlen(item->state)) == 0)
            return item->words;
    return NULL;
}

static void add_task_job(const struct submitted_task *submitted_task, struct text *out)
{
    if (submitted_task->array->job_id)
        text_addf(out, "job %s_%zu", submitted_task->array->job_id, submitted_task->index);
    else
        text_addf(out, "job %s, task %zu", submitted_task->array->job_name, submitted_task->index);
}

/* "job 12_3 waits (Priority)", "job 12_3 runs on n1" */
static void add_queued(const struct submitted_task *submitted_task, struct text *out)
{
    const struct slurm_task *task = submitted_task->queued;
    bool waits = strcmp(task->state, "PENDING") == 0;
    add_task_job(submitted_task, out);
    text_add(out, waits ? " waits" : strcmp(task->state, "RUNNING") == 0 ? " runs" : " is ");
    if (!waits && strcmp(task->state, "RUNNING") != 0)
        add_plain_words(task->state, out);
    if (*task->nodes && !waits) {
        text_add(out, " on ");
        add_plain_words(task->nodes, out);
    }
    if (waits && *task->reason) {
        text_add(out, " (");
        add_plain_words(task->reason, out);
        text_add(out, ")");
    }
}

/* "job 12_3: its node failed, on n1" */
static void add_accounted(const struct submitted_task *submitted_task, struct text *out)
{
    const struct slurm_task *task = submitted_task->accounted;
    const char *words = words_for(task->state);
    add_task_job(submitted_task, out);
    text_add(out, ": ");
    if (words)
        text_add(out, words);
    else
        add_plain_words(task->state, out);
    if (strcmp(task->state, "FAILED") == 0) {
        text_add(out, " with exit code ");
        add_plain(task->reason, strcspn(task->reason, ":"), out);
    }
    if (*task->nodes && strncmp(task->nodes, "None", 4) != 0) {
        text_add(out, ", on ");
        add_plain_words(task->nodes, out);
    }
}

/* "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T12:00:00 DUE TO TIME LIMIT ***" */
static bool add_slurm_line(const char *line, size_t length, struct text *out)
{
    static const struct {
        const char *cause, *words;
    } causes[] = {{"DUE TO TIME LIMIT", "ended by its time limit"},
                  {"DUE TO NODE FAILURE", "its node failed"},
                  {"DUE TO PREEMPTION", "preempted"},
                  {"DUE TO JOB REQUEUE", "put back into the queue"},
                  {"CANCELLED", "cancelled"}};
    AUTO_FREE char *copy = mem_strndup(line, length);
    const char *job = strstr(copy, "*** JOB "), *on = job ? strstr(job, " ON ") : NULL,
               *words = NULL;
    for (size_t i = 0; job && !words && i < sizeof causes / sizeof *causes; i++)
        words = strstr(job, causes[i].cause) ? causes[i].words : NULL;
    if (!words)
        return false;
    text_add(out, words);
    if (on && on[4]) {
        text_add(out, ", on ");
        add_plain(on + 4, strcspn(on + 4, " "), out);
    }
    return true;
}

void task_status_of_log(const char *text, size_t length, struct text *out)
{
    const char *last = NULL;
    size_t last_length = 0;
    for (size_t end = length; end > 0;) {
        size_t begin = end;
        while (begin > 0 && text[begin - 1] != '\n')
            begin--;
        if (add_slurm_line(text + begin, end - begin, out))
            return;
        if (!last && end - begin > 0) {
            last = text + begin;
            last_length = end - begin;
        }
        end = begin > 0 ? begin - 1 : 0;
    }
    if (!last)
        return;
    text_add(out, "the last that it said: ");
    add_plain(last, last_length, out);
}

/* False: no log, or an empty one. */
static bool add_task_log(int dir, const struct submitted_task *submitted_task, struct text *out)
{
    char bytes[TAIL];
    struct stat status;
    AUTO_TEXT struct text found = {0};
    if (!submitted_task->array->job_id || strspn(submitted_task->array->job_id, "0123456789") !=
                                              strlen(submitted_task->array->job_id))
        return false;
    AUTO_FREE char *name =
        mem_printf("tasks/slurm-%s_%zu.log", submitted_task->array->job_id, submitted_task->index);
    AUTO_CLOSE int fd = fs_open_beneath(dir, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    ssize_t count =
        pread(fd, bytes, sizeof bytes, status.st_size > TAIL ? status.st_size - TAIL : 0);
    if (count > 0)
        task_status_of_log(bytes, (size_t)count, &found);
    if (found.length == 0)
        return false;
    add_task_job(submitted_task, out);
    text_addf(out, ": %s", text_get(&found));
    return true;
}

static char *task_status_text(int dir, const struct submitted_task *submitted_task,
                              const struct collect_item *item, bool asked)
{
    struct text text = {0};
    if (!submitted_task->array)
        return mem_strdup("not submitted");
    if (submitted_task->queued)
        add_queued(submitted_task, &text);
    else if (submitted_task->accounted)
        add_accounted(submitted_task, &text);
    else if (!add_task_log(dir, submitted_task, &text)) {
        add_task_job(submitted_task, &text);
        text_add(&text, !asked             ? ": not known"
                        : item->start == 0 ? " is not in the queue any more, and never began"
                                           : " is not in the queue any more");
    }
    return text_take(&text);
}

static void find_submitted_tasks(const struct submission *submission,
                                 const struct collected *collected,
                                 struct submitted_task *submitted_tasks)
{
    EACH (item, submission->arrays, submission->count)
        for (size_t i = 0; i < collected->plan.count; i++)
            if (script_ranges_hold(item->indices, i + 1) && i + 1 >= item->offset)
                submitted_tasks[i] =
                    (struct submitted_task){.array = item, .index = i + 1 - item->offset};
}

static void match(const struct slurm_tasks *queue, const struct slurm_tasks *accounts,
                  const struct collected *collected, struct submitted_task *submitted_tasks)
{
    for (size_t i = 0; i < collected->plan.count; i++) {
        struct submitted_task *submitted_task = &submitted_tasks[i];
        if (!submitted_task->array || !collect_is_missing(collected->items[i].state))
            continue;
        for (size_t t = 0; t < queue->count && !submitted_task->queued; t++)
            if (queue->items[t].index == submitted_task->index &&
                strcmp(queue->items[t].job_name, submitted_task->array->job_name) == 0)
                submitted_task->queued = &queue->items[t];
        for (size_t t = 0;
             t < accounts->count && submitted_task->array->job_id && !submitted_task->accounted;
             t++)
            if (accounts->items[t].index == submitted_task->index &&
                strcmp(accounts->items[t].job_id, submitted_task->array->job_id) == 0)
                submitted_task->accounted = &accounts->items[t];
    }
}

/* Whether the queue answered. */
static bool query_slurm_tasks(const struct strv *env, const struct submission *submission,
                              struct slurm_tasks *queue, struct slurm_tasks *accounts, char **note)
{
    struct err err = {0};
    AUTO_STRV struct strv names = {0};
    AUTO_STRV struct strv ids = {0};
    EACH (array, submission->arrays, submission->count) {
        strv_add_once(&names, array->job_name);
        if (array->job_id)
            strv_add_once(&ids, array->job_id);
    }
    if (names.count == 0)
        return true;
    if (!slurm_queue_read(env, &names, queue, &err)) {
        *note = mem_strdup(err.text);
        return false;
    }
    if (ids.count > 0)
        slurm_accounts_read(env, &ids, accounts, &err); /* many clusters keep none */
    return true;
}

void task_statuses_find(int dir, const struct strv *env, const struct submission *submission,
                        struct collected *collected, char **note)
{
    AUTO(slurm_tasks_fini) struct slurm_tasks queue = {0}, accounts = {0};
    size_t missing = 0;
    *note = NULL;
    EACH (item, collected->items, collected->plan.count)
        missing += collect_is_missing(item->state);
    if (missing == 0)
        return;
    AUTO_FREE struct submitted_task *submitted_tasks =
        mem_array(collected->plan.count, sizeof *submitted_tasks);
    bool asked = query_slurm_tasks(env, submission, &queue, &accounts, note);
    find_submitted_tasks(submission, collected, submitted_tasks);
    match(&queue, &accounts, collected, submitted_tasks);
    for (size_t i = 0; i < collected->plan.count; i++)
        if (collect_is_missing(collected->items[i].state))
            collected->items[i].task_status =
                task_status_text(dir, &submitted_tasks[i], &collected->items[i], asked);
}
