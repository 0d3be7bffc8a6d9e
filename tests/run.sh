#!/usr/bin/env bash
# make check: every test, in three builds: gcc; gcc with address and undefined-behaviour sanitizers; clang's fuzzer, briefly. What fails
# is printed where it fails and named again at the end; the last line counts. Skipped tests say why.
#   CHECK_STAGES="lint unit cli asan fuzz"   which stages (default: all)     CHECK_FUZZ_SECONDS=10   seconds for each fuzz target
#   CHECK_TMP=disk   leaves /tmp as it is. As root /tmp is in memory, for these tests alone: they make and sync thousands of small files.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
top=$PWD

# in_memory COMMAND...: with a /tmp in memory, in a mount namespace of its own; the folder of /tmp that holds this checkout stays there.
in_memory() {
    # shellcheck disable=SC2016 # $0 and the others are the inner shell's
    exec unshare --mount --propagation private bash -c '
        new=$(mktemp -d) && mount -t tmpfs -o mode=1777,size=60% tmpfs "$new" || exit 125
        kept=${0#/tmp/}
        kept=${kept%%/*}
        [[ $0 != /tmp/* ]] || { mkdir "$new/$kept" && mount --bind "/tmp/$kept" "$new/$kept"; } || exit 125
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
lanes=$((4 * $(nproc))) # they mostly wait
[ "$lanes" -le 8 ] || lanes=8
file_seconds=600 # a file of tests that takes longer hangs
passed=0 failed=0 skipped=0
failures=() flaky=()
# What takes longest begins first, so that nothing long is left alone at the end.
longest="feasibility name report journal guard parallel guardian machine hostile_data meter report_study job_memory slurm output bench measure rounds"
longest+=" crash_points survivors lanes submit run resume study stats verdict compare_strata schemas serve serve_page docs_run watch notify metrics"
# Under sanitizers: what reads what others wrote, and each command's way through the program once.
sanitized="cli/run cli/exec cli/stats cli/audit cli/export cli/formats cli/output cli/list cli/mistakes cli/digits cli/energy cli/oom
cli/memory cli/gpu_memory cli/marks cli/meter cli/repeat cli/compare cli/verdict cli/submit cli/serve cli/notify cli/otlp attack/hostile_data attack/received
attack/records fault/resume"

# A shared folder of real data lies beside the project; tests that need it skip when it is missing.
export TARE_SHARED="${TARE_SHARED:-$top/../shared}"
unset TARE_TIME_SCALE
export LC_ALL=C.UTF-8
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
    # shellcheck disable=SC2086 # a list of words
    ninja -C "$dir" --quiet ${build_jobs:+-j"$build_jobs"} ${targets:-}
}

# ahead NAME COMMAND...: something to be built while tests wait, at the lowest priority; what came of it is seen when it is built for good.
ahead() {
    local name=$1
    shift
    mkdir "$logs/ahead.$name"
    (
        exec >/dev/null 2>&1 </dev/null
        renice -n 19 $BASHPID
        setup_log=$logs/ahead.$name/setup build_jobs=1 "$@"
        touch "$logs/ahead.$name/done"
    ) &
    echo $! >"$logs/ahead.$name/pid"
    disown $!
}

# joined NAME: it is done, if it was begun.
joined() {
    [ ! -d "$logs/ahead.$1" ] || while [ ! -e "$logs/ahead.$1/done" ] && kill -0 "$(cat "$logs/ahead.$1/pid")" 2>/dev/null; do sleep 1; done
}

# Optimized little, and with line numbers only: it takes half the time to compile. Warnings are gcc's build's, where all is optimized.
compile_asan() { WERROR=false compile "$build-asan" -Db_sanitize=address,undefined -Doptimization=1 -Dc_args=-g1; }

compile_fuzz() {
    CC=clang targets=fuzz_targets compile "$build-fuzz" -Dfuzz=true -Dtests=false -Dc_args=-fsanitize=fuzzer-no-link \
        -Db_sanitize=address,undefined -Db_lundef=false
}

# unit DIR NAME FLAGS...: flags of meson test.
unit() {
    local dir=$1 name=$2 status=0 names again=0
    shift 2
    meson test -C "$dir" --no-rebuild --suite unit "$@" --print-errorlogs -q --num-processes $((lanes / 2)) >"$logs/unit" 2>&1 || status=$?
    cp "$dir/meson-logs/testlog.txt" "$logs/testlog"
    grep -E '^(ok|not ok) ' "$logs/testlog" >"$logs/tap"
    if [ $status -ne 0 ]; then
        cat "$logs/unit"
        # As with the files below: once more, alone, and that counts.
        names=$(sed -nE 's/^ *[0-9]+\/[0-9]+ (.* \/ )?([a-z0-9_]+) +(FAIL|TIMEOUT|ERROR) .*/\2/p' "$logs/unit" | sort -u)
        if [ -n "$names" ]; then
            echo "$name: once more, alone: ${names//$'\n'/ }"
            # shellcheck disable=SC2086
            meson test -C "$dir" --no-rebuild --print-errorlogs -q --num-processes 1 $names >"$logs/unit" 2>&1 || again=$?
            cat "$logs/unit"
            { grep -E '^ok ' "$logs/testlog" && grep -E '^not ok ' "$dir/meson-logs/testlog.txt"; } >"$logs/tap" || true
            # shellcheck disable=SC2206
            [ $again -ne 0 ] || flaky+=($names)
            status=$again
        fi
    fi
    grep -E '# *(skip|SKIP)' "$logs/testlog" | sort -u | sed 's/^/  /' || true
    count "$name" "$logs/tap" $status
}

# busy: since it was asked last, processors were free for less than a third of the time, what is built at the lowest priority left out. Then
# half as many lanes, for the sake of the tests' clocks.
free_before=0 all_before=0
busy() {
    local user nice system idle iowait irq softirq steal free all share
    read -r _ user nice system idle iowait irq softirq steal _ </proc/stat || return 0
    free=$((nice + idle + iowait)) all=$((user + nice + system + idle + iowait + irq + softirq + steal))
    share=$((all > all_before ? 100 * (free - free_before) / (all - all_before) : 0))
    free_before=$free all_before=$all
    [ "$share" -lt 33 ]
}

# room: waits until one more may be at work.
room() {
    local at_work
    while at_work=$(jobs -rp | wc -l) && [ "$at_work" -ge $((lanes / 2)) ]; do
        if [ "$at_work" -ge "$lanes" ]; then
            wait -n || true
        elif busy; then
            sleep 1
        else
            return
        fi
    done
}

# in_order FILES...: those named in $longest first.
in_order() {
    local name file
    for name in $longest; do
        for file in "$@"; do [[ $file != */"$name".bats ]] || echo "$file"; done
    done
    for file in "$@"; do
        name=${file##*/}
        [[ " $longest " == *" ${name%.bats} "* ]] || echo "$file"
    done
}

# log_of FILE: how what came of it begins.
log_of() {
    local name=${1#tests/}
    echo "$logs/${name//\//.}"
}

# bats_start DIR FILE and bats_end NAME FILE: a file of tests beside others, and what came of it, in order.
bats_start() {
    local log began=$SECONDS
    log=$(log_of "$2")
    BUILD_DIR="$1" TARE="$1/src/cli/tare" timeout -k 10 "$file_seconds" bats --timing --formatter tap "$2" </dev/null >"$log.tap" 2>"$log.err"
    echo $? >"$log.status"
    times >"$log.times" # of this shell, and of what it waited for
    echo "$((SECONDS - began)) s, $(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$log.times") s of a processor" >"$log.seconds"
}

# bats_again DIR FILE: its failed tests once more, alone; what they say now stands for what they said.
bats_again() {
    local log names status=0
    log=$(log_of "$2")
    names=$(sed -nE 's/^not ok [0-9]+ (.*) in [0-9]+ms$/\1/p' "$log.tap" | sed 's/[][\.*^$+?(){}|]/\\&/g' | paste -sd '|')
    if [ -z "$names" ]; then # it ended before it named a test
        bats_start "$1" "$2"
        return
    fi
    BUILD_DIR="$1" TARE="$1/src/cli/tare" timeout -k 10 "$file_seconds" bats --timing --formatter tap --filter "^($names)\$" "$2" </dev/null >"$log.again" \
        2>"$log.err" || status=$?
    awk '/^(not )?ok /{ keep = /^ok / } /^1\.\./ || keep' "$log.tap" >"$log.kept"
    cat "$log.kept" "$log.again" >"$log.tap"
    echo $status >"$log.status"
}

bats_end() {
    local log
    log=$(log_of "$2")
    grep -E '^not ok|^#|# skip' "$log.tap" | sed 's/^/  /' || true
    [ ! -s "$log.err" ] || tail -n 20 "$log.err"
    count "${2#tests/} ($1, $(cat "$log.seconds"))" "$log.tap" "$(cat "$log.status")"
}

# bats_files NAME DIR FILES...: several at a time, for most of them wait more than they compute.
bats_files() {
    local name=$1 dir=$2 file
    shift 2
    while IFS= read -r file; do
        room
        bats_start "$dir" "$file" &
    done < <(in_order "$@")
    wait
    for file in "$@"; do
        # Beside others a machine may be too slow for what is timed: what failed then is tried once more, alone, and that counts;
        # the last line names it.
        case $(cat "$(log_of "$file").status") in
        0) ;;
        124 | 137) failures+=("${file#tests/} ($name): ended after $file_seconds s: it hangs") ;;
        *)
            echo "${file#tests/} ($name): once more, alone, after:"
            grep -E '^not ok|^#' "$(log_of "$file").tap" | sed 's/^/    /'
            joined asan
            joined fuzz
            bats_again "$dir" "$file"
            [ "$(cat "$(log_of "$file").status")" -ne 0 ] || flaky+=("${file#tests/}")
            ;;
        esac
        bats_end "$name" "$file"
    done
}

