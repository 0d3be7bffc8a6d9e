/* Libraries that most commands do without, above all 'exec', are loaded when one of their functions is first called, not
 * with the program: SQLite, libsystemd (with the six libraries that it needs), libsmartcols, libmd, libyaml and ncurses are half of the time that
 * an empty command would take; libmicrohttpd is for 'serve' alone. Functions are defined here under the names that the libraries' headers declare, so their
 * callers know nothing of it; a function that is missing from the tables below is an error of the linker. */
#include <dlfcn.h>
#include <libsmartcols.h>
#include <sha2.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <yaml.h>

#include "tare_build.h"

#if TARE_WITH_WATCH
#define NCURSES_NOMACROS
#include <curses.h>
#endif
#if TARE_WITH_SERVE
#include <microhttpd.h>
#endif

#define SQLITE  "libsqlite3.so.0"
#define SYSTEMD "libsystemd.so.0"
#define TABLES  "libsmartcols.so.1"
#define MD      "libmd.so.0"
#define YAML    "libyaml-0.so.2"
#define NCURSES "libncursesw.so.6"
#define HTTP    "libmicrohttpd.so.12"

/* Ends the program as the dynamic linker would have done at its start. */
static void *symbol_find(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL); /* again: the same handle */
    void *symbol = loaded ? dlsym(loaded, name) : NULL;
    if (symbol)
        return symbol;
    fprintf(stderr, "error while loading shared libraries: %s\n", dlerror());
    exit(127);
}

/* The library's own function of that name. */
#define FOUND(library, name)                                                                                           \
    __extension__({                                                                                                    \
        static _Atomic(void *) symbol;                                                                                 \
        if (!symbol)                                                                                                   \
            symbol = symbol_find(library, #name);                                                                      \
        (__typeof__(&name))symbol;                                                                                     \
    })

#define LAZY(library, type, name, parameters, arguments)                                                               \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return FOUND(library, name) arguments;                                                                         \
    }

/* clang-format off */
LAZY(SQLITE, int, sqlite3_open_v2, (const char *file, sqlite3 **db, int flags, const char *vfs), (file, db, flags, vfs))
LAZY(SQLITE, sqlite3_vfs *, sqlite3_vfs_find, (const char *name), (name))
LAZY(SQLITE, int, sqlite3_vfs_register, (sqlite3_vfs *vfs, int make_default), (vfs, make_default))
LAZY(SQLITE, int, sqlite3_vfs_unregister, (sqlite3_vfs *vfs), (vfs))
LAZY(SQLITE, int, sqlite3_close, (sqlite3 *db), (db))
LAZY(SQLITE, int, sqlite3_busy_timeout, (sqlite3 *db, int ms), (db, ms))
LAZY(SQLITE, int, sqlite3_limit, (sqlite3 *db, int what, int most), (db, what, most))
LAZY(SQLITE, int, sqlite3_drop_modules, (sqlite3 *db, const char **kept), (db, kept))
LAZY(SQLITE, void, sqlite3_progress_handler, (sqlite3 *db, int steps, int (*call)(void *), void *data),
     (db, steps, call, data))
LAZY(SQLITE, int, sqlite3_get_autocommit, (sqlite3 *db), (db))
LAZY(SQLITE, int, sqlite3_wal_checkpoint_v2, (sqlite3 *db, const char *name, int mode, int *log, int *done),
     (db, name, mode, log, done))
LAZY(SQLITE, const char *, sqlite3_errmsg, (sqlite3 *db), (db))
LAZY(SQLITE, int, sqlite3_extended_errcode, (sqlite3 *db), (db))
LAZY(SQLITE, int, sqlite3_system_errno, (sqlite3 *db), (db))
LAZY(SQLITE, int, sqlite3_prepare_v2, (sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **s, const char **tail),
     (db, sql, bytes, s, tail))
LAZY(SQLITE, int, sqlite3_bind_double, (sqlite3_stmt *s, int at, double value), (s, at, value))
LAZY(SQLITE, int, sqlite3_bind_int, (sqlite3_stmt *s, int at, int value), (s, at, value))
LAZY(SQLITE, int, sqlite3_bind_int64, (sqlite3_stmt *s, int at, sqlite3_int64 value), (s, at, value))
LAZY(SQLITE, int, sqlite3_bind_null, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, int, sqlite3_bind_text, (sqlite3_stmt *s, int at, const char *text, int bytes, void (*done)(void *)),
     (s, at, text, bytes, done))
