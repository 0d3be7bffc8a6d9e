# Costs of one more training that does nothing: system calls, bytes of run.db, memory. They are the
# same for each, however many there were before it, or are planned.

load runs

# plan COUNT [SCRIPT]: of so many trainings.
plan() {
    rm -rf results
    job "${2:-exit 0}"
    settings "$1"
}

# calls_of FIRST: how many calls on files the program and its thread made for this experiment and the
# nine after it, a line for each call's name. Left out are /proc, whose entries are the whole machine's,
# and /sys, where a cgroup is asked until it is empty, more often on a busy machine.
calls_of() {
    python3 - "$1" <<'END'
import collections, re, sys
first, counts, number, threads = int(sys.argv[1]), collections.Counter(), 0, []
for line in open("calls", errors="replace"):
    thread, rest = line.split(None, 1)
    if not threads:
        threads.append(thread)
    elif "CLONE_THREAD" in line and thread == threads[0] and re.search(r" = \d+", line):
        threads.append(re.search(r" = (\d+)", line)[1])
    if thread not in threads or "/proc" in line or "/sys/" in line or not re.match(r"\w+\(", rest):
        continue
    made = re.match(r'mkdirat\(.*"repo_net_(\d+)"', rest)
    number = int(made[1]) if made else number
    if first <= number < first + 10:
        counts[rest.split("(")[0]] += 1
for name in ("openat", "openat2", "newfstatat", "getdents64", "renameat", "unlinkat", "mkdirat", "fdatasync"):
    print(name, counts[name])
END
}

@test "the 120th experiment makes as many calls on files as the 20th" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "sanitizers load and call what they need"
    command -v strace >/dev/null || skip "strace is missing"
    strace -o calls true 2>refused || skip "strace: $(cat refused)"
    plan 130
    strace -f -y -qq -e signal=none -o calls -e trace=%file,getdents64,fdatasync,clone,clone3 \
        "$TARE" run settings.json -c registry.json -o results -q >out 2>err
    calls_of 20 >early
    calls_of 120 >late
    python3 - <<'END'
early, late = ({name: int(count) for name, count in map(str.split, open(file))} for file in ("early", "late"))
# What is done once a second falls into one of the tens or not.
assert early["openat"] > 100 and all(late[name] <= 1.1 * early[name] + 6 for name in early), (early, late)
END
}

@test "an experiment takes at most 8 KB of run.db" {
    for count in 20 100; do
        plan "$count"
        tare_run -q >out 2>err
        bytes[count]=$(stat -c %s "$(run_dir)/run.db")
    done
    each=$(((bytes[100] - bytes[20]) / 80))
    [ "$each" -gt 1000 ] # they are in it
    [ "$each" -le 8000 ] || { echo "$each"; false; }
}

# Each fork for a job copies the tables of what is mapped. SQLite's cache is full with both plans.
@test "an experiment that is planned takes at most 1.5 KiB of the runner's memory" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "sanitizers need more memory"
    for count in 2000 5000; do
        plan "$count" 'touch "$TARE_RUN_DIR/../begun"; sleep 100'
        start_run
        wait_until test -e results/begun
        kib[count]=$(awk '/^RssAnon/ { print $2 }' "/proc/$PID/status")
        kill -TERM "$PID"
        end_program
        is "$CODE" 143
    done
    [ $((kib[5000] - kib[2000])) -le 4500 ] || { echo "${kib[@]}"; false; }
}

@test "a dry run of 300,000 experiments takes at most 300 MB" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "sanitizers need more memory"
    for count in 10 20010; do
        plan "$count"
        python3 - "$TARE" "$count" <<'END' >>peaks
import os, subprocess, sys
for more, mark in ([], "/repo/job.sh --n "), (["--json"], '"id": "repo_net_'):
    with open("plan", "w") as out:
        dry = subprocess.Popen([sys.argv[1], "run", "settings.json", "-c", "registry.json", "--dry-run", *more],
                               stdout=out, stderr=subprocess.DEVNULL)
        status, usage = os.wait4(dry.pid, 0)[1:]
    assert status == 0, status
    assert open("plan").read().count(mark) == int(sys.argv[2])
    print(usage.ru_maxrss)
END
    done
    python3 - <<'END'
few, few_json, many, many_json = map(int, open("peaks"))
for low, high in (few, many), (few_json, many_json): # KiB
    assert low + 15 * (high - low) <= 300e6 / 1024, (low, high)
END
}

@test "a large run that is stopped ends without a page, and says how to go on" {
    plan 2100 '[ "$TARE_EXPERIMENT" != repo_net_003 ] || { touch "$TARE_RUN_DIR/../begun"; sleep 100; }'
    start_run
    wait_until test -e results/begun
    kill -TERM "$PID"
    end_program
    is "$CODE" 143
    grep -q '^2 succeeded, 1 interrupted, 2097 not run$' out
    grep -qF "to run what is left: $NAME run --resume $(run_folder)" out
    grep -qF "to close soon, it wrote no report.html ('$NAME report $(run_folder)' does)" out
    [ ! -e "$(run_dir)/report.html" ]
    [ ! -e "$(run_dir)/run.db-wal" ]
    is "$(summary training_success)" $'True\nTrue'
    "$TARE" report "$(run_dir)" >/dev/null
    [ -s "$(run_dir)/report.html" ]
    # A small one is closed as if it had ended by itself.
    rm -rf results
    settings 3
    start_run
    wait_until test -e results/begun
    kill -TERM "$PID"
    end_program
    is "$CODE" 143
    [ -s "$(run_dir)/report.html" ]
}
