#include "run/ladder.h"
#include "base/mem.h"
#include "base/record.h"
#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/finder.h"
#include "plan/change.h"
#include "run/aftermath.h"
#include "run/lane.h"
#include "run/observers/memory.h"

#include <string.h>

/* A training that printed more than this after the message survived it. */
enum { LOG_TAIL = 256 << 10, LINES_BEHIND_MAX = 400 };

/* With more than this share others may be the cause that the message does not name. */
static const double OTHERS_SHARE = 0.05;

static const char *const conf_names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
enum { CONF_NAMES = sizeof conf_names / sizeof *conf_names };

enum action { RETRY_SAME, RETRY_EXPANDABLE, RETRY_STEP, RETRY_NONE };
static const char *const action_names[] = {"same", "expandable_segments", "step", "none"};

void ladder_fini(struct ladder *ladder)
{
    if (ladder->experiment)
        plan_experiment_fini(ladder->experiment);
    free(ladder->experiment);
    json_decref(ladder->changed);
    *ladder = (struct ladder){0};
}

const struct plan_experiment *ladder_experiment(const struct lane *lane)
{
    return lane->ladder.experiment ? lane->ladder.experiment : lane->experiment;
}

/* A copy from the first change on. NULL: not possible. */
static struct plan_job *job_to_change(struct lane *lane)
{
    struct ladder *ladder = &lane->ladder;
    if (!ladder->experiment)
        ladder->experiment = change_copy(lane->experiment);
    if (!ladder->changed)
        ladder->changed = json_array();
    return ladder->experiment ? &ladder->experiment->foreground : NULL;
}

static const char *find_variable(const struct lane *lane, const struct plan_job *job,
                                 const char *name)
{
    const char *own = strv_env_get(&job->env, name);
    return own ? own : strv_env_get(lane->runner->request->environment, name);
}

/* NULL: none. The newer variable counts. */
static const char *find_setting(const struct lane *lane)
{
    const struct plan_job *job = &ladder_experiment(lane)->foreground;
    const char *newer = find_variable(lane, job, conf_names[0]);
    return newer ? newer : find_variable(lane, job, conf_names[1]);
}

/* Turns expandable segments on; the caller frees. */
static char *make_expandable_setting(const char *conf)
{
    static const char name[] = "expandable_segments";
    struct text text = {0};
    while (conf && *conf) {
        size_t length = strcspn(conf, ",");
        const char *begin = conf + strspn(conf, " ");
        if (length > 0 && strncmp(begin, name, strlen(name)) != 0) {
            text_add_bytes(&text, conf, length);
            text_add_char(&text, ',');
        }
        conf += length + (conf[length] == ',');
    }
    text_addf(&text, "%s:True", name);
    return text_take(&text);
}

/* Changes the variable that is set, else the older name, which all versions know. */
static bool set_expandable_segments(struct lane *lane)
{
    struct plan_job *job = job_to_change(lane);
    bool any = false;
    for (size_t i = 0; job && i < CONF_NAMES; i++) {
        AUTO_FREE char *before = mem_strdup(find_variable(lane, job, conf_names[i]));
        bool last = i + 1 == CONF_NAMES;
        if (!before && (any || !last))
            continue;
        AUTO_FREE char *then = make_expandable_setting(before);
        change_set_env(job, conf_names[i], before, then, lane->ladder.changed);
        any = true;
    }
    lane->ladder.expandable |= any;
    return any;
}

static size_t count_step_uses(const struct ladder *ladder, size_t step)
{
    size_t times = 0;
    EACH (item, ladder->steps, ladder->step_count)
        times += *item == step;
    return times;
}

static bool apply_ladder_step(struct lane *lane, size_t step)
{
    struct ladder *ladder = &lane->ladder;
    struct plan_job *job = job_to_change(lane);
    if (!job || step >= job->oom_step_count || ladder->step_count >= LADDER_STEPS_MAX ||
        !change_take_step(job, step, ladder->changed))
        return false;
    ladder->steps[ladder->step_count++] = (unsigned short)step;
    return true;
}

/* The first step within its bounds that changes something, never back before the last one. */
static bool apply_next_step(struct lane *lane)
{
    const struct ladder *ladder = &lane->ladder;
    const struct plan_job *job = &lane->experiment->foreground;
    size_t from = ladder->step_count ? ladder->steps[ladder->step_count - 1] : 0;
    for (size_t i = from; i < job->oom_step_count; i++)
        if ((int64_t)count_step_uses(ladder, i) < job->oom_steps[i].times &&
            apply_ladder_step(lane, i))
            return true;
    return false;
}

/* As it was recorded. */
struct ladder_record {
    const json_t *steps;
    bool expandable_segments;
    const char *action;
};

#define LADDER(member) RECORD(struct ladder_record, member)
static const struct record_field ladder_fields[] = {
    LADDER(steps), LADDER(expandable_segments), LADDER(action), {0}};

void ladder_restore(struct lane *lane, const json_t *before)
{
    struct ladder_record record = {0};
    ladder_fini(&lane->ladder);
    record_get(ladder_fields, before, &record);
    if (record.expandable_segments)
        set_expandable_segments(lane);
    for (size_t i = 0; i < json_array_size(record.steps); i++) {
        json_int_t step = json_integer_value(json_array_get(record.steps, i));
        if (step >= 0)
            apply_ladder_step(lane, (size_t)step);
    }
}

