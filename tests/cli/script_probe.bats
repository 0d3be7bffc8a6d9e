#!/usr/bin/env bats
# Learning about a script never runs it: it is started with --help only where its text has a parser, and then can change nothing.

load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is not there"; }

# traced NAME < PYTHON: a script that as soon as it is started leaves a trace outside of all folders that are protected, and tries to
# leave one in the working folder and beside itself.
traced() {
    unset VIRTUAL_ENV
    export TRACE=$BATS_TEST_TMPDIR/trace
    {
        echo 'import os'
        echo 'words = " ".join(open("/proc/self/cmdline").read().split("\0")[1:-1])'
        echo 'for place in (os.environ["TRACE"], "trace", os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace")):'
        echo '    try: open(place, "a").write(words + "\n")'
        echo '    except OSError: pass'
        cat
    } >"$1"
}

was_started() { [ -e "$BATS_TEST_TMPDIR/trace" ]; }
left_nothing() { [ -z "$(find . -name trace)" ]; }

argparse() { printf '%s\n' 'import argparse' 'p = argparse.ArgumentParser()' 'p.add_argument("--lr", type=float)' 'p.parse_args()'; }

@test "a script without a parser is not started, and what was named is still an axis" {
    traced train.py <<'END'
lr = 0.1  # argparse.ArgumentParser().parse_args()
text = """argparse.ArgumentParser().parse_args()"""
print("loss: 0.5")
END
    for command in "init" "run --dry-run"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$TARE" $command train.py --lr 0.1,0.2
        [ "$status" -eq 0 ]
        [[ "$stderr" == *"train.py: run by python3 (found on PATH); its options are not known: neither it nor a local module that it imports uses a parser of options"* ]]
        if was_started; then false; fi
    done
    [[ "$output" == *"experiments  2: 2 grid"*"train.py --lr 0.1"*"train.py --lr 0.2"* ]]
    # The run itself starts it, with the options as they were given and nothing else.
    "$TARE" run -q train.py --lr 0.1,0.2
    diff <(sed "s;^$WORK/;;" "$TRACE") - <<<$'train.py --lr 0.1\ntrain.py --lr 0.2'
}

@test "a parser is found in a local module, in a package and in each of the known libraries" {
    mkdir -p pkg/sub
    touch pkg/__init__.py pkg/sub/__init__.py
    printf '%s\n' 'from . import (' '    common as c,  # a comment' ')' >pkg/sub/options.py
    printf '%s\n' 'import argparse' 'def parser():' '    p = argparse.ArgumentParser()' '    p.add_argument("--lr")' '    return p' >pkg/sub/common.py
    traced train.py <<'END'
from pkg.sub.options import c
c.parser().parse_args()
END
    run --separate-stderr "$TARE" run --dry-run train.py --lr 1,2
    [[ "$stderr" == *"1 option read from its --help"* ]]
    was_started
    left_nothing
    for library in 'import click\n@click.command()\ndef f(): pass' 'import typer\ntyper.run(f)' 'from absl import app\napp.run(f)' \
        'import fire\nfire.Fire(f)' 'from docopt import docopt\ndocopt("")' 'import tyro\ntyro.cli(f)' \
        'from transformers import HfArgumentParser\np = HfArgumentParser(A)\np.parse_args_into_dataclasses()' \
        'import hydra\n@hydra.main()\ndef f(): pass'; do
        rm -f "$TRACE"
        # shellcheck disable=SC2059
        traced train.py < <(printf "$library\n")
        "$TARE" run --dry-run train.py --lr 1 >/dev/null 2>&1
        was_started || { echo "not started: $library"; false; }
        left_nothing
    done
}

@test "a parser that is part of a module's own program, or behind a link, does not count" {
    mkdir other
    printf '%s\n' 'import argparse' 'def f(): pass' 'if __name__ == "__main__":' '    p = argparse.ArgumentParser()' '' '    p.parse_args()' >util.py
    argparse >other/elsewhere.py
    ln -s other/elsewhere.py linked.py
    traced train.py <<<'import util, linked, not_here'
    "$TARE" run --dry-run train.py --lr 1 >/dev/null 2>err
    grep -q 'uses a parser of options' err
    if was_started; then false; fi
}

