#include "report/bench_text.h"
#include "report/comparison_text.h"

#include "base/amount.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/audit_text.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

enum { MOST_NAME = 16, LEAST_COMMAND = 20, MOST_EVIDENCE = 12, MOST_DECIMALS = 6, DIGITS = 4 };

/* How each quantity is shown; times that are all below a second in milliseconds. */
static const struct {
    const char *label, *unit, *small_unit;
    double small_times;
} shown[BENCH_QUANTITIES] = {
    {"time", "s", "ms", 1000},
    {"GPU energy", "J", NULL, 0},
    {"GPU power", "W", NULL, 0},
    {"CPU energy", "J", NULL, 0},
};

struct page {
    const struct bench *bench;
    const struct bench_text_options *options;
    struct text *out;
};

static bool is_small_quantity(const struct bench *bench, size_t quantity)
{
    EACH (command, bench->commands, bench->count) {
        const struct figure *figure = bench_figure(command, bench_quantities[quantity]);
        if (figure && figure->mean.value >= 1)
            return false;
    }
    return shown[quantity].small_unit != NULL;
}

/* As many decimals as the deviation allows; without one, so many that the mean has four figures. */
static int decimals_of(const struct figure *figure, double times)
{
    bool spread = figure->deviation.valid && figure->deviation.value > 0;
    double size = times * (spread ? figure->deviation.value : fabs(figure->mean.value));
    double most = !(size > 0) ? 0
                  : spread    ? -amount_last_place(size)
                              : DIGITS - 1 - floor(log10(size));
    return most < 0 ? 0 : most > MOST_DECIMALS ? MOST_DECIMALS : (int)most;
}

static void add_figure_row(const struct page *page, struct table *table,
                           const struct bench_command *command, size_t quantity, bool *named)
{
    const struct figure *figure = bench_figure(command, bench_quantities[quantity]);
    if (!figure)
        return;
    bool small = is_small_quantity(page->bench, quantity);
    double times = small ? shown[quantity].small_times : 1;
    int decimals = decimals_of(figure, times);
    char *mean = figure->deviation.valid
                     ? mem_printf("%.*f ± %.*f", decimals, figure->mean.value * times, decimals,
                                  figure->deviation.value * times)
                     : mem_printf("%.*f", decimals, figure->mean.value * times);
    char *interval = figure->mean_interval.method == STATS_NONE
                         ? NULL
                         : mem_printf("%.*f–%.*f", decimals, figure->mean_interval.low * times,
                                      decimals, figure->mean_interval.high * times);
    table_row(table,
              audit_text_fit(*named ? "" : command->name, page->options->width ? MOST_NAME : 0),
              mem_strdup(shown[quantity].label),
              mem_strdup(small ? shown[quantity].small_unit : shown[quantity].unit),
              mem_printf("%zu", figure->n), mean, interval,
              mem_printf("%.*f", decimals, figure->median.value * times),
              mem_printf("%.*f–%.*f", decimals, figure->lowest.value * times, decimals,
                         figure->highest.value * times));
    table_tint(table, 0, "\x1b[1m");
    *named = true;
}

static void add_bench_commands(const struct page *page)
{
    size_t width = page->options->width, widest = 0;
    EACH (item, page->bench->commands, page->bench->count) {
        AUTO_FREE char *name = audit_text_fit(item->name, width ? MOST_NAME : 0);
        size_t columns = utf8_columns(name);
        widest = columns > widest ? columns : widest;
    }
    EACH (command, page->bench->commands, page->bench->count) {
        size_t left = width > widest + 2 + LEAST_COMMAND ? width - widest - 2 : LEAST_COMMAND;
        AUTO_FREE char *name = audit_text_fit(command->name, width ? MOST_NAME : 0);
        AUTO_FREE char *text = audit_text_fit(command->command, width ? left : 0);
        text_addf(page->out, "%s%s%s%*s  %s\n", page->options->colour ? "\x1b[1m" : "", name,
                  page->options->colour ? "\x1b[0m" : "", (int)(widest - utf8_columns(name)), "",
                  text);
    }
    text_add_char(page->out, '\n');
}

static void add_bench_figures(const struct page *page)
{
    struct table *table = table_of(page->options->colour, "", "quantity", "", ">n", ">mean ± sd",
                                   ">95 % of mean", ">median", ">range");
    EACH (command, page->bench->commands, page->bench->count) {
        bool named = false;
        for (size_t k = 0; k < BENCH_QUANTITIES; k++)
            add_figure_row(page, table, command, k, &named);
    }
    if (table_rows(table) == 0)
        text_add(page->out, "no run counts, so there are no figures\n");
    table_end(table, page->out);
}

