#!/usr/bin/env bats
# The guard over many runs. TARE_GUARD_RUNS=500 TARE_GUARD_SEED=7 bats tests/cli/guard_runs.bats: more of the random ones, and others.

load guard

@test "with outsiders, brakes, leaks and harmless things planted at random no run is judged wrongly" {
    python3 "$ROOT/tests/cli/guard_random.py" "$TARE" "$LIBRARY" "$WORK/random" "${TARE_GUARD_RUNS:-8}" "${TARE_GUARD_SEED:-1}" \
        3>&-
}

# What happened in the study: a training in the background outlived the stop of its experiment, held 5.5 GB and kept the GPU busy, and
# the 31 experiments after it were measured beside it.
@test "the incident replayed: what outlives a naive stop is ended, and the 31 experiments after it are clean" {
    scenario 1
    mkdir repo
    cat >repo/survivor.py <<'END'
import os, signal, sys, time
if os.fork():
    sys.exit()
os.setsid()
if os.fork():
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
users, pid = sys.argv[1], os.getpid()
with open("%s/.survivor" % users, "w") as out:
    out.write("0 %d 80\n" % (5632 << 20))
os.rename("%s/.survivor" % users, "%s/%d" % (users, pid))
open("survives", "w").write(str(pid))
while True:
    time.sleep(1)
END
    job "[ \"\$TARE_EXPERIMENT\" = repo_net_001 ] || { echo loss 0.5; exit; }
python3 survivor.py $USERS; until [ -s survives ]; do sleep 0.2; done; sleep 2; echo loss 0.5"
    settings 32
    sed -i 's/"stop_grace": 20/"stop_grace": 1/' settings.json
    timeout -k 5 400 "$TARE" run settings.json -c registry.json -o results --containment sweep >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 32 succeeded"
    is "$(kinds 1)" leftover_processes
    look '
assert "python3" in evidence(1, "leftover_processes")[0]["text"], evidence(1)
back, = guard(1, "postflight")[0]["devices"]
assert back["before_bytes"] >= 5632 << 20 and back["after_bytes"] == 0 and back["state"] == "back", back
assert experiment(1)["tare"]["energy"]["gpu"]["power_max_w"] > 600, "it did load the GPU"
# They take milliseconds, of which the meter tells little.
meter = ("sampling_gap", "energy_disagrees", "energy_imprecise", "counter_stood", "counter_jumped", "cpu_unchecked")
for number in range(2, 33):
    assert [e for e in evidence(number) if e["kind"] not in meter] == [], (number, evidence(number))
    before, = guard(number, "preflight")
    device, = before["devices"]
    assert before["clear"] and device["memory_bytes"] == 0 and device["utilisation_percent"] == 0, (number, before)
    assert device["power_w"] < 80, (number, device)
'
    run kill -0 "$(cat repo/survives)"
    [ "$status" -ne 0 ]
}
