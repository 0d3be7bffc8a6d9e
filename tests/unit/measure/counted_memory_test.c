/* What a job counted of its own GPU memory, set against what the driver tells: the job's books are
 * played, as a job would write them. */
#include "gpu_memory/preload/ledger_gpu.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/gpu_ledger.h"
#include "base/json.h"
#include "base/mem.h"
#include "measure/memory_curve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char uuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
static const int64_t SECOND = 1000000000;

struct fixture {
    struct ledger *ledger;
    struct gpu_ledger *table;
    struct counted counted;
};

/* Of any library that this process has: one that is for this machine. None is loaded here. */
static char *library(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096], *found = NULL;
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps))
        if (strchr(line, '/') && strstr(line, ".so"))
            found = strndup(strchr(line, '/'), strcspn(strchr(line, '/'), " \n"));
    fclose(maps);
    return found;
}

static void begin(struct fixture *f)
{
    struct err err = {0};
    const struct gpu_limit none = {0};
    AUTO_FREE char *path = library();
    f->ledger = ledger_new(path, &none, &err);
    if (!f->ledger)
        fail_msg("%s", err.text);
    f->table =
        mmap(NULL, sizeof *f->table, PROT_READ | PROT_WRITE, MAP_SHARED, ledger_fd(f->ledger), 0);
    assert_ptr_not_equal(f->table, MAP_FAILED);
    for (uint8_t i = 0; i < 16; i++)
        f->table->gpus[0].uuid[i] = i;
    f->table->gpus[0].state = GPU_LEDGER_USED;
    counted_begin(&f->counted);
}

static void done(struct fixture *f)
{
    munmap(f->table, sizeof *f->table);
    ledger_free(f->ledger);
}

/* At that second process 0 holds so much, and never held more than peak. */
static void look(struct fixture *f, int second, uint64_t held, uint64_t peak)
{
    f->table->gpus[0].held = held;
    f->table->processes[0].gpus[0].held_peak = peak;
    counted_look(&f->counted, f->ledger, uuid, second * SECOND, second);
}

/* A figure of the taken JSON; -1: null, -2: nothing was counted. */
static double figure(const struct fixture *f, const char *key)
{
    double value = -1;
    json_t *json = memory_counted_json(&f->counted);
    value = json_is_null(json) ? -2 : value;
    json_get_number(json, key, &value);
    json_decref(json);
    return value;
}

static void what_the_driver_tells_beyond_a_level_is_the_context(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_true(figure(&f, "peak_bytes") == -2);
    look(&f, 1, 0, 0);
    look(&f, 2, 1000, 1000);
    /* Asked before the look that first saw 1000: it may have been less then. */
    counted_compare(&f.counted, 2 * SECOND, 1900);
    assert_true(figure(&f, "context_bytes") == -1 && figure(&f, "peak_bytes") == -1);
    look(&f, 3, 1000, 1000);
    counted_compare(&f.counted, 3 * SECOND - 5, 1300);
    assert_true(figure(&f, "context_bytes") == 300 && figure(&f, "peak_bytes") == 1300);
    /* It has grown, and never becomes less. */
    look(&f, 4, 1000, 1000);
    counted_compare(&f.counted, 4 * SECOND - 5, 1340);
    look(&f, 5, 1000, 1000);
    counted_compare(&f.counted, 5 * SECOND - 5, 1300);
    assert_true(figure(&f, "context_bytes") == 340);
    /* Something came and went since: that the level is the same again says nothing. */
    look(&f, 6, 1000, 7000);
    counted_compare(&f.counted, 6 * SECOND - 5, 5000);
    assert_true(figure(&f, "context_bytes") == 340 && figure(&f, "peak_bytes") == 7340);
    done(&f);
}

