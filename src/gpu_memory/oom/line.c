#include "gpu_memory/oom/line.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LINE_DIGITS_MAX = 9 };

const char *oom_framework_name(enum oom_framework framework)
{
    static const char *const names[OOM_FRAMEWORKS] = {
        [OOM_NONE] = "none",
        [OOM_PYTORCH] = "PyTorch",
        [OOM_TENSORFLOW] = "TensorFlow",
        [OOM_XLA] = "XLA",
        [OOM_CUPY] = "CuPy",
        [OOM_CUDA] = "CUDA",
        [OOM_MPS] = "PyTorch (MPS)",
        [OOM_VLLM] = "vLLM",
        [OOM_SGLANG] = "SGLang",
        [OOM_LLAMA_CPP] = "llama.cpp",
        [OOM_ONNX] = "ONNX Runtime",
        [OOM_TENSORRT] = "TensorRT",
        [OOM_PADDLE] = "PaddlePaddle",
        [OOM_MXNET] = "MXNet",
        [OOM_CAFFE] = "Caffe",
        [OOM_DARKNET] = "darknet",
        [OOM_NCCL] = "NCCL",
        [OOM_RAPIDS] = "RAPIDS",
        [OOM_NUMBA] = "numba",
        [OOM_TRITON] = "Triton",
        [OOM_SYSTEM] = "system",
        [OOM_SLURM] = "Slurm",
        [OOM_KUBERNETES] = "Kubernetes",
        [OOM_RAY] = "Ray",
        [OOM_PYTHON] = "Python",
        [OOM_MACHINE] = "virtual machine",
    };
    return names[framework];
}

static const char *find_text(const char *bytes, size_t length, const char *text)
{
    return memmem(bytes, length, text, strlen(text));
}

bool phrase_may_hold(const char *bytes, size_t length, const char *const *words, size_t count)
{
    EACH (word, words, count)
        if (find_text(bytes, length, *word))
            return true;
    return false;
}

static bool is_quotation_mark(char c)
{
    return c == '"' || c == '\'';
}

static bool text_ends_in(const char *bytes, size_t length, const char *end)
{
    size_t count = strlen(end);
    return length >= count && memcmp(bytes + length - count, end, count) == 0;
}

bool phrase_is_quoted(const char *bytes, size_t length, size_t begin, size_t end)
{
    static const char *const cut[] = {".Triedtoallocate", ". Tried to allocate"};
    static const char *const raised[] = {"Error(\"", "Error(f\"", "Error('", "Error(f'"};
    if (begin > 0 && bytes[begin - 1] == '_')
        return true; /* a part of a name */
    if (begin > 0 && end < length && is_quotation_mark(bytes[begin - 1]) &&
        bytes[begin - 1] == bytes[end])
        return true;
    /* No number follows "Tried to allocate". */
    if (end < length && is_quotation_mark(bytes[end]) && text_ends_in(bytes, end, "allocate"))
        return true;
    EACH_OF (item, cut) {
        size_t count = strlen(*item);
        if (end + count < length && memcmp(bytes + end, *item, count) == 0 &&
            is_quotation_mark(bytes[end + count]))
            return true;
    }
    EACH_OF (item, raised)
        if (text_ends_in(bytes, begin, *item) && find_text(bytes, begin, "raise"))
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
        if (!phrase_is_quoted(bytes, length, from, from + phrase_length))
            return from;
    }
    return SIZE_MAX;
}

bool phrase_is_advice(const char *bytes, size_t length, size_t begin, size_t end)
{
    static const char *const advice[] = {
        "Tip:",  "tip:",  "Hint:",   "hint:",     "if you",  "ifyou",         "If you",
        "Ifyou", "avoid", "prevent", "encounter", "against", "model reports", "modelreports"};
    static const char *const requested[] = {"allocat"};
    return phrase_may_hold(bytes, begin, advice, sizeof advice / sizeof *advice) &&
           !phrase_may_hold(bytes + end, length - end, requested, 1);
}

/* Words of sentences, few of which are in a framework's message. */
static size_t count_words(const char *raw, size_t length)
{
    static const char *const words[] = {"the",  "you",    "your", "may",  "might", "can", "could",
                                        "when", "should", "if",   "or",   "we",    "I",   "this",
                                        "that", "it",     "is",   "are",  "a",     "an",  "my",
                                        "how",  "get",    "got",  "with", "for"};
    size_t count = 0;
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && isalpha((unsigned char)raw[end]))
            end++;
        EACH_OF (word, words)
            count += end - i == strlen(*word) && strncasecmp(raw + i, *word, end - i) == 0;
        i = end + 1;
    }
    return count;
}

/* A comment or a statement. */
static bool is_source_code(const char *line, size_t length)
{
    static const char *const begins[] = {
        "# ",     "##",     "//",    "/*",     "* ",      "return ", "raise ", "assert",
        "print(", "printf", "echo ", "throw ", "#define", "export ", "def ",   "case "};
    EACH_OF (begin, begins)
        if (length >= strlen(*begin) && memcmp(line, *begin, strlen(*begin)) == 0)
            return true;
    return false;
}

enum { SENTENCE_WORDS = 3 };

