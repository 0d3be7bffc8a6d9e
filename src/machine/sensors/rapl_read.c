/* Readings, and what many of them tell about a counter. */
#include "base/clock.h"
#include "base/mem.h"
#include "machine/sensors/rapl.h"
#include "machine/sensors/rapl_private.h"
#include "machine/sensors/sysfs.h"

#include <unistd.h>

/* No processor's package, DRAM or platform draws more; the allowance is for a counter that was late
 * with its last value. */
static const double POWER_MAX_UJ_PER_NS = 2000.0 * 1e6 / 1e9;
static const double LATE_NS = 1e8;

/* Long enough for some ten values: what moves, moves about every millisecond. */
static const int64_t PROVE_MIN_NS = 20 * NS_PER_MS;
enum { QUANTUM_VALUES = 12 };

/* A change between two readings that are further apart came at a moment that nobody knows. */
static const int64_t DENSE_NS = NS_PER_MS / 2;

/* However long we ourselves were kept from the processor: what was read once cannot have moved. */
enum { PROVE_MIN_ROUNDS = 20 };

static bool counter_step(const struct rapl_track *track, uint64_t raw_uj, uint64_t *step_uj)
{
    if (raw_uj >= track->raw_uj)
        *step_uj = raw_uj - track->raw_uj;
    else if (track->range_uj >= track->raw_uj)
        *step_uj = track->range_uj - track->raw_uj + raw_uj;
    else
        return false;
    return true;
}

void rapl_follow(struct rapl_track *track, uint64_t raw_uj, int64_t at_ns, struct rapl_reading *out)
{
    double between_ns = (double)(at_ns - track->at_ns);
    uint64_t step_uj = 0;
    out->valid = true;
    out->restarted = out->gap = false;
    if (!track->begun) {
        track->energy_uj = raw_uj;
    } else if (!counter_step(track, raw_uj, &step_uj) ||
               (double)step_uj > (between_ns + LATE_NS) * POWER_MAX_UJ_PER_NS) {
        out->restarted = true;
        track->energy_uj = 0;
    } else {
        track->energy_uj += step_uj;
        out->gap =
            track->range_uj > 0 && between_ns * POWER_MAX_UJ_PER_NS > (double)track->range_uj;
    }
    track->begun = true;
    track->raw_uj = raw_uj;
    track->at_ns = at_ns;
    out->energy_uj = track->energy_uj;
}

static bool count_read(const struct rapl_domain *domain, uint64_t *out)
{
    char line[64];
    if (domain->source == RAPL_PERF)
        return read(domain->fd, out, sizeof *out) == (ssize_t)sizeof *out;
    ssize_t length = pread(domain->fd, line, sizeof line, 0);
    return length > 0 && sysfs_number_parse(line, (size_t)length, out);
}

/* From change to change, as far as nobody was away in between. */
static void learn_span(struct rapl_domain *domain, bool changed, int64_t now_ns, int64_t since_ns)
{
    if (since_ns > DENSE_NS)
        domain->change_ns = 0;
    if (!changed)
        return;
    if (domain->change_ns != 0) {
        domain->spans_ns += now_ns - domain->change_ns;
        domain->spans++;
    }
    domain->change_ns = since_ns <= DENSE_NS ? now_ns : 0;
}

static void learn_from_read(struct rapl_domain *domain, uint64_t count, int64_t before_ns,
                            int64_t after_ns)
{
    bool first = domain->calls++ == 0, changed = !first && count != domain->last;
    domain->calls_ns += after_ns - before_ns;
    if (first)
        domain->first_ns = after_ns;
    else
        learn_span(domain, changed, after_ns, after_ns - domain->last_ns);
    domain->last_ns = after_ns;
    domain->last = count;
    domain->changes += changed;
    if ((first || changed) && domain->value_count < RAPL_VALUES_MAX)
        domain->values[domain->value_count++] = count;
}

void rapl_read(struct rapl_domain *domain, struct rapl_reading *out)
{
    uint64_t count = 0;
    *out = (struct rapl_reading){.before_ns = clock_monotonic_ns()};
    bool got = domain->available && count_read(domain, &count);
    out->after_ns = clock_monotonic_ns();
    if (!got)
        return;
    learn_from_read(domain, count, out->before_ns, out->after_ns);
    rapl_follow(&domain->track, (uint64_t)((double)count * domain->unit_uj + 0.5), out->after_ns,
                out);
    domain->restarts += out->restarted;
    domain->gaps += out->gap;
}

struct counter_reading rapl_counter_reading(const struct rapl_reading *reading)
{
    return (struct counter_reading){reading->before_ns, reading->after_ns,
                                    (reading->energy_uj + 500) / 1000};
}

