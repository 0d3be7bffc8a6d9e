# A Slurm of one machine, for a test: cluster_up makes and starts it in $WORK/slurm, cluster_down ends it. It has ports of its own, and
# a munge of its own.

cluster_ports() {
    python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for one in held:
    one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in held])'
}

cluster_conf() {
    local ports host
    host=$(hostname -s)
    read -ra ports <<<"$(cluster_ports)"
    cat <<END
ClusterName=tare-test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
AuthType=auth/munge
AuthInfo=socket=$CLUSTER/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
SlurmUser=root
SlurmdUser=root
MpiDefault=none
StateSaveLocation=$CLUSTER/state
SlurmdSpoolDir=$CLUSTER/spool
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmdPidFile=$CLUSTER/slurmd.pid
SlurmctldLogFile=$CLUSTER/slurmctld.log
SlurmdLogFile=$CLUSTER/slurmd.log
SchedulerParameters=sched_interval=1,batch_sched_delay=0,requeue_delay=0
SchedulerTimeSlice=5
MessageTimeout=15
KillWait=25
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(($(nproc) > 2 ? $(nproc) : 2)) Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
}

# All waits are for something that comes in seconds; the bound is for machines that are many times slower, and for what never comes.
wait_for() {
    local until=$((SECONDS + ${WAIT_S:-300}))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || { echo "waited in vain for: $*" >&2; return 1; }
        sleep 0.3
    done
}

# munged runs as its own user, who must own the folder of its socket and its key.
munge_up() {
    mkdir -p "$CLUSTER/munge"
    head -c 1024 /dev/urandom >"$CLUSTER/munge/key"
    chown -R munge:munge "$CLUSTER/munge"
    chmod 755 "$CLUSTER" "$CLUSTER/munge"
    chmod 400 "$CLUSTER/munge/key"
    runuser -u munge -- munged --foreground --socket="$CLUSTER/munge/socket" --key-file="$CLUSTER/munge/key" \
        --pid-file="$CLUSTER/munge/pid" --seed-file="$CLUSTER/munge/seed" --log-file="$CLUSTER/munge/log" \
        </dev/null >/dev/null 2>&1 3>&- &
    MUNGED=$!
    wait_for munge -n --socket="$CLUSTER/munge/socket"
}

controller_up() {
    slurmctld -f "$SLURM_CONF" 3>&-
    wait_for scontrol ping
}

controller_down() {
    kill "$(cat "$CLUSTER/slurmctld.pid")"
    wait_for gone "$CLUSTER/slurmctld.pid"
}

gone() { ! pgrep -F "$1"; }

node_up() { slurmd -f "$SLURM_CONF" 3>&-; }

node_down() {
    kill "$(cat "$CLUSTER/slurmd.pid")"
    wait_for gone "$CLUSTER/slurmd.pid"
}

node_idle() { sinfo -h -o %T | grep -qE '^(idle|mixed|allocated)$'; }

cluster_up_once() {
    CLUSTER=$WORK/slurm
    mkdir -p "$CLUSTER/state" "$CLUSTER/spool"
    export SLURM_CONF=$CLUSTER/slurm.conf
    cluster_conf >"$SLURM_CONF"
    # Files that are there stand for the GPUs' device files: the scheduler counts them, and opens none.
    printf 'Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n' >"$CLUSTER/gres.conf"
    munge_up && controller_up && node_up && wait_for node_idle
}

# Another program may take a port between its being found free and its being used: a second time has others.
cluster_up() {
    WAIT_S=60 cluster_up_once && return 0
    tail -n 5 "$WORK"/slurm/*.log
    cluster_down
    rm -rf "$WORK/slurm"
    cluster_up_once
}

# What the node's daemon started and is none of ours, by the configuration in its environment.
cluster_left() {
    local one session
    session=$(ps -o sid= -p $$ | tr -d ' ')
    for one in /proc/[0-9]*; do
        [ "$(cut -d ' ' -f 6 "$one/stat" 2>/dev/null)" != "$session" ] || continue
        ! grep -qsz "^SLURM_CONF=$SLURM_CONF\$" "$one/environ" 2>/dev/null || echo "${one#/proc/}"
    done
}

cluster_down() {
    local name
    [ -n "${CLUSTER:-}" ] || return 0
    scancel --user=root >/dev/null 2>&1 || true
    for name in slurmd slurmctld; do
        [ ! -s "$CLUSTER/$name.pid" ] || kill -KILL "$(cat "$CLUSTER/$name.pid")" 2>/dev/null || true
    done
    cluster_left | xargs -r kill -KILL 2>/dev/null || true
    [ -z "${MUNGED:-}" ] || kill -KILL "$(cat "$CLUSTER/munge/pid" 2>/dev/null)" "$MUNGED" 2>/dev/null || true
}
