/* What of a repository's needs is on a machine: folders, scripts and interpreters made for the
 * test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "run/environment/needs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER  "fedcba9876543210fedcba9876543210fedcba98"

static void a_repository_that_is_not_there_is_mended_by_a_clone_at_its_commit(void **state)
{
    struct place *place = *state;
    look(place,
         ", \"venv\": \".venv\", \"source\": {\"url\": \"https://h/r.git\", \"commit\": \"" COMMIT
         "\"}",
         "small");
    const struct need *folder = find(place, NEED_FOLDER, NULL);
    assert_int_equal(folder->state, NEED_MISSING);
    AUTO_FREE char *clone =
        mem_printf("git clone https://h/r.git %s/repo && git -C %s/repo checkout --detach " COMMIT,
                   place->folder, place->folder);
    assert_string_equal(folder->mend, clone);
    AUTO_FREE char *venv = mem_printf("python3 -m venv %s/repo/.venv", place->folder);
    assert_string_equal(find(place, NEED_INTERPRETER, NULL)->mend, venv);
    /* Of its script and commit nothing can be said. */
    assert_null(find(place, NEED_SCRIPT, NULL));
    assert_null(find(place, NEED_COMMIT, NULL));
    assert_false(needs_all_there(&place->needs));
}

static void all_that_is_there_makes_the_models_ready(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "pass\n");
    make_file(place, "repo/data.csv", "1\n");
    make_interpreter(place, "echo 'yes 2.1'; echo 'yes '");
    look(place,
         ", \"python\": \"../python\", \"data\": [{\"path\": \"data.csv\"}], \"env\": {\"SAID\": "
         "\"so\"},"
         " \"requires\": [{\"modules\": [\"torch\", \"yaml\"]}]",
         "small");
    assert_true(needs_all_there(&place->needs));
    assert_true(repo_needs_ready(&place->needs.repos[0], "small"));
    assert_int_equal(place->needs.repos[0].count, 6);
    assert_string_equal(find(place, NEED_MODULE, "torch")->detail, "2.1");
    assert_null(find(place, NEED_MODULE, "yaml")->detail);
    /* Both were asked for at once, without a GPU, with the variables of the training. */
    char asked[100] = {0};
    AUTO_FREE char *path = mem_printf("%s/asked", place->folder);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, asked, sizeof asked - 1) > 0);
    assert_string_equal(asked, "= torch yaml||so\n");
}

static void the_interpreter_compares_versions_and_an_unchecked_one_is_never_good(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    make_interpreter(place, "printf 'other 3.11.2\\nother 2.11.0+cu130\\nyes 2.3.1\\nunchecked "
                            "\\nunchecked git-1a\\nyes \\n'");
    look(place,
         ", \"python\": \"../python\", \"requires\": [{\"python\": \">=3.12\"}, {\"modules\": "
         "[\"torch>=2.12\", "
         "\"numpy < 2.4\", \"yaml>=6\", \"a!=1\", \"b\"], \"get\": \"pip\"}]",
         "small");
    assert_int_equal(find(place, NEED_PYTHON, "Python")->state, NEED_VERSION);
    assert_string_equal(find(place, NEED_PYTHON, "Python")->detail,
                        "Python 3.11.2 is there, >=3.12 is wanted");
    const struct need *torch = find(place, NEED_MODULE, "torch");
    assert_int_equal(torch->state, NEED_VERSION);
    assert_string_equal(torch->detail, "torch 2.11.0+cu130 is there, >=2.12 is wanted");
    assert_string_equal(torch->mend, "pip");
    assert_int_equal(find(place, NEED_MODULE, "numpy")->state, NEED_THERE);
    assert_int_equal(find(place, NEED_MODULE, "yaml")->state, NEED_UNKNOWN);
    assert_string_equal(find(place, NEED_MODULE, "yaml")->detail,
                        "version not known, >=6 is wanted");
    assert_int_equal(find(place, NEED_MODULE, "a")->state, NEED_UNKNOWN);
    assert_string_equal(find(place, NEED_MODULE, "a")->detail,
                        "version not checked: git-1a is there, !=1 is wanted");
    assert_int_equal(find(place, NEED_MODULE, "b")->state, NEED_THERE);
    assert_false(repo_needs_ready(&place->needs.repos[0], "small"));
}

static void what_only_one_model_needs_keeps_only_that_one(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    make_interpreter(place, "echo 'yes 1'");
    static const char rest[] =
        ", \"python\": \"../python\", \"data\": [{\"path\": \"big\", \"size\": 4096, "
        "\"models\": \"large\"}], \"requires\": [{\"modules\": \"m\", \"models\": \"small\"}]";
    look(place, rest, "small");
    assert_true(needs_all_there(&place->needs));
    assert_null(find(place, NEED_DATA, NULL));
    assert_int_equal(place->needs.disk_count, 0);
    registry_fini(&place->registry);
    needs_fini(&place->needs);
    look(place, rest, "large");
    assert_null(find(place, NEED_MODULE, NULL));
    assert_int_equal(find(place, NEED_DATA, "big")->state, NEED_MISSING);
    assert_false(repo_needs_ready(&place->needs.repos[0], "large"));
    assert_true(repo_needs_ready(&place->needs.repos[0], "small"));
    assert_int_equal(place->needs.disks[0].fetch_bytes, 4096);
}