LAZY(SQLITE, int, sqlite3_step, (sqlite3_stmt *s), (s))
LAZY(SQLITE, double, sqlite3_column_double, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, int, sqlite3_column_int, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, const unsigned char *, sqlite3_column_text, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, int, sqlite3_column_type, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, sqlite3 *, sqlite3_db_handle, (sqlite3_stmt *s), (s))
LAZY(SQLITE, const char *, sqlite3_sql, (sqlite3_stmt *s), (s))
LAZY(SQLITE, int, sqlite3_reset, (sqlite3_stmt *s), (s))
LAZY(SQLITE, int, sqlite3_clear_bindings, (sqlite3_stmt *s), (s))
LAZY(SQLITE, int, sqlite3_stmt_busy, (sqlite3_stmt *s), (s))
LAZY(SQLITE, sqlite3_stmt *, sqlite3_next_stmt, (sqlite3 *db, sqlite3_stmt *s), (db, s))
LAZY(SQLITE, int, sqlite3_finalize, (sqlite3_stmt *s), (s))
LAZY(SQLITE, int, sqlite3_file_control, (sqlite3 *db, const char *name, int what, void *out), (db, name, what, out))
LAZY(SQLITE, int, sqlite3_column_count, (sqlite3_stmt *s), (s))
LAZY(SQLITE, int, sqlite3_column_bytes, (sqlite3_stmt *s, int at), (s, at))
LAZY(SQLITE, const char *, sqlite3_column_name, (sqlite3_stmt *s, int at), (s, at))

LAZY(MD, void, SHA256Init, (SHA2_CTX *state), (state))
LAZY(MD, void, SHA256Update, (SHA2_CTX *state, const uint8_t *bytes, size_t count), (state, bytes, count))
LAZY(MD, void, SHA256Final, (uint8_t out[SHA256_DIGEST_LENGTH], SHA2_CTX *state), (out, state))

LAZY(SYSTEMD, int, sd_event_new, (sd_event **e), (e))
LAZY(SYSTEMD, sd_event *, sd_event_unref, (sd_event *e), (e))
LAZY(SYSTEMD, int, sd_event_loop, (sd_event *e), (e))
LAZY(SYSTEMD, int, sd_event_exit, (sd_event *e, int code), (e, code))
LAZY(SYSTEMD, int, sd_event_source_get_time, (sd_event_source *s, uint64_t *us), (s, us))
LAZY(SYSTEMD, int, sd_event_add_io,
     (sd_event *e, sd_event_source **s, int fd, uint32_t events, sd_event_io_handler_t call, void *data),
     (e, s, fd, events, call, data))
LAZY(SYSTEMD, int, sd_event_add_signal,
     (sd_event *e, sd_event_source **s, int signal, sd_event_signal_handler_t call, void *data),
     (e, s, signal, call, data))
LAZY(SYSTEMD, int, sd_event_add_time_relative,
     (sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec, uint64_t accuracy,
      sd_event_time_handler_t call, void *data),
     (e, s, clock, usec, accuracy, call, data))
LAZY(SYSTEMD, int, sd_event_source_set_enabled, (sd_event_source *s, int enabled), (s, enabled))
LAZY(SYSTEMD, int, sd_event_source_set_floating, (sd_event_source *s, int floating), (s, floating))
LAZY(SYSTEMD, int, sd_event_source_set_priority, (sd_event_source *s, int64_t priority), (s, priority))
LAZY(SYSTEMD, int, sd_event_source_set_time_relative, (sd_event_source *s, uint64_t usec), (s, usec))
LAZY(SYSTEMD, sd_event_source *, sd_event_source_unref, (sd_event_source *s), (s))
LAZY(SYSTEMD, sd_event_source *, sd_event_source_disable_unref, (sd_event_source *s), (s))

