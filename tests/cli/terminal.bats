#!/usr/bin/env bats
# On a terminal: one live line, redrawn in place, cut to the width. A pseudo-terminal made by python3 stands in for it.

load helpers

# Each of the two experiments goes on until its line was seen on the screen, however long that takes.
patient_toy() {
    make_trainer <<'END'
#!/bin/sh
count=$(($(cat count 2> /dev/null || echo 0) + 1))
echo $count > count
echo "loss: 0.25"
while [ ! -e seen$count ]; do sleep 0.1; done
echo "accuracy: 0.75"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2, "timeout": 100}'
}

# on_terminal COLUMNS FIRST SECOND [NAME=VALUE...]: runs the settings on a terminal of that width; the first experiment ends
# when the pattern FIRST was on the screen, the second with SECOND. All that came out is in the file "screen".
on_terminal() {
    need_python
    patient_toy
    python3 - "$TARE" "$@" <<'END'
import fcntl, os, pty, re, select, struct, sys, termios, time
program, columns, patterns, variables = sys.argv[1], int(sys.argv[2]), sys.argv[3:5], sys.argv[5:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.environ.update(variable.split("=", 1) for variable in variables)
    # The size is set before the program looks: it waits for this line.
    sys.stdin.readline()
    os.execv(program, [program, "run", "settings.json"])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
os.write(terminal, b"\n")
screen, end = b"", time.monotonic() + 90
while time.monotonic() < end:
    for number, pattern in enumerate(patterns, 1):
        if re.search(pattern.encode(), screen):
            open("repo/seen%d" % number, "w").close()
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
os.close(terminal)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
END
}

@test "one line lives: it is redrawn in place and gone at the end" {
    on_terminal 100 '\[1/2\] toy_small_001  [0-9]+ s  loss 0.25' '\[2/2\] toy_small_002  [0-9]+ s  about [0-9]'
    [ "$(grep -aoF $'\r\033[K[1/2] toy_small_001  ' screen | wc -l)" -ge 2 ]
    # What ended stays, in colour, and so does the closing table.
    grep -aq $'\[1/2\] toy_small_001\033\[32m succeeded in .*, accuracy 0.75, loss 0.25, f1 not found\033\[0m' screen
    grep -aq '^EXPERIMENT  *OUTCOME' screen
}

@test "nothing of the live line is wider than the terminal" {
    # The second drawing of the line is the one that is waited for.
    on_terminal 24 '(?s)\[1/2\] toy.*\r\x1b\[K\[1/2\] toy' '(?s)\[2/2\] toy.*\r\x1b\[K\[2/2\] toy'
    python3 - <<'END'
screen = open("screen", "rb").read().decode()
# Between two erasures stands one drawing of the live line, which never ends with a line end.
drawings = [d for d in screen.split("\r\x1b[K") if d.startswith("[") and "\n" not in d]
assert len(drawings) >= 2, screen
# "[1/2] toy_small_001  0 s" has 24 columns, and the last one stays free: no word is broken, and what is left out is told.
assert set(drawings) == {"[1/2] toy_small_001 …", "[2/2] toy_small_002 …"}, drawings
END
}

@test "NO_COLOR takes the colours, not the live line" {
    on_terminal 100 '\[1/2\] toy_small_001  [0-9]' '\[2/2\] toy_small_002  [0-9]' NO_COLOR=1
    run ! grep -aq $'\033\[[0-9;]*m' screen
    grep -aqF $'\r\033[K[1/2] toy_small_001' screen
}

@test "a dumb terminal gets plain lines" {
    on_terminal 100 '\[1/2\] toy_small_001 started' '\[2/2\] toy_small_002 started' TERM=dumb
    run ! grep -aq $'\033' screen
}
