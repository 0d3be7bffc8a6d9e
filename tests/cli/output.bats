#!/usr/bin/env bats
# What is written for people, for programs and into files that a person names: standard output that fails, text that would steer the terminal,
# files that are not ours, and copies that nobody is to find later.

load energy

# Everything that a command can be asked about, made once for a test: a run, a study's folder, a snapshot, a log, settings.
things() {
    scenario 1
    job 'echo "loss 0.5"'
    settings 2
    tare_run -q >/dev/null 2>&1
    run_1=$(run_dir)
    mkdir bin study
    printf '#!/bin/sh\necho "GresTypes = (null)"\necho "MaxArraySize = 1001"\n' >bin/scontrol
    printf '#!/bin/sh\necho 4711\n' >bin/sbatch
    printf '#!/bin/sh\n' >bin/squeue
    chmod +x bin/*
    PATH=$WORK/bin:$PATH
    "$TARE" submit settings.json -c registry.json -o submitted >/dev/null 2>&1
    submitted=$(echo submitted/run_*)
    cp "$ROOT/tests/data/memory/split.pickle" snapshot.pickle
    echo 'RuntimeError: CUDA error: out of memory' >log
    printf '#!/bin/sh\necho "options:"; echo "  --lr LR  rate (default: 0.5)"; echo "loss: 0.5"\n' >train.sh
    chmod +x train.sh
    printf '{"tare": {"on_event": ["true"]}}\n' >told.json
    cat >study/feasibility.json <<'END'
{"models": [{"name": "net", "repo": "repo", "model": "net", "hyperparameters": {}, "one_epoch": true, "epochs": 3, "ran": true,
 "succeeded": true, "margin_bytes": 1000, "seconds": 10, "joules": 5, "utilisation_percent": 40,
 "curve": {"step_s": 1, "peak_bytes": 2000000, "bytes": [1000000, 2000000]}}], "pairs": []}
END
    cat >pair.json <<'END'
{"mode": "parallel", "experiments": [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
 "background": {"repo": "repo", "model": "net"}}], "tare": {"timing": {"between_runs": 0, "between_configurations": 0}, "preflight": {"policy": "go-on", "utilisation": 100, "baseline": 0}}}
END
}

# Every way in which a command writes to standard output; "CODE words": what it ends with when it cannot. One that is in the table and not
# here fails the test below: a new command gets its lines.
forms() {
    case $1 in
    run) echo "3 run settings.json -c registry.json -o r
3 run settings.json -c registry.json -o r -q
3 run settings.json -c registry.json -o r --json
3 run settings.json -c registry.json --dry-run
3 run -l -c registry.json
3 run --resume $run_1
3 run --rerun-contaminated $run_1
3 run --rerun failed,contaminated $run_1
3 run -o r train.sh --lr 1
3 run -o r --dry-run train.sh --lr 1,2" ;;
    init) echo "3 init -o i --force train.sh
3 init -o i --force train.sh --lr 1,2" ;;
    list) echo "3 list -c registry.json
3 list -c registry.json --check" ;;
    exec) echo "0 exec -- true
7 exec -- sh -c 'exit 7'" ;;
    bench) echo "3 bench true -n 2 --pause 0 --preflight go-on
3 bench true -n 2 --pause 0 --preflight go-on --quiet
3 bench true -n 2 --pause 0 --preflight go-on --json
3 bench true true -n 2 --pause 0 --preflight go-on --until-decided --of time" ;;
    measure) echo "3 measure --for 0.5
3 measure --for 0.5 --json" ;;
    calibrate) echo "1 calibrate --show
3 calibrate --show --json" ;;
    mark) ;; # writes into the run's pipe
    audit) echo "3 audit $run_1
3 audit $run_1 --json
3 audit $run_1 --expect 'clean>1000'" ;;
    stats) echo "3 stats $run_1
3 stats $run_1 --json
3 stats $run_1 --interactions" ;;
    compare) echo "3 compare $run_1 $run_1 --only usable
3 compare $run_1 $run_1 --only usable --json
3 compare $run_1 $run_1 --only usable --expect 'duration_s<1'" ;;
    export) for table in experiments attempts epochs hyperparameters metrics evidence samples wide; do echo "3 export $run_1 --table $table"; done
        for table in experiments attempts hyperparameters metrics wide; do echo "3 export $run_1 --table $table --format jsonl"; done ;;
    report) echo "3 report $run_1
3 report $run_1 -o page.html" ;;
    feasibility) echo "3 feasibility pair.json -c registry.json -o f --predict-only --containment sweep
3 feasibility pair.json -c registry.json -o f --predict-only --containment sweep --json
3 feasibility --plan registry.json --gpu-memory 8GiB --curves study
3 feasibility --plan registry.json --gpu-memory 8GiB --curves study -o pairs.json" ;;
    oom) echo "3 oom log
3 oom log --json" ;;
    memory) echo "3 memory snapshot.pickle
3 memory snapshot.pickle --json
3 memory snapshot.pickle --recommend" ;;
    submit) echo "3 submit settings.json -c registry.json --dry-run
3 submit settings.json -c registry.json -o s
3 submit settings.json -c registry.json -o s --json" ;;
    collect) echo "3 collect $submitted
3 collect $submitted --json" ;;
    clean) echo "3 clean
3 clean --json" ;;
    serve) echo "3 serve $run_1 --port 0" ;;
    watch) echo "3 watch --once $run_1
3 watch --once --json $run_1" ;;
    doctor) echo "3 doctor
3 doctor --test-event told.json
3 doctor --json" ;;
    *) return 1 ;;
    esac
}

# fails_with CODE WORDS: with standard output full, and closed. A server ends by itself only where nobody learns its address.
fails_with() {
    local expected=$1 code sort
    shift
    for sort in full closed; do
        code=0
        if [ $sort = full ]; then
            timeout -k 5 60 "$TARE" "$@" >/dev/full 2>err </dev/null || code=$?
        else
            timeout -k 5 60 "$TARE" "$@" >&- 2>err </dev/null || code=$?
        fi
        [ $code -eq "$expected" ] || { echo "$* ($sort): $code"; cat err; return 1; }
        [ "$expected" -ne 3 ] || [ "$(grep -c 'error: cannot write to standard output: ' err)" -eq 1 ] ||
            { echo "$* ($sort) says:"; cat err; return 1; }
    done
}

# Under sanitizers one way through each command is enough, and it is that of the names below.
not_sanitized() { [ -z "${TARE_SANITIZED:-}" ] || skip "what is read is the same as without sanitizers; the tests of names run each command under them"; }

@test "standard output that cannot be written is told and ends with 3, for every command and form of output" {
    not_sanitized
    [ -c /dev/full ] || skip "there is no /dev/full"
    things
    [ "$(commands | wc -l)" -ge 19 ]
    for words in --help -h help --version -V --man "--completion bash" "--completion zsh" "--completion fish"; do
        # shellcheck disable=SC2086
        fails_with 3 $words
    done
    for command in $(commands); do
        fails_with 3 "$command" --help
        fails_with 3 help "$command"
        fails_with 3 --man "$command"
        lines=$(forms "$command") || { echo "$command has no lines in this test"; false; }
        while read -r code words; do
            [ -n "$words" ] || continue
            eval "set -- $words"
            fails_with "$code" "$@"
        done <<<"$lines"
    done
}

@test "a run whose progress cannot be written is as good as it was, and ends with 3" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    things
    for how in "" --json --quiet; do
        rm -rf once
        # shellcheck disable=SC2086
        fails_with 3 run settings.json -c registry.json -o once $how
        for folder in once/run_*; do
            [ "$(summary_column "$folder" training_success)" = $'True\nTrue' ]
        done
    done
}

@test "a mistake, a signal and a command's own exit code count more than output that cannot be written" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    things
    fails_with 2 run none.json
    fails_with 2 compare one
    fails_with 9 exec -- sh -c 'exit 9'
    fails_with 1 exec -- sh -c 'echo said'
}

@test "with standard output closed nothing is printed into a file that was opened later" {
    things
    code=0
    "$TARE" export "$run_1" -o tables >&- 2>err || code=$?
    [ "$code" -eq 0 ]
    "$TARE" export "$run_1" --table experiments >expected
    cmp expected tables/experiments.csv
    before=$(cat "$run_1"/* 2>/dev/null | cksum)
    "$TARE" stats "$run_1" >&- 2>err || code=$?
    [ "$code" -eq 3 ]
    [ "$(cat "$run_1"/* 2>/dev/null | cksum)" = "$before" ]
}

@test "a reader that has seen enough is no mistake, for any command" {
    not_sanitized
    things
    for command in $(commands); do
        while read -r code words; do
            [ "$code" = 3 ] || continue
            case $words in *-check* | doctor* | clean* | oom* | *expect* | feasibility\ pair* | collect* | measure* | serve*) continue ;; esac # serve goes on: serve.bats
            eval "set -- $words"
            code=0
            timeout -k 5 60 "$TARE" "$@" 2>err </dev/null | true
            code=${PIPESTATUS[0]}
            [ "$code" -eq 0 ] || { echo "$words: $code"; cat err; false; }
            if grep -q 'cannot write' err; then false; fi
        done <<<"$(forms "$command")"
    done
}

# Bytes of a name that no terminal may be given: ESC [31m, CSI as a raw byte and as a character, DEL, a carriage return, right-to-left
# override, an isolate, a line separator, a byte that is no UTF-8, and BEL.
hostile=$'a\e[31m\x9b2J\xc2\x9b1m\x7f\r\xe2\x80\xae\xe2\x81\xa7\xe2\x80\xa8\xff\ab'
# The same as JSON can hold it, and as the folder of a plan, which is JSON.
in_utf8=$'a\e[31m\xc2\x9b1m\x7f\r\xe2\x80\xae\xe2\x81\xa7\xe2\x80\xa8\ab'
in_json='a\u001b[31m\u009b1m\u007f\r\u202e\u2067\u2028\u0007b'

# Everything has such a name: the folder, the experiment, a hyperparameter's value, what the job prints and fails with, the study's cells.
hostile_things() {
    mkdir "$in_utf8"
    cd "$in_utf8" || return 1
    cat >registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
 "supported_hyperparams": {"way": {"flag": "--way", "type": "choice", "default": "$in_json", "choices": ["$in_json", "2$in_json", "3$in_json"]}},
 "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}}}}
END
    cat >settings.json <<END
{"experiment_name": "$in_json", "max_retries": 0, "seed": 7, "mode": "mutation",
 "experiments": [{"repo": "repo", "model": "net", "mutate": ["way"], "runs_per_config": 2, "note": "$in_json"}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}, "preflight": {"policy": "go-on", "utilisation": 100, "baseline": 0}}}
END
    mkdir repo
    { echo '#!/bin/sh'; echo 'cat said'; echo 'exit 1'; } >repo/job.sh
    printf 'loss 0.5\nTraceback (most recent call last):\nValueError: %s\n' "$hostile" >repo/said
    chmod +x repo/job.sh
    "$TARE" run settings.json -c registry.json -o results -q >/dev/null 2>&1 || true
    run_1=$(echo results/run_*)
    "$TARE" submit settings.json -c registry.json -o submitted >/dev/null 2>&1
    submitted=$(echo submitted/run_*)
    mkdir study "study/$hostile"
    printf 'timestamp,experiment_id,repository,model,training_success,error_message,hyperparam_%s\n2025-11-18 15:55:26,%s,%s,%s,False,"%s",%s\n' \
        "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" "$hostile" >study/summary.csv
    printf '{"experiment_id": "%s", "repository": "%s", "model": "%s", "error": "%s"}' "$in_json" "$in_json" "$in_json" "$in_json" \
        >"study/$hostile/experiment.json"
    printf 'rank0 %s RuntimeError: CUDA error: out of memory %s\n' "$hostile" "$hostile" >"log $hostile"
    printf 'time,watts\n1763884800,%s\n' "$hostile" >"meter $hostile.csv"
    sed "s/\"name\": \"net\"/\"name\": \"$in_json\"/" ../study/feasibility.json >study/feasibility.json
    printf '{"tare": {"on_event": ["sh", "-c", "echo \\"$0\\" >&2; exit 1", "%s"]}}' "$in_json" >hostile_told.json
    printf '{"tare": {"on_event": ["%s"]}}' "$in_json" >hostile_program.json
    cp ../pair.json .
    { echo '#!/bin/sh'; echo 'cat hostile_help'; } >"./$in_utf8.sh"
    printf 'options:\n  --lr LR  %s (default: %s)\n  --%s X  %s\n' "$hostile" "$hostile" "$hostile" "$hostile" >hostile_help
    chmod +x "./$in_utf8.sh"
    python3 - "$ROOT/tests/data/memory/stacks.pickle" <<'END'
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
name = "a\x1b[31m\x9b1m\x7f\r\u202e\u2067\u2028\x07b"
def spoil(value):
    if isinstance(value, list):
        for item in value:
            spoil(item)
    elif isinstance(value, dict):
        for key in value:
            if key in ("filename", "name"):
                value[key] = name
            else:
                spoil(value[key])
spoil(snapshot)
pickle.dump(snapshot, open("snapshot.pickle", "wb"), protocol=4)
END
}

# Who is told what: each command once, with names that are not there or wrong, too. One a line, as the shell reads it.
hostile_forms() {
    case $1 in
    run) echo 'run settings.json -c registry.json --dry-run
run settings.json -c registry.json -o r
run settings.json -c registry.json -o r --json
run settings.json -c registry.json --dry-run --json
run -l -c registry.json
run -ec "$hostile"
run -r "$hostile" -m "$hostile" -c registry.json
run settings.json -c "$hostile"
run "--$hostile"
run --resume "$hostile"
run --rerun failed "$hostile"
run --rerun "$hostile" "$run_1"
run broken.json -c registry.json
run "$hostile.py" --lr 1
run "./$in_utf8.sh" --lr "$in_utf8"
run "./$in_utf8.sh" "--$in_utf8"' ;;
    init) echo 'init "$hostile.py"
init --force "./$in_utf8.sh"
init --force "./$in_utf8.sh" --lr "$hostile"
init --force "./$in_utf8.sh" --lr "$in_utf8"
init --force "./$in_utf8.sh" "--$hostile" 1
init -o "i $hostile" "./$in_utf8.sh"' ;;
    list) echo 'list -c registry.json
list -c registry.json --check
list "$hostile" -c registry.json
list -c "$hostile"' ;;
    exec) echo 'exec -- "$hostile"
exec -- "./$hostile"
exec "--$hostile" true
exec -e -v -- true "$hostile"' ;;
    bench) echo 'bench "echo $hostile" -n 2 --pause 0 --preflight go-on
bench "./$hostile" -n 2 --pause 0
bench true --command-name "$hostile"
bench true --export-json "none/$hostile"' ;;
    measure) echo 'measure --for 0.2
measure --gpus "$hostile"
measure --for "$hostile"' ;;
    calibrate) echo 'calibrate --show
calibrate --yes --gpu "$hostile"
calibrate --yes --seconds "$hostile"
calibrate "$hostile"' ;;
    mark) echo 'mark "$hostile"
mark epoch "$hostile"' ;;
    audit) echo 'audit "$run_1"
audit study --all
audit study --json
audit study --write
audit study --expect "$hostile"
audit "$hostile"' ;;
    stats) echo 'stats "$run_1"
stats study
stats study --json
stats study --interactions
stats "$hostile"' ;;
    compare) echo 'compare "$run_1" study
compare "study:repo=$hostile" "study:repo=$hostile"
compare "study:$hostile=1" study
compare study study --expect "$hostile"
compare study study --sample-size "$hostile"' ;;
    export) echo 'export study -o "out $hostile"
export study -o "out $hostile"
export study --table wide
export study --mlflow "store $hostile"
export "$run_1" --mlflow "out $hostile"
export study --format "$hostile"
export "$hostile"' ;;
    report) echo 'report "$run_1"
report study -o "page $hostile.html"
report study -o "none $hostile/x"
report "$hostile"' ;;
    feasibility) echo 'feasibility pair.json -c registry.json -o "f $hostile" --predict-only --containment sweep
feasibility "$hostile"
feasibility --plan registry.json --gpu-memory 8GiB --curves study
feasibility --plan registry.json --gpu-memory 8GiB --curves study -o "pairs $hostile"
feasibility --plan registry.json --gpu-memory 8GiB --curves "$hostile"
feasibility --plan "$hostile" --gpu-memory 8GiB
feasibility --plan registry.json --gpu-memory "$hostile"' ;;
    oom) echo 'oom "log $hostile"
oom "log $hostile" "log $hostile"
oom "$hostile"' ;;
    memory) echo 'memory snapshot.pickle
memory snapshot.pickle --json
memory snapshot.pickle -w "$hostile"
memory snapshot.pickle --html "none/$hostile"
memory "log $hostile"' ;;
    submit) echo 'submit settings.json -c registry.json -o "s $hostile"
submit settings.json -c registry.json -o s -- "$hostile"
submit "$hostile"' ;;
    collect) echo 'collect "$submitted"
collect "$submitted" --json
collect "$hostile"' ;;
    clean) echo 'clean
clean --json
clean --pid "$hostile"' ;;
    watch) echo 'watch --once "$run_1"
watch --once --json "$run_1"
watch --once "$hostile"' ;;
    serve) echo 'serve "$hostile"
serve latest "$hostile"
serve --socket "none/$hostile" "$run_1"
serve "--$hostile"' ;;
    doctor) echo 'doctor
doctor --json
doctor --test-event ../told.json
doctor --test-event hostile_told.json
doctor --test-event hostile_program.json
doctor --test-event "$hostile"
doctor "$hostile"' ;;
    *) return 1 ;;
    esac
}

# said.py FILE...: nothing in them is anything but text, line ends and tabs.
write_checker() {
    cat >"$WORK/said.py" <<'END'
import re, sys, unicodedata
def check(name, colours=False):
    said = open(name, "rb").read()
    if colours:
        # A terminal gets our colours, and nothing else that begins with ESC.
        said = re.sub(rb"\x1b\[(0|1|2|31|32|33|1;31|1;35)m", b"", said)
        # The terminal was told so: the live line is drawn anew.
        said = re.sub(rb"\r?\x1b\[K|\x1b\[A\x1b\[K", b"", said)
    text = said.decode("utf-8")
    bad = [c for c in text if c not in "\n\t" and (unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")
           or unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))]
    assert not bad, (name, [hex(ord(c)) for c in bad], text)
if __name__ == "__main__":
    for name in sys.argv[2:]:
        check(name, sys.argv[1] == "colours")
END
}

@test "no name, cell, log line or path of others reaches the terminal as it is, from any command" {
    things
    write_checker
    hostile_things
    printf '{"experiments": [{"repo": "%s", "%s": 1}], "tare": {"%s": {"%s": 2}}}' "$in_json" "$in_json" "$in_json" "$in_json" >broken.json
    for command in $(commands); do
        lines=$(hostile_forms "$command") || { echo "$command has no lines in this test"; false; }
        said=$WORK/said-$command
        mkdir "$said"
        number=0
        while read -r words; do
            number=$((number + 1))
            eval "set -- $words"
            code=0
            timeout -k 5 60 "$TARE" "$@" >"$said/$number.out" 2>"$said/$number.err" </dev/null || code=$?
            [ "$code" -ne 124 ] || { echo "$words does not end"; false; }
            [ "$code" -lt 128 ] || { echo "$words: $code"; false; }
            [ -s "$said/$number.out" ] || [ -s "$said/$number.err" ] || [ "$command" = run ] || { echo "$words says nothing"; false; }
        done <<<"$lines"
    done
    # Each file's name leads to the command and the number of its line.
    python3 "$WORK/said.py" plain "$WORK"/said-*/*
}

