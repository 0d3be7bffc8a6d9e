#include "measure/calibration/sensor_fit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 4, EDGES_MIN = 3, COARSE_MAX = 400, FINE_MAX = 1500, NEAR_MIN = 16, STARTS = 3 };
#define LENGTH_MAX_S   3.0
#define DELAY_MAX_S    2.0
#define LENGTH_FIRST_S 0.002
/* steps with so much rest before and after them show a delay without doubt */
#define LONG_S        1.0
#define NEAR_BEFORE_S 0.2
#define NEAR_AFTER_S  2.5
/* of the rise: what a GPU's power does besides the load, and no model has */
#define MODEL_SHARE   0.005
#define DRIFT_SHARE   0.05  /* of the rise: how far power may drift while the loads last */
#define REACH_S       0.5   /* after a step until power is steady again */
#define PLATEAU_S     0.2   /* twice that behind it */
#define PLATEAU_SHARE 0.02  /* of the step: so far may these two differ */
#define STUDENT_95_2  4.303 /* of EDGES_MIN - 1 degrees of freedom */
#define PROFILE_95    3.84  /* quantile of chi squared with one degree of freedom */

struct load_at {
    double begin_s, end_s, level;
    double integral_s; /* of the level, until begin_s */
};

struct fit {
    const struct fit_input *input;
    enum fit_kind kind;
    struct load_at *loads;
    double *state; /* what an exponential shows at begin_s of each load, for state_of_s */
    double state_of_s;
    const struct fit_update *updates;
    size_t count;
    double middle_s, half_s; /* of all loads: time goes from -1 to 1 */
    double chi;
    /* how many loads had begun when that was asked last, of a mean's end and of its begin */
    size_t near[2];
};

/* The last load that has begun at t_s; SIZE_MAX: none has. Moments are asked for nearly in
 * order. */
static size_t load_before(struct fit *fit, double t_s, int end)
{
    size_t count = fit->near[end];
    while (count > 0 && fit->loads[count - 1].begin_s > t_s)
        count--;
    while (count < fit->input->load_count && fit->loads[count].begin_s <= t_s)
        count++;
    fit->near[end] = count;
    return count - 1;
}

static double integral_s(struct fit *fit, double t_s, int end)
{
    size_t i = load_before(fit, t_s, end);
    if (i == SIZE_MAX)
        return 0;
    const struct load_at *load = &fit->loads[i];
    return load->integral_s + load->level * (fmin(t_s, load->end_s) - load->begin_s);
}

static void fill_state(struct fit *fit, double length_s)
{
    double shown = 0, at_s = 0;
    if (fit->state_of_s == length_s)
        return;
    for (size_t i = 0; i < fit->input->load_count; i++) {
        const struct load_at *load = &fit->loads[i];
        shown *= exp(-(load->begin_s - at_s) / length_s);
        fit->state[i] = shown;
        shown =
            load->level + (shown - load->level) * exp(-(load->end_s - load->begin_s) / length_s);
        at_s = load->end_s;
    }
    fit->state_of_s = length_s;
}

/* What a sensor of this kind shows of the load at t_s, without its delay. */
static double shown_at(struct fit *fit, double t_s, double length_s)
{
    if (fit->kind == FIT_BOXCAR && length_s > 0)
        return (integral_s(fit, t_s, 0) - integral_s(fit, t_s - length_s, 1)) / length_s;
    size_t i = load_before(fit, t_s, 0);
    if (i == SIZE_MAX)
        return 0;
    const struct load_at *load = &fit->loads[i];
    if (length_s <= 0)
        return t_s < load->end_s ? load->level : 0;
    double in_s = fmin(t_s, load->end_s) - load->begin_s;
    double shown = load->level + (fit->state[i] - load->level) * exp(-in_s / length_s);
    return t_s > load->end_s ? shown * exp(-(t_s - load->end_s) / length_s) : shown;
}

