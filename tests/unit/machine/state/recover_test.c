/* What dead runs left is ended; live ones, and those of other boots, namespaces, machines and
 * users, are never touched. */
#include "fixture.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct state *open_state(const struct fixture *fixture)
{
    struct err err = {0};
    struct state *state = state_open(fixture->path, &err);
    if (!state)
        fail_msg("%s", err.text);
    return state;
}

static void what_a_killed_run_left_is_ended_and_its_file_removed(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    struct state *state = open_state(fixture);
    other_run_start(fixture, STATE_RUN, "/data/results/run_7", &run);
    other_run_kill(&run);
    assert_false(lock_is_free(fixture->lock)); /* the job outlived them all */
    const struct said *said = recover(state);
    assert_true(lock_gets_free(fixture->lock));
    assert_int_equal(said->count, 1);
    assert_int_equal(said->last.verdict, STATE_ENDED);
    assert_int_equal(said->last.kind, STATE_RUN);
    assert_string_equal(said->last.run_dir, "/data/results/run_7");
    assert_int_equal(said->last.killed, 1);
    assert_memory_equal(said->last.names, "sleep (pid ", 11);
    /* Its runner was started in this test. */
    assert_true(said->last.age_s >= 0 && said->last.age_s < 3600);
    assert_int_equal(run_file_count(fixture), 0);
    assert_int_equal(recover(state)->count, 0);
    state_close(state);
}

/* A run that could not register in its proper place is found when that place is there again. */
static void a_dead_run_in_the_fallback_is_found_beside_the_proper_folder(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    struct err err = {0};
    AUTO_FREE char *proper = mem_printf("%s/proper", fixture->top);
    other_run_start(fixture, STATE_RUN, NULL, &run);
    other_run_kill(&run);
    struct state *state = state_open_either(proper, fixture->path, &err);
    assert_non_null(state);
    assert_int_equal(recover(state)->last.killed, 1);
    assert_true(lock_gets_free(fixture->lock));
    assert_int_equal(run_file_count(fixture), 0);
    state_close(state);
}

static void a_live_run_is_never_touched(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    struct state *state = open_state(fixture);
    other_run_start(fixture, STATE_EXEC, NULL, &run);
    assert_int_equal(recover(state)->count, 0);
    assert_false(lock_is_free(fixture->lock));
    assert_int_equal(run_file_count(fixture), 1);
    other_run_kill(&run);
    const struct said *said = recover(state);
    assert_int_equal(said->last.verdict, STATE_ENDED);
    assert_int_equal(said->last.kind, STATE_EXEC);
    assert_null(said->last.run_dir);
    state_close(state);
}

static void our_own_registration_is_live(void **out)
{
    struct fixture *fixture = *out;
    struct state *state = open_state(fixture);
    assert_true(state_register(state, STATE_RUN, NULL, NULL));
    assert_int_equal(recover(state)->count, 0);
    assert_int_equal(run_file_count(fixture), 1);
    state_end(state);
    state_close(state);
}

static bool is_stopped(const void *about)
{
    char path[40], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)*(const pid_t *)about);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const char *end = strrchr(text, ')');
    return read && end && end[2] == 'T';
}

static void neither_guardian_nor_init_holds_the_lock_of_a_dead_runner(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    other_run_start(fixture, STATE_RUN, NULL, &run);
    AUTO_FREE char *name = only_run_file(fixture);
    AUTO_FREE char *path = mem_printf("%s/%s", fixture->runs, name);
    assert_false(lock_is_free(path));
    kill(run.guardian, SIGSTOP);
    kill(run.init, SIGSTOP);
    assert_true(comes_true(is_stopped, &run.guardian));
    assert_true(comes_true(is_stopped, &run.init));
    end_process(run.runner);
    assert_true(lock_is_free(path));
    assert_true(is_stopped(&run.guardian));
    assert_true(is_stopped(&run.init));
    assert_false(lock_is_free(fixture->lock));
    kill(run.guardian, SIGKILL);
    kill(run.init, SIGKILL);
    struct state *state = open_state(fixture);
    assert_int_equal(recover(state)->last.verdict, STATE_ENDED);
    assert_true(lock_gets_free(fixture->lock));
    state_close(state);
}

