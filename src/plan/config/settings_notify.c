#include "plan/config/notify.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "plan/config/field.h"
#include "plan/config/settings_entry.h"

#include <string.h>
#include <strings.h>

const char *const notify_types[] = {"command", "webhook", "ntfy", "slack", "mail", "otlp", NULL};
const char *const notify_events[] = {"end", "first_failure", "contaminated", "oom_predicted", "stuck", "test", NULL};

/* Of targets: all but the last. */
static const char *const target_types[] = {"command", "webhook", "ntfy", "slack", "mail", NULL};
static const char *const target_events[] = {"end", "first_failure", "contaminated", "oom_predicted", "stuck", NULL};

static const struct field target_rows[] = {
    {"type", FIELD_NAME, offsetof(struct notify_target, type), .names = target_types, .initial = "needed",
     .help = "command: a program gets JSON on its standard input; webhook: the same JSON is posted; ntfy: a topic of "
             "ntfy; slack: an incoming webhook of Slack, Mattermost or Discord (/slack); mail: by sendmail"},
    {"on", FIELD_OTHER,
     .schema = "{'type': 'array', 'minItems': 1, 'items': {'enum': ['end', 'first_failure', 'contaminated', "
               "'oom_predicted', 'stuck']}}",
     .expected = "a list of \"end\", \"first_failure\", \"contaminated\", \"oom_predicted\", \"stuck\"",
     .initial = "[\"end\"]",
     .help = "end: the run or a session of it ended; first_failure: an experiment failed; contaminated: something else "
             "took part in figures; oom_predicted: the GPU memory of a training grows so that it would run out; "
             "stuck: a training hung. Each is told once a session"},
    {"command", FIELD_LIST, offsetof(struct notify_target, command), .initial = "none",
     .help = "of type command: the program and its arguments; no shell reads them"},
    {"url", FIELD_TEXT, offsetof(struct notify_target, url), .initial = "none",
     .help = "where to post, without a secret in it"},
    {"url_file", FIELD_TEXT, offsetof(struct notify_target, url_file), .initial = "none",
     .help = "a file of mode 0600 with the URL, where that is a secret, as of Slack"},
    {"url_env", FIELD_TEXT, offsetof(struct notify_target, url_env), .initial = "none",
     .help = "the environment variable with the URL"},
    {"token_file", FIELD_TEXT, offsetof(struct notify_target, token_file), .initial = "none",
     .help = "a file of mode 0600 with a token, sent as Authorization: Bearer"},
    {"token_env", FIELD_TEXT, offsetof(struct notify_target, token_env), .initial = "none",
     .help = "the environment variable with the token"},
    {"ca_file", FIELD_TEXT, offsetof(struct notify_target, ca_file), .initial = "the system's",
     .help = "certificates of the authorities that are trusted, in PEM"},
    {"to", FIELD_TEXTS, offsetof(struct notify_target, to), .initial = "none", .help = "of type mail: the addresses"},
    {"sendmail", FIELD_TEXT, offsetof(struct notify_target, sendmail), .initial = "/usr/sbin/sendmail",
     .help = "of type mail: the program that takes the mail"},
    {"timeout", FIELD_DURATION, offsetof(struct notify_target, timeout_s), .initial = "30",
     .help = "the longest time of one try; there are 5, with pauses of 1, 4, 16 and 64 s between"},
};

static const struct field otlp_rows[] = {
    {"endpoint", FIELD_TEXT, offsetof(struct notify_target, url), .initial = "none",
     .help = "the collector, as http://localhost:4318; /v1/traces comes behind it"},
    {"headers_file", FIELD_TEXT, offsetof(struct notify_target, headers_file), .initial = "none",
     .help =
         "a file of mode 0600 with headers, name=value with commas between, as OTEL_EXPORTER_OTLP_HEADERS has them"},
    {"headers_env", FIELD_TEXT, offsetof(struct notify_target, headers_env), .initial = "none",
     .help = "the environment variable with the headers"},
    {"environment", FIELD_BOOL, offsetof(struct notify_target, environment), .initial = "false",
     .help = "endpoint and headers are those of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT, "
             "OTEL_EXPORTER_OTLP_HEADERS"},
    {"ca_file", FIELD_TEXT, offsetof(struct notify_target, ca_file), .initial = "the system's",
     .help = "certificates of the authorities that are trusted, in PEM"},
    {"timeout", FIELD_DURATION, offsetof(struct notify_target, timeout_s), .initial = "30",
     .help = "the longest time of one try"},
};

