#include "results/judge/bench.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "results/judge/judge.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_quantities[BENCH_QUANTITIES] = {"duration_s", "gpu_energy_j", "gpu_power_w",
                                                        "cpu_energy_j"};

const char *const bench_uses[BENCH_USES] = {"user_s", "system_s", "memory_peak_bytes"};

struct reading bench_use_of(const struct dataset_experiment *experiment, size_t use)
{
    const struct reading values[BENCH_USES] = {experiment->user_s, experiment->system_s,
                                               experiment->memory_peak_bytes};
    return values[use];
}

const struct figure *bench_figure(const struct bench_command *command, const char *quantity)
{
    for (size_t i = 0; command->group && i < command->group->figure_count; i++)
        if (strcmp(command->group->figures[i].name, quantity) == 0)
            return &command->group->figures[i];
    return NULL;
}

const struct comparison_quantity *bench_ratio(const struct bench_command *command,
                                              const char *quantity)
{
    for (size_t i = 0; command->compared && i < COMPARISON_MEASURED; i++) {
        const struct comparison_quantity *found = &command->comparison.quantities[i];
        if (strcmp(found->name, quantity) == 0)
            return found->ratio.valid ? found : NULL;
    }
    return NULL;
}

bool bench_is_of(const struct bench *bench, const struct dataset_experiment *experiment)
{
    EACH (command, bench->commands, bench->count)
        if (strcmp(command->name, experiment->repo) == 0)
            return true;
    return false;
}

/* Of one run's read-out, on average over those that count. */
static struct reading mean_half_width(const struct dataset *dataset,
                                      const struct summary_stats_group *group, bool cpu)
{
    double sum = 0;
    size_t n = 0;
    EACH (item, group->items, group->count) {
        const struct dataset_experiment *experiment = &dataset->items[*item];
        struct reading half = cpu ? experiment->cpu_half_width_j : experiment->gpu.half_width_j;
        sum += half.valid ? half.value : 0;
        n += half.valid;
    }
    return n ? (struct reading){sum / (double)n, true} : (struct reading){0};
}

static void take_use(const struct dataset *dataset, struct bench_command *command, size_t use)
{
    size_t count = command->group->count;
    struct bench_use *out = &command->uses[use];
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        struct reading value = bench_use_of(&dataset->items[command->group->items[i]], use);
        if (!value.valid)
            return;
        values[i] = value.value;
    }
    if (count == 0)
        return;
    out->mean = stats_mean(values, count);
    out->deviation = stats_deviation(values, count);
    stats_sort(values, count);
    out->highest = (struct reading){values[count - 1], true};
}

static void take_command(struct bench *bench, struct bench_command *command)
{
    EACH (experiment, bench->dataset.items, bench->dataset.count) {
        if (strcmp(experiment->repo, command->name) != 0)
            continue;
        command->planned++;
        command->ran += experiment->judged;
        command->failed += experiment->judged && !experiment->success;
        command->unverified += experiment->success && experiment->verdict == VERDICT_UNVERIFIED;
        command->suspect += experiment->success && experiment->verdict == VERDICT_SUSPECT;
        command->contaminated += experiment->success && experiment->verdict == VERDICT_CONTAMINATED;
    }
    EACH (item, bench->figures.groups, bench->figures.count)
        if (strcmp(item->like->repo, command->name) == 0)
            command->group = item;
    if (!command->group)
        return;
    command->gpu_half_width_j = mean_half_width(&bench->dataset, command->group, false);
    command->cpu_half_width_j = mean_half_width(&bench->dataset, command->group, true);
    for (size_t use = 0; use < BENCH_USES; use++)
        take_use(&bench->dataset, command, use);
}

/* Of those of which anything is known; else the first. */
static size_t find_fastest(const struct bench *bench)
{
    const struct figure *best = NULL;
    size_t found = 0;
    for (size_t i = 0; i < bench->count; i++) {
        const struct figure *figure = bench_figure(&bench->commands[i], "duration_s");
        if (figure && (!best || figure->mean.value < best->mean.value)) {
            best = figure;
            found = i;
        }
    }
    return found;
}

