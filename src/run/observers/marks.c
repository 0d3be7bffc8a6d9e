#include "run/observers/marks.h"
#include "measure/marks/mark_fifo.h"

#include "base/mem.h"

enum { DRAIN_READS_MAX = 16 };

struct lane_marks {
    struct step_source fifo;
    int64_t recorded_ns;     /* the last one that was recorded at once */
    struct step_marks steps; /* not journaled */
};

LANE_STATE(marks_of, struct lane_marks, marks_observer);

struct step_marks *lane_marks_steps(const struct lane *lane)
{
    return &marks_of(lane)->steps;
}

static void prepare_marks(struct lane *lane)
{
    struct err err = {0};
    step_marks_fini(&marks_of(lane)->steps);
    if (attempt_make_fifo(&lane->attempt, lane->runner->request, &err) ||
        lane->runner->fifo_reported)
        return;
    lane->runner->fifo_reported = true;
    lane_note(lane, "no $TARE_MARKS, marks come from the log only: %s", err.text);
}

static json_t *mark_json(const struct mark *mark)
{
    return json_pack("{s:s, s:o*, s:s, s:I, s:s}", "name", mark->name, "label",
                     mark->label[0] ? json_string(mark->label) : json_null(), "at",
                     mark->is_end ? "end" : "start", "t_ns", (json_int_t)mark->t_ns, "source",
                     mark_source_name(mark->source));
}

static void record_pending_marks(struct lane *lane)
{
    struct marks *marks = &lane->attempt.marks;
    EACH (item, marks->pending, marks->pending_count)
        lane_record(lane, EVENT_MARK, mark_json(item), NULL);
    marks_clear(marks);
}

void lane_marks_add(void *context, const struct mark *mark)
{
    struct lane *lane = context;
    struct attempt *attempt = &lane->attempt;
    if (step_marks_take(&marks_of(lane)->steps, mark)) /* too many for journal and epochs */
        return;
    if (mark->source == MARK_FIFO && attempt->log)
        joblog_note_mark(attempt->log, mark);
    enum mark_task_status task_status = marks_take(&attempt->marks, mark, clock_monotonic_ns());
    if (task_status == MARK_TAKEN) {
        int64_t now_ns = clock_monotonic_ns();
        OBSERVE(lane, mark, mark);
        /* A single mark is recorded at once, a burst with the next tick. */
        if (now_ns - marks_of(lane)->recorded_ns >= NS_PER_S) {
            marks_of(lane)->recorded_ns = now_ns;
            record_pending_marks(lane);
        }
    }
    if (task_status != MARK_LIMITED || attempt->marks_limit_reported)
        return;
    attempt->marks_limit_reported = true;
    lane_note(lane,
              "too many marks: %d at once, %d a second, %d in all and %d names count; the others "
              "are left out and counted",
              MARKS_BURST, MARKS_RATE, MARKS_MOST, MARKS_NAMES_MAX);
}

static void read_fifo(struct lane *lane)
{
    mark_fifo_read(lane->attempt.fifo, clock_monotonic_ns(), lane_marks_add, lane);
}

int lane_marks_watch(struct lane *lane)
{
    struct mark_fifo *fifo = lane->attempt.fifo;
    return fifo ? step_on_input(lane, &marks_of(lane)->fifo, mark_fifo_fd(fifo), read_fifo) : 0;
}

static void free_marks(struct lane *lane)
{
    step_cancel(&marks_of(lane)->fifo);
    step_marks_fini(&marks_of(lane)->steps);
}

void lane_marks_close(struct lane *lane)
{
    struct attempt *attempt = &lane->attempt;
    step_cancel(&marks_of(lane)->fifo);
    int64_t now_ns = clock_monotonic_ns();
    /* Bounded: a foreign process may write forever. A job whose gate stayed closed has no marks. */
    bool all = !attempt->fifo || !attempt->gate_open;
    for (int i = 0; !all && i < DRAIN_READS_MAX; i++)
        all = mark_fifo_read(attempt->fifo, now_ns, lane_marks_add, lane);
    if (attempt->fifo) {
        mark_fifo_end(attempt->fifo, lane_marks_add, lane);
        attempt->marks_refused = mark_fifo_refused(attempt->fifo);
        mark_fifo_free(attempt->fifo);
        attempt->fifo = NULL;
    }
    record_pending_marks(lane);
}

void lane_marks_warn(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    for (size_t i = 0; i < attempt->marks.name_count; i++) {
        const char *name = attempt->marks.names[i].last.name;
        if (marks_look_like_ends(&attempt->marks, i, attempt->start_ns, attempt->end_ns))
            lane_note(lane,
                      "the lines of mark '%s' look as if they were printed at the end of what they "
                      "name; if so, the registry should say \"%s\": {\"end\": ...}",
                      name, name);
    }
}

const struct observer marks_observer = {
    .size = sizeof(struct lane_marks),
    .fini = free_marks,
    .prepare = prepare_marks,
    .tick = record_pending_marks,
};
