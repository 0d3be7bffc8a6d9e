#include "results/store/worker.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/store/tables.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of settings.json and registry.json. */
static const off_t TEXT_MAX = 64 << 20;

void chain_init(struct chain *chain, size_t count)
{
    *chain = (struct chain){.copy = -1};
    chain->files = (struct chain_files){.experiments = mem_array(count + 1, sizeof *chain->files.experiments),
                                        .known = mem_array(count + 1, sizeof *chain->files.known),
                                        .count = count};
}

void chain_fini(struct chain *chain)
{
    free(steal_ptr(chain->files.experiments));
    free(steal_ptr(chain->files.known));
    cleanup_close(&chain->copy);
}

bool chain_keep(struct chain *chain, int dir, struct err *err)
{
    chain->copy = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (chain->copy < 0)
        chain->copy = fs_open_nameless(err);
    return chain->copy >= 0;
}

static bool copy_add(struct chain *chain, const char *bytes, size_t count, struct err *err)
{
    if (chain->copy < 0)
        return true;
    if (lseek(chain->copy, chain->length, SEEK_SET) < 0 || !fs_write_all(chain->copy, bytes, count, err))
        return err_wrap(err, "write the runner's own copy of events.jsonl");
    chain->length += (off_t)count;
    return true;
}

static void learn(struct chain_files *files, const json_t *line)
{
    const json_t *data = json_get(line, "data");
    const char *type = json_get_text(line, "type");
    json_int_t number;
    files->closed = type && strcmp(type, event_type_name(EVENT_RECORDS_CLOSED)) == 0;
    if (files->closed) {
        files->closed = digest_parse(json_get_text(data, "run.db"), &files->db);
        for (size_t i = 0; i < SUMMARY_FILES; i++)
            files->has_summary[i] = digest_parse(json_get_text(data, summary_name(i)), &files->summary[i]);
    } else if (type && strcmp(type, event_type_name(EVENT_FILES_WRITTEN)) == 0 &&
               json_get_int(line, "experiment", &number) && number >= 1 && (uint64_t)number <= files->count) {
        files->known[number - 1] =
            digest_parse(json_get_text(data, "experiment.json"), &files->experiments[number - 1]);
    }
}

static void check(struct chain *chain, const json_t *json)
{
    struct digest before;
    const struct digest *wanted = chain->lines ? &chain->last : &chain->first;
    const json_t *cell = json_get(json, "before");
    if (!cell && chain->unchained == chain->lines)
        chain->unchained++;
    else if (!chain->broken && (!digest_parse(json_string_value(cell), &before) || !digest_equal(&before, wanted)))
        chain->broken = chain->lines + 1;
}

bool chain_take(struct chain *chain, const char *line, size_t length, const json_t *json, struct err *err)
{
    const char *type = json_get_text(json, "type"), *version = json_get_text(json_get(json, "data"), "version");
    check(chain, json);
    /* Lines without a hash may be anybody's. */
    if (chain->lines >= chain->unchained)
        learn(&chain->files, json);
    if (type && strcmp(type, event_type_name(EVENT_SESSION_STARTED)) == 0)
        chain->other_versions = chain->other_versions || !version || strcmp(version, TARE_VERSION) != 0;
    chain->last = digest_of(line, length);
    chain->lines++;
    return copy_add(chain, line, length, err);
}

bool chain_append(struct chain *chain, const struct text *lines, const struct digest *last, int64_t count,
                  struct err *err)
{
    if (count == 0)
        return true;
    chain->last = *last;
    chain->lines += count;
    chain->files.closed = false;
    return copy_add(chain, text_get(lines), lines->length, err);
}

