#include "results/store/ways.h"
#include "results/store/db.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Files are written between two experiments: a gap that is shorter is no waiting. */
static const int64_t GAP_NS = NS_PER_S;

void ways_fini(struct ways *ways)
{
    EACH (session, ways->sessions, ways->session_count)
        free(session->host);
    EACH (item, ways->items, ways->count) {
        strv_fini(&item->labels);
        strv_fini(&item->uuids);
        free(item->lost);
        free(item->spans);
    }
    free(ways->sessions);
    free(ways->items);
    free(ways->tries);
    free(ways->now);
    free(ways->last);
    *ways = (struct ways){0};
}

size_t ways_of_attempt(const struct ways *ways, int64_t experiment, int64_t attempt)
{
    if (experiment < 1 || (size_t)experiment > ways->experiments)
        return SIZE_MAX;
    for (size_t i = ways->last[experiment]; i != SIZE_MAX; i = ways->tries[i].before)
        if (attempt == 0 || ways->tries[i].attempt == attempt)
            return ways->tries[i].way;
    return SIZE_MAX;
}

static bool read_sessions(sqlite3 *db, struct ways *ways, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT number, host, started_monotonic_ns, started_realtime_ns,"
        " coalesce(ended_monotonic_ns, last_ns, started_monotonic_ns) FROM sessions"
        " LEFT JOIN (SELECT session, max(monotonic_ns) AS last_ns FROM events GROUP BY session)"
        " ON session = number ORDER BY number",
        "");
    while (db_next(&query, err)) {
        const char *host = db_text(query, 1);
        int64_t monotonic_ns = sqlite3_column_int64(query, 2),
                from_ns = sqlite3_column_int64(query, 3);
        int64_t lasted_ns = sqlite3_column_int64(query, 4) - monotonic_ns;
        MEM_ADD(ways->sessions, ways->session_count) = (struct way_session){
            .number = sqlite3_column_int64(query, 0),
            .host = mem_strdup(host ? host : ""),
            .from_ns = from_ns,
            .to_ns = from_ns + (lasted_ns > 0 ? lasted_ns : 0),
            .monotonic_ns = monotonic_ns,
        };
    }
    return query != NULL;
}

/* Within its session, whatever the journal says. */
static int64_t wall_ns(const struct way_session *session, int64_t monotonic_ns)
{
    int64_t t_ns = session->from_ns + (monotonic_ns - session->monotonic_ns);
    return t_ns < session->from_ns ? session->from_ns
           : t_ns > session->to_ns ? session->to_ns
                                   : t_ns;
}

static size_t way_of(struct ways *ways, size_t session, int64_t number)
{
    for (size_t i = ways->count; i-- > 0;)
        if (ways->items[i].session == session && ways->items[i].number == number)
            return i;
    ways->items = mem_room(ways->items, ways->count, sizeof *ways->items);
    ways->items[ways->count] = (struct way){.session = session, .number = number};
    return ways->count++;
}

/* The lane that an event names; where there is one lane it names none. */
static struct way *way_named(struct ways *ways, size_t session, const json_t *data)
{
    json_int_t number = 1;
    size_t at;
    json_t *label;
    json_get_int(data, "lane", &number);
    size_t place = way_of(ways, session, number); /* which may move the items */
    struct way *way = &ways->items[place];
    if (!way->named)
        json_array_foreach(json_object_get(data, "gpus"), at, label) if (json_string_value(label))
            strv_add(&way->labels, json_string_value(label));
    way->named = way->named || json_object_get(data, "gpus");
    return way;
}

/* From then on it does this; what it did before ends. Time never runs backwards. */
static void go_on(struct way *way, int64_t t_ns, struct way_span next)
{
    struct way_span *last = way->count ? &way->spans[way->count - 1] : NULL;
    if (last && t_ns < last->from_ns)
        t_ns = last->from_ns;
    if (last)
        last->to_ns = t_ns;
    if (last && last->to_ns == last->from_ns)
        way->count--;
    next.from_ns = next.to_ns = t_ns;
    MEM_ADD(way->spans, way->count) = next;
}

