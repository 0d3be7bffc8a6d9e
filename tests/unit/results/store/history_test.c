#include "fixture.h"
#include "results/store/history.h"
#include "results/store/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"

static bool add_point(void *context, const struct history_point *point, struct err *err)
{
    struct text *out = context;
    (void)err;
    text_addf(out, "%zu %s %lld ", point->number, point->id, (long long)point->attempt);
    history_add_cells(point, out);
    return true;
}

/* Whoever wrote the line may have been another version, or a disk. */
static void of_a_history_what_is_a_number_is_taken_and_the_rest_is_passed_over(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_ATTEMPT_ENDED, 1, 1,
        "{'outcome': 'succeeded', 'history': {"
        " 'loss': {'matches': 9, 'step': [1, 1, 2, 'x', 4, 5, 6], 'epoch': [1, 1, {'a': 1}, 4], "
        "'seconds': [0.5, 0.5, "
        "'x', 1, 2],"
        "  'value': [0.25, 0.125, 'nan', 3, '1', '-inf']},"
        " 'accuracy': {'step': [9, -3, 7], 'value': [1e300, 97.5, null]}, '=a': {'step': [1], "
        "'value': [1]},"
        " 'none': [], 'text': 'x', 'empty': {}, 'odd': {'step': 5, 'value': {}}}}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'succeeded', 'metrics': {'loss': 0.25, 'accuracy': 1}}");
    fixture_close(store);
    AUTO_TEXT struct text told = {0};
    struct err err = {0};
    if (!history_each(run.path, add_point, &told, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text_get(&told), "1 demo_net_001 1 \"'=a\",,1,,1.0\n"
                                         "1 demo_net_001 1 accuracy,,-3,,97.5\n"
                                         "1 demo_net_001 1 accuracy,,9,,1e300\n"
                                         "1 demo_net_001 1 loss,1,1,0.500000,0.25\n"
                                         "1 demo_net_001 1 loss,,2,,nan\n"
                                         "1 demo_net_001 1 loss,,5,,-inf\n");
    struct results results;
    assert_true(results_read(run.path, &results, NULL));
    assert_true(results.items[0].metrics[0].best.valid &&
                results.items[0].metrics[0].best.value == 0.25);
    assert_true(results.items[0].metrics[1].best.valid &&
                results.items[0].metrics[1].best.value == 1e300);
    results_fini(&results);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_history_what_is_a_number_is_taken_and_the_rest_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
