#!/usr/bin/env bats
# A calibration that a training has written does not make an energy wrong. The sensors are played: the counter is updated every 100 ms.

load ../cli/energy

CUDA=${BUILD_DIR:-$ROOT/build}/tests/fake/cuda/libcuda.so.1
UUID=GPU-7f000000-0000-0000-0000-000000000000

eval "energy_$(declare -f setup)"
setup() {
    energy_setup
    [ -e "$CUDA" ] || skip "the fake CUDA driver is not built ($CUDA)"
    export TARE_CUDA=$CUDA FAKE_CUDA_USERS=$WORK/users
    mkdir -p users
    fake_gpu 0000:01:00.0 0 "$UUID"
    play
    calibrate_once
    job 'sleep 2; echo "loss 0.5"'
    settings 1
}

# play [LINE]: the GPU's scenario, with one line more.
play() {
    {
        python3 -c 'import time; print("origin_ns", time.monotonic_ns() - 10**9)'
        printf 'uuid %s\nusers %s/users\nload_w 500\n%s\n' "$UUID" "$WORK" "${1:-}"
    } >scenario
}

# The calibration that calibrate makes of this GPU, in $BATS_FILE_TMPDIR/true.json.
calibrate_once() {
    [ -e "$BATS_FILE_TMPDIR/true.json" ] || {
        "$TARE" calibrate --yes --seconds 20 >/dev/null
        mv "$(find "$WORK" -name 'calibration-*.json')" "$BATS_FILE_TMPDIR/true.json"
    }
}

USERS_FOLDER() { echo "$XDG_STATE_HOME/tare/runs"; }
ROOTS_FOLDER() { echo "$TARE_SYSROOT/var/lib/tare/calibrations"; }

# plant FOLDER [CHANGE]: the true calibration with a change: python's lines about "c".
plant() {
    mkdir -p "$1"
    chmod 0755 "$1"
    PLANTED=$1/calibration-$UUID-580.159.04.json
    python3 - "$BATS_FILE_TMPDIR/true.json" "$PLANTED" "${2:-}" <<'END'
import json, sys, time
c = json.load(open(sys.argv[1]))
exec(sys.argv[3])
json.dump(c, open(sys.argv[2], "w"))
END
    chmod 0644 "$PLANTED"
}

# The profile that the energy went by, and the digest of its calibration.
profile() { look 'g = energy["devices"][0]; print(g["sensor_profile"].split()[0], g.get("calibration_sha256"))'; }
evidence() { look 'print(*sorted(set(evidence)))'; }

is_unused() { [[ "$(profile)" != calibrated* ]]; }

# names_once FILE TEXT: one line of it has the file, the reason and the fix.
names_once() {
    cat "$1"
    [ "$(grep -c "$PLANTED" "$1")" -eq 1 ]
    grep -F "$PLANTED" "$1" | grep -E "$2" | grep -q "calibrate again"
}

@test "a true calibration is used, and the result has the digest of its file" {
    plant "$(USERS_FOLDER)"
    tare_run -q
    is "$(profile)" "calibrated $(sha256sum <"$PLANTED" | cut -d' ' -f1)"
    [[ "$(evidence)" != *calibration_contradicted* ]]
    is "$(jq -r '.calibrations[0].sha256' "$(run_dir)/machine.json")" "$(sha256sum <"$PLANTED" | cut -d' ' -f1)"
}

# plant_fast: a calibration with a period of 10 ms. The counter is updated every 3 s: of the readings, which are a second apart at most, two
# always fall between two updates. (Of updates every 100 ms each edge of a window sees one for less than 27 ms in one of four.)
plant_fast() {
    play 'update_ms 3000'
    plant "$(USERS_FOLDER)" 'for key, value in (("update_period_s", 0.01), ("averaging_s", 0.01), ("looked_share", 1)):
    c["sensors"]["counter"][key].update(value=value, half_width=0.0001, why=None)'
}

@test "a calibration whose period the readings contradict is switched off, which is evidence" {
    plant_fast
    tare_run -q
    is_unused
    [[ "$(evidence)" == *calibration_contradicted* ]]
    [[ "$(event_value evidence 1 text)" == *"(SHA-256 $(sha256sum <"$PLANTED" | cut -d' ' -f1))" ]]
}

@test "a calibration whose figures no sensor can have is refused" {
    local change
    for change in 's["looked_share"].update(value=1, half_width=0)
s["averaging_s"].update(value=0.01)' 's["update_period_s"].update(value=1e-6)' 's["delay_s"].update(value=3600)'; do
        rm -rf results
        plant "$(USERS_FOLDER)" "s = c['sensors']['counter']
$change"
        tare_run 2>err
        names_once err 'no sensor has the figures that it states of counter'
        is_unused
    done
}

