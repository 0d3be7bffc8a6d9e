#!/usr/bin/env bats
# A job's own GPU memory: libtare-cuda.so in programs that use a stand-in driver (tests/fake/cuda), which counts too.

load runs

GIB=1073741824 MIB=1048576

setup() {
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/gpu-memory.XXXXXX")
    export XDG_STATE_HOME=$WORK/state XDG_CONFIG_HOME=$WORK/config TARE_LOCK_DIR=$WORK/locks TERM=dumb
    unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND TARE_TIME_SCALE LD_PRELOAD
    BUILT=$(cd "$(dirname "$TARE")/../.." && pwd)
    PROGRAM=$BUILT/tests/preload/preload_program
    [ -x "$PROGRAM" ] || skip "the test programs are not built"
    # Only the stand-in's folder: what asks NVML finds none, and assumes 512 MiB for a context.
    export LD_LIBRARY_PATH=$BUILT/tests/fake/cuda
    unset FAKE_CUDA_TOTAL FAKE_CUDA_GPUS FAKE_CUDA_COUNT FAKE_CUDA_PRIVATE
    cd "$WORK" || return 1
}

# followed OPTIONS... -- COMMAND: under exec; its figures are in out.json.
followed() { "$TARE" exec --json out.json "$@"; }

# of GPU KEY [FILE]: a figure of out.json, of the GPU whose UUID ends in that digit.
of() {
    python3 - "$1" "$2" "${3:-out.json}" <<'END'
import json, sys
found = json.load(open(sys.argv[3]))
for one in [g for g in found["gpu_memory"]["gpus"] if g["uuid"].endswith(sys.argv[1])]:
    print({None: "null"}.get(one[sys.argv[2]], one[sys.argv[2]]))
END
}

# A file in which the stand-in counts for all processes; physical_peak: of GPU 0.
count_all() {
    truncate -s 4096 count
    export FAKE_CUDA_COUNT=$WORK/count
}
physical_peak() { python3 -c 'import struct; print(struct.unpack("QQQQQ", open("count", "rb").read(40))[3])'; }

# 3 000 000 + 1 000 live, 3 000 000 + 7 777 777 + 1 000 at the peak (tests/preload/program.c).
plain_is_followed() {
    followed --track-gpu-memory -- "$@" >told
    cat told out.json
    grep -q "^gpu 0 asked 3001000 peak 10778777$" told
    [ "$(of 0 live_bytes)" -eq 3001000 ]
    [ "$(of 0 live_peak_bytes)" -eq 10778777 ]
    [ "$(of 0 limit_bytes)" = null ]
}

@test "a program that is linked to the driver is counted to the byte" {
    plain_is_followed "$BUILT/tests/preload/preload_program_linked" link plain
}

@test "figures that somebody wrote into the shared table are added to, and subtracted from, without an overflow" {
    followed --track-gpu-memory -- "$PROGRAM" dlsym written
}

@test "so is one that finds the driver's functions by dlsym, with a handle and without" {
    plain_is_followed "$PROGRAM" dlsym plain
    plain_is_followed "$PROGRAM" default plain
    plain_is_followed "$PROGRAM" next plain
}

@test "so is one that asks cuGetProcAddress, in both its forms, also for itself" {
    plain_is_followed "$PROGRAM" proc plain
    plain_is_followed "$PROGRAM" proc2 plain
}

@test "so is one to which cuGetProcAddress gives functions that no symbol names" {
    FAKE_CUDA_PRIVATE=1 plain_is_followed "$PROGRAM" proc plain
}

@test "memory of streams counts on its GPU, and goes with pools and contexts" {
    followed --track-gpu-memory -- "$PROGRAM" dlsym async >told
    grep -q "^gpu 0 asked 0 peak 4096$" told
    grep -q "^gpu 1 asked 5000 peak 3000000$" told
    [ "$(of 0 live_bytes)" -eq 0 ]
    [ "$(of 0 live_peak_bytes)" -eq 4096 ]
    [ "$(of 1 live_bytes)" -eq 5000 ]
    [ "$(of 1 live_peak_bytes)" -eq 3000000 ]
    [ "$(of 1 held_bytes)" -eq $((32 * MIB)) ] # what the pool has reserved
    PER_THREAD=1 followed --track-gpu-memory -- "$PROGRAM" proc2 async >told
    [ "$(of 1 live_bytes)" -eq 5000 ]
}

