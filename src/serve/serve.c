#include "serve/serve.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "serve/handle.h"
#include "serve/microhttpd.h"
#include "serve/runs.h"
#include "serve/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CONNECTION_BYTES = 32768,
    IDLE_S = 60, /* a connection that takes or gives nothing for so long is closed */
    TICK_MS = 1000,
    BEAT_TICKS = 15
};

static int bind_port(int64_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return -1;
    return steal_fd(&fd);
}

static bool open_port(const struct serve_options *options, struct serve *serve, int *out,
                      struct err *err)
{
    int64_t port = options->port < 0 ? SERVE_PORT : options->port;
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    serve->fd = bind_port(port);
    if (serve->fd < 0 && options->port < 0 && errno == EADDRINUSE)
        serve->fd = bind_port(0);
    if (serve->fd < 0)
        return err_sys(err, "listen on 127.0.0.1, port %lld", (long long)port);
    if (getsockname(serve->fd, (struct sockaddr *)&address, &length) != 0)
        return err_sys(err, "getsockname");
    *out = ntohs(address.sin_port);
    return true;
}

/* Removes the socket of a server that was killed. */
static bool clear_old_socket(const struct sockaddr_un *address, struct err *err)
{
    struct stat st;
    if (lstat(address->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, "%s is there already, and is not a socket", address->sun_path);
    AUTO_CLOSE int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ||
        errno != ECONNREFUSED)
        return err_set(err, "%s is there already, and another server listens there",
                       address->sun_path);
    return unlink(address->sun_path) == 0 || err_sys(err, "remove %s", address->sun_path);
}

/* For its owner alone: the mode is there before anybody can connect. */
static bool open_socket(const struct serve_options *options, struct serve *serve, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(options->socket) >= sizeof address.sun_path)
        return err_set(err, "--socket %s: a socket's path has at most %zu bytes", options->socket,
                       sizeof address.sun_path - 1);
    strcpy(address.sun_path, options->socket);
    if (!clear_old_socket(&address, err))
        return false;
    serve->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    bool bound =
        serve->fd >= 0 && bind(serve->fd, (const struct sockaddr *)&address, sizeof address) == 0;
    umask(mask);
    if (!bound || listen(serve->fd, SOMAXCONN) != 0)
        return err_sys(err, "listen at %s", options->socket);
    serve->socket = mem_strdup(options->socket);
    serve->socket_ino = lstat(options->socket, &st) == 0 ? st.st_ino : 0;
    serve->url = mem_strdup(options->socket);
    return true;
}

/* Keeps libmicrohttpd's own message for the error of its start. */
static __attribute__((format(printf, 2, 0))) void keep_log(void *context, const char *format,
                                                           va_list values)
{
    struct serve *serve = context;
    char line[sizeof serve->log.text];
    vsnprintf(line, sizeof line, format, values);
    line[strcspn(line, "\n")] = '\0';
    utf8_make_printable(line, "");
    err_set(&serve->log, "%s", line);
}

static bool start_daemon(struct serve *serve, struct err *err)
{
    serve->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, serve_handle,
        serve, MHD_OPTION_EXTERNAL_LOGGER, keep_log, serve, MHD_OPTION_LISTEN_SOCKET, serve->fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_ACCEPTED, MHD_OPTION_NOTIFY_CONNECTION,
        connections_notify, &serve->connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    return serve->daemon || err_set(err, "the server does not start%s%s",
                                    *serve->log.text ? ": " : "", serve->log.text);
}

/* Connections, and up to three descriptors for each run that is shown: the usual soft limit is too
 * low. */
static void raise_descriptor_limit(void)
{
    const rlim_t wanted = 4096;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct serve *serve_start(const struct serve_options *options, struct err *err)
{
    struct serve *serve = mem_alloc(sizeof *serve);
    int port = 0;
    serve->fd = -1;
    serve->language = options->language;
    raise_descriptor_limit();
    serve_runs_init(&serve->runs, options);
    serve_assets_tag(serve->script_tag, serve->style_tag);
    if (!microhttpd_load(err) ||
        !(options->socket ? open_socket(options, serve, err)
                          : open_port(options, serve, &port, err)) ||
        (!options->socket && !serve_token_get(options->new_token, serve->token, err)) ||
        !start_daemon(serve, err)) {
        serve_stop(serve);
        return NULL;
    }
    if (!options->socket)
        serve->url = mem_printf("http://127.0.0.1:%d/?token=%s", port, serve->token);
    return serve;
}

const char *serve_url(const struct serve *serve)
{
    return serve->url;
}

/* -1: without a limit, until a client connects. */
static int serve_wait_ms(struct serve *serve, int64_t next_tick_ns, int64_t next_late_ns)
{
    MHD_UNSIGNED_LONG_LONG most = 0;
    int64_t wait = MHD_get_timeout(serve->daemon, &most) == MHD_YES
                       ? (int64_t)(most < TICK_MS ? most : TICK_MS)
                       : -1;
    int64_t next_ns =
        channel_streams() && next_tick_ns < next_late_ns ? next_tick_ns : next_late_ns;
    int64_t next = next_ns == INT64_MAX ? -1 : (next_ns - clock_monotonic_ns()) / NS_PER_MS + 1;
    if (next_ns != INT64_MAX && (wait < 0 || next < wait))
        wait = next > 0 ? next : 0;
    return (int)wait;
}

/* While nobody watches nothing is read, but what nobody has read yet: one run between two
 * answers. */
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
    const union MHD_DaemonInfo *daemon =
        MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd watched[] = {{.fd = daemon->epoll_fd, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
    serve_runs_look(&serve->runs);
    int64_t next_late_ns = INT64_MAX;
    for (bool unread = true; read(signals, &info, sizeof info) != sizeof info;) {
        poll(watched, sizeof watched / sizeof *watched,
             unread ? 0 : serve_wait_ms(serve, next_tick_ns, next_late_ns));
        MHD_run(serve->daemon);
        next_late_ns = connections_close_late(&serve->connections, clock_monotonic_ns());
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
    struct stat st;
    /* resumes what is suspended, which must not be when the daemon stops */
    serve_runs_fini(&serve->runs);
    if (serve->daemon) {
        MHD_run(serve->daemon);
        MHD_stop_daemon(serve->daemon); /* closes the socket, too */
    } else if (serve->fd >= 0) {
        close(serve->fd);
    }
    if (serve->socket && lstat(serve->socket, &st) == 0 && st.st_ino == serve->socket_ino)
        unlink(serve->socket);
    free(serve->socket);
    free(serve->url);
    explicit_bzero(serve->token, sizeof serve->token);
    free(serve);
}
