/* Which GPUs the lanes of a journal had, by their UUIDs. */
#include "results/store/ways.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The driver may count its GPUs otherwise in the next session: a label is one of a session. */
struct known_gpu {
    size_t session;
    char *label, *uuid;
};

struct known_gpus {
    struct known_gpu *items;
    size_t count, capacity;
};

static void learn(struct known_gpus *known, size_t session, const char *label, const char *uuid)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].session == session && strcmp(known->items[i].label, label) == 0)
            return;
    known->items = mem_room(known->items, known->count, &known->capacity, sizeof *known->items);
    known->items[known->count++] = (struct known_gpu){session, mem_strdup(label), mem_strdup(uuid)};
}

/* Of its own session, else of another one on that host; else nobody knows. */
static const char *uuid_of(const struct ways *ways, const struct known_gpus *known, size_t session, const char *label)
{
    const char *found = NULL;
    bool doubtful = false;
    for (size_t i = 0; i < known->count; i++) {
        const struct known_gpu *gpu = &known->items[i];
        if (strcmp(gpu->label, label) != 0)
            continue;
        if (gpu->session == session)
            return gpu->uuid;
        if (strcmp(ways->sessions[gpu->session].host, ways->sessions[session].host) != 0)
            continue;
        doubtful = doubtful || (found && strcmp(found, gpu->uuid) != 0);
        found = gpu->uuid;
    }
    return doubtful ? NULL : found;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void name_gpus(struct ways *ways, const struct known_gpus *known)
{
    for (size_t i = 0; i < ways->count; i++) {
        struct way *way = &ways->items[i];
        for (size_t k = 0; k < way->labels.count; k++) {
            const char *uuid = uuid_of(ways, known, way->session, way->labels.items[k]);
            strv_add(&way->uuids, uuid ? uuid : way->labels.items[k]);
        }
        if (way->uuids.count > 1)
            qsort(way->uuids.items, way->uuids.count, sizeof *way->uuids.items, compare_text);
    }
}

/* Which GPUs the lanes had, as their attempts' energies tell: where there is one lane its events do not. */
bool ways_name_gpus(sqlite3 *db, struct ways *ways, struct err *err)
{
    struct known_gpus known = {0};
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT experiment, attempt, device, uuid FROM energy WHERE scope = 'GPU board' AND uuid IS NOT NULL"
                 " ORDER BY experiment, attempt, device",
                 "");
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        size_t at = ways_of_attempt(ways, sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1));
        const char *label = db_text(query, 2), *uuid = db_text(query, 3);
        if (at == SIZE_MAX || !label || !uuid)
            continue;
        struct way *way = &ways->items[at];
        learn(&known, way->session, label, uuid);
        if (!way->named)
            strv_add_once(&way->labels, label);
    }
    name_gpus(ways, &known);
    for (size_t i = 0; i < known.count; i++) {
        free(known.items[i].label);
        free(known.items[i].uuid);
    }
    free(known.items);
    return step == 0;
}
