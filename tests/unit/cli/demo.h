/* demo: commands of a program that is there for its help. */
#ifndef TARE_TESTS_DEMO_H
#define TARE_TESTS_DEMO_H

#include "cli/completion.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tare_build.h"

#include <string.h>

static const char *const levels[] = {"low", "high", NULL};

static const struct cli_option rows[] = {
    {.short_name = "-g",
     .long_name = "--grace",
     .argument = "TIME",
     .type = CLI_DURATION,
     .low = 0,
     .high = 3600,
     .default_text = "10",
     .unit = "seconds",
     .help = "from TERM to KILL"},
    {.long_name = "--level",
     .argument = "LEVEL",
     .type = CLI_CHOICE,
     .choices = levels,
     .help = "how much"},
    {.long_name = "--secret", .help = "not shown", .hidden = true},
};

static const char *const usage[] = {"demo FILE [options]", NULL};
static const char *const description[] = {".starts with a dot - and has a dash.", NULL};
static const char *const exits[] = {"0", "well", NULL};
static const char *const examples[] = {"demo -g 5 a.txt", "with a short grace", NULL};

static const struct cli_command demo = {.name = "demo",
                                        .group = CLI_GROUP_JUDGE,
                                        .summary = "shows",
                                        .usage = usage,
                                        .description = description,
                                        .options = rows,
                                        .option_count = 3,
                                        .exits = exits,
                                        .examples = examples};
static const struct cli_command other = {
    .name = "other", .group = CLI_GROUP_JUDGE, .summary = "is of the same group", .usage = usage};
static const struct cli_command last = {
    .name = "last", .group = CLI_GROUP_MEMORY, .summary = "ends", .usage = usage};

const struct cli_command *const cli_commands[] = {&demo, &other, &last, NULL};

#endif
