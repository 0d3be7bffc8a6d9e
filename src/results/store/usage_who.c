/* Who disturbed whom: evidence that names an experiment or a process of another lane, and what came from outside the run. */
#include "results/store/tables.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A process that a job is known to have had. */
struct process {
    size_t session;
    int64_t pid;
    size_t way;
};

struct knowledge {
    const struct usage *usage;
    struct process *processes;
    size_t process_count, process_capacity;
    json_t *out;
};

/* What one piece of evidence is about. */
struct seen {
    int64_t experiment;
    size_t way;
    const char *kind;
    const json_t *data; /* of the event */
    int64_t from_ns, to_ns;
    bool *by; /* for each lane: it is named */
    size_t named;
};

static void learn_process(struct knowledge *known, size_t way, int64_t pid)
{
    MEM_ADD(known->processes, known->process_count, known->process_capacity) =
        (struct process){.session = known->usage->ways.items[way].session, .pid = pid, .way = way};
}

static void learn_listed(struct knowledge *known, size_t way, sqlite3_stmt *row, int column)
{
    json_t *list = db_json(row, column), *item;
    size_t i;
    json_int_t pid;
    json_array_foreach(list, i, item) if (json_get_int(item, "pid", &pid)) learn_process(known, way, pid);
    json_decref(list);
}

static bool learn_processes(sqlite3 *db, struct knowledge *known, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT experiment, attempt, pid, leftovers, survivors FROM jobs WHERE pid IS NOT NULL", "");
    while (db_next(&query, err)) {
        size_t way =
            ways_of_attempt(&known->usage->ways, sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1));
        if (way == SIZE_MAX)
            continue;
        learn_process(known, way, sqlite3_column_int64(query, 2));
        learn_listed(known, way, query, 3);
        learn_listed(known, way, query, 4);
    }
    return query != NULL;
}

static void name_lane(const struct knowledge *known, struct seen *seen, size_t way)
{
    if (way == SIZE_MAX)
        return;
    size_t lane = known->usage->of_way[way];
    if (lane == known->usage->of_way[seen->way] || seen->by[lane])
        return;
    seen->by[lane] = true;
    seen->named++;
}

static bool trained(const struct way *way, const struct seen *seen, int64_t experiment)
{
    for (size_t i = 0; i < way->count; i++)
        if (way->spans[i].doing == DOING_TRAINING && (experiment == 0 || way->spans[i].experiment == experiment) &&
            way->spans[i].from_ns <= seen->to_ns && way->spans[i].to_ns >= seen->from_ns)
            return true;
    return false;
}

/* Where it ran at that time; one that had hardly begun is where it was last. */
static size_t way_then(const struct knowledge *known, const struct seen *seen, int64_t experiment)
{
    const struct ways *ways = &known->usage->ways;
    for (size_t i = ways->last[experiment]; i != SIZE_MAX; i = ways->tries[i].before)
        if (trained(&ways->items[ways->tries[i].way], seen, experiment))
            return ways->tries[i].way;
    return ways_of_attempt(ways, experiment, 0);
}

static void take_experiments(const struct knowledge *known, struct seen *seen)
{
    const json_t *list = json_get(seen->data, "experiments");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t number = json_integer_value(json_array_get(list, i));
        if (number >= 1 && (uint64_t)number <= known->usage->ways.experiments && number != seen->experiment)
            name_lane(known, seen, way_then(known, seen, number));
    }
}

static void take_pids(const struct knowledge *known, struct seen *seen)
{
    const json_t *list = json_get(seen->data, "pids");
    size_t session = known->usage->ways.items[seen->way].session;
    for (size_t k = 0; k < json_array_size(list); k++)
        for (size_t i = 0; i < known->process_count; i++)
            if (known->processes[i].session == session &&
                known->processes[i].pid == json_integer_value(json_array_get(list, k)))
                name_lane(known, seen, known->processes[i].way);
}

/* Those that old evidence only counted: of the lanes of the same node that trained at that time. */
static void take_unnamed(const struct knowledge *known, struct seen *seen)
{
    const struct ways *ways = &known->usage->ways;
    const char *node = ways->sessions[ways->items[seen->way].session].host;
    if (seen->named == 0 || !json_is_true(json_get(seen->data, "unnamed")))
        return;
    for (size_t i = 0; i < ways->count; i++)
        if (strcmp(ways->sessions[ways->items[i].session].host, node) == 0 && trained(&ways->items[i], seen, 0))
            name_lane(known, seen, i);
}

/* What is counted of one kind of evidence. */
struct cell {
    int64_t experiment; /* the last that was counted */
    json_int_t count;
};

struct tally {
    struct cell
        *cells; /* for each lane that was disturbed: one for each lane that did it, and one for the world outside */
    json_t **experiments; /* for each lane, those that were disturbed */
};

/* Each experiment counts once: all of its evidence of a kind comes in a row. */
static void count(const struct knowledge *known, const struct tally *tally, const struct seen *seen, size_t by)
{
    size_t lane = known->usage->of_way[seen->way];
    struct cell *cell = &tally->cells[lane * (known->usage->count + 1) + by];
    json_t *list = tally->experiments[lane];
    json_t *last = json_array_size(list) ? json_array_get(list, json_array_size(list) - 1) : NULL;
    if (cell->experiment != seen->experiment)
        cell->count++;
    cell->experiment = seen->experiment;
    if (!last || json_integer_value(last) != seen->experiment)
        json_array_append_new(list, json_integer(seen->experiment));
}

