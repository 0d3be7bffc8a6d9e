/* The arguments of a script: which of their values the plan sets. All other words stay as they
 * are. */
#include "plan/starter.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/problem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_BYTES = 200 };

void starter_args_fini(struct starter_args *args)
{
    EACH (value, args->values, args->count) {
        free(value->name);
        strv_fini(&value->words);
    }
    free(args->values);
    strv_fini(&args->words);
    strv_fini(&args->options);
    strv_fini(&args->warnings);
    *args = (struct starter_args){0};
}

/* ---- The values of one word. */

static bool is_integer_word(const char *word)
{
    word += *word == '-';
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 17 && word[digits] == '\0';
}

/* "1..3": all integers between both. False: an error; *is: whether the word is a range. */
static bool expand_range(const char *named, const char *word, struct strv *words, bool *is,
                         struct err *err)
{
    const char *dots = strstr(word, "..");
    double number;
    *is = false;
    if (!dots)
        return true;
    AUTO_FREE char *low = mem_strndup(word, (size_t)(dots - word));
    const char *high = dots + 2;
    if (!number_parse(low, &number) || !number_parse(high, &number))
        return true;
    *is = true;
    if (!is_integer_word(low) || !is_integer_word(high))
        return err_set(
            err,
            "%s: %s: a range is made of integers, as 1..3; write other values with commas between",
            named, word);
    long long from = strtoll(low, NULL, 10), to = strtoll(high, NULL, 10);
    if (from > to)
        return err_set(err, "%s: the range %s begins above its end", named, word);
    if (to - from >= STARTER_VALUES_MAX)
        return err_set(err, "%s: %s has more than %d values", named, word, STARTER_VALUES_MAX);
    for (; from <= to; from++)
        strv_add_owned(words, mem_printf("%lld", from));
    return true;
}

enum { NESTING_MAX = 32 };

/* The number of bytes from the bracket or quote at *at to its end, both included; 1 if it is
 * neither, is not closed, or holds more than NESTING_MAX brackets at once. Reads each byte once. A
 * quote counts only at the start of a value: elsewhere it is an apostrophe. starts: *at starts a
 * value. */
static size_t enclosed_length(const char *at, bool starts)
{
    static const char opening[] = "([{", closing[] = ")]}";
    char open[NESTING_MAX];
    size_t depth = 0;
    for (size_t i = 0; at[i]; i++) {
        bool value_starts = i == 0 ? starts : strchr("([{,: ", at[i - 1]) != NULL;
        const char *bracket = strchr(opening, at[i]);
        if (bracket && depth == NESTING_MAX)
            return 1;
        if (bracket) {
            open[depth++] = closing[bracket - opening];
        } else if (value_starts && (at[i] == '"' || at[i] == '\'')) {
            const char *end = strchr(at + i + 1, at[i]);
            i = end ? (size_t)(end - at) : i;
        } else {
            size_t level = depth;
            while (level > 0 && open[level - 1] != at[i])
                level--;
            depth = level > 0 ? level - 1 : depth;
        }
        if (depth == 0)
            return i + 1;
    }
    return 1;
}

/* What has one value: the whole of it, with "\," as ",". *axis: there is a comma between values, or
 * a range. */
static bool split_values(const char *named, const char *given, struct strv *words, bool *axis,
                         struct err *err)
{
    AUTO_TEXT struct text word = {0};
    *axis = false;
    for (const char *at = given;;) {
        if (*at == '\\' && at[1] == ',') {
            text_add_char(&word, ',');
            at += 2;
            continue;
        }
        if (*at && *at != ',') {
            size_t length = enclosed_length(at, word.length == 0);
            text_add_bytes(&word, at, length);
            at += length;
            continue;
        }
        bool is_range = false;
        *axis = *axis || *at == ',';
        if (word.length == 0 && *axis)
            return err_set(
                err,
                "%s: '%s' has an empty value between its commas; \\, is a comma within a value",
                named, given);
        if (!expand_range(named, text_get(&word), words, &is_range, err))
            return false;
        *axis = *axis || is_range;
        if (!is_range)
            strv_add(words, text_get(&word));
        if (words->count > STARTER_VALUES_MAX)
            return err_set(err, "%s has more than %d values", named, STARTER_VALUES_MAX);
        if (!*at++)
            return true;
        text_clear(&word);
    }
}

/* The one type of which all words are as tare writes it, so that a number in the settings is the
 * same word again. */
