#!/usr/bin/env bats
# Epochs: marked by lines of the log, through the FIFO in $TARE_MARKS, by "mark" and from C.

load runs

folder() { echo "$(run_dir)/repo_net_001"; }

# The rows of the last attempt's marks.csv (or that of the folder $1) without their times: "epoch,startup,,", ...
parts() { sed 1d "${1:-$(folder)}/energy/marks.csv" | awk -F, '{ print $1 "," $2 "," $3 "," $7 }'; }

# Those that are epochs themselves. What is between them may have no length when the machine stands still for a moment.
epochs() { parts "$@" | grep ',epoch,'; }

# For a job's script: waits until the journal holds the mark with this label, so that whatever the job does next comes later.
SEEN='seen() { tries=0; until grep -q "\"label\":\"$1\"" "$TARE_RUN_DIR/events.jsonl"; do
tries=$((tries + 1)); [ $tries -lt 600 ] || exit 9; sleep 0.1; done; }
'

# Each name's parts follow each other without a gap, from 0 to the attempt's end, and so do those of experiment.json.
adds_up() {
    python3 - "$(folder)" <<'END'
import csv, decimal, json, sys
experiment = json.load(open(sys.argv[1] + "/experiment.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/energy/marks.csv")))
number = decimal.Decimal
for name in {row["name"] for row in rows}:
    at = number(0)
    for row in (row for row in rows if row["name"] == name):
        assert number(row["start_s"]) == at, (row, at)
        at = number(row["end_s"])
        assert number(row["duration_s"]) == at - number(row["start_s"]) >= 0, row
    assert abs(at - number(repr(experiment["duration_seconds"]))) < number("2e-9"), (at, experiment["duration_seconds"])
epochs = experiment["tare"]["epochs"]
assert len(epochs) == len(rows)
for row, epoch in zip(rows, epochs):
    assert list(epoch) == list(row), epoch
    for key, text in row.items():
        told = epoch[key]
        assert (told is None if text == "" else told == text or abs(told - float(text)) < 1e-9), (key, row, epoch)
END
}

# What the last attempt's marks came to: taken repeated limited refused.
counts() {
    python3 -c 'import json, sys
marks = json.load(open(sys.argv[1] + "/experiment.json"))["tare"]["attempts"][-1]["marks"]
print(*[marks[key] for key in ("taken", "repeated", "limited", "refused")])' "$(folder)"
}

@test "lines that begin an epoch cut the log into epochs" {
    need_python
    job "$SEEN"'echo loading; for i in 1 2 3; do echo "Epoch $i"; seen $i; echo "loss 0.$i"; done'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1
    tare_run
    is "$(parts)" "epoch,startup,,
epoch,epoch,1,log
epoch,epoch,2,log
epoch,epoch,3,log"
    adds_up
    is "$(counts)" "3 0 0 0"
    # Each began when its line came: the second, the fourth and the sixth.
    is "$(awk -F, '$3 { print substr($4, 1, length($4) - 3) }' <(sed 1d "$(folder)/energy/marks.csv"))" \
        "$(awk -F, '$1 % 2 == 0 { print $2 }' <(sed 1d "$(folder)/training.times.csv"))"
    awk -F, 'NR > 1 && $6 <= 0 { exit 1 }' "$(folder)/energy/marks.csv"
    is "$(events mark | wc -l)" 3
}

@test "lines that end an epoch, as most trainings print them" {
    need_python
    job "$SEEN"'for i in 1 2; do echo "epoch $i/2: train loss 0.5"; seen $i; done; echo done'
    registry '"marks": {"epoch": {"end": "^epoch ([0-9]+)/"}}'
    settings 1
    tare_run
    is "$(parts)" "epoch,epoch,1,log
epoch,epoch,2,log
epoch,final,,"
    adds_up
    is "$(of_events "data ->> 'at'" mark)" $'end\nend'
}