bool chain_each(const struct chain *chain, chain_each_fn *each, void *context, struct err *err)
{
    struct chain again = {.copy = -1, .first = chain->first};
    AUTO_CLOSE int copy = fcntl(chain->copy, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read the runner's own copy of events.jsonl");
    steal_fd(&copy);
    rewind(file);
    AUTO_TEXT struct text line = {0};
    bool ok = true;
    while (ok && again.lines < chain->lines && fs_read_line(file, DB_CELL_MAX, &line) > 0) {
        struct event event = {0};
        json_t *json = json_load_bounded(text_get(&line), line.length, JSON_REJECT_DUPLICATES, NULL);
        if (!json || !event_from_json(json, &event))
            again.broken = again.lines + 1;
        else
            ok = chain_take(&again, text_get(&line), line.length, json, err) &&
                 (again.broken > 0 || each(context, again.lines, &event, err));
        event_fini(&event);
        json_decref(json);
        if (again.broken)
            break;
    }
    if (ok && (again.broken || again.lines != chain->lines || !digest_equal(&again.last, &chain->last)))
        ok = err_set(err, "the runner's own copy of events.jsonl was changed too");
    return ok;
}

/* A cell with its kind and length, so that no two rows have the same bytes. */
static void add_cell(SHA2_CTX *state, sqlite3_stmt *row, int column)
{
    int kind = sqlite3_column_type(row, column);
    const unsigned char *text = sqlite3_column_text(row, column);
    int length = sqlite3_column_bytes(row, column);
    char head[40];
    int count = snprintf(head, sizeof head, "%d %d ", kind, length);
    digest_add(state, head, (size_t)count);
    if (text && length > 0)
        digest_add(state, text, (size_t)length);
}

static const struct table {
    const char *name, *select;
    int experiment; /* its column; -1: none */
    bool newer;     /* than the first runs: without rows it is as if it were not there */
} tables[] = {
    {"meta", "SELECT * FROM meta WHERE key <> 'created_by' ORDER BY key", -1, false},
    {"plan", "SELECT * FROM plan ORDER BY number", 0, false},
    {"sessions", "SELECT * FROM sessions ORDER BY number", -1, false},
    {"events",
     "SELECT experiment, seq, session, attempt, type, monotonic_ns, realtime_ns, data FROM events WHERE seq <= ?1 "
     "ORDER BY seq",
     0, false},
    {"experiments", "SELECT * FROM experiments ORDER BY number", 0, false},
    {"experiment_metrics", "SELECT * FROM experiment_metrics ORDER BY experiment, name", 0, false},
    {"attempts", "SELECT * FROM attempts ORDER BY experiment, number", 0, false},
    {"attempt_metrics", "SELECT * FROM attempt_metrics ORDER BY experiment, attempt, name", 0, false},
    {"attempt_memory", "SELECT * FROM attempt_memory ORDER BY experiment, attempt", 0, false},
    {"jobs", "SELECT * FROM jobs ORDER BY experiment, attempt, role, number", 0, false},
    {"marks", "SELECT * FROM marks ORDER BY experiment, attempt, number", 0, false},
    {"energy", "SELECT * FROM energy ORDER BY experiment, attempt, device", 0, false},
    {"epoch_energy", "SELECT * FROM epoch_energy ORDER BY experiment, attempt, number", 0, false},
    {"evidence", "SELECT experiment, * FROM evidence ORDER BY seq", 0, false},
    {"history", "SELECT * FROM history ORDER BY experiment, attempt, metric, step", 0, true},
};
enum { TABLES = sizeof tables / sizeof *tables };

static sqlite3_stmt *select_all(sqlite3 *db, const struct table *table, int64_t last_seq, struct err *err)
{
    return strstr(table->select, "?1") ? db_query(db, err, table->select, "i", last_seq)
                                       : db_query(db, err, table->select, "");
}

/* files_written says how far the writing of files has come, and is no result. */
static struct digest row_digest(sqlite3_stmt *row)
{
    SHA2_CTX state;
    SHA256Init(&state);
    for (int i = 0; i < sqlite3_column_count(row); i++)
        if (strcmp(sqlite3_column_name(row, i), "files_written") != 0)
            add_cell(&state, row, i);
    return digest_end(&state);
}

static bool add_table(sqlite3 *db, const struct table *table, int64_t last_seq, SHA2_CTX *state, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = select_all(db, table, last_seq, err);
    int step;
    if (!table->newer)
        digest_add(state, table->name, strlen(table->name) + 1);
    for (bool first = table->newer; (step = db_step(query, err)) > 0; first = false) {
        if (first)
            digest_add(state, table->name, strlen(table->name) + 1);
        struct digest row = row_digest(query);
        digest_add(state, row.bytes, DIGEST_BYTES);
    }
    return step == 0;
}

bool tables_digest(sqlite3 *db, int64_t last_seq, struct digest *out, struct err *err)
{
    SHA2_CTX state;
    SHA256Init(&state);
    for (size_t i = 0; i < TABLES; i++)
        if (!add_table(db, &tables[i], last_seq, &state, err))
            return false;
    *out = digest_end(&state);
    return true;
}

/* 1: the same, 0: they differ, and it was added; -1: an error. */
static int compare_table(sqlite3 *a, sqlite3 *b, const struct table *table, struct text *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *of_a = select_all(a, table, INT64_MAX, err);
    AUTO_QUERY sqlite3_stmt *of_b = of_a ? select_all(b, table, INT64_MAX, err) : NULL;
    for (;;) {
        int more_a = of_a ? db_step(of_a, err) : -1, more_b = of_b && more_a >= 0 ? db_step(of_b, err) : -1;
        if (more_a < 0 || more_b < 0)
            return -1;
        if (!more_a && !more_b)
            return 1;
        if (more_a && more_b) {
            struct digest row_a = row_digest(of_a), row_b = row_digest(of_b);
            if (digest_equal(&row_a, &row_b))
                continue;
        }
        int64_t number = table->experiment < 0 ? 0 : sqlite3_column_int64(more_a ? of_a : of_b, table->experiment);
        text_addf(out, "%stable %s", out->length ? ", " : "", table->name);
        if (number > 0)
            text_addf(out, " from experiment %lld on", (long long)number);
        return 0;
    }
}

bool tables_compare(sqlite3 *a, sqlite3 *b, struct text *out, struct err *err)
{
    for (size_t i = 0; i < TABLES; i++)
        if (compare_table(a, b, &tables[i], out, err) < 0)
            return false;
    return true;
}

bool chain_begin(struct chain *chain, sqlite3 *db, int dir, struct err *err)
{
    static const char *const names[] = {"settings.json", "registry.json"};
    AUTO_TEXT struct text lines = {0};
    char hex[DIGEST_HEX + 1];
    struct digest digest;
    SHA2_CTX state;
    for (size_t i = 0; i < 2; i++) {
        if (!digest_of_file(dir, names[i], TEXT_MAX, &digest, NULL))
            digest = (struct digest){0};
        digest_print(&digest, hex);
        text_addf(&lines, "%s  %s\n", hex, names[i]);
    }
    SHA256Init(&state);
    if (!add_table(db, &tables[1], 0, &state, err))
        return false;
    digest = digest_end(&state);
    digest_print(&digest, hex);
    text_addf(&lines, "%s  plan\n", hex);
    chain->first = digest_of(text_get(&lines), lines.length);
    return true;
}

int jsonl_open(int dir, const char *dir_path, struct err *err)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    AUTO_CLOSE int fd = openat(dir, "events.jsonl", flags, 0664);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(err, "open %s/events.jsonl", dir_path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "%s/events.jsonl is no regular file", dir_path);
        return -1;
    }
    return steal_fd(&fd);
}

