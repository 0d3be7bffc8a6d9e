/* The rule by which a process that carries the tag of a job is ended or left alone
 * (docs/explanation/containment.md), in a /proc of plain files. */
#include "machine/contain/tag.h"

#include "tests/unit/machine/state/fake_proc.h"

#include "tests/unit/folder.h"

#include <stdlib.h>

enum { USER = 1234, OTHER_USER = 4321 };

static const char tag[] = "00112233445566778899aabbccddeeff";
#define TAGGED "HOME=/|TARE_JOB=00112233445566778899aabbccddeeff|"

struct place {
    char top[64];
    struct fake fake;
    int proc;
    char owner[TAG_OWNER_MAX];
};

static void put_link(const struct place *place, const char *folder, const char *target)
{
    AUTO_FREE char *above = mem_printf("%s/%s/ns", place->fake.proc, folder);
    AUTO_FREE char *link = mem_printf("%s/pid", above);
    assert_int_equal(mkdir(above, 0700), 0);
    assert_int_equal(symlink(target, link), 0);
}

/* The folder of a process in the fake /proc. The caller frees it. */
static char *folder_of(const struct place *place, int pid)
{
    return mem_printf("%s/%d", place->fake.proc, FIRST_PID + pid);
}

static void put_cgroup(const struct place *place, int pid, const char *text)
{
    AUTO_FREE char *folder = folder_of(place, pid);
    fake_file(folder, "cgroup", text, strlen(text));
}

static int set_up(void **state)
{
    struct place *place = mem_alloc(sizeof *place);
    *state = place;
    strcpy(place->top, "/tmp/tare-tag-test.XXXXXX");
    assert_non_null(mkdtemp(place->top));
    snprintf(place->fake.proc, sizeof place->fake.proc, "%s/proc", place->top);
    AUTO_FREE char *self = mem_printf("%s/self", place->fake.proc);
    assert_int_equal(mkdir(place->fake.proc, 0700), 0);
    assert_int_equal(mkdir(self, 0700), 0);
    static const char cgroup[] = "0::/system.slice/cron.service/ours\n";
    fake_file(self, "cgroup", cgroup, strlen(cgroup));
    put_link(place, "self", "pid:[4026531836]");
    place->proc = open(place->fake.proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsetenv("SLURM_JOB_ID");
    return place->proc < 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    close(place->proc);
    int removed = folder_remove(place->top);
    free(place);
    return removed;
}

static struct proc_stat stat_of(const struct place *place, int pid)
{
    struct proc_stat stat;
    assert_true(proc_stat_read(place->proc, FIRST_PID + pid, &stat));
    return stat;
}

/* A process of the job's user with the tag; parent -1: an orphan. */
static void add(const struct place *place, int pid, int parent, const char *name,
                const char *environment)
{
    fake_add(&place->fake, &(struct fake_process){.pid = pid,
                                                  .parent = parent,
                                                  .name = name,
                                                  .uid = USER,
                                                  .command = "x|",
                                                  .environment = environment,
                                                  .other_program = true});
}

static bool is_foreign(struct place *place, int pid, int root, const struct live_runners *runners)
{
    struct proc_stat stat = stat_of(place, pid);
    return tag_is_foreign(place->proc, &stat, tag, USER, root ? FIRST_PID + root : 0, runners,
                          place->owner);
}

static void assert_owner(struct place *place, int pid, int root, const char *owner)
{
    assert_true(is_foreign(place, pid, root, NULL));
    assert_string_equal(place->owner, owner);
}

static void a_tag_is_32_lower_case_digits(void **state)
{
    (void)state;
    assert_true(tag_is_formed(tag));
    assert_false(tag_is_formed(""));
    assert_false(tag_is_formed("00112233445566778899aabbccddeef"));
    assert_false(tag_is_formed("00112233445566778899aabbccddeeff0"));
    assert_false(tag_is_formed("00112233445566778899AABBCCDDEEFF"));
    assert_false(tag_is_formed("00112233445566778899aabbccddee/f"));
}

static void the_environment_carries_the_whole_tag(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "a", TAGGED);
    add(place, 2, -1, "b", "TARE_JOB=00112233445566778899aabbccddeeff0|");
    add(place, 3, -1, "c", "XTARE_JOB=00112233445566778899aabbccddeeff|");
    for (int pid = 1; pid <= 3; pid++) {
        struct proc_stat stat = stat_of(place, pid);
        assert_int_equal(tag_is_carried(place->proc, &stat, tag), pid == 1);
    }
}

