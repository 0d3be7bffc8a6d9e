/* A file that gzip made, its magic, and what is not one. */
#include "gpu_memory/allocator/unpack.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const char packed[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\xce\x4b\x2c\x28\xce\xc8\x2f"
    "\x29\x46\xa3\x01\x67\xec\x52\x40\x18\x00\x00\x00";

static int file_of(const char *bytes, size_t count)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void packed_bytes_are_known_by_their_magic(void **state)
{
    (void)state;
    assert_string_equal(unpack_find(packed, sizeof packed - 1)->name, "gzip");
    assert_null(unpack_find(packed, 1));
    assert_null(unpack_find("\x80\x04}.", 4));
    assert_null(unpack_find("PK\x03\x04", 4)->program);
}

static void a_file_is_unpacked_up_to_a_limit(void **state)
{
    (void)state;
    char bytes[64];
    struct err err = {0};
    int fd = file_of(packed, sizeof packed - 1);
    const struct unpack_format *gzip = unpack_find(packed, sizeof packed - 1);
    int out = unpack_file(gzip, fd, 24, &err);
    assert_true(out >= 0);
    assert_int_equal(pread(out, bytes, sizeof bytes, 0), 24);
    assert_memory_equal(bytes, "snapshotsnapshotsnapshot", 24);
    close(out);
    assert_int_equal(unpack_file(gzip, fd, 23, &err), -1);
    assert_non_null(strstr(err.text, "more than 23 bytes"));
    close(fd);
    fd = file_of(packed, sizeof packed - 6); /* without all of its end */
    assert_int_equal(unpack_file(gzip, fd, 24, &err), -1);
    assert_non_null(strstr(err.text, "damaged or cut short"));
    close(fd);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_bytes_are_known_by_their_magic),
        cmocka_unit_test(a_file_is_unpacked_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
