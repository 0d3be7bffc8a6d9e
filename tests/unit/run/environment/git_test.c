#include "../fixture.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "run/environment/git.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine_file.h"

#include "tests/unit/base/ask.h"

static void a_repository_gives_its_commit_and_whether_it_was_changed(void **state)
{
    struct world *world = *state;
    AUTO_TEXT struct text head = {0};
    AUTO_FREE char *make = mem_printf(
        "export HOME=%s; cd %s && git init -q . && echo a >file && git add file && "
        "git -c user.name=a -c user.email=a@b.c commit -q -m first && git rev-parse HEAD",
        world->root, world->root);
    AUTO_FREE char *git = fs_find_executable("git", NULL, "/usr/bin:/bin");
    if (!git) {
        print_message("# git is not installed\n");
        skip();
    }
    setenv("GIT_CEILING_DIRECTORIES", "/", 1);
    assert_true(ask(make, 60, &head));
    world_add(world, "exit 0");
    json_t *json = written(world);
    const json_t *repository = json_array_get(json_object_get(json, "repositories"), 0);
    AUTO_FREE char *commit = mem_strndup(text_get(&head), head.length - 1);
    assert_int_equal(strlen(commit), 40);
    assert_string_equal(json_string_value(json_object_get(repository, "commit")), commit);
    assert_true(json_is_false(json_object_get(repository, "dirty")));
    json_decref(json);
    AUTO_FREE char *change = mem_printf("echo b >%s/file", world->root);
    text_clear(&head);
    assert_true(ask(change, 60, &head));
    json = written(world);
    repository = json_array_get(json_object_get(json, "repositories"), 0);
    assert_true(json_is_true(json_object_get(repository, "dirty")));
    json_decref(json);
}

static void git_is_asked_only_where_a_repository_may_be(void **state)
{
    static const struct {
        const char *path, *with;
        bool may;
    } cases[] = {{"a/b/c", "a/.git/", true},
                 {"a/b/c", "a/b/c/.git", true},
                 {"a", "a/b/.git/", false},
                 {"bare/objects", "bare/HEAD", true},
                 {"none", "", false}};
    struct world *world = *state;
    AUTO_TEXT struct text out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_FREE char *make =
            mem_printf("cd %s && rm -rf a bare none && mkdir -p %s a/b && case '%s' in '') ;; */) "
                       "mkdir -p %s ;; *) touch %s ;; esac",
                       world->root, cases[i].path, cases[i].with, cases[i].with, cases[i].with);
        AUTO_FREE char *path = mem_printf("%s/%s", world->root, cases[i].path);
        assert_true(ask(make, 60, &out));
        assert_int_equal(git_has_repository(path), cases[i].may);
    }
}

UNIT_TESTS(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_repository_gives_its_commit_and_whether_it_was_changed),
        IN_WORLD(git_is_asked_only_where_a_repository_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
