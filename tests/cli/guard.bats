#!/usr/bin/env bats
# The guard: what is on a GPU before, while and after an experiment is measured. The program itself against the fake driver.

load guard

@test "a clean machine: nothing speaks against the experiments, and the proof is printed" {
    scenario 1
    job "$(job_holds 4096); sleep 1.5; echo loss 0.5"
    settings 2
    tare_run >out
    is "$(kinds 1)" ""
    is "$(kinds 2)" ""
    grep -q 'GPU 0 is free, 0 MiB in use, idle at 77.0 W' out
    grep -q 'GPU 0 memory: 4096 MiB before, 0 MiB after, 4096 MiB freed' out
    look '
for number in (1, 2):
    before, = guard(number, "preflight")
    assert before["clear"] and before["findings"] == [] and before["devices"][0]["memory_bytes"] == 0, before
    assert before["devices"][0]["temperature_c"] in (25, 26) and before["devices"][0]["sm_clock_mhz"] == 345, before
    after, = guard(number, "postflight")
    device, = after["devices"]
    assert device["state"] == "back" and device["freed_bytes"] == 4096 << 20 and device["after_bytes"] == 0, device
'
}

@test "an outside process before the experiment: it is waited for, named, and gone when the experiment begins" {
    scenario 1
    plant 0 5632
    job "echo loss 0.5"
    settings 1
    start_run
    wait_until grep -q "waits, at most 10 min 00 s: GPU 0 is used by pid $OUTSIDER of user .*'sleep 600', .* old.*, 5632 MiB" out
    kill "$OUTSIDER"
    end_program
    is "$CODE" 0
    is "$(kinds)" ""
}

@test "an outside process that works before and all the while has its load as evidence too" {
    scenario 1
    plant 0 5632 80
    job "sleep 2; echo loss 0.5"
    settings 1 '"policy": "go-on"'
    tare_run >out
    is "$(kinds)" "foreign_process gpu_busy_before"
    look 'assert all(e["pids"] == ['"$OUTSIDER"'] for e in evidence(1, "foreign_process")), evidence(1)'
}

@test "with the policy go-on nobody waits, and what is there counts" {
    scenario 1
    plant 0 5632
    job "sleep 1.5; echo loss 0.5"
    settings 1 '"policy": "go-on"'
    tare_run >out
    is "$(kinds)" foreign_process
}

@test "with the policy refuse the run ends with 3, and goes on by --resume" {
    scenario 1
    plant 0 5632
    job "echo loss 0.5"
    settings 1 '"policy": "refuse"'
    run --separate-stderr tare_run
    [ "$status" -eq 3 ]
    grep -q "repo_net_001 is not begun: GPU 0 is used by pid $OUTSIDER " <<<"$stderr"
    grep -q -- "--resume $(run_dir)" <<<"$stderr"
    kill "$OUTSIDER"
    "$TARE" run --resume "$(run_dir)"
    is "$(summary outcome)" succeeded
    is "$(kinds)" ""
}

@test "an outside process while the experiment is measured is evidence with its time" {
    scenario 1
    waiting_job "$(job_holds 1000)"
    settings 1
    start_run
    wait_until test -e repo/began
    sleep 2
    plant 0 500 30
    wait_until grep -q "GPU 0 is used by pid $OUTSIDER " out
    kill "$OUTSIDER"
    sleep 2
    touch repo/go
    end_program
    is "$(kinds)" foreign_process
    look '
found, = [e for e in evidence(1) if e["kind"] != "sampling_gap"]
duration = ended(1)[0]["duration_s"] + 0.001
assert found["device"] == "GPU 0" and "500 MiB" in found["text"], found
assert found["pids"] == ['"$OUTSIDER"'] and found["experiments"] == [], found
assert 0 <= found["from_s"] < found["to_s"] <= duration, (found, duration)
'
}

