/* What is drawn over the rest: help, and the list of runs. */
#include "report/watch/view_private.h"

#include "base/utf8.h"

static const char *const help[][2] = {
    {"Up Down j k", "choose a slot or experiment; scroll the log"},
    {"PgUp PgDn g G", "a page; the first, the last"},
    {"Tab", "to the next pane: slots, plan, log"},
    {"Enter f", "follow what runs in the chosen slot"},
    {"m", "the next metric"},
    {"/ n N", "find an id, state or verdict; the next, the one before"},
    {"[ ] r", "the run before, the next run; list of runs"},
    {"p", "pause: nothing more begins; go on after a pause"},
    {"s", "skip the chosen experiment: tare run --resume runs it"},
    {"S", "stop the run as Ctrl-C there does"},
    {"?", "this help"},
    {"q", "quit: the run goes on"},
};

enum { HELP_ROWS = sizeof help / sizeof *help, HELP_KEYS = 14, HELP_COLUMNS = 76 };

/* A blank box in the middle with a frame; gives what is inside. */
static struct grid_area box(const struct grid_area *area, size_t rows, size_t columns, const char *title)
{
    struct grid_area out = *area;
    out.rows = rows + 2 < area->rows ? rows + 2 : area->rows;
    out.columns = columns + 2 < area->columns ? columns + 2 : area->columns;
    out.row += (area->rows - out.rows) / 2;
    out.column += (area->columns - out.columns) / 2;
    for (size_t row = 0; row < out.rows; row++)
        for (size_t column = 0; column < out.columns; column++)
            grid_put(&out, row, column, GRID_PLAIN, " ");
    return grid_frame(out, title, true);
}

void watch_draw_help(const struct grid_area *area)
{
    struct grid_area inside = box(area, HELP_ROWS, HELP_COLUMNS, "Keys");
    for (size_t i = 0; i < HELP_ROWS; i++) {
        grid_put(&inside, i, 1, GRID_STRONG, help[i][0]);
        grid_put(&inside, i, HELP_KEYS + 2, GRID_PLAIN, help[i][1]);
    }
}

void watch_draw_list(struct watch_view *view, const struct watch_scene *scene, const struct grid_area *area)
{
    struct grid_area inside = box(area, scene->run_count, area->columns > 100 ? 96 : area->columns - 2, "Runs: Enter shows one");
    view->list_top = watch_scroll(view->list_top, view->run, inside.rows, scene->run_count);
    for (size_t i = 0; i < inside.rows && view->list_top + i < scene->run_count; i++) {
        size_t place = view->list_top + i;
        const struct watch_item *item = &scene->runs[place];
        size_t state = utf8_columns(item->state), room = inside.columns > state + 4 ? inside.columns - state - 4 : 0;
        grid_put(&inside, i, 0, GRID_STRONG, place == scene->run_at ? "▶" : " ");
        grid_field(&inside, i, 2, room, false, GRID_PLAIN, item->dir);
        grid_field(&inside, i, room + 3, state, false, GRID_DIM, item->state);
        if (place == view->run)
            grid_choose(&inside, i);
    }
}
