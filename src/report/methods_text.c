/* Writes the methods paragraph: machine, plan and containment of a run. */
#include "report/methods.h"

#include "base/amount.h"
#include "base/mem.h"
#include "report/columns.h"
#include "tare_build.h"

#include <math.h>
#include <string.h>

enum { NAMES_SHOWN = 10 };

char *methods_list(const struct strv *items)
{
    struct text out = {0};
    for (size_t i = 0; i < items->count; i++)
        text_addf(&out, "%s%s",
                  i == 0                 ? ""
                  : i + 1 < items->count ? ", "
                                         : " and ",
                  items->items[i]);
    return text_take(&out);
}

static const char *plural_ending(size_t count)
{
    return count == 1 ? "" : "s";
}

/* "NVIDIA H200 (driver 580.159.04)" and "700 W" of each GPU that was measured, each once. */
static void read_gpus(const struct facts *facts, struct strv *gpus, struct strv *limits)
{
    for (size_t i = 0; i < facts->results.count; i++) {
        const struct energy_record *energy = facts->items[i].energy;
        EACH (device, energy ? energy->devices : NULL, energy ? energy->device_count : 0) {
            if (!device->model)
                continue;
            AUTO_FREE char *gpu = mem_printf("%s (driver %s)", device->model,
                                             device->driver ? device->driver : "not recorded");
            strv_add_once(gpus, gpu);
            if (!device->power_limit_w.valid)
                continue;
            AUTO_FREE char *limit = mem_printf("%.4g W", device->power_limit_w.value);
            strv_add_once(limits, limit);
        }
    }
}

static void add_machine(const struct methods_input *input, struct text *out)
{
    static const struct machine_record unknown = {0};
    AUTO_STRV struct strv gpus = {0}, limits = {0};
    const struct machine_record *machine = input->machine ? input->machine : &unknown;
    const struct facts *facts = input->facts;
    read_gpus(facts, &gpus, &limits);
    AUTO_FREE char *gpu_list = methods_list(&gpus), *limit_list = methods_list(&limits),
                   *version_list = methods_list(&facts->versions);
    text_addf(out, "The experiments ran under %s %s", TARE_NAME,
              facts->versions.count ? version_list : "(version not recorded)");
    text_addf(out, facts->hosts.count > 1 ? " on %zu machines; of the last: " : " on one machine: ",
              facts->hosts.count);
    text_addf(out, "GPU %s%s%s; CPU %s", gpus.count ? gpu_list : "not recorded",
              limits.count ? ", power limit " : "", limit_list,
              machine->cpu_model ? machine->cpu_model : "not recorded");
    if (machine->cpu_count)
        text_addf(out, ", %lld logical CPUs", (long long)machine->cpu_count);
    if (machine->memory_bytes) {
        AUTO_FREE char *size = amounts_size((struct reading){(double)machine->memory_bytes, true});
        text_addf(out, "; %s of memory", size);
    }
    text_addf(out, "; Linux %s.\n", machine->kernel ? machine->kernel : "(version not recorded)");
}

/* What the plan has of each mode, which models, and which values of their seeds. */
static void add_plan(const struct plan *plan, struct text *out)
{
    AUTO_STRV struct strv models = {0}, seeds = {0};
    size_t modes[MODE_COUNT] = {0}, unseeded = 0;
    EACH (experiment, plan->experiments, plan->count) {
        const struct plan_job *job = &experiment->foreground;
        AUTO_FREE char *name = mem_printf("%s/%s", job->repo, job->model);
        bool seeded = false;
        strv_add_once(&models, name);
        modes[experiment->parallel ? MODE_PARALLEL : job->mode]++;
        EACH (param, job->params, job->param_count)
            if (param_name_is_seed(param->name)) {
                AUTO_FREE char *value = value_format(&param->value);
                strv_add_once(&seeds, value);
                seeded = true;
            }
        unseeded += !seeded;
    }
    AUTO_STRV struct strv parts = {0};
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (modes[mode])
            strv_add_owned(&parts,
                           mem_printf("%zu in mode %s", modes[mode], mode_name((enum mode)mode)));
    AUTO_FREE char *model_list = methods_list(&models), *part_list = methods_list(&parts),
                   *seed_list = methods_list(&seeds);
    text_addf(
        out,
        "The plan has %zu experiment%s of %zu model%s (%s): %s. It was made with the seed %llu. ",
        plan->count, plural_ending(plan->count), models.count, plural_ending(models.count),
        model_list, part_list, (unsigned long long)plan->seed);
    if (seeds.count > NAMES_SHOWN)
        text_addf(out, "The trainings have %zu different random seeds", seeds.count);
    else if (seeds.count)
        text_addf(out, "The random seed%s of the trainings %s %s", plural_ending(seeds.count),
                  seeds.count == 1 ? "is" : "are", seed_list);
    else
        text_add(out,
                 "No hyperparameter of the trainings is a random seed: theirs are not recorded");
    text_addf(out,
              seeds.count && unseeded ? "; those of %zu experiments are not recorded.\n" : ".\n",
              unseeded);
}