@test "an outside process that comes after the measurement is told and does not count against it" {
    scenario 1
    job "$(job_holds 1000); sleep 1.2; echo loss 0.5
sh -c 'trap \"\" TERM; sleep 30' & sleep 0.1"
    settings 1 '' '' '"max_retries": 0'
    sed -i 's/"stop_grace": 20/"stop_grace": 3/' settings.json
    start_run
    # While what the command left is being ended, the measurement is over already.
    wait_until has_event attempt_stopping
    sleep 1
    plant 0 700
    end_program
    is "$(kinds)" "foreign_after leftover_processes"
}

@test "work that was handed to a process outside is possibly delegated, and left alone" {
    scenario 1
    waiting_job "$(job_holds 1000)"
    settings 1
    start_run
    wait_until test -e repo/began
    sleep 1
    plant 0 900
    wait_until grep -q "GPU 0 is used by pid $OUTSIDER " out
    touch repo/go
    end_program
    is "$(kinds)" "foreign_process possibly_delegated"
    look 'assert all(e["pids"] == ['"$OUTSIDER"'] for e in evidence(1) if e["kind"] in ("foreign_process", "possibly_delegated")), evidence(1)'
    kill -0 "$OUTSIDER"
}

@test "memory that nobody holds is a leak: the run ends with 3, the experiment counts, and --resume goes on" {
    scenario 1
    job "$(job_holds 1000); echo $((300 * 1048576)) >$USERS/leak0; sleep 1; echo loss 0.5"
    settings 2 '"memory_wait": 1'
    run --separate-stderr tare_run
    [ "$status" -eq 3 ]
    grep -q 'GPU 0 did not give its memory back' <<<"$stderr"
    grep -q 'nvidia-smi --gpu-reset' <<<"$stderr"
    is "$(kinds)" memory_leaked
    is "$(summary outcome)" succeeded
    rm "$USERS/leak0"
    job "echo loss 0.5"
    "$TARE" run --resume "$(run_dir)"
    is "$(summary outcome | tr '\n' ' ')" "succeeded succeeded "
    is "$(kinds 2)" ""
}

@test "memory that comes back late is no leak" {
    scenario 1
    job "if mkdir '$WORK/first' 2>/dev/null; then $(job_holds 1000); echo $((300 * 1048576)) >$USERS/leak0; sleep 1; fi; echo loss 0.5"
    settings 2
    start_run
    wait_until has_event job_proven
    sleep 1
    rm "$USERS/leak0"
    end_program
    is "$CODE" 0
    is "$(kinds 1)$(kinds 2)" ""
}

@test "a hot start is waited for, and is evidence when it lasts" {
    scenario 1
    job "echo 30 >$USERS/heat0; sleep 1; echo loss 0.5"
    settings 2 '"wait": 2'
    tare_run >out
    is "$(kinds 1)" ""
    is "$(kinds 2)" "hot_start went_on_after_wait"
    is "$(summary verdict | tail -n 1)" contaminated
    look '
found, = evidence(2, "went_on_after_wait")
assert "begun after a wait of 2." in found["text"] and found["from_s"] < -1.9 and found["to_s"] is None, found
assert not guard(2, "preflight")[0]["clear"]
'
    grep -q 'waits, at most 2.0 s: GPU 0 has 56 °C, the start band ends at 36 °C' out
    rm -r results "$USERS/heat0"
    settings 2 '"policy": "go-on", "temperature_max": 20'
    job "sleep 1; echo loss 0.5"
    tare_run >out
    is "$(kinds 1) $(kinds 2)" "hot_start hot_start"
    is "$(summary verdict | tail -n 1)" contaminated
}

