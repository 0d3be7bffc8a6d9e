#include "serve/connections.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <sys/socket.h>

struct connection {
    int fd;
    bool listed; /* in the list of those without a token */
    int64_t accepted_ns;
    struct connection *older, *newer;
};

static void unlist(struct connections *connections, struct connection *item)
{
    if (!item->listed)
        return;
    *(item->older ? &item->older->newer : &connections->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &connections->newest) = item->older;
    item->listed = false;
}

/* libmicrohttpd has no call that closes a connection: it finds the socket closed, and frees it. */
static void close_oldest(struct connections *connections)
{
    struct connection *item = connections->oldest;
    unlist(connections, item);
    shutdown(item->fd, SHUT_RDWR);
}

static struct connection *add_connection(struct connections *connections,
                                         struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *item = mem_alloc(sizeof *item);
    *item = (struct connection){.fd = info ? info->connect_fd : -1,
                                .listed = true,
                                .accepted_ns = clock_monotonic_ns(),
                                .older = connections->newest};
    *(item->older ? &item->older->newer : &connections->oldest) = item;
    connections->newest = item;
    if (++connections->count > CONNECTIONS_MAX)
        close_oldest(connections);
    return item;
}

void connections_notify(void *context, struct MHD_Connection *connection, void **own,
                        enum MHD_ConnectionNotificationCode what)
{
    struct connections *connections = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *own = add_connection(connections, connection);
    } else if (*own) {
        unlist(connections, *own);
        connections->count--;
        free(*own);
        *own = NULL;
    }
}

void connections_trust(struct connections *connections, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context)
        unlist(connections, info->socket_context);
}

int64_t connections_close_late(struct connections *connections, int64_t now_ns)
{
    while (connections->oldest &&
           now_ns - connections->oldest->accepted_ns >= CONNECTIONS_HEADER_NS)
        close_oldest(connections);
    return connections->oldest ? connections->oldest->accepted_ns + CONNECTIONS_HEADER_NS
                               : INT64_MAX;
}