@test "lines that end an epoch, taken as beginnings, are doubted" {
    job 'for i in 1 2 3; do sleep 0.5; echo "epoch $i"; done'
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    settings 1
    run tare_run
    [ "$status" -eq 0 ]
    # A machine that stands still for a moment can blur it.
    awk -F, '$2 == "startup" { before = $6 } $3 == 1 || $3 == 2 { usual += $6 / 2 } $3 == 3 { after = $6 }
        END { exit !(before >= usual / 2 && after <= usual / 10) }' "$(folder)/energy/marks.csv" || skip "the machine was too slow"
    [[ "$output" == *"the lines of mark 'epoch' look as if they were printed at the end"*'"epoch": {"end": ...}'* ]]
}

@test "a shell echoes to the FIFO, which is its user's alone and goes with the job" {
    need_python
    job 'stat -c "%F %a %u" "$TARE_MARKS"; id -u; echo "$TARE_MARKS"
for i in 1 2; do echo "epoch $i" >"$TARE_MARKS"; done
echo "/epoch 2" >"$TARE_MARKS"; printf "tail" >"$TARE_MARKS"'
    settings 1
    tare_run
    is "$(cat "$(folder)/training.log")" "fifo 600 $(id -u)
$(id -u)
$(folder)/marks.fifo"
    [ ! -e "$(folder)/marks.fifo" ]
    is "$(epochs)" "epoch,epoch,1,fifo
epoch,epoch,2,fifo
tail,epoch,,fifo"
    adds_up
}

@test "the FIFO works in every containment, for root and for others" {
    need_python
    job 'echo "epoch 1" >"$TARE_MARKS"; "$MARK" mark epoch 2 || exit 9'
    for wish in auto pidns cgroup sweep; do
        settings 1 "\"environment\": {\"MARK\": \"$TARE\"}"
        rm -rf results
        run --separate-stderr tare_run --containment $wish
        echo "$wish: $output $stderr"
        if [ "$status" -eq 2 ] && [ $wish != auto ] && [ $wish != sweep ]; then continue; fi # this machine has no such layer
        [ "$status" -eq 0 ]
        is "$(counts)" "2 0 0 0"
    done
    [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || return 0
    cp "$TARE" "$WORK/program"
    chmod 755 "$WORK" "$WORK/program"
    rm -rf results
    settings 1 "\"environment\": {\"MARK\": \"$WORK/program\"}"
    mkdir -p results state
    chown -R 65534:65534 "$WORK"
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$WORK/program" || return 0
    HOME=$WORK setpriv --reuid=65534 --regid=65534 --clear-groups "$WORK/program" run settings.json -c registry.json -o results
    is "$(counts)" "2 0 0 0"
}

@test "mark says where one begins and where it ends" {
    need_python
    job '"$MARK" mark epoch 1 && "$MARK" mark --end epoch 1 && "$MARK" mark epoch "2 of 2" && "$MARK" mark quick'
    settings 1 "\"environment\": {\"MARK\": \"$TARE\"}"
    tare_run
    is "$(epochs)" "epoch,epoch,1,fifo
epoch,epoch,2 of 2,fifo
quick,epoch,,fifo"
    adds_up
}

@test "mark outside of a run says so and never waits" {
    unset TARE_MARKS
    run "$TARE" mark epoch 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"TARE_MARKS is not set"* ]]
    TARE_MARKS='' run "$TARE" mark epoch 1
    [ "$status" -eq 2 ]
    mkfifo unread
    TARE_MARKS=$WORK/unread run timeout 60 "$TARE" mark epoch 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"nobody reads marks at $WORK/unread"*"the run has ended"* ]]
    TARE_MARKS=$WORK/missing run "$TARE" mark epoch 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"$WORK/missing"*"No such file"* ]]
    touch file
    TARE_MARKS=$WORK/file run "$TARE" mark epoch 1
    [ "$status" -eq 2 ]
    [[ "$output" == *"it is no FIFO"* ]]
    [ ! -s file ]
}

@test "mark takes names and labels that can be read back, and no others" {
    export TARE_MARKS=$WORK/none
    for words in "'an epoch'" "-- -e" "a/b" "'' 1" "epoch '$(printf 'x%.0s' {1..101})'" "epoch \$'a\\nb'" "" "a b c"; do
        eval "run \"\$TARE\" mark $words"
        echo "$words: $output"
        [ "$status" -eq 2 ]
        [[ "$output" != *"nobody reads"* ]]
    done
}