static void tell_lane(const struct knowledge *known, const struct tally *tally, size_t lane, const char *kind)
{
    size_t lanes = known->usage->count;
    json_t *by = json_array();
    for (size_t i = 0; i <= lanes; i++) {
        const struct cell *cell = &tally->cells[lane * (lanes + 1) + i];
        if (cell->count == 0)
            continue;
        json_array_append_new(by, json_pack("{s:o, s:I}", "lane", i < lanes ? json_integer((json_int_t)i) : json_null(),
                                            "experiments", (json_int_t)cell->count));
    }
    json_array_append_new(known->out,
                          json_pack("{s:I, s:o, s:s, s:o, s:O*}", "lane", (json_int_t)lane, "kind",
                                    json_text_or_null(kind), "weight", evidence_weight_name(evidence_weight(kind)),
                                    "by", by, "experiments", tally->experiments[lane]));
}

static void tally_begin(const struct knowledge *known, struct tally *tally)
{
    size_t lanes = known->usage->count;
    tally->cells = mem_array(lanes * (lanes + 1), sizeof *tally->cells);
    tally->experiments = mem_array(lanes, sizeof(json_t *));
    for (size_t i = 0; i < lanes; i++)
        tally->experiments[i] = json_array();
}

/* Tells what was counted of this kind. */
static void tally_end(const struct knowledge *known, struct tally *tally, const char *kind)
{
    for (size_t i = 0; i < known->usage->count; i++) {
        if (json_array_size(tally->experiments[i]) > 0)
            tell_lane(known, tally, i, kind);
        json_decref(tally->experiments[i]);
    }
    free(tally->cells);
    free(tally->experiments);
    *tally = (struct tally){0};
}

static void judge(const struct knowledge *known, const struct tally *tally, struct seen *seen)
{
    take_experiments(known, seen);
    take_pids(known, seen);
    take_unnamed(known, seen);
    for (size_t i = 0; i < known->usage->count; i++)
        if (seen->by[i])
            count(known, tally, seen, i);
    /* Programs that belong to nobody of the run, unless a name says otherwise. */
    bool foreign = strcmp(seen->kind, "foreign_process") == 0 || strcmp(seen->kind, "cpu_shared") == 0;
    if (seen->named == 0 && foreign)
        count(known, tally, seen, known->usage->count);
}

/* The span of the evidence, or of the whole attempt. */
static void find_times(const struct knowledge *known, struct seen *seen, sqlite3_stmt *row, int64_t attempt)
{
    const struct way *way = &known->usage->ways.items[seen->way];
    for (size_t i = 0; i < way->count; i++) {
        const struct way_span *span = &way->spans[i];
        if (span->doing != DOING_TRAINING || span->experiment != seen->experiment || span->attempt != attempt)
            continue;
        double from_s = sqlite3_column_double(row, 4), to_s = sqlite3_column_double(row, 5);
        seen->from_ns = span->from_ns + (int64_t)(from_s * (double)NS_PER_S);
        seen->to_ns = db_is_null(row, 5) ? span->to_ns : span->from_ns + (int64_t)(to_s * (double)NS_PER_S);
    }
}

static bool judge_all(sqlite3 *db, const struct knowledge *known, struct err *err)
{
    AUTO_FREE bool *by = mem_array(known->usage->count, sizeof *by);
    AUTO_FREE char *kind = NULL;
    struct tally tally = {0};
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT v.experiment, coalesce(v.attempt, 0), v.kind, e.data, v.from_s, v.to_s FROM evidence v"
        " JOIN events e USING (seq) WHERE v.experiment IS NOT NULL AND v.kind IS NOT NULL AND v.text IS NOT NULL"
        " ORDER BY v.kind, v.experiment, seq",
        "");
    while (db_next(&query, err)) {
        int64_t attempt = sqlite3_column_int64(query, 1);
        struct seen seen = {.experiment = sqlite3_column_int64(query, 0), .kind = db_text(query, 2), .by = by};
        seen.way = ways_of_attempt(&known->usage->ways, seen.experiment, attempt);
        if (seen.way == SIZE_MAX || !seen.kind)
            continue;
        if (kind && strcmp(kind, seen.kind) != 0)
            tally_end(known, &tally, kind);
        if (!tally.cells)
            tally_begin(known, &tally);
        free(kind);
        kind = mem_strdup(seen.kind);
        memset(by, 0, known->usage->count * sizeof *by);
        find_times(known, &seen, query, attempt);
        json_t *data = db_json(query, 3);
        seen.data = data;
        judge(known, &tally, &seen);
        json_decref(data);
    }
    if (tally.cells)
        tally_end(known, &tally, kind);
    return query != NULL;
}

bool usage_add_disturbances(sqlite3 *db, const struct usage *usage, json_t *out, struct err *err)
{
    struct knowledge known = {.usage = usage, .out = out};
    bool ok = learn_processes(db, &known, err) && judge_all(db, &known, err);
    free(known.processes);
    return ok;
}
