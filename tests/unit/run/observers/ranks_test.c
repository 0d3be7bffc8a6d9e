/* Several processes that write to one log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/shell_words.h"
#include "run/observers/ranks.h"

#include <string.h>

static size_t ranks_of(const char *command)
{
    AUTO_STRV struct strv argv = {0};
    assert_true(shell_words_split(command, &argv, NULL));
    return ranks_count(&argv);
}

static void the_launchers_options_say_how_many_processes_there_are(void **state)
{
    (void)state;
    assert_int_equal(ranks_of("torchrun --nproc_per_node=2 train.py"), 2);
    assert_int_equal(ranks_of("/usr/bin/torchrun --nproc-per-node 4 -m pkg.train"), 4);
    assert_int_equal(ranks_of("accelerate launch --num_processes 3 train.py"), 3);
    assert_int_equal(ranks_of("deepspeed --num_gpus=8 train.py"), 8);
    assert_int_equal(ranks_of("mpirun -np 2 python3 train.py"), 2);
    assert_int_equal(ranks_of("srun -n 16 python3 train.py"), 16);
    assert_int_equal(ranks_of("python3 train.py --num_processes 3 -n 4"), 1);
    assert_int_equal(ranks_of("nice -n 5 python3 train.py"), 1);
    assert_int_equal(ranks_of("torchrun --nproc_per_node=gpu train.py"), 1);
    assert_int_equal(ranks_of("torchrun --nproc_per_node"), 1);
}

static bool disagree(const char *log, const char *number)
{
    return ranks_disagree(log, strlen(log), number);
}

static void lines_that_differ_in_values_alone_may_be_of_different_processes(void **state)
{
    (void)state;
    assert_true(disagree("epoch 3 loss: 0.43\nepoch 3 loss: 0.41\n", "0.41"));
    assert_true(disagree("epoch 3 loss: 0.43\nacc 0.5\nepoch 3 loss: 0.41\nacc 0.5", "0.41"));
    assert_true(disagree("loss 1.5e-3\rloss 1.25e-03\r", "1.25e-03"));
    assert_false(disagree("epoch 3 loss: 0.43\nepoch 3 loss: 0.43\n", "0.43"));
    assert_false(disagree("epoch 2 loss: 0.43\nepoch 3 loss: 0.41\n", "0.41"));
    assert_false(disagree("val loss: 0.43\ntest loss: 0.41\n", "0.41"));
    assert_false(disagree("loss: 0.41\n", "0.41"));
    assert_false(disagree("loss: 0.41\n", "0.5"));
    assert_false(disagree("", "0.5"));
    assert_false(disagree("loss: 0.41", ""));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_launchers_options_say_how_many_processes_there_are),
        cmocka_unit_test(lines_that_differ_in_values_alone_may_be_of_different_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
