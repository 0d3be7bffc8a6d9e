/* Identifies each process once, by pid and start time; asks the GPUs in rounds. */
#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "run/lane.h"
#include "run/lane_idle.h"
#include "run/observers/sleep.h"

#include "base/mem.h"
#include "machine/state/leftovers.h"
#include "measure/guard/who.h"
#include "measure/memory_curve.h"

#include <fcntl.h>
#include <string.h>

/* SIGKILL ends leftovers; the event loop must not wait longer. */
static const double RECOVERY_S = 0.2;

static const struct census_roots machine = {"/proc", "/dev"};

static const struct census_roots *census_roots_for(const struct lane *lane)
{
    const struct census_roots *roots = lane->runner->request->roots;
    return roots ? roots : &machine;
}

static bool is_member(struct job *job, pid_t pid)
{
    return job && (job_identity(job)->pid == pid || job_has_member(job, pid));
}

static struct guard_person *find_guard_person(struct lane_guard *guard, int32_t pid,
                                              uint64_t start_time)
{
    EACH (item, guard->people, guard->person_count)
        if (item->pid == pid && item->start_time == start_time)
            return item;
    return NULL;
}

static struct guard_person *find_or_add_person(struct lane *lane, int32_t pid, uint64_t start_time)
{
    struct lane_guard *guard = lane_guard_of(lane);
    struct guard_person *person = find_guard_person(guard, pid, start_time);
    struct who who;
    if (person || !who_look(census_roots_for(lane)->proc, pid, &who))
        return person;
    bool ours = is_member(lane->attempt.job, pid) || is_member(lane->background.loop.job, pid);
    /* An exiting job process is not foreign. Ignore PIDs of other namespaces. */
    if (!ours &&
        (who_is_going(census_roots_for(lane)->proc, pid) ||
         !who_may_have_gpu(census_roots_for(lane)->proc, census_roots_for(lane)->dev, pid))) {
        who_fini(&who);
        return NULL;
    }
    person = &MEM_ADD(guard->people, guard->person_count);
    *person = (struct guard_person){.pid = pid,
                                    .start_time = who.start_time,
                                    .owner = ours ? GUARD_OURS : GUARD_FOREIGN,
                                    .other_user = geteuid() != 0 && who.uid != geteuid(),
                                    .text = who_text(&who, "/etc/passwd"),
                                    .tag = mem_strdup(who.tag)};
    who_fini(&who);
    return person;
}

/* People may have moved or been described again. */
static void set_texts(struct lane_guard *guard, struct guard_device *device)
{
    EACH (user, device->users, device->user_count) {
        const struct guard_person *person = find_guard_person(guard, user->pid, user->start_time);
        user->text = person ? person->text : "a process of unknown owner";
    }
}

void lane_guard_describe_users(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    struct who who;
    EACH (person, guard->people, guard->person_count) {
        if (!who_look(census_roots_for(lane)->proc, person->pid, &who))
            continue;
        if (who.start_time == person->start_time) {
            free(person->text);
            person->text = who_text(&who, "/etc/passwd");
        }
        who_fini(&who);
    }
    for (size_t i = 0; i < guard->count; i++)
        set_texts(guard, &guard->devices[i]);
}

static void keep_users(struct lane *lane, struct guard_device *device,
                       const struct gpu_users *users)
{
    int proc = open(census_roots_for(lane)->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    device->users = mem_resize(device->users, users->count + 1U, sizeof *device->users);
    device->user_count = users->count;
    device->left_out = users->left_out;
    for (uint32_t i = 0; i < users->count; i++) {
        const struct gpu_user *user = &users->users[i];
        struct proc_stat stat;
        bool lives = proc >= 0 && proc_stat_read(proc, user->pid, &stat) && proc_stat_alive(&stat);
        const struct guard_person *person =
            lives ? find_or_add_person(lane, user->pid, stat.start_time) : NULL;
        device->users[i] = (struct guard_user){.owner = person ? person->owner : GUARD_UNSEEN,
                                               .pid = user->pid,
                                               .start_time = person ? person->start_time : 0,
                                               .graphics = user->graphics && !user->compute,
                                               .known = person && person->known,
                                               .other_user = person && person->other_user,
                                               .memory_bytes = user->memory_bytes,
                                               .sm_percent = user->sm_percent};
    }
    set_texts(lane_guard_of(lane), device);
    if (proc >= 0)
        close(proc);
}

void lane_guard_mark_known(struct lane_guard *guard)
{
    EACH (item, guard->people, guard->person_count)
        item->known = false; /* a process that returns is reported again */
    for (size_t d = 0; d < guard->count; d++)
        for (size_t i = 0; i < guard->devices[d].user_count; i++) {
            struct guard_user *user = &guard->devices[d].users[i];
            struct guard_person *person = find_guard_person(guard, user->pid, user->start_time);
            if (person)
                person->known = user->known = true;
        }
}

/* Trust the driver's list only if it named one of the job's processes: in a container it may be
 * empty or of another pid namespace. */
bool lane_guard_is_monitor(const struct lane *lane, int32_t pid)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    bool proven = false, named = false;
    for (size_t i = 0; guard && i < guard->person_count; i++) {
        proven |= guard->people[i].owner == GUARD_OURS;
        named |= guard->people[i].pid == pid;
    }
    for (size_t i = 0; proven && i < guard->count; i++)
        proven = guard->devices[i].listed && guard->devices[i].left_out == 0;
    return proven && !named;
}

