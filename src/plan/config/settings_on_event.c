#include "plan/config/settings_on_event.h"
#include "base/json_place.h"
#include "plan/config/on_event.h"

#include "base/mem.h"
#include "plan/config/field.h"

#include <string.h>
#include <strings.h>

#define READ_IT "let the program read it from a file of mode 0600 (docs/howto/notify.md)"

const char *on_event_name(enum on_event_kind kind)
{
    static const char *const names[] = {[ON_EVENT_END] = "end",
                                        [ON_EVENT_FIRST_FAILURE] = "first_failure",
                                        [ON_EVENT_CONTAMINATED] = "contaminated",
                                        [ON_EVENT_OOM_PREDICTED] = "oom_predicted",
                                        [ON_EVENT_STUCK] = "stuck",
                                        [ON_EVENT_TEST] = "test"};
    return names[kind];
}

static const char *const secret_names[] = {"token",         "password", "passwd", "secret",
                                           "api_key",       "api-key",  "apikey", "bearer",
                                           "authorization", NULL};

/* A shell, or the program itself, gets it from elsewhere: "$(cat FILE)", "@FILE". */
static bool is_reference(const char *value)
{
    return !*value || strchr("$@`<", *value);
}

/* "token=abc" or "Authorization: Bearer abc"; not "token=$(cat FILE)" or "--token-file=FILE". */
static bool has_named_secret(const char *word)
{
    for (size_t i = 0; secret_names[i]; i++)
        for (const char *at = word; (at = strcasestr(at, secret_names[i]));) {
            at += strlen(secret_names[i]);
            bool bearer = strcmp(secret_names[i], "bearer") == 0 && *at == ' ';
            const char *value = at + strspn(at, "=: \"'");
            bool scheme = strncasecmp(value, "bearer ", 7) == 0; /* the next name finds its value */
            if ((*at == '=' || *at == ':' || bearer) && !scheme && !is_reference(value))
                return true;
        }
    return false;
}

/* "--token": the next argument is its value. */
static bool names_secret(const char *option)
{
    size_t length = strlen(option);
    for (size_t i = 0; *option == '-' && secret_names[i]; i++) {
        size_t name = strlen(secret_names[i]);
        if (length > name && strcasecmp(option + length - name, secret_names[i]) == 0)
            return true;
    }
    return false;
}

static bool takes_user(const char *option)
{
    return strcmp(option, "-u") == 0 || strcmp(option, "--user") == 0;
}

/* Hosts where whoever knows the URL may post. */
static bool is_secret_host(const char *host, size_t length)
{
    static const char *const hosts[] = {"hooks.slack.com", "discord.com", "discordapp.com"};
    EACH_OF (item, hosts)
        if (strlen(*item) == length && strncasecmp(*item, host, length) == 0)
            return true;
    return false;
}

/* Why a URL in the argument may be a secret; NULL: none is. */
static const char *secret_url(const char *word)
{
    for (const char *at = word; (at = strstr(at, "://"));) {
        at += strlen("://");
        size_t host = strcspn(at, "/?# \"'"), whole = strcspn(at, " \"'");
        if (memchr(at, '@', host))
            return "the URL holds a user name or a password";
        if (memchr(at, '?', whole))
            return "the URL holds a query, which may be a secret";
        if (is_secret_host(at, host))
            return "whoever knows this URL can post there, so it is a secret";
    }
    return NULL;
}

/* before: the argument before it. */
static const char *find_secret(const char *word, const char *before)
{
    if (has_named_secret(word) || (names_secret(before) && !is_reference(word)) ||
        (takes_user(before) && strchr(word, ':')))
        return "an argument may not hold a secret";
    return secret_url(word);
}

static void read_on_event_command(const struct source *source, const char *path,
                                  const json_t *object, struct strv *argv)
{
    const struct field row = {.key = "on_event", .kind = FIELD_LIST};
    const json_t *list = json_get(object, row.key);
    AUTO_FREE char *place = json_path_key(path, row.key);
    if (!list || !field_read(source, place, list, &row, argv))
        return;
    if (argv->count == 0 || !*argv->items[0])
        field_refuse(source, place, row.key, fields_find(&settings_tare_table, row.key)->expected,
                     list);
    for (size_t i = 0; i < argv->count; i++) {
        const char *reason = find_secret(argv->items[i], i ? argv->items[i - 1] : "");
        AUTO_FREE char *item = json_path_index(place, i);
        if (reason)
            problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, item,
                                "'on_event': %s: %s", reason, READ_IT);
    }
}

void settings_check_on_event(const struct source *source, const json_t *tare)
{
    AUTO_STRV struct strv argv = {0};
    read_on_event_command(source, "$.tare", tare, &argv);
}

/* The user's configuration has this key and no other. */
static void check_configuration(const struct source *source, const json_t *root)
{
    static const struct field rows[] = {{.key = "on_event"}};
    static const struct field_table table = FIELD_TABLE("", rows);
    if (json_is_object(root))
        fields_check_keys(source, "$", root, &table, UNKNOWN_ARE_ERRORS, NULL);
    else
        field_refuse(source, "$", NULL, "an object (the configuration)", root);
}

bool on_event_read(const struct json_doc *doc, enum on_event_file file, struct strv *argv,
                   struct err *err)
{
    AUTO(problems_fini) struct problems problems = {0};
    const struct source source = {doc, &problems, true};
    if (file == ON_EVENT_SETTINGS) {
        read_on_event_command(&source, "$.tare", json_object_get(doc->root, "tare"), argv);
    } else {
        check_configuration(&source, doc->root);
        read_on_event_command(&source, "$", doc->root, argv);
    }
    EACH (item, problems.items, problems.count)
        if (item->severity == SEVERITY_ERROR) {
            AUTO_FREE char *line = problem_format(item);
            return err_set(err, "%s", line);
        }
    return true;
}
