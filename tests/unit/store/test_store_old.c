/* A run of the tree of 2026-11-22 (tests/data), with its program's files: it can be gone on with, and its records hold. What is told of it is
 * compared with what that program told in tests/cli/old_runs.bats. */
#include "fixture.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "results/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OLD PROJECT_ROOT "/tests/data/run_of_2026_11_22/run"

static struct run run;

static int make(void **state)
{
    (void)state;
    run_make(&run);
    AUTO_FREE char *command = mem_printf("cp -r '%s/.' '%s' && chmod -R u+w '%s'", OLD, run.path, run.path);
    return system(command);
}

static int unmake(void **state)
{
    (void)state;
    run_remove(&run);
    return 0;
}

static void assert_records(const char *wanted)
{
    struct records_report report;
    struct err err = {0};
    if (!records_verify(run.path, &report, &err))
        fail_msg("%s", err.text);
    assert_string_equal(records_state_name(report.state), wanted);
    text_fini(&report.changed);
}

/* Their hash is in its last record, and a resume compares them with tables made anew. What came since is added on opening. */
static void a_new_run_has_the_tables_of_an_old_one(void **state)
{
    (void)state;
    static const char sql[] =
        "SELECT group_concat(line, char(10)) FROM (SELECT m.name || '.' || c.name || ' ' || c.cid || ' ' || c.type ||"
        " ' ' || c.\"notnull\" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk AS line FROM sqlite_master m,"
        " pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid)";
    struct run new;
    run_make(&new);
    fixture_close(fixture_create(&new));
    fixture_close(fixture_open(&run));
    AUTO_FREE char *tables = ask(&run, sql);
    assert_true(strlen(tables) > 1000);
    assert_answer(&new, sql, tables);
    run_remove(&new);
}

static void an_old_run_is_gone_on_with_and_its_records_hold(void **state)
{
    (void)state;
    struct results results;
    assert_records("hold");
    AUTO_FREE char *events = run_read(&run, "events.jsonl");
    AUTO_FREE char *summary = run_read(&run, "summary.csv");
    struct store *store = fixture_open(&run);
    assert_int_equal(store_next_session(store), 3);
    for (size_t number = 1; number <= 4; number++)
        assert_int_equal(store_experiment(store, number)->outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(store_experiment(store, 2)->attempts, 2);
    fixture_close(store);
    assert_records("hold");
    store = fixture_open(&run);
    add_as(store, 3, EVENT_SESSION_STARTED, 0, 0, 1, "{'version': '0.1.0', 'host': 'h'}", NULL, NULL);
    add_as(store, 3, EVENT_EVIDENCE, 4, 1, 1,
           "{'kind': 'cpu_shared', 'text': 'x', 'experiments': [], 'pids': [], 'device': null, 'from_s': null, 'to_s': "
           "null}",
           NULL, NULL);
    add_as(store, 3, EVENT_SESSION_ENDED, 0, 0, 2, "{'outcome': 'finished'}", NULL, NULL);
    fixture_close(store);
    assert_records("hold");
    /* What was there is untouched; and only what came since is new. */
    AUTO_FREE char *after = run_read(&run, "events.jsonl");
    assert_memory_equal(after, events, strlen(events));
    AUTO_FREE char *rows = run_read(&run, "summary.csv");
    assert_memory_equal(rows, summary, (size_t)(strstr(summary, "repo_net_004") - summary));
    assert_true(results_read(run.path, &results, NULL));
    assert_int_equal(results.items[3].verdict, VERDICT_SUSPECT);
    results_fini(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_run_has_the_tables_of_an_old_one, make, unmake),
        cmocka_unit_test_setup_teardown(an_old_run_is_gone_on_with_and_its_records_hold, make, unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
