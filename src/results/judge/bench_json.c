#include "results/judge/bench.h"
#include "results/judge/comparison_json.h"
#include "results/judge/summary_stats_json.h"

#include "base/json.h"
#include "base/mem.h"
#include "results/judge/judge.h"

#include <inttypes.h>
#include <string.h>

static const struct record_field evidence_fields[] = {
    RECORD(struct dataset_evidence, kind), RECORD(struct dataset_evidence, text), {0}};

static const struct record_field run_fields[] = {
    RECORD_AS(struct dataset_experiment, "experiment_id", id),
    RECORD_IF(struct dataset_experiment, block, "block", block),
    RECORD_IF(struct dataset_experiment, has_success, "success", success),
    RECORD(struct dataset_experiment, error),
    RECORD_ENUM(struct dataset_experiment, "verdict", verdict, verdict_name),
    {0}};
static const struct record_field run_evidence[] = {RECORD_STRUCTS(struct dataset_experiment,
                                                                  "evidence", evidence,
                                                                  evidence_count, evidence_fields),
                                                   {0}};

static json_t *run_json(const struct dataset_experiment *experiment)
{
    json_t *out = record_json(run_fields, experiment);
    EACH (bench_quantity, bench_quantities, BENCH_QUANTITIES)
        json_object_set_new(out, *bench_quantity,
                            json_reading_or_null(summary_stats_value(experiment, *bench_quantity)));
    for (size_t i = 0; i < BENCH_USES; i++)
        json_object_set_new(out, bench_uses[i], json_reading_or_null(bench_use_of(experiment, i)));
    record_set(out, run_evidence, experiment);
    return out;
}

#define USE(member) RECORD(struct bench_use, member)
static const struct record_field use_fields[] = {USE(mean), USE(deviation), USE(highest), {0}};

#define RATIO_IF(known, key, member) RECORD_IF(struct bench_until_ratio, known, key, member)
static const struct record_field ratio_fields[] = {RECORD(struct bench_until_ratio, blocks),
                                                   RECORD(struct bench_until_ratio, ratio),
                                                   RATIO_IF(has_low, "low", low),
                                                   RATIO_IF(has_high, "high", high),
                                                   RECORD(struct bench_until_ratio, sign),
                                                   {0}};

static json_t *until_json(const struct bench *bench, const struct bench_until_options *until)
{
    json_t *out = json_object();
    json_set_reading(out, "share", (struct reading){until->share, until->share > 0});
    json_object_set_new(out, "decided", json_boolean(until->decided));
    json_object_set_new(out, "of", json_string(bench_quantities[until->quantity]));
    json_object_set_new(out, "reached", json_boolean(bench->reached));
    json_set_count(out, "blocks", bench->blocks);
    return out;
}

#define COMMAND(member) RECORD(struct bench_command, member)
static const struct record_field command_fields[] = {
    COMMAND(name),       COMMAND(command), COMMAND(planned),      COMMAND(ran), COMMAND(failed),
    COMMAND(unverified), COMMAND(suspect), COMMAND(contaminated), {0}};
static const struct record_field command_widths[] = {
    COMMAND(gpu_half_width_j), COMMAND(cpu_half_width_j), {0}};

/* Where the ratios were followed from block to block, those decide, as in the text. */
static json_t *against_json(const struct bench_command *command)
{
    if (!command->compared)
        return json_null();
    json_t *out = comparison_json(&command->comparison),
           *quantities = json_object_get(out, "quantities");
    for (size_t i = 0; i < BENCH_QUANTITIES; i++)
        for (size_t k = 0; command->sequences[i].blocks && k < json_array_size(quantities); k++) {
            json_t *quantity = json_array_get(quantities, k);
            bool apart = command->sequences[i].sign != 0;
            if (strcmp(json_string_value(json_object_get(quantity, "name")), bench_quantities[i]) !=
                0)
                continue;
            json_object_set_new(quantity, "told_apart", json_boolean(apart));
            json_set_text(
                quantity, "finding",
                comparison_finding_name(apart ? COMPARISON_DIFFERENT : COMPARISON_NO_DIFFERENCE));
            json_set_text(quantity, "not_tested", NULL);
            json_set_text(quantity, "test", "confidence_sequence");
        }
    return out;
}