# planted_while_measured FILE NUMBER KIND TEXT: put while the experiment is measured, until TEXT is told (or for three looks, when there
# is nothing to tell); then it is KIND, and its span holds all of it.
planted_while_measured() {
    local put_ns gone_ns
    rm -rf results repo/began repo/go
    waiting_job
    settings 1
    start_run
    wait_until test -e repo/began
    sleep 0.5
    put "$1" "$2"
    put_ns=$(monotonic)
    if [ -n "$4" ]; then wait_until grep -q "$4" out; else sleep 3.5; fi
    gone_ns=$(monotonic)
    put "$1" 0
    sleep 1
    touch repo/go
    end_program
    is "$(kinds)" "$3"
    [ -n "$3" ] || return 0
    PUT_NS=$put_ns GONE_NS=$gone_ns look '
import os
start, = [e["data"]["start_ns"] for e in events if e["type"] == "attempt_started"]
found, = [e for e in evidence(1) if e["device"] == "GPU 0" and e["kind"] != "sampling_gap"]
at = [(int(os.environ[name]) - start) / 1e9 for name in ("PUT_NS", "GONE_NS")]
# Written to the millisecond.
assert 0 <= found["from_s"] <= at[0] + 0.001 and at[1] - 0.001 <= found["to_s"] <= ended(1)[0]["duration_s"] + 0.001, (found, at)
'
}

@test "brakes of the hardware are contamination, those of the driver suspicion, a power cap is neither" {
    scenario 1
    planted_while_measured reasons0 64 hw_thermal "because of heat"
    planted_while_measured reasons0 72 hw_thermal "because of heat"
    planted_while_measured reasons0 128 hw_power_brake "because of the power supply"
    planted_while_measured reasons0 8 hw_slowdown "slowed down by its hardware"
    planted_while_measured reasons0 32 sw_thermal "slowed down by the driver"
    planted_while_measured reasons0 4 "" ""
}

@test "a power limit that somebody changes while it is measured is suspicion, with both limits" {
    scenario 1
    waiting_job
    settings 1
    start_run
    wait_until test -e repo/began
    sleep 1.5
    put limit0 450
    wait_until grep -q 'GPU 0: its power limit was changed from 700 W to 450 W' out
    touch repo/go
    end_program
    is "$(kinds)" power_limit_changed
    is "$(summary verdict)" suspect
}

@test "where the idle draw cannot be known it is said why" {
    # As on a GPU that tells of no power at all.
    scenario 1 "$(printf 'fault %s error code=3\n' nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetSamples \
        nvmlDeviceGetPowerUsage field:185 field:186)"
    job "echo loss 0.5"
    settings 1 '"baseline": 0.5'
    tare_run >out
    is "$(kinds)" baseline_unknown
    grep -q 'evidence (recorded): GPU 0: its idle power is not known: its power was not measured while it was free' out
    is "$(summary energy_gpu_net_joules)" ""
}

# An error has no end: what is known is that it came between two looks.
@test "an Xid of the GPU is contamination, one of a program is not" {
    scenario 1
    local xid
    for xid in 79:xid 31:xid_program; do
        rm -rf results repo/began repo/go "$USERS/xid0"
        waiting_job
        settings 1
        start_run
        wait_until test -e repo/began
        put xid0 "${xid%:*}"
        wait_until grep -q "the driver reported Xid ${xid%:*}" out
        touch repo/go
        end_program
        is "$(kinds)" "${xid#*:}"
    done
}

@test "displays belong to the empty GPU" {
    scenario 1
    plant 0 400 0 graphics
    job "sleep 1.2; echo loss 0.5"
    settings 1
    tare_run >out
    is "$(kinds)" ""
}

@test "where the driver does not answer the run goes on, and is suspect" {
    scenario 1 'fault nvmlDeviceGetComputeRunningProcesses error code=999
fault nvmlDeviceGetGraphicsRunningProcesses error code=999'
    job "sleep 1; echo loss 0.5"
    settings 1
    tare_run >out
    is "$(kinds)" processes_unseen
    is "$(summary outcome)" succeeded
}

@test "a list of computing processes that fails is no empty list, even where displays are told" {
    scenario 1 'fault nvmlDeviceGetComputeRunningProcesses error code=999'
    plant 0 400 0 graphics
    job "sleep 1; echo loss 0.5"
    settings 1
    tare_run >out
    is "$(kinds)" processes_unseen
    grep -q 'the driver does not tell who computes on it' "$(run_dir)/events.jsonl"
    is "$(summary verdict)" unverified
}

