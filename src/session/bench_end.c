#include "session/bench_input.h"

#include "results/judge/bench.h"
#include "base/fs.h"
#include "session/command.h"
#include "session/message.h"
#include "report/summary_stats_text.h"
#include "tare_build.h"
#include "report/live/width.h"

#include <string.h>
#include <unistd.h>

static bool write_file(const char *file, const struct text *text, struct err *err)
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
    bool ok = write_file(end->json_file, json, &err) && write_file(end->csv_file, &csv, &err) &&
              write_file(end->markdown_file, &markdown, &err);
    if (!ok)
        cli_error("%s", err.text);
    return ok;
}

/* Without --ignore-failure nothing came after it: that must not be overlooked below a table. */
static void say_failure(const struct bench_end *end, const struct bench *bench)
{
    for (size_t i = 0; i < bench->dataset.count; i++) {
        const struct dataset_experiment *experiment = &bench->dataset.items[i];
        if (!experiment->judged || experiment->success)
            continue;
        cli_error("%s failed: %s", experiment->id, experiment->error ? experiment->error : "it is not known why");
        cli_note("what it printed is in %s/%s/training.log%s", end->dir, experiment->id,
                 end->options->ignore_failure ? "" : "; nothing more was run (--ignore-failure counts any exit code)");
        return;
    }
}

static bool print(const struct bench_end *end, const struct bench *bench, const struct text *json)
{
    AUTO_TEXT struct text text = {0};
    struct bench_text_options options = {
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO),
        .warmed = end->options->warmup > 0,
        .clean_only = strcmp(end->verdicts, "clean") == 0,
        .all_verdicts = strcmp(end->verdicts, "all") == 0,
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
        text_addf(&text, "seed %llu; results in %s\n", (unsigned long long)end->options->seed, end->dir);
    return message_print(&text);
}

static int show(const struct bench_end *end, const struct bench *bench)
{
    AUTO_TEXT struct text text = {0};
    struct bench_frame frame = {end->dir,      end->options->seed, end->options->runs, end->options->warmup,
                                end->verdicts, end->until};
    json_print_taken(bench_json(bench, &frame), &text);
    bool ok = print(end, bench, &text);
    ok = export(end, bench, &text) && ok;
    say_failure(end, bench);
    return ok ? CLI_OK : CLI_BROKEN;
}

int bench_end(const struct bench_end *end)
{
    struct err err = {0};
    AUTO(bench_fini) struct bench bench = {0};
    struct bench_options options = {
        .dir = end->dir,
        .names = &end->input->names,
        .commands = &end->input->commands,
        .commits = &end->input->commits,
        .subjects = &end->input->subjects,
        .reference = end->reference,
        .clean_only = strcmp(end->verdicts, "clean") == 0,
        .all_verdicts = strcmp(end->verdicts, "all") == 0,
        .seed = end->options->seed,
        .until = end->until,
    };
    return bench_read(&options, &bench, &err) ? show(end, &bench) : cli_failed(CLI_BROKEN, &err);
}
