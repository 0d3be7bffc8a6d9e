/* The labels that launchers put before lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "run/log/rank.h"

#include <string.h>

static void lines_of_other_processes_than_the_first_are_known_by_their_label(void **state)
{
    (void)state;
    static const char *const others[] = {"[rank1]: loss: 0.4",        "[default3]:loss: 0.4",
                                         "[1,2]<stdout>:loss",        "[7]<stdout>:loss",
                                         "[rank: 1] loss: 0.4",       "  [Rank 10] loss",
                                         "[local_rank: 2]: loss 0.4", "[0,10]<stderr>:loss 0.4"};
    static const char *const first[] = {"[rank0]: loss: 0.4",
                                        "[default0]:loss",
                                        "[1,0]<stdout>:loss",
                                        "[0]<stdout>:loss",
                                        "[rank: 0] loss",
                                        "loss: 0.4",
                                        "[3] loss: 0.1",
                                        "[1/10] loss: 0.1",
                                        "[epoch1]: loss",
                                        "[rank1 loss",
                                        "[1,2] loss",
                                        "[rank]: loss",
                                        "",
                                        "[",
                                        "[rank"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(rank_is_other(others[i], strlen(others[i])));
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        assert_false(rank_is_other(first[i], strlen(first[i])));
    assert_false(rank_is_other("[rank1]", 6));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_other_processes_than_the_first_are_known_by_their_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
