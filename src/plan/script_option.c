/* What a help text says of one option: what its value is, and what it is by default. */
#include "plan/script_help.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_BYTES = 200, CHOICES_MAX = 200, CHOICE_BYTES = 200 };

/* Ordered by what people call them: float and int where a help says neither type nor default. */
static const struct script_hint hints[] = {
    {"lr", SCRIPT_FLOAT, true, 1e-4, 0.1},
    {"learning_rate", SCRIPT_FLOAT, true, 1e-4, 0.1},
    {"base_lr", SCRIPT_FLOAT, true, 1e-4, 0.1},
    {"max_lr", SCRIPT_FLOAT, true, 1e-4, 0.1},
    {"weight_decay", SCRIPT_FLOAT, true, 1e-6, 1e-2},
    {"wd", SCRIPT_FLOAT, true, 1e-6, 1e-2},
    {"dropout", SCRIPT_FLOAT, false, 0, 0.5},
    {"dropout_rate", SCRIPT_FLOAT, false, 0, 0.5},
    {"momentum", SCRIPT_FLOAT, false, 0.5, 0.99},
    {"label_smoothing", SCRIPT_FLOAT, false, 0, 0.2},
    {"gamma", SCRIPT_FLOAT, false, 0, 0},
    {"alpha", SCRIPT_FLOAT, false, 0, 0},
    {"beta", SCRIPT_FLOAT, false, 0, 0},
    {"beta1", SCRIPT_FLOAT, false, 0, 0},
    {"beta2", SCRIPT_FLOAT, false, 0, 0},
    {"eps", SCRIPT_FLOAT, false, 0, 0},
    {"epsilon", SCRIPT_FLOAT, false, 0, 0},
    {"temperature", SCRIPT_FLOAT, false, 0, 0},
    {"epochs", SCRIPT_INT, false, 1, 20},
    {"num_epochs", SCRIPT_INT, false, 1, 20},
    {"n_epochs", SCRIPT_INT, false, 1, 20},
    {"max_epochs", SCRIPT_INT, false, 1, 20},
    {"batch_size", SCRIPT_INT, true, 16, 256},
    {"batchsize", SCRIPT_INT, true, 16, 256},
    {"train_batch_size", SCRIPT_INT, true, 16, 256},
    {"bs", SCRIPT_INT, true, 16, 256},
    {"hidden", SCRIPT_INT, true, 16, 512},
    {"hidden_size", SCRIPT_INT, true, 16, 512},
    {"hidden_dim", SCRIPT_INT, true, 16, 512},
    {"layers", SCRIPT_INT, false, 1, 8},
    {"num_layers", SCRIPT_INT, false, 1, 8},
    {"n_layers", SCRIPT_INT, false, 1, 8},
    {"steps", SCRIPT_INT, false, 0, 0},
    {"max_steps", SCRIPT_INT, false, 0, 0},
    {"workers", SCRIPT_INT, false, 0, 0},
    {"num_workers", SCRIPT_INT, false, 0, 0},
    {"seed", SCRIPT_INT, false, 0, 9999},
    {"random_seed", SCRIPT_INT, false, 0, 9999},
    {"manual_seed", SCRIPT_INT, false, 0, 9999},
};

const struct script_hint *script_hint(const char *name)
{
    EACH_OF (hint, hints)
        if (strcasecmp(hint->name, name) == 0)
            return hint;
    return NULL;
}

static void split_choices(struct script_option *option, const char *at, size_t length, char between)
{
    while (length > 0 && option->choices.count < CHOICES_MAX) {
        const char *end = memchr(at, between, length);
        size_t size = end ? (size_t)(end - at) : length;
        const char *from = at, *to = at + size;
        while (from < to && (*from == ' ' || *from == '\'' || *from == '"'))
            from++;
        while (to > from && (to[-1] == ' ' || to[-1] == '\'' || to[-1] == '"'))
            to--;
        if (to > from && to - from < CHOICE_BYTES) {
            AUTO_FREE char *choice = mem_strndup(from, (size_t)(to - from));
            strv_add_once(&option->choices, choice);
        }
        if (!end)
            break;
        at = end + 1;
        length -= size + 1;
    }
    option->type = option->choices.count ? SCRIPT_CHOICE : SCRIPT_UNKNOWN;
}

static bool is_any_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(word, *words) == 0)
            return true;
    return false;
}

static enum script_type type_of_word(const char *word)
{
    static const char *const ints[] = {"INT", "INTEGER", NULL};
    static const char *const floats[] = {"FLOAT", "NUMBER", "DOUBLE", NULL};
    static const char *const texts[] = {"TEXT", "STR",      "STRING",   "PATH",
                                        "FILE", "FILENAME", "DIR",      "DIRECTORY",
                                        "URL",  "UUID",     "DATETIME", NULL};
    return is_any_of(word, ints)     ? SCRIPT_INT
           : is_any_of(word, floats) ? SCRIPT_FLOAT
           : is_any_of(word, texts)  ? SCRIPT_TEXT
                                     : SCRIPT_UNKNOWN;
}

/* "X [X ...]", "X Y", "{a,b} {a,b}", but not "INTEGER RANGE", "INTEGER [0<=x]". */
static bool has_several(const char *metavar)
{
    const char *end = strchr("{<", *metavar) ? metavar + strcspn(metavar, "}>") : metavar;
    const char *blank = strchr(end, ' ');
    return strstr(metavar, "...") || (blank && blank[1] != '[' && strncmp(blank, " RANGE", 6) != 0);
}

