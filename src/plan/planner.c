/* From the entries of the settings to experiments: names, draws in the file's order, ids. */
#include "plan/planner.h"
#include "plan/command.h"
#include "plan/config/registry_oom.h"
#include "plan/config/registry_rules.h"

#include "base/mem.h"
#include "base/rng.h"
#include "plan/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The plan's order: in blocks, or the longest first. */

static void shuffle(struct draft *drafts, size_t count, uint64_t seed, size_t round)
{
    AUTO_FREE char *name = mem_printf("block %zu", round);
    struct rng rng;
    rng_seed_named(&rng, seed, name);
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)rng_below(&rng, i);
        struct draft last = drafts[i - 1];
        drafts[i - 1] = drafts[other];
        drafts[other] = last;
    }
}

/* To warm the machine up: before all others. */
static bool is_warmup(const struct planner *planner, const struct draft *draft)
{
    return planner->tracks[draft->track].entry->index < (size_t)planner->settings->warmup_entries;
}

/* The axis of seeds of a grid; NULL: none, or no other axis. */
static const struct space_values *seed_axis(const struct space *space)
{
    if (space->mode != MODE_GRID || space->part_count < 2)
        return NULL;
    EACH (part, space->parts, space->part_count)
        if (part->count > 1 && param_name_is_seed(space->params[part->at[0]]->name))
            return part;
    return NULL;
}

/* How many blocks come before the first of this draft's setting: each seed of a grid has its
 * own. */
static size_t first_block(const struct planner *planner, const struct draft *draft)
{
    const struct track *track = &planner->tracks[draft->track];
    const struct space_values *axis = seed_axis(&track->foreground);
    if (!axis)
        return 0;
    AUTO_FREE char *own = value_key(&draft->values[axis->at[0]]);
    for (size_t i = 0; i < axis->count; i++) {
        AUTO_FREE char *key = value_key(&axis->values[i]);
        if (strcmp(key, own) == 0)
            return i * (size_t)track->entry->runs;
    }
    return 0;
}

/* Settings that differ by more than the seed. */
static bool has_several_settings(const struct planner *planner)
{
    EACH (track, planner->tracks, planner->settings->entry_count) {
        const struct space *space = &track->foreground;
        for (size_t k = 0; track->good && space->mode == MODE_GRID && k < space->part_count; k++)
            if (space->parts[k].count > 1 &&
                !param_name_is_seed(space->params[space->parts[k].at[0]]->name))
                return true;
    }
    return false;
}

