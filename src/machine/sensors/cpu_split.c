#include "machine/sensors/cpu_split.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t cpu_split_divide(int64_t energy_mj, double busy_s, const double *cpu_s, size_t count,
                         int64_t *out_mj)
{
    double sum_s = 0;
    int64_t left_mj = energy_mj;
    EACH (cpu_, cpu_s, count)
        sum_s += *cpu_ > 0 ? *cpu_ : 0;
    /* Clock ticks are coarse: jobs may seem to have had more than there was. */
    double whole_s = busy_s > sum_s ? busy_s : sum_s;
    for (size_t i = 0; i < count; i++) {
        double share = whole_s > 0 && cpu_s[i] > 0 ? cpu_s[i] / whole_s : 0;
        int64_t part_mj = (int64_t)((double)energy_mj * share);
        out_mj[i] = part_mj < left_mj ? part_mj : left_mj;
        left_mj -= out_mj[i];
    }
    return left_mj;
}

/* Of all packages; false: there is none, or one of them cannot be read. */
static bool read_packages(const struct host_meter *host, int64_t *out_mj)
{
    const struct rapl *rapl = host_meter_rapl(host);
    bool any = false;
    *out_mj = 0;
    for (size_t i = 0; i < rapl->count; i++) {
        const struct rapl_domain *domain = &rapl->domains[i];
        const struct series *series = host_meter_series(host, i);
        if (domain->scope != RAPL_PACKAGE)
            continue;
        if (!domain->available || domain->restarts > 0 || series->counter_count == 0)
            return false;
        *out_mj += (int64_t)series->counter[series->counter_count - 1].energy_mj;
        any = true;
    }
    return any;
}

static void sample_cpu_split(struct cpu_split *split, struct host_meter *host, double *cpu_s,
                             double *busy_s, int64_t *energy_mj)
{
    struct host_edge edge;
    int64_t counter_mj = 0;
    host_meter_edge(host, &edge);
    split->stepped_ns = edge.t_ns;
    split->whole = read_packages(host, &counter_mj) && edge.has_cpu && split->whole;
    *busy_s = (double)(edge.cpu.busy_ticks - split->busy_ticks) / (double)sysconf(_SC_CLK_TCK);
    *energy_mj = counter_mj - split->counter_mj;
    split->busy_ticks = edge.cpu.busy_ticks;
    split->counter_mj = counter_mj;
    memset(cpu_s, 0, split->count * sizeof *cpu_s);
    host_meter_readers_cpu(host, cpu_s);
}

void cpu_split_begin(struct cpu_split *split, struct host_meter *host)
{
    double busy_s;
    int64_t energy_mj;
    *split = (struct cpu_split){.begun = true, .whole = true, .count = host_meter_readers(host)};
    split->cpu_s = mem_array(split->count + 1, sizeof *split->cpu_s);
    split->parts_mj = mem_array(split->count + 1, sizeof *split->parts_mj);
    sample_cpu_split(split, host, split->cpu_s, &busy_s, &energy_mj);
}

void cpu_split_fini(struct cpu_split *split)
{
    free(split->cpu_s);
    free(split->parts_mj);
    *split = (struct cpu_split){0};
}

void cpu_split_step(struct cpu_split *split, struct host_meter *host)
{
    double busy_s;
    int64_t energy_mj;
    AUTO_FREE double *now_s = mem_array(split->count + 1, sizeof *now_s);
    AUTO_FREE int64_t *parts_mj = mem_array(split->count + 1, sizeof *parts_mj);
    sample_cpu_split(split, host, now_s, &busy_s, &energy_mj);
    for (size_t i = 0; i < split->count; i++) {
        double before_s = split->cpu_s[i];
        split->cpu_s[i] = now_s[i];
        now_s[i] -= before_s;
    }
    if (energy_mj < 0)
        split->whole = false;
    if (!split->whole)
        return;
    split->unattributed_mj += cpu_split_divide(energy_mj, busy_s, now_s, split->count, parts_mj);
    split->total_mj += energy_mj;
    for (size_t i = 0; i < split->count; i++)
        split->parts_mj[i] += parts_mj[i];
}
