#include "report/watch/keys.h"
#include "report/watch/plot.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Where a list of count is after moving from at; key is none of the moves: as it was. */
static size_t moved(size_t at, size_t count, size_t page, int key)
{
    size_t last = count ? count - 1 : 0;
    page = page > 1 ? page - 1 : 1;
    switch (key) {
    case KEY_OF_UP:
    case 'k':
        return at > 0 ? at - 1 : 0;
    case KEY_OF_DOWN:
    case 'j':
        return at < last ? at + 1 : last;
    case KEY_OF_PAGE_UP:
        return at > page ? at - page : 0;
    case KEY_OF_PAGE_DOWN:
        return at + page < last ? at + page : last;
    case KEY_OF_FIRST:
    case 'g':
        return 0;
    case KEY_OF_LAST:
    case 'G':
        return last;
    default:
        return at;
    }
}

static bool is_move(int key)
{
    return key == 'k' || key == 'j' || key == 'g' || key == 'G' ||
           (key >= KEY_OF_UP && key <= KEY_OF_LAST);
}

static void move(struct watch_view *view, const struct watch_scene *scene, int key)
{
    const struct live_run *run = scene->run;
    size_t page = view->page[view->focus];
    if (view->focus == PANE_SLOTS) {
        view->slot = moved(view->slot, run->slot_count, page, key);
        view->follows = true;
    } else if (view->focus == PANE_PLAN) {
        view->experiment = moved(view->experiment, run->plan.count, page, key);
        view->follows = false;
    } else {
        size_t lines = scene->log ? scene->log->lines.count : 0;
        size_t at = view->log_back < lines ? lines - 1 - view->log_back : 0;
        view->log_back = lines ? lines - 1 - moved(at, lines, page, key) : 0;
    }
}

static bool matches(const struct live_experiment *experiment, const char *find)
{
    return strcasestr(experiment->plan->id, find) ||
           strcasestr(live_verdict_text(experiment), find) ||
           strcasestr(experiment->state == STATE_DONE ? outcome_name(experiment->outcome)
                                                      : state_name(experiment->state),
                      find) ||
           (experiment->failure && strcasestr(experiment->failure, find));
}

/* Searches from the chosen experiment on and wraps around; behind: starts after it. */
static void find_next_match(struct watch_view *view, const struct live_run *run, bool behind,
                            bool back)
{
    size_t count = run->plan.count;
    for (size_t i = behind; *view->find && i < count + behind; i++) {
        size_t at = (view->experiment + (back ? count - i % count : i)) % count;
        if (!matches(&run->experiments[at], view->find))
            continue;
        view->experiment = at;
        view->follows = false;
        view->focus = PANE_PLAN;
        view->said[0] = '\0';
        return;
    }
    if (*view->find) {
        snprintf(view->said, sizeof view->said, "not found: %s", view->find);
        view->said_bad = true;
    }
}

static void key_of_find(struct watch_view *view, const struct live_run *run, int key)
{
    size_t length = strlen(view->find);
    if (key == KEY_OF_ENTER || key == KEY_OF_ESCAPE) {
        view->finding = false;
        if (key == KEY_OF_ESCAPE)
            view->find[0] = view->said[0] = '\0';
        return;
    }
    if (key == KEY_OF_BACKSPACE && length) {
        do
            length--;
        while (length && ((unsigned char)view->find[length] & 0xc0) == 0x80);
        view->find[length] = '\0';
    } else if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < sizeof view->find) {
        view->find[length] = (char)key;
        view->find[length + 1] = '\0';
    }
    /* Half of a character is typed: the rest is on its way. */
    view->said[0] = '\0';
    if (utf8_is_valid(view->find, strlen(view->find)))
        find_next_match(view, run, false, false);
}

