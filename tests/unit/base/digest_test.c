#include "base/digest.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include "in_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FIPS 180-4's examples, and the empty message. */
static const char of_nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                  of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                  of_million[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void assert_digest(struct digest digest, const char *expected)
{
    char hex[DIGEST_HEX + 1];
    digest_print(&digest, hex);
    assert_string_equal(hex, expected);
}

static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    assert_digest(digest_of("", 0), of_nothing);
    assert_digest(digest_of("abc", 3), of_abc);
}

static void pieces_have_the_digest_of_the_whole(void **state)
{
    (void)state;
    SHA2_CTX sha;
    char piece[1000];
    memset(piece, 'a', sizeof piece);
    SHA256Init(&sha);
    digest_add(&sha, "ab", 2);
    digest_end(&sha); /* more can be added */
    digest_add(&sha, "c", 1);
    assert_digest(digest_end(&sha), of_abc);
    SHA256Init(&sha);
    for (int i = 0; i < 1000; i++)
        digest_add(&sha, piece, sizeof piece);
    assert_digest(digest_end(&sha), of_million);
}

static void only_64_lower_case_digits_are_a_digest(void **state)
{
    (void)state;
    struct digest digest, abc = digest_of("abc", 3);
    char hex[DIGEST_HEX + 2];
    assert_true(digest_parse(of_abc, &digest) && digest_equal(&digest, &abc));
    assert_false(digest_parse(NULL, &digest));
    assert_false(digest_parse("", &digest));
    snprintf(hex, sizeof hex, "%.63s", of_abc);
    assert_false(digest_parse(hex, &digest));
    snprintf(hex, sizeof hex, "%s0", of_abc);
    assert_false(digest_parse(hex, &digest));
    static const char wrong[] = {'A', 'F', 'g', '/', ':', '`', ' '};
    for (size_t i = 0; i < sizeof wrong; i++) {
        memcpy(hex, of_abc, sizeof of_abc);
        hex[i % 2 ? 63 : 0] = wrong[i];
        assert_false(digest_parse(hex, &digest));
    }
    abc.bytes[DIGEST_BYTES - 1] ^= 1;
    assert_false(digest_parse(of_abc, &digest) && digest_equal(&digest, &abc));
}

static void a_whole_regular_file_has_a_digest(void **state)
{
    (void)state;
    struct digest digest;
    put("abc", "abc");
    put("empty", "");
    assert_true(digest_of_file(AT_FDCWD, "abc", 3, &digest));
    assert_digest(digest, of_abc);
    assert_true(digest_of_file(AT_FDCWD, "empty", 0, &digest));
    assert_digest(digest, of_nothing);
    AUTO_FREE char *million = mem_alloc(1000001);
    memset(million, 'a', 1000000);
    million[1000000] = '\0';
    put("million", million);
    assert_true(digest_of_file(AT_FDCWD, "million", 1000000, &digest));
    assert_digest(digest, of_million);
}

static void links_pipes_folders_and_what_is_too_long_have_none(void **state)
{
    (void)state;
    struct digest digest;
    put("abc", "abc");
    assert_int_equal(symlink("abc", "link"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_false(digest_of_file(AT_FDCWD, "abc", 2, &digest));
    assert_false(digest_of_file(AT_FDCWD, "link", 100, &digest));
    assert_false(digest_of_file(AT_FDCWD, "pipe", 100, &digest));
    assert_false(digest_of_file(AT_FDCWD, "folder", 1 << 20, &digest));
    assert_false(digest_of_file(AT_FDCWD, "nothing", 100, &digest));
    /* The kernel says that it has no byte. */
    assert_false(digest_of_file(AT_FDCWD, "/proc/self/maps", 10, &digest));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(pieces_have_the_digest_of_the_whole),
        cmocka_unit_test(only_64_lower_case_digits_are_a_digest),
        IN_FOLDER(a_whole_regular_file_has_a_digest),
        IN_FOLDER(links_pipes_folders_and_what_is_too_long_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