static bool choose_reference(struct bench *bench, const char *wanted, struct err *err)
{
    for (size_t i = 0; i < bench->count; i++)
        if (strcmp(bench->commands[i].name, wanted) == 0) {
            bench->reference = i;
            return true;
        }
    if (strcmp(wanted, "fastest") == 0)
        bench->reference = find_fastest(bench);
    return strcmp(wanted, "fastest") == 0 || strcmp(wanted, "first") == 0 ||
           err_set(err, "there is no command '%s' to compare with", wanted);
}

static void make_side(const struct bench *bench, size_t which, const char *dir,
                      struct comparison_side *out)
{
    const char *name = bench->commands[which].name;
    *out = (struct comparison_side){.text = mem_strdup(name), .path = mem_strdup(dir)};
    strv_add(&out->keys, "repo");
    strv_add(&out->values, name);
}

static void compare(struct bench *bench, size_t which, const struct bench_options *options)
{
    struct bench_command *command = &bench->commands[which];
    struct comparison *comparison = &command->comparison;
    if (which == bench->reference)
        return;
    make_side(bench, bench->reference, options->dir, &comparison->sides[0]);
    make_side(bench, which, options->dir, &comparison->sides[1]);
    comparison->dataset = bench->dataset; /* lent */
    comparison->rows = options->rows;
    command->compared = comparison_make(comparison, NULL);
}

static size_t count_blocks(const struct bench *bench)
{
    size_t most = 0;
    EACH (experiment, bench->dataset.items, bench->dataset.count) {
        if (experiment->judged && bench_is_of(bench, experiment) && experiment->block > most)
            most = experiment->block;
    }
    return most;
}

/* The values of those that count, by block and command; NAN where there is none. Blocks from 0. */
static double *make_blocks(const struct bench *bench, size_t blocks, const char *quantity)
{
    double *values = mem_array(blocks * bench->count + 1, sizeof *values);
    for (size_t i = 0; i < blocks * bench->count; i++)
        values[i] = NAN;
    for (size_t c = 0; c < bench->count; c++) {
        const struct summary_stats_group *group = bench->commands[c].group;
        for (size_t i = 0; group && i < group->count; i++) {
            const struct dataset_experiment *experiment = &bench->dataset.items[group->items[i]];
            struct reading value = summary_stats_value(experiment, quantity);
            if (value.valid && experiment->block > 0 && experiment->block <= blocks)
                values[(experiment->block - 1) * bench->count + c] = value.value;
        }
    }
    return values;
}

static void follow_sequence(struct bench *bench, size_t quantity,
                            const struct bench_options *options)
{
    bool fastest = strcmp(options->reference, bench->commands[bench->reference].name) != 0 &&
                   strcmp(options->reference, "fastest") == 0;
    struct bench_until until;
    AUTO_FREE double *values = make_blocks(bench, bench->blocks, bench_quantities[quantity]);
    bench_until_init(&until, bench->count, fastest ? BENCH_UNTIL_FASTEST : bench->reference);
    for (size_t block = 0; block < bench->blocks; block++)
        bench_until_block(&until, values + block * bench->count);
    for (size_t c = 0; c < bench->count; c++)
        if (c != bench->reference)
            bench->commands[c].sequences[quantity] = bench_until_ratio(&until, bench->reference, c);
    if (quantity == options->until->quantity)
        bench->reached = bench_until_enough(&until, options->until);
    bench_until_fini(&until);
}

bool bench_read(const struct bench_options *options, struct bench *out, struct err *err)
{
    struct summary_stats_options how = {
        .rows = options->rows, .seed = options->seed, .precision = 0.05};
    *out = (struct bench){0};
    if (!dataset_read(&out->dataset, options->dir, err))
        return false;
    audit_judge(&out->dataset);
    summary_stats_make(&out->dataset, &how, &out->figures);
    out->count = options->names->count;
    out->commands = mem_array(out->count + 1, sizeof *out->commands);
    for (size_t i = 0; i < out->count; i++) {
        out->commands[i].name = options->names->items[i];
        out->commands[i].command = options->commands->items[i];
        take_command(out, &out->commands[i]);
    }
    if (!choose_reference(out, options->reference, err))
        return false;
    for (size_t i = 0; i < out->count; i++)
        compare(out, i, options);
    out->until = options->until != NULL;
    out->blocks = count_blocks(out);
    for (size_t q = 0; out->until && q < BENCH_QUANTITIES; q++)
        follow_sequence(out, q, options);
    return true;
}

