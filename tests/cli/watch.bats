#!/usr/bin/env bats
# tare watch on a real terminal emulator (tmux): what it shows of played runs, what its keys do, and what it leaves.

load guard

eval "watched_$(declare -f setup)"
eval "watched_$(declare -f teardown)"

setup() {
    watched_setup
    need_command watch
    command -v tmux >/dev/null || skip "tmux is not there"
    export TMUX_TMPDIR=$WORK LC_ALL=C.UTF-8
    unset TMUX
    PLAYED=
}

teardown() {
    [ -z "$PLAYED" ] || kill -KILL "$PLAYED" 2>/dev/null || true
    tmux kill-server 2>/dev/null || true
    watched_teardown 2>/dev/null || true
    # What a killed run had started ends a moment later.
    [ ! -e "$WORK" ] || { pause 1; rm -rf "$WORK"; }
}

# watch COLUMNSxROWS [ARGUMENT...]: on a terminal of that size; when it ends its exit status goes to the file rc and the terminal's modes to
# modes. Whatever happens it is gone after two minutes.
watch() {
    local size=$1
    shift
    rm -f rc modes
    cat >watch.py <<'END'
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda *_: None)  # a handler: the program has the default
program = subprocess.Popen(sys.argv[1:])
try:
    code = program.wait(timeout=120)
except subprocess.TimeoutExpired:
    program.kill()
    code = program.wait()
with open("modes", "w") as modes:
    subprocess.run(["stty", "-a"], stdout=modes)
with open("rc.new", "w") as rc:
    print(code if code >= 0 else 128 - code, file=rc)
os.rename("rc.new", "rc")
time.sleep(120)
END
    printf 'set -g exit-empty off\n' >tmux.conf
    tmux kill-session -t watch 2>/dev/null || true
    # shellcheck disable=SC2086 # a list of words
    tmux -f tmux.conf new-session -d -s watch -x "${size%x*}" -y "${size#*x}" -c "$WORK" /usr/bin/python3 watch.py $PREFIX "$TARE" watch "$@" 3>&-
}
PREFIX=

screen() { tmux capture-pane -t watch -p; }
on_screen() { screen >screen.now && grep -qE -- "$1" screen.now; }
shows() { wait_until on_screen "$1" || { cat screen.now; return 1; }; }
key() { tmux send-keys -t watch "$@"; }
watch_pid() { pgrep -P "$(tmux display -t watch -p '#{pane_pid}')"; }
ended() { [ -e rc ]; }

# A bar as tqdm writes it, for printf.
bar() { printf '\\rEpoch %d: %3d%%%%|#####     | %d/100 [00:10<00:12,  4.50it/s, v_num=3]' "$1" "$2" "$2"; }

# Each experiment comes to the middle of the third of four epochs, and ends when there is the file repo/go1, repo/go2, ... of its start.
patient() {
    scenario 1
    idle_machine
    job "$(job_holds 20480 97)
count=\$((\$(cat count 2>/dev/null || echo 0) + 1)); echo \$count >count
printf '$(bar 0 0)$(bar 0 100)\\n' >&2; echo 'loss 0.5'; echo 'accuracy 0.25'
printf '$(bar 1 0)$(bar 1 100)\\n' >&2; echo 'loss 0.25'; echo 'accuracy 0.75'
${1:-}
printf '$(bar 2 50)' >&2
until [ -e go\$count ]; do sleep 0.2; done; printf '\\n'"
    cat >registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "metrics": "optional",
  "supported_hyperparams": {
    "num_epochs": {"flag": "--epochs", "type": "int", "default": 4, "range": [1, 9], "distribution": "uniform"},
    "n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000], "distribution": "uniform"}},
  "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)", "accuracy": "^accuracy ([0-9.]+)"}}}}}
END
    settings "${2:-3}"
    start_run
    wait_until has_readings
}
has_live_file() { [ -e "$(run_dir 2>/dev/null)/live.json" ]; }
has_readings() { file_has "$(run_dir 2>/dev/null)/live.json" '"temperature_c"' && file_has "$(run_dir)/live.json" '"bars"'; }

# goes NUMBER: the experiment may end.
goes() { touch "repo/go$1"; }

# A run that has ended: two experiments that print a line.
ended_run() {
    idle_machine
    job "${1:-echo loss 0.5}"
    settings 2
    "$TARE" run settings.json -c registry.json -o results --containment sweep >/dev/null 2>&1
}

