/* Imports, local files and parsers, found in the text of Python source. */
#include "base/mem.h"
#include "base/strv.h"
#include "plan/script_epochs.h"
#include "plan/script_imports.h"
#include "plan/script_parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

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

struct source {
    const char *path, *text;
};

static bool read_source(void *context, const char *root, const char *path, struct text *out,
                        bool *cut)
{
    (void)cut;
    AUTO_FREE char *whole = mem_printf("%s/%s", root, path);
    for (const struct source *source = context; source->path; source++)
        if (strcmp(source->path, whole) == 0) {
            text_add(out, source->text);
            return true;
        }
    return false;
}

static bool walk(const struct source *sources, const char *script, struct script_files *out)
{
    AUTO_STRV struct strv roots = {0};
    strv_add(&roots, "/r");
    strv_add(&roots, "/lib");
    return script_files_walk(&roots, script, read_source, (void *)sources, out);
}

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

/* ---- Parsers. */

static void a_parser_counts_only_where_it_is_used(void **state)
{
    (void)state;
    static const struct {
        const char *train, *helper, *name;
        bool answers_help;
    } cases[] = {
        {"import argparse\np = argparse.ArgumentParser()\na = p.parse_args()\n", "", "argparse",
         true},
        {"import argparse\nlr = 0.1\n", "", NULL, false},
        {"# argparse.ArgumentParser().parse_args()\n", "", NULL, false},
        {"'''argparse.ArgumentParser().parse_args()'''\n", "", NULL, false},
        {"import helper\na = helper.parser().parse_args()\n",
         "import argparse\ndef parser():\n    return argparse.ArgumentParser()\n", "argparse",
         true},
        {"import helper\n",
         "import argparse\nif __name__ == '__main__':\n    p = argparse.ArgumentParser()\n\n    "
         "p.parse_args()\n",
         NULL, false},
        {"import helper\ndef main(): train()\nmain()\n",
         "import argparse\ndef main():\n    p = argparse.ArgumentParser()\n    p.parse_args()\nif "
         "__name__ == "
         "'__main__': main()\n",
         NULL, false},
        {"from helper import main\nmain()\n",
         "import argparse\ndef main():\n    argparse.ArgumentParser().parse_args()\n", "argparse",
         true},
        {"import helper\nhelper.main()\n",
         "import argparse\ndef main():\n    argparse.ArgumentParser().parse_args()\n", "argparse",
         true},
        {"from helper import *\na = args()\n",
         "import argparse\ndef args():\n    return argparse.ArgumentParser().parse_args()\n",
         "argparse", true},
        {"from helper import Options\n",
         "class Base:\n    def parse(self):\n        return ArgumentParser().parse_args()\nclass "
         "Options(Base): pass\n",
         "argparse", true},
        {"import helper\n",
         "import click\n@click.option('--lr')\n@click.command()\ndef main(lr):\n    pass\n\nx = "
         "1\n",
         NULL, false},
        {"import helper\n", "args = ArgumentParser(\n).parse_args(\n)\n", "argparse", true},
        {"import click\n@click.group()\ndef main(): pass\n", "", "click", true},
        {"from jsonargparse import CLI\nCLI(main)\n", "", "jsonargparse", true},
        {"p = ArgumentParser(add_help=False)\na, rest = p.parse_known_args()\n", "", "argparse",
         false},
        {"p = ArgumentParser()\na, rest = p.parse_known_args()\n", "", "argparse", true},
        {"import click\n@click.command()\ndef main(): pass\n", "", "click", true},
        {"import click\nclick.echo('x')\nre.match(x).group(1)\n", "", NULL, false},
        {"import typer\ntyper.run(main)\n", "", "Typer", true},
        {"from absl import app, flags\napp.run(main)\n", "", "absl", true},
        {"from absl import logging\nsubprocess.run(x)\n", "", NULL, false},
        {"import fire\nfire.Fire(main)\n", "", "fire", true},
        {"from docopt import docopt\na = docopt(__doc__)\n", "", "docopt", true},
        {"p = HfArgumentParser(A)\na, = p.parse_args_into_dataclasses()\n", "", "argparse", true},
        {"import tyro\na = tyro.cli(A)\n", "", "tyro", true},
        {"import hydra\n@hydra.main(config_path=None)\ndef main(c): pass\n", "", "Hydra", true},
        {"from omegaconf import OmegaConf\nc = OmegaConf.from_cli()\n", "", "OmegaConf", false},
        {"import sys\nlr = float(sys.argv[1])\n", "", "sys.argv", false},
        {"from sys import argv\nlr = argv[1]\n", "", "sys.argv", false},
        {"import sys\nsys.exit(0)\n", "", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source sources[] = {
            {"/r/train.py", cases[i].train}, {"/r/helper.py", cases[i].helper}, {0}};
        AUTO(script_files_fini) struct script_files files;
        struct script_parser parser;
        assert_true(walk(sources, "train.py", &files));
        script_parser_find(&files, &parser);
        if (cases[i].name)
            assert_string_equal(parser.name ? parser.name : cases[i].train, cases[i].name);
        else
            assert_null(parser.name);
        assert_int_equal(parser.answers_help, cases[i].answers_help);
    }
}

/* ---- Epochs. */

/* The printer, and whether its lines begin or end an epoch. */
static void what_prints_epochs_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *train, *helper, *printer;
        bool at_start;
    } cases[] = {
        {"import keras\nmodel.fit(x)\n", "", "Keras", true},
        {"from tensorflow import keras\nimport helper\n", "def go(m): m.fit(1)\n", "Keras", true},
        {"import keras\n", "", NULL, false},
        {"from sklearn.svm import SVC\nSVC().fit(x)\n", "", NULL, false},
        {"import pytorch_lightning as pl\npl.Trainer().fit(m)\n", "", "Lightning", true},
        {"from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n", "", "Lightning", true},
        {"from transformers import Trainer\nTrainer(model=m).train()\n", "", "the HF Trainer",
         false},
        {"from trl import SFTTrainer\nSFTTrainer(m).train()\n", "", "the HF Trainer", false},
        {"from transformers import AutoModel\nprint(f'Epoch {e}/{n}')\n", "", "the script", true},
        {"print(f'Epoch {e + 1}/{n}')\nprint(f'loss {x}')\n", "", "the script", true},
        {"print('Epoch %d loss %.3f' % (e, x))\n", "", "the script", false},
        {"print('Epoch: {:03d}, Loss: {:.4f}'.format(e, x))\n", "", "the script", false},
        {"print('epoch', e, 'loss', x)\n", "", "the script", false},
        {"log.info(f'Epoch {e}: '\n         f'loss {x}')\n", "", "the script", false},
        {"m = ProgressMeter(n, prefix='Epoch: [{}]'.format(e))\n", "", "the script", true},
        {"print('Train Epoch: {} [{}/{}]\\tLoss: {:.6f}'.format(e, i, n, x))\n", "", "the script",
         true},
        {"for b in tqdm(l, desc=f'Epoch {e}'): pass\n", "", "the script", true},
        {"print(f'Epoch {e} step {i} loss {x}')\n", "", "the script", true},
        {"import helper\n", "print(f'epoch {e} loss {x}')\n", "the script", false},
        {"# print(f'Epoch {e}')\n", "", NULL, false},
        {"'''Epoch {e}'''\n", "", NULL, false},
        {"print(f'Best epoch {e}')\n", "", NULL, false},
        {"p.add_argument('--epochs', help='epochs')\n", "", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source sources[] = {
            {"/r/train.py", cases[i].train}, {"/r/helper.py", cases[i].helper}, {0}};
        AUTO(script_files_fini) struct script_files files;
        struct script_epochs epochs;
        assert_true(walk(sources, "train.py", &files));
        script_epochs_find(&files, &epochs);
        if (!cases[i].printer) {
            assert_true(!epochs.printer && !epochs.start && !epochs.end);
            continue;
        }
        assert_string_equal(epochs.printer ? epochs.printer : cases[i].train, cases[i].printer);
        assert_int_equal(epochs.start != NULL, cases[i].at_start);
        assert_int_equal(epochs.end != NULL, !cases[i].at_start);
    }
}

