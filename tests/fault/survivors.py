#!/usr/bin/env python3
"""Runs every program of tests/fault/programs under every containment that this machine has, as root and as an ordinary
user, stopped by TERM and with the runner killed, and counts what is still alive afterwards. Prints a table, TAP lines.

Liveness is seen from outside, by locks: each process of a program holds a shared lock on a file of its run, so an
exclusive one can be had when, and only when, all are gone. A kernel-backed cell (pidns) must show 0; others are best
effort: what they leave is counted, shown, and ended here.

usage: survivors.py TARE FOLDER_WITH_THE_PROGRAMS"""

import concurrent.futures
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

MODES = ("pidns", "cgroup", "sweep")
NOBODY = 65534
# Root that was called by sudo: the only way to a cgroup for an ordinary user without systemd.
UNDER_SUDO = -1
LEAF = re.compile("-(job-[0-9a-f]{32}|user-[0-9]+)$")
WORKERS = 4
# Generous: only what goes wrong waits so long. Best-effort cells are expected to leave something now and then.
READY_S, END_S, GONE_S, GONE_BEST_EFFORT_S, GONE_OUTSIDE_S = 40, 60, 30, 8, 0.5
TOTAL_S = 140

# name, arguments behind the lock file, ways of stopping
PROGRAMS = [
    ("daemon", [], ("stop", "kill runner", "kill guardian", "kill both")),
    ("fork_bomb", [], ("stop", "kill runner")),
    ("pid_hopper", [], ("stop", "kill runner")),
    ("hidden", [], ("stop", "kill runner")),
    ("leave_cgroup", [], ("stop", "kill runner")),
    ("own_namespaces", [], ("stop", "kill runner")),
    ("stopped", [], ("stop", "kill runner")),
    ("log_holder", [], ("stop", "kill runner")),
    ("endless_output", [], ("stop", "kill runner")),
    ("kill_parent", ["always"], ("stop", "kill runner")),
    ("kill_runner", ["runner"], ("by itself",)),
    ("kill_runner", ["guardian"], ("by itself",)),
    ("kill_runner", ["both"], ("by itself",)),
    ("many_sessions", [], ("stop", "kill runner")),
    ("stuck_vfork", [], ("stop", "kill runner")),
    ("zombie_leader", [], ("stop", "kill runner")),
    ("other_user", [], ("stop", "kill runner")),
    ("leave_worker", [], ("ends", "kill runner")),
    ("frozen_v1", [], ("stop", "kill runner")),
    ("ask_service", ["SOCKET"], ("stop",)),
]
# Work that a service does for the job is no descendant of it: the promise does not cover it.
OUTSIDE_THE_PROMISE = {"ask_service"}

# Starting a process with a preexec function is not safe in parallel threads.
spawning = threading.Lock()


def become(uid):
    def change():
        if uid != os.getuid():
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
    return change


def spawn(command, uid, folder, stdout, stderr, stdin=subprocess.DEVNULL):
    # A home of its own: no run may end what another has left, before it was counted.
    home = tempfile.mkdtemp(prefix="home-", dir=folder)
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home}
    if uid == UNDER_SUDO:
        uid = os.getuid()
        env.update(SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER="nobody")
    os.chown(home, uid, -1)
    with spawning:
        return subprocess.Popen(command, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=become(uid),
                                env=env)


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    pause = 0.002
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True