# played RUN SLOTS SECONDS: others hold it to be under way.
played() {
    python3 "$BATS_TEST_DIRNAME/played_live.py" "$@" </dev/null >played.out 2>&1 3>&- &
    PLAYED=$!
    wait_until test -e "$1/live.json"
}

@test "a slot with experiment, epoch, power, use, memory, temperature and verdict so far; curves, plan and log" {
    patient
    watch 120x30 latest
    shows 'repo_net_001 .*no evidence'
    shows 'running [0-9]+s +epoch 3/4 +━{5}╸─{3} +62 % +690 W +GPU 97 % +20\.0/[0-9]+ GiB +[0-9]+ °C +loss 0\.25 +accuracy 0\.75'
    shows 'Power, slot 1: 690 W'
    shows '⣿'
    shows 'loss: 0\.25'
    shows '▶ 1 repo_net_001 running'
    shows '· 3 repo_net_003 planned'
    shows 'repo_net_001/training\.log'
    shows 'accuracy 0\.75'
    shows '0 of 3 done  1 under way'
    # What is under way is never clean.
    run ! grep -w clean screen.now
    key m
    shows 'accuracy: 0\.75'
    goes 1
    shows '✓ 1 repo_net_001 succeeded +(clean|unverified|suspect|contaminated)'
    shows '▶ 2 repo_net_002 running'
    key q
    wait_until ended
    [ "$(cat rc)" -eq 0 ]
    # The run is left alone.
    kill -0 "$PID"
}

@test "epochs that the log's marks tell are shown without a progress bar" {
    scenario 1
    idle_machine
    job 'echo Epoch 0; echo Epoch 1; echo Epoch 2; until [ -e go ]; do sleep 0.2; done'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1
    start_run
    wait_until has_live_file
    watch 100x24 latest
    shows 'epoch 3 '
}

@test "at 40, 80 and 200 columns every reading is there, and frames are whole" {
    patient
    local columns
    for columns in 40 80 200; do
        watch "${columns}x40" latest
        shows ' no evidence'
        shows '690 W +(GPU )?97 %'
        shows '20\.0/[0-9]+ GiB'
        shows ' [0-9]+ °C'
        shows '62 %'
        shows '▶ 1 repo_net_001'
        shows '^\? help'
        shows 'loss: '
        python3 - "$columns" <<'END'
import re, sys
columns, rows = int(sys.argv[1]), open("screen.now").read().split("\n")
framed = [row for row in rows if row[:1] in "┌│└"[:] and row]
assert framed and all(len(row) == columns and row[-1] in "┐│┘" for row in framed), framed
END
    done
}

@test "p pauses and goes on, s skips, S stops: each after a question, and any key but y takes it back" {
    patient
    watch 100x30 latest
    shows '▶ 1 repo_net_001'
    key p
    shows '^Pause\? .*y: yes'
    key n
    shows '^\? help'
    [ ! -e "$(run_dir)/control.json" ]
    key p
    shows '^Pause\?'
    key y
    shows '^paused on request'
    goes 1
    shows '✓ 1 repo_net_001'
    pause 2
    screen | grep -q '· 2 repo_net_002'
    key p
    shows '^Go on'
    key y
    shows '▶ 2 repo_net_002'
    shows '690 W'
    key s
    shows '^Skip repo_net_002\?'
    key y
    shows '▶ 3 repo_net_003'
    grep -q '"reason":"skipped"' "$(run_dir)/events.jsonl"
    shows '690 W'
    key S
    shows '^Stop run_'
    key y
    shows 'ended'
    shows "final state \(interrupted\): $NAME run --resume results/run_"
    end_program
    [ "$CODE" -eq 143 ]
    is "$(summary_column "$(run_dir)" training_success)" True
}

@test "what is not under way is neither skipped nor stopped" {
    ended_run
    watch 80x24 latest
    shows 'final state \(finished\)'
    key s
    shows 'not under way'
    key S
    shows 'not under way'
    [ ! -e "$(run_dir)/control.json" ]
}

@test "another user sees the run and is refused" {
    need_root
    command -v setpriv >/dev/null || skip "setpriv is not there"
    patient
    chmod -R a+rX "$WORK"
    tmux -f /dev/null new-session -d -s keep "sleep 120" 3>&-
    PREFIX='setpriv --reuid=65534 --regid=65534 --clear-groups env' watch 100x24 latest
    chmod a+rwx "$WORK"
    shows '▶ 1 repo_net_001'
    key S
    shows '^Stop'
    key y
    shows 'belongs to another user'
    [ ! -e "$(run_dir)/control.json" ]
    kill -0 "$PID"
}

