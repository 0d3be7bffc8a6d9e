#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/shell_words.h"
#include "base/text.h"

#include <string.h>

struct row {
    const char *command;
    const char *words; /* joined by "|" */
};

static void check_split(const char *command, const char *words)
{
    struct err err = {0};
    AUTO_STRV struct strv out = {0};
    if (!shell_words_split(command, &out, &err))
        fail_msg("<%s>: %s", command, err.text);
    AUTO_FREE char *joined = strv_join(&out, "|");
    if (strcmp(joined, words) != 0)
        fail_msg("<%s>: got <%s>, expected <%s>", command, joined, words);
}

/* What Python's shlex.split and dash both give. */
static void quotes_and_backslashes_make_the_words_of_a_shell(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"sleep 1", "sleep|1"},
        {"  python3\ttrain.py   --lr 0.1 ", "python3|train.py|--lr|0.1"},
        {"echo 'a b' \"c d\" e\\ f", "echo|a b|c d|e f"},
        {"a'b'\"c\"\\d", "abcd"},
        {"x '' \"\" y", "x|||y"},
        {"echo \"it's\" 'say \"hi\"'", "echo|it's|say \"hi\""},
        {"echo \"a\\\\b\" \"a\\\"b\" \"a\\b\"", "echo|a\\b|a\"b|a\\b"},
        {"echo 'a\\b' \\\\ \\' \\\"", "echo|a\\b|\\|'|\""},
        {"find . -name '*.c' -exec wc {} \\;", "find|.|-name|*.c|-exec|wc|{}|;"},
        {"echo 'line\nline'", "echo|line\nline"},
        {"echo a#b '#c' \\#d", "echo|a#b|#c|#d"},
        {"cost 5$ \"$\" a$.b", "cost|5$|$|a$.b"},
        {"[ -f x ]", "[|-f|x|]"},
        {"awk '{print $1}' file", "awk|{print $1}|file"},
        {"echo \"\\* \\? ~ > & ;\" '{a,b}' \\{a,b\\}", "echo|\\* \\? ~ > & ;|{a,b}|{a,b}"},
        {"python3 -c 'import time; time.sleep(0.1)'", "python3|-c|import time; time.sleep(0.1)"},
        {"echo größe \"日本\"", "echo|größe|日本"},
        {"x a=b", "x|a=b"},
        {"'a'=b c", "a=b|c"},
        {"true \n", "true"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_split(rows[i].command, rows[i].words);
}

/* Where shlex differs from POSIX (2.2.1, 2.2.3), dash decides. */
static void a_backslash_joins_lines_and_frees_dollars_as_posix_says(void **state)
{
    (void)state;
    check_split("echo a\\\nb", "echo|ab");
    check_split("echo \"a\\\nb\"", "echo|ab");
    check_split("echo \\$HOME '$HOME' \"\\$HOME\" \"a\\`b\"", "echo|$HOME|$HOME|$HOME|a`b");
}

static void check_refused(const char *command, const char *expected)
{
    struct err err = {0};
    AUTO_STRV struct strv out = {0};
    if (shell_words_split(command, &out, &err))
        fail_msg("<%s> was taken", command);
    if (strncmp(err.text, expected, strlen(expected)) != 0)
        fail_msg("<%s>: got <%s>, expected <%s ...>", command, err.text, expected);
}

static void what_is_not_closed_is_said_with_its_place(void **state)
{
    (void)state;
    check_refused("echo 'a b", "the single quote at character 6 is not closed");
    check_refused("echo \"a 'b'", "the double quote at character 6 is not closed");
    check_refused("größe 'a", "the single quote at character 7 is not closed");
    check_refused("echo a\\", "there is nothing behind the backslash at the end");
    check_refused("", "there is no command in it");
    check_refused(" \t\n", "there is no command in it");
}