static bool has_tagged_user(const struct lane_guard *guard)
{
    EACH (device, guard->devices, guard->count)
        EACH (user, device->users, device->user_count) {
            const struct guard_person *person = find_guard_person(
                (struct lane_guard *)(uintptr_t)guard, user->pid, user->start_time);
            if (guard_is_foreign(user) && person && person->tag)
                return true;
        }
    return false;
}

void lane_guard_end_leftovers(struct lane *lane)
{
    struct state *state = lane->runner->request->state;
    struct leftovers leftovers;
    if (!state || !has_tagged_user(lane_guard_of(lane)))
        return;
    state_recover(state, RECOVERY_S, NULL, NULL, NULL);
    if (!leftovers_find(state, census_roots_for(lane), &leftovers, NULL))
        return;
    for (size_t i = 0; i < leftovers.count; i++)
        if (leftovers.items[i].kind == LEFTOVER_TAGGED &&
            leftovers.items[i].process->uid == geteuid() &&
            leftover_kill(census_roots_for(lane), &leftovers.items[i]))
            lane_note(lane, "ended pid %d (%s), which a dead run had left",
                      (int)leftovers.items[i].process->stat.pid,
                      leftovers.items[i].process->stat.comm);
    leftovers_fini(&leftovers);
}

/* A GPU that takes longer is left out until it answers. */
enum { ANSWER_US = 3000000 };

double lane_guard_seconds_since(int64_t ns)
{
    return ns_to_s(clock_monotonic_ns() - ns);
}

uint64_t lane_guard_end_ticks(const struct lane *lane)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    if (ticks_per_s <= 0 || lane->attempt.end_ns == 0)
        return UINT64_MAX;
    return (uint64_t)((lane->attempt.end_ns + lane_sleep_total_ns(lane)) /
                      (NS_PER_S / ticks_per_s));
}

struct lane_guard *lane_guard_of(const struct lane *lane)
{
    struct lane_guard *guard = lane_observer_state(lane, &guard_observer);
    return guard->count > 0 ? guard : NULL;
}

static void set_up_guard(struct lane *lane, const struct energy_meters_options *options)
{
    if (options->gpu_count == 0)
        return;
    struct lane_guard *guard = lane_observer_state(lane, &guard_observer);
    guard->count = options->gpu_count;
    guard->devices = mem_array(guard->count, sizeof *guard->devices);
    guard->previous.devices = mem_array(guard->count, sizeof *guard->previous.devices);
    for (size_t i = 0; i < guard->count; i++) {
        guard->devices[i].label = options->gpus[i].label;
        guard->devices[i].vendor = options->gpus[i].vendor;
    }
}

static void free_guard(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (!guard)
        return;
    EACH (device, guard->devices, guard->count) {
        watch_fini(&device->watch);
        free(device->users);
    }
    guard_findings_fini(&guard->pending);
    guard_holders_fini(&guard->holders);
    EACH (person, guard->people, guard->person_count) {
        free(person->text);
        free(person->tag);
    }
    free(guard->people);
    free(guard->devices);
    free(guard->previous.devices);
}

static struct guard_device *find_guard_device(const struct lane *lane, const char *label)
{
    const struct lane_guard *guard = lane_guard_of(lane);
    for (size_t i = 0; guard && i < guard->count; i++)
        if (strcmp(guard->devices[i].label, label) == 0)
            return &guard->devices[i];
    return NULL;
}

static void lose_meter(struct lane *lane, const char *label)
{
    struct guard_device *device = find_guard_device(lane, label);
    if (!device)
        return;
    device->unavailable = true;
    lane_guard_check_answers(lane);
}

static void keep_guard_sample(struct lane *lane, const char *label, const struct gpu_sample *sample)
{
    struct guard_device *device = find_guard_device(lane, label);
    if (!device)
        return;
    device->previous_bytes = device->sample.readings.of[GPU_MEMORY_USED_BYTES];
    device->sample = *sample;
    device->has_clock_reasons =
        device->has_clock_reasons || sample->readings.of[GPU_CLOCK_REASONS].valid;
}

void lane_guard_sample_of(const struct guard_device *device, int64_t asked_ns,
                          struct guard_look *out)
{
    bool fresh = device->sample.t_ns >= asked_ns && device->sample.t_ns > 0;
    *out = (struct guard_look){
        .device = device->label,
        .vendor = device->vendor,
        .t_ns = fresh && device->sample.t_ns > device->users_ns ? device->sample.t_ns
                                                                : device->users_ns,
        .first_ns = fresh && device->sample.t_ns < device->users_ns ? device->sample.t_ns
                                                                    : device->users_ns,
        .readings = fresh ? &device->sample.readings : NULL,
        .listed = device->listed && device->users_ns >= asked_ns,
        .users = device->users,
        .user_count = device->users_ns >= asked_ns ? device->user_count : 0,
        .left_out = device->users_ns >= asked_ns ? device->left_out : 0,
    };
}

