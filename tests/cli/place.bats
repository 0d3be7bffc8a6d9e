# Each experiment has a place of its own: {dir}, {id} and names of hyperparameters in its command.

load runs

# The folder in which experiment NUMBER may write, as TARE_DIR names it.
place() { echo "$(run_dir)/repo_net_$(printf %03d "$1")/output"; }

@test "words are replaced for each experiment, in the command, its environment and what it sees" {
    registry '"required_args": {"out": ["--out", "{dir}", "--name={id}", "n{n}", "{}", "{{n}"]}, "env": {"LOG": "{dir}/log"}'
    job 'printf "%s\n" "$@" "$LOG" "$TARE_DIR" "$TARE_EXPERIMENT" >"$TARE_DIR/seen"'
    settings 2
    tare_run
    for number in 1 2; do
        n=$(summary hyperparam_n | sed -n ${number}p)
        is "$(cat "$(place $number)/seen")" "--out
$(place $number)
--name=repo_net_00$number
n$n
{}
{n}
--n
$n
$(place $number)/log
$(place $number)
repo_net_00$number"
    done
    is "$(summary hyperparam_n | sort -u | wc -l)" 2
    # The records have the name; the folder of a run may be moved.
    jq -e --arg n "n$(summary hyperparam_n | tail -n 1)" \
        '.tare.command[1:6] == ["--out", "{dir}", "--name=repo_net_002", $n, "{}"]' "$(run_dir)/repo_net_002/experiment.json"
}

@test "a folder without outputs is removed, and a plan without placeholders keeps its words" {
    job '[ -d "$TARE_DIR" ] && [ -z "$(ls -A "$TARE_DIR")" ] && echo "$@" >>../words'
    registry '"required_args": {"out": ["{m}", "{{m}"]}'
    settings 1
    tare_run
    [ ! -e "$(place 1)" ]
    [[ "$(cat words)" == "{m} {{m} --n "* ]]
}

@test "--dry-run shows the words replaced, and names an output that several experiments share" {
    job true
    registry '"required_args": {"out": ["--output_dir", "{dir}/net", "--tag", "{id}"]}'
    settings 2
    run -0 --separate-stderr tare_run --dry-run
    [[ "$output" == *"--output_dir $WORK/results/run_YYYYMMDD_HHMMSS/repo_net_002/output/net --tag repo_net_002 "* ]]
    [[ "$stderr" != *"{dir}"* ]]
    run -0 --separate-stderr tare_run --dry-run --json
    jq -e '.experiments[1].foreground | .argv[4] == "repo_net_002" and (has("placeholders") | not)' <<<"$output"
    registry '"required_args": {"out": ["--output_dir", "out", "{iid}"]}'
    run -0 --separate-stderr tare_run --dry-run
    is "$(grep -c "is 'out' in 2 experiments.*{dir}" <<<"$stderr")" 1
    is "$(grep -c "did you mean {id}?" <<<"$stderr")" 1
    run -0 --separate-stderr tare_run
    is "$(grep -c "is 'out' in 2 experiments.*{dir}" <<<"$stderr")" 1
    settings 1
    run -0 --separate-stderr tare_run --dry-run
    [[ "$stderr" != *"{dir}"* ]]
}

@test "a script's words are replaced" {
    command -v python3 >/dev/null || skip "python3 is missing"
    cat >train.py <<'PY'
import argparse, os
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float)
p.add_argument("--output_dir", type=str)
p.add_argument("--run-name", type=str)
args = p.parse_args()
open(os.path.join(args.output_dir, args.run_name), "w").close()
print("accuracy: 0.5")
PY
    "$TARE" run -q --gpus none train.py --lr 0.1,0.01 --output_dir '{dir}' --run-name '{id}-lr{lr}'
    cd "$(run_dir)"
    is "$(ls -d -- */output/* | sed -E 's,^([^/]+)/output/\1,ID,')" "ID-lr0.1
ID-lr0.01"
}

@test "a retry, a resume and a repeat have an empty folder at the same place; the files before are kept" {
    registry '"required_args": {"out": ["{dir}"]}'
    job '[ -z "$(ls -A "$1")" ] || exit 9
echo "$1" >>../dirs; echo "$TARE_ATTEMPT" >"$1/of"; [ "$TARE_ATTEMPT" -gt 1 ]'
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run
    is "$(cat "$(place 1)/of") $(cat "$(run_dir)/repo_net_001/attempt_1/output/of")" "2 1"
    mv results moved
    "$TARE" run --rerun repo_net_001 "moved/$(cd moved && echo run_*)"
    cd moved/run_*
    is "$(cat repo_net_001/output/of) $(cat repo_net_001/attempt_2/output/of)" "3 2"
    is "$(sort -u "$WORK/dirs" | wc -l)" 2 # before the run was moved, and afterwards
    is "$(tail -n 1 "$WORK/dirs")" "$PWD/repo_net_001/output"
}

@test "a background has a name and a folder of its own" {
    registry '"required_args": {"out": ["{dir}", "{id}"]}'
    job 'echo "$1 $2 $TARE_DIR" >>"$1/seen"; until [ -e ../background ] || [ "${2%_background}" != "$2" ]; do sleep 0.1; done
touch ../background; [ "${2%_background}" = "$2" ] || exec sleep 1000'
    cat >settings.json <<END2
{"max_retries": 0, "experiments": [{"mode": "parallel", "foreground": {"repo": "repo", "model": "net"},
 "background": {"repo": "repo", "model": "net"}, "start_after": 0}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 1}}}
END2
    tare_run || true
    of=$(run_dir)/repo_net_001_parallel
    is "$(cat "$of/output/seen")" "$of/output repo_net_001_parallel $of/output"
    is "$(head -n 1 "$of/background_output/seen")" \
        "$of/background_output repo_net_001_parallel_background $of/background_output"
}

@test "bench passes braces on as they are" {
    cat >see <<'SH'
#!/bin/sh
echo "$@" >>words
SH
    chmod +x see
    "$TARE" bench -q -n 2 --pause 0 "./see {id} {dir} --output_dir out"
    is "$(sort -u words)" "{id} {dir} --output_dir out"
}
