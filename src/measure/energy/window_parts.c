#include "measure/energy/window.h"

#include "base/clock.h"
#include "measure/energy/window_index.h"

#include <math.h>

static const double joules_per_kwh = 3.6e6;

struct reading window_kwh(struct reading energy_j)
{
    return (struct reading){energy_j.valid ? energy_j.value / joules_per_kwh : 0, energy_j.valid};
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* What a mark's own lateness moves from one piece to the other, as a half-width: power there times its time. */
static double moved_j(const struct window_index *index, const struct window_mark *mark, int64_t t_ns)
{
    double half_s = shape_seconds(mark->half_width_ns, 0);
    if (!(half_s > 0))
        return 0;
    double t = shape_seconds(t_ns, index->origin_ns);
    return 0.5 * fabs(index_moment(index, t + half_s).energy_j - index_moment(index, t - half_s).energy_j);
}

static double cut_j(const struct window_index *index, int64_t t_ns)
{
    return index_moment(index, shape_seconds(t_ns, index->origin_ns)).energy_j;
}

int64_t window_cut(const struct window_index *index, int64_t start_ns, int64_t end_ns, const struct window_mark *marks,
                   size_t count, struct window_piece *out)
{
    struct window_energy attempt;
    window_index_energy(index, start_ns, end_ns, &attempt);
    double begin_j = attempt.energy_j.valid ? cut_j(index, start_ns) : 0, moved_before_j = 0;
    int64_t from_ns = start_ns, total_mj = attempt.energy_j.valid ? llround(attempt.energy_j.value * 1000) : -1;
    int64_t done_mj = 0;
    for (size_t i = 0; i <= count; i++) {
        int64_t to_ns = i < count ? clamp(marks[i].t_ns, from_ns, end_ns > from_ns ? end_ns : from_ns) : end_ns;
        out[i] = (struct window_piece){0};
        window_index_energy(index, from_ns, to_ns, &out[i].window);
        if (!attempt.energy_j.valid) {
            out[i].window.energy_j.valid = out[i].window.half_width_j.valid = out[i].window.power_mean_w.valid = false;
            from_ns = to_ns;
            continue;
        }
        double moved_j_here = i < count ? moved_j(index, &marks[i], to_ns) : 0;
        int64_t sum_mj = i < count ? llround((cut_j(index, to_ns) - begin_j) * 1000) : total_mj;
        sum_mj = clamp(sum_mj, done_mj, total_mj > done_mj ? total_mj : done_mj);
        out[i].energy_mj = sum_mj - done_mj;
        if (out[i].window.half_width_j.valid) {
            double marks_j = hypot(moved_before_j, moved_j_here);
            out[i].window.half_width_j.value = hypot(out[i].window.half_width_j.value, marks_j);
            out[i].window.parts.j[WINDOW_PART_MARKS] = marks_j / HALF_WIDTH_DEVIATIONS;
        }
        done_mj = sum_mj;
        moved_before_j = moved_j_here;
        from_ns = to_ns;
    }
    return total_mj;
}
