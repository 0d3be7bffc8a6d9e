#include "report/plan_text.h"
#include "base/json_print.h"
#include "plan/command.h"
#include "plan/plan_json.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <string.h>

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

static void add_plan_fact(struct text *out, const char *name, const char *value)
{
    AUTO_FREE char *safe = utf8_line(value);
    text_addf(out, "%-12s %s\n", name, safe);
}

/* "3 mutation, 1 default, 6 grid, 2 parallel" */
static void add_modes(const struct plan *plan, struct text *out)
{
    size_t counts[MODE_COUNT] = {0};
    EACH (experiment, plan->experiments, plan->count)
        counts[experiment->parallel ? MODE_PARALLEL : experiment->foreground.mode]++;
    size_t printed = 0;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (counts[mode])
            text_addf(out, "%s%zu %s", printed++ ? ", " : "", counts[mode],
                      mode_name((enum mode)mode));
}

static bool has_parallel(const struct plan *plan)
{
    EACH (experiment, plan->experiments, plan->count)
        if (experiment->parallel)
            return true;
    return false;
}

static void add_background(const struct parallel_timing *timing, struct text *out)
{
    AUTO_TEXT struct text line = {0};
    text_addf(&line,
              "runs alone for %g s, then until its load has held %g s (at most %g s); started "
              "again after %g s until "
              "the foreground ends",
              timing->wait_s, timing->hold_s, timing->limit_s, timing->restart_delay_s);
    add_plan_fact(out, "background", text_get(&line));
}

/* "3 min between experiments in all, 30 s before each retry", or what an adaptive pause waits for.
 * Fresh. */
static char *pauses_text(const struct plan *plan, const struct plan_text_options *options)
{
    char sum[32], least[32], most[32], saves[32];
    const struct cooldown_settings *cooldown = &plan->guard.cooldown;
    clock_format_duration(options->pauses_s, sum);
    clock_format_duration(cooldown->min_s, least);
    clock_format_duration(cooldown->max_s, most);
    clock_format_duration(options->adaptive_saves_s, saves);
    if (cooldown->mode == COOLDOWN_ADAPTIVE && options->pauses_s > 0)
        return mem_printf("adaptive: each until the GPUs are idle and cool, %s to %s", least, most);
    bool saving = options->adaptive_saves_s > 0;
    return mem_printf("%s between experiments in all, %g s before each retry%s%s%s", sum,
                      plan->timing.before_retry_s, saving ? "; --cooldown adaptive: up to " : "",
                      saving ? saves : "", saving ? " less" : "");
}

static void add_plan_head(const struct plan *plan, const struct plan_text_options *options,
                          struct text *out)
{
    AUTO_TEXT struct text line = {0};
    if (plan->name)
        add_plan_fact(out, "name", plan->name);
    add_plan_fact(out, "settings", options->settings);
    add_plan_fact(out, "registry", options->registry);
    text_addf(&line, "%llu", (unsigned long long)plan->seed);
    add_plan_fact(out, "seed", text_get(&line));
    add_plan_fact(out, "order", plan_orders[plan->order]);
    text_clear(&line);
    text_addf(&line, "%zu", plan->count);
    if (plan->count) {
        text_add(&line, ": ");
        add_modes(plan, &line);
    }
    add_plan_fact(out, "experiments", text_get(&line));
    if (options->untouched) {
        AUTO_FREE char *left = mem_printf("left to the script: %s", options->untouched);
        add_plan_fact(out, "defaults", left);
    }
    AUTO_FREE char *pauses = pauses_text(plan, options);
    add_plan_fact(out, "pauses", pauses);
    if (has_parallel(plan))
        add_background(&plan->parallel, out);
}

static void add_mutated_params(const struct plan_job *job, struct text *out)
{
    size_t printed = 0;
    EACH (param, job->params, job->param_count) {
        if (!param->mutated)
            continue;
        AUTO_FREE char *value = value_format(&param->value), *name = utf8_line(param->name);
        utf8_make_printable(value, "");
        text_addf(out, "%s%s %s", printed++ ? ", " : ": ", name, value);
    }
}

/* As the run will have it: its folder is named by the time at which it begins. The caller frees
 * it. */
static char *output_folder(const struct plan_text_options *options,
                           const struct plan_experiment *experiment, bool background)
{
    return mem_printf("%s/run_YYYYMMDD_HHMMSS/%s/%s", options->results, experiment->id,
                      placeholder_folder(background));
}

