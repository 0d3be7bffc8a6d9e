#include "base/digest.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void digest_add(SHA2_CTX *state, const void *bytes, size_t count)
{
    SHA256Update(state, bytes, count);
}

struct digest digest_end(const SHA2_CTX *state)
{
    struct digest out;
    SHA2_CTX copy = *state;
    SHA256Final(out.bytes, &copy);
    return out;
}

struct digest digest_of(const void *bytes, size_t count)
{
    SHA2_CTX state;
    SHA256Init(&state);
    digest_add(&state, bytes, count);
    return digest_end(&state);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

void digest_print(const struct digest *digest, char out[DIGEST_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[DIGEST_HEX] = '\0';
}

static int hex_digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool digest_parse(const char *hex, struct digest *out)
{
    if (!hex || strlen(hex) != DIGEST_HEX)
        return false;
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        int high = hex_digit_value(hex[2 * i]), low = hex_digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

bool digest_of_file(int dir, const char *name, off_t limit, struct digest *out)
{
    char buffer[65536];
    SHA2_CTX state;
    struct stat status;
    ssize_t count;
    AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > limit)
        return false;
    SHA256Init(&state);
    while ((count = read(fd, buffer, sizeof buffer)) > 0 && (limit -= count) >= 0)
        digest_add(&state, buffer, (size_t)count);
    *out = digest_end(&state);
    return count == 0;
}
