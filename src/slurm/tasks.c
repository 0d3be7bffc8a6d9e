#include "slurm/tasks.h"
#include "base/fs_output.h"
#include "base/json_place.h"
#include "base/json_print.h"
#include "machine/contain/job.h"
#include "plan/plan_json.h"
#include "results/store/import.h"
#include "results/store/lock.h"

#include "base/mem.h"
#include "base/record.h"
#include "slurm/collect.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { PLAN_FORMAT = 1, STARTS_MAX = 100000 };

static const size_t TEXT_MAX = (size_t)256 << 20; /* 400,000 experiments */

/* plan.json. */
struct written_plan {
    size_t format;
    const json_t *head, *experiments;
};

#define PLAN(member) RECORD(struct written_plan, member)
static const struct record_field plan_fields[] = {PLAN(format), PLAN(head), PLAN(experiments), {0}};

static bool write_plan(int dir, const struct plan *plan, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    json_auto_t *head = plan_head_to_json(plan), *experiments = json_array();
    const struct written_plan written = {PLAN_FORMAT, head, experiments};
    EACH (experiment, plan->experiments, plan->count)
        json_array_append_new(experiments, plan_experiment_to_json(experiment));
    json_auto_t *json = record_json(plan_fields, &written);
    json_print(json, &text);
    text_add_char(&text, '\n');
    return fs_write_atomic(dir, "plan.json", text_get(&text), text.length, err);
}

bool tasks_make(int dir, const struct store_head *head, struct err *err)
{
    AUTO_CLOSE int tasks = fs_make_dir_at(dir, "tasks", 0777, err);
    return tasks >= 0 &&
           fs_write_atomic(dir, "settings.json", head->settings_text, head->settings_length, err) &&
           fs_write_atomic(dir, "registry.json", head->registry_text, head->registry_length, err) &&
           write_plan(dir, head->plan, err);
}

bool tasks_are_in(int dir)
{
    struct stat status;
    return fstatat(dir, "plan.json", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && fstatat(dir, "tasks", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

static bool read_experiments(const json_t *list, struct plan *out, struct err *err)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return err_set(err, "it holds no experiments");
    out->experiments = mem_array(count, sizeof *out->experiments);
    for (; out->count < count; out->count++) {
        struct plan_experiment *next = &out->experiments[out->count];
        if (!plan_experiment_from_json(json_array_get(list, out->count), next, err))
            return err_wrap(err, "experiment %zu", out->count + 1);
    }
    return true;
}

bool tasks_read_plan(int dir, struct plan *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    struct written_plan written = {0};
    *out = (struct plan){0};
    if (!fs_read_at(dir, "plan.json", TEXT_MAX, &text, err) ||
        !json_doc_parse("plan.json", text_get(&text), text.length, &doc, err) ||
        !json_doc_refuse_repeats(&doc, err))
        return false;
    record_get(plan_fields, doc.root, &written);
    if (written.format != PLAN_FORMAT)
        return err_set(err, "plan.json: its format is not %d, the one that is known here",
                       PLAN_FORMAT);
    if (plan_head_from_json(written.head, out, err) &&
        read_experiments(written.experiments, out, err))
        return true;
    plan_fini(out);
    return err_wrap(err, "plan.json");
}

bool tasks_read_head(int dir, struct text *settings, struct text *registry, struct store_head *head,
                     struct err *err)
{
    if (!fs_read_at(dir, "settings.json", TEXT_MAX, settings, err) ||
        !fs_read_at(dir, "registry.json", TEXT_MAX, registry, err))
        return false;
    head->settings_text = text_get(settings);
    head->settings_length = settings->length;
    head->registry_text = text_get(registry);
    head->registry_length = registry->length;
    return true;
}

static int open_task_folder(int dir, const char *name, struct err *err)
{
    int fd = fs_open_folder_beneath(dir, name);
    if (fd < 0 && errno != ENOENT)
        err_sys(err, "open %s", name);
    return fd;
}

/* The folder of an experiment's starts. */
struct opened_task {
    int dir;
    const char *name; /* "tasks/0007" */
};

static char *task_name(size_t number)
{
    return mem_printf("tasks/%04zu", number);
}

/* The highest number that a folder in dir has; 0: there is none. */
static int last_start(int dir)
{
    AUTO_DIR DIR *list = fs_list(dir, ".");
    int last = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);
        if (*end == '\0' && number > last && number <= STARTS_MAX)
            last = (int)number;
    }
    return last;
}

