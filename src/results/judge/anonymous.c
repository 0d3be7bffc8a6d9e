#include "results/judge/anonymous.h"

#include "base/cleanup.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* COMM_MAX: TASK_COMM_LEN of the kernel, less its NUL. Further names than IDENTITIES_MAX share the
 * number 0. */
enum { COMM_MAX = 15, IDENTITIES_MAX = 10000, MACHINE_MAX_BYTES = 16 << 20 };

enum identity { USER, PROCESS, PID, HOST, HOME, ID, IDENTITIES };
static const char *const pseudonyms[IDENTITIES] = {
    [USER] = "user ", [PROCESS] = "process ", [PID] = "",
    [HOST] = "host ", [HOME] = "/home/user ", [ID] = "id "};

struct name {
    enum identity identity;
    size_t number;
    bool is_word; /* replaced wherever it is a word of its own */
    char *text;
};

struct anonymous {
    struct name *names;
    size_t count, counts[IDENTITIES];
};

/* Users and hosts that say nothing about anybody, and what would match too much. */
static bool is_word(enum identity identity, const char *name, size_t length)
{
    static const char *const common[] = {"root", "localhost"};
    if (identity == PROCESS || identity == PID || length < 2 ||
        strspn(name, "0123456789") >= length)
        return false;
    EACH_OF (word, common)
        if (strlen(*word) == length && strncmp(*word, name, length) == 0)
            return false;
    return true;
}

static size_t number_of(struct anonymous *anonymous, enum identity identity, const char *name,
                        size_t length)
{
    EACH (known, anonymous->names, anonymous->count)
        if (known->identity == identity && strlen(known->text) == length &&
            memcmp(known->text, name, length) == 0)
            return known->number;
    if (anonymous->count >= IDENTITIES_MAX)
        return 0;
    struct name added = {.identity = identity,
                         .is_word = is_word(identity, name, length),
                         .text = mem_strndup(name, length)};
    /* A home is its user's. */
    const char *user = memrchr(name, '/', length);
    added.number = identity == HOME && user
                       ? number_of(anonymous, USER, user + 1, (size_t)(name + length - user) - 1)
                       : ++anonymous->counts[identity];
    MEM_ADD(anonymous->names, anonymous->count) = added;
    return added.number;
}

static bool is_letter(char byte)
{
    return isalnum((unsigned char)byte) || (byte & 0x80);
}

static bool ends_with(const char *text, size_t at, const char *words)
{
    size_t length = strlen(words);
    return at >= length && strncasecmp(text + at - length, words, length) == 0;
}

static bool follows_any(const char *text, size_t at, const char *const *words)
{
    for (; *words; words++)
        if (ends_with(text, at, *words))
            return true;
    return false;
}

/* Each of these gives the length of what is named at text[at]; 0: nothing of its kind. */

/* "pid 12", "process 12": a number of a process. */
static size_t pid_at(const char *text, size_t at)
{
    static const char *const before[] = {"pid ", "process ", NULL};
    size_t digits = strspn(text + at, "0123456789");
    return digits && !is_letter(text[at + digits]) && follows_any(text, at, before) ? digits : 0;
}

static size_t user_at(const char *text, size_t at)
{
    static const char *const before[] = {"of user ", ", user ", "to user ", "(user ", NULL};
    return follows_any(text, at, before) ? strcspn(text + at, " ,;:)'\"") : 0;
}

/* "pid 12 (NAME)", up to the parenthesis after which a sentence goes on. */
static size_t process_in_parentheses(const char *text, size_t at)
{
    size_t digit = at >= 2 ? at - 2 : 0;
    while (digit > 0 && isdigit((unsigned char)text[digit - 1]))
        digit--;
    if (!ends_with(text, at, " (") || digit + 2 == at || !pid_at(text, digit))
        return 0;
    for (const char *end = text + at; (end = strchr(end, ')')); end++)
        if (!end[1] || strchr(",;:.", end[1]) || strncmp(end + 1, " of user ", 9) == 0)
            return (size_t)(end - text) - at;
    return strlen(text + at);
}

