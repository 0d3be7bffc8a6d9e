#include "serve/serve.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "serve/serve_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <qrencode.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address as a QR code, for a telephone's camera. As "qrencode -t UTF8" draws it: light modules are blocks, so that it is dark on
 * light on the usual dark terminal; cameras read the other way round as well. */

enum { QUIET = 2, MOST_BYTES = 512 };

static bool is_light(const QRcode *code, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < code->width && y < code->width;
    return !inside || !(code->data[y * code->width + x] & 1);
}

void serve_qr(const char *text, struct text *out)
{
    static const char *const blocks[] = {" ", "▄", "▀", "█"};
    QRcode *code = strlen(text) <= MOST_BYTES ? QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) : NULL;
    if (!code)
        return;
    for (int y = -QUIET; y < code->width + QUIET; y += 2) {
        for (int x = -QUIET; x < code->width + QUIET; x++)
            text_add(out, blocks[2 * is_light(code, x, y) + is_light(code, x, y + 1)]);
        text_add(out, "\n");
    }
    QRcode_free(code);
}

/* Where the server listens: loopback, an address that was asked for, or a Unix socket. */

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

static void place_close(struct place *place)
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

/* Opens the socket and names its addresses. False: err says why, and there is nothing to close. */
static bool place_open(const struct serve_options *options, struct place *out, struct err *err)
{
    *out = (struct place){.fd = -1, .tls = options->cert != NULL};
    if (options->socket ? open_socket(options, out, err) : open_address(options, out, err))
        return true;
    place_close(out);
    return false;
}

enum {
    CONNECTIONS = 2 * SERVE_STREAMS,
    CONNECTIONS_OF_ONE = 128, /* beyond loopback: of one address */
    CONNECTION_BYTES = 32768,
    IDLE_S = 60, /* a connection that takes or gives nothing for so long is closed */
    PEM_BYTES = 1 << 20,
    TICK_MS = 1000,
    BEAT_TICKS = 15
};

/* libmicrohttpd's own words of what is wrong, for the one error that its start gives. */
static __attribute__((format(printf, 2, 0))) void keep_log(void *context, const char *format, va_list values)
{
    struct serve *serve = context;
    char line[sizeof serve->log.text];
    vsnprintf(line, sizeof line, format, values);
    line[strcspn(line, "\n")] = '\0';
    utf8_make_printable(line, "");
    err_set(&serve->log, "%s", line);
}

static bool read_pem(const char *path, char **out, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "open %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size > PEM_BYTES)
        return err_set(err, "%s is no PEM file", path);
    AUTO_TEXT struct text text = {0};
    if (!fs_read(path, PEM_BYTES, &text, err))
        return false;
    *out = text_take(&text);
    return true;
}

static bool make_token(struct serve *serve, struct err *err)
{
    unsigned char bytes[(sizeof serve->token - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(err, "random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(serve->token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static void add_urls(struct serve *serve)
{
    const struct strv *plain = &serve->place.urls;
    for (size_t i = 0; i < plain->count; i++)
        if (*serve->token && !serve->place.socket)
            strv_add_owned(&serve->urls, mem_printf("%s?token=%s", plain->items[i], serve->token));
        else
            strv_add(&serve->urls, plain->items[i]);
}

static bool start_daemon(struct serve *serve, struct err *err)
{
    struct MHD_OptionItem options[12] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)keep_log, serve},
        {MHD_OPTION_LISTEN_SOCKET, serve->place.fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, serve->place.loopback ? 0 : CONNECTIONS_OF_ONE, NULL},
    };
    size_t count = 6;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (serve->place.tls) {
        flags |= MHD_USE_TLS;
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, serve->cert};
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, serve->key};
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                   (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
    }
    options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    serve->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, serve_handle, serve, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (serve->daemon)
        return true;
    return err_set(err, "the server does not start%s%s%s", serve->place.tls ? " with this certificate and key" : "",
                   *serve->log.text ? ": " : "", serve->log.text);
}

struct serve *serve_start(const struct serve_options *options, struct err *err)
{
    struct serve *serve = mem_alloc(sizeof *serve);
    serve->place.fd = -1;
    serve->language = options->language;
    serve_runs_init(&serve->runs, options);
    assets_tag(serve->script_tag, serve->style_tag);
    bool good =
        (!options->cert || (read_pem(options->cert, &serve->cert, err) && read_pem(options->key, &serve->key, err))) &&
        place_open(options, &serve->place, err);
    bool needs_token = options->token || !serve->place.loopback;
    snprintf(serve->cookie, sizeof serve->cookie, "tare_%d",
             serve->place.port); /* cookies are shared by a host's ports */
    good = good && (!needs_token || make_token(serve, err)) && start_daemon(serve, err);
    if (!good) {
        serve_stop(serve);
        return NULL;
    }
    add_urls(serve);
    return serve;
}

const struct strv *serve_urls(const struct serve *serve)
{
    return &serve->urls;
}

/* Until libmicrohttpd or the viewers want something; -1: until somebody comes. */
static int wait_ms(struct serve *serve, int64_t next_tick_ns)
{
    MHD_UNSIGNED_LONG_LONG most = 0;
    int64_t wait = MHD_get_timeout(serve->daemon, &most) == MHD_YES ? (int64_t)(most < TICK_MS ? most : TICK_MS) : -1;
    int64_t tick = (next_tick_ns - clock_monotonic_ns()) / NS_PER_MS + 1;
    if (channel_streams() && (wait < 0 || tick < wait))
        wait = tick > 0 ? tick : 0;
    return (int)wait;
}

/* While nobody watches nothing is read, but what nobody has read yet: one run between two answers. */
int serve_until_signal(struct serve *serve)
{
    sigset_t ends;
    struct signalfd_siginfo info = {0};
    int64_t next_tick_ns = 0;
    unsigned ticks = 0;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    AUTO_CLOSE int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    const union MHD_DaemonInfo *daemon = MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd watched[] = {{.fd = daemon->epoll_fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    serve_runs_look(&serve->runs);
    for (bool unread = true; read(signals, &info, sizeof info) != sizeof info;) {
        poll(watched, sizeof watched / sizeof *watched, unread ? 0 : wait_ms(serve, next_tick_ns));
        MHD_run(serve->daemon);
        unread = serve_runs_read_next(&serve->runs);
        if (!channel_streams() || clock_monotonic_ns() < next_tick_ns)
            continue;
        next_tick_ns = clock_monotonic_ns() + TICK_MS * NS_PER_MS;
        serve_runs_tick(&serve->runs);
        if (++ticks % BEAT_TICKS == 0)
            serve_runs_beat(&serve->runs);
    }
    return (int)info.ssi_signo;
}

void serve_stop(struct serve *serve)
{
    serve_runs_fini(&serve->runs); /* resumes what is suspended, which must not be when the daemon stops */
    if (serve->daemon) {
        MHD_run(serve->daemon);
        MHD_stop_daemon(serve->daemon); /* closes the socket, too */
        serve->place.fd = -1;
    }
    place_close(&serve->place);
    free(serve->cert);
    free(serve->key);
    strv_fini(&serve->urls);
    explicit_bzero(serve->token, sizeof serve->token);
    free(serve);
}
