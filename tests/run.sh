#!/usr/bin/env bash
# make check: every test, in two builds: gcc; clang with address and undefined-behaviour sanitizers, which also fuzzes, briefly. What fails
# is printed where it fails and named again at the end; the last line counts. Skipped tests say why.
#   CHECK_STAGES="lint unit cli asan fuzz"   which stages (default: all)     CHECK_FUZZ_SECONDS=10  seconds for each fuzz target
#   CHECK_TMP=disk   leaves /tmp as it is. As root /tmp is in memory, for these tests alone: they make and sync thousands of small files.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
top=$PWD

# in_memory COMMAND...: with a /tmp in memory and a /dev/shm that other programs do not use, in a mount namespace of its own; the folder of /tmp that holds this checkout stays there.
in_memory() {
    CHECK_OUTSIDE=$(readlink /proc/self/ns/mnt) || exit 125
    export CHECK_OUTSIDE
    # shellcheck disable=SC2016 # $0 and the others are the inner shell's
    exec unshare --mount --propagation private bash -c '
        new=$(mktemp -d) && mount -t tmpfs -o mode=1777,size=60% tmpfs "$new" || exit 125
        kept=${0#/tmp/}
        kept=${kept%%/*}
        [[ $0 != /tmp/* ]] || { mkdir "$new/$kept" && mount --bind "/tmp/$kept" "$new/$kept"; } || exit 125
        { [ ! -d /dev/shm ] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 125; }
        mount --move "$new" /tmp && cd "$0" && CHECK_TMP=memory exec "$@"' "$top" "$@"
}
free_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
if [ -z "${CHECK_TMP:-}" ] && [ -z "${TMPDIR:-}" ] && [[ ${BUILD:-build} != /* ]] && [ "$(id -u)" -eq 0 ] && [ "$free_kib" -ge $((12 << 20)) ] &&
    unshare --mount --propagation private mount -t tmpfs tmpfs /tmp 2>/dev/null; then
    in_memory tests/run.sh
fi
# On a machine that nobody watches, what hangs is ended in time to say what it was (timeout has a process group of its own, so on a
# terminal Ctrl-C would not reach what it runs).
if [ "${CI:-}" = true ] && [ -z "${CHECK_TIMED:-}" ]; then
    CHECK_TIMED=1 exec timeout --kill-after=60 "${CHECK_SECONDS:-4200}" tests/run.sh
fi
build=$(realpath -m "${BUILD:-build}")
stages=${CHECK_STAGES:-"lint unit cli asan fuzz"}
fuzz_seconds=${CHECK_FUZZ_SECONDS:-10}
logs=$(mktemp -d "${TMPDIR:-/tmp}/check.XXXXXX")
trap 'rm -rf "$logs"' EXIT
trap out_of_time TERM
# Files at work: so many always, and so many while processors are free, for most of them wait.
always=$((2 * $(nproc))) lanes=$((6 * $(nproc)))
[ "$always" -le 4 ] || always=4
units=$((always + 3)) # unit tests at work: three of them wait nearly all of their time
[ "$lanes" -le 12 ] || lanes=12
file_seconds=1500 # a file of tests that takes longer hangs
passed=0 failed=0 skipped=0
failures=()
# What takes longest begins first, so that nothing long is left alone at the end.
longest="feasibility output guard machine journal parallel job_memory meter records_made compare_strata schemas bench report measure slurm stopped"
longest+=" serve serve_page watch hang crash_points unkillable lanes on_event energy metrics verdict stats step_power rounds resume compare submit"
longest+=" budget feasibility_counted gpu_memory_evidence report_relations guard_runs clean calibrate hostile_data report_under_way records study"
longest+=" docs_run guardian name"
# Whose clocks and samples are compared with what is known: as root they go before others, which else delay them.
timed="calibrate watch gpu_memory_evidence"
# Under sanitizers: what reads what others wrote, and each command's way through the program once (output, by names that steer a terminal).
sanitized="cli/output cli/run cli/exec cli/stats cli/audit cli/export cli/formats cli/list cli/mistakes cli/digits cli/oom cli/memory cli/gpu_memory
cli/marks cli/meter cli/repeat cli/compare cli/serve cli/on_event cli/submit attack/hostile_data attack/received attack/records fault/resume"

# A shared folder of real data lies beside the project; tests that need it skip when it is missing.
export TARE_SHARED="${TARE_SHARED:-$top/../shared}"
unset TARE_TIME_SCALE
export LC_ALL=C.UTF-8
# What they report goes to files: of many a process nobody reads the standard error, or the exit status.
reports=$logs/sanitizers
chmod 711 "$logs" && mkdir -m 1777 "$reports"
sanitizer_options=(ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99:log_path="$reports/of"
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path="$reports/of")
# Debian's own programs first: a version manager's stand-in for python3 takes longer to find the interpreter than most tests take.
PATH=/usr/bin:$PATH

say() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

wanted() { [[ " $stages " == *" $1 "* ]]; }

# out_of_time: what has not ended, and what failed until then.
out_of_time() {
    local tap
    trap '' TERM
    for tap in "$logs"/*.tap; do
        if [ -e "$tap" ] && [ ! -e "${tap%.tap}.status" ]; then failures+=("still running: $(basename "$tap" .tap), after: $(tail -n 1 "$tap")"); fi
    done
    echo "The time is over. What failed, or had not ended:"
    printf '  %s\n' "${failures[@]}"
    echo "after $SECONDS s:"
    echo "$passed passed, $((failed + 1)) failed, $skipped skipped, ended after the time for all tests was over"
    rm -rf "$logs"
    exit 1
}

# count NAME FILE STATUS: counts the TAP lines of FILE; a runner that failed without naming a test counts as one failure.
count() {
    local ok bad skip
    skip=$(grep -cE '^(not )?ok .*# *(skip|SKIP)' "$2") # cmocka says "not ok N # SKIP"
    ok=$(grep -E '^ok ' "$2" | grep -cvE '# *(skip|SKIP)')
    bad=$(grep -E '^not ok ' "$2" | grep -cvE '# *(skip|SKIP)')
    if [ "$3" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        failures+=("$1: exit status $3")
    fi
    while IFS= read -r line; do failures+=("$1: $line"); done < <(grep -E '^not ok ' "$2" | grep -vE '# *(skip|SKIP)')
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    echo "$1: $ok passed, $bad failed, $skip skipped"
}

# one NAME COMMAND...: a check that passes or fails as a whole.
one() {
    local name=$1
    shift
    if "$@" >"$logs/one" 2>&1; then
        passed=$((passed + 1))
        echo "$name: passed"
    else
        failed=$((failed + 1))
        failures+=("$name")
        cat "$logs/one"
        echo "$name: FAILED"
    fi
}

# compile DIR FLAGS...: sets up (or brings up to date) and builds.
compile() {
    local dir=$1 log=${setup_log:-$logs/setup}
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" -Dwerror="${WERROR:-false}" "$@" >"$log" 2>&1 || {
            cat "$log"
            return 1
        }
    elif [ ! -d "$dir/tests/unit" ]; then # set up before the test library was there
        meson setup --reconfigure "$dir" "$@" >"$log" 2>&1 || {
            cat "$log"
            return 1
        }
    fi
    ninja -C "$dir" --quiet
}

# ahead NAME NICE COMMAND...: something to be done while tests wait, behind them all; what came of it is seen when it is done for good.
ahead() {
    local name=$1 behind=$2
    shift 2
    mkdir "$logs/ahead.$name"
    (
        exec >/dev/null 2>&1 </dev/null
        renice -n "$behind" $BASHPID
        setup_log=$logs/ahead.$name/setup "$@"
        touch "$logs/ahead.$name/done"
    ) &
    echo $! >"$logs/ahead.$name/pid"
    disown $!
}

# is_ahead NAME: it is under way.
is_ahead() { [ -d "$logs/ahead.$1" ] && [ ! -e "$logs/ahead.$1/done" ] && kill -0 "$(cat "$logs/ahead.$1/pid")" 2>/dev/null; }

# joined NAME: it is done, if it was begun.
joined() { while is_ahead "$1"; do sleep 1; done; }

# Optimized little, and with line numbers only: it takes half the time to compile. The linker is the fastest that is there: hundreds of
# programs are linked. Nor is the program relocatable, where the linker can leave that out: half a million places of what is checked would be
# relocated at each start. What is undefined ends the program at once: code that went on behind it would be a fifth more to compile.
linker=$(for name in lld gold; do ! command -v "ld.$name" >/dev/null || echo "$name"; done | head -n 1)
compile_gcc() { compile "$build" -Dc_args=-g1; }

# Also clang's warnings, and what the fuzzer needs to see which ways were taken.
compile_sanitizers() {
    local more=(-fsanitize=fuzzer-no-link "-fsanitize-coverage-ignorelist=$top/tests/fuzz/uncovered.txt" -Wno-unused-command-line-argument
        -fno-sanitize-recover=all -g1) links=()
    local -x CC=clang
    [ -z "$linker" ] || local -x CC_LD=$linker
    if [ "$linker" = lld ]; then
        more+=(-fno-pie)
        links=(-Db_staticpic=false "-Dc_link_args=-Wl,--no-pie,--threads=1") # threads would be a quarter more for so small programs
    fi
    compile "$build-asan" -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 "-Dc_args=${more[*]}" "${links[@]}"
}

# as_built NAME COMMAND...: in the environment of the tests of that build, gcc or sanitizers.
as_built() {
    local name=$1 more=()
    shift
    [ "$name" = gcc ] || more=(TARE_SANITIZED=1 "${sanitizer_options[@]}")
    env BUILD_DIR="$(dir_of "$name")" TARE="$(dir_of "$name")/src/cli/tare" "${more[@]}" "$@"
}

dir_of() { if [ "$1" = gcc ]; then echo "$build"; else echo "$build-asan"; fi; }

# meson_tests NAME FLAGS...: the unit tests of a build, with what is said in $logs/NAME.unit and each test's output in NAME.testlog.
meson_tests() {
    local name=$1 dir options=()
    shift
    dir=$(dir_of "$name")
    [ "$name" = gcc ] || options=("${sanitizer_options[@]}")
    env "${options[@]}" meson test -C "$dir" --no-rebuild --print-errorlogs -q "$@" >"$logs/$name.unit" 2>&1
    echo $? >"$logs/$name.unit.status"
    cp "$dir/meson-logs/testlog.txt" "$logs/$name.testlog"
}

# unit NAME: counts them.
unit() {
    local name=$1 status
    status=$(cat "$logs/$name.unit.status")
    [ "$status" -eq 0 ] || cat "$logs/$name.unit"
    grep -E '^(ok|not ok) ' "$logs/$name.testlog" >"$logs/tap"
    grep -E '# *(skip|SKIP)' "$logs/$name.testlog" | sort -u | sed 's/^/  /' || true
    count "unit tests ($name)" "$logs/tap" "$status"
}

# busy: since it was asked last, processors were free for less than a fifth of the time, what is done at a lower priority left out. Then
# no more lanes than always, for the sake of the tests' clocks.
free_before=0 all_before=0
busy() {
    local user nice system idle iowait irq softirq steal free all share
    read -r _ user nice system idle iowait irq softirq steal _ </proc/stat || return 0
    free=$((nice + idle + iowait)) all=$((user + nice + system + idle + iowait + irq + softirq + steal))
    share=$((all > all_before ? 100 * (free - free_before) / (all - all_before) : 0))
    free_before=$free all_before=$all
    [ "$share" -lt 20 ]
}

# room: waits until one more may be at work.
room() {
    local at_work
    while at_work=$(jobs -rp | wc -l) && [ "$at_work" -ge "$always" ]; do
        if [ "$at_work" -ge "$lanes" ]; then
            wait -n || true
        elif busy; then
            sleep 1
        else
            return
        fi
    done
}

# A row is a file of tests and the build that it is run with: gcc:tests/cli/run.bats.
# in_order ROWS...: those named in $longest first.
in_order() {
    local name row
    for name in $longest; do
        for row in "$@"; do [[ $row != */"$name".bats ]] || echo "$row"; done
    done
    for row in "$@"; do
        name=${row##*/}
        [[ " $longest " == *" ${name%.bats} "* ]] || echo "$row"
    done
}

# Asked again and again while tests run, so without a process: how the files of what came of a row begin, and its exit status once it has ended.
declare -A log_of=()
status_of() {
    status=
    [ ! -e "${log_of[$1]}.status" ] || read -r status <"${log_of[$1]}.status"
}

# bats_start ROW and bats_end ROW: a file of tests beside others, and its results.
bats_start() {
    local log began=$SECONDS name=${1##*/} before=()
    log=${log_of[$1]}
    if [[ " $timed " == *" ${name%.bats} "* ]] && [ "$(id -u)" -eq 0 ]; then before=(nice -n -10); fi
    as_built "${1%%:*}" "${before[@]}" timeout -k 10 "$file_seconds" bats --formatter tap "${1#*:}" </dev/null >"$log.tap" 2>"$log.err"
    echo $? >"$log.code"
    times >"$log.times" # of this shell, and of what it waited for
    echo "$((SECONDS - began)) s, $(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$log.times") s of a processor" >"$log.seconds"
    mv "$log.code" "$log.status"
}

bats_end() {
    local log
    log=${log_of[$1]}
    case $(cat "$log.status") in
    124 | 137) failures+=("${1#*:tests/} (${1%%:*}): ended after $file_seconds s: it hangs") ;;
    esac
    grep -E '^not ok|^#|# skip' "$log.tap" | sed 's/^/  /' || true
    [ ! -s "$log.err" ] || tail -n 20 "$log.err"
    count "${1#*:tests/} (${1%%:*}, $(cat "$log.seconds"))" "$log.tap" "$(cat "$log.status")"
}