@test "a pipe that nobody empties is told, not waited for" {
    need_python
    mkfifo full
    export TARE_MARKS=$WORK/full
    python3 - "$TARE" <<'END'
import os, subprocess, sys
fd = os.open("full", os.O_RDWR | os.O_NONBLOCK)
try:
    while True:
        os.write(fd, b"x" * 65536)
except BlockingIOError:
    pass
try:
    while True:
        os.write(fd, b"x")
except BlockingIOError:
    pass
told = subprocess.run([sys.argv[1], "mark", "epoch"], timeout=60, capture_output=True, text=True)
assert told.returncode == 3 and "full" in told.stderr, told
END
}

@test "of several ranks one marks" {
    need_python
    job 'for epoch in 1 2 3; do
    for rank in 0 1 2 3; do echo "[rank $rank] Epoch $epoch" & echo "fifo_epoch $epoch" >"$TARE_MARKS" & done; wait
done'
    registry '"marks": {"epoch": "Epoch ([0-9]+)"}'
    settings 1
    tare_run
    is "$(epochs | sort)" "epoch,epoch,1,log
epoch,epoch,2,log
epoch,epoch,3,log
fifo_epoch,epoch,1,fifo
fifo_epoch,epoch,2,fifo
fifo_epoch,epoch,3,fifo"
    is "$(counts)" "6 18 0 0"
    adds_up
}

@test "garbage is refused and counted, and the run goes on" {
    need_python
    job 'printf "%s\n" "" "-x" "an epoch:" "\$(touch stolen)" "a/b" "epoch 1" >"$TARE_MARKS"
printf "\000\377\033[2J\n" >"$TARE_MARKS"; head -c 100000 /dev/zero >"$TARE_MARKS"; echo >"$TARE_MARKS"
printf "epoch \033[2J\nepoch 2\n" >"$TARE_MARKS"'
    settings 1
    tare_run
    # "an epoch:" is the name "an" with the label "epoch:".
    is "$(epochs)" "an,epoch,epoch:,fifo
epoch,epoch,1,fifo
epoch,epoch,2,fifo"
    is "$(counts)" "3 0 0 7"
    [ ! -e stolen ] && [ ! -e repo/stolen ]
}

@test "a flood of marks stops nothing, is limited and said once" {
    need_python
    # 500,000 marks and 50 MB without a line end through the FIFO, 200,000 marks through the log.
    job 'yes fold | head -n 500000 >"$TARE_MARKS"; head -c 50000000 /dev/zero >"$TARE_MARKS"; echo >"$TARE_MARKS"
seq 200000 | sed "s/^/Epoch /"; sleep 1.5; echo "epoch last" >"$TARE_MARKS"; echo "loss 0.5"'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1
    run --separate-stderr tare_run
    echo "$output"
    [ "$status" -eq 0 ]
    is "$(grep -c 'too many marks' <<<"$output")" 1
    is "$(summary perf_loss)" 0.5
    epochs | grep -qx "epoch,epoch,last,fifo"
    python3 - "$(folder)" <<'END'
import json, sys
attempt = json.load(open(sys.argv[1] + "/experiment.json"))["tare"]["attempts"][0]
marks, seconds = attempt["marks"], attempt["duration_seconds"]
assert marks["taken"] + marks["limited"] == 700001, marks
assert 1000 <= marks["taken"] <= 2 * (1000 + 100 * (seconds + 60)), (marks, seconds)
assert marks["refused"] == 1 and marks["repeated"] == 0, marks
END
    adds_up
}

@test "a training that marks nothing has no file, and one whose pattern never matched is told" {
    need_python
    job 'echo hello'
    settings 1
    tare_run
    [ ! -e "$(folder)/energy" ]
    [ ! -e "$(folder)/marks.fifo" ]
    is "$(counts)" "0 0 0 0"
    rm -rf results registry.json
    registry '"marks": {"epoch": "^Epoch"}'
    run tare_run
    [ "$status" -eq 0 ]
    [[ "$output" == *"repo_net_001 mark 'epoch' was on no line of the log"* ]]
}

