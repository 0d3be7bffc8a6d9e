/* params: hyperparameters of each type. */
#ifndef TARE_TESTS_PARAMS_H
#define TARE_TESTS_PARAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fixture.h"

#include <string.h>

static inline struct param int_param(double low, double high, int64_t standard)
{
    return (struct param){.name = mem_strdup("n"),
                          .type = PARAM_INT,
                          .has_range = true,
                          .low = low,
                          .high = high,
                          .default_value = value_int(standard)};
}

static inline struct param float_param(double low, double high, double standard)
{
    return (struct param){.name = mem_strdup("x"),
                          .type = PARAM_FLOAT,
                          .has_range = true,
                          .low = low,
                          .high = high,
                          .default_value = value_float(standard)};
}

static inline struct param choice_param(const char *const *texts, size_t count,
                                        const char *standard)
{
    struct param param = {
        .name = mem_strdup("c"), .type = PARAM_CHOICE, .default_value = value_text(standard)};
    param.choices = mem_array(count, sizeof *param.choices);
    for (; param.choice_count < count; param.choice_count++)
        param.choices[param.choice_count] = value_text(texts[param.choice_count]);
    return param;
}

#endif
