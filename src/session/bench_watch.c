/* Collects the measurements of tare bench during its run, and shows them at its end. */
#include "base/fs_output.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "plan/event_facts.h"
#include "report/bench_text.h"
#include "report/live/width.h"
#include "results/judge/bench.h"
#include "results/judge/rows.h"
#include "session/bench_input.h"
#include "session/command.h"
#include "session/message.h"
#include "tare_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_export_file(const char *file, const struct text *text, struct err *err)
{
    return !file || fs_write_output(file, text_get(text), text->length, err);
}

static bool export(const struct bench_end *end, const struct bench *bench, const struct text *json)
{
    struct err err = {0};
    AUTO_TEXT struct text csv = {0};
    AUTO_TEXT struct text markdown = {0};
    bench_csv(bench, &csv);
    bench_markdown(bench, &markdown);
    bool ok = write_export_file(end->json_file, json, &err) &&
              write_export_file(end->csv_file, &csv, &err) &&
              write_export_file(end->markdown_file, &markdown, &err);
    if (!ok)
        cli_error("%s", err.text);
    return ok;
}

/* Without --ignore-failure the first failure ends the bench: it must be noticed below the table. */
static void report_bench_failure(const struct bench_end *end, const struct bench *bench)
{
    EACH (experiment, bench->dataset.items, bench->dataset.count) {
        if (!experiment->judged || experiment->success)
            continue;
        cli_error("%s failed: %s", experiment->id,
                  experiment->error ? experiment->error : "it is not known why");
        cli_note("what it printed is in %s/%s/training.log%s", end->dir, experiment->id,
                 end->options->ignore_failure
                     ? ""
                     : "; nothing more was run (--ignore-failure counts any exit code)");
        return;
    }
}

static bool print_bench(const struct bench_end *end, const struct bench *bench,
                        const struct text *json)
{
    AUTO_TEXT struct text text = {0};
    struct bench_text_options options = {
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO),
        .warmed = end->options->warmup > 0,
        .rows = audit_rows_named(end->verdicts),
        .until = end->until,
        .program = TARE_NAME,
        .dir = end->dir,
    };
    if (end->json)
        return message_print(json);
    if (!end->quiet)
        text_add_char(&text, '\n');
    bench_text(bench, &options, &text);
    if (!end->quiet)
        text_addf(&text, "seed %llu; results in %s\n", (unsigned long long)end->options->seed,
                  end->dir);
    return message_print(&text);
}

static int show_bench(const struct bench_end *end, const struct bench *bench)
{
    AUTO_TEXT struct text text = {0};
    struct bench_frame frame = {end->dir,           end->options->seed,
                                end->options->runs, end->options->warmup,
                                end->verdicts,      end->until};
    json_print_taken(bench_json(bench, &frame), &text);
    bool ok = print_bench(end, bench, &text);
    ok = export(end, bench, &text) && ok;
    report_bench_failure(end, bench);
    size_t counted = 0;
    EACH (command, bench->commands, bench->count)
        counted += command->group ? command->group->count : 0;
    return !ok ? CLI_BROKEN : counted ? CLI_OK : BENCH_NOTHING_COUNTS;
}

int bench_end(const struct bench_end *end)
{
    struct err err = {0};
    AUTO(bench_fini) struct bench bench = {0};
    struct bench_options options = {
        .dir = end->dir,
        .names = &end->input->names,
        .commands = &end->input->commands,
        .reference = end->reference,
        .rows = audit_rows_named(end->verdicts),
        .seed = end->options->seed,
        .until = end->until,
    };
    return bench_read(&options, &bench, &err) ? show_bench(end, &bench)
                                              : cli_failed(CLI_BROKEN, &err);
}

static size_t find_command_place(const struct bench_input *input, const char *name)
{
    for (size_t i = 0; i < input->names.count; i++)
        if (strcmp(input->names.items[i], name) == 0)
            return i;
    return SIZE_MAX;
}

static void begin_block(struct bench_watch *watch)
{
    EACH (run, watch->runs, watch->input->names.count)
        *run = (struct bench_watch_run){.value = NAN, .verdict = VERDICT_CLEAN};
}