# fuzz TARGET: for a while, from its corpus; its last line is "ok" when nothing was found.
fuzz() {
    local name
    name=$(basename "$1")
    local corpus=$logs/$name.corpus more=()
    mkdir "$corpus"
    [ ! -f "tests/fuzz/${name#fuzz_}.dict" ] || more+=("-dict=tests/fuzz/${name#fuzz_}.dict")
    more+=("$corpus")
    [ ! -d "tests/fuzz/corpus/${name#fuzz_}" ] || more+=("tests/fuzz/corpus/${name#fuzz_}")
    "$1" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=2048 -artifact_prefix="$logs/" "${more[@]}" && echo ok
    rm -rf "$corpus"
}

tail_of() {
    tail -n 60 "$1"
    [ "$(tail -n 1 "$1")" = ok ]
}

if wanted lint; then
    say "the house: who may include whom"
    one architecture tests/architecture.sh
    one "words that nobody reads here" python3 tests/words.py
fi
if wanted unit || wanted cli; then
    say "gcc"
    one "build (gcc)" compile "$build"
    one "every name is defined once" tests/symbols.sh "$build"
fi
if wanted unit; then unit "$build" "unit tests (gcc)"; fi
if wanted cli; then
    if wanted asan; then ahead asan compile_asan; fi
    bats_files gcc "$build" tests/slurm/*.bats tests/cli/*.bats tests/fault/*.bats tests/attack/*.bats
fi
if wanted asan; then
    say "address and undefined-behaviour sanitizers"
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    joined asan
    one "build (sanitizers)" compile_asan
# Simulations of numbers alone take minutes there, and call nothing that the others do not.
    unit "$build-asan" "unit tests (sanitizers)" --no-suite statistics
    export TARE_SANITIZED=1
    if wanted fuzz; then ahead fuzz compile_fuzz; fi
    files=()
    for name in $sanitized; do files+=("tests/$name.bats"); done
    bats_files sanitizers "$build-asan" "${files[@]}"
    unset TARE_SANITIZED ASAN_OPTIONS UBSAN_OPTIONS
fi
if wanted fuzz; then
    say "fuzz targets, $fuzz_seconds s each"
    joined fuzz
    one "build (clang, fuzzer)" compile_fuzz
    one "warnings (clang)" tests/clang_warnings.py "$build-fuzz"
    targets=()
    for target in "$build-fuzz"/tests/fuzz/fuzz_*; do
        if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
        targets+=("$target")
        room
        fuzz "$target" >"$logs/$(basename "$target").log" 2>&1 &
    done
    wait
    for target in "${targets[@]}"; do
        one "$(basename "$target")" tail_of "$logs/$(basename "$target").log"
    done
fi

echo
if [ ${#failures[@]} -gt 0 ]; then
    echo "What failed:"
    printf '  %s\n' "${failures[@]}"
fi
echo "after $SECONDS s:"
echo "$passed passed, $failed failed, $skipped skipped${flaky[*]:+, ${#flaky[@]} flaky (${flaky[*]})}"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
