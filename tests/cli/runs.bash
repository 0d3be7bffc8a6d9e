# What the tests of whole runs share, on top of helpers: one repository, its job a shell script of the test, and
# looks into what a run left. Load it with: load ../cli/runs

load ../cli/helpers

# What a failed test left running is ended by killing its runner: all it started goes with it.
teardown() {
    [ -z "${PID:-}" ] || kill -KILL "$PID" 2>/dev/null || true
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

# job SCRIPT: what every experiment runs: $1 is "--n", $2 a number of its own.
job() {
    mkdir -p "$WORK/repo"
    printf '#!/bin/sh\n%s\n' "$1" >"$WORK/repo/job.sh"
    chmod +x "$WORK/repo/job.sh"
}

# registry [MORE]: MORE is JSON members for the repository.
registry() {
    # Most tests' jobs print nothing and use no GPU: those about that say what the rule is.
    [[ "${1:-}" == *'"metrics"'* ]] || set -- '"metrics": "optional", "cpu_models": ["net"]'"${1:+, $1}"
    cat >"$WORK/registry.json" <<END
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000],
                                  "distribution": "uniform"}},
  "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}${1:+, $1}}}}
END
}

# settings COUNT [MORE-OF-TARE] [MORE-OF-THE-ENTRY]
settings() {
    [ -e "$WORK/registry.json" ] || registry
    cat >"$WORK/settings.json" <<END
{"mode": "mutation", "max_retries": 0, "seed": 7,
 "experiments": [{"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": $1${3:+, $3}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 20}${2:+, $2}}}
END
}

# The run itself; its options may be added.
tare_run() { "$TARE" run settings.json -c registry.json -o results "$@"; }

# Starts it in the background: $PID; end_program waits for it.
start_run() { start_program run settings.json -c registry.json -o results; }

# The one run in results, absolute.
run_dir() { echo "$WORK/$(cd "$WORK" && run_folder)"; }

# Nobody holds the lock: whoever held it is dead.
lock_is_free() { flock -n "$1" true; }

# of_events COLUMN TYPE [EXPERIMENT]: an SQL expression of the events of this type, one line each; what was being written is left out.
of_events() {
    sqlite3 -bail :memory: '.separator \001 \n' 'create table journal(line)' ".import '$(run_dir)/events.jsonl' journal" "
        select $1 from (select line ->> 'type' type, line ->> 'experiment' experiment, line -> 'data' data from journal where json_valid(line))
        where type = '$2'${3:+ and experiment = $3}"
}

# events TYPE [EXPERIMENT]: the data of the events of this type, one line of JSON each.
events() { of_events data "$@"; }

# event_value TYPE EXPERIMENT KEY: of the last such event: a text as it is, all else as JSON.
event_value() { of_events "iif(json_type(data, '\$.$3') = 'text', data ->> '$3', data -> '$3')" "$1" "$2" | tail -n 1; }

# The column of summary.csv, one line an experiment.
summary() { summary_column "$(run_dir)" "$1"; }

# verdicts WORD...: gives the experiments these verdicts, in the plan's order: which evidence a machine gives by itself, no
# test can know. "-": none.
verdicts() {
    python3 - "$(run_dir)/run.db" "$@" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    for number, verdict in enumerate(sys.argv[2:], 1):
        db.execute("UPDATE experiments SET verdict = nullif(?, '-') WHERE number = ?", (verdict, number))
END
    keep_edits "$(run_dir)"
}

# is TEXT EXPECTED
is() { [ "$1" = "$2" ] || { printf 'got:      %s\nexpected: %s\n' "$1" "$2"; return 1; }; }

# keep_edits DIR: gives its sessions another version, so that tables that a test edited are not compared with its events.
keep_edits() {
    python3 - "$1" <<'END'
import re, sqlite3, sys
version = re.compile(r'"version":"[^"]*"')
path = sys.argv[1] + "/events.jsonl"
lines = open(path, encoding="utf-8").read().splitlines(keepends=True)
with open(path, "w", encoding="utf-8") as out:
    for line in lines:
        out.write(version.sub('"version":"0.0.1"', line) if '"type":"session_started"' in line else line)
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    for seq, data in db.execute("SELECT seq, data FROM events WHERE type = 'session_started'").fetchall():
        db.execute("UPDATE events SET data = ? WHERE seq = ?", (version.sub('"version":"0.0.1"', data), seq))
END
}
