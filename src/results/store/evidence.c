#include "results/store/evidence.h"
#include "results/store/db.h"
#include "results/store/journal.h"
#include "results/store/results.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_success(const char *outcome)
{
    return outcome && strcmp(outcome, outcome_name(OUTCOME_SUCCEEDED)) == 0;
}

enum verdict evidence_verdict(const char *verdict, const char *outcome)
{
    enum verdict seen = VERDICT_NONE;
    return verdict_parse(verdict, &seen) ? verdict_of_end(seen, is_success(outcome)) : VERDICT_NONE;
}

size_t evidence_take_checks(const json_t *list, struct check_result out[CHECKS])
{
    const json_t *item;
    size_t i, count = 0;
    json_array_foreach(list, i, item)
    {
        struct check_result result = {.check = check_parse(json_get_text(item, "check"))};
        const char *text = json_get_text(item, "text");
        if (count == CHECKS || result.check == CHECK_NONE ||
            !check_outcome_parse(json_get_text(item, "outcome"), &result.outcome))
            continue;
        result.text = mem_strdup(text);
        out[count++] = result;
    }
    return count;
}

/* What is judged: the attempt of a result, with its checks and what speaks against it. */
struct judged {
    bool succeeded, recorded; /* recorded: its checks were */
    unsigned has;
    struct check_result checks[CHECKS];
    size_t check_count;
    struct evidence_found *found;
    struct strv kinds;
    size_t count;
};

static void judged_fini(struct judged *judged)
{
    EACH (check, judged->checks, judged->check_count)
        free(check->text);
    strv_fini(&judged->kinds);
    free(judged->found);
}

static bool load_checks(sqlite3 *db, int64_t experiment, int64_t attempt, struct judged *out,
                        struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.checks, a.duration_s IS NOT NULL, EXISTS (SELECT 1 FROM energy e WHERE "
                 "e.experiment = a.experiment "
                 "AND"
                 " e.attempt = a.number), EXISTS (SELECT 1 FROM attempt_metrics m WHERE "
                 "m.experiment = a.experiment AND "
                 "m.attempt"
                 " = a.number AND (m.value IS NOT NULL OR m.special IS NOT NULL)) FROM attempts a "
                 "WHERE a.experiment=? AND"
                 " a.number=?",
                 "ii", experiment, attempt);
    int step = db_step(query, err);
    if (step <= 0)
        return step == 0;
    json_t *list = db_json(query, 0);
    out->recorded = json_is_array(list);
    out->check_count = evidence_take_checks(list, out->checks);
    json_decref(list);
    for (int i = 0; i < QUANTITIES; i++)
        out->has |= sqlite3_column_int(query, 1 + i) ? 1u << i : 0;
    return true;
}

/* The outcome in the first column, and in the second a kind of evidence, or NULL where there is
 * none. */
static bool load_evidence(sqlite3_stmt *query, struct judged *out, struct err *err)
{
    int step;
    while ((step = db_step(query, err)) > 0) {
        out->succeeded = is_success(db_text(query, 0));
        if (db_is_null(query, 1))
            continue;
        strv_add(&out->kinds, db_text(query, 1));
        MEM_ADD(out->found, out->count) =
            (struct evidence_found){.kind = out->kinds.items[out->kinds.count - 1]};
    }
    return step == 0;
}

/* out: NULL: none is given. by_quantity: a new reference; NULL: there is no result, or nobody
 * recorded its checks: then the evidence alone decides, as it did when the run was made. */
static void judge(const struct judged *judged, const char **out, json_t **by_quantity)
{
    enum verdict verdict = VERDICT_CLEAN;
    *by_quantity = NULL;
    if (judged->recorded && judged->succeeded && judged->has) {
        struct verdicts verdicts = verdicts_judge(judged->has, judged->checks, judged->check_count,
                                                  judged->found, judged->count);
        verdict = verdicts.row;
        *by_quantity = facts_verdicts_json(&verdicts);
    } else {
        EACH (item, judged->found, judged->count)
            verdict = verdict_with(verdict, item->kind);
    }
    verdict = verdict_of_end(verdict, judged->succeeded);
    *out = verdict == VERDICT_NONE ? NULL : verdict_name(verdict);
}

/* query: as load_evidence takes it; attempt: which has the checks. sql sets verdict and verdicts,
 * of types of its cells. */
