#include "session/submit.h"
#include "results/store/results.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "run/again.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "slurm/slurm.h"
#include "slurm/tasks.h"
#include "tare_build.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Experiment numbers. */
struct numbers {
    size_t *items;
    size_t count;
};

static void numbers_fini(struct numbers *numbers)
{
    free(numbers->items);
}

static void add_experiment_number(struct numbers *numbers, size_t number)
{
    numbers->items = mem_room(numbers->items, numbers->count, sizeof *numbers->items);
    numbers->items[numbers->count++] = number;
}

void submitted_fini(struct submitted *submitted)
{
    if (submitted->dir >= 0)
        close(submitted->dir);
    free(submitted->path);
    free(submitted->absolute);
    submission_fini(&submitted->submission);
    collected_fini(&submitted->collected);
}

/* Where each machine finds the program: by the path that it has here. */
static char *program_path(void)
{
    char *path = program_file();
    return path ? path : mem_strdup(TARE_NAME);
}

/* Those of one array: their indices are below array_size. */
static size_t chunk_end(const struct numbers *numbers, size_t from, size_t array_size)
{
    size_t chunk = (numbers->items[from] - 1) / (array_size - 1), end = from;
    while (end < numbers->count && (numbers->items[end] - 1) / (array_size - 1) == chunk)
        end++;
    return end;
}

static struct script make_script(const struct submitted *submitted, const struct numbers *numbers,
                                 size_t from, size_t end)
{
    const struct plan *plan = &submitted->collected.plan;
    size_t array_size = submitted->submission.array_size;
    struct script_numbers chosen = {numbers->items + from, end - from};
    return (struct script){
        .numbers = chosen,
        .offset = (numbers->items[from] - 1) / (array_size - 1) * (array_size - 1),
        .minutes = script_minutes(plan, &chosen),
        .gpus = submitted->has_gpus ? script_gpus(plan, &submitted->submission.options) : 0,
    };
}

void submit_show(const struct submitted *submitted, size_t at_once, struct text *out)
{
    AUTO_FREE char *program = program_path();
    AUTO(numbers_fini) struct numbers all = {0};
    for (size_t number = 1; number <= submitted->collected.plan.count; number++)
        add_experiment_number(&all, number);
    for (size_t from = 0, end; from < all.count; from = end) {
        end = chunk_end(&all, from, submitted->submission.array_size);
        struct script script = make_script(submitted, &all, from, end);
        script.job_name = TARE_NAME;
        script.program = program;
        script.run_dir = submitted->absolute;
        script.at_once = at_once;
        script_text(&script, out);
    }
}

/* Numbers of the experiments that tasks in the queue are for. */
static bool find_queued(const struct submitted *submitted, const struct submit_options *options,
                        bool *queued, struct err *err)
{
    AUTO(slurm_tasks_fini) struct slurm_tasks queue = {0};
    AUTO_STRV struct strv names = {0};
    const struct submission *submission = &submitted->submission;
    EACH (array, submission->arrays, submission->count)
        strv_add_once(&names, array->job_name);
    if (names.count == 0)
        return true;
    if (!slurm_queue_read(options->env, &names, &queue, err))
        return false;
    EACH (item, queue.items, queue.count)
        EACH (entry, submission->arrays, submission->count) {
            size_t number = item->index + entry->offset;
            if (strcmp(item->job_name, entry->job_name) == 0 && number >= 1 &&
                number <= submitted->collected.plan.count)
                queued[number - 1] = true;
        }
    return true;
}

static bool find_missing(const struct submitted *submitted, const struct submit_options *options,
                         struct numbers *out, size_t *queued_count, struct err *err)
{
    const struct collected *collected = &submitted->collected;
    bool *queued = mem_array(collected->plan.count, sizeof *queued);
    bool ok = find_queued(submitted, options, queued, err);
    *queued_count = 0;
    for (size_t i = 0; ok && i < collected->plan.count; i++) {
        if (!collect_is_missing(collected->items[i].state) || (options->only && !options->only[i]))
            continue;
        if (queued[i])
            (*queued_count)++;
        else
            add_experiment_number(out, i + 1);
    }
    free(queued);
    return ok;
}