@test "when the driver no longer tells who computes while it is measured, that is evidence with its time" {
    scenario 1 "fault nvmlDeviceGetComputeRunningProcesses error code=999 when=$WORK/silent
fault nvmlDeviceGetGraphicsRunningProcesses error code=999 when=$WORK/silent"
    waiting_job "$(job_holds 1000)"
    settings 1
    start_run
    wait_until test -e repo/began
    touch silent
    wait_until grep -q 'GPU 0: the driver does not tell who uses it' out
    rm silent
    sleep 2.5
    touch repo/go
    end_program
    is "$(kinds)" processes_unseen
    look '
found, = [e for e in evidence(1) if e["kind"] == "processes_unseen"]
duration = ended(1)[0]["duration_s"]
assert found["device"] == "GPU 0" and 0 <= found["from_s"] < found["to_s"] <= duration + 0.001, (found, duration)
'
}

@test "a process that both draws and computes is no display" {
    scenario 1
    plant 0 400 30 both
    job "sleep 1.5; echo loss 0.5"
    settings 1 '"policy": "go-on"'
    tare_run >out
    is "$(kinds)" "foreign_process gpu_busy_before"
    look 'assert any("pid '"$OUTSIDER"' " in e["text"] and "400 MiB" in e["text"] for e in evidence(1, "foreign_process")), evidence(1)'
}

# As in a container whose driver counts as its host does: the number is somebody else's here.
@test "a number that belongs here to a process without the GPU's device is nobody's, and nobody is accused" {
    scenario 1
    mkdir machine/dev
    touch machine/dev/nvidiactl machine/dev/nvidia0
    plant 0 5632
    job "sleep 1.5; echo loss 0.5"
    settings 1 '"policy": "go-on", "memory_wait": 1'
    tare_run >out
    is "$(kinds)" "memory_not_empty processes_unseen"
    grep -q "/proc does not show what the driver names: pid $OUTSIDER with 5632 MiB" out
    kill "$OUTSIDER"
    rm -r results "$USERS/$OUTSIDER"
    exec 9<machine/dev/nvidia0
    plant 0 5632
    exec 9<&-
    tare_run >out
    is "$(kinds)" foreign_process
}

@test "a kernel thread's number is that of a process elsewhere" {
    [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ] || skip "there are no kernel threads in this pid namespace"
    scenario 1
    holds 2 0 5632
    job "sleep 1.5; echo loss 0.5"
    settings 1 '"policy": "go-on", "memory_wait": 1'
    tare_run >out
    is "$(kinds)" "memory_not_empty processes_unseen"
}