@test "a log's escape sequences, controls and foreign bytes reach no terminal" {
    patient 'printf "\033]0;owned\007\033[31mred\033[2J\033[0m \302\233H \377raw\342\200\256flip\b\b\033Pq~\033\\\\ 漢字 end\n"'
    watch 100x30 latest
    shows 'red .*raw.flip.* 漢字 end'
    key Tab
    [ "$(tmux display -t watch -p '#{pane_title}')" != owned ]
    "$TARE" watch --once latest >once
    python3 - <<'END'
text = open("once", encoding="utf-8").read()
bad = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) <= 0x9f or 0x202a <= ord(c) <= 0x202e]
assert not bad and "漢字" in text, bad
END
}

@test "names of somebody else in live.json reach no terminal either" {
    ended_run
    played "$(run_dir)" 2 60
    python3 - "$(run_dir)/live.json" <<'END'
import json, os, sys
live = json.load(open(sys.argv[1]))
live["slots"][0]["gpus"] = ["\x1b]0;owned\x07\x1b[2J\u202eGPU"]
live["slots"][1]["phase"] = "\x1b[31mred"
live["slots"][1]["metrics"] = {"loss": "text"}
live["slots"][1]["experiment"] = 10**12
live["slots"][1]["points"] = {"power_w": "no list", "metrics": []}
live["slots"] += [7, None, {}]
json.dump(live, open("hostile", "w"))
END
    kill -KILL "$PLAYED"
    wait "$PLAYED" || true # from here on it replaces nothing
    PLAYED=
    mv hostile "$(run_dir)/live.json"
    "$TARE" watch --once latest >once || [ $? -eq 1 ]
    if LC_ALL=C grep -q "$(printf '\033')" once; then false; fi
    watch 60x24 latest
    shows 'slots'
    [ "$(tmux display -t watch -p '#{pane_title}')" != owned ]
    # A file of the wrong kind in the place of one of ours.
    rm "$(run_dir)/live.json" "$(run_dir)/repo_net_001/training.log"
    ln -s /etc/passwd "$(run_dir)/repo_net_001/training.log"
    mkfifo "$(run_dir)/live.json"
    "$TARE" watch --once latest >once || [ $? -eq 1 ]
    if grep -q root: once; then false; fi
}

@test "it is drawn anew right after the terminal is resized, with nothing of before" {
    patient
    watch 120x40 latest
    shows 'Power, slot 1'
    local size
    for size in 40x24 200x50 24x8 80x24; do
        tmux resize-window -t watch -x "${size%x*}" -y "${size#*x}"
        pause 0.6
        screen >screen.now
        python3 - "$size" <<'END'
import sys
columns, rows = map(int, sys.argv[1].split("x"))
text = open("screen.now").read().rstrip("\n").split("\n")
assert text[-1].startswith("? help") and len(text) == rows, text
assert any(len(row) == columns for row in text) and all(len(row) <= columns for row in text), text
assert sum(row.startswith("run_") for row in text) == 1, text
END
    done
}

@test "the terminal is as it was after q, Ctrl-C, TERM and HUP" {
    ended_run
    local how
    for how in q C-c TERM HUP; do
        watch 80x24 latest
        shows 'Plan'
        [ "$(tmux display -t watch -p '#{alternate_on}')" = 1 ]
        case $how in
        TERM | HUP) kill -"$how" "$(watch_pid)" ;;
        *) key $how ;;
        esac
        wait_until ended
        case $how in q) is "$(cat rc)" 0 ;; C-c) is "$(cat rc)" 130 ;; TERM) is "$(cat rc)" 143 ;; HUP) is "$(cat rc)" 129 ;; esac
        [ "$(tmux display -t watch -p '#{alternate_on} #{cursor_flag}')" = "0 1" ]
        grep -qE '(^| )icanon' modes
        grep -qE '(^| )echo( |;|$)' modes
    done
}

@test "a fault of its own gives the terminal back, too" {
    ended_run
    watch 80x24 latest
    shows 'Plan'
    kill -SEGV "$(watch_pid)"
    wait_until ended
    [ "$(tmux display -t watch -p '#{alternate_on} #{cursor_flag}')" = "0 1" ]
    grep -qE '(^| )icanon' modes
}