@test "a parser that leaves --help to the script is asked only where the text mentions it, and never by --dry-run" {
    for parser in 'from omegaconf import OmegaConf\nOmegaConf.from_cli()' 'import sys\nlr = float(sys.argv[1].split("=")[1]) # --help' \
        'import argparse\np = argparse.ArgumentParser(add_help=False)\np.parse_known_args()'; do
        # shellcheck disable=SC2059
        traced train.py < <(printf "$parser\n")
        "$TARE" init --force train.py --lr 1 >/dev/null 2>err
        grep -q 'and its text does not mention --help, so it was not started' err
        if was_started; then false; fi
    done
    traced train.py <<'END'
import sys
if "--help" in sys.argv:
    print("options:\n  --lr LR  rate")
END
    "$TARE" run --dry-run train.py --lr 1 >/dev/null 2>err
    grep -q 'sys.argv, which does not answer --help by itself: --dry-run does not start what could train' err
    if was_started; then false; fi
    "$TARE" init --force train.py --lr 1 >/dev/null 2>err
    grep -q '1 option read from its --help' err
    was_started
}

@test "a script that is not Python is started only if its text mentions --help or getopts" {
    trace=$BATS_TEST_TMPDIR/trace
    printf '#!/bin/sh\necho "$*" >>%q\necho "options:"; echo "  --rate FLOAT  how fast"\n' "$trace" >job
    chmod +x job
    "$TARE" init job --rate 1 2>err
    grep -q 'its text mentions neither --help nor getopts, so it was not started' err
    if was_started; then false; fi
    # shellcheck disable=SC2016
    for mention in 'case $1 in --help) ;; esac' 'while getopts r: option; do :; done'; do
        sed -i "2i $mention" job
        run --separate-stderr "$TARE" run --dry-run job --rate 1,2
        [[ "$stderr" == *"it is not Python: --dry-run does not start what could train"* ]]
        [[ "$output" == *"experiments  2: 2 grid"* ]]
        if was_started; then false; fi
        "$TARE" init --force job --rate 1 2>err
        grep -q '1 option read from its --help' err
        [ "$(cat "$trace")" = --help ]
        rm "$trace"
        sed -i 2d job
    done
}

@test "what a script does while it is asked leaves nothing in its folder nor in the working folder, and sees no GPU" {
    mkdir -p code/below work
    cat >code/side.py <<'END'
import os, pathlib
print(repr(os.environ.get("CUDA_VISIBLE_DEVICES")), file=open(os.environ["TRACE"] + ".gpu", "w"))
for path in ("x", "../code/x", "../code/below/x"):
    try: pathlib.Path(path).write_text("")
    except OSError as error: print(error.strerror, file=open(os.environ["TRACE"] + ".errors", "a"))
END
    traced code/train.py < <(echo 'import side'; argparse)
    cd work
    CUDA_VISIBLE_DEVICES=0 "$TARE" run --dry-run ../code/train.py --lr 1,2 2>err
    grep -q '1 option read from its --help' err
    was_started
    [ "$(cat "$TRACE.gpu")" = "''" ]
    [ "$(sort -u "$TRACE.errors")" = "Read-only file system" ]
    [ "$(wc -l <"$TRACE.errors")" -eq 3 ]
    cd ..
    [ -z "$(find . -name trace -o -name x -o -name __pycache__)" ]
}

@test "a mount below the folder is read-only, too" {
    need_root
    mkdir -p data
    traced train.py < <(echo 'try: open("data/trace", "w")'; echo 'except OSError: pass'; argparse)
    # shellcheck disable=SC2016
    unshare --mount sh -c 'mount -t tmpfs tmpfs data && "$0" run --dry-run train.py --lr 1,2 2>err; ls data >seen' "$TARE" || skip "no mounts here"
    grep -q '1 option read from its --help' err
    was_started
    [ -z "$(cat seen)" ]
}

@test "where the folder cannot be made read-only the script is not started, and that is said" {
    traced train.py < <(argparse)
    # In a user namespace that allows no further ones.
    # shellcheck disable=SC2016
    unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_pid_namespaces' 2>/dev/null || skip "user namespaces are not allowed"
    # shellcheck disable=SC2016
    run unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_pid_namespaces; exec "$0" run --dry-run train.py --lr 1,2' "$TARE"
    [[ "$output" == *"its options are not known: its folder cannot be made read-only for it ("*"), so it was not started with --help"* ]]
    [[ "$output" == *"experiments  2: 2 grid"* ]]
    if was_started; then false; fi
}