def is_free(lock):
    with open(lock, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def holders(lock):
    """Pids of the processes that have the lock file open."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        # The threads, as a zombie leader shows no descriptors.
        try:
            tasks = os.listdir(f"/proc/{name}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                if any(os.readlink(f"/proc/{name}/task/{task}/fd/{fd}") == lock
                       for fd in os.listdir(f"/proc/{name}/task/{task}/fd")):
                    found.append(int(name))
                    break
            except OSError:
                continue
    return found


def thaw(lock):
    name = "fault-" + os.path.basename(lock)
    for mounts in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/freezer,devices"):
        group = os.path.join(mounts, name)
        if os.path.isdir(group):
            try:
                with open(os.path.join(group, "freezer.state"), "w") as file:
                    file.write("THAWED")
            except OSError:
                pass


def forget_freezer(lock):
    for mounts in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/freezer,devices"):
        group = os.path.join(mounts, "fault-" + os.path.basename(lock))
        if os.path.isdir(group):
            def removed():
                try:
                    os.rmdir(group)
                    return True
                except OSError:
                    return not os.path.isdir(group)
            wait_until(removed, 5)


def end_leftovers(lock):
    """The programs end by themselves when asked, or after a minute; this is for the machine's peace."""
    open(lock + ".end", "w").close()
    thaw(lock)

    def ended():
        for pid in holders(lock):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return is_free(lock)
    wait_until(ended, 10)
    forget_freezer(lock)


def leaves():
    """The jobs' cgroups at the mount's root. With runner and guardian killed together one is left."""
    found = set()
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            _, point, kind = line.split()[:3]
            if kind == "cgroup2":
                found |= {os.path.join(point, name) for name in os.listdir(point) if LEAF.search(name)}
    return found


def forget_cgroup(folder):
    """Removes it and what is below it, where nobody is; no leaf of somebody else's that is just being made."""
    try:
        if "-user-" in folder or time.time() - os.stat(folder).st_ctime > 5:
            for inner, _, _ in os.walk(folder, topdown=False):
                os.rmdir(inner)
    except OSError:
        pass


def guardian_of(runner):
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                head, _, tail = file.read().rpartition(b")")
            if head.endswith(b"-guardian") and int(tail.split()[1]) == runner:
                return int(name)
        except (OSError, IndexError, ValueError):
            continue
    return None


def kill(pid):
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Cell:
    def __init__(self, number, program, arguments, how, mode, uid):
        self.number, self.program, self.arguments = number, program, arguments
        self.how, self.mode, self.uid = how, mode, uid
        self.survivors, self.note, self.failure = None, "", ""

    def name(self):
        return " ".join([self.program] + [word for word in self.arguments if word.islower() and word != "always"])

    def run(self, world):
        try:
            self.attempt(world)
        except Exception as error:  # a broken test must show as one
            self.failure = f"{type(error).__name__}: {error}"

    def attempt(self, world):
        lock = os.path.join(world.folder, f"lock-{self.number}")
        open(lock, "w").close()
        os.chmod(lock, 0o666)
        arguments = [world.socket if word == "SOCKET" else word for word in self.arguments]
        command = [world.tare, "exec", "--grace", "0.2", "--containment", self.mode, "--",
                   os.path.join(world.folder, "fault_" + self.program), lock] + arguments
        piped = self.program == "log_holder"
        messages = open(lock + ".messages", "wb")
        runner = spawn(command, self.uid, world.folder, subprocess.PIPE if piped else subprocess.DEVNULL, messages)
        messages.close()
        try:
            with open(lock + ".runner", "w") as file:
                file.write(f"{runner.pid}\n")
            wait_until(lambda: os.path.exists(lock + ".ready") or runner.poll() is not None, READY_S)
            if not os.path.exists(lock + ".ready"):
                self.not_possible(lock, runner)
                return
            self.stop(runner)
            self.count(world, lock, runner, piped)
        finally:
            kill(runner.pid if runner.poll() is None else None)
            runner.wait()
            if runner.stdout:
                runner.stdout.close()
            end_leftovers(lock)

    def not_possible(self, lock, runner):
        if runner.poll() is None:
            self.failure = "not ready in time"
        elif runner.returncode == 77:
            with open(lock + ".messages", errors="replace") as file:
                self.note = (file.read().strip().splitlines() or ["not possible here"])[-1]
        elif self.how == "by itself" or self.program in ("leave_worker", "kill_parent"):
            self.survivors = 0 if wait_until(lambda: is_free(lock), GONE_S) else max(1, len(holders(lock)))
        else:
            with open(lock + ".messages", errors="replace") as file:
                self.failure = f"exit code {runner.returncode}: {file.read().strip()[-300:]}"

    def stop(self, runner):
        if self.how in ("kill guardian", "kill both"):
            kill(guardian_of(runner.pid))
        if self.how in ("kill runner", "kill both"):
            kill(runner.pid)
        elif self.how == "by itself":
            # Where the program cannot see the runner, it has not killed it.
            wait_until(lambda: runner.poll() is not None, 0.5)
            runner.terminate()
        elif self.how != "ends":
            runner.terminate()

    def count(self, world, lock, runner, piped):
        if not wait_until(lambda: runner.poll() is not None, END_S):
            self.failure = "the runner does not end"
            return
        outside = self.program in OUTSIDE_THE_PROMISE
        patience = GONE_OUTSIDE_S if outside else GONE_S if self.mode == "pidns" else GONE_BEST_EFFORT_S
        gone = wait_until(lambda: is_free(lock), patience)
        self.survivors = 0 if gone else max(1, len(holders(lock)))
        if piped and gone:
            os.set_blocking(runner.stdout.fileno(), False)
            if not wait_until(lambda: self.at_end(runner.stdout), 5):
                self.survivors, self.note = 1, "somebody holds the output's pipe"

    @staticmethod
    def at_end(stream):
        return stream.read(65536) == b""

    def strict_failure(self):
        if self.failure:
            return self.failure
        if self.mode == "pidns" and self.program not in OUTSIDE_THE_PROMISE and self.survivors:
            return f"{self.survivors} survivors"
        return ""

    def shown(self):
        if self.failure:
            return "FAILED"
        return "-" if self.survivors is None else str(self.survivors)


class World:
    """The programs where every user can read them, and the service that takes work over."""

    def __init__(self, tare, programs):
        self.folder = tempfile.mkdtemp(prefix="tare-fault-", dir="/tmp")
        os.chmod(self.folder, 0o1777)
        self.tare = shutil.copy(tare, self.folder)
        for name in {row[0] for row in PROGRAMS} | {"service"}:
            shutil.copy(os.path.join(programs, "fault_" + name), self.folder)
        for name in os.listdir(self.folder):
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.socket = os.path.join(self.folder, "socket")
        self.service = spawn([os.path.join(self.folder, "fault_service"), self.socket], os.getuid(), self.folder,
                             subprocess.PIPE, subprocess.DEVNULL, subprocess.PIPE)
        self.service.stdout.readline()
        os.chmod(self.socket, 0o777)

    def close(self):
        self.service.stdin.close()
        self.service.stdout.close()
        try:
            self.service.wait(5)
        except subprocess.TimeoutExpired:
            self.service.kill()
            self.service.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def refuses(self, mode, uid):
        """Why this machine does not have the mode for this user; None: it has."""
        probe = spawn([self.tare, "exec", "--containment", mode, "--", "true"], uid, self.folder, subprocess.DEVNULL,
                      subprocess.PIPE)
        messages = probe.communicate(timeout=END_S)[1].decode(errors="replace").strip()
        return None if probe.returncode == 0 else (messages.splitlines() or [f"exit code {probe.returncode}"])[-1]


def columns():
    users = [("root", 0), ("nobody", NOBODY)] if os.getuid() == 0 else [("user", os.getuid())]
    under_sudo = [("cgroup", "by sudo", UNDER_SUDO)] if os.getuid() == 0 else []
    return [(mode, user, uid) for mode in MODES for user, uid in users] + under_sudo


def show_table(cells, used):
    width = max(len(cell.name() + ", " + cell.how) for cell in cells) + 2
    print("# survivors: behaviour x mode; 0: nothing was left; -: this machine or user cannot misbehave so")
    print("#", "behaviour".ljust(width), *(f"{mode} {user}".rjust(14) for mode, user, _ in used))
    rows = {}
    for cell in cells:
        rows.setdefault(cell.name() + ", " + cell.how, {})[(cell.mode, cell.uid)] = cell
    for name, row in rows.items():
        shown = (row[(mode, uid)].shown().rjust(14) if (mode, uid) in row else "".rjust(14) for mode, _, uid in used)
        remark = "  (outside the promise)" if name.split(",")[0] in OUTSIDE_THE_PROMISE else ""
        print("#", name.ljust(width), *shown, remark, sep=" ")
    print("# pidns is kernel-backed: 0 is required. cgroup and sweep are only counted and shown. by sudo: an ordinary user's, "
          "in a cgroup that root made.")
    for note in sorted({f"{cell.name()} ({cell.mode}): {cell.note}" for cell in cells if cell.note}):
        print("#", note)


def main():
    world = World(sys.argv[1], sys.argv[2])
    started = time.monotonic()
    cells, used, skipped = [], [], []
    leaves_before = leaves()
    try:
        for mode, user, uid in columns():
            reason = world.refuses(mode, uid)
            if reason:
                skipped.append((mode, user, reason))
            else:
                used.append((mode, user, uid))
        for mode, _, uid in used:
            for program, arguments, ways in PROGRAMS:
                for how in ways:
                    cells.append(Cell(len(cells), program, arguments, how, mode, uid))
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            # Kernel-backed cells come first; on a machine too slow for all, best-effort ones are left out.
            def run(cell):
                if cell.mode != "pidns" and time.monotonic() - started > TOTAL_S:
                    cell.note = "left out: the machine is slow"
                else:
                    cell.run(world)
            list(pool.map(run, cells))
    finally:
        world.close()
        for leaf in leaves() - leaves_before:
            forget_cgroup(leaf)
    show_table(cells, used)
    print(f"# {len(cells)} runs in {time.monotonic() - started:.0f} s")
    number = 0
    for mode, user, _ in used:
        number += 1
        bad = [cell for cell in cells if (cell.mode, cell.uid) == (mode, _) and cell.strict_failure()]
        left = sum(cell.survivors or 0 for cell in cells
                   if (cell.mode, cell.uid) == (mode, _) and cell.program not in OUTSIDE_THE_PROMISE)
        print(f"{'not ok' if bad else 'ok'} {number} - {mode} as {user}: {left} survivors")
        for cell in bad:
            print(f"#   {cell.name()}, {cell.how}: {cell.strict_failure()}")
    for mode, user, reason in skipped:
        number += 1
        print(f"ok {number} - {mode} as {user} # skip {reason}")
    print(f"1..{number}")
    return 1 if any(cell.strict_failure() for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
