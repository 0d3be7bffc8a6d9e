#include "serve/token.h"
#include "base/fs_output.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/mem.h"
#include "machine/state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_FILE "serve-token"

bool serve_random_hex(char *out, size_t digits, struct err *err)
{
    unsigned char bytes[SERVE_TOKEN / 2];
    size_t count = digits / 2;
    if (getrandom(bytes, count, 0) != (ssize_t)count)
        return err_sys(err, "getrandom");
    for (size_t i = 0; i < count; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool write_token(int folder, const char *token, struct err *err)
{
    char line[SERVE_TOKEN + 2];
    AUTO(fs_unfinished_drop) struct fs_unfinished file = {.dir = folder};
    snprintf(line, sizeof line, "%s\n", token);
    file.fd = fs_make_unfinished(folder, 0600, file.name, err);
    return file.fd >= 0 && fs_write_all(file.fd, line, SERVE_TOKEN + 1, err) &&
           fs_unfinished_publish(&file, TOKEN_FILE, true, err);
}

/* Refuses what another user may have read or chosen. */
static bool read_token(int folder, char token[SERVE_TOKEN + 1], struct err *err)
{
    struct stat st;
    char line[SERVE_TOKEN + 2];
    AUTO_CLOSE int fd = fs_open_at(folder, TOKEN_FILE, err);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0)
        return err_sys(err, TOKEN_FILE);
    if (st.st_uid != geteuid())
        return err_set(err, TOKEN_FILE ": it belongs to another user (uid %u)",
                       (unsigned)st.st_uid);
    if (st.st_mode & 07177)
        return err_set(err, TOKEN_FILE ": its mode is %04o: only 0600 keeps it from other users",
                       (unsigned)st.st_mode & 07777);
    ssize_t length = read(fd, line, sizeof line);
    if (length != SERVE_TOKEN + 1 || line[SERVE_TOKEN] != '\n')
        return err_set(err, TOKEN_FILE ": it does not hold a token");
    line[SERVE_TOKEN] = '\0';
    if (line[strspn(line, "0123456789abcdef")])
        return err_set(err, TOKEN_FILE ": it does not hold a token");
    memcpy(token, line, sizeof line - 1);
    return true;
}

static bool get_in(int folder, bool new, char token[SERVE_TOKEN + 1], struct err *err)
{
    struct stat st;
    if (new || (fstatat(folder, TOKEN_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT))
        return (serve_random_hex(token, SERVE_TOKEN, err) && write_token(folder, token, err)) ||
               err_wrap(err, "write " TOKEN_FILE " in the state folder");
    if (read_token(folder, token, err))
        return true;
    AUTO_FREE char *link = mem_printf("/proc/self/fd/%d", folder), *path = realpath(link, NULL);
    return err_wrap(err, "the token in %s, which --new-token replaces",
                    path ? path : "the state folder");
}

bool serve_token_get(bool new, char token[SERVE_TOKEN + 1], struct err *err)
{
    struct state *state = state_open_user(err);
    if (!state)
        return err_wrap(err, "the state folder, which keeps the token (--socket needs none)");
    bool good = get_in(state_folder(state), new, token, err);
    state_close(state);
    return good;
}

void serve_token_of_report(const char *token, const char *run, char out[SERVE_TOKEN + 1])
{
    char hex[DIGEST_HEX + 1];
    AUTO_FREE char *text = mem_printf("%s/%s", token, run);
    struct digest digest = digest_of(text, strlen(text));
    digest_print(&digest, hex);
    snprintf(out, SERVE_TOKEN + 1, "%.*s", SERVE_TOKEN, hex);
}