static void a_peak_between_two_looks_lies_in_the_curve_from_one_to_the_other(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    look(&f, 0, 100, 100);
    look(&f, 2, 100, 100);
    look(&f, 4, 150, 900);
    look(&f, 6, 120, 900);
    const struct memory_curve *curve = &f.counted.curve;
    assert_true(curve->peak_bytes == 900 && curve->step_s == 1 && curve->count == 7);
    assert_true(curve->points[0] == 100 && curve->points[2] == 900 && curve->points[4] == 900);
    assert_true(curve->points[6] == 120);
    done(&f);
}

static void what_was_held_when_it_was_first_seen_came_after_the_look_before(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.table->gpus[0].state = GPU_LEDGER_FREE;
    for (int second = 0; second < 8; second++)
        look(&f, second, 0, 0);
    f.table->gpus[0].state = GPU_LEDGER_USED;
    look(&f, 8, 700, 700);
    const struct memory_curve *curve = &f.counted.curve;
    assert_true(curve->count == 9 && curve->points[7] == 700 && curve->points[8] == 700);
    for (size_t i = 0; i < 7; i++)
        assert_true(curve->points[i] < 0);
    done(&f);
}

static void of_several_processes_no_peak_is_known_to_the_byte(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.table->processes[3].gpus[0].held_peak = 4000;
    look(&f, 1, 1000, 1000);
    counted_compare(&f.counted, 1 * SECOND + 1, 1500);
    assert_true(figure(&f, "processes") == 2 && figure(&f, "context_bytes") == 500);
    assert_true(figure(&f, "peak_bytes") == -1 && figure(&f, "held_peak_bytes") == 4000);
    done(&f);
}

static void what_several_held_together_is_known_and_who_has_ended_holds_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct stat status;
    pid_t child = fork();
    begin(&f);
    if (child == 0)
        _exit(0);
    assert_true(stat("/proc/self/ns/pid", &status) == 0 && waitpid(child, NULL, 0) == child);
    const pid_t pids[] = {child, getpid()};
    for (size_t i = 0; i < 2; i++) {
        struct gpu_ledger_process *process = &f.table->processes[i];
        process->state = GPU_LEDGER_USED;
        process->pid = pids[i];
        process->pid_namespace = (uint64_t)status.st_ino;
        process->gpus[0].held = i == 0 ? 700 : 300;
        process->gpus[0].held_peak = i == 0 ? 900 : 800;
    }
    f.table->gpus[0].held = 1000;
    f.table->gpus[0].held_peak = 1500;
    struct ledger_gpu seen;
    assert_true(ledger_look(f.ledger, uuid, &seen));
    assert_true(seen.held == 1000 && seen.peak == 900 &&
                seen.sum_peak == 1500); /* whose numbers they are is not known */
    ledger_watch(f.ledger, getpid());
    assert_true(ledger_look(f.ledger, uuid, &seen) && seen.held == 300);
    counted_look(&f.counted, f.ledger, uuid, SECOND, 1);
    assert_true(figure(&f, "sum_peak_bytes") == 1500 && figure(&f, "held_peak_bytes") == 900);
    done(&f);
}

static void books_that_are_nonsense_and_other_gpus_are_left_out(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    look(&f, 1, UINT64_MAX, 5);
    look(&f, 2, 5, UINT64_C(1) << 63);
    assert_true(figure(&f, "held_peak_bytes") == -2);
    f.table->gpus[0].uuid[15] = 0xff;
    look(&f, 3, 5, 5);
    assert_true(figure(&f, "held_peak_bytes") == -2);
    done(&f);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_driver_tells_beyond_a_level_is_the_context),
        cmocka_unit_test(a_peak_between_two_looks_lies_in_the_curve_from_one_to_the_other),
        cmocka_unit_test(what_was_held_when_it_was_first_seen_came_after_the_look_before),
        cmocka_unit_test(of_several_processes_no_peak_is_known_to_the_byte),
        cmocka_unit_test(what_several_held_together_is_known_and_who_has_ended_holds_nothing),
        cmocka_unit_test(books_that_are_nonsense_and_other_gpus_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
