/* watch: runs as tare watch shows them, on the terminal (report/watch/) or once as text or JSON. */
#ifndef TARE_SESSION_WATCH_H
#define TARE_SESSION_WATCH_H

#include "base/err.h"
#include "base/strv.h"
#include "report/watch/view.h"

#include <stdbool.h>
#include <stddef.h>

struct watch_options {
    const struct strv *operands; /* runs, "latest", folders of runs; none: the runs in results */
    double every_s;              /* between two looks */
    bool once, json;             /* json: only with once */
};

/* Until the user quits. Gives the program's exit code. */
int watch_show_runs(const struct watch_options *options);

/* The rest is private to watch*.c. */

/* A terminal in the hands of ncurses. One at a time. (watch_screen.c) */
struct watch_screen;
struct watch_screen *watch_screen_new(bool colour, struct err *err);
/* gives the terminal back as it was; NULL: nothing */
void watch_screen_free(struct watch_screen *screen);
void watch_screen_fit(struct watch_screen *screen); /* after SIGWINCH */
void watch_screen_size(const struct watch_screen *screen, size_t *rows, size_t *columns);
void watch_screen_show(struct watch_screen *screen, const struct grid *grid);
int watch_screen_key(struct watch_screen *screen); /* as watch_key takes it; -1: none waits */

#endif
