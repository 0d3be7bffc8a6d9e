/* What sbatch is given: ranges, time limits, and the script with whatever a folder may be
 * called. */
#include "slurm/slurm.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void assert_ranges(const size_t *items, size_t count, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    struct script_numbers numbers = {items, count};
    script_ranges(&numbers, &text);
    assert_string_equal(text_get(&text), expected);
}

static void neighbours_become_ranges(void **state)
{
    (void)state;
    assert_ranges((const size_t[]){1}, 1, "1");
    assert_ranges((const size_t[]){1, 2}, 2, "1-2");
    assert_ranges((const size_t[]){1, 3}, 2, "1,3");
    assert_ranges((const size_t[]){1, 2, 3, 7, 9, 10, 11, 12}, 8, "1-3,7,9-12");
    assert_ranges(NULL, 0, "");
}

static void a_number_is_found_in_ranges(void **state)
{
    (void)state;
    const char *ranges = "1-3,7,9-12";
    for (size_t number = 0; number < 15; number++)
        assert_int_equal(script_ranges_hold(ranges, number), (number >= 1 && number <= 3) ||
                                                                 number == 7 ||
                                                                 (number >= 9 && number <= 12));
    assert_false(script_ranges_hold("", 1));
    assert_false(script_ranges_hold("x1", 1));
    assert_false(script_ranges_hold("1-", 2));
    assert_true(script_ranges_hold("1-", 1));
}

static struct strv options_of(const char *const *words)
{
    struct strv options = {0};
    for (; *words; words++)
        strv_add(&options, *words);
    return options;
}

static void assert_asks(int64_t gpus, const char *const *words)
{
    struct plan plan = {.pool = {.per_experiment = 2}};
    AUTO_STRV struct strv options = options_of(words);
    assert_int_equal(script_gpus(&plan, &options), gpus);
}

static void a_task_asks_for_the_gpus_of_an_experiment_unless_the_person_does(void **state)
{
    (void)state;
    struct plan plan = {.pool = {.per_experiment = 1}};
    assert_int_equal(script_gpus(&plan, NULL), 1);
    plan.pool.gpus = (char[]){"none"};
    assert_int_equal(script_gpus(&plan, NULL), 0);
    plan.pool.gpus = (char[]){"all"};
    assert_int_equal(script_gpus(&plan, NULL), 1);
    plan.pool.per_experiment = 0; /* "all" */
    assert_int_equal(script_gpus(&plan, NULL), 0);
    assert_asks(2, (const char *const[]){"--partition=gpu", "--gres-flags=enforce-binding", NULL});
    assert_asks(0, (const char *const[]){"--gres", "gpu:4", NULL});
    assert_asks(0, (const char *const[]){"-p", "gpu", "--gpus=4", NULL});
    assert_asks(0, (const char *const[]){"--gpus-per-node=1", NULL});
    assert_asks(0, (const char *const[]){"-G4", NULL});
    assert_asks(0, (const char *const[]){"--tres-per-task=gres:gpu:1", NULL});
}

static void assert_depends(const char *expected, const char *after, const char *const *words)
{
    AUTO_STRV struct strv options = options_of(words);
    AUTO_FREE char *got = script_dependency(&options, after);
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
}

static void an_array_waits_for_the_one_before_and_for_what_the_person_says(void **state)
{
    (void)state;
    assert_depends(NULL, NULL, (const char *const[]){"-p", "gpu", NULL});
    assert_depends("afterany:7", "7", (const char *const[]){"--distribution=block", NULL});
    assert_depends("afterok:5,afterany:7", "7",
                   (const char *const[]){"--dependency=afterok:5", NULL});
    assert_depends("afterok:5,afterany:7", "7",
                   (const char *const[]){"--dependency", "afterok:5", "-p", "x", NULL});
    assert_depends("afterok:5,afterany:7", "7", (const char *const[]){"-dafterok:5", NULL});
    assert_depends("singleton,afterany:7", "7",
                   (const char *const[]){"-d", "afterok:5", "-d", "singleton", NULL});
    assert_depends("afterok:5?afterok:6", "7",
                   (const char *const[]){"-d", "afterok:5?afterok:6", NULL});
    assert_depends("afterany:7", "7", (const char *const[]){"-d", NULL});
}

