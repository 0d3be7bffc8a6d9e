#!/usr/bin/env bats
# The examples that the README leads to, as a person runs them.

load helpers

EXAMPLES=$ROOT/examples

# The trainer as this build made it, wherever that is.
with_trainer() { PATH=${BUILD_DIR:-$ROOT/build}/examples:$PATH "$@"; }

@test "the quickstart plans 14 experiments of real command lines, a second apart" {
    with_trainer "$TARE" run "$EXAMPLES/quickstart.json" -c "$EXAMPLES/registry.json" --dry-run 2> said > plan
    [ "$(grep -c '^\[[0-9]*/14\] digits_mlp_0' plan)" -eq 14 ]
    [ "$(grep -c '/train-digits --epochs [0-9]* --lr [0-9.e-]* --batch-size [0-9]* --dropout [0-9.e-]* --weight-decay [0-9.e-]* --seed [0-9]*$' plan)" -eq 14 ]
    # Two with the defaults; 4 + 4 + 4 that mutate, of which no two are the same.
    [ "$(grep -c ' --epochs 30 --lr 0.1 --batch-size 32 --dropout 0.1 --weight-decay 0.0001 --seed 1$' plan)" -eq 2 ]
    [ "$(grep -o 'train-digits .*' plan | sort -u | wc -l)" -eq 13 ]
    grep -q '^pauses *13.0 s between' plan
}

@test "the quickstart trains 14 times and learns" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "too slow with sanitizers"
    TARE_SYSROOT=$WORK TARE_TIME_SCALE=0.01 with_trainer "$TARE" run "$EXAMPLES/quickstart.json" -c "$EXAMPLES/registry.json" --quiet
    folder=$(run_folder)
    [ "$(summary_column "$folder" training_success | sort | uniq -c | tr -s ' ')" = " 14 True" ]
    # With the defaults, at least 95 %, and the same twice.
    summary_column "$folder" perf_test_accuracy | head -n 2 > defaults
    [ "$(sort -u defaults | wc -l)" -eq 1 ]
    awk '!($1 >= 95 && $1 <= 100) { exit 1 }' defaults
    [ "$(summary_column "$folder" perf_test_loss | grep -c '^[0-9.]*$')" -eq 14 ]
}

@test "the PyTorch example plans 6 experiments, and trains where there is a PyTorch" {
    python=$(command -v /usr/bin/python3) || skip "there is no /usr/bin/python3"
    "$TARE" run "$EXAMPLES/pytorch.json" -c "$EXAMPLES/registry.json" --dry-run > plan 2> said
    [ "$(grep -c '^\[[0-9]*/6\] pytorch_mlp_0' plan)" -eq 3 ]
    [ "$(grep -c '^\[[0-9]*/6\] pytorch_cnn_0' plan)" -eq 3 ]
    [ "$(grep -c "/usr/bin/python3 $EXAMPLES/pytorch/train.py --model [mc][a-z]* --data ../digits/digits.csv --epochs" plan)" -eq 6 ]
    "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$EXAMPLES/pytorch/train.py"
    "$python" -c 'import torch' 2> /dev/null || skip "planned; not run, as /usr/bin/python3 has no torch (Debian: python3-torch)"
    # A machine with a GPU would take its time; there is none below $WORK.
    TARE_SYSROOT=$WORK TARE_TIME_SCALE=0.01 "$TARE" run "$EXAMPLES/pytorch.json" -c "$EXAMPLES/registry.json" --quiet
    folder=$(run_folder)
    [ "$(summary_column "$folder" training_success | sort | uniq -c | tr -s ' ')" = " 6 True" ]
    # A guess would reach about 10 %.
    summary_column "$folder" perf_test_accuracy | awk '!($1 > 50 && $1 <= 100) { exit 1 }'
}
