/* Who is of a job, as one pass over the real /proc shows it, and signals that hit nobody else. */
#include "machine/contain/tree.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "machine/contain/job.h"
#include "tare_build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char tag[] = "00112233445566778899aabbccddeeff";

/* A process, its child in a session of its own, and that one's child; all wait for a signal. */
struct family {
    pid_t root, child, grandchild;
    uint64_t start_time;
};

static _Noreturn void wait_for_signal(int out)
{
    pid_t self = getpid();
    if (write(out, &self, sizeof self) != sizeof self)
        _exit(1);
    for (;;)
        pause();
}

static int set_up(void **state)
{
    struct family *family = mem_alloc(sizeof *family);
    int ends[2];
    *state = family;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    family->root = fork();
    if (family->root == 0) {
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                wait_for_signal(ends[1]);
            pid_t self = getpid();
            if (write(ends[1], &self, sizeof self) != sizeof self)
                _exit(1);
            for (;;)
                pause();
        }
        for (;;)
            pause();
    }
    close(ends[1]);
    pid_t seen[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(ends[0], &seen[i], sizeof seen[i]), sizeof seen[i]);
    close(ends[0]);
    struct proc_stat stat;
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(proc_stat_read(proc, seen[0], &stat));
    bool first_is_child = stat.ppid == family->root;
    family->child = seen[!first_is_child];
    family->grandchild = seen[first_is_child];
    return !process_start_time(family->root, &family->start_time);
}

static int tear_down(void **state)
{
    struct family *family = *state;
    kill(family->grandchild, SIGKILL);
    kill(family->child, SIGKILL);
    kill(family->root, SIGKILL);
    waitpid(family->root, NULL, 0);
    free(family);
    return 0;
}

/* Of the family: "r" the root, "c", "g"; those that are members. */
static void assert_members(const struct family *family, const struct tree_seed *seed,
                           const char *expected)
{
    struct tree tree = {0};
    char found[8] = "";
    assert_true(tree_scan(seed, &tree));
    for (size_t i = 0; i < tree.count; i++) {
        pid_t pid = tree.processes[i].stat.pid;
        assert_true(i == 0 || pid > tree.processes[i - 1].stat.pid);
        if (!tree.processes[i].member)
            continue;
        strcat(found, pid == family->root         ? "r"
                      : pid == family->child      ? "c"
                      : pid == family->grandchild ? "g"
                                                  : "?");
    }
    assert_string_equal(found, expected);
    assert_int_equal(tree.root_alive, strchr(expected, 'r') != NULL);
    tree_fini(&tree);
}

static void what_descends_from_the_root_is_a_member(void **state)
{
    const struct family *family = *state;
    struct tree_seed seed = {.root = family->root, .start_time = family->start_time};
    assert_members(family, &seed, "rcg");
    assert_members(family, &(struct tree_seed){.root = 0, .start_time = family->start_time}, "");
}

/* Another process may have the pid by now. */
static void a_root_of_another_start_time_is_none(void **state)
{
    const struct family *family = *state;
    assert_members(family,
                   &(struct tree_seed){.root = family->root, .start_time = family->start_time - 1},
                   "");
    assert_members(family,
                   &(struct tree_seed){.root = family->root, .start_time = family->start_time + 1},
                   "");
}

static void who_was_a_member_stays_one(void **state)
{
    const struct family *family = *state;
    struct tree before = {0};
    struct tree_seed seed = {.root = family->root, .start_time = family->start_time};
    assert_true(tree_scan(&seed, &before));
    seed = (struct tree_seed){.start_time = family->start_time, .known = &before};
    struct tree after = {0};
    size_t members = 0;
    assert_true(tree_scan(&seed, &after));
    for (size_t i = 0; i < after.count; i++)
        members += after.processes[i].member;
    assert_int_equal(members, 3);
    /* but for one that took the number later */
    for (size_t i = 0; i < before.count; i++)
        before.processes[i].stat.start_time--;
    tree_fini(&after);
    assert_true(tree_scan(&seed, &after));
    for (size_t i = 0; i < after.count; i++)
        assert_false(after.processes[i].member);
    tree_fini(&after);
    tree_fini(&before);
}

static void signals_go_to_all_but_the_root(void **state)
{
    const struct family *family = *state;
    const struct tree_seed seed = {.root = family->root, .start_time = family->start_time};
    struct tree tree = {0};
    struct job_member members[4];
    size_t left;
    assert_true(tree_scan(&seed, &tree));
    assert_int_equal(tree_live(&tree, &seed, members, 4), 2);
    pid_t found[] = {members[0].pid, members[1].pid};
    assert_true((found[0] == family->child && found[1] == family->grandchild) ||
                (found[1] == family->child && found[0] == family->grandchild));
    assert_int_equal(tree_signal(&tree, &seed, SIGCONT), 2);
    assert_false(tree_has_foreign(&tree));
    tree_fini(&tree);
    assert_int_equal(tree_kill(&seed, 30, &left, NULL), 2);
    assert_int_equal(left, 0);
    assert_int_equal(waitpid(family->root, NULL, WNOHANG), 0);
}

static void a_signal_needs_the_start_time(void **state)
{
    const struct family *family = *state;
    int status;
    assert_false(process_signal(family->root, family->start_time + 1, SIGKILL));
    assert_false(process_signal(family->root, family->start_time - 1, SIGKILL));
    assert_false(process_signal(0, family->start_time, SIGKILL));
    assert_false(process_signal(-1, family->start_time, SIGKILL));
    assert_int_equal(waitpid(family->root, &status, WNOHANG), 0);
    assert_true(process_signal(family->root, family->start_time, SIGTERM));
    assert_int_equal(waitpid(family->root, &status, 0), family->root);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_false(process_signal(family->root, family->start_time, SIGKILL));
}

static void of_a_file_only_what_can_be_checked_is_looked_for(void **state)
{
    const struct family *family = *state;
    char top[] = "/tmp/tare-tree-test.XXXXXX";
    assert_non_null(mkdtemp(top));
    /* the name of the job's cgroup, but not a cgroup */
    AUTO_FREE char *leaf = mem_printf("%s/" TARE_NAME "-job-%s", top, tag);
    assert_int_equal(mkdir(leaf, 0700), 0);
    struct job_identity identity = {.pid = family->root,
                                    .start_time = family->start_time,
                                    .tag = (char *)(uintptr_t)tag,
                                    .cgroup = leaf};
    struct tree_seed seed = tree_seed_doubted(&identity, NULL);
    assert_true(seed.doubt && seed.start_time == family->start_time);
    assert_string_equal(seed.tag, tag);
    assert_null(seed.cgroup);
    assert_int_equal(seed.root, 0); /* it is not an init of ours */
    identity.tag = (char[]){"../x"};
    assert_null(tree_seed_doubted(&identity, NULL).tag);
    identity.tag = NULL;
    assert_null(tree_seed_doubted(&identity, NULL).tag);
    rmdir(leaf);
    rmdir(top);
}

#define WITH_FAMILY(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FAMILY(what_descends_from_the_root_is_a_member),
        WITH_FAMILY(a_root_of_another_start_time_is_none),
        WITH_FAMILY(who_was_a_member_stays_one),
        WITH_FAMILY(signals_go_to_all_but_the_root),
        WITH_FAMILY(a_signal_needs_the_start_time),
        WITH_FAMILY(of_a_file_only_what_can_be_checked_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