static bool perf_quantum(const uint64_t *counts, size_t count, double unit_uj, double *quantum_j)
{
    int zeros = 64;
    EACH (item, counts, count)
        if (*item != 0 && __builtin_ctzll(*item) < zeros)
            zeros = __builtin_ctzll(*item);
    if (zeros >= 64)
        return false;
    *quantum_j = (double)(UINT64_C(1) << zeros) * unit_uj / 1e6;
    return true;
}

static bool explains(uint64_t unit_nj, const uint64_t *values_uj, size_t count)
{
    EACH (item, values_uj, count) {
        if (*item > UINT64_MAX / 2000)
            return false;
        uint64_t steps = (*item * 1000 + unit_nj - 1) / unit_nj;
        if (steps * unit_nj / 1000 != *item)
            return false;
    }
    return true;
}

/* The driver knows a step as whole nanojoules: 10^9 / 2^n, or what it has fixed for the DRAM of
 * Xeons; the coarsest that fits. */
static bool powercap_quantum(const uint64_t *values_uj, size_t count, double *quantum_j)
{
    static const uint64_t units_nj[] = {976562, 488281, 244140, 122070, 61035, 30517,
                                        15300,  15258,  7629,   3814,   1907};
    for (size_t i = 0; i < sizeof units_nj / sizeof *units_nj; i++) {
        if (!explains(units_nj[i], values_uj, count))
            continue;
        *quantum_j = (double)units_nj[i] / 1e9;
        return true;
    }
    return false;
}

bool rapl_quantum(enum rapl_source source, const uint64_t *counts, size_t count, double unit_uj,
                  double *quantum_j)
{
    if (count < QUANTUM_VALUES)
        return false;
    return source == RAPL_PERF ? perf_quantum(counts, count, unit_uj, quantum_j)
                               : powercap_quantum(counts, count, quantum_j);
}

static void conclude(struct rapl_domain *domain)
{
    double quantum_j = 0;
    domain->read_s = (struct reading){0, domain->calls > 0};
    if (domain->calls > 0)
        domain->read_s.value = (double)domain->calls_ns / (double)domain->calls / 1e9;
    domain->update_s = (struct reading){0, domain->spans > 0};
    if (domain->spans > 0)
        domain->update_s.value = (double)domain->spans_ns / (double)domain->spans / 1e9;
    if (rapl_quantum(domain->source, domain->values, domain->value_count, domain->unit_uj,
                     &quantum_j))
        domain->quantum_j = (struct reading){quantum_j, true};
}

static void refuse_still(struct rapl_domain *domain, double for_s)
{
    rapl_domain_refuse(
        domain,
        mem_printf("the energy counter of %s (%s) stands still: not one step in %.2f s of load",
                   domain->name, rapl_source_name(domain->source), for_s));
}

void rapl_judge(struct rapl *rapl, double min_s)
{
    int64_t now_ns = clock_monotonic_ns();
    EACH (domain, rapl->domains, rapl->count) {
        double for_s = (double)(now_ns - domain->first_ns) / 1e9;
        if (domain->available && domain->calls >= 2 && domain->changes == 0 && for_s >= min_s)
            refuse_still(domain, for_s);
    }
    rapl_reason_update(rapl);
}

static void spin(void *context)
{
    (void)context;
    for (int64_t end_ns = clock_monotonic_ns() + NS_PER_MS / 20; clock_monotonic_ns() < end_ns;)
        ;
}

static bool all_moved_enough(const struct rapl *rapl)
{
    EACH (domain, rapl->domains, rapl->count)
        if (domain->available && domain->changes < QUANTUM_VALUES)
            return false;
    return true;
}

static bool prove_goes_on(const struct rapl *rapl, size_t round, int64_t elapsed_ns, double max_s)
{
    if (round < PROVE_MIN_ROUNDS)
        return true;
    return (double)elapsed_ns < max_s * 1e9 &&
           (elapsed_ns < PROVE_MIN_NS || !all_moved_enough(rapl));
}

void rapl_prove(struct rapl *rapl, const struct rapl_places *places, double max_s)
{
    int64_t begin_ns = clock_monotonic_ns(), now_ns = begin_ns;
    for (size_t round = 0; prove_goes_on(rapl, round, now_ns - begin_ns, max_s); round++) {
        EACH (item, rapl->domains, rapl->count)
            rapl_read(item, &(struct rapl_reading){0});
        (places->load ? places->load : spin)(places->context);
        now_ns = clock_monotonic_ns();
    }
    EACH (domain, rapl->domains, rapl->count) {
        conclude(domain);
        if (domain->available && domain->changes == 0)
            refuse_still(domain, (double)(now_ns - begin_ns) / 1e9);
    }
    rapl_reason_update(rapl);
}