/* "NAME (pid 12", at the beginning of a clause or of the word; a name is short and may hold
 * blanks. */
static size_t process_before_pid(const char *text, size_t at)
{
    static const char *const before[] = {": ", ", ", "; ", "'s ", NULL};
    const char *end = strstr(text + at, " (pid ");
    size_t length = end ? (size_t)(end - text) - at : 0;
    bool clause = at == 0 || follows_any(text, at, before);
    bool word = at > 0 && text[at - 1] == ' ' && memchr(text + at, ' ', length) == NULL;
    return end && isdigit((unsigned char)end[6]) && length <= COMM_MAX && (clause || word) ? length
                                                                                           : 0;
}

/* The command line of "pid 12 of user ada, 'COMMAND', ...", which may hold anything: up to the last
 * quote before what this program offers to type. */
static size_t command_at(const char *text, size_t at)
{
    size_t comma = at >= 3 ? at - 3 : 0, user = comma;
    while (user > 0 && text[user - 1] != ' ')
        user--;
    if (!ends_with(text, at, ", '") || !ends_with(text, user, "of user "))
        return 0;
    const char *end = strstr(text + at, "; end "), *quote;
    size_t length = end ? (size_t)(end - text) - at : strlen(text + at);
    quote = memrchr(text + at, '\'', length);
    return quote ? (size_t)(quote - text) - at : length;
}

static size_t home_at(const char *text, size_t at)
{
    static const char *const parents[] = {"/home/", "/Users/"};
    if (text[at] != '/' || (at > 0 && (is_letter(text[at - 1]) || strchr("._-", text[at - 1]))))
        return 0;
    EACH_OF (parent, parents) {
        size_t length = strlen(*parent), name = 0;
        if (strncmp(text + at, *parent, length) == 0)
            name = strcspn(text + at + length, "/ \t\r\n'\"`,;:)<>&|=");
        if (name > 0)
            return length + name;
    }
    return strncmp(text + at, "/root", 5) == 0 && !is_letter(text[at + 5]) ? 5 : 0;
}

static size_t bare_uuid_at(const char *text, size_t at)
{
    static const unsigned char groups[] = {8, 4, 4, 4, 12};
    size_t from = at;
    for (size_t i = 0; i < sizeof groups; i++) {
        if ((i && text[at++] != '-') || strspn(text + at, "0123456789abcdefABCDEF") != groups[i])
            return 0;
        at += groups[i];
    }
    return is_letter(text[at]) ? 0 : at - from;
}

/* A UUID, also after words with dashes, as vendors of GPUs put them before it. */
static size_t uuid_at(const char *text, size_t at)
{
    size_t prefix = 0, length;
    if (at > 0 && is_letter(text[at - 1]))
        return 0;
    while (!(length = bare_uuid_at(text, at + prefix))) {
        const char *dash = text + at + prefix;
        while (isalpha((unsigned char)*dash))
            dash++;
        if (*dash != '-' || dash == text + at + prefix)
            return 0;
        prefix = (size_t)(dash - text) - at + 1;
    }
    return prefix + length;
}

static size_t word_at(const struct anonymous *anonymous, const char *text, size_t at,
                      enum identity *identity)
{
    size_t longest = 0;
    if (at > 0 && is_letter(text[at - 1]))
        return 0;
    EACH (name, anonymous->names, anonymous->count) {
        size_t length = strlen(name->text);
        if (!name->is_word || length <= longest || strncmp(text + at, name->text, length) != 0 ||
            is_letter(text[at + length]))
            continue;
        longest = length;
        *identity = name->identity;
    }
    return longest;
}