static void add_containment_methods(const struct results *results, struct text *out)
{
    static const char *const names[] = {"a pid namespace", "a cgroup v2", "a sweep of /proc"};
    size_t known = 0, backed = 0, held[3] = {0}, leftovers = 0, survivors = 0;
    EACH (result, results->items, results->count) {
        const struct result_layers *layers = &result->layers;
        known += layers->known;
        backed += layers->kernel_backed;
        held[0] += layers->pidns;
        held[1] += layers->cgroup;
        held[2] += layers->sweep;
        leftovers += result->leftover_count;
        survivors += result->survivor_count;
    }
    if (!known) {
        text_add(out, "How the processes of the trainings were contained is not recorded.\n");
        return;
    }
    AUTO_STRV struct strv layers = {0};
    for (size_t k = 0; k < 3; k++)
        if (held[k])
            strv_add_owned(&layers,
                           mem_printf("%s (%zu of %zu experiments)", names[k], held[k], known));
    AUTO_FREE char *list = methods_list(&layers);
    text_addf(out,
              "The processes of each training were held together by %s; for %zu of %zu the kernel "
              "guarantees that none "
              "outlives it. ",
              layers.count ? list : "nothing", backed, known);
    text_addf(
        out,
        "%zu process%s left when a training had ended and w%s ended; %zu could not be ended.\n",
        leftovers, leftovers == 1 ? " was" : "es were", leftovers == 1 ? "as" : "ere", survivors);
}

/* Which checks ended so, and in how many experiments: "other_cpu (2)". */
static char *checks_with(const struct results *results, enum check_outcome outcome)
{
    AUTO_STRV struct strv names = {0};
    for (unsigned check = 0; check < CHECKS; check++) {
        size_t count = 0;
        EACH (item, results->items, results->count)
            EACH (entry, item->checks, item->check_count)
                count += entry->check == check && entry->outcome == outcome;
        if (count)
            strv_add_owned(&names,
                           mem_printf("%s (%zu)", check_kind((enum check)check)->name, count));
    }
    return methods_list(&names);
}

static void add_checks(const struct results *results, struct text *out)
{
    size_t checked = 0;
    EACH (item, results->items, results->count)
        checked += item->checks != NULL;
    if (!checked) {
        text_add(out, "Which checks were made is not recorded.");
        return;
    }
    AUTO_FREE char *failed = checks_with(results, CHECK_FAILED),
                   *unmade = checks_with(results, CHECK_NOT_MADE);
    AUTO_FREE char *idle = checks_with(results, CHECK_NOT_NEEDED);
    text_addf(out,
              "The checks of %zu experiment%s are recorded. Failed (number of experiments): %s. "
              "Not made: %s. Not "
              "needed: %s.",
              checked, plural_ending(checked), *failed ? failed : "none", *unmade ? unmade : "none",
              *idle ? idle : "none");
}

/* From the preflight checks in the records of the experiments. */
static void add_guard_methods(const struct facts *facts, struct text *out)
{
    const struct preflight_settings *asked = &facts->results.plan.guard.preflight;
    size_t made = 0, clear = 0;
    double waited_s = 0;
    EACH (item, facts->items, facts->results.count) {
        made += item->preflights;
        clear += item->preflights_free;
        waited_s = fmax(waited_s, item->preflight_waited_s);
    }
    if (!made) {
        text_add(out, "The state of GPUs before the attempts was not checked. ");
    } else {
        AUTO_FREE char *memory = amounts_size((struct reading){(double)asked->memory_bytes, true});
        text_addf(out,
                  "Before each attempt its GPUs were to be free of other processes, with at most "
                  "%s in use above an "
                  "empty GPU's, busy for at most "
                  "%.4g %%, and at most %.4g °C above the coolest start of the run (policy %s): "
                  "%zu of %zu such checks "
                  "were passed, after a wait of at "
                  "most %.3g s. ",
                  memory, asked->utilisation_percent, asked->band_c,
                  preflight_policies[asked->policy], clear, made, waited_s);
    }
    add_checks(&facts->results, out);
}