@test "a script that is too slow is an error that names both ways out, and never a plan" {
    traced train.py < <(echo 'import time; time.sleep(1000)'; argparse)
    SECONDS=0
    run --separate-stderr timeout 60 "$TARE" run --help-timeout 3s train.py --lr 0.1,0.2
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ "$SECONDS" -ge 3 ]
    [[ "$stderr" == *"train.py: waiting for its --help, 2 s of at most 3 s (--no-probe goes on without it)"* ]]
    [[ "$stderr" == *"error: train.py was still running 3 s after it was started with --help, and was ended: --help-timeout 5m waits longer, --no-probe goes on without its help"* ]]
    [ ! -e results ]
    run timeout 60 "$TARE" init --help-timeout 0.2 train.py
    [ "$status" -eq 2 ]
    [ ! -e registry.json ]
    # Without its help the options that were named are axes all the same.
    rm -f "$TRACE"
    run --separate-stderr timeout 60 "$TARE" run --no-probe --dry-run train.py --lr 0.1,0.2 --seed 1..3
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"its options are not known: it was not started (--no-probe)"* ]]
    [[ "$output" == *"experiments  6: 6 grid"* ]]
    if was_started; then false; fi
}

@test "a parser without --help is read from the usage that it prints to standard error" {
    traced train.py <<'END'
import argparse
p = argparse.ArgumentParser(add_help=False)
p.add_argument("--lr", type=float)
p.add_argument("--optimizer", choices=["sgd", "adam"], required=True)
p.add_argument("--sizes", nargs="+")
g = p.add_mutually_exclusive_group()
g.add_argument("--fast", action="store_true")
g.add_argument("--slow", action="store_true")
p.add_argument("--a-name-that-is-long-enough-to-break-the-line")
p.add_argument("--another-name-that-is-long-enough-to-break-the-line")
p.parse_args()
END
    run --separate-stderr "$TARE" run --dry-run train.py --optimizer sgd,adam --fast
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"7 options read from its --help"* ]]
    [[ "$output" == *"--optimizer sgd"* && "$output" == *"--optimizer adam"* ]]
}

@test "the settings that run and init write from a grid give the order of the command that wrote them" {
    cat >train.py <<'END'
import argparse
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1, help="rate")
p.add_argument("--seed", type=int, default=1, help="seed")
p.parse_args()
print("loss 0.5")
END
    local call="train.py --lr 0.1,0.2,0.3,0.4,0.5 --seed 1,2,3" with
    for with in "" "-s 77"; do
        # shellcheck disable=SC2086
        "$TARE" run --dry-run $with $call 2>/dev/null | grep -E '^seed|  grid:' >wrote
        # shellcheck disable=SC2086
        "$TARE" run -q -o "results$with" $with $call >/dev/null 2>&1 || true
        "$TARE" run --dry-run "results$with"/run_*/settings.json 2>/dev/null | grep -E '^seed|  grid:' >again
        [ "$(wc -l <again)" -eq 16 ]
        cmp wrote again
    done
    [ "$(head -n 1 again | tr -s ' ')" = "seed 77" ]
    # shellcheck disable=SC2086
    "$TARE" init -o made $call >/dev/null 2>&1
    "$TARE" run --dry-run $call 2>/dev/null | grep -E '^seed|  grid:' >wrote
    "$TARE" run --dry-run made/settings.json 2>/dev/null | grep -E '^seed|  grid:' >again
    cmp wrote again
}

@test "two calls in a row give the same plan" {
    traced train.py <<'END'
import argparse
p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
p.add_argument("--lr", type=float, default=0.1, help="rate")
p.add_argument("--optimizer", choices={"sgd", "adam", "lion", "lamb"}, default="sgd", help="which")
p.parse_args()
END
    for i in 1 2 3; do
        "$TARE" run --dry-run --json train.py --lr 0.1,0.2 >plan.$i
        "$TARE" init -o files.$i train.py --lr 0.1,0.2 >/dev/null
    done
    cmp plan.1 plan.2
    cmp plan.1 plan.3
    diff -r files.1 files.2
    diff -r files.1 files.3
}