static void a_torn_last_line_does_not_hide_the_jobs_before_it(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    struct state *state = open_state(fixture);
    other_run_start(fixture, STATE_RUN, NULL, &run);
    other_run_kill(&run);
    AUTO_FREE char *name = only_run_file(fixture);
    write_run_file(fixture, name, "{\"job\":\"gone\",\"tag\":\"");
    assert_int_equal(recover(state)->last.killed, 1);
    assert_true(lock_gets_free(fixture->lock));
    assert_int_equal(run_file_count(fixture), 0);
    state_close(state);
}

/* A file by hand whose job is a living process, known by its tag, and what recover says of it. */
struct by_hand {
    const char *host, *boot_id;
    uint64_t pid_namespace;
    mode_t mode;
    uid_t owner;
};

static struct by_hand of_here(char host[256], char boot_id[40])
{
    own_host(host);
    own_boot_id(boot_id);
    return (struct by_hand){host, boot_id, own_pid_namespace(), 0600, geteuid()};
}

static const struct said *recover_by_hand(const struct fixture *fixture,
                                          const struct by_hand *facts, bool *lives)
{
    /* Its own: the same test may run twice on a machine. */
    AUTO_FREE char *tag = mem_printf("%016llx%016llx", (unsigned long long)getpid(),
                                     (unsigned long long)clock_monotonic_ns());
    AUTO_FREE char *text = run_file_text(facts->host, facts->boot_id, facts->pid_namespace, tag);
    AUTO_FREE char *path = mem_printf("%s/by-hand.jsonl", fixture->runs);
    write_run_file(fixture, "by-hand.jsonl", text);
    assert_int_equal(chmod(path, facts->mode), 0);
    if (facts->owner != geteuid())
        assert_int_equal(chown(path, facts->owner, (gid_t)-1), 0);
    struct state *state = open_state(fixture);
    pid_t pid = tagged_process(fixture, tag);
    const struct said *said = recover(state);
    *lives = !lock_is_free(fixture->lock);
    end_process(pid);
    state_close(state);
    return said;
}

static void a_process_with_the_tag_of_a_dead_runs_job_is_ended(void **out)
{
    struct fixture *fixture = *out;
    char host[256], boot_id[40];
    bool lives;
    struct by_hand facts = of_here(host, boot_id);
    const struct said *said = recover_by_hand(fixture, &facts, &lives);
    assert_false(lives);
    assert_int_equal(said->last.verdict, STATE_ENDED);
    assert_int_equal(said->last.killed, 1);
    assert_int_equal(run_file_count(fixture), 0);
}

static void the_boot_decides_not_the_hosts_name(void **out)
{
    struct fixture *fixture = *out;
    char host[256], boot_id[40];
    bool lives;
    struct by_hand facts = of_here(host, boot_id);
    facts.host = "renamed-meanwhile.example";
    const struct said *said = recover_by_hand(fixture, &facts, &lives);
    assert_false(lives);
    assert_int_equal(said->last.killed, 1);
}

static void a_file_of_an_earlier_boot_is_removed_and_nothing_killed(void **out)
{
    struct fixture *fixture = *out;
    char host[256], boot_id[40];
    bool lives;
    struct by_hand facts = of_here(host, boot_id);
    facts.boot_id = "00000000-1111-2222-3333-444444444444";
    const struct said *said = recover_by_hand(fixture, &facts, &lives);
    assert_true(lives);
    assert_int_equal(said->count, 0);
    assert_int_equal(run_file_count(fixture), 0);
}

static void assert_kept(const struct fixture *fixture, const struct by_hand *facts,
                        const char *reason)
{
    bool lives;
    const struct said *said = recover_by_hand(fixture, facts, &lives);
    assert_true(lives);
    assert_int_equal(said->count, 1);
    assert_int_equal(said->last.verdict, STATE_KEPT);
    assert_string_equal(said->last.file, "by-hand.jsonl");
    if (!strstr(said->last.reason, reason))
        fail_msg("\"%s\" does not say \"%s\"", said->last.reason, reason);
    assert_int_equal(run_file_count(fixture), 1);
}

static void a_run_of_another_machine_is_kept(void **out)
{
    char host[256], boot_id[40];
    struct by_hand facts = of_here(host, boot_id);
    facts.boot_id = "00000000-1111-2222-3333-444444444444";
    facts.host = "another.example";
    assert_kept(*out, &facts, "on another machine, another.example");
}

static void a_run_of_another_pid_namespace_is_kept(void **out)
{
    char host[256], boot_id[40];
    struct by_hand facts = of_here(host, boot_id);
    facts.pid_namespace++;
    assert_kept(*out, &facts, "in another pid namespace");
}

