#!/usr/bin/env bats
# From a bare training script to a run: "init", and "run SCRIPT". What a script lists by --help is whatever the script prints.

load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is not there"; }

# A newcomer's script: argparse with defaults in its help, which prints two epochs.
trainer() {
    need_python
    unset VIRTUAL_ENV
    cat >"${1:-train.py}" <<'END'
import argparse
p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
p.add_argument("--lr", type=float, default=0.1, help="learning rate")
p.add_argument("-e", "--epochs", type=int, default=2, help="how many epochs")
p.add_argument("--opt", choices=["sgd", "adam"], default="sgd", help="optimizer")
p.add_argument("--amp", action=argparse.BooleanOptionalAction, default=False, help="mixed precision")
p.add_argument("--fast", action="store_true", help="be fast")
p.add_argument("--tag", help="a name")
p.add_argument("--seed", type=int, default=0, help="seed")
p.add_argument("--sizes", type=int, nargs="+", default=[8, 8], help="layers")
p.add_argument("data", nargs="*", help="files")
a = p.parse_args()
print("given", a.lr, a.epochs, a.opt, a.amp, a.fast, a.tag, a.seed, a.sizes, a.data)
for epoch in range(a.epochs):
    print(f"epoch {epoch} train_loss: {1 / (1 + epoch + a.lr):.3f} val_acc {70 + epoch + a.seed}.5%")
END
}

# What the trainings of the newest run were given, a line each.
given() {
    local folders=(results/run_*)
    grep -h '^given' "${folders[-1]}"/*/training.log
}

# helping < PYTHON: a script train.py that does this whatever its arguments are; nothing of it may be left: found by this word. It is
# started with --help for the parser that its text has.
helping() {
    need_python
    unset VIRTUAL_ENV
    MARKER="marker-$$-$BATS_TEST_NUMBER"
    printf '%s\n' "marker = '$MARKER'" 'def unused():' '    import argparse' '    argparse.ArgumentParser().parse_args()' >train.py
    cat >>train.py
}

nothing_is_left() {
    local pid
    for pid in /proc/[0-9]*; do
        if tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -q -- "$MARKER"; then
            echo "left: $(tr '\0' ' ' <"$pid/cmdline")"
            return 1
        fi
    done
}

@test "five commands lead from a bare script to curves: init, list, run, export, report" {
    trainer
    idle_machine
    "$TARE" init train.py
    "$TARE" list
    "$TARE" run settings.json --set tare.order=file
    folder=$(run_folder)
    "$TARE" export "$folder" --table metrics >metrics.csv
    "$TARE" report "$folder" -o page.html
    # Two learning rates by three seeds, each with a metric that can be plotted.
    [ "$(summary_column "$folder" hyperparam_lr)" = $'0.1\n0.1\n0.1\n0.01\n0.01\n0.01' ]
    [ "$(summary_column "$folder" hyperparam_seed)" = $'1\n2\n3\n1\n2\n3' ]
    [ "$(summary_column "$folder" perf_val_accuracy)" = $'72.5\n73.5\n74.5\n72.5\n73.5\n74.5' ]
    [ "$(summary_column "$folder" perf_loss)" = $'0.476\n0.476\n0.476\n0.498\n0.498\n0.498' ]
    [ "$(grep -c val_accuracy metrics.csv)" -eq 6 ]
    grep -q '</html>' page.html
    grep -q 'val_accuracy' page.html
}

@test "one command leads from a bare script to a run: lists and ranges make a grid, and its files repeat it" {
    trainer
    run --separate-stderr "$TARE" run train.py --lr 0.1,1e-2 --seed 1..3
    [ "$status" -eq 0 ]
    given >first
    printf 'given %s 2 sgd False False None %s [8, 8] []\n' 0.1 1 0.1 2 0.1 3 0.01 1 0.01 2 0.01 3 | sort >expected
    diff expected <(sort first)
    folder=$(run_folder)
    [[ "$output" == *"again: $NAME run $folder/settings.json "* ]]
    [[ "$stderr" == *"train.py: run by python3 (found on PATH); 8 options read from its --help"* ]]
    # No file is left beside the script.
    [ "$(ls)" = $'config\nexpected\nfirst\nresults\nstate\ntrain.py' ] || ls
    rm -r state config
    [ "$(ls)" = $'expected\nfirst\nresults\ntrain.py' ]
    mv "$folder" first-run
    "$TARE" run first-run/settings.json -q
    given >second
    diff <(sort first) <(sort second) # the blocks of another plan are in another order
}

@test "switches, choices, several values, operands and one value reach the script as they were meant" {
    trainer
    "$TARE" run -q --set tare.order=file train.py --amp -e 1 --opt=adam --tag 007 --sizes 1 2 --fast=true,false --lr -0.5 more words
    given >got
    diff - got <<'END'
given -0.5 1 adam True True 007 0 [1, 2] ['more', 'words']
given -0.5 1 adam True False 007 0 [1, 2] ['more', 'words']
END
    rm -r results
    "$TARE" run -q train.py --tag x -- an operand
    [ "$(given)" = "given 0.1 2 sgd False False x 0 [8, 8] ['an', 'operand']" ]
    rm -r results
    # An option that is named later precedes the bare --.
    "$TARE" run -q --set experiments.0.hyperparameters.lr=0.25 train.py --tag x -- an operand
    [ "$(given)" = "given 0.25 2 sgd False False x 0 [8, 8] ['an', 'operand']" ]
    rm -r results
    "$TARE" run -q --set tare.order=file train.py --no-amp --tag 'a\,b,c d' --opt sgd,adam
    [ "$(given | cut -d' ' -f4-7)" = $'sgd False False a,b\nadam False False a,b\nsgd False False c\nadam False False c' ] ||
        [ "$(given | cut -d' ' -f4-7)" = $'sgd False False a,b\nsgd False False c\nadam False False a,b\nadam False False c' ] || { given; false; }
}

@test "run's own options come before the script" {
    trainer
    "$TARE" run -q -n 2 -o elsewhere train.py --lr 0.3
    [ "$(cat elsewhere/run_*/*/training.log | grep -c '^given 0.3')" -eq 2 ]
    [ ! -e results ]
    # After the script they are the script's, which refuses them.
    run "$TARE" run train.py --lr 0.3 --dry-run
    [ "$status" -eq 1 ]
    [[ "$output" == *"--dry-run is passed to the script; options of run come before the script"* ]]
    [[ "$output" == *"unrecognized arguments: --dry-run"* ]]
    rm -r results
    run --separate-stderr "$TARE" run --dry-run train.py --lr 0.3,0.4
    [ "$status" -eq 0 ]
    [ "$(grep -c -- 'train.py --lr 0\.[34]$' <<<"$output")" -eq 2 ]
    [[ "$output" == *"left to the script: --epochs (2), --opt (sgd), "* ]]
    [[ "${stderr%%$'\n'*}" == *"train.py: axes lr (0.3, 0.4): 2 experiments" ]]
    [ ! -e results ]
    run --separate-stderr "$TARE" run --dry-run --set experiments.0.hyperparameters.lr=[1,2,3] -n 2 train.py --lr 0.3,0.4
    [ "$status" -eq 0 ]
    [ "$(grep -c -- '--lr [123]\.0$' <<<"$output")" -eq 6 ]
}