@test "energy net of the bare idle comes from the windows before and after, and is there only when both are" {
    scenario 1
    job "$(job_holds 1000); sleep 3; echo loss 0.5"
    settings 2 '"baseline": 1'
    # On a machine that stands still for seconds, a window may not be had.
    for _ in 1 2 3; do
        rm -rf results
        tare_run >out
        [ "$(grep -c '"phase":"net"' "$(run_dir)/events.jsonl")" -lt 2 ] || break
    done
    look '
for number in (1, 2):
    net, = guard(number, "net")
    gross = [d for d in ended(number)[0]["energy"]["devices"] if d["device"] == "GPU 0"][0]
    duration = ended(number)[0]["duration_s"]
    idle = net["devices"][0]
    assert idle["before"]["proven"] and idle["after"]["proven"], idle
    # The scenario idles at 77 W.
    for window in (idle["before"], idle["after"]):
        assert abs(window["power_w"] - 77) <= 3 * window["half_width_w"] and window["half_width_w"] < 5, window
    expected = gross["joules"] - duration * (idle["before"]["power_w"] + idle["after"]["power_w"]) / 2
    assert abs(net["net_of_bare_idle_j"] - expected) < 1e-6 * gross["joules"], (net, expected)
    assert abs(net["net_of_bare_idle_j"] - (gross["joules"] - 77 * duration)) <= 3 * net["half_width_j"], net
    stored = experiment(number)["tare"]["energy"]
    assert abs(stored["gpu"]["net_of_bare_idle_j"] - expected) < 1e-6 * gross["joules"], stored["gpu"]
    row = rows("summary.csv")[number - 1]
    assert float(row["energy_gpu_net_joules"]) == net["net_of_bare_idle_j"], row
    assert float(row["energy_gpu_net_half_width_joules"]) == net["half_width_j"], row
'
    "$TARE" export "$(run_dir)" >table.csv
    look '
told = [guard(number, "net")[0]["net_of_bare_idle_j"] for number in (1, 2)]
exported = [float(row["gpu_energy_net_j"]) for row in csv.DictReader(open("table.csv"))]
assert exported == told, (exported, told)
'
    rm -r results
    plant 0 600
    settings 1 '"baseline": 1, "policy": "go-on"'
    tare_run >out
    look '
assert guard(1, "net") == [] and experiment(1)["tare"]["energy"]["gpu"]["net_of_bare_idle_j"] is None
row, = rows("summary.csv")
assert row["energy_gpu_net_joules"] == row["energy_gpu_net_half_width_joules"] == "" != row["energy_gpu_total_joules"], row
'
}

@test "an adaptive pause ends when the GPU is idle and cool, and says what it saved" {
    scenario 1
    job "$(job_holds 1000); sleep 1; echo loss 0.5"
    settings 2 '' '"cooldown": {"mode": "adaptive", "min": 1, "max": 60}'
    sed -i 's/"between_runs": 0/"between_runs": 40/' settings.json
    tare_run >out
    grep -qE 'paused [0-9.]+ s, until the GPUs were idle and cool: [0-9.]+ s less than the fixed 40 s' out
    grep -q '^adaptive pauses: .* less than fixed ones' out
    look '
pause, = guard(1, "cooldown")
assert pause["settled"] and pause["planned_s"] == 40 and 1 <= pause["took_s"] < 30, pause
assert abs(pause["saved_s"] - (40 - pause["took_s"])) < 1e-9, pause
# Also what came after the experiment was over is in its file.
assert [g["phase"] for g in experiment(1)["tare"]["guard"]] == ["preflight", "postflight", "cooldown"], experiment(1)["tare"]["guard"]
'
}

@test "where no pause is stated it is adaptive on a GPU, and says how long it was and why; with --gpus none there is none" {
    scenario 1
    job "$(job_holds 1000); sleep 1; echo loss 0.5"
    settings 2
    sed -i 's/"between_runs": 0, "between_configurations": 0, "before_retry": 0, //' settings.json
    tare_run >out
    grep -q '2 experiments, pauses until the GPUs are idle and cool; results in ' out
    grep -qE 'paused [0-9.]+ s, until the GPUs were idle and cool: [0-9.]+ s less than the fixed 60 s' out
    look '
pause, = guard(1, "cooldown")
assert pause["mode"] == "adaptive" and pause["settled"] and pause["planned_s"] == 60 and 5 <= pause["took_s"] < 40, pause
'
    tare_run --dry-run >out
    grep -qE '^pauses +adaptive: each until the GPUs are idle and cool, 5.0 s to 5 min 00 s$' out
    tare_run --dry-run --gpus none >out
    grep -qE '^pauses +0.0 s between experiments in all, 0 s before each retry$' out
    CUDA_VISIBLE_DEVICES="" tare_run --dry-run >out
    grep -qE '^pauses +0.0 s between' out
    sed -i 's/"stop_grace"/"between_runs": 3, "stop_grace"/' settings.json
    tare_run --dry-run >out
    grep -qE '^pauses +3.0 s between experiments in all, 30 s before each retry$' out
}

