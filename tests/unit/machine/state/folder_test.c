/* Which folders of runs are trusted, and what a run's file says of its runner. */
#include "fixture.h"
#include "machine/state/folder.h"
#include "machine/state/record.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct record_header own = {.host = (char[]){"here"},
                                         .boot_id = "3370f1cf-948c-43c2-9201-ac6624814a7d",
                                         .pid_namespace = 4026531836};
#define OTHER_BOOT "00000000-948c-43c2-9201-ac6624814a7d"

static void assert_refused(int folder, const struct err *err, const char *reason)
{
    assert_int_equal(folder, -1);
    if (!strstr(err->text, reason))
        fail_msg("'%s' does not say '%s'", err->text, reason);
}

static void a_folder_is_made_for_its_user_alone(void **state)
{
    const struct fixture *fixture = *state;
    struct err err = {0};
    struct stat status;
    AUTO_CLOSE int first = folder_open(fixture->path, &err);
    AUTO_CLOSE int again = folder_open(fixture->path, &err);
    assert_true(first >= 0 && again >= 0);
    assert_int_equal(stat(fixture->runs, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(fixture->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void folders_that_others_may_write_and_links_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct err err = {0};
    AUTO_CLOSE int folder = folder_open(fixture->path, &err);
    assert_true(folder >= 0);
    assert_int_equal(chmod(fixture->runs, 0720), 0);
    assert_refused(folder_open(fixture->path, &err), &err, "(mode 0720)");
    assert_int_equal(chmod(fixture->runs, 0702), 0);
    assert_refused(folder_open(fixture->path, &err), &err, "(mode 0702)");
    assert_int_equal(chmod(fixture->runs, 0755), 0);
    AUTO_CLOSE int readable = folder_open(fixture->path, &err);
    assert_true(readable >= 0);
    assert_int_equal(chmod(fixture->path, 0777), 0);
    assert_refused(folder_open(fixture->path, &err), &err, "(mode 0777)");
    assert_int_equal(chmod(fixture->path, 0700), 0);
    AUTO_FREE char *link = mem_printf("%s/link", fixture->top);
    AUTO_FREE char *slash = mem_printf("%s//", link);
    assert_int_equal(symlink(fixture->path, link), 0);
    assert_int_equal(folder_open(link, &err), -1);
    assert_int_equal(folder_open(slash, &err), -1);
}

static void a_folder_beside_others_needs_a_parent_that_is_sticky(void **state)
{
    const struct fixture *fixture = *state;
    struct err err = {0};
    assert_int_equal(folder_open_shared(fixture->path, false, &err), -1);
    assert_int_equal(access(fixture->path, F_OK), -1);
    assert_int_equal(chmod(fixture->top, 0777), 0);
    assert_refused(folder_open_shared(fixture->path, true, &err), &err,
                   "it is not sticky (mode 0777)");
    assert_int_equal(chmod(fixture->top, 01777), 0);
    AUTO_CLOSE int made = folder_open_shared(fixture->path, true, &err);
    AUTO_CLOSE int found = folder_open_shared(fixture->path, false, &err);
    assert_true(made >= 0 && found >= 0);
}

static void only_files_of_runs_are_listed(void **state)
{
    const struct fixture *fixture = *state;
    static const char *const names[] = {"1.jsonl", ".hidden.jsonl", ".jsonl", "a.json",
                                        "b.jsonl.tmp"};
    AUTO_STRV struct strv found = {0};
    struct err err = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_run_file(fixture, names[i], "");
    AUTO_CLOSE int runs = folder_open(fixture->path, &err);
    assert_true(folder_list(runs, &found, &err));
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0], "1.jsonl");
}

static void assert_life(const struct fixture *fixture, const char *name, enum entry_life life,
                        const char *reason)
{
    struct entry entry;
    AUTO_CLOSE int runs = folder_open(fixture->path, NULL);
    entry_open(runs, name, &own, &entry);
    if (entry.life != life || (entry.reason && !reason) ||
        (reason && (!entry.reason || !strstr(entry.reason, reason))))
        fail_msg("%s: life %d, reason %s", name, (int)entry.life, entry.reason);
    entry_fini(&entry);
}

static void host_boot_and_namespace_say_what_became_of_a_run(void **state)
{
    static const struct {
        const char *host, *boot_id;
        uint64_t namespace;
        enum entry_life life;
        const char *reason;
    } rows[] = {
        {"here", "3370f1cf-948c-43c2-9201-ac6624814a7d", 4026531836, ENTRY_DEAD, NULL},
        /* A host may be given another name, a boot id may not. */
        {"renamed", "3370f1cf-948c-43c2-9201-ac6624814a7d", 4026531836, ENTRY_DEAD, NULL},
        {"here", OTHER_BOOT, 4026531836, ENTRY_OVER, NULL},
        {"there", OTHER_BOOT, 4026531836, ENTRY_KEPT, "another machine, there"},
        {"box", "3370f1cf-948c-43c2-9201-ac6624814a7d", 5, ENTRY_KEPT,
         "another pid namespace (a container), host name box"},
    };
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *text =
            run_file_text(rows[i].host, rows[i].boot_id, rows[i].namespace, "abc");
        AUTO_FREE char *name = mem_printf("%zu.jsonl", i);
        write_run_file(fixture, name, text);
        assert_life(fixture, name, rows[i].life, rows[i].reason);
    }
}

