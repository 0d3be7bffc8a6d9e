/* What was found, for people: where, the layers of memory, the cause, what would help. */
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"
#include "gpu_memory/oom/size.h"
#include "report/oom.h"
#include "report/oom_snapshot.h"
#include "results/store/experiment_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* What "oom" is given: logs, and what an experiment's folder knows besides. */

static const char log_name[] = "training.log";

static struct oom_log *add_oom_log(struct oom_logs *logs, char *name)
{
    logs->items = mem_room(logs->items, logs->count, sizeof *logs->items);
    struct oom_log *log = &logs->items[logs->count++];
    memset(log, 0, sizeof *log);
    log->name = name;
    return log;
}

static bool read_oom_log(int fd, struct oom_log *log, struct err *err)
{
    char buffer[65536];
    struct oom_finder *finder = oom_finder_new(oom_list_add, &log->list);
    ssize_t count;
    while ((count = read(fd, buffer, sizeof buffer)) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;
        oom_finder_take(finder, buffer, (size_t)count);
    }
    if (count < 0)
        err_sys(err, "read %s", log->name);
    oom_finder_end(finder);
    log->lines = oom_finder_lines(finder);
    oom_finder_free(finder);
    return count == 0;
}

/* A memory snapshot of the failure shows growth within an epoch. */
static void read_step_growth(int folder, struct oom_log *log)
{
    struct oom_steps steps;
    if (log->growth.grows || !oom_snapshot_steps(folder, &steps))
        return;
    log->growth = (struct growth){.epochs = steps.spans,
                                  .of_steps = true,
                                  .grows = true,
                                  .bytes_per_epoch = steps.bytes_per_span,
                                  .first_bytes = steps.first_bytes,
                                  .last_bytes = steps.last_bytes};
    log->has_growth = true;
}

/* By the peaks of the epochs, from the first on; of the name that has most of them. */
static void read_growth(const struct experiment_file *file, struct oom_log *log)
{
    AUTO_FREE double *peaks = mem_array(file->epoch_count + 1, sizeof *peaks);
    size_t count = 0;
    EACH (epoch, file->epochs, file->epoch_count)
        if ((!epoch->part || strcmp(epoch->part, "epoch") == 0) && epoch->gpu_mem_peak_mib.valid)
            peaks[count++] = epoch->gpu_mem_peak_mib.value * 1048576;
    log->growth = growth_of(peaks, count, 0);
    log->has_growth = count > 0;
}

/* What an experiment's folder says of the attempt (0: of the last one); nothing where it cannot be
 * read. */
static void read_circumstances(int folder, int64_t attempt, struct oom_log *log)
{
    AUTO(experiment_file_fini) struct experiment_file file;
    if (!experiment_file_read(folder, &file))
        return;
    size_t count = file.attempt_count, place = attempt > 0 ? (size_t)attempt : count;
    const struct experiment_oom *oom =
        place >= 1 && place <= count ? &file.attempts[place - 1].oom : NULL;
    log->batch_size = file.batch_size;
    log->expandable =
        oom && oom->has_setting ? oom_expandable(oom->allocator_setting) : OOM_SETTING_UNKNOWN;
    if (place == count)
        read_growth(&file, log);
}

