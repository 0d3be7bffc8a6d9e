#!/usr/bin/env bats
# tare measure, exec --energy and doctor's sensors, against a driver whose GPUs draw what is known in closed form.

load energy

eval "machine_$(declare -f teardown)"
teardown() {
    [ -z "${WRITER:-}" ] || kill -KILL "$WRITER" 2>/dev/null || true
    machine_teardown
}

# check LINES: python's lines about page.json: "page" is it, device(name) one of its devices, truth(gpu) the joules that the
# scenario's steps came to between its two moments, near as in energy.bash.
check() {
    cat >check.py <<'END'
import json
page = json.load(open("page.json"))
lines = [line.split() for line in open("scenario") if line.strip()]
origin = [int(line[1]) for line in lines if line[0] == "origin_ns"][0]
start, end = page["start_ns"], page["end_ns"]

def steps(gpu):
    at, found = gpu, [] # what stands before the first "gpu" is said of all
    for line in lines:
        if line[0] == "gpu":
            at = int(line[1])
        elif line[0] == "step" and at == gpu:
            found.append((origin + float(line[1]) * 1e6, float(line[2])))
    return sorted(found)

def truth(gpu=0):
    total, found = 0, steps(gpu)
    for i, (begin, watts) in enumerate(found):
        until = found[i + 1][0] if i + 1 < len(found) else end
        total += watts * max(0, min(end, until) - max(start, begin)) / 1e9
    return total

def device(name):
    return [d for d in page["devices"] if d["device"] == name][0]

# The half-width is of 95 %: three deviations, so that no test fails by chance.
def near(joules, expected, half_width):
    assert half_width > 0 and abs(joules - expected) <= 1.6 * half_width, (joules, expected, half_width)

END
    printf '%s\n' "$1" >>check.py
    python3 check.py
}

# Line $1 of doctor's page.json with this name: the value of the key.
sensor() {
    python3 - "$@" <<'END'
import json, sys
checks = [c for c in json.load(open("page.json"))["checks"] if c["section"] == "Sensors" and c["name"] == sys.argv[1]]
value = checks[0]
for key in sys.argv[2].split("."):
    value = value[key]
print(value)
END
}