void bench_fini(struct bench *bench)
{
    EACH (command, bench->commands, bench->count) {
        command->comparison.dataset = (struct dataset){0}; /* was lent */
        comparison_fini(&command->comparison);
    }
    free(bench->commands);
    summary_stats_fini(&bench->figures);
    dataset_fini(&bench->dataset);
    *bench = (struct bench){0};
}

void bench_until_init(struct bench_until *until, size_t commands, size_t reference)
{
    *until = (struct bench_until){.commands = commands, .reference = reference};
    until->pairs = mem_array(commands * commands + 1, sizeof *until->pairs);
    until->log_sums = mem_array(commands + 1, sizeof *until->log_sums);
}

void bench_until_fini(struct bench_until *until)
{
    for (size_t i = 0; i < until->commands * until->commands; i++)
        stats_sequence_fini(&until->pairs[i]);
    free(until->pairs);
    free(until->log_sums);
    *until = (struct bench_until){0};
}

static bool counts(double value)
{
    return isfinite(value) && value > 0;
}

void bench_until_block(struct bench_until *until, const double *values)
{
    bool all = true, fastest = until->reference == BENCH_UNTIL_FASTEST;
    for (size_t a = 0; a < until->commands; a++) {
        all = all && counts(values[a]);
        for (size_t b = a + 1; b < until->commands; b++)
            if ((fastest || until->reference == a || until->reference == b) && counts(values[a]) &&
                counts(values[b]))
                /* Exact negatives both ways, so that equal ratios tie: log(b / a) and log(a / b)
                 * are not. */
                stats_sequence_add(&until->pairs[a * until->commands + b],
                                   log(values[b]) - log(values[a]));
    }
    for (size_t a = 0; all && a < until->commands; a++)
        until->log_sums[a] += log(values[a]);
    until->blocks++;
}

/* Of one pair: all of them are right together (Bonferroni). */
static double alpha_of_pair(const struct bench_until *until)
{
    double n = (double)until->commands;
    double pairs = until->reference == BENCH_UNTIL_FASTEST ? n * (n - 1) / 2 : n - 1;
    return 0.05 / (pairs < 1 ? 1 : pairs);
}

static const struct stats_sequence *pair_of(const struct bench_until *until, size_t a, size_t b)
{
    return &until->pairs[a < b ? a * until->commands + b : b * until->commands + a];
}

int bench_until_sign(const struct bench_until *until, size_t a, size_t b)
{
    return (a < b ? 1 : -1) * stats_sequence_sign(pair_of(until, a, b), alpha_of_pair(until));
}

struct bench_until_ratio bench_until_ratio(const struct bench_until *until, size_t a, size_t b)
{
    const struct stats_sequence *pair = pair_of(until, a, b);
    struct stats_sequence_interval found = stats_sequence_interval(pair, alpha_of_pair(until));
    struct bench_until_ratio out = {.blocks = pair->count};
    if (!found.any)
        return out;
    double way = a < b ? 1 : -1;
    out.ratio = exp(way * found.centre);
    out.sign = bench_until_sign(until, a, b);
    out.has_low = a < b ? found.has_low : found.has_high;
    out.has_high = a < b ? found.has_high : found.has_low;
    out.low = out.has_low ? exp(a < b ? found.low : -found.high) : 0;
    out.high = out.has_high ? exp(a < b ? found.high : -found.low) : 0;
    return out;
}

static bool pair_is_enough(const struct bench_until *until, size_t a, size_t b,
                           const struct bench_until_options *options)
{
    if (options->decided && bench_until_sign(until, a, b) != 0)
        return true;
    if (!(options->share > 0))
        return false;
    struct bench_until_ratio ratio = bench_until_ratio(until, a, b);
    return ratio.has_low && ratio.has_high &&
           log(ratio.high / ratio.low) / 2 <= log1p(options->share);
}

bool bench_until_enough(const struct bench_until *until, const struct bench_until_options *options)
{
    bool fastest = until->reference == BENCH_UNTIL_FASTEST, enough = until->commands > 1;
    size_t reference = fastest ? 0 : until->reference;
    for (size_t i = 1; fastest && i < until->commands; i++)
        if (until->log_sums[i] < until->log_sums[reference])
            reference = i;
    for (size_t i = 0; i < until->commands && enough; i++)
        enough = i == reference || pair_is_enough(until, reference, i, options);
    return enough;
}
