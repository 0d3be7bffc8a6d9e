#include "run/runner_guardian.h"
#include "machine/contain/guardian.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/state/state.h"
#include "run/lane.h"

#include "base/mem.h"

#include <sys/epoll.h>

void runner_guardian_record_absence(struct lane *lane, int64_t since_ns)
{
    int64_t now_ns = clock_monotonic_ns(), start_ns = lane->attempt.start_ns;
    bool begun = start_ns != 0;
    if (begun && since_ns < start_ns)
        since_ns = start_ns;
    AUTO_FREE char *layers =
        lane->attempt.job ? containment_describe(job_layers(lane->attempt.job)) : NULL;
    lane_add_evidence_span(lane, "guardian_absent", lane_seconds_since_start(lane, since_ns),
                           lane_seconds_since_start(lane, now_ns),
                           "no guardian for up to %.1f s: had this program been killed then, only "
                           "other layers (%s) would have ended the job",
                           ns_to_s(now_ns - since_ns), layers ? layers : "those it has");
}

static int on_guardian(sd_event_source *source, int fd, uint32_t events, void *context)
{
    (void)source;
    (void)fd;
    (void)events;
    runner_guardian_check(context);
    return 0;
}

void runner_guardian_watch(struct runner *runner)
{
    struct guardian *guardian = runner->request->guardian;
    runner->guardian_source = sd_event_source_disable_unref(runner->guardian_source);
    if (guardian && guardian_fd(guardian) >= 0)
        sd_event_add_io(runner->loop, &runner->guardian_source, guardian_fd(guardian), EPOLLIN,
                        on_guardian, runner);
}

void runner_guardian_check(struct runner *runner)
{
    struct err err = {0};
    int64_t since_ns;
    enum guardian_state state = runner->request->guardian
                                    ? guardian_check(runner->request->guardian, &since_ns, &err)
                                    : GUARDIAN_THERE;
    if (state == GUARDIAN_THERE)
        return;
    runner_guardian_watch(runner);
    if (state == GUARDIAN_ABSENT) {
        if (!runner->unguarded_ns)
            runner_note(runner, "the guardian is gone, and there is no other yet: %s", err.text);
        runner->unguarded_ns = since_ns;
        return;
    }
    runner->unguarded_ns = 0;
    EACH (lane, runner->lanes, runner->lane_count)
        if (lane_has_job(lane))
            runner_guardian_record_absence(lane, since_ns);
}

/* Without guardian or state folder other layers and the journal still protect: report it and go on.
 */
void runner_guardian_watch_job(struct lane *lane, const struct job *job)
{
    struct guardian *guardian = lane->runner->request->guardian;
    struct err err = {0};
    if (guardian && !guardian_watch(guardian, job_identity(job), &err))
        runner_guardian_check(lane->runner);
    if (guardian && lane->runner->unguarded_ns)
        lane_note(lane, "the guardian does not watch this job: %s", err.text);
    struct state *state = lane->runner->request->state;
    if (state && !state_job_born(state, job_identity(job), &err))
        lane_note(lane, "this job is not in the state folder: %s", err.text);
}