const struct field_table settings_notify_table = FIELD_TABLE("`tare.notify[]`", target_rows);
const struct field_table settings_otlp_table = FIELD_TABLE("`tare.otlp`", otlp_rows);

#define NO_SECRET "a secret may not be written here, as the settings are kept with the results: "

/* Keys that people look for, each an error: what is only ignored would be kept with the results. */
static const struct {
    const char *key, *text;
} secrets[] = {
    {"token", NO_SECRET "give token_file or token_env"},
    {"api_key", NO_SECRET "give token_file or token_env"},
    {"access_token", NO_SECRET "give token_file or token_env"},
    {"authorization", NO_SECRET "give token_file or token_env"},
    {"password", NO_SECRET "give token_file or token_env"},
    {"secret", NO_SECRET "give token_file or token_env"},
    {"headers", NO_SECRET "give token_file or token_env (of otlp: headers_file or headers_env)"},
};

/* Hosts whose webhooks are known by whoever knows the URL. */
static bool is_secret_host(const char *host, size_t length)
{
    static const char *const hosts[] = {"hooks.slack.com", "discord.com", "discordapp.com"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strlen(hosts[i]) == length && strncasecmp(hosts[i], host, length) == 0)
            return true;
    return false;
}

bool notify_check_url(const char *url, bool literal, const char **reason)
{
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    const char *host = url + scheme;
    size_t length = strcspn(host, "/?#");
    *reason = NULL;
    if (!scheme || length == 0)
        *reason = "expected a URL that begins with https:// or http://";
    for (const char *at = url; *at && !*reason; at++)
        if (*at <= ' ' || *at > '~')
            *reason = "a URL holds no blanks, controls or characters beyond ASCII (write those as %XX)";
    if (*reason || !literal)
        return !*reason;
    if (memchr(host, '@', length))
        *reason = "the URL holds a user name or a password";
    else if (strpbrk(host, "?#"))
        *reason = "the URL holds a query, which may be a secret";
    else if (is_secret_host(host, length))
        *reason = "whoever knows this URL can post there, so it is a secret";
    return !*reason;
}

static void refuse(const struct source *source, const char *path, const char *key, const char *text)
{
    AUTO_FREE char *place = json_path_key(path, key);
    problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place, "'%s': %s", key, text);
}

static void check_keys(const struct source *source, const char *path, const json_t *object,
                       const struct field_table *table)
{
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (json_object_get(object, secrets[i].key))
            refuse(source, path, secrets[i].key, secrets[i].text);
    fields_check_keys(source, path, object, table, UNKNOWN_ARE_ERRORS, NULL);
}

static void check_url(const struct source *source, const char *path, const char *key,
                      const struct notify_target *target)
{
    const char *reason;
    if (!target->url)
        return;
    if (target->type == NOTIFY_SLACK) {
        refuse(source, path, key,
               "an incoming webhook is a secret: write it into a file of mode 0600 and name that as url_file, "
               "or into an environment variable and name that as url_env");
    } else if (!notify_check_url(target->url, true, &reason)) {
        bool is_url = strncmp(target->url, "http", 4) == 0;
        const char *what = target->type == NOTIFY_OTLP
                               ? "give headers_file or headers_env for what a collector asks for"
                               : "write it into a file of mode 0600 and name that as url_file, or into an "
                                 "environment variable and name that as url_env";
        AUTO_FREE char *text = is_url ? mem_printf("%s: %s", reason, what) : mem_strdup(reason);
        refuse(source, path, key, text);
    }
}

static bool is_address(const char *address)
{
    return *address != '-' && strlen(address) < 255 && !strpbrk(address, " \t\r\n,;<>\"\\") &&
           utf8_is_printable(address, strlen(address));
}