bool ladder_gave_up(const json_t *state)
{
    struct ladder_record record = {0};
    record_get(ladder_fields, state, &record);
    return record.action && strcmp(record.action, action_names[RETRY_NONE]) == 0;
}

static json_t *state_json(const struct ladder *ladder)
{
    json_t *steps = json_array();
    EACH (step, ladder->steps, ladder->step_count)
        json_array_append_new(steps, json_integer(*step));
    return json_pack("{s:b, s:o}", "expandable_segments", ladder->expandable, "steps", steps);
}

void ladder_add_changes(const struct lane *lane, json_t *data)
{
    const struct ladder *ladder = &lane->ladder;
    if (json_array_size(ladder->changed) == 0)
        return;
    json_object_set_new(data, "changed", json_deep_copy(ladder->changed));
    json_object_set_new(data, "ladder", state_json(ladder));
}

static void keep_last(void *context, const struct oom *message)
{
    struct oom *last = context;
    if (message->kind == OOM_KIND_GPU && !message->went_on && message->line >= last->line)
        *last = *message;
}

static bool find_message(const struct attempt *attempt, struct oom *out)
{
    AUTO_TEXT struct text tail = {0};
    *out = (struct oom){.framework = OOM_NONE};
    if (!aftermath_log_tail(attempt->folder, "training.log", LOG_TAIL, &tail))
        return false;
    struct oom_finder *finder = oom_finder_new(keep_last, out);
    oom_finder_take(finder, text_get(&tail), tail.length);
    oom_finder_end(finder);
    uint64_t lines = oom_finder_lines(finder);
    oom_finder_free(finder);
    return out->framework != OOM_NONE && lines - out->last_line <= LINES_BEHIND_MAX;
}

static enum action choose_action(struct lane *lane, const struct oom_diagnosis *diagnosis,
                                 const char **why)
{
    bool hidden =
        diagnosis->cause == OOM_CAUSE_UNKNOWN && lane_memory_others_share(lane) >= OTHERS_SHARE;
    if (diagnosis->cause == OOM_CAUSE_OTHERS || hidden) {
        *why = "others held the memory: the same again, when the GPU is free";
        return RETRY_SAME;
    }
    if (diagnosis->expandable_fits && diagnosis->cause != OOM_CAUSE_GROWTH &&
        !diagnosis->expandable_on && set_expandable_segments(lane)) {
        *why = "the memory was there, in pieces: again with expandable segments";
        return RETRY_EXPANDABLE;
    }
    if (apply_next_step(lane)) {
        *why = "it needs more than there is: again with the next of the registry's oom_steps";
        return RETRY_STEP;
    }
    bool declared = lane->experiment->foreground.oom_step_count > 0;
    *why = declared ? "no retry: none of the registry's oom_steps is left within its bounds"
                    : "no retry: it would end the same way; \"oom_steps\" in the registry would "
                      "say what may be changed";
    return RETRY_NONE;
}

static void report_ladder_action(struct lane *lane, const struct oom_diagnosis *diagnosis,
                                 const char *why, size_t changes_before)
{
    const struct ladder *ladder = &lane->ladder;
    AUTO_FREE char *changed = NULL;
    if (json_array_size(ladder->changed) > changes_before)
        changed = change_text(ladder->changed);
    lane_note(lane, "the GPU's memory ran out (%s): %s%s%s", oom_cause_name(diagnosis->cause), why,
              changed ? ": " : "", changed ? changed : "");
}

static bool decide_ladder_action(struct lane *lane, const struct oom_diagnosis *diagnosis,
                                 json_t *data)
{
    size_t before = json_array_size(lane->ladder.changed);
    const char *why = "";
    enum action action = choose_action(lane, diagnosis, &why);
    lane->ladder.given_up = action == RETRY_NONE;
    report_ladder_action(lane, diagnosis, why, before);
    json_t *state = state_json(&lane->ladder);
    json_object_set_new(state, "action", json_string(action_names[action]));
    json_object_set_new(state, "why", json_string(why));
    json_object_set_new(data, "ladder", state);
    return action != RETRY_NONE;
}

/* Appends the cause to the error, if there is one. */
static void add_cause(json_t *data, const struct oom_diagnosis *diagnosis)
{
    const char *error = json_string_value(json_object_get(data, "error"));
    if (!error || diagnosis->cause == OOM_CAUSE_UNKNOWN)
        return;
    AUTO_FREE char *told = mem_printf("%s; %scause: %s", error, diagnosis->sure ? "" : "probable ",
                                      oom_cause_text(diagnosis->cause));
    json_object_set_new(data, "error", json_string(told));
}

bool ladder_judge(struct lane *lane, json_t *data, bool may_retry)
{
    struct oom message;
    struct oom_diagnosis diagnosis;
    lane->ladder.given_up = false;
    if (lane->outcome != OUTCOME_FAILED || lane->attempt.reason != STOP_EXITED ||
        !find_message(&lane->attempt, &message))
        return may_retry;
    struct growth growth = lane_memory_growth(lane);
    struct oom_circumstances known = {.expandable = oom_expandable(find_setting(lane)),
                                      .growth = &growth};
    oom_diagnose(&message, &known, &diagnosis);
    json_t *oom = oom_message_json(&message, &diagnosis);
    json_set_text(oom, "allocator_setting", find_setting(lane));
    json_object_set_new(data, "oom", oom);
    add_cause(data, &diagnosis);
    if (may_retry)
        may_retry = decide_ladder_action(lane, &diagnosis, data);
    oom_diagnosis_fini(&diagnosis);
    return may_retry;
}
