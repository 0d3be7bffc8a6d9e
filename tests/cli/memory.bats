#!/usr/bin/env bats
# tare memory: snapshots explained and replayed. The small ones are made by tests/data/memory/traces.py; what they must come to is
# worked out there and here by hand, or by CPython reading the same file.

load helpers

DATA=$ROOT/tests/data/memory
MIB=1048576

json() { python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# make NAME: a snapshot too large to be kept.
make() { python3 "$DATA/traces.py" "$1" "$1.pickle"; }

@test "what is allocated, reserved and fragmented is told, and the replay is checked" {
    run "$TARE" memory "$DATA/split.pickle"
    [ "$status" -eq 0 ]
    [[ "$output" == *"Recorded under: default"* ]]
    [[ "$output" == *"Self-check: exact: replaying the record gives all 12 events"* ]]
    [[ "$output" == *"reserved        22.0 MiB  in 2 segments"* ]]
    # 5 MiB and 614400 + 867328 bytes of 22 MiB
    [[ "$output" == *"free, split      6.4 MiB"* ]]
    [[ "$output" == *"fragmentation     29.2 %"* ]]
    [[ "$output" == *"Alive at the end: 15.1 MiB in 4 allocations"* ]]
}

@test "the figures are those that CPython finds in the same file" {
    for name in split emptied cap oom expandable streams stacks proto2; do
        "$TARE" memory "$DATA/$name.pickle" --json --rows 1000 > told.json
        python3 - "$DATA/$name.pickle" told.json <<'END'
import json, pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
told = json.load(open(sys.argv[2]))
segments, trace = snapshot["segments"], snapshot["device_traces"][0]
blocks = [b for s in segments for b in s["blocks"]]
end = told["end"]
assert told["events"] == len(trace)
assert end["reserved_bytes"] == sum(s["total_size"] for s in segments)
assert end["allocated_bytes"] == sum(s["allocated_size"] for s in segments)
assert end["active_bytes"] == sum(s["active_size"] for s in segments)
assert end["requested_bytes"] == sum(s["requested_size"] for s in segments)
free = [b["size"] for b in blocks if b["state"] == "inactive"]
assert end["largest_free_bytes"] == max(free, default=0)
assert end["inactive_split_bytes"] + end["inactive_whole_bytes"] == sum(free)
assert sorted(s["address"] for s in told["segments"]) == sorted(s["address"] for s in segments)
reserved = peak = 0
for event in trace:
    sign = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}.get(event["action"], 0)
    reserved += sign * event["size"]
    peak = max(peak, reserved)
assert told["peak"]["reserved_bytes"] == peak
live = {}
for event in trace:
    if event["action"] == "alloc":
        live[event["addr"]] = event["size"]
    elif event["action"] == "free_requested":
        del live[event["addr"]]
assert sum(g["bytes"] for g in end["alive"]) == sum(live.values())
assert sum(g["count"] for g in end["alive"]) == len(live)
assert told["self_check"]["exact"]
END
    done
}

@test "other settings are replayed side by side, in the order given" {
    "$TARE" memory "$DATA/cap.pickle" --what-if expandable_segments:True -w roundup_power2_divisions:4 --json > told.json
    # as recorded 30 + 40; in pages of 20 MiB 60; with 4 divisions 40 MiB stay 40 and 30 become 32
    [ "$(json '[t["peak_reserved_bytes"] // 1048576 for t in d["what_if"]]' < told.json)" = "[70, 60, 72]" ]
    [ "$(json '[t["as_recorded"] for t in d["what_if"]]' < told.json)" = "[True, False, False]" ]
    [ "$(json '{t["outcome"] for t in d["what_if"]}' < told.json)" = "{'fits'}" ]
    [ "$(json '{t["check_exact"] for t in d["what_if"]}' < told.json)" = "{True}" ]
}

@test "a cap says whether, where and on which request memory runs out" {
    run "$TARE" memory "$DATA/cap.pickle" --cap 50MiB
    [ "$status" -eq 1 ]
    [[ "$output" == *"out of memory: event 6 asks for 12.0 MiB (a segment of 12.0 MiB)"* ]] ||
        [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"out of memory: event 6 asks for 12.0 MiB (a segment of 12.0 MiB)"* ]]
    run "$TARE" memory "$DATA/cap.pickle" --cap 52MiB --json
    [ "$status" -eq 0 ]
    [ "$(json 'd["what_if"][0]["alloc_retries"], d["what_if"][0]["peak_reserved_bytes"]' <<< "$output")" = "(1, $((52 * MIB)))" ]
}

@test "a workspace that may be refused is told apart from a failure" {
    "$TARE" memory "$DATA/workspace.pickle" --cap 80MiB --json > told.json
    [ "$(json 'd["what_if"][0]["outcome"], d["what_if"][0]["refused"]["event"]' < told.json)" = "('survives', 3)" ]
    "$TARE" memory "$DATA/workspace.pickle" --cap 35MiB --json > told.json
    [ "$(json 'd["what_if"][0]["outcome"]' < told.json)" = uncertain ]
}

@test "the recommendation names a setting, what it needs and a GPU" {
    run "$TARE" memory "$DATA/cap.pickle" --recommend
    [ "$status" -eq 0 ]
    [[ "$output" == *"Keep the setting"* ]]
    [[ "$output" == *"smallest GPU that it fits on: 8 GB"* ]]
    run "$TARE" memory "$DATA/cap.pickle" --recommend --json
    [ "$(json 'd["recommended"][0]["needs_bytes"]' <<< "$output")" = "$((52 * MIB))" ]
}

