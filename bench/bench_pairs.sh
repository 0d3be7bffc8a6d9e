#!/bin/bash
# The schedule of a registry with so many models (default 300), each measured with a curve of 512 points, against the
# same in Python: networkx's max_weight_matching over the same pairs (pairs_reference.py), in the same run. Both must
# come to the same hours.
# usage: bench_pairs.sh [MODELS]
set -eu
. "$(dirname "$0")/common.bash"
need "$TARE"
models=${1:-300}
here=$ROOT/bench
dir=$(mktemp -d -t bench_pairs.XXXXXX)
trap 'rm -rf "$dir"' EXIT
python3 "$here/pairs_make.py" "$dir/data" "$models"

seconds() { # COMMAND...: processor time, of python3's own measurement
    python3 - "$@" << 'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=open("/dev/null", "w"), stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("processor", used.ru_utime + used.ru_stime)
END
}

# The least of five: processor time is nearly the same however busy the machine is, and never too small.
for _ in 1 2 3 4 5; do
    seconds "$TARE" feasibility --plan "$dir/data/registry.json" --gpu-memory 8GiB --curves "$dir/data/study" \
        -o "$dir/pairs.json"
done | sort -n -k 2 | head -n 1 > "$dir/ours"
ours=$(value processor "$dir/ours")
if ! python3 -c 'import networkx' 2> /dev/null; then
    row "schedule of $models models" "$ours s" "- (no networkx for python3 here)" - - -
    exit 0
fi
python3 "$here/pairs_reference.py" "$dir/data" $((8 << 30)) > "$dir/theirs"
python3 - "$dir/pairs.json" "$(value hours "$dir/theirs")" "$(value pairs "$dir/theirs")" << 'END'
import json, sys
settings = json.load(open(sys.argv[1]))
told = float(settings["description"].split()[0])
# Three digits stand there.
assert abs(told / float(sys.argv[2]) - 1) < 0.005, (told, sys.argv[2])
assert sum(e["mode"] == "parallel" for e in settings["experiments"]) == int(sys.argv[3]), sys.argv[3]
END
theirs=$(value processor "$dir/theirs")
ratio=$(calc "$theirs / $ours")
row "schedule of $models models" "$ours s" "$theirs s (networkx)" "$ratio" "at least 20" "$ratio >= 20"