static size_t name_at(const struct anonymous *anonymous, const char *text, size_t at,
                      enum identity *identity)
{
    static const struct {
        size_t (*find)(const char *text, size_t at);
        enum identity identity;
    } finds[] = {{pid_at, PID},
                 {user_at, USER},
                 {process_in_parentheses, PROCESS},
                 {command_at, PROCESS},
                 {process_before_pid, PROCESS},
                 {home_at, HOME},
                 {uuid_at, ID}};
    EACH_OF (row, finds) {
        size_t length = row->find(text, at);
        *identity = row->identity;
        if (length)
            return length;
    }
    return word_at(anonymous, text, at, identity);
}

static void add_pseudonym(struct text *out, enum identity identity, size_t number)
{
    bool said = identity == USER && ends_with(text_get(out), out->length, " user ");
    text_addf(out, "%s%zu", said ? "" : pseudonyms[identity], number);
}

void anonymous_text(struct anonymous *anonymous, const char *text, struct text *out)
{
    for (size_t at = 0; text[at];) {
        enum identity identity;
        size_t length = name_at(anonymous, text, at, &identity);
        if (length)
            add_pseudonym(out, identity, number_of(anonymous, identity, text + at, length));
        else
            text_add_char(out, text[at]);
        at += length ? length : 1;
    }
}

/* Keys whose value is one name; of a command only beside a pid. */
static const struct {
    const char *key;
    enum identity identity;
} keyed[] = {{"host", HOST}, {"hostname", HOST}, {"node", HOST},  {"user", USER},
             {"uid", USER},  {"pid", PID},       {"ppid", PID},   {"pids", PID},
             {"uuid", ID},   {"serial", ID},     {"boot_id", ID}, {"command", PROCESS}};

/* Names that this program or its user chose: they stay. */
static const char *const kept[] = {
    "experiment_id", "id",      "repository", "repo",     "model",  "mode",
    "kind",          "weight",  "verdict",    "outcome",  "check",  "layout",
    "language",      "program", "version",    "quantity", "metric", "hyperparameters",
    "name",          "state",   "kinds",      "readings", "goals",  "verdicts",
    "timestamp",     "meaning", "remedy"};

static bool is_kept(const char *key)
{
    EACH_OF (name, kept)
        if (key && strcmp(*name, key) == 0)
            return true;
    return key && strncmp(key, "hyperparam", 10) == 0;
}

static const enum identity *keyed_as(const char *key, bool has_pid)
{
    EACH_OF (row, keyed)
        if (key && strcmp(row->key, key) == 0 && (row->identity != PROCESS || has_pid))
            return &row->identity;
    return NULL;
}

static void replace_value(struct anonymous *anonymous, const char *key, bool has_pid,
                          const char *value, struct text *out)
{
    const enum identity *identity = keyed_as(key, has_pid);
    if (is_kept(key))
        text_add(out, value);
    else if (identity && *value)
        add_pseudonym(out, *identity, number_of(anonymous, *identity, value, strlen(value)));
    else
        anonymous_text(anonymous, value, out);
}

static void walk(struct anonymous *anonymous, const char *key, bool has_pid, json_t *json)
{
    AUTO_TEXT struct text text = {0};
    const enum identity *identity = keyed_as(key, has_pid);
    const char *name;
    size_t i;
    json_t *value;
    if (is_kept(key))
        return;
    if (json_is_string(json)) {
        replace_value(anonymous, key, has_pid, json_string_value(json), &text);
        json_string_set(json, text_get(&text));
    } else if (json_is_integer(json) && identity) {
        text_addf(&text, "%lld", (long long)json_integer_value(json));
        json_integer_set(json,
                         (json_int_t)number_of(anonymous, *identity, text_get(&text), text.length));
    } else if (json_is_object(json)) {
        bool holds_pid = json_object_get(json, "pid") != NULL;
        json_object_foreach(json, name, value) walk(anonymous, name, holds_pid, value);
    } else if (json_is_array(json)) {
        json_array_foreach(json, i, value) walk(anonymous, key, has_pid, value);
    }
}

