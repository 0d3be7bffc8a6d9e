/* training: the marks of a simulated training. */
#ifndef TARE_TESTS_TRAINING_H
#define TARE_TESTS_TRAINING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "machine/sensors/series.h"
#include "measure/step_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A step of three phases, each of one power. */
static const char *const names[] = {"data", "forward", "backward"};
static const double watts[] = {150, 420, 600};
static const double seconds[] = {0.030, 0.055, 0.090};
enum { PHASES = 3, STEPS_MOST = 1000 };

struct training {
    double begin[STEPS_MOST][PHASES + 1]; /* seconds */
    size_t steps;
    struct step_marks marks;
    struct series series;
    struct sensor_behaviour behaviour;
    struct step_sensor sensor;
};

static inline void mark(struct training *training, const char *name, const char *label, double t_s)
{
    struct mark one = {.t_ns = llround(t_s * NS_PER_S)};
    snprintf(one.name, sizeof one.name, "%s", name);
    snprintf(one.label, sizeof one.label, "%s", label);
    assert_true(step_marks_take(&training->marks, &one));
}

#endif
