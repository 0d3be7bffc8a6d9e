#include "sharing/overlap.h"

#include "base/mem.h"
#include "base/record.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>

/* Of the memory alone, and of the load that can be expected. */
static const double NEAR = 0.9, LOAD_ENOUGH = 0.25;

/* Less than so many percent of the multiprocessors' time is no load. */
static const double LOAD_LEAST_PERCENT = 1;

/* A look stands for no more than so many times what lies between two of them. */
static const double LONGEST_GAP = 1.5;

enum { LOOKS_MAX = 100000 };
static const double LONGEST_S = 1e9, MOST_BYTES = 1e15;

/* What each must have to count as computing. */
static void least_loads(const struct overlap_alone alone[OVERLAP_SIDES], double out[OVERLAP_SIDES])
{
    double sum = alone[FOREGROUND].percent.value + alone[BACKGROUND].percent.value;
    bool known = alone[FOREGROUND].percent.valid && alone[BACKGROUND].percent.valid;
    double fair = known && sum > 100 ? 100 / sum : 1;
    for (int side = 0; side < OVERLAP_SIDES; side++)
        out[side] = known ? fmax(LOAD_LEAST_PERCENT, LOAD_ENOUGH * fair * alone[side].percent.value)
                          : LOAD_LEAST_PERCENT;
}

static bool has_load(const struct overlap_look *look, int side, double least)
{
    return look->percent[side].valid && look->percent[side].value >= least;
}

/* The median time between two looks beside each other. */
static double usual_gap(const struct overlap_look *looks, size_t count)
{
    AUTO_FREE double *gaps = mem_array(count + 1, sizeof *gaps);
    size_t found = 0;
    for (size_t i = 1; i < count; i++)
        if (looks[i - 1].t_s >= 0)
            gaps[found++] = looks[i].t_s - looks[i - 1].t_s;
    return stats_median(gaps, found).value;
}

static bool trains(const struct overlap_look *looks, size_t count, size_t at, int side,
                   const struct overlap_alone *alone, double least, double gap)
{
    const struct overlap_look *look = &looks[at];
    if (!(alone->steady_bytes > 0) || look->bytes[side] < NEAR * alone->steady_bytes)
        return false;
    if (has_load(look, side, least))
        return true;
    return at > 0 && at + 1 < count && has_load(look - 1, side, least) &&
           has_load(look + 1, side, least) && look[1].t_s - look[-1].t_s <= 2 * LONGEST_GAP * gap;
}

static double stands_for(const struct overlap_look *looks, size_t count, size_t at, double gap)
{
    double before = at > 0 && looks[at - 1].t_s >= 0 ? looks[at].t_s - looks[at - 1].t_s : 0;
    double after = at + 1 < count ? looks[at + 1].t_s - looks[at].t_s : 0;
    return (fmin(before, LONGEST_GAP * gap) + fmin(after, LONGEST_GAP * gap)) / 2;
}

void overlap_measure(const struct overlap_look *looks, size_t count,
                     const struct overlap_alone alone[OVERLAP_SIDES], struct overlap *out)
{
    double least[OVERLAP_SIDES], gap = usual_gap(looks, count);
    *out = (struct overlap){0};
    least_loads(alone, least);
    for (size_t i = 0; i < count; i++) {
        bool both = looks[i].t_s >= 0, peaks = true;
        for (int side = 0; side < OVERLAP_SIDES; side++) {
            bool own = trains(looks, count, i, side, &alone[side], least[side], gap);
            if (own && !out->first_s[side].valid)
                out->first_s[side] = (struct reading){looks[i].t_s, true};
            both = both && own;
            peaks = peaks && looks[i].bytes[side] >= NEAR * alone[side].peak_bytes;
        }
        if (!both)
            continue;
        out->looks++;
        out->at_peaks += peaks;
        out->seconds += stands_for(looks, count, i, gap);
        out->together_bytes =
            fmax(out->together_bytes, looks[i].bytes[FOREGROUND] + looks[i].bytes[BACKGROUND]);
    }
}

/* Lists of numbers, one for each look. */
struct written_samples {
    const json_t *t_s, *bytes[OVERLAP_SIDES], *percent[OVERLAP_SIDES];
};

#define SAMPLES(key, member) RECORD_AS(struct written_samples, key, member)
static const struct record_field sample_fields[] = {
    SAMPLES("t_s", t_s),
    SAMPLES("foreground_bytes", bytes[FOREGROUND]),
    SAMPLES("background_bytes", bytes[BACKGROUND]),
    SAMPLES("foreground_percent", percent[FOREGROUND]),
    SAMPLES("background_percent", percent[BACKGROUND]),
    {0}};

static bool number_at(const json_t *list, size_t at, double low, double high, double *out)
{
    const json_t *item = json_array_get(list, at);
    *out = json_is_number(item) ? json_number_value(item) : NAN;
    return *out >= low && *out <= high;
}

struct overlap_look *overlap_looks_from_json(const json_t *json, size_t *count)
{
    struct written_samples written = {0};
    record_get(sample_fields, json, &written);
    size_t told = json_array_size(written.t_s);
    *count = 0;
    if (told == 0 || told > LOOKS_MAX)
        return NULL;
    struct overlap_look *looks = mem_array(told, sizeof *looks);
    for (size_t i = 0; i < told; i++) {
        struct overlap_look look = {0};
        double before_s = *count ? looks[*count - 1].t_s : -LONGEST_S;
        bool good = number_at(written.t_s, i, before_s, LONGEST_S, &look.t_s);
        for (int side = 0; side < OVERLAP_SIDES; side++) {
            good = good && number_at(written.bytes[side], i, 0, MOST_BYTES, &look.bytes[side]);
            look.percent[side].valid =
                number_at(written.percent[side], i, 0, 100 * 100, &look.percent[side].value);
        }
        if (good)
            looks[(*count)++] = look;
    }
    return looks;
}

double overlap_start_after(const double startup_s[OVERLAP_SIDES], double period_s)
{
    double after_s = startup_s[BACKGROUND] - startup_s[FOREGROUND];
    if (after_s >= 0)
        return after_s;
    return period_s > 0 ? after_s + period_s * ceil(-after_s / period_s) : 0;
}
