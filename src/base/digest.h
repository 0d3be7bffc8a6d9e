/* digest: SHA-256 of bytes and of files, by libmd (https://www.hadrons.org/software/libmd/). */
#ifndef TARE_BASE_DIGEST_H
#define TARE_BASE_DIGEST_H

#include "base/err.h"

#include <sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DIGEST_BYTES = SHA256_DIGEST_LENGTH, DIGEST_HEX = 2 * DIGEST_BYTES };

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

struct digest digest_of(const void *bytes, size_t count);
bool digest_equal(const struct digest *a, const struct digest *b);

/* 64 lower-case hexadecimal digits, as sha256sum prints them. */
void digest_print(const struct digest *digest, char out[DIGEST_HEX + 1]);
bool digest_parse(const char *hex, struct digest *out); /* NULL: false */

/* Piece by piece: SHA256Init, digest_add, digest_end; the latter leaves it as it was, so that more
 * can be added. */
void digest_add(SHA2_CTX *state, const void *bytes, size_t count);
struct digest digest_end(const SHA2_CTX *state);

/* Of the whole regular file of that name in a folder, which may be no link nor longer than
 * limit. */
bool digest_of_file(int dir, const char *name, off_t limit, struct digest *out);

#endif
