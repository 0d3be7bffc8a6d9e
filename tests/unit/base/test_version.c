/* What is wanted of a version, and versions that are there: the examples of PEP 440, worked out by hand. */
#include "base/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FITS(want, version)    assert_int_equal(version_fits(want, version), VERSION_FITS)
#define OTHER(want, version)   assert_int_equal(version_fits(want, version), VERSION_OTHER)
#define UNKNOWN(want, version) assert_int_equal(version_fits(want, version), VERSION_UNKNOWN)

/* "Version matching": comparison segments of different lengths are padded with zeros. */
static void numbers_are_compared_as_numbers_and_padded_with_zeros(void **state)
{
    (void)state;
    FITS("==1.1", "1.1.0");
    FITS("==1.1.0", "1.1");
    OTHER("==1.1", "1.1.1");
    FITS(">=2.9", "2.10");
    OTHER(">=2.10", "2.9.9");
    FITS("==2.01", "2.1");
    FITS(">99999999999999999998", "99999999999999999999");
    FITS("== 1.0 ", "v1.0");
    FITS("==1", "1.0.0.0");
}

/* "==1.1.*" takes 1.1.post1 and 1.1a1; "!=1.1.*" does not. Without the star, 1.1.post1 is not 1.1. */
static void a_star_takes_every_version_that_begins_so(void **state)
{
    (void)state;
    FITS("==1.1.*", "1.1.post1");
    OTHER("==1.1", "1.1.post1");
    FITS("==1.1.*", "1.1a1");
    OTHER("==1.1", "1.1a1");
    OTHER("!=1.1.*", "1.1.post1");
    FITS("!=1.1", "1.1.post1");
    FITS("==1.13.*", "1.13.1");
    FITS("==1.13.*", "1.13");
    OTHER("==1.13.*", "1.130.1");
    FITS("==1.0.*", "1");
}

/* "~=2.2" is ">=2.2,==2.*"; "~=1.4.5" is ">=1.4.5,==1.4.*"; "~=2.2.0" is ">=2.2.0,==2.2.*". */
static void a_compatible_release_keeps_all_but_the_last_number(void **state)
{
    (void)state;
    FITS("~=2.2", "2.2.1");
    FITS("~=2.2", "2.9");
    OTHER("~=2.2", "3.0");
    OTHER("~=2.2", "2.1.9");
    FITS("~=1.4.5", "1.4.6");
    OTHER("~=1.4.5", "1.5.0");
    OTHER("~=1.4.5", "1.4.4");
    OTHER("~=2.2.0", "2.3");
}

/* "Exclusive ordered comparison": >1.7 takes 1.7.1 and not 1.7.0.post1; <V takes no pre-release of V. */
static void pre_and_post_releases_are_before_and_after_theirs(void **state)
{
    (void)state;
    FITS(">1.7", "1.7.1");
    OTHER(">1.7", "1.7.0.post1");
    FITS(">=1.7", "1.7.0.post1");
    OTHER("<=1.7", "1.7.post1");
    OTHER("<2.0", "2.0rc1");
    OTHER(">=2.0", "2.0rc1");
    FITS("<=2.0", "2.0rc1");
    FITS(">1.9", "2.0rc1");
    OTHER(">=2.0", "2.0.dev3");
    FITS(">=2.0", "2.0.post1.dev2");
    OTHER(">=2.0", "2.0a1.post1");
    OTHER("==2.6.0", "2.6.0a0+ecf3bae40a.nv25.01");
}

/* 1.0a1 may be spelt 1.0-alpha.1, 1.0A, 1.0_a1; 1.0.post1 1.0-1, 1.0rev1, 1.0-r4: "Normalization". */
static void other_spellings_are_read(void **state)
{
    (void)state;
    static const char *const before[] = {"1.0-alpha.1", "1.0A",     "1.0_b2",  "1.0c1",
                                         "1.0-preview", "1.0.DEV5", "1.0pre2", NULL};
    static const char *const after[] = {"1.0-1", "1.0rev1", "1.0-r4", "1.0.post", "1.0POST2", NULL};
    for (size_t i = 0; before[i]; i++) {
        OTHER(">=1.0", before[i]);
        FITS(">=0.9", before[i]);
    }
    for (size_t i = 0; after[i]; i++) {
        FITS(">=1.0", after[i]);
        OTHER("<=1.0", after[i]);
    }
}

static void an_epoch_comes_first_and_a_local_part_counts_nothing(void **state)
{
    (void)state;
    FITS(">=2013.10", "1!1.0");
    OTHER(">=1!1.0", "2013.10");
    FITS("==1!2.0", "1!2.0.0");
    FITS("==2.11.0", "2.11.0+cu130");
    OTHER(">=2.12", "2.11.0+cu130");
    FITS(">=3.13", "3.13.0+");
}

static void all_comparisons_must_hold(void **state)
{
    (void)state;
    FITS(">=2.0,<2.12", "2.11.0");
    OTHER(">=2.0,<2.12", "2.12.0");
    OTHER(">=2.0 , <2.12", "1.13.1");
    OTHER(">=2.0,!=2.5.*", "2.5.1");
    FITS("!=1.9", "1.9.1");
}

static void what_is_no_version_is_never_good(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "unknown", "1.", "1..2", "2.0 beta", "git-abc", "1.0+cu;rm", "1!", NULL};
    for (size_t i = 0; wrong[i]; i++) {
        UNKNOWN(">=0", wrong[i]);
        UNKNOWN("!=9", wrong[i]);
    }
    char numbers[2 * 33] = "1", longest[300];
    for (size_t i = 1; i < 33; i++)
        strcat(numbers, ".1");
    UNKNOWN(">=0", numbers);
    memset(longest, '1', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    UNKNOWN(">=0", longest);
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",       "2.6",     ">=",      ">=2.6,",   ",>=2.6",   "===2.6", ">=2.6rc1",
                                        ">=2.*",  "~=2",     "==2.*.1", ">=two",    ">=2.6+cu", "=2.6",   "=>2.6",
                                        ">=2 <3", "~=2.1.*", "==2.",    ">= 2 . 6", NULL};
    struct err err = {0};
    for (size_t i = 0; wrong[i]; i++)
        assert_false(version_want_check(wrong[i], &err));
    assert_false(version_want_check(">=2.0, <3b1", &err));
    assert_string_equal(err.text, "' <3b1' is not a comparison with a release such as >=2.6, ==1.13.* or ~=1.4.2");
    assert_true(version_want_check(" >= 2.0 , <3,!=2.5.*,~=2.1", &err));
}

static void a_name_ends_where_a_comparison_begins(void **state)
{
    (void)state;
    int length;
    const char *want;
    version_split("torch >= 2.6", &length, &want);
    assert_int_equal(length, 5);
    assert_string_equal(want, ">= 2.6");
    version_split("torch", &length, &want);
    assert_int_equal(length, 5);
    assert_string_equal(want, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_compared_as_numbers_and_padded_with_zeros),
        cmocka_unit_test(a_star_takes_every_version_that_begins_so),
        cmocka_unit_test(a_compatible_release_keeps_all_but_the_last_number),
        cmocka_unit_test(pre_and_post_releases_are_before_and_after_theirs),
        cmocka_unit_test(other_spellings_are_read),
        cmocka_unit_test(an_epoch_comes_first_and_a_local_part_counts_nothing),
        cmocka_unit_test(all_comparisons_must_hold),
        cmocka_unit_test(what_is_no_version_is_never_good),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(a_name_ends_where_a_comparison_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
