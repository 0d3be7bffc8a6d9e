#include "gpu_memory/preload/elf_find.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <dlfcn.h>

static const char *const c_library[] = {"libc.so", "ld-musl", NULL};

static void a_function_is_the_one_that_the_loader_finds(void **state)
{
    (void)state;
    static const char *const names[] = {"getpid", "qsort", "fopen", "memfd_create", "nftw"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *expected = dlsym(RTLD_NEXT, names[i]);
        assert_non_null(expected);
        assert_ptr_equal(elf_find(c_library, names[i]), expected);
    }
}

/* Of these glibc has kept older versions, for old programs. */
static void of_several_versions_the_default_one_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"realpath",
                                        "nftw",
                                        "regexec",
                                        "posix_spawn",
                                        "posix_spawnp",
                                        "pthread_cond_wait",
                                        "pthread_cond_init",
                                        "pthread_cond_signal",
                                        "fmemopen",
                                        "quick_exit",
                                        "sched_getaffinity",
                                        "sched_setaffinity",
                                        "timer_create",
                                        "timer_delete",
                                        "timer_settime",
                                        "dlsym",
                                        "dlopen"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *expected = dlsym(RTLD_NEXT, names[i]);
        if (expected)
            assert_ptr_equal(elf_find(c_library, names[i]), expected);
    }
}

static void whole_names_of_functions_count(void **state)
{
    (void)state;
    assert_null(elf_find(c_library, "getpi"));
    assert_null(elf_find(c_library, "getpidx"));
    assert_null(elf_find(c_library, ""));
    assert_null(elf_find(c_library, "no_such_function"));
    assert_non_null(dlsym(RTLD_DEFAULT, "environ"));
    assert_null(elf_find(c_library, "environ")); /* a variable */
}

static void only_objects_of_these_names_are_searched(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL}, *const other[] = {"libcmocka.so", NULL},
                             *const middle[] = {"ibc.so", NULL},
                             *const second[] = {"libnowhere", "libc.so", NULL};
    assert_null(elf_find(nothing, "getpid"));
    assert_null(elf_find(other, "getpid")); /* which uses it, and does not define it */
    assert_null(elf_find(middle, "getpid"));
    assert_non_null(elf_find(other, "_assert_true"));
    assert_ptr_equal(elf_find(second, "getpid"), dlsym(RTLD_NEXT, "getpid"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_the_one_that_the_loader_finds),
        cmocka_unit_test(of_several_versions_the_default_one_is_found),
        cmocka_unit_test(whole_names_of_functions_count),
        cmocka_unit_test(only_objects_of_these_names_are_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