static enum script_type type_of(const struct strv *words)
{
    size_t ints = 0, floats = 0;
    EACH (item, words->items, words->count) {
        AUTO(value_fini) struct value value = value_parse(*item);
        AUTO_FREE char *again = value_format(&value);
        bool same = strcmp(again, *item) == 0;
        ints += same && value.kind == VALUE_INT;
        floats += same && value.kind == VALUE_FLOAT;
    }
    return ints == words->count ? SCRIPT_INT : floats == words->count ? SCRIPT_FLOAT : SCRIPT_TEXT;
}

static bool is_truth(const char *word)
{
    return strcasecmp(word, "true") == 0 || strcasecmp(word, "false") == 0;
}

static bool are_truths(const struct strv *words)
{
    EACH (item, words->items, words->count)
        if (!is_truth(*item))
            return false;
    return true;
}

/* ---- The words. */

struct arguments {
    char *const *items;
    size_t count;
    const struct script_help *help;
    struct starter_args *out;
    struct strv unlisted; /* options that the help lacks, each with a hint */
    struct err *err;
};

/* One value as it is given: "--lr" "0.1,0.2", "--lr=0.1,0.2", "model.lr=0.1,0.2". */
struct given {
    const char *named;  /* for messages: "--lr", "model.lr" */
    const char *key;    /* what the hyperparameter is called after */
    const char *prefix; /* what is before the value in its word: "--lr=", "model.lr=", "" */
    const char *value;
    const struct script_option *option;
    bool certain; /* it is a value of that option, and the only one */
};

static bool has_value_named(const struct starter_args *args, const char *name)
{
    EACH (value, args->values, args->count)
        if (strcmp(value->name, name) == 0)
            return true;
    return false;
}

/* Only characters that may be in "{name}", and neither a name with a meaning of its own nor one
 * that is there. Fresh. */
static char *make_name(const struct starter_args *args, const struct given *given)
{
    static const char *const reserved[] = {"dir", "id", "model"};
    AUTO_FREE char *named =
        given->option ? mem_strdup(given->option->name) : script_param_name(given->key);
    AUTO_FREE char *plain = mem_strndup(named, utf8_cut(named, strlen(named), KEY_BYTES / 3));
    for (char *c = plain; *c; c++)
        *c = isalnum((unsigned char)*c) || strchr("_.@/", *c) ? *c : '_';
    bool taken = !*plain;
    EACH_OF (item, reserved)
        taken = taken || strcmp(plain, *item) == 0;
    char *name = mem_printf("%s%s", plain, taken ? "_" : "");
    for (int number = 2; has_value_named(args, name); number++) {
        free(name);
        name = mem_printf("%s_%d", plain, number);
    }
    return name;
}

static bool occurs_once(const struct arguments *arguments, const struct given *given)
{
    size_t length = strlen(given->named), count = 0;
    EACH (item, arguments->items, arguments->count)
        count += strncmp(*item, given->named, length) == 0 &&
                 ((*item)[length] == '\0' || (*item)[length] == '=');
    return count == 1;
}

/* "1-3" is no range. */
static bool check_dash(struct arguments *arguments, const struct given *given, const char *word)
{
    size_t low = strspn(word, "0123456789"),
           high = word[low] == '-' ? strspn(word + low + 1, "0123456789") : 0;
    if (low == 0 || high == 0 || word[low + 1 + high] != '\0')
        return true;
    AUTO_FREE char *name =
        given->option ? mem_strdup(given->option->name) : script_param_name(given->key);
    const struct script_hint *hint = script_hint(name);
    bool is_int = given->option && given->option->type != SCRIPT_UNKNOWN
                      ? given->option->type == SCRIPT_INT
                      : hint && hint->type == SCRIPT_INT;
    AUTO_FREE char *range = mem_printf("%.*s..%s", (int)low, word, word + low + 1);
    if (is_int)
        return err_set(arguments->err, "%s takes an integer, and %s is none; did you mean %s?",
                       given->named, word, range);
    strv_add_owned(
        &arguments->out->warnings,
        mem_printf("%s: %s is passed as one value; a range is %s", given->named, word, range));
    return true;
}