/* The blocks of the others begin behind those that warm up. */
static size_t count_warmup_blocks(const struct planner *planner)
{
    size_t most = 0, run = 0;
    for (size_t i = 0; i < planner->draft_count && is_warmup(planner, &planner->drafts[i]); i++) {
        run = i && planner->drafts[i].configuration == planner->drafts[i - 1].configuration
                  ? run + 1
                  : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* Block k holds run k of every configuration that has one, in an order of its own. The drafts stand
 * by configuration. */
static void planner_order_in_blocks(struct planner *planner)
{
    size_t count = planner->draft_count, warmups = count_warmup_blocks(planner);
    struct draft *ordered = mem_array(count, sizeof *ordered);
    AUTO_FREE size_t *run = mem_array(count, sizeof *run); /* block of each draft */
    /* of each block: first its size, then where it begins, then where its next draft goes */
    AUTO_FREE size_t *end = mem_array(count + 1, sizeof *end);
    for (size_t i = 0; i < count; i++) {
        bool goes_on =
            i && planner->drafts[i].configuration == planner->drafts[i - 1].configuration;
        size_t first = is_warmup(planner, &planner->drafts[i]) ? 0 : warmups;
        run[i] = goes_on ? run[i - 1] + 1 : first + first_block(planner, &planner->drafts[i]);
        end[run[i]]++;
    }
    for (size_t block = 0, start = 0; block < count; block++) {
        size_t size = end[block];
        end[block] = start;
        start += size;
    }
    for (size_t i = 0; i < count; i++)
        ordered[end[run[i]]++] = planner->drafts[i];
    for (size_t block = 0, start = 0; start < count; start = end[block++])
        shuffle(ordered + start, end[block] - start, planner->seed, block);
    free(planner->drafts);
    planner->drafts = ordered;
}

static struct reading expect_duration(const struct planner *planner, const struct draft *draft)
{
    const struct track *track = &planner->tracks[draft->track];
    const struct space *space = &track->foreground;
    struct reading epochs = {0};
    if (track->entry->expected_s > 0)
        return (struct reading){track->entry->expected_s, true};
    for (size_t i = 0; i < space->param_count; i++)
        if (strcmp(space->params[i]->name, "epochs") == 0)
            epochs = expected_epochs(&draft->values[i]);
    AUTO_FREE char *context =
        space_context(space->repo->name, space->model, track->entry->parallel);
    return expected_of(&planner->expected, context, epochs);
}

static int by_weight(const void *left, const void *right)
{
    const struct draft *a = left, *b = right;
    if (a->weight_s != b->weight_s)
        return a->weight_s > b->weight_s ? -1 : 1;
    return ORDER(a->place, b->place);
}

/* What nothing is known of counts as the mean of the others, as in the estimate of the time that is
 * left. */
static void planner_order_by_length(struct planner *planner)
{
    double sum_s = 0;
    size_t known = 0;
    for (size_t i = 0; i < planner->draft_count; i++) {
        struct draft *draft = &planner->drafts[i];
        draft->place = i;
        draft->expected_s = expect_duration(planner, draft);
        known += draft->expected_s.valid;
        sum_s += draft->expected_s.value;
    }
    if (known == 0)
        problems_add(planner->problems, SEVERITY_WARNING, &planner->settings->doc, "$.tare.order",
                     "nothing is known of how long the experiments take ('expected_duration' of an "
                     "entry, or earlier runs in "
                     "'historical_csvs'): they stay in the file's order");
    EACH (draft, planner->drafts, planner->draft_count)
        draft->weight_s = draft->expected_s.valid ? draft->expected_s.value
                          : known                 ? sum_s / (double)known
                                                  : 0;
    if (planner->draft_count > 1)
        qsort(planner->drafts, planner->draft_count, sizeof *planner->drafts, by_weight);
}

#define MOST_EXPERIMENTS 1000000

static void init_repo_command(struct planner *planner, const struct repo *repo)
{
    size_t i = (size_t)(repo - planner->registry->repos);
    if (planner->has_command[i] || !repo->located)
        return;
    planner->has_command[i] = true;
    command_init(&planner->commands[i], repo, &planner->registry->doc, planner->options,
                 planner->problems);
}

static void resolve_entries(struct planner *planner)
{
    const struct space_source source = {
        .settings = planner->settings,
        .registry = planner->registry,
        .strict = planner->options->strict,
        .problems = planner->problems,
        .study = planner->options->study,
        .study_path = planner->options->study_path,
    };
    for (size_t i = 0; i < planner->settings->entry_count; i++) {
        struct track *track = &planner->tracks[i];
        const struct entry_settings *entry = &planner->settings->entries[i];
        track->entry = entry;
        track->good =
            space_init(&track->foreground, &source, &entry->foreground,
                       entry->seeds.json_path ? &entry->seeds : &planner->settings->seeds);
        if (entry->parallel)
            track->good =
                space_init(&track->background, &source, &entry->background, NULL) && track->good;
        if (track->foreground.repo && entry->runs > 0)
            init_repo_command(planner, track->foreground.repo);
        if (track->background.repo && entry->runs > 0)
            init_repo_command(planner, track->background.repo);
    }
}

static void add_to_seen(struct planner *planner, const struct track *track,
                        const struct value *values)
{
    const struct space *space = &track->foreground;
    AUTO_FREE char *context =
        space_context(space->repo->name, space->model, track->entry->parallel);
    AUTO_FREE char *key = mutate_key(context, values, space->param_count);
    seen_add(planner->seen, key);
}

/* Nothing drawn may repeat what another entry has fixed. */
static void add_fixed_to_seen(struct planner *planner)
{
    for (size_t i = 0; i < planner->settings->entry_count; i++) {
        struct track *track = &planner->tracks[i];
        struct space *space = &track->foreground;
        if (!track->good || space->mode == MODE_MUTATION || track->entry->runs <= 0)
            continue;
        for (uint64_t point = 0; point < space_size(space); point++) {
            if (space->part_count)
                space_set_point(space, point);
            for (size_t seed = 0; seed < space_seed_count(space); seed++) {
                space_set_seed(space, seed, space->values);
                add_to_seen(planner, track, space->values);
            }
        }
    }
}

/* The caller frees them. */
static struct value *copy_values(const struct space *space, const struct value *values)
{
    struct value *out = mem_array(space->param_count, sizeof *out);
    for (size_t i = 0; i < space->param_count; i++)
        out[i] = value_copy(&values[i]);
    return out;
}

/* Takes the values. */
static void add_draft(struct planner *planner, size_t track, uint64_t point, struct value *values)
{
    planner->drafts = mem_room(planner->drafts, planner->draft_count, sizeof *planner->drafts);
    planner->drafts[planner->draft_count++] =
        (struct draft){.track = track,
                       .configuration = planner->tracks[track].configuration + (size_t)point,
                       .values = values};
}

/* Takes the values, which have the first seed. */
static void add_with_seeds(struct planner *planner, size_t i, struct value *values)
{
    const struct space *space = &planner->tracks[i].foreground;
    add_draft(planner, i, 0, values);
    for (size_t seed = 1; seed < space_seed_count(space); seed++) {
        struct value *copy = copy_values(space, values);
        space_set_seed(space, seed, copy);
        add_to_seen(planner, &planner->tracks[i], copy);
        add_draft(planner, i, 0, copy);
    }
}

/* The number of runs that could be drawn. */
static int64_t draw_mutations(struct planner *planner, size_t i, struct err *err)
{
    const struct entry_settings *entry = planner->tracks[i].entry;
    const struct space *space = &planner->tracks[i].foreground;
    space_set_seed(space, 0, space->values);
    AUTO_FREE char *context = space_context(space->repo->name, space->model, entry->parallel);
    struct mutation *mutation =
        mutation_new(space->params, space->mutated, space->param_count, space->values, context);
    int64_t run = 0;
    for (; run < entry->runs; run++) {
        /* Part of what makes a plan: another name would draw other values for the same seed. */
        AUTO_FREE char *name = mem_printf("entry %zu run %" PRId64, entry->index, run);
        struct rng rng;
        rng_seed_named(&rng, planner->seed, name);
        struct value *values = mem_array(space->param_count, sizeof *values);
        if (!mutation_draw(mutation, planner->seen, &rng, values, err)) {
            free(values);
            break;
        }
        add_with_seeds(planner, i, values);
    }
    mutation_free(mutation);
    return run;
}

/* Each point with each seed, as often as is asked for. */
static void add_points(struct planner *planner, size_t i)
{
    struct space *space = &planner->tracks[i].foreground;
    for (uint64_t point = 0; point < space_size(space); point++) {
        if (space->part_count)
            space_set_point(space, point);
        for (size_t seed = 0; seed < space_seed_count(space); seed++) {
            space_set_seed(space, seed, space->values);
            for (int64_t run = 0; run < planner->tracks[i].entry->runs; run++)
                add_draft(planner, i, point, copy_values(space, space->values));
        }
    }
}

static void draw_entry(struct planner *planner, size_t i)
{
    const struct entry_settings *entry = planner->tracks[i].entry;
    if (planner->tracks[i].foreground.mode != MODE_MUTATION) {
        add_points(planner, i);
        return;
    }
    struct err err = {0};
    int64_t drawn = draw_mutations(planner, i, &err);
    if (drawn == entry->runs)
        return;
    const struct json_doc *doc = &planner->settings->doc;
    if (drawn == 0)
        problems_error(planner->problems, doc, entry->json_path,
                       "no experiment can be drawn of the %" PRId64 " asked for: %s", entry->runs,
                       err.text);
    else
        problems_add(planner->problems, SEVERITY_WARNING, doc, entry->json_path,
                     "%" PRId64 " experiments are asked for, but only %" PRId64 " can be drawn: %s",
                     entry->runs, drawn, err.text);
}

/* Of all entries together; and numbers their configurations. */
static bool check_total(struct planner *planner)
{
    uint64_t total = 0;
    size_t more = 0;
    EACH (track, planner->tracks, planner->settings->entry_count) {
        const struct entry_settings *entry = track->entry;
        uint64_t points = track->good ? space_size(&track->foreground) : 1;
        uint64_t seeds = space_seed_count(&track->foreground),
                 runs = entry->runs > 0 ? (uint64_t)entry->runs : 0, all;
        track->configuration = entry->index + more;
        bool small = !__builtin_mul_overflow(points, seeds, &all) &&
                     !__builtin_mul_overflow(all, runs, &all) && all <= MOST_EXPERIMENTS;
        if (runs > 0 && (!small || (total += all) > MOST_EXPERIMENTS)) {
            AUTO_FREE char *product =
                points * seeds > 1
                    ? mem_printf(": this entry has %" PRIu64 "%s combinations, each with %" PRIu64
                                 " seeds and %" PRIu64 " runs",
                                 points, points == UINT64_MAX ? " or more" : "", seeds, runs)
                    : mem_strdup("");
            return problems_error(planner->problems, &planner->settings->doc, entry->json_path,
                                  "more than %d experiments are asked for%s", MOST_EXPERIMENTS,
                                  product);
        }
        more += runs > 0 ? points - 1 : 0;
    }
    return true;
}

static void warn_of_deduplication(const struct planner *planner)
{
    EACH (track, planner->tracks, planner->settings->entry_count) {
        enum mode mode = track->foreground.mode;
        if (mode != MODE_GRID && mode != MODE_LIST)
            continue;
        problems_add(planner->problems, SEVERITY_WARNING, &planner->settings->doc,
                     "$.use_deduplication",
                     "'use_deduplication' is for what is drawn: the points of a %s run also where "
                     "'historical_csvs' has "
                     "them",
                     mode_name(mode));
        return;
    }
}

static void draw_all(struct planner *planner)
{
    bool longest_first = planner->order == ORDER_LONGEST,
         deduplicate = planner->settings->deduplicate;
    if (deduplicate || longest_first)
        history_read(planner->settings, planner->registry, planner->options,
                     deduplicate ? planner->seen : NULL, longest_first ? &planner->expected : NULL,
                     planner->problems);
    if (deduplicate)
        warn_of_deduplication(planner);
    if (!check_total(planner))
        return;
    add_fixed_to_seen(planner);
    for (size_t i = 0; i < planner->settings->entry_count; i++)
        if (planner->tracks[i].good)
            draw_entry(planner, i);
}

/* A folder's name has at most 255 bytes; the number and what comes after it, and what is put before
 * it meanwhile, need some. */
enum { NAMES_MAX = 200 };

static void add_safe(struct text *id, const char *name)
{
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c == 0xC2 && c[1] && (unsigned char)c[1] < 0xA0) {
            text_add_char(id, '_'); /* U+0080 to U+009F steer terminals */
            c++;
            continue;
        }
        bool safe = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || strchr("-_+=@", *c) || (*c == '.' && id->length) ||
                    (unsigned char)*c >= 0x80;
        text_add_char(id, safe ? *c : '_');
    }
}

