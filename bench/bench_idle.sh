#!/bin/bash
# The CPU that the runner takes while its job sleeps, and beside it that of a bash loop that looks at the job once a second.
# usage: bench_idle.sh [SECONDS]      (default 20)
# Exit 1 when the runner takes 0.1 % of a core or more.
set -eu
. "$(dirname "$0")/common.bash"
seconds=${1:-20}
need "$TARE"

dir=$(mktemp -d -t bench_idle.XXXXXX)
runner='' poller=''
# Ended properly and awaited, so that nothing is left and the shell has nothing to say about it.
end() {
    [ -n "$2" ] || return 0
    kill -"$1" "$2" 2>/dev/null || true
    wait "$2" 2>/dev/null || true
}
cleanup() {
    end KILL "$poller"
    end TERM "$runner"
    rm -rf "$dir"
}
trap cleanup EXIT
cd "$dir"
export XDG_STATE_HOME=$dir/state

mkdir repo
printf '#!/bin/sh\n: >../up\nexec sleep %s\n' $((seconds + 60)) >repo/job.sh
chmod +x repo/job.sh
echo '{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "supported_hyperparams": {}}}}' >registry.json
echo '{"mode": "default", "experiments": [{"repo": "repo", "model": "net", "runs_per_config": 1}]}' >settings.json

# User and system time of a process with those of its children that are gone, in ticks.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 + $14 + $15 }'; }

# The time of all its threads on a CPU in ns, as the scheduler counts it; empty when the kernel does not.
on_cpu_ns() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ sum += $1 } END { if (NR) printf "%d", sum }'; }

"$TARE" run settings.json -c registry.json -o results </dev/null >out 2>&1 &
runner=$!
for ((i = 0; i < 600; i++)); do [ ! -e up ] || break; sleep 0.1; done
[ -e up ] || { echo "the job does not start:" >&2; cat out >&2; exit 2; }
sleep 2

bash -c 'while sleep 1; do kill -0 "$1"; done' poll "$runner" &
poller=$!
sleep 0.5
began=$(date +%s.%N)
runner_ticks=$(ticks "$runner") runner_ns=$(on_cpu_ns "$runner") poller_ticks=$(ticks "$poller")
sleep "$seconds"
runner_ticks=$(($(ticks "$runner") - runner_ticks)) poller_ticks=$(($(ticks "$poller") - poller_ticks))
now_ns=$(on_cpu_ns "$runner")
took=$(calc "$(date +%s.%N) - $began")

hz=$(getconf CLK_TCK)
runner_s=$(calc "$runner_ticks / $hz")
if [ -n "$runner_ns" ] && [ -n "$now_ns" ]; then
    # Finer than ticks, which stand beside it.
    fine_s=$(awk "BEGIN { printf \"%.6f\", ($now_ns - $runner_ns) / 1e9 }")
else
    fine_s=$runner_s
fi
share=$(awk "BEGIN { printf \"%.4f\", 100 * $fine_s / $took }")
poll_share=$(awk "BEGIN { printf \"%.4f\", 100 * $poller_ticks / $hz / $took }")
echo "in $took s: the runner $runner_ticks ticks of 1/$hz s (by the scheduler's count $fine_s s), a bash loop once a second $poller_ticks ticks"
ratio=-
holds "$poll_share <= 0" || ratio=$(calc "$share / $poll_share")
row "runner while a job sleeps" "$share % of a core" "bash poll $poll_share %" "$ratio" "under 0.1 %" "$share < 0.1"
