/* Where the server listens: loopback, an address that was asked for, or a Unix socket. */
#include "serve/serve_private.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, ADDRESS_SIZE = INET6_ADDRSTRLEN + 2 };

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* As it is in an address of the web: IPv6 in brackets. */
static void host_text(const struct sockaddr *address, char out[ADDRESS_SIZE])
{
    char plain[INET6_ADDRSTRLEN] = "";
    bool six = address->sa_family == AF_INET6;
    const void *bytes = six ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    inet_ntop(address->sa_family, bytes, plain, sizeof plain);
    snprintf(out, ADDRESS_SIZE, six ? "[%s]" : "%s", plain);
}

static void add_url(struct place *place, const char *host)
{
    strv_add_owned(&place->urls, mem_printf("http%s://%s:%d/", place->tls ? "s" : "", host, place->port));
}

/* Listening everywhere: the addresses of this machine, IPv4 first, and never link-local ones. */
static void add_interfaces(struct place *place, int family)
{
    struct ifaddrs *list = NULL;
    char host[ADDRESS_SIZE];
    if (getifaddrs(&list) != 0)
        return;
    static const int families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < 2; i++)
        for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
            const struct sockaddr *address = at->ifa_addr;
            if (!address || address->sa_family != families[i] || (family == AF_INET && families[i] == AF_INET6) ||
                !(at->ifa_flags & IFF_UP) || is_loopback(address))
                continue;
            if (families[i] == AF_INET6 &&
                IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr))
                continue;
            host_text(address, host);
            add_url(place, host);
        }
    freeifaddrs(list);
}

static int bind_one(const struct addrinfo *info, int64_t port)
{
    struct sockaddr_storage address = {0};
    memcpy(&address, info->ai_addr, info->ai_addrlen);
    in_port_t number = htons((uint16_t)port);
    if (info->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&address)->sin6_port = number;
    else
        ((struct sockaddr_in *)(void *)&address)->sin_port = number;
    AUTO_CLOSE int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return -1;
    return steal_fd(&fd);
}

static bool name_place(struct place *place, struct err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[ADDRESS_SIZE];
    const struct sockaddr *plain = (const struct sockaddr *)&address;
    if (getsockname(place->fd, (struct sockaddr *)&address, &length) != 0)
        return err_sys(err, "getsockname");
    place->port = ntohs(plain->sa_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&address)->sin6_port
                                                     : ((struct sockaddr_in *)(void *)&address)->sin_port);
    place->loopback = is_loopback(plain);
    host_text(plain, host);
    place->own_host = mem_strdup(host);
    if (is_any(plain))
        add_interfaces(place, plain->sa_family);
    if (place->urls.count == 0)
        add_url(place, is_any(plain) ? "127.0.0.1" : host);
    return true;
}

static bool open_address(const struct serve_options *options, struct place *place, struct err *err)
{
    const char *address = options->address ? options->address : "127.0.0.1";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int code = getaddrinfo(address, NULL, &hints, &found);
    if (code != 0)
        return err_set(err, "--listen %s: %s", address, gai_strerror(code));
    bool refused = !is_loopback(found->ai_addr) && !place->tls && !options->insecure;
    if (!refused)
        place->fd = bind_one(found, options->port < 0 ? SERVE_PORT : options->port);
    if (place->fd < 0 && !refused && options->port < 0 && errno == EADDRINUSE)
        place->fd = bind_one(found, 0);
    int number = errno;
    freeaddrinfo(found);
    if (refused)
        return err_set(err,
                       "--listen %s: others on the network could read the token and what is shown: give --tls-cert and "
                       "--tls-key, or say --insecure",
                       address);
    errno = number;
    if (place->fd < 0)
        return err_sys(err, "listen on %s, port %lld", address,
                       (long long)(options->port < 0 ? SERVE_PORT : options->port));
    return name_place(place, err);
}

/* A socket that nobody listens at is left from a server that was killed. */
static bool clear_old_socket(const struct sockaddr_un *address, struct err *err)
{
    struct stat st;
    if (lstat(address->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, "%s is there already, and is no socket", address->sun_path);
    AUTO_CLOSE int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED)
        return err_set(err, "%s is there already, and somebody listens there", address->sun_path);
    return unlink(address->sun_path) == 0 || err_sys(err, "remove %s", address->sun_path);
}

/* For its owner alone: the mode is there before anybody can connect. */
static bool open_socket(const struct serve_options *options, struct place *place, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(options->socket) >= sizeof address.sun_path)
        return err_set(err, "--socket %s: a socket's path has at most %zu bytes", options->socket,
                       sizeof address.sun_path - 1);
    strcpy(address.sun_path, options->socket);
    if (!clear_old_socket(&address, err))
        return false;
    place->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound = place->fd >= 0 && bind(place->fd, (const struct sockaddr *)&address, sizeof address) == 0;
    umask(mask);
    if (!bound || listen(place->fd, BACKLOG) != 0)
        return err_sys(err, "listen at %s", options->socket);
    place->socket = mem_strdup(options->socket);
    place->socket_ino = lstat(options->socket, &st) == 0 ? st.st_ino : 0;
    place->loopback = true;
    strv_add(&place->urls, options->socket);
    return true;
}

bool place_open(const struct serve_options *options, struct place *out, struct err *err)
{
    *out = (struct place){.fd = -1, .tls = options->cert != NULL};
    if (options->socket ? open_socket(options, out, err) : open_address(options, out, err))
        return true;
    place_close(out);
    return false;
}

void place_close(struct place *place)
{
    struct stat st;
    if (place->fd >= 0)
        close(place->fd);
    if (place->socket && lstat(place->socket, &st) == 0 && st.st_ino == place->socket_ino)
        unlink(place->socket);
    free(place->socket);
    free(place->own_host);
    strv_fini(&place->urls);
    *place = (struct place){.fd = -1};
}