@test "NO_COLOR takes the colours, LC_ALL=C all that is not ASCII" {
    patient
    PREFIX='env NO_COLOR=1' watch 100x30 latest
    shows '62 %'
    tmux capture-pane -t watch -p -e >coloured
    if grep -qE "$(printf '\033')\[[0-9;]*3[1-7]m" coloured; then false; fi
    PREFIX='env TERM=tmux-256color' watch 100x30 latest
    shows '62 %'
    tmux capture-pane -t watch -p -e | grep -qE "$(printf '\033')\[[0-9;]*3[1-7]m"
    PREFIX='env LC_ALL=C' watch 100x30 latest
    shows 'epoch 3/4 +\[#{4}\.{3}\] +62 %'
    shows '^\+- 1 slot -+\+'
    LC_ALL=C run ! grep -P '[^\x00-\x7f]' screen.now
}

@test "without a terminal it says what to do; a dumb one is refused" {
    ended_run
    run "$TARE" watch latest </dev/null
    [ "$status" -eq 2 ]
    [[ $output == *"--once"* ]]
    PREFIX='env TERM=nonsense' watch 80x24 latest
    wait_until ended
    [ "$(cat rc)" -eq 3 ]
    shows 'TERM=nonsense'
}

@test "--once prints one view, --once --json all that is known" {
    patient
    COLUMNS=80 "$TARE" watch --once latest >once
    grep -q '▶ 1 repo_net_001' once
    grep -qE '690 W +97 %' once
    "$TARE" watch --once --json "$(run_dir)" >once.json
    is "$(wc -l <once.json | tr -d ' ')" 1
    python3 - <<'END'
import json
run = json.load(open("once.json"))
assert run["state"] == "under_way" and run["counts"]["planned"] == 2 and len(run["experiments"]) == 3, run
slot, = run["slots"]
assert slot["power_w"] == 690 and slot["id"] == "repo_net_001" and slot["metrics"]["loss"] == 0.25, slot
assert run["experiments"][0]["verdict_text"] == "no evidence" and run["experiments"][0]["verdict"] == "none", run
END
    run "$TARE" watch --json latest
    [ "$status" -eq 2 ]
    run "$TARE" watch --once --every 2s latest
    [ "$status" -eq 2 ]
    run "$TARE" watch --once "$WORK/repo"
    [ "$status" -eq 3 ]
    [[ $output == *"no run"* ]]
}

@test "a run whose program was killed says how to go on, and --once gives 1" {
    patient
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/run.lock"
    PID=
    run "$TARE" watch --once latest
    [ "$status" -eq 1 ]
    [[ ${output//$'\n'/ } == *"its program has died: $NAME run --resume results/run_"*" goes on with it"* ]]
    watch 40x24 latest
    shows 'died'
    shows "run --resume"
    shows 'results/run_'
}

@test "of several runs one is chosen: by [ and ], from the list, and the one under way first" {
    ended_run
    mv results/run_* run_20250101_000000
    rm -rf repo settings.json registry.json
    patient
    mv run_20250101_000000 results
    watch 100x24
    shows '^run_2.*under way .*run 1/2'
    key ]
    shows '^run_20250101_000000 +ended .*run 2/2'
    key [
    shows 'under way .*run 1/2'
    key r
    shows 'results/run_20250101_000000 +not running'
    shows '▶ results/run_.* under way'
    key j
    key Enter
    shows '^run_20250101_000000 +ended'
    run "$TARE" watch --once --json "$(ls -d results/run_20250101_000000)" latest
    is "${#lines[@]}" 2
}

@test "/ finds an experiment by its id, state or verdict" {
    patient
    watch 100x24 latest
    shows '▶ 1 repo_net_001'
    key / 0 0 3
    shows '/003_'
    key Enter
    shows 'Plan 3/3'
    key / p l a n n e d Enter
    shows 'Plan 3/3'
    key n
    shows 'Plan 2/3'
    key / z z z
    shows 'not found: zzz'
    key Escape f
    shows 'Plan 1/3'
    key '?'
    shows 'this help'
}

@test "64 slots and 10,000 experiments take less than a twentieth of a processor at a redraw a second" {
    idle_machine
    job 'echo loss 0.5; sleep 60'
    settings 10000
    start_run
    wait_until has_live_file
    kill -INT "$PID"
    end_program
    played "$(run_dir)" 64 90
    watch 120x40 latest
    shows '64 slots'
    shows ' 1 GPU 0 .*300 W'
    key G
    shows 'Plan 10000/10000'
    local pid before after
    pid=$(watch_pid)
    before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    pause 8
    after=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    echo "$((after - before)) ticks in 8 s"
    [ $((after - before)) -lt $((8 * $(getconf CLK_TCK) / 20)) ]
    key g
    shows 'Plan 1/10000'
}
