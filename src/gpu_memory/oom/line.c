#include "base/mem.h"
#include "gpu_memory/oom/oom.h"

#include "gpu_memory/oom/oom_private.h"

#include <string.h>

/* An earlier phrase of two that begin at one place wins. */
const struct oom_phrase oom_phrases[] = {
    {"CUDA out of memory", OOM_PYTORCH},
    {"HIP out of memory", OOM_PYTORCH},
    {"XPU out of memory", OOM_PYTORCH},
    {"out of memory. Tried to allocate", OOM_PYTORCH},
    {"would exceed allowed memory. (out of memory)", OOM_PYTORCH}, /* cudaMallocAsync's back end */
    {"OOM when allocating tensor", OOM_TENSORFLOW},
    {"RESOURCE_EXHAUSTED: Out of memory", OOM_XLA},
    {"ran out of memory trying to allocate", OOM_XLA},
    {"Out of memory while trying to allocate", OOM_XLA},
    {"Out of memory allocating", OOM_CUPY},
    {"CUDA error: out of memory", OOM_CUDA},
    {"HIP error: out of memory", OOM_CUDA},
    {"cuda runtime error (2)", OOM_CUDA}, /* PyTorch below 1.0: 2 is cudaErrorMemoryAllocation */
    {"CUDA_ERROR_OUT_OF_MEMORY", OOM_CUDA},
    {"cudaErrorMemoryAllocation", OOM_CUDA},
    {"hipErrorOutOfMemory", OOM_CUDA},
    {"CUBLAS_STATUS_ALLOC_FAILED", OOM_CUDA},
    {"CUDNN_STATUS_ALLOC_FAILED", OOM_CUDA},
    {"CUSOLVER_STATUS_ALLOC_FAILED", OOM_CUDA},
    {"CUSPARSE_STATUS_ALLOC_FAILED", OOM_CUDA},
    {NULL, OOM_NONE},
};

const char *oom_framework_name(enum oom_framework framework)
{
    static const char *const names[OOM_FRAMEWORKS] = {
        [OOM_NONE] = "none", [OOM_PYTORCH] = "PyTorch", [OOM_TENSORFLOW] = "TensorFlow",
        [OOM_XLA] = "XLA",   [OOM_CUPY] = "CuPy",       [OOM_CUDA] = "CUDA",
    };
    return names[framework];
}

static const char *find(const char *bytes, size_t length, const char *text)
{
    return memmem(bytes, length, text, strlen(text));
}

bool phrase_may_hold(const char *bytes, size_t length, const char *const *words, size_t count)
{
    EACH (word, words, count)
        if (find(bytes, length, *word))
            return true;
    return false;
}

size_t phrase_find(const char *bytes, size_t length, size_t from, const char *phrase,
                   size_t phrase_length)
{
    const char *at;
    for (; from < length && (at = memmem(bytes + from, length - from, phrase, phrase_length));
         from++) {
        from = (size_t)(at - bytes);
        const char *behind = at + phrase_length;
        bool quoted = from > 0 && behind < bytes + length && (at[-1] == '"' || at[-1] == '\'') &&
                      at[-1] == *behind;
        if (!quoted)
            return from;
    }
    return SIZE_MAX;
}

bool phrase_is_advice(const char *bytes, size_t length, size_t begin, size_t end)
{
    static const char *const advice[] = {"Tip:",   "tip:",  "Hint:", "hint:",   "if you",   "ifyou",
                                         "If you", "Ifyou", "avoid", "prevent", "encounter"};
    static const char *const requested[] = {"allocat"};
    return phrase_may_hold(bytes, begin, advice, sizeof advice / sizeof *advice) &&
           !phrase_may_hold(bytes + end, length - end, requested, 1);
}

static bool is_harmless(const char *line, size_t length)
{
    return find(line, length, "caller indicates that this is not a failure") ||
           find(line, length, "device:CPU:") || find(line, length, "by allocator cpu");
}

enum oom_framework oom_line_framework(const char *line, size_t length)
{
    /* Most lines hold none of these, of which every phrase holds one. */
    static const char *const words[] = {"emory", "_MEMORY", "ALLOC_FAILED", "OOM when",
                                        "runtime error (2)"};
    enum oom_framework found = OOM_NONE;
    size_t first = SIZE_MAX, end = 0;
    if (!phrase_may_hold(line, length, words, sizeof words / sizeof *words))
        return OOM_NONE;
    for (const struct oom_phrase *phrase = oom_phrases; phrase->text; phrase++) {
        size_t at = phrase_find(line, length, 0, phrase->text, strlen(phrase->text));
        if (at >= first)
            continue;
        first = at;
        end = at + strlen(phrase->text);
        found = phrase->framework;
    }
    if (found != OOM_NONE &&
        (is_harmless(line, length) || phrase_is_advice(line, length, first, end)))
        return OOM_NONE;
    return found;
}

static size_t span(const char *line, size_t length, size_t from, const char *allowed)
{
    size_t i = from;
    while (i < length && line[i] && strchr(allowed, line[i]))
        i++;
    return i - from;
}

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static size_t literal(const char *line, size_t length, size_t from, const char *text)
{
    size_t count = strlen(text);
    return from + count <= length && memcmp(line + from, text, count) == 0 ? count : 0;
}

/* Each gives the length of all, and where the name begins and how long it is. */
static size_t bracketed(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t letters = span(line, length, 1, LETTERS),
           digits = span(line, length, 1 + letters, DIGITS);
    size_t end = 1 + letters + digits;
    *begin = 1;
    *count = end - 1;
    if (line[0] != '[' || digits == 0)
        return 0;
    if (letters > 0)
        return literal(line, length, end, "]:") ? end + 2 : 0;
    size_t more = literal(line, length, end, ",") ? span(line, length, end + 1, DIGITS) : 0;
    end += 1 + more;
    *count = end - 1;
    size_t which = literal(line, length, end, "]<stderr>:");
    which = which ? which : literal(line, length, end, "]<stdout>:");
    return more > 0 && which ? end + which : 0;
}

static size_t numbered(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t digits = span(line, length, 0, DIGITS);
    *begin = 0;
    *count = digits;
    return digits > 0 && digits < 6 && literal(line, length, digits, ": ") ? digits + 2 : 0;
}

static size_t of_ray(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t letters = span(line, length, 1, LETTERS DIGITS "."), at = 1 + letters;
    if (line[0] != '(' || letters == 0 || !literal(line, length, at, " pid="))
        return 0;
    size_t digits = span(line, length, at + 5, DIGITS);
    *begin = 1;
    *count = letters + 5 + digits;
    at += 5 + digits;
    if (literal(line, length, at, ", ip="))
        at += 5 + span(line, length, at + 5, DIGITS ".:abcdef");
    return digits > 0 && literal(line, length, at, ")") ? at + 1 : 0;
}

size_t source_read(const char *line, size_t length, char *out, size_t size)
{
    static size_t (*const forms[])(const char *, size_t, size_t *, size_t *) = {bracketed, of_ray,
                                                                                numbered};
    size_t begin = 0, count = 0, all = 0;
    out[0] = '\0';
    for (size_t i = 0; length > 0 && all == 0 && i < sizeof forms / sizeof *forms; i++)
        all = forms[i](line, length, &begin, &count);
    if (all == 0)
        return 0;
    count = count < size ? count : size - 1;
    memcpy(out, line + begin, count);
    out[count] = '\0';
    return all;
}
