#!/usr/bin/env bats
# Scripts parse the same values under the program as when they are started plainly.

load helpers

HARNESS=$ROOT/tests/scripts60/harness.py

# played_program: a program in place of tare, from standard input; its arguments are those of tare.
played_program() {
    cat > played
    chmod +x played
    export TARE=$WORK/played
}

@test "the development part of the scripts has the values and words of the plain commands" {
    export TARE
    "$HARNESS" --part development
}

@test "plain commands of all scripts succeed, each with values of its own" {
    "$HARNESS" --part all --plain > table || { grep -v '^plain' table; false; }
}

@test "the held-out part is the one that the fixed seed chooses" {
    "$HARNESS" --choose | diff - "$ROOT/tests/scripts60/parts"
}

@test "the harness accepts a program that starts what the axes stand for" {
    played_program <<'END'
#!/bin/sh
python3 train.py
python3 train.py --tau 0.1
END
    run "$HARNESS" --case ap_environment_default
    [ "$status" -eq 1 ]
    [[ "$output" == *'tau: 0.2 -> 0.07'* ]]
    sed -i 's/train.py$/train.py --tau 0.2/' played
    "$HARNESS" --case ap_environment_default
}

@test "the harness reports a changed value, a missing start, moved words and a refusal" {
    played_program <<'END'
#!/bin/sh
case $* in
*--no-augment*)
    python3 train.py --lr=0.1 --no-augment
    python3 train.py --lr=0.01 --no-augment
    ;;
*) python3 train.py --lr 0.1 --no-augment ;;
esac
END
    run "$HARNESS" --case ap_store_false
    [ "$status" -eq 1 ]
    [[ "$output" == *'1 starts instead of 2'*'augment: true -> false'*'words: --no-augment --lr=0.1 -> '* ]]
    played_program <<'END'
#!/bin/sh
echo "tare: error: no" >&2
exit 2
END
    run "$HARNESS" --case ap_store_false
    [ "$status" -eq 1 ]
    [[ "$output" == *'refused '*'status 2: tare: error: no'*'refused      1 cases    2 command lines'* ]]
}