static int open_start(int task, int start, struct err *err)
{
    char name[20];
    snprintf(name, sizeof name, "%d", start);
    return open_task_folder(task, name, err);
}

static bool has_task_events(int start)
{
    struct stat status;
    return fstatat(start, "events.jsonl", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode);
}

/* The last start whose records are there: one without them (somebody removed them) says nothing,
 * and the one before stands. */
static int open_last(int task, struct tasks_last *last, struct err *err)
{
    struct err why = {0};
    *last = (struct tasks_last){.start = last_start(task)};
    for (last->readable = last->start; last->readable > 0; last->readable--) {
        AUTO_CLOSE int start = open_start(task, last->readable, &why);
        if (start >= 0 && has_task_events(start))
            return steal_fd(&start);
        if (start < 0 && why.text[0] != '\0') {
            err_wrap(&why, "start %d", last->readable);
            break;
        }
    }
    if (err)
        *err = why;
    return -1;
}

int tasks_open_last(int dir, size_t number, struct tasks_last *last, struct err *err)
{
    AUTO_FREE char *name = task_name(number);
    *last = (struct tasks_last){0};
    AUTO_CLOSE int task = open_task_folder(dir, name, err);
    return task < 0 ? -1 : open_last(task, last, err);
}

int tasks_open_start(int dir, size_t number, int start)
{
    struct err ignored;
    AUTO_FREE char *name = task_name(number);
    AUTO_CLOSE int task = open_task_folder(dir, name, &ignored);
    return task < 0 ? -1 : open_start(task, start, &ignored);
}

/* The plan with nothing but one experiment, whose number is 1 then. It borrows from plan. */
static struct plan plan_of_one(const struct plan *plan, struct plan_experiment *only,
                               double grace_max_s)
{
    struct plan out = *plan;
    only->number = 1;
    out.experiments = only;
    out.count = 1;
    if (grace_max_s > 0 && out.timing.stop_grace_s > grace_max_s)
        out.timing.stop_grace_s = grace_max_s;
    /* Which GPUs a task gets says the scheduler, on whatever machine. */
    if (out.pool.gpus && strcmp(out.pool.gpus, "all") != 0 && strcmp(out.pool.gpus, "none") != 0)
        out.pool.gpus = NULL;
    return out;
}

/* What the next start begins with. */
struct beginning {
    int before; /* the folder of the start before; -1: there is none */
    const char *before_name;
    const char *again; /* the verdict for which the experiment is planned again; NULL: it is not */
};

/* What the start before left: its events, and the files of the experiment. What cannot be read of
 * it is not had any more, and the experiment is to be done all the same. */
static bool import_earlier_start(struct store *store, const struct beginning *beginning, int made,
                                 const char *id, struct err *err)
{
    struct import_loss loss;
    const struct import_source source = {.dir = beginning->before, .name = beginning->before_name};
    fs_clear_unfinished(beginning->before, true); /* its writer is dead */
    if (!store_import(store, &source, &loss, err))
        return false;
    AUTO_CLOSE int from = open_task_folder(beginning->before, id, err);
    if (from < 0)
        return errno == ENOENT; /* it had not come so far */
    AUTO_CLOSE int to = fs_make_dir_at(made, id, 0777, err);
    return to >= 0 && files_link_tree(from, to, err);
}

static void add_task_event(struct store *store, enum event_type type, int64_t experiment,
                           json_t *data)
{
    AUTO(event_fini)
    struct event event = {.type = type,
                          .monotonic_ns = clock_monotonic_ns(),
                          .realtime_ns = clock_realtime_ns(),
                          .session = store_next_session(store) - (type != EVENT_SESSION_STARTED),
                          .experiment = experiment,
                          .data = data};
    store_add(store, &event, NULL, NULL);
}

