#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdint.h>

#define LIBRARY "libmicrohttpd.so.12"

/* For package managers: https://uapi-group.org/specifications/specs/elf_dlopen_metadata/ */
#define NOTE_JSON                                                         \
    "[{\"feature\":\"serve\",\"description\":\"live pages of runs (tare " \
    "serve)\",\"priority\":\"recommended\","                              \
    "\"soname\":[\"" LIBRARY "\"]}]"
static const struct {
    uint32_t name_size, json_size, type;
    char name[4];
    _Alignas(uint32_t) char json[sizeof NOTE_JSON];
} note __attribute__((used, section(".note.dlopen"), aligned(4))) = {4, sizeof NOTE_JSON,
                                                                     0x407c0c0a, "FDO", NOTE_JSON};

/* Each function: its type, name, parameters and arguments. */
#define FUNCTIONS(ROW)                                                                             \
    ROW(void, MHD_stop_daemon, (struct MHD_Daemon * daemon), (daemon))                             \
    ROW(enum MHD_Result, MHD_run, (struct MHD_Daemon * daemon), (daemon))                          \
    ROW(enum MHD_Result, MHD_get_timeout,                                                          \
        (struct MHD_Daemon * daemon, MHD_UNSIGNED_LONG_LONG * ms), (daemon, ms))                   \
    ROW(struct MHD_Response *, MHD_create_response_from_buffer,                                    \
        (size_t size, void *bytes, enum MHD_ResponseMemoryMode mode), (size, bytes, mode))         \
    ROW(struct MHD_Response *, MHD_create_response_from_callback,                                  \
        (uint64_t size, size_t block, MHD_ContentReaderCallback read, void *context,               \
         MHD_ContentReaderFreeCallback done),                                                      \
        (size, block, read, context, done))                                                        \
    ROW(struct MHD_Response *, MHD_create_response_from_fd64, (uint64_t size, int fd), (size, fd)) \
    ROW(enum MHD_Result, MHD_add_response_header,                                                  \
        (struct MHD_Response * response, const char *name, const char *text),                      \
        (response, name, text))                                                                    \
    ROW(enum MHD_Result, MHD_queue_response,                                                       \
        (struct MHD_Connection * connection, unsigned status, struct MHD_Response *response),      \
        (connection, status, response))                                                            \
    ROW(void, MHD_destroy_response, (struct MHD_Response * response), (response))                  \
    ROW(const char *, MHD_lookup_connection_value,                                                 \
        (struct MHD_Connection * connection, enum MHD_ValueKind kind, const char *key),            \
        (connection, kind, key))                                                                   \
    ROW(void, MHD_suspend_connection, (struct MHD_Connection * connection), (connection))          \
    ROW(void, MHD_resume_connection, (struct MHD_Connection * connection), (connection))

static struct {
#define ROW(type, name, parameters, arguments) __typeof__(&name) name;
    FUNCTIONS(ROW)
#undef ROW
    __typeof__(&MHD_start_daemon_va) MHD_start_daemon_va;
    __typeof__(&MHD_get_daemon_info) MHD_get_daemon_info;
    __typeof__(&MHD_get_connection_info) MHD_get_connection_info;
} loaded;

static bool find_symbol(void *library, const char *name, void *out, struct err *err)
{
    *(void **)out = dlsym(library, name);
    return *(void **)out || err_set(err, LIBRARY " lacks %s", name);
}

bool microhttpd_load(struct err *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(err, "%s; install it (Debian: libmicrohttpd12)", dlerror());
#define ROW(type, name, parameters, arguments) find_symbol(library, #name, &loaded.name, err) &&
    return FUNCTIONS(ROW)
               find_symbol(library, "MHD_start_daemon_va", &loaded.MHD_start_daemon_va, err) &&
           find_symbol(library, "MHD_get_daemon_info", &loaded.MHD_get_daemon_info, err) &&
           find_symbol(library, "MHD_get_connection_info", &loaded.MHD_get_connection_info, err);
#undef ROW
}

/* clang-format off */
#define ROW(type, name, parameters, arguments) \
    type name parameters { return loaded.name arguments; }
FUNCTIONS(ROW)
#undef ROW
/* clang-format on */

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept,
                                    void *accept_context, MHD_AccessHandlerCallback handler,
                                    void *handler_context, ...)
{
    va_list options;
    va_start(options, handler_context);
    struct MHD_Daemon *daemon = loaded.MHD_start_daemon_va(flags, port, accept, accept_context,
                                                           handler, handler_context, options);
    va_end(options);
    return daemon;
}

/* These two accept more arguments only for questions that serve does not ask. */
const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                enum MHD_DaemonInfoType what, ...)
{
    return loaded.MHD_get_daemon_info(daemon, what);
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType what, ...)
{
    return loaded.MHD_get_connection_info(connection, what);
}
