/* What shrinking gives back, and what it must not touch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/shrink.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20, PERIOD = 251 };

static int pattern_file(void)
{
    char path[] = "/tmp/shrink-test.XXXXXX";
    static unsigned char bytes[SIZE];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i % PERIOD);
    assert_int_equal(write(fd, bytes, SIZE), SIZE);
    return fd;
}

/* By reading every page of it. */
static bool is_pattern(const unsigned char *bytes)
{
    for (size_t i = 0; i < SIZE; i++)
        if (bytes[i] != i % PERIOD)
            return false;
    return true;
}

/* KiB of the mapping that begins there, as the kernel counts them. */
static long resident_kib(const void *start)
{
    char line[512];
    long kib = -1;
    bool here = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        void *from, *to;
        if (sscanf(line, "%p-%p ", &from, &to) == 2)
            here = from == start;
        else if (here && strncmp(line, "Rss:", 4) == 0)
            kib = strtol(line + 4, NULL, 10);
    }
    fclose(file);
    return kib;
}

static void pages_of_a_file_go_and_come_back(void **state)
{
    (void)state;
    int fd = pattern_file();
    unsigned char *bytes = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(bytes != MAP_FAILED);
    assert_true(is_pattern(bytes));
    assert_int_equal(resident_kib(bytes), SIZE / 1024);
    shrink_now();
    assert_int_equal(resident_kib(bytes), 0);
    assert_true(is_pattern(bytes));
    munmap(bytes, SIZE);
    close(fd);
}

/* As the loader does with what it relocates. */
static void what_was_changed_before_it_was_protected_stays(void **state)
{
    (void)state;
    int fd = pattern_file();
    unsigned char *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(bytes != MAP_FAILED);
    bytes[5000] = 252; /* no value of the pattern */
    assert_int_equal(mprotect(bytes, SIZE, PROT_READ), 0);
    shrink_now();
    assert_int_equal(bytes[5000], 252);
    munmap(bytes, SIZE);
    close(fd);
}

static void memory_and_what_can_be_written_stay(void **state)
{
    (void)state;
    int fd = pattern_file();
    unsigned char *written = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    unsigned char *plain =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(written != MAP_FAILED && plain != MAP_FAILED);
    memset(written, 252, SIZE);
    memset(plain, 252, SIZE);
    assert_int_equal(mprotect(plain, SIZE, PROT_READ), 0);
    shrink_now();
    for (size_t i = 0; i < SIZE; i += 1000)
        assert_true(written[i] == 252 && plain[i] == 252);
    munmap(written, SIZE);
    munmap(plain, SIZE);
    close(fd);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_a_file_go_and_come_back),
        cmocka_unit_test(what_was_changed_before_it_was_protected_stays),
        cmocka_unit_test(memory_and_what_can_be_written_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
