#!/usr/bin/env python3
"""tools/measure.py on a small tree that is made up: of each measure what it counts and what it leaves out, and the limits."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools")
sys.path.insert(0, TOOLS)
import wording  # noqa: E402

# One file that no measure counts: a header of its name, a unit test, names of its own.
GOOD = {
    "tools/limits.json": "{}",
    "src/room/lamp.h": "/* A lamp. */\nint lamp_level(int level);\n",
    "src/room/lamp.c": '#include "room/lamp.h"\n\nint lamp_level(int level)\n{\n    return level > 0 ? level : 0;\n}\n',
    "tests/unit/room/lamp_test.c": "",
}


class Measures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        self.write(GOOD)

    def write(self, files):
        for path, text in files.items():
            path = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def run_tool(self, *args, status=0):
        done = subprocess.run([sys.executable, os.path.join(TOOLS, "measure.py"), "--root", self.root, *args], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def figures(self, *args):
        return json.loads(self.run_tool("--json", *args))

    def counted(self, measure):
        """What the measure counts, as PATH:LINE: NAME."""
        found = self.figures("--names", measure)["measures"][measure]
        return [f"{row['path']}:{row['line']}: {row['name']}" for row in found["offenders"]]

    def git(self, *args):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@example.org", *args], check=True,
                       capture_output=True)

    def test_a_good_file_is_counted_by_no_measure(self):
        for name, row in self.figures()["measures"].items():
            # Few lines of little code: the comment of three words is much of it.
            if name not in ("tokens_per_line", "comment_words_per_1000_tokens"):
                self.assertEqual(row["figure"], 0, name)

    def test_tokens_are_words_literals_and_characters_of_code(self):
        # int x = 1 ; and char * s = "a // b" ; — the comment does not count.
        self.write({"src/attic/a.c": '/* Ten words. */\nint x = 1; /* one */\nchar *s = "a // b"; // two\n'})
        self.assertEqual(self.figures("--room", "attic")["rooms"], {"attic": {"tokens": 11, "lines": 3}})

    def test_ratios_are_rounded_up(self):
        # 11 tokens in 3 lines are 3.67; 8 words (/* Ten. */ /* one */ // two) of 11 tokens 727.3 of 1000.
        self.write({"src/attic/a.c": '/* Ten. */\nint x = 1; /* one */\nchar *s = "a // b"; // two\n'})
        figures = self.figures("--room", "attic")["measures"]
        self.assertEqual(figures["tokens_per_line"]["figure"], 3.7)
        self.assertEqual(figures["comment_words_per_1000_tokens"]["figure"], 728)

    def test_dense_and_chatty_files_are_named(self):
        self.write({"src/attic/a.c": "int f(int a, int b, int c);\n", "src/attic/b.c": "/* one two three */\nint x;\n"})
        self.assertEqual(self.counted("tokens_per_line"), ["src/attic/a.c:1: 13.0 tokens per line"])
        self.assertIn("src/attic/b.c:1: 1666 words per 1000 tokens", self.counted("comment_words_per_1000_tokens"))

    def test_lines_over_100_columns(self):
        self.write({"src/attic/a.c": "/* " + "x" * 94 + " */\n/* " + "x" * 95 + " */\n/* " + "é" * 94 + " */\n"})
        self.assertEqual(self.counted("lines_over_100_columns"), ["src/attic/a.c:2: 101 columns"])

    def test_names_of_functions_in_several_files(self):
        body = "static int take(void)\n{\n    return 0;\n}\nint main(void)\n{\n    return take();\n}\n"
        self.write({"src/attic/a.c": body, "src/attic/b.c": "\n" + body})
        self.assertEqual(self.counted("names_of_functions_in_several_files"), ["src/attic/a.c:1: take", "src/attic/b.c:2: take"])

    def test_headers_of_several_files(self):
        self.write({"src/attic/two.h": "int a_go(void);\nint b_go(void);\n", "src/attic/three.h": "int a_go(void);\nint b_go(void);\nint c_go(void);\n"})
        self.write({f"src/attic/{name}.c": f"int {name}_go(void)\n{{\n    return 0;\n}}\n" for name in "abc"})
        self.assertEqual(self.counted("headers_of_several_files"), ["src/attic/three.h:1: bodies in 3 files"])

    def test_json_reads_above_the_store(self):
        read = 'int f(json_t *a, const char *k)\n{\n    json_object_set(a, "w", a);\n    json_get(a, k);\n    return json_says(json_get(g(a, a), "b"), "c", "d");\n}\n'
        self.write({"src/attic/a.c": read, "src/base/b.c": read, "src/results/store/c.c": read,
                    "src/attic/d.c": "/* External format: codecarbon's emissions.json. */\n" + read})
        self.assertEqual(self.counted("json_reads_above_the_store"), ["src/attic/a.c:5: c", "src/attic/a.c:5: b"])

    def test_files_without_entrance(self):
        self.write({"src/attic/a.c": "int a;\n", "src/attic/b.c": "/* The second. */\nint b;\n", "src/attic/c.c": "int c;\n", "src/attic/c.h": ""})
        self.assertEqual(self.counted("files_without_entrance"), ["src/attic/a.c:1: no header, no opening comment"])

    def test_files_without_unit_test(self):
        branch = "int f(int a)\n{\n    if (a)\n        return 1;\n    return 0;\n}\n"
        self.write({"src/attic/deep/a.c": branch, "src/attic/b.c": '/* if */ const char *b = "?";\n', "src/attic/cmd_c.c": branch,
                    "src/attic/deep/d.c": branch, "tests/unit/attic/deep/d_test.c": "", "tests/unit/attic/a_test.c": ""})
        self.assertEqual(self.counted("files_without_unit_test"), ["src/attic/deep/a.c:1: no tests/unit/attic/deep/a_test.c"])

    def test_functions_over_40_lines(self):
        self.write({"src/attic/a.c": "int f(void)\n{\n" + "    g();\n" * 37 + "}\n" + "int h(void)\n{\n" + "    g();\n" * 38 + "}\n"})
        self.assertEqual(self.counted("functions_over_40_lines"), ["src/attic/a.c:41: h: 41 lines"])

    def test_words_of_comments_and_messages(self):
        self.write({"src/attic/a.c": '/* Reads it: nobody\n * tells why. */\nint a = f("x %s"\n    "stands there", "told");\n'})
        self.assertEqual(self.counted("words_nobody"), ["src/attic/a.c:1: nobody"])
        self.assertEqual(self.counted("words_tell"), ["src/attic/a.c:2: tells"])  # "told" is a key
        self.assertEqual(self.counted("words_stand"), ["src/attic/a.c:4: stands"])

    def test_identifiers_count_once_and_in_the_header(self):
        self.write({"src/attic/a.c": "int lamp_look(void)\n{\n    return lamp_look() + outlook + look_up();\n}\n", "src/attic/b.h": "int lamp_look(void);\n"})
        self.assertEqual(self.counted("identifiers_look"), ["src/attic/b.h:1: lamp_look", "src/attic/a.c:3: look_up"])

    def test_each_pattern_finds_its_example(self):
        for name, _, _, example, other in wording.PROSE:
            self.assertIn(name, [found for found, *_ in wording.found_in("a.c", example)], example)
            self.assertNotIn(name, [found for found, *_ in wording.found_in("a.c", other)], other)

    def test_what_got_worse_fails_and_names_what_is_new(self):
        self.write({"src/attic/old.c": "int a;\n"})
        self.run_tool("--lower")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=first")
        self.assertEqual(self.run_tool("--check"), "")
        self.write({"src/attic/new.c": "int b;\n"})
        told = self.run_tool("--check", status=1)
        self.assertIn("at most 1 (files_without_entrance)\n  src/attic/new.c:1: no header", told)
        self.assertNotIn("old.c", told)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=second")  # compared with the commit before
        self.assertNotIn("old.c", self.run_tool("--check", status=1))

    def test_what_got_better_passes_and_says_how_to_lower_the_limit(self):
        self.write({"src/attic/a.c": "int a;\n", "src/attic/b.c": "int b;\n"})
        self.run_tool("--lower")
        self.write({"src/attic/b.h": ""})
        self.assertIn("Lower the limits: tools/measure.py --lower", self.run_tool("--check"))
        self.run_tool("--lower")
        os.remove(os.path.join(self.root, "src/attic/b.h"))
        self.run_tool("--check", status=1)
        self.run_tool("--lower")  # never raises one
        self.run_tool("--check", status=1)


if __name__ == "__main__":
    unittest.main()
