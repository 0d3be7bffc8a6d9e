#!/usr/bin/env bats
# On a terminal: one live line, redrawn in place, cut to the width. A pseudo-terminal made by python3 stands in for it.

load helpers

# on_terminal COLUMNS SECONDS-PER-EPOCH [ENVIRONMENT...]: runs the settings on a terminal; all that came out is in "screen".
on_terminal() {
    need_python
    python3 - "$TARE" "$@" <<'END'
import fcntl, os, pty, select, struct, sys, termios, time
program, columns, variables = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.environ.update(variable.split("=", 1) for variable in variables)
    # The size is set before the program looks: it waits for this line.
    sys.stdin.readline()
    os.execv(program, [program, "run", "settings.json"])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
os.write(terminal, b"\n")
screen, end = b"", time.monotonic() + 60
while time.monotonic() < end:
    if not select.select([terminal], [], [], 1)[0]:
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    screen += data
open("screen", "wb").write(screen)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
END
}

slow_toy() {
    make_trainer <<'END'
#!/bin/sh
echo "loss: 0.25"
sleep 2.5
echo "accuracy: 0.75"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2}'
}

@test "one line lives: it is redrawn in place and gone at the end" {
    slow_toy
    on_terminal 100
    # Redrawn at least once a second or so, with the metric seen last.
    [ "$(grep -aoF $'\r\033[K[1/2] toy_small_001  ' screen | wc -l)" -ge 2 ]
    grep -aqF $'\r\033[K[1/2] toy_small_001  1 s  loss 0.25' screen ||
        grep -aqF $'\r\033[K[1/2] toy_small_001  2 s  loss 0.25' screen
    # The second knows from the first how long it takes.
    grep -aq $'\033\[K\[2/2\] toy_small_002  [0-9]* s  about [0-9]* s left' screen
    # What ended stays, in colour, and so does the closing table.
    grep -aq $'\[1/2\] toy_small_001\033\[32m succeeded in [0-9.]* s, accuracy 0.75, loss 0.25\033\[0m' screen
    grep -aq '^EXPERIMENT  *OUTCOME' screen
}

@test "nothing is wider than the terminal" {
    need_python
    slow_toy
    on_terminal 24
    python3 - <<'END'
import re
screen = open("screen", "rb").read().decode()
# Between two erasures stands one drawing of the live line, which never ends with a line end.
drawings = [d for d in screen.split("\r\x1b[K") if d.startswith("[") and "\n" not in d]
assert len(drawings) >= 2, screen
assert max(len(d) for d in drawings) == 23, drawings
END
}

@test "NO_COLOR takes the colours, not the live line" {
    slow_toy
    on_terminal 100 NO_COLOR=1
    ! grep -aq $'\033\[[0-9;]*m' screen
    grep -aqF $'\r\033[K[1/2] toy_small_001' screen
}

@test "a dumb terminal gets plain lines" {
    slow_toy
    on_terminal 100 TERM=dumb
    ! grep -aq $'\033' screen
    grep -aq '^\[1/2\] toy_small_001 started' screen
}
