/* expect: compares all problems that a text gives with the lines that it should give. */
#ifndef TARE_TESTS_CONFIG_EXPECT_H
#define TARE_TESTS_CONFIG_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "plan/config/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* lines: NULL-terminated. */
static inline void expect_problems(const struct problems *problems, const char *const *lines)
{
    size_t wanted = 0;
    while (lines[wanted])
        wanted++;
    for (size_t i = 0; i < problems->count || i < wanted; i++) {
        char *line = i < problems->count ? problem_format(&problems->items[i]) : NULL;
        if (!line || i >= wanted || strcmp(line, lines[i]) != 0)
            print_message("# problem %zu\n#   wanted: %s\n#   got:    %s\n", i,
                          i < wanted ? lines[i] : "none", line ? line : "none");
        if (line && i < wanted)
            assert_string_equal(line, lines[i]);
        free(line);
    }
    assert_int_equal(problems->count, wanted);
}

/* Of a registry that is named "r"; it is read to its end where all that is wrong are warnings. */
static inline void expect_registry(const char *text, const char *const *lines)
{
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    bool warned_only = true;
    for (const char *const *line = lines; *line; line++)
        warned_only &= !strstr(*line, "error: ");
    assert_int_equal(registry_parse("r", text, strlen(text), &registry, &problems), warned_only);
    expect_problems(&problems, lines);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

#endif
