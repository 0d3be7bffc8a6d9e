/* The plan's order: in blocks, or the longest first. */
#include "plan/planner.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

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

/* The blocks of the others begin behind those that warm up. */
static size_t count_warmup_blocks(const struct planner *planner)
{
    size_t most = 0, run = 0;
    for (size_t i = 0; i < planner->draft_count && is_warmup(planner, &planner->drafts[i]); i++) {
        run = i && planner->drafts[i].configuration == planner->drafts[i - 1].configuration ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* Block k holds run k of every configuration that has one, in an order of its own. The drafts stand by configuration. */
void planner_order_in_blocks(struct planner *planner)
{
    size_t count = planner->draft_count, warmups = count_warmup_blocks(planner);
    struct draft *ordered = mem_array(count, sizeof *ordered);
    AUTO_FREE size_t *run = mem_array(count, sizeof *run);     /* block of each draft */
    AUTO_FREE size_t *end = mem_array(count + 1, sizeof *end); /* of each block: first its size, then where it begins,
                                                                    * then where its next draft goes */
    for (size_t i = 0; i < count; i++) {
        bool goes_on = i && planner->drafts[i].configuration == planner->drafts[i - 1].configuration;
        run[i] = goes_on ? run[i - 1] + 1 : is_warmup(planner, &planner->drafts[i]) ? 0 : warmups;
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

static struct reading expect(const struct planner *planner, const struct draft *draft)
{
    const struct track *track = &planner->tracks[draft->track];
    const struct space *space = &track->foreground;
    struct reading epochs = {0};
    if (track->entry->expected_s > 0)
        return (struct reading){track->entry->expected_s, true};
    for (size_t i = 0; i < space->param_count; i++)
        if (strcmp(space->params[i]->name, "epochs") == 0)
            epochs = expected_epochs(&draft->values[i]);
    AUTO_FREE char *context = space_context(space->repo->name, space->model, track->entry->parallel);
    return expected_of(&planner->expected, context, epochs);
}

static int by_weight(const void *left, const void *right)
{
    const struct draft *a = left, *b = right;
    if (a->weight_s != b->weight_s)
        return a->weight_s > b->weight_s ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* What nothing is known of counts as the mean of the others, as in the estimate of the time that is left. */
void planner_order_by_length(struct planner *planner)
{
    double sum_s = 0;
    size_t known = 0;
    for (size_t i = 0; i < planner->draft_count; i++) {
        struct draft *draft = &planner->drafts[i];
        draft->place = i;
        draft->expected_s = expect(planner, draft);
        known += draft->expected_s.valid;
        sum_s += draft->expected_s.value;
    }
    if (known == 0)
        problems_add(
            planner->problems, SEVERITY_WARNING, &planner->settings->doc, "$.tare.order",
            "nothing is known of how long the experiments take ('expected_duration' of an entry, or earlier runs in "
            "'historical_csvs'): they stay in the file's order");
    for (size_t i = 0; i < planner->draft_count; i++) {
        struct draft *draft = &planner->drafts[i];
        draft->weight_s = draft->expected_s.valid ? draft->expected_s.value : known ? sum_s / (double)known : 0;
    }
    if (planner->draft_count > 1)
        qsort(planner->drafts, planner->draft_count, sizeof *planner->drafts, by_weight);
}
