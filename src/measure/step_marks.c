/* From marks to steps whose phases are alike. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "measure/step_power.h"

#include <string.h>

/* Between a step's mark and its first phase's lies the time of two writes; what takes longer is a
 * phase of its own. */
static const int64_t LEAD_NS = NS_PER_MS;

static const double LONGEST = 1.5; /* times the median */

void step_marks_fini(struct step_marks *marks)
{
    free(marks->items);
    *marks = (struct step_marks){0};
}

static int32_t name_place(struct step_marks *marks, const char *name)
{
    size_t at = 0;
    while (at < marks->name_count && strcmp(marks->names[at], name) != 0)
        at++;
    if (at == STEP_NAMES_MAX)
        return -1;
    if (at == marks->name_count)
        memcpy(marks->names[marks->name_count++], name, strlen(name) + 1);
    return (int32_t)at;
}

bool step_marks_take(struct step_marks *marks, const struct mark *mark)
{
    bool step = strcmp(mark->name, "step") == 0,
         phase = strcmp(mark->name, "phase") == 0 && (mark->label[0] || mark->is_end);
    if (!step && !phase)
        return false;
    int32_t what = mark->is_end ? (step ? STEP_ENDS : STEP_PHASE_ENDS) : STEP_BEGINS;
    int32_t before = marks->count > 0 ? marks->items[marks->count - 1].what : STEP_ENDS;
    bool full = marks->count == STEP_MARKS_MAX;
    if (phase && !mark->is_end && !full && (what = name_place(marks, mark->label)) < 0)
        full = true;
    bool repeats = what == STEP_BEGINS
                       ? mark->label[0] && strcmp(marks->last_step, mark->label) == 0
                       : what == before;
    if (full)
        marks->left_out++;
    if (full || repeats)
        return true;
    if (what == STEP_BEGINS)
        memcpy(marks->last_step, mark->label, sizeof marks->last_step);
    uint32_t order = (uint32_t)marks->count;
    MEM_ADD(marks->items, marks->count) = (struct step_mark){mark->t_ns, what, order};
    return true;
}

/* A step as it was marked: its phases lie at first of a list of all. */
struct marked {
    size_t first, phases;
    int64_t end_ns;
    uint64_t kind; /* a hash of the names in their order */
};

struct edge {
    int64_t t_ns;
    int32_t what; /* place in names; -1: before the first phase, or after the last one's end */
};

struct cut {
    struct edge *edges;
    size_t edge_count;
    struct marked *steps;
    size_t count;
};

static int compare_step_mark_times(const void *a, const void *b)
{
    const struct step_mark *one = a, *other = b;
    if (one->t_ns != other->t_ns)
        return one->t_ns < other->t_ns ? -1 : 1;
    return ORDER(one->order, other->order);
}

static int compare_step_kinds(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return ORDER(one, other);
}

static void add_step_edge(struct cut *cut, struct marked *step, int64_t t_ns, int32_t what)
{
    MEM_ADD(cut->edges, cut->edge_count) = (struct edge){t_ns, what};
    step->phases++;
    step->kind = (step->kind ^ (uint64_t)(what + 2)) * UINT64_C(1099511628211);
}

static void end_step(struct cut *cut, struct marked *step, int64_t t_ns)
{
    if (step->phases > 0 && step->phases <= STEP_PHASES_MAX &&
        t_ns > cut->edges[step->first].t_ns) {
        step->end_ns = t_ns;
        MEM_ADD(cut->steps, cut->count) = *step;
    }
    step->phases = 0;
}

/* Without a mark of a step, the phase that was marked first begins each. */
static int32_t opener(const struct step_marks *marks)
{
    EACH (item, marks->items, marks->count)
        if (item->what == STEP_BEGINS)
            return STEP_BEGINS;
    EACH (entry, marks->items, marks->count)
        if (entry->what >= 0)
            return entry->what;
    return STEP_BEGINS;
}