static void add_meter_half_width(const struct page *page, const struct bench_command *command,
                                 const char *what, struct reading half_width, const char *quantity)
{
    const struct figure *figure = bench_figure(command, quantity);
    if (!half_width.valid || !figure || figure->mean.value <= 0)
        return;
    AUTO_FREE char *name = audit_text_fit(command->name, page->options->width ? MOST_NAME : 0);
    AUTO_FREE char *energy = amount_format_with(figure->mean, half_width, "J");
    text_addf(page->out, "%s: the %s energy of one run: %s (95 %%, without the sensor's gain)\n",
              name, what, energy);
}

static void add_use_seconds(struct text *out, const char *label, const struct bench_use *use)
{
    double times = use->mean.value < 1 ? 1000 : 1;
    if (!use->mean.valid)
        return;
    text_addf(out, "%s%s %.*f", out->length ? ", " : "", label, times > 1 ? 1 : 2,
              use->mean.value * times);
    if (use->deviation.valid)
        text_addf(out, " ± %.*f", times > 1 ? 1 : 2, use->deviation.value * times);
    text_add(out, times > 1 ? " ms" : " s");
}

static void add_command_uses(const struct page *page, const struct bench_command *command)
{
    AUTO_TEXT struct text uses = {0};
    const struct reading *peak = &command->uses[2].highest;
    add_use_seconds(&uses, "user", &command->uses[0]);
    add_use_seconds(&uses, "system", &command->uses[1]);
    if (peak->valid)
        text_addf(&uses, "%smemory at most %.1f MiB", uses.length ? ", " : "",
                  peak->value / 1048576);
    if (uses.length == 0)
        return;
    AUTO_FREE char *name = audit_text_fit(command->name, page->options->width ? MOST_NAME : 0);
    text_addf(page->out, "%s: %s\n", name, text_get(&uses));
}

/* finding: NULL: they differ. */
static void add_times_line(const struct page *page, size_t quantity, const char *times,
                           const char *finding)
{
    bool bold = !finding && page->options->colour;
    text_addf(page->out, "  %-10s  %s%s%s times%s%s\n", shown[quantity].label,
              bold ? "\x1b[1m" : "", times, bold ? "\x1b[0m" : "", finding ? ": " : "",
              finding ? finding : "");
}

static void add_ratio_line(const struct page *page, const struct bench_command *command,
                           size_t quantity)
{
    const struct comparison_quantity *ratio = bench_ratio(command, bench_quantities[quantity]);
    if (!ratio)
        return;
    AUTO_FREE char *text = summary_stats_text_interval(ratio->ratio.ratio, &ratio->ratio.interval);
    AUTO_FREE char *finding = comparison_finding_text(&command->comparison, ratio);
    add_times_line(page, quantity, text, ratio->finding == COMPARISON_DIFFERENT ? NULL : finding);
}

/* "1.5 (1.21 to 1.69)", "1.5 (over 1.21)", "1.5"; fresh. */
static char *followed_text(const struct bench_until_ratio *ratio)
{
    struct stats_interval interval = {ratio->low, ratio->high, STATS_ORDER};
    if (ratio->has_low && ratio->has_high)
        return summary_stats_text_interval(ratio->ratio, &interval);
    if (ratio->has_low || ratio->has_high)
        return mem_printf("%.4g (%s %.4g)", ratio->ratio, ratio->has_low ? "over" : "under",
                          ratio->has_low ? ratio->low : ratio->high);
    return mem_printf("%.4g", ratio->ratio);
}

/* The ratios as they were followed from block to block. */
static void add_ratio_sequences(const struct page *page, const struct bench_command *command,
                                const char *name, const char *reference)
{
    text_addf(
        page->out,
        "%s against %s, after each of %zu blocks (95 %% interval, valid after every block):\n",
        name, reference, command->sequences[0].blocks);
    for (size_t k = 0; k < BENCH_QUANTITIES; k++) {
        const struct bench_until_ratio *ratio = &command->sequences[k];
        if (ratio->blocks == 0)
            continue;
        AUTO_FREE char *text = followed_text(ratio);
        add_times_line(page, k, text, ratio->sign == 0 ? "no significant difference" : NULL);
    }
}

static void add_until_options(const struct page *page)
{
    const struct bench_until_options *until = page->options->until;
    if (until->share > 0)
        text_addf(page->out, "--until %.3g%%%s", 100 * until->share,
                  until->decided ? " --until-decided" : "");
    else
        text_add(page->out, "--until-decided");
    if (until->quantity)
        text_addf(page->out, " of %s", shown[until->quantity].label);
    text_addf(page->out,
              page->bench->reached ? ": reached by %zu block%s\n"
                                   : ": not reached by %zu block%s\n",
              page->bench->blocks, page->bench->blocks == 1 ? "" : "s");
}

