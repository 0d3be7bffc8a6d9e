#include "expect.h"

#include "base/json.h"
#include "plan/config/on_event.h"

/* The reason why these arguments (JSON, after the program's name) are refused; "": they are not. */
static void expect_reason(const char *arguments, const char *reason)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    text_addf(&text, "{\"on_event\": [\"curl\", %s]}", arguments);
    assert_true(json_doc_parse("config.json", text_get(&text), text.length, &doc, &err));
    bool good = on_event_read(&doc, ON_EVENT_CONFIGURATION, &argv, &err);
    if (good != !*reason || !strstr(err.text, reason))
        fail_msg("%s: '%s'", arguments, err.text);
}

static void an_argument_with_a_secret_is_refused(void **state)
{
    (void)state;
    static const char *const named[] = {"\"--token\", \"abc\"",
                                        "\"--api-key\", \"abc\"",
                                        "\"--Password=abc\"",
                                        "\"-u\", \"me:abc\"",
                                        "\"-H\", \"Authorization: Bearer abc\"",
                                        "\"-H\", \"Authorization: Basic YTpi\"",
                                        "\"secret: abc\"",
                                        "\"x\", \"API_KEY='abc' run\""};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        expect_reason(named[i], "an argument may not hold a secret");
    expect_reason("\"https://me:abc@example.org\"", "user name or a password");
    expect_reason("\"curl https://a.org https://me@example.org/\"", "user name or a password");
    expect_reason("\"https://example.org/post?key=abc\"", "a query, which may be a secret");
    expect_reason("\"https://HOOKS.slack.com/services/abc\"",
                  "whoever knows this URL can post there");
    expect_reason("\"https://discord.com/api/webhooks/abc\"",
                  "whoever knows this URL can post there");
}

static void a_reference_to_a_secret_and_other_arguments_are_accepted(void **state)
{
    (void)state;
    static const char *const good[] = {"\"--token-file=token\"",
                                       "\"--token\", \"@token\"",
                                       "\"-H\", \"@header\"",
                                       "\"Authorization: Bearer $(cat token)\"",
                                       "\"PASSWORD=$PASSWORD run\"",
                                       "\"-u\", \"me\"",
                                       "\"https://example.org/hook\"",
                                       "\"--user-agent\", \"a:b\"",
                                       "\"me@example.org\"",
                                       "\"the token was used\"",
                                       "\"\""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect_reason(good[i], "");
}

static void another_key_of_the_configuration_is_an_error(void **state)
{
    (void)state;
    AUTO(json_doc_fini) struct json_doc doc = {0};
    AUTO_STRV struct strv argv = {0};
    struct err err = {0};
    static const char text[] = "{\"notify\": []}";
    assert_true(json_doc_parse("config.json", text, strlen(text), &doc, &err));
    assert_false(on_event_read(&doc, ON_EVENT_CONFIGURATION, &argv, &err));
    assert_non_null(strstr(err.text, "config.json:1:2: error: unknown key 'notify'"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_argument_with_a_secret_is_refused),
        cmocka_unit_test(a_reference_to_a_secret_and_other_arguments_are_accepted),
        cmocka_unit_test(another_key_of_the_configuration_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
