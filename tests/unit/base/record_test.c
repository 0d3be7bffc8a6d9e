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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
