/* The words before a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/strv.h"
#include "plan/launcher.h"

#include <string.h>

/* "script WORD", "module WORD", with the variables and the word of its Python; or the error.
 * Fresh. */
static char *found(const char *command)
{
    AUTO_STRV struct strv words = {0};
    struct launcher launcher;
    struct err err = {0};
    AUTO_FREE char *copy = mem_strdup(command);
    for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        strv_add(&words, word);
    if (!launcher_read(words.items, words.count, &launcher, &err))
        return mem_strdup(err.text);
    return mem_printf("%s %s%s%s, %zu", launcher.module ? "module" : "script",
                      words.items[launcher.script], launcher.python < launcher.script ? " by " : "",
                      launcher.python < launcher.script ? words.items[launcher.python] : "",
                      launcher.variables);
}

static void assert_found(const char *command, const char *expected)
{
    AUTO_FREE char *got = found(command);
    assert_string_equal(got, expected);
}

static void the_script_is_found_after_its_launchers(void **state)
{
    (void)state;
    assert_found("train.py --lr 1", "script train.py, 0");
    assert_found("python3 train.py -m x", "script train.py by python3, 0");
    assert_found("/opt/py/bin/python3.11 -u -X dev -W ignore -Wm -OO train.py",
                 "script train.py by /opt/py/bin/python3.11, 0");
    assert_found("python -um pkg.train x.py", "module pkg.train by python, 0");
    assert_found("A=1 B_2= python3 -m pkg.train", "module pkg.train by python3, 2");
    assert_found("python3 -m torch.distributed.launch --nproc_per_node 2 train.py x.py",
                 "script train.py, 0");
    assert_found("torchrun --nproc_per_node 2 train.py", "script train.py, 0");
    assert_found("torchrun --nproc_per_node 2 -m pkg.train", "module pkg.train, 0");
    assert_found("accelerate launch --config_file a.yaml --module pkg.train",
                 "module pkg.train, 0");
    assert_found("deepspeed --include host:0,1 train.py --deepspeed", "script train.py, 0");
    assert_found("uv run --with rich python3 -m pkg.train", "module pkg.train by python3, 0");
    assert_found("uv run -m pkg.train", "module pkg.train, 0");
    assert_found("poetry run train --lr 1", "script train, 0");
    assert_found("mpirun -np 2 -x A=1 -H a,b python3 train.py", "script train.py by python3, 0");
    assert_found("srun -m block nice -n 5 python3 train.py", "script train.py by python3, 0");
    assert_found("env -u X Y=1 python3 train.py", "script train.py by python3, 0");
    assert_found("bash train.sh x.py", "script train.sh, 0");
    assert_found("uv pip install x.py", "script uv, 0");
    assert_found("./train x", "script ./train, 0");
}

static void a_launcher_without_a_script_is_a_mistake(void **state)
{
    (void)state;
    assert_found("python3", "python3: which script? No script comes after it");
    assert_found("python3 -u -W", "python3: which script? No script comes after it");
    assert_found("python3 -m", "python3: which script? No script comes after it");
    assert_found("python3 -m torch.distributed.run",
                 "python3: which script? No script comes after it");
    assert_found("accelerate launch", "accelerate: which script? No script comes after it");
    assert_found("A=1", "there are variables only: which script? As in A=1 python3 train.py");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_script_is_found_after_its_launchers),
        cmocka_unit_test(a_launcher_without_a_script_is_a_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
