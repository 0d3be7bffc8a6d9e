#!/usr/bin/env bats
# A script is run exactly as it was given: "run SCRIPT" and "init SCRIPT" pass the words of the command line and no others, in their
# order and form; only the values of axes are replaced, in place. Each script here writes what it was given, so that the plain command
# and tare's can be compared.

load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is not there"; }

# given_by_tare WORDS...: what the scripts of a run were given, a line each in the order of the plan.
given_by_tare() {
    rm -rf results
    unset VIRTUAL_ENV
    "$TARE" run -q --set tare.order=file "$@" >out 2>err || { cat out err >&2; return 1; }
    grep -h '^given ' results/run_*/*/training.log
}

# same_as_plain SCRIPT WORDS...: tare's one experiment is given what the plain command is given.
same_as_plain() {
    local plain tare
    plain=$(python3 "$@" | grep '^given ')
    tare=$(given_by_tare "$@") || return 1
    [ "$plain" = "$tare" ] || { printf '%s\nplain: %s\ntare:  %s\n' "$*" "$plain" "$tare"; return 1; }
}

# Help texts that were once read as values to be passed, and options whose default the help hides or gets wrong.
hints_script() {
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter if HINTS else argparse.HelpFormatter)
p.add_argument("--no-augment", dest="augment", action="store_false", help="no augmentation (default: True)")
p.add_argument("--quiet", dest="verbose", action="store_false", default=True, help="say nothing")
p.add_argument("--ema", action=argparse.BooleanOptionalAction, default=None, help="average (default: None)")
p.add_argument("--compile", action=argparse.BooleanOptionalAction, help="compile the model")
p.add_argument("--log", nargs="?", const="all", default=None, help="log (default: off)")
p.add_argument("--channels-last", action="store_true", help="NHWC layout instead of the default NCHW layout")
p.add_argument("--no-benchmark", action="store_true", help="by default cudnn.benchmark is used")
p.add_argument("--resume", nargs="?", const="last", default=False, help="a checkpoint (default: start from scratch) (default: False)")
p.add_argument("--scale", type=float, help="Default: 1.0 if unspecified.")
p.add_argument("--momentum", type=float, default=0.95, help="momentum (default: 0.9)")
p.add_argument("--version-tag", default="1.10", help="default: 1.10")
p.add_argument("--code", default="007", help="(default: 007)")
p.add_argument("--steps", type=lambda s: int(float(s)), default="1e3", help="(default: 1e3)")
p.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999), help="(default: 0.9 0.999)")
p.add_argument("--milestones", type=int, nargs="*", default=[30, 60], help="[default: 30, 60]")
p.add_argument("--opt", choices=["sgd", "adam"], default="adam", help="optimizer, default is sgd")
p.add_argument("--lr", type=float, default=0.1, help="defaults to 0.5")
p.add_argument("--data", default=None, help="folder (default: ./data)")
print("given", sorted(vars(p.parse_args()).items(), key=str))
END
    sed -i "s/HINTS/$1/" train.py
}

@test "defaults that a help lists, in whatever words, are never passed" {
    for formatter in True False; do
        hints_script "$formatter"
        same_as_plain train.py
        same_as_plain train.py --lr 0.25
        same_as_plain train.py --lr 1e-3 --opt sgd --no-augment
        [ "$(given_by_tare train.py --lr 0.25,0.5)" = "$(python3 train.py --lr 0.25; python3 train.py --lr 0.5)" ]
    done
}

@test "what init writes runs as the script alone does, with the defaults as comments" {
    hints_script False
    "$TARE" init train.py --no-augment --steps 2e3
    rm -rf results
    "$TARE" run -q settings.json
    [ "$(grep -h '^given ' results/run_*/*/training.log)" = "$(python3 train.py --no-augment --steps 2e3)" ]
    grep -q '"comment": ".*the script.s own default: 0.9"' registry.json
    # An option that the settings name is passed.
    "$TARE" run -q settings.json -o other --set experiments.0.hyperparameters.momentum=0.5
    [ "$(grep -h '^given ' other/run_*/*/training.log)" = "$(python3 train.py --no-augment --steps 2e3 --momentum 0.5)" ]
}

