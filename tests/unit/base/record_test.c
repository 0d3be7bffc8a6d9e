#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/record.h"

#include <math.h>

enum colour { RED, BLUE, NAMELESS };

static const char *colour_name(enum colour colour)
{
    return colour == NAMELESS ? NULL : colour == RED ? "red" : "blue";
}

struct point {
    double x;
    int y;
};

struct thing {
    const char *label;
    char *owned;
    struct reading power_w;
    size_t count;
    int signed_count;
    int64_t big;
    double share;
    bool good, has_share;
    enum colour colour;
    struct point at;
    double held_bytes;
    struct reading peak_bytes;
    struct point *points;
    size_t point_count;
};

static const struct record_field point_fields[] = {
    RECORD(struct point, x), RECORD(struct point, y), {0}};

static const struct record_field thing_fields[] = {
    RECORD(struct thing, label),
    RECORD(struct thing, owned),
    RECORD(struct thing, power_w),
    RECORD(struct thing, count),
    RECORD_AS(struct thing, "signed", signed_count),
    RECORD(struct thing, big),
    RECORD_IF(struct thing, has_share, "share", share),
    RECORD(struct thing, good),
    RECORD_ENUM(struct thing, "colour", colour, colour_name),
    RECORD_STRUCT(struct thing, "at", at, point_fields),
    RECORD_AS(struct thing, "at_x", at.x),
    RECORD_STRUCT_IF(struct thing, owned, "at_if_owned", at, point_fields),
    RECORD_BYTES(struct thing, "held_bytes", held_bytes),
    RECORD_BYTES(struct thing, "peak_bytes", peak_bytes),
    RECORD_BYTES_IF(struct thing, held_bytes, "held_if_any", held_bytes),
    RECORD_ENUM_IF(struct thing, good, "colour_of_good", colour, colour_name),
    RECORD_STRUCTS(struct thing, "points", points, point_count, point_fields),
    {0},
};

static struct point points[] = {{0.1, 1}, {-2, -3}};

static struct thing full(void)
{
    static char owned[] = "a,\"b\"";
    return (struct thing){.label = "lamp",
                          .owned = owned,
                          .power_w = {60.25, true},
                          .count = 7,
                          .signed_count = -7,
                          .big = INT64_C(9007199254740993),
                          .share = 0.5,
                          .good = true,
                          .has_share = true,
                          .colour = BLUE,
                          .at = {1.5, 2},
                          .held_bytes = 25769803776,
                          .peak_bytes = {1048576, true},
                          .points = points,
                          .point_count = 2};
}

static void assert_json(const struct thing *thing, const char *expected)
{
    AUTO_TEXT struct text out = {0};
    json_t *json = record_json(thing_fields, thing);
    json_print(json, &out);
    json_decref(json);
    assert_string_equal(text_get(&out), expected);
}

static void assert_row(const struct thing *thing, const char *expected)
{
    AUTO_TEXT struct text out = {0};
    record_csv_row(thing_fields, thing, &out);
    assert_string_equal(text_get(&out), expected);
}

static void json_has_every_type_in_the_tables_order(void **state)
{
    (void)state;
    struct thing thing = full();
    assert_json(
        &thing,
        "{\"label\":\"lamp\",\"owned\":\"a,\\\"b\\\"\",\"power_w\":60.25,\"count\":7,\"signed\":-7,"
        "\"big\":9007199254740993,\"share\":0.5,\"good\":true,\"colour\":\"blue\",\"at\":{\"x\":1."
        "5,\"y\":2},"
        "\"at_x\":1.5,\"at_if_owned\":{\"x\":1.5,\"y\":2},\"held_bytes\":25769803776,\"peak_"
        "bytes\":1048576,"
        "\"held_if_any\":25769803776,\"colour_of_good\":\"blue\",\"points\":[{\"x\":0.1,\"y\":1},{"
        "\"x\":-2.0,"
        "\"y\":-3}]}");
}