static void add_pause_methods(const struct facts *facts, struct text *out)
{
    const struct plan *plan = &facts->results.plan;
    const struct cooldown_settings *cooldown = &plan->guard.cooldown;
    if (cooldown->mode == COOLDOWN_ADAPTIVE)
        text_addf(out,
                  " Between two trainings the run paused until the GPUs were idle and cool again, "
                  "for %.4g to %.4g s",
                  cooldown->min_s, cooldown->max_s);
    else
        text_addf(out,
                  " Between two trainings the run paused for a fixed time: %.4g s within an entry, "
                  "%.4g s between "
                  "entries, %.4g s before a retry",
                  plan->timing.between_runs_s, plan->timing.between_configurations_s,
                  plan->timing.before_retry_s);
    if (facts->pauses)
        text_addf(out, "; %zu pause%s %s recorded, planned for %.4g s in all.\n", facts->pauses,
                  plural_ending(facts->pauses), facts->pauses == 1 ? "is" : "are", facts->pause_s);
    else
        text_add(out, "; no pause is recorded.\n");
}

struct tally {
    size_t outcomes[OUTCOME_INTERRUPTED + 1], verdicts[VERDICTS];
    size_t ended, again, retries, safe, without_gpu, without_cpu;
    double gpu_j, gpu_variance, gpu_least_j, gpu_most_j, cpu_j, cpu_variance;
    struct strv left_out;
};

static void methods_tally_fini(struct tally *tally)
{
    strv_fini(&tally->left_out);
}

static void tally_safe(struct tally *tally, const struct result_energy *energy)
{
    tally->safe++;
    tally->without_gpu += !energy->gpu_j.valid;
    tally->without_cpu += !energy->cpu_j.valid;
    if (energy->gpu_j.valid) {
        bool first = tally->safe - tally->without_gpu == 1;
        tally->gpu_j += energy->gpu_j.value;
        tally->gpu_least_j =
            first ? energy->gpu_j.value : fmin(tally->gpu_least_j, energy->gpu_j.value);
        tally->gpu_most_j =
            first ? energy->gpu_j.value : fmax(tally->gpu_most_j, energy->gpu_j.value);
        tally->gpu_variance +=
            energy->gpu_half_width_j.valid ? pow(energy->gpu_half_width_j.value, 2) : NAN;
    }
    if (energy->cpu_j.valid) {
        tally->cpu_j += energy->cpu_j.value;
        tally->cpu_variance +=
            energy->cpu_half_width_j.valid ? pow(energy->cpu_half_width_j.value, 2) : NAN;
    }
}

static struct tally tally_of(const struct results *results)
{
    struct tally tally = {0};
    EACH (result, results->items, results->count) {
        bool succeeded = result->outcome == OUTCOME_SUCCEEDED;
        tally.outcomes[result->outcome]++;
        tally.again += result->again;
        tally.retries += (size_t)result->retries;
        if (result->outcome == OUTCOME_NONE)
            continue;
        tally.ended++;
        tally.verdicts[result->verdict]++;
        if (verdict_is_clean_success(result->verdict, succeeded) && !result->again)
            tally_safe(&tally, &result->energy);
        else
            strv_add_owned(&tally.left_out,
                           mem_printf("%s (%s)", result->id,
                                      !succeeded        ? outcome_name(result->outcome)
                                      : result->again   ? "planned again"
                                      : result->verdict ? verdict_name(result->verdict)
                                                        : "not judged"));
    }
    return tally;
}

/* Of a sum: ± is the root of the sum of squares. */
static void add_joules(const char *what, double joules, double variance, struct text *out)
{
    AUTO_FREE char *energy = amount_format_with((struct reading){joules, true},
                                                (struct reading){sqrt(variance), true}, "J");
    text_addf(out, "%s %s", what, energy);
}

