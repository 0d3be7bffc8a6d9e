#include "run/environment/other_code.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "run/environment/fingerprint.h"

#include <stdlib.h>
#include <string.h>

enum { MACHINE_BYTES = 16 << 20, MACHINES_MAX = 100000 };

void other_code_fini(struct other_code *code)
{
    EACH (item, code->items, code->size)
        free(item->text);
    free(code->items);
    *code = (struct other_code){0};
}

static json_t *read_session_machines(int dir)
{
    struct err err = {0};
    json_t *machines = json_object();
    for (int number = 0; number < MACHINES_MAX; number++) {
        AUTO_FREE char *name =
            number ? mem_printf("machine.%d.json", number) : mem_strdup("machine.json");
        AUTO_TEXT struct text text = {0};
        AUTO(json_doc_fini) struct json_doc doc = {0};
        if (!fs_read_at(dir, name, MACHINE_BYTES, &text, &err) ||
            !json_doc_parse(name, text_get(&text), text.length, &doc, &err))
            break;
        const json_t *session = json_object_get(doc.root, "session");
        AUTO_FREE char *key = mem_printf("%lld", (long long)json_integer_value(session));
        if (json_is_integer(session))
            json_object_set(machines, key, doc.root);
    }
    return machines;
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
    json_t *machines = read_session_machines(dir);
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        AUTO_FREE char *session = mem_printf("%lld", (long long)result->session);
        const json_t *before = json_object_get(machines, session);
        char *text = has_counted_outcome(result) && before
                         ? fingerprint_difference(&results->plan.experiments[i], before, now)
                         : NULL;
        if (!text)
            continue;
        out->items[i] = (struct other_code_item){text, result->attempt, has_evidence(result, text)};
        out->count++;
    }
    json_decref(machines);
}

void other_code_find_later(const struct results *results, int64_t session, const json_t *began,
                           const json_t *now, struct other_code *out)
{
    *out = (struct other_code){.size = results->count};
    out->items = mem_array(results->count + 1, sizeof *out->items);
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        const struct plan_experiment *experiment = &results->plan.experiments[i];
        if (result->session != session || !has_counted_outcome(result))
            continue;
        AUTO_FREE char *text = fingerprint_difference(experiment, began, now);
        if (!text || result->ended_realtime_ns < fingerprint_change_ns(experiment, began, now))
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