@test "the helps of click, Typer, absl and Hugging Face list defaults, which are never passed" {
    while IFS= read -r -d % help; do
        printf 'import sys\nHELP = """%s"""\nif "--help" in sys.argv or "--helpfull" in sys.argv:\n    sys.exit(print(HELP))\nprint("given", sys.argv[1:])\n' \
            "$help" >train.py
        same_as_plain train.py
        same_as_plain train.py --lr 0.25 --other x
        [ "$(given_by_tare train.py --lr=0.25,0.5)" = "given ['--lr=0.25']"$'\n'"given ['--lr=0.5']" ]
    done <<'END'
Usage: train.py [OPTIONS]

Options:
  --shuffle / --no-shuffle  Shuffle.  [default: no-shuffle]
  --amp / --no-amp          Mixed precision.  [default: amp]
  --slow                    flag_value=False  [default: True]
  --lr FLOAT                Rate.  [default: 0.1]
  --size <INTEGER INTEGER>...  Size.  [default: 224, 224]
  --n INTEGER RANGE         [default: 3; 1<=x<=9]
  --help                    Show this message and exit.
%
 Usage: train.py [OPTIONS] DATA

╭─ Options ────────────────────────────────────────────────────────────────────╮
│ *  --name                     TEXT            [default: None] [required]      │
│    --lr                       FLOAT           [default: 0.1]                  │
│    --betas                    <FLOAT FLOAT>... [default: 0.9, 0.999]          │
│    --verbose  --no-verbose                    [default: no-verbose]           │
╰───────────────────────────────────────────────────────────────────────────────╯
%
flags:

train.py:
  --[no]augment: Augment.
    (default: 'true')
  --lr: Rate.
    (default: '0.1')
    (a number)
  --layers: Sizes.
    (default: '64,64')
    (a comma separated list)

Try --helpfull to get a list of all flags.
%
usage: train.py [-h] [--lr LR] [--fp16 [FP16]] [--no_cuda [NO_CUDA]]

options:
  -h, --help            show this help message and exit
  --lr LR               The rate (default: 5e-05)
  --fp16 [FP16]         Whether to use fp16 (default: False)
  --dataloader_drop_last [DATALOADER_DROP_LAST], --drop-last
                        (default: True)
  --report_to REPORT_TO [REPORT_TO ...]
                        (default: ['all'])
%
END
}

