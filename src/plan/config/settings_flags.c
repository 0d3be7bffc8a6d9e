#include "base/mem.h"
#include "plan/config/settings.h"

/* The settings file that says the same as the flags. A flag that is no UTF-8 cannot stand in JSON: it is left out here.
 * */
static json_t *flags_to_json(const char *repo, const char *model, const char *mutate, int64_t runs)
{
    json_t *entry = json_object();
    json_object_set_new(entry, "repo", json_string(repo));
    json_object_set_new(entry, "model", json_string(model));
    json_object_set_new(entry, "mode", json_string(mode_name(mutate ? MODE_MUTATION : MODE_DEFAULT)));
    if (mutate)
        json_object_set_new(entry, "mutate", json_string(mutate));
    json_object_set_new(entry, "runs_per_config", json_integer(runs));
    json_t *entries = json_array();
    json_array_append_new(entries, entry);
    json_t *root = json_object();
    json_object_set_new(root, "experiments", entries);
    return root;
}

/* The flags become a settings file and go the way of one, so a run made of flags keeps its settings.json like any
 * other. What is wrong in them is left to the planner, which knows the names; only then is there no file to point at.
 * */
void settings_from_flags(const char *repo, const char *model, const char *mutate, int64_t runs, struct settings *out)
{
    json_t *root = flags_to_json(repo, model, mutate, runs);
    AUTO_TEXT struct text text = {0};
    json_print_pretty(root, &text);
    json_decref(root);
    AUTO(problems_fini) struct problems problems = {0};
    settings_parse("", text_get(&text), text.length, out, &problems);
    free(out->file);
    free(out->doc.file);
    out->file = NULL;
    out->doc.file = NULL;
    if (out->entry_count == 0)
        return;
    struct entry_settings *entry = &out->entries[0];
    free(entry->foreground.repo);
    free(entry->foreground.model);
    entry->foreground.repo = mem_strdup(repo);
    entry->foreground.model = mem_strdup(model);
    entry->runs = runs;
}
