#!/usr/bin/env bats
# The live display of a run, on terminals played by live_screen.py: what it says, at which widths, and what it leaves.

load guard

# A bar as tqdm writes it, for printf; epochs are counted from 0, as Lightning does.
bar() { printf '\\rEpoch %d: %3d%%%%|#####     | %d/100 [00:10<00:12,  4.50it/s, v_num=3]' "$1" "$2" "$2"; }

# Experiments that come to the middle of the third of four epochs, and go on from there when there is the file seen1, seen2, ... in their folder.
patient() {
    job "$(job_holds 1000 97)
count=\$((\$(cat count 2>/dev/null || echo 0) + 1)); echo \$count >count
printf '$(bar 0 0)$(bar 0 100)\\n' >&2; echo 'loss 0.5'; echo 'accuracy 0.25'; echo 'other 7'
printf '$(bar 1 0)$(bar 1 100)\\n' >&2; echo 'loss 0.25'; echo 'accuracy 0.25'; echo 'a_metric_with_a_long_name 1234.5678'
printf '$(bar 2 50)' >&2
until [ -e seen\$count ]; do sleep 0.2; done
printf '\\n'"
    cat >registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "metrics": "optional",
  "supported_hyperparams": {
    "num_epochs": {"flag": "--epochs", "type": "int", "default": 4, "range": [1, 9], "distribution": "uniform"},
    "n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000], "distribution": "uniform"}},
  "performance_metrics": {"log_patterns": {"other": "^other ([0-9.]+)", "loss": "^loss ([0-9.]+)", "accuracy": "^accuracy ([0-9.]+)",
    "a_metric_with_a_long_name": "^a_metric_with_a_long_name ([0-9.]+)"}}}}}
END
}

# Each experiment is seen in the middle of its third epoch: [PATTERN, "touch", FILE] for live_screen.py.
seen() { printf '["(?s)\\\\[%d/%d\\\\] repo_net_00%d.*62 %%.*GPU 97 %%%s", "touch", "repo/seen%d"]' "$1" "$2" "$1" "${3:-}" "$1"; }

