#include "run/observers/budget.h"
#include "measure/energy_meters_measure.h"
#include "results/store/replay.h"
#include "run/observers/energy_split.h"

#include "base/mem.h"
#include "plan/config/size.h"

#include <math.h>

/* Use is journaled each minute and at each hundredth of a budget. */
static const int64_t RECORD_NS = 60 * NS_PER_S;
static const double RECORD_SHARE = 0.01;

/* A missing reading at the end of a short attempt does not break the run. */
static const double UNMEASURED_S = 60;

/* The current attempt of a lane. */
struct lane_budget {
    struct reading power_w; /* the last reading, until there is another */
    int64_t read_ns;        /* of power_w; 0: no attempt */
    double gpu_j;
    int64_t split_mj;            /* when the attempt began */
    int64_t *first_mj, *last_mj; /* of each counter of the host; below 0: not read */
    size_t counters;
    char *unmeasured; /* a GPU without energy; NULL: none */
};

enum budget_kind { BUDGET_ENERGY, BUDGET_TIME, BUDGETS };

/* In J or s. */
struct use {
    const char *name;
    double budget, used, mean, reserved;
};

LANE_STATE(budget_of, struct lane_budget, budget_observer);

static bool counts_energy(const struct runner *runner)
{
    const struct run_budget *budget = runner->request->budget;
    return budget && budget->energy_j > 0;
}

static const struct rapl *find_packages(const struct runner *runner)
{
    const struct energy_meters_options *energy_meters = runner->request->energy_meters;
    return energy_meters && energy_meters->host ? host_meter_rapl(energy_meters->host) : NULL;
}

static double read_cpu_energy(const struct lane *lane)
{
    const struct lane_budget *own = budget_of(lane);
    int64_t mj = lane->runner->split.begun ? energy_split_part_mj(lane) - own->split_mj : 0;
    for (size_t i = 0; !lane->runner->split.begun && i < own->counters; i++)
        if (own->first_mj[i] >= 0 && own->last_mj[i] > own->first_mj[i])
            mj += own->last_mj[i] - own->first_mj[i];
    return (double)mj / 1000;
}

static struct reading read_used_energy(const struct lane *lane)
{
    const struct lane_budget *own = budget_of(lane);
    const struct energy_meters_options *energy_meters = lane->runner->request->energy_meters;
    double cpu = own->read_ns ? read_cpu_energy(lane) : 0;
    bool known = own->read_ns && (energy_meters->gpu_count == 0 ? cpu > 0 : own->power_w.valid);
    return (struct reading){own->gpu_j + cpu, known};
}

static void read_uses(const struct runner *runner, struct use uses[BUDGETS])
{
    const struct run_budget *budget = runner->request->budget;
    const struct store_use *use = store_use(runner->request->store);
    double used_j = use->energy_j, mean_j = use->succeeded_measured
                                                ? use->succeeded_j / (double)use->succeeded_measured
                                                : 0;
    double reserved_j = 0;
    EACH (lane, runner->lanes, runner->lane_count) {
        struct reading live = read_used_energy(lane);
        used_j += live.valid ? live.value : 0;
        if (lane->experiment && lane->phase > PHASE_CHOOSING && lane->phase < PHASE_JUDGING)
            reserved_j += fmax(0, mean_j - (live.valid ? live.value : 0));
    }
    uses[BUDGET_ENERGY] =
        (struct use){"energy budget", budget->energy_j, used_j, mean_j, reserved_j};
    uses[BUDGET_TIME] = (struct use){
        .name = "time budget",
        .budget = budget->time_s,
        .used = runner->budget.before_s + ns_to_s(clock_monotonic_ns() - runner->budget.begun_ns),
        .mean = use->succeeded ? use->succeeded_s / (double)use->succeeded : 0,
    };
}

static char *make_amount_text(double value, enum budget_kind kind)
{
    char text[32];
    if (kind == BUDGET_ENERGY)
        return size_energy_text(value);
    clock_format_duration(value, text);
    return mem_strdup(text);
}

static void set_reached(struct runner *runner, char *text)
{
    free(runner->budget.reached);
    runner->budget.reached = text;
}

/* NULL: none. The caller frees. */
static char *describe_used_up(const struct use uses[BUDGETS])
{
    for (enum budget_kind i = 0; i < BUDGETS; i++) {
        if (uses[i].budget <= 0 || uses[i].used < uses[i].budget)
            continue;
        AUTO_FREE char *budget = make_amount_text(uses[i].budget, i);
        AUTO_FREE char *used = make_amount_text(uses[i].used, i);
        return mem_printf("the %s of %s is used up: %s", uses[i].name, budget, used);
    }
    return NULL;
}

