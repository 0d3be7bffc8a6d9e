#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void new_memory_is_zeroed(void **state)
{
    (void)state;
    AUTO_FREE unsigned char *bytes = mem_alloc(1000);
    AUTO_FREE int64_t *numbers = mem_array(100, sizeof *numbers);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(bytes[i], 0);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
}

static void nothing_can_be_allocated_as_well(void **state)
{
    (void)state;
    AUTO_FREE char *none = mem_alloc(0);
    AUTO_FREE char *array = mem_array(0, 8);
    AUTO_FREE char *resized = mem_resize(NULL, 0, 8);
    assert_non_null(none);
    assert_non_null(array);
    assert_non_null(resized);
}

static void copies_are_one_s_own(void **state)
{
    (void)state;
    char source[] = "alpha";
    AUTO_FREE char *whole = mem_strdup(source);
    AUTO_FREE char *part = mem_strndup(source, 3);
    AUTO_FREE char *more = mem_strndup(source, 99);
    AUTO_FREE char *printed = mem_printf("%s-%03d", source, 7);
    source[0] = 'X';
    assert_string_equal(whole, "alpha");
    assert_string_equal(part, "alp");
    assert_string_equal(more, "alpha");
    assert_string_equal(printed, "alpha-007");
    assert_null(mem_strdup(NULL));
}

static void room_grows_and_keeps_what_is_there(void **state)
{
    (void)state;
    AUTO_FREE int *items = NULL;
    for (int i = 0; i < 1000; i++) {
        items = mem_room(items, (size_t)i, sizeof *items);
        assert_true(malloc_usable_size(items) > (size_t)i * sizeof *items);
        items[i] = i * i;
    }
    assert_true(malloc_usable_size(items) < 1100 * sizeof *items); /* 1024: 8 doubled seven times */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i * i);
}

/* Runs what must end the program; gives the signal, and what it said on stderr. */
static int signal_of(void (*run)(void), char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    size_t count = fread(said, 1, size - 1, file);
    said[count] = '\0';
    fclose(file);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void resize_beyond_all_memory(void)
{
    void *volatile made = mem_resize(NULL, SIZE_MAX / 4, 8);
    free(made);
}

static void array_beyond_all_memory(void)
{
    void *volatile made = mem_array(SIZE_MAX / 4, 8);
    free(made);
}

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define UNDER_SANITIZER true
#endif
#elif defined __SANITIZE_ADDRESS__
#define UNDER_SANITIZER true
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER false
#endif

static void without_memory_the_program_ends_with_a_line(void **state)
{
    (void)state;
    if (UNDER_SANITIZER) {
        print_message(
            "# skipped: the address sanitizer ends the program first, in its own words\n");
        return;
    }
    char said[200];
    assert_int_equal(signal_of(resize_beyond_all_memory, said, sizeof said), SIGABRT);
    assert_string_equal(said, "out of memory\n");
    assert_int_equal(signal_of(array_beyond_all_memory, said, sizeof said), SIGABRT);
    assert_string_equal(said, "out of memory\n");
}

static int open_descriptor_of_block(void)
{
    AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void descriptors_are_closed_at_the_end_of_their_block(void **state)
{
    (void)state;
    int fd = open_descriptor_of_block();
    errno = 0;
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(errno, EBADF);
}

static void what_was_stolen_outlives_its_block(void **state)
{
    (void)state;
    char *kept;
    int kept_fd;
    {
        AUTO_FREE char *text = mem_strdup("kept");
        AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        kept = steal_ptr(text);
        kept_fd = steal_fd(&fd);
        assert_null(text);
        assert_int_equal(fd, -1);
    }
    assert_string_equal(kept, "kept");
    assert_true(fcntl(kept_fd, F_GETFD) >= 0);
    free(kept);
    close(kept_fd);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(nothing_can_be_allocated_as_well),
        cmocka_unit_test(copies_are_one_s_own),
        cmocka_unit_test(room_grows_and_keeps_what_is_there),
        cmocka_unit_test(without_memory_the_program_ends_with_a_line),
        cmocka_unit_test(descriptors_are_closed_at_the_end_of_their_block),
        cmocka_unit_test(what_was_stolen_outlives_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
