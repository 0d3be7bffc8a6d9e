#include "results/store/summary.h"
#include "results/store/db.h"
#include "results/store/energy.h"
#include "results/store/energy_record.h"
#include "results/store/experiment_json.h"
#include "results/store/memory.h"
#include "results/store/results.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/gpu/readings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[SUMMARY_FILES] = {[SUMMARY_ALL] = "summary.csv",
                                                 [SUMMARY_SAFE] = "summary_safe.csv",
                                                 [SUMMARY_AFFECTED] = "summary_affected.csv"};

/* So many are in memory at a time while the files are made anew. */
enum { CHUNK = 256 };

/* Making the files anew may take this share of the time. */
static const int64_t SHARE = 100;

static const double BYTES_PER_MIB = 1048576;

/* The study's columns before its hyperparam_*, perf_* and energies; tare's own, before and after
 * the verdict. */
static const char first_columns[] =
    "experiment_id,timestamp,repository,model,training_success,duration_seconds,retries";
static const char own_columns[] = ",mode,outcome,exit_code,attempt,gpu_mem_peak_mib";
static const char later_columns[] = ",error,failure,changed,energy_gpu_net_joules"
                                    ",energy_gpu_net_half_width_joules,utc_offset,energy_gpu_half_"
                                    "width_joules,gpu_mem_peak_how,verdict_time"
                                    ",verdict_energy,verdict_metric,checks";
static const char last_columns[] = ",gpu_mem_peak_of,gpu_mem_pair_peak_mib"; /* behind best_* */

/* What struct result does not say. */
struct extra {
    int64_t attempt; /* whose figures the row has */
    bool has_duration;
    bool has_exit_code;
    int64_t exit_code;
    json_t *energy; /* of the last attempt; NULL: nothing was measured */
    json_t *memory; /* of the same attempt; NULL: nothing was recorded */
};

static void add_column(struct summary *out, const struct registry_metric *metric)
{
    strv_add_once(&out->metrics, metric->name);
    if (out->plan->has_best && goal_of(metric->goal, metric->name) != GOAL_UNKNOWN)
        strv_add_once(&out->best, metric->name);
}

/* Of the whole plan, ended or not: these columns stay the same from the first row to the last. */
static void collect_columns(const struct plan *plan, struct summary *out)
{
    EACH (experiment, plan->experiments, plan->count) {
        const struct plan_job *job = &experiment->foreground;
        EACH (param, job->params, job->param_count)
            strv_add_once(&out->params, param->name);
        EACH (metric, job->metrics, job->metric_count)
            if (!plan_metric_is_guess(job, metric))
                add_column(out, metric);
    }
    strv_sort(&out->params);
    strv_sort(&out->metrics);
    strv_sort(&out->best);
}

static void add_found(struct summary *out, const char *name)
{
    EACH (experiment, out->plan->experiments, out->plan->count)
        EACH (metric, experiment->foreground.metrics, experiment->foreground.metric_count)
            if (strcmp(metric->name, name) == 0) {
                add_column(out, metric);
                return;
            }
}

/* Guessed metrics have columns once a log had them. number: of the experiment; 0: of all. */
static bool find_columns(struct summary *out, sqlite3 *db, size_t number, bool *more,
                         struct err *err)
{
    size_t before = out->metrics.count;
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT DISTINCT name FROM experiment_metrics WHERE (?1 = 0 OR experiment = ?1)"
                 " AND coalesce(special, value) IS NOT NULL",
                 "i", (int64_t)number);
    while (db_next(&query, err))
        if (!strv_has(&out->metrics, db_text(query, 0)))
            add_found(out, db_text(query, 0));
    *more = out->metrics.count > before;
    if (*more) {
        strv_sort(&out->metrics);
        strv_sort(&out->best);
    }
    return query != NULL;
}

static void add_names(struct text *out, const char *kind, const struct strv *names_of)
{
    EACH (item, names_of->items, names_of->count) {
        AUTO_FREE char *name = mem_printf("%s_%s", kind, *item);
        csv_add_next(out, name);
    }
}