@test "memory of every kind is counted to the byte: virtual, arrays, pitched, managed, of pools" {
    followed --track-gpu-memory -- "$BUILT/tests/preload/preload_kinds" >told
    cat told out.json
    # Left: a mapping of 4 MiB and an imported 2 MiB; arrays; 1024 x 100; managed; one allocation of the pool.
    left=$((6 * MIB + 1048576 + 65536 + 5376 + 102400 + 5000000 + 1000000))
    grep -q "^gpu 0 asked $left " told
    [ "$(of 0 live_bytes)" -eq "$left" ]
    # At the peak also the 40 MiB that were freed again; what a captured stream allocates is the graph's.
    [ "$(of 0 live_peak_bytes)" -eq $((left + 40 * MIB)) ]
    # In pages: 6 MiB, 1 MiB, 65 536, 5 632, 102 400, 6 MiB for 5 000 000; the pool has kept 32 MiB.
    [ "$(of 0 held_bytes)" -eq $((6 * MIB + MIB + 65536 + 5632 + 102400 + 6 * MIB + 32 * MIB)) ]
}

@test "eight threads at once are counted to the byte" {
    ROUNDS=3000 followed --track-gpu-memory -- "$PROGRAM" dlsym threads >told
    cat told out.json
    for gpu in 0 1; do
        read -r live peak < <(sed -n "s/^gpu $gpu asked \([0-9]*\) peak \([0-9]*\)$/\1 \2/p" told)
        [ "$(of $gpu live_bytes)" -eq "$live" ]
        # In which order two threads' calls were counted may differ: by one allocation (3 MB) of each of the four.
        difference=$(($(of $gpu live_peak_bytes) - peak))
        [ "${difference#-}" -le 12000000 ]
    done
}

@test "without the library the same program does the same" {
    "$PROGRAM" dlsym plain >alone
    followed --track-gpu-memory -- "$PROGRAM" dlsym plain >loaded
    cmp alone loaded
}

@test "strange callers of dlsym notice nothing, with and without a driver" {
    LD_LIBRARY_PATH='' "$BUILT/tests/preload/preload_strange"
    LD_LIBRARY_PATH='' followed --track-gpu-memory -- "$BUILT/tests/preload/preload_strange"
    "$BUILT/tests/preload/preload_strange" driver
    followed --track-gpu-memory -- "$BUILT/tests/preload/preload_strange" driver
}

@test "a limit refuses with the driver's own error, is never exceeded, and can be reached; free and total show it" {
    count_all
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym full >told
    cat told out.json
    # Of 2 GiB the context's 512 MiB are gone; the pieces go down to 512 bytes, so all the rest is had.
    grep -q "^free $((1536 * MIB)) total $((2 * GIB)) device $((2 * GIB))$" told
    grep -q "^got $((1536 * MIB))$" told
    grep -q "^free 0 total $((2 * GIB)) device $((2 * GIB))$" told
    [ "$(physical_peak)" -eq $((1536 * MIB)) ]
    [ "$(of 0 footprint_peak_bytes)" -eq $((2 * GIB)) ]
    [ "$(of 0 over_limit_bytes)" -eq 0 ]
    [ "$(of 0 refused)" -gt 0 ]
    [ "$(of 0 context_source)" = assumed ]
}

@test "a share of the GPU's memory is a limit too" {
    FAKE_CUDA_TOTAL=$((4 * GIB)) followed --gpu-memory-limit 50% -- "$PROGRAM" dlsym full >told
    grep -q "^got $((1536 * MIB))$" told
    [ "$(of 0 limit_bytes)" -eq $((2 * GIB)) ]
}

@test "a limit above what the GPU has changes nothing" {
    FAKE_CUDA_TOTAL=$((1 * GIB)) followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym full >told
    grep -q "^free $GIB total $GIB device $GIB$" told
    grep -q "^got $GIB$" told
}

@test "eight threads that want all there is never exceed the limit" {
    count_all
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym full_threads
    [ "$(physical_peak)" -eq $((1536 * MIB)) ]
    [ "$(of 0 over_limit_bytes)" -eq 0 ]
}

@test "what pools keep counts towards the limit, which is nearly reached and never exceeded" {
    count_all
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym full_async >told
    cat told out.json
    [ "$(physical_peak)" -le $((1536 * MIB)) ]
    [ "$(physical_peak)" -ge $((1536 * MIB - 32 * MIB)) ] # one step of a pool
    [ "$(of 0 over_limit_bytes)" -eq 0 ]
}