@test "values that cannot be meant are refused, and nothing is run" {
    trainer
    while IFS='|' read -r words said; do
        # shellcheck disable=SC2086
        run "$TARE" run train.py $words
        [ "$status" -eq 2 ] || { echo "$words: $status"; false; }
        [[ "$output" == *"$said"* ]] || { echo "$words says $output"; false; }
    done <<'END'
--lr 0.1,,0.2|--lr: '0.1,,0.2' has an empty value between its commas
--lr 0.1..0.5|--lr: 0.1..0.5: a range is made of integers, as 1..3
--seed 3..1|--seed: the range 3..1 begins above its end
--seed 1-3|--seed takes an integer, and 1-3 is none; did you mean 1..3?
--seed 1..99999999|--seed: 1..99999999 has more than 10000 values
END
    run "$TARE" run none.py
    [ "$status" -eq 2 ]
    [[ "$output" == *"the script none.py is not there"* ]]
    run "$TARE" run -c registry.json train.py
    [ "$status" -eq 2 ]
    [[ "$output" == *"--config does not go with a script: train.py"* ]]
    [ ! -e results ]
}

@test "a hint hides no word: what the help does not list is named once, with the nearest name" {
    trainer
    while IFS='|' read -r words said; do
        # shellcheck disable=SC2086
        run "$TARE" run --dry-run train.py $words
        [ "$status" -eq 0 ] || { echo "$words: $status"; false; }
        [[ "$output" == *"$said"* ]] || { echo "$words says $output"; false; }
        [[ "$output" == *"train.py $words"$'\n'* || "$output" == *"train.py $words" ]] || { echo "$words: $output"; false; }
    done <<'END'
--lrr 0.1|the script's help does not list --lrr (did you mean '--lr'?): passed as given
--no-am|does not list --no-am (did you mean '--no-amp'?)
--opt adamm|--opt: the script's help lists sgd, adam, not 'adamm'; did you mean 'adam'?
--tag 1-3|--tag: 1-3 is passed as one value; a range is 1..3
--lr|1 experiment
--lr 0.1 --lr 0.2|1 experiment
END
}

