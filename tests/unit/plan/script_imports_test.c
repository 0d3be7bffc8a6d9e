/* Imports, local files and parsers, found in the text of Python source. */
#include "base/strv.h"
#include "plan/script_imports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "sources.h"

static char *imports(const char *text)
{
    AUTO_STRV struct strv names = {0};
    AUTO_FREE char *code = script_code(text, strlen(text));
    assert_int_equal(strlen(code), strlen(text));
    script_imports_parse(text, code, strlen(text), &names);
    return strv_join(&names, " ");
}

static void every_form_of_an_import_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"import a.b\n", "a.b"},
        {"import a, b as c, d.e\n", "a b d.e"},
        {"from . import x\n", ". .x"},
        {"from .pkg.mod import y\n", ".pkg.mod .pkg.mod.y"},
        {"from ..up import (one,\n    two as zwei,  # why\n    three,\n)\n",
         "..up ..up.one ..up.two ..up.three"},
        {"from a import *\n", "a"},
        {"from a import \\\n    b, c\n", "a a.b a.c"},
        {"import a; import b\n", "a b"},
        {"try: import a\nexcept ImportError: a = None\n", "a"},
        {"def f():\n\timport a\n", "a"},
        {"import a\r\nimport b\r\n", "a b"},
        {"import importlib\nm = importlib.import_module('plugins.one')\n", "importlib plugins.one"},
        {"exec(open('configurator.py').read())\n", "configurator.py"},
        {"exec(open(\"./sub/more.py\").read())\n", "sub/more.py"},
        {"import a\nimport a\nfrom a import b\n", "a a.b"},
        {"import", ""},
        {"from", ""},
        {"from a", ""},
        {"from a import (", "a"},
        {"import a as", "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_FREE char *names = imports(cases[i].text);
        assert_string_equal(names, cases[i].names);
    }
}

static void text_that_only_looks_like_an_import_is_not_one(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# import a\n",
        "'''\nimport a\n'''\n",
        "\"\"\"it's\nfrom a import b\n\"\"\"\n",
        "x = 'import a'\n",
        "x = r'\\\\'; y = '''\nimport a'''\n",
        "s = 'unfinished\n# import a\n",
        "raise ValueError() from a\n",
        "yield from a\n",
        "important = 1\n",
        "x.import_module(name)\n",
        "open(name + '.py')\n",
        "open('../outside.py')\nopen('/etc/outside.py')\nopen('data.csv')\n",
        "__import__('a b')\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO_FREE char *names = imports(texts[i]);
        assert_string_equal(names, "");
    }
}

/* ---- Files, from a table in place of a disk. */

/* ---- Parsers. */

/* ---- Epochs. */

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_import_is_read),
        cmocka_unit_test(text_that_only_looks_like_an_import_is_not_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