static struct way_span *last_of(struct way *way)
{
    return way->count ? &way->spans[way->count - 1] : NULL;
}

/* It has waited since its last experiment, or the beginning of the session: is that worth the
 * name? */
static void close_gap(struct way *way, int64_t t_ns)
{
    struct way_span *last = last_of(way);
    if (last && last->doing == DOING_WAIT && t_ns - last->from_ns < GAP_NS)
        last->doing = DOING_GUARD;
}

/* Where the meters and all before the first experiment of the session took their time, nobody
 * waited. */
static void begin_way(struct ways *ways, struct way *way, int64_t t_ns)
{
    struct way_session *session = &ways->sessions[way->session];
    if (way->begun)
        return;
    way->begun = true;
    if (!session->first_ns)
        session->first_ns = t_ns;
    go_on(way, session->from_ns, (struct way_span){.doing = DOING_GUARD});
    go_on(way, session->first_ns, (struct way_span){.doing = DOING_WAIT});
}

static void start_experiment(struct ways *ways, size_t session, int64_t experiment, int64_t t_ns,
                             const json_t *data)
{
    struct way *way = way_named(ways, session, data);
    begin_way(ways, way, t_ns);
    close_gap(way, t_ns);
    go_on(way, t_ns, (struct way_span){.doing = DOING_GUARD, .experiment = experiment});
    ways->now[experiment] = (size_t)(way - ways->items);
}

static double idle_s(const json_t *data)
{
    double longest = 0;
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(data, "devices"), i, device)
    {
        double seconds;
        if (json_get_number(json_object_get(device, "idle"), "seconds", &seconds) &&
            seconds > longest)
            longest = seconds;
    }
    return longest;
}

/* The preflight is over: how long of it its GPUs were not free. Then the idle draw was measured. */
static void end_preflight(struct way *way, int64_t t_ns, const json_t *data)
{
    struct way_span *last = last_of(way), before;
    const char *phase = json_get_text(data, "phase");
    double waited_s = 0;
    size_t i;
    json_t *device;
    if (!phase || strcmp(phase, "preflight") != 0 || !last)
        return;
    if (!way->named)
        json_array_foreach(json_object_get(data, "devices"), i,
                           device) if (json_get_text(device, "device"))
            strv_add_once(&way->labels, json_get_text(device, "device"));
    json_get_number(data, "waited_s", &waited_s);
    int64_t waited_ns = (int64_t)(waited_s * (double)NS_PER_S);
    if (waited_ns < GAP_NS)
        return;
    before = *last;
    int64_t from_ns = t_ns - waited_ns - (int64_t)(idle_s(data) * (double)NS_PER_S);
    from_ns = from_ns > before.from_ns ? from_ns : before.from_ns;
    struct way_span wait = {.doing = DOING_WAIT, .experiment = before.experiment};
    struct way_span guard = {.doing = DOING_GUARD, .experiment = before.experiment};
    go_on(way, from_ns, wait);
    go_on(way, from_ns + waited_ns < t_ns ? from_ns + waited_ns : t_ns, guard);
}

struct entry {
    size_t session; /* index */
    int64_t experiment, attempt, t_ns;
    const char *type;
    const json_t *data;       /* of some types alone */
    int64_t start_ns, end_ns; /* of the attempt's command, on the wall clock; 0: not known */
};

static bool is(const struct entry *entry, const char *type)
{
    return strcmp(entry->type, type) == 0;
}