@test "one word with = stays one word: a script that accepts nothing else, as nanoGPT" {
    cat >train.py <<'END'
import ast, sys
batch_size, learning_rate, dtype, compile_it = 12, 6e-4, "bfloat16", True
for arg in sys.argv[1:]:
    if not arg.startswith("--"):
        assert arg.endswith(".config"), arg
        continue
    key, val = arg[2:].split("=")
    try:
        val = ast.literal_eval(val)
    except (SyntaxError, ValueError):
        pass
    assert type(val) == type(globals()[key]), (key, val)
    globals()[key] = val
print("given", batch_size, learning_rate, dtype, compile_it)
END
    same_as_plain train.py small.config --batch_size=32 --compile_it=False --learning_rate=1e-3
    [ "$(given_by_tare train.py --learning_rate=1e-3,2e-3 small.config --dtype=float16,bfloat16 --batch_size=8)" = "\
given 8 0.001 float16 True
given 8 0.001 bfloat16 True
given 8 0.002 float16 True
given 8 0.002 bfloat16 True" ]
    [ "$(summary_column "$(run_folder)" hyperparam_learning_rate)" = $'1e-3\n1e-3\n2e-3\n2e-3' ]
    [ "$(summary_column "$(run_folder)" hyperparam_batch_size)" = $'8\n8\n8\n8' ]
}

@test "sub-commands, operands and options with several values stay where they were" {
    cat >sub.py <<'END'
import argparse
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--input-size", type=int, nargs=3)
p.add_argument("--resume", nargs="?", const="auto")
p.add_argument("--do_train", action="store_true")
p.add_argument("--tags", nargs="+")
s = p.add_subparsers(dest="what", required=True)
coco = s.add_parser("coco")
coco.add_argument("path")
coco.add_argument("--workers", type=int, default=4)
coco.add_argument("--opts", nargs=argparse.REMAINDER)
print("given", sorted(vars(p.parse_args()).items(), key=str))
END
    same_as_plain sub.py --lr 1e-4 coco /data
    same_as_plain sub.py --input-size 3 224 224 --resume --do_train coco /data --workers 2
    same_as_plain sub.py --tags a b --lr=1.10 coco /data --opts MODEL.LR 0.1 TRAIN.N 007 --x
    same_as_plain sub.py --resume=last coco --workers=1 -- /data
    [ "$(given_by_tare sub.py --input-size 3 8 8 --lr 1e-4,1e-5 --resume --tags a coco /data --workers 1..2 --opts K 1,2)" = "$(
        for lr in 1e-4 1e-5; do for workers in 1 2; do
            python3 sub.py --input-size 3 8 8 --lr $lr --resume --tags a coco /data --workers $workers --opts K 1,2
        done; done)" ]
}

@test "options that a help lacks are passed, with one warning: parse_known_args, Hydra" {
    cat >train.py <<'END'
import argparse, sys
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
print("given", p.parse_known_args(), sys.argv[1:])
END
    same_as_plain train.py --lr 1 --hidden 3 -x --deep.er=4 model=resnet +trainer.gpus=2
    [ "$(grep -c 'does not list' err || true)" -eq 0 ] # -q
    run --separate-stderr "$TARE" run --dry-run train.py --lr 1 --hidden 3 -x --deep.er=4
    [ "$(grep -c 'the script.s help does not list --hidden, -x, --deep.er: passed as given' <<<"$stderr")" -eq 1 ]
    [ "$(given_by_tare train.py model.lr=0.1,0.2 '+opt=a\,b' seed=1..2 | sed 's/.*) //')" = "\
['model.lr=0.1', '+opt=a,b', 'seed=1']
['model.lr=0.1', '+opt=a,b', 'seed=2']
['model.lr=0.2', '+opt=a,b', 'seed=1']
['model.lr=0.2', '+opt=a,b', 'seed=2']" ]
    [ "$(summary_column "$(run_folder)" hyperparam_model.lr)" = $'0.1\n0.1\n0.2\n0.2' ]
}

@test "axes: forms, kept commas, lists as values, numbers as they are written" {
    printf 'import sys\nprint("given", sys.argv[1:])\n' >train.py
    [ "$(given_by_tare train.py --lr 1.10,007,1e3,.5)" = "\
given ['--lr', '1.10']
given ['--lr', '007']
given ['--lr', '1e3']
given ['--lr', '.5']" ]
    [ "$(given_by_tare train.py --betas '0.9\,0.999' --layers '[64,64],[128,128]' '{a,b}' 'x,y')" = "\
given ['--betas', '0.9,0.999', '--layers', '[64,64]', '{a,b}', 'x,y']
given ['--betas', '0.9,0.999', '--layers', '[128,128]', '{a,b}', 'x,y']" ]
    [ "$(given_by_tare train.py --x "it's,don't" --empty '' --flag -- --y 1,2)" = "\
given ['--x', \"it's\", '--empty', '', '--flag', '--', '--y', '1,2']
given ['--x', \"don't\", '--empty', '', '--flag', '--', '--y', '1,2']" ]
    run "$TARE" run train.py --seed 1-3
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 1..3?"* ]]
    run --separate-stderr "$TARE" run --gpus none train.py --seed 1..3 --years 2020-2022 --lr 0.5,1
    [ "$status" -eq 0 ]
    [[ "${stderr%%$'\n'*}" == *"train.py: axes seed (1, 2, 3), lr (0.5, 1): 6 experiments" ]]
    [[ "$stderr" == *"--years: 2020-2022 is passed as one value; a range is 2020..2022"* ]]
}

@test "braces that name nothing the plan sets stay as they are" {
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser()
for name in ("--lr", "--epochs", "--name", "--dir"):
    p.add_argument(name, help="(default: 3)")
print("given", p.parse_args())
END
    same_as_plain train.py --lr 1 --name '{epochs}-{x}-{"a": 1}-{}'
    [ "$(given_by_tare train.py --dir a,b --name '{lr}')" = "$(python3 train.py --dir a --name '{lr}'; python3 train.py --dir b --name '{lr}')" ]
}

# launcher NAME: a program of that name in ./bin which says its words and starts what begins at the first word that ends with .py or is
# python3 or -m.
launcher() {
    mkdir -p bin
    cat >"bin/$1" <<'END'
#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
print("launched", os.path.basename(sys.argv[0]), words, flush=True)
at = next(i for i, word in enumerate(words) if word.endswith(".py") or word in ("python3", "-m"))
rest = words[at:] if words[at] == "python3" else ["python3"] + words[at:]
os.execvp("python3", rest)
END
    chmod +x "bin/$1"
}

@test "launchers, modules, variables and programs stay before the script, and axes belong to the script" {
    mkdir pkg
    cat >train.py <<'END'
import argparse, os, sys
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1, help="rate (default: 9)")
p.add_argument("--seed", type=int)
print("given", p.parse_args(), sys.flags.optimize, os.environ.get("MODE"))
END
    cp train.py pkg/train.py
    touch pkg/__init__.py
    for name in torchrun accelerate deepspeed uv poetry mpirun; do launcher $name; done
    printf '#!/bin/sh\nexec python3 -O "${0%%/*}/train.py" "$@"\n' >train.sh
    chmod +x train.sh
    PATH=$PWD/bin:$PATH
    while read -r words; do
        # shellcheck disable=SC2086
        expected=$(for lr in 0.10 2e-1; do env $words --lr $lr --seed 3; done)
        rm -rf results
        # shellcheck disable=SC2086
        "$TARE" run -q $words --lr 0.10,2e-1 --seed 3 >out 2>err || { cat out err; false; }
        [ "$(cat results/run_*/*/training.log)" = "$expected" ] || { echo "$words: $expected"; cat results/run_*/*/training.log; false; }
        [ "$(summary_column "$(run_folder)" hyperparam_lr)" = $'0.10\n2e-1' ]
        [[ "$(summary_column "$(run_folder)" experiment_id)" == train_default_001* ]] || { echo "$words"; false; }
    done <<'END'
python3 train.py
python3 -O -X dev train.py
python3 -m pkg.train
MODE=fast python3 train.py
env MODE=slow python3 train.py
torchrun --nproc_per_node=2 train.py
torchrun --nproc_per_node 2 --rdzv_endpoint a,b:1 -m pkg.train
accelerate launch --num_processes 2 train.py
deepspeed --include host:0,1 train.py
uv run --with a,b train.py
uv run python3 -m pkg.train
poetry run python3 train.py
mpirun -np 2 -H a,b python3 -O train.py
./train.sh
MODE=x ./train.sh
END
    # The options of a script are known through its launcher, too.
    run --separate-stderr "$TARE" run --dry-run torchrun --nproc_per_node=2 train.py --lrr 1
    [[ "$stderr" == *"train.py: started by torchrun; 2 options read from its --help"* ]]
    [[ "$stderr" == *"does not list --lrr (did you mean '--lr'?)"* ]]
    "$TARE" init torchrun --nproc_per_node=2 train.py --lr 1,2
    "$TARE" run -q -o again --set tare.order=file settings.json
    [ "$(cat again/run_*/*/training.log)" = "$(for lr in 1 2; do torchrun --nproc_per_node=2 train.py --lr $lr; done)" ]
}

@test "a launcher without a script, a program that is not there: said, and nothing is run" {
    while IFS='|' read -r words said; do
        # shellcheck disable=SC2086
        run "$TARE" run $words
        [ "$status" -eq 2 ] || { echo "$words: $status $output"; false; }
        [[ "$output" == *"$said"* ]] || { echo "$words says $output"; false; }
    done <<'END'
python3|python3: which script? No script comes after it
python3 -u|python3: which script?
python3 -m|python3: which script?
torchrun --nproc_per_node=2|torchrun: which script?
A=1|there are variables only
horovodrun train.py|there is no program horovodrun on PATH
python3 none.py|the script none.py is not there
END
    [ ! -e results ]
}

@test "a script that refuses its command line, or dies while it is loaded, is started once, and the run shows its message" {
    echo 'x = (' >broken.py
    while IFS='|' read -r code said; do
        printf 'import sys\nif "--help" in sys.argv: sys.exit()\nopen("calls", "a").write("x")\n%b\n' "$code" >train.py
        rm -rf results calls
        run "$TARE" run -mr 3 --gpus none --set tare.order=file train.py --lr 1..5
        [ "$status" -eq 1 ] || { echo "$code: $status $output"; false; }
        [ "$(cat calls)" = x ] || { echo "$code: $(cat calls)"; false; }
        [[ "$output" == *"error: train_default_001: "*"$said"*"none was begun; its output is in $(run_folder)/train_default_001/training.log"* ]] ||
            { echo "$code: $output"; false; }
    done <<'END'
import argparse\nargparse.ArgumentParser().parse_args()|train.py: error: unrecognized arguments: --lr 1
import no_such_module|ModuleNotFoundError: No module named 'no_such_module'
from json import no_such_name|ImportError: cannot import name 'no_such_name'
import broken|SyntaxError
print("Usage: train.py [OPTIONS]\\n\\nError: No such option: --lr", file=sys.stderr); sys.exit(2)|No such option: --lr
print("[rank0]: usage: x\\nx: error: bad\\nChildFailedError: rank 0", file=sys.stderr); sys.exit(1)|ChildFailedError
print("FATAL Flags parsing error:\\n  Unknown command line flag lr", file=sys.stderr); sys.exit(2)|
print("FATAL Flags parsing error:\\n  Unknown command line flag lr\\nPass --helpshort", file=sys.stderr); sys.exit(1)|
sys.exit("Usage:\\n  train.py [--seed=N]")|
END
}

@test "another failure is tried again, and a refusal after a success stops nothing" {
    printf 'import sys\nif "--help" in sys.argv: sys.exit()\nopen("calls", "a").write("x")\nprint("usage: no error"); raise ValueError\n' >train.py
    run "$TARE" run -mr 1 --gpus none --cooldown fixed train.py --lr 1,2
    [ "$status" -eq 1 ]
    [ "$(cat calls)" = xxxx ]
    rm -rf results calls
    printf 'import sys\nif "--help" in sys.argv: sys.exit()\nopen("calls", "a").write("x")\nprint("Usage:"); raise ValueError\n' >train.py
    run "$TARE" run -mr 1 --gpus none --cooldown fixed train.py --lr 1,2
    [ "$status" -eq 1 ]
    [ "$(cat calls)" = xxxx ]
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser()
p.add_argument("--opt", choices=["a", "c"])
print("given", p.parse_args().opt)
END
    rm -rf results
    run "$TARE" run -mr 1 --gpus none --set tare.order=file train.py --opt a,b,c
    [ "$status" -eq 1 ]
    [ "$(summary_column "$(run_folder)" training_success)" = $'True\nFalse\nTrue' ]
    [ "$(summary_column "$(run_folder)" retries)" = $'0\n0\n0' ]
}

@test "of several processes the metric is the first one's; where nothing tells them apart, that is said" {
    mkdir bin
    printf '#!/bin/sh\n[ "$1" = --nproc_per_node=2 ] || exit 9\nshift\nexec python3 "$@"\n' >bin/torchrun
    chmod +x bin/torchrun
    PATH=$PWD/bin:$PATH
    echo 'import sys; "--help" in sys.argv or print("[rank0]: loss: 0.25\n[rank1]: loss: 0.75")' >train.py
    run "$TARE" run --gpus none torchrun --nproc_per_node=2 train.py --lr 1
    [ "$status" -eq 0 ]
    [ "$(summary_column "$(run_folder)" perf_loss)" = 0.25 ]
    [[ "$output" != *"may be of another process"* ]]
    rm -rf results
    echo 'import sys; "--help" in sys.argv or print("epoch 1 loss: 0.25\nepoch 1 loss: 0.75")' >train.py
    run "$TARE" run --gpus none torchrun --nproc_per_node=2 train.py --lr 1
    [[ "$output" == *"metric 'loss' is unknown: '0.75' at log line 2 is one of several numbers that could be meant"* ]]
    # By a pattern of the registry's own the last match counts.
    rm -rf results
    "$TARE" init torchrun --nproc_per_node=2 train.py --lr 1
    python3 - <<'END'
import json
registry = json.load(open("registry.json"))
registry["models"]["train"]["performance_metrics"] = {"log_patterns": {"loss": "loss: ([0-9.]+)"}}
json.dump(registry, open("registry.json", "w"))
END
    run "$TARE" run --gpus none settings.json
    [[ "$output" == *"loss: 2 processes were started, and lines near the end of the log differ in their values alone: that of the last line, 0.75, "* ]]
    rm -rf results
    run "$TARE" run --gpus none train.py --lr 1
    [[ "$output" != *"processes were started"* ]]
    rm -rf results
    echo 'import sys; "--help" in sys.argv or print("epoch 1 loss: 0.75\nepoch 2 loss: 0.25\nepoch 2 loss: 0.25")' >train.py
    run "$TARE" run --gpus none torchrun --nproc_per_node=2 train.py --lr 1
    [ "$(summary_column "$(run_folder)" perf_loss)" = 0.25 ]
    [[ "$output" != *"processes were started"* ]]
}