static void check_texts(const struct source *source, const char *path, const struct notify_target *target)
{
    const struct {
        const char *key, *value;
    } paths[] = {{"url_file", target->url_file},
                 {"token_file", target->token_file},
                 {"headers_file", target->headers_file},
                 {"ca_file", target->ca_file},
                 {"sendmail", target->sendmail}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        /* A run is resumed from anywhere, so a path leads from the root or from home. */
        if (paths[i].value && *paths[i].value != '/' && strncmp(paths[i].value, "~/", 2) != 0)
            refuse(source, path, paths[i].key, "expected a path that begins with / or ~/");
    }
    if (target->timeout_s < 0.1 || target->timeout_s > 600)
        refuse(source, path, "timeout", "expected a duration from 0.1 s to 10m");
    for (size_t i = 0; i < target->to.count; i++)
        if (!is_address(target->to.items[i]))
            refuse(source, path, "to", "expected plain addresses, as me@example.org");
}

/* What a type needs is there, and nothing that it has no use for. */
static void check_parts(const struct source *source, const char *path, const struct notify_target *target)
{
    int urls = !!target->url + !!target->url_file + !!target->url_env;
    bool posts = target->type == NOTIFY_WEBHOOK || target->type == NOTIFY_NTFY || target->type == NOTIFY_SLACK;
    const struct {
        const char *key;
        bool given, fits;
    } parts[] = {
        {"command", target->command.count > 0, target->type == NOTIFY_COMMAND},
        {"to", target->to.count > 0, target->type == NOTIFY_MAIL},
        {"sendmail", target->sendmail, target->type == NOTIFY_MAIL},
        {"url", target->url, posts},
        {"url_file", target->url_file, posts},
        {"url_env", target->url_env, posts},
        {"token_file", target->token_file, posts},
        {"token_env", target->token_env, posts},
        {"ca_file", target->ca_file, posts},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        AUTO_FREE char *text = mem_printf("a target of type %s does not take it", notify_types[target->type]);
        if (parts[i].given && !parts[i].fits)
            refuse(source, path, parts[i].key, text);
    }
    const char *missing = NULL;
    if (target->type == NOTIFY_COMMAND && (target->command.count == 0 || !*target->command.items[0]))
        missing = "'command' is missing: a list of the program and its arguments";
    else if (target->type == NOTIFY_MAIL && target->to.count == 0)
        missing = "'to' is missing: one address or a list of them";
    else if (posts && urls != 1)
        missing = "one of 'url', 'url_file' and 'url_env' is needed";
    else if (target->token_file && target->token_env)
        missing = "'token_file' and 'token_env' do not go together";
    if (missing)
        field_error(source, path, "%s", missing);
}

static unsigned read_events(const struct source *source, const char *path, const json_t *object)
{
    const json_t *list = json_get(object, "on");
    const struct field row = {.key = "on", .kind = FIELD_NAME, .names = target_events};
    unsigned mask = 0;
    if (!list)
        return 1U << NOTIFY_END;
    AUTO_FREE char *place = json_path_key(path, "on");
    if (!json_is_array(list) || json_array_size(list) == 0) {
        field_refuse(source, place, "on", fields_find(&settings_notify_table, "on")->expected, list);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        int event = 0;
        if (field_read(source, item, json_array_get(list, i), &row, &event))
            mask |= 1U << event;
    }
    return mask;
}

static void target_fini(struct notify_target *target)
{
    char *texts[] = {target->url,     target->url_file,     target->url_env,     target->token_file, target->token_env,
                     target->ca_file, target->headers_file, target->headers_env, target->sendmail,   target->name};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    strv_fini(&target->command);
    strv_fini(&target->to);
    json_decref(target->json);
}

/* Settings and configuration together have so many. */
enum { ROOM = 2 * (NOTIFY_TARGETS_MAX + 1) };

static struct notify_target *add(struct notify_settings *out, int type, const json_t *json, const char *of)
{
    out->targets = out->targets ? out->targets : mem_array(ROOM, sizeof *out->targets);
    struct notify_target *target = &out->targets[out->count++];
    *target = (struct notify_target){
        .type = type, .timeout_s = 30, .json = json_incref((json_t *)json), .name = mem_strdup(of)};
    return target;
}

static void set_name(struct notify_target *target, size_t number)
{
    AUTO_FREE char *of = target->name;
    target->name = target->type == NOTIFY_OTLP
                       ? mem_printf("otlp%s", of)
                       : mem_printf("target %zu (%s)%s", number, notify_types[target->type], of);
}

