#include "run/observers/checks.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "results/store/energy_record.h"
#include "run/observers/load.h"

#include "base/amount.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const double MIB = 1048576;

/* Processes are listed each second: a shorter attempt lies between two lists. */
static const double BETWEEN_LISTS_S = 2;

struct lane_checks {
    struct check_result of[CHECKS];
    bool told[CHECKS]; /* an outcome is known */
    char *idle_text;   /* state of the GPUs before the attempt; NULL: unknown */
};

LANE_STATE(checks_of, struct lane_checks, checks_observer);

static void reset_checks(struct lane *lane)
{
    struct lane_checks *checks = checks_of(lane);
    EACH (item, checks->of, CHECKS)
        free(item->text);
    free(checks->idle_text);
    *checks = (struct lane_checks){0};
}

/* Keeps the more serious outcome; of equal ones the first. */
__attribute__((format(printf, 4, 5))) static void note_check(struct lane *lane, enum check check,
                                                             enum check_outcome outcome,
                                                             const char *format, ...)
{
    struct lane_checks *checks = checks_of(lane);
    struct check_result *result = &checks->of[check];
    bool had_failed = checks->told[check] && result->outcome == CHECK_FAILED;
    va_list args;
    if (checks->told[check] && (had_failed || outcome != CHECK_FAILED))
        return;
    checks->told[check] = true;
    free(result->text);
    va_start(args, format);
    *result = (struct check_result){
        .check = check, .outcome = outcome, .text = mem_vprintf(format, args)};
    va_end(args);
}

static void note_evidence_check(struct lane *lane, const struct lane_evidence_entry *entry)
{
    const struct evidence_kind *kind = evidence_find(entry->kind);
    if (!kind || kind->check == CHECK_NONE || kind->weight == EVIDENCE_RECORDED)
        return;
    enum check check = kind->check;
    if (check == CHECK_PROCESSES_BEFORE || check == CHECK_PROCESSES_DURING)
        check = entry->from_s.valid && entry->from_s.value < 0 ? CHECK_PROCESSES_BEFORE
                                                               : CHECK_PROCESSES_DURING;
    note_check(lane, check, kind->weight >= EVIDENCE_SUSPECT ? CHECK_FAILED : CHECK_NOT_MADE, "%s",
               entry->text);
}

void lane_checks_add_preflight(struct lane *lane, const struct guard_findings *findings)
{
    struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text text = {0};
    EACH (item, findings->items, findings->count) {
        const struct evidence_kind *kind = evidence_find(item->kind);
        if (kind && kind->check != CHECK_NONE && item->blocks)
            note_check(lane,
                       kind->check == CHECK_PROCESSES_DURING ? CHECK_PROCESSES_BEFORE : kind->check,
                       CHECK_FAILED, "%s", item->text);
        /* Leaked memory, or a process that is not listed. */
        if (item->holds && !item->start_time)
            note_check(lane, CHECK_PROCESSES_BEFORE, CHECK_NOT_MADE, "%s", item->text);
    }
    for (size_t i = 0; i < guard->count; i++) {
        const struct gpu_readings *readings = &guard->devices[i].sample.readings;
        struct reading power = gpu_readings_power_w(readings);
        text_addf(&text, "%s%s:", i ? "; " : "", guard->devices[i].label);
        if (readings->of[GPU_UTILISATION_PERCENT].valid)
            text_addf(&text, " busy %.0f %% of the time,",
                      readings->of[GPU_UTILISATION_PERCENT].value);
        if (readings->of[GPU_MEMORY_USED_BYTES].valid)
            text_addf(&text, " %.0f MiB in use,", readings->of[GPU_MEMORY_USED_BYTES].value / MIB);
        if (power.valid)
            text_addf(&text, " %.1f W,", power.value);
        if (readings->of[GPU_TEMPERATURE_C].valid)
            text_addf(&text, " %.0f °C,", readings->of[GPU_TEMPERATURE_C].value);
        text.data[--text.length] = '\0';
    }
    free(checks_of(lane)->idle_text);
    checks_of(lane)->idle_text = text_take(&text);
}

