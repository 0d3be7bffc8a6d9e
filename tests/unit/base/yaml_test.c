/* Settings and registry in YAML and in JSON with comments. */
#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json_place.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads text as a file of this name. */
static bool read_as(const char *name, const char *text, struct json_doc *doc, struct err *err)
{
    char folder[] = "/tmp/tare-config-XXXXXX";
    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    bool good = json_doc_read_config(path, 1 << 20, doc, err);
    folder_remove(folder);
    return good;
}

static void assert_reads(const char *name, const char *text, const char *json)
{
    struct json_doc doc;
    struct err err = {0};
    if (!read_as(name, text, &doc, &err))
        fail_msg("%s", err.text);
    AUTO_TEXT struct text printed = {0};
    json_print(doc.root, &printed);
    assert_string_equal(text_get(&printed), json);
    json_doc_fini(&doc);
}

/* The error without the folder. */
static void assert_refused(const char *name, const char *text, const char *message)
{
    struct json_doc doc;
    struct err err = {0};
    assert_false(read_as(name, text, &doc, &err));
    const char *found = strstr(err.text, name);
    assert_non_null(found);
    assert_string_equal(found, message);
}

static void assert_place(const struct json_doc *doc, const char *path, bool at_key, size_t line,
                         size_t column)
{
    struct json_place place = json_doc_place(doc, path, at_key);
    if (place.line != line || place.column != column)
        fail_msg("%s: at %zu:%zu, not at %zu:%zu", path, place.line, place.column, line, column);
}

static void yaml_scalars_are_those_of_the_core_schema(void **state)
{
    (void)state;
    assert_reads("a.yaml", "[no, yes, on, off, n, 1:30, 2001-01-01, 1_000, 0b1]",
                 "[\"no\",\"yes\",\"on\",\"off\",\"n\",\"1:30\",\"2001-01-01\",\"1_000\",\"0b1\"]");
    assert_reads("a.yml", "[1e-3, 1E3, .5, 5., -.25, +7, 012, 0o17, 0x1F, -0.0, 12e03]",
                 "[0.001,1000.0,0.5,5.0,-0.25,7,12,15,31,-0.0,12000.0]");
    assert_reads("a.yaml", "[true, False, TRUE, ~, null, Null, '', 'true', \"1\", '~']",
                 "[true,false,true,null,null,null,\"\",\"true\",\"1\",\"~\"]");
    assert_reads("a.yaml", "a:\nb: .\nc: 1.2.3\nd: e5\ne: 1e\n1: x\ntrue: y\n",
                 "{\"a\":null,\"b\":\".\",\"c\":\"1.2.3\",\"d\":\"e5\",\"e\":\"1e\",\"1\":\"x\","
                 "\"true\":\"y\"}");
    assert_reads("a.yaml", "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
                 "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
}

static void yaml_values_and_keys_have_their_places(void **state)
{
    (void)state;
    struct json_doc doc;
    struct err err = {0};
    assert_true(read_as("a.yaml",
                        "# first\nexperiments:\n  - repo: toy\n    \"a b\": {x: \xc3\xa9, y: [1,\n "
                        "     2]}\nbase: &b\n  k: 5\n"
                        "again: *b\n",
                        &doc, &err));
    assert_place(&doc, "$.experiments", true, 2, 1);
    assert_place(&doc, "$.experiments[0].repo", true, 3, 5);
    assert_place(&doc, "$.experiments[0].repo", false, 3, 11);
    assert_place(&doc, "$.experiments[0][\"a b\"].y", true, 4, 19);
    assert_place(&doc, "$.experiments[0][\"a b\"].y[1]", false, 5, 7);
    assert_place(&doc, "$.again", false, 8, 8);
    assert_place(&doc, "$.again.k", false, 7, 6);
    assert_place(&doc, "$.nothing", false, 0, 0);
    json_doc_fini(&doc);
}

static void keys_that_yaml_has_twice_are_found(void **state)
{
    (void)state;
    struct json_doc doc;
    struct json_place first, last;
    struct err err = {0};
    assert_true(read_as("a.yaml", "a: 1\nb: 2\na: 3\n", &doc, &err));
    assert_true(json_doc_repeated(&doc, "$.a", &first, &last));
    assert_true(first.line == 1 && last.line == 3);
    json_doc_fini(&doc);
}

static void what_yaml_cannot_have_here_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused(
        "a.yaml", "a: 1\nb: !!str 2\n",
        "a.yaml:2:4: tags (such as !!str) are not supported: quote what must be a string");
    assert_refused("a.yaml", "a: !m {}\n", "a.yaml:1:4: tags (such as !!map) are not supported");
    assert_refused("a.yaml", "a: .inf\n",
                   "a.yaml:1:4: a number that is not finite has no meaning here");
    assert_refused("a.yaml", "a: 99999999999999999999\n", "a.yaml:1:4: the number is too large");
    assert_refused("a.yaml", "a: 1e999\n", "a.yaml:1:4: the number is too large");
    assert_refused("a.yaml", "a: *b\n",
                   "a.yaml:1:4: this alias has no anchor that is complete before it");
    assert_refused("a.yaml", "a: &a [*a]\n",
                   "a.yaml:1:8: this alias has no anchor that is complete before it");
    assert_refused("a.yaml", "[a]: 1\n", "a.yaml:1:1: a key must be a string");
    assert_refused("a.yaml", "a: 1\n---\nb: 2\n",
                   "a.yaml:2:1: a second document: one file holds one");
    assert_refused("a.yaml", "a: \"x\\0y\"\n", "a.yaml:1:4: a NUL character");
    assert_refused("a.yaml", "x: &x {a: 1}\ny:\n  <<: *x\n",
                   "a.yaml:3:3: merge keys (<<) are not part of YAML 1.2: write the keys, or use "
                   "an alias for a whole value");
    assert_refused("a.yaml", "# nothing\n", "a.yaml:1:1: it is empty");
    assert_refused("a.yaml", "text\n", "a.yaml:1:1: expected keys and values, not a single value");
    assert_refused("a.yaml", "a: [1\nb: 2\n",
                   "a.yaml:2:2: did not find expected ',' or ']', while parsing a flow sequence");
    assert_refused("a.yaml", "a:\n\t- 1\n",
                   "a.yaml:2:1: found character that cannot start any token, while scanning for "
                   "the next token (YAML is "
                   "indented by spaces, not tabs, and @ ` % need quotes)");
}