# on_screen SIZE RULES [NAME=VALUE...] [-- OPTION...]: the run on a terminal; its screens are in screens.json.
on_screen() {
    local size=$1 rules=$2 variables=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do variables+=("$1"); shift; done
    [ $# -eq 0 ] || shift
    env TERM=xterm-256color LC_ALL=C.UTF-8 "${variables[@]}" python3 "$BATS_TEST_DIRNAME/live_screen.py" "$size" screens.json "$rules" \
        "$TARE" run settings.json -c registry.json -o results --containment sweep "$@"
}

# screens LINES: python's lines. screens: lists of rows; live(screen): its rows from the last that the display of experiments begins with;
# middle: these of experiment 1 in its third epoch, when its metrics and the GPU's use were there.
screens() {
    cat >screens.py <<'END'
import json, re
screens = json.load(open("screens.json"))
def live(screen):
    begins = [i for i, row in enumerate(screen) if re.match(r"\[\d/\d\] repo_net_00\d(  | …| \.\.\.|$)", row)]
    return screen[begins[-1]:] if begins else []
middle = [live(s) for s in screens if any("62 %" in row for row in live(s)) and live(s)[0].startswith("[1/") and "GPU 97 %" in "".join(live(s))][-1]
END
    printf '%s\n' "$1" >>screens.py
    python3 screens.py
}

@test "epoch and bar, power and use of the GPU, the last three metrics and hyperparameters that differ; then the time that is left" {
    scenario 1
    patient
    settings 2
    on_screen 200x24 "[$(seen 1 2), $(seen 2 2 '.*left')]"
    screens '
row, = middle
n, = re.findall(r"n=(\d+)$", row)
# 2.5 of 4 epochs are 12.5 of 20 columns; the first of the four metrics has made way; the loss fell, the accuracy stayed.
wanted = (r"\[1/2\] repo_net_001  epoch 3/4 ━{12}╸─{7} 62 %  \d+ s  \d+ W, GPU 97 %  "
          r"loss 0.25 ↓  accuracy 0.25  a_metric_with_a_long_name 1234.57  n=" + n)
assert re.fullmatch(wanted, row), row
# One has ended: both take as long, within 40 %, which is a range unless that is less than ten seconds.
second = [live(s)[0] for s in screens if live(s) and live(s)[0].startswith("[2/2]") and " left" in live(s)[0]]
assert second and all(re.search(r"  (about|up to about) \d+ (to \d+ )?(s|min( \d+ s)?) left(  |$)", row) for row in second), second
# Nothing of it stays.
assert not any("━" in row or "GPU 97" in row for row in screens[-1]), screens[-1]
assert sum(" succeeded in " in row for row in screens[-1]) == 2, screens[-1]
'
}

@test "at 40, 80 and 120 columns no row is wider, no word is broken, and what has no place is told" {
    scenario 1
    patient
    settings 1
    local columns
    for columns in 40 80 120; do
        rm -rf repo/count repo/seen1 results
        on_screen "${columns}x24" "[$(seen 1 1)]"
        screens "columns = $columns"'
rows = "\n".join(middle)
assert all(len(row) <= columns - 1 for row in middle), middle
assert re.search(r"\[1/1\] repo_net_001\s+epoch 3/4 [━╸─]+ 62 %\s+\d+ s\s+\d+ W, GPU 97 %\s+loss 0.25 ↓\s+accuracy 0.25\s+a_metric_with_a_long_name 1234.57"
                 + (" …" if columns == 40 else r"\s+n=\d+") + "$", rows), rows
assert len(middle) == {40: 5, 80: 2, 120: 2}[columns], middle
assert all(row.startswith("  ") for row in middle[1:]), middle
# So are the lines that stay.
words = "containment: best effort on this machine: a process that hides may outlive its experiment, and one experiment may write to the results of another"
stays = next((i for i, row in enumerate(screens[-1]) if row.startswith("containment: ")), None)
if stays is not None:
    assert " ".join(" ".join(screens[-1][stays:]).split()).startswith(words), screens[-1]
'
    done
    # Where there is no room for rows, one says that something is left out.
    rm -rf repo/count repo/seen1 results
    on_screen 30x24 '[["repo_net_001 …", "touch", "repo/seen1"]]'
}

@test "without UTF-8 the display is ASCII; NO_COLOR leaves it as it is" {
    scenario 1
    patient
    settings 1
    on_screen 80x24 "[$(seen 1 1)]" LC_ALL=C NO_COLOR=1
    screens '
assert middle[0].startswith("[1/1] repo_net_001  epoch 3/4 [######....] 62 %  "), middle
assert "".join(middle).isascii() and "loss 0.25  accuracy 0.25" in "".join(middle), middle
'
}

@test "a terminal that becomes narrower and wider again keeps nothing of the display" {
    scenario 1
    patient
    settings 2
    on_screen 150x24 "[[\"62 %(.|\\\\n)*GPU 97 %\", \"resize\", \"45x24\"], [\"\\\\n  690 W, GPU 97 %\", \"resize\", \"120x20\"], $(seen 1 2), $(seen 2 2)]"
    screens '
for i, screen in enumerate(screens[:-1]):
    # Before the first drawing behind a change of the size, the rows are as the terminal broke them.
    assert sum("repo_net_001  epoch" in row for row in screen) <= 1, screen
assert not any("epoch 3/4" in row or "GPU 97" in row for row in screens[-1]), screens[-1]
assert sum(" succeeded in " in row for row in screens[-1]) == 2, screens[-1]
'
}

@test "each GPU slot has a row, and a terminal that is too low says how many more there are" {
    scenario 4
    job 'echo loss 0.5; touch began$2; until [ -e go ]; do sleep 0.2; done'
    settings 4
    on_screen 60x12 '[["(?s)0 of 4 done.*GPU 0  \\[\\d/4\\] repo_net_00.*GPU 3  \\[\\d/4\\].*loss 0.5", "touch", "repo/go"]]'
    rm -rf repo/go results
    on_screen 60x4 '[["(?s)0 of 4 done\nGPU 0  \\[\\d/4\\] repo_net_00[^\n]*\n3 more slots", "touch", "repo/go"]]'
    python3 -c '
import json
for screen in json.load(open("screens.json")):
    assert all(len(row) <= 60 for row in screen), screen
assert not any("more slots" in row for row in json.load(open("screens.json"))[-1])'
}

@test "what is normal is said once on a terminal, with --verbose and in a pipe each time" {
    scenario 1
    job 'echo loss 0.5'
    settings 3
    normal() { grep -c "$1" "$2" || true; }
    on_screen 150x30 '[]'
    python3 -c 'import json; print("\n".join(json.load(open("screens.json"))[-1]))' >once
    is "$(normal 'GPU 0 is free' once) $(normal 'MiB freed' once)" "1 1"
    rm -rf results
    on_screen 150x30 '[]' -- --verbose
    python3 -c 'import json; print("\n".join(json.load(open("screens.json"))[-1]))' >each
    is "$(normal 'GPU 0 is free' each) $(normal 'MiB freed' each)" "3 3"
    rm -rf results
    tare_run >plain
    is "$(normal 'GPU 0 is free' plain) $(normal 'MiB freed' plain)" "3 3"
}

@test "a pipe gets no bars and no epochs, nor do the lines of --json" {
    scenario 1
    patient
    settings 1
    touch repo/seen1
    tare_run >plain
    grep -qx '\[1/1\] repo_net_001 started' plain
    run ! grep -q 'epoch\|━\|####\|97 %' plain
    rm -rf results repo/count
    tare_run --json >events
    run ! grep -q '"sensor"\|"bars"' events
    grep -q '"type":"metric"' events
}
