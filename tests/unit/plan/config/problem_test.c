#include "expect.h"

#include "base/cleanup.h"
#include "base/mem.h"

static void the_nearest_name_is_offered_up_to_a_third_of_its_length(void **state)
{
    (void)state;
    static const char *const names[] = {"epochs", "learning_rate", "seed", "batch_size"};
    static const struct {
        const char *given, *hint;
    } rows[] = {
        {"epoch", "; did you mean 'epochs'?"},  /* one letter of six */
        {"epcohs", "; did you mean 'epochs'?"}, /* a swap is one step */
        {"Seed", "; did you mean 'seed'?"},     /* case counts for nothing */
        {"SEED", "; did you mean 'seed'?"},
        {"seat", ""}, /* two of four */
        {"batchsize", "; did you mean 'batch_size'?"},
        {"learning-rates", "; did you mean 'learning_rate'?"}, /* two of fourteen */
        {"lr", ""},
        {"", ""},
        {"batch", "; did you mean 'batch_size'?"}, /* five more letters, but it begins so */
        {"Learning", "; did you mean 'learning_rate'?"},
        {"seed_of_run", "; did you mean 'seed'?"},
        {"rate", "; did you mean 'learning_rate'?"},
        {"ba", ""}, /* too short to mean anything */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *hint = problem_nearest(rows[i].given, names, 4);
        assert_string_equal(hint, rows[i].hint);
    }
}

static void of_two_names_the_nearer_one_is_offered(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet56", "resnet20", "resnet32"};
    AUTO_FREE char *hint = problem_nearest("resnet21", names, 3);
    assert_string_equal(hint, "; did you mean 'resnet20'?");
    AUTO_FREE char *none = problem_nearest("resnet21", names, 0);
    assert_string_equal(none, "");
}

static void an_endless_name_is_like_no_other(void **state)
{
    (void)state;
    char given[5001];
    memset(given, 'a', 5000);
    given[5000] = '\0';
    const char *const names[] = {given + 1};
    AUTO_FREE char *hint = problem_nearest(given, names, 1);
    assert_string_equal(hint, "");
}

static void a_problem_is_written_as_compilers_write_it(void **state)
{
    (void)state;
    static const char text[] = "{\n  \"a\": [1,\n    22]\n}\n";
    struct json_doc doc;
    assert_true(json_doc_parse("x.json", text, strlen(text), &doc, NULL));
    AUTO(problems_fini) struct problems problems = {0};
    problems_add(&problems, SEVERITY_ERROR, &doc, "$.a[1]", "%d is too much", 22);
    problems_add(&problems, SEVERITY_WARNING, &doc, "$.a", "short");
    problems_add_at_key(&problems, SEVERITY_WARNING, &doc, "$.a", "odd");
    problems_add(&problems, SEVERITY_ERROR, &doc, NULL, "no path");
    problems_add(&problems, SEVERITY_ERROR, NULL, NULL, "no file");
    problems_add(&problems, SEVERITY_ERROR, &doc, "$.b", "a path to nothing");
    json_doc_fini(&doc);
    expect_problems(&problems,
                    LINES("x.json:3:5: error: 22 is too much (at $.a[1])",
                          "x.json:2:8: warning: short (at $.a)",
                          "x.json:2:3: warning: odd (at $.a)", "x.json: error: no path",
                          "error: no file", "x.json: error: a path to nothing (at $.b)"));
    assert_int_equal(problems.errors, 4);
}

static void what_is_no_letter_in_a_name_cannot_break_the_line(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    problems_add(&problems, SEVERITY_ERROR, NULL, NULL, "'%s' is odd", "a\n\x1b[31mb\x7f");
    expect_problems(&problems, LINES("error: 'a??[31mb?' is odd"));
}

static void the_place_in_an_error_of_the_reader_becomes_the_place_of_the_problem(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    problems_add_unreadable(&problems, "a.json",
                            &(struct err){.text = "a.json:3:14: end of file expected"});
    problems_add_unreadable(&problems, "b.json",
                            &(struct err){.text = "open b.json: No such file or directory"});
    expect_problems(&problems, LINES("a.json:3:14: error: end of file expected",
                                     "b.json: error: open b.json: No such file or directory"));
    assert_int_equal(problems.items[0].place.line, 3);
    assert_int_equal(problems.items[0].place.column, 14);
    assert_int_equal(problems.errors, 2);
}

static void many_warnings_do_not_hide_an_error(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    for (int i = 0; i < 2000; i++)
        problems_add(&problems, SEVERITY_WARNING, NULL, NULL, "warning %d", i);
    for (int i = 0; i < 700; i++)
        problems_add(&problems, SEVERITY_ERROR, NULL, NULL, "error %d", i);
    assert_int_equal(problems.errors, 700);
    assert_int_equal(problems.count, 501 + 501);
    assert_string_equal(problems.items[499].text, "warning 499");
    assert_string_equal(problems.items[500].text,
                        "more than 500 warnings: the others are not shown");
    assert_string_equal(problems.items[501].text, "error 0");
    assert_string_equal(problems.items[1001].text,
                        "more than 500 errors: the others are not shown");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_is_offered_up_to_a_third_of_its_length),
        cmocka_unit_test(of_two_names_the_nearer_one_is_offered),
        cmocka_unit_test(an_endless_name_is_like_no_other),
        cmocka_unit_test(a_problem_is_written_as_compilers_write_it),
        cmocka_unit_test(what_is_no_letter_in_a_name_cannot_break_the_line),
        cmocka_unit_test(the_place_in_an_error_of_the_reader_becomes_the_place_of_the_problem),
        cmocka_unit_test(many_warnings_do_not_hide_an_error),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