/* The parts of a line: the verdict's place differs between the files. */
struct line {
    struct text study, own, later; /* each cell of own and later with a comma before it */
    char *verdict, *reason;
    const char *consistency; /* NULL: known only when all experiments have ended */
};

static void line_fini(struct line *line)
{
    text_fini(&line->study);
    text_fini(&line->own);
    text_fini(&line->later);
    free(line->verdict);
    free(line->reason);
}

/* summary.csv has the verdict among tare's columns; in the other files it follows the study's. */
static void add_line(struct text *out, const struct line *line, size_t file)
{
    text_add(out, text_get(&line->study));
    if (file != SUMMARY_ALL)
        csv_add_next(out, line->verdict);
    if (file == SUMMARY_SAFE)
        csv_add_next(out, line->consistency);
    if (file == SUMMARY_AFFECTED)
        csv_add_next(out, line->reason);
    text_add(out, text_get(&line->own));
    if (file == SUMMARY_ALL)
        csv_add_next(out, line->verdict);
    text_add(out, text_get(&line->later));
    text_add_char(out, '\n');
}

static void make_header(struct line *line, const struct summary *columns)
{
    text_add(&line->study, first_columns);
    add_names(&line->study, "hyperparam", &columns->params);
    add_names(&line->study, "perf", &columns->metrics);
    for (size_t i = 0; i < ENERGY_COLUMNS; i++)
        text_addf(&line->study, ",%s", energy_column(i));
    text_add(&line->own, own_columns);
    text_add(&line->later, later_columns);
    add_names(&line->later, "best", &columns->best);
    text_add(&line->later, last_columns);
    line->verdict = mem_strdup("verdict");
    line->reason = mem_strdup("reason");
    line->consistency = "consistency";
}

static void add_param(struct text *out, const struct plan_job *job, const char *name)
{
    EACH (param, job->params, job->param_count) {
        if (strcmp(param->name, name) != 0)
            continue;
        AUTO_FREE char *value = value_format(&param->value);
        csv_add_next(out, value);
        return;
    }
    csv_add_next(out, NULL);
}

static void add_metric(struct text *out, const struct result *item, const char *name, bool best)
{
    EACH (entry, item->metrics, item->metric_count)
        if (strcmp(entry->name, name) == 0) {
            const struct result_metric *metric = entry;
            csv_add_reading(out,
                            best ? metric->best : (struct reading){metric->value, metric->valid});
            return;
        }
    csv_add_next(out, NULL);
}

static void add_mib(struct text *out, struct reading bytes)
{
    csv_add_reading(out, (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid});
}

static char *reason_of(const struct result *item)
{
    AUTO_TEXT struct text reason = {0};
    EACH (entry, item->evidence, item->evidence_count)
        evidence_add_reason(&reason, entry->kind, entry->text);
    if (reason.length == 0)
        checks_add_reason(&reason, item->checks, item->check_count);
    return text_take(&reason);
}

static void add_study_cells(struct text *out, const struct plan_job *job, const struct result *item,
                            const struct extra *extra, const struct energy_record *energy,
                            const char *time, const char *id, const struct summary *columns)
{
    csv_add_cell(out, id);
    csv_add_next(out, time);
    csv_add_next(out, job->repo);
    csv_add_next(out, job->model);
    csv_add_next(out, item->outcome == OUTCOME_SUCCEEDED ? "True" : "False");
    csv_add_reading(out, (struct reading){item->duration_s, extra->has_duration});
    text_addf(out, ",%lld", (long long)item->retries);
    EACH (entry, columns->params.items, columns->params.count)
        add_param(out, job, *entry);
    EACH (row, columns->metrics.items, columns->metrics.count)
        add_metric(out, item, *row, false);
    for (size_t i = 0; i < ENERGY_COLUMNS; i++)
        csv_add_reading(out, energy_figure(energy, i));
}

