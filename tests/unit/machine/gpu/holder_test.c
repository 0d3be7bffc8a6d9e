/* What a holder writes into a lock's file, and what is believed of what stands there. */
#include "fixture.h"

#include "base/clock.h"
#include "base/text.h"
#include "machine/gpu/holder.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static void the_line_is_json_in_this_order(void **state)
{
    (void)state;
    AUTO_TEXT struct text line = {0};
    struct gpu_holder holder = {.pid = 123,
                                .start_time = 4567,
                                .pid_namespace = 4026531836,
                                .since_s = 1795279625,
                                .user = "ada",
                                .host = "lab",
                                .run = "/home/ada/results/run_1 \"x\""};
    gpu_holder_print(&holder, &line);
    assert_string_equal(
        text_get(&line),
        "{\"pid\":123,\"start_time\":4567,\"pid_namespace\":4026531836,\"since\":1795279625,"
        "\"user\":\"ada\",\"host\":\"lab\",\"run\":\"/home/ada/results/run_1 \\\"x\\\"\"}\n");
}

static bool parse(const char *text, struct gpu_holder *out)
{
    return gpu_holder_parse(text, strlen(text), out);
}

static void a_line_is_read_up_to_its_end_and_what_stands_behind_is_not(void **state)
{
    (void)state;
    struct gpu_holder holder;
    assert_true(parse("{\"pid\":7,\"start_time\":8,\"pid_namespace\":9,\"since\":10,\"user\":\"u\","
                      "\"host\":\"h\","
                      "\"run\":\"/r\"}\n5,\"run\":\"\"}\n",
                      &holder));
    assert_int_equal(holder.pid, 7);
    assert_int_equal(holder.start_time, 8);
    assert_int_equal(holder.pid_namespace, 9);
    assert_int_equal(holder.since_s, 10);
    assert_string_equal(holder.user, "u");
    assert_string_equal(holder.host, "h");
    assert_string_equal(holder.run, "/r");
}

static void no_whole_line_of_json_is_no_holder(void **state)
{
    (void)state;
    struct gpu_holder holder;
    static const char *const lines[] = {"",
                                        "{\"pid\":7}",
                                        "\n",
                                        "[7]\n",
                                        "{\"pid\":7\n",
                                        "7\n",
                                        "{\"pid\":7,\"pid\":8}\n",
                                        "{\"user\":\"\\u0000\"}\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_false(parse(lines[i], &holder));
        assert_int_equal(holder.pid, 0);
        assert_string_equal(holder.user, "");
    }
    assert_false(gpu_holder_parse(NULL, 0, &holder));
}

static void numbers_out_of_bounds_and_texts_of_another_kind_are_unknown(void **state)
{
    (void)state;
    struct gpu_holder holder;
    assert_true(parse(
        "{\"pid\":-1,\"start_time\":0,\"pid_namespace\":1.5,\"since\":253402300800,\"user\":5,"
        "\"host\":null}\n",
        &holder));
    assert_int_equal(holder.pid, 0);
    assert_int_equal(holder.start_time, 0);
    assert_int_equal(holder.pid_namespace, 0);
    assert_int_equal(holder.since_s, 0);
    assert_string_equal(holder.user, "");
    assert_string_equal(holder.host, "");
    assert_true(parse("{\"pid\":2147483647,\"since\":253402300799}\n", &holder));
    assert_int_equal(holder.pid, INT_MAX);
    assert_int_equal(holder.since_s, 253402300799);
    assert_true(parse("{\"pid\":2147483648}\n", &holder));
    assert_int_equal(holder.pid, 0);
}

static void a_text_cannot_steer_a_terminal(void **state)
{
    (void)state;
    struct gpu_holder holder;
    /* Escape, DEL, U+009B, U+202E (right-to-left override), U+2066, U+2028, U+200B; and letters
     * that stay. */
    assert_true(parse("{\"user\":\"a\\u001b[2J\\u007f\\u009b\\u202e\\u2066\\u2028\\u200bz\","
                      "\"host\":\"\\u00e4\\u4e2d\"}\n",
                      &holder));
    assert_string_equal(holder.user, "a?[2J??????z");
    assert_string_equal(holder.host, "\303\244\344\270\255");
}

