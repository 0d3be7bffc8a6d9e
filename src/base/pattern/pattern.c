#include "base/pattern/pattern.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#define STEPS_FULL 1000000u /* milliseconds with JIT, tens of them without */
#define STEPS_HELD 4096u    /* over budget; enough to try every place of a short line */
/* on a long line: bytes looked at when every step looks at all of it */
#define STEPS_LONG_SCANNED (1u << 29)
#define DEPTH_MAX          100000u
#define HEAP_MAX_KIB       1024u /* of the interpreter, kept between matches */
#define JIT_STACK_START    (32u << 10)
#define JIT_STACK_MAX      (512u << 10)
#define CODE_MAX           (1u << 20) /* of a compiled pattern: nested repeats multiply */
#define CODE_JIT_MAX       (1u << 16)

struct pattern {
    pcre2_code *code; /* any bytes, interpreted */
    pcre2_code *fast; /* valid UTF-8 only, JIT; NULL: there is none */
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint32_t steps; /* the match limit set in context */
    int64_t credit_ns;
};

static void free_code(pcre2_code **code)
{
    pcre2_code_free(*code);
}

static size_t characters_before(const char *source, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes && source[i]; i++)
        count += ((unsigned char)source[i] & 0xC0) != 0x80;
    return count;
}

static pcre2_code *compile(const char *source, uint32_t invalid_utf, struct err *err)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    AUTO(free_code)
    pcre2_code *made =
        pcre2_compile((PCRE2_SPTR)source, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | invalid_utf, &code, &offset, NULL);
    if (!made) {
        PCRE2_UCHAR reason[200] = "";
        pcre2_get_error_message(code, reason, sizeof reason);
        err_set(err, "%s at character %zu", (const char *)reason,
                characters_before(source, offset) + 1);
        return NULL;
    }
    size_t size = 0;
    pcre2_pattern_info(made, PCRE2_INFO_SIZE, &size);
    if (size > CODE_MAX) {
        err_set(err, "pattern is too large at character 1: %zu bytes compiled, the limit is %u",
                size, CODE_MAX);
        return NULL;
    }
    return steal_ptr(made);
}

/* Without JIT (another processor, a system that forbids making code) the interpreter serves.
 *
 * The JIT of PCRE2 10.42 is wrong under PCRE2_MATCH_INVALID_UTF: \D, \S and \W miss every character
 * beyond ASCII, and "$" is found behind bytes that are no UTF-8. So it gets a pattern without that
 * option and valid lines only. */
static void try_jit(struct pattern *pattern, const char *source)
{
    AUTO(free_code) pcre2_code *fast = compile(source, 0, NULL);
    size_t size = 0, jit_size = 0; /* jit_size stays 0 for a pattern that begins with (*NO_JIT) */
    if (!fast || pcre2_pattern_info(fast, PCRE2_INFO_SIZE, &size) != 0 || size > CODE_JIT_MAX ||
        pcre2_jit_compile(fast, PCRE2_JIT_COMPLETE) != 0)
        return;
    pcre2_pattern_info(fast, PCRE2_INFO_JITSIZE, &jit_size);
    pattern->stack = jit_size ? pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL) : NULL;
    if (!pattern->stack)
        return;
    pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
    pattern->fast = steal_ptr(fast);
}

struct pattern *pattern_new(const char *source, struct err *err)
{
    pcre2_code *code = compile(source, PCRE2_MATCH_INVALID_UTF, err);
    if (!code)
        return NULL;
    struct pattern *pattern = mem_alloc(sizeof *pattern);
    pattern->code = code;
    pattern->data = pcre2_match_data_create_from_pattern(code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->data || !pattern->context) {
        pattern_free(pattern);
        err_set(err, "no memory for a pattern");
        return NULL;
    }
    pcre2_set_depth_limit(pattern->context, DEPTH_MAX);
    pcre2_set_heap_limit(pattern->context, HEAP_MAX_KIB);
    pattern->credit_ns = PATTERN_BUDGET_NS;
    try_jit(pattern, source);
    return pattern;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_jit_stack_free(pattern->stack);
    pcre2_match_context_free(pattern->context);
    pcre2_match_data_free(pattern->data);
    pcre2_code_free(pattern->code);
    pcre2_code_free(pattern->fast);
    free(pattern);
}

/* The match limit for a line of this length; 0: not even a look. */
static uint32_t steps_for(const struct pattern *pattern, size_t length)
{
    bool is_short = length <= PATTERN_LINE_SHORT;
    if (pattern->credit_ns < 0)
        return is_short ? STEPS_HELD : 0;
    if (is_short)
        return STEPS_FULL;
    size_t steps = 4 * length + STEPS_LONG_SCANNED / length;
    return steps < STEPS_FULL ? (uint32_t)steps : STEPS_FULL;
}

static void first_group(const struct pattern *pattern, struct pattern_match *match)
{
    const PCRE2_SIZE *places = pcre2_get_ovector_pointer(pattern->data);
    size_t count = pcre2_get_ovector_count(pattern->data), chosen = 0;
    for (size_t i = 1; i < count && chosen == 0; i++)
        if (places[2 * i] != PCRE2_UNSET)
            chosen = i;
    match->grouped = chosen > 0;
    match->start = places[2 * chosen];
    match->end = places[2 * chosen + 1];
    if (match->start > match->end) /* \K in an assertion, which older versions of PCRE2 allow */
        match->start = match->end;
}

static int match_line(struct pattern *pattern, const char *line, size_t length)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)line;
    if (pattern->fast && utf8_is_valid(line, length))
        return pcre2_jit_match(pattern->fast, subject, length, 0, 0, pattern->data,
                               pattern->context);
    return pcre2_match(pattern->code, subject, length, 0, PCRE2_NO_JIT, pattern->data,
                       pattern->context);
}

struct pattern_match pattern_find(struct pattern *pattern, const char *line, size_t length)
{
    struct pattern_match match = {0};
    uint32_t steps = steps_for(pattern, length);
    if (steps == 0) {
        match.limited = true;
        return match;
    }
    if (steps != pattern->steps) {
        pcre2_set_match_limit(pattern->context, steps);
        pattern->steps = steps;
    }
    int result = match_line(pattern, line ? line : "", length);
    match.matched = result >= 0;
    match.limited = result < 0 && result != PCRE2_ERROR_NOMATCH;
    if (match.matched)
        first_group(pattern, &match);
    return match;
}

void pattern_account(struct pattern *pattern, size_t bytes, int64_t cpu_ns)
{
    /* A cheap pattern does not save up for a bad hour later: the credit never exceeds what it began
     * with. */
    int64_t earned = (int64_t)bytes * PATTERN_BUDGET_NS_PER_BYTE + PATTERN_BUDGET_NS_PER_CALL;
    int64_t credit = pattern->credit_ns + earned - cpu_ns;
    pattern->credit_ns = credit < PATTERN_BUDGET_NS ? credit : PATTERN_BUDGET_NS;
}

bool pattern_check(const char *source, struct err *err)
{
    AUTO(free_code) pcre2_code *code = compile(source, PCRE2_MATCH_INVALID_UTF, err);
    return code != NULL;
}
