/* Runs that were written by the tree of 2026-11-22: the one difference of their events to those of today. Their evidence names experiments
 * and processes in its text alone; here, and nowhere else, they are read from it. */
#include "results/store/tables.h"

#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct old_name {
    const char *id; /* borrowed from the plan */
    int64_t number;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct old_name *)a)->id, ((const struct old_name *)b)->id);
}

void old_evidence_init(struct old_evidence *old, const struct plan *plan)
{
    *old = (struct old_evidence){.names = mem_array(plan->count + 1, sizeof *old->names), .count = plan->count};
    for (size_t i = 0; i < plan->count; i++)
        old->names[i] = (struct old_name){plan->experiments[i].id, (int64_t)i + 1};
    qsort(old->names, old->count, sizeof *old->names, compare);
}

void old_evidence_fini(struct old_evidence *old)
{
    free(old->names);
    *old = (struct old_evidence){0};
}

/* The words of a text that may be ids: all of them are made of these. */
static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.+@", c));
}

static json_t *experiments_of(const struct old_evidence *old, const char *text)
{
    json_t *list = json_array();
    for (const char *at = text; *at;) {
        size_t length = 0;
        while (is_of_word(at[length]))
            length++;
        if (length > 0) {
            AUTO_FREE char *word = mem_strndup(at, length);
            struct old_name key = {.id = word};
            const struct old_name *found = bsearch(&key, old->names, old->count, sizeof key, compare);
            if (found)
                json_array_append_new(list, json_integer(found->number));
        }
        at += length ? length : 1;
    }
    return list;
}

static json_t *pids_of(const char *text)
{
    json_t *list = json_array();
    for (const char *at = strstr(text, "pid "); at; at = strstr(at + 1, "pid "))
        json_array_append_new(list, json_integer(strtoll(at + 4, NULL, 10)));
    return list;
}

void old_evidence_import(const struct old_evidence *old, json_t *data)
{
    const char *text = json_get_text(data, "text");
    if (!text || json_get(data, "experiments"))
        return;
    const char *end = strrchr(text, ' '); /* "and 3 more" */
    json_object_set_new(data, "experiments", experiments_of(old, text));
    json_object_set_new(data, "pids", pids_of(text));
    json_object_set_new(data, "unnamed", json_boolean(end && strcmp(end, " more") == 0));
}
