/* truth: windows over simulated devices, judged by the energy that is known. */
#ifndef TARE_TEST_METER_TRUTH_H
#define TARE_TEST_METER_TRUTH_H

#include "measure/energy/window.h"
#include "simulate.h"

struct truth {
    const char *name;
    /* all windows' edges were read densely; else those of the attempt that they lie in */
    bool dense;
    bool random_span; /* samples are means of up to 100 ms, another length in every series */
    bool blind;       /* there is no counter */
    int windows;      /* of each kind of load */
    int windows_in_series;
    double length_s, shortest_s, longest_s;
    double least, most; /* share of windows that must, and may, hold the truth */
    double widest;      /* median half-width of windows from 1 s, by their energy: at most */
    /* in the middle 20 s of a series, where all windows are, all samples are too high or too low by
     * so much of themselves */
    double beat_share;
    struct simulation simulation;
    struct window_sensor sensor;
};

/* Windows of 0.2 to 60 s, each length as likely as its double; an H200 of 700 W whose samples are
 * instants; 93 to 98 %. */
struct truth truth_usual(const char *name, bool dense);
/* Every kind of load on its own; fails the test when one does not keep the bounds. */
void truth_hold(const struct truth *truth);

#endif