static void an_alias_means_the_last_anchor_of_its_name_before_it(void **state)
{
    (void)state;
    assert_reads("a.yaml", "a: &x 1\nb: *x\nc: &x [2, *x]\nd: *x\n",
                 "{\"a\":1,\"b\":1,\"c\":[2,1],\"d\":[2,1]}");
}

static void aliases_cannot_grow_without_bounds(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    text_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        text_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            text_addf(&text, "%s*a%d", k ? ", " : "", i - 1);
        text_add(&text, "]\n");
    }
    struct json_doc doc;
    struct err err = {0};
    assert_false(read_as("a.yaml", text_get(&text), &doc, &err));
    assert_non_null(strstr(
        err.text, "too much of it: with what aliases repeat at most 1048576 values and 64 MiB"));
    text_clear(&text);
    for (int i = 0; i < 101; i++)
        text_add_char(&text, '[');
    assert_false(read_as("a.yaml", text_get(&text), &doc, &err));
    assert_non_null(strstr(err.text, "a.yaml:1:101: more than 100 levels deep"));
}

static void comments_and_trailing_commas_are_left_out_of_jsonc(void **state)
{
    (void)state;
    assert_reads("a.jsonc",
                 "// one\n{\"a\": [1, 2, /* \xc3\xbc */ ], \"//\": \"/* no */\", // two\n}\n",
                 "{\"a\":[1,2],\"//\":\"/* no */\"}");
    assert_reads("a.jsonc", "[\"\\\\\", \"\\\"//\",] /* end **/", "[\"\\\\\",\"\\\"//\"]");
    struct json_doc doc;
    struct err err = {0};
    assert_true(read_as(
        "a.jsonc", "{ /* \xc3\xbc\xc3\xbc */ \"a\": 1,\n /* two\nlines */ \"b\": 2}", &doc, &err));
    assert_place(&doc, "$.a", true, 1, 12);
    assert_place(&doc, "$.b", false, 3, 15);
    json_doc_fini(&doc);
    assert_refused("a.jsonc", "{\"a\": 1,\n /* open",
                   "a.jsonc:2:2: this comment is not closed by */");
    assert_refused("a.jsonc", "[,]", "a.jsonc:1:2: unexpected token near ','");
    assert_refused("a.jsonc", "[1,,]", "a.jsonc:1:4: unexpected token near ','");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_scalars_are_those_of_the_core_schema),
        cmocka_unit_test(yaml_values_and_keys_have_their_places),
        cmocka_unit_test(keys_that_yaml_has_twice_are_found),
        cmocka_unit_test(what_yaml_cannot_have_here_is_refused_with_its_place),
        cmocka_unit_test(an_alias_means_the_last_anchor_of_its_name_before_it),
        cmocka_unit_test(aliases_cannot_grow_without_bounds),
        cmocka_unit_test(comments_and_trailing_commas_are_left_out_of_jsonc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
