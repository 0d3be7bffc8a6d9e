#include "report/html.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tare_build.h"

#include <string.h>

static void assert_text(struct text *text, const char *expected)
{
    assert_string_equal(text_get(text), expected);
    text_clear(text);
}

static void texts_are_never_markup(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    html_text(&out, "a<b> & \"c\" 'd'");
    assert_text(&out, "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
    html_heading(&out, "<script>");
    assert_text(&out, "<h2>&lt;script&gt;</h2>\n");
    html_line(&out, "note", "&amp;");
    assert_text(&out, "<p class=\"note\">&amp;amp;</p>\n");
    html_line(&out, NULL, "<");
    assert_text(&out, "<p>&lt;</p>\n");
    html_set_out(&out, "a  <\n");
    assert_text(&out, "<pre>a  &lt;\n</pre>\n");
    html_figure(&out, "\" onload=\"x", -5, 100, 60);
    assert_text(&out, "<svg class=\"figure\" viewBox=\"0 -5 100 60\" role=img aria-label=\"&quot; "
                      "onload=&quot;x\">");
    static const struct html_mark marks[] = {{"hot", "<hot>"}, {0}};
    html_legend(&out, "a & b", marks);
    assert_text(&out, "<p class=\"legend\">a &amp; b <span><i class=\"swatch hot\"></i>&lt;hot&gt;"
                      "</span></p>\n");
}

static void data_of_a_script_cannot_end_it_and_is_ascii(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    /* U+00E9, U+4E2D, and U+1F600, which is D83D DE00 in UTF-16 */
    json_t *json = json_pack("[s, s]", "</script><!--", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    html_data(&out, "data", json);
    assert_text(&out,
                "<script type=\"application/json\" id=\"data\">"
                "[\"\\u003c/script>\\u003c!--\",\"\\u00e9\\u4e2d\\ud83d\\ude00\"]</script>\n");
    json_decref(json);
}

static void a_page_without_a_script_allows_none(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    const struct html_page page = {.title = "<1>", .style = ".own{}"};
    html_begin(&out, &page);
    html_end(&out, &page);
    const char *text = text_get(&out);
    assert_non_null(strstr(text, "<html lang=\"en\">"));
    assert_non_null(strstr(text, "content=\"default-src 'none'; style-src 'unsafe-inline'\">"));
    assert_non_null(strstr(text, "<title>&lt;1&gt;</title>"));
    assert_non_null(strstr(text, "<h1>&lt;1&gt;</h1>"));
    assert_non_null(strstr(text, ".own{}</style>"));
    assert_non_null(strstr(text, "<footer>" TARE_NAME " " TARE_VERSION "</footer>"));
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "https://"));
}

static void a_page_that_a_script_draws_has_it_and_its_sections(void **state)
{
    (void)state;
    static const struct html_section sections[] = {{"a", ""}, {"b", " hidden"}, {0}};
    AUTO_TEXT struct text out = {0};
    struct html_page page = {
        .title = "t", .language = "zh", .sections = sections, .noscript = "<b>none</b>"};
    html_begin(&out, &page);
    html_end(&out, &page);
    const char *text = text_get(&out);
    assert_non_null(strstr(text, "<html lang=\"zh-Hans\">"));
    assert_non_null(strstr(text, "; script-src 'unsafe-inline'; img-src data:\">"));
    assert_non_null(
        strstr(text, "<section id=\"a\"></section>\n<section id=\"b\" hidden></section>"));
    assert_non_null(strstr(text, "<noscript><b>none</b></noscript>"));
    assert_non_null(strstr(text, "<script>\n"));
    text_clear(&out);

    /* A server sends style and script by themselves, and the policy in its header. */
    page.style_query = page.script_query = "v=1";
    html_begin(&out, &page);
    html_end(&out, &page);
    text = text_get(&out);
    assert_non_null(strstr(text, "href=\"/assets/page.css?v=1\""));
    assert_non_null(strstr(text, "src=\"/assets/page.js?v=1\""));
    assert_null(strstr(text, "Content-Security-Policy"));
    assert_null(strstr(text, "<style>"));
    assert_null(strstr(text, "<script>"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_never_markup),
        cmocka_unit_test(data_of_a_script_cannot_end_it_and_is_ascii),
        cmocka_unit_test(a_page_without_a_script_allows_none),
        cmocka_unit_test(a_page_that_a_script_draws_has_it_and_its_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