@test "a help without end, of a hundred megabytes, or that fails is bounded and told" {
    helping <<'END'
import sys
while True: sys.stdout.write("  --x%d X  y\n" % 7 * 10000)
END
    SECONDS=0
    run --separate-stderr "$TARE" init train.py
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"started with --help it wrote more than 1 MB, and was ended"* ]]
    helping <<'END'
import no_such_module_at_all
END
    run --separate-stderr "$TARE" init --force train.py
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"started with --help it failed: ModuleNotFoundError: No module named 'no_such_module_at_all'"* ]]
    # What was written says so, and can be run.
    python3 - <<'END'
import json
repo = json.load(open("registry.json"))["models"]["train"]
assert repo["supported_hyperparams"] == {}
assert "nothing is known" in repo["comment"][0], repo
END
}

@test "of what a script starts for its help nothing is left, not even of a fork bomb" {
    helping <<'END'
import os, subprocess, sys
for i in range(60):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", marker], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    for i in range(40):
        if os.fork() == 0:
            os.execvp(sys.executable, [sys.executable, "-c", "import os, time; os.fork(); time.sleep(1000)", marker])
    os._exit(0)
print("usage: train.py [-h] [--lr LR]\n\noptions:\n  --lr LR  rate (default: 0.5)")
END
    run --separate-stderr "$TARE" init train.py --lr 1,2
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"1 option read from its --help"* ]]
    nothing_is_left
    grep -q '"comment": "rate; the script.s own default: 0.5"' registry.json
}

@test "a help that steers the terminal or ends in the middle writes files that are legible, and nothing is shown of it" {
    helping <<'END'
import sys
sys.stdout.buffer.write(b"options:\n  --l\x1b[31mr LR  rate \x1b]0;title\x07 \xff\xfe \xe2\x80\xae (default: 0.5)\n  --bad\x9b NAME\x00  \"quote\\ \xc2\x9b\n  --cut {a,b")
END
    "$TARE" init train.py >out 2>err
    "$TARE" list >>out 2>>err
    "$TARE" run settings.json --dry-run >>out 2>>err || true
    if LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f\x9b]' out err registry.json settings.json; then false; fi
    python3 -c 'import json; rows = json.load(open("registry.json"))["models"]["train"]["supported_hyperparams"]; assert rows["lr"]["comment"].endswith("own default: 0.5"), rows'
}

@test "the script sees no GPU while it is asked, is not imported, and compiles nothing into its folder" {
    helping <<'END'
import os, sys
print("usage: train.py [--seen X]\n\noptions:\n  --seen X  %s (default: %s)" % (__name__, os.environ["CUDA_VISIBLE_DEVICES"] or "no GPU"))
END
    echo "x = 1" >helper.py
    sed -i '1a import helper' train.py
    CUDA_VISIBLE_DEVICES=0,1 "$TARE" init train.py
    grep -q '"comment": "__main__; the script.s own default: no GPU"' registry.json
    [ ! -e __pycache__ ]
}

@test "what runs a script: its first line, the virtual environment beside it, the active one, python3" {
    trainer
    mkdir -p .venv/bin other/bin own
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$0" >>%q/asked\nexec python3 "$@"\n' "$BATS_TEST_TMPDIR" >own/python3.99
    chmod +x own/python3.99
    cp own/python3.99 .venv/bin/python
    cp own/python3.99 other/bin/python
    "$TARE" init train.py 2>err
    grep -q 'run by .venv (the virtual environment beside it)' err
    grep -q '"venv": ".venv"' registry.json
    VIRTUAL_ENV=$WORK/other "$TARE" init --force train.py 2>err
    grep -q "run by $WORK/other (the virtual environment that is active)" err
    sed -i "1i #!$WORK/own/python3.99" train.py
    VIRTUAL_ENV=$WORK/other "$TARE" init --force train.py 2>err
    grep -q "run by $WORK/own/python3.99 (its first line names it)" err
    [ "$(sed "s;^$WORK/;;" "$BATS_TEST_TMPDIR/asked")" = $'.venv/bin/python\nother/bin/python\nown/python3.99' ]
    # Another language: its first line is enough, and without the right to execute it the mistake says how to fix it.
    printf '#!/bin/sh\n# answers --help\necho "options:"; echo "  --rate FLOAT  how fast [default: 3.5]"\n' >job
    run "$TARE" init --force job
    [ "$status" -eq 2 ]
    [[ "$output" == *"job is not executable (chmod +x makes it so), and is not Python"* ]]
    chmod +x job
    "$TARE" init --force job
    grep -q 'own default: 3.5"' registry.json
    if grep -qE '"(python|venv)"' registry.json; then false; fi
}