static void json_of_what_is_not_finite_is_null(void **state)
{
    (void)state;
    static const struct record_field fields[] = {
        RECORD(struct thing, share), RECORD(struct thing, count), {0}};
    struct thing thing = {.share = INFINITY, .count = 1};
    AUTO_TEXT struct text out = {0};
    json_t *json = record_json(fields, &thing);
    json_print(json, &out);
    json_decref(json);
    assert_string_equal(text_get(&out), "{\"share\":null,\"count\":1}");
}

static void json_of_what_is_absent_is_null_and_an_empty_list(void **state)
{
    (void)state;
    struct thing thing = {.power_w = {5, false}, .share = 1, .colour = NAMELESS, .label = "\xff"};
    assert_json(&thing, "{\"label\":null,\"owned\":null,\"power_w\":null,\"count\":0,\"signed\":0,"
                        "\"big\":0,\"share\":null,"
                        "\"good\":false,\"colour\":null,\"at\":{\"x\":0.0,\"y\":0},\"at_x\":0.0,"
                        "\"at_if_owned\":null,"
                        "\"held_bytes\":0,\"peak_bytes\":null,\"held_if_any\":null,\"colour_of_"
                        "good\":null,\"points\":[]}");
}

static void json_goes_into_an_object_behind_what_it_has(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    json_t *json = json_pack("{s:i}", "first", 1);
    record_set(json, point_fields, &points[0]);
    json_print(json, &out);
    json_decref(json);
    assert_string_equal(text_get(&out), "{\"first\":1,\"x\":0.1,\"y\":1}");
}

static void csv_has_a_column_for_each_plain_field(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    record_csv_header(thing_fields, &out);
    assert_string_equal(text_get(&out), "label,owned,power_w,count,signed,big,share,good,colour,at_"
                                        "x,held_bytes,peak_bytes,held_if_any,colour_of_good");
}

static void csv_quotes_text_and_leaves_absent_cells_empty(void **state)
{
    (void)state;
    struct thing thing = full(), absent = {.power_w = {5, false}, .share = 1, .colour = NAMELESS};
    assert_row(&thing, "lamp,\"a,\"\"b\"\"\",60.25,7,-7,9007199254740993,0.5,True,blue,1.5,"
                       "25769803776,1048576,25769803776,blue");
    assert_row(&absent, ",,,0,0,0,,False,,0.0,0,,,");
}

static void csv_keeps_spreadsheets_from_computing(void **state)
{
    (void)state;
    struct thing thing = full();
    thing.label = "=1+1";
    thing.owned = NULL;
    thing.power_w.value = -INFINITY;
    assert_row(&thing, "\"'=1+1\",,-inf,7,-7,9007199254740993,0.5,True,blue,1.5,25769803776,"
                       "1048576,25769803776,blue");
}

struct corner {
    int x, y;
};

struct read {
    const char *label;
    char *owned;
    char code[4];
    struct reading power_w;
    size_t count;
    int small;
    double share;
    bool good;
    enum colour colour, choice, turned;
    struct strv words;
    struct value value;
    json_t *kept;
    const json_t *part;
    struct corner *corner, *corners;
    size_t corner_count;
    int deep;
};

static const char *const shades[] = {"light", "dark", NULL};
static const struct corner far_corner = {.x = 9, .y = 9};
static const struct record_field corner_fields[] = {
    RECORD(struct corner, x, .presence = RECORD_NEEDED), RECORD(struct corner, y), {0}};