# study_settings RUNS: in the study's format, which has no key "tare" and states no pause.
study_settings() {
    registry
    echo "{\"experiments\": [{\"repo\": \"repo\", \"model\": \"net\", \"mutate\": [\"n\"], \"runs_per_config\": $1}]}" >settings.json
}

@test "settings of the study pause 60 s, and 30 s before a retry, in which nothing trains; each is one line of the log" {
    scenario 1
    # The second attempt of each succeeds.
    job "$(job_holds 1000 90); sleep 0.3; [ \"\$TARE_ATTEMPT\" = 2 ] && echo loss 0.5"
    study_settings 3
    export TARE_TIME_SCALE=0.05
    tare_run >out
    is "$(grep -c 'pause of 3 s: nothing trains on GPU 0 (0 % busy, [0-9]* W, [0-9]* °C)$' out)" 2
    is "$(grep -c 'pause of 1.5 s: nothing trains on GPU 0 (0 % busy, [0-9]* W, [0-9]* °C)$' out)" 3
    is "$(grep -c 'pause of' out)" 5
    # 2 of 60 s; with adaptive ones at least 5 s remain of each.
    is "$(head -n 1 out | sed 's/;.*//')" "3 experiments, pauses 2 min 00 s in all"
    is "$(sed -n 2p out)" "pauses of 60 s, as in the study; --cooldown adaptive ends each when the GPUs are idle and cool: up to 1 min 50 s less"
    look '
pauses = [(e["monotonic_ns"], e["data"]["seconds"]) for e in events if e["type"] in ("pause", "retry_pause")]
assert [s for _, s in pauses] == [1.5, 3, 1.5, 3, 1.5], pauses
born = [e["monotonic_ns"] for e in events if e["type"] == "job_born"]
assert len(born) == 6 and all(b - p >= 1e9 * s for b, (p, s) in zip(born[1:], pauses)), (born, pauses)
assert [(g["mode"], g["planned_s"], g["devices"][0]["utilisation_percent"]) for g in guard(1, "cooldown")] == [
    ("fixed", 1.5, 0), ("fixed", 3, 0)], guard(1, "cooldown")
'
}

@test "a pause beside another program says that it uses the GPU, and how old it is now" {
    scenario 1
    job 'sleep 0.3; echo loss 0.5'
    study_settings 2
    plant 0 1000 97
    export TARE_TIME_SCALE=0.05
    tare_run --set tare.preflight.policy=go-on --cooldown fixed >out
    grep -q 'pause of 3 s: other programs use GPU 0 (97 % busy, [0-9]* W, [0-9]* °C)$' out
    run ! grep -q 'nothing trains' out
    look '
ages = [float(f["text"].split(" s old")[0].split()[-1]) for n in (1, 2) for g in guard(n, "preflight") for f in g["findings"] if " s old" in f["text"]]
assert len(ages) == 2 and ages[1] - ages[0] > 2, ages
'
}

@test "the pause of the study becomes longer while the GPU is not cool" {
    scenario 1
    job "if mkdir '$WORK/first' 2>/dev/null; then echo 30 >$USERS/heat0; fi; sleep 0.3; echo loss 0.5"
    study_settings 2
    export TARE_TIME_SCALE=0.05
    start_run
    wait_until grep -q 'waits, at most 30.0 s: GPU 0 has 56 °C' out
    is "$(of_events 1 job_born | wc -l)" 1
    local cooled
    cooled=$(monotonic)
    rm "$USERS/heat0"
    end_program
    is "$CODE $(kinds 1)$(kinds 2)" "0 "
    COOLED=$cooled look '
import os
first, second = [e["monotonic_ns"] for e in events if e["type"] == "job_born"]
pause, = [e["monotonic_ns"] for e in events if e["type"] == "pause"]
assert int(os.environ["COOLED"]) < second and second - pause > 3e9, (pause, second)
'
}

