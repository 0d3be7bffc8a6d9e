#include "run/environment/other_code.h"

#include "base/mem.h"
#include "results/store/machines.h"
#include "run/environment/fingerprint.h"

#include <stdlib.h>
#include <string.h>

void other_code_fini(struct other_code *code)
{
    EACH (item, code->items, code->size)
        free(item->text);
    free(code->items);
    *code = (struct other_code){0};
}

/* NULL: that session's is not there. */
static const struct machine_record *find_machine(const struct machines *machines, int64_t session)
{
    EACH (machine, machines->items, machines->count)
        if (machine->session == session && session > 0)
            return machine;
    return NULL;
}

static bool has_counted_outcome(const struct result *result)
{
    return result->outcome == OUTCOME_SUCCEEDED || result->outcome == OUTCOME_FAILED;
}

static bool has_evidence(const struct result *result, const char *text)
{
    EACH (item, result->evidence, result->evidence_count)
        if (strcmp(item->kind, OTHER_CODE_KIND) == 0 && strcmp(item->text, text) == 0)
            return true;
    return false;
}

void other_code_find(int dir, const struct results *results, const json_t *now,
                     struct other_code *out)
{
    *out = (struct other_code){.size = results->count};
    out->items = mem_array(results->count + 1, sizeof *out->items);
    AUTO(machines_fini) struct machines machines;
    AUTO(machine_record_fini) struct machine_record machine_now;
    machines_read(dir, &machines);
    machine_record_read(now, &machine_now);
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        const struct machine_record *before = find_machine(&machines, result->session);
        char *text =
            has_counted_outcome(result) && before
                ? fingerprint_difference(&results->plan.experiments[i], before, &machine_now)
                : NULL;
        if (!text)
            continue;
        out->items[i] = (struct other_code_item){text, result->attempt, has_evidence(result, text)};
        out->count++;
    }
}

void other_code_find_later(const struct results *results, int64_t session, const json_t *began,
                           const json_t *now, struct other_code *out)
{
    *out = (struct other_code){.size = results->count};
    out->items = mem_array(results->count + 1, sizeof *out->items);
    AUTO(machine_record_fini) struct machine_record before;
    AUTO(machine_record_fini) struct machine_record after;
    machine_record_read(began, &before);
    machine_record_read(now, &after);
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        const struct plan_experiment *experiment = &results->plan.experiments[i];
        if (result->session != session || !has_counted_outcome(result))
            continue;
        AUTO_FREE char *text = fingerprint_difference(experiment, &before, &after);
        if (!text || result->ended_realtime_ns < fingerprint_change_ns(experiment, &before, &after))
            continue;
        char *whole = mem_printf("%s while the run was under way", text);
        out->items[i] = (struct other_code_item){whole, result->attempt, false};
        out->count++;
    }
}

char *other_code_text(const struct other_code *code)
{
    AUTO_STRV struct strv texts = {0};
    EACH (item, code->items, code->size)
        if (item->text)
            strv_add_once(&texts, item->text);
    return mem_printf("%zu result%s unverified: other code (%s%s)", code->count,
                      code->count == 1 ? " is" : "s are", texts.count ? texts.items[0] : "",
                      texts.count > 1 ? "; ..." : "");
}