static void make_row(struct line *line, const struct plan_experiment *experiment,
                     const struct result *item, const struct extra *extra,
                     const struct summary *columns)
{
    const struct plan_job *job = &experiment->foreground;
    struct text *out = &line->own;
    char time[40] = "", offset[16] = "";
    AUTO(energy_record_fini) struct energy_record energy;
    energy_record_read(extra->energy, &energy);
    if (item->has_utc_offset) {
        clock_format_iso_at(item->ended_realtime_ns, item->utc_offset_s, time);
        clock_format_offset(item->utc_offset_s, offset);
    } else {
        clock_format_iso(item->ended_realtime_ns, time);
    }
    add_study_cells(&line->study, job, item, extra, &energy, time, experiment->id, columns);
    csv_add_next(out, experiment->parallel ? mode_name(MODE_PARALLEL) : mode_name(job->mode));
    csv_add_next(out, outcome_name(item->outcome));
    text_add_char(out, ',');
    if (extra->has_exit_code)
        text_addf(out, "%lld", (long long)extra->exit_code);
    text_addf(out, ",%lld", (long long)extra->attempt);
    struct memory_peak memory = memory_peak(extra->memory, extra->energy, experiment->parallel);
    add_mib(out, memory.bytes);
    line->verdict = item->verdict == VERDICT_NONE ? NULL : mem_strdup(verdict_name(item->verdict));
    line->reason = verdict_is_safe(item->verdict) ? NULL : reason_of(item);
    out = &line->later;
    csv_add_next(out, item->error);
    csv_add_next(out, item->failure);
    csv_add_next(out, item->changed);
    struct reading net = energy.gpu.net_j;
    csv_add_reading(out, net);
    csv_add_reading(out, net.valid ? energy.gpu.net_half_width_j : net);
    csv_add_next(out, offset);
    csv_add_reading(out, energy.gpu.half_width_j);
    csv_add_next(out, memory.how);
    for (unsigned i = 0; i < QUANTITIES; i++)
        csv_add_next(
            out, item->verdicts.of[i] == VERDICT_NONE ? NULL : verdict_name(item->verdicts.of[i]));
    AUTO_FREE char *checks =
        item->checks ? checks_compact(item->checks, item->check_count) : mem_strdup("not_recorded");
    csv_add_next(out, checks);
    EACH (entry, columns->best.items, columns->best.count)
        add_metric(out, item, *entry, true);
    csv_add_next(out, memory.of);
    add_mib(out, memory.pair_bytes);
}

/* Of the experiments numbered first to first + count - 1. */
static bool load_extras(sqlite3 *db, size_t first, size_t count, struct extra *extras,
                        struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT e.number, coalesce(e.result_attempt, e.attempts), e.duration_s, a.exit_code, "
        "a.energy,"
        " m.memory FROM experiments e LEFT JOIN attempts a ON a.experiment = e.number AND a.number "
        "="
        " coalesce(e.result_attempt, e.attempts) LEFT JOIN attempt_memory m ON m.experiment = "
        "e.number AND"
        " m.attempt = coalesce(e.result_attempt, e.attempts) WHERE e.number BETWEEN ? AND ?",
        "ii", (int64_t)first, (int64_t)first + (int64_t)count - 1);
    while (db_next(&query, err)) {
        int64_t place = sqlite3_column_int64(query, 0) - (int64_t)first;
        if (place >= 0 && (uint64_t)place < count)
            extras[place] = (struct extra){.attempt = sqlite3_column_int64(query, 1),
                                           .has_duration = !db_is_null(query, 2),
                                           .has_exit_code = !db_is_null(query, 3),
                                           .exit_code = sqlite3_column_int64(query, 3),
                                           .energy = db_json(query, 4),
                                           .memory = db_json(query, 5)};
    }
    return query != NULL;
}

/* Rows on their way into the files, and what the files are long before them. */
struct rows {
    struct text text[SUMMARY_FILES];
    off_t length[SUMMARY_FILES];
};

static void rows_fini(struct rows *rows)
{
    EACH (item, rows->text, SUMMARY_FILES)
        text_fini(item);
}

