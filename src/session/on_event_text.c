/* The documents that the program of on_event gets. */
#include "report/closing_verdict.h"
#include "session/on_event.h"

#include "base/amount.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "plan/config/on_event.h"
#include "report/columns.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_SIZE = 256, ERROR_SHOWN = 300 };

/* Keeps UTF-8 that steers nothing, and the characters in kept. */
static json_t *printable_json(const char *text, const char *kept)
{
    AUTO_TEXT struct text out = {0};
    utf8_add_printable(text, strlen(text), kept, &out);
    return json_string(text_get(&out));
}

json_t *on_event_json(const char *event, const char *run, const char *title, const char *text)
{
    char host[HOST_SIZE] = "";
    gethostname(host, sizeof host - 1);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "program", TARE_NAME, "version",
                     TARE_VERSION, "event", event, "host", printable_json(host, ""), "run",
                     run ? printable_json(run, "") : json_null(), "title",
                     printable_json(title, ""), "text", printable_json(text, "\n"));
}

/* Of all experiments that were measured. The ± are added as they are: the errors of one sensor are
 * not independent. */
struct sum {
    struct reading j, half_width_j;
    size_t measured, without_half_width;
};

static void add_to(struct sum *sum, struct reading j, struct reading half_width_j)
{
    if (!j.valid)
        return;
    sum->measured++;
    sum->j = (struct reading){sum->j.value + j.value, true};
    sum->half_width_j.value += half_width_j.valid ? half_width_j.value : 0;
    sum->without_half_width += !half_width_j.valid;
    sum->half_width_j.valid = sum->without_half_width == 0;
}

static void sum_energy(const struct results *results, struct sum *gpu, struct sum *cpu,
                       size_t *ended)
{
    *ended = 0;
    EACH (result, results->items, results->count) {
        *ended += result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED;
        add_to(gpu, result->energy.gpu_j, result->energy.gpu_half_width_j);
        add_to(cpu, result->energy.cpu_j, result->energy.cpu_half_width_j);
    }
}

static void add_energy_sum(const char *name, const struct sum *sum, size_t ended, struct text *out)
{
    AUTO_FREE char *energy = amount_format_with(sum->j, sum->half_width_j, "J");
    if (sum->measured == 0) {
        text_addf(out, "%s energy: not measured\n", name);
        return;
    }
    text_addf(out, "%s energy: %s", name, energy);
    if (sum->measured < ended)
        text_addf(out, " (of %zu of %zu experiments: the others were not measured)", sum->measured,
                  ended);
    text_add_char(out, '\n');
}

static json_t *energy_sums_json(const struct sum *gpu, const struct sum *cpu)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:i, s:i}", "gpu_j", json_reading_or_null(gpu->j),
                     "gpu_half_width_j", json_reading_or_null(gpu->half_width_j), "cpu_j",
                     json_reading_or_null(cpu->j), "cpu_half_width_j",
                     json_reading_or_null(cpu->half_width_j), "combined", "correlated",
                     "gpu_measured", (int)gpu->measured, "cpu_measured", (int)cpu->measured);
}

struct counts {
    size_t of[OUTCOME_INTERRUPTED + 1];
    size_t verdicts[VERDICTS];
};

static struct counts count_run_results(const struct results *results)
{
    struct counts counts = {0};
    EACH (result, results->items, results->count) {
        bool ended = result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED;
        counts.of[result->outcome]++;
        counts.verdicts[result->verdict] += ended;
    }
    return counts;
}

/* "3 succeeded, 1 failed, 2 not run" */
static char *counts_text(const struct counts *counts)
{
    static const enum outcome order[] = {OUTCOME_SUCCEEDED, OUTCOME_FAILED, OUTCOME_INTERRUPTED,
                                         OUTCOME_NONE};
    struct text out = {0};
    EACH_OF (item, order)
        if (counts->of[*item] > 0)
            text_addf(&out, "%s%zu %s", out.length ? ", " : "", counts->of[*item],
                      *item == OUTCOME_NONE ? "not run" : outcome_name(*item));
    return text_take(&out);
}

static void set_counts(json_t *message, const struct counts *counts)
{
    json_t *outcomes = json_object(), *verdicts = json_object();
    for (int i = OUTCOME_NONE; i <= OUTCOME_INTERRUPTED; i++)
        json_set_count(outcomes, i == OUTCOME_NONE ? "not_run" : outcome_name((enum outcome)i),
                       counts->of[i]);
    for (int i = VERDICT_NONE; i < VERDICTS; i++)
        json_set_count(verdicts, i == VERDICT_NONE ? "not_judged" : verdict_name((enum verdict)i),
                       counts->verdicts[i]);
    json_object_set_new(message, "counts", outcomes);
    json_object_set_new(message, "verdicts", verdicts);
}

/* The training's last line often says best why it failed. */
static void add_first_failure(const struct results *results, struct text *out)
{
    EACH (result, results->items, results->count) {
        if (result->outcome != OUTCOME_FAILED || !result->error)
            continue;
        AUTO_FREE char *error = utf8_quoted(result->error, ERROR_SHOWN);
        text_addf(out, "first failure: %s: %s\n", result->id, error);
        return;
    }
}

json_t *on_event_end_json(const char *run, const char *outcome, const struct results *results,
                          const char *error)
{
    AUTO_TEXT struct text text = {0};
    const char *slash = strrchr(run, '/'), *name = slash ? slash + 1 : run;
    struct counts counts = {0};
    struct sum gpu = {0}, cpu = {0};
    size_t ended = 0;
    if (error && *error)
        text_addf(&text, "%s\n", error);
    if (results) {
        struct closing_options options = {.program = TARE_NAME, .run_dir = run};
        counts = count_run_results(results);
        sum_energy(results, &gpu, &cpu, &ended);
        AUTO_FREE char *counted = counts_text(&counts);
        text_addf(&text, "%s\n", counted);
        closing_add_causes(results, &text);
        add_first_failure(results, &text);
        closing_add_verdicts(results, &text);
        add_energy_sum("GPU", &gpu, ended, &text);
        add_energy_sum("CPU", &cpu, ended, &text);
        closing_add_budget(results, &text);
        closing_add_where(results, &options, &text);
    } else {
        text_addf(&text, "the results cannot be read; what was recorded is in %s\n", run);
    }
    AUTO_FREE char *counted = results ? counts_text(&counts) : mem_strdup("");
    AUTO_FREE char *title =
        mem_printf(TARE_NAME ": %s %s%s%s", name, outcome, *counted ? ": " : "", counted);
    json_t *message = on_event_json(on_event_name(ON_EVENT_END), run, title, text_get(&text));
    json_object_set_new(message, "outcome", json_string(outcome));
    if (!results)
        return message;
    set_counts(message, &counts);
    json_object_set_new(message, "energy", energy_sums_json(&gpu, &cpu));
    return message;
}