static void read_metavar(struct script_option *option, const char *metavar)
{
    size_t length = strlen(metavar);
    if (length == 0) {
        option->type = option->many ? SCRIPT_UNKNOWN : SCRIPT_SWITCH;
        return;
    }
    option->many = has_several(metavar);
    char last = metavar[length - 1];
    const char *bar = strchr(metavar, '|');
    if (*metavar == '{' && last == '}')
        split_choices(option, metavar + 1, length - 2, ',');
    else if (bar && ((*metavar == '[' && last == ']') || (*metavar == '<' && last == '>')))
        split_choices(option, metavar + 1, length - 2, '|');
    else {
        size_t skip = strspn(metavar, "[<");
        AUTO_FREE char *word = mem_strndup(metavar + skip, strcspn(metavar + skip, " ]>:,"));
        option->type = type_of_word(word);
    }
}

/* The value after "default:", "default=" or "defaults to", up to the end of its bracket, without
 * quotes. */
static char *find_default_value(const char *help, const char **from, const char **to)
{
    for (const char *at = help; (at = strcasestr(at, "default"));) {
        const char *open = at;
        while (open > help && open[-1] == ' ')
            open--;
        char bracket = open > help ? open[-1] : '\0';
        const char *value = at + strlen("default"), *sign = strpbrk(value, ":=");
        value += strncasecmp(value, "s to", 4) == 0 ? 4 : 0;
        value += strncasecmp(value, " is", 3) == 0 ? 3 : 0;
        bool worded = value > at + strlen("default");
        value += strspn(value, ":= ");
        bool named = value > at + strlen("default");
        bool within = bracket == '(' || bracket == '[' || bracket == ';';
        const char *end = value;
        int depth = 0;
        for (; *end && (depth > 0 || !within || !strchr(")];", *end)) && (within || *end != ' ');
             end++) {
            depth += *end == '(' || *end == '[' || *end == '{';
            depth -= depth > 0 && (*end == ')' || *end == ']' || *end == '}');
        }
        /* Without brackets only where nothing else can be meant: "default: 0.1", not "the default
         * optimizer". */
        if (named && end > value &&
            (within ? *end != '\0' : worded || value[-1] != ' ' || (sign && sign < value))) {
            *from = within && bracket != ';' ? open - 1 : at;
            *to = end + (within && *end != ';' && bracket != ';');
            while (end > value &&
                   (end[-1] == ' ' ||
                    (!within && (end[-1] == '.' || end[-1] == ',' || end[-1] == ')'))))
                end--;
            bool quoted =
                end - value >= 2 && (*value == '\'' || *value == '"') && end[-1] == *value;
            return mem_strndup(value + quoted, (size_t)(end - value) - 2 * quoted);
        }
        at += strlen("default");
    }
    return NULL;
}

static bool is_integer_text(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 19 && text[digits] == '\0';
}

static bool is_either_word(const char *text, const char *a, const char *b)
{
    return text && (strcasecmp(text, a) == 0 || strcasecmp(text, b) == 0);
}

static void settle_type(struct script_option *option)
{
    const struct script_hint *hint = script_hint(option->name);
    double number;
    if (option->type == SCRIPT_SWITCH && option->initial) {
        /* "--no-amp" and "no-amp" in click's "[default: no-amp]". */
        bool off =
            is_either_word(option->initial, "false", "0") ||
            (option->off && strcmp(option->initial, option->off + strspn(option->off, "-")) == 0);
        free(option->initial);
        option->initial = mem_strdup(off ? "False" : "True");
    }
    if (is_either_word(option->initial, "None", "null") || (option->initial && !*option->initial)) {
        free(option->initial);
        option->initial = NULL;
    }
    if (option->type != SCRIPT_UNKNOWN)
        return;
    if (hint)
        option->type = hint->type;
    else if (option->initial && is_integer_text(option->initial))
        option->type = SCRIPT_INT;
    else if (option->initial && number_parse(option->initial, &number))
        option->type = SCRIPT_FLOAT;
    else if (option->initial)
        option->type = SCRIPT_TEXT;
}

/* absl says the type in words. */
static void read_absl_type(struct script_option *option, const char *help)
{
    const char *range = strstr(help, "integer");
    if (strstr(help, "a comma separated list") || strstr(help, "a whitespace separated list") ||
        strstr(help, "repeat this option"))
        option->type = SCRIPT_TEXT;
    else if (range && range > help &&
             (strstr(help, "(an integer") || strstr(help, "(a non-negative integer") ||
              strstr(help, "(a positive integer")))
        option->type = SCRIPT_INT;
    else if (strstr(help, "(a number") || strstr(help, "(a non-negative number") ||
             strstr(help, "(a positive number"))
        option->type = SCRIPT_FLOAT;
}

char *script_param_name(const char *flag)
{
    const char *from = flag + strspn(flag, "-");
    char *name = mem_printf("%s%s", from, strcmp(from, "all") == 0 ? "_" : "");
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return name;
}

/* The help without the default and "[required]". */
static char *help_without_default(const char *help, const char *from, const char *to)
{
    AUTO_FREE char *words =
        from ? mem_printf("%.*s%s", (int)(from - help), help, to) : mem_strdup(help);
    char *required = strstr(words, "[required]");
    if (required)
        *required = '\0';
    size_t end = utf8_cut(words, strlen(words), SHOWN_BYTES);
    while (end > 0 && words[end - 1] == ' ')
        end--;
    return mem_strndup(words, end);
}

void script_option_describe(struct script_option *option, const char *metavar, const char *help)
{
    const char *from = NULL, *to = NULL;
    read_metavar(option, metavar);
    option->initial = find_default_value(help, &from, &to);
    option->needed = option->needed || strstr(help, "[required]") || strstr(help, "; required]");
    option->help = help_without_default(help, from, to);
    if (option->type == SCRIPT_UNKNOWN)
        read_absl_type(option, help);
    settle_type(option);
}
