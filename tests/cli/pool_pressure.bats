#!/usr/bin/env bats
# Experiments of other lanes that are in the way of one: what is shared is said. Pressure and PCIe links are played.

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
    # One processor, so that a good part of it is had on a busy machine, too.
    printf 'cpu  1000 0 1000 100000 0 0 0 0 0 0\ncpu0 1000 0 1000 100000 0 0 0 0 0 0\n' >machine/proc/stat
    # The second experiment works until it has had a fifth of that processor since the first began, for four seconds at least: then
    # the kernel says that programs waited nine tenths of that time, and the first one ends.
    mkdir -p repo
    cat >repo/work.py <<'PY'
import os, time
def until(condition):
    give_up = time.monotonic() + 80
    while not condition() and time.monotonic() < give_up: pass
until(lambda: os.path.exists("began"))
begun, used = time.monotonic(), time.process_time()
until(lambda: time.monotonic() - begun > 4 and time.process_time() - used > 0.2 * (time.monotonic() - begun))
for name in ("cpu", "memory"):
    path = "../machine/proc/pressure/" + name
    with open(path + ".new", "w") as out:
        for kind, total in (("some", 500000000 + 0.9e6 * (time.monotonic() - begun)), ("full", 0)):
            out.write("%s avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n" % (kind, total))
    os.rename(path + ".new", path)
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

# bridge PLACE SPEED WIDTH: a PCI device below machine/sys/devices, by its folders.
bridge() {
    local folder=machine/sys/devices/$1
    mkdir -p "$folder" machine/sys/bus/pci/devices
    echo "$2" >"$folder/current_link_speed"
    echo "$3" >"$folder/current_link_width"
    ln -s "../../../devices/$1" "machine/sys/bus/pci/devices/${1##*/}"
}

@test "GPUs that fill the PCIe link they share are evidence against both experiments, and a third one is clean" {
    # GPUs 0 and 1 are below one switch, whose link carries 31.5 GB/s: 14 + 13 GB/s are 86 % of it. GPU 2 has more to itself.
    scenario 3 'gpu 0
pcie_received_gb 14
gpu 1
pcie_received_gb 13
gpu 2
pcie_received_gb 40'
    bridge pci0000:00/0000:00:01.0 "16.0 GT/s PCIe" 16
    bridge pci0000:00/0000:00:01.0/0000:0a:00.0 "16.0 GT/s PCIe" 16
    bridge pci0000:00/0000:00:01.0/0000:0a:00.0/0000:0b:00.0/0000:01:00.0 "32.0 GT/s PCIe" 16
    bridge pci0000:00/0000:00:01.0/0000:0a:00.0/0000:0b:01.0/0000:02:00.0 "32.0 GT/s PCIe" 16
    bridge pci0000:00/0000:00:02.0/0000:03:00.0 "32.0 GT/s PCIe" 16
    # All three run together until two have been told of their link for five looks or so.
    job 'touch "began.$TARE_EXPERIMENT"; until [ -e go ]; do sleep 0.2; done; echo loss 0.5'
    settings 3
    start_run
    wait_until test -e repo/began.repo_net_001
    wait_until test -e repo/began.repo_net_002
    wait_until test -e repo/began.repo_net_003
    sleep 8
    touch repo/go
    end_program
    is "$CODE" 0
    look '
import re
lane_of = {e["experiment"]: e["data"]["lane"] for e in events if e["type"] == "experiment_started"}
names = {lane: "repo_net_%03d" % number for number, lane in lane_of.items()}
for number, lane in lane_of.items():
    found = evidence(number, "pcie_contended")
    if lane == 3:
        assert not found, found
        continue
    found, = found
    seconds, total, others = map(float, re.match(r"for (\d+) s the PCIe link above bridge 0000:00:01.0 was full of transfers to GPUs, "
                        r"up to (\d+) % of what it can carry, up to (\d+) % by other slots: ", found["text"]).groups())
    # The fullest second counts, and on a busy machine a reading may be stamped a little early or late.
    assert 80 <= total <= 115 and (38 if lane == 1 else 41) <= others <= 65, found
    assert found["text"].endswith(": " + names[3 - lane]), found
    assert found["experiments"] == [n for n, of in lane_of.items() if of == 3 - lane] and found["pids"] == [], found
    duration = ended(number)[0]["duration_s"]
    assert 0 <= found["from_s"] < found["to_s"] <= duration + 0.001 and seconds >= 2, (found, duration)
'
    is "$(grep -c "evidence (suspect): .*PCIe link above bridge 0000:00:01.0" out)" 2
}
