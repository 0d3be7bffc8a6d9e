/* progress: what a person sees while a run goes on: one live line on a terminal, plain lines in a
 * pipe, events as JSON. It listens to events and knows nothing of who runs them. */
#ifndef TARE_REPORT_LIVE_PROGRESS_H
#define TARE_REPORT_LIVE_PROGRESS_H

#include "base/text.h"
#include "plan/event.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum progress_style {
    /* a terminal: lines of ends, retries and evidence, and below them one line (of several lanes
     * one each) that is redrawn */
    PROGRESS_LIVE,
    PROGRESS_PLAIN, /* a line per start, end, retry, evidence */
    PROGRESS_JSON,  /* each event as one line of JSON, nothing else */
    PROGRESS_QUIET  /* nothing */
};

struct progress_options {
    enum progress_style style;
    int fd; /* where to; stays the caller's */
    bool colour;
    bool ascii;              /* the terminal is not one of UTF-8 */
    bool verbose;            /* what is normal is told each time */
    size_t width, height;    /* of the terminal; 0: asked from fd each time */
    int64_t (*now)(void);    /* CLOCK_MONOTONIC nanoseconds; NULL: clock_monotonic_ns */
    const struct plan *plan; /* borrowed until progress_free */
};

struct progress;

struct progress *progress_new(const struct progress_options *options);

/* Takes the live line away, writes what is still waiting (for at most a few seconds), frees. Gives
 * the errno of what could not be written; 0: all was, or nobody is there any more to read it. */
int progress_free(struct progress *progress);

/* The experiment (from 1) ended in an earlier session. */
void progress_skip(struct progress *progress, size_t number);

/* Fit struct run_listener; context is the struct progress. */
void progress_event(void *context, const struct event *event);
bool progress_tick(void *context);

/* The terminal is gone (SIGHUP): nothing was drawn since. */
bool progress_detached(const struct progress *progress);

#endif
