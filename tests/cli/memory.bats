#!/usr/bin/env bats
# tare memory: snapshots explained and replayed. The small ones are made by tests/data/memory/traces.py; what they must come to is
# worked out there and here by hand, or by CPython reading the same file.

load helpers
load page

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
    [[ "$output" == *"75.0 %  12.0 MiB      1  "*"  forward (train.py:31) via empty (torch/functional.py:9)"* ]]
    [[ "$output" == *"25.0 %   4.0 MiB      2  "*"  main (train.py:80)"* ]]
}

@test "of all stacks the place is the user's own line, with the library's function that was called there" {
    make places
    "$TARE" memory places.pickle --html page.html --json > told.json
    # By hand from PLACES in traces.py; the largest first.
    python3 - told.json <<'END'
import json, sys
alive = json.load(open(sys.argv[1]))["end"]["alive"]
places = [(p["function"], p["file"], p["line"], p["via"] and (p["via"]["function"], p["via"]["file"].split("/")[-1], p["via"]["line"]))
          for p in (group["place"] for group in alive)]
assert places == [
    ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)", "??", 0, None),
    ("at::native::(anonymous namespace)::conv_backward(at::Tensor const&, long)", "??", 0, None),
    ("train", "/opt/venv/lib/python3.12/site-packages/trainer/loop.py", 12, ("forward", "linear.py", 125)),
    ("build", "/home/me/torch/model.py", 7, None),
    ("step", "/home/me/torch/train.py", 41, ("forward", "linear.py", 125))], places
assert len(alive[4]["stack"]) == 10
END
    run "$TARE" memory places.pickle
    [[ "$output" == *"step (train.py:41) via forward (torch/nn/modules/linear.py:125)"* ]]
    [[ "$output" == *"build (model.py:7)"* ]]
    [[ "$output" == *"at::native::(anonymous namespace)::conv_backward (compiled code)"* ]]
    grep -q 'step (train.py:41) via forward (torch/nn/modules/linear.py:125)' page.html
    grep -q 'train (loop.py:12) via forward (torch/nn/modules/linear.py:125)' page.html
}

@test "the recorded out of memory is told, and what limited it" {
    # 30 MiB held, 7 MiB free, 24 MiB asked for: 37 MiB was all that it could have
    run "$TARE" memory "$DATA/oom.pickle"
    [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"Event 7 asked for 24.0 MiB (a segment of 24.0 MiB), beside 30.0 MiB reserved, of which \
30.0 MiB was allocated. The GPU had 7.0 MiB free: PyTorch could have 37.0 MiB at most."* ]]
    "$TARE" memory "$DATA/oom.pickle" --json > told.json
    [ "$(json '[(o["limit"], o["limit_low_bytes"], o["limit_high_bytes"], o["device_free_bytes"]) for o in d["out_of_memory"]]' \
        < told.json)" = "[('gpu', $((37 * MIB)), $((37 * MIB)), $((7 * MIB)))]" ]
    make capped
    "$TARE" memory capped.pickle --html page.html --json > told.json
    [ "$(json '[(o["event"], o["requested_bytes"], o["segment_bytes"], o["limit"], o["limit_low_bytes"], o["limit_high_bytes"],
        o["place"]["line"]) for o in d["out_of_memory"]]' < told.json)" = \
        "[(7, $((24 * MIB)), $((24 * MIB)), 'cap', $((50 * MIB)), $((54 * MIB - 1)), 41)]" ]
    grep -q 'The GPU had 7.00 GiB free, so it was a cap between 50.0 MiB and 54.0 MiB that refused it' page.html
    "$TARE" memory "$DATA/split.pickle" --json > told.json
    [ "$(json 'd["out_of_memory"]' < told.json)" = "[]" ]
}

