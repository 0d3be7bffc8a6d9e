#!/usr/bin/env bats
# Experiments of other lanes that are in the way of one: what is shared is said. Pressure is played.

load guard

# pressure RESOURCE SOME-US: how long programs have waited for it since boot, as the kernel writes it.
pressure() {
    mkdir -p machine/proc/pressure
    printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%s\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n' "$2" \
        >"machine/proc/pressure/$1"
}

@test "an experiment that had to wait for processors and memory beside others is suspect, and they are named" {
    scenario 2
    pressure cpu 500000000
    pressure memory 500000000
    pressure io 500000000
    job_waited memory 500000000
    # One processor, so that a good part of it is had on a busy machine, too.
    printf 'cpu  1000 0 1000 100000 0 0 0 0 0 0\ncpu0 1000 0 1000 100000 0 0 0 0 0 0\n' >machine/proc/stat
    # The second experiment works until it has had a tenth of that processor (5 % count) since the first began, for four seconds at least: then
    # the kernel says that programs waited nine tenths of that time, and the first one ends.
    mkdir -p repo
    cat >repo/work.py <<'PY'
import os, time
def until(condition):
    give_up = time.monotonic() + 80
    while not condition() and time.monotonic() < give_up: pass
until(lambda: os.path.exists("began"))
begun, used = time.monotonic(), time.process_time()
until(lambda: time.monotonic() - begun > 4 and time.process_time() - used > 0.1 * (time.monotonic() - begun))
for name in ("cpu", "memory"):
    path = "../machine/proc/pressure/" + name
    with open(path + ".new", "w") as out:
        for kind, total in (("some", 500000000 + 0.9e6 * (time.monotonic() - begun)), ("full", 0)):
            out.write("%s avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n" % (kind, total))
    os.rename(path + ".new", path)
with open("../machine/own", "w") as out:
    out.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n" % (500000000 + 0.9e6 * (time.monotonic() - begun)))
os.rename("../machine/own", "../machine/sys/fs/cgroup/job/memory.pressure")
open("go", "w")
until(lambda: os.path.exists("ended"))
time.sleep(2)
PY
    job 'case $TARE_EXPERIMENT in
*001) touch began; until [ -e go ]; do sleep 0.5; done; echo loss 0.5 ;;
*) python3 work.py; echo loss 0.5 ;;
esac'
    settings 2
    start_run
    wait_until test -e repo/go
    wait_until has_event experiment_ended
    touch repo/ended
    end_program
    is "$CODE" 0
    look '
import re
found, = evidence(1, "cpu_contended")
waited, others = [float(x) for x in re.findall(r"(\d+) %", found["text"])]
duration = ended(1)[0]["duration_s"]
assert found["text"].endswith("; on other slots: repo_net_002"), found
assert found["experiments"] == [2] and found["pids"] == [], found
# Nine tenths of the time that the other one saw, which is within this one'"'"'s.
assert 25 <= waited <= 91 and 5 <= others <= 101, found
assert found["from_s"] == 0 and found["to_s"] >= duration - 0.001, (found, duration)
memory, = evidence(1, "host_pressure")
assert re.match(r"programs waited for memory \d+ % of the time, .*; on other slots: repo_net_002$", memory["text"]), memory
assert memory["experiments"] == [2] and memory["pids"] == [], memory
# The other one was in its way, and not the other way round.
assert not evidence(2, "cpu_contended"), evidence(2)
'
    is "$(summary verdict | head -1)" suspect
}