LAZY(SYSTEMD, int, sd_bus_new, (sd_bus **bus), (bus))
LAZY(SYSTEMD, int, sd_bus_open_user, (sd_bus **bus), (bus))
LAZY(SYSTEMD, int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address))
LAZY(SYSTEMD, int, sd_bus_start, (sd_bus *bus), (bus))
LAZY(SYSTEMD, int, sd_bus_process, (sd_bus *bus, sd_bus_message **message), (bus, message))
LAZY(SYSTEMD, int, sd_bus_wait, (sd_bus *bus, uint64_t usec), (bus, usec))
LAZY(SYSTEMD, void, sd_bus_close, (sd_bus *bus), (bus))
LAZY(SYSTEMD, sd_bus *, sd_bus_unref, (sd_bus *bus), (bus))
LAZY(SYSTEMD, int, sd_bus_call_async,
     (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t call, void *data, uint64_t usec),
     (bus, slot, m, call, data, usec))
LAZY(SYSTEMD, int, sd_bus_message_new_method_call,
     (sd_bus *bus, sd_bus_message **m, const char *destination, const char *path, const char *interface,
      const char *member),
     (bus, m, destination, path, interface, member))
LAZY(SYSTEMD, int, sd_bus_message_set_auto_start, (sd_bus_message *m, int start), (m, start))
LAZY(SYSTEMD, int, sd_bus_message_appendv, (sd_bus_message *m, const char *types, va_list values), (m, types, values))
LAZY(SYSTEMD, const sd_bus_error *, sd_bus_message_get_error, (sd_bus_message *m), (m))
LAZY(SYSTEMD, sd_bus_message *, sd_bus_message_unref, (sd_bus_message *m), (m))

LAZY(TABLES, struct libscols_table *, scols_new_table, (void), ())
LAZY(TABLES, void, scols_unref_table, (struct libscols_table *table), (table))
LAZY(TABLES, int, scols_table_enable_colors, (struct libscols_table *table, int enable), (table, enable))
LAZY(TABLES, int, scols_table_colors_wanted, (const struct libscols_table *table), (table))
LAZY(TABLES, int, scols_table_set_termforce, (struct libscols_table *table, int force), (table, force))
LAZY(TABLES, int, scols_table_set_column_separator, (struct libscols_table *table, const char *text), (table, text))
LAZY(TABLES, struct libscols_column *, scols_table_new_column,
     (struct libscols_table *table, const char *name, double width, int flags), (table, name, width, flags))
LAZY(TABLES, struct libscols_line *, scols_table_new_line,
     (struct libscols_table *table, struct libscols_line *parent), (table, parent))
LAZY(TABLES, struct libscols_cell *, scols_line_get_cell, (struct libscols_line *line, size_t at), (line, at))
LAZY(TABLES, int, scols_cell_set_data, (struct libscols_cell *cell, const char *data), (cell, data))
LAZY(TABLES, int, scols_cell_set_color, (struct libscols_cell *cell, const char *color), (cell, color))
LAZY(TABLES, int, scols_print_table_to_string, (struct libscols_table *table, char **out), (table, out))
LAZY(YAML, int, yaml_parser_initialize, (yaml_parser_t *parser), (parser))
LAZY(YAML, void, yaml_parser_delete, (yaml_parser_t *parser), (parser))
LAZY(YAML, void, yaml_parser_set_input_string, (yaml_parser_t *parser, const unsigned char *text, size_t size),
     (parser, text, size))
LAZY(YAML, int, yaml_parser_parse, (yaml_parser_t *parser, yaml_event_t *event), (parser, event))
LAZY(YAML, void, yaml_event_delete, (yaml_event_t *event), (event))