static bool judge_and_write(sqlite3 *db, sqlite3_stmt *query, int64_t experiment, int64_t attempt,
                            const char *sql, const char *types, struct err *err)
{
    struct judged judged = {0};
    const char *verdict;
    json_t *by_quantity = NULL;
    bool ok =
        load_evidence(query, &judged, err) && load_checks(db, experiment, attempt, &judged, err);
    if (ok) {
        judge(&judged, &verdict, &by_quantity);
        ok = db_run(db, err, sql, types, verdict, by_quantity, experiment, attempt);
    }
    json_decref(by_quantity);
    judged_fini(&judged);
    return ok;
}

bool evidence_judge_attempt(sqlite3 *db, int64_t experiment, int64_t attempt, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.outcome, v.kind FROM attempts a LEFT JOIN evidence v ON v.experiment = "
                 "a.experiment AND"
                 " v.attempt = a.number WHERE a.experiment=? AND a.number=?",
                 "ii", experiment, attempt);
    return judge_and_write(db, query, experiment, attempt,
                           "UPDATE attempts SET verdict=?, verdicts=? WHERE experiment=? AND "
                           "number=? AND outcome IS NOT NULL",
                           "tjii", err);
}

bool evidence_outdate_files(sqlite3 *db, int64_t experiment, struct err *err)
{
    return db_run(db, err,
                  "UPDATE experiments SET files_written=2 WHERE number=? AND files_written<>0 AND "
                  "outcome IS NOT NULL"
                  " AND again=0",
                  "i", experiment);
}

bool evidence_judge_experiment(sqlite3 *db, int64_t experiment, struct err *err)
{
    int64_t attempt;
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT e.outcome, v.kind FROM experiments e LEFT JOIN evidence v ON " EVIDENCE_COUNTS
        " WHERE e.number=?",
        "i", experiment);
    return query && journal_result_attempt(db, experiment, &attempt, err) &&
           judge_and_write(db, query, experiment, attempt,
                           "UPDATE experiments SET verdict=?, verdicts=? WHERE number=? AND "
                           "outcome IS NOT NULL AND again=0",
                           "tji", err) &&
           evidence_outdate_files(db, experiment, err);
}

json_t *evidence_json(const char *kind, const char *text)
{
    return json_pack("{s:s, s:s, s:[], s:[], s:n, s:n, s:n}", "kind", kind, "text", text,
                     "experiments", "pids", "device", "from_s", "to_s");
}

static bool insert(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    const char *kind = json_get_text(event->data, "kind");
    return db_run(
        db, err,
        "INSERT INTO evidence (seq, experiment, attempt, pass, kind, weight, text, from_s, to_s, "
        "device) VALUES"
        " (?1, nullif(?2,0), nullif(?3,0), (SELECT pass FROM experiments WHERE number=?2),"
        " ?4, ?5, ?6, ?7, ?8, ?9)",
        "iiittk", seq, event->experiment, event->attempt, kind,
        evidence_weight_name(evidence_weight(kind)), event->data, "text from_s to_s device");
}

/* Whether evidence of this weight was there already: it has been judged, and more of it changes no
 * verdict. -1: err says why. */
static int is_judged(sqlite3 *db, const struct event *event, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT 1 FROM evidence WHERE experiment=?1 AND attempt IS nullif(?2,0) AND "
                 "weight=?3 AND pass IS"
                 " (SELECT pass FROM experiments WHERE number=?1) LIMIT 1",
                 "iit", event->experiment, event->attempt,
                 evidence_weight_name(evidence_weight(json_get_text(event->data, "kind"))));
    return query ? db_step(query, err) : -1;
}

/* What is seen of an attempt of a result that stands, or of the experiment after its end, changes
 * the verdict on it. */
bool evidence_write(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    int judged = event->experiment == 0 ? 1 : is_judged(db, event, err);
    if (judged < 0 || !insert(db, seq, event, err))
        return false;
    if (event->experiment == 0)
        return true;
    if (judged)
        return evidence_outdate_files(db, event->experiment, err);
    return (event->attempt == 0 ||
            evidence_judge_attempt(db, event->experiment, event->attempt, err)) &&
           evidence_judge_experiment(db, event->experiment, err);
}

bool evidence_add(sqlite3 *db, int64_t experiment, json_t *out, struct err *err)
{
    return db_add_list(db, out, "attempt kind weight text from_s to_s device", err,
                       "SELECT attempt, kind, weight, text, from_s, to_s, device FROM evidence "
                       "WHERE experiment=? ORDER BY seq",
                       "i", experiment);
}