static void end_block(struct bench_watch *watch)
{
    size_t count = watch->input->names.count;
    AUTO_FREE double *values = mem_array(count, sizeof *values);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any |= watch->runs[i].failed || isfinite(watch->runs[i].value);
        values[i] = watch->runs[i].verdict <= watch->worst ? watch->runs[i].value : NAN;
    }
    watch->unmeasured = watch->until.blocks == 0 && !any;
    bench_until_block(&watch->until, values);
    watch->enough = watch->unmeasured || bench_until_enough(&watch->until, &watch->options);
    begin_block(watch);
}

/* What an attempt's end tells of one of bench_quantities. */
static struct reading attempt_quantity(const struct event_facts *facts, const char *quantity)
{
    return strcmp(quantity, "gpu_energy_j") == 0   ? facts->gpu_j
           : strcmp(quantity, "cpu_energy_j") == 0 ? facts->cpu_j
                                                   : facts->duration_s;
}

static void on_event(void *context, const struct event *event)
{
    struct bench_watch *watch = context;
    size_t place = (size_t)event->experiment - 1;
    if (event->experiment < 1 || place >= watch->input->run.plan.count)
        return;
    struct bench_watch_run *run =
        watch->command[place] == SIZE_MAX ? NULL : &watch->runs[watch->command[place]];
    AUTO(event_facts_fini) struct event_facts facts;
    event_facts_read(event, &facts);
    if (run && event->type == EVENT_EVIDENCE && facts.kind)
        run->verdict = verdict_with(run->verdict, facts.kind);
    if (run && event->type == EVENT_ATTEMPT_ENDED) {
        struct reading value = attempt_quantity(&facts, bench_quantities[watch->options.quantity]);
        run->failed = !facts.outcome || strcmp(facts.outcome, outcome_name(OUTCOME_SUCCEEDED)) != 0;
        if (!run->failed && value.valid)
            run->value = value.value;
    }
    if (event->type == EVENT_EXPERIMENT_ENDED && watch->ends_block[place])
        end_block(watch);
}

static bool is_enough(void *context)
{
    const struct bench_watch *watch = context;
    return watch->enough;
}

/* The commands' own runs stand block by block; a block ends before what belongs to the next one's
 * first run. */
static void find_blocks(struct bench_watch *watch)
{
    const struct plan *plan = &watch->input->run.plan;
    size_t in_block = 0;
    for (size_t i = 0; i < plan->count; i++) {
        watch->command[i] = find_command_place(watch->input, plan->experiments[i].foreground.repo);
        if (watch->command[i] == SIZE_MAX)
            continue;
        in_block = in_block % watch->input->names.count + 1;
        watch->ends_block[i + (watch->input->concludes ? 1 : 0)] =
            in_block == watch->input->names.count;
    }
}

void bench_watch_init(struct bench_watch *watch, const struct bench_input *input,
                      const char *reference, const char *verdicts,
                      const struct bench_until_options *options)
{
    size_t count = input->names.count, place = find_command_place(input, reference);
    bool fastest = strcmp(reference, "fastest") == 0 && place == SIZE_MAX;
    *watch = (struct bench_watch){.input = input, .options = *options};
    watch->worst = strcmp(verdicts, "clean") == 0 ? VERDICT_CLEAN
                   : strcmp(verdicts, "all") == 0 ? VERDICT_CONTAMINATED
                                                  : VERDICT_SUSPECT;
    watch->command = mem_array(input->run.plan.count + 1, sizeof *watch->command);
    watch->ends_block = mem_array(input->run.plan.count + 1, sizeof *watch->ends_block);
    watch->runs = mem_array(count, sizeof *watch->runs);
    bench_until_init(&watch->until, count,
                     fastest             ? BENCH_UNTIL_FASTEST
                     : place == SIZE_MAX ? 0
                                         : place);
    find_blocks(watch);
    begin_block(watch);
    watch->listener = (struct run_listener){on_event, NULL, watch, is_enough};
}

void bench_watch_fini(struct bench_watch *watch)
{
    bench_until_fini(&watch->until);
    free(watch->command);
    free(watch->ends_block);
    free(watch->runs);
    *watch = (struct bench_watch){0};
}
