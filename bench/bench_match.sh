#!/bin/bash
# Matches a generated training log with tare's joblog and with grep -cP, and compares counts, time and memory.
# usage: bench_match.sh [MEGABYTES]      (default 1000)
# Exit 1 when a count differs, tare takes more than twice the time of grep, or more than 20 MiB of memory.
# grep -P takes one pattern: the ratio is to one grep over all patterns joined by "|", which also reads the file once; the sum
# over one grep a pattern, whose counts are compared, is shown beside it. Grep keeps nothing, so the ratio is that of matching
# with the log and the line times (both made in full) written to /dev/null; the time with both kept as files is shown too.
set -eu
. "$(dirname "$0")/common.bash"

program=$BUILD/bench/bench_match
need "$program"
megabytes=${1:-1000}
max_ratio=2
max_rss_kib=20480

patterns=(
    'Epoch \d+ done: train_loss[:=\s]+([0-9.]+)'
    '(?:Accuracy|accuracy)[:\s()]+([0-9.]+)'
    'F1[\s-]*score[:\s]+([0-9.]+)'
    'Test Error[:\s]+([0-9.]+)'
    'Final training loss[:\s]+([0-9.]+)'
    '^Traceback \(most recent call last\)'
)

dir=$(mktemp -d -t bench_match.XXXXXX)
trap 'rm -rf "$dir"' EXIT

# One block of about 1 MB: an epoch of steps, its summary, a warning now and then; repeated until the size is reached.
generate() {
    awk 'BEGIN {
        srand(7)
        for (epoch = 1; epoch <= 14; epoch++) {
            for (step = 0; step < 900; step++) {
                printf "[2025-11-15 16:%02d:%02d,%03d] INFO train: Epoch %d/14 step %d/900 loss=%.6f lr=%.3e %.1f samples/s\n",
                    step / 60 % 60, step % 60, step % 1000, epoch, step, 2.3 * exp(-epoch / 5) + rand() / 10, 1e-3 / epoch, 900 + 100 * rand()
                if (step % 300 == 299)
                    print "/usr/lib/python3/dist-packages/torch/optim/lr_scheduler.py:138: UserWarning: call order"
            }
            printf "Epoch %d done: train_loss: %.4f  Validation Accuracy: %.2f%%\n", epoch, 2.3 * exp(-epoch / 5), 99 - 50 / epoch
            printf "Test Error: %.4f\nF1-score: %.4f\n\n", 1 / epoch, 1 - 1 / (epoch + 1)
        }
    }' > "$dir/block"
    local block_bytes count
    block_bytes=$(stat -c %s "$dir/block")
    count=$(( (megabytes * 1000000 + block_bytes - 1) / block_bytes ))
    for ((i = 0; i < count; i++)); do cat "$dir/block"; done > "$dir/log"
    echo "Final training loss: 0.1234" >> "$dir/log"
}

now() { date +%s.%N; }

generate
echo "log: $(stat -c %s "$dir/log") bytes, ${#patterns[@]} patterns"
cat "$dir/log" > /dev/null # into the page cache, for both alike

"$program" "$dir/log" "$dir/kept" "$dir/times" "${patterns[@]}" > "$dir/to_file"
cmp "$dir/log" "$dir/kept"
rm -f "$dir/kept" "$dir/times"
"$program" "$dir/log" /dev/null /dev/null "${patterns[@]}" > "$dir/to_null"

joined=$(IFS='|'; echo "${patterns[*]}")
began=$(now)
joined_count=$(grep -acP -- "$joined" "$dir/log" || true) # not to /dev/null: then grep stops at the first match
grep_joined=$(calc "$(now) - $began")

failed=0
grep_sum=0
for i in "${!patterns[@]}"; do
    began=$(now)
    expected=$(grep -acP -- "${patterns[i]}" "$dir/log" || true)
    grep_sum=$(calc "$grep_sum + $(now) - $began")
    counted=$(value "count_$i" "$dir/to_file")
    echo "pattern $i: tare $counted, grep $expected lines: ${patterns[i]}"
    if [ "$counted" != "$expected" ] || [ "$(value "count_$i" "$dir/to_null")" != "$expected" ]; then
        echo "FAIL: counts differ" >&2
        failed=1
    fi
done

kept=$(value seconds "$dir/to_file")
seconds=$(value seconds "$dir/to_null")
rss_kib=$(value rss_kib "$dir/to_file")
ratio=$(calc "$seconds / $grep_joined")
echo "tare, log and line times to /dev/null: $seconds s, peak memory $(value rss_kib "$dir/to_null") KiB"
echo "tare, log and line times kept as files: $kept s, peak memory $rss_kib KiB"
echo "grep -cP, patterns joined: $grep_joined s ($joined_count lines)"
echo "grep -cP, one run a pattern: $grep_sum s in all"
echo "ratio to one joined grep: $ratio (target: at most $max_ratio), $(calc "$kept / $grep_joined") with files kept"
echo "ratio to the sum of greps: $(calc "$seconds / $grep_sum"), $(calc "$kept / $grep_sum") with files kept"
row "match a log of $megabytes MB" "$seconds s" "grep -cP $grep_joined s" "$ratio" "within ${max_ratio}x" "$ratio <= $max_ratio" || failed=1
row "memory while matching" "$rss_kib KiB" - - "under $max_rss_kib KiB" "$rss_kib < $max_rss_kib" || failed=1
exit "$failed"
