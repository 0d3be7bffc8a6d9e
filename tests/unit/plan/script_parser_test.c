#include "plan/script_parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "sources.h"

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
        cmocka_unit_test(a_parser_counts_only_where_it_is_used),
        cmocka_unit_test(a_mention_of_help_in_a_comment_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
