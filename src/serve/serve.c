#include "serve/serve_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
__attribute__((format(printf, 2, 0))) static void keep_log(void *context, const char *format, va_list values)
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
    serve->control = options->control;
    serve->language = options->language;
    serve_runs_init(&serve->runs, options);
    assets_tag(serve->script_tag, serve->style_tag);
    bool good =
        (!options->cert || (read_pem(options->cert, &serve->cert, err) && read_pem(options->key, &serve->key, err))) &&
        place_open(options, &serve->place, err);
    bool needs_token = options->token || options->control || !serve->place.loopback;
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