/* Recorded before sbatch is asked, without a number, so that a lost answer does not lose the
 * array. */
static bool submit_array(struct submitted *submitted, const struct submit_options *options,
                         struct script *script, const char *after, struct err *err)
{
    AUTO_FREE char *program = program_path();
    AUTO_FREE char *file = mem_printf("%s/submit.sh", submitted->absolute);
    AUTO_TEXT struct text text = {0};
    AUTO_TEXT struct text indices = {0};
    struct submission *submission = &submitted->submission;
    struct submission_array *array = submission_add(submission);
    array->job_name = mem_printf("%s.%zu", submission->name, submission->count);
    array->offset = script->offset;
    array->realtime_ns = clock_realtime_ns();
    script_ranges(&script->numbers, &indices);
    array->indices = text_take(&indices);
    script->job_name = array->job_name;
    script->program = program;
    script->run_dir = submitted->absolute;
    script->at_once = options->at_once;
    script_text(script, &text);
    AUTO_FREE char *dependency = after ? script_dependency(&submission->options, after) : NULL;
    struct slurm_submission request = {
        .env = options->env,
        .run_dir = submitted->absolute,
        .options = &submission->options,
        .dependency = dependency,
        .script = file,
    };
    return fs_write_atomic(submitted->dir, "submit.sh", text_get(&text), text.length, err) &&
           submission_write(submitted->dir, submission, err) &&
           slurm_submit(&request, &array->job_id, err) &&
           submission_write(submitted->dir, submission, err);
}

static void print_task_array(const struct submission_array *array, size_t count, bool json)
{
    if (json)
        message_printf("{\"job_id\":\"%s\",\"experiments\":\"%s\",\"offset\":%zu}\n", array->job_id,
                       array->indices, array->offset);
    else
        message_printf("job %s: %zu experiment%s (%s)\n", array->job_id, count,
                       count == 1 ? "" : "s", array->indices);
}

/* So many tasks at a time holds for all arrays of a submission: each waits until the one before has
 * ended. */
static bool submit_arrays(struct submitted *submitted, const struct submit_options *options,
                          const struct numbers *missing, struct err *err)
{
    const struct submission *submission = &submitted->submission;
    AUTO_FREE char *after = NULL;
    for (size_t from = 0, end; from < missing->count; from = end) {
        end = chunk_end(missing, from, submission->array_size);
        struct script script = make_script(submitted, missing, from, end);
        if (!submit_array(submitted, options, &script, after, err))
            return err_wrap(err, "%zu of %zu experiments were not submitted", missing->count - from,
                            missing->count);
        const struct submission_array *array = &submission->arrays[submission->count - 1];
        print_task_array(array, end - from, options->json);
        free(after);
        after = options->at_once > 0 ? mem_strdup(array->job_id) : NULL;
    }
    return true;
}

bool submit_missing(struct submitted *submitted, const struct submit_options *options,
                    struct err *err)
{
    size_t queued_count;
    AUTO(numbers_fini) struct numbers missing = {0};
    if (!find_missing(submitted, options, &missing, &queued_count, err))
        return false;
    if (queued_count > 0)
        cli_note("%zu experiment%s still in the queue, and left there", queued_count,
                 queued_count == 1 ? " is" : "s are");
    if (missing.count == 0)
        cli_note(options->only && queued_count == 0
                     ? "nothing is to be repeated: nothing was submitted"
                     : "nothing is missing: nothing was submitted");
    return submit_arrays(submitted, options, &missing, err);
}

/* A file server shows a new folder to another machine within a minute (nfs(5): acdirmax is 60 s),
 * and takes a lock from a machine that is gone after its lease (90 s with Linux's) or when that is
 * back. */
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

static struct wait make_start_wait(const struct strv *env)
{
    int64_t now_ns = clock_monotonic_ns();
    const char *restarts = strv_env_get(env, "SLURM_RESTART_COUNT");
    return (struct wait){.on_slurm = strv_env_get(env, "SLURM_JOB_ID") != NULL,
                         .restarted = restarts && strtol(restarts, NULL, 10) > 0,
                         .folder_until_ns = now_ns + FOLDER_NS,
                         .lock_until_ns = now_ns + LOCK_NS};
}