/* Twice: a name may be used before the place that shows it to be one. */
void anonymous_json(struct anonymous *anonymous, json_t *json)
{
    json_t *copy = json_deep_copy(json);
    walk(anonymous, NULL, false, copy);
    json_decref(copy);
    walk(anonymous, NULL, false, json);
}

static void add_row(struct anonymous *anonymous, const struct strv *header, const struct strv *row,
                    struct text *out)
{
    for (size_t i = 0; i < row->count; i++) {
        AUTO_TEXT struct text cell = {0};
        const char *key = anonymous && i < header->count ? header->items[i] : NULL;
        if (anonymous)
            replace_value(anonymous, key, false, row->items[i], &cell);
        text_add(out, i ? "," : "");
        csv_add_cell(out, anonymous ? text_get(&cell) : row->items[i]);
    }
    text_add_char(out, '\n');
}

void anonymous_csv(struct anonymous *anonymous, struct text *csv)
{
    AUTO_STRV struct strv header = {0}, row = {0};
    struct csv_reader reader;
    struct text out = {0};
    csv_start(&reader, text_get(csv), csv->length);
    if (csv_next(&reader, &header, NULL) > 0)
        add_row(NULL, NULL, &header, &out);
    while (csv_next(&reader, &row, NULL) > 0)
        add_row(anonymous, &header, &row, &out);
    text_fini(csv);
    *csv = out;
}

static void learn_text(struct anonymous *anonymous, const char *text)
{
    AUTO_TEXT struct text ignored = {0};
    anonymous_text(anonymous, text ? text : "", &ignored);
}

static void learn(struct anonymous *anonymous, enum identity identity, const char *name)
{
    if (name && *name)
        number_of(anonymous, identity, name, strlen(name));
}

static void learn_machine(struct anonymous *anonymous, const char *folder)
{
    AUTO_TEXT struct text text = {0};
    json_error_t error;
    AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || !fs_read_at(dir, "machine.json", MACHINE_MAX_BYTES, &text, NULL))
        return;
    json_t *json = json_load_bounded(text_get(&text), text.length, 0, &error);
    if (json)
        walk(anonymous, NULL, false, json);
    json_decref(json);
}

static void learn_experiment(struct anonymous *anonymous,
                             const struct dataset_experiment *experiment)
{
    learn(anonymous, HOST, experiment->facts[FACT_NODE]);
    EACH (board, experiment->boards, experiment->board_count)
        learn(anonymous, ID, board->uuid);
    EACH (evidence, experiment->evidence, experiment->evidence_count)
        learn_text(anonymous, evidence->text);
    learn_text(anonymous, experiment->error);
}

static void learn_caller(struct anonymous *anonymous)
{
    char host[256] = "";
    const char *home = getenv("HOME");
    const struct passwd *user = getpwuid(geteuid());
    gethostname(host, sizeof host - 1);
    learn(anonymous, HOST, host);
    learn(anonymous, USER, user ? user->pw_name : NULL);
    if (home && *home == '/' && home[1] && home[strlen(home) - 1] != '/')
        learn(anonymous, HOME, home);
}

struct anonymous *anonymous_new(const struct dataset *dataset)
{
    struct anonymous *anonymous = mem_alloc(sizeof *anonymous);
    *anonymous = (struct anonymous){0};
    EACH (folder, dataset->folders, dataset->folder_count)
        learn_machine(anonymous, folder->path);
    EACH (experiment, dataset->items, dataset->count)
        learn_experiment(anonymous, experiment);
    learn_caller(anonymous);
    return anonymous;
}

void anonymous_free(struct anonymous *anonymous)
{
    if (!anonymous)
        return;
    EACH (name, anonymous->names, anonymous->count)
        free(name->text);
    free(anonymous->names);
    free(anonymous);
}
