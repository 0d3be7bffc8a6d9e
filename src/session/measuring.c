#include "session/measuring.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <poll.h>

/* Readings in step with the counter's updates would all err to one side (docs/explanation/uncertainty.md): each wait differs. */
static const int64_t TICK_NS = NS_PER_S, TICK_SPREAD_NS = 100 * NS_PER_MS;

/* A driver may have to wake its GPUs first. */
static const int64_t START_NS = 10 * NS_PER_S;

static const int64_t ANSWER_NS = 3 * NS_PER_S / 2;

/* Counters that were watched for less are given a load to move under before they are believed. */
static const int64_t JUDGED_NS = 2 * NS_PER_S;
static const double PROOF_S = 0.2;

/* What marks so often is not measured epoch by epoch. */
enum { EPOCHS_MAX = 10000 };

enum { NOTES_MAX = 8, LOOK_MS = 20 };

struct measuring {
    struct energy_meters *energy_meters;
    struct host_meter *host;
    struct rng rng;
    int64_t new_ns, tick_ns, ready_ns, start_ns, end_ns;
    struct strv notes;
    bool has_subject;
    struct mark *marks;
    size_t mark_count, mark_capacity;
    struct step_marks steps;
};

static void note_gap(void *data, const char *label, const struct meter_gap *gap)
{
    struct measuring *measuring = data;
    if (measuring->start_ns == 0 || gap->end_ns != 0 || measuring->notes.count >= NOTES_MAX)
        return;
    double at_s = (double)(gap->start_ns - measuring->start_ns) / (double)NS_PER_S;
    strv_add_owned(&measuring->notes,
                   mem_printf("%s: nothing was read from %.1f s on: %s", label, at_s > 0 ? at_s : 0, gap->reason));
}

struct measuring *measuring_new(const struct energy_meters_options *options, struct err *err)
{
    struct measuring *measuring = mem_alloc(sizeof *measuring);
    struct energy_meters_listener listener = {.gap = note_gap, .data = measuring};
    rng_seed(&measuring->rng, (uint64_t)clock_monotonic_ns());
    measuring->new_ns = clock_monotonic_ns();
    measuring->host = options->host;
    measuring->energy_meters = energy_meters_new(options, &listener, err);
    if (measuring->energy_meters)
        return measuring;
    free(measuring);
    return NULL;
}

void measuring_free(struct measuring *measuring)
{
    if (!measuring)
        return;
    energy_meters_free(measuring->energy_meters);
    strv_fini(&measuring->notes);
    free(measuring->marks);
    step_marks_fini(&measuring->steps);
    free(measuring);
}

int measuring_fd(const struct measuring *measuring)
{
    return energy_meters_fd(measuring->energy_meters);
}

bool measuring_starting(const struct measuring *measuring)
{
    return energy_meters_starting(measuring->energy_meters) && clock_monotonic_ns() - measuring->new_ns < START_NS;
}

int measuring_wait_ms(const struct measuring *measuring)
{
    if (measuring->start_ns == 0)
        return LOOK_MS;
    int64_t left_ns = measuring->tick_ns - clock_monotonic_ns();
    return left_ns <= 0 ? 0 : (int)(left_ns / NS_PER_MS) + 1;
}

static void set_tick(struct measuring *measuring, int64_t now_ns)
{
    int64_t spread_ns = (int64_t)rng_below(&measuring->rng, (uint64_t)TICK_SPREAD_NS);
    measuring->tick_ns = now_ns + TICK_NS - TICK_SPREAD_NS / 2 + spread_ns;
}

void measuring_step(struct measuring *measuring)
{
    int64_t now_ns = clock_monotonic_ns();
    energy_meters_dispatch(measuring->energy_meters);
    if (measuring->ready_ns == 0 && !energy_meters_starting(measuring->energy_meters))
        measuring->ready_ns = now_ns;
    if (measuring->start_ns == 0 || measuring->end_ns != 0 || now_ns < measuring->tick_ns)
        return;
    energy_meters_tick(measuring->energy_meters);
    set_tick(measuring, now_ns);
}

