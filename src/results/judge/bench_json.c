#include "results/judge/bench.h"

#include "results/judge/audit_json.h"
#include "results/judge/figures.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"

#include <inttypes.h>
#include <string.h>

static json_t *evidence_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_array();
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        json_t *item = json_object();
        json_object_set_new(item, "kind", json_text_or_null(experiment->evidence[i].kind));
        json_object_set_new(item, "text", json_text_or_null(experiment->evidence[i].text));
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *run_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    json_object_set_new(out, "experiment_id", json_text_or_null(experiment->id));
    json_object_set_new(out, "block", experiment->block ? json_integer((json_int_t)experiment->block) : json_null());
    json_object_set_new(out, "success", experiment->has_success ? json_boolean(experiment->success) : json_null());
    json_object_set_new(out, "error", json_text_or_null(experiment->error));
    json_object_set_new(out, "verdict", json_string(verdict_name(experiment->verdict)));
    for (size_t i = 0; i < BENCH_QUANTITIES; i++)
        json_object_set_new(out, bench_quantities[i],
                            json_reading_or_null(figures_value(experiment, bench_quantities[i])));
    for (size_t i = 0; i < BENCH_USES; i++)
        json_object_set_new(out, bench_uses[i], json_reading_or_null(bench_use_of(experiment, i)));
    json_object_set_new(out, "evidence", evidence_json(experiment));
    return out;
}

static json_t *uses_json(const struct bench_command *command)
{
    json_t *out = json_object();
    for (size_t i = 0; i < BENCH_USES; i++) {
        json_t *item = json_object();
        json_set_reading(item, "mean", command->uses[i].mean);
        json_set_reading(item, "deviation", command->uses[i].deviation);
        json_set_reading(item, "highest", command->uses[i].highest);
        json_object_set_new(out, bench_uses[i], item);
    }
    return out;
}

static json_t *sequences_json(const struct bench_command *command)
{
    json_t *out = json_object();
    for (size_t i = 0; i < BENCH_QUANTITIES; i++) {
        const struct bench_until_ratio *ratio = &command->sequences[i];
        if (ratio->blocks == 0)
            continue;
        json_t *item = json_object();
        json_set_count(item, "blocks", ratio->blocks);
        json_set_reading(item, "ratio", (struct reading){ratio->ratio, true});
        json_set_reading(item, "low", (struct reading){ratio->low, ratio->has_low});
        json_set_reading(item, "high", (struct reading){ratio->high, ratio->has_high});
        json_object_set_new(item, "sign", json_integer(ratio->sign));
        json_object_set_new(out, bench_quantities[i], item);
    }
    return out;
}

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

static json_t *command_json(const struct bench *bench, const struct bench_command *command)
{
    json_t *out = json_object(), *figures = json_array(), *runs = json_array();
    json_object_set_new(out, "name", json_text_or_null(command->name));
    json_object_set_new(out, "command", json_text_or_null(command->command));
    json_set_count(out, "planned", command->planned);
    json_set_count(out, "ran", command->ran);
    json_set_count(out, "failed", command->failed);
    json_set_count(out, "unverified", command->unverified);
    json_set_count(out, "suspect", command->suspect);
    json_set_count(out, "contaminated", command->contaminated);
    json_set_count(out, "n", command->group ? command->group->count : 0);
    for (size_t i = 0; i < BENCH_QUANTITIES; i++) {
        const struct figure *figure = bench_figure(command, bench_quantities[i]);
        if (figure)
            json_array_append_new(figures, figures_figure_json(figure));
    }
    json_object_set_new(out, "figures", figures);
    json_object_set_new(out, "uses", uses_json(command));
    json_set_reading(out, "gpu_half_width_j", command->gpu_half_width_j);
    json_set_reading(out, "cpu_half_width_j", command->cpu_half_width_j);
    json_object_set_new(out, "against",
                        command->compared ? versus_json(&command->versus, (struct reading){0}) : json_null());
    if (bench->until)
        json_object_set_new(out, "until", command->sequences[0].blocks ? sequences_json(command) : json_null());
    for (size_t i = 0; i < bench->dataset.count; i++)
        if (strcmp(bench->dataset.items[i].repo, command->name) == 0 && bench->dataset.items[i].judged)
            json_array_append_new(runs, run_json(&bench->dataset.items[i]));
    json_object_set_new(out, "runs", runs);
    return out;
}

json_t *bench_json(const struct bench *bench, const struct bench_frame *frame)
{
    json_t *out = json_object(), *commands = json_array();
    json_object_set_new(out, "results", json_text_or_null(frame->dir));
    json_object_set_new(out, "seed", json_integer((json_int_t)frame->seed));
    json_object_set_new(out, "order", json_string("blocks"));
    json_object_set_new(out, "runs", json_integer(frame->runs));
    json_object_set_new(out, "warmup", json_integer(frame->warmup));
    json_object_set_new(out, "verdicts", json_string(frame->verdicts));
    if (frame->until)
        json_object_set_new(out, "until", until_json(bench, frame->until));
    json_object_set_new(out, "reference", json_text_or_null(bench->commands[bench->reference].name));
    for (size_t i = 0; i < bench->count; i++)
        json_array_append_new(commands, command_json(bench, &bench->commands[i]));
    json_object_set_new(out, "commands", commands);
    return out;
}

static void add_number(struct text *out, struct reading reading)
{
    char digits[32] = "";
    if (reading.valid)
        number_shortest(reading.value, digits);
    text_add_char(out, ',');
    text_add(out, digits);
}

static void add_interval(struct text *out, const struct stats_interval *interval)
{
    bool known = interval && interval->method != STATS_NONE;
    add_number(out, (struct reading){known ? interval->low : 0, known});
    add_number(out, (struct reading){known ? interval->high : 0, known});
}

static void add_row(const struct bench_command *command, const struct figure *figure, struct text *out)
{
    const struct versus_quantity *ratio = bench_ratio(command, figure->name);
    csv_add_cell(out, command->name);
    text_add_char(out, ',');
    csv_add_cell(out, command->command);
    text_addf(out, ",%s,%zu", figure->name, figure->n);
    add_number(out, figure->mean);
    add_number(out, figure->deviation);
    add_interval(out, &figure->mean_interval);
    add_number(out, figure->median);
    add_number(out, figure->lowest);
    add_number(out, figure->highest);
    add_number(out, ratio ? (struct reading){ratio->ratio.ratio, true} : (struct reading){0});
    add_interval(out, ratio ? &ratio->ratio.interval : NULL);
    text_add_char(out, '\n');
}

void bench_csv(const struct bench *bench, struct text *out)
{
    text_add(out, "name,command,quantity,n,mean,deviation,mean_low,mean_high,median,lowest,highest,ratio,ratio_low,"
                  "ratio_high\n");
    for (size_t i = 0; i < bench->count; i++)
        for (size_t k = 0; k < BENCH_QUANTITIES; k++) {
            const struct figure *figure = bench_figure(&bench->commands[i], bench_quantities[k]);
            if (figure)
                add_row(&bench->commands[i], figure, out);
        }
}
