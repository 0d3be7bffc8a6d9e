/* What was collected, for people and programs. */
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/shell_words.h"
#include "base/utf8.h"
#include "session/submit.h"
#include "slurm/slurm.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>

/* So many of a kind are named one by one. */
enum { NAMED_MAX = 20 };

static size_t count_in_state(const struct collected *collected, enum collect_state state)
{
    size_t count = 0;
    EACH (item, collected->items, collected->plan.count)
        count += item->state == state;
    return count;
}

static void add_numbers(const struct collected *collected, enum collect_state state,
                        struct text *out)
{
    size_t *items = mem_array(collected->plan.count, sizeof *items), count = 0;
    for (size_t i = 0; i < collected->plan.count; i++)
        if (collected->items[i].state == state)
            items[count++] = i + 1;
    struct script_numbers numbers = {items, count};
    script_ranges(&numbers, out);
    free(items);
}

/* "missing: 3 waiting (5-7)" */
static void add_missing_experiments(const struct collected *collected, struct text *out)
{
    static const struct {
        enum collect_state state;
        const char *what;
    } kinds[] = {{COLLECT_WAITING, "never started"},
                 {COLLECT_BEGUN, "begun, without an end so far"},
                 {COLLECT_CUT, "interrupted"},
                 {COLLECT_DAMAGED, "with records that cannot be read"},
                 {COLLECT_AGAIN, "planned again, of which the result before stands"}};
    EACH_OF (kind, kinds) {
        size_t count = count_in_state(collected, kind->state);
        if (count == 0)
            continue;
        text_addf(out, "missing: %zu %s (", count, kind->what);
        add_numbers(collected, kind->state, out);
        text_add(out, ")\n");
    }
}

void collected_add_legible(struct text *out, const char *bytes, size_t count)
{
    enum { REPLACED = 3 }; /* U+FFFD for a byte */
    size_t room = REPLACED * count + 1;
    AUTO_FREE char *legible = mem_alloc(room);
    utf8_copy_legible(bytes, count, legible, room);
    text_add(out, legible);
}

static void add_legible(struct text *out, const char *words)
{
    collected_add_legible(out, words, strlen(words));
}

/* "start 2, on n1; job 12_3 runs on n1" */
static void add_story(const struct collect_item *item, struct text *out)
{
    const char *between = "";
    if (item->start > 0) {
        text_addf(out, "start %d, on ", item->start);
        add_legible(out, item->host ? item->host : "an unknown host");
        between = "; ";
    }
    if (item->why) {
        text_add(out, between);
        add_legible(out, item->why);
        between = "; ";
    }
    if (item->task_status) {
        text_add(out, between);
        add_legible(out, item->task_status);
    }
}

/* What somebody may have to look at comes before what only waits. */
static void add_stories(const struct collected *collected, struct text *out)
{
    size_t named = 0, left = 0;
    for (int waiting = 0; waiting <= 1; waiting++)
        for (size_t i = 0; i < collected->plan.count; i++) {
            const struct collect_item *item = &collected->items[i];
            if (!collect_is_missing(item->state) || (item->state == COLLECT_WAITING) != waiting ||
                (waiting && !item->task_status))
                continue;
            if (named++ >= NAMED_MAX) {
                left++;
                continue;
            }
            text_addf(out, "  %s: ", collected->plan.experiments[i].id);
            add_story(item, out);
            text_add_char(out, '\n');
        }
    if (left > 0)
        text_addf(out, "  and %zu more, which --json names\n", left);
}

/* Done, and not all of what was recorded is there. */
static void add_losses(const struct collected *collected, struct text *out)
{
    size_t named = 0;
    for (size_t i = 0; i < collected->plan.count && named < NAMED_MAX; i++) {
        const struct collect_item *item = &collected->items[i];
        if (!item->why || collect_is_missing(item->state))
            continue;
        text_addf(out, "records are lost, and its verdict is suspect: %s: ",
                  collected->plan.experiments[i].id);
        add_legible(out, item->why);
        text_add_char(out, '\n');
        named++;
    }
}

static bool nodes_differ(const struct collected *collected)
{
    for (size_t i = 1; i < collected->node_count; i++)
        if (strcmp(collected->nodes[i].kind, collected->nodes[0].kind) != 0)
            return true;
    return false;
}

static void add_nodes(const struct collected *collected, struct text *out)
{
    EACH (node, collected->nodes, collected->node_count) {
        text_add(out, "node ");
        add_legible(out, node->host);
        text_addf(out, ": %zu experiment%s (", node->experiments,
                  node->experiments == 1 ? "" : "s");
        add_legible(out, node->kind);
        text_add(out, ")\n");
    }
    if (nodes_differ(collected))
        text_add(out, "The nodes are not alike: compare figures of one kind of node only.\n");
}

static bool is_fully_collected(const struct collected *collected)
{
    return count_in_state(collected, COLLECT_SUCCEEDED) +
               count_in_state(collected, COLLECT_FAILED) ==
           collected->plan.count;
}

void collected_text(const struct collected *collected, const char *run_dir, struct text *out)
{
    size_t failed = count_in_state(collected, COLLECT_FAILED);
    text_addf(out, "%zu of %zu experiments are done: %zu succeeded, %zu failed\n",
              count_in_state(collected, COLLECT_SUCCEEDED) + failed, collected->plan.count,
              count_in_state(collected, COLLECT_SUCCEEDED), failed);
    add_missing_experiments(collected, out);
    add_stories(collected, out);
    add_losses(collected, out);
    add_nodes(collected, out);
    text_addf(out, "results: %s\n", run_dir);
    AUTO_FREE char *typed = shell_words_path(run_dir);
    if (!is_fully_collected(collected))
        text_addf(out, "to submit what is missing: %s submit --resume %s\n", TARE_NAME, typed);
}

json_t *collected_json(const struct collected *collected, const char *run_dir)
{
    static const struct record_field node_fields[] = {RECORD(struct collect_node, host),
                                                      RECORD(struct collect_node, kind),
                                                      RECORD(struct collect_node, experiments),
                                                      {0}};
    json_t *items = json_array();
    for (size_t i = 0; i < collected->plan.count; i++) {
        const struct collect_item *item = &collected->items[i];
        json_array_append_new(
            items, json_pack("{s:I, s:s, s:s, s:i, s:o, s:o, s:o}", "number", (json_int_t)i + 1,
                             "experiment_id", collected->plan.experiments[i].id, "state",
                             collect_state_name(item->state), "starts", item->start, "host",
                             json_text_or_null(item->host), "error", json_text_or_null(item->why),
                             "scheduler", json_text_or_null(item->task_status)));
    }
    return json_pack("{s:o, s:b, s:o, s:o}", "run_dir", json_text_or_null(run_dir), "complete",
                     is_fully_collected(collected), "experiments", items, "nodes",
                     record_list_json(node_fields, collected->nodes, collected->node_count,
                                      sizeof *collected->nodes));
}
