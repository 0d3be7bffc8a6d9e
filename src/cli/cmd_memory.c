/* memory: a PyTorch memory snapshot explained, and replayed under other settings. */
#include "base/fs_output.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "plan/config/size.h"
#include "report/live/width.h"
#include "report/memory_compare.h"
#include "report/memory_json.h"
#include "report/memory_page.h"
#include "report/memory_text.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_snapshot.h"

#include <string.h>
#include <unistd.h>

enum {
    OPTION_WHAT_IF,
    OPTION_CAP,
    OPTION_RECOMMEND,
    OPTION_RECORDED_CAP,
    OPTION_DEVICE,
    OPTION_ROWS,
    OPTION_HTML,
    OPTION_JSON,
    OPTION_COUNT
};

static bool read_size_option(const struct cli_call *call, int option, uint64_t *out,
                             struct err *err)
{
    const struct cli_value *value = &call->values[option];
    *out = MODEL_NO_CAP;
    return !value->given || size_parse(value->text, out, err) ||
           err_wrap(err, "%s", call->command->options[option].long_name);
}

static bool read_question(const struct cli_call *call, struct memory_question *out, struct err *err)
{
    const char *path = call->operands.items[0];
    *out = (struct memory_question){.path = strcmp(path, "-") == 0 ? "standard input" : path,
                                    .confs = &call->values[OPTION_WHAT_IF].all,
                                    .recommend = call->values[OPTION_RECOMMEND].given,
                                    .rows = (size_t)call->values[OPTION_ROWS].integer};
    struct alloc_settings unused;
    EACH (item, out->confs->items, out->confs->count)
        if (!conf_parse(*item, &unused, err))
            return err_wrap(err, "--what-if");
    return read_size_option(call, OPTION_CAP, &out->cap_bytes, err) &&
           read_size_option(call, OPTION_RECORDED_CAP, &out->recorded_cap_bytes, err);
}

static uint64_t weight_of(const struct snapshot *snapshot, size_t device)
{
    uint64_t weight = snapshot->devices[device].count;
    EACH (segment, snapshot->segments, snapshot->segment_count)
        weight += segment->device == device ? segment->block_count : 0;
    return weight;
}

/* The one that is asked for, or the one that has most to tell. */
static bool choose_device(const struct cli_call *call, const char *path,
                          const struct snapshot *snapshot, size_t *out, struct err *err)
{
    *out = 0;
    if (snapshot->device_count == 0)
        return err_set(err, "%s: it is empty: no GPU had been used", path);
    if (call->values[OPTION_DEVICE].given) {
        *out = (size_t)call->values[OPTION_DEVICE].integer;
        return *out < snapshot->device_count || err_set(err, "%s: it has no GPU %zu, but 0 to %zu",
                                                        path, *out, snapshot->device_count - 1);
    }
    for (size_t i = 1; i < snapshot->device_count; i++)
        if (weight_of(snapshot, i) > weight_of(snapshot, *out))
            *out = i;
    return true;
}

static bool write_memory_page(const char *path, const char *snapshot,
                              const struct memory_report *report, struct err *err)
{
    AUTO_TEXT struct text page = {0};
    if (fs_is_same_file(path, snapshot))
        return err_set(err, "--html: %s is the snapshot itself", path);
    memory_page(report, &page);
    return fs_write_output(path, text_get(&page), page.length, err) || err_wrap(err, "--html");
}

/* Scripts can test whether a setting that they asked about runs out of memory. */
static int memory_exit_code(const struct memory_report *report)
{
    EACH (try, report->tries, report->try_count)
        if (try->replay.outcome == REPLAY_FAILS && (try->conf || report->try_count == 1))
            return CLI_SOME_FAILED;
    return CLI_OK;
}

/* 0: no terminal, where nothing is cut. */
static size_t columns_here(void)
{
    return isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0;
}

static int explain_snapshot(const struct cli_call *call, const struct memory_question *question,
                            const struct snapshot *snapshot)
{
    struct err err = {0};
    AUTO(memory_report_fini) struct memory_report report = {0};
    size_t device;
    if (!choose_device(call, question->path, snapshot, &device, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!memory_look(question, snapshot, device, &report, &err) ||
        (call->values[OPTION_HTML].given &&
         !write_memory_page(call->values[OPTION_HTML].text, question->path, &report, &err)))
        return cli_failed(CLI_BROKEN, &err);
    AUTO_TEXT struct text text = {0};
    if (call->values[OPTION_JSON].given)
        json_print_taken(memory_json(&report), &text);
    else
        memory_text(&report, columns_here(), &text);
    int code = message_print(&text) ? CLI_OK : CLI_BROKEN;
    return code == CLI_OK ? memory_exit_code(&report) : code;
}

static bool add_side(const struct cli_call *call, struct memory_question *question,
                     const char *path, struct memory_comparison *comparison, struct err *err)
{
    AUTO(snapshot_fini) struct snapshot snapshot = {0};
    AUTO(memory_report_fini) struct memory_report report = {0};
    size_t device;
    question->path = strcmp(path, "-") == 0 ? "standard input" : path;
    if (!snapshot_load(path, &snapshot, err) ||
        !choose_device(call, question->path, &snapshot, &device, err) ||
        !memory_look(question, &snapshot, device, &report, err))
        return false;
    memory_compare_add(&report, comparison);
    return true;
}

/* One at a time is in memory. */
static int compare_snapshots(const struct cli_call *call, struct memory_question *question)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0}, page = {0};
    AUTO(memory_compare_fini) struct memory_comparison comparison;
    const char *html = call->values[OPTION_HTML].text;
    memory_compare_begin(call->operands.count, &comparison);
    EACH (path, call->operands.items, call->operands.count)
        if (!add_side(call, question, *path, &comparison, &err))
            return cli_failed(CLI_USAGE, &err);
    memory_compare_sort(&comparison);
    if (call->values[OPTION_HTML].given) {
        memory_compare_page(&comparison, question->rows, &page);
        EACH (path, call->operands.items, call->operands.count)
            if (fs_is_same_file(html, *path))
                return cli_usage_error(call->command, "--html: %s is a snapshot", html);
        if (!fs_write_output(html, text_get(&page), page.length, &err))
            return err_wrap(&err, "--html"), cli_failed(CLI_BROKEN, &err);
    }
    if (call->values[OPTION_JSON].given)
        json_print_taken(memory_compare_json(&comparison, question->rows), &text);
    else
        memory_compare_text(&comparison, question->rows, columns_here(), &text);
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

