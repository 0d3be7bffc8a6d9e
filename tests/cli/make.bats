#!/usr/bin/env bats
# The commands of README and CONTRIBUTING, in any order, in a build that "make demo" made: without the test library.

load helpers

# without LIBRARY...: a pkg-config that has none of these, and no CMake.
without() {
    {
        echo '#!/bin/sh'
        echo "for word; do case \$word in $(IFS='|'; echo "$*")) exit 1 ;; esac; done"
        echo "exec $(command -v pkg-config) \"\$@\""
    } > pkg-config
    chmod +x pkg-config
    printf '[binaries]\npkgconfig = %s\ncmake = %s\n' "'$WORK/pkg-config'" "'$WORK/no-cmake'" > native
}

@test "all that the benches need is built also where the test library is not there" {
    command -v meson > /dev/null || skip "meson is not there"
    without cmocka # as after "make setup"
    meson setup --native-file native build "$ROOT" > setup
    grep -q 'dependency cmocka found: NO' setup
    ninja -C build -t targets all | sed 's/: .*//' > targets
    grep -q '^src/cli/' targets
    grep -hoE '\$\{?BUILD\}?/[A-Za-z0-9_./-]+' "$ROOT"/bench/*.sh "$ROOT"/bench/*.bash | sed -E 's/^[^/]*\///' | sort -u > needed
    cat needed
    [ "$(grep -c . needed)" -ge 8 ]
    grep -q '^tests/fake/libnvidia-ml.so.1$' needed
    while read -r file; do
        grep -qE "^$file(/|\$)" targets || { echo "no $file"; false; }
    done < needed
}

@test "only setup, demo and check install anything; the others name what is missing" {
    for target in build install lint docs reference; do
        make -C "$ROOT" -n BUILD="$WORK/new" "$target" > said || true
        run grep -E 'setup\.sh|npm' said
        [[ "$(grep -v -e '--missing' <<< "$output")" != *setup.sh* ]] || { echo "$target: $output"; false; }
    done
    for target in setup demo check; do
        make -C "$ROOT" -n BUILD="$WORK/new" "$target" > said || true
        grep -qE 'tools/setup\.sh (build|check)' said
    done
    mkdir none
    PATH=$WORK/none run /bin/sh "$ROOT/tools/setup.sh" --missing build
    [ "$status" -eq 1 ]
    [[ "${lines[0]}" == "Missing (names of Debian packages): build-essential meson ninja-build pkg-config "* ]]
    [ "${lines[1]}" = "'make setup FOR=build' installs them." ]
    [[ "$output" != *npm* ]]
}

@test "BENCH chooses the benches of make bench, and an unknown one is told" {
    build=${BUILD_DIR:-$ROOT/build}
    [ -x "$build/bench/bench_plan" ] || skip "the benches are not built"
    run env BUILD="$build" BENCH="plan nothing" "$ROOT/bench/run.sh"
    [ "$status" -eq 2 ]
    [[ "$output" == "there is no bench 'nothing'; BENCH names some of: plan match "* ]]
    [ -z "${TARE_SANITIZED:-}" ] || return 0
    run env BUILD="$build" BENCH=plan "$ROOT/bench/run.sh"
    echo "$output"
    [ "$status" -le 1 ] # 1: a target is missed, as it may be beside other tests
    [ "$(grep -c '^== ' <<< "$output")" -eq 1 ]
    grep -q '^== bench_plan' <<< "$output"
    grep -q '^name .*| measured .*| met$' <<< "$output"
    [[ "$output" != *"not run to the end"* ]]
}

@test "make check-gpu says that there is no GPU" {
    mkdir bin
    printf '#!/bin/sh\necho "NVIDIA-SMI has failed" >&2\nexit 9\n' > bin/nvidia-smi
    chmod +x bin/nvidia-smi
    PATH=$WORK/bin:$PATH run "$ROOT/tests/gpu/run.sh"
    [ "$status" -eq 1 ]
    [[ "$output" == "There is no NVIDIA GPU here"*"make check needs none." ]]
}

@test "a build without serve and watch needs neither libmicrohttpd nor ncurses, and says that it lacks these commands" {
    command -v meson > /dev/null || skip "meson is not there"
    [ -z "${TARE_SANITIZED:-}" ] || skip "the objects of one build are linked with those of another"
    without libmicrohttpd ncursesw
    run ! meson setup --native-file native refused "$ROOT"
    meson setup --native-file native build "$ROOT" -Dserve=disabled -Dwatch=disabled > setup
    # What differs is compiled anew, and linked with the libraries of the build under test.
    objects="src/cli/$NAME.p/main.c.o src/cli/libcommands.a.p/commands.c.o"
    # shellcheck disable=SC2086 # three words
    ninja -C build $objects > compiled
    link=$(ninja -C "${BUILD_DIR:-$ROOT/build}" -t commands "src/cli/$NAME" | tail -n 1)
    cd "${BUILD_DIR:-$ROOT/build}"
    eval "${link/-o src\/cli\/$NAME src\/cli\/$NAME.p\/main.c.o/-o $WORK/lacking ${objects//src/$WORK/build/src}}"
    cd "$WORK"
    run ! grep -qE 'MHD_|newterm' <(nm lacking)
    for command in serve watch; do
        for words in "$command" "$command --help" "help $command"; do
            # shellcheck disable=SC2086
            run -2 ./lacking $words
            [[ "$output" == *"this build does not have the command '$command': it was configured with -D$command=disabled"* ]]
        done
        run -2 ./lacking --man "$command"
        for words in --help "--completion bash" "--completion zsh" "--completion fish" "--reference options"; do
            # shellcheck disable=SC2086
            grep -qw "$command" <("$TARE" $words)
            # shellcheck disable=SC2086
            run ! grep -w "$command" <(./lacking $words)
        done
    done
    ./lacking --version
}
