#!/bin/bash
# Audits a folder of 10,000 experiments of 1,000 samples each (three files), and reads the same files the study's way, with
# Python's csv module (audit_reference.py: rows by name, and faster, as lists), in the same run; then the memory of an audit of
# one experiment of 1,000 and of 1,000,000 samples.
# usage: bench_audit.sh [EXPERIMENTS [SAMPLES]]
set -eu
. "$(dirname "$0")/common.bash"
need "$TARE"
experiments=${1:-${BENCH_EXPERIMENTS:-10000}}
samples=${2:-1000}
here=$ROOT/bench
dir=$(mktemp -d -t bench_audit.XXXXXX)
trap 'rm -rf "$dir"' EXIT

python3 "$here/audit_make.py" "$dir/results" "$experiments" "$samples"
du -sh --apparent-size "$dir/results" | awk '{ print "folder: " $1 }'

seconds() { # COMMAND...: wall-clock seconds and the most memory, of python3's own measurement
    python3 - "$@" << 'END'
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=open("/dev/null", "w"))
print("seconds", time.monotonic() - began)
print("mib", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
END
}

# Taken in turn, so that what else the machine does meets both; the files are in memory from their making.
: > "$dir/ours"
for _ in 1 2 3; do seconds "$TARE" audit "$dir/results" >> "$dir/ours"; done
python3 "$here/audit_reference.py" "$dir/results" dict > "$dir/theirs"
python3 "$here/audit_reference.py" "$dir/results" list > "$dir/lists"
for _ in 1 2; do seconds "$TARE" audit "$dir/results" >> "$dir/ours"; done
ours=$(value seconds <(sort -n -k 2 "$dir/ours" | grep seconds | sed -n 3p))
theirs=$(value seconds "$dir/theirs")
lists=$(value seconds "$dir/lists")
ratio=$(calc "$theirs / $ours")

# Both saw the same experiments and samples.
"$TARE" audit "$dir/results" --json > "$dir/audit.json"
python3 - "$dir/audit.json" "$(value experiments "$dir/theirs")" "$(value samples "$dir/theirs")" << 'END'
import json, sys
audit = json.load(open(sys.argv[1]))
assert audit["totals"]["total"] == audit["totals"]["clean"] == int(sys.argv[2]), audit["totals"]
assert sum(e["gpu"]["samples"] for e in audit["experiments"]) == int(sys.argv[3])
END

rm -rf "$dir/results"
python3 "$here/audit_make.py" "$dir/short" 1 1000
python3 "$here/audit_make.py" "$dir/long" 1 1000000
short=$(value mib <(seconds "$TARE" audit "$dir/short"))
long=$(value mib <(seconds "$TARE" audit "$dir/long"))

code=0
row "audit of $experiments x $samples samples" "$(calc "$ours") s" "$theirs s (csv.DictReader)" "$ratio" "at least 50" "$ratio >= 50" || code=1
row "the same" "$(calc "$ours") s" "$lists s (csv.reader)" "$(calc "$lists / $ours")" - -
row "memory of an audit of 1,000,000 samples" "$(calc "$long") MiB" "$(calc "$short") MiB (1,000)" "$(calc "$long / $short")" \
    "at most 1.1" "$long <= $short * 1.1" || code=1
exit $code
