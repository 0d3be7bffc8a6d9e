#!/usr/bin/env bats
# The program's name stands in one build variable.

load helpers

@test "a build under another name says that name everywhere" {
    command -v meson > /dev/null && command -v ninja > /dev/null || skip "meson and ninja are not there"
    other=$WORK/build
    meson setup "$other" "$ROOT" -Dprogram_name=balance -Dtests=false -Doptimization=0 -Ddebug=false > setup.log 2>&1 || { tail -20 setup.log; false; }
    ninja -C "$other" -j2 src/cli/balance > build.log 2>&1 || { tail -20 build.log; false; }
    balance=$other/src/cli/balance
    for words in --help --version "run --help" "list --help" "exec --help" "--man" "--man run" "--completion bash" \
        "--completion zsh" "--completion fish"; do
        # shellcheck disable=SC2086
        "$balance" $words > said
        grep -qi balance said
        # The settings' own key is part of the format and keeps its name; nothing else may say it.
        run grep -nwi tare said
        [ "$status" -eq 1 ] || { echo "$words: $output"; false; }
    done
    run "$balance" nonsense
    [ "$status" -eq 2 ]
    [[ "$output" == "balance: error: "* ]]
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    run "$balance" run settings.json
    [ "$status" -eq 0 ]
    [[ "$output" == *"balance: registry "* ]]
    [ "$(summary_column "$(run_folder)" training_success)" = True ]
}