static void cut_id(struct text *id, size_t length)
{
    while (length > 0 && ((unsigned char)id->data[length] & 0xC0) == 0x80)
        length--; /* not within a character */
    id->data[id->length = length] = '\0';
}

char *plan_experiment_id(const char *repo, const char *model, size_t number, bool parallel)
{
    struct text id = {0};
    add_safe(&id, repo);
    text_add_char(&id, '_');
    add_safe(&id, model);
    if (id.length > NAMES_MAX)
        cut_id(&id, NAMES_MAX);
    text_addf(&id, "_%03zu%s", number, parallel ? "_parallel" : "");
    AUTO_FREE char *roomy = text_take(&id);
    return mem_strdup(roomy); /* a plan has many */
}

static void make_job(const struct planner *planner, const struct space *space,
                     const struct job_settings *settings, const struct value *values,
                     struct plan_job *job)
{
    const struct repo *repo = space->repo;
    job->repo = mem_strdup(repo->name);
    job->model = mem_strdup(space->model);
    job->mode = space->mode;
    job->params = mem_array(space->param_count, sizeof *job->params);
    job->param_count = space->param_count;
    for (size_t i = 0; i < space->param_count; i++)
        job->params[i] = (struct plan_param){.name = mem_strdup(repo->params[i].name),
                                             .value = value_copy(&values[i]),
                                             .mutated = space->mutated[i] ||
                                                        (space->seeds && i == space->seed_at),
                                             .flag = mem_strdup(repo->params[i].flag)};
    job->metrics = mem_array(repo->metric_count, sizeof *job->metrics);
    job->metric_count = repo->metric_count;
    for (size_t i = 0; i < repo->metric_count; i++)
        job->metrics[i] = (struct registry_metric){.name = mem_strdup(repo->metrics[i].name),
                                                   .pattern = mem_strdup(repo->metrics[i].pattern),
                                                   .goal = repo->metrics[i].goal};
    job->marks = mem_array(repo->mark_count, sizeof *job->marks);
    job->mark_count = repo->mark_count;
    for (size_t i = 0; i < repo->mark_count; i++)
        job->marks[i] = registry_mark_copy(&repo->marks[i]);
    job->oom_steps = mem_array(repo->oom_step_count + 1, sizeof *job->oom_steps);
    job->oom_step_count = repo->oom_step_count;
    for (size_t i = 0; i < repo->oom_step_count; i++)
        job->oom_steps[i] = registry_oom_step_copy(&repo->oom_steps[i]);
    strv_add_all(&job->success, &repo->success);
    strv_add_all(&job->errors, &repo->errors);
    job->exit_code_required = repo->exit_code_required;
    job->rules = repo_rules(repo, space->model);
    job->memory_snapshot = repo->memory_snapshot;
    job->gpu_limit = settings->gpu_limit;
    job->track_gpu_memory =
        gpu_limit_is_set(&settings->gpu_limit) ? SWITCH_ON : settings->track_gpu_memory;
    command_fill(&planner->commands[repo - planner->registry->repos], repo,
                 &planner->settings->environment, job);
    job->placeholders = !planner->options->verbatim && placeholder_is_in(job);
}