FILE *jsonl_read(int dir, struct err *err)
{
    struct stat status;
    FILE *file = NULL;
    AUTO_CLOSE int fd = openat(dir, "events.jsonl", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        err_sys(err, "open events.jsonl");
    else if (!S_ISREG(status.st_mode) || status.st_size > JSONL_BYTES_MAX)
        err_set(err, S_ISREG(status.st_mode) ? "events.jsonl is longer than 1 GiB" : "events.jsonl is no regular file");
    else if (!(file = fdopen(fd, "r")))
        err_sys(err, "read events.jsonl");
    else
        (void)steal_fd(&fd);
    return file;
}

void jsonl_add_line(struct text *out, int64_t seq, const struct event *event, struct digest *last)
{
    size_t begin = out->length;
    char before[DIGEST_HEX + 1];
    json_t *line = json_object();
    json_t *rest = event_to_json(event);
    json_object_set_new(line, "seq", json_integer(seq));
    json_object_update(line, rest);
    digest_print(last, before);
    json_object_set_new(line, "before", json_string(before));
    json_print(line, out);
    text_add_char(out, '\n');
    *last = digest_of(out->data + begin, out->length - begin);
    json_decref(rest);
    json_decref(line);
}

bool jsonl_append(int fd, const struct text *lines, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "events.jsonl");
    if (fs_write_all(fd, text_get(lines), lines->length, err))
        return true;
    int saved = errno;
    /* When even this fails, the repair on the next opening cuts the half line. */
    if (ftruncate(fd, st.st_size) < 0)
        errno = saved;
    return err_wrap(err, "append to events.jsonl");
}