static json_t *command_json(const struct bench *bench, const struct bench_command *command)
{
    json_t *out = record_json(command_fields, command), *figures = json_array(),
           *runs = json_array();
    json_t *uses = json_object();
    json_set_count(out, "n", command->group ? command->group->count : 0);
    EACH (bench_quantity, bench_quantities, BENCH_QUANTITIES) {
        const struct figure *figure = bench_figure(command, *bench_quantity);
        if (figure)
            json_array_append_new(figures, summary_stats_stat_json(figure));
    }
    json_object_set_new(out, "figures", figures);
    for (size_t i = 0; i < BENCH_USES; i++)
        json_object_set_new(uses, bench_uses[i], record_json(use_fields, &command->uses[i]));
    json_object_set_new(out, "uses", uses);
    record_set(out, command_widths, command);
    json_object_set_new(out, "against", against_json(command));
    json_t *until = command->sequences[0].blocks ? json_object() : json_null();
    for (size_t i = 0; i < BENCH_QUANTITIES; i++)
        if (command->sequences[i].blocks)
            json_object_set_new(until, bench_quantities[i],
                                record_json(ratio_fields, &command->sequences[i]));
    if (bench->until)
        json_object_set(out, "until", until);
    json_decref(until);
    EACH (item, bench->dataset.items, bench->dataset.count)
        if (strcmp(item->repo, command->name) == 0 && item->judged)
            json_array_append_new(runs, run_json(item));
    json_object_set_new(out, "runs", runs);
    return out;
}

json_t *bench_json(const struct bench *bench, const struct bench_frame *frame)
{
    json_t *out = json_object(), *commands = json_array();
    json_set_text(out, "results", frame->dir);
    json_set_count(out, "seed", frame->seed);
    json_set_text(out, "order", "blocks");
    json_object_set_new(out, "runs", json_integer(frame->runs));
    json_object_set_new(out, "warmup", json_integer(frame->warmup));
    json_object_set_new(out, "verdicts", json_string(frame->verdicts));
    if (frame->until)
        json_object_set_new(out, "until", until_json(bench, frame->until));
    json_set_text(out, "reference", bench->commands[bench->reference].name);
    EACH (command, bench->commands, bench->count)
        json_array_append_new(commands, command_json(bench, command));
    json_object_set_new(out, "commands", commands);
    return out;
}

#define COLUMN(key, member)              RECORD_AS(struct figure, key, member)
#define BOUND(of, interval, key, member) RECORD_IF(of, interval.method, key, interval.member)
static const struct record_field figure_columns[] = {
    COLUMN("quantity", name),
    COLUMN("n", n),
    COLUMN("mean", mean),
    COLUMN("deviation", deviation),
    BOUND(struct figure, mean_interval, "mean_low", low),
    BOUND(struct figure, mean_interval, "mean_high", high),
    COLUMN("median", median),
    COLUMN("lowest", lowest),
    COLUMN("highest", highest),
    {0}};
static const struct record_field name_columns[] = {COMMAND(name), COMMAND(command), {0}};
static const struct record_field ratio_columns[] = {
    RECORD(struct stats_ratio, ratio),
    BOUND(struct stats_ratio, interval, "ratio_low", low),
    BOUND(struct stats_ratio, interval, "ratio_high", high),
    {0}};

static void add_row(const struct bench_command *command, const struct figure *figure,
                    struct text *out)
{
    const struct comparison_quantity *ratio = bench_ratio(command, figure->name);
    record_csv_row(name_columns, command, out);
    text_add_char(out, ',');
    record_csv_row(figure_columns, figure, out);
    text_add_char(out, ',');
    if (ratio)
        record_csv_row(ratio_columns, &ratio->ratio, out);
    else
        text_add(out, ",,");
    text_add_char(out, '\n');
}

void bench_csv(const struct bench *bench, struct text *out)
{
    record_csv_header(name_columns, out);
    text_add_char(out, ',');
    record_csv_header(figure_columns, out);
    text_add_char(out, ',');
    record_csv_header(ratio_columns, out);
    text_add_char(out, '\n');
    EACH (command, bench->commands, bench->count)
        EACH (bench_quantity, bench_quantities, BENCH_QUANTITIES) {
            const struct figure *figure = bench_figure(command, *bench_quantity);
            if (figure)
                add_row(command, figure, out);
        }
}
