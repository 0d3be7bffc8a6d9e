#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "run/environment/needs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"

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

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_module_that_cannot_be_imported_is_missing_with_its_reason),
        TEST(where_an_import_ends_the_interpreter_another_is_asked_for_the_rest),
        TEST(an_interpreter_that_does_not_answer_is_asked_once),
        TEST(the_real_python_tells_what_it_can_import),
    };
    return cmocka_run_group_tests_name("needs modules", tests, NULL, NULL);
}