bool phrase_is_prose(const char *raw, size_t length)
{
    static const char *const messages[] = {"llocat", "rror:", "ERROR", "xception:"};
    static const char *const kinds[] = {"memory error", "memory issue", "memory problem",
                                        "memory exception"};
    size_t begin = 0;
    while (begin < length && raw[begin] == ' ')
        begin++;
    while (length > begin && (raw[length - 1] == ' ' || raw[length - 1] == '\t'))
        length--;
    if (begin == length)
        return false;
    if (is_source_code(raw + begin, length - begin))
        return true;
    if (phrase_may_hold(raw, length, messages, 4))
        return false;
    bool is_table = raw[begin] == '|' && raw[length - 1] == '|' && length - begin > 1;
    bool is_statement = raw[length - 1] == ';' || raw[length - 1] == '{' || raw[length - 1] == '\\';
    return raw[begin] == '#' || is_table || is_statement ||
           phrase_may_hold(raw, length, kinds, 4) || count_words(raw, length) >= SENTENCE_WORDS;
}

static bool is_harmless(const char *line, size_t length)
{
    return find_text(line, length, "caller indicates that this is not a failure") ||
           find_text(line, length, "device:CPU:") || find_text(line, length, "by allocator cpu");
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
        if (phrase->kind != OOM_KIND_GPU || phrase->front ||
            phrase->flags & (OOM_PHRASE_LINE | OOM_PHRASE_END | OOM_PHRASE_CAUGHT))
            continue;
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

static size_t parse_ray_prefix(const char *line, size_t length, size_t *begin, size_t *count)
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
    static size_t (*const forms[])(const char *, size_t, size_t *,
                                   size_t *) = {bracketed, parse_ray_prefix, numbered};
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

/* "epoch 5", "Epoch [5/30]", "EPOCH: 5"; not "epochs 30", "--epoch 30" or "num_epoch=30". */
int64_t line_epoch(const char *raw, size_t length)
{
    static const char *const words[] = {"poch", "POCH"};
    int64_t named = -1;
    EACH_OF (word, words) {
        const char *found = memmem(raw, length, *word, 4);
        if (!found || found == raw || (found[-1] | 0x20) != 'e')
            continue;
        size_t before = (size_t)(found - raw) - 1, i = before + 5, digits = 0;
        int64_t epoch = 0;
        if (before > 0 &&
            (isalnum((unsigned char)raw[before - 1]) || strchr("_-(\"'", raw[before - 1])))
            continue;
        while (i < length && strchr(" :=#[(", raw[i]) && raw[i])
            i++;
        for (; i < length && isdigit((unsigned char)raw[i]) && digits < LINE_DIGITS_MAX;
             i++, digits++)
            epoch = epoch * 10 + raw[i] - '0';
        if (digits > 0)
            named = epoch;
    }
    return named;
}

/* "batch size 64", "batch_size=64", "the batch size to 64", "with batch 64"; 0: there is none. */
int64_t line_batch(const char *raw, size_t length)
{
    static const char *const between[] = {"size", "to", "of", "is", "now"};
    size_t i = 1, digits = 0;
    while (i + 4 < length && (memcmp(raw + i, "atch", 4) != 0 || (raw[i - 1] | 0x20) != 'b'))
        i++;
    if (i + 4 >= length)
        return 0;
    i += 4;
    bool sized = i >= 10 && memcmp(raw + i - 10, "with ", 5) == 0;
    for (bool more = true; more;) {
        more = false;
        while (i < length && raw[i] && strchr(" _-:=", raw[i]))
            i++;
        EACH_OF (word, between)
            if (i + strlen(*word) < length && memcmp(raw + i, *word, strlen(*word)) == 0) {
                sized = sized || word == between;
                i += strlen(*word);
                more = true;
            }
    }
    int64_t batch = 0;
    for (; i < length && isdigit((unsigned char)raw[i]) && digits < LINE_DIGITS_MAX; i++, digits++)
        batch = batch * 10 + raw[i] - '0';
    bool counts = i < length && raw[i] == '/'; /* batch 64/100 */
    return sized && !counts ? batch : 0;
}

/* The allocator's setting as "export", "env", os.environ or the program itself print it. After
 * "try setting" and the like, or in front of "to avoid", it is advice and shows nothing. */
enum oom_setting line_expandable(const char *raw, size_t length)
{
    static const char name[] = "expandable_segments";
    static const char *const advice[] = {"try",     "Try",  "set ", "Set ",
                                         "setting", "use ", "Use ", "onsider"};
    static const char *const avoid[] = {"to avoid"};
    const char *found = memmem(raw, length, name, strlen(name));
    size_t before = found ? (size_t)(found - raw) : 0;
    if (!found || phrase_may_hold(raw, before, advice, sizeof advice / sizeof *advice) ||
        phrase_may_hold(found, length - before, avoid, 1))
        return OOM_SETTING_UNKNOWN;
    AUTO_TEXT struct text value = {0};
    text_add_bytes(&value, found, length - before);
    return oom_expandable(text_get(&value));
}

/* llama.cpp prints the driver's error without a name, and its own lines around it. */
enum oom_framework line_program(const char *raw, size_t length)
{
    static const char *const ggml[] = {"ggml_", "llm_load_", "load_tensors:", "llama_model_load"};
    return phrase_may_hold(raw, length, ggml, sizeof ggml / sizeof *ggml) ? OOM_LLAMA_CPP
                                                                          : OOM_NONE;
}

/* Which frame of a traceback says where memory ran out: "in pin_memory" is that of PyTorch's
 * own function, ".pin_memory(" a line of the user's code. */
enum oom_origin line_origin(const char *raw, size_t length)
{
    static const char *const pinning[] = {"in pin_memory", "pin memory thread", "pin_memory.py",
                                          ".pin_memory("};
    static const char *const worker[] = {"in DataLoader worker process"};
    if (phrase_may_hold(raw, length, pinning, sizeof pinning / sizeof *pinning))
        return OOM_ORIGIN_PIN_MEMORY;
    return phrase_may_hold(raw, length, worker, 1) ? OOM_ORIGIN_WORKER : OOM_ORIGIN_UNKNOWN;
}
