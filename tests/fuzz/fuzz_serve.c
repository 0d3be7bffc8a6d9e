/* What strangers send to the server: the bytes as a path, and as each header that it reads. A name
 * that is taken is one that may be part of a path, and nothing but the token itself is the
 * token. */
#include "base/fs_path.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "serve/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *text)
{
    struct request_target target = request_target_parse(text);
    bool of_run = target.route >= ROUTE_RUN;
    if (of_run && (!fs_check_name(target.run, NULL) || strchr(target.run, '/') ||
                   !utf8_is_valid(target.run, strlen(target.run)) || !strstr(text, target.run)))
        abort();
    if ((target.route == ROUTE_EXPERIMENT || target.route == ROUTE_LOG) && target.experiment == 0)
        abort();
}

static void check_headers(const char *text)
{
    static const char token[] = "0123456789abcdef0123456789abcdef01234567",
                      nonce[] = "0123456789abcdef";
    if (request_host_is_local(text) && strncasecmp(text, "localhost", 9) != 0 &&
        strncmp(text, "127.0.0.1", 9) != 0 && strncmp(text, "[::1]", 5) != 0)
        abort();
    if (request_token_equal(text, token) != (strcmp(text, token) == 0))
        abort();
    if (request_since_parse(text, nonce) && strncmp(text, "0123456789abcdef-", 17) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, size);
    check_path(text);
    check_headers(text);
    return 0;
}