# Whoever made the folder chose the names in its run.db: one of several lines must not bring a line of its own.
@test "a name with line ends in a received run.db brings no line of its own, from any reader" {
    things
    write_checker
    cp "$run_1/run.db" whole
    PYTHONPATH=$WORK python3 - "$run_1" whole "$TARE" <<'END'
import json, re, shutil, sqlite3, subprocess, sys
from said import check
run, whole, program = sys.argv[1:]
chained = open(run + "/events.jsonl", encoding="utf-8").read()
name = "a\x1b[31m\u009b1m\x7f\r\u202e\u2067\u2028\x07b\nFORGED: 9 clean\n"
# The tables of another version's run are not compared with its events.
old = re.compile(r'"version":"[^"]*"')
loose = "".join(old.sub('"version":"0.0.1"', line) if '"type":"session_started"' in line else line for line in chained.splitlines(keepends=True))
assert loose != chained
def change(statements, records=loose):
    shutil.copy(whole, run + "/run.db")
    open(run + "/events.jsonl", "w", encoding="utf-8").write(records)
    db = sqlite3.connect(run + "/run.db")
    if records == loose:
        for seq, data in db.execute("SELECT seq, data FROM events WHERE type = 'session_started'").fetchall():
            db.execute("UPDATE events SET data = ? WHERE seq = ?", (old.sub('"version":"0.0.1"', data), seq))
    # One did not succeed, and something speaks against the other: both are told of.
    db.execute("DELETE FROM evidence")
    db.execute("INSERT INTO evidence (seq, experiment, attempt, pass, kind, weight, text) VALUES (1, 1, 1, 1, 'cpu_shared', 'suspect', 'others')")
    db.execute("UPDATE experiments SET verdict = 'suspect' WHERE number = 1")
    db.execute("UPDATE experiments SET outcome = 'failed', failure = '{}', verdict = NULL, error = 'said' WHERE number = 2")
    for statement, value in statements:
        assert db.execute(statement, (value,)).rowcount > 0, statement
    db.commit()
    db.close()
def plan(change_job):
    row = json.loads(sqlite3.connect(whole).execute("SELECT json FROM plan WHERE number = 1").fetchone()[0])
    change_job(row["foreground"])
    return [("UPDATE plan SET json = ? WHERE number = 1", json.dumps(row))]
# What is spoilt, and whether the words after a resume tell of it.
cases = {
    "metric": (plan(lambda job: job["metrics"][0].update(name=name)), True),
    "model": (plan(lambda job: job.update(model=name)), False),
    "parameter": (plan(lambda job: job["hyperparameters"][0].update(name=name)), True),
    "kind of evidence": ([("UPDATE evidence SET kind = ?", name)], True),
    "text of evidence": ([("UPDATE evidence SET text = ?", name)], True),
    "failure": ([("UPDATE experiments SET failure = ? WHERE number = 2", json.dumps({"cause": name}))], True),
    "error": ([("UPDATE experiments SET error = ? WHERE number = 2", name)], True),
    "host": ([("UPDATE sessions SET host = ?", name)], False),
    "device": ([("UPDATE energy SET device = ?", name)], False),
}
for case, (statements, told) in cases.items():
    # Resumed with its records as they were too: what is not theirs is found, and told of.
    for words, records in ((["audit", run, "--all"], loose), (["stats", run], loose), (["compare", run, run, "--only", "usable"], loose), (["report", run], loose),
                           (["run", "--resume", run], chained), (["run", "--resume", run], loose)):
        change(statements, records)
        made = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=open("said", "wb"), stderr=subprocess.STDOUT)
        text = open("said", encoding="utf-8").read()
        assert 0 <= made.returncode < 128 and text, (case, words, made)
        assert not re.search(r"^\s*FORGED", text, re.M), (case, words, text)
        check("said")
    assert not told or "FORGED" in text, (case, text)
