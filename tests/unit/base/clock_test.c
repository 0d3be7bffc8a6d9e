#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void iso_times_are_local_with_microseconds(void **state)
{
    (void)state;
    char out[40];
    /* date -u -d 2025-11-15T16:54:19 +%s */
    set_zone("UTC0");
    clock_format_iso(INT64_C(1763225659379192000), out);
    assert_string_equal(out, "2025-11-15T16:54:19.379192");
    clock_format_iso(INT64_C(1763225659000000999), out);
    assert_string_equal(out, "2025-11-15T16:54:19.000000");
    set_zone("XXX-05:30"); /* POSIX: five and a half hours before UTC */
    clock_format_iso(INT64_C(1763225659379192000), out);
    assert_string_equal(out, "2025-11-15T22:24:19.379192");
    set_zone("UTC0");
    clock_format_iso(0, out);
    assert_string_equal(out, "1970-01-01T00:00:00.000000");
    clock_format_iso(-1000, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999999");
}

static void stamps_name_folders(void **state)
{
    (void)state;
    char out[20];
    set_zone("UTC0");
    clock_format_stamp(INT64_C(1763225659999999999), out);
    assert_string_equal(out, "20251115_165419");
    set_zone("EST5");
    clock_format_stamp(INT64_C(1763225659999999999), out);
    assert_string_equal(out, "20251115_115419");
    set_zone("UTC0");
}

static void monotonic_time_never_goes_back(void **state)
{
    (void)state;
    int64_t before = clock_monotonic_ns();
    assert_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void real_time_is_what_the_c_library_says(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL) - 2; /* time() may lag by a tick */
    int64_t now = clock_realtime_ns() / NS_PER_S;
    int64_t after = (int64_t)time(NULL) + 2;
    assert_true(before <= now && now <= after);
}

static void durations_read_well(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *expected;
    } rows[] = {
        {0, "0.0 s"},
        {0.04, "0.0 s"},
        {-0.04, "0.0 s"},
        {3.2, "3.2 s"},
        {59.94, "59.9 s"},
        {59.97, "1 min 00 s"},
        {60, "1 min 00 s"},
        {245, "4 min 05 s"},
        {3599.4, "59 min 59 s"},
        {3599.6, "1 h 00 min"},
        {3600, "1 h 00 min"},
        {7380, "2 h 03 min"},
        {7199, "2 h 00 min"},
        {360000, "100 h 00 min"},
        {-5, "-5.0 s"},
        {-90, "-1 min 30 s"},
        {NAN, "unknown"},
        {INFINITY, "unknown"},
        {1e300, "unknown"},
        {9.9e11, "275000000 h 00 min"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[32];
        clock_format_duration(rows[i].seconds, out);
        assert_string_equal(out, rows[i].expected);
    }
}

static void durations_are_read_with_and_without_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"90", 90},   {"0", 0},      {"1.5s", 1.5},  {"500ms", 0.5}, {"10m", 600},
                {"2h", 7200}, {"1d", 86400}, {"0.5h", 1800}, {"0.25", 0.25}, {"1.5m", 90}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1;
        assert_true(clock_parse_duration(rows[i].text, &seconds, NULL));
        assert_true(seconds == rows[i].seconds);
    }
}

static void what_is_no_duration_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const rows[] = {"",      "s",    "10x",   "ten", "-5",   "-5s",
                                       "1.5.2", "10 m", "1h30m", "inf", "nan",  "1e3",
                                       "+5",    "5 ",   "10S",   "1,5", "10min"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1;
        struct err err = {0};
        assert_false(clock_parse_duration(rows[i], &seconds, &err));
        assert_true(seconds == -1);
        assert_non_null(strstr(err.text, "is no duration"));
    }
    struct err err;
    double seconds;
    clock_parse_duration("10x", &seconds, &err);
    assert_string_equal(err.text, "'10x' is no duration (such as 90, 1.5s, 500ms, 10m, 2h or 1d)");
}

static void assert_change(const struct clock_zone *zone, size_t i, int64_t from_s, int64_t offset_s)
{
    assert_true(i < zone->count);
    assert_int_equal(zone->changes[i].from_s, from_s);
    assert_int_equal(zone->changes[i].offset_s, offset_s);
}