static void warn_of_choices(struct arguments *arguments, const struct given *given,
                            const struct strv *words)
{
    const struct strv *choices =
        given->option && given->option->type == SCRIPT_CHOICE ? &given->option->choices : NULL;
    for (size_t i = 0; choices && i < words->count; i++) {
        const char *word = words->items[i];
        if (strv_has(choices, word))
            continue;
        AUTO_FREE char *nearest =
            problem_nearest(word, (const char *const *)choices->items, choices->count);
        AUTO_FREE char *all = strv_join(choices, ", ");
        strv_add_owned(&arguments->out->warnings,
                       mem_printf("%s: the script's help lists %s, not '%s'%s", given->named, all,
                                  word, nearest));
    }
}

/* The help shows a default with a comma. */
static void warn_of_commas(struct arguments *arguments, const struct given *given)
{
    const char *initial =
        given->option && given->option->type == SCRIPT_TEXT ? given->option->initial : NULL;
    if (initial && strchr(initial, ','))
        strv_add_owned(
            &arguments->out->warnings,
            mem_printf(
                "%s is an axis, though its default (%s) has a comma: \\, is a comma within a value",
                given->named, initial));
}

static bool is_known_single(const struct arguments *arguments, const struct given *given)
{
    AUTO_FREE char *name = script_param_name(given->key);
    bool single = given->option ? given->option->type != SCRIPT_SWITCH && !given->option->many
                                : script_hint(name) != NULL;
    return *given->value && (given->certain || single) && occurs_once(arguments, given);
}

/* An axis, or a value that the run should record, gets its own place; other words stay as they
 * are. */
static bool add_argument_value(struct arguments *arguments, const struct given *given)
{
    struct starter_args *out = arguments->out;
    struct starter_value value = {.option = given->option};
    bool axis = false;
    bool good = split_values(given->named, given->value, &value.words, &axis, arguments->err);
    for (size_t i = 0; good && i < value.words.count; i++)
        good = check_dash(arguments, given, value.words.items[i]);
    if (!good || !(axis || is_known_single(arguments, given))) {
        strv_add_owned(&out->words,
                       mem_printf("%s%s", given->prefix, good ? value.words.items[0] : ""));
        strv_fini(&value.words);
        return good;
    }
    bool is_switch =
        axis && given->option && given->option->type == SCRIPT_SWITCH && are_truths(&value.words);
    warn_of_choices(arguments, given, &value.words);
    if (axis)
        warn_of_commas(arguments, given);
    value.name = make_name(out, given);
    value.type = is_switch ? SCRIPT_SWITCH : type_of(&value.words);
    strv_add_owned(&out->words, mem_printf("%s{%s}", is_switch ? "" : given->prefix, value.name));
    out->values = mem_room(out->values, out->count, sizeof *out->values);
    out->values[out->count++] = value;
    return true;
}

/* The length of a key as Hydra and OmegaConf have it: "lr", "model.lr", "+optimizer@x.lr",
 * "db/mysql.port"; 0: the word is not KEY=VALUE. */
static size_t key_length(const char *word)
{
    size_t length = strspn(word, "+~");
    if (length > 2 || !(isalpha((unsigned char)word[length]) || word[length] == '_'))
        return 0;
    while (isalnum((unsigned char)word[length]) || (word[length] && strchr("_./@-", word[length])))
        length++;
    return word[length] == '=' && length < KEY_BYTES ? length : 0;
}

/* "a=1\,b=2,a=3": each value between the commas is KEY=VALUE itself, so the key is not a prefix of
 * all. */
static bool has_keys_in_all_values(const char *word)
{
    AUTO_STRV struct strv values = {0};
    struct err ignored = {0};
    bool axis = false;
    if (!split_values("", word, &values, &axis, &ignored) || values.count < 2)
        return false;
    EACH (item, values.items, values.count)
        if (!key_length(*item))
            return false;
    return true;
}

static bool add_argument_assignment(struct arguments *arguments, const char *word, size_t length)
{
    AUTO_FREE char *named = mem_strndup(word, length);
    AUTO_FREE char *prefix = mem_strndup(word, length + 1);
    bool whole = has_keys_in_all_values(word);
    const struct given given = {.named = named,
                                .key = named + strspn(named, "+~"),
                                .prefix = whole ? "" : prefix,
                                .value = whole ? word : word + length + 1,
                                .certain = true};
    return add_argument_value(arguments, &given);
}

/* argparse accepts the beginning of an option's name, and "-b64". */
static bool is_short_for_one(const struct script_help *help, const char *flag)
{
    size_t matches = 0;
    EACH (option, help->options, help->count) {
        if (strncmp(flag, "--", 2) == 0)
            matches += strncmp(option->flag, flag, strlen(flag)) == 0;
        for (size_t j = 0; flag[1] != '-' && j < option->spellings.count; j++)
            matches += strlen(option->spellings.items[j]) == 2 &&
                       strncmp(option->spellings.items[j], flag, 2) == 0;
    }
    return matches == 1;
}

