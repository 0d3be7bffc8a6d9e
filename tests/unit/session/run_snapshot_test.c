#include "session/run_snapshot.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN "results/run_20200101_000000"

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void expect_named(const char *given, const char *path, const char *error)
{
    struct err err = {0};
    AUTO_FREE char *named = run_snapshot_named(given, &err);
    if (path)
        assert_string_equal(named, path);
    else
        assert_null(named);
    assert_true(!error || strstr(err.text, error));
}

static void latest_is_the_only_snapshot_of_the_newest_run(void **state)
{
    (void)state;
    char folder[] = "/tmp/tare-run-snapshot-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    expect_named("latest", NULL, "there is no run");
    expect_named("./latest", "./latest", NULL);
    assert_int_equal(mkdir("results", 0700), 0);
    assert_int_equal(mkdir(RUN, 0700), 0);
    assert_int_equal(mkdir(RUN "/a", 0700), 0);
    assert_int_equal(mkdir(RUN "/b", 0700), 0);
    expect_named("latest", NULL, "no experiment of " RUN " has a memory_snapshot.pickle");
    make_file(RUN "/b/memory_snapshot.pickle");
    expect_named("latest", RUN "/b/memory_snapshot.pickle", NULL);
    make_file(RUN "/a/memory_snapshot.pickle");
    expect_named("latest", NULL,
                 "2 snapshots; name one of " RUN "/a/memory_snapshot.pickle, " RUN
                 "/b/memory_snapshot.pickle");
    AUTO_FREE char *remove = mem_printf("rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latest_is_the_only_snapshot_of_the_newest_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
