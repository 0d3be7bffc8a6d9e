#!/bin/bash
# Audits a folder of 10,000 experiments of 1,000 samples each (three files), and reads the same files the study's way, with
# Python's csv module (audit_reference.py: rows by name, and faster, as lists), in the same run; then the memory of an audit of
# one experiment of 1,000, 100,000 and 1,000,000 samples.
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

seconds() { # COMMAND...: seconds by the clock and of processor time, and the most memory, of python3's own measurement
    python3 - "$@" << 'END'
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=open("/dev/null", "w"))
print("seconds", time.monotonic() - began)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("processor", used.ru_utime + used.ru_stime)
print("mib", used.ru_maxrss / 1024)
END
}

# What counts is processor time, the least of nine for ours, taken in turn with the scripts' one: it is nearly the same however
# busy the machine is, and that ours uses all processors at once is not counted for it. By the clock both are shown beside it.
: > "$dir/ours"
ours() { for _ in 1 2 3; do seconds "$TARE" audit "$dir/results" >> "$dir/ours"; done; }
ours
python3 "$here/audit_reference.py" "$dir/results" dict > "$dir/theirs"
ours
python3 "$here/audit_reference.py" "$dir/results" list > "$dir/lists"
ours
ours=$(value seconds <(grep seconds "$dir/ours" | sort -n -k 2 | head -n 1))
processor=$(value processor <(grep processor "$dir/ours" | sort -n -k 2 | head -n 1))
theirs=$(value processor "$dir/theirs")
lists=$(value processor "$dir/lists")
clock=$(value seconds "$dir/theirs")
ratio=$(calc "$theirs / $processor")

# Both saw the same experiments and samples, of which none was disturbed; that none was is shown by no file of such a folder, so they are
# unverified.
"$TARE" audit "$dir/results" --json > "$dir/audit.json"
python3 - "$dir/audit.json" "$(value experiments "$dir/theirs")" "$(value samples "$dir/theirs")" << 'END'
import json, sys
audit = json.load(open(sys.argv[1]))
assert audit["totals"]["total"] == audit["totals"]["unverified"] == int(sys.argv[2]), audit["totals"]
assert sum(e["gpu"]["samples"] for e in audit["experiments"]) == int(sys.argv[3])
END

rm -rf "$dir/results"
for length in 1000 100000 1000000; do
    python3 "$here/audit_make.py" "$dir/of_$length" 1 "$length"
    value mib <(seconds "$TARE" audit "$dir/of_$length") > "$dir/mib_$length"
done
short=$(cat "$dir/mib_1000") middle=$(cat "$dir/mib_100000") long=$(cat "$dir/mib_1000000")

code=0
row "audit of $experiments x $samples samples" "$(calc "$processor") s" "$theirs s (csv.DictReader)" "$ratio" "at least 50" \
    "$ratio >= 50" || code=1
row "the same, by the clock" "$(calc "$ours") s" "$clock s (csv.DictReader)" "$(calc "$clock / $ours")" - -
row "the same, against rows as lists" "$(calc "$processor") s" "$lists s (csv.reader)" "$(calc "$lists / $processor")" - -
row "memory of an audit of 100,000 samples" "$(calc "$middle") MiB" "$(calc "$short") MiB (1,000)" "$(calc "$middle / $short")" \
    "at most 1.1" "$middle <= $short * 1.1" || code=1
row "memory of an audit of 1,000,000 samples" "$(calc "$long") MiB" "$(calc "$short") MiB (1,000)" "$(calc "$long / $short")" \
    "at most 1.1" "$long <= $short * 1.1" || code=1
exit $code