/* In a session of its own, on the machine where the user asked for it. */
static void record_task_again(struct store *store, const char *verdict)
{
    char host[HOST_NAME_MAX + 1] = "", boot_id[40] = "";
    gethostname(host, sizeof host - 1);
    struct clock_zone zone;
    clock_zone_here(clock_realtime_ns(), &zone);
    json_t *started = json_pack(
        "{s:i, s:o, s:o*, s:s, s:b, s:o}", "pid", (int)getpid(), "host", json_text_or_null(host),
        "boot_id", boot_id_read(boot_id, NULL) ? json_string(boot_id) : NULL, "version",
        TARE_VERSION, "resumed", true, "zone", json_from_zone(&zone));
    add_task_event(store, EVENT_SESSION_STARTED, 0, started);
    add_task_event(store, EVENT_EXPERIMENT_AGAIN, 1, json_pack("{s:s}", "verdict", verdict));
    add_task_event(store, EVENT_SESSION_ENDED, 0, json_pack("{s:s}", "outcome", "finished"));
}

static bool fill_start(int dir, int made, const struct beginning *beginning,
                       const struct plan *plan, struct err *err)
{
    AUTO_TEXT struct text settings = {0}, registry = {0};
    struct store_head head = {.plan = plan};
    if (!tasks_read_head(dir, &settings, &registry, &head, err))
        return false;
    struct store *store = store_create(made, "the new start", &head, err);
    if (!store)
        return false;
    bool ok = beginning->before < 0 ||
              import_earlier_start(store, beginning, made, plan->experiments[0].id, err);
    if (ok && beginning->again)
        record_task_again(store, beginning->again);
    return store_close(store, ok ? err : NULL) && ok;
}

/* It gets its name when it is whole: a start that can be seen stands for all before it. */
static bool make_start(int dir, const struct opened_task *task, const struct plan *plan,
                       const char *again, int *start, struct err *err)
{
    char name[20];
    struct tasks_last last;
    struct err why = {0};
    AUTO_CLOSE int before = open_last(task->dir, &last, &why);
    *start = last.start + 1;
    if (why.text[0] != '\0') {
        *err = why;
        return false;
    }
    if (*start > STARTS_MAX)
        return err_set(err, "there were %d starts", STARTS_MAX);
    AUTO_FREE char *before_name = mem_printf("%s/%d", task->name, last.readable);
    const struct beginning beginning = {before, before_name, again};
    if (!files_remove_tree(task->dir, "new", err))
        return false;
    AUTO_CLOSE int made = fs_make_dir_at(task->dir, "new", 0777, err);
    if (made < 0 || !fill_start(dir, made, &beginning, plan, err))
        return false;
    snprintf(name, sizeof name, "%d", *start);
    return (renameat(task->dir, "new", task->dir, name) == 0 ||
            err_sys(err, "name the start %s", name)) &&
           (fsync(task->dir) == 0 || errno == EINVAL || err_sys(err, "fsync the folder"));
}

static int open_task(int dir, const char *name, struct err *err)
{
    AUTO_CLOSE int tasks = open_task_folder(dir, "tasks", err);
    if (tasks < 0) {
        err_set(err, "there is no folder tasks");
        return -1;
    }
    return fs_make_dir_at(tasks, strchr(name, '/') + 1, 0777, err);
}

struct request {
    size_t number;
    double grace_max_s; /* 0: as planned */
    const char *again;  /* the verdict for which it is planned again; NULL: it is not */
};

/* of_all: the run's plan. */
static bool begin_task(int dir, const char *dir_path, const struct plan *of_all,
                       struct request request, struct tasks_start *out, struct err *err)
{
    int start = 0;
    if (request.number < 1 || request.number > of_all->count)
        return err_set(err, "there is no experiment %zu; the plan holds %zu", request.number,
                       of_all->count);
    AUTO_FREE char *name = task_name(request.number);
    struct plan_experiment only = of_all->experiments[request.number - 1];
    struct plan plan = plan_of_one(of_all, &only, request.grace_max_s);
    AUTO_CLOSE int task = open_task(dir, name, err);
    if (task < 0)
        return false;
    const struct opened_task opened = {task, name};
    AUTO_FREE char *task_path = mem_printf("%s/%s", dir_path, name);
    AUTO_CLOSE int lock = lock_take(task, task_path, err);
    if (lock < 0 || !make_start(dir, &opened, &plan, request.again, &start, err))
        return err_wrap(err, "experiment %zu", request.number);
    *out = (struct tasks_start){.lock = steal_fd(&lock),
                                .path = mem_printf("%s/%d", task_path, start)};
    return true;
}

