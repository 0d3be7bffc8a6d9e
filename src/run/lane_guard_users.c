/* Who has a lane's GPUs: told apart once for each process, by number and start time. */
#include "run/lane_guard.h"

#include "base/mem.h"
#include "measure/guard/who.h"
#include "machine/state/leftovers.h"

#include <fcntl.h>

/* For what a dead run left: it is ended by SIGKILL, and the loop is not to be kept longer than that. */
static const double RECOVERY_S = 0.2;

static const struct census_roots machine = {"/proc", "/dev"};

static const struct census_roots *roots_of(const struct lane *lane)
{
    const struct census_roots *roots = lane->runner->request->roots;
    return roots ? roots : &machine;
}

static bool is_of(struct job *job, pid_t pid)
{
    return job && (job_identity(job)->pid == pid || job_has_member(job, pid));
}

static struct guard_person *find(struct lane_guard *guard, int32_t pid, uint64_t start_time)
{
    for (size_t i = 0; i < guard->person_count; i++)
        if (guard->people[i].pid == pid && guard->people[i].start_time == start_time)
            return &guard->people[i];
    return NULL;
}

static struct guard_person *meet(struct lane *lane, int32_t pid, uint64_t start_time)
{
    struct lane_guard *guard = guard_of(lane);
    struct guard_person *person = find(guard, pid, start_time);
    struct who who;
    if (person || !who_look(roots_of(lane)->proc, pid, &who))
        return person;
    bool ours = is_of(lane->attempt.job, pid) || is_of(lane->background.loop.job, pid);
    /* A job's process that is ending is no member any more, and yet none of a stranger's; and a number of another pid
     * namespace is nobody's here. */
    if (!ours && (who_is_going(roots_of(lane)->proc, pid) ||
                  !who_may_have_gpu(roots_of(lane)->proc, roots_of(lane)->dev, pid))) {
        who_fini(&who);
        return NULL;
    }
    person = &MEM_ADD(guard->people, guard->person_count, guard->person_capacity);
    *person = (struct guard_person){.pid = pid,
                                    .start_time = who.start_time,
                                    .owner = ours ? GUARD_OURS : GUARD_FOREIGN,
                                    .text = who_text(&who, "/etc/passwd"),
                                    .tag = mem_strdup(who.tag)};
    who_fini(&who);
    return person;
}

void guard_people_fini(struct lane_guard *guard)
{
    for (size_t i = 0; i < guard->person_count; i++) {
        free(guard->people[i].text);
        free(guard->people[i].tag);
    }
    free(guard->people);
    guard->people = NULL;
    guard->person_count = guard->person_capacity = 0;
}

void guard_users_take(struct lane *lane, struct guard_device *device, const struct gpu_users *users)
{
    int proc = open(roots_of(lane)->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    device->users = mem_resize(device->users, users->count + 1U, sizeof *device->users);
    device->user_count = users->count;
    device->left_out = users->left_out;
    for (uint32_t i = 0; i < users->count; i++) {
        const struct gpu_user *user = &users->users[i];
        struct proc_stat stat;
        bool lives = proc >= 0 && proc_stat_read(proc, user->pid, &stat) && proc_stat_alive(&stat);
        const struct guard_person *person = lives ? meet(lane, user->pid, stat.start_time) : NULL;
        device->users[i] = (struct guard_user){.owner = person ? person->owner : GUARD_UNSEEN,
                                               .pid = user->pid,
                                               .start_time = person ? person->start_time : 0,
                                               .graphics = user->graphics && !user->compute,
                                               .known = person && person->known,
                                               .memory_bytes = user->memory_bytes,
                                               .sm_percent = user->sm_percent};
    }
    /* The list of people may have moved while it grew. */
    for (uint32_t i = 0; i < users->count; i++) {
        const struct guard_person *person = find(guard_of(lane), device->users[i].pid, device->users[i].start_time);
        device->users[i].text = person ? person->text : "a process of unknown owner";
    }
    if (proc >= 0)
        close(proc);
}

void guard_users_know(struct lane_guard *guard)
{
    for (size_t d = 0; d < guard->count; d++)
        for (size_t i = 0; i < guard->devices[d].user_count; i++) {
            struct guard_user *user = &guard->devices[d].users[i];
            struct guard_person *person = find(guard, user->pid, user->start_time);
            if (person)
                person->known = user->known = true;
        }
}

/* The drivers' lists are trusted in that only where they named a process of the job's by a number that /proc knows: in a container they may be
 * empty, or of another pid namespace. */
bool guard_only_open(const struct lane *lane, int32_t pid)
{
    const struct lane_guard *guard = guard_of(lane);
    bool proven = false, named = false;
    for (size_t i = 0; guard && i < guard->person_count; i++) {
        proven |= guard->people[i].owner == GUARD_OURS;
        named |= guard->people[i].pid == pid;
    }
    for (size_t i = 0; proven && i < guard->count; i++)
        proven = guard->devices[i].listed && guard->devices[i].left_out == 0;
    return proven && !named;
}

static bool any_tagged(const struct lane_guard *guard)
{
    for (size_t d = 0; d < guard->count; d++)
        for (size_t i = 0; i < guard->devices[d].user_count; i++) {
            const struct guard_user *user = &guard->devices[d].users[i];
            const struct guard_person *person =
                find((struct lane_guard *)(uintptr_t)guard, user->pid, user->start_time);
            if (guard_is_foreign(user) && person && person->tag)
                return true;
        }
    return false;
}

void guard_users_end_leftovers(struct lane *lane)
{
    struct state *state = lane->runner->request->state;
    struct leftovers leftovers;
    if (!state || !any_tagged(guard_of(lane)))
        return;
    state_recover(state, RECOVERY_S, NULL, NULL, NULL);
    if (!leftovers_find(state, roots_of(lane), &leftovers, NULL))
        return;
    for (size_t i = 0; i < leftovers.count; i++)
        if (leftovers.items[i].kind == LEFTOVER_TAGGED && leftovers.items[i].process->uid == geteuid() &&
            leftover_kill(roots_of(lane), &leftovers.items[i], NULL))
            lane_say(lane, "ended pid %d (%s), which a dead run had left", (int)leftovers.items[i].process->stat.pid,
                     leftovers.items[i].process->stat.comm);
    leftovers_fini(&leftovers);
}
