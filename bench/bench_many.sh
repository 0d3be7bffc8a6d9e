#!/bin/bash
# Many trainings that do nothing (no metrics, no marks): the processor time of one when few, and when many have been before it, its bytes of
# run.db, how long a SIGTERM takes after them all, and the memory of a dry run of 300,000; beside GNU parallel, which writes one line of its
# --joblog for each of the same commands and keeps nothing else, in the same run. Seconds of a processor: others may use the machine.
# usage: bench_many.sh [EXPERIMENTS]      (default 2000; 20000 takes some minutes)
# Exit 1 when a target is missed.
set -eu
. "$(dirname "$0")/common.bash"
count=${1:-2000}
need "$TARE"
command -v python3 >/dev/null || { echo "bench_many.sh: python3 is missing" >&2; exit 2; }
command -v parallel >/dev/null || { echo "bench_many.sh: GNU parallel is missing (package parallel)" >&2; exit 2; }

dir=$(mktemp -d -t bench_many.XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_STATE_HOME=$dir/state TARE_LOCK_DIR=$dir/locks PARALLEL_HOME=$dir

# plan COUNT: so many, and one that is under way when the run is stopped.
plan() {
    mkdir -p repo
    # shellcheck disable=SC2016 # the variable is the script's
    printf '#!/bin/sh\n[ "${TARE_EXPERIMENT:-}" != repo_net_%03d ] || exec sleep 1000\n' $(($1 + 1)) >repo/train.sh
    chmod +x repo/train.sh
    cat >registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "./train.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000000],
                                  "distribution": "uniform"}}}}}
END
    cat >settings.json <<END
{"max_retries": 0, "seed": 7, "experiments": [{"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": $(($1 + 1))}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}}}
END
}

plan "$count"
python3 - "$TARE" "$count" <<'END' >figures
import glob, os, signal, subprocess, sys, time
program, count = sys.argv[1], int(sys.argv[2])
few = count // 5 # enough for a clock of 10 ms
run = subprocess.Popen([program, "run", "settings.json", "-c", "registry.json", "-o", "results", "-q"], stdout=subprocess.DEVNULL)

def rows():
    summary = glob.glob("results/run_*/summary.csv")
    return open(summary[0], "rb").read().count(b"\n") - 1 if summary else 0

def used(): # the runner's own, and that of the jobs
    fields = open(f"/proc/{run.pid}/stat").read().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, (int(fields[13]) + int(fields[14])) / ticks

def look(at): # once so many are done
    while rows() < at:
        assert run.poll() is None, run.returncode
        time.sleep(0.05)
    return rows(), *used()

looks = [look(at) for at in (count // 20, count // 20 + few, count - few, count)]
for name, (a, b) in (("first", looks[:2]), ("last", looks[2:])):
    print(name + "_ms", round(1e3 * (b[1] - a[1]) / (b[0] - a[0]), 2))
    print(name + "_jobs_ms", round(1e3 * (b[2] - a[2]) / (b[0] - a[0]), 2))
print("all_ms", round(1e3 * sum(used()) / count, 2))
print("memory_mib", round(int([line for line in open(f"/proc/{run.pid}/status") if "RssAnon" in line][0].split()[1]) / 1024, 1))
begun = time.monotonic()
run.send_signal(signal.SIGTERM)
status, usage = os.wait4(run.pid, 0)[1:]
assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM, status
print("stop_s", round(time.monotonic() - begun, 2))
print("db_bytes", os.stat(glob.glob("results/run_*/run.db")[0]).st_size // count)
END
python3 - "$count" <<'END' >>figures
import os, subprocess, sys
count = int(sys.argv[1])
work = subprocess.Popen(["parallel", "--will-cite", "-j1", "--joblog", "joblog", "./repo/train.sh", "--n"], stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
work.stdin.write("".join(f"{n}\n" for n in range(count)))
work.stdin.close()
status, usage = os.wait4(work.pid, 0)[1:]
assert status == 0 and sum(1 for line in open("joblog")) == count + 1, status
print("parallel_ms", round(1e3 * (usage.ru_utime + usage.ru_stime) / count, 2))
END
plan 300000
python3 - "$TARE" <<'END' >>figures
import os, subprocess, sys
dry = subprocess.Popen([sys.argv[1], "run", "settings.json", "-c", "registry.json", "--dry-run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
status, usage = os.wait4(dry.pid, 0)[1:]
assert status == 0, status
print("dry_mb", round(usage.ru_maxrss * 1024 / 1e6))
END

first=$(value first_ms figures) last=$(value last_ms figures) all=$(value all_ms figures) parallel=$(value parallel_ms figures)
missed=0
row "$count trainings: the runner, for each of the last fifth" "$last ms" "the first fifth $first ms" "$(calc "$last / $first")" "at most 1.2" \
    "$last <= 1.2 * $first" || missed=1
row "the same: the jobs" "$(value last_jobs_ms figures) ms" "the first fifth $(value first_jobs_ms figures) ms" \
    "$(calc "$(value last_jobs_ms figures) / $(value first_jobs_ms figures)")" - -
row "a training with all processes, beside GNU parallel --joblog" "$all ms" "$parallel ms" "$(calc "$all / $parallel")" - -
row "bytes of run.db for each" "$(value db_bytes figures)" - - "at most 8192" "$(value db_bytes figures) <= 8192" || missed=1
row "SIGTERM after them" "$(value stop_s figures) s" - - "at most 1 s" "$(value stop_s figures) <= 1" || missed=1
row "memory of the runner" "$(value memory_mib figures) MiB" - - "16 MiB and 2 KiB for each" \
    "$(value memory_mib figures) <= 16 + $count * 2 / 1024" || missed=1
row "a dry run of 300,000" "$(value dry_mb figures) MB" - - "at most 300 MB" "$(value dry_mb figures) <= 300" || missed=1
exit "$missed"
