#!/usr/bin/env bats
# The guard and the machine itself: that it slept, or was short of memory or disk, while an experiment was measured.
# Clocks are played by a library that is loaded before the system's (tests/fault/asleep.c), /proc by a folder; the program
# is the shipped one.

load guard

PRELOAD=${BUILD_DIR:-$ROOT/build}/tests/fault/libasleep.so

need_sleep() {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the library that plays clocks goes in front of the sanitizers' runtime"
    [ -e "$PRELOAD" ] || skip "there is no $PRELOAD"
    echo 0 >"$WORK/slept"
}

# sleepy_run: it sleeps for as long in all as the file "slept" says, in nanoseconds.
sleepy_run() {
    export LD_PRELOAD=$PRELOAD ASLEEP_FILE=$WORK/slept
    start_run
    unset LD_PRELOAD
}

sleep_for() { echo "$1" >"$WORK/slept.new" && mv "$WORK/slept.new" "$WORK/slept"; }

@test "a machine that slept while it was measured contaminates that experiment, with the time, and no other" {
    need_sleep
    scenario 1
    # The second one finds the way free, and is long enough for its energy.
    waiting_job "$(job_holds 1000); sleep 1"
    settings 2
    sleepy_run
    wait_until test -e repo/began
    sleep 1
    local before_ns after_ns
    before_ns=$(monotonic)
    sleep_for 5400000000000
    wait_until grep -q 'the machine slept for 5400' out
    after_ns=$(monotonic)
    touch repo/go
    end_program
    is "$CODE" 0
    is "$(kinds 1)" suspend
    is "$(kinds 2)" ""
    is "$(summary verdict | tr '\n' ' ')" "contaminated clean "
    BEFORE_NS=$before_ns AFTER_NS=$after_ns look '
import os
start = [e["data"]["start_ns"] for e in events if e["type"] == "attempt_started" and e["experiment"] == 1][0]
found, = evidence(1, "suspend")
# Two clocks are read one after the other.
assert found["text"] in ("the machine slept for 5400.0 s", "the machine slept for 5400.1 s"), found
before, after = [(int(os.environ[name]) - start) / 1e9 for name in ("BEFORE_NS", "AFTER_NS")]
# It happened after before and was told before after; its span holds the moment.
assert 0 <= found["from_s"] <= after + 0.001 and before - 0.001 <= found["to_s"] >= found["from_s"], (found, before, after)
# A length has no sleep in it.
assert ended(1)[0]["duration_s"] < 600, ended(1)
assert abs(experiment(1)["tare"]["energy"]["host"]["suspended_s"] - 5400) < 0.2, experiment(1)["tare"]["energy"]["host"]
'
}

@test "a machine that slept between two experiments has slept for nobody" {
    need_sleep
    scenario 1
    job "case \$TARE_EXPERIMENT in *001) ;; *) touch ../second; until [ -e ../go ]; do sleep 0.2; done ;; esac; echo loss 0.5"
    settings 2
    sed -i 's/"between_runs": 0/"between_runs": 3/' settings.json
    sleepy_run
    wait_until has_event experiment_ended
    wait_until has_event pause
    sleep_for 7200000000000
    wait_until test -e second
    sleep 2
    touch go
    end_program
    is "$CODE" 0
    is "$(kinds 1)|$(kinds 2)" "|"
}

@test "without any GPU a sleep is seen all the same" {
    need_sleep
    unset TARE_NVML
    rm -rf machine/proc/driver
    waiting_job
    settings 1
    sleepy_run
    wait_until test -e repo/began
    sleep_for 60000000000
    touch repo/go
    end_program
    is "$CODE" 0
    is "$(kinds)" suspend
    is "$(summary verdict)" contaminated
}

# pressure RESOURCE SOME-US FULL-US: how long programs have waited for it since boot, as the kernel writes it.
pressure() {
    mkdir -p machine/proc/pressure
    printf '%s avg10=0.00 avg60=0.00 avg300=0.00 total=%s\n' some "$2" full "$3" >machine/proc/pressure/.new
    mv machine/proc/pressure/.new "machine/proc/pressure/$1"
}

# waits_for RESOURCE SOME FULL JOB: a job of some three seconds after which programs have waited for it that share of its time, and the
# job itself has waited its own.
waits_for() {
    job "exec python3 -c '
import os, time
begun = time.monotonic()
time.sleep(3)
spent = time.monotonic() - begun
path = \"../machine/proc/pressure/$1\"
with open(path + \".new\", \"w\") as out:
    for kind, base, share in ((\"some\", 500000000, $2), (\"full\", 100000000, $3)):
        out.write(\"%s avg10=0.00 avg60=0.00 avg300=0.00 total=%d\\n\" % (kind, base + share * spent * 1e6))
os.rename(path + \".new\", path)
with open(\"../machine/own\", \"w\") as out:
    out.write(\"some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n\" % ($4 * spent * 1e6))
os.rename(\"../machine/own\", \"../machine/sys/fs/cgroup/job/$1.pressure\")
print(\"loss\", spent)'"
}

@test "programs that waited for memory or disks much of the time are evidence, those that did a little are none" {
    local row resource some full own expected each
    scenario 1
    for row in "memory 0.9 0.0 0.9 host_pressure" "memory 0.05 0.02 0.05 -" "memory 0.19 0.19 0.1 host_pressure" \
        "io 0.95 0.9 0.9 host_pressure" "io 0.95 0.9 0.03 -" "io 0.9 0.1 0.9 -" "cpu 0.9 0.0 0.9 -"; do
        read -r resource some full own expected <<<"$row"
        rm -rf results machine/proc/pressure
        pressure memory 500000000 100000000
        pressure io 500000000 100000000
        pressure cpu 500000000 100000000
        for each in cpu memory io; do job_waited "$each" 0; done
        waits_for "$resource" "$some" "$full" "$own"
        settings 1
        tare_run >out
        is "$row: $(kinds)" "$row: ${expected#-}"
        [ "$expected" != - ] || { is "$(summary verdict)" clean; continue; }
        is "$(summary verdict)" suspect
        grep -q 'evidence (suspect): .*programs waited for memory .* of the time' out
        ROW=$row look '
import os, re
resource, some, full, own, _ = os.environ["ROW"].split()
found, = evidence(1, "host_pressure")
memory, disks = [float(x) for x in re.findall(r"(\d+) %", found["text"])]
duration = ended(1)[0]["duration_s"]
spent = ended(1)[0]["metrics"]["loss"]
# The time that was looked at holds all of the training, which holds what its program saw of it.
assert found["from_s"] == 0 and spent <= duration <= found["to_s"] + 0.001, (found, spent, duration)
told, share = (memory, float(some)) if resource == "memory" else (disks, float(full))
assert abs(told - 100 * share * spent / found["to_s"]) <= 0.6, (found, share, spent)
'
    done
}
