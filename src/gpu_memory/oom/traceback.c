#include "gpu_memory/oom/traceback.h"
#include "gpu_memory/oom/line.h"

#include "base/ascii.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

/* An operation counts when it is among the last frames. */
enum { INNERMOST_FRAMES = 5 };

struct words {
    const char *text;
    size_t length;
};

/* NULL: not found. */
static const char *find_text(struct words words, const char *text)
{
    return words.text ? memmem(words.text, words.length, text, strlen(text)) : NULL;
}

static bool holds_text(struct words words, const char *text)
{
    return find_text(words, text) != NULL;
}

static struct words text_after(struct words words, const char *text)
{
    const char *at = find_text(words, text);
    if (!at)
        return (struct words){0};
    at += strlen(text);
    return (struct words){at, words.length - (size_t)(at - words.text)};
}

static struct words text_until(struct words words, const char *ends)
{
    size_t length = 0;
    while (length < words.length && words.text[length] && !strchr(ends, words.text[length]))
        length++;
    return (struct words){words.text, length};
}

/* Installed packages, the interpreter, compiled modules, entry points and generated code. */
static bool is_installed_file(struct words file)
{
    static const char *const parts[] = {
        "site-packages", "dist-packages", "/lib/python",    "\\Lib\\",     "\\lib\\",
        "<frozen",       ".pyx",          "torchinductor_", "/vllm/vllm/", "/.pyenv/"};
    static const char *const begins[] = {"torch/", "lib/python", "cupy/", "cudf/"};
    bool is_source = file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0;
    EACH_OF (part, parts)
        if (holds_text(file, *part))
            return true;
    EACH_OF (begin, begins)
        if (file.length > strlen(*begin) && memcmp(file.text, *begin, strlen(*begin)) == 0)
            return true;
    return !is_source && holds_text(file, "/bin/");
}

/* "validate", "val_one_epoch", "evaluate": a word of the name; "test" alone. Lightning itself calls
 * "validation_step" without gradients. */
static bool is_evaluation(struct words name)
{
    static const char *const words[] = {"val",  "valid",    "validate",   "validation",
                                        "eval", "evaluate", "evaluation", "validating"};
    if (holds_text(name, "validation_step"))
        return false;
    if (name.length == 4 && memcmp(name.text, "test", 4) == 0)
        return true;
    for (size_t from = 0; from < name.length;) {
        struct words word = text_until((struct words){name.text + from, name.length - from}, "_.");
        EACH_OF (item, words)
            if (word.length == strlen(*item) && strncasecmp(word.text, *item, word.length) == 0)
                return true;
        from += word.length + 1;
    }
    return false;
}

static void copy_words(struct words words, char *out, size_t size)
{
    size_t length = words.length < size ? words.length : size - 1;
    for (size_t i = 0; i < length; i++)
        out[i] = words.text[i] < ' ' && words.text[i] >= 0 ? ' ' : words.text[i];
    /* No character is cut. */
    while (length > 0 && length < words.length && (words.text[length] & 0xc0) == 0x80)
        length--;
    out[length] = '\0';
}

static void add_traceback_frame(struct traceback *traceback, struct words file, int64_t line,
                                struct words function)
{
    traceback->frames++;
    traceback->is_own = !is_installed_file(file);
    if (!traceback->is_own || traceback->is_kept)
        return;
    if (is_evaluation(function))
        traceback->whole |= OOM_HINT_EVALUATION;
    traceback->place.line = line;
    copy_words(file, traceback->place.file, sizeof traceback->place.file);
    copy_words(function, traceback->place.function, sizeof traceback->place.function);
}

static int64_t read_line_number(struct words words)
{
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < words.length && digits < 9 && ascii_is_digit(words.text[digits]); digits++)
        number = number * 10 + (words.text[digits] - '0');
    return digits > 0 ? number : -1;
}

/* `File "train.py", line 12, in main` */
static bool read_python_frame(struct traceback *traceback, struct words line)
{
    struct words rest = text_after(line, "File \""), file = text_until(rest, "\"");
    struct words number = text_after((struct words){file.text, rest.length}, "\", line ");
    if (!rest.text || !number.text || number.text != file.text + file.length + 8)
        return false;
    struct words function = text_after(number, ", in ");
    add_traceback_frame(traceback, file, read_line_number(number), text_until(function, " \t("));
    return true;
}

/* `File ~/model.py:210, in Model.forward(self, x)` and `<ipython-input-2-30> in <module>`; lines
 * of cells count within the cell. */
static bool read_ipython_frame(struct traceback *traceback, struct words line)
{
    struct words file = {0}, function = {0};
    int64_t number = -1;
    if (line.length > 5 && memcmp(line.text, "File ", 5) == 0) {
        file = text_until((struct words){line.text + 5, line.length - 5}, ":,");
        struct words rest = text_after((struct words){file.text, line.length - 5}, ".py:");
        number = rest.text == file.text + file.length + 1 ? read_line_number(rest) : -1;
        function = text_until(text_after(rest, ", in "), "(");
    } else if (line.length > 15 && memcmp(line.text, "<ipython-input-", 15) == 0) {
        file = text_until(line, " ");
        function = text_until(text_after(line, "> in "), "( \r");
    }
    if (file.length == 0 || function.length == 0)
        return false;
    add_traceback_frame(traceback, file, number, function);
    return true;
}