void measuring_begin(struct measuring *measuring, const struct measuring_subject *subject)
{
    measuring->start_ns = clock_monotonic_ns();
    measuring->has_subject = subject->job || subject->pid != 0;
    if (subject->pid != 0)
        energy_meters_begin_process(measuring->energy_meters, subject->pid, subject->start_time);
    else
        energy_meters_begin(measuring->energy_meters, subject->job);
    set_tick(measuring, measuring->start_ns);
}

void measuring_end(struct measuring *measuring, const struct job_usage *usage, int64_t end_ns)
{
    measuring->end_ns = end_ns > measuring->start_ns ? end_ns : clock_monotonic_ns();
    energy_meters_edge(measuring->energy_meters);
    energy_meters_end(measuring->energy_meters, usage);
}

bool measuring_has_ended(const struct measuring *measuring)
{
    return measuring->end_ns != 0;
}

void measuring_mark(struct measuring *measuring, const struct mark *mark)
{
    measuring->marks =
        mem_room(measuring->marks, measuring->mark_count, &measuring->mark_capacity, sizeof *measuring->marks);
    measuring->marks[measuring->mark_count++] = *mark;
    energy_meters_mark(measuring->energy_meters);
}

bool measuring_mark_step(struct measuring *measuring, const struct mark *mark)
{
    return step_marks_take(&measuring->steps, mark);
}

/* The answers come with the meters' own times: reading them late costs nothing. */
static void await_answers(struct measuring *measuring)
{
    struct pollfd wait = {.fd = energy_meters_fd(measuring->energy_meters), .events = POLLIN};
    int64_t until_ns = clock_monotonic_ns() + ANSWER_NS;
    measuring_step(measuring);
    while (energy_meters_waiting(measuring->energy_meters) > 0 && clock_monotonic_ns() < until_ns) {
        poll(&wait, 1, LOOK_MS);
        measuring_step(measuring);
    }
}

void measuring_finish(struct measuring *measuring, struct measured *out)
{
    await_answers(measuring);
    if (measuring->host && measuring->end_ns - measuring->start_ns < JUDGED_NS &&
        host_meter_rapl(measuring->host)->count > 0)
        host_meter_prove(measuring->host, PROOF_S);
    *out = (struct measured){.start_ns = measuring->start_ns,
                             .end_ns = measuring->end_ns,
                             .ready_ns = measuring->ready_ns,
                             .unanswered = energy_meters_waiting(measuring->energy_meters),
                             .notes = measuring->notes,
                             .has_subject = measuring->has_subject,
                             .marks = steal_ptr(measuring->marks)};
    measuring->notes = (struct strv){0};
    size_t count = 0;
    out->epochs = epochs_cut(out->marks, measuring->mark_count, measuring->start_ns, measuring->end_ns, true, &count);
    if (count > EPOCHS_MAX) {
        strv_add_owned(&out->notes,
                       mem_printf("%zu epochs: more than %d are not measured one by one", count, EPOCHS_MAX));
        count = 0;
    }
    energy_meters_measure(measuring->energy_meters, measuring->start_ns, measuring->end_ns, out->epochs, count, &measuring->steps,
                          &out->result);
}

void measured_fini(struct measured *measured)
{
    energy_meters_result_fini(&measured->result);
    strv_fini(&measured->notes);
    free(measured->epochs);
    free(measured->marks);
}

bool measuring_useful(const struct measuring *measuring)
{
    AUTO(energy_meters_result_fini) struct energy_meters_result result = {0};
    int64_t now_ns = clock_monotonic_ns();
    bool useful = false;
    energy_meters_measure(measuring->energy_meters, now_ns - NS_PER_S, now_ns, NULL, 0, NULL, &result);
    for (size_t i = 0; i < result.device_count; i++)
        useful |= result.devices[i].scope != ENERGY_PLATFORM;
    return useful;
}
