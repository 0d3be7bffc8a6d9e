/* Prints what the models of a registry lack, and the commands that install it. */
#include "report/registry_text.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "report/table.h"

#include <string.h>

#define RED   "\033[31m"
#define GREEN "\033[32m"

static void add_models(const struct needs *needs, bool colour, struct text *out)
{
    struct table *table = table_of(colour, "REPOSITORY", "MODEL", "STATE");
    EACH (item, needs->repos, needs->count)
        for (size_t j = 0; j < item->models.count; j++) {
            const char *model = item->models.items[j];
            size_t missing = repo_needs_missing(item, model);
            table_row(table, mem_strdup(item->repo->name), mem_strdup(model),
                      missing ? mem_printf("%zu missing", missing) : mem_strdup("ready"));
            table_tint(table, 2, missing ? RED : GREEN);
        }
    table_end(table, out);
}

/* Modules of which the same is to be said share a line. */
static bool are_alike(const struct need *one, const struct need *other)
{
    AUTO_FREE char *models = strv_join(&one->models, ",");
    AUTO_FREE char *others = strv_join(&other->models, ",");
    return one->kind == NEED_MODULE && other->kind == NEED_MODULE && one->state == other->state &&
           (one->detail && other->detail ? strcmp(one->detail, other->detail) == 0
                                         : one->detail == other->detail) &&
           strcmp(models, others) == 0;
}

/* Adds one row for needs[first] and the following ones that are alike. Returns the index after
 * them. */
static size_t add_need_rows(struct table *table, const struct repo_needs *needs, size_t first)
{
    const struct need *need = &needs->items[first];
    AUTO_STRV struct strv names = {0};
    size_t next = first;
    do
        strv_add(&names, needs->items[next++].name);
    while (next < needs->count && are_alike(need, &needs->items[next]));
    table_row(table, mem_strdup(needs->repo->name),
              need->models.count ? strv_join(&need->models, ", ") : mem_strdup("all"),
              mem_strdup(need_kind_name(need->kind)), mem_strdup(need_state_name(need->state)),
              strv_join(&names, ", "), mem_strdup(need->detail ? need->detail : ""));
    table_tint(table, 3, need->state == NEED_THERE || need->state == NEED_OTHER ? NULL : RED);
    return next;
}

/* What is there needs no line. */
static void add_needs(const struct needs *needs, bool colour, struct text *out)
{
    struct table *table = table_of(colour, "REPOSITORY", "MODELS", "NEEDS", "STATE", "NAME", "WHY");
    EACH (repo, needs->repos, needs->count) {
        for (size_t j = 0; j < repo->count;)
            j = repo->items[j].state != NEED_THERE ? add_need_rows(table, repo, j) : j + 1;
    }
    if (table_rows(table))
        text_add_char(out, '\n');
    table_end(table, out);
}

/* Each command once, in the order in which they help: folder, interpreter, modules, data. */
static void add_mends(const struct needs *needs, struct text *out)
{
    AUTO_STRV struct strv mends = {0};
    EACH (repo, needs->repos, needs->count)
        EACH (item, repo->items, repo->count)
            if (item->mend)
                strv_add_once(&mends, item->mend);
    if (mends.count)
        text_add(out, "\nTo fix it:\n");
    EACH (entry, mends.items, mends.count)
        text_addf(out, "  %s\n", *entry);
}

static void add_disks(const struct needs *needs, struct text *out)
{
    const double gib = 1024.0 * 1024 * 1024;
    for (size_t i = 0; i < needs->disk_count; i++) {
        const struct disk_need *disk = &needs->disks[i];
        text_addf(out, "%sto fetch at least %.1f GiB, free below %s: %.1f GiB%s\n", i ? "" : "\n",
                  (double)disk->fetch_bytes / gib, disk->path, (double)disk->free_bytes / gib,
                  disk_need_fits(disk) ? "" : ": too little");
    }
}

void needs_text(const struct needs *needs, bool colour, struct text *out)
{
    add_models(needs, colour, out);
    add_needs(needs, colour, out);
    add_mends(needs, out);
    add_disks(needs, out);
}

static json_t *strv_json(const struct strv *texts)
{
    json_t *out = json_array();
    EACH (item, texts->items, texts->count)
        json_array_append_new(out, json_string(*item));
    return out;
}

static const struct record_field need_fields[] = {
    RECORD_ENUM(struct need, "kind", kind, need_kind_name),
    RECORD(struct need, name),
    RECORD_ENUM(struct need, "state", state, need_state_name),
    RECORD(struct need, detail),
    RECORD(struct need, mend),
    {0}};
static const struct record_field disk_fields[] = {RECORD(struct disk_need, path),
                                                  RECORD(struct disk_need, fetch_bytes),
                                                  RECORD(struct disk_need, free_bytes),
                                                  {0}};

static json_t *repo_needs_json(const struct repo_needs *needs)
{
    json_t *models = json_array(), *items = json_array();
    EACH (entry, needs->models.items, needs->models.count) {
        const char *model = *entry;
        json_array_append_new(models, json_pack("{s:s, s:b}", "name", model, "ready",
                                                repo_needs_ready(needs, model)));
    }
    EACH (need, needs->items, needs->count) {
        json_t *item = record_json(need_fields, need);
        json_object_set_new(item, "models",
                            strv_json(need->models.count ? &need->models : &needs->models));
        json_array_append_new(items, item);
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", needs->repo->name, "path",
                     json_text_or_null(needs->repo->path), "licence",
                     json_text_or_null(needs->repo->source.licence), "models", models, "needs",
                     items);
}

json_t *needs_text_json(const struct needs *needs, const char *registry)
{
    json_t *repos = json_array(), *disks = json_array();
    EACH (repo, needs->repos, needs->count)
        json_array_append_new(repos, repo_needs_json(repo));
    EACH (item, needs->disks, needs->disk_count) {
        json_t *disk = record_json(disk_fields, item);
        json_object_set_new(disk, "fits", json_boolean(disk_need_fits(item)));
        json_array_append_new(disks, disk);
    }
    return json_pack("{s:o, s:b, s:o, s:o}", "registry", json_text_or_null(registry), "ready",
                     needs_all_there(needs), "repositories", repos, "disks", disks);
}
