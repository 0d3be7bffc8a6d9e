#include "slurm/slurm.h"

#include "base/mem.h"
#include "base/shell_words.h"

#include <math.h>
#include <string.h>

/* For starting, proofs and writing, beside what the plan counts itself. */
static const double TASK_MARGIN_S = 300, ATTEMPT_MARGIN_S = 120;

void script_ranges(const struct script_numbers *numbers, struct text *out)
{
    for (size_t i = 0; i < numbers->count;) {
        size_t last = i;
        while (last + 1 < numbers->count && numbers->items[last + 1] == numbers->items[last] + 1)
            last++;
        text_addf(out, "%s%zu", i ? "," : "", numbers->items[i]);
        if (last > i)
            text_addf(out, "-%zu", numbers->items[last]);
        i = last + 1;
    }
}

bool script_ranges_hold(const char *ranges, size_t number)
{
    for (char *end; *ranges >= '0' && *ranges <= '9'; ranges = end + (*end == ',')) {
        size_t first = strtoull(ranges, &end, 10), last = first;
        if (*end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoull(end + 1, &end, 10);
        if (number >= first && number <= last)
            return true;
    }
    return false;
}

/* Options that ask for GPUs. Each has a value: "--gres=gpu:2", "--gres gpu:2", "-G2". */
static bool asks_for_gpus(const char *option)
{
    static const char *const names[] = {"--gpu", "--gres", "--tres-per-", "-G"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(option, names[i], strlen(names[i])) == 0)
            return strncmp(option, "--gres-flags", strlen("--gres-flags")) != 0;
    return false;
}

int64_t script_gpus(const struct plan *plan, const struct strv *options)
{
    if (plan->pool.per_experiment < 1 || (plan->pool.gpus && strcmp(plan->pool.gpus, "none") == 0))
        return 0;
    for (size_t i = 0; options && i < options->count; i++)
        if (asks_for_gpus(options->items[i]))
            return 0;
    return plan->pool.per_experiment;
}

/* The value of --dependency=V, --dependency V, -dV or -d V; *next is passed over when it holds the value. */
static const char *dependency_value(const struct strv *options, size_t *i)
{
    static const char name[] = "--dependency";
    const char *option = options->items[*i];
    bool is_long = strncmp(option, name, sizeof name - 1) == 0;
    const char *rest = is_long ? option + sizeof name - 1 : strncmp(option, "-d", 2) == 0 ? option + 2 : NULL;
    if (rest && *rest == '\0')
        return *i + 1 < options->count ? options->items[++*i] : NULL;
    if (rest && is_long)
        return *rest == '=' ? rest + 1 : NULL;
    return rest;
}

char *script_dependency(const struct strv *options, const char *after)
{
    const char *own = NULL;
    for (size_t i = 0; options && i < options->count; i++) {
        const char *value = dependency_value(options, &i);
        own = value ? value : own;
    }
    if (!after || (own && strchr(own, '?')))
        return mem_strdup(own);
    return own && *own ? mem_printf("%s,afterany:%s", own, after) : mem_printf("afterany:%s", after);
}

static double task_seconds(const struct plan *plan, const struct plan_experiment *experiment)
{
    double background_s = experiment->parallel ? plan->parallel.limit_s : 0;
    double attempt_s = experiment->timeout_s + plan->timing.stop_grace_s + plan->timing.before_retry_s +
                       plan->guard.preflight.wait_s + background_s + ATTEMPT_MARGIN_S;
    return attempt_s * (double)(experiment->max_retries + 1) + TASK_MARGIN_S;
}

int64_t script_minutes(const struct plan *plan, const struct script_numbers *numbers)
{
    double longest_s = 0;
    for (size_t i = 0; i < numbers->count; i++) {
        const struct plan_experiment *experiment = &plan->experiments[numbers->items[i] - 1];
        if (experiment->timeout_s <= 0)
            return 0;
        longest_s = fmax(longest_s, task_seconds(plan, experiment));
    }
    return (int64_t)ceil(longest_s / 60);
}

static void add_array(const struct script *script, struct text *out)
{
    size_t *indices = mem_array(script->numbers.count, sizeof *indices);
    for (size_t i = 0; i < script->numbers.count; i++)
        indices[i] = script->numbers.items[i] - script->offset;
    struct script_numbers shown = {indices, script->numbers.count};
    text_add(out, "#SBATCH --array=");
    script_ranges(&shown, out);
    if (script->at_once > 0)
        text_addf(out, "%%%zu", script->at_once);
    text_add_char(out, '\n');
    free(indices);
}

void script_text(const struct script *script, struct text *out)
{
    text_add(out, "#!/bin/sh\n");
    text_addf(out, "#SBATCH --job-name=%s\n", script->job_name);
    add_array(script, out);
    if (script->minutes > 0)
        text_addf(out, "#SBATCH --time=%lld\n", (long long)script->minutes);
    if (script->gpus > 0)
        text_addf(out, "#SBATCH --gres=gpu:%lld\n", (long long)script->gpus);
    /* After a node's failure or a preemption the task begins again, and goes on with what it had recorded. */
    text_add(out, "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output=" SCRIPT_LOG "\n");
    /* exec: so that the scheduler's TERM reaches the program that ends the job's tree, not a shell around it. */
    text_add(out, "exec ");
    shell_words_quote(script->program, out);
    if (script->offset > 0)
        text_addf(out, " run --task \"$((SLURM_ARRAY_TASK_ID + %zu))\" ", script->offset);
    else
        text_add(out, " run --task \"$SLURM_ARRAY_TASK_ID\" ");
    shell_words_quote(script->run_dir, out);
    text_add_char(out, '\n');
}