static void a_mention_of_help_in_a_comment_does_not_count(void **state)
{
    (void)state;
    struct script_parser parser;
    const struct source comment[] = {{"/r/t.py", "import sys # --help\nsys.argv[1]\n"}, {0}};
    const struct source string[] = {{"/r/t.py", "import sys\nif '--help' in sys.argv: pass\n"},
                                    {0}};
    AUTO(script_files_fini) struct script_files one, two;
    walk(comment, "t.py", &one);
    walk(string, "t.py", &two);
    script_parser_find(&one, &parser);
    assert_false(parser.names_help);
    script_parser_find(&two, &parser);
    assert_true(parser.names_help);
    assert_true(script_parser_is_mentioned("#!/bin/sh\nwhile getopts ab o; do :; done\n"));
    assert_true(script_parser_is_mentioned("case $1 in --help) exit ;; esac\n"));
    assert_false(script_parser_is_mentioned("#!/bin/sh\necho help\n"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_import_is_read),
        cmocka_unit_test(text_that_only_looks_like_an_import_is_not_one),
        cmocka_unit_test(local_modules_are_followed_and_packages_of_others_are_not),
        cmocka_unit_test(a_script_in_a_package_imports_from_its_own_folder),
        cmocka_unit_test(a_parser_counts_only_where_it_is_used),
        cmocka_unit_test(what_prints_epochs_is_found),
        cmocka_unit_test(a_mention_of_help_in_a_comment_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