static void read_target(const struct source *source, const char *path, const json_t *json, size_t number,
                        const char *of, struct notify_settings *out)
{
    if (!json_is_object(json)) {
        field_refuse(source, path, NULL, "an object (a target)", json);
        return;
    }
    size_t errors = source->problems->errors;
    struct notify_target *target = add(out, -1, json, of);
    fields_read(source, path, json, &settings_notify_table, target);
    check_keys(source, path, json, &settings_notify_table);
    target->on = read_events(source, path, json);
    if (target->type < 0 && source->problems->errors == errors)
        field_error(source, path, "'type' is missing: command, webhook, ntfy, slack or mail");
    if (target->type >= 0) {
        check_url(source, path, "url", target);
        check_parts(source, path, target);
        check_texts(source, path, target);
    }
    target->type = target->type < 0 ? NOTIFY_COMMAND : target->type;
    set_name(target, number);
}

static void read_otlp(const struct source *source, const char *path, const json_t *parent, const char *of,
                      struct notify_settings *out)
{
    AUTO_FREE char *place = NULL;
    const json_t *object = field_object(source, path, parent, "otlp", &place);
    if (!object)
        return;
    struct notify_target *target = add(out, NOTIFY_OTLP, object, of);
    target->on = 1U << NOTIFY_END;
    fields_read(source, place, object, &settings_otlp_table, target);
    check_keys(source, place, object, &settings_otlp_table);
    check_url(source, place, "endpoint", target);
    check_texts(source, place, target);
    if (!!target->url + target->environment != 1)
        field_error(source, place,
                    "'endpoint' is needed, or \"environment\": true for that of OTEL_EXPORTER_OTLP_ENDPOINT");
    set_name(target, 0);
}

/* The three keys of an object. */
static void read_keys(const struct source *source, const char *path, const json_t *object, const char *of,
                      struct notify_settings *out)
{
    const json_t *list = json_get(object, "notify"), *wait = json_get(object, "notify_wait");
    const struct field wait_row = {.key = "notify_wait", .kind = FIELD_DURATION};
    AUTO_FREE char *place = json_path_key(path, "notify"), *wait_place = json_path_key(path, "notify_wait");
    if (list && (!json_is_array(list) || json_array_size(list) > NOTIFY_TARGETS_MAX))
        field_refuse(source, place, "notify", "a list of at most 16 targets", list);
    else
        for (size_t i = 0; i < json_array_size(list); i++) {
            AUTO_FREE char *item = json_path_index(place, i);
            read_target(source, item, json_array_get(list, i), i + 1, of, out);
        }
    if (wait)
        field_read(source, wait_place, wait, &wait_row, &out->wait_s);
    read_otlp(source, path, object, of, out);
}

void settings_check_notify(const struct source *source, const json_t *tare)
{
    struct notify_settings read = {.wait_s = -1};
    read_keys(source, "$.tare", tare, "", &read);
    notify_settings_fini(&read);
}

/* The user's configuration holds nothing else. */
static void check_only(const struct source *source, const json_t *root)
{
    static const struct field rows[] = {{.key = "notify"}, {.key = "notify_wait"}, {.key = "otlp"}};
    static const struct field_table table = FIELD_TABLE("", rows);
    if (json_is_object(root))
        fields_check_keys(source, "$", root, &table, UNKNOWN_ARE_ERRORS, NULL);
    else
        field_refuse(source, "$", NULL, "an object (the configuration)", root);
}

bool notify_parse(const char *file, const char *text, size_t length, bool tare, const char *of,
                  struct notify_settings *out, struct err *err)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO(problems_fini) struct problems problems = {0};
    if (!json_doc_parse(file, text, length, &doc, err))
        return false;
    const struct source source = {&doc, &problems, true};
    if (!tare)
        check_only(&source, doc.root);
    read_keys(&source, tare ? "$.tare" : "$", tare ? json_object_get(doc.root, "tare") : doc.root, of, out);
    for (size_t i = 0; i < problems.count; i++)
        if (problems.items[i].severity == SEVERITY_ERROR) {
            AUTO_FREE char *line = problem_format(&problems.items[i]);
            return err_set(err, "%s", line);
        }
    return true;
}

void notify_settings_fini(struct notify_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        target_fini(&settings->targets[i]);
    free(settings->targets);
    *settings = (struct notify_settings){0};
}