static int run_memory(const struct cli_call *call)
{
    struct err err = {0};
    struct memory_question question;
    AUTO(snapshot_fini) struct snapshot snapshot = {0};
    if (!read_question(call, &question, &err))
        return cli_usage_error(call->command, "%s", err.text);
    if (call->operands.count > 1) {
        if (question.confs->count > 0 || question.recommend || question.cap_bytes != MODEL_NO_CAP)
            return cli_usage_error(
                call->command, "--what-if, --cap and --recommend are of one snapshot, not of %zu",
                call->operands.count);
        return compare_snapshots(call, &question);
    }
    AUTO_FREE char *path = run_snapshot_named(call->operands.items[0], &err);
    if (!path || !snapshot_load(path, &snapshot, &err))
        return cli_failed(CLI_USAGE, &err);
    question.path = strcmp(path, "-") == 0 ? question.path : path;
    return explain_snapshot(call, &question, &snapshot);
}

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_WHAT_IF] = VALUE_ROW(
        "-w", "--what-if", "CONF", CLI_TEXT,
        "replay under this PYTORCH_CUDA_ALLOC_CONF; can be given several times", .repeats = true),
    [OPTION_CAP] = VALUE_ROW(NULL, "--cap", "SIZE", CLI_TEXT,
                             "replay with so much for PyTorch at most: 10GiB, 23000 MiB"),
    [OPTION_RECOMMEND] =
        FLAG_ROW(NULL, "--recommend", "search the settings, and the smallest GPU that is enough"),
    [OPTION_RECORDED_CAP] =
        VALUE_ROW(NULL, "--recorded-cap", "SIZE", CLI_TEXT,
                  "the cap that the training itself ran under; the snapshot does not say"),
    [OPTION_DEVICE] =
        VALUE_ROW("-d", "--device", "GPU", CLI_INT,
                  "this GPU of the snapshot; else the one with most in it", .low = 0, .high = 4095),
    [OPTION_ROWS] = VALUE_ROW(NULL, "--rows", "N", CLI_INT, "rows of each list", .low = 1,
                              .high = 1000000, .default_text = "8"),
    [OPTION_HTML] = VALUE_ROW(NULL, "--html", "FILE", CLI_FILE,
                              "also write a page: every allocation, and the state at any event"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
};

static const char *const usage[] = {
    "memory SNAPSHOT.pickle [--what-if CONF]... [--cap SIZE] [--recommend]",
    "memory SNAPSHOT.pickle --html FILE", "memory latest", "memory FIRST.pickle SECOND.pickle...",
    NULL};

static const char *const description[] = {
    "Explains a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot()): what is allocated, "
    "reserved, "
    "fragmented, what was alive at the peak and at the end, and whether memory grows. Nothing of "
    "the file is executed.",
    "With --what-if and --cap it replays the recorded requests through a model of PyTorch's "
    "allocator: the memory "
    "they would have reserved, and whether and where they would have run out. Before that it "
    "replays the record "
    "itself and says whether the model gave every recorded event.",
    "A record that begins with the training (torch.cuda.memory._record_memory_history() at its "
    "start) is replayed "
    "best. Files of gzip, xz, zstd and bzip2 are unpacked by these programs; - is standard input.",
    "Several snapshots are compared, each at its peak: what grew from the first to the second, or "
    "how ranks differ, by kind and by place.",
    NULL};

static const char *const exits[] = {
    "0", "told; whatever was tried fits, or may",
    "1", "a setting that was tried runs out of memory",
    "2", "a mistake in the options, or no snapshot that can be read",
    "3", "no trace to replay, or FILE cannot be written",
    NULL};

static const char *const examples[] = {
    "memory snapshot.pickle",
    "what was allocated, reserved and fragmented",
    "memory snapshot.pickle --what-if expandable_segments:True --cap 8GiB",
    "replay it with another allocator setting on a smaller GPU",
    "memory rank0.pickle rank1.pickle rank2.pickle",
    "by how much the ranks of a training differ",
    NULL,
};

const struct cli_command cmd_memory = {
    .name = "memory",
    .group = CLI_GROUP_MEMORY,
    .summary = "where a training's GPU memory went, and what would have helped",
    .operand_min = 1,
    .operand_max = SIZE_MAX,
    .reads_runs = true,
    .operand_name = "SNAPSHOT.pickle",
    COMMAND_TABLES,
    .run = run_memory,
};
