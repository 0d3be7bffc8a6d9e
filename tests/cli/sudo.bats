#!/usr/bin/env bats
# Under sudo, everything belongs to the caller. A stand-in for sudo sets what sudo sets (sudo(8), SUDO_UID and SUDO_GID)
# and calls the program as root.

load helpers

USER_ID=65534

as_sudo() { env SUDO_UID=$USER_ID SUDO_GID=$USER_ID SUDO_USER=nobody HOME=/root PATH="/root/bin:$PATH" "$@"; }

theirs() {
    make_trainer <<'END'
#!/bin/sh
echo "I am $(id -u):$(id -g), groups $(id -G), home $HOME, path $PATH, user $USER, sudo ${SUDO_UID:-none}"
touch mine
echo "accuracy: 1"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    chown -R $USER_ID:$USER_ID "$WORK"
}

# The program must be reachable for that user.
reachable() {
    need_root
    setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups test -x "$TARE" ||
        { cp "$TARE" "$WORK/program" && chmod 755 "$WORK/program" && TARE=$WORK/program; }
}

@test "job and files belong to the caller, with the caller's groups, home and environment" {
    reachable
    theirs
    run as_sudo "$TARE" run settings.json
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"under sudo: everything runs as user $USER_ID"* ]]
    folder=$(run_folder)
    [ -z "$(find results ! -uid $USER_ID)" ]
    [ -z "$(find results ! -gid $USER_ID)" ]
    [ "$(stat -c %u repo/mine)" -eq $USER_ID ]
    home=$(getent passwd $USER_ID | cut -d: -f6)
    user=$(getent passwd $USER_ID | cut -d: -f1)
    log=$(cat "$folder/toy_small_001/training.log")
    [[ "$log" == *"I am $USER_ID:$USER_ID,"* ]]
    [[ "$log" == *"groups $USER_ID,"* ]]
    [[ "$log" == *"home $home,"* ]]
    [[ "$log" == *"user $user,"* ]]
    [[ "$log" == *"sudo none"* ]]
    # Root's own folder is on no path of theirs.
    [[ "$log" != *"/root/bin"* ]]
}

@test "a file that the caller may not read is not read by root for them" {
    reachable
    theirs
    chown root:root settings.json
    chmod 600 settings.json
    run as_sudo "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"ermission denied"* ]]
    [ ! -e results ]
}

@test "results never go where only root may write" {
    reachable
    theirs
    mkdir -m 755 roots
    chown root:root roots
    run as_sudo "$TARE" run settings.json -o roots/results
    [ "$status" -eq 3 ]
    [ -z "$(ls roots)" ]
}

@test "--as-root stays root" {
    reachable
    theirs
    run as_sudo "$TARE" run settings.json --as-root
    [ "$status" -eq 0 ]
    grep -q "I am 0:" "$(run_folder)/toy_small_001/training.log"
    [ "$(stat -c %u repo/mine)" -eq 0 ]
}

@test "root's own sudo changes nothing" {
    reachable
    theirs
    USER_ID=0 run as_sudo "$TARE" run settings.json
    [ "$status" -eq 0 ]
    [[ "$output" != *"under sudo"* ]]
}

@test "a SUDO_UID that is no number is refused" {
    reachable
    theirs
    run env SUDO_UID=-1 SUDO_GID=$USER_ID "$TARE" run settings.json
    [ "$status" -eq 3 ]
    [ ! -e results ]
}

# What root made for that user is empty when the program has ended; it would stay until the next time.
forget_cgroups() {
    local mount
    for mount in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do
        find "$mount" -depth -type d -path "*/$NAME-user-$USER_ID*" -exec rmdir {} \; 2>/dev/null || true
    done
}

need_cgroup() { "$TARE" exec --containment cgroup -- true 2>/dev/null || skip "root cannot make a cgroup here"; }

@test "exec runs its command as the caller too, and as root with --as-root" {
    reachable
    theirs
    run --separate-stderr as_sudo "$TARE" exec -- sh -c 'echo "$(id -u):$(id -g) ${SUDO_UID:-none} $LOGNAME"'
    forget_cgroups
    [ "$status" -eq 0 ]
    [ "$output" = "$USER_ID:$USER_ID none $(getent passwd $USER_ID | cut -d: -f1)" ]
    run --separate-stderr as_sudo "$TARE" exec --as-root -- id -u
    [ "$status" -eq 0 ]
    [ "$output" = 0 ]
}

@test "the caller's jobs are held by a cgroup that only root could make" {
    reachable
    need_cgroup
    need_python
    theirs
    run --separate-stderr as_sudo "$TARE" exec --containment cgroup -- sh -c 'id -u; grep ^0:: /proc/self/cgroup'
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" -eq $USER_ID ]
    [[ "${lines[1]}" =~ ^0::.*/$NAME-user-$USER_ID/$NAME-job-[0-9a-f]{32}$ ]]
    run as_sudo "$TARE" run settings.json
    [ "$status" -eq 0 ]
    python3 - "$(run_folder)/toy_small_001/experiment.json" <<'END'
import json, sys
containment = json.load(open(sys.argv[1]))["tare"]["containment"]
assert containment["layers"]["cgroup"] is True, containment
END
    forget_cgroups
    for mount in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do
        [ -z "$(find "$mount" -path "*/$NAME-user-$USER_ID/$NAME-job-*" 2>/dev/null)" ]
    done
}
