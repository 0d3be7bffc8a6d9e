/* connections: limits the connections of clients that have not shown a valid token. Private to
 * serve/. Any user of the machine can connect to the port. A client must send a request with a
 * valid token within CONNECTIONS_HEADER_NS of connecting; when connections run out, the oldest
 * without one is closed. */
#ifndef TARE_SERVE_CONNECTIONS_H
#define TARE_SERVE_CONNECTIONS_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/* More are accepted only to close the oldest of those without a token; libmicrohttpd accepts no
 * further ones beyond CONNECTIONS_ACCEPTED, so this many are left for the closing to take
 * effect. */
enum { CONNECTIONS_MAX = 512, CONNECTIONS_ACCEPTED = CONNECTIONS_MAX + 64 };

#define CONNECTIONS_HEADER_NS (5 * NS_PER_S)

struct connection;

/* All zero: empty. Those without a valid token so far, the oldest first. */
struct connections {
    struct connection *oldest, *newest;
    size_t count; /* of all connections */
};

/* For MHD_OPTION_NOTIFY_CONNECTION; context: the struct connections. */
void connections_notify(void *context, struct MHD_Connection *connection, void **own,
                        enum MHD_ConnectionNotificationCode what);

/* The client has shown a valid token: the limits no longer apply to the connection. */
void connections_trust(struct connections *connections, struct MHD_Connection *connection);

/* Closes the connections whose time is over. Returns when the next one is due (CLOCK_MONOTONIC),
 * INT64_MAX: none. */
int64_t connections_close_late(struct connections *connections, int64_t now_ns);

#endif