/* 2026: on March 29 and October 25 at 01:00 UTC by the EU's directive; in New York on March 8 at
 * 07:00 and on November 1 at 06:00 UTC. */
static void a_zone_knows_its_changes_to_the_second(void **state)
{
    (void)state;
    struct clock_zone zone;
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) != 0)
        skip();
    set_zone("Europe/Berlin");
    clock_zone_here(INT64_C(1767225600) * NS_PER_S, &zone); /* 2026-01-01T00:00:00Z */
    assert_string_equal(zone.name, "Europe/Berlin");
    assert_int_equal(zone.count, 3);
    assert_change(&zone, 0, 1767225600, 3600);
    assert_change(&zone, 1, 1774746000, 7200);
    assert_change(&zone, 2, 1792890000, 3600);
    assert_int_equal(clock_zone_offset_s(&zone, INT64_C(1774745999) * NS_PER_S), 3600);
    assert_int_equal(clock_zone_offset_s(&zone, INT64_C(1774746000) * NS_PER_S), 7200);
    assert_int_equal(clock_zone_offset_s(&zone, 0), 3600);
    assert_int_equal(clock_zone_offset_s(&zone, INT64_C(1800000000) * NS_PER_S), 3600);
    set_zone(":America/New_York");
    clock_zone_here(INT64_C(1767225600) * NS_PER_S, &zone);
    assert_string_equal(zone.name, "America/New_York");
    assert_change(&zone, 0, 1767225600, -18000);
    assert_change(&zone, 1, 1772953200, -14400);
    assert_change(&zone, 2, 1793512800, -18000);
    set_zone("Asia/Shanghai");
    clock_zone_here(INT64_C(1767225600) * NS_PER_S, &zone);
    assert_int_equal(zone.count, 1);
    assert_int_equal(clock_local_offset_s(0), 28800);
}

static void times_in_a_zone_do_not_depend_on_the_reader_s(void **state)
{
    (void)state;
    char out[40];
    set_zone("America/New_York");
    clock_format_iso_at(INT64_C(1763225659379192000), 28800, out);
    assert_string_equal(out, "2025-11-16T00:54:19.379192");
    clock_format_iso_offset(INT64_C(1763225659379192000), -12600, out);
    assert_string_equal(out, "2025-11-15T13:24:19.379192-03:30");
    clock_format_iso_offset(-1000, 0, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999999+00:00");
    clock_format_offset(45900, out);
    assert_string_equal(out, "+12:45");
}

static void a_zone_survives_the_way_through_json(void **state)
{
    (void)state;
    struct clock_zone zone, back;
    set_zone("CET-1CEST,M3.5.0,M10.5.0/3"); /* the same rule, in POSIX's words */
    clock_zone_here(INT64_C(1767225600) * NS_PER_S, &zone);
    json_t *json = json_from_zone(&zone);
    json_to_zone(json, &back);
    json_decref(json);
    assert_string_equal(back.name, zone.name);
    assert_int_equal(back.count, 3);
    assert_change(&back, 1, 1774746000, 7200);
    json_to_zone(NULL, &back);
    assert_int_equal(back.count, 0);
    json =
        json_loads("{\"name\": 7, \"offsets\": [[1, 999999], [\"a\", 1], 3, [2, 3600]]}", 0, NULL);
    json_to_zone(json, &back);
    json_decref(json);
    assert_int_equal(back.count, 1);
    assert_change(&back, 0, 2, 3600);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_times_are_local_with_microseconds),
        cmocka_unit_test(a_zone_knows_its_changes_to_the_second),
        cmocka_unit_test(times_in_a_zone_do_not_depend_on_the_reader_s),
        cmocka_unit_test(a_zone_survives_the_way_through_json),
        cmocka_unit_test(stamps_name_folders),
        cmocka_unit_test(monotonic_time_never_goes_back),
        cmocka_unit_test(real_time_is_what_the_c_library_says),
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(durations_are_read_with_and_without_a_unit),
        cmocka_unit_test(what_is_no_duration_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
