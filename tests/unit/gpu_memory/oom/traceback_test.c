/* The frames of a traceback: the innermost line of the user's own code, and the operation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "gpu_memory/oom/traceback.h"

#include <string.h>

#define BEGIN             "Traceback (most recent call last):\n"
#define FRAME(file, line) "  File \"" file "\", line " line ", in f\n"
#define LIBRARY           FRAME("/opt/lib/python3.11/site-packages/torch/nn/modules/module.py", "7")

static void read_lines(struct traceback *traceback, const char *text)
{
    uint64_t line = 1;
    *traceback = (struct traceback){0};
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        traceback_read(traceback, line++, text, (size_t)(end - text));
}

static void the_innermost_line_outside_libraries_is_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *file;
        int64_t line;
    } rows[] = {
        {BEGIN FRAME("main.py", "3") FRAME("/home/a/net.py", "12") LIBRARY, "/home/a/net.py", 12},
        {BEGIN LIBRARY, "", 0},
        {BEGIN FRAME("/usr/local/bin/torchrun", "8") LIBRARY, "", 0},
        {BEGIN FRAME("D:\\a\\net.py", "5") FRAME("C:\\Python\\Lib\\socket.py", "1"),
         "D:\\a\\net.py", 5},
        {"<ipython-input-2-30a> in <module>\n----> 1 f()\n", "<ipython-input-2-30a>", -1},
        {"File ~/net.py:210, in Net.forward(self, x)\n", "~/net.py", 210},
        /* Another failure begins anew ... */
        {BEGIN FRAME("a.py", "1") BEGIN FRAME("b.py", "2"), "b.py", 2},
        /* ... and a chain keeps its first. */
        {BEGIN FRAME("a.py", "1") "During handling of the above exception, another exception "
                                  "occurred:\n" BEGIN FRAME("b.py", "2"),
         "a.py", 1},
        {BEGIN FRAME("a.py", "1") "C++ Traceback (most recent call last):\n", "a.py", 1},
        {"a line without a frame\n", "", 0},
    };
    EACH_OF (row, rows) {
        struct traceback traceback;
        read_lines(&traceback, row->text);
        assert_string_equal(traceback.place.file, row->file);
        assert_int_equal(traceback.place.line, row->line);
    }
}

static void an_operation_counts_among_the_last_frames_only(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned hints;
    } rows[] = {
        {BEGIN FRAME("a.py", "1") "    loss = F.cross_entropy(x, y)\n", OOM_HINT_LOGITS},
        {BEGIN FRAME("a.py", "1") "    loss = F.cross_entropy(x, y)\n" LIBRARY LIBRARY LIBRARY
             LIBRARY LIBRARY,
         0},
        {BEGIN "  File \"a.py\", line 1, in val_epoch\n" LIBRARY LIBRARY LIBRARY LIBRARY LIBRARY,
         OOM_HINT_EVALUATION},
        {BEGIN "  File \"a.py\", line 1, in interval\n", 0},
        {BEGIN "  File \"a.py\", line 1, in validation_step\n", 0},
        {BEGIN "  File \"a.py\", line 1, in test\n", OOM_HINT_EVALUATION},
        {BEGIN FRAME("a.py", "1") "    attn = attn.softmax(dim=-1)\n", OOM_HINT_ATTENTION},
        {BEGIN FRAME("a.py", "1") "    loss.backward(retain_graph=True)\n", OOM_HINT_KEPT_LOSS},
        {BEGIN FRAME("a.py", "1") "    total += loss\n", OOM_HINT_KEPT_LOSS},
        {BEGIN FRAME("a.py", "1") "    total += loss.item()\n", 0},
        {BEGIN LIBRARY "    total += loss\n", 0},
    };
    EACH_OF (row, rows) {
        struct traceback traceback;
        read_lines(&traceback, row->text);
        assert_int_equal(traceback_hints(&traceback), row->hints);
    }
}

static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    char text[1200] = "  File \"";
    struct traceback traceback = {0};
    /* 300 times e-acute: 600 bytes */
    for (int i = 0; i < 300; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, ".py\", line 1, in f");
    traceback_read(&traceback, 1, text, strlen(text));
    /* 255 bytes would end amid one. */
    assert_int_equal(strlen(traceback.place.file), 254);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_line_outside_libraries_is_the_place),
        cmocka_unit_test(an_operation_counts_among_the_last_frames_only),
        cmocka_unit_test(a_long_name_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