static void check_processes(struct lane *lane)
{
    struct lane_checks *checks = checks_of(lane);
    const struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text looks = {0};
    bool seen = true, valid;
    double duration_s = attempt_duration_s(&lane->attempt, &valid);
    for (size_t i = 0; i < guard->count; i++) {
        const struct guard_device *device = &guard->devices[i];
        bool around = valid && duration_s < BETWEEN_LISTS_S && guard->edge_ns > 0 &&
                      device->users_ns >= guard->edge_ns;
        seen = seen && (device->list_count > 0 || around);
        text_addf(&looks, "%s%s: ", i ? "; " : "", device->label);
        if (device->list_count == 0 && around)
            text_addf(&looks, "checked right before and right after its %.2g s", duration_s);
        else
            text_addf(&looks, "checked %zu time%s", device->list_count,
                      device->list_count == 1 ? "" : "s");
    }
    /* A process that was there, or hidden, before the training was so during it, too. */
    const struct check_result *before = &checks->of[CHECK_PROCESSES_BEFORE];
    if (checks->told[CHECK_PROCESSES_BEFORE] && before->outcome != CHECK_PASSED)
        note_check(lane, CHECK_PROCESSES_DURING, before->outcome, "%s", before->text);
    note_check(lane, CHECK_PROCESSES_BEFORE, CHECK_PASSED, "no process of anybody else");
    note_check(lane, CHECK_PROCESSES_DURING, seen ? CHECK_PASSED : CHECK_NOT_MADE, "%s",
               text_get(&looks));
    note_check(lane, CHECK_IDLE_BEFORE, CHECK_PASSED, "%s",
               checks->idle_text ? checks->idle_text : "");
}

static void check_baseline(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text text = {0};
    bool proven = true;
    if (lane->runner->plan->guard.preflight.baseline_s <= 0) {
        note_check(lane, CHECK_BASELINE, CHECK_NOT_NEEDED, "switched off by the settings");
        return;
    }
    for (size_t i = 0; i < guard->count; i++) {
        const struct idle_window *idle = &guard->devices[i].idle;
        proven = proven && idle->proven;
        text_addf(&text, "%s%s", i ? "; " : "", guard->devices[i].label);
        AUTO_FREE char *power = amount_format_with((struct reading){idle->power_w, true},
                                                   (struct reading){idle->half_width_w, true}, "W");
        text_addf(&text, ": %s",
                  idle->proven ? power : "its idle power was not measured, or was not even");
    }
    note_check(lane, CHECK_BASELINE, proven ? CHECK_PASSED : CHECK_NOT_MADE, "%s", text_get(&text));
}

static void check_memory_back(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text text = {0};
    bool known = true;
    for (size_t i = 0; i < guard->count; i++) {
        const struct guard_device *device = &guard->devices[i];
        struct reading after = device->sample.readings.of[GPU_MEMORY_USED_BYTES];
        text_addf(&text, "%s%s: ", i ? "; " : "", device->label);
        if (device->release == POSTFLIGHT_BACK && after.valid)
            text_addf(&text, "%.0f MiB in use %.1f s after the job was gone", after.value / MIB,
                      device->release_s);
        else if (device->release == POSTFLIGHT_HELD)
            text_add(&text, "what is in use belongs to other processes");
        else
            text_add(&text, "how much of its memory is in use was not seen");
        known = known && (device->release == POSTFLIGHT_BACK || device->release == POSTFLIGHT_HELD);
    }
    note_check(lane, CHECK_MEMORY_BACK, known ? CHECK_PASSED : CHECK_NOT_MADE, "%s",
               text_get(&text));
}

static void check_throttling(struct lane *lane)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    AUTO_TEXT struct text text = {0};
    EACH (device, guard->devices, guard->count)
        if (!device->has_clock_reasons)
            text_addf(&text, "%s%s does not tell why its clocks are low", text.length ? "; " : "",
                      device->label);
    bool told = text.length == 0;
    if (told)
        text_add(&text, "not by heat, and not by the power supply");
    note_check(lane, CHECK_THROTTLING, told ? CHECK_PASSED : CHECK_NOT_MADE, "%s", text_get(&text));
}