bool tasks_begin(int dir, const char *dir_path, size_t number, double grace_max_s,
                 struct tasks_start *out, struct err *err)
{
    AUTO(plan_fini) struct plan plan = {0};
    *out = (struct tasks_start){.lock = -1};
    if (!tasks_read_plan(dir, &plan, err))
        return err_wrap(err, "%s", dir_path);
    return begin_task(dir, dir_path, &plan,
                      (struct request){.number = number, .grace_max_s = grace_max_s}, out, err) ||
           err_wrap(err, "%s", dir_path);
}

bool tasks_plan_again(int dir, const char *dir_path, const struct plan *plan, size_t number,
                      const char *verdict, struct err *err)
{
    AUTO(tasks_start_fini) struct tasks_start start = {.lock = -1};
    return begin_task(dir, dir_path, plan, (struct request){.number = number, .again = verdict},
                      &start, err) ||
           err_wrap(err, "%s", dir_path);
}

void tasks_start_fini(struct tasks_start *start)
{
    cleanup_close(&start->lock);
    free(start->path);
    *start = (struct tasks_start){.lock = -1};
}

/* ---- What was handed to the scheduler. */

static const size_t SUBMISSION_MAX = (size_t)1 << 26;

/* For the proof, and for writing down how it ended. */
static const double AFTER_KILL_S = 10;

double submission_grace_max_s(const struct submission *submission)
{
    return submission->kill_wait_s > 0 ? fmax(1, submission->kill_wait_s - AFTER_KILL_S) : 0;
}

struct submission_array *submission_add(struct submission *submission)
{
    struct submission_array *array = &MEM_ADD(submission->arrays, submission->count);
    *array = (struct submission_array){0};
    return array;
}

#define ARRAY(member, ...) RECORD(struct submission_array, member, __VA_ARGS__)
static const struct record_field array_fields[] = {ARRAY(job_id),
                                                   ARRAY(job_name, .presence = RECORD_MAY_MISS),
                                                   ARRAY(indices, .presence = RECORD_MAY_MISS),
                                                   ARRAY(offset),
                                                   ARRAY(realtime_ns),
                                                   {0}};

/* A missing number keeps an impossible value. */
static const struct submission_array no_array = {.offset = SIZE_MAX, .realtime_ns = INT64_MIN};
static const struct record_field submission_fields[] = {
    RECORD(struct submission, name, .presence = RECORD_MAY_MISS),
    RECORD(struct submission, kill_wait_s),
    RECORD(struct submission, array_size),
    RECORD_AS(struct submission, "sbatch_options", options),
    RECORD_STRUCTS(struct submission, "arrays", arrays, count, array_fields, .initial = &no_array),
    {0}};

void submission_fini(struct submission *submission)
{
    record_free(submission_fields, submission);
    *submission = (struct submission){0};
}

bool submission_write(int dir, const struct submission *submission, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    json_print_taken(record_json(submission_fields, submission), &text);
    return fs_write_atomic(dir, "submit.json", text_get(&text), text.length, err);
}

static bool read_submission(const json_t *json, struct submission *out, struct err *err)
{
    out->kill_wait_s = NAN;
    record_get(submission_fields, json, out);
    if (!out->name || isnan(out->kill_wait_s) || out->array_size < 2)
        return err_set(err, "submit.json: it lacks name, kill_wait_s or array_size");
    EACH (array, out->arrays, out->count)
        if (!array->job_name || !array->indices || array->offset == SIZE_MAX ||
            array->realtime_ns == INT64_MIN)
            return err_set(err,
                           "submit.json: an array lacks job_name, indices, offset or realtime_ns");
    return true;
}

bool submission_read(int dir, struct submission *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    *out = (struct submission){0};
    if (fs_read_at(dir, "submit.json", SUBMISSION_MAX, &text, err) &&
        json_doc_parse("submit.json", text_get(&text), text.length, &doc, err) &&
        json_doc_refuse_repeats(&doc, err) && read_submission(doc.root, out, err))
        return true;
    submission_fini(out);
    return false;
}
