/* planted: what a test changes on a fake GPU while programs use it: files in the scenario's folder
 * "users" (README.md). */
#ifndef TARE_FAKE_PLANTED_H
#define TARE_FAKE_PLANTED_H

#include "scenario.h"

/* The number in the file WHATgpu, such as leak0; 0: there is none. */
double fake_planted(const struct fake_scenario *of, const char *what, int gpu);

#endif