static void note_option(struct arguments *arguments, const char *flag,
                        const struct script_option *option)
{
    const struct script_help *help = arguments->help;
    if (option) {
        strv_add_once(&arguments->out->options, option->flag);
        return;
    }
    if (!help || is_short_for_one(help, flag))
        return;
    AUTO_FREE const char **names = mem_array(2 * help->count + 1, sizeof *names);
    size_t count = 0;
    EACH (item, help->options, help->count) {
        names[count++] = item->flag;
        if (item->off)
            names[count++] = item->off;
    }
    AUTO_FREE char *nearest = problem_nearest(flag, names, count);
    AUTO_FREE char *text =
        mem_printf("%s%s%s%s", flag, *nearest ? " (" : "",
                   *nearest ? nearest + strspn(nearest, "; ") : "", *nearest ? ")" : "");
    strv_add_once(&arguments->unlisted, text);
}

/* A word that is a value though it begins with a dash: -0.1, -3..-1. */
static bool may_be_value(const char *word)
{
    return word &&
           (word[0] != '-' || word[1] == '\0' || word[1] == '.' || isdigit((unsigned char)word[1]));
}

/* Adds the option at items[*at] and its value. */
static bool add_argument_option(struct arguments *arguments, size_t *at)
{
    struct starter_args *out = arguments->out;
    const char *word = arguments->items[*at], *equals = strchr(word, '=');
    const char *next = *at + 1 < arguments->count ? arguments->items[*at + 1] : NULL;
    AUTO_FREE char *flag = mem_strndup(word, equals ? (size_t)(equals - word) : strlen(word));
    AUTO_FREE char *prefix = mem_printf("%s=", flag);
    bool off = false;
    const struct script_option *option =
        arguments->help ? script_help_find(arguments->help, flag, &off) : NULL;
    struct given given = {.named = flag, .key = flag, .prefix = "", .option = off ? NULL : option};
    note_option(arguments, flag, option);
    if (equals) {
        given.prefix = prefix;
        given.value = equals + 1;
        given.certain = true;
        return add_argument_value(arguments, &given);
    }
    bool is_switch = given.option && given.option->type == SCRIPT_SWITCH;
    bool is_assignment = next && key_length(next) && (is_switch || !has_keys_in_all_values(next));
    if (!may_be_value(next) || is_assignment) {
        strv_add(&out->words, word);
        return true;
    }
    ++*at;
    given.value = next;
    size_t place = out->words.count, count = out->count;
    strv_add(&out->words, word);
    bool good = add_argument_value(arguments, &given);
    /* its own word has the flag */
    if (out->count > count && out->values[count].type == SCRIPT_SWITCH) {
        free(out->words.items[place]);
        out->words.items[place] = out->words.items[place + 1];
        out->words.items[--out->words.count] = NULL;
    }
    return good;
}

static void warn_of_unlisted(struct arguments *arguments)
{
    AUTO_FREE char *all = strv_join(&arguments->unlisted, ", ");
    if (arguments->unlisted.count)
        strv_add_owned(&arguments->out->warnings,
                       mem_printf("the script's help does not list %s: passed as given", all));
    strv_fini(&arguments->unlisted);
}

bool starter_args_parse(char *const *args, size_t count, const struct script_help *help,
                        struct starter_args *out, struct err *err)
{
    struct arguments arguments = {
        .items = args, .count = count, .help = help, .out = out, .err = err};
    bool good = true, only_operands = false;
    *out = (struct starter_args){0};
    for (size_t i = 0; i < count; i++)
        if (!utf8_is_valid(args[i], strlen(args[i])))
            return err_set(err,
                           "argument %zu of the script is not UTF-8, which settings are written in",
                           i + 1);
    for (size_t i = 0; good && i < count; i++) {
        size_t length = key_length(args[i]);
        if (length) {
            good = add_argument_assignment(&arguments, args[i], length);
        } else if (only_operands || may_be_value(args[i])) {
            strv_add(&out->words, args[i]);
        } else if (strcmp(args[i], "--") == 0) {
            only_operands = true;
            strv_add(&out->words, args[i]);
        } else {
            good = add_argument_option(&arguments, &i);
        }
    }
    warn_of_unlisted(&arguments);
    return good;
}