static void the_threads_of_a_zombie_leader_carry_it(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "a", "");
    AUTO_FREE char *folder = folder_of(place, 1);
    AUTO_FREE char *task = mem_printf("%s/task", folder);
    AUTO_FREE char *thread = mem_printf("%s/%d", task, FIRST_PID + 9);
    assert_int_equal(mkdir(task, 0700), 0);
    assert_int_equal(mkdir(thread, 0700), 0);
    fake_nul_file(thread, "environ", TAGGED);
    struct proc_stat stat = stat_of(place, 1);
    assert_false(tag_is_carried(place->proc, &stat, tag));
    stat.state = 'Z';
    assert_false(tag_is_carried(place->proc, &stat, tag)); /* a zombie without other threads */
    stat.threads = 2;
    assert_true(tag_is_carried(place->proc, &stat, tag));
}

static void an_orphan_with_the_tag_is_the_jobs(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "train", TAGGED);
    add(place, 2, 1, "worker", TAGGED);
    assert_false(is_foreign(place, 1, 0, NULL));
    assert_false(is_foreign(place, 2, 0, NULL));
    assert_string_equal(place->owner, "");
}

static void another_users_process_is_theirs(void **state)
{
    struct place *place = *state;
    fake_add(
        &place->fake,
        &(struct fake_process){
            .pid = 1, .parent = -1, .name = "train", .uid = OTHER_USER, .environment = TAGGED});
    assert_owner(place, 1, 0, "user 4321");
}

static void what_descends_from_the_living_init_is_the_jobs(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, TARE_NAME "-init", "");
    add(place, 2, 1, "train", TAGGED);
    add(place, 3, 2, "worker", TAGGED);
    add(place, 4, -1, "copy", TAGGED);
    assert_false(is_foreign(place, 3, 1, NULL));
    /* Its own orphans would have been adopted by the init. */
    assert_owner(place, 4, 1, "none of the job's processes");
}

static void whoever_started_it_and_is_not_of_the_job_owns_it(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "tmux: server", "HOME=/|");
    add(place, 2, 1, "bash", TAGGED);
    add(place, 3, 2, "python3", TAGGED);
    assert_owner(place, 3, 0, "tmux: server (pid 5000001)");
}

static void a_parent_that_cannot_be_seen_owns_it(void **state)
{
    struct place *place = *state;
    add(place, 1, 7, "bash", TAGGED); /* the parent is not listed */
    assert_owner(place, 1, 0, "somebody (pid 5000007)");
}

static void a_user_manager_only_adopted_it(void **state)
{
    struct place *place = *state;
    fake_add(&place->fake, &(struct fake_process){.pid = 1,
                                                  .parent = -1,
                                                  .name = "systemd",
                                                  .uid = USER,
                                                  .command = "/lib/systemd/systemd|--user|",
                                                  .other_program = true});
    add(place, 2, 1, "train", TAGGED);
    assert_false(is_foreign(place, 2, 0, NULL));
}

static void another_slurm_job_owns_its_processes(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "train", TAGGED "SLURM_JOB_ID=77|");
    assert_owner(place, 1, 0, "Slurm job 77");
    setenv("SLURM_JOB_ID", "78", 1);
    assert_owner(place, 1, 0, "Slurm job 77");
    setenv("SLURM_JOB_ID", "77", 1);
    assert_false(is_foreign(place, 1, 0, NULL));
}

static void services_containers_and_scopes_own_what_runs_in_them(void **state)
{
    static const struct {
        const char *cgroup, *owner; /* NULL: the job's */
    } rows[] = {
        {"0::/system.slice/docker-ab12.scope\n", "docker-ab12.scope"},
        {"0::/system.slice/ssh.service\n", "ssh.service"},
        {"0::/user.slice/user-0.slice/user@0.service/app.slice/app.service\n", "app.service"},
        {"0::/system.slice/run-u12.scope/below\n", "run-u12.scope"},
        {"0::/slurm/uid_0/job_9/step_0\n", "job_9"},
        {"0::/user.slice/user-0.slice/session-3.scope\n", NULL},
        {"0::/user.slice/user-0.slice/user@0.service\n", NULL},
        {"0::/job_9\n", NULL},                           /* not below Slurm's */
        {"0::/system.slice/cron.service/other\n", NULL}, /* our own service */
        {"0::/system.slice/cron.service\n", NULL},
        {"0::/\n1:name=systemd:/system.slice/ssh.service\n", "ssh.service"},
    };
    struct place *place = *state;
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        add(place, i, -1, "train", TAGGED);
        put_cgroup(place, i, rows[i].cgroup);
        if (rows[i].owner)
            assert_owner(place, i, 0, rows[i].owner);
        else
            assert_false(is_foreign(place, i, 0, NULL));
    }
}

