#include "store/facts.h"

#include "base/json.h"
#include "base/mem.h"
#include "store/results.h"

#include <stdlib.h>

void facts_fini(struct facts *facts)
{
    for (size_t i = 0; facts->items && i < facts->results.count; i++) {
        json_decref(facts->items[i].energy);
        for (size_t k = 0; k < facts->items[i].evidence_count; k++) {
            free(facts->items[i].evidence[k].kind);
            free(facts->items[i].evidence[k].text);
        }
        free(facts->items[i].evidence);
    }
    free(facts->items);
    results_fini(&facts->results);
    *facts = (struct facts){0};
}

static struct facts_item *item_of(struct facts *facts, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    return number >= 1 && (size_t)number <= facts->results.count ? &facts->items[number - 1] : NULL;
}

static bool read_attempts(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT e.number, e.attempts, e.duration_s, a.energy FROM experiments e"
                 " LEFT JOIN attempts a ON a.experiment = e.number AND a.number = e.attempts",
                 "");
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        struct facts_item *item = item_of(facts, query);
        if (!item)
            continue;
        item->attempts = sqlite3_column_int64(query, 1);
        item->has_duration = !db_is_null(query, 2);
        json_decref(item->energy);
        item->energy = db_json(query, 3);
    }
    return step == 0;
}

static void add_evidence(struct facts_item *item, int64_t attempt, const json_t *data)
{
    const char *kind = json_get_text(data, "kind"), *text = json_get_text(data, "text");
    if (!kind)
        return;
    item->evidence = mem_resize(item->evidence, item->evidence_count + 1, sizeof *item->evidence);
    item->evidence[item->evidence_count++] =
        (struct facts_evidence){attempt, mem_strdup(kind), mem_strdup(text ? text : "")};
}

static bool read_evidence(sqlite3 *db, struct facts *facts, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT experiment, attempt, data FROM events WHERE type='evidence' AND experiment IS NOT NULL ORDER BY seq",
        "");
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        struct facts_item *item = item_of(facts, query);
        json_t *data = db_json(query, 2);
        if (item)
            add_evidence(item, sqlite3_column_int64(query, 1), data);
        json_decref(data);
    }
    return step == 0;
}

static bool read_all(sqlite3 *db, struct facts *out, struct err *err)
{
    if (!schema_check(db, err) || !schema_upgrade(db, err) || !results_load(db, &out->results, err))
        return false;
    out->items = mem_array(out->results.count + 1, sizeof *out->items);
    return read_attempts(db, out, err) && read_evidence(db, out, err);
}

bool facts_read(const char *run_dir, struct facts *out, struct err *err)
{
    *out = (struct facts){0};
    struct snapshot snapshot;
    if (!snapshot_open(run_dir, &snapshot, err))
        return false;
    bool ok = read_all(snapshot.db, out, err);
    snapshot_close(&snapshot);
    if (!ok)
        facts_fini(out);
    return ok || err_wrap(err, "%s", run_dir);
}
