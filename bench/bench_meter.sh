#!/bin/bash
# The CPU that the meter of one GPU takes for a sample of its power trace, and its memory.
# usage: bench_meter.sh [SECONDS [DEVICE]]      (default 20 on the fake driver; with DEVICE, a UUID or number, on a
# real GPU)
# The study's loop (bash and nvidia-smi once a second) took 31 ms of CPU for a sample on an H200 with driver 580.
# Exit 1 when a sample costs more than a hundredth of that, comes less than 10 times as often, or the meter takes 8 MiB.
set -eu
. "$(dirname "$0")/common.bash"
seconds=${1:-20} device=${2:-}
need "$TARE"
need "$BUILD/bench/bench_meter"
dir=$(mktemp -d -t bench_meter.XXXXXX)
trap 'rm -rf "$dir"' EXIT
where="GPU $device" library=''
if [ -z "$device" ]; then
    device=0 where='the fake driver' library=$BUILD/tests/fake/libnvidia-ml.so.1
    need "$library"
    printf 'settle_ms 300\nstep 0 690\n' >"$dir/scenario"
    export TARE_FAKE_NVML=$dir/scenario
fi
"$BUILD/bench/bench_meter" "$TARE" "$library" "$device" "$seconds" >"$dir/out" || exit 2
cat "$dir/out"
samples=$(value samples "$dir/out") cpu=$(value cpu_us "$dir/out") rss=$(value rss_kib "$dir/out")
peak=$(value peak_kib "$dir/out") pss=$(value pss_kib "$dir/out") dirty=$(value private_dirty_kib "$dir/out")
each=$(calc "$cpu / $samples") rate=$(calc "$samples / $(value seconds "$dir/out")")
missed=0
less=$(calc "31000 / $each")
row "meter: CPU a sample, on $where" "$each us" '31000 us (study, H200)' "$less" 'at least 100' "$less >= 100" || missed=1
row 'meter: samples a second' "$rate" '1 (study)' "$rate" 'at least 10' "$rate >= 10" || missed=1
row 'meter: memory while it measures' "$rss KiB" - - 'under 8 MiB' "$rss < 8192" || missed=1
row 'meter: of that by its share of shared pages, changed pages of its own' "$pss KiB, $dirty KiB" - - - -
row 'meter: memory at its beginning' "$peak KiB" - - - -
exit $missed