@test "on a terminal a pause counts down beside the use of the GPU" {
    scenario 1
    job "sleep 0.3; echo loss 0.5"
    study_settings 3
    # At two moments of the 6 s; each experiment's line comes after.
    TERM=xterm-256color TARE_TIME_SCALE=0.1 python3 "$BATS_TEST_DIRNAME/live_screen.py" 120x24 screens.json \
        '[["1/3. repo_net_001  next in 4 s  nothing trains  GPU 0 %", "touch", "four"], ["next in 2 s  nothing trains  GPU 0 %", "touch", "two"]]' \
        "$TARE" run settings.json -c registry.json -o results --containment sweep
    [ -e four ] && [ -e two ]
    # The line that stays is there once, as all that is normal.
    is "$(python3 -c 'import json; print(sum("pause of 6 s: nothing trains on GPU 0" in row for row in json.load(open("screens.json"))[-1]))')" 1
}

@test "--cooldown, --set and the key say the same of the pauses; flags alone pause as the study" {
    scenario 1
    job "echo loss 0.5"
    study_settings 3
    paused() {
        "$TARE" run -c registry.json --dry-run "$@" 2>err | sed -n 's/^pauses *//p'
    }
    local fixed="2 min 00 s between experiments in all, 30 s before each retry" adaptive="adaptive: each until the GPUs are idle and cool, 5.0 s to 5 min 00 s"
    local saves="; --cooldown adaptive: up to 1 min 50 s less"
    is "$(paused settings.json)" "$fixed$saves"
    is "$(paused -r repo -m net -mt all -n 3)" "$fixed$saves"
    is "$(paused settings.json --cooldown adaptive)" "$adaptive"
    is "$(paused settings.json --set tare.cooldown.mode=adaptive)" "$adaptive"
    is "$(paused -r repo -m net -n 3 --cooldown adaptive)" "$adaptive"
    is "$(paused settings.json --set tare.log_cap=1GiB)" "$adaptive"
    sed -i 's/}$/, "tare": {}}/' settings.json
    is "$(paused settings.json)" "$adaptive"
    is "$(paused settings.json --cooldown fixed)" "$fixed"
    is "$(paused settings.json --set tare.cooldown.mode=fixed)" "$fixed"
    # A grid over a script, and what its run would keep.
    printf '#!%s\nimport argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", type=float, default=0.1)\np.parse_args()\n' "$(command -v python3)" >grid.py
    is "$("$TARE" run --dry-run grid.py --lr 0.1,0.2 2>err | sed -n 's/^pauses *//p')" "$adaptive"
    is "$("$TARE" run --dry-run --cooldown fixed grid.py --lr 0.1,0.2,0.3 2>err | sed -n 's/^pauses *//p')" "$fixed"
    run "$TARE" run settings.json --cooldown sometimes
    is "$status" 2
    run "$TARE" run --resume results --cooldown adaptive
    [[ $status -eq 2 && $output == *"--cooldown does not go with --resume"* ]]
}

@test "each attempt has its own proof, before a retry too" {
    scenario 1
    job "$(job_holds 800); sleep 3; [ \"\$TARE_ATTEMPT\" = 2 ]"
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run >out
    is "$(kinds)" ""
    look '
assert [e["attempt"] for e in events if e["type"] == "guard" and e["data"]["phase"] == "preflight"] == [1, 2]
assert [g["devices"][0]["freed_bytes"] for g in guard(1, "postflight")] == [800 << 20] * 2
assert [(g["attempt"], g["phase"]) for g in experiment(1)["tare"]["guard"]] == [
    (1, "preflight"), (1, "postflight"), (2, "preflight"), (2, "postflight")]
'
}

@test "of several GPUs the one that is used is named" {
    scenario 2
    plant 1 700
    job "sleep 1; echo loss 0.5"
    settings 1 '"policy": "go-on"' '"gpus_per_experiment": "all"'
    tare_run >out
    is "$(kinds)" foreign_process
    look 'found, = evidence(1, "foreign_process"); assert found["text"].startswith("GPU 1 is used by pid "), found'
    # One that the trainings do not see is nobody's business.
    rm -r results
    CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=PCI_BUS_ID tare_run >out
    is "$(kinds)" ""
}