@test "processes of one job share its limit" {
    count_all
    # Four contexts are assumed when all have come: they together stay below.
    followed --gpu-memory-limit 4GiB -- "$PROGRAM" dlsym crowd
    cat out.json
    [ "$(physical_peak)" -le $((4096 * MIB - 512 * MIB)) ]
    [ "$(physical_peak)" -ge $((2048 * MIB)) ]
    [ "$(of 0 refused)" -ge 4 ]
    python3 -c 'import json; assert len(json.load(open("out.json"))["gpu_memory"]["processes"]) == 4'
}

@test "what a process held is free again when it is gone" {
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym children >told
    [ "$(grep -c "^got $((1536 * MIB))$" told)" -eq 3 ]
}

@test "what a process held is free again when another program takes its place" {
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym exec >told
    grep -q "^got $((1536 * MIB))$" told
}

@test "a forked child has none of its parent's memory and frees none of it" {
    followed --track-gpu-memory -- "$PROGRAM" dlsym forked
    [ "$(of 0 live_bytes)" -eq 123456 ]
}

@test "the limit holds where programs close descriptors that they do not know, under every containment" {
    cat >closes.py <<'END'
import os, subprocess, sys
subprocess.run(sys.argv[1:], close_fds=True, check=True)
END
    for mode in auto sweep; do
        followed --containment $mode --gpu-memory-limit 2GiB -- python3 closes.py "$PROGRAM" dlsym full >told
        grep -q "^got $((1536 * MIB))$" told
    done
}

# got N...: the job's lines "got" and "then" tell these MiB, in this order.
got() {
    is "$(sed -n 's/^\(got\|then\) //p' told | tr '\n' ' ')" "$(for mib; do printf '%s ' $((mib * MIB)); done)"
}

@test "a process at its limit of open files keeps its memory counted and its limit, also when it reached it first" {
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym files >told
    got 1436 0 # of 1536 beside the context, 100 were had before
    [ "$(of 0 live_bytes)" -eq $((1536 * MIB)) ]
    [ "$(of 0 footprint_peak_bytes)" -eq $((2 * GIB)) ]
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym files_before >told
    got 1536
    grep -q "^free 0 total $((2 * GIB)) " told
}

@test "a process at its limit of open files takes no other for dead; one that is dead it does" {
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym files_beside >told
    # Two contexts and 500 of the other's: 524 are left; then the other's 500 and its context.
    got 524 1012
    [ "$(of 0 over_limit_bytes)" -eq 0 ]
}

@test "a process whose first thread has ended lives, and what it holds counts" {
    followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym leader >told
    got 524
}

@test "processes that were never alive together do not add up to a peak, killed ones and unwaited ones included" {
    followed --track-gpu-memory -- "$PROGRAM" dlsym generations >told
    cat told out.json
    # 100 + 2000; 400 + 1500; 600 + 1000.
    [ "$(of 0 live_peak_bytes)" -eq $((2100 * MIB)) ]
    [ "$(of 0 held_peak_bytes)" -eq $((2100 * MIB)) ]
    [ "$(of 0 footprint_peak_bytes)" -eq $((2100 * MIB)) ]
}

@test "what a dead process held is free for those that live and those that come" {
    followed --gpu-memory-limit 4GiB -- "$PROGRAM" dlsym info_after >told
    cat told
    # A context is assumed to have 512: twice one is alive, at the end two.
    [ "$(grep -c "^free $((3584 * MIB)) total $((4 * GIB)) " told)" -eq 2 ]
    [ "$(grep -c "^free $((3072 * MIB)) total $((4 * GIB)) " told)" -eq 1 ]
}

@test "a request that the driver refuses raises no peak and is told apart" {
    followed --track-gpu-memory -- "$PROGRAM" dlsym refused
    cat out.json
    [ "$(of 0 live_peak_bytes)" -eq $((5 * MIB)) ]
    [ "$(of 0 held_peak_bytes)" -eq $((6 * MIB)) ]
    [ "$(of 0 footprint_peak_bytes)" -eq $((6 * MIB)) ]
    [ "$(of 0 driver_refused)" -eq 4 ]
    [ "$(of 0 driver_refused_most_bytes)" -eq $((100 * GIB)) ]
    [ "$(of 0 refused_most_bytes)" = null ]
    python3 -c 'import json; use = json.load(open("out.json"))["gpu_memory"]["processes"][0]["gpus"][0]
assert use["held_peak_bytes"] == 6 << 20 and use["live_peak_bytes"] == 5 << 20 and use["allocations"] == 1, use'
}