static void add_job_command(const struct plan_experiment *experiment, bool background,
                            const struct plan_text_options *options, struct text *out)
{
    const struct plan_job *job = background ? experiment->background : &experiment->foreground;
    const char *role = background ? "background" : experiment->parallel ? "foreground" : "";
    AUTO_FREE char *id = placeholder_id(experiment->id, background);
    AUTO_FREE char *dir = output_folder(options, experiment, background);
    const struct placeholder_place place = {.id = id, .dir = dir};
    AUTO_FREE char *command = plan_job_shell(job, &place),
                   *folder = utf8_line(job->cwd ? job->cwd : ".");
    text_addf(out, "  %s%s%s", role, *role ? " " : "", mode_name(job->mode));
    add_mutated_params(job, out);
    text_addf(out, "\n    cd %s\n    %s\n", folder, command);
}

static void add_plan_experiment(const struct plan *plan, const struct plan_experiment *experiment,
                                const struct plan_text_options *options, struct text *out)
{
    bool colour = options->colour;
    text_addf(out, "\n%s[%zu/%zu] %s%s", colour ? BOLD : "", experiment->number, plan->count,
              experiment->id, colour ? PLAIN : "");
    text_addf(out, "%s  at most %lld attempt%s", colour ? DIM : "",
              (long long)experiment->max_retries + 1, experiment->max_retries ? "s" : "");
    if (experiment->timeout_s > 0)
        text_addf(out, ", timeout %g s", experiment->timeout_s);
    if (experiment->start_after_s.valid)
        text_addf(out, ", the foreground %g s after the background",
                  experiment->start_after_s.value);
    if (experiment->governor)
        text_addf(out, ", governor %s", experiment->governor);
    text_addf(out, "%s\n", colour ? PLAIN : "");
    add_job_command(experiment, false, options, out);
    if (experiment->parallel)
        add_job_command(experiment, true, options, out);
}

void plan_text(const struct plan *plan, const struct plan_text_options *options, size_t number,
               struct text *out)
{
    if (number == 0)
        add_plan_head(plan, options, out);
    else
        add_plan_experiment(plan, &plan->experiments[number - 1], options, out);
}

/* Words with their placeholders replaced, in the place of those that the plan keeps. */
static void fill_job(json_t *json, const struct plan_experiment *experiment, bool background,
                     const struct plan_text_options *options)
{
    const struct plan_job *job = background ? experiment->background : &experiment->foreground;
    if (!job->placeholders)
        return;
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    AUTO_FREE char *id = placeholder_id(experiment->id, background);
    AUTO_FREE char *dir = output_folder(options, experiment, background);
    const struct placeholder_place place = {.id = id, .dir = dir};
    placeholder_fill_argv(job, &place, &argv);
    placeholder_fill_env(job, &place, &env);
    json_object_set_new(json, "argv", json_texts((const char *const *)argv.items));
    json_object_set_new(json, "env", json_texts((const char *const *)env.items));
    json_object_del(json, "placeholders");
}

static json_t *plan_experiment_json(const struct plan_experiment *experiment,
                                    const struct plan_text_options *options)
{
    json_t *json = plan_experiment_to_json(experiment);
    fill_job(json_object_get(json, "foreground"), experiment, false, options);
    if (experiment->parallel)
        fill_job(json_object_get(json, "background"), experiment, true, options);
    return json;
}

void plan_text_json(const struct plan *plan, const struct plan_text_options *options, size_t number,
                    struct text *out)
{
    json_t *json = number > 0 ? plan_experiment_json(&plan->experiments[number - 1], options)
                              : json_pack("{s:o*, s:o*, s:o, s:o, s:[]}", "settings",
                                          json_string(options->settings), "registry",
                                          json_string(options->registry), "pauses_s",
                                          json_finite(options->pauses_s), "plan",
                                          plan_head_to_json(plan), "experiments");
    if (number > 0)
        text_add(out, number > 1 ? ",\n    " : "\n    ");
    json_print_nested(json, number > 0 ? 2 : 0, out);
    json_decref(json);
    if (number == 0)
        out->data[out->length -= strlen("]\n}")] = '\0';
    if (number == plan->count)
        text_add(out, number > 0 ? "\n  ]\n}\n" : "]\n}\n");
}