END
}

@test "on a terminal with colours there is nothing but our colours" {
    things
    write_checker
    hostile_things
    for words in 'run settings.json -c registry.json --dry-run' 'run settings.json -c registry.json -o r' 'list -c registry.json' \
        'audit study --all' 'stats study' 'oom "log $hostile"' 'memory snapshot.pickle' 'clean' 'doctor' 'run -ec "$hostile"'; do
        eval "set -- $words"
        TERM=xterm-256color python3 "$BATS_TEST_DIRNAME/on_pty.py" 100 "$WORK/screen" "$TARE" "$@" || [ $? -lt 128 ]
        [ -s "$WORK/screen" ]
        python3 "$WORK/said.py" colours "$WORK/screen" || { echo "$words"; false; }
    done
}

@test "while a run is read nothing of it has a name in TMPDIR, so that nothing is left however the reader ends" {
    things
    mkdir temporary
    # Every name that ever appears there, however short (inotify(7): IN_CREATE 0x100, IN_MOVED_TO 0x80).
    python3 - temporary "$TARE" "$run_1" <<'END'
import ctypes, os, subprocess, sys
folder, program, run = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK)
assert watch >= 0 and libc.inotify_add_watch(watch, folder.encode(), 0x180) >= 0
environment = dict(os.environ, TMPDIR=folder)
for words in (["audit"], ["stats"], ["export"], ["report"], ["compare", "--only", "usable", run]):
    subprocess.run([program, *words, run], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    seen = os.read(watch, 65536)
except BlockingIOError:
    seen = b""
assert seen == b"", seen
# And the folder is the one that was asked for: where it is not there, that is said.
missing = subprocess.run([program, "audit", run], env=dict(os.environ, TMPDIR="nowhere"), capture_output=True, text=True)
assert missing.returncode == 3 and "make a temporary file in nowhere (TMPDIR)" in missing.stderr, missing
END
}