#if TARE_WITH_WATCH
LAZY(NCURSES, SCREEN *, newterm, (const char *type, FILE *out, FILE *in), (type, out, in))
LAZY(NCURSES, void, delscreen, (SCREEN *screen), (screen))
LAZY(NCURSES, int, endwin, (void), ())
LAZY(NCURSES, int, cbreak, (void), ())
LAZY(NCURSES, int, noecho, (void), ())
LAZY(NCURSES, int, nonl, (void), ())
LAZY(NCURSES, int, curs_set, (int visible), (visible))
LAZY(NCURSES, int, set_escdelay, (int ms), (ms))
LAZY(NCURSES, int, start_color, (void), ())
LAZY(NCURSES, bool, has_colors, (void), ())
LAZY(NCURSES, int, use_default_colors, (void), ())
LAZY(NCURSES, int, init_pair, (short pair, short foreground, short background), (pair, foreground, background))
LAZY(NCURSES, int, resizeterm, (int rows, int columns), (rows, columns))
LAZY(NCURSES, WINDOW *, newwin, (int rows, int columns, int row, int column), (rows, columns, row, column))
LAZY(NCURSES, int, delwin, (WINDOW *window), (window))
LAZY(NCURSES, int, keypad, (WINDOW *window, bool on), (window, on))
LAZY(NCURSES, int, nodelay, (WINDOW *window, bool on), (window, on))
LAZY(NCURSES, int, clearok, (WINDOW *window, bool on), (window, on))
LAZY(NCURSES, int, wresize, (WINDOW *window, int rows, int columns), (window, rows, columns))
LAZY(NCURSES, int, wattr_set, (WINDOW *window, attr_t attributes, short pair, void *options), (window, attributes, pair, options))
LAZY(NCURSES, int, wmove, (WINDOW *window, int row, int column), (window, row, column))
LAZY(NCURSES, int, waddnstr, (WINDOW *window, const char *text, int bytes), (window, text, bytes))
LAZY(NCURSES, int, werase, (WINDOW *window), (window))
LAZY(NCURSES, int, wrefresh, (WINDOW *window), (window))
LAZY(NCURSES, int, wgetch, (WINDOW *window), (window))
#endif

#if TARE_WITH_SERVE
LAZY(HTTP, void, MHD_stop_daemon, (struct MHD_Daemon *daemon), (daemon))
LAZY(HTTP, enum MHD_Result, MHD_run, (struct MHD_Daemon *daemon), (daemon))
LAZY(HTTP, enum MHD_Result, MHD_get_timeout, (struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *ms), (daemon, ms))
LAZY(HTTP, struct MHD_Daemon *, MHD_start_daemon_va,
     (unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *of_accept, MHD_AccessHandlerCallback handler,
      void *of_handler, va_list options),
     (flags, port, accept, of_accept, handler, of_handler, options))
LAZY(HTTP, struct MHD_Response *, MHD_create_response_from_buffer,
     (size_t size, void *bytes, enum MHD_ResponseMemoryMode mode), (size, bytes, mode))
LAZY(HTTP, struct MHD_Response *, MHD_create_response_from_callback,
     (uint64_t size, size_t block, MHD_ContentReaderCallback read, void *of_read, MHD_ContentReaderFreeCallback done),
     (size, block, read, of_read, done))
LAZY(HTTP, struct MHD_Response *, MHD_create_response_from_fd64, (uint64_t size, int fd), (size, fd))
LAZY(HTTP, enum MHD_Result, MHD_add_response_header, (struct MHD_Response *r, const char *name, const char *text),
     (r, name, text))
LAZY(HTTP, enum MHD_Result, MHD_queue_response, (struct MHD_Connection *c, unsigned status, struct MHD_Response *r),
     (c, status, r))
LAZY(HTTP, void, MHD_destroy_response, (struct MHD_Response *r), (r))
LAZY(HTTP, const char *, MHD_lookup_connection_value,
     (struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key), (c, kind, key))
LAZY(HTTP, void, MHD_suspend_connection, (struct MHD_Connection *c), (c))
LAZY(HTTP, void, MHD_resume_connection, (struct MHD_Connection *c), (c))
#endif

/* clang-format on */

#if TARE_WITH_SERVE
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *of_accept,
                                    MHD_AccessHandlerCallback handler, void *of_handler, ...)
{
    va_list options;
    va_start(options, of_handler);
    struct MHD_Daemon *daemon = MHD_start_daemon_va(flags, port, accept, of_accept, handler, of_handler, options);
    va_end(options);
    return daemon;
}

/* Both take more only for what nobody asks here. */
const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon, enum MHD_DaemonInfoType what, ...)
{
    return FOUND(HTTP, MHD_get_daemon_info)(daemon, what);
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType what, ...)
{
    return FOUND(HTTP, MHD_get_connection_info)(connection, what);
}
#endif

int sd_bus_message_append(sd_bus_message *m, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    int code = sd_bus_message_appendv(m, types, values);
    va_end(values);
    return code;
}

/* Of its forms the one that all switches have: on or off, and whether it is. */
int sqlite3_db_config(sqlite3 *db, int what, ...)
{
    va_list values;
    va_start(values, what);
    int on = va_arg(values, int), *is_on = va_arg(values, int *);
    va_end(values);
    return FOUND(SQLITE, sqlite3_db_config)(db, what, on, is_on);
}
