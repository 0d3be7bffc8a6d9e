#!/usr/bin/env bats
# The CPU frequency governor of a run: set for its time, given back however it ends. The machine's processors are files.

load gpus

CPUFREQ=machine/sys/devices/system/cpu/cpufreq

# policy NUMBER GOVERNOR: processors that have it.
policy() {
    mkdir -p "$CPUFREQ/policy$1"
    echo "$2" >"$CPUFREQ/policy$1/scaling_governor"
    echo "conservative ondemand powersave performance schedutil" >"$CPUFREQ/policy$1/scaling_available_governors"
}

# now NUMBER: what the kernel would show.
now() { head -n 1 "$CPUFREQ/policy$1/scaling_governor"; }
now_is() { [ "$(now 0) $(now 1)" = "$1" ]; }

two_policies() {
    policy 0 powersave
    policy 1 schedutil
}

# The job says which governors it runs under.
show='echo "loss 0.5"; for policy in 0 1; do head -n 1 '
saying() { job "$show\"$WORK/$CPUFREQ/policy\$policy/scaling_governor\"; done; ${1:-}"; }

want() { settings "${2:-1}" "" '"governor": "'"$1"'"'; }

# What the jobs of experiment $1 said, in a line.
said() { grep -v loss "$(run_dir)/repo_net_00$1/training.log" | tr '\n' ' '; }

record() { cat state/tare/runs/governor.json; }

@test "the governor is set for the run and given back at its end" {
    two_policies
    saying
    want performance 2
    tare_run >out 2>&1
    is "$(said 1)" "performance performance "
    is "$(said 2)" "performance performance "
    is "$(now 0) $(now 1)" "powersave schedutil"
    is "$(events evidence)" ""
    is "$(record)" ""
    if grep -qi governor out; then cat out; return 1; fi
}

@test "each experiment has its own, and one without has what was before" {
    two_policies
    saying
    settings 1
    python3 - <<'END'
import json
settings = json.load(open("settings.json"))
entry = settings["experiments"][0]
settings["experiments"] = [dict(entry, governor="performance"), dict(entry), dict(entry, governor="ondemand")]
json.dump(settings, open("settings.json", "w"))
END
    tare_run
    is "$(said 1)" "performance performance "
    is "$(said 2)" "powersave schedutil "
    is "$(said 3)" "ondemand ondemand "
    is "$(now 0) $(now 1)" "powersave schedutil"
}

@test "Ctrl-C gives it back" {
    two_policies
    saying "touch '$WORK/begun'; sleep 300"
    want performance
    start_run
    wait_until test -e begun
    is "$(now 0) $(now 1)" "performance performance"
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    is "$(now 0) $(now 1)" "powersave schedutil"
}

@test "kill -9 of the run gives it back" {
    two_policies
    saying "touch '$WORK/begun'; sleep 300"
    want performance
    start_run
    wait_until test -e begun
    is "$(now 0) $(now 1)" "performance performance"
    kill -KILL "$PID"
    wait_until now_is "powersave schedutil"
    end_program
    wait_until test ! -s state/tare/runs/governor.json
}

# The run and the process that keeps its governor die together: what was is in the state folder.
kill_both() {
    local keeper
    two_policies
    saying "touch '$WORK/begun'; sleep 300"
    want performance
    start_run
    wait_until test -e begun
    keeper=$(pgrep -P "$PID" -x tare-governor)
    kill -KILL "$keeper"
    kill -KILL "$PID"
    end_program
    is "$(now 0) $(now 1)" "performance performance"
    rm -r results
}

@test "when its keeper is killed as well, the next run gives it back first" {
    command -v pgrep >/dev/null || skip "pgrep is missing"
    kill_both
    saying
    settings 1
    tare_run >out 2>&1
    grep -q 'the CPU frequency governor is powersave, schedutil again: a run that was killed had left it at "performance"' out
    is "$(said 1)" "powersave schedutil "
    is "$(now 0) $(now 1)" "powersave schedutil"
    tare_run >out 2>&1
    if grep -qi governor out; then cat out; return 1; fi
}