/* The line, where it is the event of this number; else NULL. */
static json_t *read_line(const struct text *line, int64_t seq)
{
    json_t *json = text_get(line)[line->length - 1] == '\n'
                       ? json_load_bounded(text_get(line), line->length, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    const json_t *number = json_object_get(json, "seq");
    if (json_is_integer(number) && json_integer_value(number) == seq)
        return json;
    json_decref(json);
    return NULL;
}

/* Lines that are good, from the first on: their events are 1 .. lines. Reads line by line, so that a journal of any length needs little
 * memory. length: the bytes they take. */
static bool scan_lines(int fd, int64_t last_seq, struct chain *chain, off_t *length, struct err *err)
{
    *length = 0;
    AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO_FILE FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    steal_fd(&copy);
    rewind(file);
    AUTO_TEXT struct text line = {0};
    while (chain->lines < last_seq && fs_read_line(file, DB_CELL_MAX, &line) > 0) {
        json_t *json = read_line(&line, chain->lines + 1);
        if (!json)
            break;
        bool taken = chain_take(chain, text_get(&line), line.length, json, err);
        json_decref(json);
        if (!taken)
            return false;
        *length += (off_t)line.length;
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

struct missing {
    int fd;
    struct chain *chain;
    struct text lines;
};

/* Lines of events that are in run.db alone. */
static bool add_missing(void *context, int64_t seq, const struct event *event, struct err *err)
{
    struct missing *missing = context;
    struct digest last = missing->chain->lines ? missing->chain->last : missing->chain->first;
    AUTO_TEXT struct text line = {0};
    jsonl_add_line(&line, seq, event, &last);
    json_t *json = json_loadb(text_get(&line), line.length, 0, NULL);
    bool ok = chain_take(missing->chain, text_get(&line), line.length, json, err);
    json_decref(json);
    text_add_bytes(&missing->lines, text_get(&line), line.length);
    if (!ok || missing->lines.length < 1 << 20)
        return ok;
    ok = jsonl_append(missing->fd, &missing->lines, err);
    text_clear(&missing->lines);
    return ok;
}

bool jsonl_repair(int fd, sqlite3 *db, struct chain *chain, struct err *err)
{
    int64_t last_seq;
    off_t length;
    if (!journal_last_seq(db, &last_seq, err) || !scan_lines(fd, last_seq, chain, &length, err))
        return false;
    struct stat st;
    if (fstat(fd, &st) < 0 || (st.st_size != length && ftruncate(fd, length) < 0))
        return err_sys(err, "repair events.jsonl");
    struct missing missing = {.fd = fd, .chain = chain};
    bool ok = journal_each(db, chain->lines, add_missing, &missing, err) && jsonl_append(fd, &missing.lines, err);
    text_fini(&missing.lines);
    return ok;
}
