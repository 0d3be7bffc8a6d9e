/* Secrets of targets: from files that are the user's alone, or from the environment; never in a message, a log or a command line. */
#include "session/notify.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_MAX = 16 << 10 };

static bool read_file(const char *file, struct text *out, struct err *err)
{
    char bytes[SECRET_MAX];
    struct stat status;
    ssize_t count = 0;
    AUTO_FREE char *path = fs_resolve(NULL, file, getenv("HOME"));
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return err_sys(err, "open %s", file);
    if (!S_ISREG(status.st_mode))
        return err_set(err, "%s is not a regular file", file);
    if (status.st_uid != geteuid())
        return err_set(err, "%s holds a secret and belongs to another user: chown it, or use a file of your own", file);
    if (status.st_mode & 077)
        return err_set(err, "%s holds a secret and others may read it (mode %04o): chmod 600 %s", file,
                       status.st_mode & 07777, file);
    while (out->length < SECRET_MAX && (count = read(fd, bytes, sizeof bytes)) > 0)
        text_add_bytes(out, bytes, (size_t)count);
    return count == 0 || err_set(err, "%s: cannot be read, or is longer than %d bytes", file, SECRET_MAX);
}

/* Without the blanks and line ends around it. Nothing else may be in it that could end a header. */
static char *read_secret(const char *file, const char *variable, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    const char *value = variable ? getenv(variable) : NULL;
    if (file ? !read_file(file, &text, err)
             : !value && !err_set(err, "the environment variable %s is not set", variable))
        return NULL;
    if (!file)
        text_add(&text, value);
    const char *begin = text_get(&text) + strspn(text_get(&text), " \t\r\n");
    size_t length = strlen(begin);
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]))
        length--;
    bool good = length > 0;
    for (size_t i = 0; i < length; i++)
        good = good && begin[i] >= ' ' && begin[i] <= '~';
    char *secret = good ? mem_strndup(begin, length) : NULL;
    if (text.data)
        explicit_bzero(text.data, text.length);
    if (!good)
        err_set(err, "%s %s: expected one line of printable ASCII", file ? "file" : "the environment variable",
                file ? file : variable);
    return secret;
}

/* A token that goes over the network in the clear is known to everybody on the way. */
static bool is_local(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = url + strlen("http://");
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(host, hosts[i], length) == 0 && strchr(":/", host[length])) /* the NUL is found, too */
            return !memchr(host, '@', strcspn(host, "/?#"));
    }
    return false;
}

static bool read_environment(struct notify_secrets *out, struct err *err)
{
    const char *traces = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), *base = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    const char *headers = getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
    headers = headers ? headers : getenv("OTEL_EXPORTER_OTLP_HEADERS");
    if (!(traces && *traces) && !(base && *base))
        return err_set(err, "the environment variable OTEL_EXPORTER_OTLP_ENDPOINT is not set");
    size_t length = base ? strlen(base) : 0;
    out->url = traces && *traces ? mem_strdup(traces)
                                 : mem_printf("%s%sv1/traces", base, length && base[length - 1] == '/' ? "" : "/");
    out->headers = mem_strdup(headers);
    return true;
}

static bool read_otlp(const struct notify_target *target, struct notify_secrets *out, struct err *err)
{
    if (target->environment && !read_environment(out, err))
        return false;
    if (!target->environment) {
        size_t length = strlen(target->url);
        out->url = mem_printf("%s%sv1/traces", target->url, target->url[length - 1] == '/' ? "" : "/");
    }
    if (target->headers_file || target->headers_env) {
        free(out->headers);
        out->headers = read_secret(target->headers_file, target->headers_env, err);
        return out->headers != NULL;
    }
    return true;
}

bool notify_secrets_read(const struct notify_target *target, struct notify_secrets *out, struct err *err)
{
    const char *reason;
    if (target->type == NOTIFY_COMMAND || target->type == NOTIFY_MAIL)
        return true;
    if (target->type == NOTIFY_OTLP) {
        if (!read_otlp(target, out, err))
            return false;
    } else {
        out->url = target->url ? mem_strdup(target->url) : read_secret(target->url_file, target->url_env, err);
        if (!out->url)
            return false;
        if ((target->token_file || target->token_env) &&
            !(out->token = read_secret(target->token_file, target->token_env, err)))
            return false;
    }
    if (!notify_check_url(out->url, false, &reason))
        return err_set(err, "%s", reason);
    if ((out->token || out->headers) && strncmp(out->url, "http:", 5) == 0 && !is_local(out->url))
        return err_set(err, "a token is not sent without encryption: give a URL that begins with https://");
    return true;
}

void notify_secrets_fini(struct notify_secrets *secrets)
{
    char *texts[] = {secrets->url, secrets->token, secrets->headers};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i])
            explicit_bzero(texts[i], strlen(texts[i]));
        free(texts[i]);
    }
    *secrets = (struct notify_secrets){0};
}
