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