static void a_file_that_others_may_write_is_not_believed(void **out)
{
    char host[256], boot_id[40];
    struct by_hand facts = of_here(host, boot_id);
    facts.mode = 0620;
    assert_kept(*out, &facts, "others may write to the file (mode 0620)");
}

static void a_file_of_somebody_else_is_not_believed(void **out)
{
    char host[256], boot_id[40];
    if (geteuid() != 0) {
        print_message("only root can give a file away\n");
        skip();
    }
    struct by_hand facts = of_here(host, boot_id);
    facts.owner = 65534;
    assert_kept(*out, &facts, "the file belongs to user 65534");
}

static void a_damaged_first_line_is_no_licence_to_kill(void **out)
{
    struct fixture *fixture = *out;
    char host[256], boot_id[40];
    own_host(host);
    own_boot_id(boot_id);
    AUTO_FREE char *text =
        run_file_text(host, boot_id, own_pid_namespace(), "feedfeedfeedfeedfeedfeedfeedfeed");
    write_run_file(fixture, "damaged.jsonl", "{\"kind\":\"ru\n");
    write_run_file(fixture, "damaged.jsonl", strchr(text, '\n') + 1);
    struct state *state = open_state(fixture);
    pid_t pid = tagged_process(fixture, "feedfeedfeedfeedfeedfeedfeedfeed");
    const struct said *said = recover(state);
    assert_false(lock_is_free(fixture->lock));
    assert_int_equal(said->last.verdict, STATE_KEPT);
    end_process(pid);
    state_close(state);
}

static void what_is_no_file_of_a_run_is_left_alone(void **out)
{
    struct fixture *fixture = *out;
    AUTO_FREE char *outside = mem_printf("%s/outside", fixture->top);
    AUTO_FREE char *link = mem_printf("%s/link.jsonl", fixture->runs);
    AUTO_FREE char *pipe = mem_printf("%s/pipe.jsonl", fixture->runs);
    char host[256], boot_id[40];
    own_host(host);
    own_boot_id(boot_id);
    AUTO_FREE char *text =
        run_file_text(host, boot_id, own_pid_namespace(), "beefbeefbeefbeefbeefbeefbeefbeef");
    write_run_file(fixture, "../../outside", text);
    write_run_file(fixture, "notes.txt", text);
    write_run_file(fixture, ".hidden.jsonl", text);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    struct state *state = open_state(fixture);
    pid_t pid = tagged_process(fixture, "beefbeefbeefbeefbeefbeefbeefbeef");
    const struct said *said = recover(state);
    assert_false(lock_is_free(fixture->lock));
    assert_int_equal(said->count, 2); /* the link and the pipe */
    assert_int_equal(said->last.verdict, STATE_KEPT);
    assert_int_equal(run_file_count(fixture), 4);
    end_process(pid);
    state_close(state);
}

static void a_file_without_a_line_is_removed(void **out)
{
    struct fixture *fixture = *out;
    write_run_file(fixture, "empty.jsonl", "");
    write_run_file(fixture, "torn.jsonl", "{\"kind\":\"run\",\"run_d");
    struct state *state = open_state(fixture);
    assert_int_equal(recover(state)->count, 0);
    assert_int_equal(run_file_count(fixture), 0);
    state_close(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_killed_run_left_is_ended_and_its_file_removed),
        TEST(a_dead_run_in_the_fallback_is_found_beside_the_proper_folder),
        TEST(a_live_run_is_never_touched),
        TEST(our_own_registration_is_live),
        TEST(neither_guardian_nor_init_holds_the_lock_of_a_dead_runner),
        TEST(a_torn_last_line_does_not_hide_the_jobs_before_it),
        TEST(a_process_with_the_tag_of_a_dead_runs_job_is_ended),
        TEST(the_boot_decides_not_the_hosts_name),
        TEST(a_file_of_an_earlier_boot_is_removed_and_nothing_killed),
        TEST(a_run_of_another_machine_is_kept),
        TEST(a_run_of_another_pid_namespace_is_kept),
        TEST(a_file_that_others_may_write_is_not_believed),
        TEST(a_file_of_somebody_else_is_not_believed),
        TEST(a_damaged_first_line_is_no_licence_to_kill),
        TEST(what_is_no_file_of_a_run_is_left_alone),
        TEST(a_file_without_a_line_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