# A CPU package and its DRAM that draw 50 W and 8 W, written by a process of its own; its longest pause in milliseconds is
# in the file pause.
cpu_counters() {
    local zone=machine/sys/class/powercap/intel-rapl:0
    mkdir -p $zone "$zone:0"
    echo package-0 >$zone/name
    echo dram >$zone:0/name
    echo 262143328850 | tee $zone:0/max_energy_range_uj >$zone/max_energy_range_uj
    cat >writer.py <<'END'
import os, time
zone = "machine/sys/class/powercap/intel-rapl:0"
files = [(os.open(zone + "/energy_uj", os.O_WRONLY | os.O_CREAT, 0o644), 50),
         (os.open(zone + ":0/energy_uj", os.O_WRONLY | os.O_CREAT, 0o644), 8)]
first = last = time.monotonic_ns()
longest = 0
while os.path.exists("writer.py"):
    now = time.monotonic_ns()
    for fd, watts in files: # the same number of digits always: in one write, nobody sees half of it
        os.pwrite(fd, b"%d\n" % (10**11 + watts * (now - first) // 1000), 0)
    if now - last > longest:
        longest = now - last
        with open("pause.new", "w") as out:
            out.write(str(longest // 10**6 + 1))
        os.rename("pause.new", "pause")
    last = now
    time.sleep(0.001)
END
    python3 writer.py 3>&- &
    WRITER=$!
    wait_until test -e pause
}

has_child() { file_has "/proc/$1/task/$1/children" ' '; }

measured() { "$TARE" measure --json "$@" >page.json; }

@test "two GPUs are measured for so long, and add up" {
    scenario 2 'step 0 100
gpu 0
step 2500 600
gpu 1
step 500 300'
    measured --for 3s
    check '
assert 3 <= page["duration_seconds"] < 60 and page["ended_by"] == "time" and page["process"] is None, page
one, two = page["devices"]
assert (one["device"], two["device"]) == ("GPU 0", "GPU 1"), page
near(device("GPU 0")["joules"], truth(0), device("GPU 0")["half_width_j"])
near(device("GPU 1")["joules"], truth(1), device("GPU 1")["half_width_j"])
assert round(page["gpu"]["joules"] * 1000) == round(one["joules"] * 1000) + round(two["joules"] * 1000), page
assert abs(one["kwh"] * 3.6e6 - one["joules"]) < 1e-6 and one["scope"] == "GPU board", one
assert one["source"] == "nvml-counter" and one["sensor_uncertainty"] == "unknown", one
assert 99 < one["power_min_w"] <= one["power_mean_w"] <= one["power_max_w"] < 601, one
'
    [ ! -e results ]
}

@test "the table has the bound of the sensor's gain where the vendor states it" {
    scenario 1 'name Tesla K40m
step 0 200'
    "$TARE" measure --for 1.5s >out
    cat out
    grep -Eq "^ +its sensor's gain comes on top: within 5 %" out
    grep -qx "  the sensor's gain." out
}

@test "what a load in step with the sensor may hide is said, where the sensor does not see all of the time" {
    # 25 of 100 ms (arXiv 2312.02741): what is between 200 W and 0 or the limit, 400 W, in three quarters of the time.
    scenario 1 'name NVIDIA A100-SXM4-40GB
limit_w 400
step 0 200'
    "$TARE" measure --for 1.5s --json >page.json
    "$TARE" measure --for 1.5s >out
    cat out
    python3 - <<'END'
import json, re
page = json.load(open("page.json"))
gpu = page["gpu"]
assert abs(gpu["aliasing_bound_j"] / (0.75 * 200 * page["duration_seconds"]) - 1) < 0.05, gpu
assert gpu["half_width_j"] < 0.5 * gpu["aliasing_bound_j"], gpu
table = open("out").read()
said = float(re.search(r"a load in step with its sensor may hide up to (\d+) J: tare calibrate may exclude that", table)[1])
assert abs(said / (0.75 * 200 * float(re.match(r"Energy of ([0-9.]+) s", table)[1])) - 1) < 0.05, said
END
    # A counter that was measured to see 98 to 100 % misses 0.02 / sqrt(3) of the time, of the 500 W up to the limit. No
    # calibration tells more.
    scenario 1 'name NVIDIA H200
step 0 200'
    "$TARE" measure --for 1.5s --json >page.json
    "$TARE" measure --for 1.5s >out
    python3 -c '
import json
page = json.load(open("page.json"))
bound_j = 0.02 / 3 ** 0.5 * 500 * page["duration_seconds"]
assert abs(page["gpu"]["aliasing_bound_j"] / bound_j - 1) < 0.05, page'
    grep -q 'may hide up to [0-9.]* J$' out
}

@test "the table says energy, power, scope, source, and what is not measured" {
    scenario 1 'step 0 200'
    "$TARE" measure --for 1.5s >out
    cat out
    head -n 1 out | grep -Eq '^Energy of [0-9]+\.[0-9]{3} s, as long as was asked for:$'
    python3 - <<'END'
import re
table = open("out").read()
seconds = float(re.match(r"Energy of ([0-9.]+) s", table)[1])
joules, half_j = map(float, re.search(r"^ +([0-9.]+) ± ([0-9.]+) J  GPU 0 \(GPU board, nvml-counter\)$", table, re.M).groups())
line = re.search(r"^ +([0-9.]+) ± ([0-9.]+) mWh, (19|20)[0-9]\.[0-9] W \(200\.0 to 200\.0\)$", table, re.M)
# The half-width is of 95 %: three deviations. A watt-hour is 3600 J; the digits are those that the half-width allows.
assert seconds >= 1.5 and 0 < half_j < 10 and abs(joules - 200 * seconds) <= 1.6 * half_j, table
assert abs(float(line[1]) - joules / 3.6) <= 0.3 * half_j / 3.6 and abs(float(line[2]) * 3.6 / half_j - 1) < 0.2, table
END
    grep -Eq '°C .*% busy .*memory at most 0\.00 GiB$' out
    is "$(grep -c 'Not measured: CPU: ' out)" 1
    grep -q "sensor's" out
}

@test "Ctrl-C and TERM are a normal end: the table is printed" {
    scenario 1 'step 0 200'
    local signal
    for signal in INT TERM; do
        start_program measure --json
        # Its meter is there; then some time to measure.
        wait_until has_child "$PID"
        sleep 1.5
        kill -s "$signal" "$PID"
        end_program
        cat err
        if [ -s out ]; then
            is "$CODE" 0
            mv out page.json
            check '
assert page["ended_by"] == "signal", page
near(page["gpu"]["joules"], truth(0), page["gpu"]["half_width_j"])'
        else # a machine so slow that the meter was not there yet
            is "$CODE" 3
            grep -q 'before the meters were ready' err
        fi
    done
}

@test "a process is measured until it has ended, and is not touched" {
    scenario 1 'step 0 250'
    # Long enough for the meters of a slow machine to begin within it.
    sleep 7 3>&- &
    local pid=$! code=0
    wait_until grep -qx sleep /proc/$pid/comm # until then it is the shell still
    measured --pid $pid
    wait $pid || code=$?
    is $code 0
    PROCESS=$pid check '
import os
assert page["ended_by"] == "process", page
assert page["process"] == {"pid": int(os.environ["PROCESS"]), "name": "sleep"}, page
near(page["gpu"]["joules"], truth(0), page["gpu"]["half_width_j"])'
}

@test "a process that outlives the time is left alone" {
    scenario 1 'step 0 250'
    sleep 1000 3>&- &
    local pid=$!
    wait_until grep -qx sleep /proc/$pid/comm
    measured --pid $pid --for 1s
    kill -0 $pid
    kill -KILL $pid
    check 'assert page["ended_by"] == "time" and page["process"]["name"] == "sleep", page'
}

@test "somebody else's process needs no right over it" {
    need_root
    command -v setpriv >/dev/null || skip "setpriv is missing"
    scenario 1 'step 0 250'
    setpriv --reuid 65534 --clear-groups "$TARE" measure --version >/dev/null 2>&1 || [ $? -eq 2 ] ||
        skip "another user cannot execute the program here"
    chmod 755 "$WORK"
    chmod -R a+rX "$WORK"
    setpriv --reuid 65534 --clear-groups test -r "$LIBRARY" || skip "another user cannot read the fake driver"
    sleep 6 3>&- &
    setpriv --reuid 65534 --clear-groups "$TARE" measure --json --pid $! >page.json
    check 'assert page["ended_by"] == "process" and page["gpu"]["joules"] > 0, page'
}

@test "a process that is not there is a mistake" {
    scenario 1 'step 0 100'
    true 3>&- &
    local pid=$!
    wait $pid
    run "$TARE" measure --pid $pid --for 1s
    is "$status" 2
    [[ "$output" == *"there is no process $pid"* ]]
}

@test "GPUs are chosen by number, by UUID, and by CUDA_VISIBLE_DEVICES" {
    scenario 3 'step 0 100
gpu 1
step 0 200
gpu 2
step 0 300'
    local names='print(",".join(d["device"] for d in page["devices"]))'
    measured --for 0.2s --gpus 2,0
    is "$(check "$names")" "GPU 0,GPU 2"
    measured --for 0.2s --gpus "$(uuid 1)"
    is "$(check "$names")" "GPU 1"
    # What a UUID begins with is enough where it is that of one alone.
    local whole
    whole=$(uuid 1)
    run "$TARE" measure --for 0.2s --gpus "${whole%1}"
    is "$status" 2
    export CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_ORDER=PCI_BUS_ID
    measured --for 0.2s
    is "$(check "$names")" "GPU 1"
    measured --for 0.2s --gpus all
    is "$(check "$names")" "GPU 0,GPU 1,GPU 2"
    local wrong
    for wrong in 3 GPU- GPU-0000 00 -1 '0,' x; do
        run "$TARE" measure --for 0.2s --gpus "$wrong"
        is "$status" 2
    done
    [[ "$output" == *"'x' is no GPU of this machine, which has 3"* ]]
}

@test "a CUDA_VISIBLE_DEVICES that hides all GPUs is named" {
    scenario 2 'step 0 100'
    local hides
    for hides in 5 GPU-0000; do
        export CUDA_VISIBLE_DEVICES=$hides
        run "$TARE" exec --energy true
        [[ "$output" == *"warning: CUDA_VISIBLE_DEVICES=$hides: '$hides' is no GPU of this machine; CUDA ends the list there"* ]]
        run "$TARE" measure --for 0.2s
        [[ "$output" == *"CUDA_VISIBLE_DEVICES=$hides: '$hides' is no GPU of this machine"* ]]
    done
    CUDA_VISIBLE_DEVICES=MIG-1 run "$TARE" measure --for 0.2s
    [[ "$output" == *"CUDA_VISIBLE_DEVICES=MIG-1: slices of a GPU (MIG) are neither locked nor measured"* ]]
}

@test "what a UUID begins with is enough where it is that of one alone" {
    scenario 1 'step 0 100'
    # The kernel's module tells of a second one, which the driver's library does not have: it can be meant all the same.
    fake_gpu 0000:09:00.0 1 GPU-99999999-0000-4000-8000-000000000000
    run --separate-stderr "$TARE" measure --for 0.2s --gpus GPU-9
    is "$status" 3
    # shellcheck disable=SC2154 # by run
    [[ "$stderr" == *"nothing can be measured here: GPU 1: "* ]]
    measured --for 0.2s --gpus GPU-0
    check 'assert [d["uuid"] for d in page["devices"]] == ["'"$(uuid 0)"'"], page'
}

@test "CPU package and DRAM are measured, and need no GPU" {
    unset TARE_NVML
    printf 'origin_ns 0\n' >scenario
    cpu_counters
    local code=0
    measured --for 2s || code=$?
    [ "$(cat pause)" -lt 150 ] || skip "this machine is too busy: the counters stood still for $(cat pause) ms"
    is $code 0
    PAUSE=$(cat pause) check '
import os
names = [d["device"] for d in page["devices"]]
assert names == ["package-0", "dram-0"] and page["gpu"] is None, page
# What the counters hold is as old as the pause of whoever writes them.
late = int(os.environ["PAUSE"]) / 1000
for key, watts, scope in (("cpu_package", 50, "CPU package"), ("dram", 8, "DRAM")):
    figures = page[key]
    assert figures["scope"] == scope and figures["source"] == "rapl-powercap", figures
    expected = watts * page["duration_seconds"]
    assert abs(figures["joules"] - expected) <= 1.6 * figures["half_width_j"] + watts * late, (figures, expected, late)
    # RAPL states no gain: unknown, not 0.
    *parts, gain = figures["budget"]["components"]
    assert gain["component"] == "gain" and gain["u"] is None and "RAPL" in gain["source"], gain
    assert figures["gain_bound"] is None, figures
    assert parts and abs(1.96 * sum(c["contribution_j"] ** 2 for c in parts) ** 0.5 / figures["half_width_j"] - 1) < 1e-4, figures
assert page["not_measured"] == "GPU: no NVIDIA GPU is seen here", page'
}

@test "where nothing can be measured it says why, and exits with 3" {
    unset TARE_NVML
    run --separate-stderr "$TARE" measure --for 1s
    is "$status" 3
    [ -z "$output" ]
    [[ "$stderr" == *"energy is not measured: no NVIDIA GPU is seen here, and "* ]]
}

@test "a driver that is not there is named" {
    scenario 2 'step 0 100'
    export TARE_NVML=$WORK/nothing.so
    run --separate-stderr "$TARE" measure --for 1s
    is "$status" 3
    [ -z "$output" ]
    [[ "$stderr" == *"nothing can be measured here: GPU 0, GPU 1: "*"nothing.so"* ]]
}

@test "a driver that hangs from the beginning is given up" {
    scenario 1 'step 0 100
fault * hang'
    local begin=$SECONDS
    run --separate-stderr "$TARE" measure
    is "$status" 3
    [ $((SECONDS - begin)) -lt 60 ]
    [[ "$stderr" == *"nothing can be measured here: GPU 0: its driver has not answered"* ]]
}

@test "a driver that hangs meanwhile leaves a gap that is told, and delays nothing" {
    scenario 1 'step 0 100
fault * hang from_ms=6000'
    local code=0 begin=$SECONDS
    measured --for 18s || code=$?
    [ $((SECONDS - begin)) -lt 60 ]
    # Less than half of the time was seen: no energy rather than a guess.
    is $code 3
    check '
assert page["gpu"]["joules"] is None, page
assert any("GPU 0: nothing was read from" in note for note in page["notes"]), page'
}

@test "mistakes in the options are told" {
    local wrong
    for wrong in "--for 0" "--pid 0" "--pid x" "--for" "extra"; do
        # shellcheck disable=SC2086
        run "$TARE" measure $wrong
        is "$status" 2
    done
}

@test "exec --energy says on standard error what the command drew, and keeps its exit code" {
    scenario 1 'step 0 300'
    local code=0
    "$TARE" exec --energy -- sh -c 'echo mine; sleep 2; exit 7' >out 2>err || code=$?
    cat err
    is $code 7
    is "$(cat out)" mine
    python3 - <<'END'
import re
text = open("err").read()
seconds = float(re.search(r"Energy of ([0-9.]+) s, until the command ended:", text)[1])
joules, half, unit = re.search(r"([0-9.]+) ± ([0-9.]+) (k?J)  GPU 0 \(GPU board, nvml-counter\)", text).groups()
joules, half = (float(x) * {"J": 1, "kJ": 1000}[unit] for x in (joules, half))
assert 1.9 < seconds < 60, seconds
assert half > 0 and abs(joules - 300 * seconds) <= 1.6 * half + 0.5, (joules, seconds, half)
END
}

@test "exec says nothing of energy unless it is asked" {
    scenario 1 'step 0 300'
    "$TARE" exec -v -- true 2>err
    if grep -qi 'energy' err; then return 1; fi
}

@test "exec waits neither at the beginning nor long at the end for a driver that hangs" {
    scenario 1 'step 0 300
fault * hang'
    local code=0 begin=$SECONDS
    "$TARE" exec --energy -- sh -c 'exit 5' 2>err || code=$?
    is $code 5
    [ $((SECONDS - begin)) -lt 30 ]
    grep -q 'Not measured: GPU 0: its driver has not answered' err
}

@test "exec --energy where nothing can be measured says so and runs the command" {
    unset TARE_NVML
    local code=0
    "$TARE" exec --energy -- sh -c 'exit 5' 2>err || code=$?
    is $code 5
    is "$(grep -c 'Not measured: GPU: no NVIDIA GPU is seen here; CPU: ' err)" 1
    if grep -q 'Energy' err; then return 1; fi
}

# family.py LAST: a process that has used a second of CPU time has two children, which use 0.3 s each when told and then
# wait without using any. "measure --pid" looks at them until it is interrupted after that, or until they have ended.
family() {
    cat >family.py <<'END'
import json, os, pty, signal, subprocess, sys, time

orders = [os.pipe(), os.pipe()]
heard, to_us = os.pipe()

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

def child(orders):
    os.read(orders, 1)
    burn(0.3)
    os.write(to_us, b"burnt")
    os.read(orders, 1)
    os._exit(0)

def parent():
    burn(1)
    for theirs, _ in orders:
        if os.fork() == 0:
            child(theirs)
    os.write(to_us, b"there")
    os.wait()
    os.wait()
    os._exit(0)

def hear(word):
    assert os.read(heard, 5) == word

def order(what):
    for _, ours in orders:
        os.write(ours, what)

# What "measure" says when it has begun it says to a terminal alone: its first look is over then.
def measure(pid):
    terminal, its = pty.openpty()
    meter = subprocess.Popen([os.environ["TARE"], "measure", "--json", "--pid", str(pid)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    said = b""
    while b"measuring" not in said:
        said += os.read(terminal, 1000)
    return meter

pid = os.fork()
if pid == 0:
    parent()
hear(b"there")
meter = measure(pid)
if sys.argv[1] == "signal":
    order(b"b")
    hear(b"burnt")
    hear(b"burnt")
    meter.send_signal(signal.SIGINT)
else:
    order(b"bx")
page = json.load(meter.stdout)
assert meter.wait() == 0
host = page["host"]
assert page["gpu"] is None and page["ended_by"] == sys.argv[1], page
assert page["process"]["pid"] == pid and page["process"]["name"].startswith("python"), page
# Seen at the first look, or at the last one; the second that the parent had used before it is in neither.
assert host["processes_peak"] == 3, host
assert (0.5 if sys.argv[1] == "signal" else 0) <= host["cpu_s"] < 0.95, host
if sys.argv[1] == "signal":
    order(b"x")
os.waitpid(pid, 0)
END
    TARE=$TARE python3 family.py "$1" 3>&-
}

@test "measure --pid tells what the process and its descendants use from then on, sensors or not" {
    unset TARE_NVML
    family signal
}

@test "measure --pid keeps what it saw of a process when that has ended" {
    unset TARE_NVML
    family process
}

@test "measure says nothing of processes where none is named" {
    scenario 1 'step 0 250'
    measured --for 1s
    check 'assert "cpu_s" not in page["host"] and "processes_peak" not in page["host"] and page["epochs"] == [], page'
}

@test "exec cuts what was drawn at the marks of the command, and its epochs add up exactly" {
    scenario 1 'step 0 150
step 1700 600'
    cat >job.sh <<'END'
sleep 0.5
for epoch in 1 2 3; do
    echo "epoch $epoch" >"$TARE_MARKS"
    sleep 0.6
done
"$TARE_PROGRAM" mark --end epoch 3
echo "no mark, as this line has a bell: $(printf '\a')" >"$TARE_MARKS"
sleep 0.3
END
    TARE_PROGRAM=$TARE "$TARE" exec --json page.json -- sh job.sh 2>err
    [ ! -s err ]
    check '
epochs = page["epochs"]
assert [(e["part"], e["label"]) for e in epochs] == [
    ("startup", None), ("epoch", "1"), ("epoch", "2"), ("epoch", "3"), ("final", None)], epochs
assert sum(round(e["gpu_energy_j"] * 1000) for e in epochs) == round(page["gpu"]["joules"] * 1000), page
assert all(a["end_s"] == b["start_s"] for a, b in zip(epochs, epochs[1:])) and epochs[0]["start_s"] == 0, epochs
whole = start, end
for epoch in epochs:
    start, end = (whole[0] + epoch[key] * 1e9 for key in ("start_s", "end_s"))
    assert abs(epoch["gpu_energy_j"] - truth(0)) <= 3 * epoch["gpu_half_width_j"], (epoch, truth(0))
assert all(0.2 <= e["duration_s"] < 60 and e["source"] == "fifo" for e in epochs[1:4]), epochs
assert "1 lines in $TARE_MARKS were no marks" in page["notes"], page
assert page["host"]["cpu_s"] > 0 and page["host"]["processes_peak"] >= 1, page'
}

@test "exec prints a row for each epoch, like perf stat" {
    scenario 1 'step 0 300'
    XDG_RUNTIME_DIR='' TMPDIR=$WORK "$TARE" exec --energy -- \
        sh -c 'echo "$TARE_MARKS" >where; echo "epoch 1" >"$TARE_MARKS"; sleep 0.6; echo "fold a" >"$TARE_MARKS"; sleep 0.6' 2>err
    cat err
    # The FIFO was there for the command's time, in a folder of its own.
    [[ "$(cat where)" == "$WORK/$NAME-exec-"*/marks ]]
    [ ! -e "$(dirname "$(cat where)")" ]
    python3 - <<'END'
import re
text = open("err").read()
table = text[text.index("SECONDS"):].split("\n\n")[0].splitlines()
assert re.split("  +", table[0].strip())[:3] == ["SECONDS", "GPU J", "GPU W"] and table[0].endswith("EPOCH"), table
names = [re.search(r"(\(.*\)|\w+ \w+)$", row)[0] for row in table[1:]]
assert names == ["(startup of epoch)", "epoch 1", "(startup of fold)", "fold a"], names
for row in table[1:]:
    seconds, joules, plus_minus, half = row.split()[:4]
    assert plus_minus == "±", row
    seconds, joules, half = float(seconds), float(joules), float(half)
    assert abs(joules - 300 * seconds) <= 3 * half + 0.2, row
END
}

@test "what a killed exec left of its marks is taken away by the next one" {
    scenario 1 'step 0 300'
    export XDG_RUNTIME_DIR='' TMPDIR=$WORK/temporary
    mkdir temporary
    start_program exec --energy -- sh -c 'touch begun; sleep 300'
    wait_until test -e begun
    is "$(ls temporary | grep -vc "^tare-[0-9]*$")" 1
    # One that lives keeps its own.
    "$TARE" exec --energy -- true 2>/dev/null
    is "$(ls temporary | grep -vc "^tare-[0-9]*$")" 1
    kill -KILL "$PID"
    end_program
    is "$(ls temporary | grep -vc "^tare-[0-9]*$")" 1
    "$TARE" exec --energy -- true 2>/dev/null
    is "$(ls temporary | grep -vc "^tare-[0-9]*$")" 0
}

@test "inside of a run, marks are the run's: exec leaves the variable alone" {
    scenario 1 'step 0 300'
    TARE_MARKS=/some/where "$TARE" exec --json page.json -- sh -c 'echo "$TARE_MARKS"' >out
    is "$(cat out)" /some/where
    check 'assert page["epochs"] == [], page'
}

@test "the CPU's counters are read at the marks, so that short epochs of it are narrow" {
    unset TARE_NVML
    printf 'origin_ns 0\n' >scenario
    cpu_counters
    local code=0
    "$TARE" exec --json page.json -- sh -c 'for e in 1 2 3 4 5 6; do echo "epoch $e" >"$TARE_MARKS"; sleep 0.3; done' || code=$?
    [ "$(cat pause)" -lt 50 ] || skip "this machine is too busy: the counters stood still for $(cat pause) ms"
    is $code 0
    PAUSE=$(cat pause) check '
import os
late = int(os.environ["PAUSE"]) / 1000
epochs = page["epochs"][1:-1]
for epoch in epochs:
    expected, half = 50 * epoch["duration_s"], epoch["cpu_half_width_j"]
    assert abs(epoch["cpu_energy_j"] - expected) <= 3 * half + 50 * late, (epoch, late)
# Read once a second only, most of them would have edges that nobody saw: 2 to 3 J each.
assert sorted(e["cpu_half_width_j"] for e in epochs)[len(epochs) // 2] < 1.0, epochs
assert sum(round(e["cpu_energy_j"] * 1000) for e in page["epochs"]) == round(page["cpu_package"]["joules"] * 1000), page'
}

# A machine that is kept from reading cannot tell how often a counter changes: it is asked again.
doctor_knows_the_rate() {
    "$TARE" doctor --json >page.json || [ $? -eq 1 ]
    [ "$(sensor "gpu energy" data.counter_update_ms)" != None ]
}

@test "doctor tells the sensors with source, rate and cost" {
    scenario 2 'step 0 300
fault field:82 error code=3'
    cpu_counters
    wait_until doctor_knows_the_rate
    cat page.json
    is "$(sensor "gpu energy" status)" ok
    is "$(sensor "gpu energy" data.counter)" True
    is "$(sensor "gpu energy" data.uuid)" "$(uuid 0)"
    [[ "$(sensor "gpu energy" text)" == "GPU 0: energy counter (nvml-counter), updated every "*" ms, "*" ms a reading, power trace of "*" samples a second, "*" ms for all of them" ]]
    # The scenario's counter changes every 97 to 103 ms; each change is known to 40 ms at worst, the mean of several better.
    python3 -c 'import sys; assert 50 < float(sys.argv[1]) < 150, sys.argv' "$(sensor "gpu energy" data.counter_update_ms)"
    python3 -c 'import sys; assert 3.8 <= float(sys.argv[1]) < 1000, sys.argv' "$(sensor "gpu energy" data.counter_cost_ms)"
    python3 -c 'import sys; assert 0 < float(sys.argv[1]), sys.argv' "$(sensor "gpu energy" data.trace_cost_ms)"
    is "$(sensor "gpu readings" reason)" "missing: temperature.memory (field 82: nvmlDeviceGetFieldValues: Not Supported (NVML error 3))"
    [[ "$(sensor "gpu readings" text)" == "GPU 0: 12 of 13 kinds of readings "*" ms for all, once a second" ]]
    python3 - <<'END'
import json
rows = [c for c in json.load(open("page.json"))["checks"] if c["name"] == "gpu readings"]
assert len(rows) == 2, rows
for row in rows:
    groups = row["data"]["readings"]
    assert [g["name"] for g in groups if g["reason"]] == ["temperature.memory"], groups
    assert all(g["cost_ms"] > 0 for g in groups), groups
END
    # The scenario's samples come every 16 to 20 ms.
    python3 -c 'import sys; assert 45 < float(sys.argv[1]) < 67, sys.argv' "$(sensor "gpu energy" data.trace_per_second)"
    [ "$(cat pause)" -lt 150 ] || skip "this machine is too busy: the counters stood still for $(cat pause) ms"
    is "$(sensor package-0 status)" ok
    is "$(sensor package-0 data.source)" rapl-powercap
    is "$(sensor dram-0 data.scope)" DRAM
}

@test "doctor does not wait long for a driver that hangs, and does not call the machine fit" {
    scenario 1 'step 0 300
fault * hang'
    local code=0 begin=$SECONDS
    "$TARE" doctor --json >page.json || code=$?
    [ $((SECONDS - begin)) -lt 40 ]
    is "$(sensor "gpu energy" status)" warn
    is "$(sensor "gpu energy" reason)" "its driver has not answered within 4 s"
    [ "$(sensor "gpu energy" mend)" != None ]
    python3 - $code <<'END'
import json, sys
page = json.load(open("page.json"))
now = [c for c in page["checks"] if c["section"] == "GPUs now"]
assert [(c["name"], c["status"], c["reason"]) for c in now] == [
    ("gpu answers", "fail", "its driver has not answered within 4 s")], now
assert not page["fit"] and int(sys.argv[1]) == 1, page
END
}

@test "doctor says why a sensor is missing, and what would mend it" {
    scenario 1 'step 0 300'
    unset TARE_NVML
    if ldconfig -p 2>/dev/null | grep -q libnvidia-ml; then skip "this machine has a real driver"; fi
    "$TARE" doctor --json >page.json || [ $? -eq 1 ]
    is "$(sensor "gpu energy" status)" warn
    [[ "$(sensor "gpu energy" reason)" == *libnvidia-ml.so.1* ]]
    [[ "$(sensor "gpu energy" mend)" == *"libnvidia-ml.so.1 of driver 535.183.01"*"libnvidia-compute-535"* ]]
    is "$(sensor "cpu energy" status)" warn
}

@test "help, manual and completion know it" {
    "$TARE" --help | grep -q '^  measure '
    "$TARE" measure --help | grep -q '^Usage:'
    "$TARE" --man measure | grep -q '^\.TH "'
    "$TARE" --completion bash | grep -q measure
}