/* Which operation a frame or its source line shows. */
static const struct {
    const char *text;
    unsigned hint;
    bool is_innermost; /* only among the last frames */
} operations[] = {
    {"cross_entropy", OOM_HINT_LOGITS, true},
    {"log_softmax", OOM_HINT_LOGITS, true},
    {"CrossEntropy", OOM_HINT_LOGITS, true},
    {"lm_head(", OOM_HINT_LOGITS, true},
    {"logits.float()", OOM_HINT_LOGITS, true},
    {"shift_logits", OOM_HINT_LOGITS, true},
    {"_attention", OOM_HINT_ATTENTION, true},
    {"attn = ", OOM_HINT_ATTENTION, true},
    {"attn.softmax(", OOM_HINT_ATTENTION, true},
    {"torch.baddbmm(", OOM_HINT_ATTENTION, true},
    {"sim = einsum(", OOM_HINT_ATTENTION, true},
    {"q @ k", OOM_HINT_ATTENTION, true},
    {"key.transpose(", OOM_HINT_ATTENTION, true},
    {"key_layer.transpose(", OOM_HINT_ATTENTION, true},
    {"attn_weights", OOM_HINT_ATTENTION, true},
    {"attn_scores", OOM_HINT_ATTENTION, true},
    {"attention_scores", OOM_HINT_ATTENTION, true},
    {"attention_probs", OOM_HINT_ATTENTION, true},
    {"torch/optim/", OOM_HINT_OPTIMIZER, true},
    {"exp_avg", OOM_HINT_OPTIMIZER, true},
    {"optimizer.step(", OOM_HINT_OPTIMIZER, true},
    {"in _apply", OOM_HINT_WEIGHTS, true},
    {"in convert", OOM_HINT_WEIGHTS, true},
    {".convert(t)", OOM_HINT_WEIGHTS, true},
    {"module.to(device", OOM_HINT_WEIGHTS, true},
    {"_move_module_to_device", OOM_HINT_WEIGHTS, true},
    {"in from_pretrained", OOM_HINT_WEIGHTS, true},
    {"zero/partition", OOM_HINT_WEIGHTS, true},
    {"torch.load(", OOM_HINT_LOADING, true},
    {"in _cuda_deserialize", OOM_HINT_LOADING, true},
    {"paddle.load(", OOM_HINT_LOADING, true},
    {"nested_concat", OOM_HINT_RESULTS, true},
    {"in _expand_like", OOM_HINT_RESULTS, true},
    {"/vllm/", OOM_HINT_VLLM, false},
    {"sglang/", OOM_HINT_SGLANG, false},
    {"/transformers/", OOM_HINT_LLM, false},
    {"/trl/", OOM_HINT_LLM, false},
    {"/peft/", OOM_HINT_LLM, false},
    {"/deepspeed/", OOM_HINT_LLM, false},
    {"/llamafactory/", OOM_HINT_LLM, false},
    {"/axolotl/", OOM_HINT_LLM, false},
    {"omfy", OOM_HINT_INFERENCE, false},
    {"diffusers", OOM_HINT_INFERENCE, false},
    {"webui", OOM_HINT_INFERENCE, false},
};

static void note_operations(struct traceback *traceback, struct words line)
{
    EACH_OF (row, operations) {
        if (!holds_text(line, row->text))
            continue;
        if (!row->is_innermost) {
            traceback->whole |= row->hint;
            continue;
        }
        if (traceback->frames - traceback->seen >= INNERMOST_FRAMES)
            traceback->innermost = 0;
        traceback->innermost |= row->hint;
        traceback->seen = traceback->frames;
    }
}

/* `total += loss`, `losses.append(loss)`, `meter.update(loss, n)`: each keeps the step's graph. */
static bool keeps_loss(struct words code)
{
    static const char *const forms[] = {"+= loss",       "+=loss",        ".append(loss)",
                                        ".update(loss,", ".update(loss)", "retain_graph=True)"};
    EACH_OF (form, forms) {
        struct words rest = text_after(code, *form);
        if (rest.text && (rest.length == 0 || rest.text[0] != '.'))
            return true;
    }
    static const char sum[] = " + loss";
    return code.length >= strlen(sum) &&
           memcmp(code.text + code.length - strlen(sum), sum, strlen(sum)) == 0;
}

static void begin_traceback(struct traceback *traceback)
{
    bool is_kept = traceback->is_chained && traceback->place.file[0];
    struct oom_place place = traceback->place;
    *traceback = (struct traceback){.is_kept = is_kept};
    if (is_kept)
        traceback->place = place;
}

void traceback_read(struct traceback *traceback, uint64_t line, const char *raw, size_t length)
{
    static const char *const signs[] = {"raceback (", "File ", "exception", "<ipython-input-"};
    struct words words = {raw, length};
    bool is_frame = phrase_may_hold(raw, length, signs, sizeof signs / sizeof *signs);
    bool follows = traceback->line > 0 && line - traceback->line <= INNERMOST_FRAMES;
    if ((!is_frame && !follows) || holds_text(words, "C++ Traceback"))
        return;
    if (holds_text(words, "raceback (most recent call last)")) {
        /* of a worker, whose exception was raised again */
        traceback->is_chained = traceback->is_chained || holds_text(words, "Original T");
        begin_traceback(traceback);
        traceback->line = line;
    } else if (holds_text(words, "During handling of the above exception") ||
               holds_text(words, "was the direct cause of the following exception")) {
        traceback->is_chained = true;
    } else if (read_python_frame(traceback, words) || read_ipython_frame(traceback, words)) {
        traceback->line = line;
        note_operations(traceback, words);
    } else if (follows) {
        note_operations(traceback, words);
        if (traceback->is_own && line == traceback->line + 1 && keeps_loss(words))
            traceback->whole |= OOM_HINT_KEPT_LOSS;
    }
}

unsigned traceback_hints(const struct traceback *traceback)
{
    bool is_near = traceback->frames - traceback->seen < INNERMOST_FRAMES;
    return traceback->whole | (is_near ? traceback->innermost : 0);
}