@test "so does one that the limit refuses" {
    followed --gpu-memory-limit 4GiB -- "$PROGRAM" dlsym refused
    cat out.json
    [ "$(of 0 held_peak_bytes)" -eq $((6 * MIB)) ]
    [ "$(of 0 footprint_peak_bytes)" -eq $((518 * MIB)) ] # with the context
    [ "$(of 0 refused)" -ge 4 ]
    [ "$(of 0 refused_most_bytes)" -eq $((100 * GIB)) ]
    [ "$(of 0 driver_refused)" -eq 0 ]
    [ "$(of 0 driver_refused_most_bytes)" = null ]
}

@test "each version of cuGetProcAddress's functions gets its own parameters, exported or not" {
    for private in '' 1; do
        FAKE_CUDA_PRIVATE=$private followed --gpu-memory-limit 4GiB -- "$PROGRAM" dlsym abis
        [ "$(of 1 live_bytes)" -eq 0 ]
        [ "$(of 1 live_peak_bytes)" -eq 1000 ] # they were followed
        [ "$(of 1 context_bytes)" -eq $((512 * MIB)) ]
    done
}

@test "functions of a driver newer than the known ones go to the program untouched" {
    FAKE_CUDA_VERSION=13020 followed --track-gpu-memory -- "$PROGRAM" dlsym future >told
    cat told out.json
    grep -q "^gpu 0 asked 1000 peak 1000$" told # by the unknown function
    [ "$(of 0 live_peak_bytes)" -eq 0 ]
    [ "$(of 1 live_peak_bytes)" -eq 1000 ] # by the known ones
}

@test "a runner at a low limit of open files makes its table, or names that limit as the reason" {
    exec 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- # what the caller holds open would move each limit
    for limit in {8..32} 64; do
        (ulimit -n $limit; followed --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym full >told 2>said 3>&-) || {
            cat said
            grep -q "Too many open files" said
            [ "$(grep -c "Invalid argument" said)" -eq 0 ]
            [ $limit -lt 32 ]
            continue
        }
        grep -q "^got $((1536 * MIB))$" told
        [ "$(of 0 limit_bytes)" -eq $((2 * GIB)) ]
        held_at=$limit
    done
    [ "$held_at" -eq 64 ]
}

@test "the user's own LD_PRELOAD stays, before the library" {
    job 'echo "preload $LD_PRELOAD"'
    settings 1 '"environment": {"LD_PRELOAD": "libm.so.6"}' '"track_gpu_memory": true'
    tare_run
    grep -q '^preload libm.so.6:/.*libtare-cuda.so$' "$(run_dir)"/*/training.log
}

@test "an ordinary user's programs are held to their limit, also where descriptors were closed" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    command -v setpriv >/dev/null || skip "there is no setpriv"
    HERE=$(mktemp -d /tmp/gpu-memory-user.XXXXXX)
    cp "$TARE" "$BUILT/src/gpu_memory/preload/libtare-cuda.so" "$PROGRAM" "$LD_LIBRARY_PATH/libcuda.so.1" "$HERE"
    printf 'import subprocess, sys\nsubprocess.run(sys.argv[1:], close_fds=True, check=True)\n' >"$HERE/closes.py"
    chmod 777 "$HERE"
    python=$(command -v python3)
    as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$HERE" TMPDIR="$HERE" \
        XDG_STATE_HOME="$HERE/state" TARE_CUDA_LIBRARY="$HERE/libtare-cuda.so" LD_LIBRARY_PATH="$HERE" "$@"; }
    as_user "$HERE/$NAME" exec true || { rm -rf "$HERE"; skip "another user cannot run the program here"; }
    as_user "$python" -c '' || python=
    for mode in auto sweep; do
        as_user "$HERE/$NAME" exec --containment $mode --gpu-memory-limit 2GiB -- "$HERE/preload_program" dlsym full >told
        cat told
        grep -q "^got $((1536 * MIB))$" told
        [ -n "$python" ] || continue
        as_user "$HERE/$NAME" exec --containment $mode --gpu-memory-limit 2GiB -- "$python" "$HERE/closes.py" \
            "$HERE/preload_program" dlsym full >told
        grep -q "^got $((1536 * MIB))$" told
    done
    rm -rf "$HERE"
}

@test "a trace holds every allocation and every free" {
    "$TARE" exec --gpu-memory-trace trace -- "$PROGRAM" dlsym plain
    python3 - <<'END'
import struct
data = open("trace", "rb").read()
assert len(data) % 32 == 0
events = [struct.unpack("<QQQiBBH", data[i:i + 32]) for i in range(0, len(data), 32)]
assert [(e[4], e[2]) for e in events] == [(1, 3000000), (1, 7777777), (1, 1000), (2, 7777777)], events
assert events[1][1] == events[3][1] and all(a[0] <= b[0] for a, b in zip(events, events[1:]))
END
}

@test "what was counted is said on standard error without a file" {
    run --separate-stderr "$TARE" exec --gpu-memory-limit 2GiB -- "$PROGRAM" dlsym plain
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"GPU memory: at most 10.3 MiB allocated on one GPU by 1 process"* ]]
    [[ "$stderr" == *"GPU memory: limit 2GiB, 0 requests refused"* ]]
    run --separate-stderr "$TARE" exec --gpu-memory-limit 2GiB -- true
    [[ "$stderr" == *"no process of the command asked the CUDA driver for any"* ]]
}

@test "exec refuses a limit that is none, and a library that is not there or not for this machine" {
    for wrong in 8Gib/s 0 1000 0% 101% -5% abc ""; do
        run --separate-stderr "$TARE" exec --gpu-memory-limit="$wrong" -- true
        [ "$status" -eq 125 ] || [ "$status" -eq 2 ]
    done
    run --separate-stderr "$TARE" exec --gpu-memory-limit=101% -- true
    [[ "$stderr" == *"--gpu-memory-limit: '101%' is no share of a GPU's memory"* ]]
    TARE_CUDA_LIBRARY=$WORK/none run --separate-stderr "$TARE" exec --track-gpu-memory -- true
    [ "$status" -eq 125 ]
    [[ "$stderr" == *"$WORK/none is not there"* ]]
    echo text >text
    TARE_CUDA_LIBRARY=$WORK/text run --separate-stderr "$TARE" exec --track-gpu-memory -- true
    [ "$status" -eq 125 ]
    [[ "$stderr" == *"is not a shared library"* ]]
}

# The section gpu_memory of the only experiment's first attempt.
of_run() {
    python3 - "$(run_dir)" "$1" <<'END'
import glob, json, sys
found = json.load(open(glob.glob(sys.argv[1] + "/*/experiment.json")[0]))["tare"]["attempts"][0]["gpu_memory"]
print(eval(sys.argv[2], {"of": found}))
END
}