@test "recorded caps lie within what the recorded out of memory says" {
    archive=${TARE_SHARED:-$ROOT/../shared}/data/memory/allocator-traces.tar.xz
    [ -f "$archive" ] || skip "no recorded traces here"
    tar xJf "$archive"
    for outcome in $(grep -lE '"num_ooms": [1-9]' ./*.json); do
        "$TARE" memory "${outcome%.json}.pickle" --json > told
        python3 - "$outcome" told <<'END'
import json, re, sys
truth, told = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
last = told["out_of_memory"][0]
assert len(told["out_of_memory"]) == truth["num_ooms"]
assert last["limit"] == "cap" and last["limit_low_bytes"] <= truth["cap_gib"] * 2**30 <= last["limit_high_bytes"], (truth, last)
size, unit = re.search(r"Tried to allocate ([0-9.]+) ([MG])iB", truth["oom"]).groups()
assert abs(last["segment_bytes"] / {"M": 1 << 20, "G": 1 << 30}[unit] - float(size)) <= 0.0051, last
END
    done
}

@test "a recommendation from a record in which memory ran out promises no fit" {
    for name in oom capped; do
        make $name
        "$TARE" memory $name.pickle --recommend --html page.html > told
        if grep -qE 'it fits in|that it fits on|Keep the setting' told page.html; then false; fi
        [[ "$(tr -s ' \n' ' ' < told)" == *"Memory ran out at event 7 of 8: what the training would have asked for after that is not \
in the record. All this is what it needs at least, as far as the record goes; it promises no fit."* ]]
        grep -q 'Memory ran out at event 7 of 8' page.html
        grep -qE ' 8 GB\+$' told
        "$TARE" memory $name.pickle --recommend --json > told.json
        [ "$(json '{(a["beyond_record"], a["smallest_gpu_gb"]) for a in d["recommended"]}' < told.json)" = "{(True, None)}" ]
    done
    "$TARE" memory "$DATA/cap.pickle" --recommend --json > told.json
    [ "$(json '{(a["beyond_record"], a["smallest_gpu_gb"]) for a in d["recommended"]}' < told.json)" = "{(False, 8)}" ]
}

@test "stacks of every event are read in memory bounded by the file, and named again and again too" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "sanitizers keep what is freed, and shadow it"
    # peak KiB of a command that must end well
    peak() { python3 -c 'import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
assert code == 0, code
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
    local base
    base=$(peak "$TARE" memory "$DATA/split.pickle")
    # No two stacks alike, which no program has: twice as much.
    local most
    for row in "25 4" "60 4" "25 2" "25 4 unlike"; do
        # shellcheck disable=SC2086 # words
        python3 "$DATA/traces.py" stacked s.pickle 30000 $row
        most=$(($(stat -c %s s.pickle) / 1024 * (${#row} > 4 ? 6 : 3) / 2))
        [ $(($(peak "$TARE" memory s.pickle) - base)) -le "$most" ]
        [ $(($(peak "$TARE" memory s.pickle --recommend) - base)) -le "$most" ]
    done
    # Without stacks a file is least for its events: all that is taken, the program too, is 1.5 times the file.
    python3 "$DATA/traces.py" big s.pickle 300000
    [ "$(peak "$TARE" memory s.pickle)" -le $((3 * $(stat -c %s s.pickle) / 2048)) ]
    # 386 kB that name two names of 150 kB in 40,000 frames: 12 GB, were they copied
    make hostile
    [ $(($(peak "$TARE" memory hostile.pickle --json) - base)) -le $((48 * 1024)) ]
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

@test "growth is claimed only over steps that are marked and repeat" {
    make kinds_leak
    "$TARE" memory kinds_leak.pickle --json > told.json
    [ "$(json 'd["growth"]["spans_are"], d["growth"]["grows"], d["growth"]["bytes_per_span"]' < told.json)" = "('steps', True, $((24 * MIB)).0)" ]
    [ "$(json '[s["place"]["line"] for s in d["growth"]["suspects"]]' < told.json)" = "[20]" ]
    make kinds_steady
    "$TARE" memory kinds_steady.pickle --json > told.json
    [ "$(json 'd["growth"]["spans_are"], d["growth"]["grows"]' < told.json)" = "('steps', False)" ]
    # The same without its marks, with three of them, and with the profiler's.
    for marks in "" 3 ProfilerStep#; do
        python3 - "$marks" <<'END'
import pickle, sys
snapshot, (marks,) = pickle.load(open("kinds_leak.pickle", "rb")), sys.argv[1:]
had = snapshot["external_annotations"]
snapshot["external_annotations"] = had[:int(marks)] if marks in ("", "3") and marks else []
if marks.startswith("Prof"):
    snapshot["external_annotations"] = [{**mark, "name": f"{marks}{i}"} for i, mark in enumerate(had)]
pickle.dump(snapshot, open("marked.pickle", "wb"), protocol=4)
END
        "$TARE" memory marked.pickle --json > told.json
        case $marks in
        Prof*) [ "$(json 'd["growth"]["spans_are"], d["growth"]["grows"]' < told.json)" = "('profiler_steps', True)" ] ;;
        *) [ "$(json 'd["growth"]["spans_are"], d["growth"]["grows"], d["growth"]["suspects"]' < told.json)" = "(None, None, [])" ] ;;
        esac
    done
    public=${TARE_SHARED:-$ROOT/../shared}/data/memory/public
    for file in "$public"/*.pickle; do
        [ -f "$file" ] || skip "no public snapshots here"
        [ "$("$TARE" memory "$file" --json | json 'd["growth"]["grows"]')" = None ]
    done
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
    python3 - page.html <<'END'
import sys
from html.parser import HTMLParser
class Check(HTMLParser):
    open, styles = [], ""
    def handle_starttag(self, tag, attrs):
        assert not any(name in ("src", "href") and not value.startswith("data:") for name, value in attrs), attrs
        if tag in ("svg", "table", "rect", "title", "p", "div", "td", "section", "ul", "li", "style", "script"):
            self.open.append(tag)
    def handle_endtag(self, tag):
        if tag in ("svg", "table", "rect", "title", "p", "div", "td", "section", "ul", "li", "style", "script"):
            assert self.open and self.open.pop() == tag, tag
    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            assert "@import" not in data and "url(" not in data
check = Check()
text = open(sys.argv[1]).read()
check.feed(text)
assert check.open == [], check.open
assert "default-src 'none'" in text
END
}

@test "the page shows the state at every event, reached by keys, as CPython sums it" {
    make kinds
    "$TARE" memory kinds.pickle --html page.html > told
    python3 "$DATA/alive.py" kinds.pickle 47 > truth
    # The kinds of the peak by hand, as in the text.
    python3 - <<'END'
import json
truth = json.load(open("truth"))
truth["states"][str(truth["peak"])]["kinds"] = {"optimizer state": ["120.0 MiB", 4], "parameters": ["60.0 MiB", 2], "gradients": ["60.0 MiB", 2],
    "temporary": ["32.0 MiB", 1], "inputs": ["22.0 MiB", 1]}
json.dump(truth, open("truth", "w"))
END
    memory_page states page.html "$WORK/truth"
    memory_page quiet page.html
    memory_page tools page.html "build (model.py:7)"
}

@test "the page of a record that is too long merges small blocks, keeps the peak exact, and stays small" {
    python3 "$DATA/traces.py" stacked long.pickle 220000 12 4
    "$TARE" memory long.pickle --html page.html > told
    [ "$(stat -c %s page.html)" -le 3000000 ]
    python3 "$DATA/alive.py" long.pickle > truth
    memory_page merged page.html "$WORK/truth" "$(json 'd["allocations"]' < truth)" "$(json 'd["bytes"]' < truth)"
    # A real one, of which all are kept.
    file=${TARE_SHARED:-$ROOT/../shared}/data/memory/public/full-step.pickle
    [ -f "$file" ] || skip "no public snapshots here"
    "$TARE" memory "$file" --html page.html > told
    python3 "$DATA/alive.py" "$file" 3 > truth
    memory_page states page.html "$WORK/truth"
    memory_page quiet page.html
    memory_page tools page.html "BmmBackward0 (backward pass)"
}

@test "on a terminal no line is wider than it is, and the line number stays" {
    make leak
    make kinds
    for file in "$DATA"/*.pickle leak.pickle kinds.pickle; do
        python3 "$BATS_TEST_DIRNAME/on_pty.py" 80 told "$TARE" memory "$file" --recommend --cap 60MiB --what-if max_split_size_mb:64 ||
            [ $? -eq 1 ]
        tail -n +2 told | python3 -c 'import sys; [sys.exit(f"too wide: {l}") for l in sys.stdin if len(l.rstrip("\n")) > 80]'
    done
    python3 - "$DATA/stacks.pickle" <<'END'
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
for event in snapshot["device_traces"][0]:
    for frame in event.get("frames", []):
        if frame["line"] == 31:
            frame["filename"] = "/home/me/" + "a_name_that_is_long_" * 3 + "end.py"
pickle.dump(snapshot, open("long.pickle", "wb"), protocol=4)
END
    python3 "$BATS_TEST_DIRNAME/on_pty.py" 80 told "$TARE" memory long.pickle
    grep -qE ' \(a_name.*….*end\.py:31\)$' told
    python3 -c 'assert max(map(len, open("told").read().splitlines())) <= 80'
    run "$TARE" memory long.pickle
    [[ "$output" == *"forward (a_name_that_is_long_a_name_that_is_long_a_name_that_is_long_end.py:31)"* ]]
}

@test "who holds the peak is told by kind and by place" {
    # By hand from kinds in traces.py: what is alive while the optimizer has its temporary of 32 MiB.
    for name in kinds kinds_late; do
        make $name
        "$TARE" memory $name.pickle --json --rows 100 > told.json
        [ "$(json '{k: (v["bytes"] >> 20, v["count"]) for k, v in d["peak"]["kinds"].items() if v["count"]}' < told.json)" = \
            "{'parameters': (60, 2), 'gradients': (60, 2), 'optimizer_state': (120, 4), 'inputs': (22, 1), 'temporary': (32, 1)}" ]
        [ "$(json 'd["peak"]["unnamed_bytes"], d["self_check"]["exact"]' < told.json)" = "(0, True)" ]
        [ "$(json 'd["peak"]["alive"][0]["smallest_bytes"] >> 20, d["peak"]["alive"][0]["largest_bytes"] >> 20' < told.json)" = "(20, 40)" ]
    done
    # Two stacks of one line are one place; what it calls differs.
    make kinds_steady
    "$TARE" memory kinds_steady.pickle --json > told.json
    [ "$(json '[(r["bytes"] >> 20, r["count"], r["place"]["line"], r["place"]["via"]) for r in d["peak"]["alive"] if r["kind"] == "activations"]' \
        < told.json)" = "[(50, 2, 20, None)]" ]
    # Only Python's frames, as stacks="python" records them: those of the backward pass are empty.
    python3 - <<'END'
import pickle
snapshot = pickle.load(open("kinds_steady.pickle", "rb"))
for event in snapshot["device_traces"][0]:
    if "frames" in event:
        event["frames"] = [frame for frame in event["frames"] if frame["filename"].endswith(".py")]
pickle.dump(snapshot, open("python.pickle", "wb"), protocol=4)
END
    "$TARE" memory python.pickle --json > python.json
    [ "$(json 'd["peak"]["kinds"]' < python.json)" = "$(json 'd["peak"]["kinds"]' < told.json)" ]
}

@test "on a public snapshot of a training step, who holds the peak is what CPython sums from the same file" {
    file=${TARE_SHARED:-$ROOT/../shared}/data/memory/public/full-step.pickle
    [ -f "$file" ] || skip "no public snapshots here"
    "$TARE" memory "$file" --json --rows 1000 > told.json
    python3 - "$file" told.json <<'END'
import json, pickle, sys
from collections import Counter
snapshot = pickle.load(open(sys.argv[1], "rb"))
told = json.load(open(sys.argv[2]))["peak"]
trace = snapshot["device_traces"][0]
recorded, alive, at_peak = {}, {}, None
for event in trace[:told["event"] + 1]:
    if event["action"] == "alloc":
        alive[event["addr"]] = event
    elif event["action"] == "free_requested":
        del alive[event["addr"]]  # this record frees nothing that it did not allocate
at_peak = dict(alive)
ends = {e["addr"]: e for e in trace if e["action"] == "alloc"}
for event in trace[told["event"] + 1:]:
    if event["action"] == "free_requested":
        alive.pop(event["addr"], None)
early = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive" and b["address"] not in ends]
has = lambda event, key, text: any(text in frame[key] for frame in event["frames"])
sums, places = Counter(), Counter()
for addr, event in at_peak.items():
    kept = alive.get(addr) is event
    if has(event, "name", "Engine::evaluate_function"):
        kind = "gradients"
    elif has(event, "filename", "torch/optim/"):
        kind = "optimizer_state" if kept else "temporary"
        user = next(f for f in event["frames"] if f["filename"].endswith(".py") and "site-packages" not in f["filename"])
        places[kind, user["line"]] += event["size"]
    else:
        kind = "activations"
    sums[kind] += event["size"]
sizes = Counter(e["size"] for e in at_peak.values() if has(e, "name", "Engine::evaluate_function"))
for block in early:
    kind = "parameters" if sizes[block["requested_size"]] > 0 else "before_record"
    sizes[block["requested_size"]] -= 1
    sums[kind] += block["requested_size"]
assert {k: v["bytes"] for k, v in told["kinds"].items() if v["bytes"]} == dict(sums), (told["kinds"], sums)
assert {(r["kind"], r["place"]["line"]): r["bytes"] for r in told["alive"] if r["kind"] in ("optimizer_state", "temporary")} == dict(places)
assert sum(r["bytes"] for r in told["alive"]) == sum(sums.values())
assert told["unnamed_bytes"] <= 0.05 * sum(sums.values())
END
}

@test "mistakes are named with their place, the reason and the mend" {
    run "$TARE" memory "$DATA/split.pickle" --what-if max_split_size_mb:10
    [ "$status" -eq 2 ]
    [[ "$output" == *"--what-if: max_split_size_mb:10: it is an integer above 20, in MiB"* ]]
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
    # Cut short, packed twice, of a program that is not there, and of what would fill the memory.
    gzip -c "$DATA/split.pickle" | head -c 300 > cut.gz
    run "$TARE" memory cut.gz
    [ "$status" -eq 2 ]
    [[ "$output" == *"cut.gz: it is compressed (gzip), and gzip cannot unpack it: it is damaged or cut short"* ]]
    gzip -c "$DATA/split.pickle" | gzip -c > twice.gz
    run "$TARE" memory twice.gz
    [[ "$output" == *"it is compressed (gzip), which is not read: unpack it first (gzip -dk FILE)"* ]]
    gzip -c "$DATA/split.pickle" > small.gz
    run env PATH=/nowhere "$TARE" memory small.gz
    [ "$status" -eq 2 ]
    [[ "$output" == *"gzip cannot be started: No such file"* ]]
    head -c 100M /dev/zero | bzip2 > bomb.bz2
    run "$TARE" memory bomb.bz2
    [ "$status" -eq 2 ]
    [[ "$output" == *"bomb.bz2: unpacked by bzip2: it has more than 67"*" bytes"* ]]
    run "$TARE" memory "$DATA/split.pickle" --cap lots
    [ "$status" -eq 2 ]
    [[ "$output" == *"--cap"* ]]
    run "$TARE" memory "$DATA/split.pickle" --device 3
    [ "$status" -eq 2 ]
    [[ "$output" == *"it has no GPU 3"* ]]
}

@test "every protocol, compressed files, standard input and lists of segments say the same" {
    python3 - "$DATA/stacks.pickle" <<'END'
import pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
for protocol in range(6):
    pickle.dump(snapshot, open(f"{protocol}.pickle", "wb"), protocol=protocol)
pickle.dump(snapshot["segments"], open("list.pickle", "wb"))
for segment in snapshot["segments"]:  # as PyTorch 1.13 has them
    for block in segment["blocks"]:
        if block["state"] != "inactive":
            frames = [{"name": "forward", "filename": "/home/me/old.py", "line": 5}]
            block["history"] = [{"addr": block["address"], "real_size": block["requested_size"] - 1, "frames": frames}]
        del block["requested_size"], block["frames"], block["address"]
pickle.dump(snapshot["segments"], open("old.pickle", "wb"), protocol=2)
END
    "$TARE" memory "$DATA/stacks.pickle" --json | grep -v '"file"' > told.json
    for name in 0 1 2 3 4 5; do
        "$TARE" memory $name.pickle --json | grep -v '"file"' | cmp - told.json
    done
    for program in gzip xz bzip2 zstd; do
        command -v $program || continue
        $program -c < "$DATA/stacks.pickle" > packed
        "$TARE" memory packed --json | grep -v '"file"' | cmp - told.json
        "$TARE" memory - --json < packed | grep -v '"file"' | cmp - told.json
    done
    cat "$DATA/stacks.pickle" | "$TARE" memory - --json | grep -v '"file"' | cmp - told.json
    "$TARE" memory list.pickle --json > list.json
    [ "$(json 'd["end"]["allocated_bytes"]' < list.json)" = "$(json 'd["end"]["allocated_bytes"]' < told.json)" ]
    [ "$(json 'd["peak"], d["events"]' < list.json)" = "(None, 0)" ]
    "$TARE" memory old.pickle --json > old.json
    [ "$(json '[(r["place"]["line"], r["count"], r["bytes"]) for r in d["end"]["alive"]]' < old.json)" = "[(5, 3, $((16 * MIB - 3)))]" ]
}

@test "several GPUs of a snapshot are named, and the one with most in it is shown" {
    python3 - "$DATA" <<'END'
import pickle, sys
one, two = (pickle.load(open(f"{sys.argv[1]}/{name}.pickle", "rb")) for name in ("cap", "split"))
for segment in two["segments"]:
    segment["device"] = 1
one["segments"] += two["segments"]
one["device_traces"] += two["device_traces"]
pickle.dump(one, open("two.pickle", "wb"), protocol=4)
END
    run "$TARE" memory two.pickle
    [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"GPUs in it: 0 (70.0 MiB reserved, 7 events), 1 (22.0 MiB reserved, 12 events). This is GPU 1; --device"* ]]
    run "$TARE" memory two.pickle --device 0
    [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"This is GPU 0; --device chooses another."* ]]
    run "$TARE" memory "$DATA/cap.pickle"
    [[ "$output" != *"GPUs in it"* ]]
}

@test "a recommendation for a training that grows promises no fit" {
    make kinds_leak
    run "$TARE" memory kinds_leak.pickle --recommend
    [[ "$(tr -s ' \n' ' ' <<< "$output")" == *"Memory grows from step to step: no setting helps against that, and a larger GPU only delays it."* ]]
    if grep -qE 'it fits in|that it fits on|Keep the setting' <<< "$output"; then false; fi
    "$TARE" memory kinds_leak.pickle --recommend --json > told.json
    [ "$(json '{(a["beyond_record"], a["smallest_gpu_gb"]) for a in d["recommended"]}' < told.json)" = "{(True, None)}" ]
}

@test "two snapshots are compared by kind and place, and so are ranks" {
    make kinds
    make kinds_leak
    # By hand from kinds in traces.py, at the peaks: in the step of the optimizer, and in the sixth backward pass, where seven layers of 24 and
    # one of 26 MiB are alive, the large gradient and the 30 MiB of the backward pass.
    "$TARE" memory kinds.pickle kinds_leak.pickle --json > told.json
    [ "$(json '[s["allocated_bytes"] >> 20 for s in d["snapshots"]]' < told.json)" = "[294, 442]" ]
    [ "$(json 'd["places"][0]["kind"], [b >> 20 for b in d["places"][0]["bytes"]]' < told.json)" = "('activations', [0, 170])" ]
    run "$TARE" memory kinds.pickle kinds_leak.pickle --html page.html
    [ "$status" -eq 0 ]
    told=$(tr -s ' ' <<< "$output")
    for line in "+170.0 MiB 0 B 170.0 MiB activations forward (model.py:20)" "-20.0 MiB 60.0 MiB 40.0 MiB gradients MmBackward0 (backward pass)" \
        "0 B 22.0 MiB 22.0 MiB inputs" "2 0 229 442.0 MiB 442.0 MiB kinds_leak.pickle"; do
        [[ "$told" == *"$line"* ]]
    done
    grep -q '+170.0 MiB' page.html
    [ "$(grep -c '<path class=a' page.html)" -eq 2 ]
    if grep -qE 'src=|href=|<script|@import|url\(' page.html; then false; fi
    # The least and the most of three, and in which.
    run "$TARE" memory kinds.pickle kinds_leak.pickle "$DATA/split.pickle"
    [[ "$(tr -s ' ' <<< "$output")" == *"170.0 MiB 0 B 1 170.0 MiB 2 activations forward (model.py:20)"* ]]
    run "$TARE" memory kinds.pickle kinds.pickle
    [[ "$output" == *"Changes of places, the largest first: none"* ]]
    run "$TARE" memory kinds.pickle kinds_leak.pickle --recommend
    [ "$status" -eq 2 ]
    [[ "$output" == *"--what-if, --cap and --recommend are of one snapshot, not of 2"* ]]
    cp kinds.pickle kept.pickle
    run "$TARE" memory kinds.pickle kinds_leak.pickle --html kinds.pickle
    [ "$status" -eq 2 ]
    cmp kinds.pickle kept.pickle
    python3 "$BATS_TEST_DIRNAME/on_pty.py" 80 told "$TARE" memory kinds.pickle kinds_leak.pickle
    python3 -c 'assert max(map(len, open("told").read().splitlines())) <= 80'
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
    [[ "$output" == *"Alive at the end: 15.1 MiB in 4 allocations"* ]]
    run "$TARE" memory bare.pickle --recommend
    [ "$status" -eq 3 ]
    [[ "$output" == *"_record_memory_history()"* ]]
}
