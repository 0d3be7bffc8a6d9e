#include "run/lane_governor.h"

#include "base/mem.h"
#include "machine/governor/governor_keeper.h"

#include <string.h>

/* Sleeping cores of a large machine take a second or two. */
enum { ANSWER_US = 10000000, PENDING_US = 10000 };

/* Once per reason. */
static void note_governor_reason(struct lane *lane)
{
    struct runner_governor *governor = &lane->runner->governor;
    AUTO_FREE char *text =
        mem_printf("the CPU governor \"%s\" is not set: %s", governor->wanted, governor->why.text);
    if (governor->why.text[0] && strcmp(governor->reported, governor->why.text) != 0)
        lane_report(lane, EVENT_NOTE, json_pack("{s:o*}", "text", json_string(text)));
    memcpy(governor->reported, governor->why.text, sizeof governor->reported);
}

static void continue_with_governor(struct lane *lane)
{
    struct runner_governor *governor = &lane->runner->governor;
    step_cancel(&governor->answer);
    governor->lane = NULL;
    step_cancel(&lane->timer);
    note_governor_reason(lane);
    lane_enter_next(lane);
}

static void handle_late_answer(struct lane *lane)
{
    err_set(&lane->runner->governor.why, "the kernel has not taken it within %d s",
            ANSWER_US / 1000000);
    continue_with_governor(lane);
}

static void read_keeper_answer(struct lane *lane)
{
    struct err err = {0};
    enum governor_answer answer =
        governor_keeper_answer(lane->runner->request->governor->keeper, &err);
    if (answer == GOVERNOR_PENDING)
        return;
    if (answer == GOVERNOR_FAILED)
        lane->runner->governor.why = err;
    continue_with_governor(lane);
}

static void request_governor(struct lane *lane)
{
    struct runner_governor *governor = &lane->runner->governor;
    struct governor_keeper *keeper = lane->runner->request->governor->keeper;
    if (!governor_keeper_want(keeper, governor->wanted, &governor->why)) {
        continue_with_governor(lane);
        return;
    }
    int code =
        step_on_input(lane, &governor->answer, governor_keeper_fd(keeper), read_keeper_answer);
    if (code < 0) {
        err_set(&governor->why, "its keeper's answer cannot be waited for (error %d)", -code);
        continue_with_governor(lane);
        return;
    }
    governor->lane = lane;
    lane_enter_after(lane, ANSWER_US, handle_late_answer);
}

/* Without rights the governor may still be the wanted one. */
static void check_governor_unheld(struct lane *lane)
{
    const struct run_governor *settings = lane->runner->request->governor;
    struct runner_governor *governor = &lane->runner->governor;
    struct governor_change change = {0};
    if (governor->wanted && settings->why->text[0])
        governor->why = *settings->why;
    else if (governor->wanted &&
             governor_plan(settings->sysroot, governor->wanted, false, &change, &governor->why) &&
             change.count > 0)
        err_set(&governor->why, "nothing could be started that gives back what was before");
    governor_change_fini(&change);
    continue_with_governor(lane);
}

void phase_governor(struct lane *lane)
{
    const struct run_governor *settings = lane->runner->request->governor;
    struct runner_governor *governor = &lane->runner->governor;
    /* Another lane has requested it: continue when it is set. */
    if (governor->lane && !runner_is_halted(lane->runner)) {
        lane_enter_after(lane, PENDING_US, phase_governor);
        return;
    }
    bool known = runner_is_same_governor(governor->wanted, lane->experiment->governor) &&
                 !governor->why.text[0];
    if (!settings || known || runner_is_halted(lane->runner)) {
        lane_enter_next(lane);
        return;
    }
    governor->wanted = lane->experiment->governor;
    governor->why = (struct err){0};
    if (settings->keeper)
        request_governor(lane);
    else
        check_governor_unheld(lane);
}
