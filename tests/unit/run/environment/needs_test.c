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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER  "fedcba9876543210fedcba9876543210fedcba98"

struct place {
    char *folder;
    struct registry registry;
    struct needs needs;
};

static int set_up(void **state)
{
    char name[] = "/tmp/needs-test.XXXXXX";
    struct place *place = mem_alloc(sizeof *place);
    place->folder = mem_strdup(mkdtemp(name));
    assert_non_null(place->folder);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    needs_fini(&place->needs);
    registry_fini(&place->registry);
    AUTO_FREE char *command = mem_printf("rm -rf %s", place->folder);
    assert_int_equal(system(command), 0);
    free(place->folder);
    free(place);
    return 0;
}

static void make_folder(const struct place *place, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const struct place *place, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* An interpreter that answers as ours is asked to, and leaves what it was asked. */
static void make_interpreter(const struct place *place, const char *answer)
{
    AUTO_FREE char *script = mem_printf("#!/bin/sh\n"
                                        "shift 2\n"
                                        "echo \"$*|$CUDA_VISIBLE_DEVICES|$SAID\" > %s/asked\n"
                                        "echo 'yes 3.11.2'\n"
                                        "%s\n",
                                        place->folder, answer);
    make_file(place, "python", script);
}

/* Looks at repository r with models small and large, of which only wanted are asked for. */
static void look(struct place *place, const char *rest, const char *wanted)
{
    AUTO_FREE char *text = mem_printf("{\"models\": {\"r\": {\"path\": \"%s/repo\", "
                                      "\"train_script\": \"train.py\", \"models\": [\"small\", "
                                      "\"large\"]%s}}}",
                                      place->folder, rest);
    AUTO(problems_fini) struct problems problems = {0};
    assert_true(registry_parse("r", text, strlen(text), &place->registry, &problems));
    AUTO_STRV struct strv models = {0};
    strv_add(&models, wanted);
    const struct plan_options options = {
        .home = place->folder, .cwd = "/", .path = "/usr/bin:/bin"};
    needs_check_repo(&place->registry, &place->registry.repos[0], &models, &options, &place->needs);
    needs_ask(&place->needs);
}

static const struct need *find(const struct place *place, enum need_kind kind, const char *name)
{
    const struct repo_needs *repo = &place->needs.repos[0];
    for (size_t i = 0; i < repo->count; i++)
        if (repo->items[i].kind == kind && (!name || strcmp(repo->items[i].name, name) == 0))
            return &repo->items[i];
    return NULL;
}

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

static void a_module_that_cannot_be_imported_is_missing_with_its_reason(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    make_interpreter(place, "printf 'no ImportError: lib\\033[2Jx.so\\nyes 1\\n'");
    look(place,
         ", \"python\": \"../python\", \"requires\": [{\"modules\": [\"torch\", \"yaml\"], "
         "\"get\": \"pip\"}]",
         "small");
    const struct need *torch = find(place, NEED_MODULE, "torch");
    assert_int_equal(torch->state, NEED_MISSING);
    assert_string_equal(torch->detail, "ImportError: lib?[2Jx.so");
    assert_string_equal(torch->mend, "pip");
    assert_int_equal(find(place, NEED_MODULE, "yaml")->state, NEED_THERE);
}

static void where_an_import_ends_the_interpreter_another_is_asked_for_the_rest(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    make_interpreter(place, "[ $2 != a ] || { echo 'yes 1'; kill -SEGV $$; }; echo 'yes 2'");
    look(place, ", \"python\": \"../python\", \"requires\": [{\"modules\": [\"a\", \"b\", \"c\"]}]",
         "small");
    assert_int_equal(find(place, NEED_MODULE, "a")->state, NEED_THERE);
    assert_int_equal(find(place, NEED_MODULE, "b")->state, NEED_MISSING);
    assert_string_equal(find(place, NEED_MODULE, "b")->detail,
                        "the interpreter ended while it was imported");
    assert_int_equal(find(place, NEED_MODULE, "c")->state, NEED_THERE);
    assert_string_equal(find(place, NEED_MODULE, "c")->detail, "2");
}

static void an_interpreter_that_does_not_answer_is_asked_once(void **state)
{
    struct place *place = *state;
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    AUTO_FREE char *script = mem_printf("#!/bin/sh\necho x >> %s/asked\nexit 1\n", place->folder);
    make_file(place, "python", script);
    look(place,
         ", \"python\": \"../python\", \"requires\": [{\"modules\": [\"a\", \"b\"], \"python\": "
         "\">=3\"}]",
         "small");
    assert_int_equal(find(place, NEED_MODULE, "a")->state, NEED_UNKNOWN);
    assert_int_equal(find(place, NEED_MODULE, "b")->state, NEED_UNKNOWN);
    assert_string_equal(find(place, NEED_MODULE, "b")->detail, "the interpreter does not answer");
    const struct need *python = find(place, NEED_PYTHON, NULL);
    assert_int_equal(python->state, NEED_UNKNOWN);
    assert_string_equal(python->detail, "the interpreter does not answer");
    AUTO_FREE char *path = mem_printf("%s/asked", place->folder);
    struct stat asked;
    assert_int_equal(stat(path, &asked), 0);
    assert_int_equal(asked.st_size, 2);
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

static void the_real_python_tells_what_it_can_import(void **state)
{
    struct place *place = *state;
    if (access("/usr/bin/python3", X_OK) != 0)
        skip();
    make_folder(place, "repo");
    make_file(place, "repo/train.py", "");
    look(place,
         ", \"python\": \"python3\", \"requires\": [{\"modules\": [\"json\", "
         "\"no_such_module_at_all\"]}]",
         "small");
    assert_int_equal(find(place, NEED_MODULE, "json")->state, NEED_THERE);
    const struct need *none = find(place, NEED_MODULE, "no_such_module_at_all");
    assert_int_equal(none->state, NEED_MISSING);
    assert_string_equal(none->detail,
                        "ModuleNotFoundError: No module named 'no_such_module_at_all'");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_repository_that_is_not_there_is_mended_by_a_clone_at_its_commit),
        TEST(all_that_is_there_makes_the_models_ready),
        TEST(a_module_that_cannot_be_imported_is_missing_with_its_reason),
        TEST(where_an_import_ends_the_interpreter_another_is_asked_for_the_rest),
        TEST(an_interpreter_that_does_not_answer_is_asked_once),
        TEST(the_interpreter_compares_versions_and_an_unchecked_one_is_never_good),
        TEST(the_real_python_tells_what_it_can_import),
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