static void add_bench_comparison(const struct page *page, const struct bench_command *command)
{
    AUTO_FREE char *name = audit_text_fit(command->name, 0);
    AUTO_FREE char *reference =
        audit_text_fit(page->bench->commands[page->bench->reference].name, 0);
    if (page->options->until && command->sequences[0].blocks) {
        add_ratio_sequences(page, command, name, reference);
        return;
    }
    size_t blocks = command->compared ? comparison_blocks(&command->comparison) : 0;
    if (!command->compared) {
        text_addf(page->out, "%s against %s: too few runs count\n", name, reference);
        return;
    }
    text_addf(page->out, "%s against %s", name, reference);
    if (blocks)
        text_addf(page->out, ", paired by %zu blocks", blocks);
    text_add(page->out, " (95 % interval):\n");
    for (size_t k = 0; k < BENCH_QUANTITIES; k++)
        add_ratio_line(page, command, k);
}

static void add_counted_word(struct text *out, size_t count, const char *word)
{
    if (count)
        text_addf(out, "%s%zu %s", out->length ? ", " : "", count, word);
}

/* How many runs count, where that is not all of them. */
static void add_run_count(const struct page *page, const struct bench_command *command)
{
    size_t counted = command->group ? command->group->count : 0;
    AUTO_TEXT struct text why = {0};
    add_counted_word(&why, command->failed, "failed");
    add_counted_word(&why, command->contaminated,
                     page->options->rows == AUDIT_ROWS_ALL ? "contaminated (counted)"
                                                           : "contaminated");
    add_counted_word(&why, command->suspect,
                     page->options->rows == AUDIT_ROWS_CLEAN ? "suspect" : "suspect (counted)");
    add_counted_word(&why, command->unverified,
                     page->options->rows == AUDIT_ROWS_CLEAN ? "unverified"
                                                             : "unverified (counted)");
    if (!page->bench->reached)
        add_counted_word(&why, command->planned - command->ran, "did not run");
    if (why.length == 0)
        return;
    AUTO_FREE char *name = audit_text_fit(command->name, 0);
    text_addf(page->out, "%s: %zu of %zu runs count: %s\n", name, counted,
              page->bench->reached ? command->ran : command->planned, text_get(&why));
}

static bool is_shown_evidence(const struct dataset_evidence *evidence)
{
    return evidence_weight(evidence->kind) != EVIDENCE_RECORDED ||
           strcmp(evidence->kind, "outlier") == 0;
}

/* Evidence of one kind: how many runs have it, the first of them, and what it is there. */
struct shared_evidence {
    const char *kind, *text;
    const struct dataset_experiment *first;
    size_t runs;
};

static void count_run_evidence(const struct dataset_experiment *experiment,
                               struct shared_evidence *kinds, size_t *count)
{
    EACH (evidence, experiment->evidence, experiment->evidence_count) {
        size_t at = 0;
        while (at < *count && strcmp(kinds[at].kind, evidence->kind) != 0)
            at++;
        if (at == MOST_EVIDENCE || !is_shown_evidence(evidence))
            continue;
        if (at == *count)
            kinds[(*count)++] =
                (struct shared_evidence){evidence->kind, evidence->text, experiment, 0};
        kinds[at].runs++;
    }
}

static void add_bench_evidence(const struct page *page)
{
    struct shared_evidence kinds[MOST_EVIDENCE];
    size_t count = 0;
    bool cold = false;
    EACH (experiment, page->bench->dataset.items, page->bench->dataset.count) {
        bool is_outlier = dataset_has_evidence(experiment, "outlier");
        if ((experiment->verdict <= VERDICT_CLEAN && !is_outlier) ||
            !bench_is_of(page->bench, experiment))
            continue;
        cold |= !page->options->warmed && experiment->block == 1 && is_outlier;
        count_run_evidence(experiment, kinds, &count);
    }
    for (size_t k = 0; k < count; k++) {
        AUTO_FREE char *line =
            mem_printf("  %s (%zu run%s): %s: %s", kinds[k].kind, kinds[k].runs,
                       kinds[k].runs == 1 ? "" : "s", kinds[k].first->id, kinds[k].text);
        AUTO_FREE char *fit = audit_text_fit(line, 0);
        text_addf(page->out, "%s\n", fit);
    }
    AUTO_FREE char *dir = shell_words_path(page->options->dir);
    if (count)
        text_addf(page->out, "  of each run: %s audit %s\n", page->options->program, dir);
    if (cold)
        text_add(page->out,
                 "the first run stands out: --warmup 1 runs each command once before it counts\n");
}