/* NULL: the rest is enough for another experiment. The caller frees. */
static char *describe_too_little(const struct use uses[BUDGETS])
{
    for (enum budget_kind i = 0; i < BUDGETS; i++) {
        double left = uses[i].budget - uses[i].used - uses[i].reserved;
        if (uses[i].budget <= 0 || left >= uses[i].mean)
            continue;
        AUTO_FREE char *budget = make_amount_text(uses[i].budget, i);
        AUTO_FREE char *used = make_amount_text(uses[i].used, i);
        AUTO_FREE char *mean = make_amount_text(uses[i].mean, i);
        return mem_printf("the %s of %s does not suffice for another experiment: %s used%s, and "
                          "one needs %s on average",
                          uses[i].name, budget, used,
                          uses[i].reserved > 0 ? ", the rest needed by those under way" : "", mean);
    }
    return NULL;
}

static void break_unmeasured(struct runner *runner, const char *what)
{
    struct err err;
    err_set(&err,
            "the energy budget cannot be checked: %s; when that is fixed, or without that budget, "
            "go on with --resume %s",
            what, runner->typed_dir);
    runner_break(runner, &err);
}

/* Unmeasured use must not count as none. */
static bool is_blind(struct runner *runner)
{
    const struct store_use *use = store_use(runner->request->store);
    if (!counts_energy(runner))
        return false;
    EACH (lane, runner->lanes, runner->lane_count) {
        const char *what =
            lane->energy_meters ? budget_of(lane)->unmeasured : "the meters could not be started";
        if (!what || lane->lost || lane->retired)
            continue;
        break_unmeasured(runner, what);
        return true;
    }
    bool blind = use->unmeasured_s - runner->budget.unmeasured_before_s > UNMEASURED_S;
    if (blind)
        break_unmeasured(
            runner, "attempts of this session, of more than a minute together, have no energy");
    return blind;
}

static bool refuse_experiment(struct runner *runner)
{
    struct use uses[BUDGETS];
    if (!runner->request->budget)
        return false;
    if (is_blind(runner))
        return true;
    read_uses(runner, uses);
    char *why = describe_used_up(uses);
    why = why ? why : describe_too_little(uses);
    bool said = runner->budget.reached != NULL;
    set_reached(runner, why);
    if (why && !said)
        runner_note(runner, "no experiment is begun any more: %s", why);
    return why != NULL;
}

void budget_begin(struct runner *runner)
{
    const struct store_use *use = store_use(runner->request->store);
    runner->budget = (struct runner_budget){.refuses = refuse_experiment,
                                            .begun_ns = clock_monotonic_ns(),
                                            .before_s = use->time_s,
                                            .unmeasured_before_s = use->unmeasured_s};
}

bool budget_is_reached(const struct runner *runner)
{
    for (size_t number = 1; runner->budget.reached && number <= runner->plan->count; number++)
        if (runner_is_left(runner, number))
            return true;
    return false;
}

static json_t *budget_use_json(const struct use *use, const char *unit)
{
    AUTO_FREE char *budget = mem_printf("budget_%s", unit);
    AUTO_FREE char *used = mem_printf("used_%s", unit);
    AUTO_FREE char *mean = mem_printf("mean_%s", unit);
    if (use->budget <= 0)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", budget, json_finite(use->budget), used,
                     json_finite(number_round(use->used, 6)), mean,
                     use->mean > 0 ? json_finite(number_round(use->mean, 6)) : json_null());
}

static json_t *counted_energy_json(const struct runner *runner)
{
    json_t *json = json_array();
    const struct energy_meters_options *energy_meters = runner->request->energy_meters;
    const struct rapl *rapl = find_packages(runner);
    bool packages = false;
    for (size_t i = 0; rapl && i < rapl->count; i++)
        packages =
            packages || (rapl->domains[i].scope == RAPL_PACKAGE && rapl->domains[i].available);
    if (energy_meters && energy_meters->gpu_count > 0)
        json_array_append_new(json, json_string(energy_meters_scope_name(ENERGY_GPU)));
    if (packages)
        json_array_append_new(json, json_string(energy_meters_scope_name(ENERGY_PACKAGE)));
    return json;
}

json_t *budget_json(struct runner *runner)
{
    struct use uses[BUDGETS];
    if (!runner->request->budget)
        return NULL;
    read_uses(runner, uses);
    const struct store_use *use = store_use(runner->request->store);
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:o*}", "energy",
                     budget_use_json(&uses[BUDGET_ENERGY], "j"), "time",
                     budget_use_json(&uses[BUDGET_TIME], "s"), "counted",
                     counts_energy(runner) ? counted_energy_json(runner) : json_array(), "attempts",
                     (json_int_t)use->attempts, "estimated", (json_int_t)use->estimated,
                     "unmeasured", (json_int_t)use->unmeasured, "reached",
                     budget_is_reached(runner) ? json_string(runner->budget.reached) : json_null());
}