bool lane_guard_is_blind(const struct lane_guard *guard)
{
    EACH (device, guard->devices, guard->count)
        if (!device->unavailable && !device->unresponsive)
            return false;
    return true;
}

static bool have_all_answered(const struct lane_guard *guard)
{
    EACH (device, guard->devices, guard->count) {
        if (!device->answered && !device->unavailable && !device->unresponsive)
            return false;
    }
    return true;
}

static void end_round(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    lane_step *step = guard->round_step;
    guard->round_step = NULL;
    step_cancel(&lane->timer);
    EACH (device, guard->devices, guard->count)
        device->unresponsive = !device->answered;
    step(lane);
}

void lane_guard_ask(struct lane *lane, lane_step *step)
{
    struct lane_guard *guard = lane_guard_of(lane);
    guard->round_step = step;
    guard->asked_ns = clock_monotonic_ns();
    EACH (device, guard->devices, guard->count)
        device->answered = false;
    energy_meters_tick(lane->energy_meters);
    energy_meters_users(lane->energy_meters);
    /* Unresponsive GPUs are asked, too; alone they get a short time. */
    lane_enter_after(lane, lane_guard_is_blind(guard) ? ANSWER_US / 30 : ANSWER_US, end_round);
}

static void ask_deferred(struct lane *lane)
{
    lane_guard_ask(lane, lane_guard_of(lane)->later_step);
}

void lane_guard_ask_later(struct lane *lane, uint64_t us, lane_step *step)
{
    lane_guard_of(lane)->later_step = step;
    lane_enter_after(lane, us, ask_deferred);
}

static void keep_guard_users(struct lane *lane, const char *label, int64_t t_ns,
                             const struct gpu_users *users)
{
    struct guard_device *device = find_guard_device(lane, label);
    if (!device)
        return;
    keep_users(lane, device, users);
    device->users_ns = t_ns;
    device->answered = true;
    device->listed = users->told;
    device->unresponsive = false;
    if ((!lane_guard_of(lane)->running && !lane_guard_of(lane)->before_foreground) ||
        device->sampled_after_end)
        return;
    device->list_count++;
    device->sampled_after_end =
        lane_guard_of(lane)->edge_ns > 0 && t_ns >= lane_guard_of(lane)->edge_ns;
    EACH (user, device->users, device->user_count)
        user->later = user->start_time > lane_guard_end_ticks(lane);
    struct guard_look look;
    lane_guard_sample_of(device, lane->attempt.start_ns, &look);
    look.ended = lane_guard_of(lane)->edge_ns > 0;
    watch_take(&device->watch, &device->known, &look);
    for (const struct watch_span *span; (span = watch_news(&device->watch));)
        lane_note(lane, "%s", span->text);
}

void lane_guard_check_answers(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    if (guard && guard->waiting_edges)
        lane_idle_check_answers(lane);
    else if (guard && guard->round_step && have_all_answered(guard) && !lane_guard_is_blind(guard))
        end_round(lane);
}

void lane_guard_cancel(struct lane *lane)
{
    struct lane_guard *guard = lane_guard_of(lane);
    step_cancel(&lane->timer);
    if (!guard)
        return;
    guard->round_step = NULL;
    guard->waiting_edges = false;
}

void lane_guard_leave(struct lane *lane, enum lane_event event)
{
    struct lane_guard *guard = lane_guard_of(lane);
    (void)event;
    if (!guard || !guard->at_work)
        return;
    guard->at_work = false;
    lane_guard_cancel(lane);
    lane_enter_next(lane); /* the next phase finds the reason */
}

json_t *lane_guard_device_json(const struct guard_device *device)
{
    const struct gpu_readings *readings = &device->sample.readings;
    const struct reading *of = readings->of;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "device", device->label, "memory_bytes",
        bytes_json(of[GPU_MEMORY_USED_BYTES].valid, of[GPU_MEMORY_USED_BYTES].value), "empty_bytes",
        bytes_json(device->known.empty_bytes.valid, device->known.empty_bytes.value), "power_w",
        json_reading_or_null(gpu_readings_power_w(readings)), "utilisation_percent",
        json_reading_or_null(of[GPU_UTILISATION_PERCENT]), "temperature_c",
        json_reading_or_null(of[GPU_TEMPERATURE_C]), "sm_clock_mhz",
        json_reading_or_null(of[GPU_SM_CLOCK_MHZ]), "memory_clock_mhz",
        json_reading_or_null(of[GPU_MEMORY_CLOCK_MHZ]));
}

const struct observer guard_observer = {
    .size = sizeof(struct lane_guard),
    .meters_started = set_up_guard,
    .fini = free_guard,
    .sample = keep_guard_sample,
    .users = keep_guard_users,
    .unavailable = lose_meter,
    .answered = lane_guard_check_answers,
};
