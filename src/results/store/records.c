#include "results/store/records.h"
#include "base/fs_output.h"
#include "results/store/db.h"
#include "results/store/evidence.h"
#include "results/store/experiment_json.h"
#include "results/store/journal.h"
#include "results/store/jsonl.h"
#include "results/store/replay.h"
#include "results/store/schema.h"
#include "results/store/summary.h"
#include "results/store/tables_compare.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No file of a run is longer. */
static const off_t FILE_MAX = (off_t)1 << 40;

/* What is not as it was written. */
struct found {
    bool db, jsonl, summary, settings, registry;
    bool tables; /* of db: files made from them may be wrong as well */
    struct number_list files;
    struct text what;
};

static void found_fini(struct found *found)
{
    free(found->files.items);
    text_fini(&found->what);
}

static void add_what(struct text *out, const char *name, const char *more)
{
    text_addf(out, "%s%s", out->length ? ", " : "", name);
    if (*more)
        text_addf(out, " (%s)", more);
}

/* SQLITE_FCNTL_HAS_MOVED says the same by the path, which is another one when the run's folder got
 * another name. */
bool records_know_db(struct worker *worker, struct err *err)
{
    struct stat status;
    int moved = 0;
    if (fstatat(worker->dir, "run.db", &status, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, "run.db");
    worker->db_device = status.st_dev;
    worker->db_inode = status.st_ino;
    sqlite3_file_control(worker->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved || err_set(err, "run.db was replaced while it was opened");
}

static bool db_is_there(const struct worker *worker)
{
    struct stat status;
    return fstatat(worker->dir, "run.db", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && status.st_dev == worker->db_device &&
           status.st_ino == worker->db_inode;
}

static const char *what_of_db(const struct worker *worker)
{
    struct stat status;
    return fstatat(worker->dir, "run.db", &status, AT_SYMLINK_NOFOLLOW) == 0 ? "replaced"
                                                                             : "removed";
}

/* Whether tables can be made from the lines, and must then be the same. */
static bool is_whole(const struct event_lines *lines)
{
    return !lines->disputed && !lines->other_versions && lines->copy >= 0;
}

struct replaying {
    sqlite3 *db;
    struct journal_replay replay;
};

static bool replay_event(void *context, int64_t seq, const struct event *event, struct err *err)
{
    struct replaying *replaying = context;
    enum experiment_state after;
    return journal_replay_take(&replaying->replay, event, &after, err) &&
           journal_write(replaying->db, seq, event, after, err);
}

/* The whole journal into an empty database. */
static bool replay(const struct worker *worker, sqlite3 *db, struct err *err)
{
    struct replaying replaying = {.db = db};
    journal_replay_init(&replaying.replay, worker->plan->count);
    bool ok = db_begin(db, err) && schema_make(db, err) &&
              db_run(db, err, "INSERT INTO meta (key, value) VALUES ('created_by', ?)", "t",
                     TARE_NAME " " TARE_VERSION) &&
              journal_write_plan(db, worker->plan, err) &&
              event_lines_each(&worker->lines, replay_event, &replaying, err) && db_commit(db, err);
    journal_replay_fini(&replaying.replay);
    return ok;
}

static void compare_db(const struct worker *worker, enum settling settling, struct found *found)
{
    struct err why = {0};
    AUTO_TEXT struct text tables = {0};
    bool there = db_is_there(worker);
    /* What counts is on the disk, not what the connection remembers of it. */
    if (there) {
        sqlite3_wal_checkpoint_v2(worker->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        db_run(worker->db, NULL, "PRAGMA shrink_memory", "");
    }
    if (!is_whole(&worker->lines) || settling == SETTLE_STOPPED) {
        found->db = !there;
    } else {
        AUTO_DB sqlite3 *db = db_open_private(&why);
        if (!db || !replay(worker, db, &why) || !tables_compare(db, worker->db, &tables, &why))
            text_addf(&tables, "%s%s", tables.length ? ", " : "", why.text);
        found->tables = tables.length > 0;
        found->db = !there || found->tables;
    }
    if (found->db)
        add_what(&found->what, "run.db", there ? text_get(&tables) : what_of_db(worker));
}

static bool has_jsonl(const struct worker *worker)
{
    struct stat named, opened;
    return fstatat(worker->dir, "events.jsonl", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(named.st_mode) && fstat(worker->jsonl, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino &&
           opened.st_size == worker->lines.length &&
           files_same_bytes(worker->lines.copy, worker->jsonl, worker->lines.length);
}

static bool has_text(int dir, const char *name, const struct text *text)
{
    struct digest wanted = digest_of(text_get(text), text->length), is;
    return text->length == 0 ||
           (digest_of_file(dir, name, FILE_MAX, &is) && digest_equal(&is, &wanted));
}

static bool has_experiment(const struct worker *worker, size_t number)
{
    struct digest is;
    AUTO_CLOSE int folder =
        fs_open_folder_beneath(worker->dir, worker->plan->experiments[number - 1].id);
    return folder >= 0 && digest_of_file(folder, "experiment.json", FILE_MAX, &is) &&
           digest_equal(&is, &worker->lines.files.digests[number - 1]);
}

static bool has_summary(const struct worker *worker)
{
    for (size_t i = 0; i < SUMMARY_FILES; i++) {
        struct digest wanted, is;
        if (summary_digest(&worker->summary, i, &wanted) &&
            (!digest_of_file(worker->dir, summary_name(i), FILE_MAX, &is) ||
             !digest_equal(&is, &wanted)))
            return false;
    }
    return !worker->summary.replaced;
}

/* What a crash may have left unfinished is written anew anyway. */
static bool is_unfinished(const struct worker *worker, size_t number)
{
    int64_t unfinished;
    return db_number(worker->db, &unfinished, NULL,
                     "SELECT files_written<>1 FROM experiments WHERE number=?", "i",
                     (int64_t)number) &&
           unfinished;
}

static void compare_experiments(const struct worker *worker, bool opening, struct found *found)
{
    for (size_t number = 1; number <= worker->plan->count; number++) {
        if (!worker->lines.files.known[number - 1] || has_experiment(worker, number) ||
            (opening && is_unfinished(worker, number)))
            continue;
        found->files.items = mem_room(found->files.items, found->files.count, sizeof(size_t));
        found->files.items[found->files.count++] = number;
        if (found->files.count > 3)
            continue;
        AUTO_FREE char *name =
            mem_printf("%s/experiment.json", worker->plan->experiments[number - 1].id);
        add_what(&found->what, name, "");
    }
    if (found->files.count > 3)
        text_addf(&found->what, " and %zu more", found->files.count - 3);
}

/* Without a few free descriptors no file could be read, and every one would look changed: the next
 * opening compares. */
static bool can_compare(const struct worker *worker)
{
    int free_fds[4];
    size_t count = 0;
    while (count < 4 && (free_fds[count] = fcntl(worker->dir, F_DUPFD_CLOEXEC, 0)) >= 0)
        count++;
    EACH (free_fd, free_fds, count)
        close(*free_fd);
    return count == 4;
}

static void find(const struct worker *worker, enum settling settling, struct found *found)
{
    bool opening = settling == SETTLE_OPENED;
    *found = (struct found){0};
    if (!can_compare(worker))
        return;
    compare_db(worker, settling, found);
    found->jsonl = (opening && worker->lines.disputed) || !has_jsonl(worker);
    if (opening && worker->lines.disputed) {
        AUTO_FREE char *where =
            mem_printf("record %lld is not that of run.db", (long long)worker->lines.disputed);
        add_what(&found->what, "events.jsonl", where);
    } else if (found->jsonl) {
        add_what(&found->what, "events.jsonl", "");
    }
    if (settling != SETTLE_STOPPED)
        compare_experiments(worker, opening, found);
    found->summary = !has_summary(worker);
    if (found->summary)
        add_what(&found->what, "summary.csv, summary_safe.csv or summary_affected.csv", "");
    found->settings = !has_text(worker->dir, "settings.json", &worker->settings);
    found->registry = !has_text(worker->dir, "registry.json", &worker->registry);
    if (found->settings)
        add_what(&found->what, "settings.json", "");
    if (found->registry)
        add_what(&found->what, "registry.json", "");
}

static json_t *evidence_data(const char *what)
{
    AUTO_FREE char *text = mem_printf("another program changed records of the run: %s", what);
    return evidence_json("records_changed", text);
}

/* Where run.db is to be made anew it is no place to write it to: into the copy alone, of which all
 * is made. */
static bool add_evidence_to_copy(struct worker *worker, const char *what, struct text *line,
                                 struct err *err)
{
    struct event event = worker->last;
    if (event.session == 0)
        return true;
    event.type = EVENT_EVIDENCE;
    event.experiment = event.attempt = 0;
    event.data = evidence_data(what);
    jsonl_add_line(line, worker->last_seq + 1, &event);
    json_decref(event.data);
    if (!event_lines_append(&worker->lines, text_get(line), line->length, 1, err))
        return false;
    worker->last_seq++;
    return true;
}

static bool make_db(const struct worker *worker, char name[FS_UNFINISHED_SIZE], struct err *err)
{
    AUTO_CLOSE int made = fs_make_unfinished(worker->dir, 0664, name, err);
    if (made < 0 || unlinkat(worker->dir, name, 0) != 0)
        return made < 0 ? false : err_sys(err, "remove %s", name);
    AUTO_DB sqlite3 *db = db_open_unsynced(worker->dir, worker->dir_path, name, err);
    if (!db || !replay(worker, db, err))
        return false;
    db_close(&db);
    AUTO_CLOSE int fd = openat(worker->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? true : err_sys(err, "fsync run.db");
}

/* A -wal of the file before would spoil the new one: it goes first. */
static bool swap_db(struct worker *worker, const char *name, struct err *err)
{
    static const char *const beside[] = {"run.db-wal", "run.db-shm", "run.db-journal"};
    struct stat status;
    db_close(&worker->db);
    EACH_OF (item, beside)
        if (unlinkat(worker->dir, *item, 0) != 0 && errno != ENOENT)
            return err_sys(err, "remove %s", *item);
    if (fstatat(worker->dir, "run.db", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode) &&
        renameat(worker->dir, "run.db", worker->dir, "run.db.changed") != 0)
        return err_sys(err, "rename the folder run.db");
    if (renameat(worker->dir, name, worker->dir, "run.db") != 0)
        return err_sys(err, "rename %s to run.db", name);
    return fsync(worker->dir) == 0 || errno == EINVAL || err_sys(err, "fsync the folder");
}

static bool restore_db(struct worker *worker, struct err *err)
{
    char name[FS_UNFINISHED_SIZE] = "";
    if (!is_whole(&worker->lines))
        return err_set(err, "its events are disputed, or of another version");
    bool ok = make_db(worker, name, err);
    if (!ok) {
        if (*name)
            unlinkat(worker->dir, name, 0);
        return err_wrap(err, "make run.db anew");
    }
    ok = swap_db(worker, name, err);
    if (!worker->db)
        worker->db = db_open_at(worker->dir, worker->dir_path, "run.db", false, ok ? err : NULL);
    return ok && worker->db && db_use_wal(worker->db, err) && records_know_db(worker, err);
}

static bool restore_jsonl(struct worker *worker, struct err *err)
{
    char buffer[65536];
    struct fs_unfinished file = {.fd = -1};
    bool ok = fs_unfinished_begin(worker->dir, &file, err);
    for (off_t at = 0; ok && at < worker->lines.length;) {
        ssize_t count = pread(worker->lines.copy, buffer, sizeof buffer, at);
        ok = count > 0 ? fs_write_all(file.fd, buffer, (size_t)count, err)
                       : err_sys(err, "read the runner's own copy");
        at += count > 0 ? count : 0;
    }
    ok = ok && fs_unfinished_publish(&file, "events.jsonl", true, err);
    fs_unfinished_drop(&file);
    int fd = ok ? jsonl_open(worker->dir, worker->dir_path, err) : -1;
    if (fd < 0)
        return err_wrap(err, "make events.jsonl anew");
    close(worker->jsonl);
    worker->jsonl = fd;
    return true;
}

/* Of tables that were changed files may have been made, too: then all are compared with what is
 * made now. */
static bool restore_experiments(struct worker *worker, const struct found *found, struct err *err)
{
    struct digest digest;
    for (size_t i = 0; i < (found->tables ? worker->plan->count : found->files.count); i++) {
        size_t number = found->tables ? i + 1 : found->files.items[i];
        if (!worker->lines.files.known[number - 1])
            continue;
        if (!files_write_experiment(worker->dir, worker->db, worker->plan, number, fs_write_atomic,
                                    &digest, err))
            return false;
        worker_wrote_files(worker, number, &digest);
    }
    return true;
}

static bool restore_text(int dir, const char *name, bool changed, const struct text *text,
                         struct err *err)
{
    return !changed || fs_write_atomic(dir, name, text_get(text), text->length, err);
}

static bool restore(struct worker *worker, const struct found *found, enum settling settling,
                    struct err *err)
{
    AUTO_TEXT struct text line = {0};
    const char *what = text_get(&found->what);
    if (settling == SETTLE_OPENED && worker->lines.disputed)
        return worker_write_own(worker, EVENT_EVIDENCE, evidence_data(what), err) &&
               err_set(err, "which of events.jsonl and run.db was changed is unknown");
    bool anew = found->db && is_whole(&worker->lines);
    if (anew && !add_evidence_to_copy(worker, what, &line, err))
        return false;
    /* The lines first: of them, all else can be made again after a crash. */
    if (found->jsonl ? !restore_jsonl(worker, err) : !jsonl_append(worker->jsonl, &line, err))
        return false;
    if (found->db && !restore_db(worker, err))
        return false;
    if (!anew && !worker_write_own(worker, EVENT_EVIDENCE, evidence_data(what), err))
        return false;
    if (!restore_text(worker->dir, "settings.json", found->settings, &worker->settings, err) ||
        !restore_text(worker->dir, "registry.json", found->registry, &worker->registry, err) ||
        !restore_experiments(worker, found, err))
        return false;
    worker->summary.replaced = false;
    return (!(found->summary || found->tables) ||
            summary_remake(&worker->summary, worker->db, err)) &&
           worker_write_own(worker, EVENT_NOTE, NULL, err);
}

static void note(struct worker *worker, const char *what, bool restored, const struct err *why)
{
    text_addf(&worker->changed, "%s%s", worker->changed.length ? "; " : "", what);
    if (!restored)
        text_addf(&worker->changed, ", not restored: %s", why->text);
    worker->not_restored = worker->not_restored || !restored;
}

bool records_keep_db(struct worker *worker, struct err *err)
{
    struct err why = {0};
    if (worker->scratch || !is_whole(&worker->lines) || db_is_there(worker))
        return true;
    struct found found = {.db = true};
    add_what(&found.what, "run.db", what_of_db(worker));
    bool restored = restore(worker, &found, SETTLE_ENDED, &why);
    note(worker, text_get(&found.what), restored, &why);
    found_fini(&found);
    return restored || err_set(err, "%s", why.text);
}

bool records_settle(struct worker *worker, enum settling settling)
{
    struct err why = {0};
    struct found found;
    if (worker->scratch)
        return true;
    find(worker, settling, &found);
    /* Where something was changed, all else is worth the time. */
    if (settling == SETTLE_STOPPED && found.what.length > 0) {
        settling = SETTLE_ENDED;
        found_fini(&found);
        find(worker, settling, &found);
    }
    if (found.what.length > 0) {
        bool restored = restore(worker, &found, settling, &why);
        if (restored) {
            struct found left;
            find(worker, settling == SETTLE_OPENED ? SETTLE_ENDED : settling, &left);
            restored = left.what.length == 0;
            if (!restored)
                err_set(&why, "%s changed again", text_get(&left.what));
            found_fini(&left);
        }
        note(worker, text_get(&found.what), restored, &why);
    }
    found_fini(&found);
    return worker->db != NULL;
}