# may_start ROW: no file runs with both builds at once: what it finds on the machine would be the other's.
may_start() {
    [ "${1%%:*}" = gcc ] || ! wanted cli || [ -e "${log_of[gcc:${1#*:}]}.status" ]
}

# report_ended: the results of those that have ended.
declare -A under_way=()
report_ended() {
    local row status
    for row in "${!under_way[@]}"; do
        status_of "$row"
        [ -n "$status" ] || continue
        unset "under_way[$row]"
        bats_end "$row"
    done
}

# bats_beside ROWS...: several at a time. Those of the sanitizers take their place as soon as these are built.
bats_beside() {
    local left=() later=() rest row next
    for row in "$@"; do
        next=${row/tests\//}
        next=${next/:/.}
        log_of[$row]=$logs/${next//\//.}
        if [ "${row%%:*}" = gcc ]; then left+=("$row"); else later+=("$row"); fi
    done
    mapfile -t left < <(in_order "${left[@]}")
    while [ $((${#left[@]} + ${#later[@]})) -gt 0 ]; do
        if [ ${#later[@]} -gt 0 ] && { [ ${#left[@]} -eq 0 ] || ! is_ahead asan; }; then
            joined asan
            one "build (sanitizers)" compile_sanitizers
            mapfile -t left < <(in_order "${left[@]}" "${later[@]}")
            later=()
        fi
        room
        report_ended
        next='' rest=()
        for row in "${left[@]}"; do
            if [ -z "$next" ] && may_start "$row"; then next=$row; else rest+=("$row"); fi
        done
        if [ -z "$next" ]; then
            sleep 1
            continue
        fi
        left=("${rest[@]}")
        under_way[$next]=yes
        bats_start "$next" &
    done
}

# fuzz TARGET: for a while, from its corpus; its last line is "ok" when nothing was found. The fuzzer's limit for one input is of time that
# passes, which on a busy machine is not the input's fault: an input is too slow when it needs that much of a processor.
fuzz() {
    local name limit_s=20
    name=$(basename "$1")
    local corpus=$logs/$name.corpus artifacts=$logs/$name.found. more=()
    mkdir "$corpus"
    [ ! -f "tests/fuzz/${name#fuzz_}.dict" ] || more+=("-dict=tests/fuzz/${name#fuzz_}.dict")
    more+=("$corpus")
    [ ! -d "tests/fuzz/corpus/${name#fuzz_}" ] || more+=("tests/fuzz/corpus/${name#fuzz_}")
    if "$1" -max_total_time="$fuzz_seconds" -timeout=$limit_s -rss_limit_mb=2048 -print_funcs=0 -artifact_prefix="$artifacts" "${more[@]}" ||
        { compgen -G "${artifacts}timeout-*" && prlimit --cpu=$limit_s "$1" -timeout=0 "${artifacts}"timeout-*; }; then
        echo ok
    fi
    rm -rf "$corpus"
}

# fuzz_all: each target, on half of the processors.
fuzz_all() {
    local target most=$((($(nproc) + 1) / 2))
    for target in "$build-asan"/tests/fuzz/fuzz_*; do
        if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
        while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || true; done
        fuzz "$target" >"$logs/$(basename "$target").log" 2>&1 &
    done
    wait
}

# no_report: even one that cannot be read is one. That a thread ended while the leak check began is not.
no_report() {
    sed -i '/^==[0-9]*==Unable to get registers from thread [0-9]*\.$/d' "$reports"/* 2>/dev/null || true
    find "$reports" -type f -empty -delete
    cat "$reports"/* 2>/dev/null || true
    [ -z "$(ls -A "$reports")" ]
}

tail_of() {
    tail -n 60 "$1"
    [ "$(tail -n 1 "$1")" = ok ]
}

# hide_still_counters: energy counters that stand still, as virtual machines have them, cost each command that measures 0.2 s of a processor,
# until that is proven. Where there are no others, the tests see none; only in a mount namespace that is ours (in_memory).
hide_still_counters() {
    [ -n "${CHECK_OUTSIDE:-}" ] && [ "$(readlink /proc/self/ns/mnt)" != "$CHECK_OUTSIDE" ] || return 0
    { "$build/src/cli/tare" doctor --json 2>/dev/null || true; } | python3 -c '
import json, sys
checks = json.load(sys.stdin)["checks"]
counters = [check for check in checks if str((check.get("data") or {}).get("source")).startswith("rapl")]
still = [check for check in counters if check["data"]["source"] == "rapl-perf" and "stands still" in (check["reason"] or "")]
sys.exit(not counters or len(still) < len(counters))' || return 0
    ! mount -t tmpfs tmpfs /sys/devices/power 2>/dev/null || echo "energy counters stand still here: hidden from the tests"
}

if wanted lint; then
    say "the house: who may include whom"
    one architecture tests/architecture.sh
    one "words that nobody reads here" python3 tests/words.py
    one "format, shell scripts, measures" tools/lint.sh format shell measures
    one "the program that measures" python3 tests/measure_test.py
fi
if wanted lint || wanted unit || wanted cli; then
    say "gcc"
    one "build (gcc)" compile_gcc
    one "every name is defined once" tests/symbols.sh "$build"
    # All of src takes minutes: make lint.
    if wanted lint; then one "clang-tidy of what changed" env BUILD="$build" tools/lint.sh tidy-changed; fi
    hide_still_counters
fi
# While tests wait the other build is made, and its targets are fuzzed, behind them.
fuzz_after_build() {
    joined asan
    fuzz_all
}
if wanted asan || wanted fuzz; then ahead asan 10 compile_sanitizers; fi
if wanted fuzz; then ahead fuzzing 15 fuzz_after_build; fi
if wanted unit; then
    say "unit tests (gcc)"
    meson_tests gcc --suite unit --num-processes "$units"
    unit gcc
fi
rows=()
if wanted cli; then
    for file in tests/slurm/*.bats tests/cli/*.bats tests/fault/*.bats tests/attack/*.bats; do rows+=("gcc:$file"); done
fi
if wanted asan; then
    for name in $sanitized; do rows+=("sanitizers:tests/$name.bats"); done
fi
# All tests that look at pages share one browser, which ends when its folder is gone.
if wanted cli && command -v node >/dev/null && [ -d node_modules/playwright-core ]; then
    export PAGE_BROWSER=$logs/browser
    mkdir "$PAGE_BROWSER"
    node tests/page/browser.cjs "$PAGE_BROWSER" </dev/null >"$PAGE_BROWSER.log" 2>&1 &
    disown
fi
if [ ${#rows[@]} -gt 0 ]; then
    say "files of tests: gcc, and address and undefined-behaviour sanitizers"
    bats_beside "${rows[@]}"
fi
wait
report_ended
for row in "${!under_way[@]}"; do one "$row has an exit status" false; done
if wanted asan; then
    say "unit tests (sanitizers)"
    # Simulations of numbers alone take minutes there, and call nothing that the others do not.
    meson_tests sanitizers --suite unit --no-suite statistics --num-processes "$units"
fi
if wanted fuzz; then say "fuzz targets, $fuzz_seconds s each"; fi
joined fuzzing
if wanted asan; then unit sanitizers; elif wanted fuzz; then one "build (sanitizers)" compile_sanitizers; fi
if wanted asan; then one "no process of theirs had anything to report (sanitizers)" no_report; fi
if wanted fuzz; then
    for target in "$build-asan"/tests/fuzz/fuzz_*; do
        if [ -f "$target" ] && [ -x "$target" ]; then one "$(basename "$target")" tail_of "$logs/$(basename "$target").log"; fi
    done
fi

echo
if [ ${#failures[@]} -gt 0 ]; then
    echo "What failed:"
    printf '  %s\n' "${failures[@]}"
fi
echo "after $SECONDS s:"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