static const size_t two[] = {1, 2};

static void the_time_is_that_of_the_longest_experiment_with_all_its_attempts(void **state)
{
    (void)state;
    struct plan_experiment experiments[] = {{.timeout_s = 600, .max_retries = 0},
                                            {.timeout_s = 1000, .max_retries = 1}};
    struct plan plan = {.experiments = experiments,
                        .count = 2,
                        .timing = {.stop_grace_s = 10, .before_retry_s = 30},
                        .guard = {.preflight = {.wait_s = 40}},
                        .parallel = {.limit_s = 120}};
    struct script_numbers numbers = {two, 2};
    /* 2 x (1000 + 10 + 30 + 40 + 120) + 300 = 2700 s. */
    assert_int_equal(script_minutes(&plan, &numbers), 45);
    /* A background is waited for, up to 120 s an attempt: 2940 s. */
    experiments[1].parallel = true;
    assert_int_equal(script_minutes(&plan, &numbers), 49);
    experiments[0].timeout_s = 0;
    assert_int_equal(script_minutes(&plan, &numbers), 0);
}

static void a_script_names_the_array_and_runs_nothing_but_its_task(void **state)
{
    (void)state;
    static const size_t numbers[] = {1001, 1002, 1005};
    AUTO_TEXT struct text text = {0};
    struct script script = {
        .job_name = "tare-run-1f3c.1",
        .program = "/opt/tare",
        .run_dir = "/data/it's $(here)",
        .numbers = {numbers, 3},
        .offset = 1000,
        .at_once = 2,
        .minutes = 90,
        .gpus = 2,
    };
    script_text(&script, &text);
    assert_string_equal(text_get(&text),
                        "#!/bin/sh\n"
                        "#SBATCH --job-name=tare-run-1f3c.1\n"
                        "#SBATCH --array=1-2,5%2\n"
                        "#SBATCH --time=90\n"
                        "#SBATCH --gres=gpu:2\n"
                        "#SBATCH --requeue\n"
                        "#SBATCH --open-mode=append\n"
                        "#SBATCH --output=tasks/slurm-%A_%a.log\n"
                        "exec /opt/tare run --task \"$((SLURM_ARRAY_TASK_ID + 1000))\" "
                        "'/data/it'\\''s $(here)'\n");
}

/* The same by the shell itself: what is quoted arrives as it was. */
static void the_shell_reads_a_folder_of_any_name_as_one_word(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    static const size_t one[] = {4};
    const char *odd = "/a b/it's;\"$HOME`id`\\/*?/-n";
    struct script script = {
        .job_name = "t", .program = "printf", .run_dir = odd, .numbers = {one, 1}};
    script_text(&script, &text);
    /* printf 'run' --task 4 DIR: the format "run" prints itself only, so the program is replaced by
     * one that shows the last. */
    char path[] = "/tmp/test-script-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text_get(&text), text.length), (ssize_t)text.length);
    close(fd);
    char command[200], got[200] = "";
    snprintf(command, sizeof command,
             "sed 's/^exec printf run --task [^ ]* /printf %%s /' %s | SLURM_ARRAY_TASK_ID=4 sh",
             path);
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    assert_non_null(fgets(got, sizeof got, shell));
    pclose(shell);
    unlink(path);
    assert_string_equal(got, odd);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_become_ranges),
        cmocka_unit_test(a_number_is_found_in_ranges),
        cmocka_unit_test(a_task_asks_for_the_gpus_of_an_experiment_unless_the_person_does),
        cmocka_unit_test(an_array_waits_for_the_one_before_and_for_what_the_person_says),
        cmocka_unit_test(the_time_is_that_of_the_longest_experiment_with_all_its_attempts),
        cmocka_unit_test(a_script_names_the_array_and_runs_nothing_but_its_task),
        cmocka_unit_test(the_shell_reads_a_folder_of_any_name_as_one_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
