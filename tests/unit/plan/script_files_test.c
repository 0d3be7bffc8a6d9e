#include "base/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "sources.h"

static char *paths(const struct source *sources, const char *script)
{
    AUTO(script_files_fini) struct script_files files;
    AUTO_STRV struct strv names = {0};
    walk(sources, script, &files);
    for (size_t i = 0; i < files.count; i++)
        strv_add(&names, files.items[i].path);
    return strv_join(&names, " ");
}

static void local_modules_are_followed_and_packages_of_others_are_not(void **state)
{
    (void)state;
    static const struct source sources[] = {
        {"/r/train.py", "import torch, util\nfrom pkg.sub import model\nimport shared\n"},
        {"/r/util.py", "import train\n"},
        {"/r/pkg/__init__.py", ""},
        {"/r/pkg/sub/__init__.py", "from . import data\n"},
        {"/r/pkg/sub/model.py", "from ..base import Base\nfrom .... import outside\n"},
        {"/r/pkg/sub/data.py", ""},
        {"/r/pkg/base.py", ""},
        {"/r/unused.py", ""},
        {"/lib/shared.py", ""},
        {"/lib/util.py", ""},
        {"/outside.py", ""},
        {0},
    };
    AUTO_FREE char *found = paths(sources, "train.py");
    assert_string_equal(
        found,
        "/r/train.py /r/util.py /r/pkg/__init__.py /r/pkg/sub/__init__.py /r/pkg/sub/model.py "
        "/lib/shared.py /r/pkg/sub/data.py /r/pkg/base.py");
    AUTO_FREE char *none = paths(sources, "missing.py");
    assert_string_equal(none, "");
}

static void a_script_in_a_package_imports_from_its_own_folder(void **state)
{
    (void)state;
    static const struct source sources[] = {
        {"/r/pkg/train.py", "from .model import Net\nfrom . import data\n"},
        {"/r/pkg/model.py", ""},
        {"/r/pkg/data/__init__.py", ""},
        {"/r/pkg/__init__.py", ""},
        {0},
    };
    AUTO_FREE char *found = paths(sources, "pkg/train.py");
    assert_string_equal(
        found, "/r/pkg/train.py /r/pkg/__init__.py /r/pkg/model.py /r/pkg/data/__init__.py");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_modules_are_followed_and_packages_of_others_are_not),
        cmocka_unit_test(a_script_in_a_package_imports_from_its_own_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
