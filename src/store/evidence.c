#include "store/evidence.h"

#include "base/json.h"
#include "base/mem.h"
#include "store/journal.h"

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

/* Makes the verdict of a query's rows: the outcome in the first column, and in the second a kind of evidence, or NULL
 * where there is none. out: NULL: none is given. */
static bool judge(sqlite3_stmt *query, const char **out, struct err *err)
{
    enum verdict verdict = VERDICT_CLEAN;
    bool succeeded = false;
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        succeeded = is_success(db_text(query, 0));
        if (!db_is_null(query, 1))
            verdict = verdict_with(verdict, db_text(query, 1));
    }
    verdict = verdict_of_end(verdict, succeeded);
    *out = verdict == VERDICT_NONE ? NULL : verdict_name(verdict);
    return step == 0;
}

bool evidence_judge_attempt(sqlite3 *db, int64_t experiment, int64_t attempt, struct err *err)
{
    const char *verdict;
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT a.outcome, v.kind FROM attempts a LEFT JOIN evidence v ON v.experiment = a.experiment AND"
                 " v.attempt = a.number WHERE a.experiment=? AND a.number=?",
                 "ii", experiment, attempt);
    return judge(query, &verdict, err) &&
           db_run(db, err, "UPDATE attempts SET verdict=? WHERE experiment=? AND number=? AND outcome IS NOT NULL",
                  "tii", verdict, experiment, attempt);
}

bool evidence_outdate_files(sqlite3 *db, int64_t experiment, struct err *err)
{
    return db_run(db, err,
                  "UPDATE experiments SET files_written=2 WHERE number=? AND files_written<>0 AND outcome IS NOT NULL"
                  " AND again=0",
                  "i", experiment);
}

bool evidence_judge_experiment(sqlite3 *db, int64_t experiment, struct err *err)
{
    const char *verdict;
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT e.outcome, v.kind FROM experiments e LEFT JOIN evidence v ON " EVIDENCE_COUNTS " WHERE e.number=?", "i",
        experiment);
    return judge(query, &verdict, err) &&
           db_run(db, err, "UPDATE experiments SET verdict=? WHERE number=? AND outcome IS NOT NULL AND again=0", "ti",
                  verdict, experiment) &&
           evidence_outdate_files(db, experiment, err);
}

static bool insert(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    const json_t *data = event->data;
    const char *kind = json_get_text(data, "kind");
    return db_run(
        db, err,
        "INSERT INTO evidence (seq, experiment, attempt, pass, kind, weight, text, from_s, to_s, device) VALUES"
        " (?1, nullif(?2,0), nullif(?3,0), (SELECT pass FROM experiments WHERE number=?2),"
        " ?4, ?5, ?6, ?7, ?8, ?9)",
        "iiittjjjj", seq, event->experiment, event->attempt, kind, evidence_weight_name(evidence_weight(kind)),
        json_get(data, "text"), json_get(data, "from_s"), json_get(data, "to_s"), json_get(data, "device"));
}

/* Whether evidence of this weight was there already: it has been judged, and more of it changes no verdict. -1: err says
 * why. */
static int is_judged(sqlite3 *db, const struct event *event, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT 1 FROM evidence WHERE experiment=?1 AND attempt IS nullif(?2,0) AND weight=?3 AND pass IS"
                 " (SELECT pass FROM experiments WHERE number=?1) LIMIT 1",
                 "iit", event->experiment, event->attempt,
                 evidence_weight_name(evidence_weight(json_get_text(event->data, "kind"))));
    return query ? db_step(query, err) : -1;
}

/* What is seen of an attempt of a result that stands, or of the experiment after its end, changes the verdict on it. */
bool evidence_write(sqlite3 *db, int64_t seq, const struct event *event, struct err *err)
{
    int judged = event->experiment == 0 ? 1 : is_judged(db, event, err);
    if (judged < 0 || !insert(db, seq, event, err))
        return false;
    if (event->experiment == 0)
        return true;
    if (judged)
        return evidence_outdate_files(db, event->experiment, err);
    return (event->attempt == 0 || evidence_judge_attempt(db, event->experiment, event->attempt, err)) &&
           evidence_judge_experiment(db, event->experiment, err);
}

static bool take_up_one(void *context, int64_t seq, const struct event *event, struct err *err)
{
    return event->type != EVENT_EVIDENCE || insert(context, seq, event, err);
}

/* Only what speaks against a result is told. */
static bool accuse(sqlite3 *db, struct err *err)
{
    static const char *const statements[] = {
        "UPDATE attempts SET verdict = 'suspect' WHERE outcome IS NOT NULL AND EXISTS (SELECT 1 FROM evidence v WHERE"
        " v.experiment = attempts.experiment AND v.attempt = attempts.number AND v.weight = 'suspect')",
        "UPDATE attempts SET verdict = 'contaminated' WHERE outcome IS NOT NULL AND EXISTS (SELECT 1 FROM evidence v"
        " WHERE v.experiment = attempts.experiment AND v.attempt = attempts.number AND v.weight = 'contaminated')",
        "UPDATE experiments SET verdict = (SELECT a.verdict FROM attempts a WHERE a.experiment = experiments.number AND"
        " a.number = experiments.result_attempt) WHERE outcome IS NOT NULL",
        NULL,
    };
    for (const char *const *statement = statements; *statement; statement++)
        if (!db_run(db, err, *statement, ""))
            return false;
    return true;
}

bool evidence_take_up(sqlite3 *db, struct err *err)
{
    return journal_each(db, 0, take_up_one, db, err) && accuse(db, err);
}

bool evidence_add(sqlite3 *db, int64_t experiment, json_t *out, struct err *err)
{
    static const char *const keys[] = {"attempt", "kind", "weight", "text", "from_s", "to_s", "device"};
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT attempt, kind, weight, text, from_s, to_s, device FROM evidence WHERE experiment=? ORDER BY seq", "i",
        experiment);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        json_t *item = json_object();
        for (int i = 0; i < (int)(sizeof keys / sizeof *keys); i++)
            json_object_set_new(item, keys[i], db_cell(query, i));
        json_array_append_new(out, item);
    }
    return step == 0;
}
