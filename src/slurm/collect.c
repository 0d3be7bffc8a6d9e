#include "slurm/collect.h"
#include "base/fs_output.h"
#include "results/store/import.h"
#include "results/store/lock.h"

#include "base/mem.h"
#include "base/record.h"
#include "machine/gpu/vendor.h"
#include "plan/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The run is made here and published when it is whole. */
static const char work_name[] = ".collecting";

enum { MACHINE_MAX = 1 << 24, FLUSH_EVERY = 64 };

struct collecting {
    int dir, work; /* the run's folder, and where it is made anew */
    struct store *store;
    struct collected *out;
    int64_t machines; /* machine.<n>.json written so far */
};

const char *collect_state_name(enum collect_state state)
{
    static const char *const names[] = {"waiting", "begun",   "interrupted",  "succeeded",
                                        "failed",  "damaged", "planned again"};
    return names[state];
}

bool collect_is_missing(enum collect_state state)
{
    return state != COLLECT_SUCCEEDED && state != COLLECT_FAILED;
}

void collected_fini(struct collected *collected)
{
    for (size_t i = 0; collected->items && i < collected->plan.count; i++) {
        free(collected->items[i].host);
        free(collected->items[i].why);
        free(collected->items[i].task_status);
    }
    EACH (node, collected->nodes, collected->node_count) {
        free(node->host);
        free(node->kind);
    }
    free(collected->items);
    free(collected->nodes);
    plan_fini(&collected->plan);
    *collected = (struct collected){0};
}

static void add_word(struct text *out, const char *word)
{
    if (word)
        text_addf(out, "%s%s", out->length ? ", " : "", word);
}

struct node_gpu {
    const char *name;
};

/* Of machine.json. */
struct node {
    const char *host, *cpu;
    struct node_gpu *gpus;
    size_t gpu_count;
};

static const struct record_field node_gpu_fields[] = {RECORD(struct node_gpu, name), {0}};
static const struct record_field node_fields[] = {
    RECORD(struct node, host),
    RECORD_AS(struct node, "cpu.model", cpu),
    RECORD_STRUCTS(struct node, "gpus", gpus, gpu_count, node_gpu_fields),
    {0}};

/* "NVIDIA H200, driver 580.1, AMD EPYC" */
static char *describe_machine(const struct node *node, const char *driver)
{
    struct text text = {0};
    EACH (gpu, node->gpus, node->gpu_count)
        add_word(&text, gpu->name);
    if (driver)
        text_addf(&text, "%sdriver %s", text.length ? ", " : "", driver);
    add_word(&text, node->cpu);
    return text_take(&text);
}

/* NULL: without a host. */
static char *count_node(struct collected *out, const json_t *machine)
{
    struct node found = {0};
    record_get(node_fields, machine, &found);
    AUTO_FREE char *kind = describe_machine(&found, gpu_vendor_driver_in(machine));
    record_free(node_fields, &found);
    if (!found.host)
        return NULL;
    EACH (node, out->nodes, out->node_count)
        if (strcmp(node->host, found.host) == 0 && strcmp(node->kind, kind) == 0) {
            node->experiments++;
            return mem_strdup(found.host);
        }
    MEM_ADD(out->nodes, out->node_count) = (struct collect_node){
        .host = mem_strdup(found.host), .kind = steal_ptr(kind), .experiments = 1};
    return mem_strdup(found.host);
}

static bool read_machine(int start, struct json_doc *doc, struct text *text)
{
    struct err ignored;
    text_clear(text);
    return start >= 0 && fs_read_at(start, "machine.json", MACHINE_MAX, text, &ignored) &&
           json_doc_parse("machine.json", text_get(text), text->length, doc, &ignored);
}

/* Kept as machine.<n>.json, the last one as machine.json. */
static bool keep_machine(struct collecting *collecting, int start, const struct text *text,
                         struct err *err)
{
    char name[40];
    if (collecting->machines > 0) {
        snprintf(name, sizeof name, "machine.%lld.json", (long long)collecting->machines);
        if (renameat(collecting->work, "machine.json", collecting->work, name) != 0)
            return err_sys(err, "rename machine.json");
    }
    collecting->machines++;
    return linkat(start, "machine.json", collecting->work, "machine.json", 0) == 0 ||
           fs_write_unsynced(collecting->work, "machine.json", text_get(text), text->length, err);
}