static void a_long_user_is_cut_behind_and_a_long_path_in_front_between_characters(void **state)
{
    (void)state;
    struct gpu_holder holder;
    AUTO_TEXT struct text line = {0};
    text_add(&line, "{\"user\":\"");
    for (int i = 0; i < 200; i++)
        text_add(&line, "\303\244"); /* two bytes each: 400 */
    text_add(&line, "\",\"run\":\"/");
    for (int i = 0; i < 200; i++)
        text_add(&line, "\303\244");
    text_add(&line, "/end\"}\n");
    assert_true(gpu_holder_parse(text_get(&line), line.length, &holder));
    /* 255 bytes of room hold 127 of two. */
    assert_int_equal(strlen(holder.user), 254);
    assert_int_equal(strncmp(holder.user, "\303\244\303\244", 4), 0);
    /* "...", then 252 bytes less the half of a character. */
    assert_int_equal(strncmp(holder.run, "...\303\244", 5), 0);
    assert_int_equal(strlen(holder.run), 255);
    assert_string_equal(holder.run + 255 - 4, "/end");
}

static void this_process_is_described_as_it_is(void **state)
{
    (void)state;
    struct gpu_holder self;
    char host[256] = "";
    /* The same clock: time() reads a coarser one, which is up to a tick behind at the turn of a
     * second. */
    int64_t before_s = clock_realtime_ns() / NS_PER_S;
    gpu_holder_self(&self);
    gethostname(host, sizeof host - 1);
    assert_int_equal(self.pid, getpid());
    assert_string_equal(self.host, host);
    assert_true(self.since_s >= before_s && self.since_s <= clock_realtime_ns() / NS_PER_S);
    assert_true(*self.user);
    assert_true(self.pid_namespace > 0);
    gpu_holder_set_run(&self, "/results/bad\377byte");
    assert_string_equal(self.run, "/results/bad?byte");
}

static void only_three_known_and_equal_numbers_are_the_same_process(void **state)
{
    (void)state;
    const struct gpu_holder one = {.pid = 1, .start_time = 2, .pid_namespace = 3};
    struct gpu_holder other = one;
    assert_true(gpu_holder_same(&one, &other));
    other.start_time = 4;
    assert_false(gpu_holder_same(&one, &other));
    other = one;
    other.pid_namespace = 4;
    assert_false(gpu_holder_same(&one, &other));
    other = one;
    other.pid = 4;
    assert_false(gpu_holder_same(&one, &other));
    const struct gpu_holder unknown = {.pid = 1, .start_time = 2};
    other = unknown;
    assert_false(gpu_holder_same(&unknown, &other));
}

static void names_pass_from_a_run_to_its_jobs(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    struct gpu_holder out[3];
    const struct gpu_holder holders[] = {
        {.pid = 12, .start_time = 345, .pid_namespace = 4026531836},
        {.pid = 1, .start_time = 9223372036854775807, .pid_namespace = 1}};
    gpu_holder_print_names(holders, 2, &text);
    assert_string_equal(text_get(&text), "12:345:4026531836,1:9223372036854775807:1");
    assert_int_equal(gpu_holder_parse_names(text_get(&text), out, 3), 2);
    assert_true(gpu_holder_same(&out[0], &holders[0]));
    assert_true(gpu_holder_same(&out[1], &holders[1]));
    assert_int_equal(gpu_holder_parse_names(text_get(&text), out, 1), 1);
}

static void malformed_names_end_the_list(void **state)
{
    (void)state;
    struct gpu_holder out[3];
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"", 0},
        {"1:2", 0},
        {"1:2:", 0},
        {":2:3", 0},
        {"0:2:3", 0},
        {"-1:2:3", 0},
        {" 1:2:3", 0},
        {"1:2:3 ", 0},
        {"1:2:3:4", 0},
        {"1:2:3,", 1},
        {"1,2,3", 0},
        {"1:2:3,x:1:1", 1},
        {"1:2:3,,4:5:6", 1},
        {"1:2:3,4:5:6", 2},
        {"2147483648:2:3", 0},
        {"1:2:0x3", 0},
        {"1:2:3,4:5", 1},
        {"2147483647:2:3", 1},
        {"1:9223372036854775808:3", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(gpu_holder_parse_names(rows[i].text, out, 3), rows[i].count);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_is_json_in_this_order),
        cmocka_unit_test(a_line_is_read_up_to_its_end_and_what_stands_behind_is_not),
        cmocka_unit_test(no_whole_line_of_json_is_no_holder),
        cmocka_unit_test(numbers_out_of_bounds_and_texts_of_another_kind_are_unknown),
        cmocka_unit_test(a_text_cannot_steer_a_terminal),
        cmocka_unit_test(a_long_user_is_cut_behind_and_a_long_path_in_front_between_characters),
        cmocka_unit_test(this_process_is_described_as_it_is),
        cmocka_unit_test(only_three_known_and_equal_numbers_are_the_same_process),
        cmocka_unit_test(names_pass_from_a_run_to_its_jobs),
        cmocka_unit_test(malformed_names_end_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
