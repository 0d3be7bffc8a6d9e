#!/usr/bin/env bats
# The program's name stands in one build variable.

load helpers

BUILD=${BUILD_DIR:-$ROOT/build}

# The objects of the program's libraries that know its name, by a header or by an argument, a line each; none where there is no build with
# gcc whose others could be taken.
named() {
    python3 - "$BUILD" "$other" <<'END'
import json, os, re, subprocess, sys
build, other = sys.argv[1:]
commands = {entry["output"]: entry["command"] for entry in json.load(open(other + "/compile_commands.json"))}
try:
    before = {entry["output"]: entry["command"] for entry in json.load(open(build + "/compile_commands.json"))}
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
except (OSError, subprocess.CalledProcessError):
    sys.exit()
libraries = {name for name in commands if re.match(r"src/.*/lib[^/]*\.a\.p/", name)}
if any("-fsanitize" in command for command in before.values()) or not all(os.path.exists(f"{build}/{name}") for name in libraries):
    sys.exit()
with_header = {block.split(":")[0] for block in deps.split("\n\n") if re.search(r"^ +tare_build\.h$", block, re.M)}
for name in sorted(libraries):
    if name in with_header or "balance" in commands[name]:
        print(name)
END
}

# The program of these and of the build's other objects: what is given first is taken, and nothing else of that name.
link_named() {
    local link
    link=$(ninja -C "$other" -t commands src/cli/balance | tail -n 1 | sed -E "s# (src/[^ ]*/lib[^ ]*\.a)# $BUILD/\1#g")
    link=${link/ -Wl,--start-group / $(paste -sd ' ' objects) -Wl,--start-group }
    (cd "$other" && eval "$link")
}

@test "a build under another name says that name everywhere" {
    command -v meson > /dev/null && command -v ninja > /dev/null || skip "meson and ninja are not there"
    other=$WORK/build
    meson setup "$other" "$ROOT" -Dprogram_name=balance -Dtests=false -Doptimization=0 -Ddebug=false > setup.log 2>&1 || { tail -20 setup.log; false; }
    named > objects
    if [ -s objects ]; then
        xargs ninja -C "$other" -j2 src/cli/balance.p/main.c.o < objects > build.log 2>&1 || { tail -20 build.log; false; }
        link_named > link.log 2>&1 || { tail -20 link.log; false; }
    else
        ninja -C "$other" -j2 src/cli/balance > build.log 2>&1 || { tail -20 build.log; false; }
    fi
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