/* machine.json of the last start that looked around: who did it. */
static bool read_task_machine(struct collecting *collecting, size_t number, int last,
                              struct err *err)
{
    struct collect_item *item = &collecting->out->items[number - 1];
    for (int i = last; i > 0; i--) {
        AUTO_TEXT struct text text = {0};
        AUTO(json_doc_fini) struct json_doc doc = {0};
        AUTO_CLOSE int start = tasks_open_start(collecting->dir, number, i);
        if (!read_machine(start, &doc, &text))
            continue;
        item->host = count_node(collecting->out, doc.root);
        return keep_machine(collecting, start, &text, err);
    }
    return true;
}

static enum collect_state collect_state_of(const struct store_experiment *experiment)
{
    if (experiment->state == STATE_DONE && experiment->again &&
        experiment->outcome != OUTCOME_INTERRUPTED)
        return COLLECT_AGAIN;
    if (experiment->state == STATE_DONE)
        return experiment->outcome == OUTCOME_SUCCEEDED ? COLLECT_SUCCEEDED
               : experiment->outcome == OUTCOME_FAILED  ? COLLECT_FAILED
                                                        : COLLECT_CUT;
    return experiment->last.number > 0 && experiment->last.outcome == OUTCOME_INTERRUPTED
               ? COLLECT_CUT
               : COLLECT_BEGUN;
}

/* A symbolic link to the training's outputs, which stay where they were written: of the last start
 * that has them. An experiment that was done is not begun again by a later start. */
static bool link_outputs(const struct collecting *collecting, size_t number, int last,
                         const char *id, bool background, int to, struct err *err)
{
    const char *name = placeholder_folder(background);
    for (int i = last; i > 0; i--) {
        AUTO_CLOSE int start = tasks_open_start(collecting->dir, number, i);
        AUTO_CLOSE int folder = start < 0 ? -1 : fs_open_folder_beneath(start, id);
        AUTO_CLOSE int output = folder < 0 ? -1 : fs_open_folder_beneath(folder, name);
        if (output < 0)
            continue;
        AUTO_FREE char *target = mem_printf("../tasks/%04zu/%d/%s/%s", number, i, id, name);
        return symlinkat(target, to, name) == 0 || err_sys(err, "link %s", name);
    }
    return true;
}

static bool link_folder(struct collecting *collecting, size_t number, int start, int last,
                        const char *id, struct err *err)
{
    AUTO_CLOSE int from = fs_open_folder_beneath(start, id);
    if (from < 0)
        return errno == ENOENT || err_sys(err, "open %s", id);
    AUTO_CLOSE int to = fs_make_dir_at(collecting->work, id, 0777, err);
    if (to < 0 || !files_link_tree(from, to, err) ||
        !link_outputs(collecting, number, last, id, false, to, err) ||
        !link_outputs(collecting, number, last, id, true, to, err))
        return false;
    /* The store writes its own, which knows the number that the experiment has here. */
    return unlinkat(to, "experiment.json", 0) == 0 || errno == ENOENT ||
           err_sys(err, "remove experiment.json");
}

/* One that cannot be read must not keep the others from being seen. */
static void import_records(struct collecting *collecting, size_t number, int start,
                           const struct tasks_last *last)
{
    struct err why = {0};
    struct import_loss loss;
    struct collect_item *item = &collecting->out->items[number - 1];
    AUTO_FREE char *name = mem_printf("tasks/%04zu/%d", number, last->readable);
    const struct import_source source = {.dir = start, .name = name, .experiment = (int64_t)number};
    bool ok = store_import(collecting->store, &source, &loss, &why);
    item->state =
        ok ? collect_state_of(store_experiment(collecting->store, number)) : COLLECT_DAMAGED;
    if (!ok)
        item->why = mem_printf("%s: %s", name, why.text);
    else if (last->readable < last->start)
        item->why =
            mem_printf("the records of start %d are gone; what start %d had recorded was read",
                       last->start, last->readable);
    else if (loss.events > 0)
        item->why = mem_printf("%s: %s (%zu event%s lost)", name, loss.first.text, loss.events,
                               loss.events == 1 ? "" : "s");
    if (item->why && collect_is_missing(item->state))
        item->state = COLLECT_DAMAGED;
}

static bool collect_experiment(struct collecting *collecting, size_t number, struct err *err)
{
    struct tasks_last last;
    struct err why = {0};
    struct collect_item *item = &collecting->out->items[number - 1];
    const char *id = collecting->out->plan.experiments[number - 1].id;
    AUTO_CLOSE int start = tasks_open_last(collecting->dir, number, &last, &why);
    item->start = last.start;
    if (start < 0 && last.start == 0 && why.text[0] == '\0')
        return true;
    if (start < 0) {
        item->state = COLLECT_DAMAGED;
        item->why = mem_printf("tasks/%04zu: %s", number,
                               *why.text ? why.text : "no start has records any more");
        return true;
    }
    import_records(collecting, number, start, &last);
    if (!read_task_machine(collecting, number, last.start, err) ||
        !link_folder(collecting, number, start, last.start, id, err))
        return err_wrap(err, "%s", id);
    return number % FLUSH_EVERY != 0 || store_flush(collecting->store, err);
}

