/* view: a run as tare watch shows it: what is chosen and scrolled, what a key does, and how it is
 * drawn into a grid. Knows neither a terminal nor files but the tail of a log; session/watch.c
 * reads the run, asks its runner, and shows the grid. */
#ifndef TARE_REPORT_WATCH_VIEW_H
#define TARE_REPORT_WATCH_VIEW_H

#include "base/err.h"
#include "base/strv.h"
#include "report/watch/grid.h"
#include "results/store/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum watch_pane { PANE_SLOTS, PANE_PLAN, PANE_LOG, PANES };

/* A key as the view takes it: a byte of UTF-8, or one of these. */
enum watch_key {
    KEY_OF_UP = 0x100,
    KEY_OF_DOWN,
    KEY_OF_PAGE_UP,
    KEY_OF_PAGE_DOWN,
    KEY_OF_FIRST,
    KEY_OF_LAST,
    KEY_OF_BACK_TAB,
    KEY_OF_BACKSPACE,
    KEY_OF_ENTER,
    KEY_OF_ESCAPE
};

/* What the view's owner is to do about a key. */
enum watch_action {
    WATCH_DRAW, /* only that */
    WATCH_QUIT,
    WATCH_ASK,      /* view.request, view.request_experiment */
    WATCH_PREVIOUS, /* the run before this one, and the one behind it */
    WATCH_NEXT,
    WATCH_LIST, /* the list of runs is open now: read it */
    WATCH_OPEN, /* run number view.run */
};

enum { WATCH_FIND_MAX = 64, WATCH_NAME_MAX = 96, WATCH_SAID_MAX = 1000 };

struct watch_view {
    enum watch_pane focus;
    bool follows;                /* the chosen experiment is the one in the chosen slot */
    size_t slot;                 /* chosen, place from 0 */
    size_t experiment;           /* chosen, place in the plan from 0 */
    size_t top[PANES];           /* the first row that is shown */
    size_t page[PANES];          /* rows of a pane when it was drawn last */
    size_t log_back;             /* lines from the log's end */
    char metric[WATCH_NAME_MAX]; /* "": the first there is */
    bool finding, helping, listing;
    char find[WATCH_FIND_MAX];
    bool confirming;
    enum live_request request;
    size_t request_experiment; /* its number */
    size_t run, list_top;      /* chosen in the list of runs, place from 0 */
    char said[WATCH_SAID_MAX]; /* what a request gave, or another message; "": nothing */
    bool said_bad;
};

/* The end of an experiment's log: lines that may be shown. */
struct watch_log {
    struct strv lines;
    char *name;               /* "repo_net_003/training.log" */
    char *fault;              /* why there are none; NULL: there are, or it is empty */
    int64_t size, changed_ns; /* of the file when it was read */
};

/* One of several runs, as the list has it. */
struct watch_item {
    const char *dir;
    const char *state; /* "under way", "not running", … */
};

/* What is drawn. */
struct watch_scene {
    const struct live_run *run;
    const char *fault; /* the run could not be read this time; NULL: it could */
    const struct watch_log *log;
    const struct watch_item *runs;
    size_t run_count, run_at; /* this one's place */
    int64_t now_ns;           /* CLOCK_REALTIME */
    bool plain;               /* --once: no keys are told, and all slots have room */
};

void watch_view_begin(struct watch_view *view);

/* What is chosen is in the run's bounds, and follows what runs. Before watch_draw, and when the run
 * has changed. */
void watch_view_settle(struct watch_view *view, const struct live_run *run);

/* The whole grid anew. */
void watch_draw(struct watch_view *view, const struct watch_scene *scene, struct grid *grid);

/* Rows that --once needs at this width. */
size_t watch_rows_needed(const struct watch_scene *scene, size_t columns);

/* The experiment, from its place in the plan; NULL: the plan is empty. */
const struct live_experiment *watch_chosen(const struct watch_view *view,
                                           const struct live_run *run);

/* The slot that has this experiment (its number); NULL: none. */
const struct live_slot *watch_slot_of(const struct live_run *run, size_t number);

/* A reading that is absent. */
#define WATCH_ABSENT "–"

/* "12s", "3m05s", "1h02m", "2d03h". */
enum { WATCH_TIME_BYTES = 24 };
void watch_time(double seconds, char out[WATCH_TIME_BYTES]);

/* Good, bad or in between, as live_verdict_text says it. */
enum grid_style watch_verdict_style(const struct live_experiment *experiment);

/* A pane's first row so that the chosen one is seen; rows: those with room. */
size_t watch_scroll(size_t top, size_t chosen, size_t rows, size_t count);

#endif