/* The rows of the experiments numbered first to first + count - 1, of those that have one. */
static bool add_rows(struct summary *summary, sqlite3 *db, size_t first, size_t count,
                     struct rows *rows, struct err *err)
{
    struct result *items = NULL;
    struct extra *extras = mem_array(count, sizeof *extras);
    bool ok = load_extras(db, first, count, extras, err) &&
              result_items_load(db, summary->plan, first, count, &items, err);
    for (size_t i = 0; ok && i < count; i++) {
        const struct result *item = &items[i];
        /* The row of an experiment that is being done again is that of its result before. */
        if (item->outcome != OUTCOME_SUCCEEDED && item->outcome != OUTCOME_FAILED)
            continue;
        summary->has[item->number - 1] = true;
        summary->stale = summary->stale || item->number < summary->last;
        summary->last = item->number > summary->last ? item->number : summary->last;
        AUTO(line_fini) struct line line = {0};
        make_row(&line, &summary->plan->experiments[first - 1 + i], item, &extras[i], summary);
        size_t other = verdict_is_safe(item->verdict) ? SUMMARY_SAFE : SUMMARY_AFFECTED;
        add_line(&rows->text[SUMMARY_ALL], &line, SUMMARY_ALL);
        add_line(&rows->text[other], &line, other);
    }
    result_items_free(items, count);
    EACH (entry, extras, count) {
        json_decref(entry->energy);
        json_decref(entry->memory);
    }
    free(extras);
    return ok;
}

void summary_init(struct summary *summary, int dir, const struct plan *plan, bool scratch)
{
    *summary = (struct summary){.dir = dir,
                                .plan = plan,
                                .scratch = scratch,
                                .fd = {-1, -1, -1},
                                .has = mem_array(plan->count + 1, sizeof *summary->has)};
    collect_columns(plan, summary);
}

static void close_files(struct summary *summary)
{
    EACH (item, summary->fd, SUMMARY_FILES)
        if (*item >= 0)
            close(steal_fd(item));
}

void summary_fini(struct summary *summary)
{
    close_files(summary);
    strv_fini(&summary->params);
    strv_fini(&summary->metrics);
    strv_fini(&summary->best);
    free(steal_ptr(summary->has));
}

/* Writes and forgets the bytes of rows. */
static bool write_out(const int fds[SUMMARY_FILES], SHA2_CTX states[SUMMARY_FILES],
                      struct rows *rows, struct err *err)
{
    for (size_t i = 0; i < SUMMARY_FILES; i++) {
        struct text *text = &rows->text[i];
        if (!fs_write_all(fds[i], text_get(text), text->length, err))
            return err_wrap(err, "write %s", names[i]);
        digest_add(&states[i], text_get(text), text->length);
        rows->length[i] += (off_t)text->length;
        text_clear(text);
    }
    return true;
}

/* Whether the file of that name holds these bytes already, and may be kept. */
static bool holds_same(int dir, const char *name, int fd, off_t size)
{
    struct stat status;
    AUTO_CLOSE int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size == size && files_same_bytes(file, fd, size);
}

