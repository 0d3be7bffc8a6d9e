/* Which processes count as left: by a /proc made of files, and after real runs that were killed. */
#include "fake_proc.h"
#include "machine/contain/job.h"

#include "machine/state/leftovers.h"
#include "tare_build.h"

#include <stdlib.h>

#define TAG_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TAG_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const struct census_roots real = {"/proc", "/dev"};

static const struct leftover *find(const struct leftovers *leftovers, pid_t pid)
{
    for (size_t i = 0; i < leftovers->count; i++)
        if (leftovers->items[i].process->stat.pid == pid)
            return &leftovers->items[i];
    return NULL;
}

static void look(struct state *state, const struct census_roots *roots, struct leftovers *out)
{
    struct err err = {0};
    if (!leftovers_find(state, roots, out, &err))
        fail_msg("%s", err.text);
}

static void assert_kind(const struct leftovers *leftovers, int pid, enum leftover_kind kind)
{
    const struct leftover *leftover = find(leftovers, FIRST_PID + pid);
    assert_non_null(leftover);
    assert_int_equal(leftover->kind, kind);
}

static void a_tag_without_a_live_init_above_it_is_left(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    unsigned me = geteuid();
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1,
                                           .parent = -1,
                                           .name = "left",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    fake_add(&fake, &(struct fake_process){.pid = 2,
                                           .parent = 1,
                                           .name = "child",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    fake_add(&fake,
             &(struct fake_process){.pid = 3, .parent = -1, .name = TARE_NAME "-init", .uid = me});
    fake_add(
        &fake,
        &(struct fake_process){
            .pid = 4, .parent = 3, .name = "job", .uid = me, .environment = "TARE_JOB=" TAG_B "|"});
    fake_add(&fake, &(struct fake_process){.pid = 5, .parent = 4, .name = "cleared", .uid = me});
    fake_add(&fake, &(struct fake_process){.pid = 6,
                                           .parent = 5,
                                           .name = "deep",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_B "|"});
    fake_add(&fake,
             &(struct fake_process){
                 .pid = 7, .parent = -1, .name = "other", .uid = me, .environment = "HOME=/|"});
    look(NULL, &fake.roots, &leftovers);
    assert_int_equal(leftovers.count, 2);
    assert_kind(&leftovers, 1, LEFTOVER_TAGGED);
    assert_kind(&leftovers, 2, LEFTOVER_TAGGED);
    assert_int_equal(leftovers_count_ours(&leftovers), 2);
    leftovers_fini(&leftovers);
}

static void the_name_of_an_init_protects_nobody(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    unsigned me = geteuid();
    fake_init(*out, &fake);
    for (int first = 1; first <= 3; first += 2) {
        fake_add(&fake, &(struct fake_process){.pid = first,
                                               .parent = -1,
                                               .name = TARE_NAME "-init",
                                               .uid = me,
                                               .environment = "TARE_JOB=" TAG_A "|",
                                               .other_program = first == 1});
        fake_add(&fake, &(struct fake_process){.pid = first + 1,
                                               .parent = first,
                                               .name = "child",
                                               .uid = me,
                                               .environment = "TARE_JOB=" TAG_A "|"});
    }
    look(NULL, &fake.roots, &leftovers);
    for (int pid = 1; pid <= 4; pid++)
        assert_kind(&leftovers, pid, LEFTOVER_TAGGED);
    leftovers_fini(&leftovers);
}

static void a_parent_of_another_user_with_the_tag_is_no_part_of_the_job(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    unsigned me = geteuid();
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1,
                                           .parent = -1,
                                           .name = "theirs",
                                           .uid = me + 1,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    fake_add(&fake, &(struct fake_process){.pid = 2,
                                           .parent = 1,
                                           .name = "child",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    look(NULL, &fake.roots, &leftovers);
    assert_int_equal(leftovers.foreign_count, 1);
    assert_int_equal(leftovers.foreign[0].process->stat.pid, FIRST_PID + 2);
    assert_string_equal(leftovers.foreign[0].owner, "theirs (pid 5000001)");
    leftovers_fini(&leftovers);
}

static void a_tag_below_a_living_parent_without_it_is_the_parents(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    unsigned me = geteuid();
    fake_init(*out, &fake);
    fake_add(&fake,
             &(struct fake_process){
                 .pid = 1, .parent = -1, .name = "server", .uid = me, .environment = "HOME=/|"});
    fake_add(&fake, &(struct fake_process){.pid = 2,
                                           .parent = 1,
                                           .name = "copied",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    fake_add(&fake, &(struct fake_process){.pid = 3,
                                           .parent = 2,
                                           .name = "child",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    fake_add(&fake, &(struct fake_process){.pid = 4,
                                           .parent = -1,
                                           .name = "slurm",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|SLURM_JOB_ID=4711|"});
    unsetenv("SLURM_JOB_ID");
    look(NULL, &fake.roots, &leftovers);
    assert_int_equal(leftovers.count, 0);
    assert_int_equal(leftovers.foreign_count, 3);
    assert_string_equal(leftovers.foreign[0].owner, "server (pid 5000001)");
    assert_string_equal(leftovers.foreign[1].owner, "server (pid 5000001)");
    assert_string_equal(leftovers.foreign[2].owner, "Slurm job 4711");
    assert_int_equal(leftovers.foreign[2].process->stat.pid, FIRST_PID + 4);
    leftovers_fini(&leftovers);
}

static void who_has_a_gpu_open_is_listed_but_not_ours(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    unsigned me = geteuid();
    fake_init(*out, &fake);
    fake_add(&fake,
             &(struct fake_process){
                 .pid = 1, .parent = -1, .name = "foreign", .uid = me + 1, .devices = {"nvidia0"}});
    fake_add(&fake,
             &(struct fake_process){.pid = 2, .parent = -1, .name = TARE_NAME "-init", .uid = me});
    fake_add(&fake, &(struct fake_process){.pid = 3,
                                           .parent = 2,
                                           .name = "job",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_B "|",
                                           .devices = {"nvidia0"}});
    fake_add(&fake, &(struct fake_process){.pid = 4,
                                           .parent = -1,
                                           .name = "left",
                                           .uid = me,
                                           .environment = "TARE_JOB=" TAG_A "|",
                                           .devices = {"nvidia0"}});
    look(NULL, &fake.roots, &leftovers);
    assert_int_equal(leftovers.count, 3);
    assert_kind(&leftovers, 1, LEFTOVER_NONE_GPU);
    assert_kind(&leftovers, 3, LEFTOVER_LIVE_GPU);
    assert_kind(&leftovers, 4, LEFTOVER_TAGGED);
    assert_int_equal(leftovers_count_ours(&leftovers), 1);
    leftovers_fini(&leftovers);
}

static void an_ordinary_user_has_no_claim_on_others_tags(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1,
                                           .parent = -1,
                                           .name = "theirs",
                                           .uid = geteuid() + 1,
                                           .environment = "TARE_JOB=" TAG_A "|"});
    look(NULL, &fake.roots, &leftovers);
    assert_int_equal(leftovers.count, geteuid() == 0 ? 1 : 0);
    leftovers_fini(&leftovers);
}

/* What the driver says: pids are offsets to FIRST_PID. */
static void add_use(struct gpu_memory_users *memory, int pid, uint64_t bytes, bool has_bytes)
{
    memory->items = mem_room(memory->items, memory->count, sizeof *memory->items);
    memory->items[memory->count++] =
        (struct gpu_memory_use){.pid = FIRST_PID + pid, .bytes = bytes, .has_bytes = has_bytes};
}

static void look_with(const struct fake *fake, const struct gpu_memory_users *memory,
                      struct leftovers *out)
{
    struct err err = {0};
    if (!leftovers_find_holding(NULL, &fake->roots, memory, out, &err))
        fail_msg("%s", err.text);
}

static void memory_of_all_gpus_is_summed_and_an_unknown_figure_stays_unknown(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    struct gpu_memory_users memory = {0};
    fake_init(*out, &fake);
    for (int pid = 1; pid <= 3; pid++)
        fake_add(&fake, &(struct fake_process){
                            .pid = pid, .parent = -1, .name = "x", .devices = {"nvidia0"}});
    add_use(&memory, 1, 1000, true);
    add_use(&memory, 1, 24, true);
    add_use(&memory, 2, 0, false);
    look_with(&fake, &memory, &leftovers);
    assert_int_equal(leftovers.count, 3);
    assert_true(find(&leftovers, FIRST_PID + 1)->has_memory);
    assert_int_equal(find(&leftovers, FIRST_PID + 1)->memory_bytes, 1024);
    assert_false(find(&leftovers, FIRST_PID + 2)->has_memory);
    assert_false(find(&leftovers, FIRST_PID + 3)->has_memory);
    assert_int_equal(leftovers.unseen, 0);
    leftovers_fini(&leftovers);
    gpu_memory_users_fini(&memory);
}

/* In a container the driver's numbers may be the host's: the same number here is then somebody
 * else. */
static void a_number_of_the_driver_is_not_pinned_on_a_process_without_a_gpu(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    struct gpu_memory_users memory = {0};
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1, .parent = -1, .name = "innocent"});
    add_use(&memory, 1, 100, true);
    add_use(&memory, 8, 20, true);
    add_use(&memory, 8, 3, true);
    look_with(&fake, &memory, &leftovers);
    assert_int_equal(leftovers.count, 0);
    assert_int_equal(leftovers.unseen, 2);
    assert_int_equal(leftovers.unseen_bytes, 123);
    assert_string_equal(text_get(&leftovers.unseen_pids), "5000001 5000008");
    leftovers_fini(&leftovers);
    gpu_memory_users_fini(&memory);
}

static void the_driver_names_holders_that_cannot_be_looked_into(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    struct gpu_memory_users memory = {0};
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){
                        .pid = 1, .parent = -1, .name = "theirs", .uid = geteuid() + 1});
    AUTO_FREE char *fds = mem_printf("%s/%d/fd", fake.proc, FIRST_PID + 1);
    assert_int_equal(rmdir(fds), 0); /* for root, too, it cannot be read now */
    add_use(&memory, 1, 100, true);
    look_with(&fake, &memory, &leftovers);
    assert_kind(&leftovers, 1, LEFTOVER_NONE_GPU);
    assert_int_equal(find(&leftovers, FIRST_PID + 1)->memory_bytes, 100);
    assert_int_equal(leftovers.unseen, 0);
    leftovers_fini(&leftovers);
    look_with(&fake, NULL, &leftovers);
    assert_int_equal(leftovers.count, 0);
    leftovers_fini(&leftovers);
    gpu_memory_users_fini(&memory);
}

static void a_claim_counts_only_for_the_claimants_own_process(void **out)
{
    struct fake fake;
    struct leftovers leftovers;
    uint64_t start_time = 400 * (uint64_t)sysconf(_SC_CLK_TCK);
    struct leftover_claim claim = {.pid = FIRST_PID + 1,
                                   .start_time = start_time,
                                   .uid = 1000,
                                   .run_dir = "/d/\x1b",
                                   .run_age_s = 7};
    fake_init(*out, &fake);
    fake_add(&fake, &(struct fake_process){.pid = 1, .parent = -1, .name = "theirs", .uid = 1000});
    look_with(&fake, NULL, &leftovers);
    claim.uid = 1001;
    leftovers_claim(&leftovers, &claim, NULL);
    assert_int_equal(leftovers.count, 0);
    claim.uid = 1000;
    claim.start_time = start_time + 1;
    leftovers_claim(&leftovers, &claim, NULL);
    assert_int_equal(leftovers.count, 0);
    claim.start_time = start_time;
    leftovers_claim(&leftovers, &claim, NULL);
    leftovers_claim(&leftovers, &claim, NULL);
    assert_int_equal(leftovers.count, 1);
    assert_kind(&leftovers, 1, LEFTOVER_OF_DEAD_RUN);
    assert_string_equal(leftovers.items[0].run_dir, "/d/?");
    leftovers_fini(&leftovers);
}

/* The only process of the job of a run that was killed. */
static const struct leftover *only_of(const struct leftovers *leftovers, const char *tag)
{
    const struct leftover *found = NULL;
    for (size_t i = 0; i < leftovers->count; i++) {
        const char *theirs = leftovers->items[i].process->tag;
        if (theirs && strcmp(theirs, tag) == 0) {
            assert_null(found);
            found = &leftovers->items[i];
        }
    }
    return found;
}

static void the_job_of_a_killed_run_is_listed_with_its_run_and_lives_on(void **out)
{
    struct fixture *fixture = *out;
    struct other_run run;
    struct leftovers leftovers;
    struct state *state = state_open(fixture->path, NULL);
    other_run_start(fixture, STATE_RUN, "/data/results/run_7", &run);
    look(state, &real, &leftovers);
    assert_null(only_of(&leftovers, run.tag)); /* it is live */
    leftovers_fini(&leftovers);
    other_run_kill(&run);
    look(state, &real, &leftovers);
    const struct leftover *left = only_of(&leftovers, run.tag);
    assert_non_null(left);
    assert_int_equal(left->kind, LEFTOVER_OF_DEAD_RUN);
    assert_string_equal(left->run_dir, "/data/results/run_7");
    assert_string_equal(left->process->command + strlen(left->process->command) - 10, "sleep 1000");
    leftovers_fini(&leftovers);
    assert_false(lock_is_free(fixture->lock));
    assert_int_equal(run_file_count(fixture), 1);
    recover(state);
    look(state, &real, &leftovers);
    assert_null(only_of(&leftovers, run.tag));
    leftovers_fini(&leftovers);
    state_close(state);
}

static void the_tag_of_a_registered_live_job_is_not_left(void **out)
{
    struct fixture *fixture = *out;
    struct leftovers leftovers;
    struct state *state = state_open(fixture->path, NULL);
    struct job_identity job = {.pid = 2147483645,
                               .start_time = 1,
                               .boot_id = "b",
                               .tag = (char *)"facefacefacefacefacefacefaceface"};
    assert_true(state_register(state, STATE_RUN, NULL, NULL));
    assert_true(state_job_born(state, &job, NULL));
    pid_t pid = tagged_process(fixture, "facefacefacefacefacefacefaceface");
    look(state, &real, &leftovers);
    assert_null(only_of(&leftovers, "facefacefacefacefacefacefaceface"));
    leftovers_fini(&leftovers);
    end_process(pid);
    state_close(state);
}

static void a_tagged_process_is_killed_only_with_its_tag(void **out)
{
    struct fixture *fixture = *out;
    struct census census;
    struct err err = {0};
    pid_t pid = tagged_process(fixture, "cafecafecafecafecafecafecafecafe");
    assert_true(census_take(&real, &census, &err));
    struct census_process process = *census_find(&census, pid);
    struct leftover leftover = {.process = &process, .kind = LEFTOVER_TAGGED};
    process.tag = (char *)"cafecafecafecafecafecafecafecaff";
    assert_false(leftover_kill(&real, &leftover));
    assert_false(lock_is_free(fixture->lock));
    process.tag = (char *)"cafecafecafecafecafecafecafecafe";
    assert_true(leftover_kill(&real, &leftover));
    assert_true(lock_gets_free(fixture->lock));
    end_process(pid);
    census_fini(&census);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tag_without_a_live_init_above_it_is_left),
        TEST(the_name_of_an_init_protects_nobody),
        TEST(a_parent_of_another_user_with_the_tag_is_no_part_of_the_job),
        TEST(a_tag_below_a_living_parent_without_it_is_the_parents),
        TEST(who_has_a_gpu_open_is_listed_but_not_ours),
        TEST(an_ordinary_user_has_no_claim_on_others_tags),
        TEST(memory_of_all_gpus_is_summed_and_an_unknown_figure_stays_unknown),
        TEST(a_number_of_the_driver_is_not_pinned_on_a_process_without_a_gpu),
        TEST(the_driver_names_holders_that_cannot_be_looked_into),
        TEST(a_claim_counts_only_for_the_claimants_own_process),
        TEST(the_job_of_a_killed_run_is_listed_with_its_run_and_lives_on),
        TEST(the_tag_of_a_registered_live_job_is_not_left),
        TEST(a_tagged_process_is_killed_only_with_its_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
