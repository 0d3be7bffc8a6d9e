#include "base/version.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

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

/* One of the words, with a separator before and behind it and a number, which may be left out: "a1", "-rc.2", ".post". */
static bool take_part(const char **at, const char *const *words)
{
    const char *word = *at;
    struct number ignored;
    if (*word && strchr(".-_", *word))
        word++;
    for (size_t i = 0; words[i]; i++) {
        size_t length = strlen(words[i]);
        if (strncasecmp(word, words[i], length) != 0)
            continue;
        word += length;
        if (*word && strchr(".-_", *word) && isdigit((unsigned char)word[1]))
            word++;
        take_number(&word, &ignored);
        *at = word;
        return true;
    }
    return false;
}

/* "1.0-1" is a post-release too. */
static bool take_post(const char **at)
{
    static const char *const words[] = {"post", "rev", "r", NULL};
    struct number ignored;
    if (**at == '-' && isdigit((unsigned char)(*at)[1])) {
        (*at)++;
        return take_number(at, &ignored);
    }
    return take_part(at, words);
}

/* What follows '+': letters and digits in parts. "3.13.0+", as interpreters built from a checkout call themselves, is one too. */
static void skip_local(const char **at)
{
    if (**at != '+')
        return;
    (*at)++;
    while (isalnum((unsigned char)**at) || (**at && strchr(".-_", **at)))
        (*at)++;
}

/* A version that is there. */
static bool read_version(const char *text, struct version *out)
{
    static const char *const pre_words[] = {"alpha", "beta", "preview", "pre", "rc", "a", "b", "c", NULL};
    static const char *const dev_words[] = {"dev", NULL};
    if (strlen(text) > LONGEST)
        return false;
    while (isspace((unsigned char)*text))
        text++;
    if (*text == 'v' || *text == 'V')
        text++;
    if (!take_release(&text, out))
        return false;
    bool pre = take_part(&text, pre_words);
    bool post = take_post(&text);
    bool dev = take_part(&text, dev_words);
    out->phase = pre || (dev && !post) ? -1 : post;
    skip_local(&text);
    while (isspace((unsigned char)*text))
        text++;
    return *text == '\0';
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
