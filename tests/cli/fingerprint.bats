#!/usr/bin/env bats
# --rerun and --resume never mix different code: which files, packages and interpreter a result had is compared.

load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is not there"; }

# A package of two modules, of which the training imports one and a third is not its own; three experiments.
project() {
    unset VIRTUAL_ENV PYTHONPATH
    idle_machine
    mkdir -p code/net packages/helper-1.0.dist-info
    printf 'from . import blocks\nSIZE = 8\n' >code/net/__init__.py
    echo 'WIDTH = 4' >code/net/blocks.py
    echo 'UNUSED = 1' >code/unused.py
    cat >code/train.py <<'END'
import argparse, sys
from net import (
    SIZE,
)
p = argparse.ArgumentParser()
p.add_argument("--seed", type=int)
a = p.parse_args()
print("accuracy:", SIZE / 16)
if a.seed == 3 and len(sys.argv) > 99: sys.exit(1)
END
    cd code
    "$TARE" run -q -o ../results train.py --seed 1..3
    cd ..
    RUN=$(run_folder)
}

verdicts() { "$TARE" audit "$RUN" --json 2>/dev/null | python3 -c '
import json, sys
for row in json.load(sys.stdin)["experiments"]: print(row["verdict"], "; ".join(e["kind"] + ": " + (e["text"] or "") for e in row["evidence"] if e["kind"] == "other_code"))'; }

@test "the files of the script are recorded, found without running it" {
    project
    python3 - "$RUN" <<'END'
import hashlib, json, pathlib, sys
machine = json.load(open(sys.argv[1] + "/machine.json"))
assert machine["session"] == 1
code, = machine["code"]
assert code["complete"] is True
names = {item["path"]: item["sha256"] for item in code["files"]}
wanted = {name: hashlib.sha256(pathlib.Path("code", name).read_bytes()).hexdigest() for name in ("train.py", "net/__init__.py", "net/blocks.py")}
assert names == wanted, (names, wanted)
END
}

@test "nothing that changed: nothing is said and no verdict changes" {
    project
    verdicts >before
    echo 'UNUSED = 2' >code/unused.py
    touch code/train.py
    run "$TARE" run --rerun train_default_001 "$RUN"
    [ "$status" -eq 0 ]
    [[ "$output" != *"other code"* ]]
    verdicts >after
    diff before after
}

@test "a changed script makes the results of the other code unverified, and --rerun says it before it begins" {
    project
    echo '# another comment' >>code/train.py
    run --separate-stderr "$TARE" run --rerun train_default_001 "$RUN"
    [ "$status" -eq 0 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"warning: 3 results are unverified: other code (train.py changed); 2 of them are not repeated now: '$NAME run --rerun unverified RUN' does it"* ]]
    verdicts >after
    if sed -n 1p after | grep -q other_code; then false; fi
    [ "$(sed 1d after)" = $'unverified other_code: train.py changed\nunverified other_code: train.py changed' ]
    # The files that people read say so, too.
    [ "$(summary_column "$RUN" verdict | sed 1d)" = $'unverified\nunverified' ]
    # Those two, and no others.
    run --separate-stderr "$TARE" run --rerun unverified "$RUN"
    [[ "$stderr" == *"2 results are unverified: other code (train.py changed); all of them are repeated"* ]]
    verdicts >last
    if grep -q other_code last; then false; fi
    run "$TARE" run --rerun unverified "$RUN"
    [[ "$output" != *"other code"* ]]
}

@test "a module that the script imports counts, and one that is new or gone" {
    project
    echo 'WIDTH = 5' >code/net/blocks.py
    run --separate-stderr "$TARE" run --rerun train_default_003 "$RUN"
    [[ "$stderr" == *"3 results are unverified: other code (net/blocks.py changed); 2 of them are"* ]]
    echo 'SIZE = 8' >code/net/__init__.py
    run --separate-stderr "$TARE" run --rerun train_default_003 "$RUN"
    [[ "$stderr" == *"(net/__init__.py changed, net/blocks.py removed"* ]]
}

@test "--rerun-contaminated repeats what ran other code" {
    project
    echo '# another comment' >>code/train.py
    run --separate-stderr "$TARE" run --rerun-contaminated "$RUN"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"3 results are unverified: other code (train.py changed); all of them are repeated"* ]]
    verdicts >after
    if grep -q other_code after; then false; fi
}

@test "--resume finishes a run of which the first part has other code, and says so" {
    unset VIRTUAL_ENV PYTHONPATH
    idle_machine
    cat >train.py <<'END'
import argparse, time
p = argparse.ArgumentParser()
p.add_argument("--seed", type=int)
a = p.parse_args()
print("accuracy: 0.5")
if a.seed == 2:
    open("up", "w")
    time.sleep(1000)
END
    start_program run train.py --seed 1..3
    wait_until test -e up
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    RUN=$(run_folder)
    sed -i 's/a.seed == 2/False/' train.py
    run --separate-stderr "$TARE" run --resume "$RUN"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"warning: 1 result is unverified: other code (train.py changed); 1 of them is not repeated now"* ]]
    [ "$(verdicts | grep -c other_code)" -eq 1 ]
    verdicts | head -n 1 | grep -q '^unverified other_code: train.py changed$'
}

@test "a script that is edited while its run lasts is other code for what ends after that" {
    unset VIRTUAL_ENV PYTHONPATH
    idle_machine
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser()
p.add_argument("--seed", type=int)
a = p.parse_args()
print("accuracy: 0.5")
if a.seed == 2: open("train.py", "a").write("# edited\n")
END
    "$TARE" run -q train.py --seed 1..3
    RUN=$(run_folder)
    [ "$(verdicts)" = $'clean \nunverified other_code: train.py changed while the run was under way\nunverified other_code: train.py changed while the run was under way' ] || { verdicts; false; }
}

@test "packages count: other versions and packages that were added, with .egg-info" {
    project
    mkdir -p site/extra-2.0.dist-info site/own.egg-info
    printf 'Metadata-Version: 2.1\nName: own\nVersion: 0.3\n' >site/own.egg-info/PKG-INFO
    PYTHONPATH=$WORK/site run --separate-stderr "$TARE" run --rerun train_default_001 "$RUN"
    [[ "$stderr" == *"other code (extra added, own added); 2 of them are not repeated"* ]] || { echo "$stderr"; false; }
    sed -i 's/^Version: .*/Version: 0.4/' site/own.egg-info/PKG-INFO
    PYTHONPATH=$WORK/site run --separate-stderr "$TARE" run --rerun train_default_001 "$RUN"
    [[ "$stderr" == *"own 0.3 became 0.4"* ]] || { echo "$stderr"; false; }
}