static void check_lane_gpus(struct lane *lane)
{
    static const enum check of_gpu[] = {CHECK_PROCESSES_BEFORE, CHECK_PROCESSES_DURING,
                                        CHECK_IDLE_BEFORE,      CHECK_BASELINE,
                                        CHECK_THROTTLING,       CHECK_MEMORY_BACK};
    for (size_t i = 0; !lane_guard_of(lane) && i < sizeof of_gpu / sizeof *of_gpu; i++)
        note_check(lane, of_gpu[i], CHECK_NOT_NEEDED, "no GPU is measured");
    if (!lane_guard_of(lane))
        return;
    check_processes(lane);
    check_baseline(lane);
    check_throttling(lane);
    check_memory_back(lane);
}

static void check_background(struct lane *lane)
{
    const struct lane_load *load = lane_load_get(lane);
    double share = 0;
    bool valid;
    double duration_s = attempt_duration_s(&lane->attempt, &valid);
    if (!lane->experiment->parallel)
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_NOT_NEEDED, "there is no background");
    else if (!lane_guard_of(lane))
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_PASSED,
                   "it ran the whole time; no GPU is measured");
    else if (load->verdict == LOAD_SET)
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_NOT_NEEDED,
                   "the foreground started at a set time: no load is asked of the background");
    else if (lane_load_share(&load->beside_watch, &share))
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_PASSED,
                   "it loaded the GPU in %.0f %% of the checks beside the foreground", 100 * share);
    else if (load->verdict == LOAD_HELD && valid && duration_s < BETWEEN_LISTS_S)
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_PASSED,
                   "its load had held right before the foreground, which took %.2g s", duration_s);
    else
        note_check(lane, CHECK_BACKGROUND_LOAD, CHECK_NOT_MADE,
                   "whether it loaded the GPU beside the foreground was not seen");
}

static void check_machine(struct lane *lane, const struct attempt_use *use)
{
    bool watched = use->has_energy && lane->runner->request->energy_meters &&
                   lane->runner->request->energy_meters->host;
    struct reading share = use->energy.others_share;
    if (!watched)
        note_check(lane, CHECK_OTHER_CPU, CHECK_NOT_MADE, "nothing was measured of the machine");
    else if (share.valid)
        note_check(lane, CHECK_OTHER_CPU, CHECK_PASSED,
                   "others used %.1f %% of the machine's CPU time",
                   100 * (share.value > 0 ? share.value : 0));
    else
        note_check(lane, CHECK_OTHER_CPU, CHECK_PASSED,
                   "others used less than 5 %% of the machine's CPU time");
}

static void check_sampling(struct lane *lane, const struct energy_record *energy)
{
    double least = 1, longest_s = 0;
    if (energy->device_count == 0) {
        note_check(lane, CHECK_SAMPLING, CHECK_NOT_NEEDED, "no energy is measured");
        return;
    }
    EACH (device, energy->devices, energy->device_count) {
        least = fmin(least, device->covered_share.valid ? device->covered_share.value : 1);
        longest_s = fmax(longest_s, device->longest_gap_s.value);
    }
    note_check(lane, CHECK_SAMPLING, CHECK_PASSED,
               "%.1f %% of the time seen by each sensor, the longest gap %.2f s", 100 * least,
               longest_s);
}

static void check_containment(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    bool valid;
    double duration_s = attempt_duration_s(attempt, &valid);
    AUTO_FREE char *layers = attempt->job ? containment_describe(job_layers(attempt->job)) : NULL;
    if (layers)
        note_check(lane, CHECK_PROCESSES_AFTER, CHECK_PASSED, "all proven gone (%s)", layers);
    else
        note_check(lane, CHECK_PROCESSES_AFTER, CHECK_NOT_MADE, "there is no job to look for");
    if (valid)
        note_check(lane, CHECK_LENGTH, CHECK_PASSED, "%.3g s without a pause", duration_s);
    else
        note_check(lane, CHECK_LENGTH, CHECK_NOT_MADE, "how long it took is not known");
}

