#include "results/store/db.h"
#include "base/json_print.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Long enough for a backup tool or a curious sqlite3 shell to let go of its lock; only the store's
 * thread waits. */
#define BUSY_TIMEOUT_MS 60000

/* A run.db may be anybody's: what it holds is data, and nothing of it is run. The time that reading
 * one may take of a processor (a loaded machine takes no part of it) grows with its size: a run of
 * 100,000 experiments, 0.4 GB, is read in a tenth of its time. */
enum { READ_BASE_S = 10, READ_BYTES_PER_S = 8 << 20, STEPS_BETWEEN = 10000 };

bool db_error(sqlite3 *db, struct err *err, const char *what)
{
    /* SQLite keeps the errno of most failures, but not of a commit's. */
    int left = errno;
    int code = sqlite3_extended_errcode(db);
    int system = sqlite3_system_errno(db) ? sqlite3_system_errno(db) : left;
    if ((code & 0xff) == SQLITE_IOERR && system) {
        errno = system;
        return err_sys(err, "run.db: %s: %s", what, sqlite3_errmsg(db));
    }
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return err_set(err,
                       "run.db: %s: it takes far longer than a run of its size can take, so it is "
                       "damaged or was made "
                       "to last",
                       what);
    if ((code & 0xff) == SQLITE_TOOBIG)
        return err_set(err, "run.db: %s: a cell is longer than %d MiB, which no run writes", what,
                       DB_CELL_MAX / (1 << 20));
    err_set(err, "run.db: %s: %s", what, sqlite3_errmsg(db));
    if (err && (code & 0xff) == SQLITE_FULL)
        err->code = ENOSPC;
    return false;
}

/* The folder's path without links: SQLite opens by path, and its NOFOLLOW refuses a link in any
 * step of it. */
static char *real_path(int dir, const char *dir_path, struct err *err)
{
    AUTO_FREE char *link = mem_printf("/proc/self/fd/%d", dir);
    AUTO_FREE char *path = realpath(link, NULL);
    if (!path)
        path = realpath(dir_path, NULL);
    struct stat opened, named;
    if (!path || stat(path, &named) < 0 || fstat(dir, &opened) < 0) {
        err_sys(err, "find the folder %s", dir_path);
        return NULL;
    }
    if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) {
        err_set(err, "the folder %s was moved or replaced", dir_path);
        return NULL;
    }
    return steal_ptr(path);
}

static bool no_links_at(int dir, const char *dir_path, const char *name, bool create,
                        struct err *err)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        AUTO_FREE char *file = mem_printf("%s%s", name, endings[i]);
        struct stat st;
        if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT && (i > 0 || create))
                continue;
            return err_sys(err, "open %s/%s", dir_path, file);
        }
        if (!S_ISREG(st.st_mode))
            return err_set(err, "%s/%s is no regular file", dir_path, file);
        if (create)
            return err_set(err, "%s/%s is there already", dir_path, file);
    }
    return true;
}

static int64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int is_late(void *deadline_ms)
{
    return cpu_ms() > (int64_t)(intptr_t)deadline_ms;
}

void db_limit_time(sqlite3 *db, int64_t bytes)
{
    int64_t ms = cpu_ms() + READ_BASE_S * INT64_C(1000) + bytes / (READ_BYTES_PER_S / 1000);
    sqlite3_progress_handler(db, STEPS_BETWEEN, is_late, (void *)(intptr_t)ms);
}

void db_unlimit_time(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
}

/* https://www.sqlite.org/security.html#untrusted_sqlite_database_files: no view, trigger or virtual
 * table of the file is ever used, no statement of its schema is larger than ours are. */
static void distrust(sqlite3 *db)
{
    static const int switches[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},     {SQLITE_DBCONFIG_DQS_DML, 0},
    };
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, DB_CELL_MAX}, {SQLITE_LIMIT_SQL_LENGTH, 100000},
        {SQLITE_LIMIT_COLUMN, 200},         {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 10}, {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_FUNCTION_ARG, 20},    {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    };
    EACH_OF (switche, switches)
        sqlite3_db_config(db, (*switche)[0], (*switche)[1], (int *)NULL);
    EACH_OF (limit, limits)
        sqlite3_limit(db, (*limit)[0], (*limit)[1]);
    sqlite3_drop_modules(db, NULL);
}

static sqlite3 *open_path(const char *path, int flags, const char *vfs, int64_t bytes,
                          struct err *err)
{
    sqlite3 *db = NULL;
    errno = 0;
    if (sqlite3_open_v2(path, &db, flags, vfs) != SQLITE_OK) {
        if (db)
            db_error(db, err, "open");
        else
            err_set(err, "run.db: open: out of memory");
        db_close(&db);
        return NULL;
    }
    sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    distrust(db);
    if (vfs) {
        db_limit_time(db, bytes);
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    }
    if ((vfs && (!db_run(db, err, "PRAGMA locking_mode=EXCLUSIVE", "") ||
                 !db_run(db, err, "PRAGMA temp_store=MEMORY", ""))) ||
        !db_run(db, err, "PRAGMA cell_size_check=ON", "") ||
        !db_run(db, err, "PRAGMA ignore_check_constraints=ON", "") ||
        !db_run(db, err, "PRAGMA foreign_keys=ON", "") ||
        !db_run(db, err, "PRAGMA synchronous=FULL", ""))
        db_close(&db);
    return db;
}

