# What a job of root's can do to processes that are not its own: in its pid namespace it sees none, and has not the rights to look
# past that. The last test is of what remains.

load ../cli/helpers

eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    need_root
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "no pid namespace can be made here"
    WITNESS=
}

teardown() {
    [ -z "$WITNESS" ] || kill -KILL "$WITNESS" 2>/dev/null || true
    cd /
    rm -rf "$WORK"
}

# A process outside, of root: $WITNESS; it holds what no job should read or write.
witness() {
    SECRET=secret-$RANDOM$RANDOM sleep 1000 >/dev/null 2>&1 3>&- &
    WITNESS=$!
}

# What it finds of a process outside is by its secret. Gives the job's output in $output.
job_exec() { run timeout 60 "$TARE" exec -- "$@"; }

@test "a job of root's cannot take its /proc away, and finds no other below it" {
    witness
    job_exec sh -c 'umount /proc; [ ! -e /proc/'$WITNESS'/environ ] || tr "\0" "\n" </proc/'$WITNESS'/environ | grep secret
        ls -d /proc/[0-9]* | wc -l'
    [[ $output != *secret* ]]
    [[ $output == *"umount: /proc"* ]]
    # Its init, its shell, and what the shell runs.
    [ "$(tail -n 1 <<<"$output")" -le 5 ]
}

@test "even a process of its namespace that may unmount finds no /proc of the machine below its own" {
    witness
    # A program of root's in the init's place would be that: here one that enters the job's mount namespace from outside.
    "$TARE" exec -- sh -c 'echo ready >ready; sleep 1000' 3>&- &
    PROGRAM=$!
    wait_until test -s ready
    pid=$(pgrep -P "$PROGRAM" -x "$NAME-init" || pgrep -P "$PROGRAM" | tail -n 1)
    nsenter --mount="/proc/$pid/ns/mnt" python3 - "$WITNESS" <<'END_OF_LOOK'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert os.path.exists("/proc/1")
assert libc.umount2(b"/proc", 2) == 0
assert not os.path.exists("/proc/1") and not os.path.exists("/proc/" + sys.argv[1]), os.listdir("/proc")
END_OF_LOOK
    kill "$PROGRAM"
    wait "$PROGRAM" || true
}

@test "a job of root's reaches neither its init's memory, nor its files, nor another namespace through it" {
    job_exec sh -c '(cat /proc/1/environ | wc -c) 2>&1; (readlink /proc/1/fd/0 /proc/1/root /proc/1/cwd) 2>&1 && echo looked
        dd if=/proc/1/mem of=/dev/null bs=1 count=1 2>&1 | grep -q denied || echo read the memory
        nsenter -t 1 -m -p true 2>/dev/null && echo entered
        python3 -c "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(\"traced\" if libc.ptrace(16, 1, None, None) == 0 else \"not traced\")"'
    [[ $output != *looked* && $output != *"read the memory"* && $output != *entered* ]]
    [[ $output == *"not traced"* ]]
}

@test "a job of root's may not mount, make devices, load modules, set the clock, restart the machine or open files by handle" {
    job_exec sh -c 'sed -n "s/^CapEff:[[:space:]]*//p; s/^CapBnd:[[:space:]]*//p" /proc/self/status'
    python3 - $output <<'END_OF_CHECK'
import sys
# Numbers of linux/capability.h.
taken = {"dac_read_search": 2, "linux_immutable": 9, "sys_module": 16, "sys_rawio": 17, "sys_ptrace": 19, "sys_pacct": 20, "sys_admin": 21,
         "sys_boot": 22, "sys_time": 25, "sys_tty_config": 26, "mknod": 27, "audit_control": 30, "mac_override": 32, "mac_admin": 33,
         "syslog": 34, "bpf": 39, "checkpoint_restore": 40}
kept = {"chown": 0, "dac_override": 1, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7, "net_bind_service": 10, "net_raw": 13, "ipc_lock": 14,
        "sys_nice": 23}
own = int([line.split()[1] for line in open("/proc/self/status") if line.startswith("CapBnd")][0], 16)
for text in sys.argv[1:3]:
    has = int(text, 16)
    assert not [name for name, bit in taken.items() if has >> bit & 1], text
    assert not [name for name, bit in kept.items() if own >> bit & 1 and not has >> bit & 1], text
    assert has >> 41 == 0, text
END_OF_CHECK
    job_exec sh -c 'mkdir m; mount -t tmpfs none m && echo mounted; mknod disk b 7 0 && echo made; date -s "$(date)" >/dev/null && echo set; true'
    [[ $output != *mounted* && $output != *made* && $output != *set$'\n'* && $output != *$'\n'set ]]
}

@test "a program of root's that gives back capabilities to what it starts gives none of these" {
    job_exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.prctl(47, 2, 21, 0, 0), libc.prctl(24, 2, 0, 0, 0))
os.execvp("sh", ["sh", "-c", "mkdir m; mount -t tmpfs none m && echo mounted"])'
    [[ $output != *mounted* ]]
}

@test "root's trainings still own files, become other users, trace their children, and take priorities" {
    job_exec sh -c 'echo 1 >file && chown 65534:65534 file && stat -c %u file
        setpriv --reuid=65534 --regid=65534 --clear-groups id -u
        nice -n -5 nice
        python3 -c "
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
child = os.fork() or time.sleep(1000)
print(libc.ptrace(16, child, None, None))
os.kill(child, signal.SIGKILL)"'
    [ "$output" = $'65534\n65534\n-5\n0' ]
}

@test "tare exec in a job of root's has a pid namespace of its own, and its end is proven" {
    job_exec "$TARE" exec -v -- sh -c 'sleep 1000 & echo inside'
    [ "$status" -eq 0 ]
    [[ $output == *inside* ]]
    [[ $output == *"left behind and ended: "* ]]
    [[ $output == *"containment: user and pid namespace"*": kernel-backed"* ]]
    [[ $output == *"nothing is left"* ]]
}

@test "--containment cgroup and sweep leave root's job all its rights" {
    own=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
    run "$TARE" exec --containment sweep -- sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status
    [ "$output" = "$own" ]
}

@test "of root's job it is said that services outside may have been asked for processes" {
    run "$TARE" exec -v -- true
    [[ $output == *"nothing is left"* ]]
    [[ $output == *"root's command can have services outside (systemd, docker, cron) start processes: these are not seen"* ]]
}