static bool check_metrics(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    const size_t count = attempt->log ? joblog_result_count(attempt->log) : 0;
    size_t named = attempt->plan->metric_count, found = 0;
    struct text missing = {0}, wrong = {0};
    EACH (metric, attempt->plan->metrics, named) {
        const char *name = metric->name;
        const struct joblog_result *result = NULL;
        for (size_t k = 0; k < count && !result; k++) {
            const struct joblog_result *one = joblog_result(attempt->log, k);
            if (one->role == JOBLOG_METRIC && one->has_number && strcmp(one->name, name) == 0)
                result = one;
        }
        found += result != NULL;
        if (!result)
            text_addf(&missing, "%s%s", missing.length ? ", " : "", name);
        else if (!isfinite(result->number))
            text_addf(&wrong, "%s%s", wrong.length ? ", " : "", name);
    }
    if (named == 0)
        note_check(lane, CHECK_METRIC_PLAUSIBLE, CHECK_NOT_NEEDED, "the registry names no metric");
    else if (wrong.length)
        note_check(lane, CHECK_METRIC_PLAUSIBLE, CHECK_FAILED, "not finite: %s", text_get(&wrong));
    else if (found == 0)
        note_check(lane, CHECK_METRIC_PLAUSIBLE, CHECK_NOT_MADE, "not found in the log: %s",
                   text_get(&missing));
    else
        note_check(lane, CHECK_METRIC_PLAUSIBLE, CHECK_PASSED,
                   "%zu of %zu found and finite, no range is known%s%s", found, named,
                   missing.length ? "; not found: " : "", text_get(&missing));
    text_fini(&missing);
    text_fini(&wrong);
    return found > 0;
}

/* A required check that was not made makes the row unverified, which is evidence. */
static void record_unmade_checks(struct lane *lane, const bool told[CHECKS], unsigned has)
{
    bool unseen = false;
    for (unsigned i = CHECK_PROCESSES_BEFORE; i <= CHECK_PROCESSES_DURING; i++)
        unseen = unseen || (told[i] && checks_of(lane)->of[i].outcome == CHECK_NOT_MADE);
    for (unsigned i = 0; i < CHECKS; i++) {
        const struct check_kind *kind = check_kind((enum check)i);
        const struct check_result *result = &checks_of(lane)->of[i];
        if (told[i] || !kind->required || !(kind->needed_by & has))
            continue;
        /* Reported already; who holds the memory follows from it. */
        if ((i == CHECK_PROCESSES_DURING || i == CHECK_MEMORY_BACK) && unseen)
            continue;
        if (result->outcome == CHECK_NOT_MADE)
            lane_add_evidence(lane, "check_not_made", "%s: %s", kind->name, result->text);
        else if (result->outcome == CHECK_FAILED && i == CHECK_METRIC_PLAUSIBLE)
            lane_add_evidence(lane, "metric_implausible", "%s", result->text);
    }
}

/* null: the attempt never began. */
static json_t *end_checks(struct lane *lane)
{
    struct lane_checks *checks = checks_of(lane);
    AUTO(attempt_use_fini) struct attempt_use use;
    bool told[CHECKS];
    attempt_use_read(lane->ended, &use);
    if (lane->attempt.start_ns == 0)
        return json_null();
    memcpy(told, checks->told, sizeof told);
    check_lane_gpus(lane);
    check_background(lane);
    check_machine(lane, &use);
    check_sampling(lane, &use.energy);
    check_containment(lane);
    unsigned has = 1u << QUANTITY_TIME;
    has |= check_metrics(lane) ? 1u << QUANTITY_METRIC : 0;
    has |= use.energy.device_count > 0 ? 1u << QUANTITY_ENERGY : 0;
    if (lane->outcome == OUTCOME_SUCCEEDED)
        record_unmade_checks(lane, told, has);
    json_t *list = json_array();
    for (unsigned i = 0; i < CHECKS; i++) {
        const struct check_result *result = &checks->of[i];
        const struct check_kind *kind = check_kind((enum check)i);
        if (!kind->required)
            continue;
        AUTO_FREE char *remedied = result->outcome == CHECK_NOT_MADE
                                       ? mem_printf("%s. %s", result->text, kind->remedy)
                                       : NULL;
        json_t *item = json_pack("{s:s, s:s, s:o}", "check", kind->name, "outcome",
                                 check_outcome_name(result->outcome), "text",
                                 json_text_or_null(remedied ? remedied : result->text));
        json_array_append_new(list, item);
    }
    return list;
}

const struct observer checks_observer = {
    .key = "checks",
    .size = sizeof(struct lane_checks),
    .fini = reset_checks,
    .reset = reset_checks,
    .evidence = note_evidence_check,
    .end = end_checks,
};