/* Of a folder whose old one may be full of links to the same files. */
static bool publish_folder(const struct collecting *collecting, const char *name, struct err *err)
{
    AUTO_FREE char *old = mem_printf(".old-%s", name);
    bool had = renameat(collecting->dir, name, collecting->work, old) == 0;
    if (!had && errno != ENOENT)
        return err_sys(err, "move %s", name);
    return renameat(collecting->work, name, collecting->dir, name) == 0 ||
           err_sys(err, "publish %s", name);
}

static bool publish_entry(const struct collecting *collecting, const struct dirent *entry,
                          bool folders, struct err *err)
{
    struct stat status;
    const char *name = entry->d_name;
    if (name[0] == '.' || strcmp(name, "run.lock") == 0 || strcmp(name, "run.db") == 0)
        return true;
    if (fstatat(collecting->work, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || err_sys(err, "look at %s", name);
    if (S_ISDIR(status.st_mode) != folders)
        return true;
    if (folders)
        return publish_folder(collecting, name, err);
    return renameat(collecting->work, name, collecting->dir, name) == 0 ||
           err_sys(err, "publish %s", name);
}

static bool publish_all(const struct collecting *collecting, bool folders, struct err *err)
{
    AUTO_DIR DIR *list = fs_list(collecting->work, ".");
    bool ok = list || err_sys(err, "read %s", work_name);
    for (struct dirent *entry; ok && list && (entry = readdir(list));)
        ok = publish_entry(collecting, entry, folders, err);
    return ok;
}

/* The journal comes last: once it exists, everything that it names does. */
static bool publish_collected(const struct collecting *collecting, struct err *err)
{
    /* All at once, not file by file. */
    if (syncfs(collecting->work) != 0)
        return err_sys(err, "sync %s", work_name);
    return publish_all(collecting, true, err) && publish_all(collecting, false, err) &&
           (renameat(collecting->work, "run.db", collecting->dir, "run.db") == 0 ||
            err_sys(err, "publish run.db")) &&
           (fsync(collecting->dir) == 0 || errno == EINVAL || err_sys(err, "fsync the folder"));
}

/* Writes summary.csv once for all. */
static void write_collected_results(struct collecting *collecting)
{
    for (size_t number = 1; number <= collecting->out->plan.count; number++) {
        const struct store_experiment *experiment = store_experiment(collecting->store, number);
        if (experiment->state == STATE_DONE || experiment->again)
            store_write_results(collecting->store, number, NULL, NULL);
    }
}

static bool make_collected_run(struct collecting *collecting, struct err *err)
{
    AUTO_TEXT struct text settings = {0}, registry = {0};
    struct store_head head = {.plan = &collecting->out->plan};
    if (!tasks_read_head(collecting->dir, &settings, &registry, &head, err))
        return false;
    head.scratch = true;
    collecting->store = store_create(collecting->work, work_name, &head, err);
    bool ok = collecting->store;
    for (size_t number = 1; ok && number <= collecting->out->plan.count; number++)
        ok = collect_experiment(collecting, number, err);
    if (ok)
        write_collected_results(collecting);
    if (collecting->store)
        ok = store_close(collecting->store, ok ? err : NULL) && ok;
    return ok;
}

static bool collect_locked(int dir, struct collected *out, struct err *err)
{
    fs_clear_unfinished(dir, false); /* an earlier collect may have been killed while it wrote */
    if (!files_remove_tree(dir, work_name, err))
        return false;
    AUTO_CLOSE int work = fs_make_dir_at(dir, work_name, 0777, err);
    struct collecting collecting = {.dir = dir, .work = work, .out = out};
    bool ok =
        work >= 0 && make_collected_run(&collecting, err) && publish_collected(&collecting, err);
    return files_remove_tree(dir, work_name, ok ? err : NULL) && ok;
}

static bool begin_collecting(int dir, const char *dir_path, struct collected *out, struct err *err)
{
    *out = (struct collected){0};
    if (!tasks_are_in(dir))
        return err_set(err, "%s: this run was not submitted: it holds no plan.json and no tasks",
                       dir_path);
    if (!tasks_read_plan(dir, &out->plan, err))
        return err_wrap(err, "%s", dir_path);
    out->items = mem_array(out->plan.count, sizeof *out->items);
    return true;
}

bool collect_run(int dir, const char *dir_path, struct collected *out, struct err *err)
{
    if (!begin_collecting(dir, dir_path, out, err))
        return false;
    AUTO_CLOSE int lock = lock_take(dir, dir_path, err);
    return lock >= 0 && (collect_locked(dir, out, err) || err_wrap(err, "%s", dir_path));
}

/* ---- Folders. */

enum { DEPTH_MAX = 16, PIECE = 1 << 16 };

static bool copy_bytes(int from, int to, struct err *err)
{
    char bytes[PIECE];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read");
        if (!fs_write_all(to, bytes, (size_t)got, err))
            return false;
    }
    return true;
}

static bool copy_new_file(int from, int to, const char *name, struct err *err)
{
    AUTO_CLOSE int in = fs_open_at(from, name, err);
    if (in < 0)
        return false;
    AUTO_CLOSE int out = fs_open_beneath(to, name, O_WRONLY | O_CREAT | O_EXCL, 0664);
    if (out < 0)
        return err_sys(err, "make %s", name);
    return copy_bytes(in, out, err) || err_wrap(err, "copy %s", name);
}

static bool link_file(int from, int to, const char *name, struct err *err)
{
    if (linkat(from, name, to, name, 0) == 0 || errno == EEXIST)
        return true;
    bool unlinkable =
        errno == EPERM || errno == EXDEV || errno == EMLINK || errno == ENOTSUP || errno == ENOSYS;
    if (errno == ENOENT)
        return true; /* renamed or removed meanwhile: its writer lives */
    return unlinkable ? copy_new_file(from, to, name, err) : err_sys(err, "link %s", name);
}

static bool link_all(int from, int to, int depth, struct err *err);

static bool link_subfolder(int from, int to, const char *name, int depth, struct err *err)
{
    AUTO_CLOSE int below = fs_open_folder_beneath(from, name);
    if (below < 0)
        return errno == ENOENT || err_sys(err, "open %s", name);
    AUTO_CLOSE int made = fs_make_dir_at(to, name, 0777, err);
    return made >= 0 && (link_all(below, made, depth + 1, err) || err_wrap(err, "%s", name));
}

/* Outputs of a training may be large and deep, and hold links. They are in an experiment's folder,
 * and in those of its earlier attempts. */
static bool is_output(const char *name, int depth)
{
    return depth <= 1 && (strcmp(name, placeholder_folder(false)) == 0 ||
                          strcmp(name, placeholder_folder(true)) == 0);
}

static bool link_all(int from, int to, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return err_set(err, "folders are more than %d deep", DEPTH_MAX);
    AUTO_DIR DIR *dir = fs_list(from, ".");
    if (!dir)
        return err_sys(err, "read a folder");
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat status;
        const char *name = entry->d_name;
        if (name[0] == '.' || fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode) && !link_file(from, to, name, err))
            return false;
        if (S_ISDIR(status.st_mode) && !is_output(name, depth) &&
            !link_subfolder(from, to, name, depth, err))
            return false;
    }
    return true;
}

bool files_link_tree(int from, int to, struct err *err)
{
    return link_all(from, to, 0, err);
}

static bool remove_below(int dir, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return err_set(err, "folders are more than %d deep", DEPTH_MAX);
    AUTO_DIR DIR *open_dir = fs_list(dir, ".");
    if (!open_dir)
        return err_sys(err, "read a folder");
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(dir, name, 0) == 0 ||
            errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return err_sys(err, "remove %s", name);
        AUTO_CLOSE int below = fs_open_folder_beneath(dir, name);
        if (below < 0)
            return err_sys(err, "open %s", name);
        if (!remove_below(below, depth + 1, err))
            return err_wrap(err, "%s", name);
        if (unlinkat(dir, name, AT_REMOVEDIR) != 0)
            return err_sys(err, "remove %s", name);
    }
    return true;
}

bool files_remove_tree(int dir, const char *name, struct err *err)
{
    AUTO_CLOSE int below = fs_open_folder_beneath(dir, name);
    if (below < 0)
        return errno == ENOENT || err_sys(err, "open %s", name);
    if (!remove_below(below, 0, err))
        return err_wrap(err, "%s", name);
    return unlinkat(dir, name, AT_REMOVEDIR) == 0 || err_sys(err, "remove %s", name);
}
