#include "run/step.h"
#include "run/lane.h"

#include <sys/epoll.h>

enum { TIMER_ACCURACY_US = 1000 };

static int on_time(sd_event_source *event, uint64_t us, void *context)
{
    (void)event;
    (void)us;
    struct step_source *source = context;
    step_cancel(source);
    source->step(source->lane);
    return 0;
}

static int on_input(sd_event_source *event, int fd, uint32_t events, void *context)
{
    (void)event;
    (void)fd;
    (void)events;
    struct step_source *source = context;
    source->step(source->lane);
    return 0;
}

int step_on_time(struct lane *lane, struct step_source *source, uint64_t us, lane_step *step)
{
    step_cancel(source);
    *source = (struct step_source){.step = step, .lane = lane};
    return sd_event_add_time_relative(lane->runner->loop, &source->source, CLOCK_MONOTONIC, us,
                                      TIMER_ACCURACY_US, on_time, source);
}

int step_on_input(struct lane *lane, struct step_source *source, int fd, lane_step *step)
{
    *source = (struct step_source){.step = step, .lane = lane};
    return sd_event_add_io(lane->runner->loop, &source->source, fd, EPOLLIN, on_input, source);
}

void step_cancel(struct step_source *source)
{
    source->source = sd_event_source_disable_unref(source->source);
}