static void another_pid_namespace_owns_its_processes(void **state)
{
    struct place *place = *state;
    char name[16];
    for (int i = 1; i <= 2; i++) {
        add(place, i, -1, "train", TAGGED);
        snprintf(name, sizeof name, "%d", FIRST_PID + i);
        put_link(place, name, i == 1 ? "pid:[4026531837]" : "pid:[4026531836]");
    }
    assert_owner(place, 1, 0, "another pid namespace (a container)");
    assert_false(is_foreign(place, 2, 0, NULL));
}

static void a_known_run_that_lives_is_never_of_a_dead_one(void **state)
{
    struct place *place = *state;
    add(place, 1, -1, "runner", TAGGED);
    add(place, 2, 1, "its job", TAGGED);
    struct live_runner item = {.pid = FIRST_PID + 1, .start_time = stat_of(place, 1).start_time};
    const struct live_runners runners = {&item, 1};
    assert_true(is_foreign(place, 1, 0, &runners));
    assert_string_equal(place->owner, "a run that lives: runner (pid 5000001)");
    assert_true(is_foreign(place, 2, 0, &runners));
    item.start_time++; /* the number was used again since */
    assert_false(is_foreign(place, 1, 0, &runners));
    assert_false(is_foreign(place, 2, 0, &runners));
}

static void an_init_is_left_only_when_all_of_it_is_known(void **state)
{
    struct place *place = *state;
    const struct fake_process init = {
        .pid = 1, .parent = -1, .name = TARE_NAME "-init", .uid = geteuid()};
    struct fake_process other = init;
    fake_add(&place->fake, &init);
    other.pid = 2;
    other.uid = geteuid() + 1;
    fake_add(&place->fake, &other);
    other = init;
    other.pid = 3;
    other.state = 'Z';
    fake_add(&place->fake, &other);
    other = init;
    other.pid = 4;
    other.other_program = true;
    fake_add(&place->fake, &other);
    other = init;
    other.pid = 5;
    other.name = "bash";
    fake_add(&place->fake, &other);
    other = init;
    other.pid = 6;
    other.parent = 7; /* the runner lives */
    fake_add(&place->fake, &other);
    other.pid = 7;
    other.parent = -1;
    other.name = TARE_NAME;
    fake_add(&place->fake, &other);
    uint64_t start = stat_of(place, 1).start_time;
    assert_true(job_init_is_left(place->proc, FIRST_PID + 1, start));
    assert_false(job_init_is_left(place->proc, FIRST_PID + 1, start + 1));
    assert_false(job_init_is_left(place->proc, FIRST_PID + 8, start));
    assert_false(job_init_is_left(place->proc, 0, start));
    for (int pid = 2; pid <= 6; pid++)
        assert_false(job_init_is_left(place->proc, FIRST_PID + pid, start));
}

#define IN_PLACE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_is_32_lower_case_digits),
        IN_PLACE(the_environment_carries_the_whole_tag),
        IN_PLACE(the_threads_of_a_zombie_leader_carry_it),
        IN_PLACE(an_orphan_with_the_tag_is_the_jobs),
        IN_PLACE(another_users_process_is_theirs),
        IN_PLACE(what_descends_from_the_living_init_is_the_jobs),
        IN_PLACE(whoever_started_it_and_is_not_of_the_job_owns_it),
        IN_PLACE(a_parent_that_cannot_be_seen_owns_it),
        IN_PLACE(a_user_manager_only_adopted_it),
        IN_PLACE(another_slurm_job_owns_its_processes),
        IN_PLACE(services_containers_and_scopes_own_what_runs_in_them),
        IN_PLACE(another_pid_namespace_owns_its_processes),
        IN_PLACE(a_known_run_that_lives_is_never_of_a_dead_one),
        IN_PLACE(an_init_is_left_only_when_all_of_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