@test "what a dead run left on the GPU is ended, not waited for" {
    scenario 1
    # An orphan: what still has a living parent is that one's.
    local left
    left=$(sh -c 'TARE_JOB=0123456789abcdef0123456789abcdef setsid sleep 600 >/dev/null 2>&1 3>&- & echo $!')
    PLANTED+=" $left"
    holds "$left" 0 5632 50
    job "echo loss 0.5"
    settings 1
    tare_run >out
    grep -q "ended pid $left (sleep), which a dead run had left" out
    is "$(kinds)" ""
    # Gone, or a zombie that whoever adopted it has not reaped yet.
    run grep -qs '^State:.[^Z]' "/proc/$left/status"
    [ "$status" -ne 0 ]
}

@test "Ctrl-C ends the wait, the idle window and an adaptive pause at once" {
    scenario 1
    plant 0 5632
    job "echo loss 0.5"
    settings 2
    start_run
    wait_until grep -q "waits, at most" out
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    is "$(summary outcome)" ""
    rm -r results "${USERS:?}/$OUTSIDER"
    settings 2 '"baseline": 600'
    start_run
    wait_until has_event experiment_started
    sleep 1
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    rm -r results
    settings 2 '' '"cooldown": {"mode": "adaptive", "min": 600, "max": 900}'
    sed -i 's/"between_runs": 0/"between_runs": 600/' settings.json
    start_run
    wait_until has_event pause
    sleep 1
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    is "$(summary outcome)" succeeded
}

@test "a driver that hangs from the first moment costs some seconds, and the verdict" {
    scenario 1 'fault * hang'
    job "echo loss 0.5"
    settings 2
    tare_run >out
    is "$(summary outcome | tr '\n' ' ')" "succeeded succeeded "
    is "$(kinds 1) $(kinds 2)" "check_not_made processes_unseen check_not_made processes_unseen"
}

@test "the pause is not lengthened by the idle window that is its end" {
    scenario 1
    job "echo loss 0.5"
    settings 2 '"baseline": 3'
    sed -i 's/"between_runs": 0/"between_runs": 6/' settings.json
    tare_run >out
    look '
pause, = [e["monotonic_ns"] for e in events if e["type"] == "pause"]
first, second = [e["monotonic_ns"] for e in events if e["type"] == "experiment_started"]
# The window begins when the pause has three seconds left; a timer never fires early.
assert 3 <= (second - pause) / 1e9, (pause, second)
born = [e["monotonic_ns"] for e in events if e["type"] == "job_born"][1]
assert 6 <= (born - pause) / 1e9, (pause, born)
'
}

@test "a training that was to use a GPU and used none is suspect and no safe row; one of a CPU model is not" {
    scenario 1
    job 'echo loss 0.5; sleep 2'
    registry '"metrics": "any"'
    settings 1
    tare_run >out
    is "$(summary outcome)" succeeded
    [ "$(events evidence 1 | grep -c gpu_unused)" -eq 1 ]
    [[ "$(events evidence 1 | grep gpu_unused)" == *"GPU 0: 0 % busy, 0 MiB of its memory"* ]]
    is "$(wc -l <"$(run_dir)/summary_safe.csv")" 1
    rm -r results
    registry '"metrics": "any", "cpu_models": ["net"]'
    tare_run >out
    [ "$(events evidence 1 | grep -c gpu_unused)" -eq 0 ]
    rm -r results
    job "echo '0 $((1 << 30)) 0' >$USERS/.new; mv $USERS/.new $USERS/\$\$; echo loss 0.5; sleep 2; rm $USERS/\$\$"
    registry '"metrics": "any"'
    tare_run >out
    [ "$(events evidence 1 | grep -c gpu_unused)" -eq 0 ]
}