static void add_energies(const struct tally *tally, struct text *out)
{
    size_t gpu = tally->safe - tally->without_gpu, cpu = tally->safe - tally->without_cpu;
    if (!gpu && !cpu) {
        text_addf(out, " The %zu experiment%s that succeeded and %s clean %s no measured energy.\n",
                  tally->safe, plural_ending(tally->safe), tally->safe == 1 ? "is" : "are",
                  tally->safe == 1 ? "has" : "have");
        return;
    }
    text_addf(out, " The %zu experiment%s that succeeded and %s clean used", tally->safe,
              plural_ending(tally->safe), tally->safe == 1 ? "is" : "are");
    if (gpu) {
        add_joules("", tally->gpu_j, tally->gpu_variance, out);
        text_addf(out, " of GPU energy in all (%zu with a figure; each between %.4g and %.4g J)",
                  gpu, tally->gpu_least_j, tally->gpu_most_j);
    }
    if (cpu) {
        add_joules(gpu ? " and" : "", tally->cpu_j, tally->cpu_variance, out);
        text_addf(out, " of CPU energy in all (%zu with a figure)", cpu);
    }
    text_add(out, "; ± of a sum is the root of the sum of squares, which takes the measurements as "
                  "independent.\n");
}

static void add_left_out(const struct strv *ids, struct text *out)
{
    AUTO_STRV struct strv shown = {0};
    for (size_t i = 0; i < ids->count && i < NAMES_SHOWN; i++)
        strv_add(&shown, ids->items[i]);
    if (ids->count > NAMES_SHOWN)
        strv_add_owned(&shown, mem_printf("%zu more", ids->count - NAMES_SHOWN));
    AUTO_FREE char *list = methods_list(&shown);
    if (ids->count)
        text_addf(out, " Left out of what follows: %s.", list);
}

static void add_outcomes(const struct facts *facts, struct text *out)
{
    AUTO(methods_tally_fini) struct tally tally = tally_of(&facts->results);
    size_t planned = facts->results.count, attempts = 0;
    EACH (item, facts->items, planned)
        attempts += item->started;
    text_addf(
        out, "Of %zu experiment%s %zu succeeded, %zu failed, %zu %s interrupted and %zu %s not run",
        planned, plural_ending(planned), tally.outcomes[OUTCOME_SUCCEEDED],
        tally.outcomes[OUTCOME_FAILED], tally.outcomes[OUTCOME_INTERRUPTED],
        tally.outcomes[OUTCOME_INTERRUPTED] == 1 ? "was" : "were", tally.outcomes[OUTCOME_NONE],
        tally.outcomes[OUTCOME_NONE] == 1 ? "was" : "were");
    text_addf(out, ", in %zu attempt%s, %zu of them retries.", attempts, plural_ending(attempts),
              tally.retries);
    text_addf(out,
              " The verdicts on the measurements are: %zu clean, %zu unverified, %zu suspect, %zu "
              "contaminated, %zu "
              "without a verdict.",
              tally.verdicts[VERDICT_CLEAN], tally.verdicts[VERDICT_UNVERIFIED],
              tally.verdicts[VERDICT_SUSPECT], tally.verdicts[VERDICT_CONTAMINATED],
              tally.verdicts[VERDICT_NONE]);
    if (tally.again)
        text_addf(out, " %zu %s planned again and not done anew yet.", tally.again,
                  tally.again == 1 ? "is" : "are");
    add_left_out(&tally.left_out, out);
    if (tally.safe)
        add_energies(&tally, out);
    else
        text_add(out, " No experiment succeeded and is clean: no energy is given.\n");
}

static void add_citation(const struct methods_input *input, struct text *out)
{
    text_addf(out,
              "To cite: name the program and the version that made the run, as above (%s), and "
              "keep the run's folder, "
              "%s, with the paper.",
              TARE_NAME, input->folder);
    text_addf(out, " This text was made by %s %s.\n", TARE_NAME, TARE_VERSION);
}

void methods_text(const struct methods_input *input, struct text *out)
{
    const struct facts *facts = input->facts;
    if (input->life != RUN_LIFE_ENDED)
        text_add(out, "NOT FINISHED: the run has not ended; all counts are of now.\n\n");
    add_machine(input, out);
    text_add(out, "\n");
    add_plan(&facts->results.plan, out);
    text_add(out, "\n");
    methods_add_sensors(facts, out);
    text_add(out, "\n");
    methods_add_uncertainty(facts, out);
    text_add(out, "\n");
    add_containment_methods(&facts->results, out);
    text_add(out, "\n");
    add_guard_methods(facts, out);
    add_pause_methods(facts, out);
    text_add(out, "\n");
    add_outcomes(facts, out);
    text_add(out, "\n");
    add_citation(input, out);
}