static void draft_fini(const struct planner *planner, struct draft *draft)
{
    for (size_t v = 0; draft->values && v < planner->tracks[draft->track].foreground.param_count;
         v++)
        value_fini(&draft->values[v]);
    free(steal_ptr(draft->values));
}

static void make_experiment(const struct planner *planner, struct draft *draft, size_t number,
                            struct plan_experiment *out)
{
    struct track *track = &planner->tracks[draft->track];
    const struct entry_settings *entry = track->entry;
    *out = (struct plan_experiment){
        .id = plan_experiment_id(track->foreground.repo->name, track->foreground.model, number,
                                 entry->parallel),
        .number = number,
        .entry = entry->index,
        .configuration = draft->configuration,
        .parallel = entry->parallel,
        .max_retries = entry->max_retries,
        .governor = mem_strdup(entry->governor),
        .timeout_s = entry->timeout_s,
        .expected_s = draft->expected_s.valid ? draft->expected_s : expect_duration(planner, draft),
        .exclusive = entry->exclusive,
        .start_after_s = entry->start_after_s,
    };
    make_job(planner, &track->foreground, &entry->foreground, draft->values, &out->foreground);
    if (entry->parallel) {
        out->background = mem_alloc(sizeof *out->background);
        make_job(planner, &track->background, &entry->background, track->background.values,
                 out->background);
    }
    if (track->made) {
        plan_job_share(&out->foreground, &track->made->foreground);
        if (entry->parallel)
            plan_job_share(out->background, track->made->background);
    } else {
        track->made = out;
    }
    draft_fini(planner, draft);
}

