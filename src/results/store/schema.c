#include "results/store/schema.h"
#include "results/store/db.h"

#include "base/mem.h"

#include <string.h>

/* One statement a row. What stands in events is the truth; the tables behind it are the same facts
 * by name, written in the same transaction. STRICT is newer than the oldest SQLite we build with.
 * Attempts have a rowid as their rows are long: without one, SQLite gives most of each such row a
 * page of its own. */
static const char *const tables[] = {
    "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT) WITHOUT ROWID",
    "CREATE TABLE plan (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, json TEXT NOT NULL)",
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, pid INTEGER, start_time INTEGER, host "
    "TEXT, boot_id TEXT,"
    " version TEXT, containment TEXT, kernel_backed INTEGER, resumed INTEGER,"
    " started_monotonic_ns INTEGER NOT NULL, started_realtime_ns INTEGER NOT NULL,"
    " ended_monotonic_ns INTEGER, ended_realtime_ns INTEGER, outcome TEXT, error TEXT)",
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES "
    "sessions(number),"
    " experiment INTEGER REFERENCES plan(number), attempt INTEGER, type TEXT NOT NULL,"
    " monotonic_ns INTEGER NOT NULL, realtime_ns INTEGER NOT NULL, data TEXT NOT NULL)",
    "CREATE TABLE experiments (number INTEGER PRIMARY KEY REFERENCES plan(number), state TEXT NOT "
    "NULL, outcome TEXT,"
    " attempts INTEGER NOT NULL DEFAULT 0, retries INTEGER, duration_s REAL, error TEXT,"
    " started_realtime_ns INTEGER, ended_realtime_ns INTEGER, files_written INTEGER NOT NULL "
    "DEFAULT 0,"
    " verdict TEXT, failure TEXT, result_attempt INTEGER, pass INTEGER NOT NULL DEFAULT 1,"
    " again INTEGER NOT NULL DEFAULT 0, verdicts TEXT)",
    "CREATE TABLE experiment_metrics (experiment INTEGER NOT NULL REFERENCES experiments(number), "
    "name TEXT NOT NULL,"
    " value REAL, special TEXT, PRIMARY KEY (experiment, name)) WITHOUT ROWID",
    "CREATE TABLE attempts (experiment INTEGER NOT NULL REFERENCES experiments(number), number "
    "INTEGER NOT NULL,"
    " session INTEGER NOT NULL REFERENCES sessions(number), folder TEXT, outcome TEXT, stop_reason "
    "TEXT,"
    " prepared_realtime_ns INTEGER, started_monotonic_ns INTEGER, started_realtime_ns INTEGER,"
    " ended_monotonic_ns INTEGER, ended_realtime_ns INTEGER, duration_s REAL, exit_code INTEGER, "
    "signal INTEGER,"
    " reason TEXT, error TEXT, log_bytes INTEGER, log_lines INTEGER, job_start_ns INTEGER, "
    "job_end_ns INTEGER,"
    " marks_taken INTEGER, marks_repeated INTEGER, marks_limited INTEGER, marks_refused INTEGER, "
    "energy TEXT,"
    " verdict TEXT, failure TEXT, checks TEXT, verdicts TEXT,"
    " PRIMARY KEY (experiment, number))",
    "CREATE TABLE attempt_metrics (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, name "
    "TEXT NOT NULL, value "
    "REAL,"
    " special TEXT,"
    " PRIMARY KEY (experiment, attempt, name),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    "CREATE TABLE jobs (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, role TEXT NOT NULL, "
    "number INTEGER NOT "
    "NULL,"
    " session INTEGER NOT NULL REFERENCES sessions(number), pid INTEGER, start_time INTEGER, "
    "boot_id TEXT, cgroup TEXT,"
    " tag TEXT, layers TEXT, born_realtime_ns INTEGER, exit_code INTEGER, signal INTEGER, cpu_s "
    "REAL,"
    " peak_memory_bytes INTEGER, processes INTEGER, leftovers TEXT, survivors TEXT, proof_s REAL,"
    " PRIMARY KEY (experiment, attempt, role, number),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    "CREATE TABLE marks (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT "
    "NULL,"
    " name TEXT NOT NULL, label TEXT, at TEXT NOT NULL, t_ns INTEGER NOT NULL, source TEXT NOT "
    "NULL,"
    " PRIMARY KEY (experiment, attempt, number),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    "CREATE TABLE energy (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, device TEXT NOT "
    "NULL, scope TEXT,"
    " uuid TEXT, source TEXT, energy_j REAL, half_width_j REAL, sensor_uncertainty TEXT, "
    "covered_share REAL,"
    " longest_gap_s REAL, power_mean_w REAL, power_max_w REAL, power_min_w REAL, power_cv_within "
    "REAL,"
    " temperature_mean_c REAL, temperature_max_c REAL, utilisation_mean_percent REAL, "
    "utilisation_max_percent REAL,"
    " sm_clock_mean_mhz REAL, memory_peak_bytes REAL, flags TEXT, PRIMARY KEY (experiment, "
    "attempt, device),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    "CREATE TABLE epoch_energy (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, number "
    "INTEGER NOT NULL,"
    " name TEXT, start_ns INTEGER, end_ns INTEGER, gpu_mj INTEGER, gpu_half_width_j REAL, "
    "gpu_power_w REAL,"
    " gpu_memory_peak_bytes REAL, cpu_mj INTEGER, cpu_half_width_j REAL, dram_mj INTEGER, "
    "dram_half_width_j REAL,"
    " host_memory_peak_bytes REAL, PRIMARY KEY (experiment, attempt, number),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    "CREATE TABLE evidence (seq INTEGER PRIMARY KEY REFERENCES events(seq), experiment INTEGER "
    "REFERENCES"
    " experiments(number), attempt INTEGER, pass INTEGER, kind TEXT, weight TEXT NOT NULL, text "
    "TEXT, from_s REAL,"
    " to_s REAL, device TEXT)",
    "CREATE TABLE attempt_memory (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, changed "
    "TEXT, oom TEXT,"
    " memory TEXT, snapshot TEXT, PRIMARY KEY (experiment, attempt),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    /* special: as of the metrics. */
    "CREATE TABLE history (experiment INTEGER NOT NULL, attempt INTEGER NOT NULL, metric TEXT NOT "
    "NULL,"
    " step INTEGER NOT NULL, epoch INTEGER, seconds REAL, value REAL, special TEXT,"
    " PRIMARY KEY (experiment, attempt, metric, step),"
    " FOREIGN KEY (experiment, attempt) REFERENCES attempts(experiment, number)) WITHOUT ROWID",
    NULL,
};

/* What is asked for one experiment after another: without these each would read what all of them
 * left, and a run cost the square of their number. Of the events only the few that are asked for
 * so: each commit of a live run would else write a page more. */
static const char *const indexes[] = {
    "CREATE INDEX guard_events ON events (experiment) WHERE type = 'guard'",
    "CREATE INDEX attempt_ended_events ON events (experiment) WHERE type = 'attempt_ended'",
    "CREATE INDEX evidence_of_experiment ON evidence (experiment, attempt, weight, pass)",
    NULL,
};

static bool run_all(sqlite3 *db, const char *const *statement, struct err *err)
{
    for (; *statement; statement++)
        if (!db_run(db, err, *statement, ""))
            return false;
    return true;
}

bool schema_make(sqlite3 *db, struct err *err)
{
    AUTO_FREE char *format = mem_printf("PRAGMA user_version=%d", DB_FORMAT);
    return run_all(db, tables, err) && db_run(db, err, format, "") && run_all(db, indexes, err);
}

bool schema_no_plan(struct err *err)
{
    return err_set(err, "it holds no run: the program ended before the plan was written, so "
                        "nothing of it has started; "
                        "run its settings anew, and remove this folder");
}

/* A cell that is computed can be far longer than the file: no table and no index of a run has
 * one. */
static bool is_all_stored(sqlite3 *db, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err,
        "SELECT m.name FROM sqlite_master m WHERE m.type='table' AND (EXISTS (SELECT 1 FROM"
        " pragma_table_xinfo(m.name) c WHERE c.hidden > 1) OR EXISTS (SELECT 1 FROM "
        "pragma_index_list(m.name) i,"
        " pragma_index_xinfo(i.name) c WHERE c.cid = -2))",
        "");
    int step = db_step(query, err);
    if (step > 0)
        err_set(err, "run.db: its table '%s' computes cells, which no run's does",
                db_text(query, 0));
    return step == 0;
}

/* One page in two places makes many rows of few bytes, or an endless table. */
static bool is_sound(sqlite3 *db, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "PRAGMA quick_check(1)", "");
    int step = db_step(query, err);
    const char *said = step > 0 ? db_text(query, 0) : NULL;
    if (step >= 0 && (!said || strcmp(said, "ok") != 0))
        return err_set(err, "run.db is damaged: %s", said ? said : "it cannot be checked");
    return step > 0;
}

bool schema_check(sqlite3 *db, struct err *err)
{
    int64_t format;
    if (!db_number(db, &format, err, "PRAGMA user_version", ""))
        return false;
    if (format < 1)
        return schema_no_plan(err);
    if (format != DB_FORMAT)
        return err_set(err,
                       "run.db has format %lld, written by the version that its table meta names; "
                       "this one reads format %d",
                       (long long)format, DB_FORMAT);
    return is_all_stored(db, err) && is_sound(db, err);
}
