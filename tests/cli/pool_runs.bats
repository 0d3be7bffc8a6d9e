#!/usr/bin/env bats
# Many experiments on many GPUs. TARE_POOL_SEED=7 TARE_POOL_EXPERIMENTS=80 bats tests/cli/pool_runs.bats

load guard

# A CPU package that draws 50 W, written by a process of its own, and the processors' times of this machine: $WRITER.
cpu_package() {
    local zone=machine/sys/class/powercap/intel-rapl:0
    mkdir -p $zone machine/proc
    echo package-0 >$zone/name
    echo 262143328850 >$zone/max_energy_range_uj
    cat >writer.py <<'PY'
import os, time
fd = os.open("machine/sys/class/powercap/intel-rapl:0/energy_uj", os.O_WRONLY | os.O_CREAT, 0o644)
first = time.monotonic_ns()
while os.path.exists("writer.py"):
    os.pwrite(fd, b"%d\n" % (10**11 + 50 * (time.monotonic_ns() - first) // 1000), 0)
    time.sleep(0.002)
PY
    python3 writer.py 3>&- &
    PLANTED+=" $!"
    wait_until test -s $zone/energy_uj
}

@test "eight GPUs, one lost and one with an intruder: all is done, and the verdicts of the others do not change" {
    local seed=${TARE_POOL_SEED:-$RANDOM} experiments=${TARE_POOL_EXPERIMENTS:-200}
    echo "TARE_POOL_SEED=$seed"
    scenario 8 "fault * error code=15 gpu=5 when=$WORK/lost"
    cpu_package
    job 'sleep 0.2; echo loss 0.5'
    settings "$experiments" '"policy": "go-on"'
    export TARE_TIME_SCALE=0.05
    start_run
    # Both come at a moment of their own, while the run goes on.
    wait_until has_event attempt_ended
    sleep "0.$((seed % 10))"
    plant 2 500 50
    sleep "1.$((seed / 10 % 10))"
    touch lost
    for ((i = 0; i < 3000; i++)); do has_event session_ended && break; sleep 0.2; done
    end_program
    [ "$CODE" -eq 0 ]
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " $experiments succeeded"
    look '
import collections, csv
def of(kind): return [e for e in events if e["type"] == kind]
count = len(list(csv.DictReader(open(sys.argv[1] + "/summary.csv"))))
ends = collections.Counter(e["experiment"] for e in of("experiment_ended") if e["data"]["outcome"] != "interrupted")
assert ends == {n: 1 for n in range(1, count + 1)}, "each is done once"

# The lost GPU: what it had was done by another lane, and it took nothing more.
interrupted = [e for e in of("experiment_ended") if e["data"]["outcome"] == "interrupted"]
assert len(interrupted) <= 1, interrupted
pool = of("session_ended")[0]["data"]["pool"]
assert [lane["lane"] for lane in pool["lanes"] if lane["lost"]] == [6], pool
lane_of, began = {}, collections.defaultdict(list)
for e in of("experiment_started"):
    lane_of[e["experiment"]] = e["data"]["lane"] # the last: that of the result
    began[e["data"]["lane"]].append(e["monotonic_ns"])
gave_up = max(began[6])
assert sum(t > gave_up for lane, times in began.items() if lane != 6 for t in times) > 0

# The intruder: its GPU alone.
by_intruders = {"foreign_process", "gpu_busy_before", "memory_not_empty", "foreign_after", "possibly_delegated", "memory_leaked"}
kinds = collections.defaultdict(set)
for e in of("evidence"):
    if e["data"]["kind"] in by_intruders:
        kinds[e["experiment"]].add(e["data"]["kind"])
marked = {lane_of[n] for n in kinds}
assert marked == {3}, {n: (lane_of[n], kinds[n]) for n in kinds}
assert any("foreign_process" in kinds[n] for n in kinds), kinds
assert all(e["data"]["device"] in (None, "GPU 2") for e in of("evidence") if e["data"]["kind"] in by_intruders)

# The verdicts of the others: what there is against them is what a busy machine does to anybody, none of it names the intruder'"'"'s GPU,
# and each verdict is what this evidence weighs, clean where there is none.
by_machine = {"cpu_shared", "cpu_contended", "host_pressure", "sampling_gap", "energy_disagrees", "counter_backwards", "counter_jumped",
              "counter_stood", "energy_file", "energy_imprecise", "cpu_unchecked", "runner_stopped"}
against = {}
for n in range(1, count + 1):
    tare = experiment(n)["tare"]
    against[n] = [d for d in tare["evidence"] if d["attempt"] in (None, tare["result_attempt"])]
weights = ["recorded", "unverified", "suspect", "contaminated"]
verdicts = {int(row["experiment_id"][-3:]): row["verdict"] for row in rows("summary.csv")}
assert len(verdicts) == count
others = [n for n in verdicts if lane_of[n] != 3 and n not in {e["experiment"] for e in interrupted}]
assert len(others) > count // 2, (len(others), count)
for n in others:
    heavy = [d for d in against[n] if d["weight"] != "recorded"]
    # A GPU that is lost answers no more: what had to be checked on it was not; nor was it where the run itself got no processor.
    unchecked = {"check_not_made"} if lane_of[n] == 6 or any(d["kind"] == "runner_stopped" for d in heavy) else set()
    assert {d["kind"] for d in heavy} <= by_machine | unchecked, (n, lane_of[n], heavy)
    assert all(d.get("device") in (None, "GPU %d" % (lane_of[n] - 1)) for d in against[n]), (n, against[n])
    worst = max([weights.index(d["weight"]) for d in heavy], default=0)
    assert verdicts[n] == ["clean", *weights[1:]][worst], (n, verdicts[n], heavy)
assert any(verdicts[n] != "clean" for n in kinds), {n: verdicts[n] for n in kinds}

# Energy, to the millijoule: an attempt'"'"'s is that of its own lane'"'"'s GPU, so all lanes have what all devices have.
of_device, of_lane, attempt_lane = collections.Counter(), collections.Counter(), {}
current = {}
for e in events:
    if e["type"] == "experiment_started":
        current[e["experiment"]] = e["data"]["lane"]
    elif e["type"] == "attempt_ended" and e["data"]["energy"]:
        boards = [d for d in e["data"]["energy"]["devices"] if d["scope"] == "GPU board"]
        assert [d["device"] for d in boards] == ["GPU %d" % (current[e["experiment"]] - 1)], (e, current)
        for d in boards:
            if d["joules"] is not None:
                of_device[d["device"]] += round(d["joules"] * 1000)
                of_lane[current[e["experiment"]]] += round(e["data"]["energy"]["gpu"]["joules"] * 1000)
assert {"GPU %d" % (lane - 1): mj for lane, mj in of_lane.items()} == of_device, (of_lane, of_device)
assert sum(of_lane.values()) == sum(of_device.values()) > 0

# Every GPU drew 77 W but for the one with the load, and each attempt has its own alone.
drawn, seconds = collections.Counter(), collections.Counter()
for e in of("attempt_ended"):
    for device in (e["data"]["energy"] or {}).get("devices", []):
        if device["scope"] == "GPU board" and device["joules"] is not None:
            drawn[device["device"]] += device["joules"]
            seconds[device["device"]] += e["data"]["duration_s"]
assert len(drawn) == 8, drawn
for device in drawn:
    if device not in ("GPU 2", "GPU 5"):
        mean = drawn[device] / seconds[device]
        assert abs(mean - 77) < 2, (device, mean)

# The package: what the attempts got and what nobody got is what it drew.
shares = [e["data"]["energy"]["cpu_package_share"] for e in of("attempt_ended") if e["data"]["energy"]]
package = pool["cpu_package"]
assert all(share["estimate"] and 0 <= share["attributed_mj"] <= share["total_mj"] for share in shares)
assert sum(share["attributed_mj"] for share in shares) == package["attributed_mj"], package
assert package["attributed_mj"] + package["unattributed_mj"] == package["total_mj"], package
assert sum(lane["cpu_package_mj"] for lane in pool["lanes"]) == package["attributed_mj"], pool
assert package["attributed_mj"] > 0, package
assert abs(package["total_mj"] / 1000 / pool["seconds"] - 50) < 5, (package, pool["seconds"])
'
}

@test "killed again and again, a run on four GPUs is finished by resume: each experiment once, nothing survives" {
    scenario 4
    job 'echo "$TARE_EXPERIMENT $$" >>../tries; sleep 0.3; echo loss 0.5; echo "$TARE_EXPERIMENT end" >>../tries'
    settings 24
    start_run
    wait_until has_event job_born
    local round
    for round in 1 2 3 4 5 6; do
        # Some of them, together with whatever else has begun by then.
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        kill -KILL "$PID" 2>/dev/null || break
        wait "$PID" 2>/dev/null || true
        wait_until lock_is_free "$(run_dir)/run.lock"
        start_program run --resume "$(run_dir)" --containment sweep
    done
    for ((i = 0; i < 1200; i++)); do program_is_gone && break; sleep 0.1; done
    end_program
    [ "$CODE" -eq 0 ]
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 24 succeeded"
    look '
import collections
ends = collections.Counter(e["experiment"] for e in events if e["type"] == "experiment_ended" and e["data"]["outcome"] == "succeeded")
assert ends == {n: 1 for n in range(1, 25)}, ends
alive = collections.defaultdict(set) # at the same moment, by session: never two jobs of one experiment, never over four
for e in events:
    if e["type"] == "session_started": alive.clear()
    if e["type"] == "job_born": alive[e["experiment"]].add(e["data"]["pid"])
    if e["type"] == "job_proven": alive.pop(e["experiment"], None)
    assert sum(map(len, alive.values())) <= 4, e
'
    for pid in $(awk '$2 != "end" { print $2 }' tries); do
        run kill -0 "$pid"
        [ "$status" -ne 0 ] || ! grep -qs job.sh "/proc/$pid/cmdline"
    done
}