static void data_that_is_empty_is_missing(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_folder(place, "repo/none");
    make_folder(place, "repo/some");
    make_file(place, "repo/some/file", "");
    make_file(place, "home.csv", "x");
    look(place,
         ", \"data\": [{\"path\": \"none\"}, {\"path\": \"some\"}, {\"path\": \"some/file\"}, "
         "{\"path\": "
         "\"~/home.csv\"}, {\"path\": \"some/file/below\"}]",
         "small");
    assert_string_equal(find(place, NEED_DATA, "none")->detail, "the folder is empty");
    assert_int_equal(find(place, NEED_DATA, "some")->state, NEED_THERE);
    assert_string_equal(find(place, NEED_DATA, "some/file")->detail, "the file is empty");
    assert_int_equal(find(place, NEED_DATA, "~/home.csv")->state, NEED_THERE);
    assert_string_equal(find(place, NEED_DATA, "some/file/below")->detail, "not there");
    const struct need *script = find(place, NEED_SCRIPT, NULL);
    assert_int_equal(script->state, NEED_MISSING);
}

#define SOURCE ", \"source\": {\"url\": \"https://h/r.git\", \"commit\": \"" COMMIT "\"}"

/* The commit's need of a clone whose HEAD says so. */
static const struct need *look_at_head(struct place *place, const char *head)
{
    make_folder(place, "repo");
    make_folder(place, "repo/.git");
    make_file(place, "repo/.git/HEAD", head);
    look(place, SOURCE, "small");
    return find(place, NEED_COMMIT, COMMIT);
}

static void a_clone_at_its_commit_is_there(void **state)
{
    assert_int_equal(look_at_head(*state, COMMIT "\n")->state, NEED_THERE);
}

static void a_clone_at_another_commit_is_told_with_its_mend(void **state)
{
    struct place *place = *state;
    const struct need *commit = look_at_head(place, OTHER "\n");
    assert_int_equal(commit->state, NEED_OTHER);
    assert_string_equal(commit->detail, "the clone is at " OTHER);
    AUTO_FREE char *mend = mem_printf("git -C %s/repo checkout --detach " COMMIT, place->folder);
    assert_string_equal(commit->mend, mend);
}

static void a_branch_is_followed_into_the_packed_refs(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_folder(place, "repo/.git");
    make_file(place, "repo/.git/HEAD", "ref: refs/heads/main\n");
    make_file(place, "repo/.git/packed-refs",
              "# pack-refs with: peeled\n" OTHER " refs/heads/main2\n" COMMIT " refs/heads/main\n");
    look(place, SOURCE, "small");
    assert_int_equal(find(place, NEED_COMMIT, COMMIT)->state, NEED_THERE);
}

static void a_head_that_leads_out_of_the_clone_is_not_followed(void **state)
{
    struct place *place = *state;
    make_file(place, "outside", COMMIT "\n");
    const struct need *commit = look_at_head(place, "ref: refs/../../../outside\n");
    assert_int_equal(commit->state, NEED_OTHER);
    assert_string_equal(commit->detail, "no clone of git: which commit it is cannot be told");
}

static void a_disk_that_is_too_small_is_no_machine_where_all_is_there(void **state)
{
    (void)state;
    struct disk_need disk = {.fetch_bytes = 101, .free_bytes = 100};
    struct needs needs = {.disks = &disk, .disk_count = 1};
    assert_false(needs_all_there(&needs));
    disk.free_bytes = 101;
    assert_true(needs_all_there(&needs));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_repository_that_is_not_there_is_mended_by_a_clone_at_its_commit),
        TEST(all_that_is_there_makes_the_models_ready),
        TEST(the_interpreter_compares_versions_and_an_unchecked_one_is_never_good),
        TEST(what_only_one_model_needs_keeps_only_that_one),
        TEST(data_that_is_empty_is_missing),
        TEST(a_clone_at_its_commit_is_there),
        TEST(a_clone_at_another_commit_is_told_with_its_mend),
        TEST(a_branch_is_followed_into_the_packed_refs),
        TEST(a_head_that_leads_out_of_the_clone_is_not_followed),
        cmocka_unit_test(a_disk_that_is_too_small_is_no_machine_where_all_is_there),
    };
    return cmocka_run_group_tests_name("what a machine has", tests, NULL, NULL);
}
