/* Snapshots of six steps, in the lines of pickle's protocol 0. */
#include "report/oom_snapshot.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

enum { STEPS = 6, KEPT = 2 << 20 };

static void write_event(FILE *file, const char *action, int step, int after)
{
    fprintf(file, "(dVaction\nV%s\nsVaddr\nI%d\nsVsize\nI%d\nsVstream\nI0\nsVtime_us\nI%d\nsa",
            action, (step + 1) * KEPT, KEPT, 10 * step + after);
}

/* Each step keeps 2 MiB, or gives them back. */
static void write_snapshot(int folder, const char *name, bool keeps)
{
    FILE *file = fdopen(openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600), "w");
    assert_non_null(file);
    fputs("(dVsegments\n(lsVexternal_annotations\n(l", file);
    for (int i = 0; i < STEPS; i++)
        fprintf(file,
                "(dVstage\nVSTART\nsVname\nVOptimizer.step#SGD\nsVdevice\nI0\nsVtime_us\nI%d\nsa",
                10 * i);
    fputs("sVdevice_traces\n(l(l", file);
    for (int i = 0; i < STEPS; i++) {
        write_event(file, "alloc", i, 1);
        if (!keeps)
            write_event(file, "free_requested", i, 2);
    }
    fputs("as.", file);
    assert_int_equal(fclose(file), 0);
}

static void growth_from_step_to_step_is_read(void **state)
{
    (void)state;
    char path[] = "/tmp/oom_snapshot_test.XXXXXX";
    struct oom_steps steps;
    assert_non_null(mkdtemp(path));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_false(oom_snapshot_steps(folder, &steps)); /* no file */
    write_snapshot(folder, "memory_snapshot.pickle", false);
    assert_false(oom_snapshot_steps(folder, &steps));
    write_snapshot(folder, "elsewhere", true);
    unlinkat(folder, "memory_snapshot.pickle", 0);
    symlinkat("elsewhere", folder, "memory_snapshot.pickle");
    assert_false(oom_snapshot_steps(folder, &steps));
    renameat(folder, "elsewhere", folder, "memory_snapshot.pickle");
    assert_true(oom_snapshot_steps(folder, &steps));
    assert_int_equal(steps.spans, STEPS - 1);
    assert_true(steps.bytes_per_span == KEPT);
    assert_true(steps.last_bytes - steps.first_bytes == (STEPS - 2) * (double)KEPT);
    unlinkat(folder, "memory_snapshot.pickle", 0);
    close(folder);
    rmdir(path);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth_from_step_to_step_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