@test "Python's lines are marks when they are printed, not when its buffer is full" {
    need_python
    # The line is in the journal while the program that printed it still runs, and nothing else was printed.
    job 'exec python3 -c "
import os, sys, time
print(\"Epoch 1\")
end = time.monotonic() + 60
while \"\\\"type\\\":\\\"mark\\\"\" not in open(os.environ[\"TARE_RUN_DIR\"] + \"/events.jsonl\").read():
    if time.monotonic() > end:
        sys.exit(9)
    time.sleep(0.05)"'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1
    tare_run
    is "$(epochs)" "epoch,epoch,1,log"
}

@test "a kill and a resume keep the marks of the attempts before" {
    need_python
    job 'echo "Epoch $TARE_ATTEMPT"; echo "try $TARE_ATTEMPT" >"$TARE_MARKS"
[ "$TARE_ATTEMPT" -ne 1 ] || exit 1
[ "$TARE_ATTEMPT" -ne 2 ] || sleep 1000'
    registry '"marks": {"epoch": "^Epoch ([0-9]+)"}'
    settings 1 '' '"max_retries": 1'
    start_run
    wait_until sh -c '[ "$(grep -c "\"type\":\"mark\"" results/run_*/events.jsonl)" -eq 4 ]'
    kill -KILL "$PID"
    end_program
    "$TARE" run --resume "$(run_dir)"
    is "$(epochs | sort)" "epoch,epoch,3,log
try,epoch,3,fifo"
    is "$(epochs "$(folder)/attempt_1" | sort)" "epoch,epoch,1,log
try,epoch,1,fifo"
    is "$(epochs "$(folder)/attempt_2" | sort)" "epoch,epoch,2,log
try,epoch,2,fifo"
    # Nobody saw when the second attempt ended.
    is "$(awk -F, '$3 == 2 { print $5 "," $6 }' "$(folder)/attempt_2/energy/marks.csv")" ",
,"
    [ -z "$(find results -name '*.fifo')" ]
    adds_up
}

@test "mistakes in marks are told before anything runs" {
    job 'true'
    registry '"marks": {"epoch": {"strat": "^E"}, "two words": "x", "bad": "(x"}'
    settings 1
    run tare_run
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown key 'strat'; did you mean 'start'?"* ]]
    [[ "$output" == *"'epoch': neither 'start' nor 'end'"* ]]
    [[ "$output" == *"'two words' is no name of a mark"* ]]
    [[ "$output" == *"'bad': bad regular expression: missing closing parenthesis"* ]]
    [ ! -e results ]
}

@test "the example of the C header marks its epochs and validations" {
    need_python
    example=${BUILD_DIR:-$ROOT/build}/examples/mark-epochs
    [ -x "$example" ] || skip "the example is not built"
    job "exec $example 2"
    settings 1
    tare_run
    is "$(epochs)" "epoch,epoch,1,fifo
epoch,epoch,2,fifo
validation,epoch,1,fifo
validation,epoch,2,fifo"
    adds_up
    # Outside of a run it does nothing, and nothing goes wrong.
    unset TARE_MARKS
    "$example" 1
}

@test "the header compiles as strict C99 and as C++, and says what went wrong" {
    need_python
    cat >program.c <<'END'
#include <tare/mark.h>
int main(void)
{
    if (tare_mark("epoch", "1") != 0 || tare_mark_end("epoch", NULL) != 0)
        return 1;
    if (tare_mark("two words", NULL) != -1 || errno != EINVAL || tare_mark("epoch", "a\nb") != -1)
        return 2;
    return 0;
}
END
    job 'exec ../program'
    for compiler in "cc -std=c99 -pedantic -Wconversion -x c" "cc -std=gnu17 -Wconversion -x c" \
        "g++ -std=c++11 -pedantic -Wold-style-cast -x c++" "clang++ -std=c++17 -pedantic -x c++"; do
        command -v ${compiler%% *} >/dev/null || continue
        # shellcheck disable=SC2086
        ${compiler%% -x*} -Wall -Wextra -Wshadow -Werror -I "$ROOT/include" -x ${compiler##*-x } program.c -o program
        rm -rf results
        settings 1
        tare_run
        is "$(epochs)" "epoch,epoch,1,fifo"
        is "$(counts)" "2 0 0 0"
        # Outside of a run there is nobody to tell: 1, which is not 0.
        TARE_MARKS='' run ./program
        [ "$status" -eq 1 ]
    done
    [ -e results ] || skip "there is no compiler"
}