static void a_run_lives_as_long_as_its_file_is_locked(void **state)
{
    const struct fixture *fixture = *state;
    AUTO_FREE char *text = run_file_text(own.host, own.boot_id, own.pid_namespace, "abc");
    AUTO_FREE char *path = mem_printf("%s/1.jsonl", fixture->runs);
    write_run_file(fixture, "1.jsonl", text);
    int file = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(file, LOCK_EX), 0);
    struct entry entry;
    struct state_live live = {0};
    AUTO_CLOSE int runs = folder_open(fixture->path, NULL);
    entry_open(runs, "1.jsonl", &own, &entry);
    assert_int_equal(entry.life, ENTRY_LIVE);
    entry_add_live(&live, runs, &entry);
    assert_int_equal(live.tags.count, 1);
    assert_string_equal(live.tags.items[0], "abc");
    assert_int_equal(live.runners.count, 1);
    assert_int_equal(live.runners.items[0].pid, entry.record.header.pid);
    entry_fini(&entry);
    close(file);
    entry_open(runs, "1.jsonl", &own, &entry);
    assert_int_equal(entry.life, ENTRY_DEAD);
    entry_add_live(&live, runs, &entry);
    assert_int_equal(live.runners.count, 1);
    entry_fini(&entry);
    strv_fini(&live.tags);
    free(live.runners.items);
}

static void files_that_cannot_be_trusted_are_kept(void **state)
{
    const struct fixture *fixture = *state;
    write_run_file(fixture, "empty.jsonl", "");
    assert_life(fixture, "empty.jsonl", ENTRY_OVER, NULL);
    write_run_file(fixture, "damaged.jsonl", "{\"kind\": \n");
    assert_life(fixture, "damaged.jsonl", ENTRY_KEPT, "the first line is damaged");
    AUTO_FREE char *open_to_all = mem_printf("%s/empty.jsonl", fixture->runs);
    assert_int_equal(chmod(open_to_all, 0622), 0);
    assert_life(fixture, "empty.jsonl", ENTRY_KEPT, "others may write to the file");
    AUTO_FREE char *link = mem_printf("%s/link.jsonl", fixture->runs);
    assert_int_equal(symlink("damaged.jsonl", link), 0);
    assert_life(fixture, "link.jsonl", ENTRY_KEPT, "cannot be opened");
    AUTO_FREE char *pipe = mem_printf("%s/pipe.jsonl", fixture->runs);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_life(fixture, "pipe.jsonl", ENTRY_KEPT, "regular file");
    assert_life(fixture, "gone.jsonl", ENTRY_NONE, NULL);
}

#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_folder_is_made_for_its_user_alone),
        WITH_FOLDER(folders_that_others_may_write_and_links_are_refused),
        WITH_FOLDER(a_folder_beside_others_needs_a_parent_that_is_sticky),
        WITH_FOLDER(only_files_of_runs_are_listed),
        WITH_FOLDER(host_boot_and_namespace_say_what_became_of_a_run),
        WITH_FOLDER(a_run_lives_as_long_as_its_file_is_locked),
        WITH_FOLDER(files_that_cannot_be_trusted_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
