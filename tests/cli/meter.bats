#!/usr/bin/env bats
# The hidden command that runs start for themselves.
load helpers

@test "it is not among the commands of the help" {
    run -0 "$TARE" --help
    run -1 grep -P '^ *meter\b' <<<"$output"
    run -2 "$TARE" meter
    [[ $output == *"needs --device and --fd"* ]]
}