@test "stacks name the line of the program, not of PyTorch" {
    run "$TARE" memory "$DATA/stacks.pickle"
    [[ "$output" == *"12.0 MiB      1  12.0 MiB  forward (train.py:31)"* ]]
    [[ "$output" == *"4.0 MiB      2   2.0 MiB  main (train.py:80)"* ]]
}

@test "growth is seen over marked epochs, with what stays behind" {
    make leak
    "$TARE" memory leak.pickle --json > told.json
    [ "$(json 'd["growth"]["spans_are"], d["growth"]["grows"], d["growth"]["bytes_per_span"]' < told.json)" = \
        "('epochs', True, $((3 * MIB)).0)" ]
    # eight epochs, the first is warm-up: seven blocks of 3 MiB
    [ "$(json '[(s["count"], s["bytes"], s["spans"]) for s in d["growth"]["suspects"]]' < told.json)" = "[(7, $((21 * MIB)), 7)]" ]
    [ "$(json '[s["kept_bytes"] for s in d["growth"]["spans"]]' < told.json)" = "$(python3 -c "print([3 * $MIB] * 8)")" ]
    make steady
    "$TARE" memory steady.pickle --json > told.json
    [ "$(json 'd["growth"]["grows"], d["growth"]["suspects"]' < told.json)" = "(False, [])" ]
}

@test "a record that begins in the middle is replayed, and that is said" {
    run "$TARE" memory "$DATA/early.pickle"
    [ "$status" -eq 0 ]
    [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"gives all 6 events, every address and the layout at the end; it began before the record"* ]]
}

@test "a long made-up run is repeated event by event" {
    make wide
    "$TARE" memory wide.pickle --json > told.json
    [ "$(json 'd["self_check"]["exact"], d["self_check"]["events"] == d["events"], d["events"] > 3000' < told.json)" = \
        "(True, True, True)" ]
}

@test "the page stands alone and shows every state" {
    "$TARE" memory "$DATA/streams.pickle" --html page.html > told
    grep -q 'Map of the 3 segments' page.html
    grep -q '<title>awaited 12.0 MiB; in a segment of 12.0 MiB, stream 0, at 0x7efffe000000</title>' page.html
    grep -q '<title>allocated 12.0 MiB; in a segment of 12.0 MiB, stream 7' page.html
    ! grep -qE 'src=|href=|<script|@import|url\(' page.html
    python3 - page.html <<'END'
import sys
from html.parser import HTMLParser
class Check(HTMLParser):
    open = []
    def handle_starttag(self, tag, attrs):
        if tag in ("svg", "table", "rect", "title", "p", "div", "td"):
            self.open.append(tag)
    def handle_endtag(self, tag):
        if tag in ("svg", "table", "rect", "title", "p", "div", "td"):
            assert self.open and self.open.pop() == tag, tag
check = Check()
check.feed(open(sys.argv[1]).read())
assert check.open == [], check.open
END
}

@test "no line is wider than 80 columns" {
    make leak
    for file in "$DATA"/*.pickle leak.pickle; do
        COLUMNS=80 "$TARE" memory "$file" --recommend --cap 60MiB --what-if max_split_size_mb:64 > told || [ $? -eq 1 ]
        tail -n +2 told | python3 -c 'import sys; [sys.exit(f"too wide: {l}") for l in sys.stdin if len(l.rstrip("\n")) > 80]'
    done
}

@test "mistakes are named with their place, the reason and the mend" {
    run "$TARE" memory "$DATA/split.pickle" --what-if max_split_size_mb:10
    [ "$status" -eq 2 ]
    [[ "$output" == *"--what-if: max_split_size_mb:10: it is a whole number of MiB above 20"* ]]
    run "$TARE" memory none.pickle
    [ "$status" -eq 2 ]
    [[ "$output" == *"none.pickle: No such file or directory"* ]]
    printf '\x80\x02cos\nsystem\n(X\x02\x00\x00\x00idtR.' > evil.pickle
    run "$TARE" memory evil.pickle
    [ "$status" -eq 2 ]
    [[ "$output" == *"evil.pickle: byte 2: opcode GLOBAL would run code; a memory snapshot has none, and nothing was run"* ]]
    head -c 700 "$DATA/split.pickle" > cut.pickle
    run "$TARE" memory cut.pickle
    [ "$status" -eq 2 ]
    [[ "$output" == *"cut.pickle: byte "*": "* ]]
    gzip -c "$DATA/split.pickle" > small.pickle.gz
    run "$TARE" memory small.pickle.gz
    [ "$status" -eq 2 ]
    [[ "$output" == *"it is compressed (gzip), which is not read: unpack it first (gzip -dk FILE)"* ]]
    run "$TARE" memory "$DATA/split.pickle" --cap lots
    [ "$status" -eq 2 ]
    [[ "$output" == *"--cap"* ]]
    run "$TARE" memory "$DATA/split.pickle" --device 3
    [ "$status" -eq 2 ]
    [[ "$output" == *"it has no GPU 3"* ]]
}

@test "a snapshot without a trace is explained, but not replayed" {
    python3 - "$DATA/split.pickle" <<'END'
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
snapshot["device_traces"] = [[]]
pickle.dump(snapshot, open("bare.pickle", "wb"), protocol=4)
END
    run "$TARE" memory bare.pickle
    [ "$status" -eq 0 ]
    [[ "$output" == *"There is no trace in it"* ]]
    [[ "$output" == *"reserved        22.0 MiB  in 2 segments"* ]]
    run "$TARE" memory bare.pickle --recommend
    [ "$status" -eq 3 ]
    [[ "$output" == *"_record_memory_history()"* ]]
}
