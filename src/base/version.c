#include "base/version.h"

#include <ctype.h>
#include <regex.h>
#include <stddef.h>
#include <string.h>

enum { RELEASE_MAX = 32, LONGEST = 200 };

/* Digits without leading zeros: of any size. */
struct number {
    const char *digits;
    size_t length;
};

struct version {
    struct number epoch;
    struct number release[RELEASE_MAX];
    size_t count;
    int phase; /* -1: before the release (pre-release, development), 0: the release, 1: after it (post-release) */
};

enum relation { AT_LEAST, AT_MOST, ABOVE, BELOW, SAME, DIFFERENT, COMPATIBLE };

struct comparison {
    enum relation relation;
    struct version version;
    bool prefix; /* ".*" */
};

static bool take_number(const char **at, struct number *out)
{
    size_t length = strspn(*at, "0123456789");
    const char *end = *at + length;
    if (length == 0)
        return false;
    while (length > 1 && **at == '0') {
        (*at)++;
        length--;
    }
    *out = (struct number){*at, length};
    *at = end;
    return true;
}

static int compare_numbers(const struct number *one, const struct number *other)
{
    static const struct number zero = {"0", 1};
    if (!one->digits)
        one = &zero;
    if (!other->digits)
        other = &zero;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    int order = memcmp(one->digits, other->digits, one->length);
    return (order > 0) - (order < 0);
}

/* "[N!]N(.N)*"; a ".*" is left. */
static bool take_release(const char **at, struct version *out)
{
    *out = (struct version){0};
    struct number first;
    if (!take_number(at, &first))
        return false;
    if (**at == '!') {
        out->epoch = first;
        (*at)++;
        if (!take_number(at, &first))
            return false;
    }
    out->release[out->count++] = first;
    while (**at == '.' && isdigit((unsigned char)(*at)[1])) {
        (*at)++;
        if (out->count == RELEASE_MAX || !take_number(at, &out->release[out->count++]))
            return false;
    }
    return true;
}

/* A version that is there: release, pre-release, post-release ("1.0-1" is one too), development, and what follows '+'
 * ("3.13.0+", as interpreters built from a checkout call themselves, is one too). */
static bool read_version(const char *text, struct version *out)
{
#define NUMBER "([-._]?[0-9]+)?"
    static const char pattern[] = "^[[:space:]]*v?([0-9!.]*[0-9])"
                                  "([-._]?(alpha|beta|preview|pre|rc|a|b|c)" NUMBER ")?"
                                  "(-[0-9]+|[-._]?(post|rev|r)" NUMBER ")?"
                                  "([-._]?dev" NUMBER ")?"
                                  "([+][[:alnum:]._-]*)?[[:space:]]*$";
#undef NUMBER
    enum { RELEASE = 1, PRE = 2, POST = 5, DEV = 8, GROUPS };
    regex_t regex;
    regmatch_t groups[GROUPS];
    if (strlen(text) > LONGEST || regcomp(&regex, pattern, REG_EXTENDED | REG_ICASE) != 0)
        return false;
    bool matches = regexec(&regex, text, GROUPS, groups, 0) == 0;
    regfree(&regex);
    const char *at = matches ? text + groups[RELEASE].rm_so : NULL;
    if (!matches || !take_release(&at, out) || at != text + groups[RELEASE].rm_eo)
        return false;
    bool pre = groups[PRE].rm_so >= 0, post = groups[POST].rm_so >= 0, dev = groups[DEV].rm_so >= 0;
    out->phase = pre || (dev && !post) ? -1 : post;
    return true;
}

static bool take_relation(const char **at, enum relation *out)
{
    static const struct {
        const char *sign;
        enum relation relation;
    } signs[] = {{">=", AT_LEAST},   {"<=", AT_MOST}, {"==", SAME}, {"!=", DIFFERENT},
                 {"~=", COMPATIBLE}, {">", ABOVE},    {"<", BELOW}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strncmp(*at, signs[i].sign, strlen(signs[i].sign)) != 0)
            continue;
        *at += strlen(signs[i].sign);
        *out = signs[i].relation;
        return true;
    }
    return false;
}

static void skip_blanks(const char **at)
{
    while (**at == ' ')
        (*at)++;
}

/* One comparison, up to the comma behind it, or the end. */
static bool take_comparison(const char **at, struct comparison *out)
{
    *out = (struct comparison){0};
    skip_blanks(at);
    if (!take_relation(at, &out->relation))
        return false;
    skip_blanks(at);
    if (!take_release(at, &out->version))
        return false;
    out->prefix = strncmp(*at, ".*", 2) == 0;
    if (out->prefix)
        *at += 2;
    skip_blanks(at);
    if (out->prefix && out->relation != SAME && out->relation != DIFFERENT)
        return false;
    if (out->relation == COMPATIBLE && out->version.count < 2)
        return false;
    return **at == '\0' || **at == ',';
}

/* The first count numbers of both; missing ones are 0. */
static int compare_releases(const struct version *one, const struct version *other, size_t count)
{
    int order = compare_numbers(&one->epoch, &other->epoch);
    for (size_t i = 0; order == 0 && i < count; i++)
        order = compare_numbers(&one->release[i], &other->release[i]);
    return order;
}

static bool holds(const struct comparison *comparison, const struct version *version)
{
    const struct version *wanted = &comparison->version;
    int release = compare_releases(version, wanted, RELEASE_MAX);
    int order = release ? release : version->phase;
    bool same = comparison->prefix ? compare_releases(version, wanted, wanted->count) == 0 : order == 0;
    switch (comparison->relation) {
    case AT_LEAST:
        return order >= 0;
    case AT_MOST:
        return order <= 0;
    case ABOVE:
        return release > 0;
    case BELOW:
        return release < 0;
    case SAME:
        return same;
    case DIFFERENT:
        return !same;
    case COMPATIBLE:
        return order >= 0 && compare_releases(version, wanted, wanted->count - 1) == 0;
    }
    return false;
}

bool version_want_check(const char *want, struct err *err)
{
    struct comparison ignored;
    if (strlen(want) > LONGEST)
        return err_set(err, "longer than %d bytes", LONGEST);
    for (const char *at = want;; at++) {
        const char *from = at;
        if (!take_comparison(&at, &ignored))
            return err_set(err, "'%.*s' is not a comparison with a release such as >=2.6, ==1.13.* or ~=1.4.2",
                           (int)strcspn(from, ","), from);
        if (*at == '\0')
            return true;
    }
}

enum version_fit version_fits(const char *want, const char *version)
{
    struct version there;
    struct comparison comparison;
    if (!read_version(version, &there))
        return VERSION_UNKNOWN;
    for (const char *at = want;; at++) {
        if (!take_comparison(&at, &comparison))
            return VERSION_UNKNOWN;
        if (!holds(&comparison, &there))
            return VERSION_OTHER;
        if (*at == '\0')
            return VERSION_FITS;
    }
}

void version_split(const char *text, int *name_length, const char **want)
{
    size_t length = strcspn(text, "<>=!~");
    *want = text + length;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    *name_length = (int)length;
}