@test "init replaces nothing without --force, writes nothing half, and names with blanks are no matter" {
    mkdir 'my project'
    cd 'my project'
    trainer 'train it.py'
    echo mine >settings.json
    run "$TARE" init 'train it.py'
    [ "$status" -eq 2 ]
    [[ "$output" == *"settings.json is there: --force replaces it, --output DIR writes elsewhere; nothing was written"* ]]
    [ "$(cat settings.json)" = mine ]
    [ ! -e registry.json ]
    "$TARE" init -o 'other place' 'train it.py' --lr 0.5 --tag 'two words'
    cd ..
    "$TARE" run -q 'my project/other place/settings.json'
    [ "$(given)" = "given 0.5 2 sgd False False two words 0 [8, 8] []" ]
    cd 'my project'
    "$TARE" init --force 'train it.py'
    "$TARE" run --dry-run settings.json >plan
    grep -q "'train it.py'\|train it.py" plan
}

@test "a run without any metric succeeds, and says where the patterns are" {
    helping <<'END'
import sys
print("options:\n  --lr LR  rate" if "--help" in sys.argv else "score 5")
END
    idle_machine
    run --separate-stderr "$TARE" run train.py --lr 1
    [ "$status" -eq 0 ]
    [[ "$output" == *"no metric was found in any log: name yours in log_patterns of the registry"* ]]
    [[ "$output" != *"never matched"* ]]
    if head -1 results/*/summary.csv | grep -q perf_; then false; fi
    [[ "$output" == *"registry.json beside it says how the script is started and which metrics are looked for"* ]]
}

@test "where one of the guessed metrics was found, the others are not missed" {
    helping <<'END'
import sys
print("options:\n  --lr LR  rate" if "--help" in sys.argv else "loss: 5")
END
    run --separate-stderr "$TARE" run train.py --lr 1
    [ "$status" -eq 0 ]
    [[ "$output" == *" loss 5"* ]]
    [[ "$output" != *"never matched"* ]]
}

@test "a guessed metric has a column of summary.csv once a log had it" {
    helping <<'END'
import os, sys
if "--help" in sys.argv:
    print("options:\n  --lr LR  rate")
else:
    print("loss: 5")
    if "0.2" in sys.argv and not os.path.exists("quiet"):
        print("accuracy: 0.75")
END
    "$TARE" run -q train.py --lr 0.1,0.2,0.3
    folder=$(run_folder)
    [ "$(head -1 "$folder/summary.csv" | tr , '\n' | grep perf_ | xargs)" = "perf_accuracy perf_loss" ]
    [ "$(summary_column "$folder" perf_loss)" = $'5.0\n5.0\n5.0' ]
    [ "$(summary_column "$folder" perf_accuracy | xargs)" = 0.75 ]
    [ "$(wc -l <"$folder/summary.csv")" -eq 4 ]
    cp "$folder/summary.csv" before
    "$TARE" run -q --resume "$folder"
    cmp before "$folder/summary.csv"
    touch quiet
    "$TARE" run -q --rerun train_default_002 "$folder"
    [ "$(head -1 "$folder/summary.csv" | tr , '\n' | grep perf_ | xargs)" = perf_loss ]
}

@test "the guessed metrics are found in the forms in which trainings print them" {
    helping <<'END'
import sys
if "--help" in sys.argv: sys.exit()
print("""[3] loss: 0.125 - accuracy=0.5
{'eval_loss': 3e-1, 'eval_accuracy': 0.75, 'epoch': 1.0}
Test set: Average loss: 0.02, Accuracy: 9910/10000 (99.1%)
test_loss = .5 Test Acc: 91.2%
F1: 0.8 loss_scale: 1024 precision 3 my_accuracy_note 77""")
END
    "$TARE" run -q train.py
    folder=$(run_folder)
    for pair in loss:0.125 accuracy:0.5 val_loss:0.3 val_accuracy:0.75 test_loss:0.5 test_accuracy:91.2 f1:0.8; do
        [ "$(summary_column "$folder" "perf_${pair%:*}")" = "${pair#*:}" ] ||
            { echo "$pair: $(summary_column "$folder" "perf_${pair%:*}")"; false; }
    done
}

@test "a loss that ends as nan makes the metric suspect and nothing else" {
    helping <<'END'
import sys
print("options:\n  --lr LR  rate" if "--help" in sys.argv else "loss: 0.3\nloss: nan\nloss: nan\nloss: nan")
END
    "$TARE" run -q train.py --lr 1
    folder=$(run_folder)
    [ "$(summary_column "$folder" perf_loss)" = nan ]
    [ "$(summary_column "$folder" verdict_metric)" = suspect ]
    [ "$(summary_column "$folder" verdict_energy)" != suspect ]
}

@test "a number that the processes of a launcher do not agree on is absent" {
    helping <<'END'
import sys
if "--help" in sys.argv: sys.exit()
for rank in (0, 1): print(f"Epoch 1 loss 0.{rank} acc 0.5")
END
    "$TARE" init train.py
    printf '#!/bin/sh\nexec "$@"\n' >torchrun
    chmod +x torchrun
    sed -i "s;\"train_script\";\"command_prefix\": [\"$PWD/torchrun\"], &;" registry.json
    run "$TARE" run settings.json
    [ "$status" -eq 0 ]
    [[ "$output" == *"metric 'loss' is unknown: '0.1' at log line 2 is one of several numbers that could be meant"* ]]
    [ "$(summary_column "$(run_folder)" perf_loss)" = "" ]
    [ "$(summary_column "$(run_folder)" perf_accuracy)" = $'0.5\n0.5\n0.5' ]
}

@test "a UTF-16 log and lines that are too long to be searched are said" {
    helping <<'END'
import sys
if "--help" in sys.argv: print("options:\n  --wide WIDE  rate"); sys.exit()
if "yes" in sys.argv: sys.stdout.buffer.write("loss: 0.3\n".encode("utf-16"))
else: print("x" * (1 << 20) + " loss: 0.25\nloss: 0.5")
END
    run "$TARE" run --set tare.order=file train.py --wide yes,no
    [ "$status" -eq 0 ]
    [[ "$output" == *"the log is UTF-16"* ]]
    [[ "$output" == *"1 lines of the log are longer than 64 KiB"* ]]
    [ "$(summary_column "$(run_folder)" perf_loss)" = $'\n0.5' ]
}

@test "without a script init asks on a terminal, and elsewhere says what it wants" {
    trainer
    trainer zebra.py
    run "$TARE" init </dev/null
    [ "$status" -eq 2 ]
    [[ "$output" == *"which script? $NAME init train.py; without one it asks, on a terminal only"* ]]
    [ ! -e settings.json ]
    python3 - "$TARE" <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "init"])
def until(words, deadline=60):
    seen, end = b"", time.time() + deadline
    while words not in seen:
        assert time.time() < end, seen
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536)
    return seen
listed = until(b"Its number or its path:")
assert b"1  train.py" in listed and b"2  zebra.py" in listed, listed
os.write(fd, b"2\n")
assert b"epochs" in until(b"nothing for a proposal:")
os.write(fd, b"lr nonsense epochs\n")
until(b"Values of lr, as 0.1,0.01 or 1..3:")
os.write(fd, b"0.5,0.25\n")
assert b"there is no hyperparameter nonsense" in until(b"Values of epochs, as 0.1,0.01 or 1..3:")
os.write(fd, b"1..3\n")
until(b"Nothing for once:")
os.write(fd, b"2\n")
until(b"12 experiments")
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
END
    python3 - <<'END'
import json
one, = json.load(open("settings.json"))["experiments"]
assert one["repo"] == "zebra" and one["runs_per_config"] == 2 and one["mode"] == "grid", one
assert one["hyperparameters"] == {"lr": [0.5, 0.25], "epochs": [1, 2, 3]}, one
END
}

@test "a settings file, its folder and a submitted run are what they were: only a script ends run's options" {
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    run "$TARE" run settings.json --dryrun
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown option --dryrun; did you mean '--dry-run'?"* ]]
    run "$TARE" run settings.json more
    [ "$status" -eq 2 ]
    [[ "$output" == *"unexpected argument 'more'"* ]]
    "$TARE" run settings.json --dry-run >plan 2>/dev/null
    grep -q '^settings ' plan
}