@test "an output file that is a link, a pipe or a descriptor is written, and stays what it is" {
    things
    echo old >target
    ln -s target link
    "$TARE" bench true -n 2 --pause 0 --preflight go-on -q --export-json link --export-csv /dev/stdout >csv 2>/dev/null
    [ -L link ]
    python3 -c 'import json; json.load(open("target"))'
    grep -q '^command,' csv || grep -q ',' csv
    for words in "report $run_1 -o" "memory snapshot.pickle --html" \
        "feasibility --plan registry.json --gpu-memory 8GiB --curves study -o"; do
        ln -sfn target link
        echo old >target
        chmod 640 target
        # shellcheck disable=SC2086
        "$TARE" $words link >/dev/null 2>&1
        [ -L link ]
        [ "$(stat -c %a target)" = 640 ]
        [ "$(cat target)" != old ]
        mkfifo pipe
        cat pipe >piped &
        # shellcheck disable=SC2086
        "$TARE" $words pipe >/dev/null 2>&1
        wait $!
        [ -p pipe ]
        cmp piped target
        rm pipe
        { echo before; "$TARE" $words /dev/fd/7 7>&1 >/dev/null 2>&1; echo after; } >stream
        [ "$(head -n 1 stream)" = before ]
        [ "$(tail -n 1 stream)" = after ]
    done
    "$TARE" exec -e --json link -- true 2>/dev/null
    [ -L link ]
    "$TARE" export "$run_1" -o tables 2>/dev/null
    "$TARE" export "$run_1" -o tables 2>/dev/null
    echo mine >>tables/metrics.csv
    before=$(cat tables/* | cksum)
    run -3 "$TARE" export "$run_1" -o tables
    [[ "$output" == *"tables/metrics.csv is there already"*"--force"* ]]
    [ "$(cat tables/* | cksum)" = "$before" ]
    "$TARE" export "$run_1" -o tables --force 2>/dev/null
    if grep -q mine tables/metrics.csv; then false; fi
}

@test "an input is not overwritten by the output that is made of it" {
    things
    before=$(cat snapshot.pickle registry.json | cksum)
    run -3 "$TARE" memory snapshot.pickle --html snapshot.pickle
    [[ "$output" == *"snapshot.pickle is the snapshot itself"* ]]
    run -3 "$TARE" feasibility --plan registry.json --gpu-memory 8GiB --curves study -o registry.json
    [[ "$output" == *"registry.json is the registry itself"* ]]
    # Also where it is the one that is found.
    run -3 "$TARE" feasibility --plan --gpu-memory 8GiB --curves study -o registry.json
    [[ "$output" == *"registry.json is the registry itself"* ]]
    "$TARE" feasibility --plan --gpu-memory 8GiB --curves study -o pairs.json
    python3 -c 'import json; assert [e["model"] for e in json.load(open("pairs.json"))["experiments"]] == ["net"]'
    [ "$(cat snapshot.pickle registry.json | cksum)" = "$before" ]
}

@test "a study's own report.html is replaced with --force only" {
    things
    mkdir old
    printf 'timestamp,experiment_id,repository,model,training_success\n2025-11-18 15:55:26,a_b_001,a,b,True\n' >old/summary.csv
    echo theirs >old/report.html
    run -3 "$TARE" report old
    [[ "$output" == *"old/report.html is there already"* ]]
    [ "$(cat old/report.html)" = theirs ]
    "$TARE" report old --force
    "$TARE" report old
    if grep -q theirs old/report.html; then false; fi
    "$TARE" report "$run_1"
    [ ! -e "$run_1/.tare-written.json" ]
}