enum look { LOOK_READY, LOOK_NOT_YET, LOOK_REFUSED };

/* err says what is wrong unless it is ready. */
static enum look check_task_start(const char *run_dir, size_t number, struct tasks_start *start,
                                  struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "?";
    AUTO_FREE char *path = NULL;
    gethostname(host, sizeof host - 1);
    AUTO_CLOSE int dir = run_folder_open(run_dir, &path, err);
    if (dir < 0) {
        bool absent = err->code == ENOENT || err->code == ESTALE;
        err_wrap(
            err,
            "the run's folder cannot be reached from %s, and must be by this path on every machine",
            host);
        return absent ? LOOK_NOT_YET : LOOK_REFUSED;
    }
    if (!tasks_are_in(dir)) {
        err_set(err,
                "%s: this run was not submitted: it holds no plan.json and no tasks, seen from %s",
                path, host);
        return LOOK_NOT_YET;
    }
    return tasks_begin(dir, path, number, grace_max_s(dir), start, err) ? LOOK_READY : LOOK_REFUSED;
}

int submit_task_begin(const struct strv *env, const char *run_dir, size_t number,
                      struct tasks_start *start)
{
    struct err err = {0};
    struct wait wait = make_start_wait(env);
    *start = (struct tasks_start){.lock = -1};
    for (;;) {
        err = (struct err){0};
        enum look now = check_task_start(run_dir, number, start, &err);
        if (now == LOOK_READY)
            return CLI_OK;
        bool held = now == LOOK_REFUSED && err.code == EWOULDBLOCK;
        bool worth =
            (now == LOOK_NOT_YET && wait.on_slurm && clock_monotonic_ns() < wait.folder_until_ns) ||
            (held && wait.on_slurm && wait.restarted && clock_monotonic_ns() < wait.lock_until_ns);
        if (!worth)
            break;
        poll(NULL, 0, ASK_AGAIN_MS);
    }
    cli_error("%s", err.text);
    return err.code == EWOULDBLOCK ? CLI_BROKEN : CLI_USAGE;
}

/* Results of a submitted run that are to be had anew. */

static bool plan_each(const struct submitted *submitted, const struct again *again, struct err *err)
{
    for (size_t i = 0; i < again->size; i++)
        if (again->items[i] && !collect_is_missing(submitted->collected.items[i].state) &&
            !tasks_plan_again(submitted->dir, submitted->path, &submitted->collected.plan, i + 1,
                              verdict_name(again->verdicts[i]), err))
            return false;
    return true;
}

static void print_again(const struct again *again, bool json)
{
    AUTO_FREE char *why = again_reasons_text(again);
    if (again->count > 0 && !json)
        message_printf("%zu to repeat (%s)\n", again->count, why);
    if (again->unjudged > 0)
        cli_note("%zu experiment%s ended before verdicts were given, and %s left as %s",
                 again->unjudged, again->unjudged == 1 ? "" : "s",
                 again->unjudged == 1 ? "is" : "are", again->unjudged == 1 ? "it is" : "they are");
}

/* What was planned so is collected: its row says so, and it counts as missing. */
static bool collect_anew(struct submitted *submitted, struct err *err)
{
    collected_fini(&submitted->collected);
    return collect_run(submitted->dir, submitted->path, &submitted->collected, err);
}

bool submit_plan_again(struct submitted *submitted, bool json, bool **only, struct err *err)
{
    AUTO(results_fini) struct results results = {0};
    AUTO(again_fini) struct again again = {0};
    *only = NULL;
    if (!results_read(submitted->path, &results, err))
        return false;
    again_choose_unclean(&results, &again);
    print_again(&again, json);
    bool ok =
        again.count == 0 || (plan_each(submitted, &again, err) && collect_anew(submitted, err));
    if (ok && again.count > 0)
        *only = steal_ptr(again.items);
    return ok;
}