static void cut_steps(const struct step_marks *marks, int64_t start_ns, int64_t end_ns,
                      struct cut *cut)
{
    struct marked step = {0};
    int32_t opens = opener(marks);
    EACH (mark, marks->items, marks->count) {
        bool begins = mark->what == opens;
        if (mark->t_ns < start_ns || mark->t_ns > end_ns)
            continue;
        if (begins || mark->what == STEP_ENDS)
            end_step(cut, &step, mark->t_ns);
        if (begins)
            step = (struct marked){.first = cut->edge_count};
        if (begins || (step.phases > 0 && mark->what != STEP_ENDS))
            add_step_edge(cut, &step, mark->t_ns, mark->what >= 0 ? mark->what : -1);
    }
}

/* That of most steps. */
static uint64_t usual_kind(const struct cut *cut)
{
    AUTO_FREE uint64_t *kinds = mem_array(cut->count + 1, sizeof *kinds);
    uint64_t usual = 0;
    size_t most = 0, run = 0;
    for (size_t i = 0; i < cut->count; i++)
        kinds[i] = cut->steps[i].kind;
    qsort(kinds, cut->count, sizeof *kinds, compare_step_kinds);
    for (size_t i = 0; i < cut->count; i++) {
        run = i > 0 && kinds[i] == kinds[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            usual = kinds[i];
        }
    }
    return usual;
}

/* Of value(step) over the steps of a kind. */
static int64_t median_ns(const struct cut *cut, uint64_t kind, bool lead)
{
    AUTO_FREE uint64_t *spans = mem_array(cut->count + 1, sizeof *spans);
    size_t count = 0;
    EACH (step, cut->steps, cut->count) {
        const struct edge *edges = &cut->edges[step->first];
        if (step->kind == kind)
            spans[count++] = (uint64_t)((lead && step->phases > 1 ? edges[1].t_ns : step->end_ns) -
                                        edges[0].t_ns);
    }
    qsort(spans, count, sizeof *spans, compare_step_kinds);
    return count > 0 ? (int64_t)spans[count / 2] : 0;
}

static void keep_steps(const struct cut *cut, uint64_t kind, size_t lead, struct step_fold *out)
{
    int64_t median = median_ns(cut, kind, false), longest = (int64_t)((double)median * LONGEST);
    out->median_s = ns_to_s(median);
    out->edge_ns = mem_array(cut->count * (out->phase_count + 1) + 1, sizeof *out->edge_ns);
    EACH (step, cut->steps, cut->count) {
        const struct edge *edges = &cut->edges[step->first];
        if (step->kind != kind || step->end_ns - edges[0].t_ns > longest) {
            out->left_out++;
            continue;
        }
        int64_t *to = out->edge_ns + out->steps++ * (out->phase_count + 1);
        for (size_t k = 0; k < out->phase_count; k++)
            to[k] = edges[k + lead].t_ns;
        to[0] = edges[0].t_ns;
        to[out->phase_count] = step->end_ns;
    }
}

void step_fold(struct step_marks *marks, int64_t start_ns, int64_t end_ns, struct step_fold *out)
{
    struct cut cut = {0};
    *out = (struct step_fold){0};
    if (marks->count > 0)
        qsort(marks->items, marks->count, sizeof *marks->items, compare_step_mark_times);
    cut_steps(marks, start_ns, end_ns, &cut);
    uint64_t kind = usual_kind(&cut);
    const struct marked *usual = cut.steps;
    while (cut.count > 0 && usual->kind != kind)
        usual++;
    if (cut.count > 0) {
        const struct edge *edges = &cut.edges[usual->first];
        size_t lead =
            usual->phases > 1 && edges[0].what < 0 && median_ns(&cut, kind, true) < LEAD_NS;
        out->phase_count = usual->phases - lead;
        for (size_t i = 0; i < out->phase_count; i++) {
            int32_t what = edges[i + lead].what;
            out->names[i] = what >= 0 ? marks->names[what] : i == 0 ? "step" : "rest";
        }
        keep_steps(&cut, kind, lead, out);
    }
    free(cut.edges);
    free(cut.steps);
}

void step_fold_fini(struct step_fold *fold)
{
    free(fold->edge_ns);
    *fold = (struct step_fold){0};
}
