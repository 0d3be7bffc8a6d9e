/* db: opens run.db without following links, and limits what an untrusted one can do. */
#ifndef TARE_RESULTS_STORE_DB_H
#define TARE_RESULTS_STORE_DB_H

#include "results/store/tables.h"

/* Opens NAME in an open folder (dir_path: for messages), neither through a link nor with links
 * beside it where SQLite would put its -wal, -shm and -journal. create: the file must not be there.
 * NULL on error. */
sqlite3 *db_open_at(int dir, const char *dir_path, const char *name, bool create, struct err *err);

/* Opens a private copy, which may be recovered and changed, through a VFS that knows it by this
 * name. It has no shared memory, and is not checkpointed at the end. bytes: of data in it
 * (db_limit_time). */
sqlite3 *db_open_copy(const char *name, const char *vfs, int64_t bytes, struct err *err);
void db_close(sqlite3 **db);

bool db_use_wal(sqlite3 *db, struct err *err);

/* A private one without a name, or a new file of that name: nothing of it need outlive a crash. */
sqlite3 *db_open_private(struct err *err);
sqlite3 *db_open_unsynced(int dir, const char *dir_path, const char *name, struct err *err);

/* From now on the connection may take as much of this thread's processor time as a database of so
 * many bytes can need, and a statement that takes more is an error. */
void db_limit_time(sqlite3 *db, int64_t bytes);
void db_unlimit_time(sqlite3 *db);

/* Fills err from the connection's last error, with errno in code where there was one (the caller
 * set errno to 0 before the call that failed). Always false. */
bool db_error(sqlite3 *db, struct err *err, const char *what);

/* One statement. types: one letter for each "?": i int64_t, r double, t const char * (NULL: SQL
 * NULL), j const json_t * (NULL and null: SQL NULL; true and false: 1 and 0; objects and arrays:
 * their text); k, for as many as there are keys, a const json_t * and a const char * with the keys
 * of this object, with blanks between. Of one text only one statement is in use at a time, but for
 * one whose rows are being read. */
bool db_run(sqlite3 *db, struct err *err, const char *sql, const char *types, ...);
sqlite3_stmt *db_query(sqlite3 *db, struct err *err, const char *sql, const char *types, ...);
/* 1: a row, 0: the end, -1: an error, and of NULL */
int db_step(sqlite3_stmt *query, struct err *err);
/* Whether there is one more row; where an error ends them, and not their end, the query is given
 * back and NULL. */
bool db_next(sqlite3_stmt **query, struct err *err);
/* The first cell; no row: 0. */
bool db_number(sqlite3 *db, int64_t *out, struct err *err, const char *sql, const char *types, ...);

/* Cells of the row: text is borrowed until the next step (NULL: SQL NULL); json is a new reference
 * (NULL: SQL NULL or no JSON; db_json_needed says which). */
const char *db_text(sqlite3_stmt *row, int column);
json_t *db_json(sqlite3_stmt *row, int column);
json_t *db_json_needed(sqlite3_stmt *row, int column, struct err *err);
bool db_is_null(sqlite3_stmt *row, int column);

/* The cell as JSON of its own kind (never NULL): an integer, a real, a string, null.
 * db_json_or_text: JSON text as what it says, other text as a string. */
json_t *db_cell(sqlite3_stmt *row, int column);
json_t *db_json_or_text(sqlite3_stmt *row, int column);

/* Into an object: the cells from column first on under these keys, which have blanks between.
 * db_add_list: an object for each row, with its cells so, is appended to out. */
void db_set_cells(json_t *object, const char *keys, sqlite3_stmt *row, int first);
bool db_add_list(sqlite3 *db, json_t *out, const char *keys, struct err *err, const char *sql,
                 const char *types, ...);

/* Begins at once as a writer, so that a commit never has to wait for one. A commit that fails is
 * undone. */
bool db_begin(sqlite3 *db, struct err *err);
bool db_commit(sqlite3 *db, struct err *err);
void db_rollback(sqlite3 *db);

/* Gives a statement back; it is kept, compiled, for the next call with the same text, until the
 * connection is closed. */
void db_release(sqlite3_stmt **query);

#endif