@test "when its keeper is killed as well, clean tells of it and --kill gives it back" {
    command -v pgrep >/dev/null || skip "pgrep is missing"
    # Nothing that is anybody else's is seen there, nor could be ended.
    inside=(unshare --pid --fork --kill-child --mount-proc)
    [ "$(id -u)" -eq 0 ] || inside=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)
    "${inside[@]}" true 2>/dev/null || skip "no pid namespace with its own /proc can be made here"
    kill_both
    mkdir dev
    run "${inside[@]}" "$TARE" clean --dev "$WORK/dev"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ "$output" == *'the CPU frequency governor is still "performance", set by a run that was killed; it was powersave, schedutil'* ]]
    is "$(now 0) $(now 1)" "performance performance"
    "${inside[@]}" "$TARE" clean --dev "$WORK/dev" --kill --json >listed
    is "$(python3 -c 'import json; print(json.load(open("listed"))["governor_left"])')" None
    is "$(now 0) $(now 1)" "powersave schedutil"
}

@test "what somebody else has set since a crash stays as it is" {
    command -v pgrep >/dev/null || skip "pgrep is missing"
    kill_both
    policy 1 ondemand
    saying
    settings 1
    tare_run >out 2>&1
    is "$(said 1)" "powersave ondemand "
}

@test "a record that others may write is not believed" {
    command -v pgrep >/dev/null || skip "pgrep is missing"
    kill_both
    chmod 666 state/tare/runs/governor.json
    saying
    want ondemand
    tare_run >out 2>&1
    is "$(said 1)" "performance performance "
    is "$(now 0) $(now 1)" "performance performance"
    events evidence | grep -q '"kind":"governor_not_set".*is not this user.s own file'
}

@test "a run beside one that lives joins the same governor, and the last of them gives it back" {
    two_policies
    saying "touch '$WORK/begun'; until [ -e '$WORK/go' ]; do sleep 0.2; done"
    want performance
    start_run
    wait_until test -e begun
    (
        saying
        "$TARE" run settings.json -c registry.json -o other >second 2>&1
    )
    is "$(now 0) $(now 1)" "performance performance"
    if grep -qi governor second; then cat second; return 1; fi
    want ondemand
    "$TARE" run settings.json -c registry.json -o third >second 2>&1
    grep -q 'another run that lives has set the CPU frequency governor "performance"' second
    is "$(now 0) $(now 1)" "performance performance"
    touch go
    end_program
    is "$CODE" 0
    is "$(now 0) $(now 1)" "powersave schedutil"
}

@test "where there is none, one line says so and it is evidence" {
    job 'echo "loss 0.5"'
    want performance 2
    tare_run >out 2>err
    is "$(cat out err | grep -c 'this machine shows no CPU frequency governor')" 1
    is "$(events evidence | grep -c '"kind":"governor_not_set"')" 2
    python3 - "$(run_dir)" <<'END'
import json, sys
evidence = json.load(open(sys.argv[1] + "/repo_net_002/experiment.json"))["tare"]["evidence"]
assert [e["kind"] for e in evidence] == ["governor_not_set"], evidence
END
}

@test "one that the kernel does not offer is named" {
    two_policies
    saying
    want userspace
    tare_run >out 2>err
    cat out
    grep -q 'the kernel offers no CPU frequency governor "userspace", only: conservative ondemand powersave performance' out
    is "$(said 1)" "powersave schedutil "
}

@test "without the right to set it, the command that would is named" {
    [ "$(id -u)" -ne 0 ] || skip "root may write everything"
    two_policies
    chmod 444 "$CPUFREQ"/policy*/scaling_governor
    saying
    want performance
    tare_run >out 2>err
    cat out
    grep -q 'echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy\*/scaling_governor' out
    events evidence | grep -q '"kind":"governor_not_set"'
}

@test "one that is as wanted already is no evidence, whoever may set it" {
    policy 0 performance
    policy 1 performance
    saying
    want performance
    tare_run
    is "$(events evidence)" ""
    is "$(now 0) $(now 1)" "performance performance"
}

@test "one that somebody changes during the run is evidence" {
    two_policies
    saying "echo schedutil >'$WORK/$CPUFREQ/policy0/scaling_governor'"
    want performance
    tare_run
    is "$(event_value evidence 1 kind)" governor_changed
    events evidence | grep -q 'was set, and somebody has changed it since: it is mixed'
    is "$(now 0) $(now 1)" "schedutil schedutil"
}