/* Under its name, unless what is there is the same; opened for appending. */
static int publish(const struct summary *summary, struct fs_unfinished *file, const char *name,
                   off_t size, struct err *err)
{
    bool same = holds_same(summary->dir, name, file->fd, size);
    if (same)
        fs_unfinished_drop(file);
    else if (!fs_unfinished_publish(file, name, !summary->scratch, err))
        return -1;
    int fd = openat(summary->dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        err_sys(err, "open it");
    return fd;
}

static bool make_files(struct summary *summary, sqlite3 *db,
                       struct fs_unfinished files[SUMMARY_FILES], struct err *err)
{
    AUTO(rows_fini) struct rows rows = {0};
    AUTO(line_fini) struct line header = {0};
    make_header(&header, summary);
    for (size_t i = 0; i < SUMMARY_FILES; i++) {
        add_line(&rows.text[i], &header, i);
        SHA256Init(&summary->state[i]);
        if (!fs_unfinished_begin(summary->dir, &files[i], err))
            return err_wrap(err, "write %s", names[i]);
    }
    const int fds[SUMMARY_FILES] = {files[SUMMARY_ALL].fd, files[SUMMARY_SAFE].fd,
                                    files[SUMMARY_AFFECTED].fd};
    for (size_t first = 1; first <= summary->plan->count; first += CHUNK) {
        size_t left = summary->plan->count - first + 1;
        if (!add_rows(summary, db, first, left < CHUNK ? left : CHUNK, &rows, err) ||
            !write_out(fds, summary->state, &rows, err))
            return false;
    }
    for (size_t i = 0; i < SUMMARY_FILES; i++) {
        summary->size[i] = rows.length[i];
        summary->fd[i] = publish(summary, &files[i], names[i], rows.length[i], err);
        if (summary->fd[i] < 0)
            return err_wrap(err, "write %s", names[i]);
    }
    return true;
}

/* All files anew, whole: who reads them meanwhile sees those before. */
bool summary_remake(struct summary *summary, sqlite3 *db, struct err *err)
{
    struct fs_unfinished files[SUMMARY_FILES] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
    int64_t from_ns = clock_monotonic_ns();
    close_files(summary);
    memset(summary->has, 0, summary->plan->count * sizeof *summary->has);
    summary->last = 0;
    strv_fini(&summary->metrics);
    strv_fini(&summary->best);
    collect_columns(summary->plan, summary);
    bool more, ok = find_columns(summary, db, 0, &more, err) && make_files(summary, db, files, err);
    EACH (file, files, SUMMARY_FILES)
        fs_unfinished_drop(file);
    if (!ok)
        close_files(summary);
    summary->made_ns = clock_monotonic_ns();
    summary->took_ns = summary->made_ns - from_ns;
    summary->stale = false;
    return ok;
}

/* Whether the files are still those that were written, of the length that they were given. */
static bool are_ours(const struct summary *summary)
{
    for (size_t i = 0; i < SUMMARY_FILES; i++) {
        struct stat named, opened;
        if (summary->fd[i] < 0 ||
            fstatat(summary->dir, names[i], &named, AT_SYMLINK_NOFOLLOW) != 0 ||
            fstat(summary->fd[i], &opened) != 0 || named.st_ino != opened.st_ino ||
            named.st_dev != opened.st_dev || opened.st_size != summary->size[i])
            return false;
    }
    return true;
}

static bool append(struct summary *summary, struct rows *rows, struct err *err)
{
    memcpy(rows->length, summary->size, sizeof rows->length);
    if (write_out(summary->fd, summary->state, rows, err)) {
        memcpy(summary->size, rows->length, sizeof rows->length);
        return true;
    }
    /* No half a row stays; where even this fails, who goes on makes the files anew. */
    for (size_t i = 0; i < SUMMARY_FILES; i++)
        (void)!ftruncate(summary->fd[i], summary->size[i]);
    return false;
}

bool summary_put(struct summary *summary, sqlite3 *db, const size_t *numbers, size_t count,
                 struct err *err)
{
    AUTO(rows_fini) struct rows rows = {0};
    if (!are_ours(summary)) {
        summary->replaced = summary->replaced || summary->fd[SUMMARY_ALL] >= 0;
        return summary_remake(summary, db, err);
    }
    bool ok = true, more = false;
    for (size_t i = 0; ok && !more && i < count; i++)
        ok = find_columns(summary, db, numbers[i], &more, err);
    if (ok && more)
        return summary_remake(summary, db, err);
    EACH (number, numbers, count)
        summary->stale = summary->stale || summary->has[*number - 1];
    for (size_t i = 0; ok && i < count; i++)
        ok = summary->has[numbers[i] - 1] || add_rows(summary, db, numbers[i], 1, &rows, err);
    if (ok && summary->stale && clock_monotonic_ns() - summary->made_ns >= SHARE * summary->took_ns)
        return summary_remake(summary, db, err);
    if (ok && append(summary, &rows, err))
        return true;
    close_files(summary);
    return false;
}

bool summary_finish(struct summary *summary, sqlite3 *db, struct err *err)
{
    if (summary->stale)
        return summary_remake(summary, db, err);
    for (size_t i = 0; i < SUMMARY_FILES; i++)
        if (!summary->scratch && summary->fd[i] >= 0 && fdatasync(summary->fd[i]) != 0)
            return err_sys(err, "fsync %s", names[i]);
    return true;
}

const char *summary_name(size_t file)
{
    return names[file];
}

bool summary_digest(const struct summary *summary, size_t file, struct digest *out)
{
    if (summary->fd[file] < 0)
        return false;
    *out = digest_end(&summary->state[file]);
    return true;
}