static void fill_plan(struct planner *planner, struct plan *out)
{
    const struct settings *settings = planner->settings;
    out->name = mem_strdup(settings->name);
    out->seed = planner->seed;
    out->timing = settings->timing;
    out->parallel = settings->parallel;
    out->limits = settings->limits;
    out->guard = settings->guard;
    /* Unstated pauses are for a GPU to cool: none without one. With one they are the study's for
     * its settings, which lack the key "tare", and else adaptive. */
    static const double on_gpus_s[] = {60, 60, 30};
    double *const pauses[] = {&out->timing.between_runs_s, &out->timing.between_configurations_s,
                              &out->timing.before_retry_s};
    bool stated = false;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        stated = stated || *pauses[i] != PAUSE_UNSAID;
        if (*pauses[i] == PAUSE_UNSAID)
            *pauses[i] = planner->options->has_gpus ? on_gpus_s[i] : 0;
    }
    if (out->guard.cooldown.mode == COOLDOWN_UNSAID)
        out->guard.cooldown.mode = planner->options->has_gpus && settings->has_tare && !stated
                                       ? COOLDOWN_ADAPTIVE
                                       : COOLDOWN_FIXED;
    out->pool = settings->pool;
    out->pool.gpus = mem_strdup(settings->pool.gpus);
    out->budget = settings->budget;
    out->order = planner->order;
    out->has_best = true;
    seen_free(steal_ptr(planner->seen)); /* all is drawn: the plan may have its memory */
    out->experiments = mem_array(planner->draft_count, sizeof *out->experiments);
    out->count = planner->draft_count;
    for (size_t i = 0; i < out->count; i++)
        make_experiment(planner, &planner->drafts[i], i + 1, &out->experiments[i]);
}