static void what_only_a_shell_can_do_is_refused_by_name(void **state)
{
    (void)state;
    check_refused("cat a | wc", "'|' at character 7: a pipe needs a shell");
    check_refused("a || b", "'||' at character 3: more than one command needs a shell");
    check_refused("a && b", "'&&' at character 3: more than one command needs a shell");
    check_refused("a; b", "';' at character 2: more than one command needs a shell");
    check_refused("a &", "'&' at character 3: a command in the background needs a shell");
    check_refused("a >b", "'>' at character 3: a redirection needs a shell");
    check_refused("a 2>>b", "'>>' at character 4: a redirection needs a shell");
    check_refused("a <b", "'<' at character 3: a redirection needs a shell");
    check_refused("(a)", "'(' at character 1: a group of commands needs a shell");
    check_refused("a $HOME/b", "'$HOME' at character 3: a variable needs a shell");
    check_refused("a \"$X_1 c\"", "'$X_1' at character 4: a variable needs a shell");
    check_refused("a ${X}", "'${' at character 3: a variable needs a shell");
    check_refused("a $[1+1]", "'$[' at character 3: a variable needs a shell");
    check_refused("a $(b)", "'$(' at character 3: a command in a command needs a shell");
    check_refused("a `b`", "'`' at character 3: a command in a command needs a shell");
    check_refused("a \"`b`\"", "'`' at character 4: a command in a command needs a shell");
    check_refused("a *.c", "'*.c' at character 3: a pattern for file names needs a shell");
    check_refused("a x?", "'x?' at character 3: a pattern for file names needs a shell");
    check_refused("a [ab]c d", "'[ab]c' at character 3: a pattern for file names needs a shell");
    check_refused("a ~/b", "'~/b' at character 3: a home folder needs a shell");
    check_refused("a {1..3}", "'{1..3}' at character 3: a list in braces needs a shell");
    check_refused("a x{b,c}", "'x{b,c}' at character 3: a list in braces needs a shell");
    check_refused("a # b", "'#' at character 3: a comment needs a shell");
    check_refused("X=1 a",
                  "'X=1' sets a variable, which needs a shell, and none is run; write env X=1 ...");
    check_refused("a\nb", "a second line at character 3");
}

static void the_mend_names_the_shell_that_would_do_it(void **state)
{
    (void)state;
    struct err err = {0};
    AUTO_STRV struct strv out = {0};
    assert_false(shell_words_split("cat a | wc", &out, &err));
    assert_non_null(strstr(err.text, "sh -c '...'"));
    assert_non_null(strstr(err.text, "quote it"));
}

/* Each read back by dash: printf '<%s>' WORD. */
static void a_word_is_quoted_where_a_shell_would_read_something_into_it(void **state)
{
    (void)state;
    static const struct {
        const char *word, *first, *later;
    } rows[] = {
        /* in front it would set a variable */
        {"python3", "python3", "python3"},      {"lr=0.1", "'lr=0.1'", "lr=0.1"},
        {"--lr=0.1", "'--lr=0.1'", "--lr=0.1"}, {"", "''", "''"},
        {"it's", "'it'\\''s'", "'it'\\''s'"},   {"a b=c", "'a b=c'", "'a b=c'"},
        {"$HOME", "'$HOME'", "'$HOME'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT struct text first = {0};
        AUTO_TEXT struct text later = {0};
        shell_words_quote_command(rows[i].word, &first);
        shell_words_quote(rows[i].word, &later);
        assert_string_equal(text_get(&first), rows[i].first);
        assert_string_equal(text_get(&later), rows[i].later);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_and_backslashes_make_the_words_of_a_shell),
        cmocka_unit_test(a_backslash_joins_lines_and_frees_dollars_as_posix_says),
        cmocka_unit_test(what_is_not_closed_is_said_with_its_place),
        cmocka_unit_test(what_only_a_shell_can_do_is_refused_by_name),
        cmocka_unit_test(the_mend_names_the_shell_that_would_do_it),
        cmocka_unit_test(a_word_is_quoted_where_a_shell_would_read_something_into_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
