#include "serve/request.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>
#include <strings.h>

/* At most nine digits, without sign or leading zero. 0: not such a number. */
static size_t parse_run_number(const char *text)
{
    size_t number = 0, digits = 0;
    if (*text == '0')
        return 0;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 9; digits++)
        number = number * 10 + (size_t)(text[digits] - '0');
    return text[digits] ? 0 : number;
}

/* The path after step. NULL: it does not begin with it. */
static const char *skip_step(const char *path, const char *step)
{
    size_t length = strlen(step);
    return strncmp(path, step, length) == 0 ? path + length : NULL;
}

/* Up to a slash or the end; rest: what follows. */
static bool parse_run_name(const char *path, struct request_target *out, const char **rest)
{
    size_t length = strcspn(path, "/");
    if (length == 0 || length >= sizeof out->run)
        return false;
    memcpy(out->run, path, length);
    out->run[length] = '\0';
    *rest = path + length;
    return fs_check_name(out->run, NULL) && utf8_is_valid(out->run, length);
}

static enum route route_below_run(const char *rest, struct request_target *out)
{
    static const struct {
        const char *path;
        enum route route;
    } fixed[] = {{"", ROUTE_RUN},
                 {"/", ROUTE_RUN},
                 {"/events", ROUTE_RUN_EVENTS},
                 {"/report.html", ROUTE_REPORT}};
    const char *more;
    EACH_OF (item, fixed)
        if (strcmp(rest, item->path) == 0)
            return item->route;
    if ((more = skip_step(rest, "/experiment/")) && (out->experiment = parse_run_number(more)))
        return ROUTE_EXPERIMENT;
    if ((more = skip_step(rest, "/log/")) && (out->experiment = parse_run_number(more)))
        return ROUTE_LOG;
    return ROUTE_NONE;
}

struct request_target request_target_parse(const char *path)
{
    static const struct {
        const char *path;
        enum route route;
    } fixed[] = {{"/", ROUTE_OVERVIEW},
                 {"/events", ROUTE_EVENTS},
                 {"/api/runs", ROUTE_RUNS},
                 {"/assets/page.js", ROUTE_SCRIPT},
                 {"/assets/page.css", ROUTE_STYLE}};
    struct request_target out = {0};
    const char *rest, *more;
    EACH_OF (item, fixed)
        if (strcmp(path, item->path) == 0)
            out.route = item->route;
    if ((more = skip_step(path, "/run/")) && parse_run_name(more, &out, &rest))
        out.route = route_below_run(rest, &out);
    else if ((more = skip_step(path, "/api/run/")) && parse_run_name(more, &out, &rest))
        out.route = *rest == '\0' ? ROUTE_RUN_JSON : ROUTE_NONE;
    return out;
}

bool request_host_is_local(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        const char *port = host + length;
        if (*port == '\0' || (*port == ':' && port[1 + strspn(port + 1, "0123456789")] == '\0'))
            return true;
    }
    return false;
}

uint64_t request_since_parse(const char *text, const char *nonce)
{
    size_t length = strlen(nonce);
    if (!text || strncmp(text, nonce, length) != 0 || text[length] != '-')
        return 0;
    return parse_run_number(text + length + 1);
}

bool request_token_equal(const char *given, const char *token)
{
    size_t length = strlen(token), own = given ? strlen(given) : 0;
    unsigned char differs = own != length;
    for (size_t i = 0; i < own; i++)
        differs |= (unsigned char)(given[i] ^ token[i % length]);
    return !differs;
}