/* Solves a x = b in place; a is positive definite. */
static void solve_cholesky(double a[COLUMNS][COLUMNS], double b[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    for (int i = 0; i < COLUMNS; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = COLUMNS - 1; i >= 0; i--) {
        for (int k = i + 1; k < COLUMNS; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* -2 log likelihood of this length and delay, with the idle power, rise and slow drift that fit
 * best. The uncertainty of a value's time adds the model's change over it. */
static double score_fit(struct fit *fit, double length_s, double delay_s)
{
    double rise = fit->input->rise_w, floor = MODEL_SHARE * rise, noise = fit->input->noise_w;
    double drift = 1 / (DRIFT_SHARE * rise * DRIFT_SHARE * rise), out = 0, squares = 0;
    /* Sums of what idle power (1), rise (s), their drifts (t, ts) and the values (y) have in
     * common: each in a register of its own. */
    double n = 0, s = 0, t = 0, ts = 0, ss = 0, tss = 0, tt = 0, tts = 0, ttss = 0, y = 0, sy = 0,
           ty = 0, tsy = 0;
    if (length_s < 0 || length_s > LENGTH_MAX_S || delay_s < 0 || delay_s > DELAY_MAX_S)
        return INFINITY;
    if (fit->kind == FIT_EXPONENTIAL && length_s > 0)
        fill_state(fit, length_s);
    for (size_t i = 0; i < fit->count; i++) {
        const struct fit_update *update = &fit->updates[i];
        double t_s = update->t_s - delay_s, time = (update->t_s - fit->middle_s) / fit->half_s;
        double shown = shown_at(fit, t_s, length_s), early = shown, late = shown;
        if (update->dt_s > 0) {
            early = shown_at(fit, t_s - update->dt_s, length_s);
            late = shown_at(fit, t_s + update->dt_s, length_s);
            shown = (early + 2 * shown + late) / 4;
        }
        double moves = rise * fmax(fabs(late - shown), fabs(shown - early)) / sqrt(3);
        double variance =
            noise * noise + floor * floor + moves * moves + update->spread_w * update->spread_w;
        double one = 1 / variance, rises = one * shown, drifts = one * time, both = rises * time;
        n += one;
        s += rises;
        t += drifts;
        ts += both;
        ss += rises * shown;
        tss += both * shown;
        tt += drifts * time;
        tts += both * time;
        ttss += both * time * shown;
        y += one * update->value;
        sy += rises * update->value;
        ty += drifts * update->value;
        tsy += both * update->value;
        squares += update->value * update->value * one;
        out += log(variance);
    }
    double a[COLUMNS][COLUMNS] = {{n}, {s, ss}, {t, ts, tt}, {ts, tss, tts, ttss}},
           b[COLUMNS] = {y, sy, ty, tsy};
    double right[COLUMNS];
    memcpy(right, b, sizeof b);
    for (int j = 0; j < COLUMNS; j++)
        a[j][j] += j >= 2 ? drift : 1e-12;
    solve_cholesky(a, b);
    for (int j = 0; j < COLUMNS; j++)
        squares -= b[j] * right[j];
    fit->chi = squares / (double)fit->count;
    return out + squares;
}

struct point {
    double length_s, delay_s, score;
};

/* Pattern search; fixed: 0 neither, 1 the length, 2 the delay. */
static struct point descend(struct fit *fit, struct point at, int fixed, double step_s,
                            double least_s)
{
    double steps[2] = {fixed == 1 ? 0 : fmax(step_s, at.length_s / 10), fixed == 2 ? 0 : step_s};
    at.score = score_fit(fit, at.length_s, at.delay_s);
    while (fmax(steps[0], steps[1]) > least_s) {
        bool better = false;
        for (int axis = 0; axis < 2; axis++)
            for (int sign = -1; sign <= 1 && steps[axis] > 0; sign += 2) {
                struct point next = at;
                double *moved = axis == 0 ? &next.length_s : &next.delay_s;
                *moved = fmax(0, *moved + sign * steps[axis]);
                next.score = score_fit(fit, next.length_s, next.delay_s);
                if (next.score < at.score - 1e-9) {
                    at = next;
                    better = true;
                }
            }
        /* Length and delay make up for each other: also along that line. */
        for (int sign = -1; sign <= 1 && fixed == 0; sign += 2) {
            double delay_s = at.delay_s - sign * steps[0] / (fit->kind == FIT_BOXCAR ? 2 : 1);
            struct point next = {fmax(0, at.length_s + sign * steps[0]), fmax(0, delay_s), 0};
            next.score = score_fit(fit, next.length_s, next.delay_s);
            if (next.score < at.score - 1e-9) {
                at = next;
                better = true;
            }
        }
        if (!better) {
            steps[0] /= 2;
            steps[1] /= 2;
        }
    }
    return at;
}

static double score_beside(struct fit *fit, struct point best, int which, double step_s)
{
    double *moved = which == 1 ? &best.length_s : &best.delay_s;
    *moved = fmax(0, *moved + step_s);
    return descend(fit, best, which, 0.005, 5e-5).score;
}

/* How far the figure can move until the score, minimised over the other figure, has risen by rise;
 * the larger of both sides. */
static double profile_half_width(struct fit *fit, struct point best, int which, double rise)
{
    double farthest_s = 0, value_s = which == 1 ? best.length_s : best.delay_s;
    for (int sign = -1; sign <= 1; sign += 2) {
        double low_s = 0, high_s = 2e-4;
        while (high_s < LENGTH_MAX_S &&
               score_beside(fit, best, which, sign * high_s) - best.score < rise) {
            low_s = high_s;
            if (sign < 0 && high_s >= value_s)
                break;
            high_s *= 2;
        }
        for (int turn = 0; turn < 3 && high_s > low_s; turn++) {
            double middle_s = (low_s + high_s) / 2;
            if (score_beside(fit, best, which, sign * middle_s) - best.score < rise)
                low_s = middle_s;
            else
                high_s = middle_s;
        }
        farthest_s = fmax(farthest_s, sign < 0 ? fmin(high_s, value_s) : high_s);
    }
    return farthest_s;
}

/* Whether t_s is soon after a step that has nothing else near it. */
static bool near_long_step(const struct fit *fit, double t_s)
{
    for (size_t i = 0; i < fit->input->load_count; i++) {
        const struct load_at *load = &fit->loads[i];
        bool is_long = load->end_s - load->begin_s >= LONG_S;
        bool rest_before = i == 0 || load->begin_s - load[-1].end_s >= LONG_S;
        bool rest_after =
            i + 1 == fit->input->load_count || load[1].begin_s - load->end_s >= LONG_S;
        if (is_long && rest_before && t_s > load->begin_s - NEAR_BEFORE_S &&
            t_s < load->begin_s + NEAR_AFTER_S)
            return true;
        if (is_long && rest_after && t_s > load->end_s - NEAR_BEFORE_S &&
            t_s < load->end_s + NEAR_AFTER_S)
            return true;
    }
    return false;
}

static size_t thin(const struct fit_update *from, size_t count, size_t most, struct fit_update *out)
{
    size_t step = count / most + 1, kept = 0;
    for (size_t i = 0; i < count; i += step)
        out[kept++] = from[i];
    return kept;
}

static void add_start(struct point starts[STARTS], struct point found)
{
    for (int i = 0; i < STARTS; i++)
        if (found.score < starts[i].score) {
            memmove(&starts[i + 1], &starts[i], (size_t)(STARTS - 1 - i) * sizeof *starts);
            starts[i] = found;
            return;
        }
}

static void search_grid(struct fit *fit, struct point starts[STARTS])
{
    for (int i = 0; i < STARTS; i++)
        starts[i] = (struct point){.score = INFINITY};
    for (double length_s = 0;
         length_s<LENGTH_MAX_S; length_s = length_s> 0 ? length_s * 1.3 : LENGTH_FIRST_S)
        for (double delay_s = 0; delay_s < DELAY_MAX_S;
             delay_s += delay_s < 0.25 ? 0.01 : delay_s / 15)
            add_start(starts, (struct point){length_s, delay_s, score_fit(fit, length_s, delay_s)});
}

static void prepare_fit(const struct fit_input *input, struct fit *fit)
{
    double integral = 0;
    fit->loads = mem_array(input->load_count + 1, sizeof *fit->loads);
    fit->state = mem_array(input->load_count + 1, sizeof *fit->state);
    for (size_t i = 0; i < input->load_count; i++) {
        struct load_at *load = &fit->loads[i];
        *load = (struct load_at){.begin_s = ns_to_s(input->loads[i].begin_ns - input->origin_ns),
                                 .end_s = ns_to_s(input->loads[i].end_ns - input->origin_ns),
                                 .level = input->loads[i].level,
                                 .integral_s = integral};
        integral += load->level * (load->end_s - load->begin_s);
    }
    double first_s = input->updates[0].t_s, last_s = input->updates[input->count - 1].t_s;
    fit->middle_s = (first_s + last_s) / 2;
    fit->half_s = fmax((last_s - first_s) / 2, 1e-3);
}

static void fit_all(struct fit *fit, const struct point *starts, struct fit_result *out)
{
    struct point best = {.score = INFINITY};
    for (int i = 0; i < STARTS; i++) {
        if (!isfinite(starts[i].score))
            continue;
        struct point found = descend(fit, starts[i], 0, 0.01, 1e-5);
        best = found.score < best.score ? found : best;
    }
    best.score = score_fit(fit, best.length_s, best.delay_s);
    out->chi_per_update = fit->chi;
    double rise = PROFILE_95 * fmax(1, fit->chi);
    struct point instant = descend(fit, (struct point){0, best.delay_s, 0}, 1, 0.01, 1e-5);
    struct point halved =
        descend(fit, (struct point){0, best.delay_s + best.length_s / 2, 0}, 1, 0.01, 1e-5);
    out->instant = fmin(instant.score, halved.score) - best.score < rise;
    out->score = best.score;
    out->length_s = best.length_s;
    out->delay_s = best.delay_s;
    out->length_half_s = profile_half_width(fit, best, 1, rise);
    out->delay_half_s = profile_half_width(fit, best, 2, rise);
}

bool sensor_fit(const struct fit_input *input, enum fit_kind kind, struct fit_result *out)
{
    if (input->count == 0 || input->load_count == 0)
        return false;
    struct fit fit = {.input = input, .kind = kind, .state_of_s = -1};
    struct point starts[STARTS];
    prepare_fit(input, &fit);
    AUTO_FREE struct fit_update *near = mem_array(input->count, sizeof *near);
    AUTO_FREE struct fit_update *some = mem_array(input->count, sizeof *some);
    size_t near_count = 0;
    EACH (update, input->updates, input->count)
        if (near_long_step(&fit, update->t_s))
            near[near_count++] = *update;
    bool good = near_count >= NEAR_MIN;
    if (good) {
        fit.count = thin(near, near_count, COARSE_MAX, some);
        fit.updates = some;
        search_grid(&fit, starts);
        fit.count = thin(input->updates, input->count, FINE_MAX, some);
        fit_all(&fit, starts, out);
    }
    free(fit.loads);
    free(fit.state);
    return good;
}

static bool mean_update_between(const struct fit_input *input, double from_s, double to_s,
                                double *out)
{
    double sum = 0, count = 0;
    EACH (update, input->updates, input->count)
        if (update->t_s >= from_s && update->t_s < to_s) {
            sum += update->value;
            count++;
        }
    *out = sum / fmax(count, 1);
    return count > 0;
}

/* What is missing of the new level, from the last update before the step on, over the step's
 * height. */
static bool lag_of_step(const struct fit_input *input, double edge_s, double *lag_s)
{
    double before, after, later, missing_s = 0;
    if (!mean_update_between(input, edge_s - 2 * PLATEAU_S, edge_s, &before) ||
        !mean_update_between(input, edge_s + REACH_S, edge_s + REACH_S + PLATEAU_S, &after) ||
        !mean_update_between(input, edge_s + REACH_S + PLATEAU_S, edge_s + REACH_S + 2 * PLATEAU_S,
                             &later) ||
        fabs(after - before) < input->rise_w / 2 ||
        fabs(later - after) > PLATEAU_SHARE * fabs(after - before))
        return false;
    for (size_t i = 0; i + 1 < input->count; i++) {
        const struct fit_update *from = &input->updates[i], *to = from + 1;
        if (to->t_s <= edge_s || from->t_s >= edge_s + REACH_S)
            continue;
        if (missing_s == 0)
            missing_s = from->t_s - edge_s;
        missing_s +=
            (to->t_s - from->t_s) * (after - (from->value + to->value) / 2) / (after - before);
    }
    *lag_s = missing_s;
    return true;
}

struct edges {
    double sum_s, squares_s2;
    int count;
};

static void add_edge_lag(struct edges *edges, double lag_s)
{
    edges->sum_s += lag_s;
    edges->squares_s2 += lag_s * lag_s;
    edges->count++;
}

static double error_of(const struct edges *edges)
{
    double mean_s = edges->sum_s / edges->count;
    return sqrt(fmax(edges->squares_s2 / edges->count - mean_s * mean_s, 0) / (edges->count - 1));
}

bool sensor_lag(const struct fit_input *input, double *lag_s, double *half_s)
{
    struct edges rises = {0}, falls = {0};
    for (size_t i = 0; i < input->load_count; i++) {
        const struct load_interval *load = &input->loads[i];
        double begin_s = ns_to_s(load->begin_ns - input->origin_ns), found_s;
        double end_s = ns_to_s(load->end_ns - input->origin_ns);
        bool is_long = end_s - begin_s >= LONG_S;
        bool rest_before = i == 0 || ns_to_s(load->begin_ns - load[-1].end_ns) >= LONG_S;
        bool rest_after =
            i + 1 == input->load_count || ns_to_s(load[1].begin_ns - load->end_ns) >= LONG_S;
        if (is_long && rest_before && lag_of_step(input, begin_s, &found_s))
            add_edge_lag(&rises, found_s);
        if (is_long && rest_after && lag_of_step(input, end_s, &found_s))
            add_edge_lag(&falls, found_s);
    }
    if (rises.count < EDGES_MIN || falls.count < EDGES_MIN)
        return false;
    double rise_s = rises.sum_s / rises.count, fall_s = falls.sum_s / falls.count;
    *lag_s = (rise_s + fall_s) / 2;
    *half_s =
        fabs(rise_s - fall_s) / 2 + STUDENT_95_2 * hypot(error_of(&rises), error_of(&falls)) / 2;
    return true;
}