/* What an experiment's own lane does. */
static void take_step(struct ways *ways, struct way *way, const struct entry *entry)
{
    struct way_span next = {.experiment = entry->experiment, .attempt = entry->attempt};
    const struct way_span *last = last_of(way);
    if (is(entry, "guard")) {
        end_preflight(way, entry->t_ns, entry->data);
    } else if (is(entry, "attempt_prepared")) {
        MEM_ADD(ways->tries, ways->try_count) =
            (struct way_try){.attempt = entry->attempt,
                             .way = (size_t)(way - ways->items),
                             .before = ways->last[entry->experiment]};
        ways->last[entry->experiment] = ways->try_count - 1;
        next.doing = DOING_GUARD;
        go_on(way, entry->t_ns, next);
    } else if (is(entry, "attempt_started")) {
        next.doing = DOING_TRAINING;
        go_on(way, entry->start_ns ? entry->start_ns : entry->t_ns, next);
    } else if (is(entry, "attempt_ended")) {
        next.doing = DOING_GUARD;
        go_on(way,
              entry->end_ns && last && last->doing == DOING_TRAINING ? entry->end_ns : entry->t_ns,
              next);
    } else if (is(entry, "retry_pause")) {
        next.doing = DOING_PAUSE;
        go_on(way, entry->t_ns, next);
    } else if (is(entry, "experiment_ended")) {
        go_on(way, entry->t_ns, (struct way_span){.doing = DOING_WAIT});
        ways->now[entry->experiment] = SIZE_MAX;
    }
}

/* Those that had nothing to do in it are named here alone. */
static void end_session(struct ways *ways, size_t session, const json_t *data)
{
    size_t i;
    json_t *lane;
    json_array_foreach(json_object_get(json_object_get(data, "pool"), "lanes"), i, lane)
    {
        struct way *way = way_named(ways, session, lane);
        const char *lost = json_get_text(lane, "lost");
        if (lost && !way->lost)
            way->lost = mem_strdup(lost);
    }
}

static void take_entry(struct ways *ways, const struct entry *entry)
{
    bool known = entry->experiment >= 1 && (size_t)entry->experiment <= ways->experiments;
    if (is(entry, "session_ended")) {
        end_session(ways, entry->session, entry->data);
    } else if (is(entry, "pause")) {
        struct way *way = way_named(ways, entry->session, entry->data);
        begin_way(ways, way, entry->t_ns);
        close_gap(way, entry->t_ns);
        go_on(way, entry->t_ns, (struct way_span){.doing = DOING_PAUSE});
    } else if (is(entry, "experiment_started")) {
        if (known)
            start_experiment(ways, entry->session, entry->experiment, entry->t_ns, entry->data);
    } else if (known && ways->now[entry->experiment] != SIZE_MAX) {
        struct way *way = &ways->items[ways->now[entry->experiment]];
        /* What a later session writes down of a dead one's is not of its time. */
        if (way->session == entry->session)
            take_step(ways, way, entry);
    }
}

static size_t session_at(const struct ways *ways, int64_t number)
{
    /* They are numbered from 1 without a gap: a run of many tasks has many. */
    if (number >= 1 && (size_t)number <= ways->session_count &&
        ways->sessions[number - 1].number == number)
        return (size_t)number - 1;
    for (size_t i = ways->session_count; i-- > 0;)
        if (ways->sessions[i].number == number)
            return i;
    return SIZE_MAX;
}

static bool read_events(sqlite3 *db, struct ways *ways, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT v.session, coalesce(v.experiment, 0), coalesce(v.attempt, 0), v.type, "
        "v.monotonic_ns,"
        " CASE WHEN v.type LIKE 'attempt%' THEN NULL ELSE v.data END, a.job_start_ns, a.job_end_ns"
        " FROM events v LEFT JOIN attempts a ON a.experiment = v.experiment AND a.number = "
        "v.attempt"
        " AND a.session = v.session"
        " WHERE v.type IN ('pause', 'retry_pause', 'experiment_started', 'attempt_prepared', "
        "'attempt_started',"
        " 'attempt_ended', 'experiment_ended', 'session_ended')"
        " OR (v.type = 'guard' AND v.data LIKE '%\"preflight\"%') ORDER BY v.seq",
        "");
    while (db_next(&query, err)) {
        struct entry entry = {.session = session_at(ways, sqlite3_column_int64(query, 0)),
                              .experiment = sqlite3_column_int64(query, 1),
                              .attempt = sqlite3_column_int64(query, 2),
                              .type = db_text(query, 3)};
        if (entry.session == SIZE_MAX || !entry.type)
            continue;
        const struct way_session *session = &ways->sessions[entry.session];
        json_t *data = db_json(query, 5);
        entry.t_ns = wall_ns(session, sqlite3_column_int64(query, 4));
        entry.data = data;
        entry.start_ns =
            db_is_null(query, 6) ? 0 : wall_ns(session, sqlite3_column_int64(query, 6));
        entry.end_ns = db_is_null(query, 7) ? 0 : wall_ns(session, sqlite3_column_int64(query, 7));
        take_entry(ways, &entry);
        json_decref(data);
    }
    return query != NULL;
}