static const struct record_field deep_fields[] = {RECORD(struct read, deep), {0}};
static const struct record_field read_fields[] = {
    RECORD(struct read, label),
    RECORD(struct read, owned, .presence = RECORD_MAY_MISS),
    RECORD_CHARS(struct read, "code", code, .presence = RECORD_SPARSE),
    RECORD(struct read, power_w, .low = 0, .high = 100),
    RECORD(struct read, count, .presence = RECORD_SPARSE),
    RECORD(struct read, small),
    RECORD(struct read, share),
    RECORD(struct read, good, .presence = RECORD_SPARSE),
    RECORD_ENUM(struct read, "colour", colour, colour_name, .values = 2),
    RECORD_CHOICE(struct read, "choice", choice, shades, .first = 1, .presence = RECORD_MAY_MISS),
    {.key = "turned", .type = RECORD_SWITCH, .at = offsetof(struct read, turned)},
    RECORD(struct read, words),
    RECORD(struct read, value),
    RECORD(struct read, kept),
    RECORD(struct read, part),
    RECORD_STRUCT_OWNED(struct read, "corner", corner, corner_fields, .presence = RECORD_MAY_MISS),
    RECORD_STRUCTS(struct read, "corners", corners, corner_count, corner_fields,
                   .presence = RECORD_SPARSE, .initial = &far_corner),
    RECORD_GROUP("group", deep_fields),
    {0},
};

static const char whole[] =
    "{\"label\":\"a\",\"owned\":\"b\",\"code\":\"abc\",\"power_w\":1.5,\"count\":2,\"small\":-3,"
    "\"share\":0.25,\"good\":true,\"colour\":\"blue\",\"choice\":\"dark\",\"turned\":false,"
    "\"words\":[\"x\",\"\"],\"value\":7,\"kept\":[1],\"part\":{\"k\":2},"
    "\"corner\":{\"x\":1,\"y\":2},\"corners\":[{\"x\":3,\"y\":9}],\"group\":{\"deep\":4}}";

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct read read = {0};
    struct err err = {0};
    json_t *json = parsed(whole);
    assert_true(record_read(read_fields, json, &read, &err));
    assert_ptr_equal(read.label, json_string_value(json_object_get(json, "label")));
    assert_ptr_not_equal(read.owned, json_string_value(json_object_get(json, "owned")));
    assert_true(read.power_w.valid && read.power_w.value == 1.5 && read.count == 2);
    assert_true(read.colour == BLUE && (int)read.choice == 2 && (int)read.turned == 1);
    assert_true(read.corner_count == 1 && read.corners[0].x == 3 && read.deep == 4);
    json_t *again = record_json(read_fields, &read);
    json_print(again, &out);
    assert_string_equal(text_get(&out), whole);
    json_decref(again);
    record_free(read_fields, &read);
    json_decref(json);
}

static void what_is_sparse_or_may_miss_is_left_out(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct read read = {.label = "", .colour = NAMELESS, .value = {.kind = VALUE_NULL}};
    json_t *json = record_json(read_fields, &read);
    json_print(json, &out);
    assert_string_equal(text_get(&out),
                        "{\"label\":\"\",\"power_w\":null,\"small\":0,\"share\":0.0,"
                        "\"colour\":null,\"turned\":null,\"words\":[],\"value\":null,"
                        "\"kept\":null,\"part\":null,\"group\":{\"deep\":0}}");
    json_decref(json);
}

static void what_is_wrong_keeps_the_default_when_it_is_got(void **state)
{
    (void)state;
    struct read read = {.label = "default", .power_w = {7, true}, .small = 5, .colour = BLUE};
    json_t *json = parsed("{\"label\": 1, \"code\": \"abcd\", \"power_w\": -1, \"count\": -1, "
                          "\"small\": 3000000000, \"good\": 1, \"colour\": \"green\", "
                          "\"words\": [1, \"x\"], "
                          "\"corner\": 3, \"corners\": [{}, 1, {\"y\": 1}], \"group\": []}");
    record_get(read_fields, json, &read);
    assert_string_equal(read.label, "default");
    assert_true(read.power_w.value == 7 && read.count == 0 && read.small == 5 && !read.good);
    assert_true(read.code[0] == '\0' && read.colour == BLUE && read.deep == 0);
    assert_true(read.words.count == 1);
    assert_true(read.corner_count == 3 && read.corners[0].x == 9 && read.corners[2].y == 1);
    record_free(read_fields, &read);
    json_decref(json);
    read = (struct read){.small = 1};
    record_get(read_fields, NULL, &read);
    assert_true(read.small == 1 && !read.label);
}