/* False: there is no log of this name. */
static bool read_attempt_log(int folder, int circumstances, int64_t attempt, char *name,
                             struct oom_logs *logs)
{
    AUTO_FREE char *owned = name;
    struct stat status;
    AUTO_CLOSE int fd = openat(folder, log_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    struct oom_log *log = add_oom_log(logs, steal_ptr(owned));
    read_circumstances(circumstances, attempt, log);
    bool good = read_oom_log(fd, log, NULL);
    if (log->list.found > 0)
        read_step_growth(folder, log);
    return good;
}

static int open_folder_at(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* In the order of the attempts: those before the last are in attempt_<k>. */
static void read_experiment_logs(int folder, const char *path, struct oom_logs *logs)
{
    char name[40];
    for (int64_t attempt = 1; attempt < 1000; attempt++) {
        snprintf(name, sizeof name, "attempt_%lld", (long long)attempt);
        AUTO_CLOSE int earlier = open_folder_at(folder, name);
        if (earlier < 0 && attempt > 1)
            break;
        if (earlier >= 0)
            read_attempt_log(earlier, folder, attempt, mem_printf("%s/%s/%s", path, name, log_name),
                             logs);
    }
    read_attempt_log(folder, folder, 0, mem_printf("%s/%s", path, log_name), logs);
}

static int compare_dirent_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool read_run(int folder, const char *path, struct oom_logs *logs, struct err *err)
{
    struct dirent **entries = NULL;
    int count = scandirat(folder, ".", &entries, not_hidden, compare_dirent_names);
    if (count < 0)
        return err_sys(err, "read the folder %s", path);
    for (int i = 0; i < count; i++) {
        AUTO_CLOSE int inside = open_folder_at(folder, entries[i]->d_name);
        AUTO_FREE char *inner = mem_printf("%s/%s", path, entries[i]->d_name);
        free(entries[i]);
        if (inside >= 0)
            read_experiment_logs(inside, inner, logs);
    }
    free(entries);
    return logs->count > 0 ||
           err_set(err, "%s holds no %s: it is neither an experiment's folder nor a run's", path,
                   log_name);
}

static bool read_log_folder(int folder, const char *given, struct oom_logs *logs, struct err *err)
{
    AUTO_FREE char *path = mem_strdup(given);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    read_experiment_logs(folder, path, logs);
    return logs->count > 0 || read_run(folder, path, logs, err);
}

bool oom_logs_read(const char *given, struct oom_logs *out, struct err *err)
{
    struct stat status;
    *out = (struct oom_logs){0};
    if (strcmp(given, "-") == 0)
        return read_oom_log(STDIN_FILENO, add_oom_log(out, mem_strdup("standard input")), err);
    AUTO_CLOSE int fd = open(given, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_sys(err, "open %s", given);
    if (S_ISDIR(status.st_mode))
        return read_log_folder(fd, given, out, err);
    return read_oom_log(fd, add_oom_log(out, mem_strdup(given)), err);
}

void oom_logs_fini(struct oom_logs *logs)
{
    EACH (item, logs->items, logs->count) {
        free(item->name);
        oom_list_fini(&item->list);
    }
    free(logs->items);
    *logs = (struct oom_logs){0};
}

uint64_t oom_logs_found(const struct oom_logs *logs)
{
    uint64_t found = 0;
    EACH (item, logs->items, logs->count)
        found += item->list.found;
    return found;
}

static json_t *oom_log_json(const struct oom_log *log)
{
    json_t *messages = json_array();
    const struct oom_circumstances known = {.expandable = log->expandable,
                                            .growth = log->has_growth ? &log->growth : NULL,
                                            .batch_size = log->batch_size};
    EACH (item, log->list.items, log->list.count) {
        struct oom_diagnosis diagnosis;
        oom_diagnose(item, &known, &diagnosis);
        json_array_append_new(messages, oom_message_json(item, &diagnosis));
        oom_diagnosis_fini(&diagnosis);
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o}", "log", json_text_or_null(log->name), "lines",
                     (json_int_t)log->lines, "found", (json_int_t)log->list.found, "left_out",
                     (json_int_t)log->list.left_out, "messages", messages);
}

json_t *oom_json(const struct oom_logs *logs)
{
    json_t *list = json_array();
    EACH (item, logs->items, logs->count)
        json_array_append_new(list, oom_log_json(item));
    return json_pack("{s:I, s:o}", "found", (json_int_t)oom_logs_found(logs), "logs", list);
}

enum { NAME_COLUMNS = 38, PROCESSES_SHOWN = 10, NAME_MAX_COLUMNS = 4096 };

static void add_layer(struct text *out, int depth, const char *name, struct oom_size size)
{
    AUTO_TEXT struct text shown = {0};
    if (!size.valid)
        return;
    oom_size_add_text(size, &shown);
    text_addf(out, "  %*s%-*s %14s\n", 2 * depth, "", NAME_COLUMNS - 2 * depth, name,
              text_get(&shown));
}

static void add_process_layers(const struct oom *message, const struct oom_diagnosis *diagnosis,
                               struct text *out)
{
    size_t shown = 0;
    EACH (process, message->processes, message->process_count) {
        AUTO_FREE char *name = mem_printf("process %lld", (long long)process->pid);
        if (process->pid != diagnosis->own_pid && shown++ < PROCESSES_SHOWN)
            add_layer(out, 2, name, process->memory);
    }
    if (shown > PROCESSES_SHOWN)
        text_addf(out, "      and %zu more\n", shown - PROCESSES_SHOWN);
}

static void add_layers(const struct oom *message, const struct oom_diagnosis *diagnosis,
                       struct text *out)
{
    const struct oom_size *of = message->of;
    bool others = diagnosis->others.valid && diagnosis->others.bytes > 0;
    add_layer(out, 0, "asked for", of[OOM_REQUESTED]);
    add_layer(out, 0, "the GPU has", of[OOM_TOTAL]);
    add_layer(out, 1, "free", of[OOM_FREE]);
    add_layer(out, 1, "this process", diagnosis->own);
    add_layer(out, 2, "allocated by tensors", of[OOM_ALLOCATED]);
    add_layer(out, 3, "of that in private pools", of[OOM_PRIVATE]);
    add_layer(out, 2, "reserved, in no tensor", diagnosis->unallocated);
    if (!of[OOM_ALLOCATED].valid)
        add_layer(out, 2, "reserved", diagnosis->reserved);
    add_layer(out, 2, "not the framework's", diagnosis->outside);
    if (others) {
        add_layer(out, 1, "other processes", diagnosis->others);
        add_process_layers(message, diagnosis, out);
    }
    if (diagnosis->unlisted.valid && diagnosis->unlisted.low > 0)
        add_layer(out, 1, "in use, of no listed process", diagnosis->unlisted);
    add_layer(out, 0, "the program may have", of[OOM_ALLOWED]);
}

/* A name, then wrapped text in a column of its own. */
static void add_headed_words(struct text *out, const char *head, const char *words, size_t indent,
                             size_t width)
{
    AUTO_TEXT struct text body = {0};
    text_wrap(&body, words, indent, width);
    size_t length = strlen(head);
    text_add(out, head);
    text_add(out, text_get(&body) + (length < indent ? length : indent));
}

static void add_remedies(const struct oom_diagnosis *diagnosis, size_t width, struct text *out)
{
    bool mixed = diagnosis->remedy_count > 1 && !diagnosis->expandable_on;
    text_add(out, "\nWhat would help, in this order:\n");
    if (diagnosis->cause == OOM_CAUSE_FRAGMENTATION && mixed)
        text_wrap(
            out,
            "(Settings change no result, so they come first. Lowering the peak helps as well, "
            "but costs time or changes results.)",
            2, width);
    for (size_t i = 0; i < diagnosis->remedy_count; i++) {
        const struct oom_remedy *remedy = &diagnosis->remedies[i];
        char head[32];
        snprintf(head, sizeof head, "%3zu. ", i + 1);
        add_headed_words(out, head, remedy->what, 5, width);
        add_headed_words(out, "     Effect: ", remedy->effect, 13, width);
        add_headed_words(out, "     Cost:   ", remedy->cost, 13, width);
    }
}

static void add_message_head(const struct oom_log *log, const struct oom *message, struct text *out)
{
    utf8_fit(log->name, NAME_MAX_COLUMNS, out);
    text_addf(out, ":%llu: %s", (unsigned long long)message->line,
              oom_framework_name(message->framework));
    if (message->gpu >= 0)
        text_addf(out, ", GPU %lld", (long long)message->gpu);
    if (message->source[0])
        text_addf(out, ", %s", message->source);
    if (message->shape[0])
        text_addf(out, ", tensor %s", message->shape);
    if (message->repeats > 0)
        text_addf(out, " (%llu times the same)", (unsigned long long)message->repeats + 1);
    if (message->went_on && message->went_on_batch > 0)
        text_addf(out, " (caught; went on with batch %lld)", (long long)message->went_on_batch);
    else if (message->went_on)
        text_add(out, " (caught; the training went on)");
    text_add_char(out, '\n');
}

static void add_traceback_place(const struct oom_place *place, size_t width, struct text *out)
{
    AUTO_FREE char *line =
        place->line < 0 ? mem_strdup("") : mem_printf(":%lld", (long long)place->line);
    AUTO_FREE char *words = mem_printf("%s%s%s%s", place->file, line,
                                       place->function[0] ? " in " : "", place->function);
    text_add(out, "Place: ");
    utf8_fit(words, width - strlen("Place: "), out);
    text_add_char(out, '\n');
}

/* causes: those whose remedies stand above already. */
static void add_message(const struct oom_log *log, const struct oom *message, size_t width,
                        uint64_t *causes, struct text *out)
{
    const struct oom_circumstances known = {.expandable = log->expandable,
                                            .growth = log->has_growth ? &log->growth : NULL,
                                            .batch_size = log->batch_size};
    struct oom_diagnosis diagnosis;
    AUTO_TEXT struct text quoted = {0};
    oom_diagnose(message, &known, &diagnosis);
    add_message_head(log, message, out);
    text_add(&quoted, "  ");
    utf8_fit(message->text, width - 2, &quoted);
    text_addf(out, "%s\n\n", text_get(&quoted));
    size_t before = out->length;
    add_layers(message, &diagnosis, out);
    if (out->length > before)
        text_add_char(out, '\n');
    if (message->place.file[0])
        add_traceback_place(&message->place, width, out);
    bool sure = diagnosis.sure || diagnosis.cause == OOM_CAUSE_UNKNOWN;
    AUTO_FREE char *cause =
        mem_printf("%s%s", oom_cause_text(diagnosis.cause), sure ? "" : " (probably)");
    add_headed_words(out, "Cause: ", cause, strlen("Cause: "), width);
    EACH (item, diagnosis.reasons.items, diagnosis.reasons.count)
        add_headed_words(out, "  - ", *item, 4, width);
    bool told = *causes >> diagnosis.cause & 1U;
    if (diagnosis.remedy_count > 0 && told)
        text_add(out, "\nWhat would help: as above, for the same cause.\n");
    else if (diagnosis.remedy_count > 0)
        add_remedies(&diagnosis, width, out);
    *causes |= UINT64_C(1) << diagnosis.cause;
    oom_diagnosis_fini(&diagnosis);
}

void oom_text(const struct oom_logs *logs, size_t width, struct text *out)
{
    uint64_t causes = 0;
    bool any = false;
    EACH (log, logs->items, logs->count) {
        for (size_t k = 0; k < log->list.count; k++) {
            text_add(out, any ? "\n" : "");
            add_message(log, &log->list.items[k], width, &causes, out);
            any = true;
        }
        if (log->list.left_out > 0) {
            text_add_char(out, '\n');
            utf8_fit(log->name, NAME_MAX_COLUMNS, out);
            text_addf(out, ": and %llu more messages\n", (unsigned long long)log->list.left_out);
        }
    }
}