/* A code span keeps a bar as it is, a table does not. */
static void add_code_cell(struct text *out, const char *command)
{
    AUTO_FREE char *shown_text = audit_text_fit(command, 0);
    text_add(out, "| `` ");
    for (const char *at = shown_text; *at; at++)
        text_addf(out, *at == '|' ? "\\%c" : "%c", *at);
    text_add(out, " `` |");
}

static void add_markdown_figure(const struct bench *bench, const struct bench_command *command,
                                size_t quantity, struct text *out)
{
    const struct figure *figure = bench_figure(command, bench_quantities[quantity]);
    double times = is_small_quantity(bench, quantity) ? shown[quantity].small_times : 1;
    if (!figure) {
        text_add(out, " |");
        return;
    }
    int decimals = decimals_of(figure, times);
    text_addf(out, " %.*f", decimals, figure->mean.value * times);
    if (figure->deviation.valid)
        text_addf(out, " ± %.*f", decimals, figure->deviation.value * times);
    if (quantity == 0)
        text_addf(out, " | %.*f | %.*f", decimals, figure->lowest.value * times, decimals,
                  figure->highest.value * times);
    text_add(out, " |");
}

static void add_markdown_ratio(const struct bench *bench, size_t which, struct text *out)
{
    const struct bench_command *command = &bench->commands[which];
    const struct bench_until_ratio *followed = &command->sequences[0];
    const struct comparison_quantity *ratio = bench_ratio(command, bench_quantities[0]);
    bool until = bench->until && followed->blocks;
    AUTO_FREE char *text =
        which == bench->reference ? mem_strdup("1")
        : until                   ? followed_text(followed)
        : ratio ? summary_stats_text_interval(ratio->ratio.ratio, &ratio->ratio.interval)
                : mem_strdup("");
    text_addf(out, " %s |", text);
}

void bench_markdown(const struct bench *bench, struct text *out)
{
    bool has[BENCH_QUANTITIES] = {true};
    EACH (item, bench->commands, bench->count)
        for (size_t k = 0; k < BENCH_QUANTITIES; k++)
            has[k] = has[k] || bench_figure(item, bench_quantities[k]);
    const char *unit = is_small_quantity(bench, 0) ? shown[0].small_unit : shown[0].unit;
    text_addf(out, "| command | n | time [%s] | min [%s] | max [%s] |", unit, unit, unit);
    for (size_t k = 1; k < BENCH_QUANTITIES; k++)
        if (has[k])
            text_addf(out, " %s [%s] |", shown[k].label, shown[k].unit);
    text_addf(out, "%s\n|:---|---:|---:|---:|---:|",
              bench->count > 1 ? " times as long (95 %) |" : "");
    for (size_t k = 1; k < BENCH_QUANTITIES; k++)
        text_add(out, has[k] ? "---:|" : "");
    text_add(out, bench->count > 1 ? "---:|\n" : "\n");
    for (size_t i = 0; i < bench->count; i++) {
        const struct bench_command *command = &bench->commands[i];
        bool any = bench_figure(command, bench_quantities[0]);
        add_code_cell(out, command->command);
        text_addf(out, " %zu |", command->group ? command->group->count : 0);
        if (!any)
            text_add(out, " | |");
        for (size_t k = 0; k < BENCH_QUANTITIES; k++)
            if (has[k])
                add_markdown_figure(bench, command, k, out);
        if (bench->count > 1)
            add_markdown_ratio(bench, i, out);
        text_add_char(out, '\n');
    }
}

void bench_text(const struct bench *bench, const struct bench_text_options *options,
                struct text *out)
{
    const struct page page = {bench, options, out};
    add_bench_commands(&page);
    size_t begin = out->length;
    EACH (item, bench->commands, bench->count)
        add_run_count(&page, item);
    add_bench_evidence(&page);
    if (out->length > begin)
        text_add_char(out, '\n');
    add_bench_figures(&page);
    EACH (command, bench->commands, bench->count) {
        add_command_uses(&page, command);
        add_meter_half_width(&page, command, "GPU", command->gpu_half_width_j, "gpu_energy_j");
        add_meter_half_width(&page, command, "CPU", command->cpu_half_width_j, "cpu_energy_j");
    }
    for (size_t i = 0; i < bench->count; i++)
        if (i != bench->reference)
            add_bench_comparison(&page, &bench->commands[i]);
    if (options->until)
        add_until_options(&page);
}