/* Until the session's end: behind the last experiment there is nothing left to do. */
static void end_ways(struct ways *ways)
{
    EACH (way, ways->items, ways->count) {
        const struct way_session *session = &ways->sessions[way->session];
        if (way->count == 0)
            go_on(way, session->from_ns, (struct way_span){.doing = DOING_NOTHING});
        struct way_span *last = last_of(way);
        last->to_ns = session->to_ns > last->from_ns ? session->to_ns : last->from_ns;
        if (last->doing == DOING_WAIT && last->experiment == 0)
            last->doing = DOING_NOTHING;
    }
}

/* Which GPUs the lanes of a journal had, by their UUIDs. */

/* The driver may count its GPUs otherwise in the next session: a label is one of a session. */
struct known_gpu {
    size_t session;
    char *label, *uuid;
};

struct known_gpus {
    struct known_gpu *items;
    size_t count;
};

static void learn(struct known_gpus *known, size_t session, const char *label, const char *uuid)
{
    EACH (item, known->items, known->count)
        if (item->session == session && strcmp(item->label, label) == 0)
            return;
    MEM_ADD(known->items, known->count) =
        (struct known_gpu){session, mem_strdup(label), mem_strdup(uuid)};
}

/* Of its own session, else of another one on that host; else nobody knows. */
static const char *uuid_of(const struct ways *ways, const struct known_gpus *known, size_t session,
                           const char *label)
{
    const char *found = NULL;
    bool doubtful = false;
    EACH (gpu, known->items, known->count) {
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

static void name_gpus(struct ways *ways, const struct known_gpus *known)
{
    for (size_t i = 0; i < ways->count; i++) {
        struct way *way = &ways->items[i];
        for (size_t k = 0; k < way->labels.count; k++) {
            const char *uuid = uuid_of(ways, known, way->session, way->labels.items[k]);
            strv_add(&way->uuids, uuid ? uuid : way->labels.items[k]);
        }
        strv_sort(&way->uuids);
    }
}

/* Which GPUs the lanes had, as their attempts' energies tell: where there is one lane its events do
 * not. */
static bool learn_gpus(sqlite3 *db, struct ways *ways, struct err *err)
{
    struct known_gpus known = {0};
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT experiment, attempt, device, uuid FROM energy WHERE scope = 'GPU board' "
                 "AND uuid IS NOT NULL"
                 " ORDER BY experiment, attempt, device",
                 "");
    while (db_next(&query, err)) {
        size_t at =
            ways_of_attempt(ways, sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1));
        const char *label = db_text(query, 2), *uuid = db_text(query, 3);
        if (at == SIZE_MAX || !label || !uuid)
            continue;
        struct way *way = &ways->items[at];
        learn(&known, way->session, label, uuid);
        if (!way->named)
            strv_add_once(&way->labels, label);
    }
    name_gpus(ways, &known);
    EACH (item, known.items, known.count) {
        free(item->label);
        free(item->uuid);
    }
    free(known.items);
    return query != NULL;
}

bool ways_read(sqlite3 *db, const struct plan *plan, struct ways *out, struct err *err)
{
    *out = (struct ways){.experiments = plan->count};
    out->now = mem_array(plan->count + 1, sizeof *out->now);
    out->last = mem_array(plan->count + 1, sizeof *out->last);
    for (size_t i = 0; i <= plan->count; i++)
        out->now[i] = out->last[i] = SIZE_MAX;
    if (!read_sessions(db, out, err) || !read_events(db, out, err))
        return false;
    end_ways(out);
    return learn_gpus(db, out, err);
}