static void planner_fini(struct planner *planner)
{
    for (size_t i = 0; i < planner->draft_count; i++)
        draft_fini(planner, &planner->drafts[i]);
    free(planner->drafts);
    EACH (track, planner->tracks, planner->settings->entry_count) {
        space_fini(&track->foreground);
        space_fini(&track->background);
    }
    free(planner->tracks);
    EACH (command, planner->commands, planner->registry->repo_count)
        command_fini(command);
    free(planner->commands);
    free(planner->has_command);
    seen_free(planner->seen);
    expected_fini(&planner->expected);
}

bool plan_make(const struct settings *settings, const struct registry *registry,
               const struct plan_options *options, struct plan *out, struct problems *problems)
{
    *out = (struct plan){0};
    size_t errors = problems->errors, missing = problems->missing;
    struct planner planner = {
        .settings = settings, .registry = registry, .options = options, .problems = problems};
    planner.seed = options->has_seed    ? options->seed
                   : settings->has_seed ? (uint64_t)settings->seed
                                        : rng_fresh_seed();
    planner.tracks = mem_array(settings->entry_count, sizeof *planner.tracks);
    planner.commands = mem_array(registry->repo_count, sizeof *planner.commands);
    planner.has_command = mem_array(registry->repo_count, sizeof *planner.has_command);
    planner.seen = seen_new();
    resolve_entries(&planner);
    planner.order = settings->order;
    if (planner.order == ORDER_UNSAID)
        planner.order = has_several_settings(&planner) ? ORDER_BLOCKS : ORDER_FILE;
    draw_all(&planner);
    /* What this machine lacks leaves the files as right as they are. */
    bool ok = problems->errors - errors == problems->missing - missing;
    if (ok && planner.order == ORDER_BLOCKS)
        planner_order_in_blocks(&planner);
    if (ok && planner.order == ORDER_LONGEST)
        planner_order_by_length(&planner);
    if (ok)
        fill_plan(&planner, out);
    if (ok && !options->verbatim)
        placeholder_check_plan(out, problems);
    planner_fini(&planner);
    return problems->errors == errors;
}