static void begin_budget(struct lane *lane)
{
    struct lane_budget *own = budget_of(lane);
    const struct rapl *rapl = find_packages(lane->runner);
    if (!counts_energy(lane->runner) || !lane->energy_meters)
        return;
    own->counters = rapl ? rapl->count : 0;
    own->first_mj = mem_resize(own->first_mj, own->counters + 1, sizeof *own->first_mj);
    own->last_mj = mem_resize(own->last_mj, own->counters + 1, sizeof *own->last_mj);
    for (size_t i = 0; i < own->counters; i++)
        own->first_mj[i] = own->last_mj[i] = -1;
    own->split_mj = energy_split_part_mj(lane);
    own->gpu_j = 0;
    own->power_w = energy_meters_power_w(lane->energy_meters);
    own->read_ns = lane->attempt.start_ns;
}

static void sample_budget(struct lane *lane)
{
    struct lane_budget *own = budget_of(lane);
    int64_t now_ns = clock_monotonic_ns();
    if (!own->read_ns || lane->command_end_reported)
        return;
    struct reading power_w = energy_meters_power_w(lane->energy_meters);
    if (power_w.valid)
        own->power_w = power_w;
    own->gpu_j += own->power_w.valid ? own->power_w.value * ns_to_s(now_ns - own->read_ns) : 0;
    own->read_ns = now_ns;
}

static void add_budget_counter(struct lane *lane, size_t domain, const char *name,
                               const struct counter_reading *reading)
{
    struct lane_budget *own = budget_of(lane);
    const struct rapl *rapl = find_packages(lane->runner);
    (void)name;
    if (!own->read_ns || domain >= own->counters || !rapl || domain >= rapl->count ||
        rapl->domains[domain].scope != RAPL_PACKAGE || reading->energy_mj > INT64_MAX)
        return;
    own->last_mj[domain] = (int64_t)reading->energy_mj;
    if (own->first_mj[domain] < 0)
        own->first_mj[domain] = own->last_mj[domain];
}

static void record_budget(struct lane *lane)
{
    struct runner *runner = lane->runner;
    struct reading live = read_used_energy(lane);
    json_t *data = json_object();
    json_set_reading(data, "energy_j", live);
    json_object_set_new(data, "budget", budget_json(runner));
    runner->budget.recorded_ns = clock_monotonic_ns();
    lane_record(lane, EVENT_BUDGET, data, NULL);
}

/* For the budget that is used most. */
static double used_share(const struct use uses[BUDGETS])
{
    double share = 0;
    for (int i = 0; i < BUDGETS; i++)
        share = uses[i].budget > 0 ? fmax(share, uses[i].used / uses[i].budget) : share;
    return share;
}

void budget_check(struct runner *runner)
{
    struct use uses[BUDGETS];
    if (!runner->request->budget || runner_is_halted(runner) || is_blind(runner))
        return;
    read_uses(runner, uses);
    char *why = describe_used_up(uses);
    double share = used_share(uses);
    if (why || clock_monotonic_ns() - runner->budget.recorded_ns > RECORD_NS ||
        share - runner->budget.recorded_share > RECORD_SHARE) {
        EACH (lane, runner->lanes, runner->lane_count)
            if (lane->phase == PHASE_RUNNING)
                record_budget(lane);
        runner->budget.recorded_share = share;
    }
    if (!why)
        return;
    set_reached(runner, why);
    runner->budget.stops = true;
    runner_halt_lanes(runner);
}

static void check_running_budget(struct lane *lane)
{
    if (lane->phase > PHASE_CHOOSING && lane->phase < PHASE_CLOSING)
        budget_check(lane->runner);
}

static json_t *end_budget(struct lane *lane)
{
    struct lane_budget *own = budget_of(lane);
    if (own->read_ns && !attempt_energy_j(lane->ended).valid && read_used_energy(lane).valid)
        record_budget(lane);
    own->read_ns = 0;
    return NULL;
}

static void note_unmeasured_gpu(struct lane *lane, const char *label)
{
    struct lane_budget *own = budget_of(lane);
    if (!own->unmeasured)
        own->unmeasured = mem_printf("the energy of %s is not measured", label);
}

static void free_budget(struct lane *lane)
{
    struct lane_budget *own = budget_of(lane);
    free(own->first_mj);
    free(own->last_mj);
    free(own->unmeasured);
}

const struct observer budget_observer = {
    .size = sizeof(struct lane_budget),
    .fini = free_budget,
    .begin = begin_budget,
    .tick = check_running_budget,
    .measure = sample_budget,
    .end = end_budget,
    .counter = add_budget_counter,
    .unavailable = note_unmeasured_gpu,
};