sqlite3 *db_open_at(int dir, const char *dir_path, const char *name, bool create, struct err *err)
{
    AUTO_FREE char *folder = real_path(dir, dir_path, err);
    if (!folder || !no_links_at(dir, dir_path, name, create, err))
        return NULL;
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    return open_path(
        path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOFOLLOW,
        NULL, 0, err);
}

sqlite3 *db_open_copy(const char *name, const char *vfs, int64_t bytes, struct err *err)
{
    return open_path(name, SQLITE_OPEN_READWRITE, vfs, bytes, err);
}

static sqlite3 *without_journal(sqlite3 *db, struct err *err)
{
    if (db && (!db_run(db, err, "PRAGMA journal_mode=OFF", "") ||
               !db_run(db, err, "PRAGMA synchronous=OFF", "")))
        db_close(&db);
    return db;
}

sqlite3 *db_open_private(struct err *err)
{
    return without_journal(open_path("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, 0, err),
                           err);
}

sqlite3 *db_open_unsynced(int dir, const char *dir_path, const char *name, struct err *err)
{
    return without_journal(db_open_at(dir, dir_path, name, true, err), err);
}

void db_close(sqlite3 **db)
{
    sqlite3_stmt *kept;
    while (*db && (kept = sqlite3_next_stmt(*db, NULL)))
        sqlite3_finalize(kept);
    sqlite3_close(*db);
    *db = NULL;
}

static int bind_json(sqlite3_stmt *query, int index, const json_t *json)
{
    switch (json ? json_typeof(json) : JSON_NULL) {
    case JSON_NULL:
        return sqlite3_bind_null(query, index);
    case JSON_TRUE:
        return sqlite3_bind_int(query, index, 1);
    case JSON_FALSE:
        return sqlite3_bind_int(query, index, 0);
    case JSON_INTEGER:
        return sqlite3_bind_int64(query, index, json_integer_value(json));
    case JSON_REAL:
        return sqlite3_bind_double(query, index, json_real_value(json));
    case JSON_STRING:
        return sqlite3_bind_text(query, index, json_string_value(json), -1, SQLITE_TRANSIENT);
    case JSON_OBJECT:
    case JSON_ARRAY:
        break;
    }
    AUTO_TEXT struct text text = {0};
    json_print(json, &text);
    return sqlite3_bind_text(query, index, text_get(&text), -1, SQLITE_TRANSIENT);
}

/* The next of words with blanks between, or commas and blanks; false: there is none. */
static bool next_word(const char **words, char word[64])
{
    int length = (int)strcspn(*words, " ,");
    snprintf(word, 64, "%.*s", length, *words);
    *words += length;
    *words += strspn(*words, " ,");
    return length > 0;
}

static int bind_all(sqlite3_stmt *query, const char *types, va_list args)
{
    int rc = SQLITE_OK, at = 1;
    for (; *types && rc == SQLITE_OK; types++) {
        const json_t *object;
        const char *keys;
        char key[64];
        switch (*types) {
        case 'i':
            rc = sqlite3_bind_int64(query, at++, va_arg(args, int64_t));
            break;
        case 'r':
            rc = sqlite3_bind_double(query, at++, va_arg(args, double));
            break;
        case 't':
            rc = sqlite3_bind_text(query, at++, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'j':
            rc = bind_json(query, at++, va_arg(args, const json_t *));
            break;
        case 'k':
            object = va_arg(args, const json_t *);
            keys = va_arg(args, const char *);
            while (rc == SQLITE_OK && next_word(&keys, key))
                rc = bind_json(query, at++, json_object_get(object, key));
            break;
        default:
            rc = SQLITE_MISUSE;
        }
    }
    return rc;
}

/* Worth keeping: what comes once for each event or experiment, where compiling it took longer than
 * running it. */
static bool is_repeated(const char *sql)
{
    static const char *const words[] = {"SELECT ", "INSERT ", "UPDATE ",
                                        "DELETE ", "BEGIN",   "COMMIT"};
    EACH_OF (word, words)
        if (strncmp(sql, *word, strlen(*word)) == 0)
            return true;
    return false;
}

void db_release(sqlite3_stmt **query)
{
    if (!*query)
        return;
    if (!is_repeated(sqlite3_sql(*query))) {
        sqlite3_finalize(*query);
        return;
    }
    sqlite3_reset(*query);
    sqlite3_clear_bindings(*query);
}

/* The connection itself lists its statements: one of the same text that nobody is stepping through
 * is used again. */
static sqlite3_stmt *find_kept(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *query = NULL;
    while ((query = sqlite3_next_stmt(db, query)))
        if (!sqlite3_stmt_busy(query) && strcmp(sqlite3_sql(query), sql) == 0)
            return query;
    return NULL;
}

static sqlite3_stmt *prepare(sqlite3 *db, struct err *err, const char *sql, const char *types,
                             va_list args)
{
    AUTO_QUERY sqlite3_stmt *query = is_repeated(sql) ? find_kept(db, sql) : NULL;
    errno = 0;
    if ((query || sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK) &&
        bind_all(query, types, args) == SQLITE_OK)
        return steal_ptr(query);
    db_error(db, err, "prepare");
    return NULL;
}

bool db_run(sqlite3 *db, struct err *err, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    AUTO_QUERY sqlite3_stmt *query = prepare(db, err, sql, types, args);
    va_end(args);
    while (db_next(&query, err))
        ;
    return query != NULL;
}

sqlite3_stmt *db_query(sqlite3 *db, struct err *err, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *query = prepare(db, err, sql, types, args);
    va_end(args);
    return query;
}

int db_step(sqlite3_stmt *query, struct err *err)
{
    errno = 0;
    int rc = query ? sqlite3_step(query) : SQLITE_ERROR;
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    if (query)
        db_error(sqlite3_db_handle(query), err,
                 strncmp(sqlite3_sql(query), "SELECT", 6) == 0 ? "read" : "write");
    return -1;
}

bool db_next(sqlite3_stmt **query, struct err *err)
{
    int step = db_step(*query, err);
    if (step < 0 && *query)
        db_release(query);
    if (step < 0)
        *query = NULL;
    return step > 0;
}

bool db_number(sqlite3 *db, int64_t *out, struct err *err, const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    AUTO_QUERY sqlite3_stmt *query = prepare(db, err, sql, types, args);
    va_end(args);
    int step = db_step(query, err);
    *out = step > 0 ? sqlite3_column_int64(query, 0) : 0;
    return step >= 0;
}

const char *db_text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

json_t *db_json(sqlite3_stmt *row, int column)
{
    const char *text = db_text(row, column);
    return text ? json_load_bounded(text, strlen(text), JSON_DECODE_ANY, NULL) : NULL;
}

json_t *db_json_needed(sqlite3_stmt *row, int column, struct err *err)
{
    json_error_t why;
    const char *text = db_text(row, column);
    json_t *json = text ? json_load_bounded(text, strlen(text), 0, &why) : NULL;
    if (!json)
        err_set(err, "%s", text ? why.text : "it is missing");
    return json;
}

bool db_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

json_t *db_cell(sqlite3_stmt *row, int column)
{
    json_t *json = NULL;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        json = json_integer(sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        json = json_finite(sqlite3_column_double(row, column)); /* SQLite has infinities */
        break;
    case SQLITE_TEXT:
        json = json_string(db_text(row, column));
        break;
    default:
        break;
    }
    return json ? json : json_null();
}

json_t *db_json_or_text(sqlite3_stmt *row, int column)
{
    json_t *json = db_json(row, column);
    return json ? json : db_cell(row, column);
}

void db_set_cells(json_t *object, const char *keys, sqlite3_stmt *row, int first)
{
    char key[64];
    while (next_word(&keys, key))
        json_object_set_new(object, key, db_cell(row, first++));
}

bool db_add_list(sqlite3 *db, json_t *out, const char *keys, struct err *err, const char *sql,
                 const char *types, ...)
{
    va_list args;
    va_start(args, types);
    AUTO_QUERY sqlite3_stmt *query = prepare(db, err, sql, types, args);
    va_end(args);
    while (db_next(&query, err)) {
        json_t *item = json_object();
        db_set_cells(item, keys, query, 0);
        json_array_append_new(out, item);
    }
    return query != NULL;
}

bool db_use_wal(sqlite3 *db, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "PRAGMA journal_mode=WAL", "");
    int step = db_step(query, err);
    if (step < 0)
        return false;
    const char *mode = step ? db_text(query, 0) : NULL;
    if (!mode || strcmp(mode, "wal") != 0)
        return err_set(err, "run.db: this file system cannot hold a write-ahead log");
    return true;
}

bool db_begin(sqlite3 *db, struct err *err)
{
    return db_run(db, err, "BEGIN IMMEDIATE", "");
}

bool db_commit(sqlite3 *db, struct err *err)
{
    if (db_run(db, err, "COMMIT", ""))
        return true;
    db_rollback(db);
    return false;
}

void db_rollback(sqlite3 *db)
{
    /* After some failures SQLite has rolled back by itself. */
    if (!sqlite3_get_autocommit(db))
        db_run(db, NULL, "ROLLBACK", "");
}