@test "a run holds every training to the limit of its settings, and tells what it allocated" {
    job "exec $PROGRAM dlsym full"
    settings 1 '' '"gpu_memory_limit": "2GiB"'
    tare_run
    grep -q "^got $((1536 * MIB))$" "$(run_dir)"/*/training.log
    [ "$(of_run 'of["limit_bytes"]')" -eq $((2 * GIB)) ]
    [ "$(of_run 'of["gpus"][0]["live_peak_bytes"]')" -eq $((1536 * MIB)) ]
    [ "$(of_run 'of["gpus"][0]["refused"] > 0')" = True ]
    [ "$(of_run 'of["processes"][0]["gpus"][0]["live_peak_bytes"]')" -eq $((1536 * MIB)) ]
    grep -q '"kind": "gpu_context_assumed"' "$(run_dir)"/*/experiment.json
}

@test "an experiment's limit goes over the file's; tracking alone limits nothing" {
    job "exec $PROGRAM dlsym full"
    FAKE_CUDA_TOTAL=$((3 * GIB))
    export FAKE_CUDA_TOTAL
    settings 1 '' '"gpu_memory_limit": "1GiB"'
    sed -i 's/"seed": 7/"seed": 7, "gpu_memory_limit": "50%"/' settings.json
    tare_run
    grep -q "^got $((512 * MIB))$" "$(run_dir)"/*/training.log
    rm -rf results
    settings 1 '' '"track_gpu_memory": true'
    tare_run
    grep -q "^got $((3 * GIB))$" "$(run_dir)"/*/training.log
    [ "$(of_run 'of["gpus"][0]["limit_bytes"]')" = None ]
    [ "$(of_run 'of["gpus"][0]["live_peak_bytes"]')" -eq $((3 * GIB)) ]
}

@test "a run that is to hold a limit does not start without the library, and names a wrong limit" {
    job "exit 0"
    settings 1 '' '"gpu_memory_limit": "2GiB"'
    TARE_CUDA_LIBRARY=$WORK/none run --separate-stderr tare_run
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"the settings ask for GPU memory to be followed"* ]]
    settings 1 '' '"gpu_memory_limit": "2GiX"'
    run --separate-stderr tare_run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"'gpu_memory_limit'"*"GiX"* ]]
}