void watch_question(const struct watch_view *view, const struct live_run *run, struct text *out)
{
    const char *id = view->request_experiment && view->request_experiment <= run->plan.count
                         ? run->plan.experiments[view->request_experiment - 1].id
                         : "";
    switch (view->request) {
    case LIVE_PAUSE:
        text_add(out, "Pause? What runs goes on to its end, nothing more begins.");
        break;
    case LIVE_CONTINUE:
        text_add(out, "Go on after the pause?");
        break;
    case LIVE_SKIP:
        text_addf(out, "Skip %s? Its attempt is ended.", id);
        break;
    default:
        text_addf(out, "Stop %s? What runs is ended.", run->name);
        break;
    }
}

static void confirm(struct watch_view *view, const struct live_run *run, int key)
{
    const struct live_experiment *chosen = watch_chosen(view, run);
    bool runs = chosen && watch_slot_of(run, chosen->plan->number);
    view->request = key == 's'    ? LIVE_SKIP
                    : key == 'S'  ? LIVE_STOP
                    : run->paused ? LIVE_CONTINUE
                                  : LIVE_PAUSE;
    view->request_experiment = key == 's' && chosen ? chosen->plan->number : 0;
    view->confirming = run->state != LIVE_ENDED && run->state != LIVE_DIED && (key != 's' || runs);
    if (view->confirming)
        return;
    snprintf(view->said, sizeof view->said, "%s",
             key == 's' && !runs ? "the chosen experiment is not under way: nothing to skip"
                                 : "the run is not under way");
    view->said_bad = true;
}

static enum watch_action key_of_list(struct watch_view *view, const struct watch_scene *scene,
                                     int key)
{
    if (is_move(key))
        view->run = moved(view->run, scene->run_count, 10, key);
    if (key == KEY_OF_ENTER || key == KEY_OF_ESCAPE || key == 'q' || key == 'r')
        view->listing = false;
    return key == KEY_OF_ENTER ? WATCH_OPEN : WATCH_DRAW;
}

static void key_of_view(struct watch_view *view, const struct watch_scene *scene, int key)
{
    const char *metric;
    switch (key) {
    case '\t':
        view->focus = (view->focus + 1) % PANES;
        break;
    case KEY_OF_BACK_TAB:
        view->focus = (view->focus + PANES - 1) % PANES;
        break;
    case 'm':
        metric = watch_metric(view, scene->run, true);
        snprintf(view->metric, sizeof view->metric, "%s", metric ? metric : "");
        break;
    case 'f':
    case KEY_OF_ENTER:
        view->follows = true;
        break;
    case '/':
        view->finding = true;
        view->find[0] = '\0';
        break;
    case 'n':
    case 'N':
        find_next_match(view, scene->run, true, key == 'N');
        break;
    case 'p':
    case 's':
    case 'S':
        confirm(view, scene->run, key);
        break;
    case '?':
    case 'h':
        view->helping = true;
        break;
    default:
        if (is_move(key))
            move(view, scene, key);
    }
}

enum watch_action watch_key(struct watch_view *view, const struct watch_scene *scene, int key)
{
    if (view->helping) {
        view->helping = false;
        return WATCH_DRAW;
    }
    if (view->confirming) {
        view->confirming = false;
        return key == 'y' || key == 'Y' ? WATCH_ASK : WATCH_DRAW;
    }
    if (view->listing)
        return key_of_list(view, scene, key);
    if (view->finding) {
        key_of_find(view, scene->run, key);
        watch_view_settle(view, scene->run);
        return WATCH_DRAW;
    }
    view->said[0] = '\0';
    if (key == 'q')
        return WATCH_QUIT;
    if (key == '[' || key == ']')
        return key == '[' ? WATCH_PREVIOUS : WATCH_NEXT;
    if (key == 'r') {
        view->listing = true;
        view->run = scene->run_at;
        return WATCH_LIST;
    }
    key_of_view(view, scene, key);
    watch_view_settle(view, scene->run);
    return WATCH_DRAW;
}