@test "a calibration dated in the future is refused; a clock that is a minute off is not" {
    plant "$(USERS_FOLDER)" 'c["made"] = int(time.time()) + 3650 * 86400'
    tare_run 2>err
    names_once err 'dated [0-9]+ s in the future'
    is_unused
    rm -r results
    plant "$(USERS_FOLDER)" 'c["made"] = int(time.time()) + 60'
    tare_run -q
    [[ "$(profile)" == calibrated* ]]
}

@test "a calibration of another board, firmware, model or version is not used" {
    local change
    for change in 'c["board"] = "900-1"' 'c["firmware"] = "1.2"' 'c["name"] = "NVIDIA A100"' 'c["version"] = "0.0.1"' 'c["driver"] = "1.2"'; do
        rm -rf results
        plant "$(USERS_FOLDER)" "$change"
        tare_run -q 2>err
        is_unused || { echo "$change"; return 1; }
    done
    plant "$(USERS_FOLDER)"
    play 'vbios 97.0'
    rm -r results
    tare_run -q
    is_unused
}

@test "without a mount namespace only root's calibrations are used" {
    [ "$(id -u)" -eq 0 ] || skip "only root can write root's calibrations"
    plant "$(USERS_FOLDER)"
    tare_run --containment sweep 2>err
    is "$(grep -c "$UUID is not used: without a mount namespace" err)" 1
    is_unused
    rm -r results
    plant "$(ROOTS_FOLDER)"
    tare_run -q --containment sweep
    is "$(profile)" "calibrated $(sha256sum <"$PLANTED" | cut -d' ' -f1)"
}

@test "root's calibration goes before one in the user's state folder" {
    [ "$(id -u)" -eq 0 ] || skip "only root can write root's calibrations"
    plant "$(ROOTS_FOLDER)"
    local roots=$PLANTED
    plant "$(USERS_FOLDER)" 'c["sensors"]["counter"]["looked_share"]["value"] = 0.5'
    tare_run -q
    is "$(profile)" "calibrated $(sha256sum <"$roots" | cut -d' ' -f1)"
    chmod 0666 "$roots" # anybody may have written it
    rm -r results "$PLANTED"
    tare_run 2>err
    PLANTED=$roots names_once err 'others than its owner'
    is_unused
}

@test "root's calibrations in a folder that others may write are not used, which is said with the fix" {
    [ "$(id -u)" -eq 0 ] || skip "only root can write root's calibrations"
    local folder
    for folder in "$(ROOTS_FOLDER)" "$TARE_SYSROOT/var/lib/tare"; do
        rm -rf results
        plant "$(ROOTS_FOLDER)"
        chmod go-w "$TARE_SYSROOT/var/lib/tare" "$(ROOTS_FOLDER)"
        chmod o+w "$folder"
        tare_run 2>err
        is "$(grep -c "calibrations in $folder are not used: .*chmod go-w $folder" err)" 1
        is_unused
    done
}

@test "a job of root with a mount namespace cannot write root's calibrations" {
    [ "$(id -u)" -eq 0 ] || skip "only root can write root's calibrations"
    "$TARE" exec -v true 2>&1 | grep -q 'pid namespace' || skip "no pid namespace can be made here"
    plant "$(ROOTS_FOLDER)"
    "$TARE" exec -- sh -c "echo forged >$(ROOTS_FOLDER)/calibration-x.json; rm -f $PLANTED"
    "$TARE" exec -- sh -c "cd $TARE_SYSROOT/var/lib && mv $NAME away && mkdir -p $NAME/calibrations" || true
    is "$(ls "$(ROOTS_FOLDER)")" "$(basename "$PLANTED")"
}

@test "exec and measure say that the readings contradict a calibration" {
    plant_fast
    "$TARE" exec --energy sleep 3 2>err
    is "$(grep -c "; the calibration was not used" err)" 1
    "$TARE" measure --for 3s --json >page
    is "$(jq '[.notes[] | select(endswith("the calibration was not used"))] | length' page)" 1
}

@test "what a training plants during a run is not used by that run" {
    job "mkdir -p $(USERS_FOLDER) && cp $BATS_FILE_TMPDIR/true.json $(USERS_FOLDER)/calibration-$UUID-580.159.04.json
sleep 1; echo 'loss 0.5'"
    settings 2
    tare_run -q --containment sweep
    is_unused
    EXPERIMENT=2 is_unused
}