static void what_is_wrong_is_named_when_it_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"{\"label\": 1}", "'label' is missing or not a string"},
        {"{\"code\": \"abcd\"}", "'code' is missing or too long"},
        {"{\"power_w\": \"1\"}", "'power_w' is missing or no number"},
        {"{\"power_w\": 100.5}", "'power_w' is missing or out of bounds"},
        {"{\"count\": -1}", "'count' is missing or negative"},
        {"{\"count\": 1.5}", "'count' is missing or no integer"},
        {"{\"small\": 2147483648}", "'small' is missing or out of bounds"},
        {"{\"good\": 0}", "'good' is missing or neither true nor false"},
        {"{\"turned\": 0}", "'turned' is missing or neither true nor false"},
        {"{\"colour\": \"green\"}", "'colour' is missing or unknown"},
        {"{\"choice\": \"blue\"}", "'choice' is missing or unknown"},
        {"{\"words\": [1]}", "'words' holds what is not a string"},
        {"{\"value\": []}", "'value' is missing or no value"},
        {"{\"corners\": 1}", "'corners' is missing or no list"},
        {"{\"corner\": {}}", "corner: 'x' is missing or no integer"},
        {"{\"corner\": {\"x\": null}}", "corner: 'x' is missing or no integer"},
        {"{\"corners\": [{\"x\": 1}, {}]}", "'x' is missing or no integer"},
        {"{\"group\": {\"deep\": true}}", "group: 'deep' is missing or no integer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read read = {0};
        struct err err = {0};
        json_t *json = parsed(cases[i].json);
        assert_false(record_read(read_fields, json, &read, &err));
        assert_string_equal(err.text, cases[i].error);
        record_free(read_fields, &read);
        json_decref(json);
    }
}

struct deep {
    const char *last, *second;
    int wrong, unread;
};

static void a_path_leads_through_objects_and_lists(void **state)
{
    (void)state;
    static const struct record_field fields[] = {RECORD_AS(struct deep, "list.-1.text", last),
                                                 RECORD_AS(struct deep, "list.1.text", second),
                                                 RECORD_AS(struct deep, "list.text", wrong),
                                                 RECORD_AS(struct deep, "object.0", wrong),
                                                 RECORD_AS(struct deep, "list.-4.text", wrong),
                                                 RECORD(struct deep, unread, .unread = true),
                                                 {0}};
    struct deep deep = {.wrong = 5, .unread = 6};
    json_t *json = parsed("{\"list\": [{\"text\": \"a\"}, {\"text\": \"b\"}, {\"text\": \"c\"}], "
                          "\"object\": {\"1\": 1}, \"unread\": 7}");
    record_get(fields, json, &deep);
    assert_string_equal(deep.last, "c");
    assert_string_equal(deep.second, "b");
    assert_true(deep.wrong == 5 && deep.unread == 6);
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_type_in_the_tables_order),
        cmocka_unit_test(json_of_what_is_not_finite_is_null),
        cmocka_unit_test(json_of_what_is_absent_is_null_and_an_empty_list),
        cmocka_unit_test(json_goes_into_an_object_behind_what_it_has),
        cmocka_unit_test(csv_has_a_column_for_each_plain_field),
        cmocka_unit_test(csv_quotes_text_and_leaves_absent_cells_empty),
        cmocka_unit_test(csv_keeps_spreadsheets_from_computing),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(what_is_sparse_or_may_miss_is_left_out),
        cmocka_unit_test(what_is_wrong_keeps_the_default_when_it_is_got),
        cmocka_unit_test(what_is_wrong_is_named_when_it_is_read),
        cmocka_unit_test(a_path_leads_through_objects_and_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
